//! Ranks of a job on its further hosts, which its supervisor does not see: they are confined here to what the job
//! may have on this host.
//!
//! The launcher's agent comes by ssh and asks for it before it starts a rank ([`hpvm_launch::remote::confine`]): it is
//! put into a control group of the job's, where one can be had, and bound to the job's processors. What the kernel
//! does not keep is looked at as the supervisor does. Who goes beyond a limit is ended here, and the end of the job
//! that follows from it gets the reason that is told.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::embedded::{Settings, account_for, processors_on};
use crate::job::{Job, Outcome, OutcomeKind};
use crate::processors;
use crate::stepd::cgroup::{self, Bounds, Group, Used};
use crate::stepd::{family, over, record};
use hpvm_launch::executor::guardian;
use hpvm_launch::place::affinity::{self, KernelSet};
use hpvm_launch::remote::confine;
use hpvm_launch::sys;

/// How often limits are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How many are answered before that is done.
const ANSWERS: usize = 64;

/// Whether a job may have been ended on a further host, which is told soon then: for a limit, or since its user is
/// another one there.
pub fn may_be_ended(job: &Job, system: bool) -> bool {
    let limit = job.spec.memory_bytes.or(job.spec.max_processes.map(u64::from));
    job.allocation.len() > 1 && (system || limit.is_some())
}

/// Whether it is over for such a reason.
pub fn is_reason(outcome: &Outcome) -> bool {
    use OutcomeKind::{FailedToStart, MemoryLimit, ProcessLimit};
    matches!(outcome.kind, FailedToStart | MemoryLimit | ProcessLimit)
}

/// What is told of ranks that are confined, each at most once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// They were ended, for this reason.
    Ended(Outcome),
    /// The kernel has refused them what they may not have, and they go on. Should the job fail, it has ended so.
    Refused(Outcome),
}

/// Ranks that are confined as long as it is there. When it is dropped they go on, and the kernel keeps what it keeps.
#[derive(Debug)]
pub struct Confinement {
    /// Ends the thread: closed, or with a byte, which ends all that is in the group, too.
    stop: OwnedFd,
    thread: JoinHandle<()>,
}

impl Confinement {
    /// Confines what the job has on this host, also what of it is there already. `told` is called by a thread of its own.
    pub fn start(
        place: &Settings,
        job: &Job,
        told: impl Fn(Told) + Send + 'static,
    ) -> io::Result<Confinement> {
        let (mark, host) = (place.mark(job.attempt()), place.host.clone());
        let own = hpvm_os::user();
        let user = match place.system {
            true => account_for(job, &host).map_err(io::Error::other)?.uid,
            false => own,
        };
        let processors = processors_on(job, &host);
        let bounds = Bounds {
            memory: job.spec.memory_bytes,
            cpus: Some(crate::policy::cpus_on(job, &host)).filter(|cpus| *cpus > 0),
            processes: job.spec.max_processes,
            processors: processors.clone(),
        };
        // Several hosts may be on one machine.
        let name = format!("{mark}.{host}");
        let home = cgroup::home(std::process::id() as i32).ok();
        let group = home.and_then(|home| Group::make(&home, &name, &bounds).ok());
        let bound = processors::kernel_set(&processors);
        let listener = confine::listen(&mark, &host)?;
        let (read, stop) = sys::pipe()?;
        let (agents, stalls, began) = (BTreeMap::new(), over::Stalls::default(), Instant::now());
        let mut confined = Confined { host, user, bounds, group, bound, agents, stalls, began };
        let body = move || {
            // Of an hpvm before us that has ended, or that did not answer. Anybody may have the mark in their
            // environment, and what they use is not the job's.
            let found = guardian::processes_of(&guardian::marks(&mark, None));
            let here = |pid: &i32| family::is_here(*pid) && family::user_of(*pid) == Some(user);
            found.into_iter().filter(here).for_each(|pid| confined.take(pid));
            confined.run(&listener, &read, told);
        };
        let thread = std::thread::Builder::new().name("confine".into()).spawn(body)?;
        Ok(Confinement { stop, thread })
    }

    /// The job is over: ends what is left in its group, and waits for that.
    pub fn end(self) {
        // The thread reads it, or has ended.
        let _ = sys::write(self.stop.as_raw_fd(), b"e");
        let _ = self.thread.join();
    }
}

struct Confined {
    host: String,
    user: u32,
    bounds: Bounds,
    group: Option<Group>,
    bound: Option<KernelSet>,
    /// Processes from which all others descend, with the times of their start.
    agents: BTreeMap<i32, u64>,
    stalls: over::Stalls,
    began: Instant,
}

impl Confined {
    fn run(&mut self, listener: &UnixListener, stop: &OwnedFd, told: impl Fn(Told)) {
        let (mut ended, mut refused) = (false, false);
        let looks = self.bounds.memory.is_some() || self.bounds.processes.is_some();
        loop {
            let input = libc::POLLIN;
            let mut fds = [hpvm_os::entry(listener, input), hpvm_os::entry(stop, input)];
            // Whatever ends it, what there is to do is looked for.
            let _ = hpvm_os::poll(&mut fds, looks.then_some(POLL_INTERVAL));
            if fds[1].revents != 0 {
                if matches!(sys::read(stop.as_raw_fd(), &mut [0; 1]), Ok(1)) {
                    self.group.as_ref().map(Group::end);
                }
                return;
            }
            self.answer(listener);
            let used = self.group.as_ref().map(Group::used).unwrap_or_default();
            if let (false, Some(limit)) = (refused || !used.out_of_processes, self.bounds.processes)
            {
                refused = true;
                told(Told::Refused(self.here(over::refused_processes(limit))));
            }
            if let (false, Some(outcome)) = (ended, self.over(used)) {
                ended = true;
                self.kill();
                told(Told::Ended(self.here(outcome)));
            }
        }
    }

    /// Confines those who ask for it.
    fn answer(&mut self, listener: &UnixListener) {
        // Not all of them at once: whoever asks without end keeps nobody from looking at the limits.
        for mut stream in listener.incoming().take(ANSWERS).map_while(Result::ok) {
            let peer = hpvm_os::peer(&stream).ok();
            if let Some((pid, _)) = peer.filter(|(_, user)| *user == self.user) {
                self.take(pid);
                // One that has gone away needs no answer.
                let _ = stream.write_all(b"1");
            }
        }
    }

    /// Confines a process and whatever it will start.
    fn take(&mut self, pid: i32) {
        let Some(start) = record::start_time(pid) else { return };
        self.agents.insert(pid, start);
        if let Some(group) = &self.group {
            // Refused to a user whose logins systemd keeps apart: limits are looked at then.
            let _ = group.take(pid);
        }
        if let Some(bound) = &self.bound {
            // A process that is gone needs none; processors that are gone bind nobody.
            let _ = affinity::bind_process(pid, bound);
        }
    }

    /// All processes that are confined.
    fn members(&mut self) -> BTreeSet<i32> {
        self.agents.retain(|pid, start| record::start_time(*pid) == Some(*start));
        let agents: Vec<i32> = self.agents.keys().copied().collect();
        let below = family::descendants_of(&agents);
        agents.into_iter().chain(below).collect()
    }

    /// Which limit they have gone beyond, if one.
    fn over(&mut self, used: Used) -> Option<Outcome> {
        if let Some(limit) = self.bounds.memory.filter(|_| used.out_of_memory) {
            return Some(over::refused_memory(limit));
        }
        let members = self.members();
        // What the kernel keeps is not looked at: it counts otherwise. It does for those who are in the group.
        let group =
            self.group.as_ref().filter(|group| self.agents.keys().all(|pid| group.holds(*pid)));
        let (memory, processes) =
            group.map_or((false, false), |group| (group.bounds_memory, group.bounds_processes));
        if let (Some(group), Some(limit)) = (group.filter(|_| memory), self.bounds.memory)
            && self.stalls.see(group.pressure(), limit, self.began.elapsed())
        {
            return Some(over::starved(limit));
        }
        let most = self.bounds.memory.filter(|_| !memory);
        let many = self.bounds.processes.filter(|_| !processes);
        most.and_then(|limit| over::memory(family::memory_of_all(&members), limit))
            .or_else(|| over::processes(family::tasks_of_all(&members), many?))
    }

    /// An outcome that says that it was here.
    fn here(&self, mut outcome: Outcome) -> Outcome {
        let text = outcome.detail.take().unwrap_or_default();
        outcome.with(format!("on host {} {text}", self.host))
    }

    /// Ends the ranks and what they have started. The agent is left, and tells the launcher.
    fn kill(&mut self) {
        let guards = |pid: &i32| family::name_of(*pid).as_deref() == Some(guardian::NAME);
        let members = self.members();
        let agents = self.agents.clone();
        // Among those that were found by their mark there are ranks.
        let spared = |pid: &i32| guards(pid) || agents.contains_key(pid) && is_agent(*pid);
        members.iter().filter(|pid| !spared(pid)).for_each(|pid| sys::kill(*pid, libc::SIGKILL));
    }
}

/// Whether a process is one of the launcher's, and no rank.
fn is_agent(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(b"agent")
}
