//! Joins the streams of all ranks into one so that lines stay whole. Pure: bytes and the time go
//! in, bytes come out.
//!
//! A line goes out when its newline has come, or after [`QUIET`] without more (a prompt), or when
//! it has grown to [`LINE_MAX`]. While an unfinished line of one rank is the last thing written,
//! other ranks' lines are held, but not for longer than [`HOLD`] after that rank fell silent.

use std::time::Duration;

/// A longer line is written in pieces.
pub const LINE_MAX: usize = 64 << 10;
/// An unfinished line is written after so long without more of it.
pub const QUIET: Duration = Duration::from_millis(100);
/// So long after its last byte an unfinished line may be interrupted by another rank. Longer than
/// a rank that writes its line in pieces is kept from running on a loaded machine.
pub const HOLD: Duration = Duration::from_secs(1);

/// What is put in front of every line.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    pub time: bool,
    /// A text for each rank; none at all: nothing.
    pub texts: Vec<Vec<u8>>,
}

impl Prefix {
    fn any(&self) -> bool {
        self.time || !self.texts.is_empty()
    }

    /// The text of a stream; a rank may have several.
    fn text(&self, stream: usize) -> &[u8] {
        match self.texts.len() {
            0 => &[],
            count => &self.texts[stream % count],
        }
    }
}

#[derive(Debug, Default)]
struct Stream {
    /// Bytes not yet given out; below `LINE_MAX` plus one read.
    bytes: Vec<u8>,
    /// When the last bytes came.
    last: Duration,
    closed: bool,
}

/// The joined streams of one kind (standard output, or standard error) of all ranks.
#[derive(Debug)]
pub struct Mux {
    streams: Vec<Stream>,
    prefix: Prefix,
    /// The rank whose unfinished line was written last.
    unfinished: Option<usize>,
    open: usize,
    /// Streams with bytes in them.
    holding: usize,
    clock: fn() -> String,
}

impl Mux {
    /// A mux for so many ranks. `clock` gives the text of the present time for prefixes.
    pub fn new(ranks: usize, prefix: Prefix, clock: fn() -> String) -> Self {
        let streams = (0..ranks).map(|_| Stream::default()).collect();
        Self { streams, prefix, unfinished: None, open: ranks, holding: 0, clock }
    }

    /// How many streams have not been closed.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Whether more of this rank can be taken.
    pub fn wants(&self, rank: u32) -> bool {
        let stream = &self.streams[rank as usize];
        !stream.closed && stream.bytes.len() < LINE_MAX
    }

    /// Takes bytes that a rank wrote; appends to `out` what may be written now.
    pub fn data(&mut self, rank: u32, bytes: &[u8], now: Duration, out: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let stream = &mut self.streams[rank as usize];
        self.holding += usize::from(stream.bytes.is_empty());
        stream.bytes.extend_from_slice(bytes);
        stream.last = now;
        self.advance(rank as usize, out);
    }

    /// A rank's stream has ended; what is left of it is written.
    pub fn close(&mut self, rank: u32, out: &mut Vec<u8>) {
        let rank = rank as usize;
        if std::mem::replace(&mut self.streams[rank].closed, true) {
            return;
        }
        self.open -= 1;
        if self.unfinished.is_none_or(|owner| owner == rank) {
            self.advance(rank, out);
            self.give(rank, self.streams[rank].bytes.len(), out);
            self.finish_closed(rank, out);
            self.release(out);
        }
    }

    /// Appends what has become due by the passing of time.
    pub fn tick(&mut self, now: Duration, out: &mut Vec<u8>) {
        if self.holding == 0 {
            return;
        }
        for rank in 0..self.streams.len() {
            let stream = &self.streams[rank];
            if stream.bytes.is_empty() || now < self.due(rank) {
                continue;
            }
            self.interrupt(rank, out);
            self.give(rank, self.streams[rank].bytes.len(), out);
            self.finish_closed(rank, out);
            self.release(out);
        }
    }

    /// When [`Mux::tick`] has something to do.
    pub fn next_timeout(&self) -> Option<Duration> {
        if self.holding == 0 {
            return None;
        }
        (0..self.streams.len())
            .filter(|rank| !self.streams[*rank].bytes.is_empty())
            .map(|rank| self.due(rank))
            .min()
    }

    /// Appends everything that is still held, whatever it interrupts.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        for rank in 0..self.streams.len() {
            if !self.streams[rank].bytes.is_empty() {
                self.interrupt(rank, out);
                self.give(rank, self.streams[rank].bytes.len(), out);
            }
        }
    }

    /// Appends a line of the launcher's own.
    pub fn message(&mut self, text: &str, out: &mut Vec<u8>) {
        if self.unfinished.take().is_some() {
            out.push(b'\n');
        }
        out.extend_from_slice(text.as_bytes());
        out.push(b'\n');
    }

    fn due(&self, rank: usize) -> Duration {
        let own = self.streams[rank].last + QUIET;
        match self.unfinished {
            Some(owner) if owner != rank => own.max(self.streams[owner].last + HOLD),
            _ => own,
        }
    }

    /// Gives out a rank's whole lines, and an overlong one in pieces, unless another rank is in
    /// the middle of a line.
    fn advance(&mut self, rank: usize, out: &mut Vec<u8>) {
        if self.unfinished.is_some_and(|owner| owner != rank) {
            return;
        }
        let bytes = &self.streams[rank].bytes;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let length = if bytes.len() - whole >= LINE_MAX { bytes.len() } else { whole };
        if length > 0 {
            self.give(rank, length, out);
            self.release(out);
        }
    }

    /// After a line was finished: the others' lines that were held.
    fn release(&mut self, out: &mut Vec<u8>) {
        for rank in 0..self.streams.len() {
            if self.holding == 0 || self.unfinished.is_some() {
                return;
            }
            let bytes = &self.streams[rank].bytes;
            if bytes.is_empty() {
                continue;
            }
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let all = self.streams[rank].closed || bytes.len() - whole >= LINE_MAX;
            self.give(rank, if all { self.streams[rank].bytes.len() } else { whole }, out);
            self.finish_closed(rank, out);
        }
    }

    /// Prepares for writing in the middle of another rank's line.
    fn interrupt(&mut self, rank: usize, out: &mut Vec<u8>) {
        if self.unfinished.is_some_and(|owner| owner != rank) {
            self.unfinished = None;
            // Without prefixes the bytes are the programs' own, and none is added.
            if self.prefix.any() {
                out.push(b'\n');
            }
        }
    }

    /// A stream that ended inside a line will never finish it.
    fn finish_closed(&mut self, rank: usize, out: &mut Vec<u8>) {
        if self.streams[rank].closed && self.unfinished == Some(rank) {
            self.unfinished = None;
            if self.prefix.any() {
                out.push(b'\n');
            }
        }
    }

    fn give(&mut self, rank: usize, length: usize, out: &mut Vec<u8>) {
        if length == 0 {
            return;
        }
        let continued = self.unfinished == Some(rank);
        let stream = &mut self.streams[rank];
        let bytes = &stream.bytes[..length];
        if self.prefix.any() {
            let time = if self.prefix.time { (self.clock)() } else { String::new() };
            for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
                if index > 0 || !continued {
                    out.extend_from_slice(time.as_bytes());
                    out.extend_from_slice(self.prefix.text(rank));
                }
                out.extend_from_slice(line);
            }
        } else {
            out.extend_from_slice(bytes);
        }
        self.unfinished = (bytes.last() != Some(&b'\n')).then_some(rank);
        stream.bytes.drain(..length);
        self.holding -= usize::from(stream.bytes.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const T0: Duration = Duration::ZERO;

    fn mux(ranks: usize, rank: bool) -> Mux {
        let texts = (0..ranks).filter(|_| rank).map(|rank| format!("[{rank}] ").into_bytes());
        Mux::new(ranks, Prefix { time: false, texts: texts.collect() }, String::new)
    }

    fn text(out: &mut Vec<u8>) -> String {
        String::from_utf8(std::mem::take(out)).unwrap()
    }

    #[test]
    fn lines_wait_for_their_newline() {
        let (mut mux, mut out) = (mux(2, false), Vec::new());
        mux.data(0, b"he", T0, &mut out);
        mux.data(1, b"you\nand", T0, &mut out);
        assert_eq!(text(&mut out), "you\n");
        mux.data(0, b"llo\n", T0, &mut out);
        assert_eq!(text(&mut out), "hello\n");
        mux.close(1, &mut out);
        assert_eq!(text(&mut out), "and");
    }

    #[test]
    fn a_prompt_shows_and_holds_the_others_back_for_a_while() {
        let (mut mux, mut out) = (mux(2, true), Vec::new());
        mux.data(0, b"name? ", T0, &mut out);
        assert_eq!(mux.next_timeout(), Some(QUIET));
        mux.tick(QUIET, &mut out);
        assert_eq!(text(&mut out), "[0] name? ");
        mux.data(1, b"line\n", QUIET, &mut out);
        assert_eq!(text(&mut out), "");
        mux.data(0, b"ok\n", QUIET, &mut out);
        assert_eq!(text(&mut out), "ok\n[1] line\n");
        mux.data(0, b"again? ", QUIET, &mut out);
        mux.tick(QUIET * 2, &mut out);
        mux.data(1, b"line\n", QUIET * 2, &mut out);
        mux.tick(QUIET + HOLD, &mut out);
        assert_eq!(text(&mut out), "[0] again? \n[1] line\n");
    }

    #[test]
    fn overlong_lines_go_in_pieces_and_are_not_held_without_bound() {
        let (mut mux, mut out) = (mux(2, false), Vec::new());
        mux.data(0, &vec![b'x'; LINE_MAX], T0, &mut out);
        assert_eq!(out.len(), LINE_MAX);
        mux.data(1, &vec![b'y'; LINE_MAX], T0, &mut out);
        assert_eq!(out.len(), LINE_MAX);
        assert!(!mux.wants(1));
        mux.tick(HOLD, &mut out);
        assert_eq!(out.len(), 2 * LINE_MAX);
        assert!(mux.wants(1));
    }

    #[test]
    fn messages_stand_alone() {
        let (mut mux, mut out) = (mux(1, false), Vec::new());
        mux.data(0, b"x", T0, &mut out);
        mux.tick(QUIET, &mut out);
        mux.message("mpirun: ended", &mut out);
        assert_eq!(text(&mut out), "x\nmpirun: ended\n");
    }

    proptest! {
        /// Whatever the cuts and the order, no byte is lost, and without pauses every line of the
        /// result is a whole line of one rank, in that rank's order.
        #[test]
        fn lines_stay_whole(
            counts in prop::collection::vec(0usize..30, 1..5),
            steps in prop::collection::vec((0usize..5, 1usize..40), 0..400),
        ) {
            let inputs: Vec<Vec<u8>> = counts.iter().enumerate().map(|(rank, count)| {
                (0..*count).flat_map(|line| format!("{rank}:{line}\n").into_bytes()).collect()
            }).collect();
            let mut mux = mux(inputs.len(), false);
            let (mut at, mut out) = (vec![0; inputs.len()], Vec::new());
            for (rank, cut) in steps {
                let rank = rank % inputs.len();
                let end = (at[rank] + cut).min(inputs[rank].len());
                mux.data(rank as u32, &inputs[rank][at[rank]..end], T0, &mut out);
                at[rank] = end;
            }
            for rank in 0..inputs.len() {
                mux.data(rank as u32, &inputs[rank][at[rank]..], T0, &mut out);
                mux.close(rank as u32, &mut out);
            }
            prop_assert_eq!(mux.open(), 0);
            let mut next = vec![0; inputs.len()];
            for line in String::from_utf8(out).unwrap().lines() {
                let (rank, number) = line.split_once(':').unwrap();
                let rank: usize = rank.parse().unwrap();
                prop_assert_eq!(number.parse::<usize>().unwrap(), next[rank]);
                next[rank] += 1;
            }
            prop_assert_eq!(next, counts);
        }

        /// With pauses lines may be cut, but each rank's bytes all come, in order.
        #[test]
        fn no_byte_is_lost(steps in prop::collection::vec((0u8..3, "[ab\n]{0,8}", 0u64..1500), 0..100)) {
            let (mut mux, mut now, mut out) = (mux(3, false), T0, Vec::new());
            let mut given = 0;
            for (rank, piece, pause) in steps {
                now += Duration::from_millis(pause);
                mux.tick(now, &mut out);
                mux.data(u32::from(rank), piece.as_bytes(), now, &mut out);
                given += piece.len();
            }
            (0..3).for_each(|rank| mux.close(rank, &mut out));
            mux.flush(&mut out);
            prop_assert_eq!(out.len(), given);
            prop_assert_eq!(mux.next_timeout(), None);
        }
    }
}
