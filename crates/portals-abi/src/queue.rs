//! Event queues (section 3.13).

use crate::interface::{of_interface, run};
use crate::process::{Process, lock_to_wait};
use crate::progress::wait;
use crate::types::{Event, ProcessId, TIME_FOREVER, code, give};
use core::ffi::{c_int, c_uint};
use core::ptr::with_exposed_provenance_mut;
use hpvm_portals::{Fault, FullEvent};
use std::time::{Duration, Instant};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlEQAlloc(ni_handle: u32, count: u64, eq_handle: *mut u32) -> c_int {
    code(run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        if eq_handle.is_null() {
            return Err(Fault::ArgInvalid);
        }
        let queue = interface.queue_alloc(count)?;
        // SAFETY: the program's place.
        unsafe { give(eq_handle, queue) }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlEQFree(eq_handle: u32) -> c_int {
    code(run(|p| p.interface(eq_handle)?.0.queue_free(eq_handle)))
}

/// An event in C's form.
#[inline(always)]
fn shown(event: &FullEvent, logical: bool) -> Event {
    let initiator = match logical {
        true => ProcessId::of_rank(event.initiator.rank),
        false => ProcessId { first: event.initiator.nid, second: event.initiator.pid },
    };
    Event {
        start: with_exposed_provenance_mut(event.start as usize),
        user_ptr: with_exposed_provenance_mut(event.user_ptr as usize),
        hdr_data: event.hdr_data,
        match_bits: event.match_bits,
        rlength: event.rlength,
        mlength: event.mlength,
        remote_offset: event.remote_offset,
        initiator,
        uid: event.uid,
        pt_index: event.pt_index,
        kind: event.kind,
        list: event.list,
        ni_fail_type: event.fail,
        atomic_operation: event.operation,
        atomic_type: event.datatype,
    }
}

/// Takes an event. The outcome is `Ok` also if others before it are lost.
///
/// # Safety
/// `place` is writable.
#[inline(always)]
unsafe fn take(p: &mut Process, queue: u32, place: *mut Event) -> Result<(), Fault> {
    let (interface, _) = p.interface(queue)?;
    let logical = interface.nature().logical;
    // SAFETY: the caller's promise.
    let write = |event: &FullEvent| unsafe { place.write(shown(event, logical)) };
    let ((), dropped) = interface.queue_take(queue, write)?;
    if dropped { Err(Fault::EqDropped) } else { Ok(()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlEQGet(eq_handle: u32, event: *mut Event) -> c_int {
    code(run(|p| {
        if event.is_null() {
            return Err(Fault::ArgInvalid);
        }
        // SAFETY: the program's place.
        match unsafe { take(p, eq_handle, event) } {
            Err(Fault::EqEmpty) => {
                p.glance();
                // SAFETY: as above.
                unsafe { take(p, eq_handle, event) }
            }
            result => result,
        }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlEQWait(eq_handle: u32, event: *mut Event) -> c_int {
    let guard = match lock_to_wait(!event.is_null()) {
        Ok(guard) => guard,
        Err(fault) => return fault as c_int,
    };
    let mut first = true;
    let found = wait(guard, None, |p| {
        // SAFETY: the program's place.
        let outcome = gone(unsafe { take(p, eq_handle, event) }, first);
        first = false;
        (outcome != Err(Fault::EqEmpty)).then_some(outcome)
    });
    ended(found)
}

/// What a call tells whose wait for an event has ended.
fn ended(found: Result<Option<Result<(), Fault>>, Fault>) -> c_int {
    code(found.and_then(|found| found.unwrap_or(Err(Fault::EqEmpty))))
}

/// The outcome of a look that is not the `first`: a queue that was there, and is no more.
#[inline(always)]
fn gone(outcome: Result<(), Fault>, first: bool) -> Result<(), Fault> {
    match outcome {
        Err(Fault::ArgInvalid) if !first => Err(Fault::Interrupted),
        outcome => outcome,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlEQPoll(
    eq_handles: *const u32,
    size: c_uint,
    timeout: c_uint,
    event: *mut Event,
    which: *mut c_uint,
) -> c_int {
    let nothing = eq_handles.is_null() || size == 0;
    let guard = match lock_to_wait(!nothing && !event.is_null() && !which.is_null()) {
        Ok(guard) => guard,
        Err(fault) => return fault as c_int,
    };
    // SAFETY: as many of the program's.
    let queues = unsafe { core::slice::from_raw_parts(eq_handles, size as usize) };
    let mut first = true;
    let found = wait(guard, deadline(timeout), |p| {
        let mut outcome = Err(Fault::EqEmpty);
        for (at, queue) in queues.iter().enumerate() {
            // SAFETY: as above.
            outcome = unsafe { take(p, *queue, event) };
            if outcome != Err(Fault::EqEmpty) {
                // SAFETY: as above.
                unsafe { which.write(at as c_uint) };
                break;
            }
        }
        outcome = gone(outcome, first);
        first = false;
        (outcome != Err(Fault::EqEmpty)).then_some(outcome)
    });
    ended(found)
}

/// When a call with this timeout, in milliseconds, gives up. `None`: never.
pub fn deadline(timeout: c_uint) -> Option<Instant> {
    let limit = Duration::from_millis(timeout.into());
    (timeout != TIME_FOREVER).then(|| Instant::now() + limit)
}
