//! What the console's commands do.

/// One command.
struct Command {
    name: &'static str,
    arguments: &'static str,
    /// Words behind the name at most.
    most: usize,
    what: &'static str,
    /// What there is to say beside.
    details: &'static str,
}

/// As many words as there are.
const ANY: usize = usize::MAX;

const fn command(
    name: &'static str,
    arguments: &'static str,
    most: usize,
    what: &'static str,
) -> Command {
    Command { name, arguments, most, what, details: "" }
}

const SPAWN: &str = "  -COUNT            number of tasks, 1 if nothing is said
  -HOST[:FOLDER]    on this host, in this folder; also --host=HOST[:FOLDER]
  -ARCH[:FOLDER]    on hosts of this architecture
  -:FOLDER          in this folder, on any host
  ->                output comes to the console
  ->FILE, ->>FILE   output goes to the file, or is added to it";

const PS: &str = "  -a       tasks of all hosts (default is this one)
  -hTID    of the host with this number
  -nHOST   of the host of this name
  -l       with the number of the process and of the task's parent
  -x       consoles, too
Flags: c, the task is connected to the virtual machine; f, the virtual machine has started it";

const RESET: &str = "  reset info [NAME [INDEX]]   delete messages of the mailbox whose owners have gone; no task ends";

const SETOPT: &str =
    "  PvmShowTids 0 or 1   whether output of tasks is printed with the number of its job and task
  PvmNoReset 0 or 1    whether `reset` of another task spares this console
  PvmOutputTid TID, PvmOutputContext NUMBER, PvmOutputCode NUMBER
                       the task to which the output of spawned tasks goes without ->, in messages of
                       this context and tag; 0: to the log";

const COMMANDS: &[Command] = &[
    command("add", "HOSTNAME...", ANY, "Add hosts to virtual machine"),
    command("alias", "[NAME COMMAND...]", ANY, "Define/list command aliases"),
    command("conf", "", 0, "List virtual machine configuration"),
    command("delete", "HOSTNAME...", ANY, "Delete hosts from virtual machine"),
    command("echo", "[WORD...]", ANY, "Echo arguments"),
    command("export", "[NAME...]", ANY, "Add environment variables to spawn export list"),
    command("getopt", "[OPTION]", 1, "Display options of the console"),
    command("groups", "", 0, "List groups and their sizes"),
    command("halt", "", 0, "Stop the virtual machine and its tasks"),
    command("help", "[COMMAND]", 1, "Print helpful information about a command"),
    command("id", "", 0, "Print console task id"),
    Command {
        details: "  -l   with the tasks' hosts, flags and programs",
        ..command("jobs", "[-l]", 1, "List running jobs")
    },
    Command {
        details: "  -c   the children of TIDs, not TIDs themselves",
        ..command("kill", "[-c] TID...", ANY, "Terminate tasks")
    },
    command("mstat", "HOSTNAME...", ANY, "Show status of hosts"),
    command("names", "[PATTERN]", 1, "List message mailbox names"),
    Command { details: PS, ..command("ps", "[-alx] [-hTID] [-nHOST]", ANY, "List tasks") },
    command("pstat", "TID...", ANY, "Show status of tasks"),
    command("put", "NAME [FLAGS]", 2, "Add an empty entry to message mailbox"),
    command("quit", "", 0, "Exit console"),
    Command { details: RESET, ..command("reset", "", 3, "Kill all tasks, and empty the mailbox") },
    command("setenv", "[NAME [VALUE]]", ANY, "Display or set environment variables"),
    Command {
        details: SETOPT,
        ..command("setopt", "OPTION VALUE", 2, "Set options of the console")
    },
    command("sig", "SIGNUM TID...", ANY, "Send signal to tasks"),
    Command {
        details: SPAWN,
        ..command("spawn", "[OPTIONS] PROGRAM [ARGUMENT...]", ANY, "Spawn tasks")
    },
    command("unalias", "NAME...", ANY, "Undefine command alias"),
    command("unexport", "NAME...", ANY, "Remove environment variables from spawn export list"),
    command("version", "", 0, "Show libpvm version"),
];

/// Commands of PVM's console that do nothing here, and why.
const WITHOUT_MEANING: &[(&str, &str)] = &[
    ("idump", "the console has no messages whose memory could be listed"),
    ("tickle", "there is no daemon to tickle; the log of the virtual machine is /tmp/pvml.UID"),
    ("trace", "no traces are written"),
];

fn find(name: &str) -> Option<&'static Command> {
    let name = match name {
        "?" => "help",
        "exit" => "quit",
        name => name,
    };
    COMMANDS.iter().find(|command| command.name == name)
}

/// Why a command of PVM's console does nothing here.
pub fn without_meaning(name: &str) -> Option<&'static str> {
    WITHOUT_MEANING.iter().find(|(known, _)| *known == name).map(|(_, why)| *why)
}

/// Whether a command takes so many words. What is no command takes any number.
pub fn takes(name: &str, words: usize) -> bool {
    find(name).is_none_or(|command| words <= command.most)
}

pub fn print(name: Option<&str>) {
    let Some(name) = name else {
        say!("Commands are:");
        COMMANDS.iter().for_each(|Command { name, what, .. }| say!("  {name:<10} {what}"));
        return;
    };
    match (find(name), without_meaning(name)) {
        (Some(Command { name, arguments, what, details, .. }), _) => {
            say!("{name:<10} {what}\n\tSyntax: {name} {arguments}");
            if !details.is_empty() {
                say!("{details}");
            }
        }
        (None, Some(why)) => say!("{name}: {why}"),
        (None, None) => say!("{name}: no such command; `help` lists them"),
    }
}
