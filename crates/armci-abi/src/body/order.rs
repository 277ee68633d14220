//! Ordering and completion. Where memory is mapped, a fence is the processor's.

use super::group::group;
use crate::races;
use crate::state::state;
use crate::types::Name;
use core::ffi::{c_int, c_void};
use hpvm_model::{done, mpi};

pub unsafe fn fence(name: Name, process: c_int) {
    let s = state(name);
    let process = s.process(name, process);
    s.flush(name, process);
    races::completed(s, process);
}

pub unsafe fn all_fence(name: Name) {
    let s = state(name);
    s.flush_all(name);
    (0..s.n).for_each(|process| races::completed(s, process));
}

pub unsafe fn group_fence(name: Name, of: *mut c_void) {
    let s = state(name);
    // SAFETY: the program's group.
    let group = unsafe { group(s, name, of) };
    for process in group.members.all() {
        s.flush(name, *process as usize);
        races::completed(s, *process as usize);
    }
}

/// Completes what all processes have begun.
pub unsafe fn barrier(name: Name) {
    let s = state(name);
    s.flush_all(name);
    races::all_meet(s, name);
    // SAFETY: a communicator of our own.
    done(name, unsafe { (mpi().MPI_Barrier)(s.world.comm) });
}

/// Says that loads and stores of the program to its own part follow.
pub unsafe fn access_begin(name: Name, _: *mut c_void) {
    state(name);
    // SeqCst: with the flushes of the others.
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

pub unsafe fn access_end(name: Name, memory: *mut c_void) {
    // SAFETY: nothing is asked.
    unsafe { access_begin(name, memory) }
}

pub unsafe fn progress(name: Name) {
    state(name);
    // SAFETY: no arguments.
    done(name, unsafe { (hpvm_model::onesided().progress)() });
}
