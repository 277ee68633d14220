//! From the job's pipes into its output files. The supervisor stands in between so that a full disk
//! makes the job wait instead of losing what it writes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::record::FileId;
use hpvm_launch::sys;

/// Bytes moved at once: what a pipe of Linux holds.
const CHUNK: usize = 64 << 10;

/// One pipe and the file behind it.
#[derive(Debug)]
pub struct Pump {
    pipe: Option<File>,
    file: File,
    buffer: Vec<u8>,
    /// What is in the pipe now is all that will be read.
    last: bool,
    /// Why the file takes nothing more, for good.
    pub broken: Option<String>,
    /// Why it takes nothing now.
    pub waiting: Option<String>,
}

impl Pump {
    /// Opens the file, and gives the end of the pipe that the job writes to.
    pub fn open(path: &Path, append: bool) -> io::Result<(Pump, OwnedFd)> {
        // O_NONBLOCK: a pipe with a name and no reader must not hold us up; it is refused below.
        let mut options = OpenOptions::new();
        options.append(append).write(true).create(true).truncate(!append).mode(0o666);
        let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
        let kind = file.metadata()?.file_type();
        if !kind.is_file() && path != Path::new("/dev/null") {
            return Err(io::Error::other("it is no regular file"));
        }
        let (read, write) = sys::pipe()?;
        sys::set_nonblocking(read.as_raw_fd())?;
        let pipe = Some(File::from(read));
        let pump =
            Pump { pipe, file, buffer: Vec::new(), last: false, broken: None, waiting: None };
        Ok((pump, write))
    }

    /// How many bytes the file has now.
    pub fn size(&self) -> u64 {
        self.file.metadata().map_or(0, |meta| meta.len())
    }

    /// Which file it is.
    pub fn identity(&self) -> FileId {
        self.file.metadata().map_or(FileId::default(), |meta| FileId::of(&meta))
    }

    /// The descriptor to wait for; none while the file takes nothing or when the pipe has ended.
    pub fn pollable(&self) -> Option<RawFd> {
        self.buffer.is_empty().then(|| self.pipe.as_ref().map(AsRawFd::as_raw_fd)).flatten()
    }

    /// Whether all that will come has been written, or thrown away.
    pub fn is_done(&self) -> bool {
        self.pipe.is_none() && self.buffer.is_empty()
    }

    /// Nothing more is to be read: who still holds the other end is not of the job.
    pub fn close(&mut self) {
        self.last = true;
        self.step();
    }

    /// Moves what can be moved now.
    pub fn step(&mut self) {
        loop {
            if !self.flush() {
                return;
            }
            let Some(pipe) = &mut self.pipe else { return };
            self.buffer.resize(CHUNK, 0);
            let got = pipe.read(&mut self.buffer);
            self.buffer.truncate(*got.as_ref().unwrap_or(&0));
            match got {
                Ok(0) => self.pipe = None,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.last => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.pipe = None,
            }
        }
    }

    /// Writes the buffer; false when the file takes nothing now.
    fn flush(&mut self) -> bool {
        while !self.buffer.is_empty() {
            if self.broken.is_some() {
                self.buffer.clear();
                break;
            }
            match self.file.write(&self.buffer) {
                Ok(count) => {
                    self.buffer.drain(..count);
                    self.waiting = None;
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::ENOSPC | libc::EDQUOT) => {
                        self.waiting = Some(error.to_string());
                        return false;
                    }
                    _ => self.broken = Some(error.to_string()),
                },
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_arrives_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let (mut pump, write) = Pump::open(&path, false).unwrap();
        let text: Vec<u8> = (0..1_000_000_u32).map(|i| i as u8).collect();
        let sent = text.clone();
        let writer = std::thread::spawn(move || File::from(write).write_all(&sent).unwrap());
        while !pump.is_done() {
            pump.step();
            std::thread::yield_now();
        }
        writer.join().unwrap();
        assert!(std::fs::read(&path).unwrap() == text);
    }

    #[test]
    fn a_file_that_takes_nothing_is_told_of() {
        let (mut pump, write) = Pump::open(Path::new("/dev/null"), false).unwrap();
        // A device that is always full stands for the disk.
        pump.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        File::from(write).write_all(b"text").unwrap();
        pump.step();
        assert!(pump.waiting.is_some() && pump.pollable().is_none() && !pump.is_done());
        pump.file = OpenOptions::new().write(true).open("/dev/null").unwrap();
        pump.step();
        assert!(pump.waiting.is_none() && pump.is_done());
    }

    #[test]
    fn pipes_and_folders_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Pump::open(dir.path(), false).is_err());
        assert!(Pump::open(Path::new("/dev/full"), true).is_err());
    }
}
