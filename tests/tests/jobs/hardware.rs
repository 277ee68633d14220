//! Communicators that are split, and topologies that are ordered, by parts of the machine, which is made up: the jobs see its description in the place of the kernel's.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bound::two_processors;
use crate::common::{PATIENCE, folder, prefix, program, run_within, scratch, sources, workspace};
use hpvm_tests::process::clean;
use hpvm_tests::skip::skipped;

/// A machine of one socket in which each of two processors has a NUMA node, a third cache and a core of its own.
fn made_up(processors: &[String; 2]) -> PathBuf {
    let machine = folder("made-up-machine");
    let write = |file: String, text: &str| {
        let file = machine.join(file);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, format!("{text}\n")).expect("a file");
    };
    for file in ["online", "possible", "present"] {
        let real = Path::new("/sys/devices/system/cpu").join(file);
        let text = std::fs::read_to_string(real).expect("Linux tells its processors");
        write(format!("cpu/{file}"), text.trim());
    }
    for (node, processor) in processors.iter().enumerate() {
        let folder = format!("cpu/cpu{processor}");
        write(format!("{folder}/topology/physical_package_id"), "0");
        write(format!("{folder}/topology/package_cpus_list"), "0-1023");
        for file in ["thread_siblings_list", "core_cpus_list"] {
            write(format!("{folder}/topology/{file}"), processor);
        }
        write(format!("{folder}/cache/index0/type"), "Unified");
        write(format!("{folder}/cache/index0/level"), "3");
        write(format!("{folder}/cache/index0/shared_cpu_list"), processor);
        write(format!("node/node{node}/cpulist"), processor);
    }
    machine
}

/// What the ranks of a job on that machine say; `None`: there is no such machine here.
fn say(machine: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let script = "mount --bind \"$1\" /sys/devices/system || exit 77; shift; exec \"$@\"";
    let mut command = clean("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]).arg(machine);
    command.arg(prefix().join("bin/mpirun")).args(arguments);
    let outcome = run_within(command, PATIENCE);
    if outcome.code == Some(77) || outcome.output.contains("unshare failed") {
        skipped(&format!("needs mount namespaces: {}", outcome.output.trim()));
        return None;
    }
    assert_eq!(outcome.code, Some(0), "{arguments:?}: {}", outcome.output);
    Some(outcome.output.lines().map(str::to_owned).collect())
}

/// The same, in order.
fn say_in_order(machine: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let mut lines = say(machine, arguments)?;
    lines.sort_unstable();
    Some(lines)
}

/// What a rank says: those that are with it in a part that `small` ranks and `all` ranks share; how far it goes in steps; with
/// whom it is when rank 0 takes no part.
fn lines(rank: u32, small: &str, all: &str, without: &str) -> Vec<String> {
    let names = [
        ("mpi_shared_memory", all),
        ("hwloc://Machine", all),
        ("hwloc://Package", all),
        ("socket", all),
        ("hwloc://NUMANode", small),
        ("hwloc://L3Cache", small),
        ("hwloc://Core", small),
        ("hwloc://PU", small),
        ("hwloc://Rack", "none"),
        ("mpi://WORLD", all),
        ("mpi://SELF", &rank.to_string()),
        ("app://none", "none"),
        ("without", without),
    ];
    let mut lines: Vec<String> =
        names.iter().map(|(name, with)| format!("{rank} {name} {with}")).collect();
    for name in ["Machine", "Package", "NUMANode", "L3Cache", "Core", "PU"] {
        let one = small != "none" || ["Machine", "Package"].contains(&name);
        lines.push(format!("{rank} info hwloc://{name} {one}"));
    }
    if small != "none" {
        lines.push(format!("{rank} step hwloc://NUMANode {small}"));
    }
    lines
}

#[test]
fn communicators_are_split_by_parts_of_the_machine() {
    let Some(processors) = two_processors() else { return skipped("one processor") };
    let machine = made_up(&processors);
    let program = program("hardware");
    let program = program.to_str().expect("a path of text");
    let [a, b] = &processors;

    // Rank 3 is bound to nothing.
    let bind = format!("{a},{b},{a},-");
    let bound = ["-n", "4", "--bind-to", "none", program, "bind", &bind];
    let Some(said) = say_in_order(&machine, &bound) else { return };
    let all = "0,1,2,3";
    let mut expected = [
        lines(0, "0,2", all, "none"),
        lines(1, "1", all, "1"),
        lines(2, "0,2", all, "2"),
        lines(3, "none", all, "none"),
    ]
    .concat();
    expected.sort_unstable();
    assert_eq!(said, expected);

    let bound = ["-n", "2", "--bind-to", "core", program, "bound"];
    let Some(said) = say_in_order(&machine, &bound) else { return };
    let mut expected = [lines(0, "0", "0,1", "none"), lines(1, "1", "0,1", "none")].concat();
    expected.sort_unstable();
    assert_eq!(said, expected);
}

/// Open MPI's own types: ranks 0 and 2 are bound to one processor, rank 1 to the other, ranks 3 and 4 to none.
#[test]
fn open_mpis_own_ways_to_split() {
    let Some(processors) = two_processors() else { return skipped("one processor") };
    let machine = made_up(&processors);
    let binary = scratch().join("split-ompi");
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Werror", "-I"]).arg(workspace().join("tests/abi/ompi"));
    cc.arg(sources().join("split_ompi.c")).arg(prefix().join("lib/libmpi.so.40"));
    let output = cc.arg("-o").arg(&binary).output().expect("cc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let binary = binary.to_str().expect("a path of text");

    let [a, b] = &processors;
    let bind = format!("{a},{b},{a},-,-");
    let Some(mut said) = say(&machine, &["-n", "5", "--bind-to", "none", binary, &bind]) else {
        return;
    };
    let mut expected = Vec::new();
    for rank in 0..5 {
        let with = ["0,2", "1", "0,2", "3", "4"][rank];
        let all = "0,1,2,3,4";
        let by_key = ["2,0", "1", "2,0", "3", "4"][rank];
        let rows = [
            ("hwthread", with),
            ("core", by_key),
            // The machine has none.
            ("l1cache", &rank.to_string()),
            ("l3cache", with),
            ("socket", all),
            ("numa", with),
            ("board", all),
            ("host", all),
            ("cu", all),
            ("cluster", all),
            ("without", if rank == 1 { "none" } else { with }),
            ("beyond", "error"),
        ];
        expected.extend(rows.map(|(name, with)| format!("{rank} {name} {with}")));
    }
    said.sort_unstable();
    expected.sort_unstable();
    assert_eq!(said, expected);
}

/// Ranks that go to two NUMA nodes by turns: half of the neighbours of a grid and all of some graphs would be on the other one.
#[test]
fn topologies_are_reordered_inside_of_a_host() {
    let Some(processors) = two_processors() else { return skipped("one processor") };
    let machine = made_up(&processors);
    let program = program("reorder");
    let program = program.to_str().expect("a path of text");
    let [a, b] = &processors;
    let ordered = ["8 to 4", "8 to 8", "0 to 0", "8 to 0", "8 to 0", "8 to 0", "8 to 0"];
    let by_turns = format!("user:{a},{b}");
    for part in ["hwloc://NUMANode", "hwloc://L3Cache", "hwloc://Core"] {
        let line = ["-n", "8", "--bind-to", &by_turns, program, part];
        let Some(said) = say(&machine, &line) else { return };
        assert_eq!(said, ordered, "{part}");
    }

    // Who binds itself later is found where some were bound, and not where nobody was.
    let half = format!("user:{a}+{b},{a}");
    let line = ["-n", "8", "--bind-to", &half, program, "hwloc://NUMANode"];
    let said = say(&machine, &line).expect("as above");
    assert_eq!(said, ordered, "half of them bound");
    let none = ["-n", "8", "--bind-to", "none", program, "hwloc://NUMANode"];
    let said = say(&machine, &none).expect("as above");
    assert_eq!(said, ["0 to 0"; 7], "none bound");
    let own = ["-n", "8", "--bind-to", "none", program, "hwloc://NUMANode", "bind"];
    let said = say(&machine, &own).expect("as above");
    let kept = ["8 to 8", "8 to 8", "0 to 0", "8 to 8", "8 to 8", "8 to 8", "8 to 8"];
    assert_eq!(said, kept, "bound by themselves");
}
