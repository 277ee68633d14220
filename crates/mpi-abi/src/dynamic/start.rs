//! Starting processes for `MPI_Comm_spawn`: they are a job of their own, under a launcher of its own, which this
//! process starts and to which it holds a *lifeline*.
//!
//! The lifeline is a socket, the launcher's standard input. When it ends without a word the launcher ends its job:
//! the process that spawned it has died. What this process says on it is that the two jobs are connected no more, from
//! when on each may end without the other. The launcher says why its job failed, and how it ended.

use super::connected::{Connected, Failure};
use super::talk::Talk;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The variable in which spawned processes find their parents' port.
pub const PARENT_PORT: &str = "HPVM_PARENT_PORT";
/// Tells the launcher that its standard input is a lifeline.
const LIFELINE: &str = "HPVM_LIFELINE";

/// One program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub command: OsString,
    pub arguments: Vec<OsString>,
    pub processes: u32,
    /// The launcher's list of hosts; none: this one.
    pub hosts: Option<String>,
    pub hostfile: Option<String>,
    pub folder: Option<OsString>,
    /// Where the program is searched before `PATH`.
    pub path: Option<OsString>,
}

/// The command line of the launcher for these programs, which run on host `here` if nothing else is said. `universe` is that
/// of the process that spawns them, and theirs. `away`: the launcher runs elsewhere.
pub fn arguments(
    programs: &[Program],
    (here, away): (&str, bool),
    universe: Option<u32>,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["--stdin", "none"].map(OsString::from).into();
    words.extend(universe.into_iter().flat_map(|size| ["-usize".into(), size.to_string().into()]));
    let placed = away || programs.iter().any(|p| p.hosts.is_some() || p.hostfile.is_some());
    for (number, program) in programs.iter().enumerate() {
        if number > 0 {
            words.push(":".into());
        }
        words.extend(["-n".into(), program.processes.to_string().into()]);
        let mut flag = |name: &str, value: Option<OsString>| {
            words.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        };
        // A list of hosts holds for the programs behind it as well.
        let own = program.hosts.is_none() && program.hostfile.is_none() && placed;
        let hosts = if own { Some(here.to_owned()) } else { program.hosts.clone() };
        flag("--host", hosts.map(OsString::from));
        flag("--hostfile", program.hostfile.clone().map(OsString::from));
        let present = || std::env::current_dir().ok().filter(|_| away).map(OsString::from);
        flag("--wdir", program.folder.clone().or_else(present));
        flag("--path", program.path.clone());
        words.push(program.command.clone());
        // Of the launcher's, a colon alone would begin another program.
        words.extend(program.arguments.iter().cloned());
    }
    words
}

/// Why programs can't be told to the launcher as they are.
pub fn check(programs: &[Program]) -> Result<()> {
    for program in programs {
        let bad = |word: &OsString| word.as_bytes() == b":";
        if program.command.is_empty() || program.command.as_bytes().starts_with(b"-") {
            let text = format!("{:?} is no name of a program", program.command);
            return Err(Error::new(Class::Spawn, text));
        }
        if program.arguments.iter().any(bad) || bad(&program.command) {
            let text = "an argument ':' can't be handed to a spawned program";
            return Err(Error::new(Class::Spawn, text));
        }
    }
    Ok(())
}

/// Processes that this one has spawned.
#[derive(Debug)]
pub struct Spawned {
    lifeline: UnixStream,
    launcher: Child,
    report: Vec<u8>,
}

impl Spawned {
    /// Starts `programs`, which connect to `port`.
    pub fn start(programs: &[Program], port: &str, universe: Option<u32>) -> Result<Spawned> {
        check(programs)?;
        let refuse = |what: &str, cause: io::Error| {
            Error::new(Class::Spawn, format!("starting processes: {what}: {cause}"))
        };
        let (ours, theirs) = UnixStream::pair().map_err(|e| refuse("a socket", e))?;
        ours.set_nonblocking(true).map_err(|e| refuse("a socket", e))?;
        let launcher = launcher()?;
        // In a job over several sites the launcher has the job's own one start it, on the only machine that reaches all hosts.
        let door = super::sites::door();
        let here = door.as_ref().map_or_else(crate::runtime::host_name, |door| door.host.clone());
        let child = Command::new(&launcher)
            .args(arguments(programs, (&here, door.is_some()), universe))
            .env(PARENT_PORT, port)
            .env(LIFELINE, "0")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn();
        let launcher = child.map_err(|e| refuse(&launcher.display().to_string(), e))?;
        Ok(Spawned { lifeline: ours, launcher, report: Vec::new() })
    }

    /// Readable when the launcher has something to report.
    pub fn fd(&self) -> RawFd {
        self.lifeline.as_raw_fd()
    }

    /// The error of processes that ended before they were connected; `None`: they are still on their way.
    pub fn failure(&mut self) -> Option<Error> {
        let mut bytes = [0; 1024];
        loop {
            match self.lifeline.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => self.report.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // It ends at once.
        let _ = self.launcher.wait();
        let (_, why) = Report::parse(&self.report).parts();
        Some(Error::new(Class::Spawn, why.unwrap_or_else(|| NEVER_JOINED.to_owned())))
    }

    /// The processes are connected: from now on their failure is ours. `root`: to their root.
    pub fn connected(self, root: Option<Talk>) -> Connected {
        let Spawned { lifeline, launcher, .. } = self;
        let failure = |said: &[u8]| {
            match Report::parse(said).parts() {
                (0, None) => None,
                // With 0 and a reason they have called `MPI_Abort`.
                (code, why) => {
                    // A launcher that has given its reason away, to us, tells nobody else.
                    let is_ours_to_tell = why.is_some();
                    let why = why.unwrap_or_else(|| format!("they ended with code {code}"));
                    let why = format!("processes that it has spawned have failed: {why}");
                    Some(Failure { code, why, is_ours_to_tell })
                }
            }
        };
        Connected::with_children(lifeline, launcher, failure, root.map(Talk::into_stream))
    }
}

const NEVER_JOINED: &str = "the processes have ended without calling MPI_Init";

/// The last words of a launcher: its exit code, and why the job failed.
struct Report {
    code: i32,
    why: Option<String>,
}

impl Report {
    fn parse(bytes: &[u8]) -> Report {
        let text = String::from_utf8_lossy(bytes);
        let mut report = Report { code: 1, why: None };
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("error", why)) => drop(report.why.get_or_insert(why.to_owned())),
                Some(("ended", code)) => report.code = code.parse().unwrap_or(1),
                _ => {}
            }
        }
        report
    }

    fn parts(self) -> (i32, Option<String>) {
        (self.code, self.why)
    }
}

/// hpvm's own launcher: beside this library, else in `PATH`.
fn launcher() -> Result<PathBuf> {
    let beside = crate::runtime::installation().map(|prefix| prefix.join("bin/mpirun"));
    if let Some(beside) = beside.filter(|file| file.exists()) {
        return Ok(beside);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).map(|folder| folder.join("hpvm"));
    let hpvm = folders.into_iter().find(|file| file.is_file());
    let mpirun = hpvm.and_then(|file| Some(file.canonicalize().ok()?.parent()?.join("mpirun")));
    mpirun.filter(|file| file.exists()).ok_or_else(|| {
        let text =
            "hpvm's launcher is neither at ../bin/mpirun beside the library nor, as hpvm, in PATH";
        Error::new(Class::Spawn, text)
    })
}

/// The most processes that `soft`, a list of triplets `first[:last[:stride]]`, allows, at most `most`.
///
/// # Errors
/// `MPI_ERR_SPAWN`: it is no such list, or allows none.
pub fn soft(text: &str, most: u32) -> Result<u32> {
    let bad = || {
        let text = format!(
            "soft={text:?}; expected a list of FIRST[:LAST[:STRIDE]] that allows a number up to {most}"
        );
        Error::new(Class::Spawn, text)
    };
    let mut best = None;
    for triplet in text.split(',') {
        let numbers: Option<Vec<i64>> = triplet.split(':').map(|n| n.trim().parse().ok()).collect();
        let (first, last, stride) = match *numbers.ok_or_else(bad)? {
            [first] => (first, first, 1),
            [first, last] => (first, last, 1),
            [first, last, stride] if stride != 0 => (first, last, stride),
            _ => return Err(bad()),
        };
        let (low, high, step) = match stride > 0 {
            true => (first, last, stride),
            // Counted down; the same numbers from the other end.
            false => (first - (first - last).max(0) / -stride * -stride, first, -stride),
        };
        if high < low || low > i64::from(most) {
            continue;
        }
        let high = high.min(i64::from(most));
        best = best.max(Some(low + (high - low) / step * step));
    }
    best.and_then(|best| u32::try_from(best).ok()).filter(|best| *best > 0).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_that_soft_allows_is_taken() {
        let cases = [
            ("4", 8, 4),
            ("1:3", 8, 3),
            ("2:10000:2", 7, 6),
            ("1,2,4,8", 6, 4),
            ("0:8:4", 8, 8),
            ("8:1:-3", 8, 8),
            ("8:1:-3", 7, 5),
            ("10:2:-4", 5, 2),
            ("3, 5", 5, 5),
        ];
        for (text, most, expected) in cases {
            assert_eq!(soft(text, most).unwrap(), expected, "{text} up to {most}");
        }
        for (text, most) in
            [("", 4), ("5", 4), ("1:", 4), ("1:2:0", 4), ("a", 4), ("0", 4), ("-3", 4)]
        {
            assert_eq!(soft(text, most).unwrap_err().class, Class::Spawn, "{text}");
        }
    }

    #[test]
    fn each_program_has_its_own_hosts_folder_and_path() {
        let word = |text: &str| OsString::from(text);
        let a = Program {
            command: word("a"),
            processes: 2,
            arguments: vec![word("-x")],
            ..Program::default()
        };
        let b = Program {
            command: word("b"),
            processes: 1,
            hosts: Some("n1".into()),
            folder: Some(word("/d")),
            path: Some(word("/p")),
            ..Program::default()
        };
        let line =
            |programs: &[Program]| arguments(programs, ("here", false), None).join(&word(" "));
        assert_eq!(line(std::slice::from_ref(&a)), "--stdin none -n 2 a -x");
        let both = "--stdin none -n 2 --host here a -x : -n 1 --host n1 --wdir /d --path /p b";
        assert_eq!(line(&[a.clone(), b]), both);
        let universe =
            arguments(std::slice::from_ref(&a), ("here", false), Some(9)).join(&word(" "));
        assert_eq!(universe, "--stdin none -usize 9 -n 2 a -x");
        let away =
            arguments(&[Program { folder: Some(word("/d")), ..a.clone() }], ("n0", true), None);
        assert_eq!(away.join(&word(" ")), "--stdin none -n 2 --host n0 --wdir /d a -x");
        assert!(check(&[Program { arguments: vec![word(":")], ..a.clone() }]).is_err());
        assert!(check(&[Program { command: word("-n"), ..a }]).is_err());
    }

    #[test]
    fn reports_are_read() {
        let parts = |text: &str| Report::parse(text.as_bytes()).parts();
        assert_eq!(parts("ended 0\n"), (0, None));
        assert_eq!(
            parts("error no such file\nerror more\nended 127\n"),
            (127, Some("no such file".into()))
        );
        assert_eq!(parts(""), (1, None), "killed");
    }
}
