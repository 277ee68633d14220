//! What the user says about where the output of ranks goes and what stands in front of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::pattern::{Context, Pattern};
use crate::error::LaunchError;

/// All of it. Where there are two, the first is for standard output, the second for standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    pub tag: bool,
    /// Tags also name the host.
    pub detailed: bool,
    pub time: bool,
    pub prepend: Option<Pattern>,
    /// Whether standard error goes where standard output goes.
    pub merge: bool,
    /// Files that take it.
    pub files: [Option<Pattern>; 2],
    /// Whether what is in the files already stays: of a job that is started again.
    pub append: bool,
    /// Whether it goes to the launcher's own output (too).
    pub copy: [bool; 2],
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            tag: false,
            detailed: false,
            time: false,
            prepend: None,
            merge: false,
            files: [None, None],
            append: false,
            copy: [true; 2],
        }
    }
}

impl Routing {
    /// What stands in front of the lines of a rank, but for the time; empty: nothing.
    pub fn prefix(&self, context: &Context) -> Vec<u8> {
        let mut prefix = self.prepend.as_ref().map_or(Vec::new(), |pattern| pattern.fill(context));
        if self.detailed {
            let tag = Pattern::literal(b"[").then_rank(false).then(" ").then_host().then("] ");
            prefix.extend(tag.fill(context));
        } else if self.tag {
            prefix.extend(format!("[{}] ", context.rank).into_bytes());
        }
        prefix
    }

    /// Files NAME.RANK and NAME.RANK.err.
    pub fn to_files(&mut self, shown: &str, text: &OsStr) -> Result<(), LaunchError> {
        let name = self.without_qualifiers(shown, text)?;
        let output = Pattern::literal(name).then(".").then_rank(true);
        self.files = [Some(output.clone()), Some(output.then(".err"))];
        Ok(())
    }

    /// Files DIR/1/rank.RANK/stdout and stderr.
    pub fn to_folder(&mut self, shown: &str, text: &OsStr) -> Result<(), LaunchError> {
        let name = self.without_qualifiers(shown, text)?;
        let folder = Pattern::literal(name).then("/1/rank.").then_rank(false);
        self.files = [Some(folder.clone().then("/stdout")), Some(folder.then("/stderr"))];
        Ok(())
    }

    /// A file of this name instead of the launcher's output.
    pub fn to_pattern(&mut self, side: usize, pattern: Pattern) {
        self.files[side] = Some(pattern);
        self.copy[side] = false;
    }

    fn without_qualifiers<'a>(
        &mut self,
        shown: &str,
        text: &'a OsStr,
    ) -> Result<&'a [u8], LaunchError> {
        let mut name = text.as_bytes();
        if let Some(bare) = strip_end(name, b":nocopy") {
            name = bare;
            self.copy = [false; 2];
        }
        if name.is_empty() {
            return Err(LaunchError::usage(format!("'{shown}': no name given")));
        }
        Ok(name)
    }

    /// The value of `--output`: words with commas between, `:nocopy` behind.
    pub fn words(&mut self, shown: &str, value: &OsStr) -> Result<(), LaunchError> {
        let text = value.to_string_lossy();
        let words = match strip_end(text.as_bytes(), b":nocopy") {
            Some(words) => {
                self.copy = [false; 2];
                String::from_utf8_lossy(words).into_owned()
            }
            None => text.into_owned(),
        };
        for word in words.split(',').filter(|word| !word.is_empty()) {
            let (name, file) = word.split_once('=').unwrap_or((word, ""));
            match name.to_ascii_lowercase().as_str() {
                "tag" | "rank" => self.tag = true,
                "tag-detailed" | "tag-fullname" => self.detailed = true,
                "timestamp" => self.time = true,
                "merge" | "merge-stderr-to-stdout" => self.merge = true,
                "file" | "filename" => self.to_files(shown, OsStr::new(file))?,
                "dir" | "directory" => self.to_folder(shown, OsStr::new(file))?,
                _ => {
                    return Err(LaunchError::usage(format!(
                        "'{shown} {word}': hpvm knows tag, tag-detailed, timestamp, merge, file=NAME and \
                         dir=DIR, with :nocopy behind"
                    )));
                }
            }
        }
        Ok(())
    }
}

fn strip_end<'a>(text: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let at = text.len().checked_sub(end.len())?;
    text[at..].eq_ignore_ascii_case(end).then_some(&text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: Context<'_> = Context { rank: 3, ranks: 12, host: "a", node: 0, time: 0 };

    fn names(routing: &Routing) -> Vec<String> {
        let fill = |pattern: &Option<Pattern>| {
            let bytes = pattern.as_ref().map_or(Vec::new(), |pattern| pattern.fill(&CONTEXT));
            String::from_utf8(bytes).unwrap()
        };
        routing.files.iter().map(fill).collect()
    }

    #[test]
    fn names_of_files() {
        let mut routing = Routing::default();
        routing.to_files("--output-filename", OsStr::new("out/x%r")).unwrap();
        assert_eq!(names(&routing), ["out/x%r.03", "out/x%r.03.err"]);
        assert_eq!(routing.copy, [true; 2]);
        routing.words("--output", OsStr::new("tag,dir=/D:nocopy")).unwrap();
        assert_eq!(names(&routing), ["/D/1/rank.3/stdout", "/D/1/rank.3/stderr"]);
        assert_eq!((routing.copy, routing.tag), ([false; 2], true));
        for bad in ["file", "file=:nocopy", "wheel", "xml"] {
            assert!(routing.words("--output", OsStr::new(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn prefixes() {
        let mut routing = Routing::default();
        assert_eq!(routing.prefix(&CONTEXT), b"");
        routing.tag = true;
        assert_eq!(routing.prefix(&CONTEXT), b"[3] ");
        routing.prepend = Some(Pattern::parse("x", OsStr::new("%h>")).unwrap());
        assert_eq!(routing.prefix(&CONTEXT), b"a>[3] ");
        routing.detailed = true;
        assert_eq!(routing.prefix(&CONTEXT), b"a>[3 a] ");
    }
}
