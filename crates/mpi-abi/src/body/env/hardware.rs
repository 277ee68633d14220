//! What this process is bound to (section 9.1.2), from the kernel's own description in sysfs.

use crate::body::check::out;
use crate::generated::constants::*;
use crate::object::info::{self, Info};
use crate::raise::anywhere;
use core::ffi::c_int;
use hpvm_mpi::comm::hardware::{Level, Localities, Locality};
use hpvm_shm::processors;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The processors that the calling thread may run on; none where the system does not tell.
fn allowed() -> BTreeSet<usize> {
    set_of(processors::own().as_ref())
}

fn set_of(mask: Option<&processors::Processors>) -> BTreeSet<usize> {
    let words = mask.into_iter().flatten().enumerate();
    words
        .flat_map(|(at, word)| {
            (0..64).filter(move |n| word >> n & 1 != 0).map(move |n| 64 * at + n)
        })
        .collect()
}

/// The processors of a list such as `0-3,8`. What is malformed is left out.
fn parse_list(text: &str) -> BTreeSet<usize> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            cpus.extend(first..=last.min(first + 0xffff));
        }
    }
    cpus
}

/// No processor has more caches.
const CACHES_MAX: usize = 16;

/// Where `cpus` are, as the files below `root` say. In a part is who has no processor outside of it, so the part of the first
/// one tells.
fn localities_of(root: &Path, cpus: &BTreeSet<usize>) -> Localities {
    let mut localities = Localities::default();
    let Some(first) = cpus.first() else { return localities };
    let folder = root.join(format!("cpu/cpu{first}"));
    let list = |path: PathBuf| {
        let text = std::fs::read_to_string(path).ok()?;
        Some(parse_list(&text)).filter(|list| list.contains(first))
    };
    // A part goes by its lowest processor. What starts with the same one is a part of another kind.
    let locality = |part: Option<BTreeSet<usize>>| match part {
        None => Locality::Absent,
        Some(part) if !cpus.is_subset(&part) => Locality::Several,
        Some(part) => part.first().map_or(Locality::Absent, |lowest| Locality::In(*lowest as u32)),
    };
    // The second name is that of older kernels.
    let either = |names: [&str; 2]| {
        names.into_iter().find_map(|name| list(folder.join("topology").join(name)))
    };
    localities[Level::Package as usize] =
        locality(either(["package_cpus_list", "core_siblings_list"]));
    localities[Level::Core as usize] = locality(either(["core_cpus_list", "thread_siblings_list"]));
    localities[Level::Thread as usize] = locality(Some(BTreeSet::from([*first])));
    let nodes = std::fs::read_dir(root.join("node")).into_iter().flatten().flatten();
    let node = nodes.filter_map(|node| list(node.path().join("cpulist"))).next();
    localities[Level::Numa as usize] = locality(node);
    for index in 0..CACHES_MAX {
        let cache = folder.join(format!("cache/index{index}"));
        let text = |name: &str| std::fs::read_to_string(cache.join(name)).ok();
        let Some(kind) = text("type") else { break };
        let level = match text("level").as_deref().map(str::trim) {
            _ if kind.trim() == "Instruction" => continue,
            Some("1") => Level::L1,
            Some("2") => Level::L2,
            Some("3") => Level::L3,
            _ => continue,
        };
        localities[level as usize] = locality(list(cache.join("shared_cpu_list")));
    }
    localities
}

/// Where the calling thread is, now: it may be bound otherwise later.
pub fn localities() -> Localities {
    localities_of(Path::new("/sys/devices/system"), &allowed())
}

/// Where a process of this host is that may use these processors.
pub fn localities_on(mask: &processors::Processors) -> Localities {
    localities_of(Path::new("/sys/devices/system"), &set_of(Some(mask)))
}

/// Whether this process is bound to a single resource of each kind that the machine has.
fn bindings(localities: &Localities) -> Info {
    let mut info = Info::default();
    info.set("hwloc://Machine", "true");
    for (level, locality) in Level::ALL.iter().zip(localities) {
        match locality {
            Locality::Absent => {}
            Locality::Several => info.set(level.uri(), "false"),
            Locality::In(_) => info.set(level.uri(), "true"),
        }
    }
    info
}

/// Keys are resource types in the names of hwloc; "true": the process is bound to one of them.
pub unsafe fn get_hw_resource_info(hw_info: *mut MPI_Info) -> c_int {
    anywhere("MPI_Get_hw_resource_info", || {
        out("hw_info", hw_info)?;
        let found = bindings(&localities());
        // SAFETY: checked above.
        unsafe { *hw_info = info::add(found)? };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(parse_list("0-2,5\n"), BTreeSet::from([0, 1, 2, 5]));
        assert_eq!(parse_list("7"), BTreeSet::from([7]));
        assert_eq!(parse_list(""), BTreeSet::new());
        assert_eq!(parse_list("x,3-"), BTreeSet::new());
    }

    /// A machine of two packages of two NUMA nodes each, with two cores of two threads in every node: processors 0 to 7 are
    /// the first threads of the cores, 8 to 15 the second ones.
    fn made_up(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("hpvm-{name}-{}", std::process::id()));
        let write = |path: String, text: &str| {
            let file = folder.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("{text}\n")).unwrap();
        };
        for cpu in 0..16 {
            let core = cpu % 8;
            let siblings = format!("{core},{}", core + 8);
            let package = ["0-3,8-11", "4-7,12-15"][core / 4];
            write(format!("cpu/cpu{cpu}/topology/package_cpus_list"), package);
            write(format!("cpu/cpu{cpu}/topology/core_cpus_list"), &siblings);
            let caches = [
                ("Data", "1", &*siblings),
                ("Instruction", "1", "0-15"),
                ("Unified", "3", package),
            ];
            for (index, (kind, level, list)) in caches.into_iter().enumerate() {
                write(format!("cpu/cpu{cpu}/cache/index{index}/type"), kind);
                write(format!("cpu/cpu{cpu}/cache/index{index}/level"), level);
                write(format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"), list);
            }
        }
        for (node, list) in ["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"].iter().enumerate() {
            write(format!("node/node{node}/cpulist"), list);
        }
        folder
    }

    #[test]
    fn a_process_is_in_all_that_holds_its_processors() {
        let machine = made_up("localities");
        let of = |cpus: &[usize]| localities_of(&machine, &cpus.iter().copied().collect());
        let [several, absent] = [Locality::Several, Locality::Absent];
        let found =
            [[13].as_slice(), &[5, 13], &[6, 7, 14, 15], &[4, 6], &[0, 4], &[], &[99]].map(of);
        std::fs::remove_dir_all(&machine).unwrap();
        let at = Locality::In;
        let expected = [
            [at(4), at(4), at(4), absent, at(5), at(5), at(13)],
            [at(4), at(4), at(4), absent, at(5), at(5), several],
            [at(4), at(6), at(4), absent, several, several, several],
            [at(4), several, at(4), absent, several, several, several],
            [several, several, several, absent, several, several, several],
            [absent; 7],
            [absent, absent, absent, absent, absent, absent, at(99)],
        ];
        assert_eq!(found, expected);
        let info = bindings(&expected[2]);
        let all = ["Machine", "Package", "NUMANode", "L3Cache", "L1Cache", "Core", "PU"];
        assert_eq!(info.iter().count(), all.len());
        for (name, bound) in all.into_iter().zip([true, true, true, true, false, false, false]) {
            assert_eq!(
                info.get(&format!("hwloc://{name}")),
                Some(if bound { "true" } else { "false" })
            );
        }
    }
}
