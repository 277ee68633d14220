//! Whether ranks have to share processors: one answer for all ranks of a host.
//!
//! A launcher may bind each rank to a processor of its own. Each rank then sees one processor only, and still the
//! host is not oversubscribed. A launcher may also bind two ranks to one processor while another one idles, and then
//! the host is oversubscribed. So each rank shows in the segment which processors it may use, and what counts is
//! whether each rank can have a processor of its own. A limit of processor time (a cgroup's quota), as containers
//! have, also limits how many processors count.

use core::sync::atomic::Ordering;
use hpvm_wire::segment::{Control, HAVE_PROCESSORS, Header, PROCESSOR_WORDS, SHARE_PROCESSORS};
use std::collections::VecDeque;

/// A bit for each processor: `n % 64` of word `n / 64`.
pub type Processors = [u64; PROCESSOR_WORDS];

/// Shows what this process may use. To be called before the job's bootstrap barrier.
pub(crate) fn show(header: &Header, control: &Control) {
    for (word, own) in control.processors.iter().zip(allowed()) {
        // Relaxed, here and below: the bootstrap barrier orders it before `oversubscribed`.
        word.store(own, Ordering::Relaxed);
    }
    if let Some(quota) = cgroup::quota() {
        // One more than the number that is left without: 0 is a segment's first state.
        let shown = u32::MAX - quota;
        header.quota.fetch_max(shown, Ordering::Relaxed); // relaxed: as above
    }
}

/// After the bootstrap barrier: what a rank has shown.
pub fn shown(control: &Control) -> Processors {
    control.processors.each_ref().map(|w| w.load(Ordering::Relaxed)) // relaxed: see `show`
}

/// Shows what the user has told this process: the ranks of the host have to share processors, or have one each.
/// To be called before the job's bootstrap barrier.
pub(crate) fn tell(header: &Header, oversubscribed: bool) {
    let told = if oversubscribed { SHARE_PROCESSORS } else { HAVE_PROCESSORS };
    header.told_to_share.fetch_max(told, Ordering::Relaxed); // relaxed: see `show`
}

/// After the bootstrap barrier: true when the ranks can't all run at the same time.
pub(crate) fn oversubscribed(header: &Header, controls: &[&Control]) -> bool {
    // Relaxed: see `show`. Where only some ranks were told, all take it: the answer has to be the same for all.
    let told = header.told_to_share.load(Ordering::Relaxed);
    if told != 0 {
        return told != HAVE_PROCESSORS;
    }
    let quota = u32::MAX - header.quota.load(Ordering::Relaxed); // relaxed: see `show`
    controls.len() > quota as usize
        || must_share(&controls.iter().map(|control| shown(control)).collect::<Vec<_>>())
}

/// After the bootstrap barrier: the processors that all ranks share; 0 where some are bound to others than the rest, or
/// the user says that they take turns.
pub(crate) fn common(header: &Header, controls: &[&Control]) -> u32 {
    // Relaxed, both: see `show`.
    let told = header.told_to_share.load(Ordering::Relaxed);
    let quota = u32::MAX - header.quota.load(Ordering::Relaxed); // relaxed: as above
    let mut masks = controls.iter().map(|control| shown(control));
    let first = masks.next().unwrap_or([0; PROCESSOR_WORDS]);
    if told != 0 || masks.any(|mask| mask != first) {
        return 0;
    }
    first.iter().map(|word| word.count_ones()).sum::<u32>().min(quota)
}

/// Whether ranks that may use these processors can't have one each: then two must share one, though others
/// may idle. The same for all ranks, who see the same masks.
///
/// Ranks get processors one after the other. One whose processors are all taken looks, breadth first, for a
/// rank that can go elsewhere and leave it one (augmenting paths of a bipartite matching).
fn must_share(masks: &[Processors]) -> bool {
    // More ranks than bits have no processor each, whatever the masks say.
    let mut owners = vec![NOBODY; 64 * PROCESSOR_WORDS];
    let mut free = [u64::MAX; PROCESSOR_WORDS];
    masks.len() > owners.len()
        || (0..masks.len()).any(|rank| !finds_a_processor(masks, rank, &mut owners, &mut free))
}

const NOBODY: usize = usize::MAX;

/// Gives `rank` a processor, for which others may have to change theirs.
fn finds_a_processor(
    masks: &[Processors],
    rank: usize,
    owners: &mut [usize],
    free: &mut Processors,
) -> bool {
    if let Some(processor) = first(&masks[rank], free) {
        free[processor / 64] &= !(1 << (processor % 64));
        owners[processor] = rank;
        return true;
    }
    // The rank that asks for each processor; the processor that each of these ranks would leave.
    let mut asks = vec![NOBODY; owners.len()];
    let mut leaves = vec![NOBODY; masks.len()];
    let mut waiting = VecDeque::from([rank]);
    let mut unasked = [u64::MAX; PROCESSOR_WORDS];
    while let Some(asker) = waiting.pop_front() {
        if let Some(mut processor) = first(&masks[asker], free) {
            free[processor / 64] &= !(1 << (processor % 64));
            let mut owner = asker;
            loop {
                owners[processor] = owner;
                processor = leaves[owner];
                if processor == NOBODY {
                    return true;
                }
                owner = asks[processor];
            }
        }
        while let Some(processor) = first(&masks[asker], &unasked) {
            unasked[processor / 64] &= !(1 << (processor % 64));
            asks[processor] = asker;
            let owner = owners[processor];
            leaves[owner] = processor;
            waiting.push_back(owner);
        }
    }
    false
}

/// The first processor of both.
fn first(a: &Processors, b: &Processors) -> Option<usize> {
    let word = a.iter().zip(b).position(|(a, b)| a & b != 0)?;
    Some(64 * word + (a[word] & b[word]).trailing_zeros() as usize)
}

/// The processors that the calling thread may use. `None`: the system does not tell.
pub fn own() -> Option<Processors> {
    let mut words = [0u64; PROCESSOR_WORDS];
    let bytes = size_of_val(&words);
    // SAFETY: the buffer has that many bytes; the kernel writes a mask of words to it.
    let failed = unsafe { libc::sched_getaffinity(0, bytes, words.as_mut_ptr().cast()) } != 0;
    (!failed).then_some(words)
}

/// The same, or where that is forbidden, or there are more than any Linux has, as many as there are: that is all that is to be had.
fn allowed() -> Processors {
    own().unwrap_or_else(|| {
        let mut words = [0u64; PROCESSOR_WORDS];
        let number = std::thread::available_parallelism().map_or(1, |n| n.get());
        for processor in 0..number.min(64 * PROCESSOR_WORDS) {
            words[processor / 64] |= 1 << (processor % 64);
        }
        words
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Mapping;

    fn mask(processors: &[usize]) -> Processors {
        let mut mask = [0; PROCESSOR_WORDS];
        processors.iter().for_each(|p| mask[p / 64] |= 1 << (p % 64));
        mask
    }

    #[test]
    fn who_must_share() {
        let table: [(&str, &[&[usize]], bool); 12] = [
            ("nobody", &[], false),
            ("one rank", &[&[3]], false),
            ("no processor", &[&[]], true),
            ("unbound, one each", &[&[0, 1], &[0, 1]], false),
            ("unbound, too many", &[&[0, 1], &[0, 1], &[0, 1]], true),
            ("each bound to its own", &[&[0], &[1], &[8191]], false),
            ("two on one while another idles", &[&[0], &[0], &[1, 2, 3]], true),
            ("the bound one comes last", &[&[0, 1], &[0]], false),
            ("three in a chain change", &[&[0, 1], &[1, 2], &[0, 1], &[0, 1, 2, 3]], false),
            ("four on three of eight", &[&[0, 1], &[1, 2], &[0, 2], &[0, 1, 2]], true),
            ("sockets", &[&[0, 1], &[0, 1], &[64, 65], &[64, 65]], false),
            ("a socket with one too many", &[&[0, 1], &[0, 1], &[0, 1], &[64, 65, 66]], true),
        ];
        for (name, ranks, expected) in table {
            let masks: Vec<_> = ranks.iter().map(|processors| mask(processors)).collect();
            assert_eq!(must_share(&masks), expected, "{name}");
            let backwards: Vec<_> = masks.into_iter().rev().collect();
            assert_eq!(must_share(&backwards), expected, "{name}, backwards");
        }
    }

    /// Hall's theorem: all have one each unless some of them have together fewer than they are.
    #[test]
    fn sharing_is_as_hall_says() {
        let mut random = 7u64;
        let mut shared = 0;
        for _ in 0..3000 {
            let ranks: Vec<u64> = (0..6)
                .map(|_| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (random >> 33) & (random >> 45) & 0x7f
                })
                .collect();
            let few = |set: u32| {
                let together = ranks.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
                together.fold(0, |all, (_, m)| all | m).count_ones() < set.count_ones()
            };
            let masks: Vec<_> = ranks
                .iter()
                .map(|m| mask(&(0..7).filter(|p| m >> p & 1 == 1).collect::<Vec<_>>()))
                .collect();
            assert_eq!(must_share(&masks), (1..64).any(few), "{ranks:?}");
            shared += u32::from(must_share(&masks));
        }
        assert!((300..2700).contains(&shared), "{shared} of 3000 share");
    }

    #[test]
    fn what_the_user_says_counts_more() {
        let mapping = Mapping::create(2, [1, 2]).expect("memory");
        let (header, controls) = (mapping.header(), [mapping.control(0), mapping.control(1)]);
        controls[0].processors[0].store(1, Ordering::Relaxed); // relaxed, here and below: one thread
        controls[1].processors[0].store(1, Ordering::Relaxed);
        assert!(oversubscribed(header, &controls));
        tell(header, false);
        assert!(!oversubscribed(header, &controls));
        controls[1].processors[0].store(2, Ordering::Relaxed);
        tell(header, true);
        tell(header, false);
        assert!(oversubscribed(header, &controls), "of two answers this one");
        assert_eq!(common(header, &controls[..1]), 0, "told so");
    }

    #[test]
    fn what_is_shown_and_limits_count() {
        let mapping = Mapping::create(2, [1, 2]).expect("memory");
        let (header, controls) = (mapping.header(), [mapping.control(0), mapping.control(1)]);
        controls.iter().for_each(|control| show(header, control));
        header.quota.store(0, Ordering::Relaxed); // relaxed, here and below: one thread
        let own: u32 = allowed().iter().map(|word| word.count_ones()).sum();
        assert_eq!(common(header, &controls), own);
        controls[1].processors.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        assert!(!oversubscribed(header, &controls[..1]) && oversubscribed(header, &controls));
        controls[1].processors[127].store(1 << 63, Ordering::Relaxed); // relaxed
        assert!(!oversubscribed(header, &controls));
        header.quota.fetch_max(u32::MAX - 1, Ordering::Relaxed); // relaxed
        assert!(oversubscribed(header, &controls), "a limit of one");
        assert_eq!(common(header, &controls[..1]), 1, "a limit of one");
        assert_eq!(common(header, &controls), 0, "bound to others");
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
