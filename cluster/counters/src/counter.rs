//! One event of one thread: a descriptor of `perf_event_open(2)`.

use crate::estimate::Reading;
use crate::events::Event;
use crate::target::Start;
use perf_event_open_sys::bindings::{
    PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING,
    perf_event_attr,
};
use perf_event_open_sys::{ioctls, perf_event_open};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Counts until it is dropped.
#[derive(Debug)]
pub struct Counter {
    fd: OwnedFd,
}

impl Counter {
    /// Counts `event` in thread `thread` (0: this one) and in all threads and children that it starts from now on.
    /// `leader`: counted at the same times as that one. `user_only`: not in the kernel.
    pub fn open(
        event: &Event,
        thread: i32,
        start: Start,
        leader: Option<&Counter>,
        user_only: bool,
    ) -> io::Result<Counter> {
        let mut attr = perf_event_attr {
            type_: event.type_,
            size: size_of::<perf_event_attr>() as u32,
            config: event.configs[0],
            read_format: (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING).into(),
            ..perf_event_attr::default()
        };
        attr.__bindgen_anon_3.config1 = event.configs[1];
        attr.__bindgen_anon_4.config2 = event.configs[2];
        attr.set_inherit(1);
        attr.set_disabled(u64::from(start != Start::Now));
        attr.set_enable_on_exec(u64::from(start == Start::AtExec));
        attr.set_exclude_kernel(user_only.into());
        attr.set_exclude_hv(user_only.into());
        let group = leader.map_or(-1, |leader| leader.fd.as_raw_fd());
        // SAFETY: the attributes are whole and say how long they are; nothing is written to memory of ours but them.
        let fd = unsafe {
            perf_event_open(&raw mut attr, thread, -1, group, PERF_FLAG_FD_CLOEXEC.into())
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just given us this descriptor.
        Ok(Counter { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// What has been counted so far, in ended children too.
    pub fn read(&self) -> io::Result<Reading> {
        let mut words = [0u64; 3];
        let bytes = size_of_val(&words);
        // SAFETY: the place is ours and as long as is said.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), words.as_mut_ptr().cast(), bytes) };
        match got {
            got if got < 0 => Err(io::Error::last_os_error()),
            got if got as usize == bytes => {
                let [value, enabled, running] = words;
                Ok(Reading { value, enabled, running })
            }
            got => Err(io::Error::other(format!("{got} bytes from the kernel; expected {bytes}"))),
        }
    }

    /// Counts no further, in children neither.
    pub fn stop(&self) -> io::Result<()> {
        // SAFETY: an ioctl without an argument on a descriptor of ours.
        match unsafe { ioctls::DISABLE(self.fd.as_raw_fd(), 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// For handing it to the process itself.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
