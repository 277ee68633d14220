//! What the console's commands do.

/// Name, arguments, what it does.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("add", "HOSTNAME...", "Add hosts to virtual machine"),
    ("alias", "[NAME COMMAND...]", "Define/list command aliases"),
    ("conf", "", "List virtual machine configuration"),
    ("delete", "HOSTNAME...", "Delete hosts from virtual machine"),
    ("echo", "[WORD...]", "Echo arguments"),
    ("export", "[NAME...]", "Add environment variables to spawn export list"),
    ("groups", "", "List groups and their sizes"),
    ("halt", "", "Stop the virtual machine and its tasks"),
    ("help", "[COMMAND]", "Print helpful information about a command"),
    ("id", "", "Print console task id"),
    ("jobs", "", "List running jobs"),
    ("kill", "TID...", "Terminate tasks"),
    ("mstat", "HOSTNAME...", "Show status of hosts"),
    ("names", "", "List message mailbox names"),
    ("ps", "[-a]", "List tasks"),
    ("pstat", "TID...", "Show status of tasks"),
    ("quit", "", "Exit console"),
    ("reset", "", "Kill all tasks, and empty the mailbox"),
    ("setenv", "[NAME [VALUE]]", "Display or set environment variables"),
    ("sig", "SIGNUM TID...", "Send signal to tasks"),
    (
        "spawn",
        "[-COUNT] [-HOST] [-ARCH] [->] [->FILE] [->>FILE] PROGRAM [ARGUMENT...]",
        "Spawn tasks",
    ),
    ("unalias", "NAME...", "Undefine command alias"),
    ("unexport", "NAME...", "Remove environment variables from spawn export list"),
    ("version", "", "Show libpvm version"),
];

pub fn print(name: Option<&str>) {
    match name {
        None => {
            say!("Commands are:");
            COMMANDS.iter().for_each(|(name, _, what)| say!("  {name:<10} {what}"));
        }
        Some(name) => match COMMANDS.iter().find(|(known, ..)| *known == name) {
            Some((name, arguments, what)) => {
                say!("{name:<10} {what}\n\tSyntax: {name} {arguments}")
            }
            None => say!("{name}: no such command; `help` lists them"),
        },
    }
}
