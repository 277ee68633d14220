//! The memory of a link: one ring of bytes from one task to another.
//!
//! The sender makes it and hands it to the receiver. Its data area is mapped twice, one copy behind the other, so that
//! what wraps around the end lies in one run of memory.
//!
//! Access: `head`, `moved` and `sender` are written by the sender only, `tail`, `entered`, `processor` and `knows` by the receiver only,
//! `asleep` and `lacks` by both. Bytes from `tail` to `head` are the receiver's, the others are the sender's. Each count only grows.

use hpvm_sync::atomic::{AtomicU32, AtomicU64};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The part in front of the data: one page.
const FRONT: usize = 4096;
/// Offsets of the words, each on lines of its own: two, because processors fetch lines in pairs.
const HEAD: usize = 0;
const MOVED: usize = 8;
const TAIL: usize = 128;
const ASLEEP: usize = 256;
const ENTERED: usize = 264;
const PROCESSOR: usize = 268;
const KNOWS: usize = 272;
const LACKS: usize = 384;
const SENDER: usize = 388;

/// Values of `asleep`: the receiver sleeps on its descriptors, or on the word itself, for the rest of a message.
pub const ON_BELL: u32 = 1;
pub const ON_WORD: u32 = 2;

/// Capacities are powers of two between these: a page, and what a message can have.
const SMALLEST: u64 = 4096;
const SEGMENT_BYTES_MAX: u64 = 1 << 40;

/// A mapped segment.
pub struct Segment {
    base: *mut u8,
    capacity: usize,
}

// SAFETY: the memory belongs to the mapping, which no thread owns more than another; the library is behind a mutex.
unsafe impl Send for Segment {}

impl Segment {
    /// New memory, which nobody can make smaller any more.
    ///
    /// # Errors
    /// There is no memory left, or no descriptor.
    pub fn create(capacity: u64) -> io::Result<(Segment, OwnedFd)> {
        let file = hpvm_os::memory_file(c"hpvm-pvm-link", FRONT as u64 + capacity)?.into();
        Ok((Segment::map(&file, capacity)?, file))
    }

    /// Memory that another task has made, and says to have `capacity`.
    ///
    /// # Errors
    /// It has not, or it could be made smaller under us.
    pub fn attach(file: &OwnedFd, capacity: u64) -> io::Result<Segment> {
        let fit = (SMALLEST..=SEGMENT_BYTES_MAX).contains(&capacity) && capacity.is_power_of_two();
        // SAFETY: a structure of numbers, which the system call fills.
        let size = unsafe {
            let mut about: libc::stat = std::mem::zeroed();
            if libc::fstat(file.as_raw_fd(), &raw mut about) != 0 {
                return Err(io::Error::last_os_error());
            }
            about.st_size as u64
        };
        if !fit || size != FRONT as u64 + capacity || !hpvm_os::is_sealed(file) {
            let text = format!("a link of {size} bytes that says to have {capacity}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Segment::map(file, capacity)
    }

    fn map(file: &OwnedFd, capacity: u64) -> io::Result<Segment> {
        let capacity = capacity as usize;
        let whole = FRONT + 2 * capacity;
        let failed = libc::MAP_FAILED;
        // SAFETY: a fresh reservation, into which the file is mapped twice; lengths and offsets are whole pages.
        unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let base = libc::mmap(std::ptr::null_mut(), whole, libc::PROT_NONE, private, -1, 0);
            if base == failed {
                return Err(io::Error::last_os_error());
            }
            let segment = Segment { base: base.cast(), capacity };
            let shared = libc::MAP_SHARED | libc::MAP_FIXED;
            let fd = file.as_raw_fd();
            let first = libc::mmap(base, FRONT + capacity, access, shared, fd, 0);
            let again = segment.base.add(FRONT + capacity).cast();
            if first == failed
                || libc::mmap(again, capacity, access, shared, fd, FRONT as libc::off_t) == failed
            {
                return Err(io::Error::last_os_error());
            }
            Ok(segment)
        }
    }

    pub fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: within the front page, aligned, and only ever accessed as an atomic.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }

    /// Bytes ever written.
    pub fn head(&self) -> &AtomicU64 {
        self.word(HEAD)
    }

    /// Not 0: nothing more is written here; there is another segment.
    pub fn moved(&self) -> &AtomicU64 {
        self.word(MOVED)
    }

    /// Bytes ever read.
    pub fn tail(&self) -> &AtomicU64 {
        self.word(TAIL)
    }

    fn short(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: as `word`.
        unsafe { &*self.base.add(offset).cast::<AtomicU32>() }
    }

    /// Not 0: the receiver wants to be woken, as the values say.
    pub fn asleep(&self) -> &AtomicU32 {
        self.short(ASLEEP)
    }

    /// Not 0: the receiver reads here, and has left the segments before.
    pub fn entered(&self) -> &AtomicU32 {
        self.short(ENTERED)
    }

    /// On which processor the receiver last waited for long: one more than its number, 0 before that.
    pub fn processor(&self) -> &AtomicU32 {
        self.short(PROCESSOR)
    }

    /// Not 0: the sender sleeps on the word until there is room.
    pub fn lacks(&self) -> &AtomicU32 {
        self.short(LACKS)
    }

    /// On which processor the sender last wrote a large message; as `processor`.
    pub fn sender(&self) -> &AtomicU32 {
        self.short(SENDER)
    }

    /// To how many tasks of this host the receiver has links.
    pub fn knows(&self) -> &AtomicU32 {
        self.short(KNOWS)
    }

    /// Where the byte of number `count` lies; as many bytes as the capacity lie behind it in one run.
    pub fn at(&self, count: u64) -> *mut u8 {
        let offset = count as usize & (self.capacity - 1);
        // SAFETY: within the first copy of the data.
        unsafe { self.base.add(FRONT + offset) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the reservation of `map`; nobody refers to it any more.
        unsafe { libc::munmap(self.base.cast(), FRONT + 2 * self.capacity) };
    }
}
