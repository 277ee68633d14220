//! Messages.

use crate::state::{enter, leave, leave_polling};
use crate::{bytes, mpi};
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::*;

macro_rules! sends {
    ($($name:ident($count:ty);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buf: *const c_void, count: $count, ty: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        ) -> c_int {
            enter();
            // SAFETY: as the program calls it.
            let code = unsafe { (mpi().$name)(buf, count, ty, dest, tag, comm) };
            leave(code, |state| {
                let message = state.message(true, (bytes(count, ty), dest, tag), comm);
                message.iter().for_each(|message| state.log.blocking(message));
            });
            code
        }
    )*};
}

sends! {
    MPI_Send(c_int); MPI_Ssend(c_int); MPI_Rsend(c_int); MPI_Bsend(c_int);
    MPI_Send_c(MPI_Count); MPI_Ssend_c(MPI_Count); MPI_Rsend_c(MPI_Count); MPI_Bsend_c(MPI_Count);
}

/// Those that give a request: `$starts` at once, else it can be started again and again.
macro_rules! requests {
    ($($name:ident($buf:ty, $count:ty, $sends:expr, $starts:expr);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buf: $buf, count: $count, ty: MPI_Datatype, peer: c_int, tag: c_int, comm: MPI_Comm,
            request: *mut MPI_Request,
        ) -> c_int {
            enter();
            // SAFETY: as the program calls it.
            let code = unsafe { (mpi().$name)(buf, count, ty, peer, tag, comm, request) };
            leave(code, |state| {
                // SAFETY: a call that has ended well has written there.
                let handle = unsafe { (*request).0 };
                state.log.forget(handle);
                let message = state.message($sends, (bytes(count, ty), peer, tag), comm);
                match message {
                    Some(message) if $starts => state.log.starts(&message, handle),
                    Some(message) => state.log.persistent(message, handle),
                    None => {}
                }
            });
            code
        }
    )*};
}

requests! {
    MPI_Isend(*const c_void, c_int, true, true);
    MPI_Issend(*const c_void, c_int, true, true);
    MPI_Irsend(*const c_void, c_int, true, true);
    MPI_Ibsend(*const c_void, c_int, true, true);
    MPI_Irecv(*mut c_void, c_int, false, true);
    MPI_Isend_c(*const c_void, MPI_Count, true, true);
    MPI_Issend_c(*const c_void, MPI_Count, true, true);
    MPI_Irsend_c(*const c_void, MPI_Count, true, true);
    MPI_Ibsend_c(*const c_void, MPI_Count, true, true);
    MPI_Irecv_c(*mut c_void, MPI_Count, false, true);
    MPI_Send_init(*const c_void, c_int, true, false);
    MPI_Ssend_init(*const c_void, c_int, true, false);
    MPI_Rsend_init(*const c_void, c_int, true, false);
    MPI_Bsend_init(*const c_void, c_int, true, false);
    MPI_Recv_init(*mut c_void, c_int, false, false);
    MPI_Send_init_c(*const c_void, MPI_Count, true, false);
    MPI_Ssend_init_c(*const c_void, MPI_Count, true, false);
    MPI_Rsend_init_c(*const c_void, MPI_Count, true, false);
    MPI_Bsend_init_c(*const c_void, MPI_Count, true, false);
    MPI_Recv_init_c(*mut c_void, MPI_Count, false, false);
}

/// The program's place for a status, or ours where it wants none.
fn place(given: *mut MPI_Status, own: &mut MPI_Status) -> *mut MPI_Status {
    if given == MPI_STATUS_IGNORE { own } else { given }
}

macro_rules! receives {
    ($($name:ident($count:ty);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buf: *mut c_void, count: $count, ty: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
            status: *mut MPI_Status,
        ) -> c_int {
            enter();
            let mut own = MPI_Status::default();
            let status = place(status, &mut own);
            // SAFETY: as the program calls it, but for a place of ours where it gives none.
            let code = unsafe { (mpi().$name)(buf, count, ty, source, tag, comm, status) };
            leave(code, |state| {
                // SAFETY: a call that has ended well has written there.
                let came = unsafe { &*status };
                let what = (came.bytes(), came.MPI_SOURCE, came.MPI_TAG);
                let message = state.message(false, what, comm);
                message.iter().for_each(|message| state.log.blocking(message));
            });
            code
        }
    )*};
}

receives! { MPI_Recv(c_int); MPI_Recv_c(MPI_Count); }

macro_rules! found {
    ($($name:ident($count:ty);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buf: *mut c_void, count: $count, ty: MPI_Datatype, message: *mut MPI_Message, status: *mut MPI_Status,
        ) -> c_int {
            enter();
            let mut own = MPI_Status::default();
            let status = place(status, &mut own);
            // SAFETY: the program points to a handle.
            let handle = unsafe { (*message).0 };
            // SAFETY: as the program calls it, but for a place of ours where it gives none.
            let code = unsafe { (mpi().$name)(buf, count, ty, message, status) };
            leave(code, |state| {
                // SAFETY: a call that has ended well has written there.
                let came = unsafe { &*status };
                let Some(part) = state.found.remove(&handle) else { return };
                let (sends, bytes, peer, tag) = (false, came.bytes(), came.MPI_SOURCE, came.MPI_TAG);
                state.log.blocking(&crate::log::Message { sends, peer, bytes, tag, part });
            });
            code
        }
    )*};
}

found! { MPI_Mrecv(c_int); MPI_Mrecv_c(MPI_Count); }

/// A message that is received apart: of which communicator it is.
fn find(state: &mut crate::state::State, message: MPI_Message, comm: MPI_Comm) {
    if message != MPI_MESSAGE_NO_PROC
        && let Some(part) = state.part(comm, "messages-between-groups")
    {
        state.found.insert(message.0, part);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Mprobe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    enter();
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Mprobe)(source, tag, comm, message, status) };
    // SAFETY: a call that has ended well has written there.
    leave(code, |state| find(state, unsafe { *message }, comm));
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Improbe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    flag: *mut c_int,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    enter();
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Improbe)(source, tag, comm, flag, message, status) };
    // SAFETY: the program points to an integer.
    let is_there = unsafe { *flag } != 0;
    leave_polling(code, !is_there, |state| {
        if is_there {
            // SAFETY: a call that has found something has written there.
            find(state, unsafe { *message }, comm);
        }
    });
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Probe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> c_int {
    enter();
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Probe)(source, tag, comm, status) };
    leave(code, |_| ());
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Iprobe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    enter();
    // SAFETY: as the program calls it.
    let code = unsafe { (mpi().MPI_Iprobe)(source, tag, comm, flag, status) };
    // SAFETY: the program points to an integer.
    leave_polling(code, unsafe { *flag } == 0, |_| ());
    code
}

/// What a call that sends and receives has done.
fn both(code: c_int, out: (u64, c_int, c_int), source: c_int, status: &MPI_Status, comm: MPI_Comm) {
    leave(code, |state| {
        let came = (status.bytes(), status.MPI_SOURCE, status.MPI_TAG);
        let came = if source == MPI_PROC_NULL { (0, MPI_PROC_NULL, 0) } else { came };
        let messages = [state.message(false, came, comm), state.message(true, out, comm)];
        state.log.both(messages);
    });
}

macro_rules! exchanges {
    ($($name:ident, $replace:ident($count:ty);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            send: *const c_void, send_count: $count, send_ty: MPI_Datatype, dest: c_int, send_tag: c_int,
            recv: *mut c_void, recv_count: $count, recv_ty: MPI_Datatype, source: c_int, recv_tag: c_int,
            comm: MPI_Comm, status: *mut MPI_Status,
        ) -> c_int {
            enter();
            let mut own = MPI_Status::default();
            let status = place(status, &mut own);
            // SAFETY: as the program calls it, but for a place of ours where it gives none.
            let code = unsafe {
                (mpi().$name)(
                    send, send_count, send_ty, dest, send_tag, recv, recv_count, recv_ty, source, recv_tag, comm, status,
                )
            };
            let out = (bytes(send_count, send_ty), dest, send_tag);
            // SAFETY: a call that has ended well has written there; else it is not looked at.
            both(code, out, source, unsafe { &*status }, comm);
            code
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $replace(
            buf: *mut c_void, count: $count, ty: MPI_Datatype, dest: c_int, send_tag: c_int, source: c_int,
            recv_tag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
        ) -> c_int {
            enter();
            let mut own = MPI_Status::default();
            let status = place(status, &mut own);
            // SAFETY: as the program calls it, but for a place of ours where it gives none.
            let code = unsafe {
                (mpi().$replace)(buf, count, ty, dest, send_tag, source, recv_tag, comm, status)
            };
            let out = (bytes(count, ty), dest, send_tag);
            // SAFETY: as above.
            both(code, out, source, unsafe { &*status }, comm);
            code
        }
    )*};
}

exchanges! {
    MPI_Sendrecv, MPI_Sendrecv_replace(c_int);
    MPI_Sendrecv_c, MPI_Sendrecv_replace_c(MPI_Count);
}
