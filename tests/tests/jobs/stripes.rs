//! Files in stripes on the disks of several hosts: each test host has a `/dev/shm` of its own. Skipped, with a
//! message, where test hosts cannot be had.

use std::path::{Path, PathBuf};
use std::process::Command;

use hpvm_tests::hosts::Hosts;
use hpvm_tests::process::Outcome;

use crate::common::{PATIENCE, folder, prefix, program, run_within, succeed};

const DISK: &str = "/dev/shm/disk";
const RANKS: usize = 6;

/// Hosts with a disk each, that of the second as large as is said.
fn hosts(count: u32, second: Option<&str>) -> Option<Hosts> {
    let hosts = Hosts::up(count, &[])?;
    for host in 1..=count {
        let mut command = hosts.command(host, "mkdir");
        command.arg(DISK);
        succeed(command);
    }
    if let Some(size) = second {
        let mut command = hosts.command(2, "mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", DISK]);
        succeed(command);
    }
    Some(hosts)
}

/// A job of the program on some hosts.
fn job(hosts: &Hosts, on: &[u32], words: &[&str]) -> Command {
    let list: Vec<_> = on.iter().map(|host| hosts.name(*host)).collect();
    let mut command = hosts.command(on[0], prefix().join("bin/mpirun"));
    command.args(["-H", &list.join(","), "-n", &RANKS.to_string(), "--map-by", "node"]);
    command.args(["--oversubscribe", "--launch-agent"]).arg(Hosts::agent());
    command.arg(program("striped")).args(words);
    command
}

/// The same, which goes on when ranks die.
fn lasting(hosts: &Hosts, words: &[&str]) -> Command {
    let list = [hosts.name(1), hosts.name(2)].join(",");
    let mut command = hosts.command(1, prefix().join("bin/mpirun"));
    command.args(["-H", &list, "-n", &RANKS.to_string(), "--map-by", "node", "--oversubscribe"]);
    command.args(["--enable-recovery", "--launch-agent"]).arg(Hosts::agent());
    command.arg(program("striped")).args(words);
    command
}

fn well(hosts: &Hosts, on: &[u32], words: &[&str]) {
    let output = succeed(job(hosts, on, words));
    assert!(output.contains("striped: well"), "{words:?}: {output}");
}

/// `hpvm stripes` on a host.
fn stripes(hosts: &Hosts, host: u32, words: &[&str]) -> Outcome {
    let mut command = hosts.command(host, prefix().join("bin/hpvm"));
    command.args(["stripes", words[0], "--launch-agent"]).arg(Hosts::agent()).args(&words[1..]);
    run_within(command, PATIENCE)
}

/// What lies on the disk of a host.
fn on_disk(hosts: &Hosts, host: u32) -> Vec<PathBuf> {
    let mut command = hosts.command(host, "ls");
    command.arg(DISK);
    succeed(command).lines().map(|line| Path::new(DISK).join(line)).collect()
}

/// The bytes that the program writes.
fn pattern() -> Vec<u8> {
    let bytes = 0..(1000 * 300 * RANKS) as u64;
    bytes.map(|at| (at * 7 + at / 251 + 1) as u8).collect()
}

fn names(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

#[test]
fn what_a_job_writes_comes_back_as_one_file() {
    let Some(hosts) = hosts(3, None) else { return };
    let home = folder("stripes");
    let (file, back) = (home.join("out put"), home.join("back"));
    let (file, back) = (names(&file), names(&back));
    well(&hosts, &[1, 2, 3], &["write", file, DISK]);
    for host in 1..=3 {
        assert_eq!(on_disk(&hosts, host).len(), 1, "one stripe on each disk");
    }
    let cat = stripes(&hosts, 2, &["cat", "-o", back, file]);
    assert_eq!(cat.code, Some(0), "{}", cat.output);
    assert!(std::fs::read(back).expect("the copy") == pattern(), "other bytes");
    // Read and changed by later jobs, with their ranks elsewhere on the hosts.
    well(&hosts, &[3, 1, 2], &["read", file]);
    well(&hosts, &[2, 3, 1], &["more", file]);
    let cat = stripes(&hosts, 1, &["cat", "-o", back, file]);
    assert_eq!(cat.code, Some(0), "{}", cat.output);
    assert!(std::fs::read(back).expect("the copy") == pattern(), "other bytes");
    let info = stripes(&hosts, 1, &["info", file]);
    assert_eq!(info.code, Some(0), "{}", info.output);
    assert!(
        info.output.contains("1800000 bytes in 3 stripes, by units of 8192"),
        "{}",
        info.output
    );

    // A host is missing, and a file is there already.
    let refused = succeed(job(&hosts, &[1, 3], &["refused", file]));
    assert!(refused.contains(&hosts.name(2)), "the host's name: {refused}");
    let plain = home.join("plain");
    std::fs::write(&plain, "x").expect("a file");
    let refused = succeed(job(&hosts, &[1, 2], &["refused", names(&plain), DISK]));
    assert!(refused.contains("is not striped"), "{refused}");
    let nowhere = home.join("nowhere");
    let refused = succeed(job(&hosts, &[1, 2], &["refused", names(&nowhere), "/dev/shm/none"]));
    assert!(refused.contains("No such file"), "{refused}");
    assert!(!nowhere.exists(), "nothing is left of a file that could not be made");
    let refused = succeed(job(&hosts, &[1, 2], &["refused", names(&nowhere), "relative"]));
    assert!(refused.contains("hpvm_stripes is 'relative'"), "{refused}");

    // A stripe that is cut short, of another file, or gone.
    let stripe = on_disk(&hosts, 2)[0].clone();
    let damage = |words: &str| {
        let mut command = hosts.command(2, "sh");
        command.args(["-c", words, "sh"]).arg(&stripe);
        succeed(command);
    };
    damage("cp \"$1\" \"$1.kept\"; truncate -s -1 \"$1\"");
    let cat = stripes(&hosts, 1, &["cat", "-o", back, file]);
    assert!(cat.code == Some(1) && cat.output.contains("expected"), "{}", cat.output);
    let refused = succeed(job(&hosts, &[1, 2, 3], &["refused", file]));
    assert!(!refused.contains("-1 "), "{refused}");
    damage("cp \"$1.kept\" \"$1\"; printf x | dd of=\"$1\" bs=1 seek=20 conv=notrunc 2>/dev/null");
    for verb in ["cat", "info", "rm"] {
        let words: &[&str] = if verb == "cat" { &["cat", "-o", back, file] } else { &[verb, file] };
        let outcome = stripes(&hosts, 1, words);
        assert_eq!(outcome.code, Some(1), "{}", outcome.output);
        assert!(outcome.output.contains("stripe of another file"), "{}", outcome.output);
    }
    damage("rm \"$1\"");
    let cat = stripes(&hosts, 3, &["cat", "-o", back, file]);
    assert!(cat.code == Some(1) && cat.output.contains("is missing"), "{}", cat.output);
    damage("rm \"$1.kept\"");
    let removed = stripes(&hosts, 3, &["rm", file]);
    assert_eq!(removed.code, Some(0), "{}", removed.output);
    assert!(!Path::new(file).exists(), "the file's name is gone");
    for host in 1..=3 {
        assert!(on_disk(&hosts, host).is_empty(), "nothing is left on host {host}");
    }
    std::fs::remove_dir_all(&home).expect("the folder");
}

#[test]
fn what_ranks_access_alone_comes_back_as_one_file() {
    let Some(hosts) = hosts(3, None) else { return };
    let home = folder("stripes alone");
    let (file, back) = (home.join("file"), home.join("back"));
    let (file, back) = (names(&file), names(&back));
    well(&hosts, &[1, 2, 3], &["alone", file, DISK]);
    let cat = stripes(&hosts, 1, &["cat", "-o", back, file]);
    assert_eq!(cat.code, Some(0), "{}", cat.output);
    assert!(std::fs::read(back).expect("the copy") == pattern(), "other bytes");
    std::fs::remove_dir_all(&home).expect("the folder");
}

#[test]
fn a_job_that_dies_leaves_an_incomplete_file() {
    let Some(hosts) = hosts(2, None) else { return };
    let home = folder("stripes killed");
    let (file, back) = (home.join("file"), home.join("back"));
    let (file, back) = (names(&file), names(&back));
    let died = run_within(job(&hosts, &[1, 2], &["killed", file, DISK]), PATIENCE);
    assert_ne!(died.code, Some(0), "{}", died.output);
    let info = stripes(&hosts, 1, &["info", file]);
    assert!(info.code == Some(1) && info.output.contains("was not closed"), "{}", info.output);
    let refused = succeed(job(&hosts, &[1, 2], &["refused", file]));
    assert!(refused.contains("was not closed"), "{refused}");
    let cat = stripes(&hosts, 1, &["cat", "-o", back, file]);
    assert!(cat.code == Some(1) && cat.output.contains("--incomplete"), "{}", cat.output);
    // All that was written is there.
    let cat = stripes(&hosts, 1, &["cat", "--incomplete", "-o", back, file]);
    assert_eq!(cat.code, Some(0), "{}", cat.output);
    assert!(std::fs::read(back).expect("the copy") == pattern(), "other bytes");
    let removed = stripes(&hosts, 2, &["rm", file]);
    assert_eq!(removed.code, Some(0), "{}", removed.output);
    assert!(on_disk(&hosts, 1).is_empty() && on_disk(&hosts, 2).is_empty());
    well(&hosts, &[1, 2], &["delete", file, DISK]);
    assert!(!Path::new(file).exists() && on_disk(&hosts, 2).is_empty());
    std::fs::remove_dir_all(&home).expect("the folder");
}

#[test]
fn the_stripe_of_a_host_whose_ranks_die_is_an_error_and_others_are_not() {
    let Some(hosts) = hosts(2, None) else { return };
    let home = folder("stripes lost");
    let file = home.join("file");
    let outcome = run_within(lasting(&hosts, &["lost", names(&file), DISK]), PATIENCE);
    for rank in [0, 2, 4] {
        let seen = format!("rank {rank} has seen it");
        assert!(outcome.output.contains(&seen), "{}", outcome.output);
    }
    assert!(
        outcome.output.contains(&format!("stripe 1 on host '{}'", hosts.name(2))),
        "{}",
        outcome.output
    );
    assert!(!outcome.output.contains("gives up"), "{}", outcome.output);
    std::fs::remove_dir_all(&home).expect("the folder");
}

#[test]
fn a_full_disk_of_one_host_is_an_error_of_all() {
    let Some(hosts) = hosts(2, Some("2m")) else { return };
    let home = folder("stripes full");
    let file = home.join("file");
    well(&hosts, &[1, 2], &["full", names(&file), DISK]);
    // Not even the header fits: nothing is left of the attempt.
    let mut command = hosts.command(2, "sh");
    command.args(["-c", &format!("rm {DISK}/*; cat /dev/zero >{DISK}/all 2>/dev/null; true")]);
    succeed(command);
    let other = home.join("other");
    let refused = succeed(job(&hosts, &[1, 2], &["refused", names(&other), DISK]));
    assert!(refused.contains("41 "), "MPI_ERR_NO_SPACE: {refused}");
    assert!(!other.exists(), "the name of a file that could not be made");
    assert_eq!(on_disk(&hosts, 1).len(), 1, "the stripe of the first file");
    std::fs::remove_dir_all(&home).expect("the folder");
}

/// On one host, without test hosts.
#[test]
fn beside_the_file_on_one_host() {
    let home = folder("stripes here");
    let file = home.join("file");
    let run = |words: &[&str]| {
        let mut command = hpvm_tests::process::clean(prefix().join("bin/mpirun"));
        command.args(["-n", "2", "--oversubscribe"]).arg(program("striped")).args(words);
        succeed(command)
    };
    let count = || std::fs::read_dir(&home).expect("the folder").count();
    let alone = home.join("alone");
    assert!(run(&["alone", names(&alone), "true"]).contains("well"));
    let mut command = hpvm_tests::process::clean(prefix().join("bin/mpirun"));
    command.args(["-n", "1"]).arg(program("striped")).args(["remove", names(&alone)]);
    assert!(succeed(command).contains("well"));
    assert!(run(&["write", names(&file), "true"]).contains("well"));
    assert_eq!(count(), 2, "the name and its stripe");
    assert!(run(&["read", names(&file)]).contains("well"));
    let mut cat = hpvm_tests::process::clean(prefix().join("bin/hpvm"));
    cat.args(["stripes", "cat"]).arg(&file);
    let output = cat.output().expect("hpvm");
    assert!(output.status.success() && output.stdout == pattern()[..600_000], "other bytes");
    // Garbage, and names outside.
    let text = std::fs::read_to_string(&file).expect("the manifest");
    for bad in [text.replace("end", ""), text.replacen(" /", " /etc/../", 1)] {
        let wrong = home.join("wrong");
        std::fs::write(&wrong, bad).expect("a file");
        for verb in ["info", "cat", "rm"] {
            let mut command = hpvm_tests::process::clean(prefix().join("bin/hpvm"));
            command.args(["stripes", verb]).arg(&wrong);
            let outcome = run_within(command, PATIENCE);
            assert_eq!(outcome.code, Some(1), "{}", outcome.output);
            assert!(outcome.output.contains("not a manifest"), "{}", outcome.output);
        }
        assert!(run(&["refused", names(&wrong)]).contains("not a manifest"));
        std::fs::remove_file(&wrong).expect("the file");
    }
    // A single rank deletes what lies on its host.
    let mut command = hpvm_tests::process::clean(prefix().join("bin/mpirun"));
    command.args(["-n", "1"]).arg(program("striped")).args(["remove", names(&file)]);
    assert!(succeed(command).contains("well"));
    assert_eq!(count(), 0, "everything is gone");
    std::fs::remove_dir_all(&home).expect("the folder");
}
