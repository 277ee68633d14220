//! Operations on memory that is not mapped, done by the memory's owner while it waits in MPI and polls. This takes a fifth of
//! the time that the kernel takes ([`hpvm_wire::delegation`]). The operations are complete when the call returns, as operations
//! through the kernel are. If the owner does not do an operation, it goes through the kernel.
//!
//! An origin that asks an owner that does not poll after all loses a microsecond or two, and asks ever more rarely.

mod origin;
mod owner;

pub(crate) use origin::{Delegate, Patience};

use crate::kind::{AtomicOp, Kind};
use core::ptr::NonNull;
use hpvm_wire::delegation::DelegationSlot;

/// The slot of a rank, in the segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnerSlot(NonNull<DelegationSlot>);

// SAFETY: what is in the slot is accessed by rules of its own, and it stays mapped as long as the transport, beside which
// the engine lives.
unsafe impl Send for OwnerSlot {}
// SAFETY: as above.
unsafe impl Sync for OwnerSlot {}

impl OwnerSlot {
    /// `slot` is to outlive every use of the value.
    pub fn new(slot: &DelegationSlot) -> OwnerSlot {
        OwnerSlot(NonNull::from(slot))
    }

    #[inline(always)]
    pub fn get<'a>(self) -> &'a DelegationSlot {
        // SAFETY: in the segment, which stays mapped (`new`).
        unsafe { self.0.as_ref() }
    }
}

/// What is asked of the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Data: the bytes.
    Put,
    /// Result: the bytes.
    Get,
    /// Data: operands, unless the operation is `NoOp`, and behind them, if it `fetches`, the result: elements as they were.
    Update { kind: Kind, op: AtomicOp, fetches: bool },
    /// Data: where the operands lie in the origin's memory, an address.
    UpdateFrom { kind: Kind, op: AtomicOp },
    /// Data: what is compared, what is swapped in, and the result: the element as it was.
    Swap { kind: Kind },
}

impl What {
    const PUT: u32 = 1;
    const GET: u32 = 2;
    const UPDATE: u32 = 3;
    const SWAP: u32 = 4;
    const UPDATE_FROM: u32 = 5;

    /// A code in the low three bits, operation, and whether it fetches, then the code of the kind.
    #[inline]
    pub fn code(self) -> u32 {
        match self {
            What::Put => What::PUT,
            What::Get => What::GET,
            What::Update { kind, op, fetches } => {
                What::UPDATE | (op as u32) << 3 | u32::from(fetches) << 7 | kind.code() << 8
            }
            What::UpdateFrom { kind, op } => {
                What::UPDATE_FROM | (op as u32) << 3 | kind.code() << 8
            }
            What::Swap { kind } => What::SWAP | kind.code() << 8,
        }
    }

    /// What a peer's code means.
    #[inline]
    pub fn of(code: u32) -> Option<What> {
        match code & 7 {
            What::PUT => Some(What::Put),
            What::GET => Some(What::Get),
            form @ (What::UPDATE | What::UPDATE_FROM) => {
                let op = *AtomicOp::ALL.get((code >> 3 & 0xf) as usize)?;
                let kind = Kind::from_code(code >> 8)?;
                let fetches = code & 1 << 7 != 0;
                match form {
                    What::UPDATE => Some(What::Update { kind, op, fetches }),
                    _ => Some(What::UpdateFrom { kind, op }),
                }
            }
            What::SWAP => Kind::from_code(code >> 8).map(|kind| What::Swap { kind }),
            _ => None,
        }
    }
}

/// Where the result of an update of `len` bytes begins in the data.
#[inline]
pub(crate) fn result_at(op: AtomicOp, len: usize) -> usize {
    if op == AtomicOp::NoOp { 0 } else { len }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_their_own_way_back_and_others_mean_nothing() {
        let mut all = vec![What::Put, What::Get];
        for kind in [Kind::I8, Kind::F64, Kind::Other(0), Kind::Other(u16::MAX)] {
            all.push(What::Swap { kind });
            for op in AtomicOp::ALL {
                all.extend([true, false].map(|fetches| What::Update { kind, op, fetches }));
                all.push(What::UpdateFrom { kind, op });
            }
        }
        for what in all {
            assert_eq!(What::of(what.code()), Some(what));
        }
        for wrong in [0, 6, What::SWAP | 10 << 8, What::UPDATE | 14 << 3, u32::MAX] {
            assert_eq!(What::of(wrong), None);
        }
    }
}
