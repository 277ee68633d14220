//! PVM's virtual machine on several test hosts.

use crate::common::{PATIENCE, marker, prefix, run_within, scratch, succeed};
use crate::pvm::program;
use hpvm_tests::hosts::Hosts;
use hpvm_tests::process::end_with_this_thread;
use hpvm_tests::slurm::Cluster;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A command on the first host, in a virtual machine of its own; other hosts are reached without ssh.
fn on_first(hosts: &Hosts, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = hosts.command(1, program);
    command.env("PVM_VMID", marker()).env("HPVM_LAUNCH_AGENT", Hosts::agent());
    command.env("PVM_TMP", scratch());
    command
}

/// Waits until nothing of the virtual machine is left on any host.
fn nothing_is_left(hosts: &Hosts) {
    (1..=hosts.count()).for_each(|host| nothing_is_left_on(hosts, host));
}

fn nothing_is_left_on(hosts: &Hosts, host: u32) {
    let since = Instant::now();
    loop {
        let mut left = hosts.processes(host);
        left.retain(|(_, line)| line.contains("pvm"));
        if left.is_empty() {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "on host {host}: {left:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn messages_spawning_and_deletion_on_three_hosts() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    let mut command = on_first(&hosts, program("hosts"));
    command.args([hosts.name(2), hosts.name(3)]);
    assert_eq!(succeed(command), "No errors\n");
    nothing_is_left(&hosts);
}

#[test]
fn kill_9_of_a_hosts_process_is_told_and_leaves_nothing() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    let mut command = on_first(&hosts, program("hosts"));
    command.args(["kill".into(), hosts.name(2), hosts.name(3)]);
    assert_eq!(succeed(command), "No errors\n");
    nothing_is_left(&hosts);
}

/// No end of a connection says that the host is gone: only its silence does.
#[test]
fn a_host_that_falls_silent_is_given_up() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let mut command = on_first(&hosts, program("hosts"));
    command.args(["stop".into(), hosts.name(2)]).env("HPVM_NET_TIMEOUT", "3");
    assert_eq!(succeed(command), "No errors\n");
}

/// By ssh, and the network is cut: both sides find out by themselves.
#[test]
fn a_host_behind_a_cut_network_is_given_up_and_ends_its_tasks() {
    let Some(hosts) = Hosts::up(2, &["--ssh"]) else { return };
    let mut command = on_first(&hosts, program("hosts"));
    command.env_remove("HPVM_LAUNCH_AGENT").env("HPVM_NET_TIMEOUT", "3");
    command.args(["cut".into(), hosts.name(2)]);
    assert_eq!(succeed(command), "No errors\n");
    nothing_is_left_on(&hosts, 2);
}

/// Of a hostfile with everything that it may have: the hosts, where programs are and where tasks work.
#[test]
fn a_hostfile_makes_the_virtual_machine() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let folder = scratch().join(format!("pvm-hostfile-{}", marker()));
    let work = folder.join("work");
    std::fs::create_dir_all(folder.join("programs")).expect("a folder");
    std::fs::create_dir_all(&work).expect("a folder");
    let link = folder.join("programs/only-there");
    std::os::unix::fs::symlink(program("hostfile"), link).expect("a link");
    let file = folder.join("hosts");
    let text = format!(
        "# two hosts\n{}\n* wd={}\n{} ep=/nowhere:$PLACE/programs sp=2000 dx=/usr/lib/pvmd\n&third ip=not-there\n",
        hosts.name(1),
        work.display(),
        hosts.name(2)
    );
    std::fs::write(&file, text).expect("written");
    let mut command = on_first(&hosts, program("hostfile"));
    command.env("PLACE", &folder).arg(&file).arg(hosts.name(2)).arg(&work);
    let output = succeed(command);
    assert!(output.ends_with("No errors\n"), "{output}");
    assert!(output.contains("hostfile /nowhere/hostfile: No such file"), "{output}");
    nothing_is_left(&hosts);
    let script = folder.join("script");
    std::fs::write(&script, "conf\nadd third\nhalt\n").expect("written");
    let mut command = on_first(&hosts, prefix().join("bin/pvm"));
    command.arg("--script").arg(&script).arg(&file);
    let output = succeed(command);
    for says in ["1 successful", "2 hosts, 1 data format", "third Can't start pvmd"] {
        assert!(output.contains(says), "{says:?} is missing:\n{output}");
    }
    nothing_is_left(&hosts);
}

#[test]
fn the_console_adds_and_deletes_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let script = scratch().join(format!("pvm-hosts-{}", marker()));
    let hello = program("hello");
    let text = format!(
        "add HOST nowhere\nconf\nspawn -HOST -> {} child\ndelete HOST\nconf\nhalt\n",
        hello.display()
    );
    std::fs::write(&script, text.replace("HOST", &hosts.name(2))).expect("a script");
    let mut command = on_first(&hosts, prefix().join("bin/pvm"));
    command.arg("--script").arg(&script);
    let output = succeed(command);
    for says in
        ["1 successful", "Can't start pvmd", "2 hosts, 1 data format", "1 host, 1 data format"]
    {
        assert!(output.contains(says), "{says:?} is missing:\n{output}");
    }
    nothing_is_left(&hosts);
}

/// Two tasks on each of four hosts, and a task on the first that was started by hand.
fn on_four(hosts: &Hosts, how: &str) -> Command {
    let mut command = on_first(hosts, program("spread"));
    command.arg(how).args((2..=hosts.count()).map(|host| hosts.name(host)));
    command
}

#[test]
fn groups_and_messages_of_all_to_all_on_four_hosts() {
    let Some(hosts) = Hosts::up(4, &[]) else { return };
    assert_eq!(succeed(on_four(&hosts, "straight")), "No errors\n");
    nothing_is_left(&hosts);
}

/// All others wait in `pvm_recv` for the word of it, and go on.
#[test]
fn kill_9_of_a_task_and_of_a_host_is_told_on_four_hosts() {
    let Some(hosts) = Hosts::up(4, &[]) else { return };
    for how in ["task", "host"] {
        assert_eq!(succeed(on_four(&hosts, how)), "No errors\n", "{how}");
        nothing_is_left(&hosts);
    }
}

/// The process of the first host is killed: no task of any host outlives it.
#[test]
fn kill_9_of_the_first_hosts_process_ends_all_tasks_on_four_hosts() {
    let Some(hosts) = Hosts::up(4, &[]) else { return };
    let outcome = run_within(on_four(&hosts, "machine"), PATIENCE);
    assert_eq!(outcome.code, Some(128 + 15), "{}", outcome.output);
    assert!(outcome.output.contains("the virtual machine has ended"), "{}", outcome.output);
    nothing_is_left(&hosts);
}

/// Starts a program that says a line and waits. Seconds that only a hang takes.
fn start(hosts: &Hosts, how: &str, says: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let task = on_four(hosts, how);
    let mut command = on_first(hosts, "timeout");
    // The words behind those that reach the host.
    command.arg("240").args(task.get_args().skip(2));
    if how == "lost" {
        command.env_remove("HPVM_LAUNCH_AGENT");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    end_with_this_thread(&mut command);
    let mut job = command.spawn().expect("a task");
    let mut output = BufReader::new(job.stdout.take().expect("its output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line.trim_end(), says);
    (job, output)
}

fn ends_well(mut job: Child, mut output: BufReader<std::process::ChildStdout>) {
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("its output");
    assert_eq!(rest, "No errors\n");
    assert!(job.wait().expect("its end").success());
}

/// Messages are under way all the time.
#[test]
fn a_cable_that_is_out_for_some_time_only_delays_tasks() {
    let Some(hosts) = Hosts::up(4, &[]) else { return };
    let (mut job, output) = start(&hosts, "cable", "half");
    for host in [3, 1] {
        hosts.link(host, "net0", false);
        std::thread::sleep(Duration::from_secs(2));
        hosts.link(host, "net0", true);
    }
    job.stdin.take().expect("its input").write_all(b"go on\n").expect("a word to the task");
    ends_well(job, output);
    nothing_is_left(&hosts);
}

/// The command that has reached a host is killed on the first one.
#[test]
fn kill_9_of_the_connection_to_a_host_is_told() {
    let Some(hosts) = Hosts::up(4, &["--ssh"]) else { return };
    let (job, output) = start(&hosts, "lost", "all wait");
    let last = hosts.name(4);
    let ssh = |(_, line): &(i32, String)| line.starts_with("ssh ") && line.contains(&last);
    let found: Vec<_> = hosts.processes(1).into_iter().filter(ssh).collect();
    assert!(!found.is_empty(), "{:?}", hosts.processes(1));
    for (pid, _) in found {
        // SAFETY: sends a signal; it touches no memory.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    ends_well(job, output);
    nothing_is_left(&hosts);
}

/// A task in an allocation, and one in a step of it: both reach the second host by Slurm.
pub fn in_slurm(cluster: &Cluster) {
    let spread = program("spread").to_string_lossy().into_owned();
    let (first, second) = (cluster.host(1), cluster.host(2));
    let here = format!("{spread} straight {second}");
    let step = format!("srun --mpi=none --overlap -N1 -n1 -w {first} {spread} task {second}");
    for words in [here, step] {
        let words: Vec<&str> =
            ["salloc", "-Q", "-N2", "-n8"].into_iter().chain(words.split(' ')).collect();
        let mut command = cluster.command(&words);
        command.env("PVM_VMID", marker()).env("PVM_TMP", scratch());
        assert_eq!(succeed(command), "No errors\n", "{words:?}");
    }
}
