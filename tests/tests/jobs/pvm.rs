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

/// Whichever calls receive them: a receive that waits may not be given what was sent later.
#[test]
fn messages_of_a_task_come_in_their_order() {
    assert_eq!(succeed(task(&program("order"))), "No errors\n");
}

/// Also where another task has sent the one because of the other.
#[test]
fn a_message_comes_behind_its_cause() {
    assert_eq!(succeed(task(&program("cause"))), "No errors\n");
}

/// Answers and errors of each call, as the manual pages have them.
#[test]
fn each_call_answers_what_its_manual_page_says() {
    assert_eq!(succeed(task(&program("walk"))), "No errors\n");
}

/// The same of calls that need several tasks: groups, contexts, others' mailboxes, output as messages, ends.
#[test]
fn each_call_among_tasks_answers_what_its_manual_page_says() {
    assert_eq!(succeed(task(&program("walk_tasks"))), "No errors\n");
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
                add no.such.host\nspawn -2 -> PROGRAM child\necho \"two  words\" 'a \"b' c\\ d\nspawn -:/usr -> pwd\n\
                put a.name\nput another 4\nput a.name many\nput a.name -1\nnames ^an\ntrace\nsetopt PvmRoute 1\n\
                setopt PvmShowTids 2\nsetopt PvmShowTids 1\ngetopt PvmShowTids\ngetopt PvmFoo\ntickle 2\nidump\n\
                help trace\nhelp ps\nps -q\nps -nmars\nps -h99999\njobs -q\nkill -z t40001\nkill -c\nreset all\n\
                reset info a.name x\nreset info\nversion now\nspawn -@ pwd\n";
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
        "\ntwo  words a \"b c d\n",
        "] /usr\n",
        "\na.name index=0\n",
        "\nanother index=0\n",
        "a.name: Bad parameter",
        "many: expected flags as a number",
        "trace: no traces are written",
        "\"PvmRoute\" changes nothing of a console",
        "2: expected 0 or 1",
        "PvmShowTids Changed from 1 to 1",
        "PvmShowTids Currently Set to 1",
        "PVM Option \"PvmFoo\" Unknown.",
        "tickle: there is no daemon to tickle",
        "idump: the console has no messages",
        "Syntax: ps [-alx] [-hTID] [-nHOST]",
        "ps: unknown flag -q",
        "ps: unknown host mars",
        "ps: t99999: ",
        "jobs: unknown option -q",
        "kill: unknown option -z",
        "kill: an argument is missing",
        "\"all\" arg to reset not valid",
        "x: expected an index, 0 or more",
        "version: too many arguments",
        "spawn -@: no traces are written",
    ] {
        assert!(output.contains(says), "{says:?} is missing:\n{output}");
    }
    assert_eq!(output.matches("] hello\n").count(), 2, "{output}");
    let named = |name: &str| output.contains(&format!("{name:>24}      0    40001"));
    assert!(named("another") && !named("a.name"), "{output}");
}

/// What a console prints that is given these commands, in the virtual machine of this name.
fn console(name: &str, commands: &str) -> String {
    let script = scratch().join(format!("pvm-script-{name}"));
    std::fs::write(&script, commands).expect("a script");
    let mut console = clean(prefix().join("bin/pvm"));
    console.arg("--script").arg(&script).env("PVM_VMID", name);
    let outcome = run_within(console, PATIENCE);
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    outcome.output
}

/// `ps` tells consoles, tasks started by hand and spawned ones apart; `kill -c` ends the children and not the parent.
#[test]
fn the_console_tells_tasks_and_their_children() {
    let name = marker();
    let mut waiting = waiting(&name);
    let output = console(&name, "ps -lx\nps\nps -h40000\n");
    let line = |end: &str| {
        let found = output.lines().find(|line| line.ends_with(end));
        found.unwrap_or_else(|| panic!("no line ends with {end:?}:\n{output}")).to_owned()
    };
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (cons, head) = (words(&line("4/c -")), words(&line("COMMAND")));
    assert_eq!((cons[1].as_str(), head[2].as_str(), head[3].as_str()), ("(cons)", "PTID", "PID"));
    let lines = output.lines().map(words).filter(|w| w.last().is_some_and(|w| w.ends_with("wait")));
    let lines: Vec<_> = lines.collect();
    let with = |flags: &str, words: usize| {
        let found: Vec<_> =
            lines.iter().filter(|l| l.len() == words && l[words - 2] == flags).collect();
        assert!(!found.is_empty(), "{flags}:\n{output}");
        found
    };
    let (parent, child) = (with("4/c", 6)[0], with("6/c,f", 6)[0]);
    assert_eq!((parent[2].as_str(), &child[2]), ("-", &parent[1]));
    assert_eq!(parent[3], waiting.id().to_string());
    // `ps`, and the same of this host by its number, without consoles.
    assert_eq!((with("4/c", 4).len(), with("6/c,f", 4).len(), lines.len()), (2, 2, 6));
    assert_eq!(output.matches("(cons)").count(), 1, "{output}");

    // Numbers of tasks that have no children end nothing.
    console(&name, &format!("kill -c t{} t4ffff\nkill -c {}\n", child[1], parent[1]));
    let ended = std::time::Instant::now() + PATIENCE;
    loop {
        let output = console(&name, "ps\n");
        let (parents, children) =
            (output.matches(" 4/c ").count(), output.matches("6/c,f").count());
        assert_eq!(parents, 1, "{output}");
        if children == 0 {
            break;
        }
        assert!(std::time::Instant::now() < ended, "{output}");
    }
    console(&name, "halt\n");
    assert!(!waiting.wait().expect("ends").success());
}

/// `jobs -l` has the tasks of each job; without `PvmShowTids` lines come as they are written. A job of which no task
/// could be started is none, and is not waited for.
#[test]
fn the_console_lists_jobs_and_prints_bare_lines() {
    let name = marker();
    let program = program("hello");
    let text = format!(
        "spawn -> nosuchprogram\nsetopt PvmShowTids 0\nspawn -> /bin/sleep 1\nspawn -> {} child\njobs -l\nps\n",
        program.display()
    );
    let output = console(&name, &text);
    assert!(output.contains("\nhello\n") && !output.contains("] hello"), "{output}");
    let jobs: Vec<_> = output.lines().skip_while(|line| !line.contains("FLAG 0x")).collect();
    assert!(!jobs.contains(&"[1]") && jobs.contains(&"[2]") && jobs.contains(&"[3]"), "{output}");
    assert!(jobs.iter().any(|line| line.ends_with(" 2/f /bin/sleep")), "{output}");
}

/// The user's own commands come before those of the terminal.
#[test]
fn the_console_reads_the_users_file_first() {
    let home = scratch().join(format!("pvm-home-{}", marker()));
    std::fs::create_dir_all(&home).expect("a folder");
    let commands = "# mine\nalias greet echo greetings from\ngreet here\n";
    std::fs::write(home.join(".pvmrc"), commands).expect("written");
    let mut command = task(&prefix().join("bin/pvm"));
    command.env("HOME", &home);
    assert_eq!(succeed(command), "greetings from here\n");
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
