//! The program's answers to signals stay its own: initialisers of libraries that libfabric is linked with (`libpsm2`,
//! `libpsm_infinipath`) put handlers of theirs in place, which print a backtrace, leave a file in the working directory and
//! end the process with status 1, so that whoever started it does not learn by which signal it died.

use core::ffi::c_int;

/// Signals that such handlers are for: of faults, and those that end a process.
const KEPT_SIGNALS: [c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGQUIT,
];

/// Runs `work`, and puts back what it has changed of the answers to [`KEPT_SIGNALS`].
pub(crate) fn keep<R>(work: impl FnOnce() -> R) -> R {
    let before = KEPT_SIGNALS.map(current);
    let result = work();
    for (signal, before) in KEPT_SIGNALS.into_iter().zip(before) {
        let (Some(before), Some(now)) = (before, current(signal)) else { continue };
        if before.sa_sigaction != now.sa_sigaction {
            // SAFETY: an answer that this process had to this signal.
            unsafe { libc::sigaction(signal, &before, std::ptr::null_mut()) };
        }
    }
    result
}

fn current(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: plain numbers.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: nothing is changed, and there is room for the answer.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    (result == 0).then_some(action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_put_back() {
        let before = current(libc::SIGFPE).expect("an answer").sa_sigaction;
        keep(|| {
            // SAFETY: a signal that no test raises is ignored.
            unsafe { libc::signal(libc::SIGFPE, libc::SIG_IGN) };
            assert_eq!(current(libc::SIGFPE).expect("an answer").sa_sigaction, libc::SIG_IGN);
        });
        assert_eq!(current(libc::SIGFPE).expect("an answer").sa_sigaction, before);
    }
}
