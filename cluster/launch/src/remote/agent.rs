//! `hpvm agent`: starts the ranks of one host, and further agents. It performs what its
//! [brain](super::brain) decides: one thread, one epoll loop.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::brain::{Action, Brain};
use super::confine;
use super::frame::{Frame, FrameBuffer, HELLO};
use super::order::{Order, Program};
use super::start::Starter;
use super::typed::Typed;
use crate::dispatcher::Event;
use crate::environment::ranks::Numbers;
use crate::environment::{self, Environment, JOB_ID, NODE};
use crate::error::{LaunchError, plain};
use crate::executor::Source;
use crate::executor::census::{Candidate, Census};
use crate::executor::gateway::Orders;
use crate::executor::guardian::{Guardian, marks};
use crate::executor::leftovers::Leftovers;
use crate::executor::link::LinkIo;
use crate::executor::local::{self, Local};
use crate::executor::rank::{RankIo, Read};
use crate::executor::spawn::{self, Image};
use crate::executor::streams::Door;
use crate::executor::threads::Watch;
use crate::place::affinity;
use crate::place::binding::Bound;
use crate::program;
use crate::sys;
use hpvm_sites::DOOR;

/// The number in the events of the connection upward.
const UP: u32 = u32::MAX;
/// How long the last words may take to go out.
const FINISH_WAIT: Duration = Duration::from_secs(5);

/// Runs an agent on this process's standard streams. Gives the exit code. The process must have
/// one thread. The only argument there can be is a folder that is removed at the end.
pub fn main(args: &[OsString]) -> i32 {
    let folder = args.first().map(Path::new);
    let result = connect().and_then(|(from, to, frames)| run(from, to, frames, folder));
    remove(folder);
    match result {
        Ok(()) => 0,
        Err(text) => {
            // Whoever started us shows it, if the connection still stands.
            let _ = sys::write(2, format!("hpvm agent: {text}\n").as_bytes());
            1
        }
    }
}

fn remove(folder: Option<&Path>) {
    if let Some(folder) = folder {
        // What cannot be removed stays: there is nobody to tell.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Takes the standard streams for the connection, greets, and waits for the order.
fn connect() -> Result<(OwnedFd, OwnedFd, FrameBuffer), String> {
    let text = |error: io::Error| plain(&error);
    // SAFETY: asks about a descriptor number.
    if unsafe { libc::isatty(0) } == 1 {
        return Err("this command is for mpirun, which starts it on other hosts".to_string());
    }
    let (from, to) = (sys::duplicate(0).map_err(text)?, sys::duplicate(1).map_err(text)?);
    let null = sys::dev_null().map_err(text)?;
    for fd in 0..2 {
        // SAFETY: both are open descriptors of ours; the connection has copies.
        hpvm_os::check(unsafe { libc::dup2(null.as_raw_fd(), fd) }).map_err(text)?;
    }
    let hello = format!("{HELLO}{}\n", env!("CARGO_PKG_VERSION"));
    sys::write(to.as_raw_fd(), hello.as_bytes()).map_err(text)?;
    Ok((from, to, FrameBuffer::greeted()))
}

fn run(
    from: OwnedFd,
    to: OwnedFd,
    mut frames: FrameBuffer,
    folder: Option<&Path>,
) -> Result<(), String> {
    let order = match first_frame(&from, &mut frames)? {
        Some(Frame::Order(bytes)) => {
            Order::decode(&bytes).map_err(|fault| format!("the order: {fault}"))?
        }
        Some(other) => return Err(format!("{other:?} came instead of an order")),
        None => return Ok(()),
    };
    // Before anything is started, the guardian included.
    confine::be_confined(&order);
    let marks = marks(&order.job, Some(order.nodes[0].number));
    let guardian = Guardian::start(&marks, folder).map_err(|error| plain(&error))?;
    let mut agent =
        Agent::new(order, from, to, frames, &guardian).map_err(|error| plain(&error))?;
    if let Some(why) = agent.run()? {
        // The guardian, which is not dismissed, ends what we have started. It knows groups and the job's marks; what
        // has got rid of both is still below us.
        let leftovers = agent.leave();
        guardian.avenge();
        leftovers.end();
        return Err(why);
    }
    // Whoever started us waits a moment for our end, then kills us and the shell around us: until the folder is gone, the
    // guardian stays to remove it.
    remove(folder);
    guardian.dismiss();
    Ok(())
}

/// Blocks until a whole frame has come; none if the connection ended.
fn first_frame(from: &OwnedFd, frames: &mut FrameBuffer) -> Result<Option<Frame>, String> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        if let Some(frame) = frames.next_frame()? {
            return Ok(Some(frame));
        }
        match sys::read(from.as_raw_fd(), &mut buffer) {
            Ok(0) => return Ok(None),
            Ok(count) => frames.push(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(plain(&error)),
        }
    }
}

struct Agent<'a> {
    order: Order,
    brain: Brain,
    guardian: &'a Guardian,
    here: Local,
    up: LinkIo,
    /// Ranks of this host in ascending order, with their images.
    numbers: Vec<(u32, u32)>,
    images: Vec<Option<Image>>,
    bound: Bound,
    typed: Typed,
    paused: bool,
    census: Census,
    end: Option<End>,
}

/// How the agent's work ends.
enum End {
    Finish,
    Die(String),
}

impl<'a> Agent<'a> {
    fn new(
        order: Order,
        from: OwnedFd,
        to: OwnedFd,
        frames: FrameBuffer,
        guardian: &'a Guardian,
    ) -> io::Result<Self> {
        let starter = (order.nodes.len() > 1).then(|| Starter::new(&order.shell)).transpose()?;
        let here = Local::new(starter)?;
        let up = LinkIo::upward(from, to, frames, &here.epoll, UP)?;
        let led = order.programs.iter().any(|program| program.library_path);
        let ours = environment::library_folder().filter(|_| led);
        let census = Census::new(order.size, ours);
        Ok(Self {
            brain: Brain::new(&order),
            numbers: order.nodes[0].ranks().collect(),
            bound: Bound::default(),
            order,
            guardian,
            here,
            up,
            images: Vec::new(),
            typed: Typed::new(Source::TypingPipe.token(0)),
            paused: false,
            census,
            end: None,
        })
    }

    /// Gives up all but what tells our processes from others.
    fn leave(self) -> Leftovers {
        self.here.leftovers
    }

    fn handle(&mut self, event: Event) {
        self.brain.handle(event, self.here.now());
    }

    /// Runs to the end of the job; gives the reason if it is no good one.
    fn run(&mut self) -> Result<Option<String>, String> {
        self.open_door()?;
        self.start_gateway();
        self.start_links();
        self.start_ranks();
        // The order may have been followed by more.
        self.read_up();
        let mut tokens = Vec::new();
        loop {
            self.act();
            self.tend();
            match self.end.take() {
                Some(End::Die(why)) => return Ok(Some(why)),
                Some(End::Finish) => {
                    self.finish();
                    return Ok(None);
                }
                None => {}
            }
            let due = [self.brain.poll_timeout(), self.census.due(), self.here.threads.due()];
            let due = due.into_iter().flatten().min();
            self.here.wait(due, &mut tokens).map_err(|error| plain(&error))?;
            for token in &tokens {
                self.happened(*token);
            }
            self.here.tick();
            self.look_for_others();
            if let Some(text) = self.here.look_at_threads() {
                self.handle(Event::TooManyThreads { text });
            }
            self.handle(Event::Tick);
        }
    }

    // --- starting ---------------------------------------------------------------------------

    fn start_gateway(&mut self) {
        let Order { job, key, size, sites, shell, .. } = &self.order;
        let own = self.order.nodes[0].number;
        let orders = Orders::of(sites.as_ref(), own, (job, key, *size), shell.patience);
        let started = orders
            .and_then(|orders| orders.map(|orders| self.here.start_gateway(orders)).transpose());
        match started {
            Ok(Some((key, card))) => self.brain.publish_value(&key, &card),
            Ok(None) => {}
            Err(text) => self.handle(Event::GatewayLost { text }),
        }
    }

    /// Where ranks of a job over several sites ask for what only the launcher can do.
    fn open_door(&mut self) -> Result<(), String> {
        if self.order.sites.is_some() {
            let door = Door::open().map_err(|error| error.message)?;
            let kept = self.here.streams.keep(door, &self.here.epoll);
            kept.map_err(|error| plain(&error))?;
        }
        Ok(())
    }

    fn start_links(&mut self) {
        let orders = self.brain.orders(&self.order);
        for lost in self.here.start_links(&orders) {
            self.handle(lost);
        }
    }

    fn start_ranks(&mut self) {
        let count = self.numbers.len() as u32;
        if let Err(text) = confine::be_its_users(&self.order, &mut self.here.nursery) {
            return self.none_started(0, LaunchError::new(1, text));
        }
        let slots = &self.order.nodes[0].slots;
        match Bound::here(&self.order.policy, count, slots) {
            Ok(bound) => self.bound = bound,
            Err(error) => return self.none_started(0, error),
        }
        for index in 0..self.numbers.len() {
            let (rank, program) = self.numbers[index];
            let result = self.image(program).and_then(|()| self.start_rank(index));
            match result {
                Ok(pid) => {
                    self.handle(Event::Started { rank, pid });
                    self.report_binding(index);
                }
                Err(error) => {
                    return self.none_started(index, error);
                }
            }
        }
        let chosen = self.images.iter().flatten().any(Image::chooses_threads);
        let chosen = chosen || self.bound.of(0).is_some();
        self.here.threads = Watch::new(self.numbers.len(), chosen);
    }

    /// This rank of the host and those after it cannot be started.
    fn none_started(&mut self, index: usize, error: LaunchError) {
        let text = format!("host '{}': {}", self.order.nodes[0].host, error.message);
        self.here.ranks.extend((index..self.numbers.len()).map(|_| RankIo::absent()));
        let Some((rank, _)) = self.numbers.get(index).copied() else { return };
        self.handle(Event::NotStarted { rank, text, code: error.code });
    }

    fn report_binding(&mut self, index: usize) {
        if self.order.report_bindings {
            let rank = self.numbers[index].0;
            let what = self.bound.describe(rank, index);
            let text = format!("{what} of host '{}'", self.order.nodes[0].host);
            self.up.queue(&Frame::Note(text));
        }
    }

    /// Finds a program and makes its environment, once.
    fn image(&mut self, program: u32) -> Result<(), LaunchError> {
        let index = program as usize;
        if self.images.len() <= index {
            self.images.resize_with(index + 1, || None);
        }
        if self.images[index].is_none() {
            let program = &self.order.programs[index];
            let door = self.here.streams.door();
            self.images[index] = Some(image(program, &self.order, door)?);
        }
        Ok(())
    }

    fn start_rank(&mut self, index: usize) -> Result<i32, LaunchError> {
        let (rank, program) = self.numbers[index];
        let Some(Some(image)) = self.images.get(program as usize) else {
            return Err(LaunchError::new(1, format!("program {program} of rank {rank}")));
        };
        let failed = |error: io::Error| {
            LaunchError::new(1, spawn::not_started(rank, self.order.size, &error))
        };
        let mut typed = None;
        if self.order.input == Some(rank) {
            typed = Some(self.typed.open().map_err(failed)?);
        }
        let stdin = typed.as_ref().map_or(self.here.nursery.null(), AsRawFd::as_raw_fd);
        let numbers = Numbers {
            rank,
            size: self.order.size,
            universe: self.order.universe,
            local: index as u32,
            local_size: self.numbers.len() as u32,
            node: self.order.nodes[0].number,
        };
        let cpus = self.bound.of(index).map(affinity::kernel_set);
        let io = RankIo::start(numbers, image, &self.here.nursery, &self.here.epoll, stdin, cpus)
            .map_err(failed)?;
        let pid = io.pid;
        self.guardian.add(pid);
        self.here.ranks.push(io);
        Ok(pid)
    }

    // --- acting -----------------------------------------------------------------------------

    fn act(&mut self) {
        while let Some(action) = self.brain.poll_action() {
            match action {
                Action::Up(frame) => self.up.queue(&frame),
                Action::Down { link, frame } => self.here.send_down(link, &frame),
                Action::Reply { rank, text } => {
                    if let Some(index) = self.index_of(rank) {
                        self.here.ranks[index].send(&text, rank, &self.here.epoll);
                    }
                }
                Action::Signal(number) => self.here.signal_ranks(number),
                Action::SignalLeftovers(number) => self.here.leftovers.signal(number),
                Action::KillJobs => self.here.leftovers.kill_jobs(),
                Action::SignalParted(number) => self.here.leftovers.signal_parted(number),
                Action::Survey => self.survey(),
                Action::Cut(link) => self.here.cut(link),
                Action::Stdin(bytes) => self.type_in(&bytes),
                Action::Pause(paused) => self.paused = paused,
                // Who publishes it may be on this host: then it is held already.
                Action::Hold { question, service, port } => {
                    let held = self.here.names.hold(&service, &port);
                    self.handle(Event::HeldHere { question, held });
                }
                Action::Release(services) => self.here.release_names(&services),
                Action::Stream { number, bytes } => {
                    let Local { streams, epoll, .. } = &mut self.here;
                    streams.write(number, &bytes, epoll);
                }
                Action::Space { number, line } => {
                    self.here.gateway.iter_mut().for_each(|gateway| gateway.serve(number, &line));
                }
                Action::Find { question, service } => {
                    let port = hpvm_job::names::lookup(&service);
                    self.handle(Event::Found { question, port });
                }
                Action::Finish => self.end = Some(End::Finish),
                Action::Die(why) => self.end = Some(End::Die(why)),
            }
        }
    }

    /// Looks whether ranks use another MPI.
    fn look_for_others(&mut self) {
        let ranks = || {
            let here = self.numbers.iter().zip(&self.here.ranks);
            here.filter(|(_, io)| io.pid > 0)
                .map(|((rank, _), io)| {
                    let (running, joined) = (io.is_running(), self.brain.has_joined(*rank));
                    Candidate { rank: *rank, pid: io.pid, running, joined }
                })
                .collect()
        };
        let who = |rank| format!("rank {rank} (on {})", self.order.nodes[0].host);
        if let Some(text) = self.census.tick(self.here.now(), ranks, who) {
            self.handle(Event::OtherMpi { text });
        }
    }

    fn survey(&mut self) {
        let full = !self.may_read_outputs();
        let found = self.here.survey(full);
        self.handle(Event::Survey(found));
    }

    fn may_read_outputs(&self) -> bool {
        !self.paused && !self.up.is_full()
    }

    /// Sends what waits, and watches what can be handled now.
    fn tend(&mut self) {
        let readable = self.may_read_outputs();
        let Local { ranks, epoll, .. } = &mut self.here;
        for (rank, (number, _)) in ranks.iter_mut().zip(&self.numbers) {
            for side in 0..2 {
                rank.watch_output(side, readable, *number, epoll);
            }
        }
        self.here.tend_links(self.up.is_full());
        self.up.flush(&self.here.epoll, UP);
        self.here.gateway.iter_mut().for_each(|gateway| gateway.tend(self.brain.values()));
    }

    /// Everything is done: the last words go out, and the agents below end.
    fn finish(&mut self) {
        let end = self.here.now() + FINISH_WAIT;
        let mut tokens = Vec::new();
        while !self.up.is_flushed() && self.here.now() < end {
            self.up.flush(&self.here.epoll, UP);
            if self.here.epoll.wait(50, &mut tokens).is_err() {
                break;
            }
        }
        self.here.dispose_links();
    }

    fn type_in(&mut self, bytes: &[u8]) {
        self.typed.push(bytes);
        self.write_typed();
    }

    fn write_typed(&mut self) {
        let told = self.typed.write(&self.here.epoll);
        told.iter().for_each(|frame| self.up.queue(frame));
    }

    // --- events -----------------------------------------------------------------------------

    fn index_of(&self, rank: u32) -> Option<usize> {
        self.numbers
            .binary_search_by_key(&rank, |(number, _)| *number)
            .ok()
            .filter(|index| *index < self.here.ranks.len())
    }

    fn happened(&mut self, token: u64) {
        let (source, number) = Source::of(token);
        let now = self.here.now();
        match source {
            Source::Signal => self.read_signals(),
            Source::Failure => self.read_failures(),
            Source::TypingPipe => self.write_typed(),
            Source::Gateway => {
                if let Err(text) = self.here.read_gateway() {
                    self.handle(Event::GatewayLost { text });
                }
            }
            Source::Door => self.here.streams.admit(&self.here.epoll),
            Source::Stream => {
                let Local { streams, epoll, buffer, .. } = &mut self.here;
                for bytes in streams.ready(number, buffer, epoll) {
                    self.brain.handle(Event::Stream { number, bytes }, now);
                }
            }
            Source::LinkIn if number == UP => self.read_up(),
            Source::LinkIn => self.read_link(number as usize),
            Source::LinkRoom if number == UP => self.up.flush(&self.here.epoll, UP),
            Source::LinkRoom => self.here.flush_link(number),
            Source::LinkError => self.here.read_link_errors(number),
            Source::Exit | Source::Pmi | Source::Output | Source::Error => {
                let Some(index) = self.index_of(number) else { return };
                match source {
                    Source::Exit => self.rank_exited(index),
                    Source::Pmi => self.read_pmi(index),
                    Source::Output => drop(self.read_output(index, 0)),
                    _ => drop(self.read_output(index, 1)),
                }
            }
            Source::Sink
            | Source::Terminal
            | Source::Feed
            | Source::SharedPipe
            | Source::Spawned
            | Source::Lifeline => {}
        }
    }

    fn rank_exited(&mut self, index: usize) {
        // What it did before it ended comes first.
        self.read_failures();
        self.read_pmi(index);
        let Some(ended) = self.here.ranks[index].take_exit(&self.here.epoll) else { return };
        for side in 0..2 {
            while self.may_read_outputs() && self.read_output(index, side) {}
        }
        let rank = self.numbers[index].0;
        if let Some(text) = self.census.ended(rank, self.brain.has_joined(rank)) {
            self.handle(Event::OtherMpi { text });
        }
        self.handle(Event::Exited { rank, ended });
    }

    fn read_pmi(&mut self, index: usize) {
        let (now, rank) = (self.here.now(), self.numbers[index].0);
        let Local { ranks, epoll, buffer, .. } = &mut self.here;
        ranks[index].read_pmi(rank, epoll, buffer, |event| self.brain.handle(event, now));
    }

    /// One read of a rank's output; true when it brought something.
    fn read_output(&mut self, index: usize, side: usize) -> bool {
        let rank = self.numbers[index].0;
        let Local { ranks, epoll, buffer, .. } = &mut self.here;
        let read = ranks[index].read_output(side, epoll, buffer);
        let side = side as u8;
        match read {
            Read::Nothing => false,
            Read::Bytes(count) => {
                let bytes = buffer[..count].to_vec();
                self.up.queue(&Frame::Output { rank, side, bytes });
                true
            }
            Read::End => {
                self.up.queue(&Frame::OutputEnd { rank, side });
                false
            }
        }
    }

    fn read_signals(&mut self) {
        while let Some(number) = self.here.next_signal() {
            match number {
                libc::SIGCHLD => {
                    let ranks = self.here.unwatched_ranks();
                    ranks.into_iter().for_each(|index| self.rank_exited(index));
                    self.handle(Event::ChildrenEnded);
                }
                libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => {
                    self.handle(Event::Signal(number));
                }
                _ => {}
            }
        }
    }

    fn read_failures(&mut self) {
        while let Some((rank, stage, errno)) = self.here.nursery.next_failure() {
            let Some(index) = self.index_of(rank) else { continue };
            let program = self.numbers[index].1 as usize;
            let Some(Some(image)) = self.images.get(program) else { continue };
            let error = stage.failure(rank, &image.file, errno);
            let text = format!("host '{}': {}", self.order.nodes[0].host, error.message);
            self.handle(Event::NotExecuted { rank, text, code: error.code });
        }
    }

    fn read_up(&mut self) {
        let news = local::read(&mut self.up, &mut self.here.buffer);
        let now = self.here.now();
        if news.heard {
            self.brain.heard_above(now);
        }
        for frame in news.frames {
            self.brain.instruct(frame, now);
        }
        let why = match news.end {
            None => return,
            Some(Err(fault)) => format!("the launcher: {fault}"),
            Some(Ok(())) => "the connection to the launcher is gone".to_string(),
        };
        self.end.get_or_insert(End::Die(why));
    }

    fn read_link(&mut self, link: usize) {
        let news = self.here.read_link(link);
        if news.heard {
            self.handle(Event::Heard { link });
        }
        for frame in news.frames {
            self.handle(Event::Frame { link, frame });
        }
        match news.end {
            None => {}
            Some(Ok(())) if !self.brain.expects(link) => self.here.cut(link),
            Some(end) => {
                let lost = self.here.lose_link(link, end.err());
                self.handle(lost);
            }
        }
    }
}

/// Finds the program on this host and makes the environment of its ranks.
fn image(program: &Program, order: &Order, door: Option<&Door>) -> Result<Image, LaunchError> {
    let mut env = Environment::new();
    if program.inherit {
        env = environment::own(std::env::vars_os());
        if let Ok(prefix) = environment::prefix() {
            environment::put_first(&mut env, "PATH", &prefix.join("bin"));
        }
    }
    env.extend(program.set.iter().cloned());
    if program.library_path
        && let Some(folder) = environment::library_folder()
    {
        environment::lead_to(&mut env, &folder);
    }
    for (name, value) in [(JOB_ID, order.job.clone()), (NODE, order.nodes[0].number.to_string())] {
        env.insert(name.into(), OsString::from(value));
    }
    if let Some(door) = door {
        env.insert(DOOR.into(), door.value(&order.nodes[0].host).into());
    }
    let wdir = PathBuf::from(&program.wdir);
    program::check_folder(&wdir).map_err(|error| {
        let text = error.message.replacen("--wdir", "the working folder", 1);
        LaunchError::new(error.code, format!("{text}; name another with --wdir"))
    })?;
    let path = env.get(OsStr::new("PATH")).cloned();
    let own = Some(program.path.as_os_str()).filter(|path| !path.is_empty());
    let path = program::with_own_path(own, path);
    let file = program::find(&program.argv[0], &wdir, path.as_deref())?;
    Image::new(file, &program.argv, &env, &wdir)
}
