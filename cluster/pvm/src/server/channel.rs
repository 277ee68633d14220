//! Frames in both directions: to a task, and between the processes of two hosts.

use hpvm_pvm::wire::{Wire, first_frame, frame};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// Behind each frame between hosts: `srun` passes on whole lines only.
const LINE_END: u8 = b'\n';
/// So much is read before what came is served: many small frames stay few to move.
const READ_AT_ONCE: usize = 1 << 20;
/// So much behind the first byte that is still wanted is not moved to the front yet.
const SLACK: usize = 1 << 20;

/// Bytes on their way.
#[derive(Default)]
pub struct Queue {
    bytes: Vec<u8>,
    /// Before it they were taken.
    at: usize,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn put(&mut self, value: &impl Wire) {
        self.bytes.extend_from_slice(&frame(value));
    }

    fn taken(&mut self, len: usize) {
        self.at += len;
        if self.is_empty() {
            self.bytes.clear();
            self.bytes.shrink_to(SLACK);
            self.at = 0;
        } else if self.at > SLACK && self.at > self.len() {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
    }

    /// Reads what is there, or a part of it; says whether more may come.
    pub fn fill(&mut self, from: &mut impl Read) -> bool {
        let mut part = [0; 64 << 10];
        let mut read = 0;
        while read < READ_AT_ONCE {
            match from.read(&mut part) {
                Ok(0) => return false,
                Ok(len) => {
                    self.bytes.extend_from_slice(&part[..len]);
                    read += len;
                }
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return true,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// The same with a line end behind it.
    fn put_line(&mut self, value: &impl Wire) {
        self.put(value);
        self.bytes.push(LINE_END);
    }

    /// # Errors
    /// What came is nothing known.
    pub fn next<T: Wire>(&mut self) -> Result<Option<T>, String> {
        let Some((value, len)) = first_frame(&self.bytes[self.at..])? else { return Ok(None) };
        self.taken(len);
        Ok(Some(value))
    }

    /// What `put_line` has put.
    fn next_line<T: Wire>(&mut self) -> Result<Option<T>, String> {
        let bytes = &self.bytes[self.at..];
        let Some((value, len)) = first_frame(bytes)? else { return Ok(None) };
        match bytes.get(len) {
            None => Ok(None),
            Some(&LINE_END) => {
                self.taken(len + 1);
                Ok(Some(value))
            }
            Some(other) => {
                Err(format!("a byte {other} behind a frame of {len} bytes; expected a line end"))
            }
        }
    }

    /// Writes what is taken.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub fn drain(&mut self, to: &mut impl Write) -> io::Result<()> {
        while !self.is_empty() {
            match to.write(&self.bytes[self.at..]) {
                Ok(len) => self.taken(len),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }
}

/// With so many bytes unsent, nothing more is taken from tasks.
const HIGH_WATER: usize = 16 << 20;
/// How often each side says that it is there.
const ALIVE_EVERY: Duration = Duration::from_millis(500);

/// The connection between the processes of two hosts, through the command that reaches hosts.
pub struct Channel {
    from: File,
    to: File,
    input: Queue,
    output: Queue,
    heard: Instant,
    said: Instant,
    /// After so long without a word the other side is given up.
    pub silence: Duration,
    broken: bool,
}

impl Channel {
    /// # Errors
    /// The descriptors are none that can be read and written without waiting.
    pub fn new(from: OwnedFd, to: OwnedFd, silence: Duration) -> io::Result<Channel> {
        for fd in [&from, &to] {
            hpvm_launch::sys::set_nonblocking(fd.as_raw_fd())?;
        }
        Ok(Channel {
            from: from.into(),
            to: to.into(),
            input: Queue::default(),
            output: Queue::default(),
            heard: Instant::now(),
            said: Instant::now(),
            silence,
            broken: false,
        })
    }

    /// What is read from, and what is written to if something waits for that.
    pub fn descriptors(&self) -> (RawFd, Option<RawFd>) {
        (self.from.as_raw_fd(), (!self.output.is_empty()).then(|| self.to.as_raw_fd()))
    }

    pub fn is_full(&self) -> bool {
        self.output.len() > HIGH_WATER
    }

    pub fn queue(&mut self, value: &impl Wire) {
        self.output.put_line(value);
    }

    /// Reads; says whether the other side is there.
    pub fn read(&mut self) -> bool {
        let before = self.input.len();
        let open = self.input.fill(&mut self.from);
        if self.input.len() > before {
            self.heard = Instant::now();
        }
        open
    }

    /// # Errors
    /// What came is nothing known.
    pub fn next<T: Wire>(&mut self) -> Result<Option<T>, String> {
        self.input.next_line()
    }

    /// Writes, and gives a sign of life (`alive`) when it is time.
    pub fn write(&mut self, alive: &impl Wire) {
        if self.said.elapsed() >= ALIVE_EVERY {
            self.said = Instant::now();
            if self.output.is_empty() {
                self.output.put_line(alive);
            }
        }
        self.broken |= self.output.drain(&mut self.to).is_err();
    }

    /// Whether the other side is to be given up.
    pub fn is_lost(&self) -> bool {
        self.broken || self.heard.elapsed() > self.silence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_also_large_ones_in_parts() {
        let mut queue = Queue::default();
        let words: Vec<String> = (0..100).map(|n| "x".repeat(n * 1000)).collect();
        words.iter().for_each(|word| queue.put(word));
        let mut bytes = Vec::new();
        queue.drain(&mut bytes).expect("memory takes all");
        assert!(queue.is_empty());
        let (mut input, mut got) = (Queue::default(), Vec::new());
        for mut part in bytes.chunks(7777) {
            assert!(!input.fill(&mut part), "a slice ends");
            while let Some(word) = input.next::<String>().expect("frames") {
                got.push(word);
            }
        }
        assert_eq!(got, words);
        assert!(input.is_empty() && input.bytes.is_empty());
    }

    /// What passes on whole lines only has passed on all of a frame.
    #[test]
    fn a_frame_between_hosts_ends_a_line() {
        let mut queue = Queue::default();
        for word in ["one", "two\nlines"] {
            queue.put_line(&word.to_string());
            assert_eq!(queue.bytes.last(), Some(&b'\n'));
        }
        let bytes = std::mem::take(&mut queue.bytes);
        let (mut input, mut got) = (Queue::default(), Vec::new());
        for byte in bytes {
            input.bytes.push(byte);
            got.extend(input.next_line::<String>().expect("frames"));
        }
        assert_eq!(got, ["one", "two\nlines"]);
        input.put(&"no line".to_string());
        input.put(&"no line".to_string());
        assert!(input.next_line::<String>().is_err());
    }
}
