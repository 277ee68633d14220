//! The processors of a host that jobs get: hardware threads by the kernel's numbers, core by core.
//!
//! A job holds whole cores as far as it can, as Slurm's jobs do with `CR_Core`: two jobs that shared a
//! core would slow each other down, however well they are bound.

use std::collections::BTreeSet;
use std::fmt;

use hpvm_launch::place::affinity::{self, Cpus, KernelSet};
use hpvm_launch::place::topology::{Level, Topology};

/// Longer texts are no host's: 8192 processors take less.
pub const TEXT_MAX: usize = 64 << 10;

/// See the module. Without any nobody knows which ones the host has, and jobs are not bound there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processors {
    /// Cores with their hardware threads, in the order in which they are given out.
    cores: Vec<Vec<u32>>,
    unit: u32,
}

impl Processors {
    fn new(cores: Vec<Vec<u32>>) -> Processors {
        let first = cores.first().map_or(1, Vec::len);
        let even = cores.iter().all(|core| core.len() == first);
        // Cores of several sizes cannot be counted in one of them.
        let unit = if even { u32::try_from(first).unwrap_or(1) } else { 1 };
        Processors { cores, unit: unit.max(1) }
    }

    /// The first `count` that this process may use; none when it may use fewer, for jobs that are to share
    /// them then, or when something else (a quota of a control group) gives it fewer than all.
    ///
    /// `turn` says with which core to begin: several queues on one machine, which know nothing of each
    /// other, do not all begin with the first.
    pub fn of_this_machine(count: Option<u32>, turn: u64) -> Processors {
        let Ok(machine) = Topology::here() else { return Processors::default() };
        let all = machine.all().len();
        let usual = std::thread::available_parallelism().map_or(0, |n| n.get());
        let wanted = count.map_or(usual, |count| count as usize);
        if wanted > all || count.is_none() && usual < all {
            return Processors::default();
        }
        Processors::first(&machine.parts(Level::Core), wanted, turn)
    }

    fn first(cores: &[Cpus], mut count: usize, turn: u64) -> Processors {
        let mut taken: Vec<Vec<u32>> = Vec::new();
        for core in cores {
            let threads = core.iter().take(count).filter_map(|cpu| u32::try_from(*cpu).ok());
            let threads: Vec<u32> = threads.collect();
            count -= threads.len();
            taken.extend((!threads.is_empty()).then_some(threads));
        }
        let turn = turn.checked_rem(taken.len() as u64).unwrap_or(0);
        taken.rotate_left(usize::try_from(turn).unwrap_or(0));
        Processors::new(taken)
    }

    /// The inverse of its text; nothing for what is none.
    pub fn parse(text: &str) -> Option<Processors> {
        if text.is_empty() {
            return Some(Processors::default());
        }
        let core = |part: &str| part.split('+').map(|cpu| cpu.parse::<u32>().ok()).collect();
        let cores: Vec<Vec<u32>> = text.split(',').map(core).collect::<Option<_>>()?;
        let different: BTreeSet<&u32> = cores.iter().flatten().collect();
        let processors = Processors::new(cores.clone());
        (different.len() == processors.count() as usize).then_some(processors)
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.cores.iter().map(Vec::len).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// In multiples of how many they are given out: those of a core, where all cores are alike.
    pub fn unit(&self) -> u32 {
        self.unit.max(1)
    }

    /// So many of those that nobody has, whole cores first; none when there are not enough.
    pub fn pick(&self, taken: &BTreeSet<u32>, count: u32) -> Vec<u32> {
        let mut left = count as usize;
        let mut picked = Vec::new();
        let mut rest: Vec<Vec<u32>> = Vec::new();
        for core in &self.cores {
            let free: Vec<u32> = core.iter().filter(|cpu| !taken.contains(cpu)).copied().collect();
            match free.len() == core.len() && free.len() <= left {
                true => {
                    left -= free.len();
                    picked.extend(free);
                }
                false => rest.push(free),
            }
        }
        // Of cores that are not whole any more before those that are.
        rest.sort_by_key(Vec::len);
        picked.extend(rest.into_iter().flatten().take(left));
        picked.sort_unstable();
        if picked.len() == count as usize { picked } else { Vec::new() }
    }
}

/// Cores with a comma between them, their hardware threads with a plus: `0+16,1+17`.
impl fmt::Display for Processors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = |core: &Vec<u32>| core.iter().map(u32::to_string).collect::<Vec<_>>().join("+");
        f.write_str(&self.cores.iter().map(core).collect::<Vec<_>>().join(","))
    }
}

/// Numbers of processors as the kernel writes and reads them: `0-2,5`.
pub fn list(numbers: &[u32]) -> String {
    affinity::show(&set(numbers))
}

/// What binds a process to them; nothing where there are none.
pub fn kernel_set(numbers: &[u32]) -> Option<KernelSet> {
    (!numbers.is_empty()).then(|| affinity::kernel_set(&set(numbers)))
}

/// The same as a set of the launcher's.
fn set(numbers: &[u32]) -> Cpus {
    numbers.iter().filter_map(|number| usize::try_from(*number).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Processors {
        Processors::parse(text).expect(text)
    }

    fn taken(numbers: &[u32]) -> BTreeSet<u32> {
        numbers.iter().copied().collect()
    }

    #[test]
    fn texts() {
        for text in ["", "0", "0,1", "0+16,1+17", "3+7,5"] {
            assert_eq!(of(text).to_string(), text);
        }
        for bad in ["x", "0,", "0+", "-1", "0,0", "0+1,1", "99999999999"] {
            assert_eq!(Processors::parse(bad), None, "{bad}");
        }
        assert_eq!((of("0+16,1+17").unit(), of("0+2,1").unit(), of("").unit()), (2, 1, 1));
        assert_eq!((of("0+16,1+17").count(), of("").count()), (4, 0));
        assert_eq!(list(&[5, 0, 1, 2]), "0-2,5");
    }

    #[test]
    fn whole_cores_come_first() {
        let four = of("0+4,1+5,2+6,3+7");
        assert_eq!(four.pick(&taken(&[]), 4), [0, 1, 4, 5]);
        assert_eq!(four.pick(&taken(&[0, 1, 4]), 2), [2, 6], "a core that has been begun waits");
        assert_eq!(four.pick(&taken(&[0]), 1), [4], "rather than to begin another");
        assert_eq!(four.pick(&taken(&[0]), 3), [1, 4, 5]);
        assert_eq!(four.pick(&taken(&[0, 1, 2, 3]), 4), [4, 5, 6, 7]);
        assert!(four.pick(&taken(&[0]), 8).is_empty());
        assert!(of("").pick(&taken(&[]), 1).is_empty());
    }

    #[test]
    fn fewer_than_the_machine_has() {
        let cores = [Cpus::from([0, 4]), Cpus::from([1, 5]), Cpus::from([2, 6])];
        let first = |count, turn| Processors::first(&cores, count, turn).to_string();
        assert_eq!(first(6, 0), "0+4,1+5,2+6");
        assert_eq!(first(6, 7), "1+5,2+6,0+4");
        assert_eq!(first(3, 0), "0+4,1");
        assert_eq!(first(0, 3), "");
        let own = Topology::here().unwrap().all().len() as u32;
        assert_eq!(Processors::of_this_machine(Some(own), 0).count(), own);
        assert_eq!(Processors::of_this_machine(Some(own + 1), 0).count(), 0);
    }
}
