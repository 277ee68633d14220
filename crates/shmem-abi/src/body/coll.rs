//! Collectives (section 9.9), which are MPI's on the team's communicator.

use super::team::{self, TeamObject};
use crate::races;
use crate::state::{State, bytes, state};
use crate::types::{Name, Team};
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::{
    MPI_BYTE, MPI_COUNT, MPI_Comm, MPI_Count, MPI_Datatype, MPI_IN_PLACE, MPI_Op, MPI_SUM,
};
use hpvm_model::{done, fail, mpi};

/// The team of a collective. `None`: `SHMEM_TEAM_INVALID`, for which such functions return -1.
#[inline(always)]
fn team_of(name: Name, team: Team) -> Option<&'static TeamObject> {
    let s = state(name);
    races::heard(s);
    let team = team::checked(s, name, team)?;
    team.calls.join(name);
    Some(team)
}

/// A number of elements or bytes as MPI counts.
pub(super) fn count(name: Name, n: usize) -> MPI_Count {
    match i64::try_from(n) {
        Ok(n) => n as MPI_Count,
        Err(_) => fail(name, &format!("{n} elements are more than any memory has")),
    }
}

/// The buffers of a collective: `dest`, which is symmetric, and `source`, which the standard wants to be so, too, and which other
/// implementations take from anywhere; and how many bytes of each.
pub(super) fn buffers(
    name: Name,
    (dest, to): (*mut u8, usize),
    (source, from): (*const u8, usize),
) {
    let s = state(name);
    if to > 0 {
        s.symmetric(name, dest.addr(), to);
    }
    s.ends_inside(name, source.addr(), from);
}

pub unsafe fn barrier_all(name: Name) {
    complete_all(state(name), name);
}

/// Completes the operations of all PEs, which all call this.
pub(super) fn complete_all(s: &State, name: Name) {
    s.barriers.join(name);
    s.complete(name);
    if s.checks {
        races::all_meet(s, name);
    }
    barrier(name, s.world_comm);
}

pub unsafe fn sync_all(name: Name) {
    let s = state(name);
    races::heard(s);
    s.barriers.join(name);
    barrier(name, s.world_comm);
}

#[inline(always)]
pub(super) fn barrier(name: Name, comm: MPI_Comm) {
    // SAFETY: a communicator of our own.
    done(name, unsafe { (mpi().MPI_Barrier)(comm) });
}

pub unsafe fn team_sync(name: Name, team: Team) -> c_int {
    let Some(team) = team_of(name, team) else { return -1 };
    barrier(name, team.comm);
    0
}

/// From `source` at the root to `dest` at all, and to that of the root if it `keeps` a copy.
///
/// # Safety
/// Both are valid for `len` bytes.
pub(super) unsafe fn broadcast_bytes(
    name: Name,
    team: &TeamObject,
    (dest, source): (*mut u8, *const u8),
    len: usize,
    root: c_int,
    keeps: bool,
) {
    let size = team.size();
    if usize::try_from(root).is_ok_and(|root| root >= size) || root < 0 {
        fail(name, &format!("PE_root is {root}; expected 0 to {}", size - 1));
    }
    let is_root = root as usize == team.me;
    let (to, from) = (if is_root && !keeps { 0 } else { len }, if is_root { len } else { 0 });
    buffers(name, (dest, to), (source, from));
    let buffer = if is_root { source.cast_mut() } else { dest };
    let n = count(name, len);
    // SAFETY: the caller's promise; the root's buffer is only read.
    unsafe {
        done(name, (mpi().MPI_Bcast_c)(buffer.cast(), n, MPI_BYTE, root, team.comm));
        if is_root && keeps && !core::ptr::eq(source, dest) {
            core::ptr::copy(source, dest, len);
        }
    }
}

pub unsafe fn broadcast<T>(
    name: Name,
    team: Team,
    dest: *mut T,
    source: *const T,
    n: usize,
    root: c_int,
) -> c_int {
    let Some(team) = team_of(name, team) else { return -1 };
    // SAFETY: the program's promise.
    unsafe { broadcast_bytes(name, team, (dest.cast(), source.cast()), bytes::<T>(n), root, true) };
    0
}

/// What MPI takes in place of a buffer that is also the result.
pub(super) fn sent(source: *const u8, place: *const u8) -> *const c_void {
    if core::ptr::eq(source, place) { MPI_IN_PLACE } else { source.cast() }
}

/// The bytes of all members one after the other, as many of each.
///
/// # Safety
/// `source` is valid for `len` bytes, `dest` for as many of each member.
pub(super) unsafe fn fcollect_bytes(
    name: Name,
    team: &TeamObject,
    (dest, source): (*mut u8, *const u8),
    len: usize,
) {
    buffers(name, (dest, len.saturating_mul(team.size())), (source, len));
    let n = count(name, len);
    let source = sent(source, dest.wrapping_add(team.me.wrapping_mul(len)));
    // SAFETY: the caller's promise.
    done(name, unsafe {
        (mpi().MPI_Allgather_c)(source, n, MPI_BYTE, dest.cast(), n, MPI_BYTE, team.comm)
    });
}

pub unsafe fn fcollect<T>(
    name: Name,
    team: Team,
    dest: *mut T,
    source: *const T,
    n: usize,
) -> c_int {
    let Some(team) = team_of(name, team) else { return -1 };
    // SAFETY: the program's promise.
    unsafe { fcollect_bytes(name, team, (dest.cast(), source.cast()), bytes::<T>(n)) };
    0
}

/// As `fcollect_bytes`, where members have different lengths.
///
/// # Safety
/// `source` is valid for `len` bytes, `dest` for those of all members.
pub(super) unsafe fn collect_bytes(
    name: Name,
    team: &TeamObject,
    (dest, source): (*mut u8, *const u8),
    len: usize,
) {
    buffers(name, (dest, 0), (source, len));
    let mine = count(name, len);
    let mut counts = vec![mine; team.size()];
    // SAFETY: a place for a number of each member.
    done(name, unsafe {
        let (from, to) = ((&raw const mine).cast(), counts.as_mut_ptr().cast());
        (mpi().MPI_Allgather_c)(from, 1, MPI_COUNT, to, 1, MPI_COUNT, team.comm)
    });
    let mut end: MPI_Count = 0;
    let displacements: Vec<_> = counts
        .iter()
        .map(|n| {
            let begin = end;
            end = end.saturating_add(*n);
            begin
        })
        .collect();
    buffers(name, (dest, end as usize), (source, 0));
    let source = sent(source, dest.wrapping_add(displacements[team.me] as usize));
    let (counts, displacements) = (counts.as_ptr(), displacements.as_ptr().cast());
    // SAFETY: the caller's promise; arrays of a number for each member.
    done(name, unsafe {
        let dest = dest.cast();
        let gather = mpi().MPI_Allgatherv_c;
        gather(source, mine, MPI_BYTE, dest, counts, displacements, MPI_BYTE, team.comm)
    });
}

pub unsafe fn collect<T>(
    name: Name,
    team: Team,
    dest: *mut T,
    source: *const T,
    n: usize,
) -> c_int {
    let Some(team) = team_of(name, team) else { return -1 };
    // SAFETY: the program's promise.
    unsafe { collect_bytes(name, team, (dest.cast(), source.cast()), bytes::<T>(n)) };
    0
}

/// `len` bytes of each member for each.
///
/// # Safety
/// Both are valid for as many.
pub(super) unsafe fn alltoall_bytes(
    name: Name,
    team: &TeamObject,
    (dest, source): (*mut u8, *const u8),
    len: usize,
) {
    let all = len.saturating_mul(team.size());
    buffers(name, (dest, all), (source, all));
    // SAFETY: the caller's promise.
    unsafe { exchange(name, team, (dest, source), len) }
}

/// `alltoall_bytes` with memory of any kind.
///
/// # Safety
/// As there.
unsafe fn exchange(
    name: Name,
    team: &TeamObject,
    (dest, source): (*mut u8, *const u8),
    len: usize,
) {
    let n = count(name, len);
    let source = sent(source, dest);
    // SAFETY: the caller's promise.
    done(name, unsafe {
        (mpi().MPI_Alltoall_c)(source, n, MPI_BYTE, dest.cast(), n, MPI_BYTE, team.comm)
    });
}

pub unsafe fn alltoall<T>(
    name: Name,
    team: Team,
    dest: *mut T,
    source: *const T,
    n: usize,
) -> c_int {
    let Some(team) = team_of(name, team) else { return -1 };
    // SAFETY: the program's promise.
    unsafe { alltoall_bytes(name, team, (dest.cast(), source.cast()), bytes::<T>(n)) };
    0
}

/// As `alltoall_bytes`, of elements of `size` bytes that lie `dst` and `sst` elements apart.
///
/// # Safety
/// Both are valid for as many.
pub(super) unsafe fn alltoalls_bytes(
    name: Name,
    team: &TeamObject,
    (dest, source): (*mut u8, *const u8),
    (dst, sst): (isize, isize),
    (n, size): (usize, usize),
) {
    if dst < 1 || sst < 1 {
        fail(name, &format!("strides {dst} and {sst}; expected 1 or more"));
    }
    if n == 0 {
        return;
    }
    let elements = n.saturating_mul(team.size());
    let span = |stride: isize| {
        (elements - 1).saturating_mul(stride as usize).saturating_add(1).saturating_mul(size)
    };
    buffers(name, (dest, span(dst)), (source, span(sst)));
    let len = elements.saturating_mul(size);
    let mut packed = Vec::new();
    if packed.try_reserve_exact(len).is_err() {
        fail(
            name,
            &format!("there is no memory for a copy of {elements} elements of {size} bytes"),
        );
    }
    packed.resize(len, 0_u8);
    for (i, element) in packed.chunks_exact_mut(size).enumerate() {
        let at = source.wrapping_offset(i as isize * sst * size as isize);
        // SAFETY: the caller's promise.
        unsafe { core::ptr::copy_nonoverlapping(at, element.as_mut_ptr(), size) };
    }
    let place = packed.as_mut_ptr();
    // SAFETY: as many bytes as all members have for all.
    unsafe { exchange(name, team, (place, place), n.saturating_mul(size)) };
    for (i, element) in packed.chunks_exact(size).enumerate() {
        let at = dest.wrapping_offset(i as isize * dst * size as isize);
        // SAFETY: the caller's promise.
        unsafe { core::ptr::copy_nonoverlapping(element.as_ptr(), at, size) };
    }
}

pub unsafe fn alltoalls<T>(
    name: Name,
    team: Team,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    n: usize,
) -> c_int {
    let Some(team) = team_of(name, team) else { return -1 };
    let (places, shape) = ((dest.cast(), source.cast()), (n, size_of::<T>()));
    // SAFETY: the program's promise.
    unsafe { alltoalls_bytes(name, team, places, (dst, sst), shape) };
    0
}

/// # Safety
/// Both are valid for `n` elements.
pub(super) unsafe fn reduce_on(
    name: Name,
    (ty, op): (MPI_Datatype, MPI_Op),
    team: &TeamObject,
    (dest, source): (*mut u8, *const u8),
    n: usize,
) {
    let (n, source) = (count(name, n), sent(source, dest));
    // SAFETY: the caller's promise.
    done(name, unsafe { (mpi().MPI_Allreduce_c)(source, dest.cast(), n, ty, op, team.comm) });
}

pub unsafe fn reduce<T>(
    name: Name,
    ty: MPI_Datatype,
    op: MPI_Op,
    team: Team,
    dest: *mut T,
    source: *const T,
    n: usize,
) -> c_int {
    let Some(team) = team_of(name, team) else { return -1 };
    buffers(name, (dest.cast(), bytes::<T>(n)), (source.cast(), bytes::<T>(n)));
    // SAFETY: the program's promise.
    unsafe { reduce_on(name, (ty, op), team, (dest.cast(), source.cast()), n) };
    0
}

pub unsafe fn inscan<T>(
    name: Name,
    ty: MPI_Datatype,
    team: Team,
    dest: *mut T,
    source: *const T,
    n: usize,
) -> c_int {
    let Some(team) = team_of(name, team) else { return -1 };
    buffers(name, (dest.cast(), bytes::<T>(n)), (source.cast(), bytes::<T>(n)));
    let (n, source) = (count(name, n), sent(source.cast(), dest.cast()));
    // SAFETY: the program's promise.
    done(name, unsafe { (mpi().MPI_Scan_c)(source, dest.cast(), n, ty, MPI_SUM, team.comm) });
    0
}

pub unsafe fn exscan<T>(
    name: Name,
    ty: MPI_Datatype,
    team: Team,
    dest: *mut T,
    source: *const T,
    n: usize,
) -> c_int {
    let Some(team) = team_of(name, team) else { return -1 };
    buffers(name, (dest.cast(), bytes::<T>(n)), (source.cast(), bytes::<T>(n)));
    let (len, source) = (count(name, n), sent(source.cast(), dest.cast()));
    // SAFETY: the program's promise. Zero is all bits zero in every type; MPI leaves the first member's result alone.
    unsafe {
        done(name, (mpi().MPI_Exscan_c)(source, dest.cast(), len, ty, MPI_SUM, team.comm));
        if team.me == 0 {
            dest.cast::<u8>().write_bytes(0, bytes::<T>(n));
        }
    }
    0
}
