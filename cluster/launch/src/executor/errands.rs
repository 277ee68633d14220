//! What ranks of a job over several sites have their launcher do, by [streams](super::streams) from whatever host: start the launcher of a
//! job that they spawn, reach the port of those who have spawned them, tell gateways of ranks that these do not know.
//!
//! A stream begins with a line:
//!
//! | line | what follows |
//! |---|---|
//! | `launch TOKEN RANK LENGTH` | so many bytes, a [`Request`]; then the lifeline of the new launcher |
//! | `port TOKEN` | what the port of who spawns and the new job's first process say to each other |
//! | `life TOKEN` | nothing; it ends with the new launcher |
//! | `parent` | the other end of `port`, in the new job |
//! | `space` | a line `KEY SIZE SITES`, then lines `RANK CARD`; gateways know of them until it ends |

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::streams;
use super::{Executor, Source};
use crate::environment::{JOB_ID, NODE, is_foreign};
use crate::family::{FAMILY, Family, PARENTS};
use crate::lifeline;
use crate::remote::codec::{Fault, Reader, Writer};
use crate::remote::frame::{FRAME_MAX, Frame};
use crate::sys;
use hpvm_sites::{CARD_KEY, GATEWAY_KEY, Sites};

/// Longest first line, and longest line about a space but for the first, bytes.
const LINE_MAX: usize = 4096;

/// One end of a stream: on the host of that number, or here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub node: Option<u32>,
    pub number: u32,
}

/// What a stream is for.
#[derive(Debug)]
enum Use {
    /// Its first line has not come as a whole, or what belongs to it.
    New(Vec<u8>),
    /// Waits until all of the same token have come; what has come meanwhile.
    Waits(Vec<Vec<u8>>),
    /// What comes goes to that one.
    Joined(End),
    /// Of ranks that gateways call by this number; what has come of a line, and whether the first one has.
    Space { number: u32, line: Vec<u8>, begun: bool },
    /// Nothing that comes matters.
    Deaf,
}

/// The launcher that a rank wants, and the streams to it.
#[derive(Debug, Default)]
struct Wanted {
    launch: Option<(End, Request, u32)>,
    port: Option<End>,
    life: Option<End>,
}

/// How a launcher is to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub arguments: Vec<OsString>,
    /// Variables of the rank's.
    pub variables: Vec<(OsString, OsString)>,
}

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.list(&self.arguments, |w, word| {
            w.bytes(word.as_bytes());
        });
        w.list(&self.variables, |w, (name, value)| {
            w.bytes(name.as_bytes()).bytes(value.as_bytes());
        });
        w.0
    }

    /// # Errors
    /// What is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Request, Fault> {
        let mut r = Reader::new(bytes);
        let word = |r: &mut Reader| Ok::<_, Fault>(OsString::from_vec(r.bytes()?.to_vec()));
        let arguments = r.list(word)?;
        let variables = r.list(|r| Ok((word(r)?, word(r)?)))?;
        r.end()?;
        let is_bad = |word: &OsString| word.as_bytes().contains(&0);
        let name_is_bad = |name: &OsString| name.is_empty() || name.as_bytes().contains(&b'=');
        let words = || arguments.iter().chain(variables.iter().flat_map(|(a, b)| [a, b]));
        if words().any(is_bad) || variables.iter().any(|(name, _)| name_is_bad(name)) {
            return Err("a word that no process can be started with".to_owned());
        }
        Ok(Request { arguments, variables })
    }
}

/// An output of a launcher that was started here, which is that of the rank that has wanted it.
#[derive(Debug)]
pub struct Piped {
    fd: Option<OwnedFd>,
    rank: u32,
    side: usize,
    watched: bool,
}

/// What ranks have wanted so far.
#[derive(Debug, Default)]
pub struct Errands {
    uses: BTreeMap<End, Use>,
    /// Nothing more comes from these.
    ended: BTreeSet<End>,
    wanted: BTreeMap<String, Wanted>,
    spaces: u32,
    piped: Vec<Piped>,
    /// To those who have spawned this job, until a rank has asked for it.
    parents: Option<End>,
    /// To the first launcher of the family, which our ranks' places are told; what it has been told, at which state of the values.
    own_space: Option<(End, BTreeSet<u32>, u64)>,
    /// Its end tells that we have ended.
    _life: Option<OwnedFd>,
}

impl Executor<'_> {
    /// Opens the door, and takes over what those who have spawned this job have given us.
    pub(super) fn begin_errands(&mut self) -> io::Result<()> {
        let Some(door) = self.plan.door.take() else { return Ok(()) };
        self.here.streams.keep(door, &self.here.epoll)?;
        if let Some(parents) = self.plan.lifeline.as_ref().and_then(lifeline::Lifeline::parents) {
            let end = self.stream(parents.port)?;
            self.errands.uses.insert(end, Use::Waits(Vec::new()));
            self.errands.parents = Some(end);
            self.errands._life = Some(parents.life);
        }
        let Some(family) = &self.plan.family else { return Ok(()) };
        let size = self.plan.ranks.len();
        let several = Sites::parse(&self.plan.sites, size)
            .is_ok_and(|sites| sites.ranks.windows(2).any(|pair| pair[0] != pair[1]));
        if several {
            let end = self.stream(streams::connect(&family.door)?)?;
            let text = format!("space\n{} {size} {}\n", self.plan.key, self.plan.sites);
            self.errands.uses.insert(end, Use::Deaf);
            self.say(end, text.as_bytes());
            self.errands.own_space = Some((end, BTreeSet::new(), u64::MAX));
        }
        Ok(())
    }

    fn stream(&mut self, socket: UnixStream) -> io::Result<End> {
        let number = self.here.streams.add(socket, &self.here.epoll)?;
        Ok(End { node: None, number })
    }

    /// Tells where ranks of this job are, as soon as they have told us. What they tell once stays true.
    pub(super) fn tell_places(&mut self) {
        let Some((end, told, seen)) = &mut self.errands.own_space else { return };
        let (end, values) = (*end, self.dispatcher.values());
        if values.kept() == *seen {
            return;
        }
        *seen = values.kept();
        let mut text = String::new();
        for rank in 0..self.plan.ranks.len() as u32 {
            if let Some(card) = values.value(&format!("{CARD_KEY}{rank}"))
                && !card.contains(['\n', ' '])
                && told.insert(rank)
            {
                text.push_str(&format!("{rank} {card}\n"));
            }
        }
        if !text.is_empty() {
            self.say(end, text.as_bytes());
        }
    }

    /// Says something at the other end of a stream; nothing is the end.
    fn say(&mut self, to: End, bytes: &[u8]) {
        let End { node, number } = to;
        let Some(node) = node else {
            return self.here.streams.write(number, bytes, &self.here.epoll);
        };
        let behind =
            |order: &crate::remote::order::Order| order.nodes.iter().any(|n| n.number == node);
        if let Some(link) = self.plan.orders.iter().position(behind) {
            self.here.send_down(Some(link), &Frame::Stream { node, number, bytes: bytes.to_vec() });
        }
    }

    pub(super) fn stream_ready(&mut self, number: u32) {
        let mut buffer = std::mem::take(&mut self.here.buffer);
        let came = self.here.streams.ready(number, &mut buffer, &self.here.epoll);
        self.here.buffer = buffer;
        came.into_iter().for_each(|bytes| self.stream_said(End { node: None, number }, bytes));
    }

    /// Bytes have come from a stream; nothing is its end.
    pub(super) fn stream_said(&mut self, from: End, bytes: Vec<u8>) {
        let is_end = bytes.is_empty();
        let errands = &mut self.errands;
        if is_end && !errands.ended.insert(from) {
            return;
        }
        let place = errands.uses.entry(from).or_insert_with(|| Use::New(Vec::new()));
        match place {
            Use::New(_) if is_end => *place = Use::Deaf,
            Use::New(begun) => {
                begun.extend_from_slice(&bytes);
                self.take_line(from);
            }
            Use::Waits(kept) => kept.push(bytes),
            Use::Joined(to) => {
                let to = *to;
                self.say(to, &bytes);
            }
            Use::Space { number, .. } if is_end => {
                let number = *number;
                self.tell_gateways(number, format!("forget {number}"));
            }
            Use::Space { .. } => self.take_space(from, &bytes),
            Use::Deaf => {}
        }
        if is_end {
            self.clean(from);
        }
    }

    /// Forgets a stream that has ended, and the one that it was joined with once that has.
    fn clean(&mut self, end: End) {
        let errands = &mut self.errands;
        let other = match errands.uses.get(&end) {
            Some(Use::Joined(to)) => Some(*to),
            Some(Use::Waits(_)) => return,
            _ => None,
        };
        if other.is_none_or(|other| errands.ended.contains(&other)) {
            for end in [Some(end), other].into_iter().flatten() {
                errands.uses.remove(&end);
                errands.ended.remove(&end);
            }
        }
        if other.is_none() {
            // The other direction: nothing more is said.
            self.say(end, &[]);
        }
    }

    /// Reads the first line of a stream, if it has come.
    fn take_line(&mut self, from: End) {
        let Some(Use::New(begun)) = self.errands.uses.get(&from) else { return };
        let Some(at) = begun.iter().position(|byte| *byte == b'\n') else {
            if begun.len() > LINE_MAX {
                self.refuse(from);
            }
            return;
        };
        let line = String::from_utf8_lossy(&begun[..at]).into_owned();
        let rest = begun[at + 1..].to_vec();
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["launch", token, rank, length] => {
                let (rank, length) = (rank.parse().ok(), length.parse::<usize>().ok());
                let Some((rank, length)) = rank.zip(length.filter(|l| *l <= FRAME_MAX)) else {
                    return self.refuse(from);
                };
                let Some(body) = rest.get(..length) else { return };
                match Request::decode(body).ok().filter(|_| self.runs_at(rank, from)) {
                    Some(request) => {
                        let late = rest[length..].to_vec();
                        self.wait_for_others(from, token, late, |w| {
                            w.launch = Some((from, request, rank))
                        });
                    }
                    None => self.refuse(from),
                }
            }
            ["port", token] => self.wait_for_others(from, token, rest, |w| w.port = Some(from)),
            ["life", token] => self.wait_for_others(from, token, rest, |w| w.life = Some(from)),
            ["parent"] => match self.errands.parents.take() {
                Some(parents) => self.join(from, parents, vec![rest]),
                None => self.refuse(from),
            },
            ["space"] => self.begin_space(from, rest),
            _ => self.refuse(from),
        }
    }

    /// Whether a rank runs on the host of a stream's end.
    fn runs_at(&self, rank: u32, end: End) -> bool {
        let Some(node) = end.node else {
            return self.plan.ranks.get(rank as usize).is_some_and(Option::is_some);
        };
        let mut nodes = self.plan.orders.iter().flat_map(|order| &order.nodes);
        nodes.any(|n| n.number == node && n.ranks().any(|(other, _)| other == rank))
    }

    /// It asks for what makes no sense.
    fn refuse(&mut self, from: End) {
        self.errands.uses.insert(from, Use::Deaf);
        self.say(from, &[]);
    }

    /// What comes from either goes to the other from now on. `came` has come from the first one already.
    fn join(&mut self, one: End, other: End, came: Vec<Vec<u8>>) {
        let kept = match self.errands.uses.insert(other, Use::Joined(one)) {
            Some(Use::Waits(kept)) => kept,
            Some(Use::New(bytes)) => vec![bytes],
            _ => Vec::new(),
        };
        self.errands.uses.insert(one, Use::Joined(other));
        came.iter().filter(|bytes| !bytes.is_empty()).for_each(|bytes| self.say(other, bytes));
        kept.iter().filter(|bytes| !bytes.is_empty()).for_each(|bytes| self.say(one, bytes));
        for (from, to) in [(one, other), (other, one)] {
            if self.errands.ended.contains(&from) {
                self.say(to, &[]);
            }
        }
    }

    fn wait_for_others(
        &mut self,
        from: End,
        token: &str,
        rest: Vec<u8>,
        put: impl FnOnce(&mut Wanted),
    ) {
        self.errands.uses.insert(from, Use::Waits(vec![rest]));
        let wanted = self.errands.wanted.entry(token.to_owned()).or_default();
        put(wanted);
        let Wanted { launch: Some(_), port: Some(port), life: Some(life) } = wanted else { return };
        let (port, life) = (*port, *life);
        let Some(Wanted { launch: Some((from, request, rank)), .. }) =
            self.errands.wanted.remove(token)
        else {
            return;
        };
        match self.launch(&request, rank) {
            Ok(ends) => {
                for (one, other) in [from, port, life].into_iter().zip(ends) {
                    let kept = match self.errands.uses.get_mut(&one) {
                        Some(Use::Waits(kept)) => std::mem::take(kept),
                        _ => Vec::new(),
                    };
                    self.join(one, other, kept);
                }
            }
            Err(error) => {
                let text = format!("error starting its launcher: {error}\nended 1\n");
                self.say(from, text.as_bytes());
                [from, port, life].into_iter().for_each(|end| self.refuse(end));
            }
        }
    }

    /// Starts the launcher of a job that a rank spawns. Gives our ends: of its lifeline, of its connection to the port of who spawns, and of
    /// one that tells that it has ended.
    fn launch(&mut self, request: &Request, rank: u32) -> io::Result<[End; 3]> {
        let family = self.family().ok_or_else(|| {
            io::Error::other("the gateways of the job's sites have not told where they are")
        })?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg0("mpirun").args(&request.arguments);
        let ours = |name: &OsString| name.as_bytes().starts_with(b"HPVM_") && !is_foreign(name);
        command.envs(request.variables.iter().filter(|(name, _)| ours(name)).map(|(a, b)| (a, b)));
        command.env(lifeline::VARIABLE, "0").env(FAMILY, family.text()).env(JOB_ID, &self.plan.job);
        match self.plan.node {
            Some(node) => command.env(NODE, node.to_string()),
            None => command.env_remove(NODE),
        };
        let [lifeline, port, life] =
            [sys::socket_pair()?, sys::socket_pair()?, sys::socket_pair()?];
        let inherited = [port.1.as_raw_fd(), life.1.as_raw_fd()];
        command.env(PARENTS, format!("{},{}", inherited[0], inherited[1]));
        command.stdin(Stdio::from(lifeline.1)).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: between fork and exec async-signal-safe calls are made, on descriptors that are open and memory of the child's own.
        unsafe {
            command.pre_exec(move || {
                let mut none = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
                libc::sigemptyset(none.as_mut_ptr());
                libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
                for fd in inherited {
                    libc::fcntl(fd, libc::F_SETFD, 0);
                }
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let outputs =
            [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        for (side, fd) in outputs.into_iter().enumerate() {
            if let Some(fd) = &fd {
                sys::set_nonblocking(fd.as_raw_fd())?;
            }
            self.errands.piped.push(Piped { fd, rank, side, watched: false });
        }
        // It is found and collected as everything that descends from us.
        drop(child);
        let stream = |executor: &mut Self, fd: OwnedFd| executor.stream(fd.into());
        Ok([stream(self, lifeline.0)?, stream(self, port.0)?, stream(self, life.0)?])
    }

    /// What the launcher of a job that ours spawns has to know. None: a gateway has not told yet.
    fn family(&self) -> Option<Family> {
        let Some(own) = &self.plan.family else {
            let sites = self.plan.given_sites.clone();
            let card = |number: usize| {
                self.dispatcher.values().value(&format!("{GATEWAY_KEY}{number}")).map(str::to_owned)
            };
            let cards: Option<Vec<String>> = (0..sites.len()).map(card).collect();
            let door = self.here.streams.door()?.name().to_owned();
            return Some(Family { door, sites, cards: cards? });
        };
        Some(own.clone())
    }

    // --- ranks that gateways do not know yet ----------------------------------------------------

    fn begin_space(&mut self, from: End, rest: Vec<u8>) {
        if let Some(family) = &self.plan.family {
            // That is for the first launcher.
            let joined = streams::connect(&family.door).and_then(|socket| self.stream(socket));
            return match joined {
                Ok(end) => {
                    self.say(end, b"space\n");
                    self.join(from, end, vec![rest]);
                }
                Err(_) => self.refuse(from),
            };
        }
        let number = self.errands.spaces;
        self.errands.spaces += 1;
        self.errands.uses.insert(from, Use::Space { number, line: Vec::new(), begun: false });
        self.take_space(from, &rest);
    }

    fn take_space(&mut self, from: End, bytes: &[u8]) {
        let Some(Use::Space { number, line, begun }) = self.errands.uses.get_mut(&from) else {
            return;
        };
        line.extend_from_slice(bytes);
        let (number, mut lines) = (*number, Vec::new());
        while let Some(at) = line.iter().position(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(&line[..at]).into_owned();
            line.drain(..=at);
            let verb = if std::mem::replace(begun, true) { "place" } else { "space" };
            lines.push(format!("{verb} {number} {text}"));
        }
        let most = if *begun { LINE_MAX } else { FRAME_MAX };
        if line.len() > most {
            return self.refuse(from);
        }
        lines.into_iter().for_each(|line| self.tell_gateways(number, line));
    }

    fn tell_gateways(&mut self, number: u32, line: String) {
        self.here.gateway.iter_mut().for_each(|gateway| gateway.serve(number, &line));
        self.here.send_down(None, &Frame::Space { number, line });
    }

    // --- outputs --------------------------------------------------------------------------------

    /// Watches the outputs of launchers that were started here while they can be taken.
    pub(super) fn watch_piped(&mut self) {
        for (index, piped) in self.errands.piped.iter_mut().enumerate() {
            let Some(fd) = piped.fd.as_ref().map(AsRawFd::as_raw_fd) else { continue };
            let full = self.outputs.full(piped.rank, piped.side);
            if full == piped.watched {
                if full {
                    self.here.epoll.remove(fd);
                    piped.watched = false;
                } else {
                    let token = Source::Spawned.token(index as u32);
                    piped.watched = self.here.epoll.add(fd, libc::EPOLLIN, token).is_ok();
                }
            }
        }
    }

    /// Reads what such a launcher has written.
    pub(super) fn read_piped(&mut self, index: u32) {
        let now = self.here.now();
        let Some(piped) = self.errands.piped.get_mut(index as usize) else { return };
        let Some(fd) = piped.fd.as_ref().map(AsRawFd::as_raw_fd) else { return };
        match sys::read(fd, &mut self.here.buffer) {
            Ok(count) if count > 0 => {
                let bytes = &self.here.buffer[..count];
                self.outputs.data(piped.rank, piped.side, bytes, now);
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            _ => {
                self.here.epoll.remove(fd);
                piped.fd = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_were_written_and_nothing_else_is() {
        let word = |text: &str| OsString::from(text);
        let request = Request {
            arguments: vec![word("-n"), word("2"), OsString::from_vec(vec![0xff, b' '])],
            variables: vec![(word("HPVM_A"), word("x=y"))],
        };
        let bytes = request.encode();
        assert_eq!(Request::decode(&bytes), Ok(request.clone()));
        for cut in 0..bytes.len() {
            assert!(Request::decode(&bytes[..cut]).is_err(), "{cut}");
        }
        let pair = |name: &str, value: &str| Request {
            arguments: Vec::new(),
            variables: vec![(word(name), word(value))],
        };
        for bad in [pair("", "x"), pair("A=", "x"), pair("A", "\0")] {
            assert!(Request::decode(&bad.encode()).is_err(), "{bad:?}");
        }
    }
}
