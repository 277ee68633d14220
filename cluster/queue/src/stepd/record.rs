//! The record of a job on disk, which its supervisor writes and the server reads: that it was
//! claimed, that it was launched, how it ended.
//!
//! The file is created by whoever may run the job, and creating it fails for everybody else: so a
//! job runs at most once, however often servers and supervisors are killed. All its bytes are
//! written before the job starts. What comes later overwrites some of them, so a disk that is full
//! by then takes nothing away.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::job::Outcome;
use crate::time::Stamp;

/// Room for each of the three entries; a longer one is refused. A sentence of detail is cut to fit.
const ENTRY: usize = 4096;
/// The longest detail of an outcome, so that its entry fits however it is escaped.
const DETAIL: usize = 500;

/// A supervisor has taken the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its process number, for people: whether it lives is told by the lock.
    pub pid: i32,
    /// Identity of the running kernel: another one means that the machine was restarted.
    pub boot: String,
    pub at: Stamp,
}

/// The launcher was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub pid: i32,
    /// Start time in the kernel's ticks: with the number it names the process for ever.
    pub start: u64,
    /// The output files, so that nobody is shown another file in their place.
    pub stdout: FileId,
    pub stderr: FileId,
    /// How many bytes an attempt before had written to them.
    #[serde(default)]
    pub stdout_from: u64,
    #[serde(default)]
    pub stderr_from: u64,
    /// The control group of its processes, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<PathBuf>,
}

/// What tells a file from another one that takes its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    device: u64,
    inode: u64,
    /// When it was made, in nanoseconds since 1970, where the file system knows: numbers of inodes
    /// are used again.
    born: Option<u64>,
}

impl FileId {
    pub fn of(meta: &std::fs::Metadata) -> FileId {
        let born = meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let born = born.and_then(|since| u64::try_from(since.as_nanos()).ok());
        FileId { device: meta.dev(), inode: meta.ino(), born }
    }
}

/// The job is over and nothing of it is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub outcome: Outcome,
    pub at: Stamp,
    /// Most memory that was seen in use, in bytes; missing where it was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory: Option<u64>,
}

/// Where things lie in the folder of a job.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn record(&self) -> PathBuf {
        self.0.join("record")
    }
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }
    pub fn order(&self) -> PathBuf {
        self.0.join("order.json")
    }
    pub fn cancel(&self) -> PathBuf {
        self.0.join("cancel")
    }
    pub fn script(&self) -> PathBuf {
        self.0.join("script")
    }
    pub fn stdout(&self) -> PathBuf {
        self.0.join("stdout")
    }
    pub fn stderr(&self) -> PathBuf {
        self.0.join("stderr")
    }
    /// What the supervisor itself has to complain about.
    pub fn log(&self) -> PathBuf {
        self.0.join("stepd.log")
    }
}

/// The record, open for writing by the one who created it.
#[derive(Debug)]
pub struct Record(File);

impl Record {
    /// Takes the job; `AlreadyExists` when somebody has. On any other error nothing is claimed.
    pub fn claim(folder: &Folder, claim: &Claim) -> io::Result<Record> {
        let path = folder.record();
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let record = Record(file);
        let filled = record.fill(claim).and_then(|()| File::open(&folder.0)?.sync_all());
        if let Err(error) = filled {
            // We hold the lock and have started nothing: whoever comes next may claim.
            std::fs::remove_file(&path)?;
            return Err(error);
        }
        Ok(record)
    }

    fn fill(&self, claim: &Claim) -> io::Result<()> {
        let mut bytes = entry(claim)?;
        bytes.resize(3 * ENTRY, b'\n');
        (&self.0).write_all(&bytes)?;
        self.0.sync_all()
    }

    /// The launcher runs. Not synced: it matters to those only who find the machine running.
    pub fn launched(&self, launch: &Launch) -> io::Result<()> {
        self.0.write_all_at(&entry(launch)?, ENTRY as u64)
    }

    /// The job is over.
    pub fn ended(&self, end: &End) -> io::Result<()> {
        let mut end = end.clone();
        if let Some(detail) = &mut end.outcome.detail
            && let Some((cut, _)) = detail.char_indices().nth(DETAIL)
        {
            detail.truncate(cut);
        }
        self.0.write_all_at(&entry(&end)?, 2 * ENTRY as u64)?;
        self.0.sync_data()
    }
}

fn entry(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(value)?;
    bytes.push(b'\n');
    if bytes.len() > ENTRY {
        let text = format!("an entry of {} bytes; there is room for {ENTRY}", bytes.len());
        return Err(io::Error::other(text));
    }
    Ok(bytes)
}

/// What a record says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub claim: Option<Claim>,
    pub launch: Option<Launch>,
    pub end: Option<End>,
}

/// Reads the record; `None` when nobody has claimed the job.
pub fn read(folder: &Folder) -> io::Result<Option<Seen>> {
    let bytes = match std::fs::read(folder.record()) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(Seen { claim: part(&bytes, 0), launch: part(&bytes, 1), end: part(&bytes, 2) }))
}

/// An entry, if it is whole.
fn part<T: DeserializeOwned>(bytes: &[u8], number: usize) -> Option<T> {
    let from = bytes.get(number * ENTRY..)?;
    let line = from[..from.len().min(ENTRY)].split(|byte| *byte == b'\n').next()?;
    serde_json::from_slice(line).ok()
}

/// The lock that a living supervisor holds; the kernel takes it away with the process. (A lock of
/// POSIX: it does not pass to children, and it tells who holds it.)
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "closing the file would open the lock")] File);

impl Lock {
    /// Takes the lock; `None` when another process holds it.
    pub fn take(folder: &Folder) -> io::Result<Option<Lock>> {
        let file = open_lock(folder)?;
        match control(&file, libc::F_SETLK)? {
            Some(_) => Ok(Some(Lock(file))),
            None => Ok(None),
        }
    }
}

/// The process that holds the lock, if one does.
pub fn holder(folder: &Folder) -> io::Result<Option<i32>> {
    if !folder.lock().exists() {
        return Ok(None);
    }
    let lock = control(&open_lock(folder)?, libc::F_GETLK)?;
    Ok(lock.filter(|lock| lock.l_type != libc::F_UNLCK as i16).map(|lock| lock.l_pid))
}

fn open_lock(folder: &Folder) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).open(folder.lock())
}

/// Performs a locking call for the whole file; `None` when another holds it.
fn control(file: &File, command: libc::c_int) -> io::Result<Option<libc::flock>> {
    // SAFETY: zero is a valid value of this plain structure.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as i16;
    lock.l_whence = libc::SEEK_SET as i16;
    // SAFETY: the descriptor is open, and the structure lives through the call.
    if unsafe { libc::fcntl(file.as_raw_fd(), command, &mut lock) } == 0 {
        return Ok(Some(lock));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(None),
        _ => Err(error),
    }
}

/// Identity of the running kernel.
pub fn boot() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_string()
}

/// Start time of a process in the kernel's ticks.
pub fn start_time(pid: i32) -> Option<u64> {
    let stat =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    // The name in parentheses may hold anything, so count from its end.
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::OutcomeKind;

    fn folder() -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder(dir.path().to_path_buf());
        (dir, folder)
    }

    fn claim() -> Claim {
        Claim { pid: 7, boot: boot(), at: Stamp(5) }
    }

    #[test]
    fn a_job_is_claimed_once() {
        let (_dir, folder) = folder();
        assert_eq!(read(&folder).unwrap(), None);
        let record = Record::claim(&folder, &claim()).unwrap();
        let error = Record::claim(&folder, &claim()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let launch = Launch { pid: 9, start: 1, ..Launch::default() };
        record.launched(&launch).unwrap();
        let detail = "\u{1}\"x".repeat(2000);
        let outcome = Outcome::of(OutcomeKind::NodeLost).with(detail);
        record.ended(&End { outcome, at: Stamp(8), peak_memory: None }).unwrap();
        let seen = read(&folder).unwrap().unwrap();
        assert_eq!((seen.claim, seen.launch), (Some(claim()), Some(launch)));
        assert_eq!(seen.end.unwrap().outcome.detail.unwrap().chars().count(), DETAIL);
    }

    #[test]
    fn what_is_torn_is_not_there() {
        let (_dir, folder) = folder();
        for bytes in [&b""[..], b"{\"pid\":7", b"\xff\n", &[b'x'; 3 * ENTRY]] {
            std::fs::write(folder.record(), bytes).unwrap();
            assert_eq!(read(&folder).unwrap(), Some(Seen::default()));
        }
    }

    #[test]
    fn the_lock_tells_who_holds_it() {
        let (_dir, folder) = folder();
        assert_eq!(holder(&folder).unwrap(), None);
        // A lock is no obstacle to its own process, so another one takes it.
        let script = "import fcntl,os,sys\nf=open(sys.argv[1],'w')\nfcntl.lockf(f,fcntl.LOCK_EX)\n\
                      print(os.getpid(),flush=True)\nsys.stdin.read()";
        let mut child = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(folder.lock())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
            .unwrap();
        assert_eq!(holder(&folder).unwrap(), Some(child.id() as i32));
        assert!(Lock::take(&folder).unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(holder(&folder).unwrap(), None);
        assert!(Lock::take(&folder).unwrap().is_some());
    }
}
