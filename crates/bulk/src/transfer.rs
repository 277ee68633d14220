//! Streams under way.

use crate::Time;
use crate::action::{Input, Pending, Settings};
use crate::lane::Chunk;
use crate::order::Order;
use hpvm_wire::bulk::Opening;
use std::collections::VecDeque;

/// A stream that goes out.
pub(crate) struct Sending<M> {
    pub number: u64,
    pub from: M,
    pub len: u64,
    /// Its first chunk has to say so; afterwards what it said, in case that it is sent again.
    pub opening: Option<Opening>,
    /// The first chunk is with a lane, and is known to have come.
    pub opened: bool,
    pub known: bool,
    /// Bytes that lanes have taken over, as chunks, and that they may take.
    pub cut: u64,
    pub may: u64,
    /// Bytes that have come.
    pub come: u64,
    /// How long it waits until its memory is copied, since it began or bytes moved, besides the time
    /// that all unconfirmed bytes may take.
    pub patience: Time,
    pub begun: Time,
}

impl<M> Sending<M> {
    /// When its memory is to be copied, if bytes last moved at `moved` and what is on its way may
    /// take `flight`.
    fn deadline(&self, moved: Time, flight: Time) -> Option<Time> {
        let waits = self.patience < PATIENT && self.cut == self.len;
        let patience = self.patience.saturating_add(flight);
        waits.then(|| self.begun.max(moved).saturating_add(patience))
    }
}

/// A stream that comes in, whose place is known.
pub(crate) struct Receiving<M> {
    pub number: u64,
    pub to: M,
    pub room: u64,
    pub len: u64,
    /// Bytes of chunks that have come as a whole.
    pub got: u64,
    pub cookie: u64,
    /// The sender has to be told that the place is known.
    pub asked: bool,
}

/// A stream that was opened before its place was known.
pub(crate) struct Early {
    pub number: u64,
    /// Bytes of the whole stream.
    pub total: u64,
    /// Bytes of the first chunk.
    pub len: u32,
    /// The first chunk, as far as it has come. Empty until its bytes are read.
    pub data: Vec<u8>,
    pub have: usize,
    /// A connection reads it.
    pub coming: bool,
    /// It has come.
    pub whole: bool,
}

/// All streams between this process and one other.
pub(crate) struct Streams<M> {
    out: Vec<Sending<M>>,
    /// Whose turn it is to be cut.
    turn: usize,
    /// Chunks that a lane could not deliver and another is to.
    again: VecDeque<Chunk>,
    ins: Vec<Receiving<M>>,
    /// Streams whose sender is to be told to go on.
    pub go: VecDeque<u64>,
    early: Vec<Early>,
    /// Bytes sent unasked so far, and how many the receiver permits in all.
    unasked: u64,
    permitted: u64,
    /// Bytes of early streams that wait for their place, and of those that have found it.
    kept: u64,
    placed: u64,
    /// Bytes that we take unasked at any one time, and in all, as the peer knows it.
    pub window: u64,
    told_limit: u64,
    /// Bytes of the last stream that found its place before it had come.
    in_time: u64,
    /// Bytes in a microsecond, at least, while the peer reads.
    least_flow: u64,
    /// When the peer last took bytes or said that some have come.
    pub moved: Time,
    pub order: Order,
    /// How many packets went before an opening, of which no older one was in doubt when that was last
    /// looked at.
    behind: Option<u32>,
}

impl<M> Streams<M> {
    pub fn new(settings: &Settings) -> Streams<M> {
        let window = u64::from(settings.early_window);
        Streams {
            out: Vec::new(),
            turn: 0,
            again: VecDeque::new(),
            ins: Vec::new(),
            go: VecDeque::new(),
            early: Vec::new(),
            unasked: 0,
            permitted: window,
            kept: 0,
            placed: 0,
            window,
            told_limit: window,
            in_time: 0,
            least_flow: u64::from(settings.least_flow.max(1)),
            moved: 0,
            order: Order::default(),
            behind: None,
        }
    }

    /// Something has to come or to go.
    pub fn pending(&self) -> bool {
        self.sending() || !self.ins.is_empty() || self.early.iter().any(|e| !e.whole)
    }

    /// Something that we send is not known to have come.
    pub fn sending(&self) -> bool {
        !self.out.is_empty()
    }

    pub fn send(&mut self, stream: Sending<M>) {
        self.behind = self.behind.or(stream.opening.as_ref().map(|opening| opening.packets));
        self.out.push(stream);
    }

    /// Whether the next packet, after `packets`, has to wait because `most` others have gone behind an
    /// opening that is not known to have come.
    pub fn is_ahead(&mut self, packets: u32, most: u32) -> bool {
        let ahead = |behind: u32| packets.wrapping_sub(behind) >= most;
        if !self.behind.is_some_and(ahead) {
            return false;
        }
        self.behind = self.doubtful_opening();
        self.behind.is_some_and(ahead)
    }

    /// How many of `want` bytes may go unasked: all or none.
    pub fn take_unasked(&mut self, want: u64) -> u64 {
        let fits = self.unasked + want <= self.permitted;
        let first = if fits { want } else { 0 };
        self.unasked += first;
        first
    }

    /// The peer permits so many bytes unasked, in all.
    pub fn permit(&mut self, limit: u64) {
        self.permitted = self.permitted.max(limit);
    }

    /// Bytes that the peer may send unasked, in all: it is being told.
    pub fn tell_limit(&mut self) -> u64 {
        self.told_limit = self.placed + self.window;
        self.told_limit
    }

    /// The window grows by what came in time, up to `most` and by at most `spare`. Returns by how
    /// much.
    pub fn widen(&mut self, most: u64, spare: u64) -> u64 {
        let more = core::mem::take(&mut self.in_time).min(spare);
        let more = more.min(most.saturating_sub(self.window));
        self.window += more;
        more
    }

    /// The peer may send much more than it knows.
    pub fn owes_limit(&self) -> bool {
        self.placed + self.window - self.told_limit >= self.window / 2
    }

    /// How many packets went before the oldest opening that is not known to have come.
    fn doubtful_opening(&self) -> Option<u32> {
        let doubtful = self.out.iter().filter(|s| !s.known);
        doubtful.filter_map(|s| s.opening.as_ref()).map(|opening| opening.packets).next()
    }

    pub fn source(&self, number: u64) -> Option<&Sending<M>> {
        self.out.iter().find(|s| s.number == number)
    }

    /// The receiver knows the place of stream `number`.
    pub fn go_on(&mut self, number: u64) {
        if let Some(stream) = self.out.iter_mut().find(|s| s.number == number) {
            stream.may = stream.len;
        }
    }

    /// A chunk has come. True: and with it all of its stream, which is forgotten. `None` instead of
    /// its number: that was said before, when its memory was copied.
    pub fn come(&mut self, chunk: &Chunk) -> Option<u64> {
        let place = self.out.iter().position(|s| s.number == chunk.number)?;
        let stream = &mut self.out[place];
        stream.come += u64::from(chunk.len);
        stream.known |= chunk.opens;
        if stream.come < stream.len {
            return None;
        }
        let copied = stream.patience == COPIED;
        let number = stream.number;
        self.out.remove(place);
        if place < self.turn {
            self.turn -= 1;
        }
        (!copied).then_some(number)
    }

    /// The first stream whose memory is to be copied by now: all of it is with lanes, and it has
    /// not come for too long. It counts as copied.
    pub fn take_impatient(&mut self, now: Time) -> Option<&mut Sending<M>> {
        let (moved, flight) = (self.moved, self.flight());
        let due = |s: &&mut Sending<M>| s.deadline(moved, flight).is_some_and(|at| at <= now);
        let stream = self.out.iter_mut().find(due)?;
        stream.patience = COPIED;
        Some(stream)
    }

    /// How long what is with lanes and not known to have come may take.
    fn flight(&self) -> Time {
        let doubtful: u64 = self.out.iter().map(|s| s.cut - s.come).sum();
        doubtful.saturating_mul(1000) / self.least_flow
    }

    /// When `take_impatient` has something, if nothing happens before.
    pub fn next_impatience(&self) -> Option<Time> {
        let flight = self.flight();
        self.out.iter().filter_map(|s| s.deadline(self.moved, flight)).min()
    }

    /// The next chunk for a lane: by turns from every stream that has some left.
    pub fn cut(&mut self, most: impl Fn(u64) -> u64) -> Option<Chunk> {
        if let Some(chunk) = self.again.pop_front() {
            return Some(chunk);
        }
        for _ in 0..self.out.len() {
            self.turn = if self.turn < self.out.len() { self.turn } else { 0 };
            let stream = &mut self.out[self.turn];
            self.turn += 1;
            let opens = !stream.opened;
            let left = stream.may - stream.cut;
            if left > 0 || opens {
                let len = if opens { left } else { most(left).min(left) };
                let (number, offset) = (stream.number, stream.cut);
                stream.opened = true;
                stream.cut += len;
                return Some(Chunk { number, offset, len: len as u32, opens });
            }
        }
        None
    }

    pub fn unfinished(&self) -> Pending {
        Pending {
            outgoing: self.out.len(),
            unsent: self.out.iter().map(|s| s.len - s.come.min(s.len)).sum(),
            incoming: self.ins.len(),
            missing: self.ins.iter().map(|s| s.len - s.got.min(s.len)).sum(),
        }
    }

    pub fn again(&mut self, chunks: VecDeque<Chunk>) {
        self.again.extend(chunks);
    }

    /// Words to the peer may have been lost: they are to be said again.
    pub fn say_again(&mut self) {
        self.go.clear();
        self.go.extend(self.ins.iter().filter(|s| s.asked).map(|s| s.number));
        self.told_limit = 0;
    }

    /// Takes note of where a stream belongs. What has come of it too soon is returned.
    pub fn expect(&mut self, mut stream: Receiving<M>) -> Expected<M> {
        let early = self.early.iter().position(|e| e.number == stream.number);
        let Some(place) = early else {
            self.ins.push(stream);
            return Expected::Nothing;
        };
        let Early { total, len, data, have, whole, .. } = self.early.swap_remove(place);
        self.kept -= u64::from(len);
        self.placed += u64::from(len);
        self.in_time = if have == 0 { u64::from(len) } else { 0 };
        if total != stream.len {
            return Expected::Wrong(total);
        }
        if whole {
            stream.got = u64::from(len);
        }
        if stream.got == stream.len {
            return Expected::Whole(data, stream);
        }
        if u64::from(len) < total {
            stream.asked = true;
            self.go.push_back(stream.number);
        }
        self.ins.push(stream);
        Expected::Begun(data, have)
    }

    pub fn landing(&self, number: u64) -> Option<&Receiving<M>> {
        self.ins.iter().find(|s| s.number == number)
    }

    /// Where bytes of stream `number` from `offset` on belong, `left` of which are to come.
    pub fn place(&mut self, number: u64, offset: u64, left: usize) -> Input<'_, M> {
        if let Some(early) = self.early.iter_mut().find(|e| e.number == number) {
            early.data.resize(early.len as usize, 0);
            return Input::Bytes(&mut early.data[early.have..]);
        }
        match self.ins.iter().find(|s| s.number == number) {
            Some(stream) if offset < stream.room => {
                let room = usize::try_from(stream.room - offset).unwrap_or(left);
                let (to, len) = (&stream.to, left.min(room));
                Input::Memory { to, offset, len, then: &mut [] }
            }
            _ => Input::Drop(left),
        }
    }

    pub fn early(&mut self, number: u64) -> Option<&mut Early> {
        self.early.iter_mut().find(|e| e.number == number)
    }

    /// A stream opens whose place nobody has said yet. False: it sends too much unasked, or again
    /// what has come or is just coming over another connection.
    pub fn keep_early(&mut self, number: u64, len: u32, total: u64) -> bool {
        if let Some(early) = self.early(number) {
            // The connection broke when it came for the first time.
            let again = !early.whole && !early.coming && (early.len, early.total) == (len, total);
            early.coming |= again;
            return again;
        }
        if self.kept + u64::from(len) > self.window {
            return false;
        }
        self.kept += u64::from(len);
        let (data, have, coming, whole) = (Vec::new(), 0, true, false);
        self.early.push(Early { number, total, len, data, have, coming, whole });
        true
    }

    /// The connection broke while this chunk was coming.
    pub fn drop_early(&mut self, number: u64) {
        if let Some(early) = self.early(number)
            && !early.whole
        {
            (early.have, early.coming) = (0, false);
        }
    }

    /// A chunk of `len` bytes has come. `Some`: the cookie of a stream that is complete now, and
    /// its length.
    pub fn landed(&mut self, number: u64, len: u32) -> Option<(u64, u64)> {
        if let Some(early) = self.early(number) {
            early.whole = true;
            return None;
        }
        let place = self.ins.iter().position(|s| s.number == number)?;
        let stream = &mut self.ins[place];
        stream.got += u64::from(len);
        if stream.got < stream.len {
            return None;
        }
        let stream = self.ins.remove(place);
        Some((stream.cookie, stream.len))
    }
}

/// `patience` of a stream whose memory has been copied; no other has that.
const COPIED: Time = Time::MAX;
/// `patience` of a stream whose memory is not to be copied.
pub(crate) const PATIENT: Time = Time::MAX - 1;

/// What was there of a stream when its place became known.
pub(crate) enum Expected<M> {
    Nothing,
    /// The first bytes; the others go to their place.
    Begun(Vec<u8>, usize),
    /// Everything.
    Whole(Vec<u8>, Receiving<M>),
    /// Another number of bytes.
    Wrong(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_chunk_comes_over_one_connection_at_a_time() {
        let mut streams = Streams::<()>::new(&Settings::default());
        assert!(streams.keep_early(1, 100, 200));
        assert!(!streams.keep_early(1, 100, 200), "both would fill the same memory");
        streams.drop_early(1);
        assert!(!streams.keep_early(1, 101, 200), "it has another length");
        assert!(streams.keep_early(1, 100, 200), "the first connection broke");
        assert_eq!(streams.landed(1, 100), None);
        streams.drop_early(1);
        assert!(!streams.keep_early(1, 100, 200), "it has come");
    }
}
