//! Jobs on several test hosts (network namespaces). They need root; without it they say that they
//! are skipped.

mod common;

use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Ended, Gate, Job, PMI, nothing_left, on_hosts, quick, sorted, until, wait};
use hpvm_tests::hosts::Hosts;

/// Runs a job on these hosts and checks that it leaves nothing on any of them.
fn run(hosts: &Hosts, args: &[&str]) -> Ended {
    let mut job = quick(hosts, args);
    let ended = wait(job.start());
    nothing_left(hosts);
    ended
}

/// Arguments that make every rank run a bash script which can speak PMI.
fn script(text: &str) -> String {
    format!("{PMI}{text}")
}

#[test]
fn ranks_know_their_place() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    let text =
        "echo $PMI_RANK/$PMI_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS $HPVM_NODE $HOSTNAME $PWD";
    let list = format!("{}[1-3]", hosts.prefix());
    let ended = run(&hosts, &["-H", &list, "-ppn", "2", "--wdir", "/usr", "bash", "-c", text]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let expected: Vec<String> = (0..6)
        .map(|rank| {
            let (node, local) = (rank / 2, rank % 2);
            format!("{rank}/6 {local}/2 {node} {} /usr", hosts.name(node + 1))
        })
        .collect();
    assert_eq!(sorted(&ended.out), expected);
    let ended = run(&hosts, &["-H", &list, "-n", "4", "--map-by", "node", "-l", "hostname"]);
    let expected: Vec<String> =
        (0..4).map(|rank| format!("[{rank}] {}", hosts.name(rank % 3 + 1))).collect();
    assert_eq!(sorted(&ended.out), expected);
}

#[test]
fn environment_of_other_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let other = hosts.name(2);
    let text = "echo $A.$B.$HPVM_X.$HPVM_NET.$SECRET; case $PATH in */bin:*) echo path; esac";
    let args = ["-H", &other, "-genv", "A", "1", "-x", "B=2", "--net", "10.77.0.0/24"];
    let mut job = quick(&hosts, &[&args[..], &["sh", "-c", text]].concat());
    job.command.env("HPVM_X", "3").env("SECRET", "4");
    assert_eq!(wait(job.start()).out, "1.2.3.10.77.0.0/24.\npath\n");
    let mut job = on_hosts(&hosts, &["-H", &other, "hostname"]);
    job.command.env("HPVM_LAUNCH_AGENT", Hosts::agent());
    assert_eq!(wait(job.start()).out, format!("{other}\n"));
    let mut job = quick(&hosts, &["-genvall", "-H", &other, "sh", "-c", text]);
    job.command.env("SECRET", "4");
    assert!(wait(job.start()).out.starts_with("....4\n"));
}

#[test]
fn values_and_barriers_reach_all_hosts() {
    let Some(hosts) = Hosts::up(5, &[]) else { return };
    let text = script(
        r#"init
        for round in 1 2 3; do
            ask cmd=put kvsname=x key=k$round-$PMI_RANK value=$round.$PMI_RANK
            ask cmd=barrier_in
            for other in $(seq 0 $((PMI_SIZE - 1))); do
                ask cmd=get key=k$round-$other
                [ "${reply##*value=}" = $round.$other ] || { echo "$reply"; exit 1; }
            done
        done
        ask cmd=get key=hpvm-job-key; echo "${reply##*value=}"
        ask cmd=get key=PMI_process_mapping; echo "${reply##*value=}"
        finalize"#,
    );
    // The name of the key-value space is the job's.
    let text = text.replace("kvsname=x ", "");
    for width in ["16", "2", "1"] {
        let args = ["-H", &hosts.list(), "-ppn", "2", "--launch-width", width];
        let ended = run(&hosts, &[&args[..], &["bash", "-c", &text]].concat());
        assert_eq!(ended.code, 0, "{ended:?}");
        let mut lines = sorted(&ended.out);
        lines.dedup();
        assert_eq!(lines.len(), 2, "{lines:?}");
        let key = lines.iter().find(|line| !line.starts_with('(')).unwrap();
        assert!(key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key}");
        assert!(lines.contains(&"(vector,(0,5,2))"), "{lines:?}");
    }
}

#[test]
fn names_are_published_for_all_hosts() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    let text = script(
        r#"init
        [ $PMI_RANK != 2 ] || ask cmd=publish_name service=s port=p
        ask cmd=barrier_in
        ask cmd=lookup_name service=s; echo "$reply"
        # A name goes with the rank that has published it.
        ask cmd=barrier_in
        finalize"#,
    );
    let args = ["-H", &hosts.list(), "--launch-width", "1", "bash", "-c", &text];
    let ended = run(&hosts, &args);
    assert_eq!(ended.out, "cmd=lookup_result info=ok rc=0 port=p\n".repeat(3), "{ended:?}");
}

#[test]
fn ends_of_ranks() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    let third = hosts.name(3);
    for (text, code, part) in [
        ("exit 7", 7, "exited with code 7; ending the job"),
        ("kill -SEGV $$; sleep 999", 139, "killed by signal 11 (SIGSEGV"),
        ("init; exit 0", 1, "without calling MPI_Finalize"),
        ("init; say cmd=abort exitcode=5; sleep 999", 5, "called MPI_Abort with code 5"),
        ("say hello; sleep 999", 1, "malformed PMI command"),
    ] {
        let text = script(&format!("if [ $PMI_RANK = 2 ]; then {text}; else sleep 999; fi"));
        for width in ["16", "1"] {
            let args = ["-H", &hosts.list(), "--launch-width", width, "bash", "-c", &text];
            let ended = run(&hosts, &args);
            assert_eq!(ended.code, code, "{ended:?}");
            assert!(ended.err.contains(part), "{part}: {ended:?}");
            assert!(ended.err.contains(&format!("on {third})")), "{ended:?}");
            assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
        }
    }
}

#[test]
fn hosts_that_cannot_take_part() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let list = format!("{},{}", hosts.name(1), hosts.name(2));
    let ended = run(&hosts, &["-H", &format!("{list},nohost7"), "sleep", "999"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("cannot start anything on host 'nohost7'"), "{ended:?}");
    assert!(ended.err.contains("there is no test host 'nohost7'"), "{ended:?}");

    let dir = tempfile::tempdir().unwrap();
    let only_here = common::script(dir.path(), "prog", "#!/bin/sh\nsleep 999\n");
    let only_here = only_here.as_str();
    // The second host sees another folder at that place.
    let hide = ["-t", "tmpfs", "tmpfs", dir.path().to_str().unwrap()];
    assert!(hosts.command(2, "mount").args(hide).status().unwrap().success());
    let ended = run(&hosts, &["-H", &list, only_here]);
    assert_eq!(ended.code, 127, "{ended:?}");
    let text = format!("host '{}': program '{only_here}' does not exist", hosts.name(2));
    assert!(ended.err.contains(&text), "{ended:?}");

    let ended = run(&hosts, &["-H", &list, "--wdir", "/no/such", "true"]);
    assert!(ended.err.contains("'/no/such'"), "{ended:?}");
    let ended = run(&hosts, &["-H", &hosts.name(2), "--wdir", "/no/such", "true"]);
    let text = format!("host '{}': the working folder '/no/such'", hosts.name(2));
    assert!(ended.err.contains(&text), "{ended:?}");
}

#[test]
fn agents_that_are_none() {
    let Some(hosts) = Hosts::up(1, &[]) else { return };
    let dir = tempfile::tempdir().unwrap();
    for (name, text, part) in [
        ("missing", "echo 'sh: hpvm: not found' >&2; exit 127", "has no hpvm at"),
        ("other", "echo HPVM-AGENT-1 0.0.0; sleep 999", "install the same version"),
        ("noise", "yes", "without hpvm's greeting"),
        ("quiet", "exec >&-; sleep 999", "closed its streams"),
        ("mad", "printf 'HPVM-AGENT-1 VERSION\\nzzzzzzzzzz'; sleep 999", "host 'x'"),
    ] {
        let text = text.replace("VERSION", env!("CARGO_PKG_VERSION"));
        let agent = common::script(dir.path(), name, &format!("#!/bin/sh\n{text}\n"));
        let ended = wait(on_hosts(&hosts, &["--launch-agent", &agent, "-H", "x", "true"]).start());
        assert_eq!(ended.code, 1, "{name}: {ended:?}");
        assert!(ended.err.contains(part), "{name}: {ended:?}");
        nothing_left(&hosts);
    }
    let ended = wait(on_hosts(&hosts, &["--launch-agent", "/no/such", "-H", "x", "true"]).start());
    assert!(ended.err.contains("cannot run '/no/such' to reach host 'x'"), "{ended:?}");
}

#[test]
fn input_and_output_of_any_size() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let other = hosts.name(2);
    let mut job = quick(&hosts, &["-H", &other, "sh", "-c", "md5sum; seq 1 300000"]);
    job.command.stdin(Stdio::piped());
    let mut child = job.start();
    let mut stdin = child.stdin.take().unwrap();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| (i / 7 % 251) as u8).collect();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    // A reader that is slow at first.
    std::thread::sleep(Duration::from_millis(700));
    let ended = wait(child);
    writer.join().unwrap().unwrap();
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut lines = ended.out.lines();
    assert_eq!(lines.next().unwrap().split(' ').next().unwrap().len(), 32);
    assert!(lines.eq((1..=300_000).map(|number| number.to_string())));
    // A program that does not read its input does not hang the job.
    let mut job = quick(&hosts, &["-H", &other, "true"]);
    job.command.stdin(std::fs::File::open("/dev/zero").unwrap());
    assert_eq!(wait(job.start()).code, 0);
    nothing_left(&hosts);
}

#[test]
fn a_closed_reader_ends_the_job() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let mut child = quick(&hosts, &["-H", &hosts.name(2), "yes"]).start();
    let mut start = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut start).unwrap();
    drop(child.stdout.take());
    assert_eq!(wait(child).code, 128 + libc::SIGPIPE);
    nothing_left(&hosts);
}

/// Starts a job whose ranks all run, on `hosts`; gives the launcher.
fn running(hosts: &Hosts, job: &mut Job) -> Child {
    let child = job.start();
    let up = until(|| {
        (1..=hosts.count())
            .all(|host| hosts.processes(host).iter().any(|(_, line)| line.starts_with("sleep 999")))
    });
    assert!(up, "no ranks");
    child
}

#[test]
fn signals_reach_all_hosts() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let mut job = quick(
            &hosts,
            &["-H", &hosts.list(), "--launch-width", "1", "-ppn", "2", "sleep", "999"],
        );
        let child = running(&hosts, &mut job);
        common::kill(child.id() as i32, signal);
        let ended = wait(child);
        assert_eq!(ended.code, code, "{ended:?}");
        nothing_left(&hosts);
    }
    let text = "trap 'echo got $PMI_RANK; exit 0' USR1; echo up; while :; do sleep 0.01; done";
    let mut job = quick(&hosts, &["-H", &hosts.list(), "bash", "-c", text]);
    let mut child = job.start();
    common::read_until(&mut child, "up\nup\nup\n");
    common::kill(child.id() as i32, libc::SIGUSR1);
    let ended = wait(child);
    assert_eq!(sorted(&ended.out), ["got 0", "got 1", "got 2"], "{ended:?}");
}

#[test]
fn a_launcher_that_was_stopped_reads_before_it_judges() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let args = ["-H", &hosts.list(), "--net-timeout", "5", "-ppn", "1", "sleep", "999"];
    let mut job = quick(&hosts, &args);
    let mut child = running(&hosts, &mut job);
    let launcher = child.id() as i32;
    for _ in 0..2 {
        // Longer than the limit; agents wait for longer than that.
        common::kill(launcher, libc::SIGSTOP);
        std::thread::sleep(Duration::from_secs(8));
        common::kill(launcher, libc::SIGCONT);
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(child.try_wait().unwrap(), None, "it has given a host up");
    }
    common::kill(launcher, libc::SIGTERM);
    let ended = wait(child);
    assert_eq!(ended.code, 143, "{ended:?}");
    nothing_left(&hosts);
}

/// What is killed in the middle of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Launcher,
    Agent(u32),
    Rank(u32),
    Host(u32),
}

#[test]
fn whatever_is_killed_nothing_is_left() {
    let Some(hosts) = Hosts::up(4, &[]) else { return };
    for width in ["16", "1"] {
        for victim in [
            Victim::Launcher,
            Victim::Agent(2),
            Victim::Agent(3),
            Victim::Agent(4),
            Victim::Rank(1),
            Victim::Rank(4),
        ] {
            strike(&hosts, width, victim);
        }
    }
    strike(&hosts, "1", Victim::Host(3));
}

fn strike(hosts: &Hosts, width: &str, victim: Victim) {
    // Each rank also has something in the background that left its process group.
    let text = "setsid sleep 999 & sleep 999";
    let args = ["-H", &hosts.list(), "--launch-width", width, "bash", "-c", text];
    let mut job = quick(hosts, &args);
    let child = running(hosts, &mut job);
    let find = |host: u32, part: &str| {
        // Not the shell that was given the command, nor the launcher. The guardian comes later.
        let is = |line: &str| line.starts_with(part);
        let found = hosts.processes(host).into_iter().find(|(_, line)| is(line));
        found.unwrap_or_else(|| panic!("no {part} on host {host}")).0
    };
    let launcher = child.id() as i32;
    eprintln!("{victim:?}, width {width}");
    match victim {
        Victim::Launcher => common::kill(launcher, libc::SIGKILL),
        Victim::Agent(host) => common::kill(
            find(host, &format!("{} agent", env!("CARGO_BIN_EXE_hpvm"))),
            libc::SIGKILL,
        ),
        Victim::Rank(host) => common::kill(find(host, "bash -c setsid"), libc::SIGKILL),
        Victim::Host(host) => hosts.crash(host),
    }
    if victim == Victim::Launcher {
        let mut child = child;
        child.wait().unwrap();
    } else {
        let ended = wait(child);
        let (code, part) = match victim {
            Victim::Rank(host) => (137, format!("on {}) was killed by signal 9", hosts.name(host))),
            Victim::Agent(host) | Victim::Host(host) => {
                (1, format!("the connection to host '{}' was lost", hosts.name(host)))
            }
            Victim::Launcher => unreachable!("handled above"),
        };
        assert_eq!(ended.code, code, "{victim:?}: {ended:?}");
        assert!(ended.err.contains(&part), "{victim:?}: {ended:?}");
        assert_eq!(ended.err.lines().count(), 1, "{victim:?}: {ended:?}");
    }
    nothing_left(hosts);
}

#[test]
fn kills_at_random_moments() {
    let Some(hosts) = Hosts::up(4, &[]) else { return };
    let seed = std::env::var("HPVM_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut state: u64 = seed.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("HPVM_TEST_SEED={state}");
    let mut random = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for _ in 0..12 {
        let width = if random(2) == 0 { "1" } else { "16" };
        let args = ["-H", &hosts.list(), "-ppn", "2", "--launch-width", width, "sleep", "999"];
        let mut child = quick(&hosts, &args).start();
        std::thread::sleep(Duration::from_millis(random(120)));
        let all: Vec<i32> = (1..=4)
            .flat_map(|host| hosts.processes(host))
            .filter(|(_, line)| !line.contains("hosts-init"))
            .map(|(pid, _)| pid)
            .collect();
        match all.len() as u64 {
            0 => common::kill(child.id() as i32, libc::SIGKILL),
            count => common::kill(all[random(count) as usize], libc::SIGKILL),
        }
        // A guardian or a helper's end goes unnoticed: then the user ends the job.
        let end = Instant::now() + Duration::from_secs(2);
        while child.try_wait().unwrap().is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        common::kill(child.id() as i32, libc::SIGTERM);
        let ended = common::until_ended(&mut child);
        assert_ne!(ended, Some(0));
        nothing_left(&hosts);
    }
}

#[test]
fn real_ssh_and_a_cable_that_is_pulled() {
    let Some(hosts) = Hosts::up(3, &["--ssh"]) else { return };
    let ended = wait(on_hosts(&hosts, &["-H", &hosts.list(), "-l", "hostname"]).start());
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(sorted(&ended.out).len(), 3, "{ended:?}");
    let list = format!("{},nohost", hosts.name(2));
    let ended = wait(on_hosts(&hosts, &["-H", &list, "sleep", "999"]).start());
    assert!(ended.err.contains("Could not resolve hostname nohost"), "{ended:?}");
    assert_eq!(ended.code, 1);
    nothing_left(&hosts);

    let args = ["-H", &hosts.list(), "--net-timeout", "5", "sleep", "999"];
    let mut job = on_hosts(&hosts, &args);
    let child = running(&hosts, &mut job);
    hosts.link(2, "net0", false);
    let ended = wait(child);
    let text = format!("no sign of life from host '{}' for 5 s", hosts.name(2));
    assert!(ended.err.contains(&text), "{ended:?}");
    assert_eq!(ended.code, 1);
    // The agent there gives up, too, without hearing of it.
    let gone = || !hosts.processes(2).iter().any(|(_, line)| line.starts_with("sleep"));
    assert!(until(gone), "{:?}", hosts.processes(2));
}

/// Three hosts, of which only the first has hpvm, and an empty folder for temporary files on each of the others.
struct Bare {
    hosts: Hosts,
    dir: tempfile::TempDir,
}

impl Bare {
    fn up() -> Option<Bare> {
        let hosts = Hosts::up(3, &[])?;
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::fs::create_dir(dir.path().join("lib")).unwrap();
        std::fs::write(dir.path().join("lib/libmpi_abi.so.1"), "").unwrap();
        common::copy_program(env!("CARGO_BIN_EXE_hpvm"), bin.join("hpvm"));
        for host in 2..=3 {
            for place in [dir.path().to_str().unwrap(), "/var/tmp"] {
                let mut mount = hosts.command(host, "mount");
                mount.args(["-t", "tmpfs", "tmpfs", place]);
                assert!(mount.status().unwrap().success());
            }
        }
        Some(Bare { hosts, dir })
    }

    /// Starts a job on all hosts: the second one starts the third.
    fn start(&self, flags: &[&str], program: &[&str]) -> Child {
        let text = format!(
            "#!/bin/sh\nhost=$1; shift; exec {} $host \"export TMPDIR=/var/tmp; $*\"\n",
            Hosts::agent().display()
        );
        let agent = common::script(self.dir.path(), "agent", &text);
        // Agents start further ones with it, so it is where they can see it.
        let agent_copy = format!("/run/hpvm-hosts/{}/agent", self.hosts.prefix());
        common::copy_program(agent, &agent_copy);
        let mut job = on_hosts(&self.hosts, &[]);
        let mut command = self.hosts.command(1, self.dir.path().join("bin/hpvm"));
        command.arg("run").args(["--launch-agent", &agent_copy, "--launch-width", "1"]);
        command.args(["-H", &self.hosts.list(), "--wdir", "/"]).args(flags).args(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        job.command = command;
        job.start()
    }

    /// Fails if a process or a temporary file is left on any host after a while.
    #[track_caller]
    fn nothing_left(&self) {
        nothing_left(&self.hosts);
        let temporary = |host: u32| {
            let output =
                self.hosts.command(host, "find").args(["/var/tmp", "-mindepth", "1"]).output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        let all_gone = || temporary(2).is_empty() && temporary(3).is_empty();
        assert!(until(all_gone), "left on host 2:\n{}on host 3:\n{}", temporary(2), temporary(3));
    }
}

#[test]
fn hpvm_is_sent_along() {
    let Some(bare) = Bare::up() else { return };
    let ended = wait(bare.start(&[], &["true"]));
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("has no hpvm at") && ended.err.contains("--preload"), "{ended:?}");

    let program = ["sh", "-c", "ls ${LD_LIBRARY_PATH%%:*}; true"];
    let ended = wait(bare.start(&["--preload"], &program));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.out.matches("libmpi_abi.so.1").count(), 3, "{ended:?}");
    bare.nothing_left();

    // Also when the launcher is killed.
    let mut child = bare.start(&["--preload"], &["sleep", "999"]);
    let runs = |(_, line): &(i32, String)| line.starts_with("sleep 999");
    assert!(until(|| bare.hosts.processes(3).iter().any(runs)));
    child.kill().unwrap();
    child.wait().unwrap();
    bare.nothing_left();
}

/// The launcher waits a moment for those who reach other hosts, then kills them. Here agents and the shells that
/// unpacked them die so, too; what was sent along goes all the same.
#[test]
fn what_was_sent_along_goes_with_an_agent_that_is_killed_at_its_end() {
    let Some(bare) = Bare::up() else { return };
    let gate = Gate::new();
    let child = bare.start(&["--preload"], &["sh", "-c", &gate.wait()]);
    let guardian = || {
        bare.hosts.processes(2).into_iter().map(|(pid, _)| pid).find(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.trim() == "hpvm-guardian"
        })
    };
    assert!(until(|| guardian().is_some()), "no guardian");
    // The agent dismisses it last, and waits for its end for too long.
    let stopped = guardian().expect("a guardian");
    common::kill(stopped, libc::SIGSTOP);
    gate.open();
    let ended = wait(child);
    common::kill(stopped, libc::SIGCONT);
    assert_eq!(ended.code, 0, "{ended:?}");
    bare.nothing_left();
}

#[test]
fn names_input_files_and_binding_on_other_hosts() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    let dir = tempfile::tempdir().unwrap();
    let files = format!("{}/out", dir.path().display());
    let list = format!("{}[1-3]", hosts.prefix());
    let text = "read word; echo $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_LOCAL_RANK $MV2_COMM_WORLD_SIZE $word";
    let args =
        ["-H", &list, "-ppn", "2", "--stdin", "3", "--output-filename", &files, "sh", "-c", text];
    let mut job = quick(&hosts, &args);
    job.command.stdin(Stdio::piped());
    let mut child = job.start();
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let ended = wait(child);
    nothing_left(&hosts);
    let expected = ["0 0 6", "1 1 6", "2 0 6", "3 1 6 hello", "4 0 6", "5 1 6"];
    assert_eq!(sorted(&ended.out), expected, "{ended:?}");
    assert_eq!(std::fs::read_to_string(format!("{files}.3")).unwrap(), "3 1 6 hello\n");
    let place = dir.path().join("ranks");
    let lines = (0..3).map(|rank| format!("rank {rank}={} slot=0:0\n", hosts.name(3 - rank)));
    std::fs::write(&place, lines.collect::<String>()).unwrap();
    let ended = run(
        &hosts,
        &["--rankfile", place.to_str().unwrap(), "--report-bindings", "-l", "hostname"],
    );
    let expected: Vec<String> =
        (0..3).map(|rank| format!("[{rank}] {}", hosts.name(3 - rank))).collect();
    assert_eq!(sorted(&ended.out), expected, "{ended:?}");
    assert_eq!(ended.err.matches("is bound to cpu ").count(), 3, "{ended:?}");
    let ended = run(&hosts, &["--nolocal", "-H", &list, "-n", "2", "hostname"]);
    assert_eq!(sorted(&ended.out), [hosts.name(2), hosts.name(3)], "{ended:?}");
}
