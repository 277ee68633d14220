//! The test list: which program runs on how many ranks, with what arguments and time limit.
//!
//! One entry per line; `#` starts a comment, empty lines are skipped:
//!
//! ```text
//! p2p_modes        ranks=2,3
//! coll_allreduce   ranks=1,2,5 time=60 -- 100000
//! env_abort        ranks=2 exit=7
//! env_fatal        ranks=2 exit=nonzero
//! bad_uncommitted  ranks=1 only=hpvm
//! ```

use std::time::Duration;

/// How long a test may run when its entry does not say: seconds at most, but on a loaded machine.
pub const DEFAULT_TIME: Duration = Duration::from_secs(120);

/// The exit code that makes a test pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Exit code 0, and the program said "No errors".
    Clean,
    /// This exit code of the launcher.
    Code(i32),
    /// Any exit code but 0, before the time limit.
    Nonzero,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name of the C file, without its extension.
    pub program: String,
    /// The numbers of ranks it is run on, one test each.
    pub ranks: Vec<u32>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Time limit of one run.
    pub time: Duration,
    /// What counts as success.
    pub exit: Exit,
    /// Text that the output must contain, beside the exit code.
    pub expect: Option<String>,
    /// Run only on the implementation of this name.
    pub only: Option<String>,
}

/// Reads a list.
///
/// # Errors
/// Names the line, the word that was not understood and what may stand there.
pub fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            entries
                .push(parse_line(line).map_err(|e| format!("testlist line {}: {e}", index + 1))?);
        }
    }
    Ok(entries)
}

fn parse_line(line: &str) -> Result<Entry, String> {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or("").to_string();
    if !program.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("'{program}' is not a program's name (letters, digits, _)"));
    }
    let mut entry = Entry {
        program,
        ranks: Vec::new(),
        args: Vec::new(),
        time: DEFAULT_TIME,
        exit: Exit::Clean,
        expect: None,
        only: None,
    };
    while let Some(word) = words.next() {
        if word == "--" {
            entry.args = words.map(str::to_string).collect();
            break;
        }
        parse_word(&mut entry, word)?;
    }
    if entry.ranks.is_empty() {
        return Err(format!("'{}' lacks ranks=N[,N...]", entry.program));
    }
    Ok(entry)
}

fn parse_word(entry: &mut Entry, word: &str) -> Result<(), String> {
    let (key, value) = word
        .split_once('=')
        .ok_or_else(|| format!("'{word}' is not key=value (arguments stand after --)"))?;
    match key {
        "ranks" => entry.ranks = parse_ranks(value)?,
        "time" => {
            let seconds = value.parse().map_err(|_| format!("time={value}: seconds expected"))?;
            entry.time = Duration::from_secs(seconds);
        }
        "exit" if value == "nonzero" => entry.exit = Exit::Nonzero,
        "exit" => {
            let code = value
                .parse()
                .map_err(|_| format!("exit={value}: an exit code or 'nonzero' expected"))?;
            entry.exit = Exit::Code(code);
        }
        "expect" => entry.expect = Some(value.to_string()),
        "only" => entry.only = Some(value.to_string()),
        _ => return Err(format!("'{key}' is none of ranks, time, exit, expect, only")),
    }
    Ok(())
}

/// Reads a comma-separated list of rank counts, each at least 1.
///
/// # Errors
/// Names the item that is not a number of ranks.
pub fn parse_ranks(text: &str) -> Result<Vec<u32>, String> {
    text.split(',')
        .map(|item| match item.parse::<u32>() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(format!("'{item}' in '{text}' is not a number of ranks (1 or more)")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_key_and_the_arguments() {
        let text = "# head\n\nabc ranks=1,2 time=5 exit=nonzero only=hpvm expect=x -- a -b # end\n";
        let entries = parse(text).unwrap();
        assert_eq!(entries.len(), 1);
        let e = &entries[0];
        assert_eq!(e.program, "abc");
        assert_eq!(e.ranks, [1, 2]);
        assert_eq!(e.time, Duration::from_secs(5));
        assert_eq!(e.exit, Exit::Nonzero);
        assert_eq!(e.only.as_deref(), Some("hpvm"));
        assert_eq!(e.expect.as_deref(), Some("x"));
        assert_eq!(e.args, ["a", "-b"]);
    }

    #[test]
    fn defaults_are_a_clean_exit_and_the_default_time() {
        let e = &parse("abc ranks=3").unwrap()[0];
        assert_eq!((e.exit, e.time), (Exit::Clean, DEFAULT_TIME));
    }

    #[test]
    fn errors_name_the_line_and_the_word() {
        let cases = [
            ("abc", "lacks ranks"),
            ("abc ranks=0", "'0'"),
            ("abc ranks=2 zeit=3", "'zeit'"),
            ("abc ranks=2 word", "'word'"),
            ("abc ranks=2 exit=no", "exit=no"),
            ("../abc ranks=2", "'../abc'"),
        ];
        for (line, part) in cases {
            let error = parse(&format!("\n{line}")).unwrap_err();
            assert!(error.contains("line 2") && error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn the_list_in_the_tree_is_sound_and_complete() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
        let entries = parse(&std::fs::read_to_string(dir.join("testlist")).unwrap()).unwrap();
        for entry in &entries {
            let source = dir.join(format!("{}.c", entry.program));
            assert!(source.is_file(), "{} is listed but missing", source.display());
        }
        for file in std::fs::read_dir(&dir).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            if let Some(program) = name.strip_suffix(".c") {
                assert!(entries.iter().any(|e| e.program == program), "{name} is not listed");
            }
        }
    }
}
