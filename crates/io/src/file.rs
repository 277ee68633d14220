//! An open file: bytes to and from ranges of it.

use crate::amode::Amode;
use crate::error;
use crate::filesystem::{self, Kind};
use crate::lock::RangeLock;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::fs::OpenOptions;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes `at..at + len` of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub at: u64,
    pub len: u64,
}

/// Parts that one call of the system takes.
const MOST_PARTS: usize = 1024;

/// A file that this process has open.
#[derive(Debug)]
pub struct File {
    pub(crate) inner: std::fs::File,
    path: PathBuf,
    amode: Amode,
    kind: Kind,
    /// Accesses go past this host's memory.
    direct: bool,
    /// This process has written to it since it last brought everything to the device.
    unsynced: AtomicBool,
}

impl File {
    /// Opens a file. `creates`: this process is the one that makes it, where the mode asks for that; the
    /// others open what it has made.
    pub fn open(path: &Path, amode: Amode, creates: bool) -> Result<File> {
        let mut options = OpenOptions::new();
        // Data sieving reads what it writes back, so a file that is only written is opened for both
        // where that is allowed.
        options.write(amode.writes()).read(true);
        // Opening a pipe would wait until somebody opens its other end.
        options.custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK);
        if creates && amode.creates() {
            options.create(true).create_new(amode.is_exclusive()).mode(0o666);
        }
        filesystem::forget_names_beside(path);
        let opened = options.open(path).or_else(|error| {
            let denied = error.kind() == io::ErrorKind::PermissionDenied;
            if denied && !amode.reads() { options.read(false).open(path) } else { Err(error) }
        });
        let inner = opened.map_err(|e| error::of("cannot open", path, &e))?;
        let kind = inner.metadata().map_err(|e| error::of("cannot look at", path, &e))?.file_type();
        if kind.is_dir() {
            let e = io::Error::from_raw_os_error(libc::EISDIR);
            return Err(error::of("cannot open", path, &e));
        }
        if kind.is_fifo() || kind.is_socket() {
            let text = format!("'{}' is a pipe, which has no positions", error::shown(path));
            return Err(Error::new(Class::BadFile, text));
        }
        waits_again(&inner).map_err(|e| error::of("cannot open", path, &e))?;
        let kind = filesystem::kind(&inner)
            .map_err(|e| error::of("cannot look at the file system of", path, &e))?;
        let unsynced = AtomicBool::new(false);
        Ok(File { inner, path: path.to_owned(), amode, kind, direct: false, unsynced })
    }

    /// Says that several hosts have the file open. On NFS a host that writes a part of a page of which it has a copy
    /// writes back the whole page, so that others' bytes in it would be lost, and it tells what the server refuses when
    /// the program has gone on. So files that are written there are accessed at the server, past this host's memory, which
    /// NFS allows for any range.
    pub fn of_several_hosts(mut self) -> Result<File> {
        if self.kind == Kind::Nfs && self.amode.writes() {
            change_flags(&self.inner, |flags| flags | libc::O_DIRECT)
                .map_err(|e| self.failed("cannot go past this host's memory for", &e))?;
            self.direct = true;
        }
        Ok(self)
    }

    /// Deletes a file, which other hosts may have made.
    pub fn delete(path: &Path) -> Result<()> {
        filesystem::forget_names_beside(path);
        std::fs::remove_file(path).map_err(|e| error::of("cannot delete", path, &e))
    }

    /// A file that is open already, on the host's own disk.
    pub(crate) fn over(inner: std::fs::File, path: &Path, amode: Amode) -> File {
        let (kind, unsynced) = (Kind::Coherent, AtomicBool::new(false));
        File { inner, path: path.to_owned(), amode, kind, direct: false, unsynced }
    }

    /// What stands for a file whose data lie elsewhere: it has a name and a mode, and whatever is done to its
    /// bytes fails.
    pub fn nowhere(path: &Path, amode: Amode) -> Result<File> {
        let mut options = OpenOptions::new();
        let inner = options.read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open("/");
        Ok(File::over(inner.map_err(|e| error::of("cannot open", path, &e))?, path, amode))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// On a network file system that keeps copies in each host's memory (NFS and its like).
    pub fn is_remote(&self) -> bool {
        matches!(self.kind, Kind::Stale | Kind::Nfs)
    }

    /// In this host's memory and nowhere else, where a write costs no more than a system call.
    pub fn is_in_memory(&self) -> bool {
        self.kind == Kind::Memory
    }

    /// Nothing of it is kept in this host's memory, and nothing that the system is told to fetch.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }

    pub fn amode(&self) -> Amode {
        self.amode
    }

    /// Device and number: the same for all processes that have the same file open.
    pub fn identity(&self) -> Result<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        let data = self.inner.metadata().map_err(|e| self.failed("cannot look at", &e))?;
        Ok((data.dev(), data.ino()))
    }

    pub fn size(&self) -> Result<u64> {
        // Where the system does not let us ask the server, what this host knows has to do.
        let asked =
            if self.is_remote() { filesystem::size_at_server(&self.inner).ok() } else { None };
        let known = || self.inner.metadata().map(|about| about.len());
        asked.map_or_else(known, Ok).map_err(|e| self.failed("cannot look at", &e))
    }

    /// Cuts the file or makes it longer; what is new reads as zeros.
    pub fn set_size(&self, size: u64) -> Result<()> {
        if self.is_remote() {
            // A host that remembers this very size would not tell the server, where others have changed it since.
            let _ = filesystem::size_at_server(&self.inner);
        }
        self.inner.set_len(size).map_err(|e| self.failed("cannot change the size of", &e))
    }

    /// Makes sure that bytes up to `size` have room on the device. Never shortens the file.
    pub fn preallocate(&self, size: u64) -> Result<()> {
        let len = i64::try_from(size).unwrap_or(i64::MAX);
        if len == 0 {
            return Ok(());
        }
        // A server that can't reserve room gets a byte of each block, which past this host's memory would take a round trip each.
        let again = self.direct.then(|| format!("/proc/self/fd/{}", self.inner.as_raw_fd()));
        let again =
            again.and_then(|path| OpenOptions::new().read(true).write(true).open(path).ok());
        let file = again.as_ref().unwrap_or(&self.inner);
        // SAFETY: plain arguments about a descriptor that is open.
        let reserved = match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
            // What the server has not taken yet it may still refuse.
            0 if self.is_remote() => file.sync_all(),
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        };
        reserved.map_err(|e| self.failed("cannot reserve room for", &e))
    }

    /// Brings everything written so far to the device.
    pub fn sync(&self) -> Result<()> {
        if self.direct {
            // A write past this host's memory ends when the server has it on its device.
            return Ok(());
        }
        // Writes of this process that go on meanwhile count for the next sync. No other memory depends on this word.
        self.unsynced.store(false, Ordering::Relaxed);
        match self.inner.sync_all() {
            Ok(()) => Ok(()),
            // Devices and pipes have nothing to bring anywhere.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            Err(e) => Err(self.failed("cannot sync", &e)),
        }
    }

    /// Whether this process has to sync so that what it has written reaches the device. What several processes of a host write
    /// lies in one place, and one that syncs there beside another one holds it up.
    pub fn is_unsynced(&self) -> bool {
        self.is_remote() || self.unsynced.load(Ordering::Relaxed)
    }

    /// Has the device begin to write what lies in `len` bytes from `at` on, and does not wait for it: a sync that follows finds
    /// less to do. What goes wrong is told by that sync.
    pub fn begin_sync(&self, at: u64, len: u64) {
        if self.kind != Kind::Coherent {
            return;
        }
        let (Ok(at), Ok(len)) = (i64::try_from(at), i64::try_from(len)) else { return };
        // SAFETY: plain arguments about a descriptor that is open.
        unsafe {
            libc::sync_file_range(self.inner.as_raw_fd(), at, len, libc::SYNC_FILE_RANGE_WRITE)
        };
    }

    /// Before the file is closed: what a server has not taken yet it takes now, or says why it does not.
    pub fn finish(&self) -> Result<()> {
        if self.is_remote() && self.amode.writes() { self.sync() } else { Ok(()) }
    }

    /// Has this host ask the server for what others have written, where it would take its own copies otherwise: a lock
    /// does that on network file systems. Where those have no locks, the copies that nobody writes are given up.
    pub fn refresh(&self) {
        if !self.is_remote() {
            return;
        }
        let locked = self.amode.reads() && RangeLock::wait(&self.inner, 0, u64::MAX, false).is_ok();
        if !locked {
            // SAFETY: plain arguments about a descriptor that is open. Advice cannot fail in a way that matters.
            unsafe { libc::posix_fadvise(self.inner.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        }
    }

    /// Waits for a lock on bytes `start..end`.
    pub fn lock(&self, start: u64, end: u64, writes: bool) -> Result<RangeLock<'_>> {
        RangeLock::wait(&self.inner, start, end, writes)
            .map_err(|e| self.failed("cannot lock a part of", &e))
    }

    /// Writes all of `data` from byte `at` on.
    pub fn write_at(&self, at: u64, data: &[u8]) -> Result<()> {
        self.unsynced.store(true, Ordering::Relaxed);
        self.inner.write_all_at(data, at).map_err(|e| self.failed("cannot write", &e))
    }

    /// Writes all of these parts one behind the other, from byte `at` on, as one run.
    pub fn write_parts_at(&self, at: u64, parts: &mut [IoSlice<'_>]) -> Result<()> {
        self.unsynced.store(true, Ordering::Relaxed);
        let (mut rest, mut at) = (parts, at);
        // Parts of no bytes at the front go.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let wrote = i64::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG));
            let wrote = wrote.and_then(|offset| {
                let (parts, count) = (rest.as_ptr().cast(), rest.len().min(MOST_PARTS));
                // SAFETY: so many parts of memory that is valid for reading, in the system's own form, which that of
                // `IoSlice` is; the descriptor is open.
                let n = unsafe {
                    libc::pwritev(self.inner.as_raw_fd(), parts, count as libc::c_int, offset)
                };
                usize::try_from(n).map_err(|_| io::Error::last_os_error())
            });
            match wrote {
                Ok(0) => {
                    let e = io::Error::from(io::ErrorKind::WriteZero);
                    return Err(self.failed("cannot write", &e));
                }
                Ok(n) => {
                    IoSlice::advance_slices(&mut rest, n);
                    at += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failed("cannot write", &e)),
            }
        }
        Ok(())
    }

    /// Reads from byte `at` on until `out` is full or the file ends; says how much that was.
    pub fn read_at(&self, at: u64, out: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < out.len() {
            match self.inner.read_at(&mut out[done..], at + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failed("cannot read", &e)),
            }
        }
        Ok(done)
    }

    /// Fills these parts one behind the other from byte `at` on until they are full or the file ends; says how much that was.
    ///
    /// # Safety
    /// The parts may be written. They may lie in each other.
    pub(crate) unsafe fn read_parts_at(&self, at: u64, parts: &mut [libc::iovec]) -> Result<usize> {
        let (mut rest, mut done) = (parts, 0);
        while !rest.is_empty() {
            let offset = i64::try_from(at + done as u64).unwrap_or(i64::MAX);
            let count = rest.len().min(MOST_PARTS) as libc::c_int;
            // SAFETY: the caller's promise; the descriptor is open.
            let n = unsafe { libc::preadv(self.inner.as_raw_fd(), rest.as_ptr(), count, offset) };
            match usize::try_from(n) {
                Ok(0) => break,
                Ok(n) => {
                    done += n;
                    rest = behind(rest, n);
                }
                Err(_) => {
                    let e = io::Error::last_os_error();
                    if e.kind() != io::ErrorKind::Interrupted {
                        return Err(self.failed("cannot read", &e));
                    }
                }
            }
        }
        Ok(done)
    }

    /// Fills `out` from byte `at` on if that takes no waiting for a device or another host. `None`: it would, or the
    /// file ends before. On file systems that can't tell, only those of other hosts are taken to be slow.
    pub fn read_if_there(&self, at: u64, out: &mut [u8]) -> Option<()> {
        let part = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
        let offset = i64::try_from(at).ok()?;
        let file = self.inner.as_raw_fd();
        // SAFETY: one piece, which is ours to write; the descriptor is open.
        let read = unsafe { libc::preadv2(file, &part, 1, offset, libc::RWF_NOWAIT) };
        let untold =
            read < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EOPNOTSUPP);
        let there = match untold {
            true => !self.is_remote() && self.read_at(at, out).is_ok_and(|n| n == out.len()),
            false => usize::try_from(read) == Ok(out.len()),
        };
        there.then_some(())
    }

    pub(crate) fn failed(&self, doing: &str, e: &io::Error) -> hpvm_mpi::Error {
        error::of(doing, &self.path, e)
    }
}

/// What is left of parts of which `n` bytes are done.
fn behind(parts: &mut [libc::iovec], n: usize) -> &mut [libc::iovec] {
    let (mut whole, mut n) = (0, n);
    while whole < parts.len() && n >= parts[whole].iov_len {
        n -= parts[whole].iov_len;
        whole += 1;
    }
    let rest = &mut parts[whole..];
    if let Some(first) = rest.first_mut() {
        first.iov_base = first.iov_base.wrapping_byte_add(n);
        first.iov_len -= n;
    }
    rest
}

/// Takes `O_NONBLOCK` off again, with which it was opened.
fn waits_again(file: &std::fs::File) -> io::Result<()> {
    change_flags(file, |flags| flags & !libc::O_NONBLOCK)
}

fn change_flags(file: &std::fs::File, change: impl Fn(i32) -> i32) -> io::Result<()> {
    let fd = file.as_raw_fd();
    // SAFETY: a descriptor that is open; the calls take and give integers.
    let set = unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        flags >= 0 && libc::fcntl(fd, libc::F_SETFL, change(flags)) == 0
    };
    if set { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amode::{CREATE, EXCL, RDONLY, RDWR, WRONLY};
    #[test]
    fn opening_and_its_errors() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("f");
        let open = |bits, creates| File::open(&path, Amode::new(bits).unwrap(), creates);
        assert_eq!(open(RDONLY, true).unwrap_err().class, Class::NoSuchFile);
        assert_eq!(open(RDWR | CREATE, false).unwrap_err().class, Class::NoSuchFile);
        let file = open(RDWR | CREATE, true).unwrap();
        assert_eq!(open(RDWR | CREATE | EXCL, true).unwrap_err().class, Class::FileExists);
        file.write_at(3, b"abc").unwrap();
        assert_eq!(file.size().unwrap(), 6);
        let mut out = [9; 8];
        assert_eq!(open(RDONLY, true).unwrap().read_at(1, &mut out).unwrap(), 5);
        assert_eq!(out, *b"\0\0abc\x09\x09\x09");
        assert_eq!(file.read_if_there(3, &mut out[..3]), Some(()));
        assert_eq!(out[..3], *b"abc");
        assert_eq!(file.read_if_there(4, &mut out[..3]), None);
        file.preallocate(100).unwrap();
        assert_eq!(file.size().unwrap(), 100);
        file.preallocate(10).unwrap();
        assert_eq!(file.size().unwrap(), 100);
        assert_eq!(open(WRONLY, true).unwrap().identity().unwrap(), file.identity().unwrap());
        let folder = File::open(home.path(), Amode::new(RDONLY).unwrap(), true).unwrap_err();
        assert_eq!(folder.class, Class::BadFile, "{folder}");
        assert!(folder.to_string().contains("Is a directory"), "{folder}");
    }

    #[test]
    fn parts_are_written_one_behind_the_other() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("f");
        let file = File::open(&path, Amode::new(RDWR | CREATE).unwrap(), true).unwrap();
        let data: Vec<u8> = (0..30_000u32).map(|i| (i % 251) as u8).collect();
        // More than one call takes, some of them empty.
        let cuts = (0..3000).map(|i| if i % 7 == 0 { 10..10 } else { i * 10..(i + 1) * 10 });
        let pieces: Vec<&[u8]> = cuts.map(|cut| &data[cut]).collect();
        let mut parts: Vec<IoSlice> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        file.write_parts_at(5, &mut parts).unwrap();
        assert_eq!(std::fs::read(&path).unwrap()[5..], pieces.concat());
        file.write_parts_at(0, &mut []).unwrap();
        let error = file.write_parts_at(u64::MAX, &mut [IoSlice::new(b"x")]).unwrap_err();
        assert!(error.to_string().contains("File too large"), "{error}");
    }

    #[test]
    fn a_pipe_is_refused_and_nobody_waits_for_its_other_end() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pipe");
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a string that ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let open = |bits| File::open(&path, Amode::new(bits).unwrap(), true).unwrap_err();
        let other = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        for bits in [RDONLY, WRONLY, RDWR] {
            let refused = open(bits);
            assert_eq!(refused.class, Class::BadFile, "{refused}");
            assert!(refused.to_string().contains("is a pipe"), "{refused}");
        }
        drop(other);
        assert_eq!(open(RDONLY).class, Class::BadFile);
    }

    #[test]
    fn files_that_are_open_wait_as_ever() {
        let home = tempfile::tempdir().unwrap();
        let file = File::open(&home.path().join("f"), Amode::new(RDWR | CREATE).unwrap(), true);
        // SAFETY: a descriptor that is open.
        let flags = unsafe { libc::fcntl(file.unwrap().inner.as_raw_fd(), libc::F_GETFL) };
        assert!(flags >= 0 && flags & libc::O_NONBLOCK == 0);
    }
}
