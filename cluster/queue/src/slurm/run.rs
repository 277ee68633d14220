//! Runs one of Slurm's commands, within a time.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a command may take: a controller that is busy for longer is as good as gone.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// How often an end is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(4);

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    pub program: String,
    /// What it said, on standard error.
    pub said: String,
    /// There is no such program.
    pub missing: bool,
}

impl Failed {
    /// As a sentence: without the prefix that each of Slurm's commands puts before its errors.
    pub fn text(&self) -> String {
        let prefix = format!("{}: ", self.program);
        let lines = self.said.lines().map(str::trim).filter(|line| !line.is_empty());
        let plain = lines.map(|line| line.strip_prefix(&prefix).unwrap_or(line));
        let plain = plain.map(|line| line.strip_prefix("error: ").unwrap_or(line));
        let text = plain.collect::<Vec<_>>().join("; ");
        format!(
            "Slurm ({}) says: {}",
            self.program,
            if text.is_empty() { "nothing" } else { &text }
        )
    }
}

/// As whom, with which variables, in which folder a command runs.
#[derive(Clone, Debug)]
pub struct Identity {
    /// User, group and further groups; nobody else than ourselves when missing.
    pub user: Option<(u32, u32, Vec<u32>)>,
    pub env: BTreeMap<String, String>,
    pub folder: PathBuf,
}

/// Runs it and gives its standard output.
pub fn run(program: &str, args: &[&str], input: Option<&[u8]>) -> Result<String, Failed> {
    finish(program, command(program, args), input)
}

/// The same as somebody.
pub fn run_as(
    program: &str,
    args: &[&str],
    input: &[u8],
    who: &Identity,
) -> Result<String, Failed> {
    finish(program, command_as(program, args, who), Some(input))
}

/// The command of somebody, not started yet.
pub fn command_as(program: &str, args: &[&str], who: &Identity) -> Command {
    let mut command = command(program, args);
    let kept = ["SLURM_CONF", "PATH"].map(|name| (name, std::env::var_os(name)));
    command.env_clear().envs(&who.env).env("SLURM_TIME_FORMAT", "%s");
    for (name, value) in kept {
        if let Some(value) = value.filter(|_| name == "SLURM_CONF" || !who.env.contains_key(name)) {
            command.env(name, value);
        }
    }
    command.current_dir(&who.folder);
    if let Some((uid, gid, groups)) = who.user.clone() {
        let become_user = move || {
            // SAFETY: three calls with numbers, and a pointer to as many groups as are said. Groups
            // first: afterwards we may not change them any more.
            let done = unsafe {
                libc::setgroups(groups.len(), groups.as_ptr()) == 0
                    && libc::setgid(gid) == 0
                    && libc::setuid(uid) == 0
            };
            if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        // SAFETY: between fork and exec it makes system calls only and allocates nothing.
        unsafe { command.pre_exec(become_user) };
    }
    command
}

fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    // Times as seconds, whatever the zone.
    command.args(args).env("SLURM_TIME_FORMAT", "%s").env("LC_ALL", "C");
    // Lists of an array's tasks in full.
    command.env("SLURM_BITSTR_LEN", "0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finish(program: &str, mut command: Command, input: Option<&[u8]>) -> Result<String, Failed> {
    let failed = |said: String| Failed { program: program.into(), said, missing: false };
    let mut child = command.spawn().map_err(|error| Failed {
        missing: error.kind() == std::io::ErrorKind::NotFound,
        ..failed(error.to_string())
    })?;
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let input = input.unwrap_or_default().to_vec();
    let done = std::thread::scope(|scope| {
        // A command that does not read its input fails by itself.
        scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
        let out = scope.spawn(move || all(stdout));
        let err = scope.spawn(move || all(stderr));
        let code = wait(&mut child);
        (code, out.join().unwrap_or_default(), err.join().unwrap_or_default())
    });
    match done {
        (Some(true), out, _) => Ok(out),
        (Some(false), _, err) => Err(failed(err)),
        (None, ..) => Err(failed(format!("no answer within {} s", COMMAND_TIMEOUT.as_secs()))),
    }
}

fn all(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What was read before an error counts.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether it has succeeded; nothing when it was too slow and so was ended.
fn wait(child: &mut Child) -> Option<bool> {
    let end = Instant::now() + COMMAND_TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if Instant::now() < end => std::thread::sleep(POLL_INTERVAL),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_errors() {
        assert_eq!(run("cat", &[], Some(b"text")), Ok("text".into()));
        let failed = run("sh", &["-c", "echo sh: error: no >&2; exit 1"], None).unwrap_err();
        assert_eq!(failed.text(), "Slurm (sh) says: no");
        assert!(run("/nonexistent/squeue", &[], None).is_err());
    }
}
