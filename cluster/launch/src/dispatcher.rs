//! What happens to a job, decided without doing anything: events and the time go in, actions come
//! out. The [executor](crate::executor) reads the world and performs the actions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::error::TIMED_OUT;
use crate::pmi::server::{ClientEvent, ClientState, JOB_KEY, Outcome, Server};
use crate::remote::frame::Frame;
use crate::remote::links::Links;
use crate::text;
pub use cause::{Cause, Loss};
pub use event::{Action, Ended, Event};
pub use hosts::Layout;
use hpvm_job::{GLOBAL_EXIT, PEER_LOST};
use leaving::Leaving;
use names::Questions;

mod cause;
mod ending;
mod event;
mod hosts;
pub mod leaving;
mod names;
mod recovery;

/// How long the other ranks may clean up after one has failed.
pub const GRACE_FAILURE: Duration = Duration::from_millis(400);
/// How long the ranks may clean up when the user or `--timeout` ends the job.
pub const GRACE_USER: Duration = Duration::from_secs(2);
/// After all ranks have ended well, how long what they left running may go on by itself.
pub const GRACE_LEFTOVERS: Duration = Duration::from_millis(300);
/// How long killed processes may take to vanish before the launcher gives up on them.
pub const GRACE_KILLED: Duration = Duration::from_millis(500);
/// How long launchers of jobs that ranks have spawned may take to end those, when the job is killed with which they are connected.
pub const GRACE_JOBS: Duration = Duration::from_secs(10);
/// How often leftovers are looked for.
const SURVEY_EVERY: Duration = Duration::from_millis(5);
/// The same while output waits for its reader.
const SURVEY_BLOCKED: Duration = Duration::from_millis(50);

/// What the launcher knows of a rank when it starts it.
#[derive(Clone, Debug)]
pub struct RankInfo {
    pub program: String,
    pub appnum: u32,
    /// Number of its host.
    pub node: u32,
}

/// What is known of a rank at the end.
#[derive(Clone, Debug)]
pub struct RankState {
    pub program: String,
    /// Number of its host.
    pub node: u32,
    pub pid: Option<i32>,
    pub ended: Option<Ended>,
    /// It will not be started any more.
    absent: bool,
}

#[derive(Debug)]
enum Phase {
    Running,
    /// Told to end; killed at that time (`None`: killed already).
    Ending(Option<Duration>),
    /// All ranks have ended, something else may be left.
    Leaving(Leaving),
    Done,
}

/// The state of one job.
#[derive(Debug)]
pub struct Dispatcher {
    hosts: Vec<String>,
    links: Links,
    /// When agents that do not confirm the end are cut off.
    cut_at: Option<Duration>,
    ranks: Vec<RankState>,
    pmi: Server,
    /// Names that ranks look for.
    questions: Questions,
    phase: Phase,
    code: Option<i32>,
    reason: Option<String>,
    /// Why, if it was a failure.
    cause: Option<Cause>,
    /// Hosts that were lost, with how.
    lost: BTreeMap<u32, Loss>,
    /// Signals that the launcher has passed on: a rank that dies of one was ended by the user.
    passed_on: BTreeSet<i32>,
    unfinished: usize,
    limit: Option<Duration>,
    /// How long the job has run already, in attempts before this one.
    before: Duration,
    /// Whether stacks are shown when the time limit ends the job.
    stack_traces: bool,
    /// Whether ranks that fail do not end the job.
    recovery: bool,
    abandoned: bool,
    /// Whether it has been told that the job has failed, while the launcher waits for others.
    end_told: bool,
    told_other_mpi: bool,
    told_threads: bool,
    actions: VecDeque<Action>,
}

impl Dispatcher {
    /// A job on one host that has not begun. Times are counted from its start; `limit` is
    /// `--timeout`.
    pub fn new(job: &str, host: &str, ranks: Vec<RankInfo>, limit: Option<Duration>) -> Self {
        let appnums: Vec<u32> = ranks.iter().map(|rank| rank.appnum).collect();
        let unfinished = ranks.len();
        let ranks = ranks
            .into_iter()
            .map(|rank| RankState {
                program: rank.program,
                node: rank.node,
                pid: None,
                ended: None,
                absent: false,
            })
            .collect();
        Self {
            hosts: vec![host.to_string()],
            links: Links::new(Vec::new(), Duration::MAX),
            cut_at: None,
            ranks,
            pmi: Server::new(job, &appnums),
            questions: Questions::default(),
            phase: Phase::Running,
            code: None,
            reason: None,
            cause: None,
            lost: BTreeMap::new(),
            passed_on: BTreeSet::new(),
            unfinished,
            limit,
            before: Duration::ZERO,
            stack_traces: false,
            recovery: false,
            abandoned: false,
            end_told: false,
            told_other_mpi: false,
            told_threads: false,
            actions: VecDeque::new(),
        }
    }

    /// Shows stacks when the time limit ends the job.
    pub fn with_stack_traces(&mut self, wanted: bool) {
        self.stack_traces = wanted;
    }

    /// The time limit has begun so long before this attempt.
    pub fn with_time_before(&mut self, before: Duration) {
        self.before = before;
    }

    /// Tells the ranks the job's random key.
    pub fn set_key(&mut self, key: &str) {
        self.pmi.store(JOB_KEY, key);
    }

    /// Tells the ranks how many processes the user expects in all.
    pub fn set_universe(&mut self, size: Option<u32>) {
        self.pmi.set_universe(size);
    }

    /// The next thing to do, in order.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Event::Tick`] is due, if ever.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let own = match &self.phase {
            Phase::Running => self.limit.map(|limit| limit.saturating_sub(self.before)),
            Phase::Ending(kill_at) => *kill_at,
            Phase::Leaving(leaving) => leaving.due(),
            Phase::Done => return None,
        };
        [own, self.cut_at, self.links.next_due()].into_iter().flatten().min()
    }

    /// Names of the hosts.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// All ranks with how they ended.
    pub fn ranks(&self) -> &[RankState] {
        &self.ranks
    }

    /// Why the job ended early, if it did.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The failure that ended it, if one did.
    pub fn cause(&self) -> Option<Cause> {
        self.cause
    }

    /// The hosts that were lost, with how.
    pub fn lost_hosts(&self) -> impl Iterator<Item = (&str, Loss)> {
        self.lost.iter().map(|(node, loss)| (&self.hosts[*node as usize][..], *loss))
    }

    /// Whether a rank has called MPI_Init as a part of this job.
    pub fn has_joined(&self, rank: u32) -> bool {
        self.pmi.state(rank) != ClientState::Silent
    }

    /// Whether the user was told that ranks use another MPI.
    pub fn told_other_mpi(&self) -> bool {
        self.told_other_mpi
    }

    /// Tells the user once that ranks use another MPI.
    fn other_mpi(&mut self, text: String) {
        if !std::mem::replace(&mut self.told_other_mpi, true) {
            self.actions.push_back(Action::Note(text));
        }
    }

    fn too_many_threads(&mut self, text: String) {
        if !std::mem::replace(&mut self.told_threads, true) {
            self.actions.push_back(Action::Note(text));
        }
    }

    /// Whether the user would not wait for the rest of the output.
    pub fn abandoned(&self) -> bool {
        self.abandoned
    }

    /// Takes in one event.
    pub fn handle(&mut self, event: Event, now: Duration) {
        if matches!(self.phase, Phase::Done) {
            return;
        }
        match event {
            Event::Started { rank, pid } => self.ranks[rank as usize].pid = Some(pid),
            Event::NotStarted { rank, text, code } => self.not_started(rank, text, code, now),
            Event::NotExecuted { text, code, .. } => self.fail(Cause::Other, code, text, now),
            Event::Pmi { rank, line } => self.client(rank, line, now),
            Event::PmiOverflow { rank } => {
                let limit = crate::pmi::LINE_MAX;
                let text = format!("it is longer than {limit} bytes");
                self.malformed(rank, &text, now);
            }
            Event::Exited { rank, ended } => self.exited(rank, ended, now),
            Event::Frame { link, frame } => self.frame(link, frame, now),
            Event::Heard { link } => self.links.heard(link, now),
            Event::LinkLost { link, text, code } => self.lost(link, text, code, now),
            Event::Signal(number) => self.signal(number, now),
            Event::ChildrenEnded => {
                if let Phase::Leaving(leaving) = &mut self.phase {
                    leaving.children_ended(now);
                }
            }
            Event::OtherMpi { text } => self.other_mpi(text),
            Event::TooManyThreads { text } => self.too_many_threads(text),
            Event::GatewayLost { text } => self.gateway_lost(text, now),
            Event::FileBroken { text } => {
                self.fail(Cause::Other, 1, format!("{text}; ending the job"), now);
            }
            Event::OutputBroken { errno } => self.output_broken(errno, now),
            Event::LifelineCut => self.lifeline_cut(now),
            Event::Survey(found) => self.surveyed(found, now),
            Event::Held { rank, service, port, held } => self.held(rank, service, port, held),
            // Only agents are told to hold what another has published.
            Event::HeldHere { .. } => {}
            // The launcher's own are its executor's.
            Event::Stream { .. } => {}
            Event::Found { question, port } => self.found(question, None, port),
            Event::Tick => self.tick(now),
        }
    }

    /// A rank for messages.
    pub fn who(&self, rank: u32) -> String {
        let state = &self.ranks[rank as usize];
        let pid = state.pid.unwrap_or(0);
        let host = &self.hosts[state.node as usize];
        format!("rank {rank} (pid {pid}, {}, on {host})", state.program)
    }

    /// Ends the job because of a fault; only the first one counts and is shown.
    fn fail(&mut self, cause: Cause, code: i32, text: String, now: Duration) {
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        self.code.get_or_insert(code);
        self.actions.push_back(Action::Error(text.clone()));
        self.reason = Some(text);
        self.cause = Some(cause);
        let grace = if cause == Cause::TimeLimit { GRACE_USER } else { GRACE_FAILURE };
        self.end(libc::SIGTERM, grace, now);
    }

    fn end(&mut self, signal: i32, grace: Duration, now: Duration) {
        self.phase = Phase::Ending(Some(now + grace));
        self.signal_all(signal);
        // A stopped rank sees the signal only when it goes on.
        self.signal_all(libc::SIGCONT);
        self.check_all_ended(now);
    }

    fn kill(&mut self, now: Duration) {
        self.phase = Phase::Ending(None);
        self.signal_all(libc::SIGKILL);
        self.cut_soon(now);
        self.check_all_ended(now);
    }

    /// Sends a signal to all ranks on all hosts.
    fn signal_all(&mut self, number: i32) {
        self.actions.push_back(Action::Signal(number));
        self.down(None, Frame::Signal(number));
    }

    fn not_started(&mut self, rank: u32, text: String, code: i32, now: Duration) {
        let node = self.ranks[rank as usize].node;
        for state in &mut self.ranks[rank as usize..] {
            if state.node == node && !state.absent && state.pid.is_none() {
                state.absent = true;
                self.unfinished -= 1;
            }
        }
        self.fail(Cause::Other, code, text, now);
        self.check_all_ended(now);
    }

    fn client(&mut self, rank: u32, line: &[u8], now: Duration) {
        let outcome = self.pmi.handle(rank, line);
        self.outcome(rank, outcome, now);
    }

    /// What follows from a rank's command, or from an arrival at a barrier.
    fn outcome(&mut self, rank: u32, outcome: Outcome, now: Duration) {
        for (rank, text) in outcome.replies {
            self.reply(rank, text);
        }
        match outcome.event {
            None => self.check_missing(now),
            Some(event) => self.client_event(rank, event, now),
        }
    }

    fn client_event(&mut self, rank: u32, event: ClientEvent, now: Duration) {
        match event {
            ClientEvent::Malformed(fault) => self.malformed(rank, &fault, now),
            ClientEvent::Abort { code, message } if message.as_deref() == Some(GLOBAL_EXIT) => {
                self.global_exit(rank, code & 0xff, now);
            }
            ClientEvent::Abort { code, message } => {
                let who = self.who(rank);
                let Some(why) = message else {
                    // The program's choice, 0 too, as with MPICH's and Open MPI's launchers.
                    let text = format!("{who} called MPI_Abort with code {code}; ending the job");
                    return self.fail(Cause::Program, code & 0xff, text, now);
                };
                let (cause, why) = match why.strip_prefix(PEER_LOST) {
                    Some(why) => (Cause::PeerLost, why),
                    None => (Cause::Program, &why[..]),
                };
                // The library's own reason, not the program's: never a success.
                let text = format!("{who} gives up: {why}; ending the job");
                self.fail(cause, (code & 0xff).max(1), text, now);
            }
            ClientEvent::Opened => self.opened(),
            ClientEvent::Hold { service, port } => {
                self.actions.push_back(Action::Hold { rank, service, port });
            }
            ClientEvent::Find { service } => self.find(rank, service),
            ClientEvent::Release { services } => self.release(services),
            ClientEvent::Unpublish { service } => self.unpublish(rank, service),
            // These are for those above, and there is nobody.
            ClientEvent::State(_)
            | ClientEvent::Waits
            | ClientEvent::Arrived
            | ClientEvent::Ask => self.check_missing(now),
        }
    }

    /// A rank ends the job on purpose, with an exit code of its choice.
    fn global_exit(&mut self, rank: u32, code: i32, now: Duration) {
        if code != 0 {
            let text = format!("{} ended the job with exit code {code}", self.who(rank));
            self.fail(Cause::Program, code, text, now);
        } else if matches!(self.phase, Phase::Running) {
            self.code.get_or_insert(0);
            self.end(libc::SIGTERM, GRACE_FAILURE, now);
        }
    }

    fn malformed(&mut self, rank: u32, fault: &str, now: Duration) {
        let who = self.who(rank);
        let text = format!("{who} sent a malformed PMI command: {fault}; ending the job");
        self.fail(Cause::Other, 1, text, now);
    }

    fn exited(&mut self, rank: u32, ended: Ended, now: Duration) {
        let state = &mut self.ranks[rank as usize];
        if state.ended.is_some() || state.absent {
            return;
        }
        state.ended = Some(ended);
        self.unfinished -= 1;
        let names = self.pmi.forget_names(rank);
        self.release(names);
        if matches!(self.phase, Phase::Running) {
            self.judge(rank, ended, now);
            self.check_missing(now);
        }
        self.check_all_ended(now);
    }

    /// Decides whether a rank's end is the job's end.
    fn judge(&mut self, rank: u32, ended: Ended, now: Duration) {
        let who = self.who(rank);
        let (code, what) = match (ended, self.pmi.state(rank)) {
            (Ended::Signal { number, core }, _) => {
                let core = if core { ", core dumped" } else { "" };
                (128 + number, format!("was killed by {}{core}", text::signal(number)))
            }
            (Ended::Code(code), ClientState::Initialised) => {
                let exit = if code == 0 { 1 } else { code };
                (exit, format!("exited with code {code} without calling MPI_Finalize"))
            }
            (Ended::Code(0), _) => return,
            (Ended::Code(code), ClientState::Finalised) => {
                if self.code.is_none() {
                    self.code = Some(code);
                    self.cause = Some(Cause::Program);
                    let others = match self.initialised().count() {
                        0 => String::new(),
                        n => format!("; ranks that go on: {n} (hpvm jobs says what they wait for)"),
                    };
                    let text = format!("{who} exited with code {code} after MPI_Finalize{others}");
                    self.actions.push_back(Action::Error(text));
                }
                return;
            }
            (Ended::Code(code), ClientState::Silent) => (code, format!("exited with code {code}")),
        };
        if self.recovery {
            return self.outlive(rank, code, format!("{who} {what}"), now);
        }
        let cause = match ended {
            Ended::Signal { number, .. } if !self.passed_on.contains(&number) => Cause::Killed,
            _ => Cause::Program,
        };
        self.fail(cause, code, format!("{who} {what}; ending the job"), now);
    }

    /// Ranks between `MPI_Init` and `MPI_Finalize`.
    fn initialised(&self) -> impl Iterator<Item = u32> {
        let all = 0..self.ranks.len() as u32;
        all.filter(|rank| {
            self.ranks[*rank as usize].ended.is_none()
                && self.pmi.state(*rank) == ClientState::Initialised
        })
    }

    /// Ranks that wait for one that is gone would hang for ever: in a barrier, or in `MPI_Init`,
    /// which is for all ranks or none.
    fn check_missing(&mut self, now: Duration) {
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        let ended = |rank: &u32| self.ranks[*rank as usize].ended.is_some();
        let all = 0..self.ranks.len() as u32;
        // Who has died in a job that goes on is waited for by nobody.
        let missed = |rank: &u32| ended(rank) && !self.pmi.is_lost(*rank);
        let Some(gone) = all.clone().find(missed) else { return };
        let stranger =
            all.clone().find(|rank| ended(rank) && self.pmi.state(*rank) == ClientState::Silent);
        let pair = match (stranger, self.pmi.barrier_waiter()) {
            (Some(stranger), _) => self.initialised().next().map(|waiter| {
                (waiter, stranger, "has called MPI_Init", "has exited without doing so")
            }),
            (None, Some(waiter)) => Some((waiter, gone, "waits in a barrier", "has exited")),
            (None, None) => None,
        };
        let Some((waiter, gone, waits, left)) = pair else { return };
        let (waiter, gone) = (self.who(waiter), self.who(gone));
        let text = format!("{waiter} {waits}, but {gone} {left}; ending the job");
        self.fail(Cause::Program, 1, text, now);
    }

    fn tick(&mut self, now: Duration) {
        self.tick_links(now);
        match &self.phase {
            Phase::Running => {
                if let Some(limit) = self.limit.filter(|limit| now + self.before >= *limit) {
                    let text = format!(
                        "the job ran longer than the {} s of --timeout; ending it",
                        limit.as_secs_f64()
                    );
                    if self.stack_traces {
                        self.actions.push_back(Action::StackTraces);
                    }
                    self.fail(Cause::TimeLimit, TIMED_OUT, text, now);
                }
            }
            Phase::Ending(Some(kill_at)) if now >= *kill_at => self.kill(now),
            Phase::Leaving(leaving) if leaving.due().is_some_and(|due| now >= due) => {
                self.actions.push_back(Action::Survey);
            }
            Phase::Ending(_) | Phase::Leaving(_) | Phase::Done => {}
        }
    }
}

#[cfg(test)]
mod tests;
