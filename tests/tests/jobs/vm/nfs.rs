//! Files on NFS: three test hosts, of which one serves a disk and two mount it, each with a client and a memory of its own.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use hpvm_tests::hosts::Hosts;
use hpvm_tests::process::Outcome;

use super::{LONG, ext4, inside, nfs, until, well};
use crate::common::{conformance, folder, number_after, prefix, program, run_within, tell};

/// The folders of the server: a disk, and a small one.
const EXPORT: &str = "/mnt/export";
const SMALL: &str = "/mnt/export/small";
/// Where clients have them, by the version of NFS.
const MOUNTS: [(&str, &str, &str); 2] =
    [("4.2", "/mnt/nfs4", "/mnt/small4"), ("3", "/mnt/nfs3", "/mnt/small3")];
const SERVER: u32 = 3;

struct Nfs {
    hosts: Hosts,
}

/// One server for all tests: the machine ends with them.
fn served() -> &'static Nfs {
    static NFS: OnceLock<Nfs> = OnceLock::new();
    NFS.get_or_init(Nfs::up)
}

impl Nfs {
    fn up() -> Nfs {
        inside();
        // Nobody holds locks from before the server started: no need to wait for them for a minute.
        well(super::words(&["modprobe", "lockd"]));
        std::fs::write("/proc/sys/fs/nfs/nlm_timeout", "3").expect("lockd's time");
        let nfs = Nfs { hosts: Hosts::up(3, &[]).expect("test hosts") };
        for host in 1..=3 {
            nfs.on(host, &[&tool(), "prepare"]);
        }
        let disks =
            [(EXPORT, ext4(300 << 10, &[])), (SMALL, ext4(1 << 10, &["-O", "^has_journal"]))];
        for (number, (place, disk)) in disks.iter().enumerate() {
            nfs.on(SERVER, &["mkdir", "-p", place]);
            nfs.on(SERVER, &["mount", "-o", "loop", disk.to_str().unwrap(), place]);
            nfs.on(SERVER, &["chmod", "1777", place]);
            nfs.on(SERVER, &[&tool(), "export", place, &number.to_string()]);
        }
        nfs.on(SERVER, &[&tool(), "serve"]);
        let server = nfs.hosts.name(SERVER);
        for host in [1, 2] {
            for (version, large, small) in MOUNTS {
                // Version 4 sees the folder of number 0 as the top.
                let (top, inner) = if version == "3" { (EXPORT, SMALL) } else { ("/", "/small") };
                for (folder, place) in [(top, large), (inner, small)] {
                    let what = format!("{server}:{folder}");
                    nfs.on(host, &[&tool(), "mount", &what, version, place]);
                }
            }
        }
        nfs
    }

    /// A command on a host; gives its output.
    fn on(&self, host: u32, words: &[&str]) -> String {
        let mut command = self.hosts.command(host, words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        // Nobody looks for what it leaves behind: daemons are to stay.
        let output = command.output().expect("a command on a host");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A job on both clients, or on the first alone.
    fn job(&self, hosts: u32, ranks: u32, program: &Path, words: &[&str]) -> Command {
        let list: Vec<_> = (1..=hosts).map(|host| self.hosts.name(host)).collect();
        let mut command = self.hosts.command(1, prefix().join("bin/mpirun"));
        command.args(["-H", &list.join(","), "-n", &ranks.to_string(), "--map-by", "node"]);
        command.args(["--oversubscribe", "-x", "TMPDIR", "--launch-agent"]).arg(Hosts::agent());
        command.arg(program).args(words);
        command
    }

    /// What lies at the server, then taken away: files that a job has made, and helpers, of which none may be.
    fn left(&self) -> Vec<String> {
        let listed = self.on(SERVER, &["find", EXPORT, "-type", "f", "-printf", "%f\n", "-delete"]);
        listed.lines().map(str::to_string).collect()
    }
}

fn tool() -> String {
    nfs().to_str().expect("a path of plain characters").to_string()
}

/// A part of the program `mounts`.
fn part(nfs: &Nfs, part: &str, folder: &str) -> Outcome {
    run_within(nfs.job(2, 3, &program("mounts"), &[part, folder]), LONG)
}

#[test]
#[ignore = "make vm"]
fn what_one_host_writes_the_others_read() {
    let nfs = served();
    for (version, folder, _) in MOUNTS {
        for name in ["neighbours", "gathered", "alone", "atomic", "shared", "remembered"] {
            let outcome = part(nfs, name, folder);
            let said = &outcome.output;
            assert!(
                outcome.code == Some(0) && said.contains("mounts: well"),
                "{version} {name}: {said}"
            );
            let expected: &[&str] = if name == "remembered" { &[] } else { &[name] };
            assert_eq!(nfs.left(), expected, "{version} {name}");
        }
    }
}

#[test]
#[ignore = "make vm"]
fn conformance_programs() {
    let nfs = served();
    for (version, folder, _) in MOUNTS {
        for name in ["io_basic", "io_together", "io_nonblocking", "thread_files"] {
            let mut command = nfs.job(2, 2, &conformance(name), &[]);
            command.env("TMPDIR", folder);
            let outcome = run_within(command, LONG);
            let said = &outcome.output;
            assert!(
                outcome.code == Some(0) && said.contains("No errors"),
                "{version} {name}: {said}"
            );
            assert!(nfs.left().is_empty(), "{version} {name} leaves files");
        }
    }
}

/// The cable of the server is out while a job writes.
#[test]
#[ignore = "make vm"]
fn a_server_that_does_not_answer_for_a_while_only_delays() {
    let nfs = served();
    let command = nfs.job(2, 3, &program("mounts"), &["neighbours", MOUNTS[0].1]);
    std::thread::scope(|scope| {
        let job = scope.spawn(|| run_within(command, LONG));
        until("the file", || nfs.on(SERVER, &["ls", EXPORT]).contains("neighbours"));
        nfs.hosts.link(SERVER, "net0", false);
        std::thread::sleep(std::time::Duration::from_secs(3));
        nfs.hosts.link(SERVER, "net0", true);
        let outcome = job.join().expect("a job");
        assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    });
    assert_eq!(nfs.left(), ["neighbours"]);
}

#[test]
#[ignore = "make vm"]
fn a_file_that_is_removed_at_the_server_is_an_error_and_nobody_hangs() {
    let nfs = served();
    for (version, mount, _) in MOUNTS {
        let signs = folder("signs").join("sign");
        let signs = signs.to_str().expect("a path of plain characters");
        let command = nfs.job(2, 3, &program("mounts"), &["removed", mount, signs]);
        let outcome = std::thread::scope(|scope| {
            let job = scope.spawn(|| run_within(command, LONG));
            until("the question", || {
                Path::new(&format!("{signs}.remove")).exists() || job.is_finished()
            });
            nfs.on(SERVER, &["rm", "-f", &format!("{EXPORT}/removed")]);
            std::fs::write(format!("{signs}.remove.done"), "").expect("a sign");
            job.join().expect("a job")
        });
        let said = &outcome.output;
        assert!(outcome.code == Some(0) && said.contains("mounts: well"), "{version}: {said}");
        // Version 4 tells the server which files are open.
        assert!(version != "3" || said.contains("removed: stale"), "{version}: {said}");
        assert!(nfs.left().is_empty(), "{version}");
    }
}

#[test]
#[ignore = "make vm"]
fn a_rank_that_is_killed_leaves_no_lock() {
    let nfs = served();
    for (version, folder, _) in MOUNTS {
        let mut command = nfs.job(2, 2, &program("mounts"), &["killed", folder]);
        let mut job: Child = command.stdout(Stdio::piped()).spawn().expect("a job");
        let mut said = String::new();
        let mut lines = std::io::BufReader::new(job.stdout.take().expect("its output"));
        std::io::BufRead::read_line(&mut lines, &mut said).expect("a line");
        let pid = number_after(&said, "process").unwrap_or_else(|| panic!("{version}: {said}"));
        let number = nfs.on(SERVER, &["stat", "-c", "%i", &format!("{EXPORT}/killed")]);
        let disk = std::fs::metadata(format!("/proc/{}/root{EXPORT}", first_process(nfs)));
        let device = disk.expect("the disk").dev();
        let (major, minor) = (libc::major(device), libc::minor(device));
        let file = format!("{major:02x}:{minor:02x}:{} ", number.trim());
        let locked = || std::fs::read_to_string("/proc/locks").expect("locks").contains(&file);
        until("a lock at the server", locked);
        // SAFETY: a number, of a process of the job; it touches no memory.
        unsafe { libc::kill(pid as i32, libc::SIGKILL) };
        assert_eq!(job.wait().expect("the job").code(), Some(137), "{version}");
        until("no lock at the server", || !locked());
        assert_eq!(nfs.left(), ["killed"], "{version}");
    }
}

/// A process on the server, for what it has mounted.
fn first_process(nfs: &Nfs) -> String {
    let path = format!("/run/hpvm-hosts/{}/{SERVER}.pid", nfs.hosts.prefix());
    std::fs::read_to_string(path).expect("a process").trim().to_string()
}

#[test]
#[ignore = "make vm"]
fn a_full_export_is_an_error_of_all_that_must_know() {
    let nfs = served();
    for (version, _, small) in MOUNTS {
        // Several hosts go past their memory, and hear at once; one hears when it writes back.
        for (hosts, ranks, when) in [(2, 3, "at once"), (1, 2, "late")] {
            let file = format!("{small}/file");
            let outcome =
                run_within(nfs.job(hosts, ranks, &program("full"), &[&file, "device", when]), LONG);
            let said = &outcome.output;
            let label = format!("{version}, {hosts} hosts");
            tell(&label);
            assert!(outcome.code == Some(0) && said.contains("full: well"), "{label}: {said}");
            assert!(nfs.left().is_empty(), "{label}");
        }
    }
}
