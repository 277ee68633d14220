//! The server: connections, who has proved what, and the [`Table`].

use crate::message::{Answer, MESSAGE_MAX, Request};
use crate::seal::{End, Seal};
use crate::table::Table;
use hpvm_net::JobKey;
use hpvm_net::handshake::{self, Found, send};
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// Connections that may wait for their proof at a time; of more the oldest is dropped.
const CANDIDATES: usize = 64;
/// How long each may take.
const PROOF: Duration = Duration::from_secs(5);
/// Connections of those who know the key.
const MEMBERS: usize = 16 << 10;
/// Bytes that may wait for a client that does not read; then it is not read from.
const UNREAD: usize = 4 * MESSAGE_MAX;
/// Pause when the system gives no more descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A name server. Does what it does in [`Server::turn`].
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    key: JobKey,
    table: Table,
    candidates: Vec<(TcpStream, handshake::Server, Instant)>,
    members: Vec<Member>,
    /// How many members there have been.
    count: u64,
    /// Until when nobody is let in, because there is no room.
    full: Option<Instant>,
}

#[derive(Debug)]
struct Member {
    number: u64,
    stream: TcpStream,
    seal: Seal,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl Server {
    /// Serves those who know `key`, at `listener`.
    ///
    /// # Errors
    /// The socket can't be used.
    pub fn new(listener: TcpListener, key: JobKey) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        Ok(Server {
            listener,
            key,
            table: Table::default(),
            candidates: Vec::new(),
            members: Vec::new(),
            count: 0,
            full: None,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Waits until something happens, and deals with it. True: `also` is readable.
    ///
    /// # Errors
    /// The system can't wait.
    pub fn turn(&mut self, also: RawFd) -> io::Result<bool> {
        let wait = |fd: RawFd, events: libc::c_short| libc::pollfd { fd, events, revents: 0 };
        let now = Instant::now();
        self.full = self.full.filter(|until| *until > now);
        // A negative descriptor is passed over.
        let listener = if self.full.is_none() { self.listener.as_raw_fd() } else { -1 };
        let mut fds = vec![wait(also, libc::POLLIN), wait(listener, libc::POLLIN)];
        fds.extend(self.candidates.iter().map(|(s, ..)| wait(s.as_raw_fd(), libc::POLLIN)));
        fds.extend(self.members.iter().map(|member| {
            let reads = if member.outbox.len() < UNREAD { libc::POLLIN } else { 0 };
            let writes = if member.outbox.is_empty() { 0 } else { libc::POLLOUT };
            wait(member.stream.as_raw_fd(), reads | writes)
        }));
        let ends = self.candidates.iter().map(|(.., since)| *since + PROOF).chain(self.full);
        let patience = ends.min().map(|end| end.saturating_duration_since(now));
        hpvm_os::poll(&mut fds, patience)?;
        let said = |place: usize| fds[place].revents != 0;
        let known = self.candidates.len();
        self.serve(|member| said(2 + known + member));
        self.examine(|candidate| said(2 + candidate));
        if said(1) {
            self.let_in();
        }
        Ok(said(0))
    }

    fn let_in(&mut self) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => continue,
                    io::ErrorKind::WouldBlock => return,
                    _ => {
                        self.full = Some(Instant::now() + PAUSE);
                        return;
                    }
                },
            };
            let Ok(proof) = handshake::Server::new(&self.key) else { return };
            if stream.set_nonblocking(true).is_err() || watch_over(&stream).is_err() {
                continue;
            }
            if self.candidates.len() == CANDIDATES {
                self.candidates.remove(0);
            }
            self.candidates.push((stream, proof, Instant::now()));
        }
    }

    /// Looks at what those have said who have not proved themselves.
    fn examine(&mut self, said: impl Fn(usize) -> bool) {
        let now = Instant::now();
        for (place, (stream, mut proof, since)) in
            std::mem::take(&mut self.candidates).into_iter().enumerate()
        {
            match if said(place) { proof.look(&stream) } else { Found::Nothing } {
                Found::Nothing if now < since + PROOF => {
                    self.candidates.push((stream, proof, since));
                }
                Found::Proof(session) if self.members.len() < MEMBERS => {
                    self.count += 1;
                    self.members.push(Member {
                        number: self.count,
                        stream,
                        seal: Seal::new(&session, End::Server),
                        inbox: Vec::new(),
                        outbox: Vec::new(),
                    });
                }
                Found::Nothing | Found::Stranger | Found::Proof(_) => {}
            }
        }
    }

    /// Answers those who have asked something.
    fn serve(&mut self, said: impl Fn(usize) -> bool) {
        let mut place = 0;
        let table = &mut self.table;
        self.members.retain_mut(|member| {
            place += 1;
            let stays = !said(place - 1) || member.serve(table).is_some();
            if !stays {
                table.forget(member.number);
            }
            stays
        });
    }
}

impl Member {
    /// None: it is gone, or says what it should not.
    fn serve(&mut self, table: &mut Table) -> Option<()> {
        let waits = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        };
        let mut bytes = [0; 4096];
        // Once: others wait, too.
        match if self.outbox.len() < UNREAD { self.stream.read(&mut bytes) } else { Ok(usize::MAX) }
        {
            Ok(0) => return None,
            Ok(usize::MAX) => {}
            Ok(count) => self.inbox.extend_from_slice(&bytes[..count]),
            Err(error) if waits(&error) => {}
            Err(_) => return None,
        }
        while self.outbox.len() < UNREAD {
            let Some(message) = self.seal.open(&mut self.inbox).ok()? else { break };
            let answer = match Request::read(&message) {
                Some(request) => table.answer(self.number, request),
                // Of another version.
                None => Answer::Refused("it does not understand the request".to_owned()),
            };
            self.outbox.extend(self.seal.seal(&answer.write()).ok()?);
        }
        while !self.outbox.is_empty() {
            match send(&self.stream, &self.outbox) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if waits(&error) => break,
                Err(_) => return None,
            }
        }
        Some(())
    }
}

/// A host that vanishes says no more than a client that has nothing to say: its kernel is asked, so that names of a host that was
/// switched off are free half a minute later.
pub(crate) fn watch_over(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    for (level, option, value) in [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 10),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 5),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 3),
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 25_000),
    ] {
        let value: libc::c_int = value;
        // SAFETY: an integer and its size.
        let result = unsafe {
            let size = size_of_val(&value) as libc::socklen_t;
            libc::setsockopt(stream.as_raw_fd(), level, option, (&raw const value).cast(), size)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
