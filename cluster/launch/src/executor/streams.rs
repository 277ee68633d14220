//! Streams of bytes between processes of this host and the job's launcher, wherever that runs: in a job over several sites only its
//! machine reaches all hosts, so ranks have it do what they cannot ([`errands`](crate::errands)).
//!
//! A process asks at a *door*, a socket in the kernel's abstract name space that leaves nothing behind. Who may come in is seen by the
//! kernel: processes of the same user.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use super::Source;
use crate::error::LaunchError;
use crate::sys::Epoll;

/// Where processes of this host ask for a stream.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    name: String,
}

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(hpvm_sites::door_socket(name))
}

impl Door {
    /// Opens one under a name that nobody guesses.
    ///
    /// # Errors
    /// The system gives no socket or no random bytes.
    pub fn open() -> Result<Door, LaunchError> {
        let name = crate::run::random_key()?;
        let opened = address(&name).and_then(|address| UnixListener::bind_addr(&address));
        let opened = opened.and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(Door { listener, name })
        });
        opened.map_err(|error| LaunchError::system("cannot open a socket for ranks", &error))
    }

    /// By which [`connect`] finds it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What ranks of `host` are told.
    pub fn value(&self, host: &str) -> String {
        format!("{},{host}", self.name)
    }
}

/// A stream by the door of this name, on this host.
///
/// # Errors
/// Nobody is there, or another user.
pub fn connect(name: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect_addr(&address(name)?)?;
    if of_our_user(&stream) { Ok(stream) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Whether the process at the other end is the same user's.
pub fn of_our_user(stream: &UnixStream) -> bool {
    hpvm_os::is_own(stream)
}

/// One stream.
#[derive(Debug)]
struct Stream {
    socket: UnixStream,
    unsent: Vec<u8>,
    /// More may come.
    reads: bool,
    /// Nothing more will be written but what waits; and that has been said.
    closes: bool,
    closed: bool,
    watched: libc::c_int,
}

/// The streams of this host.
#[derive(Debug, Default)]
pub struct Streams {
    door: Option<Door>,
    streams: BTreeMap<u32, Stream>,
    next: u32,
}

impl Streams {
    /// From now on who comes to `door` is let in.
    ///
    /// # Errors
    /// As of `epoll_ctl`.
    pub fn keep(&mut self, door: Door, epoll: &Epoll) -> io::Result<()> {
        epoll.add(door.listener.as_raw_fd(), libc::EPOLLIN, Source::Door.token(0))?;
        self.door = Some(door);
        Ok(())
    }

    /// The door, if there is one.
    pub fn door(&self) -> Option<&Door> {
        self.door.as_ref()
    }

    /// Lets in who waits at the door.
    pub fn admit(&mut self, epoll: &Epoll) {
        while let Some(Ok((socket, _))) = self.door.as_ref().map(|door| door.listener.accept()) {
            if of_our_user(&socket) {
                // Who cannot be served sees the end.
                let _ = self.add(socket, epoll);
            }
        }
    }

    /// Another one, which has no door. Gives its number.
    ///
    /// # Errors
    /// As of `fcntl` and `epoll_ctl`.
    pub fn add(&mut self, socket: UnixStream, epoll: &Epoll) -> io::Result<u32> {
        socket.set_nonblocking(true)?;
        let number = self.next;
        let (fd, events) = (socket.as_raw_fd(), libc::EPOLLIN);
        epoll.add(fd, events, Source::Stream.token(number))?;
        self.next += 1;
        let stream = Stream {
            socket,
            unsent: Vec::new(),
            reads: true,
            closes: false,
            closed: false,
            watched: events,
        };
        self.streams.insert(number, stream);
        Ok(number)
    }

    /// Something can be done for a stream. Gives what has come, in order; nothing at the end of it means that nothing more will.
    pub fn ready(&mut self, number: u32, buffer: &mut [u8], epoll: &Epoll) -> Vec<Vec<u8>> {
        let mut came = Vec::new();
        let Some(stream) = self.streams.get_mut(&number) else { return came };
        while stream.reads {
            match stream.socket.read(buffer) {
                Ok(count) if count > 0 => came.push(buffer[..count].to_vec()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => {
                    stream.reads = false;
                    came.push(Vec::new());
                }
            }
        }
        self.tend(number, epoll);
        came
    }

    /// Writes to a stream. Nothing: that is its end.
    pub fn write(&mut self, number: u32, bytes: &[u8], epoll: &Epoll) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.unsent.extend_from_slice(bytes);
        stream.closes |= bytes.is_empty();
        self.tend(number, epoll);
    }

    /// Writes what waits, and watches what can be done later.
    fn tend(&mut self, number: u32, epoll: &Epoll) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.flush();
        let fd = stream.socket.as_raw_fd();
        if stream.closed && !stream.reads {
            epoll.remove(fd);
            self.streams.remove(&number);
            return;
        }
        let read = if stream.reads { libc::EPOLLIN } else { 0 };
        let wanted = read | if stream.unsent.is_empty() { 0 } else { libc::EPOLLOUT };
        if wanted != stream.watched {
            epoll.remove(fd);
            // Without anything to do even an end would wake us for ever.
            let kept = wanted != 0 && epoll.add(fd, wanted, Source::Stream.token(number)).is_ok();
            stream.watched = if kept { wanted } else { 0 };
        }
    }
}

impl Stream {
    fn flush(&mut self) {
        while !self.unsent.is_empty() {
            match self.socket.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Nobody reads it any more.
                Err(_) => (self.unsent, self.closes) = (Vec::new(), true),
            }
        }
        if self.closes && !self.closed {
            let _ = self.socket.shutdown(Shutdown::Write);
            self.closed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_carry_bytes_and_ends_both_ways() {
        let epoll = Epoll::new().unwrap();
        let mut streams = Streams::default();
        streams.keep(Door::open().unwrap(), &epoll).unwrap();
        let mut far = connect(streams.door().unwrap().name()).unwrap();
        streams.admit(&epoll);
        far.write_all(b"ask").unwrap();
        let mut buffer = [0; 64];
        assert_eq!(streams.ready(0, &mut buffer, &epoll), [b"ask".to_vec()]);
        // More than the kernel keeps.
        let much = vec![7; 4 << 20];
        streams.write(0, &much, &epoll);
        streams.write(0, &[], &epoll);
        let reader = std::thread::spawn(move || {
            let mut got = Vec::new();
            far.read_to_end(&mut got).unwrap();
            (got, far)
        });
        let mut tokens = Vec::new();
        while !streams.streams[&0].closed {
            epoll.wait(1000, &mut tokens).unwrap();
            streams.ready(0, &mut buffer, &epoll);
        }
        let (got, far) = reader.join().unwrap();
        assert!(got == much);
        drop(far);
        assert_eq!(streams.ready(0, &mut buffer, &epoll), [Vec::<u8>::new()]);
        assert!(streams.streams.is_empty(), "both directions have ended");
        // Nobody is at a door that is closed, and a stream that there is not takes nothing.
        streams.write(0, b"x", &epoll);
        let name = streams.door().unwrap().name().to_owned();
        drop(streams);
        assert!(connect(&name).is_err());
    }
}
