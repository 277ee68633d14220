//! Starts one rank: fork, arrange the child, exec.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::environment::ranks::{self, Numbers};
use crate::environment::{Environment, PROF};
use crate::error::LaunchError;
use crate::limits;
use crate::place::affinity;
use crate::sys;

use super::threads;

/// A program in the form `execve` wants.
#[derive(Debug)]
pub struct Image {
    pub file: PathBuf,
    path: CString,
    argv: Vec<CString>,
    env: Vec<CString>,
    wdir: CString,
    /// Whether it runs in a Slurm allocation.
    slurm: bool,
}

impl Image {
    /// Prepares a program that has been found at `file`.
    pub fn new(
        file: PathBuf,
        argv: &[OsString],
        env: &Environment,
        wdir: &Path,
    ) -> Result<Self, LaunchError> {
        let mut variables = Vec::new();
        let slurm = env.contains_key(OsStr::new(ranks::SLURM_JOB));
        let own = |name: &OsString| {
            ranks::is_of_rank(name) && (slurm || !name.to_string_lossy().starts_with("SLURM_"))
        };
        for (name, value) in env.iter().filter(|(name, _)| !own(name)) {
            let mut text = name.clone();
            text.push("=");
            text.push(value);
            variables.push(c_string(&text)?);
        }
        let program = argv.iter().map(OsString::as_os_str);
        let (path, argv): (_, Result<_, _>) = match counted(env) {
            // It becomes the program when its events are there.
            Some((own, socket)) => {
                let front = [
                    OsStr::new("hpvm"),
                    OsStr::new("counted"),
                    socket,
                    OsStr::new("rank"),
                    file.as_os_str(),
                ];
                (
                    c_string(own.as_os_str())?,
                    front.into_iter().chain(program).map(c_string).collect(),
                )
            }
            None => (c_string(file.as_os_str())?, program.map(c_string).collect()),
        };
        let argv = argv?;
        let wdir = c_string(wdir.as_os_str())?;
        Ok(Self { file, path, argv, env: variables, wdir, slurm })
    }

    /// Whether its environment says how many threads it should use.
    pub fn chooses_threads(&self) -> bool {
        let chosen = |variable: &CString| {
            let value = variable.as_bytes().strip_prefix(threads::CHOSEN_BY.as_bytes());
            value.is_some_and(|value| value.starts_with(b"="))
        };
        self.env.iter().any(chosen)
    }
}

/// Our own program and the socket, if ranks are to be counted.
fn counted(env: &Environment) -> Option<(PathBuf, &OsStr)> {
    let socket = env.get(OsStr::new(PROF))?;
    Some((std::env::current_exe().ok()?, socket))
}

fn c_string(text: &OsStr) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes()).map_err(|_| {
        let shown = text.to_string_lossy().replace('\0', "\\0");
        LaunchError::usage(format!("'{shown}' holds a zero byte"))
    })
}

/// What all children have in common.
#[derive(Debug)]
pub struct Nursery {
    /// Children that cannot exec say so here.
    failure_write: OwnedFd,
    /// Where the launcher reads that.
    pub failure_read: OwnedFd,
    /// A low descriptor number, kept free in the launcher, that is the PMI connection in a child.
    pmi_slot: OwnedFd,
    null: OwnedFd,
    mask: libc::sigset_t,
    /// What children may use: of descriptors what this process began with, before it raised that.
    limits: Vec<(u32, libc::rlimit)>,
    launcher: libc::pid_t,
}

impl Nursery {
    /// Prepares for starting children with this signal mask and limit of descriptors.
    pub fn new(mask: libc::sigset_t, limit: libc::rlimit) -> io::Result<Self> {
        let null = sys::dev_null()?;
        let pmi_slot = sys::duplicate(null.as_raw_fd())?;
        let (failure_read, failure_write) = sys::pipe()?;
        sys::set_nonblocking(failure_read.as_raw_fd())?;
        // SAFETY: the call has no arguments and cannot fail.
        let launcher = unsafe { libc::getpid() };
        let limits = vec![(libc::RLIMIT_NOFILE, limit)];
        Ok(Self { failure_write, failure_read, pmi_slot, null, mask, limits, launcher })
    }

    /// Children get these soft limits, as far as the hard ones of this process allow.
    pub fn limit(&mut self, wanted: &BTreeMap<String, u64>) {
        self.limits.extend(limits::prepared(wanted));
    }

    /// `/dev/null`, the standard input of all ranks but one.
    pub fn null(&self) -> RawFd {
        self.null.as_raw_fd()
    }

    /// The number under which children find their PMI connection.
    pub fn pmi_fd(&self) -> RawFd {
        self.pmi_slot.as_raw_fd()
    }

    /// Starts a rank. It runs in a process group of its own and dies with the launcher's thread
    /// that calls this. A failure after the fork is reported on `failure_read`.
    pub fn spawn(&self, image: &Image, fds: &ChildFds) -> io::Result<libc::pid_t> {
        let rank = fds.numbers.rank;
        let own_env = ranks::of_rank(&fds.numbers, image.slurm)
            .chain([format!("PMI_FD={}", self.pmi_fd())])
            .map(|text| CString::new(text).unwrap_or_default());
        let own_env: Vec<CString> = own_env.collect();
        let mut argv: Vec<_> = image.argv.iter().map(|text| text.as_ptr()).collect();
        argv.push(std::ptr::null());
        let mut envp: Vec<_> = image.env.iter().chain(&own_env).map(|var| var.as_ptr()).collect();
        envp.push(std::ptr::null());
        // SAFETY: the child only makes async-signal-safe calls until it execs or exits, so it does
        // not matter what other threads held at the fork.
        let pid = hpvm_os::check(unsafe { libc::fork() })?;
        if pid == 0 {
            // SAFETY: we are the fresh child; the vectors above end with null and outlive this.
            unsafe { self.become_rank(image, rank, fds, &argv, &envp) }
        }
        // Both sides do it, so that the group exists for whoever looks first.
        // SAFETY: plain integers; a failure means the child has already done it.
        unsafe { libc::setpgid(pid, pid) };
        Ok(pid)
    }

    /// # Safety
    /// Only in a child just forked, with null-terminated vectors of strings.
    unsafe fn become_rank(
        &self,
        image: &Image,
        rank: u32,
        fds: &ChildFds,
        argv: &[*const libc::c_char],
        envp: &[*const libc::c_char],
    ) -> ! {
        // SAFETY: async-signal-safe calls with valid arguments, on the child's own state.
        unsafe {
            libc::setpgid(0, 0);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // The launcher may have died before it was asked for.
            if libc::getppid() != self.launcher {
                libc::_exit(127);
            }
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::sigprocmask(libc::SIG_SETMASK, &self.mask, std::ptr::null_mut());
            for (from, to) in [(fds.stdin, 0), (fds.stdout, 1), (fds.stderr, 2)] {
                if from != to && libc::dup2(from, to) < 0 {
                    self.give_up(rank, Stage::Descriptors);
                }
            }
            if libc::dup2(fds.pmi, self.pmi_fd()) < 0 {
                self.give_up(rank, Stage::Descriptors);
            }
            limits::set(&self.limits);
            if libc::chdir(image.wdir.as_ptr()) != 0 {
                self.give_up(rank, Stage::Folder);
            }
            if let Some(cpus) = &fds.cpus
                && affinity::bind(cpus).is_err()
            {
                self.give_up(rank, Stage::Binding);
            }
            libc::execve(image.path.as_ptr(), argv.as_ptr(), envp.as_ptr());
            self.give_up(rank, Stage::Exec);
        }
    }

    /// # Safety
    /// Only in a child.
    unsafe fn give_up(&self, rank: u32, stage: Stage) -> ! {
        // SAFETY: errno is the calling thread's own; write and _exit are async-signal-safe, the
        // record is readable for its size and below PIPE_BUF, so it arrives whole.
        unsafe {
            let record = [rank, stage as u32, *libc::__errno_location() as u32];
            libc::write(
                self.failure_write.as_raw_fd(),
                record.as_ptr().cast(),
                size_of_val(&record),
            );
            libc::_exit(127)
        }
    }

    /// The next report of a child that could not become its program.
    pub fn next_failure(&self) -> Option<(u32, Stage, i32)> {
        let mut bytes = [0_u8; 12];
        let count = sys::read(self.failure_read.as_raw_fd(), &mut bytes).ok()?;
        if count != bytes.len() {
            return None;
        }
        let word = |at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let stage = match word(4) {
            0 => Stage::Descriptors,
            1 => Stage::Folder,
            2 => Stage::Binding,
            _ => Stage::Exec,
        };
        Some((word(0), stage, word(8) as i32))
    }
}

/// The step at which a child failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Descriptors = 0,
    Folder = 1,
    Binding = 2,
    Exec = 3,
}

impl Stage {
    /// Says why a rank's process could not become the program `file`.
    pub fn failure(self, rank: u32, file: &Path, errno: i32) -> LaunchError {
        let what = match self {
            Stage::Exec => return crate::program::refused(file, errno),
            Stage::Descriptors => "connect the streams of",
            Stage::Folder => "enter the working folder of",
            Stage::Binding => "bind",
        };
        let text = crate::error::errno_text(errno);
        LaunchError::new(1, format!("cannot {what} rank {rank}: {text}"))
    }
}

/// Says why no process could be made for a rank.
pub fn not_started(rank: u32, count: u32, error: &io::Error) -> String {
    let hint = match error.raw_os_error() {
        Some(libc::EAGAIN) => " (limit of processes? see ulimit -u)",
        Some(libc::EMFILE) => " (limit of open files: see ulimit -Hn)",
        Some(libc::ENFILE) => " (the system's limit of open files)",
        Some(libc::ENOMEM) => " (memory)",
        _ => "",
    };
    format!("cannot start rank {rank} of {count}: {}{hint}", crate::error::plain(error))
}

/// What one child gets.
pub struct ChildFds {
    pub numbers: Numbers,
    pub stdin: RawFd,
    pub stdout: RawFd,
    pub stderr: RawFd,
    pub pmi: RawFd,
    pub cpus: Option<affinity::KernelSet>,
}
