//! Jobs whose datagrams go past the kernel (`--lane xdp`), on hosts that are network namespaces: skipped, with a
//! word, where those or XDP can't be had.

use crate::common::{self, UnderWay, clean, conformance, prefix, program, run_within, succeed};
use crate::random::{Random, seed};
use hpvm_tests::hosts::Hosts;
use hpvm_xdp::{BpfKind, GRANT, ids, maps_of};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

fn hosts(count: u32, options: &[&str]) -> Option<Hosts> {
    let hosts = Hosts::up(count, options)?;
    if let Err(why) = hpvm_xdp::probe() {
        hpvm_tests::skip::skipped(&why.text);
        return None;
    }
    Some(hosts)
}

/// `mpirun` with one rank on each of two hosts.
fn mpirun(hosts: &Hosts, options: &[&str], program: &Path, words: &[&str]) -> Command {
    several(hosts, 1, options, program, words)
}

/// `mpirun` with so many ranks on each of two hosts.
fn several(hosts: &Hosts, each: u32, options: &[&str], program: &Path, words: &[&str]) -> Command {
    let (all, each) = ((2 * each).to_string(), each.to_string());
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(["-H", &hosts.list(), "-n", &all, "-ppn", &each, "--launch-agent"]);
    command.arg(Hosts::agent()).args(options).arg(program).args(words);
    command
}

#[track_caller]
fn is_right(command: Command) {
    let outcome = run_within(command, LIMIT);
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    assert!(outcome.output.contains("right "), "{}", outcome.output);
}

#[track_caller]
fn command(hosts: &Hosts, host: u32, words: &[&str]) -> String {
    let output = hosts.command(host, words[0]).args(&words[1..]).output().expect("it runs");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The number of the program on an interface, as `ip link` shows it.
fn attached(hosts: &Hosts, host: u32, device: &str) -> Option<u32> {
    let text = command(hosts, host, &["ip", "link", "show", device]);
    let (_, after) = text.split_once("prog/xdp id ")?;
    after.split_whitespace().next()?.parse().ok()
}

/// Waits until `ready` gives something.
#[track_caller]
fn until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(start.elapsed() < LIMIT, "{what}: not after {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The programs on both hosts, once they are there.
fn programs(hosts: &Hosts) -> [u32; 2] {
    [1, 2].map(|host| until("a program on net0", || attached(hosts, host, "net0")))
}

/// Programs, and their maps, of which the kernel holds nothing after a while: it takes them down after the last process.
struct Held {
    programs: Vec<u32>,
    maps: Vec<u32>,
}

impl Held {
    fn by(programs: [u32; 2]) -> Held {
        let maps = programs.iter().flat_map(|id| maps_of(*id).expect("a program's maps")).collect();
        Held { programs: programs.to_vec(), maps }
    }

    #[track_caller]
    fn is_gone(&self, hosts: &Hosts, last: u32) {
        assert_eq!((self.programs.len(), self.maps.len()), (2, 4));
        until("a kernel without our programs and maps", || {
            let left =
                |kind, ours: &[u32]| ids(kind).expect("ids").iter().any(|id| ours.contains(id));
            (!left(BpfKind::Program, &self.programs) && !left(BpfKind::Map, &self.maps))
                .then_some(())
        });
        // A host that has crashed can't be asked.
        for host in 1..=last {
            assert_eq!(attached(hosts, host, "net0"), None);
        }
    }
}

/// Runs `during` while a job of two hosts is under way past the kernel, and checks that the job ends well and leaves
/// nothing in the kernel.
fn with_job(hosts: &Hosts, during: impl FnOnce() + Send) {
    with_ranks(hosts, 1, during);
}

/// The same with so many ranks on each host.
fn with_ranks(hosts: &Hosts, each: u32, during: impl FnOnce() + Send) {
    let job = UnderWay::new();
    let words = ["1", &each.to_string(), job.file()];
    let command = several(hosts, each, &["--lane", "xdp"], &program("hosts"), &words);
    let held = std::thread::scope(|scope| {
        let during = scope.spawn(|| {
            job.wait();
            let held = Held::by(programs(hosts));
            during();
            job.is_over();
            held
        });
        is_right(command);
        during.join().expect("what happens meanwhile")
    });
    held.is_gone(hosts, 2);
}

/// Another job's datagrams by UDP and its streams by TCP, and ssh, go on over the same interface, and a second job is told
/// that the interface is taken.
#[test]
fn a_job_past_the_kernel_leaves_others_alone() {
    let Some(hosts) = hosts(2, &["--ssh"]) else { return };
    with_job(&hosts, || {
        is_right(mpirun(&hosts, &["--lane", "udp"], &program("hosts"), &["1", "1"]));
        let name = hosts.name(2);
        assert_eq!(command(&hosts, 1, &["ssh", &name, "echo", "hello"]), "hello\n");
        let second = mpirun(&hosts, &["--lane", "xdp"], &program("hosts"), &["1", "1"]);
        let outcome = run_within(second, LIMIT);
        assert_ne!(outcome.code, Some(0));
        let text = outcome.output;
        assert!(text.contains("has an XDP program on interface net0"), "{text}");
        assert!(text.contains("HPVM_LANE"), "{text}");
    });
}

/// Waits until `hpvm jobs` shows so many ranks on the first host whose datagrams pass the kernel in both directions. The
/// counters are shown when a rank sleeps, which it does now and then.
fn shown(hosts: &Hosts, ranks: usize) {
    until("ranks past the kernel", || {
        let list = command(hosts, 1, &[&hpvm(), "jobs"]);
        list.lines().skip(1).find_map(|line| {
            let name = line.split_whitespace().next()?;
            let one = hosts.command(1, hpvm()).args(["jobs", name]).output().ok()?;
            let one = String::from_utf8_lossy(&one.stdout).into_owned();
            let count = |text| one.matches(text).count() == ranks;
            let past = count("lane sent") && count("lane received");
            (past && count("lane to other hosts: xdp (")).then_some(())
        })
    });
}

#[test]
fn the_lane_of_a_rank_is_shown_and_most_datagrams_take_it() {
    let Some(hosts) = hosts(2, &[]) else { return };
    with_job(&hosts, || shown(&hosts, 1));
}

/// More than there are processors, all of them by one queue.
#[test]
fn all_ranks_of_a_host_pass_the_kernel() {
    let Some(hosts) = hosts(2, &[]) else { return };
    with_ranks(&hosts, 5, || shown(&hosts, 5));
}

/// What a rank holds when it dies is missed by nobody, also when it is the one whose socket was opened first.
#[test]
fn a_rank_that_dies_does_not_disturb_the_others() {
    let Some(hosts) = hosts(2, &[]) else { return };
    let [one, other] = [1, 2].map(|host| hosts.name(host));
    for (list, case) in [
        (format!("{one},{one},{other}"), "barrier"),
        (format!("{one},{other},{other}"), "lengthy"),
        (format!("{one},{other},{other}"), "alltoall"),
    ] {
        let mut command = hosts.command(1, prefix().join("bin/mpirun"));
        command.args(["-n", "3", "-H", &list, "--enable-recovery", "--lane", "xdp"]);
        command.arg("--launch-agent").arg(Hosts::agent()).arg(program("outlive")).arg(case);
        let outcome = run_within(command, LIMIT);
        assert_eq!(outcome.code, Some(137), "{case} on {list}: {}", outcome.output);
        for rank in [0, 2] {
            let seen = format!("rank {rank} has seen it");
            assert!(outcome.output.contains(&seen), "{case} on {list}: {}", outcome.output);
        }
    }
}

/// The others of its host begin without it at once: they wait for a slow one only. More than one try, since a machine can
/// be slow, too.
#[test]
fn a_rank_that_is_killed_before_it_asks_holds_up_nobody() {
    let Some(hosts) = hosts(2, &[]) else { return };
    let [one, other] = [1, 2].map(|host| hosts.name(host));
    for call in ["connect", "sendmsg"] {
        let mut tries = (0..3).map(|_| {
            let mut command = hosts.command(1, prefix().join("bin/mpirun"));
            command.args(["-n", "3", "-H", &format!("{one},{one},{other}"), "--enable-recovery"]);
            command.args(["--lane", "xdp", "--launch-agent"]).arg(Hosts::agent());
            command.arg(program("xdp_killed")).arg(call);
            let outcome = run_within(command, LIMIT);
            let output = outcome.output;
            assert_eq!(outcome.code, Some(137), "{call}: {output}");
            let begun = |rank| output.contains(&format!("rank {rank} has seen it and has begun"));
            assert!(begun(0) && begun(2), "{call}: {output}");
            !output.contains("late")
        });
        assert!(tries.any(|at_once| at_once), "{call}: the others waited for it each time");
    }
}

/// Ranks, or the helper, killed at random moments: the job ends, or goes on where only the helper was hit, and the kernel
/// holds nothing of it.
#[test]
fn kills_at_random_leave_nothing_in_the_kernel() {
    let Some(hosts) = hosts(2, &[]) else { return };
    let seed = seed();
    let mut random = Random::new(seed);
    for turn in 0..6 {
        let job = UnderWay::new();
        let words = ["1", "3", job.file()];
        let command = several(&hosts, 3, &["--lane", "xdp"], &program("hosts"), &words);
        let helper = turn % 3 == 2;
        let name = if helper { "hpvm-xdp serve" } else { job.file() };
        std::thread::scope(|scope| {
            let during = scope.spawn(|| {
                job.wait();
                let held = Held::by(programs(&hosts));
                std::thread::sleep(Duration::from_millis(random.below(50)));
                let host = 1 + random.below(2) as u32;
                let all = hosts.processes(host);
                let ours = |(_, words): &&(i32, String)| {
                    words.contains(name) && !words.contains("mpirun") && !words.contains("agent")
                };
                let all: Vec<_> = all.iter().filter(ours).collect();
                assert!(!all.is_empty(), "nobody to be killed on host {host}: {name}");
                let victim = all[random.below(all.len() as u64) as usize].0;
                // SAFETY: integers only; the process is the test's.
                assert_eq!(unsafe { libc::kill(victim, libc::SIGKILL) }, 0);
                if helper {
                    until("the interface without a program", || {
                        attached(&hosts, host, "net0").is_none().then_some(())
                    });
                    job.is_over();
                }
                held
            });
            let outcome = run_within(command, LIMIT);
            let text = format!("turn {turn}, HPVM_TEST_SEED={seed}: {}", outcome.output);
            assert_eq!(outcome.code == Some(0), helper, "{text}");
            during.join().expect("what happens meanwhile").is_gone(&hosts, 2);
        });
    }
}

fn hpvm() -> String {
    prefix().join("bin/hpvm").to_str().expect("a path of text").to_owned()
}

#[test]
fn messages_of_every_kind_and_length() {
    let Some(hosts) = hosts(2, &[]) else { return };
    for (name, words) in [
        ("p2p_modes", &[][..]),
        ("p2p_sizes", &["both"]),
        ("p2p_many", &["10000", "8"]),
        ("p2p_flood", &[]),
        ("p2p_order", &[]),
        ("rma_fence", &[]),
    ] {
        succeed(mpirun(&hosts, &["--lane", "xdp"], &conformance(name), words));
    }
    // One family after the other; and a host with XDP talks to one without.
    for options in [["--net", "10.77.0.0/16"], ["--net", "fd77::/64"]] {
        let options = [&options[..], &["--lane", "xdp"]].concat();
        is_right(mpirun(&hosts, &options, &program("hosts"), &["0.5", "1"]));
    }
    let mixed = ["-genv", "HPVM_LANE", "udp"];
    let mut command = mpirun(&hosts, &mixed, Path::new("/bin/sh"), &[]);
    let text = "case $PMI_RANK in 0) export HPVM_LANE=xdp;; esac; exec \"$0\" 0.5 1";
    command.args(["-c", text]).arg(program("hosts"));
    is_right(command);
}

/// Longer datagrams than ours come by an interface of long frames, which the kernel handles in pieces; and what was
/// short enough is so no more.
#[test]
fn long_frames_and_lengths_that_change() {
    let Some(hosts) = hosts(2, &["--mtu", "9000"]) else { return };
    with_ranks(&hosts, 2, || {
        is_right(mpirun(&hosts, &["--lane", "udp"], &program("hosts"), &["0.5", "1"]));
        for mtu in ["1300", "1500"] {
            for host in [1, 2] {
                command(&hosts, host, &["ip", "link", "set", "net0", "mtu", mtu]);
            }
            is_right(mpirun(&hosts, &["--lane", "auto"], &program("hosts"), &["0.5", "1"]));
        }
    });
}

#[test]
fn a_killed_job_leaves_nothing_in_the_kernel() {
    let Some(hosts) = hosts(2, &[]) else { return };
    let job = mpirun(&hosts, &["--lane", "xdp"], &program("hosts"), &["100", "1"]);
    let held = std::thread::scope(|scope| {
        let during = scope.spawn(|| {
            let held = Held::by(programs(&hosts));
            hosts.crash(2);
            held
        });
        let outcome = run_within(job, LIMIT);
        assert_ne!(outcome.code, Some(0), "{}", outcome.output);
        during.join().expect("what happens meanwhile")
    });
    held.is_gone(&hosts, 1);
}

/// A user who is nobody, with the helper that root has given capabilities, and with one that has none: the lane works, or is
/// refused in a sentence that says what to do, or UDP is used in silence.
#[test]
fn users_without_privileges_need_a_helper_that_has_them() {
    const NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let Some(hosts) = hosts(2, &[]) else { return };
    let helper = common::folder("helper").join("hpvm-xdp");
    // By a process of its own: a file that somebody may still write can't be run.
    let copied = Command::new("cp").arg(prefix().join(hpvm_xdp::HELPER)).arg(&helper).status();
    assert!(copied.is_ok_and(|status| status.success()));
    let file = helper.to_str().expect("a path of text");
    let job = |lane: &str| {
        let options = ["--lane", lane, "-genv", "HPVM_XDP_HELPER", file];
        let mut job = several(&hosts, 2, &options, Path::new(NOBODY[0]), &NOBODY[1..]);
        job.arg(program("hosts")).args(["0.3", "2"]);
        run_within(job, LIMIT)
    };
    let refused = job("xdp");
    assert_ne!(refused.code, Some(0), "{}", refused.output);
    assert!(refused.output.contains(&format!("setcap {GRANT} {file}")), "{}", refused.output);
    let silent = job("auto");
    assert_eq!(silent.code, Some(0), "{}", silent.output);
    assert!(!silent.output.contains("xdp"), "{}", silent.output);

    let granted = Command::new("setcap").args([GRANT, file]).output();
    let words = [&NOBODY[1..], &[file, "check"]].concat();
    let checked = hosts.command(1, NOBODY[0]).args(words).output();
    if ![granted, checked].into_iter().all(|done| done.is_ok_and(|done| done.status.success())) {
        hpvm_tests::skip::skipped("capabilities of files do not count here");
        return;
    }
    let outcome = job("xdp");
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    assert!(outcome.output.contains("right "), "{}", outcome.output);
}

/// Not in every run: a fault of a kernel that takes down an interface in use would stop all networks of the machine.
#[test]
#[ignore = "long: make flap"]
fn an_interface_that_goes_away_and_addresses_that_change() {
    let Some(hosts) = hosts(2, &["--second"]) else { return };
    with_job(&hosts, || {
        // The other host learns of it by ARP, as with the kernel's own datagrams.
        command(&hosts, 2, &["ip", "link", "set", "net0", "address", "02:00:00:00:77:02"]);
        command(&hosts, 1, &["ip", "neigh", "flush", "dev", "net0"]);
    });
    let job =
        mpirun(&hosts, &["--lane", "xdp", "--net-timeout", "40"], &program("hosts"), &["6", "1"]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            programs(&hosts);
            command(&hosts, 2, &["ip", "link", "del", "net0"]);
        });
        is_right(job);
    });
}

#[test]
fn without_privilege_the_lane_is_refused_in_a_sentence() {
    let Some(hosts) = hosts(2, &[]) else { return };
    let drop = "--bounding-set=-net_admin,-bpf,-sys_admin";
    for (lane, code) in [("xdp", false), ("auto", true)] {
        let mut command = mpirun(&hosts, &["--lane", lane], Path::new("setpriv"), &[]);
        command.args([drop, "--inh-caps=-all"]).arg(program("hosts")).args(["0.3", "1"]);
        let outcome = run_within(command, LIMIT);
        assert_eq!(outcome.code == Some(0), code, "{}", outcome.output);
        assert_eq!(outcome.output.contains("CAP_NET_ADMIN"), !code, "{}", outcome.output);
    }
}
