//! Whether ranks outnumber processors: one answer for all ranks of a host.
//!
//! A launcher may bind each rank to a processor of its own. Each rank then sees one processor only, and
//! still the host is not oversubscribed. So each rank shows in the segment which processors it may use, and
//! what counts is all of them together. A limit of processor time (a cgroup's quota), as containers have
//! it, counts as so many processors.

use core::sync::atomic::Ordering;
use hpvm_wire::segment::{Header, PROCESSOR_WORDS};

/// Shows what this process may use. To be called before the job's bootstrap barrier.
pub(crate) fn show(header: &Header) {
    for (word, own) in header.processors.iter().zip(allowed()) {
        // Relaxed, here and below: the bootstrap barrier orders it before `oversubscribed`.
        word.fetch_or(own, Ordering::Relaxed);
    }
    if let Some(quota) = cgroup::quota() {
        // One more than the number that is left without: 0 is a segment's first state.
        let shown = u32::MAX - quota;
        header.quota.fetch_max(shown, Ordering::Relaxed); // relaxed: as above
    }
}

/// After the bootstrap barrier: true when `ranks` ranks are more than the processors they may use together.
pub(crate) fn oversubscribed(header: &Header, ranks: u32) -> bool {
    // Relaxed, all: see `show`.
    let words = header.processors.iter().map(|word| word.load(Ordering::Relaxed).count_ones());
    let processors: u32 = words.sum();
    let quota = u32::MAX - header.quota.load(Ordering::Relaxed); // relaxed: as above
    ranks > processors.min(quota)
}

/// The processors that this process may use, a bit each.
fn allowed() -> [u64; PROCESSOR_WORDS] {
    let mut words = [0u64; PROCESSOR_WORDS];
    let bytes = size_of_val(&words);
    // SAFETY: the buffer has that many bytes; the kernel writes a mask of words to it.
    let failed = unsafe { libc::sched_getaffinity(0, bytes, words.as_mut_ptr().cast()) } != 0;
    if failed {
        // Forbidden, or more processors than any Linux has: their number is all that is to be had.
        let number = std::thread::available_parallelism().map_or(1, |n| n.get());
        for processor in 0..number.min(64 * PROCESSOR_WORDS) {
            words[processor / 64] |= 1 << (processor % 64);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Mapping;

    #[test]
    fn what_counts_is_all_processors_together() {
        let mapping = Mapping::create(2, [1, 2]).expect("memory");
        let header = mapping.header();
        // Relaxed, here and below: one thread.
        header.processors[0].fetch_or(1 << 3, Ordering::Relaxed);
        assert!(!oversubscribed(header, 1) && oversubscribed(header, 2));
        header.processors[127].fetch_or(1 << 63, Ordering::Relaxed); // relaxed
        assert!(!oversubscribed(header, 2) && oversubscribed(header, 3));
        header.quota.fetch_max(u32::MAX - 1, Ordering::Relaxed); // relaxed
        assert!(!oversubscribed(header, 1) && oversubscribed(header, 2), "a limit of one");
    }

    #[test]
    fn a_process_shows_as_many_as_it_may_use() {
        let own: u32 = allowed().iter().map(|word| word.count_ones()).sum();
        let known = std::thread::available_parallelism().expect("a number").get() as u32;
        let limit = cgroup::quota().unwrap_or(u32::MAX);
        assert_eq!(own.min(limit), known);
    }
}

/// Limits of processor time.
mod cgroup {
    use std::fs::read_to_string;
    use std::path::{Path, PathBuf};

    /// Processors' worth of time that this process may use, at least 1; `None` without a limit.
    pub fn quota() -> Option<u32> {
        let groups = read_to_string("/proc/self/cgroup").ok()?;
        let lines = groups.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?.trim_start_matches('/')))
        });
        lines.filter_map(|(controllers, path)| of_group(controllers, path)).min()
    }

    /// The least limit of a group and those that it lies in.
    fn of_group(controllers: &str, path: &str) -> Option<u32> {
        let (mount, read): (_, fn(&Path) -> Option<u32>) = match controllers {
            "" => ("/sys/fs/cgroup".to_owned(), version_2),
            cpu if cpu.split(',').any(|c| c == "cpu") => {
                (format!("/sys/fs/cgroup/{cpu}"), version_1)
            }
            _ => return None,
        };
        let group = PathBuf::from(&mount).join(path);
        // A group that is not there is seen from inside a container, whose mount begins at it.
        let start = if group.exists() { group } else { PathBuf::from(&mount) };
        let above = start.ancestors().take_while(|folder| folder.starts_with(&mount));
        above.filter_map(read).min()
    }

    fn version_2(folder: &Path) -> Option<u32> {
        processors(&read_to_string(folder.join("cpu.max")).ok()?)
    }

    fn version_1(folder: &Path) -> Option<u32> {
        let number = |name| read_to_string(folder.join(name)).ok();
        let (quota, period) = (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?);
        processors(&format!("{} {}", quota.trim(), period.trim()))
    }

    /// Of "quota period", in microseconds; "max" and -1 stand for no limit.
    fn processors(text: &str) -> Option<u32> {
        let (quota, period) = text.trim().split_once(' ')?;
        let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
        Some(u32::try_from(quota.checked_div(period)?).unwrap_or(u32::MAX).max(1))
    }

    #[cfg(test)]
    mod tests {
        use super::processors;

        #[test]
        fn quotas_are_read() {
            assert_eq!(processors("max 100000\n"), None);
            assert_eq!(processors("-1 100000"), None);
            assert_eq!(processors("400000 100000\n"), Some(4));
            assert_eq!(processors("50000 100000"), Some(1));
            assert_eq!(processors("250000 100000"), Some(2));
            assert_eq!(processors("1 0"), None);
            assert_eq!(processors(""), None);
        }
    }
}
