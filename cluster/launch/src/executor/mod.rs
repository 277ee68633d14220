//! Performs what the [dispatcher](crate::dispatcher) decides: one thread, one epoll loop.

pub mod census;
pub mod errands;
pub mod feed;
pub mod gateway;
pub mod guardian;
pub mod leftovers;
pub mod link;
pub mod local;
pub mod rank;
pub mod shared;
pub mod signals;
pub mod spawn;
pub mod stdin;
pub mod streams;
pub mod threads;

mod links;
pub mod stacks;

use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;

use crate::args::Input;
use crate::dispatcher::{Action, Dispatcher, Event};
use crate::environment::ranks::Numbers;
use crate::error::LaunchError;
use crate::family::Family;
use crate::lifeline::{self, Heard, Lifeline};
use crate::output::files::Files;
use crate::output::sink::Sink;
use crate::output::{Outputs, Routing};
use crate::place::affinity;
use crate::place::binding::Bound;
use crate::remote::frame::Frame;
use crate::remote::order::Order;
use crate::remote::start::Starter;
use crate::sys::{self, Epoll};
use census::{Candidate, Census};
use errands::Doing;
use feed::Feed;
use gateway::Orders;
use guardian::Guardian;
use local::Local;
use rank::RankIo;
use shared::Shared;
use spawn::Image;
use stdin::Typing;
use streams::Door;
use threads::Watch;

/// A job ready to be started.
pub struct Plan {
    pub label: String,
    pub job: String,
    /// The programs that ranks on this host run.
    pub images: Vec<Image>,
    /// For each rank the index of its image; none for ranks on other hosts.
    pub ranks: Vec<Option<usize>>,
    /// Processes that the user expects in all; none: any number.
    pub universe: Option<u32>,
    /// What is to be started on other hosts: one order for each agent of ours.
    pub orders: Vec<Order>,
    /// How those are started.
    pub starter: Option<Starter>,
    /// Number of this host in a job of several.
    pub node: Option<u32>,
    /// What each rank of this host is bound to.
    pub bound: Bound,
    /// The folder of our libraries, if ranks are led to it.
    pub library: Option<PathBuf>,
    pub routing: Routing,
    /// What stands in front of the lines of each rank; empty for nothing.
    pub prefixes: Vec<Vec<u8>>,
    pub files: Files,
    pub input: Input,
    pub quiet: bool,
    /// The gateway that runs here, in a job of several sites.
    pub gateway: Option<Orders>,
    /// Where ranks of this host ask for what only the launcher can do, in a job of several sites.
    pub door: Option<Door>,
    /// The job's random key.
    pub key: String,
    /// Which rank is at which site, as ranks are told; empty without sites.
    pub sites: String,
    /// Each site as the user has named it.
    pub given_sites: Vec<String>,
    /// In a job that another one over several sites has spawned.
    pub family: Option<Family>,
    /// To the process that spawned the job, if one did.
    pub lifeline: Option<Lifeline>,
}

/// How a job ended.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub elapsed: Duration,
}

/// What an epoll event is about; the rank is in the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Exit = 0,
    Pmi = 1,
    Output = 2,
    Error = 3,
    Signal = 4,
    Sink = 5,
    Failure = 6,
    Terminal = 7,
    TypingPipe = 8,
    LinkIn = 9,
    LinkRoom = 10,
    LinkError = 11,
    Feed = 12,
    SharedPipe = 13,
    Lifeline = 14,
    Gateway = 15,
    Door = 16,
    Stream = 17,
    Spawned = 18,
}

impl Source {
    pub(crate) fn token(self, rank: u32) -> u64 {
        (self as u64) << 32 | u64::from(rank)
    }

    pub(crate) fn of(token: u64) -> (Self, u32) {
        let source = match token >> 32 {
            0 => Source::Exit,
            1 => Source::Pmi,
            2 => Source::Output,
            3 => Source::Error,
            4 => Source::Signal,
            5 => Source::Sink,
            6 => Source::Failure,
            7 => Source::Terminal,
            8 => Source::TypingPipe,
            9 => Source::LinkIn,
            10 => Source::LinkRoom,
            11 => Source::LinkError,
            13 => Source::SharedPipe,
            14 => Source::Lifeline,
            15 => Source::Gateway,
            16 => Source::Door,
            17 => Source::Stream,
            18 => Source::Spawned,
            _ => Source::Feed,
        };
        (source, token as u32)
    }
}

/// Runs a job to its end. The process must have one thread, and this takes it over: its signals,
/// its children, its standard streams.
/// `report` makes the lines that are written last.
pub fn execute(
    plan: Plan,
    dispatcher: &mut Dispatcher,
    mut report: impl FnMut(&Dispatcher, &Outcome) -> Vec<String>,
) -> Result<Outcome, LaunchError> {
    let guardian = Guardian::start(&guardian::marks(&plan.job, plan.node), None)
        .map_err(|error| LaunchError::system("cannot start the guardian process", &error))?;
    let job = Executor::new(plan, dispatcher, &guardian)
        .map_err(|error| LaunchError::system("cannot prepare the job", &error));
    let outcome = match job {
        Ok(mut job) => {
            let outcome = job.run();
            let texts = outcome.as_ref().map(|outcome| report(job.dispatcher, outcome));
            for text in texts.unwrap_or_default() {
                job.outputs.message(&text);
            }
            if !job.dispatcher.abandoned() {
                job.drain();
            }
            job.here.dispose_links();
            outcome
        }
        Err(error) => Err(error),
    };
    guardian.dismiss();
    outcome
}

struct Executor<'a> {
    plan: Plan,
    dispatcher: &'a mut Dispatcher,
    guardian: &'a Guardian,
    /// The ranks that run here are at their number.
    here: Local,
    outputs: Outputs,
    sink_watched: [bool; 2],
    typing: Option<Typing>,
    typing_watched: [bool; 2],
    /// Whether agents were told to read no outputs.
    paused: bool,
    feed: Option<Feed>,
    shared: Option<Shared>,
    output_broken: bool,
    census: Census,
    doing: Doing,
}

impl<'a> Executor<'a> {
    fn new(
        mut plan: Plan,
        dispatcher: &'a mut Dispatcher,
        guardian: &'a Guardian,
    ) -> io::Result<Self> {
        let count = plan.ranks.len();
        let (prefixes, files) =
            (std::mem::take(&mut plan.prefixes), std::mem::take(&mut plan.files));
        let outputs = Outputs::new(count as u32, &plan.routing, prefixes, files)?;
        let mut here = Local::new(plan.starter.take())?;
        let chosen = plan.bound.of(0).is_some() || plan.images.iter().any(Image::chooses_threads);
        here.threads = Watch::new(plan.ranks.iter().flatten().count(), chosen);
        Ok(Self {
            here,
            outputs,
            sink_watched: [false; 2],
            typing: None,
            typing_watched: [false; 2],
            paused: false,
            feed: None,
            shared: None,
            output_broken: false,
            census: Census::new(count as u32, plan.library.take()),
            doing: Doing::default(),
            plan,
            dispatcher,
            guardian,
        })
    }

    /// Tells the dispatcher.
    fn handle(&mut self, event: Event) {
        self.dispatcher.handle(event, self.here.now());
    }

    fn run(&mut self) -> Result<Outcome, LaunchError> {
        if let Some(lifeline) = &self.plan.lifeline {
            let token = Source::Lifeline.token(0);
            let watched = self.here.epoll.add(lifeline.fd(), libc::EPOLLIN, token);
            watched.map_err(|error| LaunchError::system("cannot watch the lifeline", &error))?;
        }
        self.begin_errands().map_err(|error| {
            LaunchError::system("cannot reach the launcher of the job's sites", &error)
        })?;
        self.start_gateway();
        self.start_links();
        self.start_ranks();
        let mut tokens = Vec::new();
        let code = loop {
            if let Some(code) = self.act() {
                break code;
            }
            self.write_outputs();
            self.watch();
            self.shared
                .iter_mut()
                .for_each(|shared| shared.tend(self.here.now(), &self.here.epoll));
            self.tell_places();
            self.tend_links();
            self.here.gateway.iter_mut().for_each(|gateway| gateway.tend(self.dispatcher.values()));
            let due = self.next_timeout();
            self.here
                .wait(due, &mut tokens)
                .map_err(|error| LaunchError::system("cannot wait for the ranks", &error))?;
            for token in &tokens {
                self.happened(*token);
            }
            self.tick();
        };
        Ok(Outcome { code, elapsed: self.here.now() })
    }

    /// Writes the launcher's last words and what is left of the output. Waits for a slow reader,
    /// but not against a signal.
    fn drain(&mut self) {
        self.outputs.flush();
        let sinks = &mut self.outputs.sinks;
        // An instance of its own: what else is readable does not matter any more.
        let Ok(epoll) = Epoll::new() else { return };
        let _ = epoll.add(self.here.signals.fd.as_raw_fd(), libc::EPOLLIN, 0);
        for fd in sinks.iter().filter_map(Sink::pollable) {
            let _ = epoll.add(fd, libc::EPOLLOUT, 1);
        }
        let mut tokens = Vec::new();
        loop {
            sinks.iter_mut().for_each(Sink::write);
            for sink in sinks.iter().filter(|sink| sink.pending() == 0) {
                sink.pollable().into_iter().for_each(|fd| epoll.remove(fd));
            }
            if sinks.iter().all(|sink| sink.pending() == 0) || epoll.wait(-1, &mut tokens).is_err()
            {
                return;
            }
            while let Some(number) = self.here.signals.next() {
                if matches!(number, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT) {
                    return;
                }
            }
        }
    }

    fn start_ranks(&mut self) {
        let count = self.plan.ranks.len() as u32;
        let mut local = 0;
        for rank in 0..count {
            if self.plan.ranks[rank as usize].is_none() {
                self.here.ranks.push(RankIo::absent());
                continue;
            }
            match self.start_rank(rank, local) {
                Ok(pid) => {
                    local += 1;
                    self.handle(Event::Started { rank, pid });
                }
                Err(error) => {
                    let text = spawn::not_started(rank, count, &error);
                    self.handle(Event::NotStarted { rank, text, code: 1 });
                    for absent in rank..count {
                        self.here.ranks.push(RankIo::absent());
                        for side in 0..2 {
                            self.outputs.close(absent, side);
                        }
                    }
                    return;
                }
            }
        }
    }

    fn start_rank(&mut self, rank: u32, local: u32) -> io::Result<libc::pid_t> {
        let own = self.plan.input == Input::Rank(rank);
        let mut typed = None;
        if own && let Some((typing, pipe)) = Typing::new()? {
            self.typing = Some(typing);
            typed = Some(pipe);
        }
        if let Input::Several(ranks) = &self.plan.input
            && ranks.as_ref().is_none_or(|ranks| ranks.contains(&rank))
        {
            typed = Some(self.shared.get_or_insert_with(Shared::of_stdin).open(rank)?);
        }
        let stdin = match (&typed, own) {
            (Some(pipe), _) => pipe.as_raw_fd(),
            (None, true) => 0,
            (None, false) => self.here.nursery.null(),
        };
        let image = self.plan.ranks[rank as usize].ok_or(io::ErrorKind::NotFound)?;
        let image = &self.plan.images[image];
        let numbers = Numbers {
            rank,
            size: self.plan.ranks.len() as u32,
            universe: self.plan.universe,
            local,
            local_size: self.plan.ranks.iter().flatten().count() as u32,
            node: self.plan.node.unwrap_or(0),
        };
        let cpus = self.plan.bound.of(local as usize).map(affinity::kernel_set);
        let io = RankIo::start(numbers, image, &self.here.nursery, &self.here.epoll, stdin, cpus)?;
        let pid = io.pid;
        self.guardian.add(pid);
        self.here.ranks.push(io);
        Ok(pid)
    }

    /// Performs all actions that wait; gives the exit code when the job is over.
    fn act(&mut self) -> Option<i32> {
        while let Some(action) = self.dispatcher.poll_action() {
            match action {
                Action::Reply { rank, text } => {
                    self.here.ranks[rank as usize].send(&text, rank, &self.here.epoll);
                }
                Action::Down { link, frame } => self.here.send_down(link, &frame),
                Action::Cut(link) => self.here.cut(link),
                Action::Signal(number) => self.here.signal_ranks(number),
                Action::SignalLeftovers(number) => self.here.leftovers.signal(number),
                Action::KillJobs => self.here.leftovers.kill_jobs(),
                Action::SignalParted(number) => self.signal_parted(number),
                Action::Ended(code) => {
                    if let Some(lifeline) = &self.plan.lifeline {
                        // What is below us goes on, so the launcher of those who have spawned this job must not kill us.
                        lifeline::part();
                        lifeline.ended(code);
                    }
                }
                Action::Survey => self.survey(),
                Action::Hold { rank, service, port } => {
                    let held = self.here.names.hold(&service, &port);
                    self.handle(Event::Held { rank, service, port, held });
                }
                Action::Find { question, service } => {
                    let port = hpvm_job::names::lookup(&service);
                    self.handle(Event::Found { question, port });
                }
                Action::Release(services) => self.here.release_names(&services),
                Action::StackTraces => self.stack_traces(),
                Action::StopSelf => sys::kill(std::process::id() as i32, libc::SIGSTOP),
                Action::Error(text) => self.error(&text),
                Action::Note(text) => self.note(&text),
                Action::Done(code) => return Some(code),
            }
        }
        None
    }

    fn error(&mut self, text: &str) {
        let told = self.plan.lifeline.as_ref().is_some_and(|lifeline| lifeline.error(text));
        if !told {
            self.message(text);
        }
    }

    /// Ends jobs that have parted from this one, as the user wants. Who is connected with those who have spawned it gets the
    /// signals of their launcher, which are no word of a user's.
    fn signal_parted(&mut self, number: i32) {
        if self.plan.lifeline.as_ref().is_none_or(Lifeline::is_disconnected) {
            self.here.leftovers.signal_parted(number);
            self.here.send_down(None, &Frame::SignalParted(number));
        }
    }

    fn read_lifeline(&mut self) {
        let Some(lifeline) = &self.plan.lifeline else { return };
        let (heard, fd) = (lifeline.read(), lifeline.fd());
        if lifeline.is_disconnected() {
            lifeline::part();
        }
        if heard != Heard::Open {
            self.here.epoll.remove(fd);
        }
        if heard == Heard::Cut {
            self.handle(Event::LifelineCut);
        }
    }

    fn note(&mut self, text: &str) {
        if !self.plan.quiet {
            self.message(text);
        }
    }

    fn message(&mut self, text: &str) {
        // Agents, ssh and ranks have their words in it.
        let line = format!("{}: {}", self.plan.label, crate::text::message(text));
        self.outputs.message(&line);
    }

    fn survey(&mut self) {
        let full = self.outputs.sinks.iter().any(Sink::full);
        let found = self.here.survey(full);
        self.handle(Event::Survey(found));
    }

    fn happened(&mut self, token: u64) {
        let (source, rank) = Source::of(token);
        match source {
            Source::Exit => self.rank_exited(rank),
            Source::Pmi => self.read_pmi(rank),
            Source::Output => {
                self.read_output(rank, 0);
            }
            Source::Error => {
                self.read_output(rank, 1);
            }
            Source::Signal => self.read_signals(),
            Source::Sink => {}
            Source::Failure => self.read_failures(),
            Source::Terminal => {
                let now = self.here.now();
                self.typing.iter_mut().for_each(|typing| typing.terminal_ready(now));
            }
            Source::TypingPipe => self.typing.iter_mut().for_each(Typing::pipe_ready),
            Source::SharedPipe => {
                self.shared.iter_mut().for_each(|shared| shared.room(rank, &self.here.epoll));
            }
            Source::Lifeline => self.read_lifeline(),
            Source::Gateway => self.read_gateway(),
            Source::Door => self.here.streams.admit(&self.here.epoll),
            Source::Stream => self.stream_ready(rank),
            Source::Spawned => self.read_piped(rank),
            Source::LinkIn => self.read_link(rank as usize),
            Source::LinkRoom => self.here.flush_link(rank),
            Source::LinkError => self.here.read_link_errors(rank),
            Source::Feed => match &mut self.shared {
                Some(shared) => shared.read(self.here.now(), &self.here.epoll),
                None => self.read_feed(),
            },
        }
    }

    fn rank_exited(&mut self, rank: u32) {
        // What it did before it ended comes first.
        self.read_failures();
        self.read_pmi(rank);
        let Some(ended) = self.here.ranks[rank as usize].take_exit(&self.here.epoll) else {
            return;
        };
        for side in 0..2 {
            while self.read_output(rank, side) && !self.outputs.full(rank, side) {}
        }
        // The end of the last rank may be that of the job.
        self.tell_of_files();
        if let Some(text) = self.census.ended(rank, self.dispatcher.has_joined(rank)) {
            self.handle(Event::OtherMpi { text });
        }
        self.handle(Event::Exited { rank, ended });
    }

    fn tell_of_files(&mut self) {
        if let Some(text) = self.outputs.file_fault() {
            self.handle(Event::FileBroken { text });
        }
    }

    fn read_pmi(&mut self, rank: u32) {
        let now = self.here.now();
        let Local { ranks, epoll, buffer, .. } = &mut self.here;
        ranks[rank as usize].read_pmi(rank, epoll, buffer, |event| {
            self.dispatcher.handle(event, now);
        });
    }

    /// One read of a rank's output; true when it brought something.
    fn read_output(&mut self, rank: u32, side: usize) -> bool {
        if !self.outputs.wants(rank, side) {
            return false;
        }
        let now = self.here.now();
        let Local { ranks, epoll, buffer, .. } = &mut self.here;
        match ranks[rank as usize].read_output(side, epoll, buffer) {
            rank::Read::Nothing => false,
            rank::Read::Bytes(count) => {
                self.outputs.data(rank, side, &buffer[..count], now);
                true
            }
            rank::Read::End => {
                self.outputs.close(rank, side);
                false
            }
        }
    }

    fn read_signals(&mut self) {
        while let Some(number) = self.here.next_signal() {
            match number {
                libc::SIGCHLD => {
                    let ranks = self.here.unwatched_ranks();
                    ranks.into_iter().for_each(|rank| self.rank_exited(rank as u32));
                    self.handle(Event::ChildrenEnded);
                }
                number => self.handle(Event::Signal(number)),
            }
        }
    }

    fn read_failures(&mut self) {
        while let Some((rank, stage, errno)) = self.here.nursery.next_failure() {
            let Some(Some(index)) = self.plan.ranks.get(rank as usize) else { continue };
            let error = stage.failure(rank, &self.plan.images[*index].file, errno);
            let (text, code) = (error.message, error.code);
            self.handle(Event::NotExecuted { rank, text, code });
        }
    }

    fn tick(&mut self) {
        let now = self.here.now();
        self.outputs.tick(now);
        self.tell_of_files();
        self.typing.iter_mut().for_each(|typing| typing.tick(now));
        self.feed.iter_mut().for_each(|feed| feed.tick(now));
        self.shared.iter_mut().for_each(|shared| shared.tick(now, &self.here.epoll));
        self.here.tick();
        self.look_for_others(now);
        if let Some(text) = self.here.look_at_threads() {
            self.handle(Event::TooManyThreads { text });
        }
        self.handle(Event::Tick);
    }

    /// Looks whether ranks of this host use another MPI.
    fn look_for_others(&mut self, now: Duration) {
        let ranks = || {
            let here = (0..).zip(&self.here.ranks).filter(|(_, io)| io.pid > 0);
            here.map(|(rank, io)| {
                let (running, joined) = (io.is_running(), self.dispatcher.has_joined(rank));
                Candidate { rank, pid: io.pid, running, joined }
            })
            .collect()
        };
        if let Some(text) = self.census.tick(now, ranks, |rank| self.dispatcher.who(rank)) {
            self.handle(Event::OtherMpi { text });
        }
    }

    fn write_outputs(&mut self) {
        self.outputs.sinks.iter_mut().for_each(Sink::write);
        if let Some(errno) = self.outputs.sinks[0].broken()
            && !std::mem::replace(&mut self.output_broken, true)
        {
            self.handle(Event::OutputBroken { errno });
        }
    }

    /// Brings the set of watched descriptors in line with what can be handled now.
    fn watch(&mut self) {
        for (rank, io) in self.here.ranks.iter_mut().enumerate() {
            for side in 0..2 {
                let number = rank as u32;
                let outputs = &self.outputs;
                let wanted = outputs.wants(number, side) && !outputs.full(number, side);
                io.watch_output(side, wanted, rank as u32, &self.here.epoll);
            }
        }
        self.watch_piped();
        self.watch_sinks();
        let Some(typing) = &self.typing else { return };
        let wanted = [typing.wants_terminal().then_some(0), typing.wants_pipe()];
        let sources = [(libc::EPOLLIN, Source::Terminal), (libc::EPOLLOUT, Source::TypingPipe)];
        for (index, (events, source)) in sources.into_iter().enumerate() {
            match (wanted[index], self.typing_watched[index]) {
                (Some(fd), false) => {
                    self.typing_watched[index] =
                        self.here.epoll.add(fd, events, source.token(0)).is_ok();
                }
                (None, true) => {
                    // A closed pipe has left the set by itself.
                    let fd = if index == 0 { Some(0) } else { typing.pipe_fd() };
                    fd.into_iter().for_each(|fd| self.here.epoll.remove(fd));
                    self.typing_watched[index] = false;
                }
                _ => {}
            }
        }
    }

    fn watch_sinks(&mut self) {
        for side in 0..2 {
            let wanted = self.outputs.sinks[side].pending() > 0;
            let Some(fd) = self.outputs.sinks[side].pollable() else { continue };
            if wanted && !self.sink_watched[side] {
                let token = Source::Sink.token(side as u32);
                self.sink_watched[side] = self.here.epoll.add(fd, libc::EPOLLOUT, token).is_ok();
            } else if !wanted && self.sink_watched[side] {
                self.here.epoll.remove(fd);
                self.sink_watched[side] = false;
            }
        }
    }

    /// When something is due, if anything.
    fn next_timeout(&self) -> Option<Duration> {
        let due = [
            self.dispatcher.poll_timeout(),
            self.census.due(),
            self.here.threads.due(),
            self.outputs.next_timeout(),
            self.typing.as_ref().and_then(Typing::next_timeout),
            self.feed.as_ref().and_then(Feed::next_timeout),
            self.shared.as_ref().and_then(Shared::next_timeout),
        ];
        due.into_iter().flatten().min()
    }
}
