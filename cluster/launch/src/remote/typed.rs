//! Standard input of a rank that does not inherit it: bytes written to a pipe as the rank takes them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::frame::Frame;
use crate::sys::{self, Epoll};

/// The pipe to the rank and what waits for it.
#[derive(Debug)]
pub struct Typed {
    /// The number of its events.
    token: u64,
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    ended: bool,
    watched: bool,
}

impl Typed {
    /// Without a pipe so far.
    pub fn new(token: u64) -> Self {
        Self { token, pipe: None, bytes: Vec::new(), ended: false, watched: false }
    }

    /// Makes the pipe; gives the end for the rank.
    pub fn open(&mut self) -> io::Result<OwnedFd> {
        let (read, write) = sys::pipe()?;
        sys::set_nonblocking(write.as_raw_fd())?;
        self.pipe = Some(write);
        Ok(read)
    }

    /// Takes bytes for the rank; none are the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.ended |= bytes.is_empty();
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes what the pipe takes, and says what is to be told the launcher.
    pub fn write(&mut self, epoll: &Epoll) -> Option<Frame> {
        let pipe = self.pipe.as_ref().map(AsRawFd::as_raw_fd)?;
        let mut told = None;
        let mut close = false;
        if !self.bytes.is_empty() {
            match sys::write(pipe, &self.bytes) {
                Ok(count) => {
                    self.bytes.drain(..count);
                    told = Some(Frame::StdinTaken(count as u32));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => {
                    told = Some(Frame::StdinClosed);
                    close = true;
                }
            }
        }
        close |= self.ended && self.bytes.is_empty();
        let wanted = !close && !self.bytes.is_empty();
        if wanted && !self.watched {
            self.watched = epoll.add(pipe, libc::EPOLLOUT, self.token).is_ok();
        } else if !wanted && self.watched {
            epoll.remove(pipe);
            self.watched = false;
        }
        if close {
            self.pipe = None;
            self.bytes.clear();
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_and_the_end_closes() {
        let epoll = Epoll::new().unwrap();
        let mut typed = Typed::new(0);
        let read = typed.open().unwrap();
        assert_eq!(typed.write(&epoll), None);
        typed.push(b"ab");
        assert_eq!(typed.write(&epoll), Some(Frame::StdinTaken(2)));
        let mut buffer = [0; 1 << 20];
        assert_eq!(sys::read(read.as_raw_fd(), &mut buffer).unwrap(), 2);
        // More than a pipe takes: the rest is written when there is room.
        typed.push(&[7; 1 << 20]);
        typed.push(b"");
        let mut taken = 0;
        while taken < 1 << 20 {
            let Some(Frame::StdinTaken(count)) = typed.write(&epoll) else { panic!("{taken}") };
            assert!(count > 0 && (count as usize) < 1 << 20);
            taken += count as usize;
            let mut left = count as usize;
            while left > 0 {
                left -= sys::read(read.as_raw_fd(), &mut buffer[..left]).unwrap();
            }
        }
        assert_eq!(sys::read(read.as_raw_fd(), &mut buffer).unwrap(), 0);
    }

    #[test]
    fn a_closed_reader_is_told_once() {
        let epoll = Epoll::new().unwrap();
        let mut typed = Typed::new(0);
        drop(typed.open().unwrap());
        typed.push(b"x");
        assert_eq!(typed.write(&epoll), Some(Frame::StdinClosed));
        typed.push(b"x");
        assert_eq!(typed.write(&epoll), None);
    }
}
