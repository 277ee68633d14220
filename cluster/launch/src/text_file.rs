//! Files of text that people name on the command line: what is none, or has no end, is told, and a pipe is not waited for
//! for ever.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::plain;

/// A pipe whose writer says nothing for so long is given up.
const PIPE_SILENCE: Duration = Duration::from_secs(10);

/// Why there is no text.
#[derive(Debug)]
pub enum Unread {
    Failed(io::Error),
    /// It has more bytes than these.
    TooLong(u64),
    /// The byte at this offset is not UTF-8.
    NoText(usize),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Failed(error) => f.write_str(&plain(error)),
            Unread::TooLong(most) => write!(f, "it is longer than {} MiB", most >> 20),
            Unread::NoText(at) => write!(f, "byte {at} is no text (UTF-8)"),
        }
    }
}

/// The text of a file of at most `most` bytes. Blocks for as long as the writer of a pipe writes.
pub fn read(path: &Path, most: u64) -> Result<String, Unread> {
    text(open(path), most)
}

/// As [`read`], where `-` is standard input.
pub fn read_or_stdin(path: &Path, most: u64) -> Result<String, Unread> {
    if path == Path::new("-") { text(Ok(io::stdin()), most) } else { read(path, most) }
}

fn text(source: io::Result<impl Read>, most: u64) -> Result<String, Unread> {
    let mut bytes = Vec::new();
    let read = source.and_then(|source| source.take(most + 1).read_to_end(&mut bytes));
    read.map_err(Unread::Failed)?;
    if bytes.len() as u64 > most {
        return Err(Unread::TooLong(most));
    }
    String::from_utf8(bytes).map_err(|error| Unread::NoText(error.utf8_error().valid_up_to()))
}

/// Opens a file, or a pipe as a shell makes it for `<(...)`. Waits for nobody to open its other
/// end, and for its writer no longer than [`PIPE_SILENCE`].
fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.file_type().is_file() {
        true => Ok(Box::new(file)),
        false => Ok(Box::new(Patient(file))),
    }
}

/// A reader that waits for its writer, but not for ever.
struct Patient(File);

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = Instant::now() + PIPE_SILENCE;
        loop {
            // A signal ends a wait before its time.
            let left = end.saturating_duration_since(Instant::now());
            if hpvm_os::wait(&self.0, libc::POLLIN, Some(left))? {
                return self.0.read(buffer);
            }
            if left.is_zero() {
                let text = format!("nobody has written to it for {} s", PIPE_SILENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let read_of = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            read(&file, 8).map_err(|unread| unread.to_string())
        };
        assert_eq!(read_of(b"12345678"), Ok("12345678".to_string()));
        assert_eq!(read_of(b"ab\xffd"), Err("byte 2 is no text (UTF-8)".to_string()));
        assert!(matches!(read(Path::new("/dev/zero"), 8), Err(Unread::TooLong(8))));
        let nowhere = read(&dir.path().join("nowhere"), 8).unwrap_err();
        assert_eq!(nowhere.to_string(), "No such file or directory");
    }
}
