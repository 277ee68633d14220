//! The carrier: packets of the engine that only Portals gets, and messages of a communicator that only Portals knows.
//!
//! Headers, with short data behind them, are packets, which wait in the engine until they are taken. Longer data is a message of
//! MPI, which copies it from memory to memory where that is one run.

use crate::memory;
use core::ffi::c_int;
use hpvm_abi::constants::*;
use hpvm_abi::models::PORTALS;
use hpvm_model::{models, mpi};
use hpvm_portals::{
    Carrier, Data, EAGER, Head, Inaccessible, NiFail, Purpose, Region, Replies, Reply, Transfer,
    Unreachable,
};

const PUTS: c_int = 2;
const GETS: c_int = 3;
const PUSHES: c_int = 4;

/// A packet at most.
pub const PACKET: usize = Head::BYTES + EAGER as usize;

const _: () = assert!(PACKET <= hpvm_abi::models::PACKET);
const _: () = assert!(Replies::BYTES <= hpvm_abi::models::PACKET);

/// What a get has fetched of at most so many bytes may be copied to be sent later: a copy of more costs more than it saves.
pub const HELD: u64 = 256;

/// Packets that may wait to leave, 4 MiB of them, before calls of the program wait with them.
const UNSENT: usize = 1024;
/// Packets sent between two looks at how many wait.
const PACKETS_PER_LOOK: u32 = 64;

pub type Buffer = Box<[u8; hpvm_abi::models::PACKET]>;

/// A transfer by itself.
struct Moving {
    /// Of this interface.
    interface: u8,
    transfer: Transfer,
    request: MPI_Request,
    /// Bytes that move, and how many of them are kept.
    total: u64,
    length: u64,
    /// Memory in several runs, or less than what moves: a copy is sent, or received.
    copy: Option<Vec<u8>>,
    region: Region,
    offset: u64,
    /// That what is sent cannot be read.
    fail: NiFail,
}

/// Totals, by which processes agree that nothing is on its way.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Totals {
    pub sent: u64,
    pub received: u64,
}

pub struct Mpi {
    comm: MPI_Comm,
    /// Into one of these packets are taken; the others are in use.
    spare: Vec<Buffer>,
    /// Where a header is put together, and data that is not one run.
    head: [u8; Head::BYTES],
    out: Buffer,
    moving: Vec<Moving>,
    /// The interface that calls.
    pub interface: u8,
    pub totals: Totals,
    /// Answers that wait for this process, while packets are taken: either such without data, which go in one packet, or one whose
    /// header and data, so many bytes, are in `out`.
    answers: Replies,
    fetched: usize,
    asker: u32,
    holds: bool,
    /// Packets sent since it was last asked how many wait, and whether they were too many.
    unseen: u32,
    full: bool,
}

fn buffer() -> Buffer {
    Box::new([0; hpvm_abi::models::PACKET])
}

fn ok(code: c_int) -> bool {
    code == MPI_SUCCESS
}

impl Mpi {
    pub fn new(comm: MPI_Comm) -> Mpi {
        Mpi {
            comm,
            spare: Vec::new(),
            head: [0; Head::BYTES],
            out: buffer(),
            moving: Vec::new(),
            interface: 0,
            totals: Totals::default(),
            answers: Replies::default(),
            fetched: 0,
            asker: 0,
            holds: false,
            unseen: 0,
            full: false,
        }
    }

    /// A process number, as MPI counts.
    fn rank(peer: u32) -> c_int {
        c_int::try_from(peer).unwrap_or(MPI_PROC_NULL)
    }

    /// Whether so many packets wait to leave that a call of the program should not add another.
    #[inline]
    pub fn is_full(&mut self) -> bool {
        if self.unseen >= PACKETS_PER_LOOK || self.full {
            self.unseen = 0;
            // SAFETY: takes a number.
            self.full = unsafe { (models().unsent)(PORTALS) } >= UNSENT;
        }
        self.full
    }

    /// Makes a call that waits for the next packet return in this process.
    pub fn wake(&mut self) {
        // SAFETY: takes a number.
        unsafe { (models().wake)(PORTALS) };
    }

    /// A buffer for a packet.
    #[inline]
    pub fn place(&mut self) -> Buffer {
        self.spare.pop().unwrap_or_else(buffer)
    }

    /// What moves by itself.
    #[inline(always)]
    pub fn requests(&self) -> Vec<MPI_Request> {
        self.moving.iter().map(|m| m.request).collect()
    }

    /// Whether an answer for `to` can wait with those that wait.
    #[inline(always)]
    pub fn can_keep(&self, to: u32) -> bool {
        !self.has_answers() || (to == self.asker && self.fetched == 0 && !self.answers.is_full())
    }

    /// Lets answers wait for those that follow, until they are [let go](Mpi::release), or not; says how it was before.
    #[inline(always)]
    pub fn set_hold(&mut self, holds: bool) -> bool {
        std::mem::replace(&mut self.holds, holds)
    }

    /// Whether answers wait.
    #[inline]
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty() || self.fetched != 0
    }

    /// Sends the answers that wait; later ones go at once.
    #[inline]
    pub fn release(&mut self) {
        self.holds = false;
        self.send_answers();
    }

    #[inline]
    fn send_answers(&mut self) {
        if self.has_answers() {
            self.send_all_answers();
        }
    }

    #[inline(never)]
    fn send_all_answers(&mut self) {
        let packet = match std::mem::take(&mut self.fetched) {
            0 => self.answers.packet(),
            len => &self.out[..len],
        };
        let (head, len) = (packet.as_ptr(), packet.len());
        // SAFETY: as many bytes.
        let code = unsafe { (models().send)(PORTALS, self.asker, head, len, core::ptr::null(), 0) };
        self.answers.clear();
        // An initiator that is gone waits for nothing.
        let _ = self.count_sent(code);
    }

    /// Lets an answer with what was fetched wait. False: it is too long for that.
    #[inline(always)]
    fn hold(&mut self, to: u32, reply: &Reply, data: &Data) -> bool {
        let Data::Memory { region, offset, length } = *data else { return false };
        if length > HELD {
            return false;
        }
        self.send_answers();
        let Some(head) = reply.write_fetched(&mut self.out[..]) else { return false };
        let body = &mut self.out[head..head + length as usize];
        // SAFETY: memory that the program has given for this.
        if unsafe { memory::read(region, offset, body) }.is_err() {
            body.fill(0);
        }
        (self.fetched, self.asker) = (head + length as usize, to);
        true
    }

    #[inline(always)]
    fn count_sent(&mut self, code: c_int) -> Result<(), Unreachable> {
        if !ok(code) {
            return Err(Unreachable);
        }
        self.unseen += 1;
        self.totals.sent += 1;
        Ok(())
    }

    /// Takes back a packet's buffer.
    #[inline]
    pub fn recycle(&mut self, buffer: Buffer) {
        self.spare.push(buffer);
    }

    /// Whether something has not left, or not arrived.
    pub fn is_moving(&self) -> bool {
        // SAFETY: takes a number.
        !self.moving.is_empty() || unsafe { (models().unsent)(PORTALS) } > 0
    }

    /// Whether some data moves by itself.
    #[inline(always)]
    pub fn has_transfers(&self) -> bool {
        !self.moving.is_empty()
    }

    /// The next transfer that is over, if there is one: of which interface, and how it ended. `at` is where one
    /// round over all of them is, 0 at its beginning: many that end together are each tested once.
    pub fn poll_transfers(&mut self, at: &mut usize) -> Option<(u8, Transfer, NiFail)> {
        while let Some(moving) = self.moving.get_mut(*at) {
            let mut status = MPI_Status::default();
            let mut done = c_int::from(moving.request == MPI_REQUEST_NULL);
            let mut good = false;
            if done == 0 {
                // SAFETY: our request, whose memory the program has promised, or which is `copy`.
                let code = unsafe { (mpi().MPI_Test)(&mut moving.request, &mut done, &mut status) };
                good = ok(code) && (moving.transfer.sends || status.bytes() == moving.total);
                done |= c_int::from(!ok(code));
            }
            if done != 0 {
                // The last one takes its place, and is next.
                return Some(self.moved(*at, good));
            }
            *at += 1;
        }
        None
    }

    /// Takes a transfer out that is over.
    fn moved(&mut self, at: usize, good: bool) -> (u8, Transfer, NiFail) {
        let moved = self.moving.swap_remove(at);
        let Moving { interface, transfer, length, copy, region, offset, mut fail, .. } = moved;
        if !good {
            return (interface, transfer, NiFail::Undeliverable);
        }
        if let Some(copy) = copy.filter(|_| !transfer.sends) {
            // SAFETY: memory that the program has given for this.
            if unsafe { memory::write(&region, offset, &copy[..length as usize]) }.is_err() {
                fail = NiFail::Segv;
            }
        }
        (interface, transfer, fail)
    }

    fn start(
        &mut self,
        peer: u32,
        transfer: Transfer,
        region: &Region,
        offset: u64,
        (length, total): (u64, u64),
    ) {
        let tag = match transfer.purpose {
            Purpose::Put => PUTS,
            Purpose::Push => PUSHES,
            Purpose::Get => GETS,
        };
        let whole = length == total;
        let direct = memory::single(region, offset, length).filter(|_| whole).map(memory::pointer);
        let mut copy = direct.is_none().then(|| vec![0; total as usize]);
        let mut readable = true;
        if let Some(copy) = copy.as_mut().filter(|_| transfer.sends) {
            // SAFETY: memory that the program has given for this.
            readable = unsafe { memory::read(region, offset, copy) }.is_ok();
        }
        let at = copy.as_mut().map_or_else(|| direct.unwrap_or_default(), |c| c.as_mut_ptr());
        let mut request = MPI_REQUEST_NULL;
        let (len, rank) = (total as MPI_Count, Mpi::rank(peer));
        // SAFETY: as many bytes of the program's memory, or of `copy`, which stays until the request is done.
        let code = unsafe {
            let (at, comm) = (at.cast(), self.comm);
            match transfer.sends {
                true => (mpi().MPI_Isend_c)(at, len, MPI_BYTE, rank, tag, comm, &mut request),
                false => (mpi().MPI_Irecv_c)(at, len, MPI_BYTE, rank, tag, comm, &mut request),
            }
        };
        if !ok(code) {
            request = MPI_REQUEST_NULL;
        }
        // Where it was readable a moment before: the peer waits for as many bytes, and gets zeros.
        let fail = if readable { NiFail::Ok } else { NiFail::Segv };
        let (interface, region) = (self.interface, region.clone());
        let moving =
            Moving { interface, transfer, request, total, length, copy, region, offset, fail };
        self.moving.push(moving);
        crate::progress::let_mpi_serve(true);
    }

    /// Ends; nothing comes any more.
    pub fn close(self) {
        let mut comm = self.comm;
        // SAFETY: our communicator.
        unsafe { (mpi().MPI_Comm_free)(&mut comm) };
    }

    pub fn comm(&self) -> MPI_Comm {
        self.comm
    }
}

impl Carrier for Mpi {
    #[inline(always)]
    fn send(&mut self, to: u32, head: &Head, data: Data) -> Result<(), Unreachable> {
        // What is sent to one process arrives in order.
        self.send_answers();
        let len = head.write(&mut self.head);
        let (at, length) = match data {
            Data::None => (self.out.as_ptr(), 0),
            Data::Bytes(bytes) => (bytes.as_ptr(), bytes.len()),
            Data::Memory { region, offset, length } => {
                match memory::single(region, offset, length) {
                    Some(run) => (memory::pointer(run).cast_const(), length as usize),
                    None => {
                        let body = &mut self.out[..length as usize];
                        // SAFETY: memory that the program has given for this.
                        if unsafe { memory::read(region, offset, body) }.is_err() {
                            body.fill(0);
                        }
                        (body.as_ptr(), body.len())
                    }
                }
            }
        };
        // SAFETY: as many bytes at both.
        let code = unsafe { (models().send)(PORTALS, to, self.head.as_ptr(), len, at, length) };
        self.count_sent(code)
    }

    #[inline(always)]
    fn answer(&mut self, to: u32, reply: &Reply) {
        if !self.can_keep(to) {
            self.send_all_answers();
        }
        self.asker = to;
        self.answers.push(reply);
        if !self.holds {
            self.send_all_answers();
        }
    }

    #[inline(always)]
    fn answer_with(&mut self, to: u32, reply: &Reply, data: Data) {
        if !self.holds || !self.hold(to, reply, &data) {
            // An initiator that is gone waits for nothing.
            let _ = self.send(to, &reply.head(), data);
        }
    }

    fn send_bytes(
        &mut self,
        to: u32,
        transfer: Transfer,
        region: &Region,
        offset: u64,
        length: u64,
    ) {
        self.start(to, transfer, region, offset, (length, length));
    }

    fn receive_bytes(
        &mut self,
        from: u32,
        transfer: Transfer,
        region: &Region,
        offset: u64,
        length: (u64, u64),
    ) {
        self.start(from, transfer, region, offset, length);
    }

    #[inline(always)]
    fn readable(&self, region: &Region, offset: u64, length: u64) -> bool {
        memory::readable(region, offset, length)
    }

    #[inline]
    fn read(&self, region: &Region, offset: u64, into: &mut [u8]) -> Result<(), Inaccessible> {
        // SAFETY: memory that the program has given for this.
        unsafe { memory::read(region, offset, into) }
    }

    #[inline(always)]
    fn write(&mut self, region: &Region, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        // SAFETY: as above.
        unsafe { memory::write(region, offset, bytes) }
    }
}
