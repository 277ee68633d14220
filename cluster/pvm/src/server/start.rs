//! Processes of tasks: starting them, their output, their end.

use super::log::Log;
use crate::sys;
use hpvm_launch::environment::is_foreign;
use hpvm_pvm::protocol::{CLAIM, Start, task_address};
use hpvm_pvm::{Code, Tid};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// All processes that were started here.
pub struct Processes {
    nonce: i64,
    running: BTreeMap<i32, Tid>,
    outputs: BTreeMap<Tid, PipeReader>,
    log: Log,
}

impl Processes {
    pub fn new(nonce: i64) -> Processes {
        Processes { nonce, running: BTreeMap::new(), outputs: BTreeMap::new(), log: Log::default() }
    }

    pub fn running(&self) -> impl Iterator<Item = i32> + '_ {
        self.running.keys().copied()
    }

    pub fn outputs(&self) -> impl Iterator<Item = (Tid, RawFd)> + '_ {
        self.outputs.iter().map(|(tid, output)| (*tid, output.as_raw_fd()))
    }

    /// What the task has written: nothing at its end, `None` while nothing is there.
    pub fn read(&mut self, tid: Tid) -> Option<Vec<u8>> {
        let mut text = vec![0; 4 << 10];
        loop {
            match self.outputs.get_mut(&tid)?.read(&mut text) {
                Ok(len) => {
                    text.truncate(len);
                    return Some(text);
                }
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return None,
                Err(_) => return Some(Vec::new()),
            }
        }
    }

    pub fn close(&mut self, tid: Tid) {
        self.outputs.remove(&tid);
        self.log.ended(tid);
    }

    /// The process has ended: the task it was started for.
    pub fn ended(&mut self, pid: i32) -> Option<Tid> {
        self.running.remove(&pid)
    }

    /// # Errors
    /// Why not, as `pvm_spawn` says it.
    pub fn start(&mut self, tid: Tid, start: &Start) -> Result<i32, Code> {
        let own = start.host_folders.iter().map(|folder| place(folder, start));
        let folders = own.chain(start.folders.iter().map(PathBuf::from));
        let file = find(&start.program, folders).ok_or(Code::NoFile)?;
        self.run(tid, &file, start).map_err(|cause| match cause.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => Code::NoFile,
            ErrorKind::OutOfMemory => Code::NoMem,
            _ => Code::OutOfRes,
        })
    }

    pub fn log(&mut self, tid: Tid, text: &[u8]) {
        self.log.write(tid, text);
    }

    fn address(&self, tid: Tid, what: char) -> io::Result<SocketAddr> {
        SocketAddr::from_abstract_name(task_address(self.nonce, tid, what))
    }

    fn run(&mut self, tid: Tid, file: &Path, start: &Start) -> io::Result<i32> {
        let (output, input) = io::pipe()?;
        // SAFETY: a flag of a descriptor of ours.
        unsafe { libc::fcntl(output.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        let environment = start.environment.iter().filter_map(|entry| {
            let at = entry.0.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
            Some((OsStr::from_bytes(&entry.0[..at]), OsStr::from_bytes(&entry.0[at + 1..])))
        });
        // A task that a rank of a job has spawned is none itself.
        let environment = environment.filter(|(name, _)| !is_foreign(name));
        let mut command = Command::new(file);
        command.env_clear().envs(environment);
        let working =
            if start.working.is_empty() { home(start) } else { place(&start.working, start) };
        // A task without its home works at the root, as it can; one that is to work somewhere and cannot is not started.
        let asked = !start.working.is_empty();
        command.current_dir(if asked || working.is_dir() { &working } else { Path::new("/") });
        // The sockets are there before the task is: who sends to it does not have to wait for it.
        let listener = UnixListener::bind_addr(&self.address(tid, 'l')?)?;
        let bell = UnixDatagram::bind_addr(&self.address(tid, 'b')?)?;
        let sockets = [listener.as_raw_fd(), bell.as_raw_fd()];
        let claim = format!("{tid:x}:{:x}:{}:{}", self.nonce, sockets[0], sockets[1]);
        command.env(CLAIM, claim);
        command.args(start.arguments.iter().map(|word| OsString::from_vec(word.0.clone())));
        command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input).process_group(0);
        let parent = std::process::id() as i32;
        // SAFETY: system calls, which may be called there.
        unsafe {
            command.pre_exec(move || {
                sockets.iter().for_each(|fd| sys::inherit(*fd));
                sys::unblock_signals();
                sys::die_with_parent(parent)
            })
        };
        // It is reaped by the process's number, not by the handle.
        let pid = command.spawn()?.id() as i32;
        self.running.insert(pid, tid);
        self.outputs.insert(tid, output);
        Ok(pid)
    }
}

/// The value of a variable that the task gets.
fn variable<'a>(start: &'a Start, name: &str) -> Option<&'a OsStr> {
    let named = |entry: &'a [u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
    start.environment.iter().rev().find_map(|entry| named(&entry.0)).map(OsStr::from_bytes)
}

fn home(start: &Start) -> PathBuf {
    PathBuf::from(variable(start, "HOME").unwrap_or(OsStr::new("/")))
}

/// The folder that a hostfile says: `$NAME` is a variable of the task's environment, and what does not begin at the
/// root lies in its home.
fn place(folder: &str, start: &Start) -> PathBuf {
    let mut whole = OsString::new();
    let mut parts = folder.split('$');
    whole.push(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric());
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        whole.push(variable(start, name).unwrap_or_default());
        whole.push(rest);
    }
    home(start).join(whole)
}

/// The first executable file of the name.
fn find(program: &str, mut folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        file.metadata()
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if program.starts_with('/') {
        return Some(PathBuf::from(program)).filter(runs);
    }
    folders.find_map(|folder| Some(folder.join(program)).filter(runs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_pvm::wire::Bytes;

    #[test]
    fn folders_of_a_hostfile_know_the_environment() {
        let environment = ["HOME=/home/u", "A_1=x"].map(|entry| Bytes(entry.as_bytes().to_vec()));
        let start = Start { environment: environment.to_vec(), ..Start::default() };
        for (text, folder) in [
            ("/a", "/a"),
            ("b/c", "/home/u/b/c"),
            ("$HOME/bin", "/home/u/bin"),
            ("/q/$A_1.d/$NONE/e", "/q/x.d//e"),
            ("/cost$", "/cost"),
        ] {
            assert_eq!(place(text, &start), PathBuf::from(folder), "{text}");
        }
    }
}
