//! To which cpus a rank is bound.

use std::collections::BTreeSet;

use crate::args::Bind;

/// A set of cpus as the kernel numbers them.
pub type Cpus = BTreeSet<usize>;

/// The places that ranks are bound to, one after another; empty for [`Bind::None`]. Only cpus the
/// launcher itself may use are among them.
pub fn places(bind: Bind) -> std::io::Result<Vec<Cpus>> {
    let allowed = allowed()?;
    Ok(match bind {
        Bind::None => Vec::new(),
        Bind::HwThread => allowed.iter().map(|cpu| Cpus::from([*cpu])).collect(),
        Bind::Core => cores(&allowed, siblings),
    })
}

/// The place of a rank, by its number on this host.
pub fn place_of(places: &[Cpus], local: u32) -> Option<&Cpus> {
    places.get(local as usize % places.len().max(1))
}

/// For messages: what a rank is bound to.
pub fn describe(places: &[Cpus], rank: u32, local: u32) -> String {
    match place_of(places, local) {
        None => format!("rank {rank} is not bound"),
        Some(cpus) => format!("rank {rank} is bound to cpu {}", show(cpus)),
    }
}

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

/// Groups cpus by core: those that share one belong together.
fn cores(allowed: &Cpus, siblings: impl Fn(usize) -> Cpus) -> Vec<Cpus> {
    let mut left = allowed.clone();
    let mut cores = Vec::new();
    while let Some(cpu) = left.pop_first() {
        let mut core = Cpus::from([cpu]);
        for sibling in siblings(cpu) {
            if left.remove(&sibling) {
                core.insert(sibling);
            }
        }
        cores.push(core);
    }
    cores
}

/// The hardware threads of a cpu's core; none when the kernel does not say.
fn siblings(cpu: usize) -> Cpus {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    std::fs::read_to_string(path).map(|text| parse_list(text.trim())).unwrap_or_default()
}

/// Reads `0-2,5`.
fn parse_list(text: &str) -> Cpus {
    let mut cpus = Cpus::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            cpus.extend(first..=last.min(first + 4096));
        }
    }
    cpus
}

/// `0,4` for messages.
pub fn show(cpus: &Cpus) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_a_hyperthreaded_machine() {
        let allowed = Cpus::from([0, 1, 2, 4, 5]);
        let cores = cores(&allowed, |cpu| Cpus::from([cpu % 4, cpu % 4 + 4]));
        assert_eq!(cores, [Cpus::from([0, 4]), Cpus::from([1, 5]), Cpus::from([2])]);
    }

    #[test]
    fn lists() {
        assert_eq!(parse_list("0-2,5"), Cpus::from([0, 1, 2, 5]));
        assert_eq!(parse_list("x"), Cpus::new());
        assert_eq!(show(&parse_list("7,3")), "3,7");
    }

    #[test]
    fn this_machine() {
        let allowed = allowed().unwrap();
        let cores: Cpus = places(Bind::Core).unwrap().into_iter().flatten().collect();
        assert_eq!(cores, allowed);
        assert_eq!(places(Bind::HwThread).unwrap().len(), allowed.len());
        assert!(places(Bind::None).unwrap().is_empty());
    }
}
