//! Types and constants of `armci.h`. The numbers are those of Debian's ARMCI, for which its Global Arrays are compiled.

use core::ffi::{c_int, c_long, c_void};

pub use hpvm_model::Name;

/// `armci_hdl_t`
#[repr(C)]
pub struct Handle {
    /// 0: nothing is under way; a process and 1; or [`SEVERAL`].
    pub target: c_int,
    /// [`AGGREGATE`], or anything else.
    pub aggregate: c_int,
}

/// Operations with several processes.
pub const SEVERAL: c_int = -1;
/// What no memory has by chance.
pub const AGGREGATE: c_int = 0x41_47_47_52;

/// `armci_giov_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Giov {
    pub sources: *const *mut c_void,
    pub dests: *const *mut c_void,
    pub bytes: c_int,
    pub len: c_int,
}

/// `armci_meminfo_t`
#[repr(C)]
pub struct MemInfo {
    /// Where the memory lies in its owner.
    pub armci_addr: *mut c_void,
    /// The same.
    pub addr: *mut c_void,
    pub size: usize,
    pub cpid: c_int,
    /// The memory's key, in the first of them.
    pub idlist: [c_long; 128],
}

/// `ARMCI_FETCH_AND_ADD` ... `ARMCI_SWAP_LONG`
pub const FETCH_AND_ADD: c_int = 0;
pub const FETCH_AND_ADD_LONG: c_int = 1;
pub const SWAP: c_int = 2;
pub const SWAP_LONG: c_int = 3;

/// `SCOPE_ALL` ... `SCOPE_MASTERS`
pub const SCOPE_ALL: c_int = 0;
pub const SCOPE_NODE: c_int = 1;
pub const SCOPE_MASTERS: c_int = 2;

/// `ARMCI_INT` ... `ARMCI_DOUBLE`
pub const INT: c_int = 0;
pub const LONG: c_int = 1;
pub const LONG_LONG: c_int = 2;
pub const FLOAT: c_int = 3;
pub const DOUBLE: c_int = 4;

/// As C's `long` is known to be.
const _: () =
    assert!(size_of::<c_long>() == 8 && size_of::<Giov>() == 24 && size_of::<Handle>() == 8);
