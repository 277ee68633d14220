//! Reads of peers' memory (fi_rma(3)): whoever has a message exposes its memory, and the receiver's card fetches it.
//!
//! What the owner of the memory tells a peer is an [`Exposed`]. A peer that knows it may read the memory until it is
//! concealed, and so may anybody else in the provider's network who guesses the key: libfabric has no authentication.

use crate::abi::{self, DomainAttr, FidEp, FidMr};
use crate::endpoint::Endpoint;
use crate::object::{Object, function};
use crate::open::register;
use core::ffi::{c_int, c_void};
use std::collections::{HashMap, VecDeque};

/// Operations under way at a time: a long read is made of several.
pub(crate) const READS: usize = 32;
/// Bytes of one operation, so that several reads take turns.
const READ_BYTES_MAX: usize = 1 << 20;
/// Providers that reach other hosts through the kernel's sockets. Streams are faster: see bench/NOTES.md.
const BY_SOCKETS: &[&str] = &["tcp", "udp", "sockets", "net", "shm"];

/// Whether long messages are read by the provider out of their senders' memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rdma {
    /// By providers that drive a card.
    #[default]
    Auto,
    /// By every provider that can.
    Always,
    Never,
}

impl Rdma {
    /// Whether it is wanted of a provider.
    pub(crate) fn is_wanted_of(self, provider: &str) -> bool {
        let core = provider.split(';').next().unwrap_or(provider);
        match self {
            Rdma::Auto => !BY_SOCKETS.contains(&core),
            Rdma::Always => true,
            Rdma::Never => false,
        }
    }
}

/// What a peer needs to read memory that is exposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// The address of the first byte as the provider counts.
    pub address: u64,
    pub key: u64,
}

/// A read that has ended, under its reader's number: all bytes are there, or it has failed and none of its memory is
/// written any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadEnd {
    Came(u64),
    Failed(u64),
}

/// A read under way.
struct Read {
    number: u64,
    /// The peer, and what [`Endpoint::failed`] calls it.
    from: u64,
    peer: u32,
    exposed: Exposed,
    to: *mut u8,
    len: usize,
    /// Bytes of operations that have begun, and operations that have not ended.
    cut: usize,
    on_way: u32,
    failed: bool,
    registration: Option<Object<FidMr>>,
}

impl Read {
    fn is_over(&self) -> bool {
        self.on_way == 0 && (self.failed || self.cut == self.len)
    }
}

/// The reads of an endpoint, and the memory that it exposes.
pub(crate) struct Reads {
    call: abi::Read,
    mr_mode: c_int,
    /// Keys are below.
    keys_end: u64,
    next_key: u64,
    bytes_max: usize,
    exposed: HashMap<u64, (Object<FidMr>, Exposed)>,
    under_way: Vec<Read>,
    /// The number of the read that each operation belongs to.
    operations: Vec<u64>,
    free: Vec<u32>,
    ended: VecDeque<ReadEnd>,
}

// SAFETY: as of the endpoint that it belongs to: the pointers are used by whoever holds that.
unsafe impl Send for Reads {}

impl Reads {
    /// `None`: the endpoint has no function for it.
    pub fn of(ep: &Object<FidEp>, domain: &DomainAttr, longest: usize) -> Option<Reads> {
        // SAFETY: an open object and its table.
        let call = unsafe { function!((*ep.as_ptr()).rma, abi::RmaOps, read) }?;
        let bits = (8 * domain.mr_key_size).clamp(8, 63);
        Some(Reads {
            call,
            mr_mode: domain.mr_mode,
            keys_end: 1 << bits,
            next_key: 0,
            bytes_max: READ_BYTES_MAX.min(longest).max(1),
            exposed: HashMap::new(),
            under_way: Vec::new(),
            operations: vec![0; READS],
            free: (0..READS as u32).collect(),
            ended: VecDeque::new(),
        })
    }

    pub fn are_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// A provider without a card needs this process for reads of its own and of others.
    pub fn need_progress(&self) -> bool {
        !self.under_way.is_empty() || !self.exposed.is_empty()
    }

    pub fn have_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Operations could begin.
    pub fn want_to_begin(&self) -> bool {
        !self.free.is_empty()
            && self.under_way.iter().any(|read| !read.failed && read.cut < read.len)
    }

    /// Registrations stay open until the process ends.
    pub fn leave(&mut self) {
        self.exposed.values_mut().for_each(|(registration, _)| registration.leave());
        let reading = self.under_way.iter_mut().filter_map(|read| read.registration.as_mut());
        reading.for_each(Object::leave);
    }

    /// A key that no memory of ours has, if there is one: else the provider refuses it.
    fn new_key(&mut self) -> u64 {
        for _ in 0..=self.exposed.len() {
            self.next_key = (self.next_key + 1) % self.keys_end;
            if !self.exposed.values().any(|(_, exposed)| exposed.key == self.next_key) {
                break;
            }
        }
        self.next_key
    }

    /// Moves reads that are over to those that have ended.
    fn sweep(&mut self) {
        let ended = &mut self.ended;
        self.under_way.retain(|read| {
            let over = read.is_over();
            if over {
                let end = if read.failed { ReadEnd::Failed } else { ReadEnd::Came };
                ended.push_back(end(read.number));
            }
            !over
        });
    }
}

impl Endpoint {
    /// Whether peers' memory can be read, and ours be exposed.
    pub fn has_rdma(&self) -> bool {
        self.reads.is_some()
    }

    /// Makes `len` bytes from `from` readable for peers, under a number of the caller's. The same number again gives the
    /// same answer. `None`: the provider refuses, for example because too much memory is locked.
    ///
    /// # Safety
    /// The memory stays allocated until it is concealed.
    pub unsafe fn expose(&mut self, number: u64, from: *const u8, len: usize) -> Option<Exposed> {
        let reads = self.reads.as_mut()?;
        if let Some((_, exposed)) = reads.exposed.get(&number) {
            return Some(*exposed);
        }
        let (all, access) = ((from.cast(), len), (abi::FI_REMOTE_READ, reads.new_key()));
        let (library, domain, mode) = (&self.library, &self.domain_object, reads.mr_mode);
        // SAFETY: the caller's promise.
        let registration =
            unsafe { register(library, domain, all, access, &self.ep, mode) }.ok()?;
        let by_address = mode & abi::FI_MR_VIRT_ADDR != 0;
        let address = if by_address { from.addr() as u64 } else { 0 };
        // SAFETY: an open registration.
        let exposed = Exposed { address, key: unsafe { (*registration.as_ptr()).key } };
        reads.exposed.insert(number, (registration, exposed));
        Some(exposed)
    }

    /// Nobody is to read the memory of this number any more.
    pub fn conceal(&mut self, number: u64) {
        if let Some(reads) = &mut self.reads {
            reads.exposed.remove(&number);
        }
    }

    /// Begins to read the first `len` bytes, at least one, of memory that the peer `from` has exposed. [`Endpoint::read_end`]
    /// tells the end under `number`, which no other read has. `peer`: what [`Endpoint::failed`] calls the peer. False: it
    /// can't be.
    ///
    /// # Safety
    /// `to` is valid for writes of `len` bytes until the end is told, and nobody else uses them.
    pub unsafe fn read(
        &mut self,
        number: u64,
        (from, peer): (u64, u32),
        exposed: Exposed,
        (to, len): (*mut u8, usize),
    ) -> bool {
        let Some(reads) = &mut self.reads else { return false };
        let registration = if reads.mr_mode & abi::FI_MR_LOCAL == 0 {
            None
        } else {
            let (all, access) = ((to.cast_const().cast(), len), (abi::FI_READ, reads.new_key()));
            let (library, domain, mode) = (&self.library, &self.domain_object, reads.mr_mode);
            // SAFETY: the caller's promise.
            match unsafe { register(library, domain, all, access, &self.ep, mode) } {
                Ok(registration) => Some(registration),
                Err(_) => return false,
            }
        };
        reads.under_way.push(Read {
            number,
            from,
            peer,
            exposed,
            to,
            len,
            cut: 0,
            on_way: 0,
            failed: false,
            registration,
        });
        self.begin_reads();
        true
    }

    /// A read that has ended.
    #[inline]
    pub fn read_end(&mut self) -> Option<ReadEnd> {
        self.reads.as_mut()?.ended.pop_front()
    }

    /// Whether [`Endpoint::read_end`] has something.
    #[inline]
    pub fn has_read_end(&self) -> bool {
        self.reads.as_ref().is_some_and(Reads::have_ended)
    }

    /// A read is under way, or its end has not been told.
    pub fn is_reading(&self) -> bool {
        let reads = self.reads.as_ref();
        reads.is_some_and(|reads| reads.are_under_way() || reads.have_ended())
    }

    /// Begins as many operations as there is room for.
    pub(crate) fn begin_reads(&mut self) {
        let first = self.contexts_of_reads();
        let Some(reads) = &mut self.reads else { return };
        let mut over = false;
        'all: for read in &mut reads.under_way {
            while !read.failed && read.cut < read.len {
                let Some(operation) = reads.free.pop() else { break 'all };
                let context = self.contexts.at(first + operation as usize);
                let len = (read.len - read.cut).min(reads.bytes_max);
                let to: *mut c_void = read.to.wrapping_add(read.cut).cast();
                // SAFETY: an open registration.
                let descriptor =
                    read.registration.as_ref().map(|mr| unsafe { (*mr.as_ptr()).mem_desc });
                let descriptor = descriptor.unwrap_or(std::ptr::null_mut());
                let (address, key) =
                    (read.exposed.address.wrapping_add(read.cut as u64), read.exposed.key);
                let ep = self.ep.as_ptr();
                // SAFETY: an open endpoint; the memory is the caller's of `read`, and the context is not touched, until
                // the operation has ended.
                let result = unsafe {
                    (reads.call)(ep, to, len, descriptor, read.from, address, key, context)
                };
                match result {
                    0 => {
                        reads.operations[operation as usize] = read.number;
                        read.cut += len;
                        read.on_way += 1;
                    }
                    error => {
                        reads.free.push(operation);
                        if error == -abi::FI_EAGAIN {
                            break 'all;
                        }
                        self.tally.errors += 1;
                        self.failed.push(read.peer);
                        read.failed = true;
                        over |= read.is_over();
                    }
                }
            }
        }
        if over {
            reads.sweep();
        }
    }

    /// An operation has ended.
    pub(crate) fn read_done(&mut self, operation: usize, well: bool) {
        let Some(reads) = &mut self.reads else { return };
        // What the library says is checked: an operation that is not under way ends nothing.
        if operation >= READS || reads.free.contains(&(operation as u32)) {
            return;
        }
        reads.free.push(operation as u32);
        let number = reads.operations[operation];
        let Some(read) = reads.under_way.iter_mut().find(|read| read.number == number) else {
            return;
        };
        read.on_way -= 1;
        if !well && !read.failed {
            read.failed = true;
            self.failed.push(read.peer);
        }
        if read.is_over() {
            reads.sweep();
        }
    }

    /// The first of the contexts for operations of reads.
    fn contexts_of_reads(&self) -> usize {
        self.contexts.count() - if self.reads.is_some() { READS } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_read_and_sockets_stream() {
        for (provider, auto) in [
            ("verbs;ofi_rxm", true),
            ("efa", true),
            ("cxi", true),
            ("tcp;ofi_rxm", false),
            ("udp;ofi_rxd", false),
        ] {
            assert_eq!(Rdma::Auto.is_wanted_of(provider), auto, "{provider}");
            assert!(Rdma::Always.is_wanted_of(provider) && !Rdma::Never.is_wanted_of(provider));
        }
    }
}
