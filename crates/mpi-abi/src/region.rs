//! `MPI_Pcontrol`: the region that `hpvm prof --region` counts. The events are made by `hpvm prof`, which leaves their
//! descriptors open in this process and names them in a variable; see also `include/hpvm_region.h`.

use std::os::fd::RawFd;
use std::sync::OnceLock;

/// Descriptors of the events, as `200,201`.
const VARIABLE: &str = "HPVM_REGION";
/// Where a descriptor of an event leads.
const LINK: &str = "anon_inode:[perf_event]";
/// `PERF_EVENT_IOC_ENABLE` and `PERF_EVENT_IOC_DISABLE` of `linux/perf_event.h`: `_IO('$', 0)` and `_IO('$', 1)`.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;

/// Level 0 ends the region, every other one begins it (MPI 5.0, section 15.2.4). Without `hpvm prof` a look at an empty list.
pub fn control(level: i32) {
    static EVENTS: OnceLock<Vec<RawFd>> = OnceLock::new();
    let events = EVENTS.get_or_init(|| named(&std::env::var(VARIABLE).unwrap_or_default()));
    let what = if level == 0 { DISABLE } else { ENABLE };
    for fd in events.iter().filter(|fd| is_event(**fd)) {
        // SAFETY: the request has no argument, and the descriptor is one of events that were made for this.
        unsafe { libc::ioctl(*fd, what as _, 0) };
    }
}

fn named(list: &str) -> Vec<RawFd> {
    list.split(',').filter_map(|word| word.parse().ok()).collect()
}

/// The program may have closed it and opened something else.
fn is_event(fd: RawFd) -> bool {
    std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok_and(|link| link.as_os_str() == LINK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_descriptors_are_left_alone() {
        assert_eq!(named("200,201,x,-"), [200, 201]);
        assert_eq!(named(""), []);
        assert!(!is_event(0) && !is_event(-1));
    }
}
