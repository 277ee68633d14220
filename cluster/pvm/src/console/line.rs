//! What a line of the console says, before anything is done.

use hpvm_pvm::{Tid, search};

/// The words of a line; none of a comment. What is between quotes, and a letter behind a backslash, is part of a word.
pub fn words(line: &str) -> Vec<String> {
    let line = line.strip_suffix("\r\n").or(line.strip_suffix('\n')).unwrap_or(line).trim_start();
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    if line.starts_with('#') {
        return words;
    }
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let word_so_far = word.get_or_insert_default();
        match letter {
            '\\' => word_so_far.extend(letters.next()),
            end if quote == Some(end) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            space if space.is_whitespace() && quote.is_none() => words.extend(word.take()),
            other => word_so_far.push(other),
        }
        while word.is_none() && letters.as_str().starts_with(char::is_whitespace) {
            letters.next();
        }
    }
    words.extend(word);
    words
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

/// Which tasks `ps` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the console's host.
    Here,
    Everywhere,
    Host(Tid),
    Named(String),
}

/// The arguments of `ps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ps {
    pub place: Place,
    /// With processes and parents.
    pub long: bool,
    pub consoles: bool,
}

impl Ps {
    /// # Errors
    /// What was expected.
    pub fn parse(words: &[String]) -> Result<Ps, String> {
        let mut ps = Ps { place: Place::Here, long: false, consoles: false };
        for word in words {
            let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
            let letters = letters
                .ok_or_else(|| format!("ps: {word}: expected an option; `help ps` lists them"))?;
            for (at, letter) in letters.char_indices() {
                let rest = &letters[at + letter.len_utf8()..];
                match letter {
                    'a' => ps.place = Place::Everywhere,
                    'l' => ps.long = true,
                    'x' => ps.consoles = true,
                    'h' => ps.place = Place::Host(tid(rest).map_err(|_| {
                        format!(
                            "ps: -h{rest}: expected the number of a host behind -h, such as 40000"
                        )
                    })?),
                    'n' if rest.is_empty() => {
                        return Err(
                            "ps: -n: expected the name of a host behind it, such as -nmars".into(),
                        );
                    }
                    'n' => ps.place = Place::Named(rest.to_owned()),
                    other => {
                        return Err(format!("ps: unknown flag -{other}; `help ps` lists them"));
                    }
                }
                if matches!(letter, 'h' | 'n') {
                    break;
                }
            }
        }
        Ok(ps)
    }
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
                Some(rest) if rest.starts_with('@') => {
                    return Err(format!("spawn -{rest}: no traces are written"));
                }
                Some(rest) if rest.starts_with("-host=") => {
                    (spawn.flags, spawn.place) = (1, rest["-host=".len()..].to_owned());
                }
                Some("?") => return Err("spawn -?: a debugger is not started".to_owned()),
                Some(rest) => match (rest.parse(), rest.split(':').next()) {
                    (Ok(count), _) => spawn.count = count,
                    // A folder without a host.
                    (_, Some("")) => (spawn.flags, spawn.place) = (0, rest.to_owned()),
                    (_, Some(search::ARCH)) => (spawn.flags, spawn.place) = (2, rest.to_owned()),
                    _ => (spawn.flags, spawn.place) = (1, rest.to_owned()),
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
        let place = |line| parse(line).map(|spawn| (spawn.flags, spawn.place));
        assert_eq!(place("-:/tmp prog"), Ok((0, ":/tmp".into())));
        assert_eq!(place("-LINUX64:/tmp prog"), Ok((2, "LINUX64:/tmp".into())));
        assert_eq!(place("-hosta:work prog"), Ok((1, "hosta:work".into())));
        assert_eq!(place("--host=10.0.0.1:/tmp prog"), Ok((1, "10.0.0.1:/tmp".into())));
        assert!(parse("-@ prog").is_err() && parse("-@file prog").is_err());
        assert!(parse("-3").is_err() && parse("->> prog").is_err() && parse("-? prog").is_err());
    }

    #[test]
    fn the_arguments_of_ps_are_read() {
        let parse = |line| Ps::parse(&words(line));
        let of = |place, long, consoles| Ok(Ps { place, long, consoles });
        assert_eq!(parse(""), of(Place::Here, false, false));
        assert_eq!(parse("-alx"), of(Place::Everywhere, true, true));
        assert_eq!(parse("-l -x"), of(Place::Here, true, true));
        assert_eq!(parse("-lh80000"), of(Place::Host(0x80000), true, false));
        assert_eq!(parse("-nlax"), of(Place::Named("lax".into()), false, false));
        for line in ["a", "-", "-n", "-h", "-hz", "-q", "-a é", "-é"] {
            assert!(parse(line).is_err_and(|why| why.starts_with("ps: ")), "{line}");
        }
    }

    #[test]
    fn comments_and_tasks() {
        assert!(words("  # a comment").is_empty() && words("").is_empty());
        assert_eq!(
            words(r#"a  "b  c"  'd "e' f\ g "" # h"#),
            ["a", "b  c", "d \"e", "f g", "", "#", "h"]
        );
        assert_eq!((tid("t40002"), tid("40002")), (Ok(0x40002), Ok(0x40002)));
        assert!(tid("tz").is_err() && tid("").is_err());
    }
}
