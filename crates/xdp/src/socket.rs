//! AF_XDP sockets (XSK): opened by who may, used by any process that has been handed one.

use crate::ring::{Parts, Reader, Writer};
use crate::shared_ring::{Completion, Fill};
use crate::umem::{FRAME, Shares, Umem};
use core::ptr::NonNull;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Frames that have been read and wait to be given back together.
const SPENT: usize = 8;

/// A mapping of one ring.
struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to its owner.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping; the rings go with it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// An XSK, which takes what comes for one process by one queue of one interface, and sends.
pub struct Xsk {
    local_rank: u32,
    fill: Fill,
    transmit: Writer<libc::xdp_desc>,
    receive: Reader<libc::xdp_desc>,
    completion: Completion,
    /// Frames to send from.
    free: Vec<u64>,
    /// Frames that have been read and not given back yet.
    spent: Vec<u64>,
    /// The driver moves frames between the card and our memory itself.
    pub zero_copy: bool,
    /// Frames are in the transmit ring that the kernel has not been told of, or has not taken.
    pending: bool,
    // Dropped in this order: the socket, what it maps, the memory.
    fd: OwnedFd,
    _mappings: [Mapping; 4],
    umem: Umem,
}

fn option<T>(fd: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    let (at, len) = (core::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: a live value of the given length.
    match unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_XDP, name, at, len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn offsets(fd: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: zeros are a value of the structure.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { core::mem::zeroed() };
    let mut len = size_of_val(&offsets) as libc::socklen_t;
    let at = (&raw mut offsets).cast();
    // SAFETY: live memory of the given length.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, at, &mut len)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // Kernels before 5.4 tell less.
    if len as usize != size_of_val(&offsets) {
        Err(io::ErrorKind::Unsupported.into())
    } else {
        Ok(offsets)
    }
}

/// Maps one ring of `size` entries.
fn map<T>(
    fd: &OwnedFd,
    offset: &libc::xdp_ring_offset,
    size: u32,
    page: u64,
) -> io::Result<(Mapping, Parts<T>)> {
    let len = offset.desc as usize + size as usize * size_of::<T>();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
    let at = page as libc::off_t;
    // SAFETY: a new mapping at an address of the system's choice.
    let base =
        unsafe { libc::mmap(core::ptr::null_mut(), len, protection, flags, fd.as_raw_fd(), at) };
    let base = NonNull::new(base.cast::<u8>()).filter(|_| base != libc::MAP_FAILED);
    let base = base.ok_or_else(io::Error::last_os_error)?;
    let mapping = Mapping { base, len };
    let ends = [offset.producer, offset.consumer, offset.flags];
    if ends.iter().any(|end| *end as usize + 4 > len || end % 4 != 0) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: all offsets are inside of the mapping.
    let part = |offset: u64| unsafe { base.add(offset as usize) };
    let parts = Parts {
        producer: part(offset.producer).cast(),
        consumer: part(offset.consumer).cast(),
        flags: part(offset.flags).cast(),
        entries: part(offset.desc).cast(),
        size,
    };
    Ok((mapping, parts))
}

fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: integers only; the result is checked.
    let fd = unsafe { libc::socket(libc::AF_XDP, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether this process may open an XSK.
///
/// # Errors
/// The system refuses.
pub fn may_open() -> io::Result<()> {
    socket().map(drop)
}

/// Rings of its own that each XSK has.
fn own_rings(fd: &OwnedFd, shares: Shares) -> io::Result<()> {
    option(fd, libc::XDP_RX_RING, &shares.receive)?;
    option(fd, libc::XDP_TX_RING, &shares.transmit)
}

fn bind(fd: &OwnedFd, (interface, queue): (u32, u32), flags: u16, with: RawFd) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: with as u32,
    };
    let (at, len) = ((&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
    // SAFETY: a live address of the given length.
    match unsafe { libc::bind(fd.as_raw_fd(), at, len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens an XSK for each process that has a share of `umem`, with its rings; none is bound yet. A queue has one memory and one
/// pair of rings for its frames, which are mapped by the first of these sockets: before Linux 6.5 only as long as it is not
/// bound, and the others' own rings as long as those are not.
///
/// # Errors
/// The system refuses.
pub fn open_all(umem: &Umem) -> io::Result<Vec<OwnedFd>> {
    let (first, shares) = (socket()?, umem.shares());
    let register = libc::xdp_umem_reg {
        addr: umem.address(),
        len: umem.len() as u64,
        chunk_size: FRAME as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    option(&first, libc::XDP_UMEM_REG, &register)?;
    option(&first, libc::XDP_UMEM_FILL_RING, &shares.fill_entries())?;
    option(&first, libc::XDP_UMEM_COMPLETION_RING, &shares.completion_entries())?;
    own_rings(&first, shares)?;
    {
        let offsets = offsets(&first)?;
        let entries = shares.fill_entries();
        let (_mapping, parts) = map(&first, &offsets.fr, entries, libc::XDP_UMEM_PGOFF_FILL_RING)?;
        // SAFETY: the mapping outlives it; the kernel has made the entries of zeros.
        let fill = unsafe { Fill::new(parts) };
        umem.to_fill().for_each(|frame| _ = fill.give(frame));
    }
    let mut all = vec![first];
    for _ in 1..shares.local_size {
        let next = socket()?;
        own_rings(&next, shares)?;
        all.push(next);
    }
    Ok(all)
}

/// Binds the XSKs of all processes to a queue of an interface. `zero_copy`: only if the driver can do without copies. Nothing
/// has changed when the first can't be bound.
///
/// # Errors
/// The system refuses.
pub fn bind_all(
    all: &[OwnedFd],
    (interface, queue): (u32, u32),
    zero_copy: bool,
) -> io::Result<()> {
    let Some((first, others)) = all.split_first() else { return Ok(()) };
    let copies = if zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
    bind(first, (interface, queue), copies | libc::XDP_USE_NEED_WAKEUP, 0)?;
    others.iter().try_for_each(|next| {
        bind(next, (interface, queue), libc::XDP_SHARED_UMEM, first.as_raw_fd())
    })
}

impl Xsk {
    /// Uses an XSK that was opened for the process that has this local rank, and is not bound yet. `first`: that of local rank 0,
    /// by which the rings for everybody's frames are mapped.
    ///
    /// # Errors
    /// It is none, or the system refuses.
    pub fn new(fd: OwnedFd, first: &OwnedFd, umem: Umem, local_rank: u32) -> io::Result<Xsk> {
        let (at, shares) = (offsets(&fd)?, umem.shares());
        let (filled, completed) = (shares.fill_entries(), shares.completion_entries());
        let (fill_map, fill) = map(first, &at.fr, filled, libc::XDP_UMEM_PGOFF_FILL_RING)?;
        let (completion_map, completion) =
            map(first, &at.cr, completed, libc::XDP_UMEM_PGOFF_COMPLETION_RING)?;
        let (receive_map, receive) =
            map(&fd, &at.rx, shares.receive, libc::XDP_PGOFF_RX_RING as u64)?;
        let (transmit_map, transmit) =
            map(&fd, &at.tx, shares.transmit, libc::XDP_PGOFF_TX_RING as u64)?;
        // SAFETY: the mappings live as long as the socket; sizes are powers of two, and the entries were zeros.
        let (fill, completion) = unsafe { (Fill::new(fill), Completion::new(completion)) };
        // SAFETY: as above, and these are the only ends: the socket is this process's alone.
        let (receive, transmit) = unsafe { (Reader::new(receive), Writer::new(transmit)) };
        Ok(Xsk {
            local_rank,
            fill,
            transmit,
            receive,
            completion,
            free: umem.to_send_from(local_rank).collect(),
            spent: Vec::with_capacity(SPENT),
            zero_copy: false,
            pending: false,
            fd,
            _mappings: [fill_map, completion_map, receive_map, transmit_map],
            umem,
        })
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Puts a frame of `len` bytes, which `write` fills, into the transmit ring; `kick` sends. False: all frames are
    /// on their way.
    #[inline]
    pub fn push(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> bool {
        if self.free.is_empty() {
            self.reap();
        }
        let Some(at) = self.free.pop() else { return false };
        let Some(bytes) = self.umem.bytes_mut(at, len) else {
            self.free.push(at);
            return false;
        };
        write(bytes);
        if !self.transmit.write(libc::xdp_desc { addr: at, len: len as u32, options: 0 }) {
            self.free.push(at);
            return false;
        }
        self.pending = true;
        true
    }

    /// Takes back the frames that have left, and gives those of others to them.
    fn reap(&mut self) {
        while let Some(at) = self.completion.take() {
            self.umem.give_back(at);
        }
        let free = &mut self.free;
        self.umem.take_back(self.local_rank, |at| free.push(at));
    }

    /// Frames are waiting to be taken by the kernel.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// Sends what is in the transmit ring.
    ///
    /// # Errors
    /// The interface is down or gone. That there is no room at the moment is none: `is_pending` tells it.
    #[inline]
    pub fn kick(&mut self) -> io::Result<()> {
        self.transmit.publish();
        if self.zero_copy {
            // The driver takes the frames by itself unless it sleeps.
            self.pending = false;
            if !self.transmit.wants_call() {
                return Ok(());
            }
        }
        // SAFETY: no buffer and no address.
        let sent = unsafe {
            libc::sendto(self.fd(), core::ptr::null(), 0, libc::MSG_DONTWAIT, core::ptr::null(), 0)
        };
        if sent >= 0 {
            self.pending = !self.zero_copy && !self.transmit.is_taken();
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR | libc::ENOMEM) => {
                self.pending = true;
                Ok(())
            }
            _ => {
                // What lies in the ring goes once the interface is up again, if ever.
                self.pending = false;
                Err(error)
            }
        }
    }

    /// Gives the next frame that has come to `read`, and what that returns. `None`: there is none.
    #[inline]
    pub fn next<R>(&mut self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let Some(frame) = self.receive.take() else {
            if self.zero_copy && self.fill.wants_call() {
                self.wake();
            }
            return None;
        };
        // What does not lie in a frame is nonsense, read as an empty frame.
        let result = read(self.umem.bytes(frame.addr, frame.len as usize).unwrap_or(&[]));
        self.spent.push(frame.addr);
        if self.spent.len() == SPENT {
            self.spent.drain(..).for_each(|frame| _ = self.fill.give(frame));
        }
        Some(result)
    }

    /// The driver sleeps until it is told that there are frames to fill.
    #[cold]
    fn wake(&self) {
        let (none, flags) = (core::ptr::null_mut(), libc::MSG_DONTWAIT);
        // SAFETY: no buffer and no address.
        unsafe {
            libc::recvfrom(self.fd(), none, 0, flags, core::ptr::null_mut(), core::ptr::null_mut());
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.receive.is_empty()
    }

    /// Frames lost because there was no room for them, and because they were too long or otherwise wrong.
    pub fn lost(&self) -> u64 {
        // SAFETY: zeros are a value of the structure.
        let mut statistics: libc::xdp_statistics = unsafe { core::mem::zeroed() };
        let mut len = size_of_val(&statistics) as libc::socklen_t;
        let at = (&raw mut statistics).cast();
        // SAFETY: live memory of the given length.
        unsafe { libc::getsockopt(self.fd(), libc::SOL_XDP, libc::XDP_STATISTICS, at, &mut len) };
        statistics.rx_dropped + statistics.rx_ring_full
    }
}
