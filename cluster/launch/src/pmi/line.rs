//! Lines of the PMI-1 wire protocol: `cmd=NAME key=value key=value` and a newline.

use super::LINE_MAX;

/// Cuts what a client sends into lines. Holds at most [`LINE_MAX`] bytes of an unfinished line
/// beside what one read brought.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    start: usize,
}

/// The client sent a line longer than [`LINE_MAX`].
#[derive(Debug, PartialEq, Eq)]
pub struct LineTooLong;

impl LineBuffer {
    /// Adds bytes that have been read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line without its newline.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, LineTooLong> {
        let rest = &self.bytes[self.start..];
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(length) if length > LINE_MAX => Err(LineTooLong),
            Some(length) => {
                let begin = self.start;
                self.start += length + 1;
                Ok(Some(&self.bytes[begin..begin + length]))
            }
            None if rest.len() > LINE_MAX => Err(LineTooLong),
            None => Ok(None),
        }
    }
}

/// One command: the value of `cmd` (or `mcmd`) and the other pairs.
#[derive(Debug, PartialEq, Eq)]
pub struct Command<'a> {
    pub name: &'a str,
    /// Whether it was `mcmd`: one pair a line until `endcmd`.
    pub multi: bool,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Command<'a> {
    /// Reads one line. The error says what is wrong with it.
    pub fn parse(line: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line).map_err(|_| "it is not text".to_string())?;
        if text.bytes().any(|byte| byte < b' ' && byte != b'\t' && byte != b'\r') {
            return Err("it holds control characters".to_string());
        }
        let (first, mut rest) = split_word(text);
        let (name, multi) = match first.split_once('=') {
            Some(("cmd", name)) if !name.is_empty() => (name, false),
            Some(("mcmd", name)) if !name.is_empty() => (name, true),
            _ => return Err("it does not start with 'cmd='".to_string()),
        };
        let mut pairs = Vec::new();
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Ok(Self { name, multi, pairs });
            }
            let (word, after) = split_word(rest);
            let Some((key, value)) = word.split_once('=') else {
                // The names of the name service are the user's, and may hold spaces.
                if let Some(("service" | "port", value)) = pairs.last_mut() {
                    let begin = value.as_ptr().addr() - text.as_ptr().addr();
                    *value = &text[begin..text.len() - after.len()];
                    rest = after;
                    continue;
                }
                return Err(format!("'{}' is not of the form key=value", clip(word)));
            };
            if key.is_empty() {
                return Err(format!("'{}' has no key", clip(word)));
            }
            // A value or a message is the last pair and may hold spaces.
            if key == "value" || key == "message" {
                pairs.push((key, rest[key.len() + 1..].trim_end_matches([' ', '\r'])));
                return Ok(Self { name, multi, pairs });
            }
            pairs.push((key, value));
            rest = after;
        }
    }

    /// The value that belongs to a key.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// The value of a key that must be there.
    pub fn need(&self, key: &str) -> Result<&'a str, String> {
        self.get(key).ok_or_else(|| format!("'cmd={}' lacks '{key}='", clip(self.name)))
    }

    /// A number that must be there.
    pub fn number(&self, key: &str) -> Result<i64, String> {
        let text = self.need(key)?;
        text.parse().map_err(|_| format!("'{key}={}' is not a number", clip(text)))
    }
}

fn split_word(text: &str) -> (&str, &str) {
    match text.find([' ', '\t', '\r']) {
        Some(at) => (&text[..at], &text[at..]),
        None => (text, ""),
    }
}

/// The beginning of a text that came from outside, short enough for a message.
pub fn clip(text: &str) -> String {
    const SHOWN: usize = 40;
    if text.chars().count() <= SHOWN {
        return text.to_string();
    }
    text.chars().take(SHOWN).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands() {
        let command = Command::parse(b"cmd=put kvsname=k  key=a value=b c=d ").unwrap();
        assert_eq!(command.name, "put");
        assert_eq!(command.get("key"), Some("a"));
        assert_eq!(command.get("value"), Some("b c=d"));
        let command = Command::parse(b"cmd=publish_name service=a  b port=c d e").unwrap();
        assert_eq!(command.get("service"), Some("a  b"));
        assert_eq!(command.get("port"), Some("c d e"));
        assert!(Command::parse(b"mcmd=spawn").unwrap().multi);
        assert_eq!(Command::parse(b"cmd=x n=7").unwrap().number("n"), Ok(7));
    }

    #[test]
    fn refusals() {
        for (line, part) in [
            (&b"hello"[..], "does not start with 'cmd='"),
            (b"", "does not start"),
            (b"cmd=", "does not start"),
            (b"cmd=put key", "'key' is not of the form"),
            (b"cmd=put =x", "'=x' has no key"),
            (b"cmd=\xff", "not text"),
            (b"cmd=put key=a\0b", "control characters"),
        ] {
            assert!(Command::parse(line).unwrap_err().contains(part), "{line:?}");
        }
        let command = Command::parse(b"cmd=abort exitcode=x").unwrap();
        assert!(command.number("exitcode").unwrap_err().contains("'exitcode=x'"));
        assert!(command.need("key").unwrap_err().contains("lacks 'key='"));
    }

    #[test]
    fn overlong_lines() {
        let mut buffer = LineBuffer::default();
        buffer.push(&vec![b'x'; LINE_MAX + 1]);
        assert_eq!(buffer.next_line(), Err(LineTooLong));
    }

    proptest! {
        /// However a stream is cut into reads, the same lines come out.
        #[test]
        fn cuts_do_not_matter(
            lines in prop::collection::vec("[a-z=]{0,20}", 0..20),
            cuts in prop::collection::vec(1usize..9, 1..40),
        ) {
            let stream: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
            let (mut buffer, mut seen, mut at) = (LineBuffer::default(), Vec::new(), 0);
            for cut in cuts.iter().cycle() {
                if at == stream.len() { break; }
                let end = (at + cut).min(stream.len());
                buffer.push(&stream[at..end]);
                at = end;
                while let Some(line) = buffer.next_line().unwrap() {
                    seen.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            prop_assert_eq!(seen, lines);
        }

        #[test]
        fn garbage_does_not_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Command::parse(&line);
        }
    }
}
