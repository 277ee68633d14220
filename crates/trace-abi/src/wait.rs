//! Requests: started again, waited for, asked for, given up.

use crate::mpi;
use crate::state::{State, enter, leave, leave_polling};
use core::ffi::c_int;
use hpvm_abi::constants::*;

/// Handles as they are before a call, which may take them away.
///
/// # Safety
/// The program points to so many.
unsafe fn handles(count: c_int, requests: *const MPI_Request) -> Vec<MPI_Request> {
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 || requests.is_null() {
        return Vec::new();
    }
    // SAFETY: by the caller.
    unsafe { core::slice::from_raw_parts(requests, count) }.to_vec()
}

/// Room for statuses that the program does not want.
fn room(given: *mut MPI_Status, count: c_int, own: &mut Vec<MPI_Status>) -> *mut MPI_Status {
    if given != MPI_STATUSES_IGNORE {
        return given;
    }
    own.resize(usize::try_from(count).unwrap_or(0).max(1), MPI_Status::default());
    own.as_mut_ptr()
}

/// A request has ended.
fn ended(state: &mut State, handle: MPI_Request, status: &MPI_Status) {
    state.log.ended(handle.0, status.MPI_SOURCE, status.MPI_TAG);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) -> c_int {
    enter();
    // SAFETY: the program points to one.
    let (handle, mut own) = (unsafe { handles(1, request) }, Vec::new());
    let status = room(status, 1, &mut own);
    // SAFETY: as the program calls it, but for a place of ours where it gives none.
    let code = unsafe { (mpi().MPI_Wait)(request, status) };
    leave(code, |state| {
        for handle in handle {
            // SAFETY: a call that has ended well has written there.
            ended(state, handle, unsafe { &*status });
        }
    });
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Waitall(
    count: c_int,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
) -> c_int {
    enter();
    // SAFETY: the program points to so many.
    let (before, mut own) = (unsafe { handles(count, requests) }, Vec::new());
    let statuses = room(statuses, count, &mut own);
    // SAFETY: as the program calls it, but for places of ours where it gives none.
    let code = unsafe { (mpi().MPI_Waitall)(count, requests, statuses) };
    leave(code, |state| {
        for (index, handle) in before.iter().enumerate() {
            // SAFETY: a call that has ended well has written all of them.
            ended(state, *handle, unsafe { &*statuses.add(index) });
        }
    });
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Waitany(
    count: c_int,
    requests: *mut MPI_Request,
    index: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    enter();
    // SAFETY: the program points to so many.
    let (before, mut own) = (unsafe { handles(count, requests) }, Vec::new());
    let status = room(status, 1, &mut own);
    // SAFETY: as the program calls it, but for a place of ours where it gives none.
    let code = unsafe { (mpi().MPI_Waitany)(count, requests, index, status) };
    leave(code, |state| {
        // SAFETY: a call that has ended well has written both.
        let (index, status) = unsafe { (*index, &*status) };
        let handle = usize::try_from(index).ok().and_then(|index| before.get(index));
        handle.iter().for_each(|handle| ended(state, **handle, status));
    });
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Test(
    request: *mut MPI_Request,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    enter();
    // SAFETY: the program points to one.
    let (handle, mut own) = (unsafe { handles(1, request) }, Vec::new());
    let status = room(status, 1, &mut own);
    // SAFETY: as the program calls it, but for a place of ours where it gives none.
    let code = unsafe { (mpi().MPI_Test)(request, flag, status) };
    // SAFETY: the program points to an integer.
    let is_there = unsafe { *flag } != 0;
    leave_polling(code, !is_there, |state| {
        for handle in handle.iter().filter(|_| is_there) {
            // SAFETY: a call that has ended well has written there.
            ended(state, *handle, unsafe { &*status });
        }
    });
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Testall(
    count: c_int,
    requests: *mut MPI_Request,
    flag: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    enter();
    // SAFETY: the program points to so many.
    let (before, mut own) = (unsafe { handles(count, requests) }, Vec::new());
    let statuses = room(statuses, count, &mut own);
    // SAFETY: as the program calls it, but for places of ours where it gives none.
    let code = unsafe { (mpi().MPI_Testall)(count, requests, flag, statuses) };
    // SAFETY: the program points to an integer.
    let is_there = unsafe { *flag } != 0;
    leave_polling(code, !is_there, |state| {
        for (index, handle) in before.iter().enumerate().filter(|_| is_there) {
            // SAFETY: all have ended, so all statuses are written.
            ended(state, *handle, unsafe { &*statuses.add(index) });
        }
    });
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Testany(
    count: c_int,
    requests: *mut MPI_Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    enter();
    // SAFETY: the program points to so many.
    let (before, mut own) = (unsafe { handles(count, requests) }, Vec::new());
    let status = room(status, 1, &mut own);
    // SAFETY: as the program calls it, but for a place of ours where it gives none.
    let code = unsafe { (mpi().MPI_Testany)(count, requests, index, flag, status) };
    // SAFETY: the program points to integers.
    let (is_there, index) = unsafe { (*flag != 0, *index) };
    leave_polling(code, !is_there, |state| {
        let handle = usize::try_from(index).ok().and_then(|index| before.get(index));
        for handle in handle.iter().filter(|_| is_there) {
            // SAFETY: one has ended, so the status is written.
            ended(state, **handle, unsafe { &*status });
        }
    });
    code
}

macro_rules! some {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            count: c_int, requests: *mut MPI_Request, done: *mut c_int, indices: *mut c_int,
            statuses: *mut MPI_Status,
        ) -> c_int {
            enter();
            // SAFETY: the program points to so many.
            let (before, mut own) = (unsafe { handles(count, requests) }, Vec::new());
            let statuses = room(statuses, count, &mut own);
            // SAFETY: as the program calls it, but for places of ours where it gives none.
            let code = unsafe { (mpi().$name)(count, requests, done, indices, statuses) };
            // SAFETY: the program points to an integer.
            let done = unsafe { *done };
            leave_polling(code, done == 0, |state| {
                for nth in 0..usize::try_from(done).unwrap_or(0) {
                    // SAFETY: so many indices and statuses are written.
                    let (index, status) = unsafe { (*indices.add(nth), &*statuses.add(nth)) };
                    let handle = usize::try_from(index).ok().and_then(|index| before.get(index));
                    handle.iter().for_each(|handle| ended(state, **handle, status));
                }
            });
            code
        }
    )*};
}

some! { MPI_Waitsome MPI_Testsome }

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Start(request: *mut MPI_Request) -> c_int {
    enter();
    // SAFETY: the program points to one.
    let handle = unsafe { handles(1, request) };
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Start)(request) };
    leave(code, |state| handle.iter().for_each(|handle| state.log.restarts(handle.0)));
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Startall(count: c_int, requests: *mut MPI_Request) -> c_int {
    enter();
    // SAFETY: the program points to so many.
    let before = unsafe { handles(count, requests) };
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Startall)(count, requests) };
    leave(code, |state| before.iter().for_each(|handle| state.log.restarts(handle.0)));
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Request_free(request: *mut MPI_Request) -> c_int {
    enter();
    // SAFETY: the program points to one.
    let handle = unsafe { handles(1, request) };
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Request_free)(request) };
    leave(code, |state| handle.iter().for_each(|handle| state.log.forget(handle.0)));
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Cancel(request: *mut MPI_Request) -> c_int {
    enter();
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Cancel)(request) };
    leave(code, |state| state.log.unknown("MPI_Cancel"));
    code
}
