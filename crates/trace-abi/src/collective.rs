//! Collective operations. What differs between ranks, the blocks of operations with a `v`, is recorded as each rank sees it; who reads
//! the record takes the mean.

use crate::state::{enter, leave};
use crate::{bytes, mpi};
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::*;

/// What is recorded of one: its name, root and bytes.
type What = (&'static str, Option<c_int>, Option<u64>);

fn ended(
    code: c_int,
    comm: MPI_Comm,
    request: Option<*mut MPI_Request>,
    what: impl FnOnce(usize) -> What,
) {
    leave(code, |state| {
        // SAFETY: a call that has ended well has written there.
        let handle = request.map(|request| unsafe { (*request).0 });
        handle.iter().for_each(|handle| state.log.forget(*handle));
        let Some(part) = state.part(comm, "collectives-between-groups") else { return };
        let (name, root, bytes) = what(part.ranks.len());
        state.log.collective(name, root, bytes, &part, handle);
    });
}

/// Bytes of the one side, or of the other where the first is `MPI_IN_PLACE`.
fn either(
    buffer: *const c_void,
    (count, ty): (impl Into<i64>, MPI_Datatype),
    (other, other_ty): (impl Into<i64>, MPI_Datatype),
) -> u64 {
    if buffer == MPI_IN_PLACE.cast_const() { bytes(other, other_ty) } else { bytes(count, ty) }
}

/// The sum of an array that MPI was given for so many ranks; 0 where it is not significant.
///
/// # Safety
/// It has so many numbers, or is null.
unsafe fn sum<N: Copy + Into<i64>>(counts: *const N, ranks: usize) -> i64 {
    if counts.is_null() {
        return 0;
    }
    // SAFETY: by the caller.
    unsafe { core::slice::from_raw_parts(counts, ranks) }.iter().map(|count| (*count).into()).sum()
}

/// The mean bytes that a rank has for each other.
fn mean(sum: i64, ty: MPI_Datatype, ranks: usize) -> u64 {
    bytes(sum, ty).div_ceil(ranks.max(1) as u64)
}

/// Bytes of elements of different types, in the mean.
///
/// # Safety
/// Both arrays have so many elements.
unsafe fn typed<N: Copy + Into<i64>>(
    counts: *const N,
    types: *const MPI_Datatype,
    ranks: usize,
) -> u64 {
    // SAFETY: by the caller.
    let both = (0..ranks).map(|rank| unsafe { ((*counts.add(rank)).into(), *types.add(rank)) });
    let sum: u64 = both.map(|(count, ty)| bytes(count, ty)).sum();
    sum.div_ceil(ranks.max(1) as u64)
}

/// Numbers, and arrays of counts and displacements, in functions of either form.
mod int {
    pub type N = core::ffi::c_int;
    pub type D = core::ffi::c_int;
}

mod large {
    pub type N = hpvm_abi::constants::MPI_Count;
    pub type D = hpvm_abi::constants::MPI_Aint;
}

/// A collective in its forms: blocking and not, each with `int` and with `MPI_Count`. Arguments stand before the communicator;
/// `|ranks| what` is what is recorded, where `ranks` is how many take part.
macro_rules! collectives {
    ($($plain:ident $large:ident $i:ident $i_large:ident ($($arg:ident: $ty:ty),*) |$ranks:ident| $what:expr;)*) => {$(
        const _: () = {
            use int::*;
            collectives!(@form $plain $i ($($arg: $ty),*) |$ranks| $what);
        };
        const _: () = {
            use large::*;
            collectives!(@form $large $i_large ($($arg: $ty),*) |$ranks| $what);
        };
    )*};
    (@form $blocking:ident $i:ident ($($arg:ident: $ty:ty),*) |$ranks:ident| $what:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $blocking($($arg: $ty,)* comm: MPI_Comm) -> c_int {
            enter();
            // SAFETY: as the program calls it.
            let code = unsafe { (mpi().$blocking)($($arg,)* comm) };
            ended(code, comm, None, |$ranks| $what);
            code
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $i($($arg: $ty,)* comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
            enter();
            // SAFETY: as the program calls it.
            let code = unsafe { (mpi().$i)($($arg,)* comm, request) };
            ended(code, comm, Some(request), |$ranks| $what);
            code
        }
    };
}

collectives! {
    MPI_Bcast MPI_Bcast_c MPI_Ibcast MPI_Ibcast_c
        (buf: *mut c_void, count: N, ty: MPI_Datatype, root: c_int)
        |_ranks| ("bcast", Some(root), Some(bytes(count, ty)));
    MPI_Reduce MPI_Reduce_c MPI_Ireduce MPI_Ireduce_c
        (send: *const c_void, recv: *mut c_void, count: N, ty: MPI_Datatype, op: MPI_Op, root: c_int)
        |_ranks| ("reduce", Some(root), Some(words(bytes(count, ty))));
    MPI_Allreduce MPI_Allreduce_c MPI_Iallreduce MPI_Iallreduce_c
        (send: *const c_void, recv: *mut c_void, count: N, ty: MPI_Datatype, op: MPI_Op)
        |_ranks| ("allreduce", None, Some(words(bytes(count, ty))));
    MPI_Scan MPI_Scan_c MPI_Iscan MPI_Iscan_c
        (send: *const c_void, recv: *mut c_void, count: N, ty: MPI_Datatype, op: MPI_Op)
        |_ranks| ("scan", None, Some(words(bytes(count, ty))));
    MPI_Exscan MPI_Exscan_c MPI_Iexscan MPI_Iexscan_c
        (send: *const c_void, recv: *mut c_void, count: N, ty: MPI_Datatype, op: MPI_Op)
        |_ranks| ("scan", None, Some(words(bytes(count, ty))));
    MPI_Reduce_scatter_block MPI_Reduce_scatter_block_c MPI_Ireduce_scatter_block MPI_Ireduce_scatter_block_c
        (send: *const c_void, recv: *mut c_void, count: N, ty: MPI_Datatype, op: MPI_Op)
        |_ranks| ("reduce_scatter", None, Some(words(bytes(count, ty))));
    MPI_Reduce_scatter MPI_Reduce_scatter_c MPI_Ireduce_scatter MPI_Ireduce_scatter_c
        (send: *const c_void, recv: *mut c_void, counts: *const N, ty: MPI_Datatype, op: MPI_Op)
        // SAFETY: the program gives a count for each rank.
        |ranks| ("reduce_scatter", None, Some(words(mean(unsafe { sum(counts, ranks) }, ty, ranks))));
    MPI_Gather MPI_Gather_c MPI_Igather MPI_Igather_c
        (send: *const c_void, count: N, ty: MPI_Datatype, recv: *mut c_void, recv_count: N, recv_ty: MPI_Datatype, root: c_int)
        |_ranks| ("gather", Some(root), Some(either(send, (count, ty), (recv_count, recv_ty))));
    MPI_Scatter MPI_Scatter_c MPI_Iscatter MPI_Iscatter_c
        (send: *const c_void, count: N, ty: MPI_Datatype, recv: *mut c_void, recv_count: N, recv_ty: MPI_Datatype, root: c_int)
        |_ranks| ("scatter", Some(root), Some(either(recv, (recv_count, recv_ty), (count, ty))));
    MPI_Allgather MPI_Allgather_c MPI_Iallgather MPI_Iallgather_c
        (send: *const c_void, count: N, ty: MPI_Datatype, recv: *mut c_void, recv_count: N, recv_ty: MPI_Datatype)
        |_ranks| ("allgather", None, Some(either(send, (count, ty), (recv_count, recv_ty))));
    MPI_Alltoall MPI_Alltoall_c MPI_Ialltoall MPI_Ialltoall_c
        (send: *const c_void, count: N, ty: MPI_Datatype, recv: *mut c_void, recv_count: N, recv_ty: MPI_Datatype)
        |_ranks| ("alltoall", None, Some(either(send, (count, ty), (recv_count, recv_ty))));
    MPI_Gatherv MPI_Gatherv_c MPI_Igatherv MPI_Igatherv_c
        (send: *const c_void, count: N, ty: MPI_Datatype, recv: *mut c_void, counts: *const N, displs: *const D,
         recv_ty: MPI_Datatype, root: c_int)
        |ranks| ("gather", Some(root), Some(if send == MPI_IN_PLACE.cast_const() {
            // SAFETY: who gives its own part in place is the root, which has a count for each rank.
            mean(unsafe { sum(counts, ranks) }, recv_ty, ranks)
        } else {
            bytes(count, ty)
        }));
    MPI_Scatterv MPI_Scatterv_c MPI_Iscatterv MPI_Iscatterv_c
        (send: *const c_void, counts: *const N, displs: *const D, ty: MPI_Datatype, recv: *mut c_void, recv_count: N,
         recv_ty: MPI_Datatype, root: c_int)
        |ranks| ("scatter", Some(root), Some(if recv == MPI_IN_PLACE {
            // SAFETY: who takes its own part in place is the root, which has a count for each rank.
            mean(unsafe { sum(counts, ranks) }, ty, ranks)
        } else {
            bytes(recv_count, recv_ty)
        }));
    MPI_Allgatherv MPI_Allgatherv_c MPI_Iallgatherv MPI_Iallgatherv_c
        (send: *const c_void, count: N, ty: MPI_Datatype, recv: *mut c_void, counts: *const N, displs: *const D,
         recv_ty: MPI_Datatype)
        // SAFETY: the program gives a count for each rank.
        |ranks| ("allgather", None, Some(mean(unsafe { sum(counts, ranks) }, recv_ty, ranks)));
    MPI_Alltoallv MPI_Alltoallv_c MPI_Ialltoallv MPI_Ialltoallv_c
        (send: *const c_void, counts: *const N, displs: *const D, ty: MPI_Datatype, recv: *mut c_void,
         recv_counts: *const N, recv_displs: *const D, recv_ty: MPI_Datatype)
        |ranks| ("alltoall", None, Some(if send == MPI_IN_PLACE.cast_const() {
            // SAFETY: the program gives a count for each rank on the side that is not in place.
            mean(unsafe { sum(recv_counts, ranks) }, recv_ty, ranks)
        } else {
            // SAFETY: as above.
            mean(unsafe { sum(counts, ranks) }, ty, ranks)
        }));
}

/// `MPI_Alltoallw` counts its displacements otherwise than the rest.
macro_rules! alltoallw {
    ($($name:ident($count:ty, $displ:ty, $($request:ident)?);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            send: *const c_void, counts: *const $count, displs: *const $displ, types: *const MPI_Datatype,
            recv: *mut c_void, recv_counts: *const $count, recv_displs: *const $displ,
            recv_types: *const MPI_Datatype, comm: MPI_Comm, $($request: *mut MPI_Request)?
        ) -> c_int {
            enter();
            // SAFETY: as the program calls it.
            let code = unsafe {
                (mpi().$name)(
                    send, counts, displs, types, recv, recv_counts, recv_displs, recv_types, comm, $($request)?
                )
            };
            #[allow(unused_mut, unused_assignments)]
            let mut place: Option<*mut MPI_Request> = None;
            $(place = Some($request);)?
            ended(code, comm, place, |ranks| {
                let in_place = send == MPI_IN_PLACE.cast_const();
                let (counts, types) = if in_place { (recv_counts, recv_types) } else { (counts, types) };
                // SAFETY: the program gives counts and types for each rank on the side that is not in place.
                ("alltoall", None, Some(unsafe { typed(counts, types, ranks) }))
            });
            code
        }
    )*};
}

alltoallw! {
    MPI_Alltoallw(c_int, c_int,);
    MPI_Ialltoallw(c_int, c_int, request);
    MPI_Alltoallw_c(MPI_Count, MPI_Aint,);
    MPI_Ialltoallw_c(MPI_Count, MPI_Aint, request);
}

/// Reductions are simulated as sums of 64-bit numbers.
fn words(bytes: u64) -> u64 {
    bytes.next_multiple_of(8)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Barrier(comm: MPI_Comm) -> c_int {
    enter();
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Barrier)(comm) };
    ended(code, comm, None, |_| ("barrier", None, None));
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Ibarrier(comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
    enter();
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Ibarrier)(comm, request) };
    ended(code, comm, Some(request), |_| ("barrier", None, None));
    code
}

/// Collectives that cannot be simulated.
macro_rules! unknown {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
            enter();
            // SAFETY: as the program calls it.
            let code = unsafe { (mpi().$name)($($arg),*) };
            leave(code, |state| state.log.unknown(stringify!($name)));
            code
        }
    )*};
}

unknown! {
    MPI_Neighbor_allgather(
        send: *const c_void, count: c_int, ty: MPI_Datatype, recv: *mut c_void, recv_count: c_int,
        recv_ty: MPI_Datatype, comm: MPI_Comm
    );
    MPI_Neighbor_alltoall(
        send: *const c_void, count: c_int, ty: MPI_Datatype, recv: *mut c_void, recv_count: c_int,
        recv_ty: MPI_Datatype, comm: MPI_Comm
    );
    MPI_Neighbor_alltoallv(
        send: *const c_void, counts: *const c_int, displs: *const c_int, ty: MPI_Datatype, recv: *mut c_void,
        recv_counts: *const c_int, recv_displs: *const c_int, recv_ty: MPI_Datatype, comm: MPI_Comm
    );
    MPI_Win_fence(assert: c_int, win: MPI_Win);
    MPI_Win_unlock(rank: c_int, win: MPI_Win);
    MPI_Win_unlock_all(win: MPI_Win);
    MPI_Win_complete(win: MPI_Win);
}
