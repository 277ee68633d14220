//! Options of the console (`getopt`, `setopt`): those of PVM's libraries that have a meaning for it.

use super::{Console, command};
use hpvm_pvm::error;
use hpvm_pvm::protocol::{Answer, Destination, Request};
use std::io;

/// An option as PVM names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    OutputTid,
    OutputCode,
    OutputContext,
    ShowTids,
    NoReset,
}

const NAMES: [(Name, &str); 5] = [
    (Name::OutputTid, "PvmOutputTid"),
    (Name::OutputCode, "PvmOutputCode"),
    (Name::OutputContext, "PvmOutputContext"),
    (Name::ShowTids, "PvmShowTids"),
    (Name::NoReset, "PvmNoReset"),
];

/// Options of a task that nothing of a console depends on: it sends no messages of its own, and traces nothing.
const OF_TASKS: [&str; 8] = [
    "PvmRoute",
    "PvmDebugMask",
    "PvmAutoErr",
    "PvmFragSize",
    "PvmResvTids",
    "PvmTrace",
    "PvmSelfOutput",
    "PvmSelfTrace",
];

pub struct Options {
    /// Where the output of spawned tasks goes for which `spawn` names no place. Task 0: to the log.
    pub output: Destination,
    /// Whether output of tasks is printed with the number of its job and task.
    pub show_tids: bool,
    no_reset: bool,
}

impl Default for Options {
    fn default() -> Options {
        // The machine takes a console for one that `reset` spares.
        Options { output: Destination::default(), show_tids: true, no_reset: true }
    }
}

impl Options {
    fn get(&self, name: Name) -> i32 {
        match name {
            Name::OutputTid => self.output.tid,
            Name::OutputCode => self.output.tag,
            Name::OutputContext => self.output.context,
            Name::ShowTids => self.show_tids.into(),
            Name::NoReset => self.no_reset.into(),
        }
    }

    fn set(&mut self, name: Name, value: i32) {
        match name {
            Name::OutputTid => self.output.tid = value,
            Name::OutputCode => self.output.tag = value,
            Name::OutputContext => self.output.context = value,
            Name::ShowTids => self.show_tids = value != 0,
            Name::NoReset => self.no_reset = value != 0,
        }
    }
}

/// # Errors
/// Why it is no option of the console.
fn find(word: &str) -> Result<(Name, &'static str), String> {
    if let Some(found) = NAMES.iter().find(|(_, name)| *name == word) {
        return Ok(*found);
    }
    Err(match OF_TASKS.iter().any(|start| word.starts_with(start)) {
        true => format!(
            "PVM Option \"{word}\" changes nothing of a console; a program sets its own with pvm_setopt"
        ),
        false => format!("PVM Option \"{word}\" Unknown."),
    })
}

/// The value that a word gives to an option.
///
/// # Errors
/// What was expected.
fn value(name: Name, word: &str) -> Result<i32, String> {
    let number = match name {
        Name::OutputTid if word.starts_with('t') => super::line::tid(word)?,
        _ => match word.strip_prefix("0x") {
            Some(digits) => i32::from_str_radix(digits, 16).map_err(|_| ()),
            None => word.parse().map_err(|_| ()),
        }
        .map_err(|()| format!("{word}: expected a number"))?,
    };
    match name {
        Name::ShowTids | Name::NoReset if !(0..=1).contains(&number) => {
            Err(format!("{word}: expected 0 or 1"))
        }
        _ if number < 0 => Err(format!("{word}: expected a number that is not negative")),
        _ => Ok(number),
    }
}

impl Console {
    pub fn getopt(&self, word: Option<&String>) -> io::Result<()> {
        let wanted = word.map(|word| find(word)).transpose().map_err(command::wrong)?;
        let wanted = |name| wanted.is_none_or(|(only, _)| only == name);
        for (name, text) in NAMES.iter().filter(|(name, _)| wanted(*name)) {
            say!("{text} Currently Set to {}", self.options.get(*name));
        }
        Ok(())
    }

    pub fn setopt(&mut self, words: &[String]) -> io::Result<()> {
        let [word, new] = words else {
            return Err(command::wrong("setopt: expected an option and a value"));
        };
        let (name, text) = find(word).map_err(command::wrong)?;
        let new = value(name, new).map_err(command::wrong)?;
        if name == Name::NoReset {
            let request = Request::NoReset { on: new != 0 };
            if let Answer::Code { code } = self.connection.ask(&request)?
                && code < 0
            {
                return Err(command::wrong(format!("{text}: {}", error::text(code))));
            }
        }
        say!("{text} Changed from {} to {new}", self.options.get(name));
        self.options.set(name, new);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_apart_from_those_of_tasks() {
        assert_eq!(find("PvmShowTids"), Ok((Name::ShowTids, "PvmShowTids")));
        assert!(find("PvmTraceTid").is_err_and(|why| why.contains("pvm_setopt")));
        assert!(find("PvmFoo").is_err_and(|why| why.contains("Unknown")));
        assert!(find("").is_err());
    }

    #[test]
    fn values_are_checked() {
        assert_eq!(value(Name::OutputTid, "t40002"), Ok(0x40002));
        assert_eq!(value(Name::OutputTid, "0x40002"), Ok(0x40002));
        assert_eq!((value(Name::OutputCode, "7"), value(Name::NoReset, "1")), (Ok(7), Ok(1)));
        for (name, word) in [
            (Name::NoReset, "2"),
            (Name::ShowTids, "yes"),
            (Name::OutputTid, "tz"),
            (Name::OutputCode, "-1"),
            (Name::OutputCode, "t4"),
            (Name::OutputContext, ""),
        ] {
            assert!(value(name, word).is_err(), "{word}");
        }
    }
}
