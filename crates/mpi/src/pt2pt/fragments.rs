//! Messages that go out in several packets without being asked for.
//!
//! A message of some KiB in one packet is copied twice, one copy after the other. In pieces the
//! receiver copies one while the sender writes the next, and no handshake comes before. The first
//! packet, `LONG`, carries envelope, length and a number; the others, `PIECE`, the number and the bytes. The
//! transport keeps them in order and needs one credit for all. What comes before its receive is kept whole.

use crate::engine::matching::{Content, Table, Unexpected};
use crate::engine::process::{Inbox, Process};
use crate::engine::requests::{Operation, ReqId};
use crate::pt2pt::protocol::{LONG, Long, MOST_EAGER, PIECE};
use crate::pt2pt::{Outgoing, pack_part};
use hpvm_fm::{Head, Rank, Transport};

/// A message some pieces of which are missing, or that waits for its receive.
#[derive(Debug)]
pub(crate) struct Incomplete {
    src: Rank,
    number: u64,
    len: u64,
    /// Bytes that have come.
    done: u64,
    whither: Whither,
}

#[derive(Debug)]
enum Whither {
    /// Into the buffer of a receive.
    Receive(ReqId),
    /// Nobody has asked for it yet.
    Kept(Vec<u8>),
    /// Nobody will ask for it any more.
    Nobody,
}

impl<T: Transport> Process<T> {
    /// Sends a message in pieces, where the transport likes it so. False: nothing has happened,
    /// because it does not or there is no room now.
    ///
    /// # Safety
    /// `m.buf` is valid for reads of `m.count` elements.
    #[inline(never)]
    pub(crate) unsafe fn send_pieces(&mut self, m: Outgoing<'_>, dst: Rank, envelope: u64) -> bool {
        let len = m.packed_size();
        let long = Long { len, number: self.numbers };
        let rest = Head::single(PIECE, long.number);
        let long = (Head::single(LONG, envelope), &long.to_bytes());
        // SAFETY: the caller's promise; the transport asks for parts of the message only.
        let fill = |at, out: &mut [u8], bypass| unsafe { pack_part(m, at as u64, out, bypass) };
        let sent = self.fm.send_pieces(dst, Some(long), rest, len as usize, fill).is_ok();
        self.numbers += u64::from(sent);
        sent
    }
}

impl Inbox {
    /// The first packet of a message in pieces.
    pub fn on_long(&mut self, src: Rank, imm: u64, data: &[u8]) {
        let Some((context, tag)) = self.checked_context(src, imm) else { return };
        let long = Long::read(data).filter(|l| (1..=MOST_EAGER).contains(&l.len));
        let Some(Long { len, number }) = long else {
            let text = format!("a message in pieces that begins with {} bytes", data.len());
            return self.violate(src, text);
        };
        let receive = match self.arrive(context, src, tag) {
            None if self.direct.accepts(context, src, tag) => {
                // SAFETY: whoever set it waits for it, and all that it names lives meanwhile.
                let op = unsafe { self.direct.as_op() };
                let id = self.requests.insert(Operation::Recv(op), None);
                self.direct.became(id);
                Some(id)
            }
            found => found,
        };
        let whither = match receive {
            Some(id) => {
                self.begin(id, src, tag);
                Whither::Receive(id)
            }
            None => {
                self.keep(
                    context,
                    Unexpected { src, tag, content: Content::Pieces { len, number } },
                );
                Whither::Kept(Vec::with_capacity(len as usize))
            }
        };
        self.incomplete.push(Incomplete { src, number, len, done: 0, whither });
    }

    /// The next piece of a message.
    pub fn on_piece(&mut self, src: Rank, number: u64, data: &[u8]) {
        let mine = |m: &Incomplete| m.src == src && m.number == number;
        match self.incomplete.iter().rposition(mine) {
            Some(place)
                if self.incomplete[place].done + data.len() as u64
                    <= self.incomplete[place].len =>
            {
                self.add_piece(place, data);
            }
            _ => self.violate(src, format!("{} bytes of no message in pieces", data.len())),
        }
    }

    /// Says in the status of receive `id` whose message it gets.
    fn begin(&mut self, id: ReqId, src: Rank, tag: i32) {
        let Some(r) = self.requests.get_mut(id) else { return };
        let Operation::Recv(op) = &r.op else { return };
        r.status.source = op.comm.rank_of(src);
        r.status.tag = tag;
    }

    fn add_piece(&mut self, place: usize, data: &[u8]) {
        let m = &mut self.incomplete[place];
        let at = m.done;
        m.done += data.len() as u64;
        let complete = m.done == m.len;
        match &mut m.whither {
            Whither::Kept(bytes) => bytes.extend_from_slice(data),
            Whither::Nobody if complete => drop(self.incomplete.swap_remove(place)),
            Whither::Nobody => {}
            Whither::Receive(id) => {
                let id = *id;
                self.unpack_piece(id, at, data);
                if complete {
                    let Incomplete { len, .. } = self.incomplete.swap_remove(place);
                    self.finish_receive(id, len);
                }
            }
        }
    }

    /// Writes bytes `at..` of a message into the buffer of receive `id`, as far as they fit.
    fn unpack_piece(&mut self, id: ReqId, at: u64, data: &[u8]) {
        let Some(op) = self.recv_op(id) else { return };
        let fits = (data.len() as u64).min(op.packed_size().saturating_sub(at)) as usize;
        if let Some((first, _)) = op.ty.as_run(op.count) {
            let to = op.buf.wrapping_offset(first as isize).wrapping_add(at as usize);
            // SAFETY: the program gave a buffer of `count` elements, one run of bytes from `first`
            // on; `at + fits` is at most their size.
            unsafe { hpvm_copy::wide(data.as_ptr(), to, fits) };
        } else {
            // SAFETY: as above, without being one run.
            unsafe { op.ty.unpack(op.buf, op.count, at, &data[..fits]) };
        }
    }

    /// Receive `id` takes message `number` of `len` bytes, of which some or all have come.
    #[cold]
    pub fn receive_pieces(&mut self, id: ReqId, src: Rank, tag: i32, len: u64, number: u64) {
        self.begin(id, src, tag);
        let mine = |m: &Incomplete| m.src == src && m.number == number;
        let Some(place) = self.incomplete.iter().position(mine) else { return };
        let whither = core::mem::replace(&mut self.incomplete[place].whither, Whither::Receive(id));
        if let Whither::Kept(bytes) = whither {
            self.unpack_piece(id, 0, &bytes);
        }
        if self.incomplete[place].done == len {
            self.incomplete.swap_remove(place);
            self.finish_receive(id, len);
        }
    }

    /// The messages left in `table` will never be received.
    pub fn forget_pieces(&mut self, table: &Table) {
        for message in table.unexpected() {
            let Content::Pieces { number, .. } = message.content else { continue };
            let mine = |m: &Incomplete| m.src == message.src && m.number == number;
            let Some(place) = self.incomplete.iter().position(mine) else { continue };
            let m = &mut self.incomplete[place];
            m.whither = Whither::Nobody;
            if m.done == m.len {
                self.incomplete.swap_remove(place);
            }
        }
    }
}
