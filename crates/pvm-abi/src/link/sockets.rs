//! The sockets of a task: where links come in, and where it is rung.

use super::outgoing::Carrier;
use super::segment::Segment;
use hpvm_pvm::Tid;
use hpvm_pvm::protocol::task_address;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::time::Duration;

/// Links that wait for a receiver that computes: more than tasks there are on a host. The kernel may have a lower limit.
const BACKLOG: i32 = 4096;

/// What is said when a segment is handed over: this, from whom, which, how large, and the secret.
const MAGIC: u32 = 0x5056_4d4c;
const LENGTH: usize = 36;

/// Which virtual machine this is, and what its tasks know.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    pub nonce: i64,
    pub secret: Vec<u8>,
}

/// A segment that has come.
pub struct Arrival {
    pub from: Tid,
    pub generation: u32,
    pub segment: Segment,
}

/// The sockets.
pub struct Sockets {
    machine: Machine,
    tid: Tid,
    listener: UnixListener,
    bell: UnixDatagram,
    /// Rings others.
    ringer: UnixDatagram,
    /// Accepted, and nothing said yet.
    silent: Vec<UnixStream>,
}

/// The two sockets that the virtual machine has made for a task that it has started.
pub type Made = Option<(UnixListener, UnixDatagram)>;

impl Sockets {
    /// # Errors
    /// The system has no descriptors left, or somebody uses our addresses.
    pub fn open(machine: Machine, tid: Tid, made: Made) -> io::Result<Sockets> {
        let address = |what| SocketAddr::from_abstract_name(task_address(machine.nonce, tid, what));
        let (listener, bell) = match made {
            Some(made) => made,
            None => {
                (UnixListener::bind_addr(&address('l')?)?, UnixDatagram::bind_addr(&address('b')?)?)
            }
        };
        // SAFETY: a system call with numbers. Without it the backlog is the library's usual one.
        unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) };
        listener.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        let ringer = UnixDatagram::unbound()?;
        ringer.set_nonblocking(true)?;
        Ok(Sockets { machine, tid, listener, bell, ringer, silent: Vec::new() })
    }

    /// What to sleep on.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let silent = self.silent.iter().map(AsRawFd::as_raw_fd);
        [self.listener.as_raw_fd(), self.bell.as_raw_fd()].into_iter().chain(silent).collect()
    }

    /// Forgets that we were rung.
    pub fn quiet(&self) {
        let mut byte = [0; 8];
        while self.bell.recv(&mut byte).is_ok() {}
    }

    /// Segments that have come.
    pub fn arrivals(&mut self) -> Vec<Arrival> {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_ok() && hpvm_os::is_own(&stream) {
                self.silent.push(stream);
            }
        }
        let mut arrivals = Vec::new();
        let machine = &self.machine;
        self.silent.retain(|stream| match receive(stream) {
            Err(cause) => matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
            Ok((words, file)) => {
                arrivals.extend(file.and_then(|file| read(&words, &file, machine)));
                false
            }
        });
        arrivals
    }

    fn connect(&self, to: Tid) -> io::Result<UnixStream> {
        let address = SocketAddr::from_abstract_name(task_address(self.machine.nonce, to, 'l'))?;
        loop {
            match UnixStream::connect_addr(&address) {
                // More links wait there than the kernel lets: the receiver takes them in its next call.
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                other => return other,
            }
        }
    }
}

/// Sends words and a descriptor in one message.
fn send(stream: &UnixStream, words: &[u8], file: BorrowedFd<'_>) -> io::Result<()> {
    match hpvm_os::send(stream, words, &[file])? == words.len() {
        true => Ok(()),
        false => Err(ErrorKind::WriteZero.into()),
    }
}

/// Receives what `send` has sent.
fn receive(stream: &UnixStream) -> io::Result<([u8; LENGTH], Option<OwnedFd>)> {
    let mut words = [0; LENGTH];
    let received = hpvm_os::receive(stream, &mut words)?;
    let file = received.descriptors.into_iter().next();
    Ok((words, file.filter(|_| received.len == LENGTH)))
}

fn words(machine: &Machine, from: Tid, generation: u32, capacity: u64) -> Vec<u8> {
    let mut out = MAGIC.to_le_bytes().to_vec();
    out.extend(from.to_le_bytes());
    out.extend(generation.to_le_bytes());
    out.extend(capacity.to_le_bytes());
    out.extend(&machine.secret);
    out.resize(LENGTH, 0);
    out
}

fn read(bytes: &[u8; LENGTH], file: &OwnedFd, machine: &Machine) -> Option<Arrival> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (from, generation) = (word(4)? as Tid, word(8)?);
    let capacity = u64::from(word(12)?) | u64::from(word(16)?) << 32;
    if words(machine, from, generation, capacity) != bytes {
        return None;
    }
    let segment = Segment::attach(file, capacity).ok()?;
    Some(Arrival { from, generation, segment })
}

impl Carrier for Sockets {
    fn hand_over(
        &mut self,
        to: Tid,
        generation: u32,
        capacity: u64,
        file: OwnedFd,
    ) -> io::Result<()> {
        let stream = self.connect(to)?;
        if !hpvm_os::is_own(&stream) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        use std::os::fd::AsFd;
        send(&stream, &words(&self.machine, self.tid, generation, capacity), file.as_fd())
    }

    fn ring(&mut self, to: Tid) {
        // A full queue rings, too; a task that has gone needs no bell.
        if let Ok(address) =
            SocketAddr::from_abstract_name(task_address(self.machine.nonce, to, 'b'))
        {
            let _ = self.ringer.send_to_addr(&[0], &address);
        }
    }

    /// Nothing is sent while a link is opened, so nobody is waited for.
    fn rest(&mut self, _: Tid) -> io::Result<()> {
        Ok(())
    }
}
