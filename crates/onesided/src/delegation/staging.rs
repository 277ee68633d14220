//! Memory that an origin lends for the operands of long updates: it copies the next part there while the owner works on
//! the one before, so that each byte is copied once, and neither waits for the other.

use core::ptr::NonNull;
use hpvm_fm::{Fm, Transport};

/// Bytes of a part: with the elements it fits into a processor's own cache, and a request takes little beside it.
pub(crate) const PART: usize = 32 * 1024;

/// Two parts, once they have been asked for.
#[derive(Default)]
pub(crate) struct Staging {
    memory: Option<NonNull<u8>>,
    /// Nothing can be lent.
    refused: bool,
}

// SAFETY: the memory is lent, and any thread of this process may access it.
unsafe impl Send for Staging {}
// SAFETY: as above; it is found through `&mut` only.
unsafe impl Sync for Staging {}

impl Staging {
    /// Where the two parts begin. `None`: nothing can be lent.
    pub fn parts<T: Transport>(&mut self, fm: &mut Fm<T>) -> Option<[NonNull<u8>; 2]> {
        if self.memory.is_none() && !self.refused {
            self.memory = fm.transport_mut().lend(2 * PART);
            self.refused = self.memory.is_none();
        }
        // SAFETY: two parts have been lent.
        self.memory.map(|first| [first, unsafe { first.add(PART) }])
    }
}
