//! Accumulates (sections 12.3.4 and 12.3.5): `MPI_Accumulate` and its kin. Every element is updated atomically.

use super::access::{There, ensure_lock, target_type};
use super::request::with_request;
use super::{Recent, leave, on_win, plain, recent, refused};
use crate::body::check::{self, out, wrong};
use crate::generated::constants::*;
use crate::object::Objects;
use crate::object::win::WinObject;
use crate::runtime::{Entered, World};
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::Process;
use hpvm_mpi::datatype::{Datatype, Group, Predefined};
use hpvm_mpi::error::Result;
use hpvm_mpi::op::{Op, Predef};
use hpvm_mpi::rma::conflicts::Access;
use hpvm_mpi::rma::kinds;
use hpvm_mpi::rma::layout::{Parts, Side, check_sizes, is_pair, pairs};
use hpvm_mux::Mux;
use hpvm_onesided::{AtomicOp, Kind, OpId};
use std::sync::Arc;

/// A buffer of the program, as its address and what lies there.
#[derive(Clone)]
struct Buffer {
    address: usize,
    side: Side,
}

impl Buffer {
    fn at(&self, offset: i64) -> *mut u8 {
        core::ptr::with_exposed_provenance_mut(self.address.wrapping_add_signed(offset as isize))
    }
}

/// What is done to each element, and how long one is in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    pub kind: Kind,
    pub op: AtomicOp,
    pub size: u64,
    pub pairs: Option<&'static Predefined>,
    /// The processor has the elements, and the operation is defined for them.
    pub native: bool,
}

/// The predefined operation of a handle.
fn predefined(objects: &Objects, op: MPI_Op) -> Result<Predef> {
    match &**objects.op(op)? {
        Op::Predefined(predef) => Ok(*predef),
        _ => {
            let text = "one-sided operations take predefined operations only, and this one was made by MPI_Op_create";
            Err(wrong(Class::Op, text))
        }
    }
}

/// How elements of `ty` are updated by `op`, if it is defined for them.
fn update_of(op: Predef, ty: &Datatype) -> Result<Update> {
    let atomic = kinds::atomic_op(op);
    // Of mixed elements, which only these two operations take, each byte is one.
    let bytes = Update { kind: Kind::U8, op: atomic, size: 1, pairs: None, native: true };
    let Some(entry) = ty.element() else {
        op.check_accumulate(ty)?;
        return Ok(bytes);
    };
    op.check(entry)?;
    match kinds::kind(entry) {
        Some(kind) => {
            let pairs = is_pair(entry).then_some(entry);
            let size = entry.extent as u64;
            let native = atomic.is_native(kind) && kind.native_size() == Some(size as usize);
            Ok(Update { kind, op: atomic, size, pairs, native })
        }
        None if op.takes_any() => Ok(bytes),
        None => Err(wrong(Class::Op, "value-index pairs of these two types are not supported")),
    }
}

/// The elements of the origin or of the result must be the target's.
fn check_elements(what: &str, ty: &Datatype, target: &Datatype) -> Result<()> {
    if kinds::same_elements(ty.element(), target.element()) || ty.size() == 0 {
        return Ok(());
    }
    let of = |ty: &Datatype| match ty.element() {
        None => "of several kinds",
        Some(entry) if entry.name.is_empty() => "pairs of a value and an index",
        Some(entry) => entry.name,
    };
    let (here, there) = (of(ty), of(target));
    let text = format!(
        "the {what} datatype's elements are {here} and the target datatype's {there}: expected the same"
    );
    Err(wrong(Class::Type, text))
}

/// One run of elements, which lie one after the other in all buffers.
#[derive(Clone, Copy)]
struct Elements {
    operand: *const u8,
    fetch: Option<*mut u8>,
    offset: i64,
    bytes: u64,
}

/// The runs of elements of an update: `origin` is absent for `MPI_NO_OP`, `result` unless values are fetched.
fn elements<'a>(
    update: Update,
    origin: Option<&'a Buffer>,
    result: Option<&'a Buffer>,
    target: Side,
) -> Box<dyn Iterator<Item = Elements> + 'a> {
    let size = update.size;
    match (origin, result) {
        (Some(origin), None) => {
            let sides = [origin.side.clone(), target];
            let made = move |[from, to]: [i64; 2], bytes| Elements {
                operand: origin.at(from),
                fetch: None,
                offset: to,
                bytes,
            };
            match update.pairs {
                Some(entry) => Box::new(pairs(sides, entry).map(move |o| made(o, size))),
                None => Box::new(Parts::new(sides).map(move |p| made(p.offsets, p.len))),
            }
        }
        (None, Some(result)) => {
            let sides = [result.side.clone(), target];
            let made = move |[back, to]: [i64; 2], bytes| Elements {
                operand: core::ptr::null(),
                fetch: Some(result.at(back)),
                offset: to,
                bytes,
            };
            match update.pairs {
                Some(entry) => Box::new(pairs(sides, entry).map(move |o| made(o, size))),
                None => Box::new(Parts::new(sides).map(move |p| made(p.offsets, p.len))),
            }
        }
        (Some(origin), Some(result)) => {
            let sides = [origin.side.clone(), result.side.clone(), target];
            let made = move |[from, back, to]: [i64; 3], bytes| Elements {
                operand: origin.at(from),
                fetch: Some(result.at(back)),
                offset: to,
                bytes,
            };
            match update.pairs {
                Some(entry) => Box::new(pairs(sides, entry).map(move |o| made(o, size))),
                None => Box::new(Parts::new(sides).map(move |p| made(p.offsets, p.len))),
            }
        }
        (None, None) => Box::new(std::iter::empty()),
    }
}

/// The arguments of an accumulate.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub origin: *const c_void,
    pub count: MPI_Count,
    pub datatype: MPI_Datatype,
    /// Address, count and datatype of the result, where there is one.
    pub result: Option<(*mut c_void, MPI_Count, MPI_Datatype)>,
    pub rank: c_int,
    pub disp: MPI_Aint,
    pub target_count: MPI_Count,
    pub target_datatype: MPI_Datatype,
    pub op: MPI_Op,
    /// A request tells when it is complete.
    pub requested: bool,
}

/// Starts an accumulate and returns what of it is not done on this side.
///
/// # Safety
/// The buffers are valid until the operations are done.
pub(super) unsafe fn start(w: &mut Entered, win: MPI_Win, a: &Arguments) -> Result<Vec<OpId>> {
    ensure_lock(w, win, a.rank)?;
    let World { process, objects, .. } = &mut **w;
    let window = objects.window(win)?;
    let op = predefined(objects, a.op)?;
    if op == Predef::NoOp && a.result.is_none() {
        let text = "MPI_NO_OP is for MPI_Get_accumulate and MPI_Fetch_and_op only";
        return Err(wrong(Class::Op, text));
    }
    let target_ty = target_type(objects, a.target_count, a.target_datatype)?;
    let Some(there) = window.there(a.rank, a.disp)? else { return Ok(Vec::new()) };
    if is_nothing(objects, a, op, target_ty)? {
        return Ok(Vec::new());
    }
    let update = update_of(op, target_ty)?;
    let origin = match op {
        Predef::NoOp => None,
        _ => Some(check::outgoing(objects, a.origin, a.count, a.datatype)?.ty),
    };
    let result = match a.result {
        None => None,
        Some((buf, count, datatype)) => Some(check::incoming(objects, buf, count, datatype)?.ty),
    };
    for (what, ty) in [("origin", origin), ("result", result)] {
        ty.map_or(Ok(()), |ty| check_elements(what, ty, target_ty))?;
    }
    if update.pairs.is_none()
        && window.plain
        && let Some(only) = as_one_run(a, origin, result, target_ty)
    {
        // SAFETY: the caller's promise; the range is checked by the layer below.
        let started = unsafe { run(process, window, &there, update, std::iter::once(only)) };
        if let Some(recent) = Recent::of((a.op, a.target_datatype), target_ty, update) {
            objects.recent_update = recent;
        }
        return started;
    }
    // SAFETY: the caller's promise.
    unsafe { in_parts(process, window, &there, a, update, [origin, result, Some(target_ty)]) }
}

/// Elements that lie one after the other in all buffers, as most updates have them.
#[inline(always)]
fn as_one_run(
    a: &Arguments,
    origin: Option<&Arc<Datatype>>,
    result: Option<&Arc<Datatype>>,
    target: &Datatype,
) -> Option<Elements> {
    let (offset, bytes) = target.as_run(a.target_count)?;
    let place = |address: *mut u8, ty: &Datatype, count| {
        let (from, len) = ty.as_run(count)?;
        (len == bytes).then(|| address.wrapping_offset(from as isize))
    };
    let operand = match origin {
        Some(ty) => place(a.origin.cast_mut().cast(), ty, a.count)?.cast_const(),
        None => core::ptr::null(),
    };
    let fetch = match (a.result, result) {
        (Some((buf, count, _)), Some(ty)) => Some(place(buf.cast(), ty, count)?),
        _ => None,
    };
    Some(Elements { operand, fetch, offset, bytes })
}

/// As `start`, of buffers with holes, of pairs, or of a dynamic window; the datatypes are those of origin, result and
/// target.
///
/// # Safety
/// As for `start`.
#[inline(never)]
unsafe fn in_parts(
    process: &mut Process<Mux>,
    window: &WinObject,
    there: &There<'_>,
    a: &Arguments,
    update: Update,
    [origin, result, target]: [Option<&Arc<Datatype>>; 3],
) -> Result<Vec<OpId>> {
    let side = |ty: &Arc<Datatype>, count| Side { ty: ty.clone(), count };
    let Some(target) = target.map(|ty| side(ty, a.target_count)) else { return Ok(Vec::new()) };
    let origin = origin.map(|ty| {
        let address = a.origin.expose_provenance();
        Buffer { address, side: side(ty, a.count) }
    });
    let result = a.result.zip(result).map(|((buf, count, _), ty)| {
        let address = buf.expose_provenance();
        Buffer { address, side: side(ty, count) }
    });
    for buffer in origin.iter().chain(&result) {
        check_sizes(&buffer.side, &target)?;
    }
    let access = (!a.requested).then_some(Access::Update(update.op));
    window.look_closer(there, &target, access)?;
    let runs = elements(update, origin.as_ref(), result.as_ref(), target);
    // SAFETY: the caller's promise; the runs are those of the buffers.
    unsafe { run(process, window, there, update, runs) }
}

/// Whether no side has an element, so that it does not matter what the elements are.
fn is_nothing(objects: &Objects, a: &Arguments, op: Predef, target: &Datatype) -> Result<bool> {
    if target.packed_size(a.target_count) != Some(0) {
        return Ok(false);
    }
    let bytes = |count, datatype| -> Result<i64> {
        Ok(objects.datatype(datatype)?.packed_size(count).unwrap_or(-1))
    };
    let origin = if op == Predef::NoOp { 0 } else { bytes(a.count, a.datatype)? };
    let result = a.result.map_or(Ok(0), |(_, count, datatype)| bytes(count, datatype))?;
    Ok(origin == 0 && result == 0)
}

/// # Safety
/// The addresses are valid until the operations are done.
unsafe fn run(
    process: &mut Process<Mux>,
    window: &WinObject,
    there: &There<'_>,
    update: Update,
    runs: impl Iterator<Item = Elements>,
) -> Result<Vec<OpId>> {
    let (fm, onesided) = process.onesided();
    let mut ops = Vec::new();
    for run in runs {
        let offset = there.at.wrapping_add(run.offset) as u64;
        let count = (run.bytes / update.size) as usize;
        let target = &there.peer.target;
        // SAFETY: the caller's promise.
        let op = unsafe {
            onesided.accumulate(
                fm,
                target,
                offset,
                update.kind,
                update.op,
                run.operand,
                count,
                run.fetch,
            )
        };
        ops.extend(op.map_err(|failure| refused(window, there.rank, &failure))?);
    }
    Ok(ops)
}

pub unsafe fn accumulate(
    origin_addr: *const c_void,
    origin_count: MPI_Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: MPI_Count,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
) -> c_int {
    let a = Arguments {
        origin: origin_addr,
        count: origin_count,
        datatype: origin_datatype,
        result: None,
        rank: target_rank,
        disp: target_disp,
        target_count,
        target_datatype,
        op,
        requested: false,
    };
    let short = target_datatype == origin_datatype && target_count == origin_count;
    let element =
        plain::Element { op, datatype: origin_datatype, rank: target_rank, disp: target_disp };
    on_win("MPI_Accumulate", win, |w| {
        let (operand, none) = (origin_addr.cast(), core::ptr::null_mut());
        // SAFETY: the caller's promise.
        let mut update = || unsafe { plain::update(w, win, &element, operand, origin_count, none) };
        if short && update().is_some() {
            return Ok(());
        }
        // SAFETY: the caller's promise: the buffers stay until the epoch ends.
        unsafe { recent::start_any(w, win, &a) }
    })
}

pub unsafe fn get_accumulate(
    origin_addr: *const c_void,
    origin_count: MPI_Count,
    origin_datatype: MPI_Datatype,
    result_addr: *mut c_void,
    result_count: MPI_Count,
    result_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: MPI_Count,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
) -> c_int {
    let a = Arguments {
        origin: origin_addr,
        count: origin_count,
        datatype: origin_datatype,
        result: Some((result_addr, result_count, result_datatype)),
        rank: target_rank,
        disp: target_disp,
        target_count,
        target_datatype,
        op,
        requested: false,
    };
    // SAFETY: the caller's promise: the buffers stay until the epoch ends.
    on_win("MPI_Get_accumulate", win, |w| unsafe { recent::start_any(w, win, &a) })
}

pub unsafe fn raccumulate(
    origin_addr: *const c_void,
    origin_count: MPI_Count,
    origin_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: MPI_Count,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
    request: *mut MPI_Request,
) -> c_int {
    let a = Arguments {
        origin: origin_addr,
        count: origin_count,
        datatype: origin_datatype,
        result: None,
        rank: target_rank,
        disp: target_disp,
        target_count,
        target_datatype,
        op,
        requested: true,
    };
    // SAFETY: the caller's promises: the buffers stay until the request is complete.
    unsafe { with_request("MPI_Raccumulate", win, target_rank, request, |w| start(w, win, &a)) }
}

pub unsafe fn rget_accumulate(
    origin_addr: *const c_void,
    origin_count: MPI_Count,
    origin_datatype: MPI_Datatype,
    result_addr: *mut c_void,
    result_count: MPI_Count,
    result_datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    target_count: MPI_Count,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
    request: *mut MPI_Request,
) -> c_int {
    let a = Arguments {
        origin: origin_addr,
        count: origin_count,
        datatype: origin_datatype,
        result: Some((result_addr, result_count, result_datatype)),
        rank: target_rank,
        disp: target_disp,
        target_count,
        target_datatype,
        op,
        requested: true,
    };
    // SAFETY: the caller's promises: the buffers stay until the request is complete.
    unsafe { with_request("MPI_Rget_accumulate", win, target_rank, request, |w| start(w, win, &a)) }
}

/// One element of a predefined datatype.
fn element(
    objects: &Objects,
    datatype: MPI_Datatype,
) -> Result<(&Arc<Datatype>, &'static Predefined)> {
    let ty = objects.datatype(datatype)?;
    match ty.as_predefined() {
        Some(entry) => Ok((ty, entry)),
        None => Err(wrong(Class::Type, "expected a predefined datatype, found a derived one")),
    }
}

/// What `op` does to one element of a predefined datatype.
#[inline(never)]
fn look_up(objects: &mut Objects, op: MPI_Op, datatype: MPI_Datatype) -> Result<Update> {
    let (ty, _) = element(objects, datatype)?;
    let update = update_of(predefined(objects, op)?, ty)?;
    if let Some(recent) = Recent::of((op, datatype), ty, update) {
        objects.recent_update = recent;
    }
    Ok(update)
}

pub unsafe fn fetch_and_op(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    op: MPI_Op,
    win: MPI_Win,
) -> c_int {
    let element = plain::Element { op, datatype, rank: target_rank, disp: target_disp };
    on_win("MPI_Fetch_and_op", win, |w| {
        let (operand, fetch) = (origin_addr.cast::<u8>(), result_addr.cast::<u8>());
        // SAFETY: the caller's promise.
        let short = !fetch.is_null()
            && unsafe { plain::update(w, win, &element, operand, 1, fetch) }.is_some();
        if short {
            return Ok(());
        }
        // SAFETY: the caller's promise: one element each, until the epoch ends.
        unsafe { fetch_and_update(w, win, &element, operand, fetch) }
    })
}

/// `MPI_Fetch_and_op`, the long way.
///
/// # Safety
/// `operand` is null or readable for an element, and `fetch` null or writable, until the epoch ends.
#[inline(never)]
unsafe fn fetch_and_update(
    w: &mut Entered,
    win: MPI_Win,
    &plain::Element { op, datatype, rank, disp }: &plain::Element,
    operand: *const u8,
    fetch: *mut u8,
) -> Result<()> {
    ensure_lock(w, win, rank)?;
    let World { process, objects, .. } = &mut **w;
    objects.window(win)?;
    let update = match objects.recent_update.find(op, datatype) {
        Some(update) => update,
        None => look_up(objects, op, datatype)?,
    };
    let window = objects.window(win)?;
    out("result_addr", fetch)?;
    if update.op != AtomicOp::NoOp && operand.is_null() {
        return Err(wrong(Class::Buffer, "origin_addr is null"));
    }
    let Some(there) = window.there(rank, disp)? else { return Ok(()) };
    if !window.plain {
        let target = Side { ty: objects.datatype(datatype)?.clone(), count: 1 };
        window.look_closer(&there, &target, Some(Access::Update(update.op)))?;
    }
    let (fm, onesided) = process.onesided();
    let (target, offset) = (&there.peer.target, there.at as u64);
    // SAFETY: the caller's promise.
    let done = unsafe {
        onesided.accumulate(fm, target, offset, update.kind, update.op, operand, 1, Some(fetch))
    };
    let started = done.map_err(|failure| refused(window, there.rank, &failure))?;
    started.into_iter().for_each(|op| leave(w, op));
    Ok(())
}

pub unsafe fn compare_and_swap(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: c_int,
    target_disp: MPI_Aint,
    win: MPI_Win,
) -> c_int {
    let a = plain::Swap {
        swap: origin_addr,
        compare: compare_addr,
        result: result_addr,
        datatype,
        rank: target_rank,
        disp: target_disp,
    };
    on_win("MPI_Compare_and_swap", win, |w| {
        // SAFETY: the caller's promise: one element each.
        if let Some(()) = unsafe { plain::compare_and_swap(w, win, &a) } {
            return Ok(());
        }
        // SAFETY: as above, until the epoch ends.
        unsafe { swap(w, win, &a) }
    })
}

/// `MPI_Compare_and_swap`, the long way.
///
/// # Safety
/// `swap` and `compare` are null or readable for an element, and `result` is null or writable, until the epoch ends.
#[inline(never)]
unsafe fn swap(w: &mut Entered, win: MPI_Win, a: &plain::Swap) -> Result<()> {
    ensure_lock(w, win, a.rank)?;
    let World { process, objects, .. } = &mut **w;
    let window = objects.window(win)?;
    let (ty, entry) = element(objects, a.datatype)?;
    if !is_comparable(entry) {
        let text = format!(
            "{} can't be compared and swapped: expected an integer, logical, multi-language or byte type",
            entry.name
        );
        return Err(wrong(Class::Type, text));
    }
    let update = update_of(Predef::Replace, ty)?;
    for (what, address) in [("origin_addr", a.swap), ("compare_addr", a.compare)] {
        out(what, address.cast_mut())?;
    }
    out("result_addr", a.result)?;
    let Some(there) = window.there(a.rank, a.disp)? else { return Ok(()) };
    if !window.plain {
        let target = Side { ty: ty.clone(), count: 1 };
        window.look_closer(&there, &target, Some(Access::CompareAndSwap))?;
    }
    let (fm, onesided) = process.onesided();
    let (target, offset) = (&there.peer.target, there.at as u64);
    let (compare, swap, result) = (a.compare.cast(), a.swap.cast(), a.result.cast());
    // SAFETY: the caller's promise.
    let done = unsafe {
        onesided.compare_and_swap(fm, target, offset, update.kind, compare, swap, result)
    };
    let started = done.map_err(|failure| refused(window, there.rank, &failure))?;
    started.into_iter().for_each(|op| leave(w, op));
    Ok(())
}

/// Section 12.3.4 names the groups whose elements may be compared: their values are their bytes.
pub(super) fn is_comparable(entry: &Predefined) -> bool {
    use Group::{Byte, CInteger, FortranInteger, Logical, MultiLanguage};
    matches!(entry.group, CInteger | FortranInteger | Logical | MultiLanguage | Byte)
}
