//! StagingBuffers: where slots lie that are too long for the ring.
//!
//! The ranks of a host lend each other memory for them, one staging buffer for each slots. The rules are
//! those of the slots: what belongs to an operation's number is written by the owner, before the
//! slot of that number says how long it is, and stays until all members of the host have finished
//! the number [`DEPTH`] before the next one that lies there.
//!
//! The members agree on staging buffers when the first long collective comes: everybody offers one
//! ([`Process::offer_staging`]), looks at those of its host ([`Process::see_staging`]), and all say
//! whether that was possible ([`Process::agree_on_staging`]).

use super::slots::{long, short};
use super::{MOST, What, index, per_member};
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::Result;
use crate::pt2pt::pack_all;
use hpvm_fm::Transport;
use hpvm_wire::coll_slots::DEPTH;
use std::ptr::NonNull;

/// Most bytes of a slot on a staging buffer.
pub const LONG: u64 = 2 << 20;
/// Most bytes of operands that one head combines. More are better shared out.
const OPERANDS: u64 = 8 << 20;
/// Notes begin so far behind a page's first byte. Buffers of programs mostly begin with a page or 16
/// bytes later, and there are processors that copy twenty times as slowly from a page to an address
/// that is, within its page, a few bytes further on.
const SKEW: usize = 2048;
/// Notes of the same numbers as on the slots, and room for what nobody else reads.
const STAGING_BYTES: usize = SKEW + (DEPTH + 1) * LONG as usize;
/// A slot on the slots that stands for one on the staging buffer holds the length of that.
const WORD: usize = size_of::<u64>();

/// The staging buffers of the members on one host.
#[derive(Debug)]
pub struct StagingBuffers {
    own: NonNull<u8>,
    /// In the order of their numbers in the team; the own one, too.
    team: Box<[*const u8]>,
}

// SAFETY: staging buffers are plain memory, which stays where it is while the process is in the job. Who
// writes and reads what, and when, is ruled by the numbers of operations.
unsafe impl Send for StagingBuffers {}
// SAFETY: as above.
unsafe impl Sync for StagingBuffers {}

/// The staging buffer that belongs to one of our slots.
#[derive(Debug)]
pub(super) struct Own {
    memory: NonNull<u8>,
    /// Where nobody else is on this host, it need not be lent.
    private: Vec<u128>,
}

// SAFETY: as for `StagingBuffers`.
unsafe impl Send for Own {}
// SAFETY: as for `StagingBuffers`.
unsafe impl Sync for Own {}

impl Own {
    fn lent(transport: &mut impl Transport) -> Option<Own> {
        transport.lend_memory(STAGING_BYTES).map(|memory| Own { memory, private: Vec::new() })
    }

    fn private() -> Option<Own> {
        let mut words = vec![0; STAGING_BYTES / size_of::<u128>()];
        NonNull::new(words.as_mut_ptr().cast()).map(|memory| Own { memory, private: words })
    }
}

fn offset(number: u64) -> usize {
    SKEW + (number as usize % DEPTH) * LONG as usize
}

impl StagingBuffers {
    /// Our slot of operation `number`: `len` bytes of it, at most `LONG`.
    ///
    /// # Safety
    /// As for [`hpvm_wire::slots::CollSlots::post`], and nobody else of this process has this slice.
    #[expect(clippy::mut_from_ref, reason = "memory of its own, for which the numbers speak")]
    pub unsafe fn own(&self, number: u64, len: usize) -> &mut [u8] {
        let len = len.min(LONG as usize);
        // SAFETY: within the staging buffer; the caller's promise.
        unsafe { core::slice::from_raw_parts_mut(self.own.as_ptr().add(offset(number)), len) }
    }

    /// Room for `len` bytes, at most `LONG`, that only we use, within one operation.
    pub fn scratch(&self, len: usize) -> *mut u8 {
        debug_assert!(len <= LONG as usize);
        self.own.as_ptr().wrapping_add(SKEW + DEPTH * LONG as usize)
    }

    /// The slot of operation `number` of the member of the team at place `member`, for which there
    /// is `word` on its slots.
    ///
    /// # Safety
    /// As for [`hpvm_wire::slots::CollSlots::read`].
    pub unsafe fn read(&self, member: u32, number: u64, word: &[u8]) -> Result<&[u8]> {
        let Ok(word) = <[u8; WORD]>::try_from(word) else { return Err(short(word.len(), WORD)) };
        let len = u64::from_ne_bytes(word);
        if len > LONG {
            return Err(long(len as usize, LONG as usize));
        }
        let from = self.team[member as usize].wrapping_add(offset(number));
        // SAFETY: within that staging buffer; its owner leaves the slot alone until we have finished.
        Ok(unsafe { core::slice::from_raw_parts(from, len as usize) })
    }
}

/// What the slots say of a slot of `len` bytes on the staging buffer.
pub(super) fn word(len: usize) -> [u8; WORD] {
    (len as u64).to_ne_bytes()
}

impl What {
    /// Writes what member `rank` of `size` brings along to a slot; returns its bytes. Of a part that
    /// is longer than the slot, which only a wrong program has, there is only the length.
    ///
    /// # Safety
    /// The buffers are valid.
    pub(super) unsafe fn pack(&self, rank: u32, size: u32, out: &mut [u8]) -> usize {
        let part = match self {
            What::Barrier | What::Bcast { .. } => return 0,
            What::Reduce { send, recv, bytes, .. } => {
                let from = if send.is_null() { recv.cast_const() } else { *send };
                // SAFETY: the caller's promise; `longest_slot` has seen to the length.
                unsafe { core::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), *bytes) };
                return *bytes;
            }
            What::Allgather(sides) => sides.own_part(rank),
            What::Alltoall(sides) => sides.all_parts(size),
        };
        let len = part.packed_size() as usize;
        let Some(out) = out.get_mut(..len) else { return len };
        // SAFETY: the caller's promise.
        unsafe { pack_all(part, out) };
        len
    }
}

impl<T: Transport> Process<T> {
    /// The longest slot that `what` needs on `comm`, for which [`Process::way`] has said `Hierarchical`;
    /// `None`: it is better done by messages. `bytes` is as long as the slots with which members
    /// begin. The same on all members.
    pub fn longest_slot(&self, comm: &Comm, what: &What, bytes: u64) -> Option<u64> {
        let hosts = comm.hosts(|process| self.node(process))?;
        let longest = match what {
            What::Allgather(_) => bytes.saturating_mul(comm.size().into()),
            What::Alltoall(_) => {
                let block = bytes / u64::from(comm.size());
                let carried = bytes.max(block.saturating_mul(hosts.heaviest() as u64));
                match carried > MOST && per_member::is_long(block) {
                    true => per_member::longest(hosts, block, comm.size()).max(MOST + 1),
                    false => carried,
                }
            }
            // Messages need its datatype.
            What::Reduce { ty, .. } if ty.abi == 0 => return None,
            What::Reduce { .. } if bytes.saturating_mul(hosts.largest().into()) > OPERANDS => {
                return None;
            }
            _ => bytes,
        };
        (longest <= LONG).then_some(longest)
    }

    /// Whether slots of `bytes` bytes may be posted; `None`: the members have to agree first.
    #[inline]
    pub fn may_stage(&self, comm: &Comm, bytes: u64) -> Option<bool> {
        if bytes <= MOST {
            return Some(true);
        }
        comm.coll_slots().staging.get().map(Option::is_some)
    }

    /// The address of the staging buffer that belongs to our slots for `comm`; 0 if there is none. It is
    /// for the others of our host.
    pub fn offer_staging(&mut self, comm: &Comm) -> u64 {
        let Some(index) = index(comm).filter(|index| *index < self.coll_slots.len()) else {
            return 0;
        };
        let alone = comm.known_hosts().is_some_and(|h| h.team(h.host(comm.rank())).len() == 1);
        // One from a time when we were alone can't be seen by others.
        let fits = |own: &Own| alone || own.private.is_empty();
        if !self.coll_slots[index].staging.as_ref().is_some_and(fits) {
            let transport = self.fm.transport_mut();
            self.coll_slots[index].staging =
                if alone { Own::private() } else { Own::lent(transport) };
        }
        let staging = self.coll_slots[index].staging.as_ref();
        staging.map_or(0, |own| own.memory.as_ptr().expose_provenance() as u64)
    }

    /// Looks at the staging buffers of our host; `offers` are the addresses of all members, in the order of
    /// ranks. `None` if one can't be seen.
    pub fn see_staging(&mut self, comm: &Comm, offers: &[u64]) -> Option<StagingBuffers> {
        let own = self.coll_slots.get(index(comm)?)?.staging.as_ref()?.memory;
        let hosts = comm.known_hosts()?;
        let team = hosts.team(hosts.host(comm.rank()));
        let transport = self.fm.transport_mut();
        let seen = team.iter().map(|member| match *member == comm.rank() {
            true => Some(own.as_ptr().cast_const()),
            false => {
                let process = comm.group().process(*member)?;
                transport.window(process, offers[*member as usize], STAGING_BYTES as u64)
            }
        });
        Some(StagingBuffers { own, team: seen.collect::<Option<_>>()? })
    }

    /// All members have seen the staging buffers of their hosts, or one of them has not: `seen` is `None`.
    pub fn agree_on_staging(&self, comm: &Comm, seen: Option<StagingBuffers>) {
        // A second answer would be the same.
        let _ = comm.coll_slots().staging.set(seen);
    }
}
