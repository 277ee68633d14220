//! The carrier: messages of a communicator that only Portals knows.
//!
//! Headers, with short data behind them, come by receives that are always posted. Longer data is a message of its own, which MPI
//! copies from memory to memory where that is one run.

use crate::memory;
use core::ffi::c_int;
use hpvm_abi::constants::*;
use hpvm_model::mpi;
use hpvm_portals::{
    Carrier, Data, EAGER, Head, Inaccessible, Purpose, Region, Transfer, Unreachable,
};
use std::collections::VecDeque;

const PACKETS: c_int = 1;
const PUTS: c_int = 2;
const GETS: c_int = 3;

/// A packet at most: what MPI sends at once everywhere.
pub const PACKET: usize = Head::BYTES + EAGER as usize;

/// Receives that are posted: packets that may come while nobody looks, without being kept elsewhere.
const POSTED: usize = 16;

/// Sends that are looked at for each new one.
const SWEPT: usize = 4;
/// Packets that may wait to leave, 4 MiB of them, before calls of the program wait with them.
const UNSENT: usize = 1024;

pub type Buffer = Box<[u8; PACKET]>;

/// A receive of a packet.
struct Posted {
    request: MPI_Request,
    into: Buffer,
}

/// A transfer by itself.
struct Moving {
    /// Of this interface.
    interface: u8,
    transfer: Transfer,
    request: MPI_Request,
    length: u64,
    /// Memory in several runs: a copy is sent, or received.
    copy: Option<Vec<u8>>,
    region: Region,
    offset: u64,
}

/// A packet that has come.
pub struct Packet {
    pub from: u32,
    pub bytes: Buffer,
    pub length: usize,
}

/// Totals, by which processes agree that nothing is on its way.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Totals {
    pub sent: u64,
    pub received: u64,
}

pub struct Mpi {
    comm: MPI_Comm,
    me: u32,
    posted: VecDeque<Posted>,
    spare: Vec<Buffer>,
    out: Buffer,
    /// Sends of packets that MPI still reads.
    unsent: VecDeque<(MPI_Request, Buffer)>,
    moving: Vec<Moving>,
    /// The interface that calls.
    pub interface: u8,
    pub totals: Totals,
}

fn buffer() -> Buffer {
    Box::new([0; PACKET])
}

fn ok(code: c_int) -> bool {
    code == MPI_SUCCESS
}

impl Mpi {
    /// Posts the receives. Packets of others that come earlier wait in MPI.
    pub fn new(comm: MPI_Comm, me: u32) -> Mpi {
        let mut carrier = Mpi {
            comm,
            me,
            posted: VecDeque::with_capacity(POSTED),
            spare: Vec::new(),
            out: buffer(),
            unsent: VecDeque::new(),
            moving: Vec::new(),
            interface: 0,
            totals: Totals::default(),
        };
        for _ in 0..POSTED {
            carrier.post(buffer());
        }
        carrier
    }

    fn post(&mut self, mut into: Buffer) {
        let mut request = MPI_REQUEST_NULL;
        // SAFETY: the buffer stays with its request in `posted`, on the heap.
        let code = unsafe {
            let place = into.as_mut_ptr().cast();
            let (any, most) = (MPI_ANY_SOURCE, PACKET as c_int);
            (mpi().MPI_Irecv)(place, most, MPI_BYTE, any, PACKETS, self.comm, &mut request)
        };
        if ok(code) {
            self.posted.push_back(Posted { request, into });
        }
    }

    /// A process number, as MPI counts.
    fn rank(peer: u32) -> c_int {
        c_int::try_from(peer).unwrap_or(MPI_PROC_NULL)
    }

    /// Sends `length` bytes that are in `out`.
    fn send_out(&mut self, to: u32, length: usize) -> Result<(), Unreachable> {
        if !self.unsent.is_empty() {
            self.sweep();
        }
        let (mut request, mut done) = (MPI_REQUEST_NULL, 0);
        // SAFETY: the buffer has as many bytes, and stays until the request is done.
        let code = unsafe {
            let (from, len, to) = (self.out.as_ptr().cast(), length as c_int, Mpi::rank(to));
            let code = (mpi().MPI_Isend)(from, len, MPI_BYTE, to, PACKETS, self.comm, &mut request);
            if ok(code) {
                (mpi().MPI_Test)(&mut request, &mut done, MPI_STATUS_IGNORE)
            } else {
                code
            }
        };
        if !ok(code) {
            return Err(Unreachable);
        }
        if done == 0 {
            let fresh = self.spare.pop().unwrap_or_else(buffer);
            self.unsent.push_back((request, std::mem::replace(&mut self.out, fresh)));
        }
        self.totals.sent += 1;
        Ok(())
    }

    /// Looks at the oldest sends, and forgets those that are done: more than go out with each call.
    fn sweep(&mut self) {
        for _ in 0..SWEPT.min(self.unsent.len()) {
            let Some((mut request, buffer)) = self.unsent.pop_front() else { return };
            let mut done = 0;
            // SAFETY: our request, whose buffer is held. One that failed is done, too.
            let code = unsafe { (mpi().MPI_Test)(&mut request, &mut done, MPI_STATUS_IGNORE) };
            if done == 0 && ok(code) {
                self.unsent.push_back((request, buffer));
            } else {
                self.recycle(buffer);
            }
        }
    }

    /// Whether so many packets wait to leave that a call of the program should not add another.
    pub fn is_full(&mut self) -> bool {
        if self.unsent.len() >= UNSENT {
            self.sweep();
        }
        self.unsent.len() >= UNSENT
    }

    /// Makes a call that waits for the next packet return in this process, which treats it as nothing.
    pub fn wake(&mut self) {
        // Without a header it is no packet. MPI keeps what it needs of nothing.
        let _ = self.send_out(self.me, 0);
    }

    /// A packet that has come, if there is one.
    pub fn poll(&mut self) -> Option<Packet> {
        let posted = self.posted.front_mut()?;
        let mut status = MPI_Status::default();
        let mut done = 0;
        // SAFETY: our request, whose buffer is held; places of ours.
        let code = unsafe { (mpi().MPI_Test)(&mut posted.request, &mut done, &mut status) };
        if ok(code) && done == 0 {
            return None;
        }
        self.taken(ok(code), &status)
    }

    /// Takes the first packet, which has come.
    fn taken(&mut self, ok: bool, status: &MPI_Status) -> Option<Packet> {
        let Posted { into, .. } = self.posted.pop_front()?;
        let fresh = self.spare.pop().unwrap_or_else(buffer);
        self.post(fresh);
        if !ok {
            return None;
        }
        self.totals.received += 1;
        let length = usize::try_from(status.bytes()).unwrap_or(PACKET).min(PACKET);
        Some(Packet { from: status.MPI_SOURCE as u32, bytes: into, length })
    }

    /// Takes back a packet's buffer.
    pub fn recycle(&mut self, buffer: Buffer) {
        if self.spare.len() < POSTED {
            self.spare.push(buffer);
        }
    }

    /// Whether something has not left, or not arrived.
    pub fn is_moving(&mut self) -> bool {
        for _ in 0..self.unsent.len().div_ceil(SWEPT) {
            self.sweep();
        }
        !self.moving.is_empty() || !self.unsent.is_empty()
    }

    /// A transfer that is over, if there is one: of which interface, and whether all bytes have moved.
    pub fn poll_transfers(&mut self) -> Option<(u8, Transfer, bool)> {
        for at in 0..self.moving.len() {
            let moving = &mut self.moving[at];
            let mut status = MPI_Status::default();
            let mut done = c_int::from(moving.request == MPI_REQUEST_NULL);
            let mut good = false;
            if done == 0 {
                // SAFETY: our request, whose memory the program has promised, or which is `copy`.
                let code = unsafe { (mpi().MPI_Test)(&mut moving.request, &mut done, &mut status) };
                good = ok(code) && (moving.transfer.sends || status.bytes() == moving.length);
                done |= c_int::from(!ok(code));
            }
            if done != 0 {
                return Some(self.moved(at, good));
            }
        }
        None
    }

    /// Takes a transfer out that is over.
    fn moved(&mut self, at: usize, mut good: bool) -> (u8, Transfer, bool) {
        let Moving { interface, transfer, copy, region, offset, .. } = self.moving.swap_remove(at);
        if let Some(copy) = copy.filter(|_| good && !transfer.sends) {
            // SAFETY: memory that the program has given for this.
            good = unsafe { memory::write(&region, offset, &copy) }.is_ok();
        }
        (interface, transfer, good)
    }

    /// What a call that waits is to wait for. Not to be tested meanwhile.
    pub fn requests(&self) -> Vec<MPI_Request> {
        let first = self.posted.front().map_or(MPI_REQUEST_NULL, |posted| posted.request);
        std::iter::once(first).chain(self.moving.iter().map(|m| m.request)).collect()
    }

    /// What `requests` has become: of the one at `at`, which is done, its status.
    pub fn waited(&mut self, at: usize, code: c_int, status: &MPI_Status) -> Waited {
        match at.checked_sub(1) {
            None => Waited::Packet(self.taken(ok(code), status)),
            Some(at) if at < self.moving.len() => {
                let moving = &mut self.moving[at];
                moving.request = MPI_REQUEST_NULL;
                let all = moving.transfer.sends || status.bytes() == moving.length;
                Waited::Transfer(self.moved(at, ok(code) && all))
            }
            Some(_) => Waited::Packet(None),
        }
    }

    fn start(&mut self, peer: u32, transfer: Transfer, region: &Region, offset: u64, length: u64) {
        let tag = if transfer.purpose == Purpose::Put { PUTS } else { GETS };
        let direct = memory::single(region, offset, length).map(memory::pointer);
        let mut copy = direct.is_none().then(|| vec![0; length as usize]);
        let mut readable = true;
        if let Some(copy) = copy.as_mut().filter(|_| transfer.sends) {
            // SAFETY: memory that the program has given for this.
            readable = unsafe { memory::read(region, offset, copy) }.is_ok();
        }
        let at = copy.as_mut().map_or_else(|| direct.unwrap_or_default(), |c| c.as_mut_ptr());
        let mut request = MPI_REQUEST_NULL;
        let (len, rank) = (length as MPI_Count, Mpi::rank(peer));
        // SAFETY: as many bytes of the program's memory, or of `copy`, which stays until the request is done.
        let code = unsafe {
            let (at, comm) = (at.cast(), self.comm);
            match transfer.sends {
                true => (mpi().MPI_Isend_c)(at, len, MPI_BYTE, rank, tag, comm, &mut request),
                false => (mpi().MPI_Irecv_c)(at, len, MPI_BYTE, rank, tag, comm, &mut request),
            }
        };
        if !ok(code) || !readable {
            // The peer waits for as many bytes; what it gets is not what it should have.
            request = if ok(code) { request } else { MPI_REQUEST_NULL };
        }
        let (interface, region) = (self.interface, region.clone());
        self.moving.push(Moving { interface, transfer, request, length, copy, region, offset });
    }

    /// Ends the receives; nothing comes any more.
    pub fn close(mut self) {
        let mut comm = self.comm;
        for posted in &mut self.posted {
            // SAFETY: our requests, whose buffers are held until they are done.
            unsafe {
                (mpi().MPI_Cancel)(&mut posted.request);
                (mpi().MPI_Wait)(&mut posted.request, MPI_STATUS_IGNORE);
            }
        }
        for (request, _) in &mut self.unsent {
            // SAFETY: as above.
            unsafe { (mpi().MPI_Wait)(request, MPI_STATUS_IGNORE) };
        }
        // SAFETY: our communicator.
        unsafe { (mpi().MPI_Comm_free)(&mut comm) };
    }

    pub fn comm(&self) -> MPI_Comm {
        self.comm
    }
}

/// What a call that waited has found.
pub enum Waited {
    Packet(Option<Packet>),
    Transfer((u8, Transfer, bool)),
}

impl Carrier for Mpi {
    fn send(&mut self, to: u32, head: &Head, data: Data) -> Result<(), Unreachable> {
        self.out[..Head::BYTES].copy_from_slice(&head.to_bytes());
        let body = &mut self.out[Head::BYTES..];
        let length = match data {
            Data::None => 0,
            Data::Bytes(bytes) => {
                body[..bytes.len()].copy_from_slice(bytes);
                bytes.len()
            }
            Data::Memory { region, offset, length } => {
                let body = &mut body[..length as usize];
                // SAFETY: memory that the program has given for this.
                if unsafe { memory::read(region, offset, body) }.is_err() {
                    body.fill(0);
                }
                body.len()
            }
        };
        self.send_out(to, Head::BYTES + length)
    }

    fn send_bytes(
        &mut self,
        to: u32,
        transfer: Transfer,
        region: &Region,
        offset: u64,
        length: u64,
    ) {
        self.start(to, transfer, region, offset, length);
    }

    fn receive_bytes(
        &mut self,
        from: u32,
        transfer: Transfer,
        region: &Region,
        offset: u64,
        length: u64,
    ) {
        self.start(from, transfer, region, offset, length);
    }

    fn read(&self, region: &Region, offset: u64, into: &mut [u8]) -> Result<(), Inaccessible> {
        // SAFETY: memory that the program has given for this.
        unsafe { memory::read(region, offset, into) }
    }

    fn write(&mut self, region: &Region, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        // SAFETY: as above.
        unsafe { memory::write(region, offset, bytes) }
    }
}
