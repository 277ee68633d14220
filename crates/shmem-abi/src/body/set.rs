//! The older collectives on active sets (section 9.9). The communicator of a set is made when its first collective
//! comes, and stays. `pSync` and `pWrk` are left alone.

use super::coll;
use super::team::{TeamObject, free, quieten};
use crate::ends::{self, Calls, What};
use crate::races;
use crate::state::{State, bytes, state};
use crate::types::Name;
use core::ffi::{c_int, c_long, c_void};
use hpvm_abi::constants::{MPI_COMM_NULL, MPI_Comm, MPI_Datatype, MPI_GROUP_NULL, MPI_Op};
use hpvm_model::{done, fail, mpi};
use hpvm_shmem::Strided;
use std::sync::{Arc, PoisonError};

/// The set's team. Blocks until all its members are here when it is made.
fn team(s: &'static State, name: Name, start: c_int, log: c_int, size: c_int) -> Arc<TeamObject> {
    races::heard(s);
    let team = found(s, name, start, log, size);
    team.calls.join(name);
    team
}

fn found(s: &'static State, name: Name, start: c_int, log: c_int, size: c_int) -> Arc<TeamObject> {
    let set = Strided::active_set(start, log, size);
    let found = set.and_then(|set| Ok((set, set.members(s.n_pes as u32)?)));
    let (set, members) = match found {
        Ok(found) => found,
        Err(why) => fail(name, &why),
    };
    if members.len() == s.n_pes {
        return s.world.clone();
    }
    let known = s.sets.lock().unwrap_or_else(PoisonError::into_inner).get(&set).cloned();
    if let Some(team) = known {
        return team;
    }
    let Some(me) = members.iter().position(|pe| *pe as usize == s.me) else {
        let Strided { start, stride, size } = set;
        let shown = format!("start {start}, stride {stride}, size {size}");
        fail(name, &format!("PE {} calls, which is not in the active set with {shown}", s.me));
    };
    let id = ends::id_of_set(set);
    let waits = s.waits.note(name, What::Set(id, members.clone()));
    let comm = communicator(s, name, &members, (start ^ log << 5 ^ size << 10) & 0x7fff);
    drop(waits);
    let (members, calls) = (members.into(), Calls::of(id));
    let made = Arc::new(TeamObject { comm, members, me, num_contexts: 0, calls });
    let mut sets = s.sets.lock().unwrap_or_else(PoisonError::into_inner);
    sets.insert(set, made.clone());
    made
}

/// A communicator of some PEs, which all call this.
fn communicator(s: &State, name: Name, members: &[u32], tag: c_int) -> MPI_Comm {
    let (mut world, mut group, mut comm) = (MPI_GROUP_NULL, MPI_GROUP_NULL, MPI_COMM_NULL);
    let ranks: Vec<c_int> = members.iter().map(|pe| *pe as c_int).collect();
    let count = ranks.len() as c_int;
    let mpi = mpi();
    // SAFETY: objects of our own, and places for others.
    unsafe {
        done(name, (mpi.MPI_Comm_group)(s.world.comm, &mut world));
        done(name, (mpi.MPI_Group_incl)(world, count, ranks.as_ptr(), &mut group));
        done(name, (mpi.MPI_Comm_create_group)(s.world.comm, group, tag, &mut comm));
        done(name, (mpi.MPI_Group_free)(&mut world));
        done(name, (mpi.MPI_Group_free)(&mut group));
    }
    quieten(name, comm);
    comm
}

/// Frees the communicators of all sets. Every member has called this once for each, in the order of the sets.
pub fn free_all(s: &State, name: Name) {
    let sets = std::mem::take(&mut *s.sets.lock().unwrap_or_else(PoisonError::into_inner));
    sets.values().for_each(|team| free(name, team));
}

pub unsafe fn barrier(name: Name, start: c_int, log: c_int, size: c_int, _: *mut c_long) {
    let s = state(name);
    s.complete(name);
    coll::barrier(name, team(s, name, start, log, size).comm);
}

pub unsafe fn sync(name: Name, start: c_int, log: c_int, size: c_int, _: *mut c_long) {
    coll::barrier(name, team(state(name), name, start, log, size).comm);
}

/// Collectives of blocks of `size` bytes.
macro_rules! of_blocks {
    ($($function:ident $call:ident),*) => {$(
        #[expect(clippy::too_many_arguments, reason = "as the standard has them")]
        pub unsafe fn $function(
            name: Name,
            size: usize,
            dest: *mut c_void,
            source: *const c_void,
            n: usize,
            start: c_int,
            log: c_int,
            pes: c_int,
            _: *mut c_long,
        ) {
            let team = team(state(name), name, start, log, pes);
            let places = (dest.cast(), source.cast());
            // SAFETY: the program's promise.
            unsafe { coll::$call(name, &team, places, n.saturating_mul(size)) }
        }
    )*};
}

of_blocks!(alltoall alltoall_bytes, collect collect_bytes, fcollect fcollect_bytes);

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn alltoalls(
    name: Name,
    size: usize,
    dest: *mut c_void,
    source: *const c_void,
    dst: isize,
    sst: isize,
    n: usize,
    start: c_int,
    log: c_int,
    pes: c_int,
    _: *mut c_long,
) {
    let team = team(state(name), name, start, log, pes);
    let places = (dest.cast(), source.cast());
    // SAFETY: the program's promise.
    unsafe { coll::alltoalls_bytes(name, &team, places, (dst, sst), (n, size)) }
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn broadcast(
    name: Name,
    size: usize,
    dest: *mut c_void,
    source: *const c_void,
    n: usize,
    root: c_int,
    start: c_int,
    log: c_int,
    pes: c_int,
    _: *mut c_long,
) {
    let team = team(state(name), name, start, log, pes);
    let (places, len) = ((dest.cast(), source.cast()), n.saturating_mul(size));
    // SAFETY: the program's promise.
    unsafe { coll::broadcast_bytes(name, &team, places, len, root, false) }
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn to_all<T>(
    name: Name,
    ty: MPI_Datatype,
    op: MPI_Op,
    dest: *mut T,
    source: *const T,
    n: c_int,
    start: c_int,
    log: c_int,
    pes: c_int,
    _: *mut T,
    _: *mut c_long,
) {
    let team = team(state(name), name, start, log, pes);
    let Ok(n) = usize::try_from(n) else {
        fail(name, &format!("nreduce is {n}; expected 0 or more"))
    };
    coll::buffers(name, (dest.cast(), bytes::<T>(n)), (source.cast(), bytes::<T>(n)));
    // SAFETY: the program's promise.
    unsafe { coll::reduce_on(name, (ty, op), &team, (dest.cast(), source.cast()), n) }
}
