//! Begin and end. The engine is MPI's; this library is one of its uses, a session, so programs may use MPI as well,
//! before and after.

use super::group::Group;
use crate::exposed::Exposed;
use crate::program;
use crate::races;
use crate::state::{Parts, State, current, held, install, remove, state};
use crate::types::Name;
use core::convert::Infallible;
use core::ffi::{CStr, c_char, c_int, c_void};
use hpvm_abi::constants::{
    MPI_BYTE, MPI_COMM_NULL, MPI_COMM_TYPE_SHARED, MPI_Comm, MPI_ERRORS_RETURN, MPI_INFO_NULL,
    MPI_INT, MPI_MIN, MPI_SESSION_NULL, MPI_Session, MPI_UNDEFINED,
};
use hpvm_armci::{Hosts, Members};
use hpvm_model::{done, fail, fits, mpi, onesided, say, session};
use std::sync::{Arc, Mutex};

/// Calls of `ARMCI_Init` without their `ARMCI_Finalize`.
static USES: Mutex<u32> = Mutex::new(0);

pub unsafe fn init(name: Name) -> c_int {
    begin(name, 0, None)
}

pub unsafe fn init_args(name: Name, _: *mut c_int, _: *mut *mut *mut c_char) -> c_int {
    begin(name, 0, None)
}

pub unsafe fn init_thread(name: Name, level: c_int) -> c_int {
    begin(name, level, None)
}

pub unsafe fn init_thread_comm(name: Name, level: c_int, comm: usize) -> c_int {
    begin(name, level, Some(comm))
}

pub unsafe fn init_mpi_comm(name: Name, comm: usize) -> c_int {
    begin(name, 0, Some(comm))
}

pub unsafe fn initialized(_: Name) -> c_int {
    current().is_some().into()
}

fn begin(name: Name, level: c_int, comm: Option<usize>) -> c_int {
    let mut uses = held(&USES);
    *uses += 1;
    if current().is_some() {
        return 0;
    }
    if !fits() {
        fail(name, "libarmci.so.1 and libmpi_abi.so.1 are of different versions of hpvm");
    }
    install(join(name, level, comm));
    0
}

/// A communicator of all processes: of a session, or a copy of the program's.
fn all(name: Name, level: c_int, comm: Option<usize>) -> (MPI_Session, MPI_Comm) {
    let Some(comm) = comm else { return session(name, level.clamp(0, 3), c"hpvm-armci") };
    let mut copy = MPI_COMM_NULL;
    // SAFETY: a communicator of the program, and a place for another.
    unsafe {
        done(name, (mpi().MPI_Comm_dup)(program::taken(comm), &mut copy));
        done(name, (mpi().MPI_Comm_set_errhandler)(copy, MPI_ERRORS_RETURN));
    }
    (MPI_SESSION_NULL, copy)
}

/// The processes of this host, and the first ones of all hosts.
fn near(name: Name, world: MPI_Comm, me: c_int, n: usize) -> (Hosts, MPI_Comm, MPI_Comm) {
    let (mut node, mut masters, mut first) = (MPI_COMM_NULL, MPI_COMM_NULL, 0_u32);
    let mut all = vec![0_u32; n];
    // SAFETY: communicators of our own, places for others, and for the numbers that are said.
    unsafe {
        let kind = MPI_COMM_TYPE_SHARED;
        done(name, (mpi().MPI_Comm_split_type)(world, kind, me, MPI_INFO_NULL, &mut node));
        done(name, (mpi().MPI_Comm_set_errhandler)(node, MPI_ERRORS_RETURN));
        let (from, to) = ((&raw const me).cast(), (&raw mut first).cast());
        done(name, (mpi().MPI_Allreduce)(from, to, 1, MPI_INT, MPI_MIN, node));
        let (from, to) = ((&raw const first).cast(), all.as_mut_ptr().cast());
        done(name, (mpi().MPI_Allgather)(from, 4, MPI_BYTE, to, 4, MPI_BYTE, world));
        let colour = if first == me as u32 { 0 } else { MPI_UNDEFINED };
        done(name, (mpi().MPI_Comm_split)(world, colour, me, &mut masters));
        if masters != MPI_COMM_NULL {
            done(name, (mpi().MPI_Comm_set_errhandler)(masters, MPI_ERRORS_RETURN));
        }
    }
    (Hosts::new(&all), node, masters)
}

/// The part of `ARMCI_Init` that happens once: all processes meet.
fn join(name: Name, level: c_int, comm: Option<usize>) -> State {
    let (session, comm) = all(name, level, comm);
    let (mut me, mut size) = (0, 0);
    // SAFETY: places for numbers.
    unsafe {
        done(name, (mpi().MPI_Comm_rank)(comm, &mut me));
        done(name, (mpi().MPI_Comm_size)(comm, &mut size));
    }
    let n = size as usize;
    let (hosts, node, masters) = near(name, comm, me, n);
    let members = Members::new((0..size as u32).collect(), me as u32);
    let world = Arc::new(Group::new(name, comm, members, n));
    let Some(flags) = Exposed::new(name, comm, n, n * size_of::<u32>()) else {
        fail(name, "no memory for notifications is to be had")
    };
    State::new(name, Parts { session, world, hosts, node, masters, flags })
}

pub unsafe fn finalize(name: Name) -> c_int {
    let s = state(name);
    s.flush_all(name);
    races::all_meet(s, name);
    // SAFETY: a communicator of our own.
    done(name, unsafe { (mpi().MPI_Barrier)(s.world.comm) });
    let mut uses = held(&USES);
    *uses = uses.saturating_sub(1);
    if *uses == 0 {
        end(name);
    }
    0
}

/// Gives everything back. All processes call this, and none uses memory of another any more.
fn end(name: Name) {
    let Some(s) = remove() else { return };
    if let Some(mutexes) =
        s.mutexes.write().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    {
        mutexes.release(name);
    }
    // In the order in which they were made, which all members of a group share.
    let mut handles = s.groups.handles();
    handles.sort_unstable();
    for handle in handles {
        if let Some(group) = s.groups.remove(handle).filter(|_| handle != s.world_handle) {
            group.release(name);
        }
    }
    s.flags.release(name);
    for mut comm in [s.node, s.masters] {
        if comm != MPI_COMM_NULL {
            // SAFETY: our own.
            done(name, unsafe { (mpi().MPI_Comm_free)(&mut comm) });
        }
    }
    s.world.release(name);
    let mut session = s.session;
    if session != MPI_SESSION_NULL {
        // SAFETY: our own.
        done(name, unsafe { (mpi().MPI_Session_finalize)(&mut session) });
    }
}

/// Says the program's reason and ends the job.
pub unsafe fn error(_: Name, message: *const c_char, code: c_int) -> Infallible {
    let me = current().map_or(String::new(), |s| format!(" on process {}", s.me));
    let text = match message.is_null() {
        true => "no text".into(),
        // SAFETY: the program's text.
        false => unsafe { CStr::from_ptr(message) }.to_string_lossy(),
    };
    say(&format!("ARMCI_Error{me}: {}: {code}", text.trim_end()));
    stop(code)
}

pub unsafe fn abort(_: Name, code: c_int) -> Infallible {
    let me = current().map_or(String::new(), |s| format!(" on process {}", s.me));
    say(&format!("armci_msg_abort{me}: {code}"));
    stop(code)
}

/// A code of 0 would look like success.
fn stop(code: c_int) -> ! {
    // SAFETY: what the C library has buffered is written; then the job ends.
    unsafe {
        libc::fflush(core::ptr::null_mut());
        (onesided().end_job)(if code & 0xff == 0 { 1 } else { code })
    }
}

/// Nothing outlives the job.
pub unsafe fn cleanup(_: Name) {}

/// Memory comes into being when it is allocated: no limit is asked for.
pub unsafe fn set_shm_limit(_: Name, _: core::ffi::c_ulong) {}

/// Pointers to other processes' memory are not for loads and stores of the program.
pub unsafe fn uses_shm(_: Name) -> c_int {
    0
}

pub unsafe fn uses_shm_group(_: Name, _: *mut c_void) -> c_int {
    0
}
