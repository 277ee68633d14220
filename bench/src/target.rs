//! One MPI to measure: its launcher, the benchmark program, the environment; and running it.

use crate::error::BenchError;
use crate::interrupt;
use crate::record::{self, Header, Line, Record};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Lines of stderr that an error message repeats.
const SAID_LINES: usize = 12;
/// How often a wait looks at the clock and at Ctrl-C.
const TICK: Duration = Duration::from_millis(50);
/// How long a pipe may stay open after the launcher's end.
const ORPHAN_WAIT: Duration = Duration::from_secs(1);
/// How long a launcher may clean up after a signal before the next, harder one.
const GRACE: Duration = Duration::from_secs(3);

/// An MPI with a benchmark program compiled for it.
#[derive(Clone, Debug)]
pub struct Target {
    /// As it stands in tables: `hpvm`, `mpich`...
    pub name: String,
    pub mpirun: PathBuf,
    /// Arguments that always stand before `-n`.
    pub launch_args: Vec<String>,
    pub program: PathBuf,
    /// Set for the launcher, which hands them to the ranks.
    pub env: Vec<(String, OsString)>,
    /// Ranks start the program through it.
    pub wrapper: Option<PathBuf>,
    /// It is no MPI, but what the network does without one: `program` is `tcpfloor`.
    pub floor: Option<Floor>,
}

/// Where the other end of `tcpfloor` runs.
#[derive(Clone, Debug)]
pub struct Floor {
    /// Starts commands on hosts, as ssh does.
    pub agent: Vec<String>,
    pub host: String,
}

/// What one run printed.
#[derive(Clone, Debug, Default)]
pub struct Output {
    pub header: Option<Header>,
    pub points: Vec<Record>,
    /// From the start of the launcher to its end.
    pub seconds: f64,
}

impl Output {
    /// The same, of a program that measures something.
    ///
    /// # Errors
    /// It has printed no result.
    pub fn with_results(self, program: &Path) -> Result<Output, BenchError> {
        match self.points.is_empty() {
            true => Err(BenchError::NoResult { program: program.to_owned() }),
            false => Ok(self),
        }
    }
}

impl Target {
    /// `mpirun` and `program`; helpers are also sought beside `mpirun`, libraries in `lib`.
    pub fn new(name: &str, mpirun: PathBuf, program: PathBuf, lib: Option<&Path>) -> Self {
        let mut env = Vec::new();
        if let Some(folder) = mpirun.parent().filter(|p| !p.as_os_str().is_empty()) {
            env.push(("PATH".to_owned(), prepend(folder, "PATH")));
        }
        if let Some(folder) = lib {
            env.push(("LD_LIBRARY_PATH".to_owned(), prepend(folder, "LD_LIBRARY_PATH")));
        }
        let (name, launch_args) = (name.to_owned(), Vec::new());
        Self { name, mpirun, launch_args, program, env, wrapper: None, floor: None }
    }

    /// An error that says what is missing, when something is.
    pub fn check(&self) -> Result<(), BenchError> {
        self.check_launcher()?;
        if self.program.is_file() {
            return Ok(());
        }
        let advice = "install hpvm, or name a compiled one with --program";
        let (what, path) = ("the benchmark program", self.program.clone());
        Err(BenchError::Missing { what, path, advice })
    }

    /// The same of the launcher alone.
    pub fn check_launcher(&self) -> Result<(), BenchError> {
        if self.mpirun.is_file() {
            return Ok(());
        }
        let advice = "install hpvm, or name one with --mpirun";
        Err(BenchError::Missing { what: "the launcher", path: self.mpirun.clone(), advice })
    }

    /// Runs the benchmark with `args` on `ranks` ranks and reads its results. Blocks until the
    /// job has ended; ends it after `limit`, or when Ctrl-C is pressed.
    pub fn run(&self, ranks: u32, args: &[String], limit: Duration) -> Result<Output, BenchError> {
        let mut command = Command::new(&self.mpirun);
        command.args(&self.launch_args).arg("-n").arg(ranks.to_string());
        command.args(&self.wrapper).arg(&self.program).args(args);
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        let words = [self.name.clone(), format!("-n {ranks}"), args.join(" ")];
        run_command(command, &words.join(" "), limit)
    }
}

/// The folder before what a path variable of this process already holds.
pub(crate) fn prepend(folder: &Path, variable: &str) -> OsString {
    let mut value = folder.as_os_str().to_owned();
    if let Some(old) = std::env::var_os(variable).filter(|v| !v.is_empty()) {
        value.push(":");
        value.push(old);
    }
    value
}

/// What a program printed that prints no results.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    pub text: String,
    pub seconds: f64,
}

/// Runs `command` to its end and reads the results it prints. `shown` names it in errors.
pub fn run_command(command: Command, shown: &str, limit: Duration) -> Result<Output, BenchError> {
    let mut output = Output::default();
    output.seconds =
        run_lines(command, shown, limit, &mut |line| take_line(&mut output, line, shown))?;
    Ok(output)
}

/// Runs `command` to its end and keeps what it prints. `shown` names it in errors.
pub fn capture(command: Command, shown: &str, limit: Duration) -> Result<Captured, BenchError> {
    let mut text = String::new();
    let seconds = run_lines(command, shown, limit, &mut |line| {
        text.push_str(line);
        text.push('\n');
        Ok(())
    })?;
    Ok(Captured { text, seconds })
}

/// Is given every line that a program prints; an error ends the program.
type Take<'a> = &'a mut dyn FnMut(&str) -> Result<(), BenchError>;

/// Returns how long the program ran.
fn run_lines(
    mut command: Command,
    shown: &str,
    limit: Duration,
    take: Take<'_>,
) -> Result<f64, BenchError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Its own process group: a Ctrl-C of the terminal reaches only us, and one call ends all.
    command.process_group(0);
    let start = Instant::now();
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child =
        command.spawn().map_err(|e| BenchError::io(format!("cannot start {program}"), e))?;
    let lines = read_lines(child.stdout.take());
    let said = Said::listen(child.stderr.take());
    let (seconds, status) = collect(&mut child, &lines, shown, (start, limit), take)?;
    if status.success() {
        return Ok(seconds);
    }
    Err(BenchError::Failed {
        command: shown.to_owned(),
        status: status.to_string(),
        said: said.last_words(),
    })
}

/// Reads results until the pipe closes, then waits for the launcher itself.
fn collect(
    child: &mut Child,
    lines: &Receiver<String>,
    shown: &str,
    (start, limit): (Instant, Duration),
    take: Take<'_>,
) -> Result<(f64, std::process::ExitStatus), BenchError> {
    let mut ended: Option<(Instant, std::process::ExitStatus)> = None;
    loop {
        let silent = match lines.recv_timeout(TICK) {
            Ok(line) => {
                take(&line).inspect_err(|_| end(child))?;
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(Duration::from_millis(1));
                true
            }
        };
        if ended.is_none() {
            let wait = |e| BenchError::io(format!("cannot wait for '{shown}'"), e);
            ended = child.try_wait().map_err(wait)?.map(|status| (Instant::now(), status));
        }
        if let Some((when, status)) = ended
            && (silent || when.elapsed() > ORPHAN_WAIT)
        {
            return Ok(((when - start).as_secs_f64(), status));
        }
        if interrupt::requested() {
            end(child);
            return Err(BenchError::Interrupted);
        }
        if start.elapsed() > limit {
            end(child);
            let seconds = limit.as_secs();
            return Err(BenchError::TimedOut { command: shown.to_owned(), seconds });
        }
    }
}

/// Empty lines are passed over: some launchers print them.
fn take_line(output: &mut Output, line: &str, shown: &str) -> Result<(), BenchError> {
    if line.trim().is_empty() {
        return Ok(());
    }
    match record::parse(line) {
        Ok(Line::Header(header)) => output.header = Some(header),
        Ok(Line::Point(point)) => output.points.push(point),
        Err(reason) => {
            let (command, line) = (shown.to_owned(), line.to_owned());
            return Err(BenchError::BadLine { command, line, reason });
        }
    }
    Ok(())
}

/// Ends a job: asks the launcher to clean up, then its group harder, until it is gone.
fn end(child: &mut Child) {
    let Ok(group) = libc::pid_t::try_from(child.id()) else { return };
    for (target, signal) in
        [(group, libc::SIGTERM), (-group, libc::SIGTERM), (-group, libc::SIGKILL)]
    {
        // SAFETY: kill has no memory effects; the child has not been waited for successfully
        // yet, so its process id, and the group named after it, are still its own.
        unsafe { libc::kill(target, signal) };
        let asked = Instant::now();
        while asked.elapsed() < GRACE {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(TICK);
        }
    }
}

/// Reads a pipe's lines as they come.
fn read_lines(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(pipe) = pipe {
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// The last lines that a pipe brought, collected by a thread.
struct Said {
    last: Arc<Mutex<VecDeque<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Said {
    fn listen(pipe: Option<impl Read + Send + 'static>) -> Self {
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let shared = Arc::clone(&last);
        let reader = pipe.map(|pipe| {
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let mut last = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    if last.len() == SAID_LINES {
                        last.pop_front();
                    }
                    last.push_back(line);
                }
            })
        });
        Self { last, reader }
    }

    /// A rank that outlived its launcher may hold the pipe open for ever, so the pipe's end is
    /// waited for only a moment.
    fn last_words(&self) -> String {
        let start = Instant::now();
        while self.reader.as_ref().is_some_and(|r| !r.is_finished())
            && start.elapsed() < ORPHAN_WAIT
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: &str =
        r#"{"mode":"flag","size":8,"unit":"us","median":2,"min":1,"max":3,"iters":5,"batches":7}"#;

    fn shell(script: &str, limit: Duration) -> Result<Output, BenchError> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        run_command(command, "script", limit)
    }

    #[test]
    fn reads_points_and_passes_over_empty_lines() {
        let output = shell(&format!("echo; echo '{POINT}'"), Duration::from_secs(60)).unwrap();
        assert_eq!(output.points.len(), 1);
        assert!(output.seconds > 0.0);
    }

    #[test]
    fn repeats_what_a_failing_program_said() {
        let error = shell("echo no such thing >&2; exit 3", Duration::from_secs(60)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("no such thing") && text.contains('3'), "{text}");
    }

    #[test]
    fn refuses_a_line_that_is_no_result() {
        let error = shell("echo rubbish; exec sleep 1000", Duration::from_secs(60)).unwrap_err();
        assert!(matches!(error, BenchError::BadLine { .. }), "{error}");
    }

    #[test]
    fn ends_a_program_that_takes_too_long() {
        let start = Instant::now();
        let error = shell("exec sleep 1000", Duration::from_millis(300)).unwrap_err();
        assert!(matches!(error, BenchError::TimedOut { .. }), "{error}");
        assert!(start.elapsed() < Duration::from_secs(120));
    }

    #[test]
    fn an_orphan_that_holds_the_pipes_does_not_hold_us() {
        let start = Instant::now();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("orphan");
        let script = format!("echo '{POINT}'; sleep 300 & echo $! > {}; exit 0", file.display());
        let output = shell(&script, Duration::from_secs(200)).unwrap();
        let orphan = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        // SAFETY: takes two integers; the orphan has not ended, so that the number is its own.
        unsafe { libc::kill(orphan, libc::SIGKILL) };
        assert_eq!(output.points.len(), 1);
        assert!(start.elapsed() < Duration::from_secs(120));
    }

    #[test]
    fn names_a_launcher_that_does_not_exist() {
        let target = Target::new("x", "/nowhere/mpirun".into(), "/bin/sh".into(), None);
        let error = target.check().unwrap_err();
        assert!(error.to_string().contains("/nowhere/mpirun"));
        assert_eq!(error.exit_code(), 2);
    }
}
