//! Elements of a kind that no processor updates atomically.

use hpvm_onesided::{Apply, AtomicOp};

/// The code of [`Pairs`].
pub const PAIRS: u16 = 7;

/// Pairs of words, which are added.
pub struct Pairs;

impl Apply for Pairs {
    fn size(&self, code: u16) -> Option<usize> {
        (code == PAIRS).then_some(16)
    }

    fn supports(&self, _: u16, op: AtomicOp) -> bool {
        op == AtomicOp::Sum
    }

    unsafe fn apply(
        &self,
        _: u16,
        _: AtomicOp,
        operand: *const u8,
        element: *mut u8,
        count: usize,
    ) {
        for i in 0..2 * count {
            // SAFETY: `count` pairs of words.
            unsafe {
                let (from, to) = (operand.cast::<u64>().add(i), element.cast::<u64>().add(i));
                to.write_unaligned(to.read_unaligned() + from.read_unaligned());
            }
        }
    }
}
