//! PVM: programs start themselves as tasks, without a launcher. `succeed` sees to it that nothing is left: the virtual
//! machine's process has the marker of the test, too.

use crate::common::{PATIENCE, clean, marker, prefix, run_within, scratch, succeed, workspace};
use crate::kill::folders::Folders;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// A program of `tests/pvm`, compiled as PVM programs are.
pub fn program(name: &str) -> PathBuf {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _one = COMPILING.lock();
    let folder = scratch().join("pvm");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join(name);
    if program.exists() {
        return program;
    }
    let lib = prefix().join("lib");
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-O1", "-o"]).arg(&program);
    cc.arg(workspace().join(format!("tests/pvm/{name}.c")));
    cc.arg("-I").arg(prefix().join("include")).arg("-L").arg(&lib);
    cc.args(["-lgpvm3", "-lpvm3"]).arg(format!("-Wl,-rpath,{}", lib.display()));
    let output = cc.output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// The program in a virtual machine of its own.
fn task(program: &Path) -> Command {
    let mut command = clean(program);
    command.env("PVM_VMID", marker());
    command
}

#[test]
fn messages_of_all_types_and_lengths() {
    assert_eq!(succeed(task(&program("messages"))), "No errors\n");
}

/// Senders wait for receivers that take nothing, and where that would be for ever there is an error.
#[test]
fn messages_that_nobody_receives_are_bounded() {
    let mut command = task(&program("queue"));
    command.env("HPVM_PVM_QUEUE", "2m");
    assert_eq!(succeed(command), "No errors\n");
    let mut wrong = task(&program("queue"));
    wrong.env("HPVM_PVM_QUEUE", "much");
    let output = run_within(wrong, PATIENCE).output;
    let says = "HPVM_PVM_QUEUE is 'much'; expected bytes, such as 256m or 2g, and at least 1m";
    assert!(output.contains(says), "{output}");
}

#[test]
fn groups_mailbox_notification_and_wrong_arguments() {
    let output = succeed(task(&program("machine")));
    assert_eq!(output.matches("member is done\n").count(), 5, "{output}");
    assert!(output.ends_with("No errors\n"), "{output}");
}

#[test]
fn sixty_four_tasks_send_to_all() {
    assert_eq!(succeed(task(&program("many"))), "No errors\n");
}

/// Ranks of a job are tasks of one virtual machine, none of which has a parent.
#[test]
fn ranks_are_tasks() {
    let mut command = task(&prefix().join("bin/mpirun"));
    command.args(["-n", "3"]).arg(program("ranks"));
    assert_eq!(succeed(command), "No errors\n");
}

/// The others wait in `pvm_recv` for the rank that is killed.
#[test]
fn a_killed_rank_ends_all_and_the_virtual_machine() {
    let mut command = task(&prefix().join("bin/mpirun"));
    command.args(["-n", "3"]).arg(program("ranks")).arg("and kill one");
    let place = Folders::new(&mut command);
    let outcome = run_within(command, PATIENCE);
    let text = &outcome.output;
    assert_eq!(outcome.code, Some(128 + libc::SIGKILL), "{text}");
    assert!(text.contains("(pid ") && text.contains("SIGKILL"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(place.left(), Vec::<String>::new(), "left behind");
}

/// Commands of a script; those of a program that is not there, wrong ones, and the end.
#[test]
fn a_console_that_nobody_reads_ends_quietly() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let script = scratch().join("pvm-unread");
    std::fs::write(&script, "version\nhelp\n").expect("written");
    let mut command = task(&prefix().join("bin/pvm"));
    let output = command.arg("--script").arg(&script).stdout(writer).output().expect("a console");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_console_reads_a_script() {
    let script = scratch().join("pvm-script");
    let mut file = std::fs::File::create(&script).expect("a file");
    let program = program("hello");
    let text = "conf\nid\n# a comment\nalias p echo words\np more\nspawn nosuchprogram\nkill nonsense\nbogus\n\
                add no.such.host\nspawn -2 -> PROGRAM child\n";
    file.write_all(text.replace("PROGRAM", program.to_str().expect("a name")).as_bytes())
        .expect("written");
    let mut command = task(&prefix().join("bin/pvm"));
    command.arg("--script").arg(&script);
    let output = succeed(command);
    for says in [
        "1 host, 1 data format",
        "\nt40001\n",
        "\nwords more\n",
        "\nNo such file\n",
        "nonsense: expected a task id",
        "bogus: no such command",
        "Can't start pvmd",
        "[1] finished",
    ] {
        assert!(output.contains(says), "{says:?} is missing:\n{output}");
    }
    assert_eq!(output.matches("] hello\n").count(), 2, "{output}");
}

/// Nothing is started by a hostfile that is wrong.
#[test]
fn a_wrong_hostfile_is_told_with_its_line() {
    let file = scratch().join("pvm-wrong-hosts");
    for (text, says) in [
        ("# mine\nfred so=pw\n", "line 2: 'so=pw': hosts are reached as ssh"),
        ("echo words\n", "line 1: 'words': expected an option of a hostfile"),
    ] {
        std::fs::write(&file, text).expect("written");
        let mut command = task(&prefix().join("bin/pvm"));
        command.arg(&file).stdin(Stdio::null());
        let outcome = run_within(command, PATIENCE);
        assert_eq!(outcome.code, Some(1), "{}", outcome.output);
        assert!(outcome.output.contains(says), "{}", outcome.output);
    }
}

/// What tasks write is seen when they write it, not when the next command comes.
#[test]
fn the_console_prints_output_while_it_waits_for_a_command() {
    let mut command = task(&prefix().join("bin/pvm"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut console = command.spawn().expect("a console");
    let mut input = console.stdin.take().expect("a pipe");
    let spawn = format!("spawn -> {} child\n", program("hello").display());
    input.write_all(spawn.as_bytes()).expect("written");
    let output = BufReader::new(console.stdout.take().expect("a pipe"));
    let mut lines = output.lines().map(|line| line.expect("a line"));
    assert!(lines.any(|line| line.ends_with("] hello")));
    assert!(lines.any(|line| line == "[1] finished"));
    input.write_all(b"halt\n").expect("the console is still there");
    assert!(console.wait().expect("a console").success());
}

/// `halt` ends tasks that wait for ever, those that were started by hand and those that were spawned.
#[test]
fn halt_ends_all_tasks() {
    let name = marker();
    let mut waiting = waiting(&name);
    let script = scratch().join("pvm-halt");
    std::fs::write(&script, "ps -a\nhalt\n").expect("a script");
    let mut console = clean(prefix().join("bin/pvm"));
    console.arg("--script").arg(&script).env("PVM_VMID", &name);
    let output = run_within(console, PATIENCE).output;
    assert_eq!(output.lines().filter(|line| line.ends_with("wait")).count(), 2, "{output}");
    assert!(!waiting.wait().expect("ends").success());
}

/// A task that waits for ever, and one that it has spawned; both are there when this returns.
fn waiting(name: &str) -> std::process::Child {
    let mut command = clean(program("wait"));
    command.env("PVM_VMID", name).stdout(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let mut line = String::new();
    let out = child.stdout.as_mut().expect("piped");
    BufReader::new(out).read_line(&mut line).expect("a line");
    assert_eq!(line, "both wait\n");
    child
}

/// The process of the virtual machine is killed: its tasks end, one by a message.
#[test]
fn kill_9_of_the_virtual_machine_ends_its_tasks() {
    let name = marker();
    let mut command = clean(program("wait"));
    command.env("PVM_VMID", &name).arg("and kill it");
    let outcome = run_within(command, PATIENCE);
    assert_eq!(outcome.code, Some(128 + 15), "{}", outcome.output);
    assert!(outcome.output.contains("the virtual machine has ended"), "{}", outcome.output);
}
