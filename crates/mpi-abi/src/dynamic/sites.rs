//! Jobs over several sites and the jobs that they spawn: at which site processes are, and who tells gateways of them.
//!
//! What a process cannot reach itself its job's launcher does, to whom a socket of this host leads, the *door*
//! (`cluster/launch/src/errands.rs`).

use super::port::PortName;
use super::talk::await_word;
use crate::runtime::{Entered, meet};
use hpvm_fm::Rank;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Error};
use hpvm_net::{Card, JobKey, handshake};
use hpvm_sites::{DOOR, SITES_KEY, Sites};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

/// The way to the launcher of a job over several sites.
#[derive(Debug)]
pub struct Door {
    name: String,
    /// What this host is called in the job.
    pub host: String,
}

/// That of this process's job, if it is one over several sites.
pub fn door() -> Option<Door> {
    let value = std::env::var(DOOR).ok()?;
    let (name, host) = value.split_once(',')?;
    Some(Door { name: name.to_owned(), host: host.to_owned() })
}

impl Door {
    /// A stream that begins with these words.
    fn ask(&self, words: &str) -> io::Result<UnixStream> {
        let address = SocketAddr::from_abstract_name(hpvm_sites::door_socket(&self.name))?;
        let stream = UnixStream::connect_addr(&address)?;
        if !hpvm_os::is_own(&stream) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut rest = words.as_bytes();
        while !rest.is_empty() {
            match handshake::send(&stream, rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(stream)
    }

    /// To the port of those who have spawned this job.
    pub fn parents(&self) -> Result<UnixStream> {
        self.ask("parent\n")
            .map_err(|cause| lost("reaching those who have spawned this job", &cause))
    }
}

/// A port as the launcher knows it, until this is dropped.
#[derive(Debug)]
pub struct Offer {
    door: Door,
    id: String,
    /// Tells the numbers of callers, a line each; what has come of one.
    calls: UnixStream,
    line: Vec<u8>,
}

impl Offer {
    /// Readable when somebody calls.
    pub fn fd(&self) -> RawFd {
        self.calls.as_raw_fd()
    }

    /// A stream to the next caller, if there is one. Does not block.
    ///
    /// # Errors
    /// The launcher is not there any more.
    pub fn next(&mut self) -> io::Result<Option<UnixStream>> {
        let mut byte = [0];
        loop {
            match self.calls.read(&mut byte) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) if byte[0] == b'\n' => {
                    let number =
                        String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
                    return self.door.ask(&format!("take {} {number}\n", self.id)).map(Some);
                }
                Ok(_) => self.line.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn lost(what: &str, cause: &io::Error) -> Error {
    Error::new(Class::Other, format!("{what} by the launcher of the job: {cause}"))
}

/// Members at several sites are connected with jobs that share their gateways, and with no others.
pub fn strange(what: &str) -> Error {
    let text = format!("members of comm are at several sites: {what} (docs/sites.md)");
    Error::new(Class::Port, text)
}

/// Where this process is in a job over several sites.
#[derive(Clone)]
pub struct OwnSite {
    pub site: u16,
    names: Vec<String>,
    gateway: Card,
}

impl OwnSite {
    /// The site as told to others, who may be at none: that is 0.
    pub fn word(own: Option<&OwnSite>) -> u64 {
        own.map_or(0, |own| u64::from(own.site) + 1)
    }

    /// Where processes of other sites are reached.
    pub fn gateway(&self) -> Card {
        self.gateway.clone()
    }

    /// Has the launcher tell gateways of the members of a link with this `key`, whose sites and `cards` these are. They know them as long as
    /// the stream is open.
    pub fn tell_gateways(
        &self,
        key: &JobKey,
        sites: &[u64],
        cards: &[Option<Card>],
    ) -> Result<UnixStream> {
        let ranks = sites.iter().map(|site| site.saturating_sub(1) as u16).collect();
        let text = Sites { names: self.names.clone(), ranks }.text();
        let mut words = format!("space\n{} {} {text}\n", key.hex(), sites.len());
        for (member, card) in cards.iter().enumerate() {
            if let Some(card) = card {
                words.push_str(&format!("{member} {}\n", card.text()));
            }
        }
        let door = door().ok_or(io::ErrorKind::NotFound);
        let told = door.map_err(io::Error::from).and_then(|door| door.ask(&words));
        told.map_err(|cause| lost("telling gateways of new processes", &cause))
    }
}

impl Entered {
    /// Whether members of `comm`, of this job or of those that it is connected with, are at several sites.
    pub fn spans_sites(&self, comm: &Comm) -> bool {
        let own = |process: Rank| match process < self.job.size {
            true => self.process.site(process).or(self.dynamic.own_site),
            false => self.dynamic.sites.get(&process).copied(),
        };
        let mut sites = comm.group().processes().filter_map(own);
        let first = sites.next();
        sites.any(|site| Some(site) != first)
    }

    /// Has the launcher lead processes of all sites to a port, if the job is one over several sites. Returns once they can come.
    pub fn offer(&mut self, name: &PortName) -> Result<Option<Offer>> {
        let Some(door) = door() else { return Ok(None) };
        let id = name.id();
        let calls = self.ask_at(&door, &format!("offer {id}\n"))?;
        let gone = || lost("opening a port", &io::ErrorKind::UnexpectedEof.into());
        let calls = calls.ok_or_else(gone)?;
        Ok(Some(Offer { door, id, calls, line: Vec::new() }))
    }

    /// A stream to a port that this job or another one of its family offers. `None`: none does.
    pub fn reach(&mut self, name: &PortName) -> Result<Option<UnixStream>> {
        match door() {
            Some(door) => self.ask_at(&door, &format!("reach {}\n", name.id())),
            None => Ok(None),
        }
    }

    /// A stream that begins with these words and that does not block, once the launcher has agreed; `None`: it refuses.
    fn ask_at(&mut self, door: &Door, words: &str) -> Result<Option<UnixStream>> {
        let asked =
            door.ask(words).and_then(|stream| stream.set_nonblocking(true).map(|()| stream));
        let stream = asked.map_err(|cause| lost("reaching a port", &cause))?;
        Ok(await_word(self, &stream)?.then_some(stream))
    }

    /// Where this process is, if its job is one over several sites or spawned by one. Asks the process manager on this host.
    pub fn find_own_site(&mut self) -> Result<Option<OwnSite>> {
        let Some(mut manager) = self.job.manager.clone().filter(|_| door().is_some()) else {
            return Ok(None);
        };
        let Some(text) = manager.get(SITES_KEY).map_err(meet::manager)? else { return Ok(None) };
        let sites = Sites::parse(&text, self.job.size as usize).map_err(meet::network)?;
        let site = sites.of(self.job.rank).unwrap_or(0);
        let gateway = meet::gateway_of(&mut manager, site)?;
        Ok(Some(OwnSite { site, names: sites.names, gateway }))
    }
}
