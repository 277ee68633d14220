//! Task identifiers: a host's number in bits 18 to 29, and the task's number on its host below.

/// A task identifier as programs see it.
pub type Tid = i32;

/// Bits of the number of a task on its host.
pub const LOCAL_BITS: u32 = 18;
/// The largest number of a task on its host.
pub const LOCAL_MAX: i32 = (1 << LOCAL_BITS) - 1;
/// The bits of the host.
pub const HOST_MASK: i32 = 0x3ffc_0000;
/// The virtual machine's process on the first host; also the smallest tid there is.
pub const FIRST_HOST: Tid = 1 << LOCAL_BITS;

/// The tid of the virtual machine's process on the host of `tid`.
pub fn host_of(tid: Tid) -> Tid {
    tid & HOST_MASK
}

/// Whether `tid` has the form of a task's: not that of a host, of a group of addresses, or of nothing.
pub fn is_task(tid: Tid) -> bool {
    tid > 0 && tid & !(HOST_MASK | LOCAL_MAX) == 0 && host_of(tid) != 0 && tid & LOCAL_MAX != 0
}

/// Whether `tid` has the form of a host's.
pub fn is_host(tid: Tid) -> bool {
    tid > 0 && tid & !HOST_MASK == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_and_hosts_are_told_apart() {
        assert!(is_task(0x40001) && is_task(0x3fffffff) && !is_task(0x40000) && !is_task(7));
        assert!(is_host(0x40000) && !is_host(0x40001) && !is_host(0) && !is_host(-1));
        assert!(!is_task(i32::MIN | 0x40001) && !is_task(-1));
        assert_eq!(host_of(0x80003), 0x80000);
    }
}
