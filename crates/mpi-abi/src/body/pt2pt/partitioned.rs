//! Partitioned communication (chapter 4).
//!
//! Each partition of the sender travels as a message of its own as soon as it is ready. At
//! `MPI_Psend_init` the sender announces the division of its buffer to the receiver, under the
//! program's tag, so that pairs are made in the order of the calls; the partitions go under tags
//! of the library, which are negative. A receiver that has heard the announcement receives the
//! sender's partitions straight into its buffer, or through a copy where their bounds lie inside
//! elements of its datatype. Its own division matters for `MPI_Parrived` only.

use crate::body::check::{self, out, wrong};
use crate::body::watch::Watched;
use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::object::request::{Named, RequestObject, bad_request};
use crate::object::{info, too_many};
use crate::raise::{in_engine, on_comm, on_world, raise, raise_global};
use crate::runtime::{Entered, World, enter};
use core::ffi::{c_int, c_void};
use hpvm_fm::Rank;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Class, Error, Process, ReqId, Status};
use hpvm_mux::Mux;
use std::sync::Arc;

/// A partitioned request: inactive while `active` is `None`.
#[derive(Debug)]
pub struct Partitioned {
    side: Side,
    comm: Arc<CommObject>,
    /// What the program called `comm` when it made the request.
    handle: MPI_Comm,
    /// The other process; `None` for `MPI_PROC_NULL`.
    peer: Option<Rank>,
    status: Status,
    buf: usize,
    partitions: u32,
    /// Elements of each partition.
    count: i64,
    ty: Arc<Datatype>,
    /// Of a buffer in which elements do not follow each other: one element of this is all of it. Partitions are copied.
    section: Option<Arc<Datatype>>,
    pub active: Option<ReqId>,
}

#[derive(Debug)]
enum Side {
    Send {
        /// Tag of partition 0.
        tag: i32,
        /// Which partitions are ready in this run.
        ready: Vec<bool>,
        /// The partitions of this run that are sent from a copy.
        copies: Vec<Vec<u8>>,
    },
    Recv {
        /// Where the announcement goes, and the receive of it until that is complete. The box is
        /// leaked with a request that is freed too early, because the engine may still write.
        announcement: Box<[u64; WORDS]>,
        waiting: Option<ReqId>,
        parts: Vec<Part>,
    },
}

/// One of the sender's partitions in the current run.
#[derive(Debug)]
struct Part {
    id: ReqId,
    /// Packed bytes on their way to an uneven place of the buffer.
    copy: Option<Vec<u8>>,
}

/// Words of an announcement: tag of partition 0, number of partitions, bytes of each.
const WORDS: usize = 3;

/// How a sender divides its buffer, as it has announced and as it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Division {
    /// Of partition 0; the others follow.
    tag: i32,
    partitions: u32,
    /// Of each partition.
    bytes: u64,
}

impl Division {
    /// What a peer alleges, checked. The error: what it said.
    fn of(words: [u64; WORDS]) -> core::result::Result<Division, String> {
        let [tag, partitions, bytes] = words;
        let made = || {
            // As `MPI_Psend_init` writes it: sign-extended.
            let tag =
                i32::try_from(tag as i64).ok().filter(|t| (FIRST_TAG..LAST_TAG).contains(t))?;
            let count = i32::try_from(partitions).ok().filter(|n| *n > 0)?;
            let last = tag.checked_add(count).filter(|last| *last <= LAST_TAG);
            let total = bytes.checked_mul(partitions).filter(|n| i64::try_from(*n).is_ok());
            last.zip(total)?;
            Some(Division { tag, partitions: count as u32, bytes })
        };
        made().ok_or_else(|| {
            format!("{partitions} of {bytes} bytes each, under tags from {} on", tag as i64)
        })
    }
}

fn too_much(division: Division, capacity: u64) -> Error {
    let Division { partitions, bytes, .. } = division;
    let text = format!(
        "{partitions} partitions of {bytes} bytes are coming for a buffer of {capacity} bytes"
    );
    Error::new(Class::Truncate, text)
}

/// First tag of a partition; `MPI_ANY_TAG`'s number lies above all of them.
const FIRST_TAG: i32 = i32::MIN;
const LAST_TAG: i32 = -1024;

/// The arguments of both calls that make a partitioned request.
struct Args {
    buf: *const c_void,
    partitions: c_int,
    count: MPI_Count,
    datatype: MPI_Datatype,
    rank: c_int,
    tag: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
}

/// Checks the arguments; `side` is filled in by the caller.
fn prepare(w: &Entered, a: &Args, sends: bool) -> Result<Partitioned> {
    let comm = w.objects.comm(a.comm)?.clone();
    info::copy_or_empty(a.info)?;
    check::send_tag(a.tag)?;
    let partitions = u32::try_from(a.partitions).ok().filter(|p| *p > 0).ok_or_else(|| {
        wrong(Class::Arg, format!("{} partitions; expected 1 or more", a.partitions))
    })?;
    let ty = check::typed(&w.objects, a.buf, a.count, a.datatype)?;
    let total = a.count.checked_mul(i64::from(partitions));
    if total.is_none_or(|n| ty.packed_size(n).is_none()) {
        let text = format!("{partitions} partitions of {} elements are too many", a.count);
        return Err(wrong(Class::Count, text));
    }
    let peer = match sends {
        true => check::destination(&comm.comm, a.rank)?,
        false => check::one_source(&comm.comm, a.rank)?,
    };
    let bytes = ty.size() as u64 * a.count as u64 * u64::from(partitions);
    let status = match (sends, peer) {
        (true, _) => Status::EMPTY,
        (false, None) => Status::FROM_NULL,
        (false, Some(_)) => Status { source: a.rank, tag: a.tag, bytes, cancelled: false },
    };
    let side = match sends {
        true => Side::Send { tag: 0, ready: vec![false; partitions as usize], copies: Vec::new() },
        false => {
            let announcement = Box::new([0; WORDS]);
            Side::Recv { announcement, waiting: None, parts: Vec::new() }
        }
    };
    let (buf, count) = (a.buf.addr(), a.count);
    let (section, active) = (None, None);
    let handle = a.comm;
    Ok(Partitioned {
        side,
        comm,
        handle,
        peer,
        status,
        buf,
        partitions,
        count,
        ty,
        section,
        active,
    })
}

unsafe fn keep(w: &mut Entered, p: Partitioned, request: *mut MPI_Request) -> Result<()> {
    let object = RequestObject::Partitioned(Box::new(p));
    let handle = w.objects.requests.insert(object).ok_or_else(|| too_many("requests"))?;
    // SAFETY: the caller checked the place.
    unsafe { *request = MPI_Request(handle) };
    Ok(())
}

pub unsafe fn psend_init(
    buf: *const c_void,
    partitions: c_int,
    count: MPI_Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let args = Args { buf, partitions, count, datatype, rank: dest, tag, comm, info };
    on_comm("MPI_Psend_init", comm, |w| {
        out("request", request)?;
        let mut p = prepare(w, &args, true)?;
        if let Some(dst) = p.peer {
            let first = take_tags(&mut w.objects.partition_tag, p.partitions);
            let words = [first as u64, u64::from(p.partitions), p.part_bytes()];
            let m = Outgoing { buf: words.as_ptr().cast(), count: BYTES, ty: Datatype::byte() };
            let context = p.comm.comm.context(Channel::Partitioned);
            // SAFETY: the words live through the call, which copies them.
            let sent = unsafe { w.process.send(m, dst, context, tag, Mode::Buffered, None) };
            if let Started::Pending(id) = sent {
                w.process.detach(id);
            }
            if let Side::Send { tag, .. } = &mut p.side {
                *tag = first;
            }
        }
        // SAFETY: checked above.
        unsafe { keep(w, p, request) }
    })
}

const BYTES: i64 = (WORDS * size_of::<u64>()) as i64;

/// Tags for `n` partitions. Numbers come round after two thousand million partitions, when the
/// first ones have long been freed.
fn take_tags(next: &mut i32, n: u32) -> i32 {
    let room = LAST_TAG.abs_diff(*next);
    if *next >= LAST_TAG || room < n {
        *next = FIRST_TAG;
    }
    let first = *next;
    *next = first.saturating_add_unsigned(n);
    first
}

pub unsafe fn precv_init(
    buf: *mut c_void,
    partitions: c_int,
    count: MPI_Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let args = Args { buf, partitions, count, datatype, rank: source, tag, comm, info };
    on_comm("MPI_Precv_init", comm, |w| {
        out("request", request)?;
        let mut p = prepare(w, &args, false)?;
        if let (Some(src), Side::Recv { announcement, waiting, .. }) = (p.peer, &mut p.side) {
            let to = announcement.as_mut_ptr().cast();
            let m = Incoming { buf: to, count: BYTES, ty: Datatype::byte() };
            let (comm, pattern) = (&p.comm.comm, Pattern { src, tag });
            // SAFETY: the box stays where it is until the receive is complete, or for ever.
            let id = unsafe { w.process.recv(m, comm, Channel::Partitioned, pattern, None) };
            *waiting = Some(id);
        }
        // SAFETY: checked above.
        unsafe { keep(w, p, request) }
    })
}

impl Partitioned {
    /// Packed bytes of one partition.
    fn part_bytes(&self) -> u64 {
        self.ty.size() as u64 * self.count as u64
    }

    fn total(&self) -> i64 {
        self.count * i64::from(self.partitions)
    }

    /// Address of element `n` of the buffer.
    fn element(&self, n: i64) -> usize {
        self.buf.wrapping_add_signed(n as isize * self.ty.extent() as isize)
    }

    /// Begins a run. True when the receiver must hear the announcement first.
    fn start(&mut self, process: &mut Process<Mux>) -> Result<bool> {
        if self.active.is_some() {
            return Err(wrong(Class::Request, "the request is active already"));
        }
        // A receive holds one part more until it knows its parts.
        let (parts, wait) = match &mut self.side {
            Side::Send { ready, copies, .. } => {
                ready.fill(false);
                copies.clear();
                (self.partitions, false)
            }
            Side::Recv { .. } => (1, true),
        };
        let whole = process.begin_several(&self.comm.comm, parts, Some(self.status));
        self.active = Some(whole);
        if self.peer.is_none() && wait {
            process.end_part(whole, None);
        }
        Ok(wait && self.peer.is_some() && !self.match_up(process)?)
    }

    /// Receives the sender's partitions of this run once they are known. False: not yet.
    fn match_up(&mut self, process: &mut Process<Mux>) -> Result<bool> {
        let (Some(whole), Some(src)) = (self.active, self.peer) else { return Ok(true) };
        let Side::Recv { announcement, waiting, .. } = &mut self.side else { return Ok(true) };
        if let Some(id) = *waiting {
            if process.requests().get(id).is_some_and(|r| !r.done) {
                return Ok(false);
            }
            let outcome = process.take_outcome(id);
            *waiting = None;
            // What is there of a shorter announcement is none.
            let whole =
                outcome.is_some_and(|o| o.error.is_none() && o.status.bytes == BYTES as u64);
            if !whole {
                **announcement = [0; WORDS];
            }
        }
        let words = **announcement;
        let capacity = self.part_bytes() * u64::from(self.partitions);
        let (parts, error) = match Division::of(words) {
            Ok(division) => {
                let coming = division.bytes * u64::from(division.partitions);
                // The sender may send less than there is room for.
                if let Some(r) = process.requests_mut().get_mut(whole) {
                    r.status.bytes = coming.min(capacity);
                }
                match self.receive_all(process, whole, src, division) {
                    Ok(parts) => (parts, (coming > capacity).then(|| too_much(division, capacity))),
                    Err(error) => (Vec::new(), Some(error)),
                }
            }
            Err(found) => {
                let text = format!(
                    "process {src} announced partitions that there can not be: {found}; expected \
                     what MPI_Psend_init says"
                );
                (Vec::new(), Some(Error::new(Class::Other, text)))
            }
        };
        if let Some((error, r)) = error.zip(process.requests_mut().get_mut(whole)) {
            r.error.get_or_insert(Box::new(error));
        }
        if let Side::Recv { parts: place, .. } = &mut self.side {
            *place = parts;
        }
        process.end_part(whole, None);
        Ok(true)
    }

    /// Starts to receive the sender's partitions, as far as there is room for their bookkeeping and their
    /// first bytes; those behind the buffer are received into nothing.
    fn receive_all(
        &self,
        process: &mut Process<Mux>,
        whole: ReqId,
        src: Rank,
        division: Division,
    ) -> Result<Vec<Part>> {
        let Division { tag, partitions, bytes } = division;
        let mut parts = Vec::new();
        parts.try_reserve_exact(partitions as usize).map_err(|_| {
            let text = format!("there is no memory for {partitions} partitions of process {src}");
            wrong(Class::NoMem, text)
        })?;
        process.expect_parts(whole, partitions);
        for i in 0..partitions {
            let pattern = Pattern { src, tag: tag.wrapping_add_unsigned(i) };
            parts.push(self.receive(process, whole, pattern, u64::from(i) * bytes, bytes));
        }
        Ok(parts)
    }

    /// Starts to receive `bytes` packed bytes that belong at `position` of the packed buffer.
    fn receive(
        &self,
        process: &mut Process<Mux>,
        whole: ReqId,
        pattern: Pattern,
        position: u64,
        bytes: u64,
    ) -> Part {
        let size = (self.ty.size() as u64).max(1);
        let capacity = self.part_bytes() * u64::from(self.partitions);
        let inside = position + bytes <= capacity;
        let even = inside
            && self.section.is_none()
            && position.is_multiple_of(size)
            && bytes.is_multiple_of(size);
        // Of what does not fit no more is kept than fits: it is truncated.
        let kept = bytes.min(capacity.saturating_sub(position));
        let mut copy = (!even).then(|| vec![0u8; kept as usize]);
        let m = match &mut copy {
            Some(copy) => {
                let buf = copy.as_mut_ptr();
                Incoming { buf, count: kept as i64, ty: Datatype::byte() }
            }
            None => Incoming {
                buf: self.element((position / size) as i64) as *mut u8,
                count: (bytes / size) as i64,
                ty: &self.ty,
            },
        };
        let comm = &self.comm.comm;
        // SAFETY: the program keeps its buffer while the request is active, and this request,
        // which can't be freed before, the copy.
        let id = unsafe { process.recv_part(whole, m, comm, Channel::Partitioned, pattern) };
        Part { id, copy }
    }

    /// Puts partitions that came as a copy into the buffer.
    pub fn settle(&mut self, process: &Process<Mux>) {
        let (total, ty) = match &self.section {
            Some(section) => (1, section.clone()),
            None => (self.total(), self.ty.clone()),
        };
        let capacity = self.part_bytes() * u64::from(self.partitions);
        let buf = self.buf as *mut u8;
        let Side::Recv { announcement, parts, .. } = &mut self.side else { return };
        let bytes = announcement[2];
        for (i, part) in parts.iter_mut().enumerate() {
            if process.requests().get(part.id).is_some() {
                continue;
            }
            let Some(copy) = part.copy.take() else { continue };
            let position = (i as u64 * bytes).min(capacity);
            let fits = bytes.min(capacity - position) as usize;
            // SAFETY: the program gave a buffer of `total` elements; `position + fits` is at most
            // their packed size.
            unsafe { ty.unpack(buf, total, position, &copy[..fits]) };
        }
    }

    /// The run is over.
    pub fn end(&mut self) {
        self.active = None;
        match &mut self.side {
            Side::Recv { parts, .. } => parts.clear(),
            Side::Send { copies, .. } => copies.clear(),
        }
    }

    /// Whether there is such a partition, which is not ready yet.
    fn may_be_ready(&self, n: c_int) -> Result<()> {
        let Side::Send { ready, .. } = &self.side else {
            return Err(wrong(Class::Request, "expected a request of MPI_Psend_init"));
        };
        if self.active.is_none() {
            return Err(wrong(Class::Request, "the request is not active: call MPI_Start first"));
        }
        match usize::try_from(n).ok().and_then(|n| ready.get(n)) {
            None => {
                let last = self.partitions - 1;
                Err(wrong(Class::Arg, format!("partition {n}; expected 0 to {last}")))
            }
            Some(true) => Err(wrong(Class::Arg, format!("partition {n} is ready already"))),
            Some(false) => Ok(()),
        }
    }

    /// Sends partition `n`, which the program has filled.
    fn ready(&mut self, process: &mut Process<Mux>, n: c_int) -> Result<()> {
        self.may_be_ready(n)?;
        let bytes = self.part_bytes();
        let (Side::Send { tag, ready, copies }, Some(whole)) = (&mut self.side, self.active) else {
            return Ok(());
        };
        // It was looked at.
        ready[n as usize] = true;
        let tag = tag.wrapping_add(n);
        let Some(dst) = self.peer else {
            process.end_part(whole, None);
            return Ok(());
        };
        let m = match &self.section {
            None => {
                let first = i64::from(n) * self.count * self.ty.extent();
                let buf = self.buf.wrapping_add_signed(first as isize) as *const u8;
                Outgoing { buf, count: self.count, ty: &self.ty }
            }
            Some(section) => {
                let mut copy = vec![0; bytes as usize];
                let buf = self.buf as *const u8;
                // SAFETY: the program gave a buffer that the datatype describes.
                unsafe { section.pack(buf, 1, n as u64 * bytes, &mut copy) };
                let buf = copy.as_ptr();
                copies.push(copy);
                Outgoing { buf, count: bytes as i64, ty: Datatype::byte() }
            }
        };
        let context = self.comm.comm.context(Channel::Partitioned);
        // SAFETY: the program keeps the partition as it is until the request completes, and the request its copy.
        unsafe { process.send_part(whole, m, dst, context, tag, Mode::Standard) };
        Ok(())
    }

    /// Whether partition `n` of a receive is in the buffer.
    fn arrived(&mut self, process: &Process<Mux>, n: c_int) -> Result<bool> {
        self.settle(process);
        let (mine, last) = (self.part_bytes(), self.partitions - 1);
        let Side::Recv { announcement, waiting, parts } = &self.side else {
            return Err(wrong(Class::Request, "expected a request of MPI_Precv_init"));
        };
        let n = u64::try_from(n)
            .ok()
            .filter(|n| *n <= u64::from(last))
            .ok_or_else(|| wrong(Class::Arg, format!("partition {n}; expected 0 to {last}")))?;
        let Some(whole) = self.active else { return Ok(true) };
        if process.requests().get(whole).is_none_or(|r| r.done) {
            return Ok(true);
        }
        let theirs = announcement[2];
        if waiting.is_some() || theirs == 0 || mine == 0 {
            return Ok(false);
        }
        let first = (n * mine / theirs) as usize;
        let end = ((n + 1) * mine).div_ceil(theirs) as usize;
        // A sender that sends less than the buffer has parts for some partitions only; the
        // others arrive with the whole.
        let covering = parts.get(first..end);
        Ok(covering.is_some_and(|p| p.iter().all(|p| process.requests().get(p.id).is_none())))
    }

    /// Lets go of an inactive request. The announcement may still be on its way: then the receive
    /// of it stays, so that the next request does not take it for its own.
    fn release(self) {
        if let Side::Recv { announcement, waiting: Some(_), .. } = self.side {
            Box::leak(announcement);
        }
    }
}

/// The partitioned request of a handle, and the process.
fn open(w: &mut Entered, request: MPI_Request) -> Result<(&mut Partitioned, &mut Process<Mux>)> {
    if w.name_request(request)? == Named::Null {
        return Err(wrong(Class::Request, "the request is null"));
    }
    let World { objects, process, .. } = &mut **w;
    match objects.requests.get_mut(request.0) {
        Some(RequestObject::Partitioned(p)) => Ok((p, process)),
        _ => Err(wrong(Class::Request, "expected a partitioned request")),
    }
}

/// Runs the body of a call on a partitioned request, and hands errors to the handler of its communicator (MPI 5.0, section 9.3).
#[inline(always)]
fn on_partitioned(
    function: &'static str,
    request: MPI_Request,
    body: impl FnOnce(&mut Entered) -> Result<()>,
) -> c_int {
    in_engine(body, |error| raise_on_partitioned(function, request, error))
}

#[cold]
fn raise_on_partitioned(function: &'static str, request: MPI_Request, error: Error) -> c_int {
    let comm_of = |mut w: Entered| {
        let (p, _) = open(&mut w, request).ok()?;
        Some((p.comm.clone(), p.handle))
    };
    match enter().ok().and_then(comm_of) {
        Some((comm, handle)) => raise(function, &comm, handle, error),
        None => raise_global(function, error),
    }
}

/// Starts a partitioned request (`MPI_Start`).
pub(super) fn start_partitioned(w: &mut Entered, request: MPI_Request) -> Result<()> {
    let (p, process) = open(w, request)?;
    if p.start(process)? {
        w.objects.watched.push(Watched::Partitions(request.0));
    }
    Ok(())
}

/// Looks whether the receive of a handle can go on. True: it need not be looked at any more.
pub(crate) fn partitioned_matched(w: &mut Entered, handle: usize) -> bool {
    match open(w, MPI_Request(handle)) {
        Ok((p, process)) => p.match_up(process).unwrap_or(true),
        Err(_) => true,
    }
}

/// Frees a partitioned request (`MPI_Request_free`), which must be inactive.
pub(super) fn free_partitioned(w: &mut Entered, request: MPI_Request) -> Result<()> {
    let (p, _) = open(w, request)?;
    if p.active.is_some() {
        let text = "the partitioned request is active: complete it before MPI_Request_free";
        return Err(wrong(Class::Request, text));
    }
    match w.objects.requests.remove(request.0) {
        Some(RequestObject::Partitioned(p)) => p.release(),
        _ => return Err(bad_request(request)),
    }
    Ok(())
}

/// One element of `datatype` is the whole buffer of the partitioned request, which has not been started.
pub(crate) unsafe extern "C" fn lay_out(request: MPI_Request, datatype: MPI_Datatype) -> c_int {
    on_world("a procedure of mpi_f08", |w| {
        let section = w.objects.datatype(datatype)?.clone();
        let (p, _) = open(w, request)?;
        p.section = Some(section);
        Ok(())
    })
}

pub unsafe fn pready(partition: c_int, request: MPI_Request) -> c_int {
    on_partitioned("MPI_Pready", request, |w| {
        let (p, process) = open(w, request)?;
        p.ready(process, partition)
    })
}

pub unsafe fn pready_range(
    partition_low: c_int,
    partition_high: c_int,
    request: MPI_Request,
) -> c_int {
    on_partitioned("MPI_Pready_range", request, |w| {
        let (p, process) = open(w, request)?;
        if partition_low > partition_high {
            let text = format!("partitions {partition_low} to {partition_high}; expected a range");
            return Err(wrong(Class::Arg, text));
        }
        // A wrong one makes none of them ready.
        (partition_low..=partition_high).try_for_each(|n| p.may_be_ready(n))?;
        (partition_low..=partition_high).try_for_each(|n| p.ready(process, n))
    })
}

pub unsafe fn pready_list(
    length: c_int,
    array_of_partitions: *const c_int,
    request: MPI_Request,
) -> c_int {
    on_partitioned("MPI_Pready_list", request, |w| {
        let n = usize::try_from(length)
            .map_err(|_| wrong(Class::Arg, format!("length is {length}; expected 0 or more")))?;
        if n > 0 {
            out("array_of_partitions", array_of_partitions.cast_mut())?;
        }
        let (p, process) = open(w, request)?;
        // SAFETY: the caller gave `length` partitions.
        let partition = |i| unsafe { *array_of_partitions.add(i) };
        // A wrong one makes none of them ready, unless it is named twice.
        (0..n).try_for_each(|i| p.may_be_ready(partition(i)))?;
        (0..n).try_for_each(|i| p.ready(process, partition(i)))
    })
}

pub unsafe fn parrived(request: MPI_Request, partition: c_int, flag: *mut c_int) -> c_int {
    on_partitioned("MPI_Parrived", request, |w| {
        out("flag", flag)?;
        w.glance()?;
        let arrived = match w.name_request(request)? {
            // A null request counts as complete (section 4.2.2).
            Named::Null => true,
            _ => {
                let (p, process) = open(w, request)?;
                p.arrived(process, partition)?
            }
        };
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(arrived) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_that_there_can_not_be_are_refused() {
        let first = FIRST_TAG as u64;
        let good = Division { tag: FIRST_TAG, partitions: 3, bytes: 8 };
        assert_eq!(Division::of([first, 3, 8]), Ok(good));
        for wrong in [
            [0, 0, 0],
            [first, 0, 8],
            [7, 3, 8],
            [first, 1 << 31, 0],
            [first, 3, u64::MAX / 2],
            [first, 2, 1 << 62],
            [first - 1, 3, 8],
            [(LAST_TAG - 2) as u64, 3, 8],
        ] {
            assert!(
                Division::of(wrong).is_err_and(|text| text.contains("bytes each")),
                "{wrong:?}"
            );
        }
    }
}
