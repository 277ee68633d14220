//! Does what ranks of a job over several sites want of their launcher; [`crate::errands`] decides.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::streams;
use super::{Executor, Source};
use crate::environment::{JOB_ID, NODE, is_foreign};
use crate::errands::{Act, End, Ends, Errands, Request};
use crate::family::{FAMILY, Family, PARENTS};
use crate::lifeline;
use crate::remote::frame::Frame;
use crate::sys;
use hpvm_sites::{CARD_KEY, DOOR, GATEWAY_KEY, Sites};

/// An output of a launcher that was started here, which is that of the rank that has wanted it.
#[derive(Debug)]
pub struct Piped {
    fd: Option<OwnedFd>,
    rank: u32,
    side: usize,
    watched: bool,
}

/// What is done for ranks.
#[derive(Debug, Default)]
pub struct Doing {
    errands: Errands,
    piped: Vec<Piped>,
    /// To the first launcher of the family, which our ranks' places are told; those that it has been told, at which state of the values.
    own_space: Option<(End, BTreeSet<u32>, u64)>,
    /// Its end tells that we have ended.
    _life: Option<OwnedFd>,
}

impl Executor<'_> {
    /// Opens the door, and takes over what those who have spawned this job have given us.
    pub(super) fn begin_errands(&mut self) -> io::Result<()> {
        let Some(door) = self.plan.door.take() else { return Ok(()) };
        self.here.streams.keep(door, &self.here.epoll)?;
        let Some(family) = &self.plan.family else { return Ok(()) };
        let size = self.plan.ranks.len();
        let several = Sites::parse(&self.plan.sites, size)
            .is_ok_and(|sites| sites.ranks.windows(2).any(|pair| pair[0] != pair[1]));
        let first = several.then(|| streams::connect(&family.door)).transpose()?;
        let parents = self.plan.lifeline.as_ref().and_then(lifeline::Lifeline::parents);
        let (port, life) = parents.map(|parents| (parents.port, parents.life)).unzip();
        let port = port.map(|socket| self.stream(socket)).transpose()?;
        self.doing.errands = Errands::of_spawned(port);
        self.doing._life = life;
        if let Some(first) = first {
            let end = self.stream(first)?;
            let text = format!("space\n{} {size} {}\n", self.plan.key, self.plan.sites);
            self.doing.errands.ignore(end);
            self.say(end, text.as_bytes());
            self.doing.own_space = Some((end, BTreeSet::new(), u64::MAX));
        }
        Ok(())
    }

    fn stream(&mut self, socket: UnixStream) -> io::Result<End> {
        let number = self.here.streams.add(socket, &self.here.epoll)?;
        Ok(End { node: None, number })
    }

    /// Tells where ranks of this job are, as soon as they have told us. What they tell once stays true.
    pub(super) fn tell_places(&mut self) {
        let Some((end, told, seen)) = &mut self.doing.own_space else { return };
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
        let mut links = 0..self.plan.orders.len();
        if let Some(link) = links.find(|link| self.is_behind(node, *link)) {
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
        let mut errands = std::mem::take(&mut self.doing.errands);
        errands.said(from, &bytes, |rank, end| self.runs_at(rank, end));
        while let Some(act) = errands.poll_act() {
            match act {
                Act::Say { to, bytes } => self.say(to, &bytes),
                Act::Launch { ends, request, rank } => {
                    let started = self.launch(&request, rank).map_err(|error| error.to_string());
                    errands.launched(ends, started);
                }
                Act::Reach { from } => {
                    let door =
                        self.plan.family.as_ref().map(|family| streams::connect(&family.door));
                    let socket = door.and_then(Result::ok);
                    errands.reached(from, socket.and_then(|socket| self.stream(socket).ok()));
                }
                Act::Tell { number, line } => {
                    self.here.gateway.iter_mut().for_each(|gateway| gateway.serve(number, &line));
                    self.here.send_down(None, &Frame::Space { number, line });
                }
            }
        }
        self.doing.errands = errands;
    }

    /// Whether a rank runs on the host of a stream's end.
    fn runs_at(&self, rank: u32, end: End) -> bool {
        let Some(node) = end.node else {
            return self.plan.ranks.get(rank as usize).is_some_and(Option::is_some);
        };
        let mut nodes = self.plan.orders.iter().flat_map(|order| &order.nodes);
        nodes.any(|n| n.number == node && n.ranks().any(|(other, _)| other == rank))
    }

    /// Starts the launcher of a job that a rank spawns. Gives our ends: of its lifeline, of its connection to the port of who spawns, and of
    /// one that tells that it has ended.
    fn launch(&mut self, request: &Request, rank: u32) -> io::Result<Ends> {
        let family = self.family().ok_or_else(|| {
            io::Error::other("the gateways of the job's sites have not told where they are")
        })?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg0("mpirun").args(&request.arguments);
        let ours = |name: &OsString| name.as_bytes().starts_with(b"HPVM_") && !is_foreign(name);
        command.envs(request.variables.iter().filter(|(name, _)| ours(name)).map(|(a, b)| (a, b)));
        command.env(lifeline::VARIABLE, "0").env(FAMILY, family.text()).env(JOB_ID, &self.plan.job);
        // Of a job around ours, if there is one.
        command.env_remove(DOOR);
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
                sys::unblock_signals();
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
            self.doing.piped.push(Piped { fd, rank, side, watched: false });
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

    // --- outputs --------------------------------------------------------------------------------

    /// Watches the outputs of launchers that were started here while they can be taken.
    pub(super) fn watch_piped(&mut self) {
        for (index, piped) in self.doing.piped.iter_mut().enumerate() {
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
        let Some(piped) = self.doing.piped.get_mut(index as usize) else { return };
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
