//! The owner's side: what others have posted is done when it polls. What stands in the slot is an allegation.

use super::{OwnerSlot, What, result_at};
use crate::apply::swap_plain;
use crate::kind::{AtomicOp, Kind};
use crate::messages::MAX_SWAPPED;
use crate::messages::packets::RegionName;
use crate::region::Region;
use crate::{OneSided, mapped};
use hpvm_fm::{Fm, Transport};
use hpvm_wire::delegation::{Attention, Claimed, DATA};

/// Longest part of an update whose operands the owner reads by itself, bytes: they are read into its own cache, and it is away from its
/// own work for some 25 microseconds.
pub(super) const MAX_READ: usize = 256 * 1024;

impl OneSided {
    /// Memory has been exposed that ranks of our host reach through the kernel.
    pub(crate) fn offer_slot<T: Transport>(&mut self, fm: &Fm<T>) {
        if self.slot.is_none() {
            self.slot = fm.transport().delegation(self.me).map(OwnerSlot::new);
        }
    }

    /// Nothing is exposed any more.
    pub(crate) fn retract_slot(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.get().set_attention(Attention::Away);
        }
    }

    /// Whether ranks of our host leave operations for this one to do.
    #[inline(always)]
    pub fn offers(&self) -> bool {
        self.slot.is_some()
    }

    /// Does what another rank has left for this one to do. To be called again and again while this rank waits for
    /// something else and has its processor for itself. True: there was something, so more is to be expected.
    #[inline(always)]
    pub fn poll_delegations<T: Transport>(&mut self, fm: &mut Fm<T>) -> bool {
        let Some(slot) = self.slot else { return false };
        let attention = slot.get().attention();
        match attention {
            Attention::Polls => {}
            _ => slot.get().set_attention(Attention::Polls),
        }
        self.do_posted(fm) || attention == Attention::Called
    }

    /// As `poll_delegations`, of a rank that does not say that it polls.
    #[inline(always)]
    pub fn do_posted<T: Transport>(&mut self, fm: &mut Fm<T>) -> bool {
        let Some(slot) = self.slot else { return false };
        slot.get().is_posted() && self.attend(fm, slot)
    }

    /// To be called before this rank goes to sleep while it waits: whoever has much to do here wakes it.
    pub fn look_away(&mut self) {
        if let Some(slot) = self.slot {
            slot.get().set_attention(Attention::Sleeps);
        }
    }

    /// Whether somebody has woken this rank because it has much to do here. Until the next `poll_delegations`.
    pub fn is_called(&self) -> bool {
        self.slot.is_some_and(|slot| slot.get().attention() == Attention::Called)
    }

    #[inline(never)]
    fn attend<T: Transport>(&mut self, fm: &mut Fm<T>, slot: OwnerSlot) -> bool {
        let Some(claimed) = slot.get().claim() else { return false };
        if self.act(fm, &claimed).is_some() {
            claimed.finish();
        }
        true
    }

    /// Does what has been claimed. `None`: it is not to be done, or not now.
    fn act<T: Transport>(&self, fm: &mut Fm<T>, claimed: &Claimed<'_>) -> Option<()> {
        let request = claimed.request();
        let name = RegionName { id: request.region, generation: request.generation };
        let region = self.regions.get(name.id, name.generation)?;
        let at = self.regions.find(name, request.offset, u64::from(request.len)).ok()?;
        let len = request.len as usize;
        let what = What::of(request.what)?;
        if let What::UpdateFrom { kind, op } = what {
            return self.read_and_update(fm, claimed, (kind, op), region, (at, len));
        }
        if len > DATA {
            return None;
        }
        match what {
            // SAFETY: inside the region, and inside the data.
            What::Put => claimed.data(|data| unsafe { mapped::copy(data, at, len) }),
            // SAFETY: as above.
            What::Get => claimed.data(|data| unsafe { mapped::copy(at, data, len) }),
            what => claimed.data(|data| self.update(region, what, at, len, data))?,
        }
        Some(())
    }

    /// Updates `len` bytes of elements at `at`, inside the region, with operands that lie in the origin's memory.
    fn read_and_update<T: Transport>(
        &self,
        fm: &mut Fm<T>,
        claimed: &Claimed<'_>,
        (kind, op): (Kind, AtomicOp),
        region: &Region,
        (at, len): (*mut u8, usize),
    ) -> Option<()> {
        if !(1..=MAX_READ).contains(&len) {
            return None;
        }
        // SAFETY: there is an address, or what somebody says to be one, which the kernel checks.
        let from = claimed.data(|data| unsafe { data.cast::<u64>().read_unaligned() });
        let mut operands: Vec<u8> = Vec::with_capacity(len);
        let to = operands.as_mut_ptr();
        // SAFETY: there is room for so many bytes; whatever lies there at the origin are operands.
        unsafe { fm.transport_mut().read(claimed.origin(), from, to, len).ok()? };
        self.update(region, What::Update { kind, op, fetches: false }, at, len, to)
    }

    /// Atomic operations on `len` bytes at `at`, with `DATA` bytes at `data`, or with as many as operands where nothing is fetched. Others update the elements through the kernel, under the
    /// lock, for which this rank does not wait: its holder may have been killed.
    fn update(
        &self,
        region: &Region,
        what: What,
        at: *mut u8,
        len: usize,
        data: *mut u8,
    ) -> Option<()> {
        if !region.key.is_locked() {
            return None;
        }
        match what {
            What::Update { kind, op, fetches } => {
                let size = self.appliers.size(kind, op)?;
                let result = result_at(op, len);
                if !len.is_multiple_of(size) || (fetches && result + len > DATA) {
                    return None;
                }
                let none = core::ptr::null_mut();
                let fetch = if fetches { data.wrapping_add(result) } else { none };
                let _held = region.control.lock().try_hold(self.me)?;
                // SAFETY: inside the region, and inside the data; the lock is held.
                unsafe {
                    self.appliers.update_plain(at, len / size, kind, op, data, fetch);
                }
            }
            What::Swap { kind } => {
                let size = self.appliers.size(kind, AtomicOp::Replace)?;
                if len != size || size > MAX_SWAPPED {
                    return None;
                }
                let (swap, result) = (data.wrapping_add(size), data.wrapping_add(2 * size));
                let _held = region.control.lock().try_hold(self.me)?;
                // SAFETY: as above.
                unsafe { swap_plain(at, size, data, swap, result) }
            }
            What::Put | What::Get | What::UpdateFrom { .. } => return None,
        }
        Some(())
    }
}
