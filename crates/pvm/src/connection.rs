//! A connection to the virtual machine's process, as tasks and consoles have it; and how that process is started where there is none.

use crate::Code;
use crate::protocol::{self, Answer, CLAIM, Hello, Identity, Mail, Request};
use crate::wire::{frame, unframe};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

/// How often a virtual machine that ends at the same moment is replaced by a new one.
const ATTEMPTS: usize = 10;

pub struct Connection {
    stream: UnixStream,
    input: Vec<u8>,
    /// Messages that have come beside the answers.
    pub events: VecDeque<Mail>,
    /// The virtual machine is being halted.
    pub halting: bool,
}

impl Connection {
    pub fn new(stream: UnixStream) -> Connection {
        Connection { stream, input: Vec::new(), events: VecDeque::new(), halting: false }
    }

    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// The first request.
    ///
    /// # Errors
    /// `Unsupported`, with a text for people: it would say the same again. Others: the virtual machine has ended.
    pub fn enroll(&mut self, hello: Hello) -> io::Result<Identity> {
        let text = match self.ask(&Request::Enroll { hello })? {
            Answer::Enrolled { identity } => return Ok(identity),
            Answer::Code { code } if code == Code::OutOfRes.number() => {
                "the virtual machine has no task identifiers left"
            }
            _ => {
                "the virtual machine is one of another version of hpvm; `pvm`, then `halt`, ends it"
            }
        };
        Err(io::Error::new(ErrorKind::Unsupported, text))
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The virtual machine has ended.
    pub fn ask(&mut self, request: &Request) -> io::Result<Answer> {
        self.tell(request)?;
        loop {
            match self.answer()? {
                Some(answer) => {
                    // Messages behind it are put aside, too: nothing more may come that would wake us.
                    self.answer()?;
                    return Ok(answer);
                }
                None => self.read()?,
            };
        }
    }

    /// Says something to which there is no answer.
    ///
    /// # Errors
    /// The virtual machine has ended.
    pub fn tell(&mut self, request: &Request) -> io::Result<()> {
        self.stream.write_all(&frame(request))
    }

    /// Reads what has come without waiting.
    ///
    /// # Errors
    /// The virtual machine has ended.
    pub fn look(&mut self) -> io::Result<()> {
        self.stream.set_nonblocking(true)?;
        let read = loop {
            match self.read() {
                Ok(()) => {}
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(cause) => break Err(cause),
            }
        };
        self.stream.set_nonblocking(false)?;
        // Nothing was asked, so there is no answer. What was said last counts also where nothing more comes.
        self.answer()?;
        read
    }

    /// Reads something.
    ///
    /// # Errors
    /// The virtual machine has ended.
    pub fn read(&mut self) -> io::Result<()> {
        let mut part = [0; 16 << 10];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => {
                    let text = "the virtual machine has ended";
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
                }
                Ok(len) => {
                    self.input.extend_from_slice(&part[..len]);
                    return Ok(());
                }
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
    }

    /// The next answer that was read; messages are put aside.
    ///
    /// # Errors
    /// What came is none.
    pub fn answer(&mut self) -> io::Result<Option<Answer>> {
        loop {
            match unframe::<Answer>(&mut self.input).map_err(io::Error::other)? {
                Some(Answer::Event { mail }) => self.events.push_back(mail),
                Some(Answer::Halting {}) => self.halting = true,
                other => return Ok(other),
            }
        }
    }
}

/// Connects to the virtual machine of a user and a name (`PVM_VMID`).
///
/// # Errors
/// There is none.
pub fn connect(user: u32, name: &str) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(protocol::address(user, name))?)
}

/// Opens a connection by `open`; where that fails `start` starts a virtual machine first.
///
/// # Errors
/// None can be started, each has ended at once, or `Unsupported`: it does not want us.
pub fn reach<T>(
    mut open: impl FnMut() -> io::Result<T>,
    mut start: impl FnMut() -> io::Result<()>,
) -> io::Result<T> {
    let mut last = io::Error::other("no virtual machine");
    for _ in 0..ATTEMPTS {
        match open() {
            Err(cause) if cause.kind() != ErrorKind::Unsupported => last = cause,
            other => return other,
        }
        start()?;
    }
    Err(last)
}

/// Starts a virtual machine by the command `hpvm`; when this returns it can be reached.
///
/// # Errors
/// It could not be started.
pub fn start(hpvm: &Path) -> io::Result<()> {
    let failed = |cause: String| {
        let command = hpvm.display();
        io::Error::other(format!(
            "{command} pvm --serve, which starts the virtual machine: {cause}"
        ))
    };
    let mut command = Command::new(hpvm);
    command.args(["pvm", "--serve"]).stdin(Stdio::null()).stdout(Stdio::piped()).env_remove(CLAIM);
    let mut child = command.spawn().map_err(|cause| failed(cause.to_string()))?;
    let mut said = String::new();
    let read = child.stdout.take().map(|mut out| out.read_to_string(&mut said));
    // A program that ignores the end of its children has none to wait for.
    let _ = child.wait();
    match read {
        Some(Ok(_)) if said == "ready\n" => Ok(()),
        _ => Err(failed("it has ended without being ready".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_machine_that_ends_is_started_again_and_one_that_refuses_is_not() {
        let (mut opened, mut started) = (0, 0);
        let open = || {
            opened += 1;
            if opened == 3 { Ok(opened) } else { Err(ErrorKind::ConnectionRefused.into()) }
        };
        let start = || {
            started += 1;
            Ok(())
        };
        assert_eq!(reach(open, start).ok(), Some(3));
        assert_eq!(started, 2);
        let refuse = || Err::<(), _>(ErrorKind::Unsupported.into());
        let refused = reach(refuse, || panic!("nothing to start"));
        assert_eq!(refused.map_err(|cause| cause.kind()), Err(ErrorKind::Unsupported));
        let never = || Err::<(), _>(ErrorKind::ConnectionRefused.into());
        let given_up = reach(never, || Ok(()));
        assert_eq!(given_up.map_err(|cause| cause.kind()), Err(ErrorKind::ConnectionRefused));
    }

    #[test]
    fn messages_beside_an_answer_are_put_aside() {
        let (here, mut there) = UnixStream::pair().expect("sockets");
        let mut connection = Connection::new(here);
        let mail = |tag| Mail { tag, ..Mail::default() };
        for answer in [
            Answer::Event { mail: mail(1) },
            Answer::Code { code: 7 },
            Answer::Event { mail: mail(2) },
            Answer::Halting {},
        ] {
            there.write_all(&frame(&answer)).expect("written");
        }
        assert_eq!(connection.ask(&Request::Groups {}).ok(), Some(Answer::Code { code: 7 }));
        let tags: Vec<_> = connection.events.iter().map(|mail| mail.tag).collect();
        assert_eq!((tags, connection.halting), (vec![1, 2], true));
        // Nothing has come: nobody waits.
        assert!(connection.look().is_ok());
        there.write_all(&frame(&Answer::Event { mail: mail(3) })).expect("written");
        drop(there);
        assert!(connection.look().is_err(), "it has ended");
        assert_eq!(connection.events.len(), 3, "and what it said last is here");
    }
}
