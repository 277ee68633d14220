//! Streams under way.

use crate::action::Input;
use crate::lane::Chunk;

/// A stream that goes out.
pub(crate) struct Sending<M> {
    pub number: u64,
    pub from: M,
    pub len: u64,
    /// Bytes that lanes have taken over, as chunks.
    pub cut: u64,
    pub early: bool,
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
}

/// A stream that came before its place was known: one chunk.
pub(crate) struct Early {
    pub number: u64,
    pub data: Box<[u8]>,
    pub have: usize,
}

/// All streams between this process and one other.
pub(crate) struct Streams<M> {
    out: Vec<Sending<M>>,
    /// Whose turn it is to be cut.
    turn: usize,
    /// Chunks that a lane could not deliver and another is to.
    again: std::collections::VecDeque<Chunk>,
    ins: Vec<Receiving<M>>,
    early: Vec<Early>,
    early_out: u64,
    early_in: u64,
}

impl<M> Default for Streams<M> {
    fn default() -> Streams<M> {
        Streams {
            out: Vec::new(),
            turn: 0,
            again: Default::default(),
            ins: Vec::new(),
            early: Vec::new(),
            early_out: 0,
            early_in: 0,
        }
    }
}

impl<M> Streams<M> {
    /// Something has to come or to go.
    pub fn pending(&self) -> bool {
        !self.out.is_empty() || !self.ins.is_empty()
    }

    /// Bytes that began unasked and have not ended.
    pub fn early_out(&self) -> u64 {
        self.early_out
    }

    pub fn send(&mut self, stream: Sending<M>) {
        if stream.early {
            self.early_out += stream.len;
        }
        self.out.push(stream);
    }

    pub fn source(&self, number: u64) -> Option<&M> {
        self.out.iter().find(|s| s.number == number).map(|s| &s.from)
    }

    /// Forgets stream `number`. False: it was not cut up yet, so it can't have come.
    pub fn end(&mut self, number: u64) -> bool {
        let Some(place) = self.out.iter().position(|s| s.number == number) else { return false };
        if self.out[place].cut < self.out[place].len
            || self.again.iter().any(|c| c.number == number)
        {
            return false;
        }
        let stream = self.out.remove(place);
        if place < self.turn {
            self.turn -= 1;
        }
        if stream.early {
            self.early_out -= stream.len;
        }
        true
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
            let left = stream.len - stream.cut;
            if left > 0 {
                let len = if stream.early { left } else { most(left).min(left) };
                let chunk = Chunk {
                    number: stream.number,
                    offset: stream.cut,
                    len: len as u32,
                    early: stream.early,
                };
                stream.cut += len;
                return Some(chunk);
            }
        }
        None
    }

    pub fn describe(&self) -> String {
        let cut: u64 = self.out.iter().map(|s| s.cut).sum();
        let out: u64 = self.out.iter().map(|s| s.len).sum();
        let got: u64 = self.ins.iter().map(|s| s.got).sum();
        let ins: u64 = self.ins.iter().map(|s| s.len).sum();
        let (sending, receiving) = (self.out.len(), self.ins.len());
        format!("{sending} going, {cut} of {out} bytes out; {receiving} coming, {got} of {ins} in")
    }

    /// Whether `cut` would find something.
    pub fn has_more(&self) -> bool {
        !self.again.is_empty() || self.out.iter().any(|s| s.cut < s.len)
    }

    pub fn again(&mut self, chunks: std::collections::VecDeque<Chunk>) {
        self.again.extend(chunks);
    }

    /// Takes note of where a stream belongs. What has come of it too soon is returned.
    pub fn expect(&mut self, mut stream: Receiving<M>) -> Expected<M> {
        let early = self.early.iter().position(|e| e.number == stream.number);
        let Some(place) = early else {
            self.ins.push(stream);
            return Expected::Nothing;
        };
        let Early { data, have, .. } = self.early.swap_remove(place);
        self.early_in -= data.len() as u64;
        if data.len() as u64 != stream.len {
            return Expected::Wrong(data.len() as u64);
        }
        if have == data.len() {
            stream.got = stream.len;
            return Expected::Whole(data, stream);
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
            return Input::Bytes(&mut early.data[early.have..]);
        }
        match self.ins.iter().find(|s| s.number == number) {
            Some(stream) if offset < stream.room => {
                let room = usize::try_from(stream.room - offset).unwrap_or(left);
                Input::Memory { to: &stream.to, offset, len: left.min(room) }
            }
            _ => Input::Drop(left),
        }
    }

    pub fn early(&mut self, number: u64) -> Option<&mut Early> {
        self.early.iter_mut().find(|e| e.number == number)
    }

    /// Makes room for a stream that nobody expects yet. False: too much, or again.
    pub fn keep_early(&mut self, number: u64, len: u32, window: u32) -> bool {
        let fits = self.early_in + u64::from(len) <= u64::from(window);
        if !fits || self.early(number).is_some() {
            return false;
        }
        self.early_in += u64::from(len);
        let data = vec![0; len as usize].into_boxed_slice();
        self.early.push(Early { number, data, have: 0 });
        true
    }

    /// The connection broke while this chunk was coming.
    pub fn drop_early(&mut self, number: u64) {
        if let Some(place) = self.early.iter().position(|e| e.number == number) {
            let early = self.early.swap_remove(place);
            self.early_in -= early.data.len() as u64;
        }
    }

    /// A chunk of `len` bytes has come. `Some`: the cookie of a stream that is complete now.
    pub fn landed(&mut self, number: u64, len: u32) -> Option<u64> {
        let place = self.ins.iter().position(|s| s.number == number)?;
        let stream = &mut self.ins[place];
        stream.got += u64::from(len);
        if stream.got < stream.len {
            return None;
        }
        Some(self.ins.remove(place).cookie)
    }
}

/// What was there of a stream when its place became known.
pub(crate) enum Expected<M> {
    Nothing,
    /// The first bytes; the others go to their place.
    Begun(Box<[u8]>, usize),
    /// Everything.
    Whole(Box<[u8]>, Receiving<M>),
    /// Another number of bytes.
    Wrong(u64),
}
