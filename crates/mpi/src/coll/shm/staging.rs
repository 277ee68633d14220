//! Staging buffers for data of hierarchical collectives that are too long for the data ring of a set of slots.
//!
//! The ranks of a host lend each other memory for such data, one staging buffer for each set. The rules are those of
//! slots: the owner writes the data of an operation before the slot of that operation says how long they are, and leaves
//! them alone until all members of the host have finished the operation. There is room for the data of [`STAGED`]
//! operations.
//!
//! The members agree on staging buffers when the first long collective comes: each member offers one
//! ([`Process::offer_staging`]), maps those of its host ([`Process::see_staging`]), and says whether that was possible
//! ([`Process::agree_on_staging`]).

use super::coll_args::{Shown, long, short};
use super::{CollArgs, MAX_SLOT, per_member};
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::Result;
use hpvm_fm::Transport;
use std::ptr::NonNull;

/// Most bytes of one operation's data in a staging buffer.
pub const MAX_STAGED: u64 = 2 << 20;
/// Operations that a member may be ahead of the slowest where data lie in staging buffers.
pub(super) const STAGED: usize = 4;
/// Most bytes of operands that one head combines. More are better shared out.
const OPERANDS: u64 = 8 << 20;
/// Data begin so far behind a page's first byte. Buffers of programs mostly begin with a page or 16
/// bytes later, and there are processors that copy twenty times as slowly from a page to an address
/// that is, within its page, a few bytes further on.
const SKEW: usize = 2048;
/// Room for the data of `STAGED` operations, and for what nobody else reads.
const STAGING_BYTES: usize = SKEW + (STAGED + 1) * MAX_STAGED as usize;
/// The slot of an operation whose data lie in a staging buffer holds their length: so many bytes.
pub(super) const WORD_BYTES: usize = size_of::<u64>();

/// The staging buffers of the members on one host.
#[derive(Debug)]
pub struct StagingBuffers {
    own: NonNull<u8>,
    /// By the index of their owner among the members of this host; the own one, too.
    team: Box<[*const u8]>,
}

// SAFETY: staging buffers are plain memory, which stays where it is while the process is in the job. Who
// writes and reads what, and when, is ruled by the numbers of operations.
unsafe impl Send for StagingBuffers {}
// SAFETY: as above.
unsafe impl Sync for StagingBuffers {}

/// The staging buffer that belongs to one of our sets of slots.
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
        transport.lend(STAGING_BYTES).map(|memory| Own { memory, private: Vec::new() })
    }

    fn private() -> Option<Own> {
        let mut words = vec![0; STAGING_BYTES / size_of::<u128>()];
        NonNull::new(words.as_mut_ptr().cast()).map(|memory| Own { memory, private: words })
    }
}

fn offset(number: u64) -> usize {
    SKEW + (number as usize % STAGED) * MAX_STAGED as usize
}

impl StagingBuffers {
    /// Where our data of operation `number` go: `len` bytes, at most `MAX_STAGED`.
    ///
    /// # Safety
    /// As for [`hpvm_wire::coll_slots::CollSlots::post`], and nobody else of this process has this slice.
    #[expect(clippy::mut_from_ref, reason = "memory of its own, for which the numbers speak")]
    pub unsafe fn own(&self, number: u64, len: usize) -> &mut [u8] {
        let len = len.min(MAX_STAGED as usize);
        // SAFETY: within the staging buffer; the caller's promise.
        unsafe { core::slice::from_raw_parts_mut(self.own.as_ptr().add(offset(number)), len) }
    }

    /// Room for `len` bytes, at most `MAX_STAGED`, that only we use, within one operation.
    pub fn scratch(&self, len: usize) -> *mut u8 {
        debug_assert!(len <= MAX_STAGED as usize);
        self.own.as_ptr().wrapping_add(SKEW + STAGED * MAX_STAGED as usize)
    }

    /// The data of operation `number` of the host's member with index `member`, whose slot holds `word`.
    ///
    /// # Safety
    /// As for [`hpvm_wire::coll_slots::CollSlots::read`].
    pub unsafe fn read(&self, member: u32, number: u64, word: &[u8]) -> Result<&[u8]> {
        let Ok(word) = <[u8; WORD_BYTES]>::try_from(word) else {
            return Err(short(word.len(), WORD_BYTES));
        };
        let len = u64::from_ne_bytes(word);
        if len > MAX_STAGED {
            return Err(long(len as usize, MAX_STAGED as usize));
        }
        let from = self.team[member as usize].wrapping_add(offset(number));
        // SAFETY: within that staging buffer; its owner leaves the data alone until we have finished.
        Ok(unsafe { core::slice::from_raw_parts(from, len as usize) })
    }
}

/// What a slot holds whose `len` bytes of data lie in the staging buffer.
pub(super) fn word(len: usize) -> [u8; WORD_BYTES] {
    (len as u64).to_ne_bytes()
}

impl CollArgs {
    /// Writes what member `rank` of `size` brings along to `out`; returns its length. Of data that are longer
    /// than `out`, which only a wrong program has, there is only the length.
    ///
    /// # Safety
    /// The buffers are valid.
    pub(super) unsafe fn pack(&self, rank: u32, size: u32, out: &mut [u8]) -> usize {
        // A broadcast begins at its root alone; the others only say that they are there.
        let shown = match self {
            CollArgs::Bcast { .. } => Shown::Nothing,
            _ => self.shown_whole(rank, size),
        };
        let len = shown.len();
        let Some(out) = out.get_mut(..len) else { return len };
        // SAFETY: the caller's promise.
        unsafe { shown.write(out) };
        len
    }
}

impl<T: Transport> Process<T> {
    /// Most bytes that a member shows while `args` is done on `comm`, which uses slots in each host; `None`: messages are
    /// the better way. `bytes` is what members show first. The same on all members.
    pub fn longest_slot(&self, comm: &Comm, args: &CollArgs, bytes: u64) -> Option<u64> {
        let hosts = comm.hosts(&self.nodes)?;
        let longest = match args {
            CollArgs::Allgather(_) => bytes.saturating_mul(comm.size().into()),
            CollArgs::Alltoall(_) => {
                let block = bytes / u64::from(comm.size());
                let carried = bytes.max(block.saturating_mul(hosts.heaviest() as u64));
                match carried > MAX_SLOT && per_member::is_long(block) {
                    true => per_member::longest(hosts, block, comm.size()).max(MAX_SLOT + 1),
                    false => carried,
                }
            }
            // Messages need its datatype.
            CollArgs::Reduce { ty, .. } if ty.abi == 0 => return None,
            // Nobody has measured them.
            CollArgs::Gather { .. } | CollArgs::Scatter { .. } => return None,
            CollArgs::Reduce { .. } if bytes.saturating_mul(hosts.largest().into()) > OPERANDS => {
                return None;
            }
            _ => bytes,
        };
        (longest <= MAX_STAGED).then_some(longest)
    }

    /// Whether members may show `bytes` bytes; `None`: they have to agree on staging buffers first.
    #[inline]
    pub fn may_stage(&self, comm: &Comm, bytes: u64) -> Option<bool> {
        if bytes <= MAX_SLOT {
            return Some(true);
        }
        comm.coll_slots().staging.get().map(Option::is_some)
    }

    /// The address of the staging buffer that belongs to our set for `comm`, for the others of our host; 0 if
    /// there is none.
    pub fn offer_staging(&mut self, comm: &Comm) -> u64 {
        let Some(index) = comm.coll_slots().index().filter(|index| *index < self.coll_slots.len())
        else {
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
        let own = self.coll_slots.get(comm.coll_slots().index()?)?.staging.as_ref()?.memory;
        let hosts = comm.known_hosts()?;
        let team = hosts.team(hosts.host(comm.rank()));
        let transport = self.fm.transport_mut();
        let seen = team.iter().map(|member| match *member == comm.rank() {
            true => Some(own.as_ptr().cast_const()),
            false => {
                let process = comm.group().process(*member)?;
                transport.mapped(process, offers[*member as usize], STAGING_BYTES as u64)
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
