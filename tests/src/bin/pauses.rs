//! `pauses`: runs a command while it stops processes below the command at random, each for up to some milliseconds.
//! A machine under load does the same to a test, but seldom; a test that counts on who is first fails here.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use fastrand::Rng;

/// Runs a command while processes below it are stopped at random, and goes on as the command ends.
///
/// Processes that others have stopped are left alone. A test that stops processes itself may find one going on too early.
#[derive(Parser)]
#[command(name = "pauses")]
struct Options {
    /// Seed of the choices (default: another one each time)
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Longest pause, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 300)]
    longest: u64,
    /// Longest time between two pauses, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 20)]
    between: u64,
    /// Processes that are stopped at the same time, at most
    #[arg(long, value_name = "N", default_value_t = 3)]
    at_once: usize,
    /// Stop processes of this name alone (as in /proc/PID/comm; may be repeated)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Leave processes of this name alone (may be repeated). sshd's sandbox kills it for the system call by which the kernel
    /// resumes one that a stop has interrupted
    #[arg(long, value_name = "NAME", default_value = "sshd")]
    spare: Vec<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let seed = options.seed.unwrap_or_else(|| Rng::new().u64(..));
    eprintln!("pauses: seed {seed}");
    adopt_orphans();
    let mut command = Command::new(&options.command[0]);
    let mut child = match command.args(&options.command[1..]).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("pauses: cannot run '{}': {error}", options.command[0]);
            return ExitCode::from(127);
        }
    };
    let over = AtomicBool::new(false);
    let status = std::thread::scope(|scope| {
        for thread in 0..options.at_once {
            let mut rng = Rng::with_seed(seed.wrapping_add(thread as u64));
            let (options, over) = (&options, &over);
            scope.spawn(move || {
                // Relaxed: nothing is handed over with it.
                while !over.load(Ordering::Relaxed) {
                    std::thread::sleep(up_to(&mut rng, options.between));
                    pause_one(&mut rng, options);
                }
            });
        }
        let status = child.wait();
        over.store(true, Ordering::Relaxed);
        status
    });
    match status.ok().and_then(|status| status.code()) {
        Some(code) => ExitCode::from(code as u8),
        None => ExitCode::FAILURE,
    }
}

/// What outlives its parent becomes a child of this process, and is found below it.
fn adopt_orphans() {
    // SAFETY: the call takes numbers alone.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Short times are as frequent as long ones, by their order of magnitude.
fn up_to(rng: &mut Rng, milliseconds: u64) -> Duration {
    let micros = (milliseconds.max(1) * 1000) as f64;
    Duration::from_micros(micros.powf(rng.f64()) as u64)
}

fn pause_one(rng: &mut Rng, options: &Options) {
    let wanted = |name: &String| {
        (options.only.is_empty() || options.only.contains(name)) && !options.spare.contains(name)
    };
    let running = below(std::process::id() as i32, wanted);
    let Some(pid) = rng.choice(running) else { return };
    let time = up_to(rng, options.longest);
    // SAFETY: the call takes numbers alone; the process is ours, or has just ended.
    if unsafe { libc::kill(pid, libc::SIGSTOP) } == 0 {
        std::thread::sleep(time);
        // SAFETY: as above.
        unsafe { libc::kill(pid, libc::SIGCONT) };
    }
}

/// The processes below `ancestor` with wanted names that nobody has stopped.
fn below(ancestor: i32, wanted: impl Fn(&String) -> bool) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(process) = pid.and_then(Process::look) {
            children.entry(process.parent).or_default().push(process);
        }
    }
    let (mut found, mut seen) = (Vec::new(), BTreeSet::from([ancestor]));
    let mut next = vec![ancestor];
    while let Some(parent) = next.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if seen.insert(child.pid) {
                next.push(child.pid);
                if child.runs && wanted(&child.name) {
                    found.push(child.pid);
                }
            }
        }
    }
    found
}

struct Process {
    pid: i32,
    parent: i32,
    name: String,
    /// It is neither stopped nor dead.
    runs: bool,
}

impl Process {
    fn look(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses, and may hold some.
        let (before, after) = stat.rsplit_once(") ")?;
        let name = before.split_once('(')?.1.to_string();
        let mut fields = after.split(' ');
        let runs = !matches!(fields.next()?, "T" | "t" | "Z" | "X");
        Some(Self { pid, parent: fields.next()?.parse().ok()?, name, runs })
    }
}
