//! Memory of other processes: read, written or mapped without their help.

use crate::Rank;
use core::ptr::NonNull;
use std::io;

/// Why a copy from or to a peer's memory did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerMemoryError {
    /// The system does not permit it, or the transport has no such path: send the bytes instead.
    NotPermitted,
    /// The peer's process has ended.
    Gone,
    /// The peer's memory could not be read or written: errno.
    Failed(i32),
}

/// The error of a cross-memory copy that the kernel has refused.
impl From<io::Error> for PeerMemoryError {
    fn from(error: io::Error) -> PeerMemoryError {
        match error.raw_os_error().unwrap_or(0) {
            // The answers of Yama, of missing capabilities, and of the seccomp filters of containers.
            libc::EPERM | libc::ENOSYS | libc::EACCES => PeerMemoryError::NotPermitted,
            libc::ESRCH => PeerMemoryError::Gone,
            other => PeerMemoryError::Failed(other),
        }
    }
}

/// What a peer on another host needs to read memory that was exposed to it; only the transport knows what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposed {
    pub address: u64,
    pub key: u64,
}

/// Access to the memory of other processes. A transport without it takes the defaults.
///
/// The conformance suite checks that reads and writes copy exactly the bytes that they are to copy, or are
/// refused.
pub trait PeerMemory {
    /// True when `read` from `peer` is permitted, as far as is known.
    fn can_read(&self, peer: Rank) -> bool {
        let _ = peer;
        false
    }

    /// True when `read` is permitted, and a message of `peer` is likely to come faster by it than by two copies.
    fn read_pays(&self, peer: Rank) -> bool {
        self.can_read(peer)
    }

    /// Copies `len` bytes from `remote` in the memory of `src` to `local`: one copy, no help from
    /// the peer's processor.
    ///
    /// # Safety
    /// `local` is valid for writes of `len` bytes. `remote` needs no trust: an address that is not
    /// mapped in the peer is refused by the kernel.
    unsafe fn read(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let _ = (src, remote, local, len);
        Err(PeerMemoryError::NotPermitted)
    }

    /// True when the last `read` from a peer on this host took much longer than one of memory in this processor's cache takes.
    fn read_was_slow(&self) -> bool {
        false
    }

    /// Copies `len` bytes from `local` to `remote` in the memory of `dst`.
    ///
    /// # Safety
    /// `local` is valid for reads of `len` bytes. `remote` needs no trust, as for `read`, but `dst` has
    /// said that it may be written to.
    unsafe fn write(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let _ = (dst, remote, local, len);
        Err(PeerMemoryError::NotPermitted)
    }

    /// True when long messages from and to `peer`, on another host, had better be read out of the sender's memory by a network
    /// card (RDMA): the sender announces the message with what [`PeerMemory::expose`] says, and the receiver calls
    /// [`PeerMemory::rdma_read`].
    fn has_rdma(&self, peer: Rank) -> bool {
        let _ = peer;
        false
    }

    /// Lets `peer` read `len` bytes from `from` until [`PeerMemory::conceal`] is called with the same number, which no other
    /// exposed memory of this process has. For the same number again the answer is the same. `None`: it can't be.
    ///
    /// # Safety
    /// The memory is not freed before `conceal`.
    unsafe fn expose(
        &mut self,
        peer: Rank,
        number: u64,
        from: *const u8,
        len: u64,
    ) -> Option<Exposed> {
        let _ = (peer, number, from, len);
        None
    }

    /// Nobody reads the memory of this number any more.
    fn conceal(&mut self, number: u64) {
        let _ = number;
    }

    /// Begins to read the first `len` bytes, at least one, of what `src` has exposed. False: it can't be now. Otherwise
    /// [`Streams::streamed`](crate::Streams::streamed) tells the end under `cookie`, after a `poll` that returned more than 0:
    /// [`Streamed::Read`](crate::Streamed::Read) or [`Streamed::NotRead`](crate::Streamed::NotRead). Never blocks.
    ///
    /// # Safety
    /// `to` is valid for writes of `len` bytes until the end is told, and nobody else uses them.
    unsafe fn rdma_read(
        &mut self,
        src: Rank,
        exposed: Exposed,
        (to, len): (*mut u8, u64),
        cookie: u64,
    ) -> bool {
        let _ = (src, exposed, to, len, cookie);
        false
    }

    /// The address in our own address space of `len` bytes at `remote` in the memory of `src`, if that is memory which `src`
    /// lends. They stay readable for as long as this endpoint lives, and contain what `src` wrote before the last packet that
    /// has come from it.
    fn mapped(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        let _ = (src, remote, len);
        None
    }

    /// Shortest message that is faster copied out of mapped memory than sent in packets, bytes.
    fn min_mapped(&self) -> u64 {
        u64::MAX
    }

    /// Allocates `bytes` bytes that the ranks of our host can read by `mapped` and write by `mapped_mut`, aligned to a page.
    /// The memory is valid while this endpoint lives, or until it is taken back. `None`: there is no such memory.
    fn lend(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let _ = bytes;
        None
    }

    /// As `lend`, at this address, a multiple of a page. `None` also where something else lies there.
    fn lend_at(&mut self, address: usize, bytes: usize) -> Option<NonNull<u8>> {
        let _ = (address, bytes);
        None
    }

    /// Takes back memory of `lend` or `lend_at`. False: it is not memory of these.
    fn take_back(&mut self, memory: *mut u8) -> bool {
        let _ = memory;
        false
    }

    /// As `mapped`, for reading and writing: `len` bytes at `remote` in the memory that `owner` lends, which may be this process
    /// itself. Stores of other ranks are seen as in memory that threads share.
    fn mapped_mut(&mut self, owner: Rank, remote: u64, len: u64) -> Option<NonNull<u8>> {
        let _ = (owner, remote, len);
        None
    }
}
