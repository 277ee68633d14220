//! Types of portals4.h.

use core::ffi::{c_int, c_uint, c_void};
use hpvm_portals::{Fault, Peer};

pub const EQ_NONE: u32 = 0x3fff_ffff;
pub const CT_NONE: u32 = 0x5fff_ffff;
pub const TIME_FOREVER: u32 = u32::MAX;
pub const IOVEC: u32 = 1;

/// `ptl_process_t`: a rank, or nid and pid.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ProcessId {
    pub first: u32,
    pub second: u32,
}

impl ProcessId {
    pub fn of_rank(rank: u32) -> ProcessId {
        ProcessId { first: rank, second: 0 }
    }

    pub fn of_peer(peer: Peer) -> ProcessId {
        ProcessId { first: peer.nid, second: peer.pid }
    }
}

/// `ptl_md_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Md {
    pub start: *mut c_void,
    pub length: u64,
    pub options: c_uint,
    pub eq_handle: u32,
    pub ct_handle: u32,
}

/// `ptl_iovec_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Iovec {
    pub base: *mut c_void,
    pub len: u64,
}

/// `ptl_le_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Le {
    pub start: *mut c_void,
    pub length: u64,
    pub ct_handle: u32,
    pub uid: u32,
    pub options: c_uint,
}

/// `ptl_me_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Me {
    pub start: *mut c_void,
    pub length: u64,
    pub ct_handle: u32,
    pub uid: u32,
    pub options: c_uint,
    pub match_id: ProcessId,
    pub match_bits: u64,
    pub ignore_bits: u64,
    pub min_free: u64,
}

/// `ptl_ct_event_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CtEvent {
    pub success: u64,
    pub failure: u64,
}

/// `ptl_event_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Event {
    pub start: *mut c_void,
    pub user_ptr: *mut c_void,
    pub hdr_data: u64,
    pub match_bits: u64,
    pub rlength: u64,
    pub mlength: u64,
    pub remote_offset: u64,
    pub initiator: ProcessId,
    pub uid: u32,
    pub pt_index: u32,
    pub kind: u8,
    pub list: u8,
    pub ni_fail_type: u8,
    pub atomic_operation: u8,
    pub atomic_type: u8,
}

/// The return code of a call.
pub fn code(result: Result<(), Fault>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(fault) => fault as c_int,
    }
}

/// Writes to a place that the program must give.
///
/// # Safety
/// `place` is null or writable.
pub unsafe fn give<T>(place: *mut T, value: T) -> Result<(), Fault> {
    if place.is_null() {
        return Err(Fault::ArgInvalid);
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(value) };
    Ok(())
}

/// Reads what the program must give.
///
/// # Safety
/// `place` is null or readable.
pub unsafe fn given<T: Copy>(place: *const T) -> Result<T, Fault> {
    if place.is_null() {
        return Err(Fault::ArgInvalid);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { place.read() })
}
