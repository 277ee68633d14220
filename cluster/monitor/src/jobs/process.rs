//! Where a process runs, and how much memory it has, as the kernel says.

use procfs::process::Process;

/// See [`of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The processor that it ran on last.
    pub processor: u32,
    /// Bytes that are in memory now, those that it shares with others included.
    pub memory: u64,
}

/// What the kernel says of a process; none of one that is gone.
pub fn of(pid: u32) -> Option<Placed> {
    let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    Some(Placed {
        processor: u32::try_from(stat.processor?).ok()?,
        memory: stat.rss.saturating_mul(procfs::page_size()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_somewhere_and_has_memory() {
        let placed = of(std::process::id()).expect("it is there");
        assert!(placed.memory > 100_000, "{placed:?}");
        assert_eq!(of(u32::MAX), None);
        let filled = vec![1_u8; 64 << 20];
        let more = of(std::process::id()).expect("it is there").memory;
        assert!(more > placed.memory + (32 << 20), "{more} after {placed:?}");
        assert_eq!(filled.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 64 << 20);
    }
}
