//! How a job ends that no rank has ended: signals to the launcher, output that nobody reads, and the last steps, when
//! all ranks have ended and what they left is looked for.

use super::leaving::{Found, Leaving};
use super::{Action, Cause, Dispatcher, GRACE_FAILURE, GRACE_USER, Phase};
use crate::remote::frame::Frame;
use crate::text;
use std::time::Duration;

impl Dispatcher {
    pub(super) fn signal(&mut self, number: i32, now: Duration) {
        match number {
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP => self.end_by_user(number, now),
            libc::SIGTSTP => {
                self.signal_all(libc::SIGSTOP);
                self.actions.push_back(Action::StopSelf);
            }
            _ => {
                self.passed_on.insert(number);
                self.signal_all(number);
            }
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
                self.actions.push_back(Action::SignalParted(number));
                self.end(number, GRACE_USER, now);
            }
            Phase::Ending(_) => {
                self.actions.push_back(Action::SignalParted(number));
                self.kill(now);
            }
            // The rest of the output is not waited for any more.
            Phase::Leaving(_) => {
                self.code.get_or_insert(128 + number);
                self.abandoned = true;
                self.actions.push_back(Action::SignalParted(number));
                self.actions.push_back(Action::SignalLeftovers(libc::SIGKILL));
                self.actions.push_back(Action::Survey);
                self.phase = Phase::Leaving(Leaving::new(true, now));
                self.cut_all(now);
            }
            Phase::Done => {}
        }
    }

    /// Whoever spawned the job has died, of which people are told elsewhere.
    pub(super) fn lifeline_cut(&mut self, now: Duration) {
        if matches!(self.phase, Phase::Running) {
            self.code = Some(1);
            self.reason = Some("the process that spawned the job is gone".to_string());
            self.end(libc::SIGTERM, GRACE_FAILURE, now);
        }
    }

    /// Nobody reads our output any more (`| head`): the job ends, without noise for a closed pipe.
    pub(super) fn output_broken(&mut self, errno: i32, now: Duration) {
        if !matches!(self.phase, Phase::Running) {
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
        self.fail(Cause::Other, 1, text, now);
    }

    pub(super) fn check_all_ended(&mut self, now: Duration) {
        if self.unfinished > 0 {
            return;
        }
        let killed = match self.phase {
            Phase::Running => false,
            Phase::Ending(_) => {
                self.actions.push_back(Action::SignalLeftovers(libc::SIGKILL));
                self.cut_soon(now);
                true
            }
            Phase::Leaving(_) | Phase::Done => return,
        };
        self.phase = Phase::Leaving(Leaving::new(killed, now));
        self.down(None, Frame::Leave { kill: killed });
        self.actions.push_back(Action::Survey);
    }

    pub(super) fn surveyed(&mut self, mut found: Found, now: Duration) {
        let Phase::Leaving(leaving) = &mut self.phase else { return };
        if self.abandoned {
            (found.blocked, found.outputs) = (false, false);
        }
        let signal = leaving.surveyed(found, now);
        if leaving.kills_jobs() {
            self.actions.push_back(Action::KillJobs);
        }
        if let Some(signal) = signal {
            self.actions.push_back(Action::SignalLeftovers(signal));
        }
        if found.parted {
            self.tell_end();
        }
        self.check_left();
    }

    /// The launcher stays for jobs that go on, and says that its own has failed.
    pub(super) fn tell_end(&mut self) {
        if let (Some(code), false) = (self.code, std::mem::replace(&mut self.end_told, true)) {
            self.actions.push_back(Action::Ended(code));
        }
    }

    /// The job is over when nothing is left, here and on the other hosts.
    pub(super) fn check_left(&mut self) {
        if let Phase::Leaving(leaving) = &self.phase
            && leaving.done()
            && !self.links.any_open()
        {
            self.done();
        }
    }

    fn done(&mut self) {
        self.phase = Phase::Done;
        self.actions.push_back(Action::Done(self.code.unwrap_or(0)));
    }
}
