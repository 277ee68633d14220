//! Direct links: how messages get from task to task between hosts, without the virtual machine's processes.
//!
//! A link is a TCP connection in one direction. Messages go through the processes at first; with the second one the sender
//! asks for the receiver's card, which has its addresses and a key for this sender ([`meeting`]). When the receiver has welcomed the
//! sender, that says by the processes that the link begins here: the receiver reads nothing of it before, so messages
//! stay in order, and nobody waits for a receiver that computes. Where no address can be reached the processes go on.

mod incoming;
mod meeting;
mod outgoing;
#[cfg(test)]
mod tests;

use crate::say::say;
use hpvm_net::interfaces::{self, Choice};
use hpvm_net::{AddressAndPrefix, Card};
use hpvm_pvm::protocol::{DIRECT_ASK, DIRECT_CARD, DIRECT_SWITCH, Mail, SYSTEM_CONTEXT};
use hpvm_pvm::wire::Bytes;
use hpvm_pvm::{Tid, tid};
pub use incoming::{Ended, Incoming};
use meeting::{Key, Meeting};
pub use outgoing::Outgoing;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// Messages to a task before its card is asked for: one that only gets a word needs no connection.
const ASK_AT: u32 = 2;
/// So many connections that have not said who they are may be there, each so long: strangers take no more descriptors.
const CALLERS_MAX: usize = 64;
const CALLER_SPEAKS: Duration = Duration::from_secs(10);
/// How long the end of a task is held back for what it has sent, if nothing of that comes: longer than a packet that is sent again.
const HELD: Duration = Duration::from_secs(1);
/// How often links are looked at by calls that do not wait: a look costs some hundred nanoseconds.
const GLANCE_EVERY: Duration = Duration::from_micros(5);

/// How messages to a task of another host travel.
enum Way {
    /// Through the processes: so many were sent.
    Processes(u32),
    Meeting(Meeting),
    /// Nothing inside while a message is being sent.
    Open(Option<Outgoing>),
}

/// A connection that has not said who it is.
struct Caller {
    stream: TcpStream,
    since: Instant,
    said: Vec<u8>,
}

/// The direct links of a task.
pub struct Direct {
    tid: Tid,
    ways: BTreeMap<Tid, Way>,
    /// Hosts none of whose addresses could be reached.
    unreachable: BTreeSet<Tid>,
    listener: Option<TcpListener>,
    invited: BTreeMap<Tid, Key>,
    callers: Vec<Caller>,
    pub incoming: Vec<Incoming>,
    glanced: Instant,
    /// Whether links are made (`PvmRoute`).
    pub allowed: bool,
}

impl Direct {
    pub fn new(tid: Tid) -> Direct {
        Direct {
            tid,
            ways: BTreeMap::new(),
            unreachable: BTreeSet::new(),
            listener: None,
            invited: BTreeMap::new(),
            callers: Vec::new(),
            incoming: Vec::new(),
            glanced: Instant::now(),
            allowed: true,
        }
    }

    /// The link to a task, to be given back by `put`.
    pub fn take(&mut self, to: Tid) -> Option<Outgoing> {
        match self.ways.get_mut(&to) {
            Some(Way::Open(link)) => link.take(),
            _ => None,
        }
    }

    pub fn put(&mut self, to: Tid, link: Outgoing) {
        self.ways.insert(to, Way::Open(Some(link)));
    }

    /// The task has gone.
    pub fn forget(&mut self, to: Tid) {
        self.ways.remove(&to);
    }

    /// A message goes through the processes: what is to be said behind it.
    pub fn sent(&mut self, to: Tid) -> Option<Mail> {
        let Way::Processes(count) = self.ways.entry(to).or_insert(Way::Processes(0)) else {
            return None;
        };
        *count = count.saturating_add(1);
        let ask = self.allowed && *count == ASK_AT && !self.unreachable.contains(&tid::host_of(to));
        ask.then(|| mail(DIRECT_ASK, Vec::new()))
    }

    /// What the library of another task says: the answer.
    pub fn heard(&mut self, from: Tid, tag: i32, body: &[u8]) -> Option<Mail> {
        match tag {
            DIRECT_ASK if self.allowed => self.invite(from),
            DIRECT_CARD => {
                self.call(from, body);
                None
            }
            DIRECT_SWITCH => {
                if let Some(link) = self.incoming.iter_mut().find(|link| link.from == from) {
                    link.is_open = true;
                }
                None
            }
            _ => None,
        }
    }

    /// Tells a task where and by which key it reaches this one.
    fn invite(&mut self, from: Tid) -> Option<Mail> {
        if self.listener.is_none() {
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0))
                .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)))
                .ok()?;
            listener.set_nonblocking(true).ok()?;
            self.listener = Some(listener);
        }
        let port = self.listener.as_ref()?.local_addr().ok()?.port();
        let addresses = own_addresses()?;
        let card = Card { port, liveness_port: port, host: String::new(), fabric: None, addresses };
        let key = hpvm_os::random().ok()?;
        self.invited.insert(from, key);
        Some(mail(DIRECT_CARD, [key.as_slice(), card.text().as_bytes()].concat()))
    }

    /// Calls a task whose card has come.
    fn call(&mut self, to: Tid, body: &[u8]) {
        let Some(Way::Processes(_)) = self.ways.get(&to) else { return };
        let met = body.split_first_chunk().and_then(|(key, text)| {
            let card = Card::parse(core::str::from_utf8(text).ok()?).ok()?;
            Meeting::begin((self.tid, to), *key, card.ordered(&own_addresses()?), card.port)
        });
        match met {
            Some(meeting) => drop(self.ways.insert(to, Way::Meeting(meeting))),
            None => drop(self.unreachable.insert(tid::host_of(to))),
        }
    }

    /// Looks at what changes seldom; what is to be said to whom.
    pub fn look(&mut self) -> Vec<(Tid, Mail)> {
        self.accept();
        self.listen();
        let mut said = Vec::new();
        let mut failed = Vec::new();
        self.ways.retain(|to, way| match way {
            // Nobody writes there: it is the end, or garbage.
            Way::Open(Some(link)) => !link.has_ended(),
            Way::Meeting(meeting) => {
                match meeting.step() {
                    Ok(None) => {}
                    Ok(Some(stream)) => {
                        said.push((*to, mail(DIRECT_SWITCH, Vec::new())));
                        *way = Way::Open(Some(Outgoing::new(stream)));
                    }
                    Err(_) => {
                        failed.push(tid::host_of(*to));
                        *way = Way::Processes(ASK_AT);
                    }
                }
                true
            }
            _ => true,
        });
        self.unreachable.extend(failed);
        said
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        while self.callers.len() < CALLERS_MAX {
            match listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_ok() && stream.set_nodelay(true).is_ok() {
                        let (since, said) = (Instant::now(), Vec::new());
                        self.callers.push(Caller { stream, since, said });
                    }
                }
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return,
                Err(cause) if cause.kind() == ErrorKind::ConnectionAborted => {}
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                // No descriptors are left: who calls goes on through the processes.
                Err(_) => {
                    self.listener = None;
                    return;
                }
            }
        }
    }

    /// Hears who the callers are.
    fn listen(&mut self) {
        for mut caller in std::mem::take(&mut self.callers) {
            let mut part = [0; meeting::HELLO];
            let wanted = meeting::HELLO - caller.said.len();
            match caller.stream.read(&mut part[..wanted]) {
                Ok(0) => continue,
                Ok(len) => caller.said.extend_from_slice(&part[..len]),
                Err(cause)
                    if matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => continue,
            }
            match caller.said.first_chunk() {
                None if caller.since.elapsed() < CALLER_SPEAKS => self.callers.push(caller),
                None => {}
                Some(hello) => self.welcome(hello, caller.stream),
            }
        }
    }

    /// Lets a caller in whose hello is right.
    fn welcome(&mut self, hello: &[u8; meeting::HELLO], mut stream: TcpStream) {
        let Some(from) = meeting::caller(hello) else { return };
        let Some(key) = self.invited.get(&from) else { return };
        let Some(welcome) = meeting::check(hello, (from, self.tid), key) else { return };
        // Each key opens one connection.
        self.invited.remove(&from);
        // So few bytes fit into a new connection.
        if stream.write(&welcome).is_ok_and(|len| len == welcome.len()) {
            self.incoming.retain(|link| link.from != from);
            self.incoming.push(Incoming::new(from, stream));
        }
    }

    /// What changes seldom, to sleep on.
    pub fn seldom(&self) -> impl Iterator<Item = RawFd> + '_ {
        let listener = self.listener.as_ref().filter(|_| self.callers.len() < CALLERS_MAX);
        let ways = self.ways.values().filter_map(|way| match way {
            Way::Open(Some(link)) => Some(link.as_raw_fd()),
            Way::Meeting(meeting) => Some(meeting.as_raw_fd()),
            _ => None,
        });
        let callers = self.callers.iter().map(|caller| caller.stream.as_raw_fd());
        listener.map(AsRawFd::as_raw_fd).into_iter().chain(callers).chain(ways)
    }

    /// The links by which messages come.
    pub fn open(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.incoming.iter().filter(|link| link.is_open).map(AsRawFd::as_raw_fd)
    }

    /// Whether a call that does not wait should look at the links.
    pub fn is_due(&mut self) -> bool {
        let due = self.glanced.elapsed() >= GLANCE_EVERY;
        if due {
            self.glanced = Instant::now();
        }
        due
    }

    /// Whether a notification that came at `since` tells the end of a task whose link has not ended: what the task has sent comes
    /// first. When nothing comes any more, as from a host that was cut off, the link is given up.
    pub fn holds(&mut self, mail: &Mail, since: Instant, full: bool) -> bool {
        let Some(ended) = ended_task(mail) else { return false };
        let Some(at) = self.incoming.iter().position(|link| link.is_open && link.from == ended)
        else {
            return false;
        };
        if full || since.max(self.incoming[at].heard).elapsed() < HELD {
            return true;
        }
        self.incoming.swap_remove(at);
        false
    }

    /// Writes what links owe; before the task ends.
    pub fn flush(&mut self) {
        for way in self.ways.values_mut() {
            if let Way::Open(Some(link)) = way {
                link.flush();
            }
        }
    }
}

/// Whose end the message may tell: the virtual machine says that of tasks in four bytes.
fn ended_task(mail: &Mail) -> Option<Tid> {
    let body: [u8; 4] = mail.body.0.as_slice().try_into().ok()?;
    let ended = Tid::from_ne_bytes(body);
    (tid::is_host(mail.source) && tid::is_task(ended)).then_some(ended)
}

fn mail(tag: i32, body: Vec<u8>) -> Mail {
    Mail { tag, context: SYSTEM_CONTEXT, body: Bytes(body), ..Mail::default() }
}

/// Whether a message is for the library.
pub fn is_word(mail: &Mail) -> bool {
    mail.context == SYSTEM_CONTEXT && matches!(mail.tag, DIRECT_ASK | DIRECT_CARD | DIRECT_SWITCH)
}

/// The addresses of this host that others may reach, as `HPVM_NET` says.
fn own_addresses() -> Option<Vec<AddressAndPrefix>> {
    let choice = std::env::var("HPVM_NET").unwrap_or_default();
    let chosen = Choice::parse(&choice).and_then(|choice| {
        interfaces::choose(&interfaces::all().map_err(|cause| cause.to_string())?, &choice)
    });
    match chosen {
        Ok(chosen) => Some(chosen.into_iter().map(|interface| interface.subnet).collect()),
        Err(text) => {
            let text =
                format!("messages between hosts go through the virtual machine: HPVM_NET: {text}");
            say(None, &text);
            None
        }
    }
}
