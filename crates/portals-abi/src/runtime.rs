//! The runtime functions of portals4_runtime.h: who is in the job, for programs that have no other way to know.

use crate::process::lock;
use crate::types::ProcessId;
use core::ffi::c_int;
use hpvm_portals::Fault;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn runtime_init() -> c_int {
    // SAFETY: takes nothing.
    unsafe { crate::interface::PtlInit() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn runtime_finalize() -> c_int {
    crate::interface::fini(c"runtime_finalize".as_ptr());
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn runtime_get_rank() -> c_int {
    lock().process.as_ref().map_or(-1, |p| p.me as c_int)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn runtime_get_size() -> c_int {
    lock().process.as_ref().map_or(-1, |p| p.peers.len() as c_int)
}

/// Fills `map` with the ids of the ranks, for `PtlSetMap`. At most `size` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn runtime_get_nidpid_map(map: *mut ProcessId, size: c_int) -> c_int {
    let guard = lock();
    let Some(p) = &guard.process else { return Fault::NoInit as c_int };
    if map.is_null() || size < 0 {
        return Fault::ArgInvalid as c_int;
    }
    for (at, peer) in p.peers.iter().take(size as usize).enumerate() {
        // SAFETY: the program's places, as many as it says.
        unsafe { map.add(at).write(ProcessId::of_peer(*peer)) };
    }
    0
}

/// Waits until all processes of the job have called it. Others are served meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn runtime_barrier() -> c_int {
    crate::process::barrier()
}
