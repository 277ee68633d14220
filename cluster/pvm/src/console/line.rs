//! What a line of the console says, before anything is done.

use hpvm_pvm::{Tid, search};

/// The words of a line; none of a comment.
pub fn words(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.starts_with('#') {
        Vec::new()
    } else {
        line.split_whitespace().map(str::to_owned).collect()
    }
}

/// A task's number.
///
/// # Errors
/// What was expected.
pub fn tid(word: &str) -> Result<Tid, String> {
    let digits = word.strip_prefix('t').unwrap_or(word);
    Tid::from_str_radix(digits, 16)
        .map_err(|_| format!("{word}: expected a task id, such as t40002"))
}

/// Where the output of spawned tasks goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Terminal,
    File { name: String, append: bool },
}

/// The arguments of `spawn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawn {
    pub count: i32,
    /// Flags and place as `pvm_spawn` takes them.
    pub flags: i32,
    pub place: String,
    /// `None`: to the log.
    pub output: Option<Output>,
    pub program: String,
    pub arguments: Vec<String>,
}

impl Spawn {
    /// # Errors
    /// What was expected.
    pub fn parse(words: &[String]) -> Result<Spawn, String> {
        let mut spawn = Spawn {
            count: 1,
            flags: 0,
            place: String::new(),
            output: None,
            program: String::new(),
            arguments: Vec::new(),
        };
        let mut words = words.iter();
        for word in words.by_ref() {
            match word.strip_prefix('-') {
                None => {
                    spawn.program.clone_from(word);
                    break;
                }
                Some(">") => spawn.output = Some(Output::Terminal),
                Some(rest) if rest.starts_with('>') => spawn.output = Some(file(rest)?),
                Some("?") => return Err("spawn -?: a debugger is not started".to_owned()),
                Some(rest) => match rest.parse() {
                    Ok(count) => spawn.count = count,
                    Err(_) if rest == search::ARCH => {
                        (spawn.flags, spawn.place) = (2, rest.to_owned());
                    }
                    Err(_) => (spawn.flags, spawn.place) = (1, rest.to_owned()),
                },
            }
        }
        if spawn.program.is_empty() {
            return Err("spawn: no program; `help spawn` says what is expected".to_owned());
        }
        spawn.arguments = words.cloned().collect();
        Ok(spawn)
    }
}

/// The file of `->FILE` or `->>FILE`.
fn file(redirection: &str) -> Result<Output, String> {
    let (append, name) = match redirection.strip_prefix(">>") {
        Some(name) => (true, name),
        None => (false, redirection.trim_start_matches('>')),
    };
    if name.is_empty() {
        return Err(format!("spawn -{redirection}: expected the name of a file behind it"));
    }
    Ok(Output::File { name: name.to_owned(), append })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Spawn, String> {
        Spawn::parse(&words(line))
    }

    #[test]
    fn the_arguments_of_spawn_are_read() {
        let spawn = parse("-3 -hosta ->>out prog -x 5").expect("a program");
        assert_eq!((spawn.count, spawn.flags, spawn.place.as_str()), (3, 1, "hosta"));
        assert_eq!(spawn.output, Some(Output::File { name: "out".into(), append: true }));
        assert_eq!(
            (spawn.program.as_str(), spawn.arguments),
            ("prog", vec!["-x".into(), "5".into()])
        );
        assert_eq!(parse("-> prog").map(|spawn| spawn.output), Ok(Some(Output::Terminal)));
        assert!(parse("-3").is_err() && parse("->> prog").is_err() && parse("-? prog").is_err());
    }

    #[test]
    fn comments_and_tasks() {
        assert!(words("  # a comment").is_empty());
        assert_eq!((tid("t40002"), tid("40002")), (Ok(0x40002), Ok(0x40002)));
        assert!(tid("tz").is_err() && tid("").is_err());
    }
}
