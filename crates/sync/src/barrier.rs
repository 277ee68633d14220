//! Memory barriers that one process executes for many: where one side of a pair of barriers runs a million times as
//! often as the other, the frequent side makes do with a barrier of the compiler (`membarrier(2)`).
//!
//! Loom's models have no such thing: there nobody can register, and both sides are fences.

/// `MEMBARRIER_CMD_GLOBAL_EXPEDITED`: a barrier on all processors that run registered processes.
#[cfg(not(hpvm_loom))]
const GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
/// `MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED`.
#[cfg(not(hpvm_loom))]
const REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;

#[cfg(not(hpvm_loom))]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes numbers and changes no memory of the process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// From now on this process is reached by [`everywhere`]: a `compiler_fence` of its threads is a fence where
/// another process calls that. May block for milliseconds where the process has several threads. False: the system does
/// not offer it (an old kernel, a filter of system calls).
pub fn register() -> bool {
    #[cfg(not(hpvm_loom))]
    return membarrier(REGISTER_GLOBAL_EXPEDITED) && everywhere();
    #[cfg(hpvm_loom)]
    false
}

/// A fence in all threads of all processes that have registered, whoever they are: takes some microseconds. False:
/// there was none.
pub fn everywhere() -> bool {
    #[cfg(not(hpvm_loom))]
    return membarrier(GLOBAL_EXPEDITED);
    #[cfg(hpvm_loom)]
    false
}
