//! What the launcher and an agent have in common: the processes of one host that belong to the
//! job, the connections to agents on other hosts, and the loop's clock and events.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::Source;
use super::gateway::{GatewayIo, Orders};
use super::leftovers::Leftovers;
use super::link::{Got, LinkIo, cannot_start};
use super::rank::RankIo;
use super::signals::Signals;
use super::spawn::Nursery;
use super::streams::Streams;
use super::threads::{Load, Watch};
use crate::dispatcher::Event;
use crate::dispatcher::leaving::Found;
use crate::remote::codec::Fault;
use crate::remote::frame::Frame;
use crate::remote::order::Order;
use crate::remote::start::Starter;
use crate::sys::{self, Epoll};
use hpvm_job::names::Names;

/// How often orphans that have ended are collected while ranks run.
const REAP_EVERY: Duration = Duration::from_millis(500);
/// How long the processes of closed connections may take to end.
const DISPOSE_WAIT: Duration = Duration::from_millis(300);

/// One process's part of a job. The owner decides what happens; this knows how.
pub struct Local {
    pub epoll: Epoll,
    pub nursery: Nursery,
    pub signals: Signals,
    pub leftovers: Leftovers,
    /// In the order in which they were started.
    pub ranks: Vec<RankIo>,
    /// Connections to agents.
    pub links: Vec<LinkIo>,
    /// Names that ranks of the job have published, held for other jobs on this host.
    pub names: Names,
    /// Between processes of this host and the launcher.
    pub streams: Streams,
    /// The gateway that runs here.
    pub gateway: Option<GatewayIo>,
    /// How agents are started, if there are any.
    starter: Option<Starter>,
    start: Instant,
    reap_at: Option<Duration>,
    /// Whether the ranks' threads have too few processors.
    pub threads: Watch,
    /// For whoever reads something.
    pub buffer: Vec<u8>,
}

/// What one look at a connection brought.
pub struct News {
    /// Anything at all.
    pub heard: bool,
    pub frames: Vec<Frame>,
    /// Nothing more will come: the connection has ended, or sends what is no frame.
    pub end: Option<Result<(), Fault>>,
}

impl Local {
    /// Takes this process over: its signals, its children, its limit of descriptors. It must have
    /// one thread. The guardian runs already.
    pub fn new(starter: Option<Starter>) -> io::Result<Self> {
        let leftovers = Leftovers::adopt();
        let signals = Signals::new()?;
        let limit = sys::descriptor_limit()?;
        let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
        // If it cannot be raised, opening too many says so.
        let _ = sys::set_descriptor_limit(&raised);
        let nursery = Nursery::new(signals.old_mask, limit)?;
        let epoll = Epoll::new()?;
        epoll.add(signals.fd.as_raw_fd(), libc::EPOLLIN, Source::Signal.token(0))?;
        let failures = nursery.failure_read.as_raw_fd();
        epoll.add(failures, libc::EPOLLIN, Source::Failure.token(0))?;
        Ok(Self {
            epoll,
            nursery,
            signals,
            leftovers,
            ranks: Vec::new(),
            links: Vec::new(),
            names: Names::default(),
            streams: Streams::default(),
            gateway: None,
            starter,
            start: Instant::now(),
            reap_at: None,
            threads: Watch::new(0, false),
            buffer: vec![0; 64 << 10],
        })
    }

    /// Looks whether the ranks' threads have too few processors, if it is time to; gives what is
    /// to be told.
    pub fn look_at_threads(&mut self) -> Option<String> {
        let now = self.now();
        let running = self.ranks.iter().filter(|io| io.is_running()).map(|io| io.pid);
        self.threads.tick(now, || Load::of(running))
    }

    /// Time since the beginning.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Waits for events, at most until `due`.
    pub fn wait(&self, due: Option<Duration>, tokens: &mut Vec<u64>) -> io::Result<()> {
        let timeout = match [due, self.reap_at].into_iter().flatten().min() {
            None => -1,
            Some(due) => {
                // Rounded up: what is due at a time is not done before it.
                let wait = due.saturating_sub(self.now()).as_micros().div_ceil(1000);
                wait.min(60_000) as libc::c_int
            }
        };
        self.epoll.wait(timeout, tokens)
    }

    /// Holds these names no longer.
    pub fn release_names(&mut self, services: &[String]) {
        services.iter().for_each(|service| self.names.release(service));
    }

    // --- processes --------------------------------------------------------------------------

    /// Sends a signal to the process groups of all ranks. Group by group: unlike the processes,
    /// the groups are known for certain, as their leaders are not reaped before the end.
    pub fn signal_ranks(&self, number: i32) {
        for rank in self.ranks.iter().filter(|rank| rank.pid > 1 && !rank.reaped) {
            sys::kill(-rank.pid, number);
        }
    }

    /// Collects what has ended; says what is left. `full`: our own reader is slow.
    pub fn survey(&mut self, full: bool) -> Found {
        self.ranks.iter_mut().for_each(|rank| rank.reaped = true);
        let processes = self.leftovers.reap(|_| false);
        let outputs = self.ranks.iter().any(RankIo::has_output);
        let jobs = processes && self.leftovers.has_spawned_job();
        let parted = jobs && self.leftovers.has_parted_job();
        // Jobs on other hosts need the gateway.
        let serves = self.gateway.as_ref().is_some_and(GatewayIo::serves);
        let (processes, jobs, parted) = (processes || serves, jobs || serves, parted || serves);
        Found { processes, outputs, blocked: outputs && full, jobs, parted }
    }

    /// The next signal that has come.
    pub fn next_signal(&mut self) -> Option<i32> {
        let number = self.signals.next()?;
        if number == libc::SIGCHLD {
            let now = self.now();
            self.reap_at.get_or_insert(now + REAP_EVERY);
        }
        Some(number)
    }

    /// Ranks that may have ended when `SIGCHLD` came: those without a process descriptor, which
    /// older kernels do not have.
    pub fn unwatched_ranks(&self) -> Vec<usize> {
        (0..self.ranks.len()).filter(|index| self.ranks[*index].waits_for_sigchld()).collect()
    }

    /// Collects orphans when it is time to.
    pub fn tick(&mut self) {
        if self.reap_at.is_some_and(|at| self.now() >= at) {
            self.reap_at = None;
            let ranks: BTreeSet<i32> = self.ranks.iter().map(|rank| rank.pid).collect();
            self.leftovers.reap(|pid| ranks.contains(&pid));
        }
    }

    // --- the gateway ------------------------------------------------------------------------

    /// Starts it. Gives its card, and the key under which that is to be published.
    pub fn start_gateway(&mut self, orders: Orders) -> Result<(String, String), String> {
        let (gateway, key, card) = GatewayIo::start(orders, &self.epoll)?;
        gateway.pid().into_iter().for_each(|pid| self.leftovers.ignore(pid));
        self.gateway = Some(gateway);
        Ok((key, card))
    }

    /// Reads what it says, and starts it again when it has died. The error ends the job.
    pub fn read_gateway(&mut self) -> Result<(), String> {
        let Some(gateway) = &mut self.gateway else { return Ok(()) };
        let result = gateway.read(&self.epoll);
        gateway.pid().into_iter().for_each(|pid| self.leftovers.ignore(pid));
        if result.is_err() {
            self.gateway = None;
        }
        result
    }

    // --- connections ------------------------------------------------------------------------

    /// Starts the agent of each order's first host. Gives what went wrong.
    pub fn start_links(&mut self, orders: &[Order]) -> Vec<Event<'static>> {
        let mut lost = Vec::new();
        for (link, order) in orders.iter().enumerate() {
            let started = match &self.starter {
                Some(starter) => starter.start(order, &self.epoll, link as u32),
                None => Err(io::ErrorKind::NotFound.into()),
            };
            match started {
                Ok(io) => {
                    io.pid().into_iter().for_each(|pid| self.leftovers.ignore(pid));
                    self.links.push(io);
                }
                Err(error) => {
                    let text = cannot_start(&order.shell.words, &order.nodes[0].host, &error);
                    self.links.push(LinkIo::nowhere());
                    lost.push(Event::LinkLost { link, text, code: 1 });
                }
            }
        }
        lost
    }

    /// Queues a frame for one agent, or for all.
    pub fn send_down(&mut self, link: Option<usize>, frame: &Frame) {
        match link {
            Some(link) => self.links[link].queue(frame),
            None => self.links.iter_mut().for_each(|link| link.queue(frame)),
        }
    }

    /// Sends what waits. While it `rest`s, nothing is read.
    pub fn tend_links(&mut self, rest: bool) {
        for (index, link) in self.links.iter_mut().enumerate() {
            link.rest(rest, &self.epoll, index as u32);
            link.flush(&self.epoll, index as u32);
        }
    }

    /// Sends more, now that there is room.
    pub fn flush_link(&mut self, link: u32) {
        self.links[link as usize].flush(&self.epoll, link);
    }

    /// Reads what whoever connects us says.
    pub fn read_link_errors(&mut self, link: u32) {
        self.links[link as usize].read_errors(&self.epoll);
    }

    /// Reads once from a connection.
    pub fn read_link(&mut self, link: usize) -> News {
        read(&mut self.links[link], &mut self.buffer)
    }

    /// Closes a connection that was not meant to end; gives the event that tells why. May wait
    /// half a second for the process in between.
    pub fn lose_link(&mut self, link: usize, fault: Option<Fault>) -> Event<'static> {
        let place = self.starter.as_ref().map_or(OsStr::new(""), Starter::place);
        let text = self.links[link].epitaph(fault, place, &self.epoll);
        Event::LinkLost { link, text, code: 1 }
    }

    /// Closes a connection.
    pub fn cut(&mut self, link: usize) {
        self.links[link].close(&self.epoll);
    }

    /// Closes all connections, and sees to it that nothing of ours is left of them.
    pub fn dispose_links(&mut self) {
        self.gateway = None;
        for link in &mut self.links {
            link.close(&self.epoll);
        }
        for link in &mut self.links {
            link.dispose(&self.epoll, DISPOSE_WAIT);
        }
    }
}

/// Reads once from a connection.
pub fn read(link: &mut LinkIo, buffer: &mut [u8]) -> News {
    let got = link.read(buffer);
    let mut news = News { heard: got == Got::Bytes, frames: Vec::new(), end: None };
    loop {
        match link.next_frame() {
            Ok(Some(frame)) => news.frames.push(frame),
            Ok(None) => break,
            Err(fault) => {
                news.end = Some(Err(fault));
                return news;
            }
        }
    }
    if got == Got::End {
        news.end = Some(Ok(()));
    }
    news
}
