//! A connection to the virtual machine, which is started where there is none.

use crate::{machine_name, sys};
use hpvm_pvm::protocol::{self, Answer, Hello, Identity, Mail, Request, VERSION};
use hpvm_pvm::wire::{frame, unframe};
use std::collections::VecDeque;
use std::io::{self, Read, Write};

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Command, Stdio};

/// How often a virtual machine that ends at the same moment is replaced by a new one.
const ATTEMPTS: usize = 10;

/// The console's connection.
pub struct Connection {
    stream: UnixStream,
    input: Vec<u8>,
    pub events: VecDeque<Mail>,
    pub identity: Identity,
}

impl Connection {
    /// # Errors
    /// There is no virtual machine, and none can be started.
    pub fn open() -> io::Result<Connection> {
        let mut last = io::Error::other("no virtual machine");
        for _ in 0..ATTEMPTS {
            match connect().and_then(Connection::enroll) {
                Ok(connection) => return Ok(connection),
                Err(cause) => last = cause,
            }
            start()?;
        }
        Err(last)
    }

    fn enroll(stream: UnixStream) -> io::Result<Connection> {
        let (_, user) = sys::peer(&stream)?;
        if user != sys::user() {
            let text = format!("the virtual machine's socket belongs to user {user}");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        let identity = Identity::default();
        let mut connection =
            Connection { stream, input: Vec::new(), events: VecDeque::new(), identity };
        let hello =
            Hello { version: VERSION, console: true, program: "-".into(), ..Hello::default() };
        match connection.ask(&Request::Enroll { hello })? {
            Answer::Enrolled { identity } => connection.identity = identity,
            _ => {
                let text =
                    "the virtual machine is of another version of hpvm; halt it with that one";
                return Err(io::Error::other(text));
            }
        }
        Ok(connection)
    }

    /// # Errors
    /// The virtual machine has ended.
    pub fn ask(&mut self, request: &Request) -> io::Result<Answer> {
        self.stream.write_all(&frame(request))?;
        loop {
            if let Some(answer) = self.next()? {
                return Ok(answer);
            }
            self.read()?;
        }
    }

    /// Waits for something, and keeps messages that have come.
    ///
    /// # Errors
    /// The virtual machine has ended.
    pub fn read(&mut self) -> io::Result<()> {
        let mut part = [0; 16 << 10];
        match self.stream.read(&mut part)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the virtual machine has ended")),
            len => {
                self.input.extend_from_slice(&part[..len]);
                Ok(())
            }
        }
    }

    /// The next answer that was read; messages are put aside.
    ///
    /// # Errors
    /// What came is none.
    pub fn next(&mut self) -> io::Result<Option<Answer>> {
        loop {
            match unframe::<Answer>(&mut self.input).map_err(io::Error::other)? {
                Some(Answer::Event { mail }) => self.events.push_back(mail),
                other => return Ok(other),
            }
        }
    }
}

fn connect() -> io::Result<UnixStream> {
    let address = SocketAddr::from_abstract_name(protocol::address(sys::user(), &machine_name()))?;
    UnixStream::connect_addr(&address)
}

/// Starts a virtual machine; when this returns it can be reached.
fn start() -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["pvm", "--serve"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let output = command.output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other("hpvm pvm --serve has failed"))
    }
}
