//! How much the commands say, and whether in colours: flags that all of them take which speak to a server.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use clap::{Arg, ArgAction, ArgMatches, Command};

/// What the flags of this run say.
#[derive(Clone, Copy, Debug, Default)]
struct Manner {
    quiet: bool,
    verbose: bool,
    colours: bool,
}

/// One process is one command.
static MANNER: OnceLock<Manner> = OnceLock::new();

fn manner() -> Manner {
    MANNER.get().copied().unwrap_or_default()
}

/// Adds the flags.
pub fn with_flags(command: Command) -> Command {
    let switch = |name: &'static str, short, help: &'static str| {
        Arg::new(name).long(name).short(short).action(ArgAction::SetTrue).global(true).help(help)
    };
    command
        .arg(switch("quiet", 'q', "Say only what was asked for: no heads of tables, no remarks"))
        .arg(switch("verbose", 'v', "Say which server is asked, and how long it takes"))
        .arg(
            Arg::new("color")
                .long("color")
                .visible_alias("colour")
                .value_name("WHEN")
                .value_parser(["auto", "always", "never"])
                .default_value("auto")
                .hide_possible_values(true)
                .global(true)
                .help("Colours in tables: always, never, or on terminals, unless NO_COLOR is set (auto)"),
        )
}

/// Takes what the flags say, if the command has them.
pub fn take(matches: &ArgMatches) {
    let flag = |name| matches.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or(false);
    let when =
        matches.try_get_one::<String>("color").ok().flatten().map_or("never", String::as_str);
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let colours = match when {
        "always" => true,
        "auto" => std::io::stdout().is_terminal() && !set("NO_COLOR") && !dumb(),
        _ => false,
    };
    let (quiet, verbose) = (flag("quiet"), flag("verbose"));
    // A second command in one process there is not.
    let _ = MANNER.set(Manner { quiet, verbose, colours });
}

/// Whether only what was asked for is to be said.
pub fn is_quiet() -> bool {
    manner().quiet
}

/// Tells something besides what was asked for.
pub fn remark(text: &str) {
    if !is_quiet() {
        tell(text);
    }
}

/// Tells how something is done.
pub fn detail(text: impl FnOnce() -> String) {
    if manner().verbose {
        tell(&text());
    }
}

fn tell(text: &str) {
    // If standard error is closed, there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "hpvm: {}", hpvm_launch::text::message(text));
}

/// A cell of a table in the colour of the state that it names; its column's head, or none if it is one.
pub fn painted(cell: &str, head: Option<&str>) -> String {
    let colour = match (head, cell) {
        _ if !manner().colours => return cell.to_string(),
        (None, _) => "2",
        (Some("STATE"), "running" | "up") => "32",
        (Some("STATE"), "pending" | "held" | "submitted" | "drained") => "33",
        (Some("STATE"), "cancelling" | "lost") => "31",
        (Some("STATE"), "ended") => "2",
        _ => return cell.to_string(),
    };
    format!("\x1b[{colour}m{cell}\x1b[0m")
}
