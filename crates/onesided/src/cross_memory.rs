//! Put, get and atomics on memory that is reached through the kernel (cross-memory attach).
//!
//! The kernel copies; nothing is atomic by itself. Atomics read, compute and write under the accumulate lock of the
//! region, which is why such regions are [`RegionKey::LOCKED`](crate::RegionKey::LOCKED) for everybody.

use crate::Rank;
use crate::apply::{Appliers, swap_plain};
use crate::error::{Error, Result};
use crate::kind::{AtomicOp, Kind};
use crate::messages::MAX_SWAPPED;
use crate::region::Target;
use crate::runs::Update;
use hpvm_fm::{Fm, PeerMemoryError, Transport};
use hpvm_wire::accumulate_lock::HolderGone;

/// Bytes of elements that are read, updated and written back at a time: the kernel's two calls cost little beside as
/// many, which fit into a processor's own cache twice.
const BLOCK: usize = 64 * 1024;
/// Bytes of buffers on the stack, for updates of few elements.
const STACK_BYTES: usize = 512;

/// The outcome of a copy by the kernel. `Ok(false)`: it does not permit it, now or any more.
pub(crate) fn permitted(
    target: &Target,
    copied: core::result::Result<(), PeerMemoryError>,
) -> Result<bool> {
    let (rank, region) = (target.key.rank, target.key.id);
    match copied {
        Ok(()) => Ok(true),
        Err(PeerMemoryError::NotPermitted) => Ok(false),
        Err(PeerMemoryError::Gone) => Err(Box::new(Error::Gone { rank, region })),
        Err(PeerMemoryError::Failed(errno)) => Err(Box::new(Error::Memory { rank, region, errno })),
    }
}

impl Target {
    /// The lock of the region was held by a rank that is gone.
    #[cold]
    pub(crate) fn broken(&self, HolderGone(holder): HolderGone) -> Box<Error> {
        Box::new(Error::HolderGone { rank: self.key.rank, region: self.key.id, holder })
    }
}

/// Updates elements; as many as the kernel permitted. What is left is in `update`.
///
/// # Errors
/// `HolderGone`; `Gone` and `Memory`: the kernel does not copy.
///
/// # Safety
/// The elements lie inside the region; operands and room for results are valid; `size` is that of the kind.
pub(crate) unsafe fn update<T: Transport>(
    fm: &mut Fm<T>,
    me: Rank,
    appliers: &Appliers,
    target: &Target,
    (kind, op, size): (Kind, AtomicOp, usize),
    update: &mut Update,
) -> Result<()> {
    let Some(control) = &target.control else { return Ok(()) };
    let whole = update.count.saturating_mul(size).min(BLOCK);
    let (mut short, mut long);
    let buffers: &mut [u8] = if 2 * whole <= STACK_BYTES {
        short = [0; STACK_BYTES];
        &mut short
    } else {
        long = vec![0; 2 * whole];
        &mut long
    };
    let (block, before) = buffers.split_at_mut(buffers.len() / 2);
    while update.count != 0 {
        let n = update.count.min(block.len() / size);
        let bytes = n * size;
        let remote = target.key.address.wrapping_add(update.offset);
        let _held = appliers.hold(control, me).map_err(|gone| target.broken(gone))?;
        // SAFETY: `block` has room; the operands are the caller's.
        unsafe {
            let read = fm.transport_mut().read(target.key.rank, remote, block.as_mut_ptr(), bytes);
            if !permitted(target, read)? {
                return Ok(());
            }
            let (at, operand, fetch) = (block.as_mut_ptr(), update.operand, update.fetch);
            if !fetch.is_null() {
                // They must not go to the program before the elements have been updated there.
                before[..bytes].copy_from_slice(&block[..bytes]);
            }
            if op != AtomicOp::NoOp {
                appliers.update_plain(at, n, kind, op, operand, core::ptr::null_mut());
                let written = fm.transport_mut().write(target.key.rank, remote, at, bytes);
                if !permitted(target, written)? {
                    return Ok(());
                }
            }
            if !fetch.is_null() {
                core::ptr::copy(before.as_ptr(), fetch, bytes);
            }
        }
        let _ = crate::runs::Part::cut(update, bytes, size);
    }
    Ok(())
}

/// Compares and swaps one element of `size` bytes. False: the kernel does not permit it.
///
/// # Errors
/// As for `update`.
///
/// # Safety
/// The element lies inside the region; the three others have as many bytes.
pub(crate) unsafe fn compare_and_swap<T: Transport>(
    fm: &mut Fm<T>,
    me: Rank,
    appliers: &Appliers,
    target: &Target,
    (offset, size): (u64, usize),
    (compare, swap, result): (*const u8, *const u8, *mut u8),
) -> Result<bool> {
    let Some(control) = &target.control else { return Ok(false) };
    let mut element = [0u8; MAX_SWAPPED];
    let remote = target.key.address.wrapping_add(offset);
    let mut old = [0u8; MAX_SWAPPED];
    let _held = appliers.hold(control, me).map_err(|gone| target.broken(gone))?;
    // SAFETY: `size` is at most `MAX_SWAPPED`; the rest is the caller's promise.
    unsafe {
        let read = fm.transport_mut().read(target.key.rank, remote, element.as_mut_ptr(), size);
        if !permitted(target, read)? {
            return Ok(false);
        }
        swap_plain(element.as_mut_ptr(), size, compare, swap, old.as_mut_ptr());
        if element != old {
            let written = fm.transport_mut().write(target.key.rank, remote, element.as_ptr(), size);
            if !permitted(target, written)? {
                return Ok(false);
            }
        }
        core::ptr::copy(old.as_ptr(), result, size);
    }
    Ok(true)
}
