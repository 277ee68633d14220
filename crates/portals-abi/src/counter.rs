//! Counting events (section 3.14).

use crate::interface::{of_interface, run};
use crate::process::{Process, lock_to_wait};
use crate::progress::wait;
use crate::queue::deadline;
use crate::types::{CtEvent, code, give};
use core::ffi::{c_int, c_uint};
use hpvm_portals::{Count, Fault};

impl CtEvent {
    pub fn count(self) -> Count {
        Count { success: self.success, failure: self.failure }
    }

    /// An increment is of successes or of failures.
    pub fn increment(self) -> Result<Count, Fault> {
        if self.success != 0 && self.failure != 0 {
            return Err(Fault::ArgInvalid);
        }
        Ok(self.count())
    }
}

fn shown(count: Count) -> CtEvent {
    CtEvent { success: count.success, failure: count.failure }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlCTAlloc(ni_handle: u32, ct_handle: *mut u32) -> c_int {
    code(run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        if ct_handle.is_null() {
            return Err(Fault::ArgInvalid);
        }
        let counter = interface.counter_alloc()?;
        // SAFETY: the program's place.
        unsafe { give(ct_handle, counter) }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlCTFree(ct_handle: u32) -> c_int {
    code(run(|p| p.interface(ct_handle)?.0.counter_free(ct_handle)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlCTCancelTriggered(ct_handle: u32) -> c_int {
    code(run(|p| p.interface(ct_handle)?.0.counter_cancel(ct_handle)))
}

#[inline(always)]
fn get(p: &mut Process, counter: u32) -> Result<Count, Fault> {
    p.interface(counter)?.0.counter_get(counter)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlCTGet(ct_handle: u32, event: *mut CtEvent) -> c_int {
    code(run(|p| {
        get(p, ct_handle)?;
        p.glance();
        let count = get(p, ct_handle)?;
        // SAFETY: the program's place.
        unsafe { give(event, shown(count)) }
    }))
}

/// Whether a wait for `test` is over, and how. `first`: this is its first look.
#[inline(always)]
fn outcome(p: &mut Process, counter: u32, test: u64, first: bool) -> Option<Result<Count, Fault>> {
    match get(p, counter) {
        Ok(count) if count.ends_wait(test) => Some(Ok(count)),
        Ok(_) => None,
        // It was there, and is no more.
        Err(_) if !first => Some(Err(Fault::Interrupted)),
        Err(fault) => Some(Err(fault)),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlCTWait(ct_handle: u32, test: u64, event: *mut CtEvent) -> c_int {
    let guard = match lock_to_wait(!event.is_null()) {
        Ok(guard) => guard,
        Err(fault) => return fault as c_int,
    };
    let mut first = true;
    let found = wait(guard, None, |p| {
        let outcome = outcome(p, ct_handle, test, first);
        first = false;
        outcome
    });
    match found {
        Ok(Some(Ok(count))) => {
            // SAFETY: the program's place.
            unsafe { event.write(shown(count)) };
            0
        }
        Ok(None) => Fault::CtNoneReached as c_int,
        Ok(Some(Err(fault))) | Err(fault) => fault as c_int,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlCTPoll(
    ct_handles: *const u32,
    tests: *const u64,
    size: c_uint,
    timeout: c_uint,
    event: *mut CtEvent,
    which: *mut c_uint,
) -> c_int {
    let nothing = ct_handles.is_null() || tests.is_null() || size == 0;
    let guard = match lock_to_wait(!nothing && !event.is_null() && !which.is_null()) {
        Ok(guard) => guard,
        Err(fault) => return fault as c_int,
    };
    // SAFETY: as many of the program's.
    let (counters, tests) = unsafe {
        let size = size as usize;
        (core::slice::from_raw_parts(ct_handles, size), core::slice::from_raw_parts(tests, size))
    };
    let mut first = true;
    let found = wait(guard, deadline(timeout), |p| {
        let mut all = counters.iter().zip(tests).enumerate();
        let found = all.find_map(|(at, (counter, test))| {
            let outcome = outcome(p, *counter, *test, first)?;
            Some(outcome.map(|count| (at, count)))
        });
        first = false;
        found
    });
    match found {
        Ok(Some(Ok((at, count)))) => {
            // SAFETY: the program's places.
            unsafe {
                event.write(shown(count));
                which.write(at as c_uint);
            }
            0
        }
        Ok(None) => Fault::CtNoneReached as c_int,
        Ok(Some(Err(fault))) | Err(fault) => fault as c_int,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlCTSet(ct_handle: u32, new_ct: CtEvent) -> c_int {
    code(run(|p| {
        let (interface, carrier) = p.interface(ct_handle)?;
        interface.counter_set(ct_handle, new_ct.count(), carrier)
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlCTInc(ct_handle: u32, increment: CtEvent) -> c_int {
    code(run(|p| {
        let (interface, carrier) = p.interface(ct_handle)?;
        interface.counter_inc(ct_handle, increment.increment()?, carrier)
    }))
}
