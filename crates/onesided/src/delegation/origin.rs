//! The origin's side: whether to ask, and how long to wait.

use super::owner::MAX_READ;
use super::{OwnerSlot, What, result_at};
use crate::error::{Error, Result};
use crate::kind::AtomicOp;
use crate::messages::request::{Elements, Swap};
use crate::region::Target;
use crate::runs::{Part, Run, Update};
use crate::{Rank, RegionKey, mapped};
use hpvm_fm::{Fm, PerPeer, Transport};
use hpvm_sync::spin_hint;
use hpvm_wire::delegation::{Attention, DATA, Progress, Request, Taken};

/// Polls for an owner to claim: one to three microseconds, by processor, as the kernel takes. One that polls yields its
/// processor now and then, for half of that.
const POLLS: u32 = 64;
/// After as many owners in a row that did not claim, as many bits of operations go by the kernel before the next
/// one is asked.
const MAX_MISSES: u32 = 6;
/// Operations by the kernel on memory of an owner that sleeps in MPI before it is called: those take as long as
/// the wake-up.
const BEFORE_CALL: u32 = 32;
/// Bytes of an update by the kernel that take as long as one of those operations.
const BYTES_OF_OPERATION: usize = 8 * 1024;
/// Bytes of an update that its owner may let wait for another [`POLLS`]: by the kernel they take two microseconds more.
const BYTES_OF_POLLS: usize = 16 * 1024;
/// After each call that came to nothing twice as many, up to as many bits.
const MAX_CALLS: u32 = 8;
/// Longest update that is done by owners, bytes, in some five parts, each of which has to be done before the next one. Longer ones take
/// longer than the kernel's calls where the processors have no cache in common.
const MAX_UPDATED: usize = 16 * 1024;
/// Longest run that is copied by owners, bytes, in three parts: from 16 KiB on two copies take as long as the kernel's call.
const MAX_COPIED: usize = 8 * 1024;
/// Polls for an owner that has claimed before the processor is offered to others: it may need it.
const SPINS: u32 = 4096;
/// Offers of the processor from one look at whether an owner that has claimed still lives to the next.
const YIELDS: u32 = 256;

/// Polls for an owner to claim an update of `len` bytes whose operands it reads by itself.
fn polls_for(len: usize) -> u32 {
    POLLS * (len / BYTES_OF_POLLS).max(1) as u32
}

/// What an origin remembers of an owner.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    /// Times in a row that it has not claimed what was posted.
    misses: u32,
    /// Operations that are not to be posted for that.
    skips: u32,
    /// Operations since it was last called, while it sleeps.
    sleeps: u32,
    /// Calls since it last did something.
    calls: u32,
}

/// What this rank remembers of owners.
#[derive(Default)]
pub(crate) struct Patience(PerPeer<Memory>);

impl Patience {
    /// Whether to ask the owner of `slot` for an operation on `len` bytes. Calls it where it sleeps and is asked for often, or for
    /// much. An operation that takes the kernel far longer than an owner can be waited for in vain is always worth asking.
    fn asks<T: Transport>(&mut self, fm: &Fm<T>, owner: Rank, slot: OwnerSlot, len: usize) -> bool {
        let attention = slot.get().attention();
        if attention == Attention::Away {
            return false;
        }
        let memory = self.0.at(owner);
        if attention != Attention::Polls {
            let operations = (len / BYTES_OF_OPERATION).max(1) as u32;
            memory.sleeps = memory.sleeps.saturating_add(operations);
            if memory.sleeps >= BEFORE_CALL << memory.calls {
                let calls = (memory.calls + 1).min(MAX_CALLS);
                // What it did before it slept counts no more.
                *memory = Memory { calls, ..Memory::default() };
                slot.get().set_attention(Attention::Called);
                fm.transport().call(owner);
            }
            return false;
        }
        let skips = memory.skips != 0 && len <= MAX_UPDATED;
        memory.skips = memory.skips.saturating_sub(1);
        !skips
    }

    /// The owner has done what was asked, if `claimed`, or has let us wait in vain.
    fn learn(&mut self, owner: Rank, claimed: bool) {
        let memory = self.0.at(owner);
        if claimed {
            *memory = Memory::default();
        } else {
            memory.misses = (memory.misses + 1).min(MAX_MISSES);
            memory.skips = (1 << memory.misses) - 1;
        }
    }
}

/// What it takes to ask the owner of a region.
pub(crate) struct Delegate<'a, T: Transport> {
    pub fm: &'a mut Fm<T>,
    pub me: Rank,
    pub patience: &'a mut Patience,
    /// Operations are on their way in packets, which this one would overtake.
    pub behind: bool,
    pub target: &'a Target,
}

impl<'a, T: Transport> Delegate<'a, T> {
    /// Has the owner put or get a run. False: the kernel is to do it, all of it.
    ///
    /// # Safety
    /// The run's memory is valid for reading or writing.
    pub unsafe fn copy(&mut self, what: What, run: &Run) -> Result<bool> {
        let mut rest = *run;
        if rest.len == 0 || rest.len > MAX_COPIED {
            return Ok(false);
        }
        while let Some(part) = rest.cut(DATA, 1) {
            // SAFETY: `part` is no longer than `DATA`; the caller's promise.
            if !unsafe { self.copy_part(what, part)? } {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// # Safety
    /// As for `copy`; no longer than `DATA`.
    #[inline]
    unsafe fn copy_part(&mut self, what: What, part: Run) -> Result<bool> {
        let Run { local, offset, len } = part;
        let puts = what == What::Put;
        // SAFETY: the caller's promise.
        let write = |data| unsafe {
            if puts {
                mapped::copy(local, data, len);
            }
        };
        // SAFETY: as above.
        let read = |data| unsafe {
            if !puts {
                mapped::copy(data, local, len);
            }
        };
        self.ask(what, offset, len, write, read)
    }

    /// Has the owner update elements; as many as it does. What is left is in `update`.
    ///
    /// # Safety
    /// The operands are readable and, if values are fetched, their places writable.
    pub unsafe fn update(&mut self, element: Elements, update: &mut Update) -> Result<()> {
        let Elements { kind, op, size, .. } = element;
        if update.count.saturating_mul(size) > MAX_UPDATED {
            let unfetched = update.fetch.is_null() && op != AtomicOp::NoOp;
            return if unfetched { self.update_unfetched(element, update) } else { Ok(()) };
        }
        let fetches = !update.fetch.is_null();
        let room = if fetches && op != AtomicOp::NoOp { DATA / 2 } else { DATA };
        while update.count != 0 {
            let mut rest = *update;
            let Some(part) = rest.cut(room, size) else { return Ok(()) };
            let len = part.count * size;
            // SAFETY: operands and result have room; the rest is the caller's promise.
            let write = |data| unsafe {
                if op != AtomicOp::NoOp {
                    mapped::copy(part.operand, data, len);
                }
            };
            // SAFETY: as above.
            let read = |data: *const u8| unsafe {
                if fetches {
                    mapped::copy(data.add(result_at(op, len)), part.fetch, len);
                }
            };
            let what = What::Update { kind, op, fetches };
            if !self.ask(what, part.offset, len, write, read)? {
                return Ok(());
            }
            *update = rest;
        }
        Ok(())
    }

    /// As `update`, of many elements whose values before nobody asks for: the owner reads the operands where they are.
    fn update_unfetched(&mut self, element: Elements, update: &mut Update) -> Result<()> {
        let Elements { kind, op, size, .. } = element;
        let what = What::UpdateFrom { kind, op }.code();
        let Some((taken, slot)) = self.take(update.count * size) else { return Ok(()) };
        let mut rest = *update;
        while let Some(part) = rest.cut(MAX_READ, size) {
            let len = part.count * size;
            let operands = part.operand.expose_provenance() as u64;
            // SAFETY: there is room for an address.
            let write = |data: *mut u8| unsafe { data.cast::<u64>().write_unaligned(operands) };
            taken.post(self.request(what, part.offset, len), write);
            if !self.wait(&taken, slot, polls_for(len))? {
                break;
            }
            *update = rest;
        }
        Ok(())
    }

    /// Has the owner compare and swap one element. False: the kernel is to do it.
    ///
    /// # Safety
    /// The result's place is writable for an element.
    pub unsafe fn compare_and_swap(&mut self, swap: &Swap) -> Result<bool> {
        let Swap { offset, kind, size, .. } = *swap;
        // SAFETY: three elements of at most `MAX_SWAPPED` bytes have room; the rest is the caller's promise.
        let write = |data: *mut u8| unsafe {
            mapped::copy(swap.compare.as_ptr(), data, size);
            mapped::copy(swap.swap.as_ptr(), data.add(size), size);
        };
        // SAFETY: as above.
        let read = |data: *const u8| unsafe { mapped::copy(data.add(2 * size), swap.result, size) };
        self.ask(What::Swap { kind }, offset, size, write, read)
    }

    /// Takes the owner's slot for an operation on `len` bytes, if it polls and nobody else has it.
    #[inline]
    fn take(&mut self, len: usize) -> Option<(Taken<'a>, OwnerSlot)> {
        let slot = self.target.slot?;
        if self.behind || !self.patience.asks(self.fm, self.target.key.rank, slot, len) {
            return None;
        }
        Some((slot.get().take(self.me)?, slot))
    }

    #[inline]
    fn request(&self, what: u32, offset: u64, len: usize) -> Request {
        let RegionKey { id: region, generation, .. } = self.target.key;
        Request { what, region, generation, len: len as u32, offset }
    }

    /// Has the owner do an operation on `len` bytes, if it polls. True: it is done.
    #[inline]
    fn ask(
        &mut self,
        what: What,
        offset: u64,
        len: usize,
        write: impl FnOnce(*mut u8),
        read: impl FnOnce(*const u8),
    ) -> Result<bool> {
        let Some((taken, slot)) = self.take(len) else { return Ok(false) };
        taken.post(self.request(what.code(), offset, len), write);
        let done = self.wait(&taken, slot, POLLS)?;
        if done {
            taken.read(read);
        }
        Ok(done)
    }

    /// Waits until what was posted is done, or nobody will do it any more: an owner that has not claimed it after `patience` polls
    /// will not. True: it is done.
    #[inline]
    fn wait(&mut self, taken: &Taken<'_>, slot: OwnerSlot, patience: u32) -> Result<bool> {
        let mut polls = 0;
        loop {
            match taken.progress() {
                Progress::Done => break,
                Progress::Refused => return Ok(false),
                Progress::Posted if polls >= patience && taken.withdraw() => {
                    // It says so again when it polls again.
                    slot.get().lose_attention();
                    self.patience.learn(self.target.key.rank, false);
                    return Ok(false);
                }
                Progress::Claimed if polls >= SPINS => {
                    self.offer_processor(polls)?;
                }
                _ => spin_hint(),
            }
            polls = polls.wrapping_add(1);
        }
        self.patience.learn(self.target.key.rank, true);
        Ok(true)
    }

    /// While an owner that has claimed is not done: it does not run, or will never be done.
    #[cold]
    fn offer_processor(&mut self, polls: u32) -> Result<()> {
        std::thread::yield_now();
        if !polls.is_multiple_of(YIELDS) {
            return Ok(());
        }
        let RegionKey { rank, id: region, .. } = self.target.key;
        match self.fm.transport().life().is_some_and(|life| life.is_gone(rank)) {
            true => Err(Box::new(Error::Gone { rank, region })),
            false => Ok(()),
        }
    }
}
