//! Messages, broadcasts and barriers: MPI's, on communicators of our own.

use super::group::{Group, group};
use super::transfer::length;
use crate::races;
use crate::state::{State, held, state};
use crate::types::{Name, SCOPE_ALL, SCOPE_MASTERS, SCOPE_NODE};
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::{
    MPI_ANY_SOURCE, MPI_BYTE, MPI_COMM_NULL, MPI_COMM_TYPE_SHARED, MPI_Comm, MPI_ERRORS_RETURN,
    MPI_INFO_NULL, MPI_REQUEST_NULL, MPI_STATUS_IGNORE, MPI_Status,
};
use hpvm_armci::children;
use hpvm_model::{done, fail, mpi};
use std::sync::Arc;

pub unsafe fn me(name: Name) -> c_int {
    state(name).me as c_int
}

pub unsafe fn processes(name: Name) -> c_int {
    state(name).n as c_int
}

pub unsafe fn timer(_: Name) -> f64 {
    // SAFETY: no arguments.
    unsafe { (mpi().MPI_Wtime)() }
}

/// Calls with the communicator of a scope in a group; not where this process is not in the scope.
pub fn in_scope(s: &State, name: Name, scope: c_int, group: &Group, call: impl FnOnce(MPI_Comm)) {
    group.member_of(name);
    races::heard(s);
    let world = core::ptr::eq(group, &*s.world);
    match (scope, world) {
        (SCOPE_ALL, _) => call(group.comm),
        (SCOPE_NODE, true) => call(s.node),
        (SCOPE_MASTERS, true) if s.masters != MPI_COMM_NULL => call(s.masters),
        (SCOPE_MASTERS, true) => {}
        (SCOPE_NODE | SCOPE_MASTERS, false) => in_part(name, scope, group, call),
        _ => fail(
            name,
            &format!("scope {scope}; expected SCOPE_ALL (0), SCOPE_NODE (1) or SCOPE_MASTERS (2)"),
        ),
    }
}

/// Scopes of groups are rare: their communicators live for one call.
fn in_part(name: Name, scope: c_int, group: &Group, call: impl FnOnce(MPI_Comm)) {
    let (mut node, mut masters) = (MPI_COMM_NULL, MPI_COMM_NULL);
    let me = group.member_of(name) as c_int;
    let mut rank = 0;
    // SAFETY: communicators of our own, and places for others.
    unsafe {
        let kind = MPI_COMM_TYPE_SHARED;
        done(name, (mpi().MPI_Comm_split_type)(group.comm, kind, me, MPI_INFO_NULL, &mut node));
        done(name, (mpi().MPI_Comm_rank)(node, &mut rank));
        if scope == SCOPE_MASTERS {
            done(name, (mpi().MPI_Comm_free)(&mut node));
            let colour = c_int::from(rank != 0);
            done(name, (mpi().MPI_Comm_split)(group.comm, colour, me, &mut masters));
        }
        let mut comm = if scope == SCOPE_NODE { node } else { masters };
        done(name, (mpi().MPI_Comm_set_errhandler)(comm, MPI_ERRORS_RETURN));
        if scope == SCOPE_NODE || rank == 0 {
            call(comm);
        }
        done(name, (mpi().MPI_Comm_free)(&mut comm));
    }
}

pub unsafe fn send(name: Name, tag: c_int, buffer: *mut c_void, len: c_int, to: c_int) {
    let s = state(name);
    let to_self = s.process(name, to) == s.me;
    let bytes = length(name, len);
    if !to_self {
        // SAFETY: the program's buffer.
        return done(name, unsafe {
            (mpi().MPI_Send)(buffer, len, MPI_BYTE, to, tag, s.world.comm)
        });
    }
    // Nobody receives while this process waits, so the message waits in a copy.
    let copy: Box<[u8]> = match bytes {
        0 => Box::default(),
        // SAFETY: the program's buffer.
        bytes => unsafe { core::slice::from_raw_parts(buffer.cast::<u8>(), bytes) }.into(),
    };
    let mut request = MPI_REQUEST_NULL;
    // SAFETY: the copy lives until the request is complete.
    done(name, unsafe {
        (mpi().MPI_Isend)(copy.as_ptr().cast(), len, MPI_BYTE, to, tag, s.world.comm, &mut request)
    });
    held(&s.to_self).push((request, copy));
}

/// Forgets messages to itself that have been received.
fn reap(s: &State, name: Name) {
    held(&s.to_self).retain_mut(|(request, _)| {
        let mut complete = 0;
        // SAFETY: a request of ours, and a place for a number.
        done(name, unsafe { (mpi().MPI_Test)(request, &mut complete, MPI_STATUS_IGNORE) });
        complete == 0
    });
}

/// The rank that has sent.
fn receive(
    name: Name,
    tag: c_int,
    (buffer, len): (*mut c_void, c_int),
    got: *mut c_int,
    from: c_int,
) -> c_int {
    let s = state(name);
    length(name, len);
    // SAFETY: all its bits may be zero.
    let mut status: MPI_Status = unsafe { core::mem::zeroed() };
    let mut count = 0;
    // SAFETY: the program's buffer and place for a number; places of our own.
    unsafe {
        done(name, (mpi().MPI_Recv)(buffer, len, MPI_BYTE, from, tag, s.world.comm, &mut status));
        done(name, (mpi().MPI_Get_count)(&status, MPI_BYTE, &mut count));
        if let Some(got) = got.as_mut() {
            *got = count;
        }
    }
    reap(s, name);
    races::heard(s);
    status.MPI_SOURCE
}

pub unsafe fn recv(
    name: Name,
    tag: c_int,
    buffer: *mut c_void,
    len: c_int,
    got: *mut c_int,
    from: c_int,
) {
    state(name).process(name, from);
    receive(name, tag, (buffer, len), got, from);
}

pub unsafe fn recv_any(
    name: Name,
    tag: c_int,
    buffer: *mut c_void,
    len: c_int,
    got: *mut c_int,
) -> c_int {
    receive(name, tag, (buffer, len), got, MPI_ANY_SOURCE)
}

pub unsafe fn barrier(name: Name) {
    let s = state(name);
    let group = s.default_group(name);
    group.member_of(name);
    races::heard(s);
    // SAFETY: a communicator of our own.
    done(name, unsafe { (mpi().MPI_Barrier)(group.comm) });
}

pub unsafe fn group_barrier(name: Name, of: *mut c_void) {
    // SAFETY: the program's group; a communicator of our own.
    unsafe {
        let s = state(name);
        let group = group(s, name, of);
        group.member_of(name);
        races::heard(s);
        done(name, (mpi().MPI_Barrier)(group.comm));
    }
}

/// # Safety
/// The program's buffer.
unsafe fn broadcast_in(
    name: Name,
    scope: c_int,
    (buffer, len): (*mut c_void, c_int),
    root: c_int,
    group: &Arc<Group>,
) {
    length(name, len);
    in_scope(state(name), name, scope, group, |comm| {
        // SAFETY: the caller's promise.
        done(name, unsafe { (mpi().MPI_Bcast)(buffer, len, MPI_BYTE, root, comm) });
    });
}

pub unsafe fn broadcast(name: Name, buffer: *mut c_void, len: c_int, root: c_int) {
    // SAFETY: the program's promises.
    unsafe { broadcast_in(name, SCOPE_ALL, (buffer, len), root, &state(name).default_group(name)) }
}

pub unsafe fn broadcast_scope(
    name: Name,
    scope: c_int,
    buffer: *mut c_void,
    len: c_int,
    root: c_int,
) {
    // SAFETY: the program's promises.
    unsafe { broadcast_in(name, scope, (buffer, len), root, &state(name).default_group(name)) }
}

/// The root is a number in the world, as with other ARMCIs.
pub unsafe fn group_broadcast_scope(
    name: Name,
    scope: c_int,
    buffer: *mut c_void,
    len: c_int,
    root: c_int,
    of: *mut c_void,
) {
    let s = state(name);
    let process = s.process(name, root) as u32;
    // SAFETY: the program's group.
    let group = unsafe { group(s, name, of) };
    let Some(at) = group.members.all().iter().position(|member| *member == process) else {
        fail(name, &format!("root {root} is no member of the group"))
    };
    let root = if scope == SCOPE_NODE { on_host(s, &group, at) } else { at };
    // SAFETY: the program's promises.
    unsafe { broadcast_in(name, scope, (buffer, len), root as c_int, &group) }
}

/// The number of a member among those of its host.
fn on_host(s: &State, group: &Group, member: usize) -> usize {
    let host = |process: &u32| s.hosts.of(*process as usize);
    let all = group.members.all();
    all[..member].iter().filter(|other| host(other) == host(&all[member])).count()
}

/// Inside of the host, from its first process.
pub unsafe fn host_broadcast(name: Name, buffer: *mut c_void, len: c_int) {
    // SAFETY: the program's promises.
    unsafe { broadcast_in(name, SCOPE_NODE, (buffer, len), 0, &state(name).world) }
}

/// Inside of a host, from one of its processes in the group.
pub unsafe fn group_host_broadcast(
    name: Name,
    buffer: *mut c_void,
    len: c_int,
    master: c_int,
    _: c_int,
    of: *mut c_void,
) {
    let s = state(name);
    // SAFETY: the program's group.
    let group = unsafe { group(s, name, of) };
    let Some(member) = Some(master as u32 as usize).filter(|i| *i < group.members.len()) else {
        fail(name, &format!("member {master}; expected 0 to {}", group.members.len() as i64 - 1))
    };
    let root = on_host(s, &group, member);
    // SAFETY: the program's promises.
    unsafe { broadcast_in(name, SCOPE_NODE, (buffer, len), root as c_int, &group) }
}

/// This process's neighbours in a binary tree of the scope: numbers in the world, or -1.
pub unsafe fn binary_tree(
    name: Name,
    scope: c_int,
    root: *mut c_int,
    up: *mut c_int,
    left: *mut c_int,
    right: *mut c_int,
) {
    let s = state(name);
    let all: Vec<usize> = match scope {
        SCOPE_ALL => (0..s.n).collect(),
        SCOPE_NODE => s.hosts.processes(s.hosts.of(s.me).unwrap_or(0)).to_vec(),
        SCOPE_MASTERS => (0..s.hosts.count()).map(|host| s.hosts.processes(host)[0]).collect(),
        _ => fail(name, &format!("scope {scope}; expected 0 to 2")),
    };
    let shown =
        |i: Option<usize>| i.and_then(|i| all.get(i)).map_or(-1, |process| *process as c_int);
    let at = all.iter().position(|process| *process == s.me);
    let tree = at.map(|me| children(me, all.len()));
    // SAFETY: the program's places for numbers.
    unsafe {
        *root = shown(Some(0));
        *up = shown(tree.and_then(|tree| tree.up));
        *left = shown(tree.and_then(|tree| tree.left));
        *right = shown(tree.and_then(|tree| tree.right));
    }
}
