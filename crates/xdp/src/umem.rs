//! The memory that the XSKs of one queue have in common (UMEM), in whichever processes they are: frames that the kernel
//! receives into, which are anybody's, and frames to send from, which each process has for itself.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes of a frame. The kernel keeps some 256 of them for itself when it receives, so that a frame of ordinary
/// Ethernet fits.
pub const FRAME: usize = 2048;

/// Processes of a host that can use a queue.
pub const MAX_LOCAL_SIZE: u32 = 256;

/// Frames of one process that wait to be received into. What comes while all are full is lost, and sent again: as many as
/// a sender's window has datagrams, for some peers.
const RECEIVE: u32 = 2048;
/// Frames of one process on their way out.
const TRANSMIT: u32 = 512;
/// Processes above which each has less: the memory of a host does not grow with them for ever.
const FULL_SHARE_PROCESSES: u32 = 4;
const LEAST_RECEIVE: u32 = 256;
const LEAST_TRANSMIT: u32 = 64;

/// Bits of a word of [`Umem::returned`].
const BITS: u32 = u64::BITS;

/// How the frames of a queue are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    pub local_size: u32,
    /// Frames that lie received in one process's ring at most.
    pub receive: u32,
    /// Frames of one process to send from.
    pub transmit: u32,
}

impl Shares {
    /// `None`: there are no such many processes.
    pub fn new(local_size: u32) -> Option<Shares> {
        if !(1..=MAX_LOCAL_SIZE).contains(&local_size) {
            return None;
        }
        let share = |all: u32, least: u32| {
            let each = FULL_SHARE_PROCESSES * all
                / local_size.next_power_of_two().max(FULL_SHARE_PROCESSES);
            each.max(least)
        };
        let receive = share(RECEIVE, LEAST_RECEIVE);
        Some(Shares { local_size, receive, transmit: share(TRANSMIT, LEAST_TRANSMIT) })
    }

    /// Frames to be received into: as many as lie in all receive rings, so that a process that takes none leaves
    /// enough for the others.
    pub fn filled(&self) -> u32 {
        self.local_size * self.receive
    }

    pub fn fill_entries(&self) -> u32 {
        self.filled().next_power_of_two()
    }

    pub fn completion_entries(&self) -> u32 {
        (self.local_size * self.transmit).next_power_of_two()
    }

    /// The first frame that a process sends from.
    fn first(&self, local_rank: u32) -> u32 {
        self.filled() + local_rank * self.transmit
    }

    /// Bytes of the frames.
    fn frames_len(&self) -> usize {
        self.first(self.local_size) as usize * FRAME
    }

    /// Bytes of everything: behind the frames is a bit for each frame to send from.
    fn len(&self) -> usize {
        self.frames_len() + (self.local_size * self.transmit / 8) as usize
    }
}

/// The memory, mapped.
pub struct Umem {
    base: NonNull<u8>,
    /// Bytes of the frames.
    frames: usize,
    shares: Shares,
    memory: OwnedFd,
}

// SAFETY: a mapping of our own; frames are handed out one at a time by their owner.
unsafe impl Send for Umem {}

impl Umem {
    /// New memory, of zeros.
    ///
    /// # Errors
    /// The system has none.
    pub fn new(shares: Shares) -> io::Result<Umem> {
        Umem::map(shares, hpvm_os::memory_file(c"hpvm_xdp", shares.len() as u64)?.into())
    }

    /// The memory behind a descriptor that another process has made.
    ///
    /// # Errors
    /// It is not the memory of these shares, or the system refuses.
    pub fn map(shares: Shares, memory: OwnedFd) -> io::Result<Umem> {
        let len = shares.len();
        // SAFETY: zeros are a value of the structure.
        let mut about: libc::stat = unsafe { core::mem::zeroed() };
        // SAFETY: live memory for the result.
        let told = unsafe { libc::fstat(memory.as_raw_fd(), &mut about) } == 0;
        if !hpvm_os::is_sealed(&memory) || !told || about.st_size != len as i64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let fd = memory.as_raw_fd();
        // SAFETY: a new mapping at an address of the system's choice.
        let base = unsafe { libc::mmap(core::ptr::null_mut(), len, protection, flags, fd, 0) };
        let base = NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED);
        let base = base.ok_or_else(io::Error::last_os_error)?;
        let umem = Umem { base, frames: shares.frames_len(), shares, memory };
        // A child of fork has no business there.
        // SAFETY: our own mapping.
        unsafe { libc::madvise(umem.base.as_ptr().cast(), len, libc::MADV_DONTFORK) };
        Ok(umem)
    }

    /// The memory, for other processes to map.
    ///
    /// # Errors
    /// The system refuses.
    pub fn memory(&self) -> io::Result<OwnedFd> {
        self.memory.try_clone()
    }

    pub fn shares(&self) -> Shares {
        self.shares
    }

    pub fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Bytes of the frames.
    pub fn len(&self) -> usize {
        self.frames
    }

    /// The addresses of the frames to be received into.
    pub fn to_fill(&self) -> impl Iterator<Item = u64> {
        (0..self.shares.filled()).map(|frame| u64::from(frame) * FRAME as u64)
    }

    /// The addresses of the frames that a process sends from.
    pub fn to_send_from(&self, local_rank: u32) -> impl Iterator<Item = u64> {
        let first = self.shares.first(local_rank);
        (first..first + self.shares.transmit).map(|frame| u64::from(frame) * FRAME as u64)
    }

    /// Says whoever sends from a frame that it has left. What is no such frame is not the kernel's word.
    pub fn give_back(&self, at: u64) {
        let number = u32::try_from(at / FRAME as u64).ok();
        let number = number.and_then(|frame| frame.checked_sub(self.shares.filled()));
        let all = self.shares.local_size * self.shares.transmit;
        if let Some(number) = number.filter(|number| *number < all) {
            // Release: the kernel has read the frame; pairs with the acquire of `take_back`.
            self.returned(number / BITS).fetch_or(1 << (number % BITS), Ordering::Release);
        }
    }

    /// Takes the frames of a process that were given back.
    pub fn take_back(&self, local_rank: u32, mut taken: impl FnMut(u64)) {
        let first = local_rank * self.shares.transmit;
        for word in first / BITS..(first + self.shares.transmit) / BITS {
            // Acquire: pairs with the release of `give_back`.
            let mut bits = self.returned(word).swap(0, Ordering::Acquire);
            while bits != 0 {
                let number = word * BITS + bits.trailing_zeros();
                bits &= bits - 1;
                taken(u64::from(self.shares.filled() + number) * FRAME as u64);
            }
        }
    }

    /// A word of the bits of the frames that have left and wait for their owner.
    fn returned(&self, word: u32) -> &AtomicU64 {
        assert!(word < self.shares.local_size * self.shares.transmit / BITS);
        let at = self.frames + 8 * word as usize;
        // SAFETY: inside of the mapping, aligned, and all processes use it as an atomic.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(at).cast()) }
    }

    /// The bytes from `at` on. `None`: that is not inside of one frame.
    #[inline]
    pub fn bytes(&self, at: u64, len: usize) -> Option<&[u8]> {
        let start = self.start(at, len)?;
        // SAFETY: inside of the mapping; the frame is ours as long as it is in none of the rings, which is
        // the caller's bookkeeping, and that of the other processes of this user and job.
        Some(unsafe { core::slice::from_raw_parts(self.base.as_ptr().add(start), len) })
    }

    /// As [`Umem::bytes`], to write to.
    #[inline]
    pub fn bytes_mut(&mut self, at: u64, len: usize) -> Option<&mut [u8]> {
        let start = self.start(at, len)?;
        // SAFETY: as above.
        Some(unsafe { core::slice::from_raw_parts_mut(self.base.as_ptr().add(start), len) })
    }

    #[inline]
    fn start(&self, at: u64, len: usize) -> Option<usize> {
        let start = usize::try_from(at).ok().filter(|start| *start < self.len())?;
        (start % FRAME + len <= FRAME).then_some(start)
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nobody here uses any more: the kernel has pinned its pages itself.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.shares.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Shares {
        Shares { local_size: 3, receive: 4, transmit: 64 }
    }

    #[test]
    fn nothing_leads_out_of_a_frame() {
        let mut umem = Umem::new(Shares { local_size: 1, receive: 3, transmit: 0 }).unwrap();
        let frame = FRAME as u64;
        umem.bytes_mut(frame, FRAME).unwrap().fill(7);
        assert_eq!(umem.bytes(frame + 256, 10).unwrap(), [7; 10]);
        assert_eq!(umem.bytes(0, 1).unwrap(), [0]);
        for (at, len) in [(0, FRAME + 1), (1, FRAME), (2 * frame, FRAME + 1), (3 * frame, 0)] {
            assert!(umem.bytes(at, len).is_none(), "{at} {len}");
        }
        assert!(umem.bytes_mut(u64::MAX, 1).is_none());
    }

    #[test]
    fn shares_are_whole_words_and_fit_what_the_kernel_takes() {
        for local_size in 1..=MAX_LOCAL_SIZE {
            let shares = Shares::new(local_size).unwrap();
            let Shares { receive, transmit, .. } = shares;
            assert!(receive.is_power_of_two() && transmit.is_power_of_two() && transmit >= BITS);
            assert!(shares.fill_entries() <= 1 << 21);
            assert!(shares.len() <= 192 << 20, "{local_size}: {}", shares.len());
        }
        assert_eq!((Shares::new(0), Shares::new(MAX_LOCAL_SIZE + 1)), (None, None));
        let alone = Shares::new(1).unwrap();
        assert_eq!((alone.receive, alone.transmit), (RECEIVE, TRANSMIT));
    }

    #[test]
    fn frames_come_back_to_their_owner_through_another_mapping() {
        let umem = Umem::new(small()).unwrap();
        let other = umem.memory.try_clone().unwrap();
        let other = Umem::map(small(), other).unwrap();
        let own: Vec<u64> = umem.to_send_from(1).collect();
        assert_eq!(own.len(), 64);
        for at in [own[0], own[63], own[7]] {
            other.give_back(at);
        }
        for nonsense in [0, own[0] - 65 * FRAME as u64, u64::MAX, 3 * 64 * FRAME as u64 * 2] {
            other.give_back(nonsense);
        }
        let taken = |local_rank| {
            let mut taken = Vec::new();
            umem.take_back(local_rank, |at| taken.push(at));
            taken
        };
        assert_eq!((taken(0), taken(2)), (vec![], vec![]));
        assert_eq!(taken(1), [own[0], own[7], own[63]]);
        assert_eq!(taken(1), []);
    }

    #[test]
    fn memory_of_other_shares_is_refused() {
        let umem = Umem::new(small()).unwrap();
        let copy = umem.memory.try_clone().unwrap();
        assert!(Umem::map(Shares { local_size: 4, ..small() }, copy).is_err());
        let file: OwnedFd = std::fs::File::open("/proc/self/exe").unwrap().into();
        assert!(Umem::map(small(), file).is_err());
    }
}
