//! What a machine is made of: sockets, NUMA nodes, caches, cores and hardware threads, as the kernel
//! tells it in `/sys/devices/system`. The reader takes that folder, so that a test can make up a
//! machine.

use std::path::Path;

use super::affinity::{self, Cpus};

/// A kind of part, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Machine,
    Socket,
    Numa,
    L3,
    L2,
    L1,
    Core,
    HwThread,
}

impl Level {
    pub const ALL: [Level; 8] = [
        Level::Machine,
        Level::Socket,
        Level::Numa,
        Level::L3,
        Level::L2,
        Level::L1,
        Level::Core,
        Level::HwThread,
    ];

    /// The name that is preferred on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Level::Machine => "machine",
            Level::Socket => "socket",
            Level::Numa => "numa",
            Level::L3 => "l3cache",
            Level::L2 => "l2cache",
            Level::L1 => "l1cache",
            Level::Core => "core",
            Level::HwThread => "hwthread",
        }
    }

    /// The part that a word of the other MPIs' command lines means.
    pub fn of(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "machine" | "board" => Level::Machine,
            "socket" | "sockets" | "package" | "packages" => Level::Socket,
            "numa" | "numanode" => Level::Numa,
            "l3cache" | "l3" | "l3ucache" | "l3dcache" => Level::L3,
            "l2cache" | "l2" | "l2ucache" | "l2dcache" => Level::L2,
            "l1cache" | "l1" | "l1ucache" | "l1dcache" => Level::L1,
            "core" | "cores" => Level::Core,
            "hwthread" | "hwthreads" | "hwt" | "pu" | "thread" => Level::HwThread,
            _ => return None,
        })
    }
}

/// A hardware thread with the numbers of the parts it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cpu {
    number: usize,
    /// By [`Level`]; the lowest number of a thread in the part, where the part has none itself.
    parts: [usize; 8],
}

/// The usable part of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// In logical order: those that share more are closer together.
    cpus: Vec<Cpu>,
}

impl Topology {
    /// What this process may use of this machine.
    pub fn here() -> std::io::Result<Self> {
        Ok(Self::read(Path::new("/sys/devices/system"), &affinity::allowed()?))
    }

    /// Reads the kernel's files below `root` about these hardware threads. What a file does not say
    /// (containers hide some) is taken to be as simple as can be: one thread a core, caches of a
    /// core's own but the third, one socket, one NUMA node.
    pub fn read(root: &Path, allowed: &Cpus) -> Self {
        let nodes = numa_nodes(root);
        let mut cpus: Vec<Cpu> =
            allowed.iter().map(|number| Cpu::read(root, *number, &nodes)).collect();
        cpus.sort_by_key(|cpu| (cpu.parts, cpu.number));
        Self { cpus }
    }

    /// How many cores this process may use. One file of each hardware thread says it, where [`Topology::here`] reads some
    /// fifteen: jobs that are bound to nothing need no more at their start.
    pub fn usable_cores() -> std::io::Result<usize> {
        let root = Path::new("/sys/devices/system");
        let cores: Cpus =
            affinity::allowed()?.into_iter().map(|number| core_of(root, number)).collect();
        Ok(cores.len())
    }

    /// The parts of a kind, in logical order.
    pub fn parts(&self, level: Level) -> Vec<Cpus> {
        let mut found: Vec<(usize, Cpus)> = Vec::new();
        for cpu in &self.cpus {
            let key = cpu.parts[level as usize];
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, part)) => drop(part.insert(cpu.number)),
                None => found.push((key, Cpus::from([cpu.number]))),
            }
        }
        found.into_iter().map(|(_, part)| part).collect()
    }

    /// The parts of a kind that lie in `inside`; where such parts are larger, the one around it.
    pub fn parts_in(&self, level: Level, inside: &Cpus) -> Vec<Cpus> {
        let all = self.parts(level);
        let smaller: Vec<Cpus> =
            all.iter().filter(|part| part.is_subset(inside)).cloned().collect();
        if !smaller.is_empty() {
            return smaller;
        }
        all.into_iter().filter(|part| !part.is_disjoint(inside)).take(1).collect()
    }

    /// The same machine with only these hardware threads.
    pub fn within(&self, allowed: &Cpus) -> Self {
        let cpus = self.cpus.iter().filter(|cpu| allowed.contains(&cpu.number)).cloned().collect();
        Self { cpus }
    }

    /// All hardware threads.
    pub fn all(&self) -> Cpus {
        self.cpus.iter().map(|cpu| cpu.number).collect()
    }

    /// One line for people: `2 sockets, 2 numa, 8 core, 16 hwthread`.
    pub fn describe(&self) -> String {
        let counts = Level::ALL[1..].iter().map(|level| {
            let count = self.parts(*level).len();
            format!("{count} {}", level.name())
        });
        counts.collect::<Vec<_>>().join(", ")
    }
}

/// The lowest number in a file that lists hardware threads.
fn lowest(file: &Path) -> Option<usize> {
    affinity::parse_list(std::fs::read_to_string(file).ok()?.trim()).first().copied()
}

/// The core of a hardware thread, by the lowest number of its threads.
fn core_of(root: &Path, number: usize) -> usize {
    let folder = root.join(format!("cpu/cpu{number}/topology"));
    let siblings = lowest(&folder.join("thread_siblings_list"));
    siblings.or_else(|| lowest(&folder.join("core_cpus_list"))).unwrap_or(number)
}

impl Cpu {
    fn read(root: &Path, number: usize, nodes: &[(usize, Cpus)]) -> Self {
        let folder = root.join(format!("cpu/cpu{number}"));
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let lowest = |name: &str| lowest(&folder.join(name));
        let core = core_of(root, number);
        let socket = text("topology/physical_package_id");
        let socket = socket.and_then(|id| id.trim().parse::<usize>().ok()).unwrap_or(0);
        let numa = nodes.iter().find(|(_, cpus)| cpus.contains(&number)).map_or(0, |node| node.0);
        let mut parts = [0, socket, numa, usize::MAX, core, core, core, number];
        for index in 0..CACHES_MAX {
            let cache = |name: &str| format!("cache/index{index}/{name}");
            let Some(kind) = text(&cache("type")) else { break };
            let level = text(&cache("level")).and_then(|level| level.trim().parse::<usize>().ok());
            let part = match level {
                _ if kind.trim() == "Instruction" => continue,
                Some(1) => Level::L1,
                Some(2) => Level::L2,
                Some(3) => Level::L3,
                _ => continue,
            };
            if let Some(shared) = lowest(&cache("shared_cpu_list")) {
                parts[part as usize] = shared;
            }
        }
        if parts[Level::L3 as usize] == usize::MAX {
            // No third cache: what shares a socket.
            parts[Level::L3 as usize] = socket;
        }
        Self { number, parts }
    }
}

/// No processor has more caches.
const CACHES_MAX: usize = 16;
/// No machine has more NUMA nodes (the kernel's CONFIG_NODES_SHIFT is at most 10).
const NODES_MAX: usize = 1024;

fn numa_nodes(root: &Path) -> Vec<(usize, Cpus)> {
    let entries = std::fs::read_dir(root.join("node")).into_iter().flatten().flatten();
    let mut nodes: Vec<(usize, Cpus)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix("node")?.parse().ok()?;
            let list = std::fs::read_to_string(entry.path().join("cpulist")).ok()?;
            Some((number, affinity::parse_list(list.trim())))
        })
        .take(NODES_MAX)
        .collect();
    nodes.sort_by_key(|(number, _)| *number);
    nodes
}

#[cfg(test)]
pub mod made_up {
    use super::*;

    /// A machine of two sockets with two NUMA nodes each, four cores of two hardware threads in
    /// every node; threads are numbered as usual, first threads of all cores before second ones.
    pub fn two_sockets() -> Topology {
        let dir = tempfile::tempdir().expect("folder");
        let write = |path: String, text: String| {
            let file = dir.path().join(path);
            std::fs::create_dir_all(file.parent().expect("folder")).expect("folder");
            std::fs::write(file, text + "\n").expect("write");
        };
        for cpu in 0..32 {
            let core = cpu % 16;
            let folder = format!("cpu/cpu{cpu}");
            let siblings = format!("{core},{}", core + 16);
            write(format!("{folder}/topology/thread_siblings_list"), siblings.clone());
            write(format!("{folder}/topology/physical_package_id"), (core / 8).to_string());
            let socket = core / 8 * 8;
            let shared = format!("{socket}-{},{}-{}", socket + 7, socket + 16, socket + 23);
            let caches = [
                ("Data", 1, siblings.clone()),
                ("Instruction", 1, siblings.clone()),
                ("Unified", 2, siblings),
                ("Unified", 3, shared),
            ];
            for (index, (kind, level, list)) in caches.into_iter().enumerate() {
                let cache = format!("{folder}/cache/index{index}");
                write(format!("{cache}/type"), kind.to_string());
                write(format!("{cache}/level"), level.to_string());
                write(format!("{cache}/shared_cpu_list"), list);
            }
        }
        for node in 0..4 {
            let first = node * 4;
            let list = format!("{first}-{},{}-{}", first + 3, first + 16, first + 19);
            write(format!("node/node{node}/cpulist"), list);
        }
        Topology::read(dir.path(), &(0..32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_of_two_sockets() {
        let machine = made_up::two_sockets();
        let counts = Level::ALL.map(|level| machine.parts(level).len());
        assert_eq!(counts, [1, 2, 4, 2, 16, 16, 16, 32]);
        assert_eq!(machine.parts(Level::Core)[5], Cpus::from([5, 21]));
        assert_eq!(machine.parts(Level::Numa)[1], (4..8).chain(20..24).collect());
        // Logical order: a core's threads are neighbours.
        assert_eq!(machine.parts(Level::HwThread)[1], Cpus::from([16]));
        let socket = &machine.parts(Level::Socket)[1];
        assert_eq!(machine.parts_in(Level::Core, socket)[0], Cpus::from([8, 24]));
        let core = Cpus::from([9, 25]);
        assert_eq!(machine.parts_in(Level::Numa, &core), [(8..12).chain(24..28).collect()]);
        assert!(machine.describe().starts_with("2 socket, 4 numa, 2 l3cache"));
    }

    #[test]
    fn what_the_kernel_does_not_say() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Topology::read(dir.path(), &Cpus::from([0, 1, 5]));
        let counts = Level::ALL.map(|level| machine.parts(level).len());
        assert_eq!(counts, [1, 1, 1, 1, 3, 3, 3, 3]);
        let half = made_up::two_sockets().within(&(0..4).collect());
        assert_eq!(half.parts(Level::Core).len(), 4);
        assert_eq!(half.parts(Level::Socket).len(), 1);
    }

    #[test]
    fn this_machine() {
        let machine = Topology::here().unwrap();
        assert_eq!(machine.all(), affinity::allowed().unwrap());
        assert_eq!(machine.parts(Level::Core).len(), Topology::usable_cores().unwrap());
        for level in Level::ALL {
            let joined: Cpus = machine.parts(level).into_iter().flatten().collect();
            assert_eq!(joined, machine.all());
        }
    }

    #[test]
    fn names() {
        for level in Level::ALL {
            assert_eq!(Level::of(level.name()), Some(level));
        }
        assert_eq!(Level::of("PACKAGE"), Some(Level::Socket));
        assert_eq!(Level::of("rack"), None);
    }
}
