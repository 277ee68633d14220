//! Files that name the programs of a job, one a line: `--app`, `-configfile`.

use std::ffi::OsString;
use std::path::Path;

use crate::error::LaunchError;
use crate::text_file;

/// More bytes are no such file.
const FILE_MAX: u64 = 16 << 20;

/// The words of the file, with `:` between its programs.
pub fn words(shown: &str, path: &Path) -> Result<Vec<OsString>, LaunchError> {
    let fault = |what: &str| LaunchError::usage(format!("'{shown} {}': {what}", path.display()));
    let text = text_file::read(path, FILE_MAX).map_err(|unread| fault(&unread.to_string()))?;
    let mut words: Vec<OsString> = Vec::new();
    let text = text.replace("\\\n", " ");
    for (number, line) in text.lines().enumerate() {
        let found = split(line).ok_or_else(|| {
            fault(&format!("line {}: a quotation mark is not closed", number + 1))
        })?;
        if found.is_empty() {
            continue;
        }
        if !words.is_empty() {
            words.push(":".into());
        }
        words.extend(found.into_iter().map(OsString::from));
    }
    if words.is_empty() { Err(fault("it names no program")) } else { Ok(words) }
}

/// The words of a line, as a shell splits it: quotation marks hold words together, a backslash takes
/// the next character as it is, `#` at the start of a word begins a comment.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(mark)) if c == mark => quote = None,
            ('\\', None | Some('"')) => {
                word.get_or_insert_default().extend(chars.next());
            }
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let words = |line: &str| split(line).map(|words| words.join("|"));
        assert_eq!(words("-n 2 ./a 'b c' d\\ e \"f'g\"").as_deref(), Some("-n|2|./a|b c|d e|f'g"));
        assert_eq!(words("a '' # rest").as_deref(), Some("a|"));
        assert_eq!(words("# nothing").as_deref(), Some(""));
        assert_eq!(words("a 'b"), None);
    }

    #[test]
    fn files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("app");
        std::fs::write(&file, "# programs\n-n 1 a\n\n-n 2 b \\\n  c\n").unwrap();
        let joined = |words: Vec<OsString>| words.join(std::ffi::OsStr::new(" "));
        assert_eq!(joined(words("--app", &file).unwrap()), "-n 1 a : -n 2 b c");
        std::fs::write(&file, "# nothing\n").unwrap();
        assert!(words("--app", &file).unwrap_err().message.contains("names no program"));
        assert!(words("--app", Path::new("/no/such")).unwrap_err().message.contains("/no/such"));
    }
}
