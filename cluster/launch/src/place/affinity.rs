//! Sets of hardware threads, which the kernel calls cpus.

use std::collections::BTreeSet;

use crate::text::digits;

/// A set of cpus as the kernel numbers them.
pub type Cpus = BTreeSet<usize>;

/// A set in the kernel's form, a bit each. The C library's own is too short for a machine of more than 1024.
pub type KernelSet = [u64; CPUS_MAX / 64];

/// The most that Linux can be built for.
const CPUS_MAX: usize = 8192;

/// The cpus this process may use.
pub fn allowed() -> std::io::Result<Cpus> {
    allowed_to(0)
}

/// The cpus that a process may use; 0: this one.
pub fn allowed_to(pid: i32) -> std::io::Result<Cpus> {
    let mut set: KernelSet = [0; CPUS_MAX / 64];
    // SAFETY: the kernel writes words into a buffer of the size given.
    let result =
        unsafe { libc::sched_getaffinity(pid, size_of::<KernelSet>(), set.as_mut_ptr().cast()) };
    hpvm_os::check(result)?;
    Ok((0..CPUS_MAX).filter(|cpu| set[cpu / 64] >> (cpu % 64) & 1 != 0).collect())
}

/// The set in the kernel's form.
pub fn kernel_set(cpus: &Cpus) -> KernelSet {
    let mut set: KernelSet = [0; CPUS_MAX / 64];
    for cpu in cpus.iter().filter(|cpu| **cpu < CPUS_MAX) {
        set[cpu / 64] |= 1 << (cpu % 64);
    }
    set
}

/// Binds the calling thread. Async-signal-safe.
///
/// # Errors
/// The kernel's, in `errno`.
pub fn bind(set: &KernelSet) -> std::io::Result<()> {
    bind_process(0, set)
}

/// Binds the first thread of a process; 0: the calling thread. Async-signal-safe.
///
/// # Errors
/// The kernel's, in `errno`.
pub fn bind_process(pid: i32, set: &KernelSet) -> std::io::Result<()> {
    // SAFETY: the kernel reads words from a buffer of the size given.
    hpvm_os::check(unsafe {
        libc::sched_setaffinity(pid, size_of::<KernelSet>(), set.as_ptr().cast())
    })
    .map(drop)
}

/// Reads what the kernel writes: `0-2,5`. What is no number is left out.
pub fn parse_list(text: &str) -> Cpus {
    text.split(',').filter_map(range).flatten().collect()
}

/// Reads what a user writes; none if something in it is no number or range.
pub fn parse_user_list(text: &str) -> Option<Vec<usize>> {
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    ranges.map(|ranges| ranges.into_iter().flatten().collect())
}

/// `3` or `3-5`. A range is never longer than a machine can have cpus.
fn range(part: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (digits::<usize>(first.trim())?, digits::<usize>(last.trim())?);
    (first <= last && last < CPUS_MAX).then_some(first..=last)
}

/// `0-2,5` for messages.
pub fn show(cpus: &Cpus) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let shown = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_takes_what_it_has_given() {
        let own = allowed().unwrap();
        let set = kernel_set(&own);
        std::thread::spawn(move || bind(&set)).join().unwrap().unwrap();
        assert_eq!(set.iter().map(|word| word.count_ones() as usize).sum::<usize>(), own.len());
        let high = kernel_set(&Cpus::from([0, 1500, 8191, 9000]));
        assert_eq!((high[0], high[1500 / 64], high[127]), (1, 1 << (1500 % 64), 1 << 63));
        assert!(std::thread::spawn(|| bind(&[0; CPUS_MAX / 64])).join().unwrap().is_err());
    }

    #[test]
    fn lists() {
        assert_eq!(parse_list("0-2,5"), Cpus::from([0, 1, 2, 5]));
        assert_eq!(parse_list("x"), Cpus::new());
        assert_eq!(parse_user_list("3,1-2"), Some(vec![3, 1, 2]));
        for bad in ["", "x", "1,,2", "2-1", "0-99999999", "-1", "+1", "0-+1"] {
            assert_eq!(parse_user_list(bad), None, "{bad}");
        }
        assert_eq!(show(&parse_list("7,3,4,5")), "3-5,7");
    }
}
