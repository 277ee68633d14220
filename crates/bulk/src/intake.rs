//! Bytes that one system call has read beyond those that were needed: headers, and the bytes behind them.
//!
//! One system call that reads a header and the bytes of a short chunk is cheaper than two, although the bytes are then copied
//! once more. The header behind a long chunk may as well come with the chunk's end.

use hpvm_wire::bulk::FRAME;

/// What has come of a connection and was not yet looked at.
#[derive(Default)]
pub(crate) struct Intake {
    /// Empty until something has to be kept; the bytes are `buffer[from..to]`.
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Bytes that are worth asking for beside a header.
    more: usize,
}

impl Intake {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// The header in front, if it has come as a whole.
    pub fn header(&self) -> Option<&[u8; FRAME]> {
        self.bytes().first_chunk()
    }

    /// `n` bytes have been looked at.
    pub fn skip(&mut self, n: usize) {
        self.from = (self.from + n).min(self.to);
    }

    /// A chunk of `len` bytes begins. If that is at most `short`, the next one may be as well: two of
    /// them are worth a copy.
    pub fn expect(&mut self, len: u32, short: u32) {
        self.more = if len <= short { 2 * short as usize + FRAME } else { 0 };
    }

    /// Where the next bytes of the connection belong while a header is due: a buffer for the rest of
    /// it at least. There is less than a header.
    pub fn room(&mut self) -> &mut [u8] {
        let size = FRAME + self.more;
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        &mut self.buffer[self.to..size]
    }

    /// `n` bytes have come to where `room` said.
    pub fn came(&mut self, n: usize) {
        self.to += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: u32 = 3000;
    const BUFFER_LIMIT: usize = 2 * (SHORT as usize + FRAME);

    #[test]
    fn headers_and_bytes_come_out_as_they_went_in_whatever_the_pieces() {
        let mut random = fastrand::Rng::with_seed(7);
        let sent: Vec<u8> = (0..100_000).map(|_| random.u8(..)).collect();
        let (mut intake, mut put, mut got) = (Intake::default(), 0, Vec::new());
        while got.len() < sent.len() {
            if intake.header().is_none() {
                let room = intake.room();
                let n = room.len().min(random.usize(1..=sent.len())).min(sent.len() - put);
                room[..n].copy_from_slice(&sent[put..put + n]);
                intake.came(n);
                put += n;
            }
            let all = intake.bytes().len();
            assert!(all <= BUFFER_LIMIT);
            let n = if put == sent.len() { all } else { random.usize(0..=all) };
            got.extend_from_slice(&intake.bytes()[..n]);
            intake.skip(n);
            intake.expect(SHORT + u32::from(random.bool()), SHORT);
        }
        assert_eq!(got, sent);
    }

    #[test]
    fn behind_long_chunks_there_is_room_for_a_header_alone() {
        let mut intake = Intake::default();
        assert_eq!(intake.room().len(), FRAME);
        intake.came(30);
        assert_eq!((intake.room().len(), intake.header()), (FRAME - 30, None));
        intake.came(FRAME - 30);
        assert!(intake.header().is_some());
        intake.skip(FRAME);
        intake.expect(SHORT, SHORT);
        assert_eq!(intake.room().len(), BUFFER_LIMIT);
        intake.expect(SHORT + 1, SHORT);
        assert_eq!(intake.room().len(), FRAME);
    }
}
