//! Files on NFS: three test hosts, of which one serves a disk and two mount it, each with a client and a memory of its own.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use hpvm_tests::hosts::Hosts;
use hpvm_tests::process::Outcome;

use super::{LONG, ext4, inside, nfs, until, well};
use crate::common::{conformance, folder, number_after, prefix, program, run_within, tell};

/// The folders of the server: a disk, a small one, and one where a quota bounds the user that all clients are.
const EXPORT: &str = "/mnt/export";
const SMALL: &str = "/mnt/export/small";
const QUOTA: &str = "/mnt/export/quota";
/// Who that is.
const USER: &str = "65534";
/// Where clients have them, by the version of NFS.
const MOUNTS: [Mounted; 2] = [
    Mounted { version: "4.2", large: "/mnt/nfs4", small: "/mnt/small4", quota: "/mnt/quota4" },
    Mounted { version: "3", large: "/mnt/nfs3", small: "/mnt/small3", quota: "/mnt/quota3" },
];
const SERVER: u32 = 3;
/// No files.
const NOTHING: [&str; 0] = [];

struct Mounted {
    version: &'static str,
    large: &'static str,
    small: &'static str,
    quota: &'static str,
}

struct Nfs {
    hosts: Hosts,
}

/// One server for all tests: the machine ends with them.
fn served() -> &'static Nfs {
    static NFS: OnceLock<Nfs> = OnceLock::new();
    let nfs = NFS.get_or_init(Nfs::up);
    // Of a test that has failed.
    nfs.left();
    nfs
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
        nfs.exports();
        nfs.on(SERVER, &[&tool(), "serve"]);
        for host in [1, 2] {
            nfs.mounts(host);
        }
        nfs
    }

    /// The disks of the server.
    fn exports(&self) {
        let counts = ["-O", "quota", "-E", "quotatype=usrquota"];
        let squashes = format!("all_squash,anonuid={USER},anongid={USER}");
        let disks = [
            (EXPORT, ext4(300 << 10, &[]), "loop", "no_root_squash"),
            (SMALL, ext4(1 << 10, &["-O", "^has_journal"]), "loop", "no_root_squash"),
            (QUOTA, ext4(64 << 10, &counts), "loop,usrquota", &squashes),
        ];
        for (number, (place, disk, mounting, options)) in disks.iter().enumerate() {
            self.on(SERVER, &["mkdir", "-p", place]);
            self.on(SERVER, &["mount", "-o", mounting, disk.to_str().unwrap(), place]);
            self.on(SERVER, &["chmod", "1777", place]);
            self.on(SERVER, &[&tool(), "export", place, &number.to_string(), options]);
        }
        self.on(SERVER, &["setquota", "-u", USER, "0", "1024", "0", "0", QUOTA]);
    }

    /// What a client mounts.
    fn mounts(&self, host: u32) {
        let server = self.hosts.name(SERVER);
        for Mounted { version, large, small, quota } in MOUNTS {
            for (folder, place) in [(EXPORT, large), (SMALL, small), (QUOTA, quota)] {
                // Version 4 sees the folder of number 0 as the top.
                let seen = match version {
                    "3" => folder,
                    _ => folder.strip_prefix(EXPORT).filter(|rest| !rest.is_empty()).unwrap_or("/"),
                };
                let what = format!("{server}:{seen}");
                self.on(host, &[&tool(), "mount", &what, version, place]);
            }
        }
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
        command.arg(program).args(words).env("TMPDIR", "/tmp");
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
    for Mounted { version, large, .. } in MOUNTS {
        for name in ["neighbours", "gathered", "alone", "atomic", "shared", "remembered"] {
            tell(&format!("{version} {name}"));
            let outcome = part(nfs, name, large);
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
    for Mounted { version, large, .. } in MOUNTS {
        for name in ["io_basic", "io_together", "io_nonblocking", "thread_files"] {
            tell(&format!("{version} {name}"));
            let mut command = nfs.job(2, 2, &conformance(name), &[]);
            command.env("TMPDIR", large);
            let outcome = run_within(command, LONG);
            let said = &outcome.output;
            assert!(
                outcome.code == Some(0) && said.contains("No errors"),
                "{version} {name}: {said}"
            );
            assert_eq!(nfs.left(), NOTHING, "{version} {name}");
        }
    }
}

/// The cable of the server is out while a job writes.
#[test]
#[ignore = "make vm"]
fn a_server_that_does_not_answer_for_a_while_only_delays() {
    let nfs = served();
    for Mounted { version, large, .. } in MOUNTS {
        tell(version);
        let command = nfs.job(2, 3, &program("mounts"), &["neighbours", large]);
        std::thread::scope(|scope| {
            let job = scope.spawn(|| run_within(command, LONG));
            let there = || nfs.on(SERVER, &["ls", EXPORT]).contains("neighbours");
            until("the file", || there() || job.is_finished());
            nfs.hosts.link(SERVER, "net0", false);
            std::thread::sleep(std::time::Duration::from_secs(3));
            // It has hundreds of round trips before it.
            let waits = !job.is_finished();
            nfs.hosts.link(SERVER, "net0", true);
            let outcome = job.join().expect("a job");
            assert!(waits && outcome.code == Some(0), "{version}: {}", outcome.output);
        });
        assert_eq!(nfs.left(), ["neighbours"], "{version}");
    }
}

#[test]
#[ignore = "make vm"]
fn a_file_that_is_removed_at_the_server_is_an_error_and_nobody_hangs() {
    let nfs = served();
    for Mounted { version, large, .. } in MOUNTS {
        let signs = folder("signs").join("sign");
        let signs = signs.to_str().expect("a path of plain characters");
        let command = nfs.job(2, 3, &program("mounts"), &["removed", large, signs]);
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
        assert_eq!(nfs.left(), NOTHING, "{version}");
    }
}

#[test]
#[ignore = "make vm"]
fn a_rank_that_is_killed_leaves_no_lock() {
    let nfs = served();
    for Mounted { version, large, .. } in MOUNTS {
        let mut command = nfs.job(2, 2, &program("mounts"), &["killed", large]);
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

/// The program `full` on both clients, which go past their memory and hear at once, and on one, which hears when it writes back.
fn fills(nfs: &Nfs, version: &str, folder: &str, what: &str) {
    for (hosts, ranks, when) in [(2, 3, "at once"), (1, 2, "late")] {
        let label = format!("{version}, {hosts} hosts");
        tell(&label);
        let file = format!("{folder}/file");
        let command = nfs.job(hosts, ranks, &program("full"), &[&file, what, when]);
        let outcome = run_within(command, LONG);
        let said = &outcome.output;
        assert!(outcome.code == Some(0) && said.contains("full: well"), "{label}: {said}");
        assert_eq!(nfs.left(), NOTHING, "{label}");
    }
}

#[test]
#[ignore = "make vm"]
fn a_full_export_is_an_error_of_all_that_must_know() {
    let nfs = served();
    for Mounted { version, small, .. } in MOUNTS {
        fills(nfs, version, small, "device");
    }
}

/// Whoever the clients' processes are, the server takes them for the user that the quota counts.
#[test]
#[ignore = "make vm"]
fn a_quota_at_the_server_is_an_error_of_all_that_must_know() {
    let nfs = served();
    for Mounted { version, quota, .. } in MOUNTS {
        fills(nfs, version, quota, "quota");
    }
}
