//! Who is counted: the command, and the ranks that the launcher starts for it. Knows sockets and events, starts nothing.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};

use hpvm_counters::allowed::Offer;
use hpvm_counters::{Part, Start, Target};
use hpvm_launch::text::printable;

use super::socket;

/// Longest announcement of a process, bytes: five words.
const ANNOUNCEMENT_BYTES_MAX: usize = 4096;

/// A process that has connected and not said everything yet.
struct Coming {
    stream: UnixStream,
    text: Vec<u8>,
}

/// A rank that is counted.
struct Rank {
    target: Target,
    part: Part,
    size: Option<u32>,
}

/// See the module's text.
pub struct Collector {
    offer: Offer,
    region: bool,
    listener: UnixListener,
    coming: Vec<Coming>,
    command: Option<Target>,
    ranks: Vec<Rank>,
}

/// What a process says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    rank: Option<u32>,
    size: Option<u32>,
    host: String,
    job: String,
}

impl Collector {
    /// One that listens, and the name of its socket.
    pub fn new(offer: Offer, region: bool) -> io::Result<(Collector, String)> {
        let (listener, name) = socket::listen()?;
        let (coming, ranks) = (Vec::new(), Vec::new());
        Ok((Collector { offer, region, listener, coming, command: None, ranks }, name))
    }

    /// What to poll for input.
    pub fn polled(&self) -> Vec<libc::pollfd> {
        let fds =
            self.coming.iter().map(|c| c.stream.as_raw_fd()).chain([self.listener.as_raw_fd()]);
        fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect()
    }

    /// Something has come, or may have.
    pub fn take(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                self.coming.push(Coming { stream, text: Vec::new() });
            }
        }
        let mut waiting = Vec::new();
        for mut coming in std::mem::take(&mut self.coming) {
            match coming.read() {
                Ok(None) => waiting.push(coming),
                Ok(Some(said)) => self.count(&coming.stream, said),
                // It has gone, or speaks of something else: it is let go, and runs uncounted.
                Err(_) => {}
            }
        }
        self.coming = waiting;
    }

    /// Makes the events of a process and lets it go on.
    fn count(&mut self, stream: &UnixStream, said: Said) {
        let Ok(pid) = socket::peer(stream.as_fd()) else { return };
        let start = if self.region { Start::AtRegion } else { Start::AtExec };
        let target = Target::open(&self.offer, &[pid], start);
        let handed = if self.region { target.descriptors() } else { Vec::new() };
        // If it has died meanwhile, nothing will be counted.
        let _ = socket::give(stream, &handed);
        let Said { rank, size, host, job } = said;
        if rank.is_none() {
            self.command = Some(target);
            return;
        }
        // Counted in the rank's own events from now on. Twice as many events would want twice as many counters.
        if let Some(command) = self.command.take() {
            command.stop();
        }
        let part = Part { rank, host, job, pid, estimates: Vec::new() };
        self.ranks.push(Rank { target, part, size });
    }

    /// Reads all events once, so that the turns in which they were counted are told apart.
    pub fn read(&mut self) {
        self.command.iter_mut().for_each(Target::read);
        self.ranks.iter_mut().for_each(|rank| rank.target.read());
    }

    /// Whether values have to be read while the command runs.
    pub fn takes_turns(&self) -> bool {
        Target::may_take_turns(&self.offer.events)
    }

    /// What was counted, with remarks; `None` where nothing could be.
    pub fn end(mut self) -> (Offer, Vec<Part>, Vec<String>) {
        self.read();
        let mut notes = Vec::new();
        let Collector { offer, command, mut ranks, .. } = self;
        ranks.sort_by(|a, b| (&a.part.job, a.part.rank).cmp(&(&b.part.job, b.part.rank)));
        let mut jobs: Vec<(&str, u32, u32)> = Vec::new();
        for rank in &ranks {
            match jobs.iter_mut().find(|(job, ..)| *job == rank.part.job) {
                Some((_, counted, _)) => *counted += 1,
                None => jobs.push((&rank.part.job, 1, rank.size.unwrap_or(1))),
            }
        }
        for (_, counted, size) in jobs.iter().filter(|(_, counted, size)| counted < size) {
            notes.push(format!(
                "{counted} of {size} ranks were counted: those that ran on this host"
            ));
        }
        let parts = match ranks.is_empty() {
            true => command
                .iter()
                .map(|c| Part { estimates: c.estimates(), ..Part::default() })
                .collect(),
            false => ranks
                .into_iter()
                .map(|rank| Part { estimates: rank.target.estimates(), ..rank.part })
                .collect(),
        };
        (offer, parts, notes)
    }
}

impl Coming {
    /// What it says, once the whole line has come.
    fn read(&mut self) -> io::Result<Option<Said>> {
        let mut buffer = [0; 512];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.text.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.text.len() > ANNOUNCEMENT_BYTES_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        if self.text.last() != Some(&b'\n') {
            return Ok(None);
        }
        said(&String::from_utf8_lossy(&self.text))
            .map(Some)
            .ok_or(io::ErrorKind::InvalidData.into())
    }
}

/// An announcement: role, rank, size, host, job.
fn said(line: &str) -> Option<Said> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [role, rank, size, host, job] = words[..] else { return None };
    let rank = match role {
        "rank" => Some(rank.parse().ok()?),
        "command" => None,
        _ => return None,
    };
    // What others put into names must not steer the terminal.
    Some(Said { rank, size: size.parse().ok(), host: printable(host), job: printable(job) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_is_five_words() {
        let found = said("rank 3 4 n1 a/b\n").expect("five words");
        assert_eq!(
            (found.rank, found.size, &*found.host, &*found.job),
            (Some(3), Some(4), "n1", "a/b")
        );
        assert_eq!(said("command - - n1 -\n").map(|s| (s.rank, s.size)), Some((None, None)));
        for wrong in ["", "rank 3 4 n1", "rank x 4 n1 j", "other 1 2 n1 j", "rank 1 2 n1 j more"] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }
}
