//! This process: its interfaces, the session of MPI, and the lock that guards them.

use crate::carrier::{Buffer, HELD, Mpi};
use crate::progress::Progress;
use crate::visit::{Kept, Visited, Visitor};
use core::ffi::c_int;
use hpvm_abi::constants::*;
use hpvm_model::{Name, done, mpi, session};
use hpvm_portals::{
    Carrier, Fault, Handle, Head, Interface, NiFail, PacketKind, Peer, Replies, Reply, Transfer,
};
use hpvm_sync::biased::{self, Biased};
use std::sync::Arc;

/// Packets that are taken one behind the other at most.
const AT_ONCE: usize = 64;

/// An interface, and how often it was asked for.
pub struct Opened {
    pub interface: Interface,
    pub uses: u32,
}

/// What is there between `PtlInit` and the last `PtlFini`.
pub struct Process {
    session: MPI_Session,
    pub me: u32,
    pub peers: Arc<[Peer]>,
    pub carrier: Mpi,
    /// By [`hpvm_portals::Nature::number`].
    pub interfaces: [Option<Opened>; 4],
    /// Interfaces so far: handles of one that has gone are not those of the next.
    pub opened: u32,
    pub progress: Progress,
    /// Packets that were dealt with inside of the engine have triggered something that has not started.
    due: bool,
}

/// `PtlInit` without their `PtlFini`, and the process.
pub struct State {
    pub uses: u32,
    pub process: Option<Process>,
}

/// Of the program's thread, nearly always: the helper and other threads of the program come now and then.
static STATE: Biased<State> = Biased::new(State { uses: 0, process: None });

pub type Guard = biased::Guard<'static, State>;

#[inline(always)]
pub fn lock() -> Guard {
    STATE.lock()
}

/// Begins a call that waits. `arguments`: whether there are places for what it tells, and something to wait for.
#[inline(always)]
pub fn lock_to_wait(arguments: bool) -> Result<Guard, Fault> {
    let guard = lock();
    match guard.process.is_some() {
        true if arguments => Ok(guard),
        true => Err(Fault::ArgInvalid),
        false => Err(Fault::NoInit),
    }
}

/// `None`: a call of Portals has it, maybe one of this thread.
pub fn try_lock() -> Option<Guard> {
    STATE.try_lock()
}

/// What `PtlInit` begins. Collective: all processes of the job.
pub fn open(name: Name) -> Process {
    let (session, comm) = session(name, 3, c"hpvm.portals");
    let (mut me, mut size) = (0, 0);
    // SAFETY: places for numbers.
    unsafe {
        done(name, (mpi().MPI_Comm_rank)(comm, &mut me));
        done(name, (mpi().MPI_Comm_size)(comm, &mut size));
    }
    let peers = meet(name, comm, me, size);
    let me = me as u32;
    let carrier = Mpi::new(comm);
    let interfaces = [const { None }; 4];
    Process {
        session,
        me,
        peers,
        carrier,
        interfaces,
        opened: 0,
        progress: Progress::default(),
        due: false,
    }
}

/// Who the others are. A nid counts hosts, a pid the processes of a host, both from 1.
fn meet(name: Name, comm: MPI_Comm, me: c_int, size: c_int) -> Arc<[Peer]> {
    let mut near = MPI_COMM_NULL;
    let mut local = 0;
    let mut first = me;
    // SAFETY: places for what is asked for; a communicator of ours.
    unsafe {
        let (kind, info) = (MPI_COMM_TYPE_SHARED, MPI_INFO_NULL);
        done(name, (mpi().MPI_Comm_split_type)(comm, kind, me, info, &mut near));
        done(name, (mpi().MPI_Comm_rank)(near, &mut local));
        done(name, (mpi().MPI_Bcast)((&raw mut first).cast(), 4, MPI_BYTE, 0, near));
        done(name, (mpi().MPI_Comm_free)(&mut near));
    }
    // SAFETY: takes nothing.
    let uid = unsafe { libc::getuid() };
    let mine = [first as u32, local as u32, uid];
    let mut all = vec![mine; size as usize];
    let bytes = size_of_val(&mine) as c_int;
    // SAFETY: as many bytes of each.
    done(name, unsafe {
        let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
        (mpi().MPI_Allgather)(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm)
    });
    let mut hosts: Vec<u32> = all.iter().map(|peer| peer[0]).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let nid = |first: &u32| hosts.binary_search(first).map_or(0, |at| at as u32 + 1);
    all.iter()
        .map(|[first, local, uid]| Peer { nid: nid(first), pid: local + 1, uid: *uid })
        .collect()
}

impl Process {
    /// The interface that a handle is of, or of an object of it. Whether it is a handle at all, the interface says.
    #[inline(always)]
    pub fn interface(&mut self, handle: u32) -> Result<(&mut Interface, &mut Mpi), Fault> {
        let number = Handle::interface_of(handle);
        let opened = self.interfaces[usize::from(number & 3)].as_mut().ok_or(Fault::ArgInvalid)?;
        self.carrier.interface = number;
        Ok((&mut opened.interface, &mut self.carrier))
    }

    /// Takes what has come: packets, and the ends of transfers. True: there was something.
    pub fn advance(&mut self) -> bool {
        let mut some = false;
        // Not for ever: the caller may have what it waits for.
        for _ in 0..AT_ONCE {
            if !self.look() {
                break;
            }
            some = true;
        }
        some | self.settle()
    }

    /// Takes packets that have come. True: there were some, and there may be more.
    fn look(&mut self) -> bool {
        let place = self.carrier.place();
        let visitor = Visitor::new(Some(&mut *self), place, None);
        let Visited { shown, kept } = visitor.visit(&[], false);
        self.kept(kept);
        shown != 0
    }

    /// Deals with what a visit that blocked has left; transfers may be over, too.
    #[inline(always)]
    pub fn visited(&mut self, kept: Result<Kept, Buffer>) {
        let others = kept.is_ok();
        self.kept(kept);
        // Operations that are answered often come one behind the other: their answers go together.
        for _ in 1..AT_ONCE {
            if !others || !self.carrier.has_answers() || !self.look() {
                break;
            }
        }
        self.settle();
    }

    /// Deals with the packet that a visit has copied, and with what others have triggered.
    #[inline(always)]
    fn kept(&mut self, kept: Result<Kept, Buffer>) {
        if self.has_due() {
            self.run_due();
        }
        match kept {
            Ok(kept) => self.deal_with(kept),
            Err(place) => self.carrier.recycle(place),
        }
    }

    #[inline(never)]
    fn deal_with(&mut self, Kept { from, bytes, length }: Kept) {
        self.carrier.totals.received += 1;
        let held = self.carrier.set_hold(true);
        self.packet(from, &bytes[..length]);
        self.carrier.set_hold(held);
        self.carrier.recycle(bytes);
    }

    /// Takes the ends of transfers, and lets go of the answers that wait. True: there were ends.
    #[inline(always)]
    fn settle(&mut self) -> bool {
        let mut some = false;
        if self.carrier.has_transfers() {
            some = self.end_transfers();
        }
        self.carrier.release();
        some
    }

    #[inline(never)]
    fn end_transfers(&mut self) -> bool {
        let (mut some, mut at) = (false, 0);
        self.carrier.set_hold(true);
        while let Some(over) = self.carrier.poll_transfers(&mut at) {
            some = true;
            self.transferred(over);
        }
        some
    }

    /// Deals with a packet without a call of the engine, and lets answers and what it triggers wait. False: nothing has been done.
    #[inline(always)]
    pub fn packet_here(&mut self, from: u32, packet: &[u8]) -> bool {
        let held = self.carrier.set_hold(true);
        let done = if let Some((head, data)) = Head::put(packet) {
            self.carrier.interface = head.interface;
            match &mut self.interfaces[usize::from(head.interface & 3)] {
                Some(opened) if !head.flag || self.carrier.can_keep(from) => {
                    let done = opened.interface.put_here(from, &head, data, &mut self.carrier);
                    self.due |= opened.interface.has_due();
                    done
                }
                _ => false,
            }
        } else if Replies::are_in(packet) {
            self.replies(from, packet);
            true
        } else if let Some((reply, data)) = Reply::fetched(packet) {
            self.replied(from, &reply, data);
            true
        } else if let Some(head) = Head::get(packet) {
            self.get_here(from, &head)
        } else {
            false
        };
        self.carrier.set_hold(held);
        self.carrier.totals.received += u64::from(done);
        done
    }

    /// Deals with a get where its answer can wait.
    fn get_here(&mut self, from: u32, head: &Head) -> bool {
        if head.length > HELD || self.carrier.has_answers() {
            return false;
        }
        self.carrier.interface = head.interface;
        let Some(opened) = &mut self.interfaces[usize::from(head.interface & 3)] else {
            return false;
        };
        let done = opened.interface.get_here(from, head, &mut self.carrier);
        self.due |= opened.interface.has_due();
        done
    }

    /// Whether something has been triggered and not started.
    #[inline(always)]
    pub fn has_due(&self) -> bool {
        self.due
    }

    #[inline(never)]
    fn run_due(&mut self) {
        self.due = false;
        for (number, opened) in self.interfaces.iter_mut().enumerate() {
            if let Some(opened) = opened {
                self.carrier.interface = number as u8;
                opened.interface.run_due(&mut self.carrier);
            }
        }
    }

    fn transferred(&mut self, (number, transfer, fail): (u8, Transfer, NiFail)) {
        self.carrier.interface = number;
        if let Some(opened) = &mut self.interfaces[usize::from(number & 3)] {
            opened.interface.transferred(transfer, fail, &mut self.carrier);
        }
    }

    /// What is no packet of ours is dropped: nobody waits for an answer to it.
    fn packet(&mut self, from: u32, packet: &[u8]) {
        if Replies::are_in(packet) {
            self.replies(from, packet);
            if self.due {
                self.run_due();
            }
        } else if let Ok((head, data)) = Head::from_bytes(packet) {
            self.headed(from, &head, data);
        }
    }

    #[inline(always)]
    fn replies(&mut self, from: u32, packet: &[u8]) {
        for reply in Replies::read(packet) {
            self.replied(from, &reply, &[]);
        }
    }

    #[inline(always)]
    fn replied(&mut self, from: u32, reply: &Reply, data: &[u8]) {
        self.carrier.interface = reply.interface;
        if let Some(opened) = &mut self.interfaces[usize::from(reply.interface & 3)] {
            opened.interface.replied(from, reply, data, &mut self.carrier);
            self.due |= opened.interface.has_due();
        }
    }

    #[inline(always)]
    fn headed(&mut self, from: u32, head: &Head, data: &[u8]) {
        self.carrier.interface = head.interface;
        match &mut self.interfaces[usize::from(head.interface & 3)] {
            Some(opened) => {
                let _ = opened.interface.packet(from, head, data, &mut self.carrier);
            }
            None => self.nobody(from, head),
        }
    }

    /// A request for an interface that this process does not have.
    fn nobody(&mut self, from: u32, head: &Head) {
        let fetches = matches!(head.kind, PacketKind::Get | PacketKind::FetchAtomic(..));
        let asks = matches!(head.kind, PacketKind::Put | PacketKind::Push | PacketKind::Atomic(..))
            && head.flag;
        if fetches || asks {
            let fail = NiFail::Undeliverable;
            let nothing = Head { flag: false, length: 0, remote_offset: 0, ..*head };
            self.carrier.answer(from, &Reply::of(&nothing, fail));
        }
        hpvm_portals::discard(from, head, &mut self.carrier);
    }

    /// Whether something has come that somebody may wait for.
    pub fn take_news(&mut self) -> bool {
        let mut news = false;
        for opened in self.interfaces.iter_mut().flatten() {
            news |= opened.interface.take_news();
        }
        news
    }

    /// Ends what `open` began. Collective; nobody waits for anything.
    pub fn close(mut self, name: Name) {
        self.interfaces = [const { None }; 4];
        self.quiesce(name);
        let Process { carrier, mut session, .. } = self;
        carrier.close();
        // SAFETY: our session.
        done(name, unsafe { (mpi().MPI_Session_finalize)(&mut session) });
    }

    /// Until all processes have come here, and nothing is on its way: twice the same totals, as much received as sent.
    fn quiesce(&mut self, name: Name) {
        let mut before = None;
        loop {
            let busy = u64::from(self.carrier.is_moving());
            let mine = [self.carrier.totals.sent, self.carrier.totals.received, busy];
            let mut sums = [0u64; 3];
            let mut request = MPI_REQUEST_NULL;
            let comm = self.carrier.comm();
            // SAFETY: three words each, which stay until the request is done.
            done(name, unsafe {
                let (from, to) = (mine.as_ptr().cast(), sums.as_mut_ptr().cast());
                (mpi().MPI_Iallreduce)(from, to, 3, MPI_UINT64_T, MPI_SUM, comm, &mut request)
            });
            while request != MPI_REQUEST_NULL {
                self.serve_until(name, &mut request);
            }
            let quiet = sums[0] == sums[1] && sums[2] == 0;
            if quiet && before == Some(sums) {
                return;
            }
            before = Some(sums);
        }
    }

    /// Serves others until something has come, or `other` is done.
    fn serve_until(&mut self, name: Name, other: &mut MPI_Request) {
        let mut requests = self.carrier.requests();
        requests.push(*other);
        let place = self.carrier.place();
        let visitor = Visitor::new(Some(&mut *self), place, None);
        let Visited { kept, .. } = visitor.visit(&requests, true);
        self.visited(kept);
        self.advance();
        let mut over = 0;
        // SAFETY: our request.
        done(name, unsafe { (mpi().MPI_Test)(other, &mut over, MPI_STATUS_IGNORE) });
    }
}

/// Returning from `main` without `PtlFini` is as if it had been called; an exit with an error is none.
fn at_exit(status: c_int) {
    let mut guard = lock();
    if status == 0 && guard.process.is_some() {
        guard.uses = 1;
        drop(guard);
        crate::interface::fini(c"exit".as_ptr());
    }
}

pub fn watch_exit() {
    static REGISTERED: std::sync::Once = std::sync::Once::new();
    REGISTERED.call_once(|| hpvm_model::at_exit(at_exit));
}

/// A barrier of all processes.
pub fn barrier() -> c_int {
    let guard = lock();
    let Some(process) = &guard.process else { return Fault::NoInit as c_int };
    let comm = process.carrier.comm();
    drop(guard);
    // The helper serves others meanwhile.
    // SAFETY: our communicator; no other collective operation is on it while processes run.
    let code = unsafe { (mpi().MPI_Barrier)(comm) };
    if code == MPI_SUCCESS { 0 } else { Fault::Fail as c_int }
}
