//! Groups: each is a communicator, of which the program gets a second one.

use crate::exposed::Exposed;
use crate::program::{self, Shown};
use crate::state::{State, held, state};
use crate::types::Name;
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::{MPI_COMM_NULL, MPI_Comm, MPI_ERRORS_ARE_FATAL, MPI_GROUP_NULL};
use hpvm_armci::Members;
use hpvm_model::{done, fail, mpi};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// A group, as a process knows it.
pub struct Group {
    /// `MPI_COMM_NULL` where this process is no member, as is the next.
    pub comm: MPI_Comm,
    /// For the program: it may do as it likes there.
    lent: MPI_Comm,
    pub members: Members,
    absolute: Box<[c_int]>,
    relative: Box<[c_int]>,
    /// Memory that the members have allocated together, by the number of the call, the same on all of them.
    pub memory: Mutex<Allocations>,
}

/// See [`Group::memory`].
#[derive(Default)]
pub struct Allocations {
    pub made: u64,
    pub live: Vec<(u64, Exposed)>,
}

impl Group {
    /// All members of the communicator call this; others pass `MPI_COMM_NULL`.
    pub fn new(name: Name, comm: MPI_Comm, members: Members, n: usize) -> Group {
        let mut lent = MPI_COMM_NULL;
        if comm != MPI_COMM_NULL {
            // SAFETY: a communicator of our own, and a place for another.
            unsafe {
                done(name, (mpi().MPI_Comm_dup)(comm, &mut lent));
                done(name, (mpi().MPI_Comm_set_errhandler)(lent, MPI_ERRORS_ARE_FATAL));
            }
        }
        let absolute: Box<[c_int]> = members.all().iter().map(|member| *member as c_int).collect();
        let mut relative: Box<[c_int]> = vec![-1; n].into();
        for (number, member) in absolute.iter().enumerate() {
            relative[*member as usize] = number as c_int;
        }
        Group { comm, lent, members, absolute, relative, memory: Mutex::default() }
    }

    /// Gives back what belongs to it. All members call this.
    pub fn release(&self, name: Name) {
        for (_, memory) in held(&self.memory).live.drain(..) {
            memory.release(name);
        }
        for mut comm in [self.lent, self.comm] {
            if comm != MPI_COMM_NULL {
                // SAFETY: our own.
                done(name, unsafe { (mpi().MPI_Comm_free)(&mut comm) });
            }
        }
    }

    /// For a collective call.
    pub fn member_of(&self, name: Name) -> usize {
        match self.members.me() {
            Some(me) => me,
            None => fail(name, "this process is no member of the group"),
        }
    }
}

impl State {
    fn show(&self, name: Name, out: program::Group, handle: usize, group: &Group) {
        let shown = Shown {
            comm: group.lent,
            handle,
            absolute: group.absolute.as_ptr(),
            relative: group.relative.as_ptr(),
            rank: group.members.me().map_or(-1, |me| me as c_int),
            size: group.members.len() as c_int,
        };
        // SAFETY: the program's place for a group.
        if out.is_null() || !unsafe { program::show(out, shown) } {
            fail(
                name,
                "the place for the group is null, or there have been more groups than it can number",
            );
        }
    }

    pub fn default_group(&self, name: Name) -> Arc<Group> {
        // Relaxed: threads that set it tell others.
        self.by_handle(name, self.default_handle.load(Ordering::Relaxed))
    }

    fn by_handle(&self, name: Name, handle: usize) -> Arc<Group> {
        match self.groups.get(handle) {
            Some(group) => group.clone(),
            None => fail(name, "the group is none, or one that has been freed"),
        }
    }
}

/// The group of the program.
///
/// # Safety
/// `group` is null or an `ARMCI_Group`.
pub unsafe fn group(s: &State, name: Name, group: program::Group) -> Arc<Group> {
    if group.is_null() {
        fail(name, "the group is null");
    }
    // SAFETY: the caller's promise.
    s.by_handle(name, unsafe { program::handle(group) })
}

/// # Safety
/// The program's array and places.
unsafe fn make(
    s: &State,
    name: Name,
    size: c_int,
    list: *const c_int,
    out: program::Group,
    parent: &Group,
) {
    let Ok(len) = usize::try_from(size) else {
        fail(name, &format!("{size} processes; expected 0 or more"))
    };
    if len != 0 && list.is_null() {
        fail(name, "pid_list is null");
    }
    // SAFETY: the caller's promise.
    let list = if len == 0 { &[] } else { unsafe { core::slice::from_raw_parts(list, len) } };
    let members = match parent.members.child(list, s.me as u32) {
        Ok(members) => members,
        Err(why) => fail(name, &why),
    };
    crate::races::heard(s);
    let mut comm = MPI_COMM_NULL;
    if members.me().is_some() && parent.comm != MPI_COMM_NULL {
        let (mut all, mut some) = (MPI_GROUP_NULL, MPI_GROUP_NULL);
        // SAFETY: objects of our own and places for others; the members' numbers in the parent.
        unsafe {
            done(name, (mpi().MPI_Comm_group)(parent.comm, &mut all));
            done(name, (mpi().MPI_Group_incl)(all, size, list.as_ptr(), &mut some));
            // Only members take part: whether others call this, too, makes no difference.
            done(name, (mpi().MPI_Comm_create_group)(parent.comm, some, 0, &mut comm));
            done(name, (mpi().MPI_Group_free)(&mut some));
            done(name, (mpi().MPI_Group_free)(&mut all));
        }
    }
    let made = Arc::new(Group::new(name, comm, members, s.n));
    let Some(handle) = s.groups.insert(made.clone()) else {
        fail(name, &format!("there are {} groups; free some", hpvm_model::MAX))
    };
    s.show(name, out, handle, &made);
}

pub unsafe fn create(name: Name, size: c_int, list: *const c_int, out: *mut c_void) {
    let s = state(name);
    // SAFETY: the program's promise.
    unsafe { make(s, name, size, list, out, &s.default_group(name)) }
}

pub unsafe fn create_child(
    name: Name,
    size: c_int,
    list: *const c_int,
    out: *mut c_void,
    parent: *mut c_void,
) {
    let s = state(name);
    // SAFETY: the program's promise.
    unsafe {
        let parent = group(s, name, parent);
        make(s, name, size, list, out, &parent)
    }
}

pub unsafe fn free(name: Name, out: *mut c_void) {
    let s = state(name);
    // SAFETY: the program's promise.
    let handle = unsafe {
        group(s, name, out);
        program::handle(out)
    };
    if handle == s.world_handle {
        fail(name, "the group of all processes is not to be freed");
    }
    // Relaxed: as in `default_group`.
    if s.default_handle.load(Ordering::Relaxed) == handle {
        fail(name, "the group is the default group; set another one first");
    }
    let Some(group) = s.groups.remove(handle) else { return };
    if !held(&group.memory).live.is_empty() {
        fail(name, "memory of the group has not been freed: call ARMCI_Free_group first");
    }
    s.flush_all(name);
    group.release(name);
}

pub unsafe fn rank(name: Name, out: *mut c_void, rank: *mut c_int) -> c_int {
    // SAFETY: the program's promise.
    unsafe {
        let me = group(state(name), name, out).members.me();
        *rank = me.map_or(-1, |me| me as c_int);
    }
    0
}

pub unsafe fn size(name: Name, out: *mut c_void, size: *mut c_int) {
    // SAFETY: the program's promise.
    unsafe { *size = group(state(name), name, out).members.len() as c_int }
}

pub unsafe fn set_default(name: Name, out: *mut c_void) {
    let s = state(name);
    // SAFETY: the program's promise.
    unsafe {
        group(s, name, out);
        // Relaxed: as in `default_group`.
        s.default_handle.store(program::handle(out), Ordering::Relaxed);
    }
}

pub unsafe fn get_default(name: Name, out: *mut c_void) {
    let s = state(name);
    // Relaxed: as in `default_group`.
    let handle = s.default_handle.load(Ordering::Relaxed);
    s.show(name, out, handle, &s.by_handle(name, handle));
}

pub unsafe fn get_world(name: Name, out: *mut c_void) {
    let s = state(name);
    s.show(name, out, s.world_handle, &s.world);
}

pub unsafe fn absolute_id(name: Name, out: *mut c_void, number: c_int) -> c_int {
    // SAFETY: the program's promise.
    let group = unsafe { group(state(name), name, out) };
    match group.members.world(number as u32 as usize) {
        Some(process) => process as c_int,
        None => fail(
            name,
            &format!("member {number}; expected 0 to {}", group.members.len() as i64 - 1),
        ),
    }
}

pub unsafe fn comm(name: Name, out: *mut c_void) -> usize {
    // SAFETY: the program's promise.
    unsafe {
        group(state(name), name, out);
        program::comm(out)
    }
}
