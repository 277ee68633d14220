//! Looking at ranks in a Slurm: a step in the job, which lasts as long as somebody looks. Slurm starts it on
//! the hosts of the job, as the job's user ([`hpvm_queue::slurm`]); nothing of ours runs there otherwise, and no file
//! and no port is needed. Each second the server writes what it wants to know, and each host answers with a look.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::frames::{self, Reader};
use super::{JobLook, Subject, check, here};
use crate::api::counters::Counting;
use crate::app::App;
use hpvm_launch::sys;
use hpvm_monitor::jobs::find::{Of, Scope};
use hpvm_queue::job::{Job, JobId};
use hpvm_queue::node::Parts;

/// The hidden verb of a step.
pub const VERB: &str = "lookd";
/// Steps at one time: each is a process of Slurm here and on each host of its job.
const MAX_STEPS: usize = 16;
/// How long a step that could not begin is not tried again.
const AGAIN: Duration = Duration::from_secs(10);
/// A step whose server says nothing for so long ends by itself.
const SILENCE: Duration = Duration::from_secs(30);
/// Bytes of a line of a step, and of what srun says about its end.
const LINE: u64 = 4096;
const ERROR: u64 = 4096;

/// The steps that run.
#[derive(Debug, Default)]
pub struct Steps(Mutex<BTreeMap<JobId, Step>>);

#[derive(Debug)]
enum Step {
    Runs(Option<ChildStdin>),
    /// It has ended, for this reason.
    Failed(Instant, String),
}

impl Step {
    /// One that has begun. Its input is never waited for: an srun that hangs would hold up the server.
    fn runs(child: &mut Child) -> Step {
        let stdin = child.stdin.take();
        Step::Runs(stdin.filter(|pipe| sys::set_nonblocking(pipe.as_raw_fd()).is_ok()))
    }
}

impl Steps {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, Step>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that a step looks at the job.
    pub fn begin(&self, app: &App, job: &Job) -> Result<(), String> {
        let Some(slurm) = app.slurm.clone() else { return Ok(()) };
        let id = job.id();
        let mut steps = self.lock();
        match steps.get(&id) {
            Some(Step::Runs(_)) => return Ok(()),
            Some(Step::Failed(at, text)) if at.elapsed() < AGAIN => return Err(text.clone()),
            _ => {}
        }
        if steps.values().filter(|step| matches!(step, Step::Runs(_))).count() >= MAX_STEPS {
            return Err(format!("{MAX_STEPS} jobs are looked at now; try again in 10 s"));
        }
        let begun = slurm.step(job, &app.place.program, &[VERB, &id.to_string()]);
        let mut child = match begun {
            Ok(child) => child,
            Err(text) => {
                steps.insert(id, Step::Failed(Instant::now(), text.clone()));
                return Err(text);
            }
        };
        let step = Step::runs(&mut child);
        steps.insert(id, step);
        drop(steps);
        self.ask(id, app.wanted.parts(id));
        let (app, hosts) = (app.clone(), job.summary.hosts.clone());
        let body = move || follow(&app, id, &hosts, child);
        let thread = std::thread::Builder::new().name("step".into()).spawn(body);
        thread.map(|_| ()).map_err(|error| {
            // Its input ends with the entry, and so it ends.
            let text = format!("cannot start a thread: {error}");
            self.ended(id, Some(text.clone()));
            text
        })
    }

    /// Why nothing comes of a job.
    pub fn failed(&self, id: JobId) -> Option<String> {
        match self.lock().get(&id) {
            Some(Step::Failed(_, text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// To be called every second: asks all steps again, and ends those that nobody needs.
    pub fn tick(&self, app: &App) {
        let ids: Vec<JobId> = self.lock().keys().copied().collect();
        ids.into_iter().for_each(|id| self.ask(id, app.wanted.parts(id)));
        let old = |step: &Step| matches!(step, Step::Failed(at, _) if at.elapsed() >= AGAIN);
        self.lock().retain(|_, step| !old(step));
    }

    fn ask(&self, id: JobId, parts: Parts) {
        let mut steps = self.lock();
        let Some(Step::Runs(stdin)) = steps.get_mut(&id) else { return };
        if !parts.any() {
            // The end of its input ends it.
            *stdin = None;
            return;
        }
        let Ok(mut line) = serde_json::to_vec(&parts) else { return };
        line.push(b'\n');
        // srun reads its input at once; one that hangs until hundreds of lines fill the pipe is asked no more.
        if stdin.as_mut().is_some_and(|pipe| pipe.write_all(&line).is_err()) {
            *stdin = None;
        }
    }

    fn ended(&self, id: JobId, why: Option<String>) {
        let mut steps = self.lock();
        match why {
            Some(text) => drop(steps.insert(id, Step::Failed(Instant::now(), text))),
            None => drop(steps.remove(&id)),
        }
    }
}

/// Takes what a step tells until it ends.
fn follow(app: &App, id: JobId, hosts: &[String], mut child: Child) {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let heard = out.map(|out| take_lines(app, id, hosts, out)).unwrap_or_default();
    // Its output has ended, or makes no sense.
    let asked_to = matches!(app.steps.lock().get(&id), Some(Step::Runs(None)));
    let _ = child.kill();
    let mut said = String::new();
    if let Some(err) = err {
        // What was read before an error counts.
        let _ = err.take(ERROR).read_to_string(&mut said);
    }
    let _ = child.wait();
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let failed = !heard && !asked_to;
    let why = failed.then(|| format!("Slurm (srun) says: {}", last.unwrap_or("nothing")));
    app.steps.ended(id, why);
    // Who waits looks again.
    app.wanted.heard.send_modify(|count| *count = count.wrapping_add(1));
}

/// Whether anything was told that makes sense.
fn take_lines(app: &App, id: JobId, hosts: &[String], out: ChildStdout) -> bool {
    let (mut reader, mut out, mut heard) = (Reader::default(), BufReader::new(out), false);
    loop {
        let mut line = Vec::new();
        match (&mut out).take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return heard,
            Ok(_) => {}
        }
        let Some((host, text)) = reader.line(&String::from_utf8_lossy(&line), hosts) else {
            continue;
        };
        let Ok(mut look) = serde_json::from_str::<JobLook>(&text) else { continue };
        // The job's user may have written anything.
        if check::take(&mut look, &host).is_ok() {
            heard = true;
            app.wanted.hear(id, &host, look, Instant::now());
        }
    }
}

/// `hpvm lookd JOB`, in a step: answers each line on standard input with a look, until that ends.
pub fn main(args: &[OsString]) -> i32 {
    let id = args.first().and_then(|word| word.to_str()?.parse::<JobId>().ok());
    let Some(id) = id else {
        let _ = writeln!(std::io::stderr(), "hpvm lookd: expected the number of a job");
        return 2;
    };
    let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    // SAFETY: the call has no arguments and cannot fail.
    let owner = Some(unsafe { libc::getuid() });
    let subject = Subject {
        id,
        scope: Scope {
            of: Of::Slurm(id),
            owner,
            node: variable("SLURM_NODEID").and_then(|number| number.parse().ok()),
        },
        host: variable("SLURMD_NODENAME").unwrap_or_else(hpvm_launch::hosts::local_name),
    };
    let (counting, mut input) = (Counting::default(), BufReader::new(std::io::stdin()));
    while !input.buffer().is_empty() || readable(0) {
        let mut line = Vec::new();
        match (&mut input).take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let Ok(parts) = serde_json::from_slice::<Parts>(&line) else { continue };
        counting.forget(Instant::now());
        let Ok(text) = serde_json::to_string(&here(&subject, parts, &counting)) else { continue };
        let text = frames::lines(&subject.host, &text);
        let mut out = std::io::stdout().lock();
        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    0
}

/// Waits for input; false when none has come for too long.
fn readable(fd: i32) -> bool {
    matches!(hpvm_os::wait(&fd, libc::POLLIN, Some(SILENCE)), Ok(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_step_that_reads_nothing_holds_nobody_up() {
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::piped()).spawn().unwrap();
        let steps = Steps::default();
        steps.lock().insert(1, Step::runs(&mut child));
        let parts = Parts { ranks: true, ..Parts::default() };
        // A pipe holds 64 KiB.
        (0..5000).for_each(|_| steps.ask(1, parts));
        assert!(matches!(steps.lock().get(&1), Some(Step::Runs(None))));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
