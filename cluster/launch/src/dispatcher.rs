//! What happens to a job, decided without doing anything: events and the time go in, actions come
//! out. The [executor](crate::executor) reads the world and performs the actions.

use std::collections::VecDeque;
use std::time::Duration;

use crate::error::TIMED_OUT;
use crate::pmi::server::{ClientEvent, ClientState, Server};
use crate::text;

/// How long the other ranks may clean up after one has failed.
pub const GRACE_FAILURE: Duration = Duration::from_millis(400);
/// How long the ranks may clean up when the user or `--timeout` ends the job.
pub const GRACE_USER: Duration = Duration::from_secs(2);
/// After all ranks have ended well, how long what they left running may go on by itself.
pub const GRACE_LEFTOVERS: Duration = Duration::from_millis(300);
/// How long killed processes may take to vanish before the launcher gives up on them.
pub const GRACE_KILLED: Duration = Duration::from_millis(500);
/// How often leftovers are looked for.
const SURVEY_EVERY: Duration = Duration::from_millis(5);
/// The same while output waits for its reader.
const SURVEY_BLOCKED: Duration = Duration::from_millis(50);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal { number: i32, core: bool },
}

impl Ended {
    /// The exit code a shell would show.
    pub fn code(self) -> i32 {
        match self {
            Ended::Code(code) => code,
            Ended::Signal { number, .. } => 128 + number,
        }
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    Started {
        rank: u32,
        pid: i32,
    },
    /// This rank and those after it could not be started.
    NotStarted {
        rank: u32,
        text: String,
        code: i32,
    },
    /// The started process could not become the program; its exit follows.
    NotExecuted {
        rank: u32,
        text: String,
        code: i32,
    },
    /// One line on a rank's PMI connection.
    Pmi {
        rank: u32,
        line: &'a [u8],
    },
    /// A rank sent a line without end.
    PmiOverflow {
        rank: u32,
    },
    Exited {
        rank: u32,
        ended: Ended,
    },
    /// The launcher received a signal.
    Signal(i32),
    /// Standard output cannot be written any more.
    OutputBroken {
        errno: i32,
    },
    /// The answer to [`Action::Survey`]: whether processes of the job are left, whether outputs
    /// are open, and whether those cannot be read because our own reader is slow.
    Survey {
        processes: bool,
        outputs: bool,
        blocked: bool,
    },
    /// Nothing but time has passed.
    Tick,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send these bytes on a rank's PMI connection.
    Reply { rank: u32, text: String },
    /// Send a signal to the process groups of all ranks.
    Signal(i32),
    /// Send a signal to every process that descends from the job.
    SignalLeftovers(i32),
    /// Find out whether any process or output of the job is left.
    Survey,
    /// Stop the launcher itself, as the terminal asked.
    StopSelf,
    /// Write an error, which is shown always, on standard error.
    Error(String),
    /// Write a remark, which `--quiet` suppresses.
    Note(String),
    /// The job is over.
    Done(i32),
}

/// What the launcher knows of a rank when it starts it.
#[derive(Clone, Debug)]
pub struct RankInfo {
    pub program: String,
    pub appnum: u32,
}

/// What is known of a rank at the end.
#[derive(Clone, Debug)]
pub struct RankState {
    pub program: String,
    pub pid: Option<i32>,
    pub ended: Option<Ended>,
    /// It will not be started any more.
    absent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// Told to end; killed at that time (`None`: killed already).
    Ending(Option<Duration>),
    /// All ranks have ended, something else may be left. `step` counts the signals sent so far.
    Leaving {
        since: Duration,
        step: u8,
        survey: Duration,
    },
    Done,
}

/// The state of one job.
#[derive(Debug)]
pub struct Dispatcher {
    host: String,
    ranks: Vec<RankState>,
    pmi: Server,
    phase: Phase,
    code: Option<i32>,
    reason: Option<String>,
    unfinished: usize,
    limit: Option<Duration>,
    abandoned: bool,
    actions: VecDeque<Action>,
}

impl Dispatcher {
    /// A job that has not begun. Times are counted from its start; `limit` is `--timeout`.
    pub fn new(job: &str, host: &str, ranks: Vec<RankInfo>, limit: Option<Duration>) -> Self {
        let appnums: Vec<u32> = ranks.iter().map(|rank| rank.appnum).collect();
        let unfinished = ranks.len();
        let ranks = ranks
            .into_iter()
            .map(|rank| RankState { program: rank.program, pid: None, ended: None, absent: false })
            .collect();
        Self {
            host: host.to_string(),
            ranks,
            pmi: Server::new(job, &appnums),
            phase: Phase::Running,
            code: None,
            reason: None,
            unfinished,
            limit,
            abandoned: false,
            actions: VecDeque::new(),
        }
    }

    /// The next thing to do, in order.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Event::Tick`] is due, if ever.
    pub fn poll_timeout(&self) -> Option<Duration> {
        match self.phase {
            Phase::Running => self.limit,
            Phase::Ending(kill_at) => kill_at,
            Phase::Leaving { survey, .. } => Some(survey),
            Phase::Done => None,
        }
    }

    /// All ranks with how they ended.
    pub fn ranks(&self) -> &[RankState] {
        &self.ranks
    }

    /// Why the job ended early, if it did.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whether the user would not wait for the rest of the output.
    pub fn abandoned(&self) -> bool {
        self.abandoned
    }

    /// Takes in one event.
    pub fn handle(&mut self, event: Event, now: Duration) {
        if self.phase == Phase::Done {
            return;
        }
        match event {
            Event::Started { rank, pid } => self.ranks[rank as usize].pid = Some(pid),
            Event::NotStarted { rank, text, code } => self.not_started(rank, text, code, now),
            Event::NotExecuted { text, code, .. } => {
                self.fail(code, text, GRACE_FAILURE, libc::SIGTERM, now);
            }
            Event::Pmi { rank, line } => self.client(rank, line, now),
            Event::PmiOverflow { rank } => {
                let limit = crate::pmi::LINE_MAX;
                let text = format!("it is longer than {limit} bytes");
                self.malformed(rank, &text, now);
            }
            Event::Exited { rank, ended } => self.exited(rank, ended, now),
            Event::Signal(number) => self.signal(number, now),
            Event::OutputBroken { errno } => self.output_broken(errno, now),
            Event::Survey { processes, outputs, blocked } => {
                self.surveyed(processes, outputs, blocked, now);
            }
            Event::Tick => self.tick(now),
        }
    }

    fn who(&self, rank: u32) -> String {
        let state = &self.ranks[rank as usize];
        let pid = state.pid.unwrap_or(0);
        format!("rank {rank} (pid {pid}, {}, on {})", state.program, self.host)
    }

    /// Ends the job because of a fault; only the first one counts and is shown.
    fn fail(&mut self, code: i32, text: String, grace: Duration, signal: i32, now: Duration) {
        if self.phase != Phase::Running {
            return;
        }
        self.code.get_or_insert(code);
        self.actions.push_back(Action::Error(text.clone()));
        self.reason = Some(text);
        self.end(signal, grace, now);
    }

    fn end(&mut self, signal: i32, grace: Duration, now: Duration) {
        self.phase = Phase::Ending(Some(now + grace));
        self.actions.push_back(Action::Signal(signal));
        // A stopped rank sees the signal only when it goes on.
        self.actions.push_back(Action::Signal(libc::SIGCONT));
        self.check_all_ended(now);
    }

    fn kill(&mut self, now: Duration) {
        self.phase = Phase::Ending(None);
        self.actions.push_back(Action::Signal(libc::SIGKILL));
        self.check_all_ended(now);
    }

    fn not_started(&mut self, rank: u32, text: String, code: i32, now: Duration) {
        for state in &mut self.ranks[rank as usize..] {
            if !state.absent && state.pid.is_none() {
                state.absent = true;
                self.unfinished -= 1;
            }
        }
        self.fail(code, text, GRACE_FAILURE, libc::SIGTERM, now);
        self.check_all_ended(now);
    }

    fn client(&mut self, rank: u32, line: &[u8], now: Duration) {
        let outcome = self.pmi.handle(rank, line);
        for (rank, text) in outcome.replies {
            self.actions.push_back(Action::Reply { rank, text });
        }
        match outcome.event {
            None => self.check_missing(now),
            Some(ClientEvent::Malformed(fault)) => self.malformed(rank, &fault, now),
            Some(ClientEvent::Abort { code, message }) => {
                let exit = if code & 0xff == 0 { 1 } else { code & 0xff };
                let message = message.map(|text| format!(": {text}")).unwrap_or_default();
                let who = self.who(rank);
                let text =
                    format!("{who} called MPI_Abort with code {code}{message}; ending the job");
                self.fail(exit, text, GRACE_FAILURE, libc::SIGTERM, now);
            }
        }
    }

    fn malformed(&mut self, rank: u32, fault: &str, now: Duration) {
        let who = self.who(rank);
        let text = format!("{who} sent a malformed PMI command: {fault}; ending the job");
        self.fail(1, text, GRACE_FAILURE, libc::SIGTERM, now);
    }

    fn exited(&mut self, rank: u32, ended: Ended, now: Duration) {
        let state = &mut self.ranks[rank as usize];
        if state.ended.is_some() || state.absent {
            return;
        }
        state.ended = Some(ended);
        self.unfinished -= 1;
        if self.phase == Phase::Running {
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
                    let text = format!("{who} exited with code {code} after MPI_Finalize");
                    self.actions.push_back(Action::Error(text));
                }
                return;
            }
            (Ended::Code(code), ClientState::Silent) => (code, format!("exited with code {code}")),
        };
        self.fail(code, format!("{who} {what}; ending the job"), GRACE_FAILURE, libc::SIGTERM, now);
    }

    /// Ranks that wait for one that is gone would hang for ever: in a barrier, or in `MPI_Init`,
    /// which is for all ranks or none.
    fn check_missing(&mut self, now: Duration) {
        if self.phase != Phase::Running {
            return;
        }
        let ended = |rank: &u32| self.ranks[*rank as usize].ended.is_some();
        let all = 0..self.ranks.len() as u32;
        let Some(gone) = all.clone().find(ended) else { return };
        let stranger =
            all.clone().find(|rank| ended(rank) && self.pmi.state(*rank) == ClientState::Silent);
        let initialised =
            || all.clone().find(|rank| self.pmi.state(*rank) == ClientState::Initialised);
        let pair = match (stranger, self.pmi.barrier_waiter()) {
            (Some(stranger), _) => initialised().map(|waiter| {
                (waiter, stranger, "has called MPI_Init", "has exited without doing so")
            }),
            (None, Some(waiter)) => Some((waiter, gone, "waits in a barrier", "has exited")),
            (None, None) => None,
        };
        let Some((waiter, gone, waits, left)) = pair else { return };
        let (waiter, gone) = (self.who(waiter), self.who(gone));
        let text = format!("{waiter} {waits}, but {gone} {left}; ending the job");
        self.fail(1, text, GRACE_FAILURE, libc::SIGTERM, now);
    }

    fn signal(&mut self, number: i32, now: Duration) {
        match number {
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP => self.end_by_user(number, now),
            libc::SIGTSTP => {
                self.actions.push_back(Action::Signal(libc::SIGSTOP));
                self.actions.push_back(Action::StopSelf);
            }
            _ => self.actions.push_back(Action::Signal(number)),
        }
    }

    fn end_by_user(&mut self, number: i32, now: Duration) {
        match self.phase {
            Phase::Running => {
                self.code = Some(128 + number);
                let name = text::signal_name(number);
                self.reason = Some(format!("the launcher received {name}"));
                let again =
                    if number == libc::SIGINT { " (Ctrl-C again kills it at once)" } else { "" };
                self.actions
                    .push_back(Action::Note(format!("received {name}; ending the job{again}")));
                self.end(number, GRACE_USER, now);
            }
            Phase::Ending(_) => self.kill(now),
            // The rest of the output is not waited for any more.
            Phase::Leaving { .. } => {
                self.code.get_or_insert(128 + number);
                self.abandoned = true;
                self.actions.push_back(Action::SignalLeftovers(libc::SIGKILL));
                self.actions.push_back(Action::Survey);
                self.phase = Phase::Leaving { since: now, step: 2, survey: now + SURVEY_EVERY };
            }
            Phase::Done => {}
        }
    }

    /// Nobody reads our output any more (`| head`): the job ends, without noise for a closed pipe.
    fn output_broken(&mut self, errno: i32, now: Duration) {
        if self.phase != Phase::Running {
            return;
        }
        if errno == libc::EPIPE {
            self.code = Some(128 + libc::SIGPIPE);
            self.reason = Some("standard output was closed by its reader".to_string());
            self.end(libc::SIGTERM, GRACE_FAILURE, now);
            return;
        }
        let text = format!(
            "cannot write to standard output: {}; ending the job",
            crate::error::errno_text(errno)
        );
        self.fail(1, text, GRACE_FAILURE, libc::SIGTERM, now);
    }

    fn check_all_ended(&mut self, now: Duration) {
        if self.unfinished > 0 {
            return;
        }
        let step = match self.phase {
            Phase::Running => 0,
            Phase::Ending(_) => {
                self.actions.push_back(Action::SignalLeftovers(libc::SIGKILL));
                2
            }
            Phase::Leaving { .. } | Phase::Done => return,
        };
        self.phase = Phase::Leaving { since: now, step, survey: now + SURVEY_EVERY };
        self.actions.push_back(Action::Survey);
    }

    fn surveyed(&mut self, processes: bool, outputs: bool, blocked: bool, now: Duration) {
        let Phase::Leaving { mut since, mut step, .. } = self.phase else { return };
        let waited = now.saturating_sub(since);
        let blocked = blocked && !self.abandoned;
        let outputs = outputs && !self.abandoned;
        let over = step >= 2 && waited >= GRACE_KILLED && !blocked;
        if !processes && !outputs || over {
            return self.done();
        }
        if !processes && blocked {
            // Only a slow reader holds us up (a pager, say); it gets all the time it needs.
            since = now;
        } else if step < 2 && waited >= GRACE_LEFTOVERS {
            let signal = if step == 0 { libc::SIGTERM } else { libc::SIGKILL };
            self.actions.push_back(Action::SignalLeftovers(signal));
            (since, step) = (now, step + 1);
        } else if step >= 2 && processes {
            // What a killed process had just started is found only now.
            self.actions.push_back(Action::SignalLeftovers(libc::SIGKILL));
        }
        let pause = if blocked { SURVEY_BLOCKED } else { SURVEY_EVERY };
        self.phase = Phase::Leaving { since, step, survey: now + pause };
    }

    fn done(&mut self) {
        self.phase = Phase::Done;
        self.actions.push_back(Action::Done(self.code.unwrap_or(0)));
    }

    fn tick(&mut self, now: Duration) {
        match self.phase {
            Phase::Running => {
                if let Some(limit) = self.limit.filter(|limit| now >= *limit) {
                    let text = format!(
                        "the job ran longer than the {} s of --timeout; ending it",
                        limit.as_secs_f64()
                    );
                    self.fail(TIMED_OUT, text, GRACE_USER, libc::SIGTERM, now);
                }
            }
            Phase::Ending(Some(kill_at)) if now >= kill_at => self.kill(now),
            Phase::Leaving { survey, .. } if now >= survey => {
                self.actions.push_back(Action::Survey);
            }
            Phase::Ending(_) | Phase::Leaving { .. } | Phase::Done => {}
        }
    }
}

#[cfg(test)]
mod tests;
