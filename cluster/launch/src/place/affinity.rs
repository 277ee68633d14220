//! Sets of hardware threads, which the kernel calls cpus.

use std::collections::BTreeSet;

/// A set of cpus as the kernel numbers them.
pub type Cpus = BTreeSet<usize>;

/// The cpus this process may use.
pub fn allowed() -> std::io::Result<Cpus> {
    // SAFETY: a zeroed set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a writable set of the size given.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    crate::sys::check(result)?;
    let limit = 8 * size_of::<libc::cpu_set_t>();
    // SAFETY: the number is below the set's size.
    Ok((0..limit).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect())
}

/// The set in the kernel's form.
pub fn kernel_set(cpus: &Cpus) -> libc::cpu_set_t {
    // SAFETY: a zeroed set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus {
        if *cpu < 8 * size_of::<libc::cpu_set_t>() {
            // SAFETY: the number is below the set's size.
            unsafe { libc::CPU_SET(*cpu, &mut set) };
        }
    }
    set
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
    const CPUS_MAX: usize = 8192;
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (first.trim().parse::<usize>().ok()?, last.trim().parse::<usize>().ok()?);
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
    fn lists() {
        assert_eq!(parse_list("0-2,5"), Cpus::from([0, 1, 2, 5]));
        assert_eq!(parse_list("x"), Cpus::new());
        assert_eq!(parse_user_list("3,1-2"), Some(vec![3, 1, 2]));
        for bad in ["", "x", "1,,2", "2-1", "0-99999999", "-1"] {
            assert_eq!(parse_user_list(bad), None, "{bad}");
        }
        assert_eq!(show(&parse_list("7,3,4,5")), "3-5,7");
    }
}
