//! Jobs on several hosts that spawn and meet others: messages between all of them, and who ends with whom.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use hpvm_tests::hosts::Hosts;

use crate::common::{PATIENCE, prefix, program, scratch, succeed};

/// `mpirun` on a host, which starts the program there or on the hosts that `place` names.
fn mpirun(hosts: &Hosts, host: u32, place: &[&str], arguments: &[&str]) -> Command {
    let mut command = hosts.command(host, prefix().join("bin/mpirun"));
    command.args(["--net-timeout", "3", "--launch-agent"]).arg(Hosts::agent()).args(place);
    command.arg(program("dynamic")).args(arguments);
    command.stdin(Stdio::null());
    command
}

/// The info key and value for spawned processes.
fn spawning(place: &[&str], key: &str, value: &str) -> Vec<String> {
    let variables = [("DYNAMIC_KEY", key), ("DYNAMIC_HOSTS", value)];
    let words = variables.into_iter().flat_map(|(name, value)| [name.to_owned(), value.to_owned()]);
    let flags = words.collect::<Vec<_>>();
    let set =
        flags.chunks(2).flat_map(|pair| ["-genv".to_owned(), pair[0].clone(), pair[1].clone()]);
    place.iter().map(|word| (*word).to_owned()).chain(set).collect()
}

/// Waits until nothing runs on a host any more: the launcher ends before all that it has started.
#[track_caller]
fn nothing_runs(hosts: &Hosts, host: u32) {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = hosts.processes(host);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "on host {host} is left: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A job that runs beside others, on test hosts.
pub struct Running(Child, tempfile::NamedTempFile);

impl Running {
    pub fn start(mut command: Command) -> Running {
        let log = tempfile::NamedTempFile::new().expect("a temporary file");
        // One place in the file for both: they would write over each other.
        let end = log.reopen().expect("the same file");
        let other = end.try_clone().expect("a descriptor");
        let child = command.stdout(end).stderr(other).spawn().expect("mpirun starts");
        Running(child, log)
    }

    fn output(&self) -> String {
        std::fs::read_to_string(self.1.path()).expect("the output")
    }

    fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.output().contains(text) {
            let ended = self.0.try_wait().expect("a child");
            assert!(ended.is_none() && Instant::now() < end, "no {text:?} in:\n{}", self.output());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn end(mut self) -> (Option<i32>, String) {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.0.try_wait().expect("a child") {
                return (status.code(), self.output());
            }
            assert!(Instant::now() < end, "it hangs:\n{}", self.output());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&[&*output.stdout, &output.stderr].concat()).into_owned()
}

#[test]
fn processes_are_spawned_on_other_hosts() {
    let Some(hosts) = Hosts::up(3, &["--decoy"]) else { return };
    let name = |host| hosts.name(host);
    let both = format!("{},{}", name(1), name(2));
    // Parents on one host or two, on the launcher's or not; children on another, on both, on one of the parents'.
    for (parents, key, children) in [
        (&*format!("{}:2", name(1)), "host", name(2)),
        (&*both, "hosts", format!("{}:1,{}:1", name(2), name(3))),
        (&*both, "add-host", format!("{}:2", name(3))),
        (&*format!("{}:2", name(2)), "host", name(1)),
    ] {
        let place = spawning(&["-n", "2", "-H", parents], key, &children);
        let output = succeed(mpirun(&hosts, 1, &words(&place), &["ring"]));
        assert_eq!(
            output.matches("done, 4 on ").count(),
            4,
            "{parents} {key} {children}:\n{output}"
        );
        let on = |host: String| output.matches(&format!("on {host}\n")).count();
        let first = children.split([':', ',']).next().expect("a host").to_owned();
        assert!(on(first) > 0, "{children}:\n{output}");
    }
}

/// As in `dynamic`, with parents on two hosts and their children on others.
#[test]
fn jobs_that_do_not_know_each_other_are_introduced_between_hosts() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    let name = |host| hosts.name(host);
    let mut command = hosts.command(1, prefix().join("bin/mpirun"));
    command.args(["-n", "2", "-H", &format!("{},{}", name(1), name(2)), "--launch-agent"]);
    command.arg(Hosts::agent()).arg(program("introduced"));
    command.arg(format!("{},{}", name(2), name(3))).stdin(Stdio::null());
    assert_eq!(succeed(command), "introduced: well\n");
}

#[test]
fn parents_and_children_on_different_hosts_end_together() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    for (mode, code, says) in [
        ("abort", 7, "MPI_Abort with code 7"),
        ("busy", 137, "SIGKILL"),
        ("apart-fails", 0, "exited with code 3"),
    ] {
        let place = spawning(&["-n", "2"], "host", &hosts.name(2));
        let output = mpirun(&hosts, 1, &words(&place), &[mode]).output().expect("mpirun");
        assert_eq!(output.status.code(), Some(code), "{mode}: {}", text_of(&output));
        assert!(text_of(&output).contains(says), "{mode}: {}", text_of(&output));
    }
    let place = spawning(&["-n", "2"], "host", &hosts.name(2));
    let mut job = Running::start(mpirun(&hosts, 1, &words(&place), &["wait"]));
    job.wait_for("children wait");
    job.wait_for("ready");
    hosts.crash(2);
    let (code, output) = job.end();
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("spawned") && output.contains("was lost"), "{output}");
    nothing_runs(&hosts, 1);
}

/// The port's name is handed over in a file. A stranger who has it but for a digit of the secret disturbs nobody.
#[test]
fn jobs_on_different_hosts_meet_and_part() {
    let Some(hosts) = Hosts::up(2, &["--decoy", "--second"]) else { return };
    let file = scratch().join(format!("port {}", hosts.prefix()));
    let port = file.to_str().expect("a path of text");
    let mut first = Running::start(mpirun(&hosts, 1, &["-n", "2"], &["part", port]));
    first.wait_for("published");
    assert_eq!(succeed(mpirun(&hosts, 2, &["-n", "1"], &["stranger", port])), "refused\n");
    let (code, output) = Running::start(mpirun(&hosts, 2, &["-n", "2"], &["leave", port])).end();
    assert_eq!(code, Some(3), "{output}");
    let (code, output) = first.end();
    assert_eq!(code, Some(0), "{output}");

    let mut first = Running::start(mpirun(&hosts, 1, &["-n", "2"], &["meet", port]));
    first.wait_for("published");
    let mut second = Running::start(mpirun(&hosts, 2, &["-n", "2"], &["join", port]));
    first.wait_for("ready");
    second.wait_for("ready");
    for device in ["net0", "net1"] {
        hosts.link(2, device, false);
    }
    for job in [first, second] {
        let (code, output) = job.end();
        assert!(code != Some(0) && output.contains("connected"), "{code:?}:\n{output}");
    }
    // The port is gone with its job.
    for device in ["net0", "net1"] {
        hosts.link(2, device, true);
    }
    assert_eq!(succeed(mpirun(&hosts, 2, &["-n", "1"], &["stranger", port])), "refused\n");
}

/// Names are the job's, on all of its hosts, and those of other jobs that run or were started on one of them.
#[test]
fn names_are_found_on_other_hosts() {
    let Some(hosts) = Hosts::up(4, &[]) else { return };
    let name = format!("a name; of {}", hosts.prefix());
    let all = hosts.list();
    for (ranks, place) in [(4, &*all), (2, &*format!("{},{}", hosts.name(3), hosts.name(2)))] {
        let output = succeed(mpirun(&hosts, 1, &["-H", place], &["names", &name]));
        assert_eq!(output, "names: well\n".repeat(ranks), "{place}");
    }

    // Published by a rank on host 2 of a job on 2 and 3 that was started on 1.
    let place = format!("{},{}", hosts.name(2), hosts.name(3));
    let shares = format!("{},{}", hosts.name(4), hosts.name(3));
    let jobs: [(u32, &[&str]); 4] =
        [(1, &["-n", "1"]), (3, &["-n", "1"]), (1, &["-H", &hosts.name(1)]), (4, &["-H", &shares])];
    for (from, other) in jobs {
        let mut first = Running::start(mpirun(&hosts, 1, &["-H", &place], &["part", &name]));
        first.wait_for("published");
        assert_eq!(succeed(mpirun(&hosts, from, other, &["free", &name])), "taken\n");
        let (code, output) = Running::start(mpirun(&hosts, from, other, &["leave", &name])).end();
        assert_eq!(code, Some(3), "{output}");
        let (code, output) = first.end();
        assert_eq!(code, Some(0), "{output}");
    }

    // Gone with the job, however that ends.
    let mut first = Running::start(mpirun(&hosts, 1, &["-H", &place], &["meet", &name]));
    first.wait_for("published");
    drop(first);
    for from in 1..=3 {
        let end = Instant::now() + PATIENCE;
        while succeed(mpirun(&hosts, from, &["-n", "1"], &["free", &name])) != "free\n" {
            assert!(Instant::now() < end, "the name outlives its job on host {from}");
        }
    }
}

/// A name server on a host, with a key of its own; it ends when this is dropped.
struct NameServer {
    job: Running,
    report: String,
    key: std::path::PathBuf,
}

impl NameServer {
    fn start(hosts: &Hosts, host: u32) -> NameServer {
        NameServer::at(hosts, host, "0")
    }

    fn at(hosts: &Hosts, host: u32, port: &str) -> NameServer {
        let report = scratch().join(format!("names {}", hosts.prefix()));
        let key = scratch().join(format!("key {}", hosts.prefix()));
        let mut command = hosts.command(host, prefix().join("bin/hpvm"));
        command.args(["nameserver", "--listen", port, "--report-uri"]).arg(&report);
        command.env("HPVM_NAMESERVER_KEY", &key).stdin(Stdio::null());
        let mut job = Running::start(command);
        job.wait_for("names are served at");
        NameServer { job, report: report.display().to_string(), key }
    }

    /// It is killed, and its memory of names with it.
    fn kill(mut self, hosts: &Hosts, host: u32) -> String {
        let port = self.place().rsplit(':').next().expect("a port").to_owned();
        for (pid, line) in hosts.processes(host) {
            if line.contains("hpvm nameserver") {
                // SAFETY: a signal to a process of the test.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        }
        self.job.0.wait().expect("a child");
        port
    }

    /// `HOST:PORT`.
    fn place(&self) -> String {
        let text = std::fs::read_to_string(&self.report).expect("it has said where it is");
        text.split(',').next().expect("a place").trim().to_owned()
    }

    /// A job that is told of it.
    fn mpirun(&self, hosts: &Hosts, host: u32, on: &[u32], arguments: &[&str]) -> Command {
        let on = on.iter().map(|host| hosts.name(*host)).collect::<Vec<_>>().join(",");
        let server = format!("file:{}", self.report);
        let mut command = mpirun(hosts, host, &["-H", &on, "--nameserver", &server], arguments);
        command.env("HPVM_NAMESERVER_KEY", &self.key);
        command
    }
}

/// Jobs on hosts 1, 2 and on 3, 4: nothing in common but the user's name server.
#[test]
fn names_are_found_by_jobs_that_share_no_host() {
    let Some(hosts) = Hosts::up(4, &["--decoy"]) else { return };
    let server = NameServer::start(&hosts, 1);
    let name = format!("a name; of {}", hosts.prefix());
    let output = succeed(server.mpirun(&hosts, 3, &[3, 4], &["names", &name]));
    assert_eq!(output, "names: well\n".repeat(2));

    let mut first = Running::start(server.mpirun(&hosts, 1, &[1, 2], &["part", &name]));
    first.wait_for("published");
    assert_eq!(succeed(server.mpirun(&hosts, 3, &[4], &["free", &name])), "taken\n");
    let other = mpirun(&hosts, 3, &["-n", "1"], &["look", &name]);
    let text = succeed(other);
    assert!(text.contains(&name) && text.contains("--nameserver"), "{text}");
    let (code, output) = Running::start(server.mpirun(&hosts, 3, &[3, 4], &["leave", &name])).end();
    assert_eq!(code, Some(3), "{output}");
    let (code, output) = first.end();
    assert_eq!(code, Some(0), "{output}");

    // By the place, and in the environment; a process that no launcher has started reads the key itself.
    let mut first = Running::start(server.mpirun(&hosts, 2, &[2], &["meet", &name]));
    first.wait_for("published");
    for alone in [false, true] {
        let mut command = match alone {
            true => hosts.command(3, program("dynamic")),
            false => hosts.command(3, prefix().join("bin/mpirun")),
        };
        if !alone {
            command.arg(program("dynamic"));
        }
        command.args(["free", &name]).stdin(Stdio::null());
        command.env("HPVM_NAMESERVER", server.place()).env("HPVM_NAMESERVER_KEY", &server.key);
        assert_eq!(succeed(command), "taken\n", "alone: {alone}");
    }
    // Gone with its job, however that ends.
    drop(first);
    let end = Instant::now() + PATIENCE;
    while succeed(server.mpirun(&hosts, 3, &[3], &["free", &name])) != "free\n" {
        assert!(Instant::now() < end, "the name outlives its job");
    }
}

#[test]
fn only_those_who_have_the_key_use_the_name_server() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let server = NameServer::start(&hosts, 1);
    let name = format!("a name of {}", hosts.prefix());
    let mut first = Running::start(server.mpirun(&hosts, 1, &[1], &["meet", &name]));
    first.wait_for("published");
    let look = |key: &std::path::Path| {
        let mut command = server.mpirun(&hosts, 2, &[2], &["look", &name]);
        command.env("HPVM_NAMESERVER_KEY", key);
        succeed(command)
    };
    assert_eq!(look(&server.key), "found\n");
    let key = scratch().join(format!("other key {}", hosts.prefix()));
    let text = look(&key);
    assert!(text.contains("there is no key in") && text.contains("other key"), "{text}");
    hpvm_job::name_server::write_key(&key, &"5".repeat(32)).expect("a key");
    let text = look(&key);
    assert!(text.contains("another key") && text.contains(&server.place()), "{text}");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let text = look(&key);
    assert!(text.contains("chmod 600"), "{text}");
    std::fs::remove_file(&key).expect("it was there");

    // It ends by a signal, and leaves nothing but the key.
    let NameServer { job, report, key } = server;
    let place = std::fs::read_to_string(&report).expect("it has said where it is");
    let place = place.trim().to_owned();
    for (pid, line) in hosts.processes(1) {
        if line.contains("hpvm nameserver") {
            // SAFETY: a signal to a process of the test.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
    }
    let (code, output) = job.end();
    assert_eq!(code, Some(0), "{output}");
    assert!(!std::path::Path::new(&report).exists());
    let mut command = mpirun(&hosts, 2, &["--nameserver", &place], &["look", &name]);
    command.env("HPVM_NAMESERVER_KEY", &key);
    let text = succeed(command);
    assert!(
        text.contains(&place) && text.contains("hpvm nameserver") && text.contains("refused"),
        "{text}"
    );
    let output = mpirun(&hosts, 2, &["--nameserver", &format!("file:{report}")], &["look", &name]);
    let output = { output }.output().expect("mpirun");
    assert_eq!(output.status.code(), Some(2));
    assert!(text_of(&output).contains("--report-uri"), "{}", text_of(&output));
    std::fs::remove_file(&key).expect("it was there");
}

#[test]
fn a_name_server_that_is_started_again_learns_the_names_of_those_who_ask_it() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let server = NameServer::start(&hosts, 1);
    let name = format!("a name of {}", hosts.prefix());
    let mut first = Running::start(server.mpirun(&hosts, 1, &[1], &["keep", &name]));
    first.wait_for("published");
    let port = server.kill(&hosts, 1);
    let server = NameServer::at(&hosts, 1, &port);
    let end = Instant::now() + PATIENCE;
    while succeed(server.mpirun(&hosts, 2, &[2], &["look", &name])) != "found\n" {
        assert!(Instant::now() < end, "the name is not known again");
    }
    std::fs::remove_file(&server.key).expect("it was there");
}
