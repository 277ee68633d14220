//! Whether, when and where a job that has failed is started again (`--max-restarts`). Decided without doing anything: how
//! an attempt ended and the time go in.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::args::Request;
use crate::dispatcher::{Cause, Loss};

/// The variable that tells ranks how often the job was started before: 0, 1, ...
pub const COUNT: &str = "HPVM_RESTART_COUNT";
/// What Slurm tells a batch job that it has requeued, in the same sense.
const SLURM_COUNT: &str = "SLURM_RESTART_COUNT";
/// Pauses are doubled up to this: a host that boots is found soon after, and hardly anything is spent on trying.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// An attempt that has worked for so long is no failed start: pauses are as at first.
const GOOD_WHILE: Duration = Duration::from_secs(600);

/// After which failures a job is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartOn {
    /// A rank was killed, a host was lost.
    Abnormal,
    /// The program has failed by itself, too.
    Failure,
}

/// What the user says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// How often at most.
    pub max: u32,
    pub on: RestartOn,
    /// The first pause.
    pub delay: Duration,
    /// How long a lost host is tried again before the job goes on without it.
    pub wait: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        let (on, delay) = (RestartOn::Abnormal, Duration::from_secs(1));
        Self { max: 0, on, delay, wait: Duration::ZERO }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub struct End {
    pub cause: Option<Cause>,
    /// Hosts that were lost meanwhile.
    pub lost: Vec<(String, Loss)>,
    /// How long it took.
    pub lasted: Duration,
}

/// What follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// That was the end.
    Stop,
    /// It would be started again, but cannot be: why.
    GiveUp(String),
    /// It is started again after a pause: what to tell the user.
    Again { pause: Duration, text: String },
}

/// The history of one job's attempts.
#[derive(Debug)]
pub struct Restarts {
    policy: RestartPolicy,
    /// Starts before those of this launcher, of a batch job that was requeued.
    before: u32,
    used: u32,
    /// Pauses since the job last worked for a good while.
    pauses: u32,
    /// Hosts that cannot be reached, since when.
    missing: BTreeMap<String, Duration>,
    left_out: Vec<String>,
}

impl Restarts {
    /// Before the first attempt. `variable` looks into the environment.
    pub fn new(policy: RestartPolicy, variable: impl Fn(&str) -> Option<String>) -> Self {
        let count = |name| variable(name)?.parse().ok();
        let before = count(COUNT).or_else(|| count(SLURM_COUNT)).unwrap_or(0);
        Self { policy, before, used: 0, pauses: 0, missing: BTreeMap::new(), left_out: Vec::new() }
    }

    /// How often the job was started again.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Whether this attempt is not the launcher's first.
    pub fn again(&self) -> bool {
        self.pauses > 0 || self.used > 0
    }

    /// The request as the next attempt carries it out: without the hosts that are left out, and with the count for ranks.
    pub fn apply(&self, request: &mut Request) {
        let count = self.before.saturating_add(self.used);
        let genv = &mut request.options.genv;
        genv.retain(|(name, _)| name != COUNT);
        if self.policy.max > 0 || count > 0 {
            genv.push((COUNT.into(), count.to_string().into()));
        }
        let out = |name: &str| self.left_out.iter().any(|host| host.eq_ignore_ascii_case(name));
        for room in request.programs.iter_mut().filter_map(|program| program.room.as_mut()) {
            *room = room.without(out);
        }
        request.options.output.append |= self.again();
    }

    /// Takes in how an attempt of `request` ended at this time.
    pub fn ended(&mut self, end: &End, request: &Request, now: Duration) -> Next {
        let Some(cause) = end.cause.filter(|cause| self.is_reason(*cause)) else {
            return Next::Stop;
        };
        let left_out = self.left_out.len();
        self.note_lost(end, now);
        // An attempt that could not begin has cost nothing, and its number is bounded by that of the hosts and their time.
        if cause != Cause::NotStarted {
            if self.used == self.policy.max {
                let max = self.policy.max;
                return Next::GiveUp(format!(
                    "the job was started again {max} times, as --max-restarts allows; giving up"
                ));
            }
            self.used += 1;
        }
        if let Some(why) = self.impossible(request) {
            return Next::GiveUp(format!("the job cannot be started again: {why}"));
        }
        if end.lasted >= GOOD_WHILE {
            self.pauses = 0;
        }
        let doubled = self.policy.delay.saturating_mul(1 << self.pauses.min(16));
        let pause = doubled.min(LONGEST_PAUSE.max(self.policy.delay));
        self.pauses += 1;
        let mut text = format!(
            "starting the job again in {} s (restart {} of {})",
            pause.as_secs_f64(),
            self.used,
            self.policy.max
        );
        if self.left_out.len() > left_out {
            text += &format!(", without host {}", self.left_out[left_out..].join(", "));
        }
        Next::Again { pause, text }
    }

    fn is_reason(&self, cause: Cause) -> bool {
        let counts = match cause {
            Cause::Killed | Cause::HostLost | Cause::PeerLost => true,
            // At first it may be a mistyped name.
            Cause::NotStarted => self.again(),
            Cause::Program => self.policy.on == RestartOn::Failure,
            Cause::TimeLimit | Cause::Other => false,
        };
        self.policy.max > 0 && counts
    }

    /// Keeps account of hosts that are gone. One whose connection broke is tried once more at least: only its agent may
    /// have died.
    fn note_lost(&mut self, end: &End, now: Duration) {
        if end.cause != Some(Cause::NotStarted) {
            self.missing.retain(|host, _| end.lost.iter().any(|(lost, _)| lost == host));
        }
        for (host, loss) in &end.lost {
            let since = *self.missing.entry(host.clone()).or_insert(now);
            if *loss != Loss::Broken && now.saturating_sub(since) >= self.policy.wait {
                self.missing.remove(host);
                self.left_out.push(host.clone());
            }
        }
    }

    /// Why the ranks cannot run on the hosts that remain.
    fn impossible(&self, request: &Request) -> Option<String> {
        let out = |name: &str| self.left_out.iter().any(|host| host.eq_ignore_ascii_case(name));
        for program in &request.programs {
            let seats = program.seats.iter().flatten();
            if let Some(seat) = seats.into_iter().find(|seat| out(&seat.host)) {
                return Some(format!("the rankfile wants host '{}'", seat.host));
            }
            let room = program.room.as_ref();
            if room.is_some_and(|room| room.hosts.iter().all(|(name, _)| out(name))) {
                return Some("no host is left".to_string());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Parsed, parse};

    const SECOND: Duration = Duration::from_secs(1);

    fn request(line: &str) -> Request {
        let words: Vec<_> = line.split_whitespace().map(std::ffi::OsString::from).collect();
        let Ok(Parsed::Run(request)) = parse("mpirun", &words) else { panic!("{line}") };
        *request
    }

    fn restarts(request: &Request) -> Restarts {
        Restarts::new(request.options.restart, |_| None)
    }

    fn end(cause: Cause, lost: &[(&str, Loss)]) -> End {
        let lost = lost.iter().map(|(host, loss)| (host.to_string(), *loss)).collect();
        End { cause: Some(cause), lost, lasted: SECOND }
    }

    fn pause(next: &Next) -> f64 {
        let Next::Again { pause, .. } = next else { panic!("{next:?}") };
        pause.as_secs_f64()
    }

    #[test]
    fn what_counts() {
        let request_1 = request("--max-restarts 1 a");
        let with = |cause, line: &str| {
            restarts(&request(line)).ended(&end(cause, &[]), &request_1, SECOND) != Next::Stop
        };
        for cause in [Cause::Killed, Cause::HostLost, Cause::PeerLost] {
            assert!(with(cause, "--max-restarts 1 a") && !with(cause, "a"), "{cause:?}");
        }
        for cause in [Cause::Program, Cause::TimeLimit, Cause::Other, Cause::NotStarted] {
            assert!(!with(cause, "--restart 1 a"), "{cause:?}");
        }
        assert!(with(Cause::Program, "--max-restarts 1 --restart-on failure a"));
        let ended_well = End { cause: None, lost: Vec::new(), lasted: SECOND };
        assert_eq!(restarts(&request_1).ended(&ended_well, &request_1, SECOND), Next::Stop);
    }

    #[test]
    fn pauses_grow_and_the_number_is_limited() {
        let request = request("--max-restarts 9 a");
        let mut restarts = restarts(&request);
        let killed = end(Cause::Killed, &[]);
        for expected in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0] {
            assert_eq!(pause(&restarts.ended(&killed, &request, SECOND)), expected);
        }
        let long = End { lasted: GOOD_WHILE, ..killed.clone() };
        assert_eq!(pause(&restarts.ended(&long, &request, SECOND)), 1.0);
        assert!(matches!(restarts.ended(&killed, &request, SECOND), Next::GiveUp(_)));
        assert_eq!(restarts.used(), 9);
    }

    #[test]
    fn silent_hosts_are_left_out_and_broken_connections_tried() {
        let plain = request("--max-restarts 3 -H a,b,c -n 4 p");
        let mut history = restarts(&plain);
        let next = history.ended(&end(Cause::HostLost, &[("b", Loss::Silent)]), &plain, SECOND);
        let Next::Again { text, .. } = &next else { panic!("{next:?}") };
        assert_eq!(text, "starting the job again in 1 s (restart 1 of 3), without host b");
        history.ended(&end(Cause::HostLost, &[("C", Loss::Broken)]), &plain, SECOND);
        let mut request = plain;
        history.apply(&mut request);
        let hosts = |request: &Request| -> Vec<String> {
            let room = request.programs[0].room.as_ref().unwrap();
            room.hosts.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(hosts(&request), ["a", "c"]);
        assert_eq!(request.programs[0].ranks, 4);
        assert!(request.options.genv.contains(&(COUNT.into(), "2".into())));
        // It cannot be reached: that costs no restart.
        let next =
            history.ended(&end(Cause::NotStarted, &[("C", Loss::NotStarted)]), &request, SECOND);
        assert!(pause(&next) > 0.0 && history.used() == 2);
        history.apply(&mut request);
        assert_eq!(hosts(&request), ["a"]);
    }

    #[test]
    fn a_host_is_waited_for() {
        let request = request("--max-restarts 1 --restart-wait 30 -H a,b p");
        let mut history = restarts(&request);
        let at = Duration::from_secs;
        let lost = end(Cause::HostLost, &[("b", Loss::Silent)]);
        assert!(pause(&history.ended(&lost, &request, at(100))) > 0.0);
        let unreached = end(Cause::NotStarted, &[("b", Loss::NotStarted)]);
        history.ended(&unreached, &request, at(129));
        assert!(history.left_out.is_empty());
        history.ended(&unreached, &request, at(131));
        assert_eq!((history.left_out.len(), history.used()), (1, 1));
    }

    #[test]
    fn where_nothing_is_left_it_gives_up() {
        let request = request("--max-restarts 3 -H a p");
        let lost = end(Cause::HostLost, &[("a", Loss::Silent)]);
        assert!(matches!(restarts(&request).ended(&lost, &request, SECOND), Next::GiveUp(_)));
    }

    #[test]
    fn a_requeued_job_counts_on() {
        let mut request = request("--max-restarts 3 p");
        let slurm = |name: &str| (name == SLURM_COUNT).then(|| "2".to_string());
        let mut history = Restarts::new(request.options.restart, slurm);
        history.ended(&end(Cause::Killed, &[]), &request, SECOND);
        history.apply(&mut request);
        assert!(request.options.genv.contains(&(COUNT.into(), "3".into())));
    }
}
