//! PVM's virtual machine on several test hosts.

use crate::common::{PATIENCE, marker, prefix, scratch, succeed};
use crate::pvm::program;
use hpvm_tests::hosts::Hosts;
use std::process::Command;
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
    command.arg(&script);
    let output = succeed(command);
    for says in
        ["1 successful", "Can't start pvmd", "2 hosts, 1 data format", "1 host, 1 data format"]
    {
        assert!(output.contains(says), "{says:?} is missing:\n{output}");
    }
    nothing_is_left(&hosts);
}
