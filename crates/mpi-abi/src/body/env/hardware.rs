//! What this process is bound to (section 9.1.2), from the kernel's own description in sysfs.

use crate::body::check::out;
use crate::generated::constants::*;
use crate::object::info::{self, Info};
use crate::raise::anywhere;
use core::ffi::c_int;
use std::collections::BTreeSet;
use std::path::Path;

/// The processors that this process may run on.
fn allowed() -> BTreeSet<usize> {
    // SAFETY: a set of plain bits, for which zero is a valid value.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: the set is as long as we say; 0 means the calling thread.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0 {
        return BTreeSet::new();
    }
    // SAFETY: the numbers stay within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
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

/// True when some file of those that `paths` names lists all of `cpus`.
fn inside(cpus: &BTreeSet<usize>, mut paths: impl Iterator<Item = std::path::PathBuf>) -> bool {
    paths.any(|path| {
        std::fs::read_to_string(path).is_ok_and(|text| cpus.is_subset(&parse_list(&text)))
    })
}

/// Whether this process is bound to a single resource of each kind that is known.
fn bindings(root: &Path) -> Info {
    let cpus = allowed();
    let mut info = Info::default();
    info.set("hwloc://Machine", "true");
    let Some(first) = cpus.first() else { return info };
    let topology = root.join(format!("cpu/cpu{first}/topology"));
    let nodes = std::fs::read_dir(root.join("node")).into_iter().flatten().flatten();
    let mut lists = nodes.map(|node| node.path().join("cpulist"));
    let found = [
        ("hwloc://Package", inside(&cpus, [topology.join("package_cpus_list")].into_iter())),
        ("hwloc://NUMANode", inside(&cpus, &mut lists)),
        ("hwloc://Core", inside(&cpus, [topology.join("core_cpus_list")].into_iter())),
        ("hwloc://PU", cpus.len() == 1),
    ];
    for (key, bound) in found {
        info.set(key, if bound { "true" } else { "false" });
    }
    info
}

/// Keys are resource types in the names of hwloc; "true": the process is bound to one of them.
pub unsafe fn get_hw_resource_info(hw_info: *mut MPI_Info) -> c_int {
    anywhere("MPI_Get_hw_resource_info", || {
        out("hw_info", hw_info)?;
        let found = bindings(Path::new("/sys/devices/system"));
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

    #[test]
    fn one_processor_is_bound_to_all_that_holds_it() {
        let folder = std::env::temp_dir().join(format!("hpvm-hardware-{}", std::process::id()));
        let cpu = *allowed().first().unwrap();
        let topology = folder.join(format!("cpu/cpu{cpu}/topology"));
        std::fs::create_dir_all(&topology).unwrap();
        std::fs::create_dir_all(folder.join("node/node0")).unwrap();
        std::fs::write(topology.join("package_cpus_list"), "0-1023").unwrap();
        std::fs::write(topology.join("core_cpus_list"), "9999").unwrap();
        std::fs::write(folder.join("node/node0/cpulist"), "0-1023").unwrap();
        let info = bindings(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(info.get("hwloc://Package"), Some("true"));
        assert_eq!(info.get("hwloc://NUMANode"), Some("true"));
        assert_eq!(info.get("hwloc://Core"), Some("false"));
        assert_eq!(info.get("hwloc://PU") == Some("true"), allowed().len() == 1);
    }
}
