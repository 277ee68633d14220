//! Streams under way.

use crate::Time;
use crate::action::{Input, Pending, Settings};
use crate::order::Order;
use crate::rail::Chunk;
use hpvm_wire::bulk::{MAX_CHUNK, Opening};
use std::collections::VecDeque;

/// A stream that goes out.
pub(crate) struct Sending<M> {
    pub number: u64,
    pub from: M,
    pub len: u64,
    /// Its first chunk has to say so; afterwards what it said, in case that it is sent again.
    pub opening: Option<Opening>,
    /// The first chunk is with a rail, and is known to have come.
    pub opened: bool,
    pub known: bool,
    /// Bytes may go before the receiver asks, as far as it permits some when the first chunk is cut.
    pub unasked: bool,
    /// Bytes that rails have taken over, as chunks, and that they may take.
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

/// How much of streams may go unasked, if the peer permits it.
pub(crate) struct Unasked {
    /// Of a stream that is not longer all.
    pub early: u64,
    /// Of a longer one so much.
    pub ahead: u64,
    /// There is one rail, so that nothing is lost by sending more in one chunk.
    pub alone: bool,
    /// When so many bytes have come there is a word about them.
    pub told: u64,
}

impl Unasked {
    /// Bytes of a long stream that go unasked where `credit` are permitted.
    fn part(&self, credit: u64) -> u64 {
        let most = match self.alone {
            true => self.ahead.max(credit / 2).min(u64::from(MAX_CHUNK)),
            false => self.ahead,
        };
        if most <= credit { most } else { 0 }
    }
}

/// A stream that comes in, whose destination is known.
pub(crate) struct Receiving<M> {
    pub number: u64,
    pub to: M,
    pub room: u64,
    pub len: u64,
    /// Bytes of chunks that have come as a whole.
    pub got: u64,
    pub cookie: u64,
    /// The sender has to be told that the destination is known.
    pub asked: bool,
}

/// A stream that was opened before its destination was known.
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
    /// How many of them have not been opened.
    unopened: usize,
    /// Bytes with rails that are not known to have come.
    flying: u64,
    /// The peer has said something after which more may be cut.
    stirred: bool,
    /// Chunks that a rail could not deliver and another is to.
    again: VecDeque<Chunk>,
    ins: Vec<Receiving<M>>,
    /// Streams whose sender is to be told to go on.
    pub go: VecDeque<u64>,
    early: Vec<Early>,
    /// Bytes sent unasked so far, and how many the receiver permits in all.
    unasked: u64,
    permitted: u64,
    /// The most that it has permitted at any one time.
    widest: u64,
    /// Since an opening waits for permission: bytes on their way at that time that have not come. 0: they
    /// have brought none, and until there is some nobody waits.
    hope: Option<u64>,
    /// Bytes of early streams that wait for their destination to be known, and of those for which it is.
    early_waiting: u64,
    early_landed: u64,
    /// Bytes that we take unasked at any one time, and in all, as the peer knows it.
    pub window: u64,
    told_limit: u64,
    /// The most that it has ever been told: so much it may send.
    promised: u64,
    /// The least window, and the largest that there has been, for which room is reserved.
    least_window: u64,
    reserved: u64,
    /// Streams longer than this are better asked for than buffered.
    early_most: u64,
    /// Bytes of the last stream whose destination became known before all of it had come.
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
            unopened: 0,
            flying: 0,
            stirred: false,
            again: VecDeque::new(),
            ins: Vec::new(),
            go: VecDeque::new(),
            early: Vec::new(),
            unasked: 0,
            permitted: window,
            widest: window,
            hope: None,
            early_waiting: 0,
            early_landed: 0,
            window,
            told_limit: window,
            promised: window,
            least_window: window,
            reserved: window,
            early_most: u64::from(settings.early),
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
        self.unopened += usize::from(!stream.opened);
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

    /// The peer permits so many bytes unasked, in all.
    pub fn permit(&mut self, limit: u64) {
        if limit > self.permitted {
            self.stirred |= self.unopened > 0;
            self.permitted = limit;
            self.hope = None;
        }
        self.widest = self.widest.max(self.permitted.saturating_sub(self.unasked));
    }

    /// Whether more may have become possible to cut since the last call.
    pub fn take_stirred(&mut self) -> bool {
        core::mem::take(&mut self.stirred)
    }

    /// Bytes that the peer may send unasked, in all: it is being told.
    pub fn tell_limit(&mut self) -> u64 {
        self.told_limit = self.early_landed + self.window;
        self.promised = self.promised.max(self.told_limit);
        self.told_limit
    }

    /// The window grows by what came in time, up to `most`. Returns by how much it is larger than it
    /// has ever been, which is at most `spare`.
    pub fn widen(&mut self, most: u64, spare: u64) -> u64 {
        let most = most.min(self.reserved.saturating_add(spare));
        let more = core::mem::take(&mut self.in_time).min(most.saturating_sub(self.window));
        self.window += more;
        let wider = self.window.saturating_sub(self.reserved);
        self.reserved += wider;
        wider
    }

    /// The peer may send much more than it knows.
    pub fn owes_limit(&self) -> bool {
        (self.early_landed + self.window).saturating_sub(self.told_limit) >= self.window / 2
    }

    /// How many packets went before the oldest opening that is not known to have come.
    fn doubtful_opening(&self) -> Option<u32> {
        let doubtful = self.out.iter().filter(|s| !s.known);
        doubtful.filter_map(|s| s.opening.as_ref()).map(|opening| opening.packets).next()
    }

    pub fn source(&self, number: u64) -> Option<&Sending<M>> {
        self.out.iter().find(|s| s.number == number)
    }

    /// The receiver knows the destination of stream `number`.
    pub fn go_on(&mut self, number: u64) {
        if let Some(stream) = self.out.iter_mut().find(|s| s.number == number) {
            stream.may = stream.len;
            self.stirred = true;
        }
    }

    /// A chunk has come. True: and with it all of its stream, which is forgotten. `None` instead of
    /// its number: that was said before, when its memory was copied.
    pub fn come(&mut self, chunk: &Chunk) -> Option<u64> {
        let index = self.out.iter().position(|s| s.number == chunk.number)?;
        let stream = &mut self.out[index];
        stream.come += u64::from(chunk.len);
        stream.known |= chunk.opens;
        self.flying -= u64::from(chunk.len);
        self.hope = self.hope.map(|left| left.saturating_sub(chunk.len.into()));
        self.stirred |= self.unopened > 0;
        if stream.come < stream.len {
            return None;
        }
        let copied = stream.patience == COPIED;
        let number = stream.number;
        self.out.remove(index);
        if index < self.turn {
            self.turn -= 1;
        }
        (!copied).then_some(number)
    }

    /// The first stream whose memory is to be copied by now: all of it is with rails, and it has
    /// not come for too long. It counts as copied.
    pub fn take_impatient(&mut self, now: Time) -> Option<&mut Sending<M>> {
        let (moved, flight) = (self.moved, self.flight());
        let due = |s: &&mut Sending<M>| s.deadline(moved, flight).is_some_and(|at| at <= now);
        let stream = self.out.iter_mut().find(due)?;
        stream.patience = COPIED;
        Some(stream)
    }

    /// The last stream if it has at most `most` bytes, all of them with rails, and was opened behind copied
    /// ones alone. It counts as copied.
    pub fn take_brief(&mut self, most: u64) -> Option<&mut Sending<M>> {
        let (last, others) = self.out.split_last_mut()?;
        let is_brief = last.len <= most && last.cut == last.len && last.patience < PATIENT;
        if !is_brief || others.iter().any(|s| s.patience != COPIED) {
            return None;
        }
        last.patience = COPIED;
        Some(last)
    }

    /// How long what is with rails and not known to have come may take.
    fn flight(&self) -> Time {
        self.flying.saturating_mul(1000) / self.least_flow
    }

    /// When `take_impatient` has something, if nothing happens before.
    pub fn next_impatience(&self) -> Option<Time> {
        let flight = self.flight();
        self.out.iter().filter_map(|s| s.deadline(self.moved, flight)).min()
    }

    /// The next chunk for a rail: by turns from every stream that has some left, at most `most` of
    /// what is left.
    pub fn cut(&mut self, most: impl Fn(u64) -> u64, unasked: &Unasked) -> Option<Chunk> {
        if let Some(chunk) = self.again.pop_front() {
            return Some(chunk);
        }
        let mut opens = self.unopened > 0;
        for _ in 0..self.out.len() {
            self.turn = if self.turn < self.out.len() { self.turn } else { 0 };
            let stream = &mut self.out[self.turn];
            self.turn += 1;
            let left = stream.may - stream.cut;
            if stream.opened && left > 0 {
                let (number, offset, len) = (stream.number, stream.cut, most(left).min(left));
                stream.cut += len;
                self.flying += len;
                return Some(Chunk { number, offset, len: len as u32, opens: false });
            }
            if !stream.opened && core::mem::take(&mut opens) {
                let chunk = self.open_next(self.turn - 1, unasked);
                if chunk.is_some() {
                    return chunk;
                }
            }
        }
        None
    }

    /// The first chunk of the oldest stream that has none, with as many bytes as go unasked; that at `index`
    /// has none. A stream that could go as a whole waits while so much is on its way that a word is certain,
    /// which may permit more; but not longer than until all of that has come, for who does not expect our
    /// messages permits nothing, and what is opened late holds up the packets behind it.
    fn open_next(&mut self, index: usize, unasked: &Unasked) -> Option<Chunk> {
        let stream = match self.unopened {
            1 => &mut self.out[index],
            _ => self.out.iter_mut().find(|s| !s.opened)?,
        };
        let credit = self.permitted.saturating_sub(self.unasked);
        let most = if unasked.alone { (self.widest / 2).min(u64::from(MAX_CHUNK)) } else { 0 };
        let whole = stream.len <= unasked.early.max(most);
        let len = match stream.len {
            _ if !stream.unasked => 0,
            len if whole && len <= credit => len,
            _ if whole
                && self.flying >= unasked.told
                && *self.hope.get_or_insert(self.flying) > 0 =>
            {
                return None;
            }
            len if len <= unasked.early => 0,
            len => unasked.part(credit).min(len),
        };
        stream.opened = true;
        (stream.may, stream.cut) = (len, len);
        self.unopened -= 1;
        self.unasked += len;
        self.flying += len;
        Some(Chunk { number: stream.number, offset: 0, len: len as u32, opens: true })
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

    /// Records where a stream belongs. What has come of it too soon is returned.
    pub fn expect(&mut self, mut stream: Receiving<M>) -> Expected<M> {
        let early = self.early.iter().position(|e| e.number == stream.number);
        let Some(index) = early else {
            self.ins.push(stream);
            return Expected::Nothing;
        };
        let Early { total, len, data, have, whole, .. } = self.early.swap_remove(index);
        self.early_waiting -= u64::from(len);
        self.early_landed += u64::from(len);
        self.in_time = if have == 0 { u64::from(len) } else { 0 };
        if have > 0 && total > self.early_most {
            self.window = self.window.saturating_sub(u64::from(len)).max(self.least_window);
        }
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
    pub fn destination(&mut self, number: u64, offset: u64, left: usize) -> Input<'_, M> {
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

    /// A stream opens whose destination nobody has said yet. False: it sends too much unasked, or again
    /// what has come or is just coming over another connection.
    pub fn keep_early(&mut self, number: u64, len: u32, total: u64) -> bool {
        if let Some(early) = self.early(number) {
            // The connection broke when it came for the first time.
            let again = !early.whole && !early.coming && (early.len, early.total) == (len, total);
            early.coming |= again;
            return again;
        }
        if self.early_waiting + self.early_landed + u64::from(len) > self.promised {
            return false;
        }
        self.early_waiting += u64::from(len);
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
        let index = self.ins.iter().position(|s| s.number == number)?;
        let stream = &mut self.ins[index];
        stream.got += u64::from(len);
        if stream.got < stream.len {
            return None;
        }
        let stream = self.ins.remove(index);
        Some((stream.cookie, stream.len))
    }
}

/// `patience` of a stream whose memory has been copied; no other has that.
const COPIED: Time = Time::MAX;
/// `patience` of a stream whose memory is not to be copied.
pub(crate) const PATIENT: Time = Time::MAX - 1;

/// What was there of a stream when its destination became known.
pub(crate) enum Expected<M> {
    Nothing,
    /// The first bytes; the others go to their destination.
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

    const KIB: u64 = 1024;
    const ONE_RAIL: Unasked =
        Unasked { early: 256 * KIB, ahead: 128 * KIB, alone: true, told: 512 * KIB };

    fn begin(streams: &mut Streams<()>, number: u64, len: u64) {
        let order = streams.order.begin();
        let head = hpvm_wire::Head::single(1, 0);
        streams.send(Sending {
            number,
            from: (),
            len,
            opening: Some(Opening { total: len, order, packets: 0, head }),
            opened: false,
            known: false,
            unasked: true,
            cut: 0,
            may: 0,
            come: 0,
            patience: 0,
            begun: 0,
        });
    }

    fn cut(streams: &mut Streams<()>, unasked: &Unasked) -> Option<Chunk> {
        streams.cut(|left| left, unasked)
    }

    #[test]
    fn a_long_stream_goes_as_a_whole_where_twice_as_much_was_permitted() {
        let mut streams = Streams::<()>::new(&Settings::default());
        begin(&mut streams, 1, 1024 * KIB);
        let part = cut(&mut streams, &ONE_RAIL).unwrap();
        assert_eq!((part.len, part.opens), (256 << 10, true), "half of what is permitted");
        assert_eq!(cut(&mut streams, &ONE_RAIL), None, "the receiver has not asked");
        streams.go_on(1);
        assert!(streams.take_stirred());
        assert_eq!(cut(&mut streams, &ONE_RAIL).map(|c| c.len), Some(768 << 10));
        streams.permit(4096 * KIB);
        begin(&mut streams, 2, 1024 * KIB);
        assert_eq!(cut(&mut streams, &ONE_RAIL).map(|c| c.len), Some(1024 << 10));
        begin(&mut streams, 3, 1024 * KIB);
        let shared = Unasked { alone: false, ..ONE_RAIL };
        assert_eq!(cut(&mut streams, &shared).map(|c| c.len), Some(128 << 10), "others take part");
    }

    #[test]
    fn an_opening_waits_for_permission_only_while_a_word_is_certain() {
        let mut streams = Streams::<()>::new(&Settings::default());
        for number in 0..3 {
            begin(&mut streams, number, 256 * KIB);
        }
        let first = cut(&mut streams, &ONE_RAIL).unwrap();
        let second = cut(&mut streams, &ONE_RAIL).unwrap();
        assert_eq!([first.number, second.number], [0, 1]);
        assert_eq!(cut(&mut streams, &ONE_RAIL), None, "512 KiB are on their way");
        streams.permit(768 * KIB);
        assert!(streams.take_stirred());
        let third = cut(&mut streams, &ONE_RAIL).unwrap();
        assert_eq!((third.number, third.len), (2, 256 << 10));
        begin(&mut streams, 3, 256 * KIB);
        assert_eq!(cut(&mut streams, &ONE_RAIL), None);
        streams.come(&first);
        assert!(!streams.take_stirred() || cut(&mut streams, &ONE_RAIL).is_none());
        streams.come(&second);
        let fourth = cut(&mut streams, &ONE_RAIL).unwrap();
        assert_eq!(
            (fourth.number, fourth.len, fourth.opens),
            (3, 0, true),
            "it has to be asked for"
        );
    }

    #[test]
    fn an_opening_does_not_wait_for_permission_that_does_not_come() {
        let mut streams = Streams::<()>::new(&Settings::default());
        let (mut flying, most) = (VecDeque::new(), |left: u64| left.min(1024 * KIB));
        begin(&mut streams, 0, 1 << 40);
        let opening = cut(&mut streams, &ONE_RAIL).unwrap();
        streams.come(&opening);
        streams.go_on(0);
        flying.push_back(streams.cut(most, &ONE_RAIL).unwrap());
        begin(&mut streams, 1, 256 * KIB);
        begin(&mut streams, 2, 100 * KIB);
        for _ in 0..9 {
            flying.push_back(streams.cut(most, &ONE_RAIL).unwrap());
        }
        assert!(flying.iter().any(|c| (c.number, c.len) == (1, 256 << 10)), "it was permitted");
        let opens = |c: &Chunk| (c.number, c.len, c.opens) == (2, 0, true);
        assert!(!flying.iter().any(opens), "what is on its way may bring permission");
        for _ in 0..10 {
            streams.come(&flying.pop_front().unwrap());
            flying.push_back(streams.cut(most, &ONE_RAIL).unwrap());
        }
        assert!(flying.iter().any(opens), "it has brought none, and a long stream goes on");
        begin(&mut streams, 3, 100 * KIB);
        let next = [0, 1].map(|_| streams.cut(most, &ONE_RAIL).unwrap());
        assert!(next.iter().any(|c| (c.number, c.len) == (3, 0)), "nor does any other");
        streams.permit(600 * KIB);
        begin(&mut streams, 4, 256 * KIB);
        let next = [0, 1].map(|_| streams.cut(most, &ONE_RAIL).unwrap());
        assert!(next.iter().all(|c| c.number == 0), "there was some: more may follow");
    }

    #[test]
    fn who_is_late_for_long_streams_takes_fewer_bytes_unasked_and_all_that_it_promised() {
        let mut streams = Streams::<()>::new(&Settings::default());
        let (least, mut spare) = (streams.window, 1024 * KIB);
        let landing = |number| {
            let (room, len) = (1024 * KIB, 1024 * KIB);
            Receiving { number, to: (), room, len, got: 0, cookie: 0, asked: false }
        };
        for number in 0..4 {
            assert!(streams.keep_early(number, 512 << 10, 1024 * KIB));
            assert!(matches!(streams.expect(landing(number)), Expected::Begun(_, 0)));
            spare -= streams.widen(4096 * KIB, spare);
            streams.tell_limit();
        }
        assert_eq!(streams.window, least + 1024 * KIB, "no more was to spare");
        assert!(streams.keep_early(9, 1024 << 10, 1024 * KIB));
        streams.early(9).unwrap().have = 1;
        streams.expect(landing(9));
        assert_eq!(streams.window, least);
        streams.tell_limit();
        assert!(streams.keep_early(10, 512 << 10, 1024 * KIB), "it was promised");
        assert!(!streams.keep_early(11, 1 << 10, 1024 * KIB));
        streams.early(10).unwrap().have = 0;
        streams.expect(landing(10));
        assert_eq!(streams.widen(4096 * KIB, 0), 0, "room is still reserved");
        assert_eq!(streams.window, least + 512 * KIB);
    }

    #[test]
    fn a_short_stream_is_copied_when_nobody_waits_for_another() {
        let mut streams = Streams::<()>::new(&Settings::default());
        begin(&mut streams, 1, 4 * KIB);
        assert!(streams.take_brief(16 * KIB).is_none(), "no rail has it");
        cut(&mut streams, &ONE_RAIL);
        assert!(streams.take_brief(3 * KIB).is_none(), "it is too long");
        assert_eq!(streams.take_brief(16 * KIB).map(|s| s.number), Some(1));
        assert!(streams.take_brief(16 * KIB).is_none(), "once is enough");
        for number in 2..4 {
            begin(&mut streams, number, 4 * KIB);
            cut(&mut streams, &ONE_RAIL);
        }
        assert!(streams.take_brief(16 * KIB).is_none(), "two are waited for");
    }
}
