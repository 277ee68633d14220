//! Functions of a program that the bindings of another language have handed to C: they are called through a function of
//! those bindings, which says so right after C has been given them.
//!
//! A function is known by its address. The same one is never given in two languages: their calls differ.

use core::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

/// The function of the bindings for each function of the program.
static CALLED_THROUGH: RwLock<BTreeMap<usize, usize>> = RwLock::new(BTreeMap::new());
/// Whether there is one at all.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What this thread has given last: two functions for a key of attributes.
    static LATEST: Cell<[usize; 2]> = const { Cell::new([0; 2]) };
}

/// A program gives these functions; 0 and 1 stand for none of its own.
pub fn given(functions: [usize; 2]) {
    LATEST.set(functions);
}

/// What this thread has given last is called through these functions.
pub fn called_through(through: [usize; 2]) {
    let mut known = CALLED_THROUGH.write().unwrap_or_else(PoisonError::into_inner);
    let own = LATEST.get().into_iter().zip(through).filter(|(function, _)| *function > 1);
    known.extend(own.filter(|(_, through)| *through != 0));
    // Release pairs with the acquire in `through`.
    ANY.store(true, Ordering::Release);
}

/// The function through which `function` is called, if it is not called directly.
pub fn through(function: usize) -> Option<usize> {
    // Acquire pairs with the release in `called_through`.
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    CALLED_THROUGH.read().unwrap_or_else(PoisonError::into_inner).get(&function).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given_last() {
        assert_eq!(through(100), None);
        given([100, 0]);
        given([200, 1]);
        called_through([7, 8]);
        assert_eq!([100, 200, 0, 1].map(through), [None, Some(7), None, None]);
        given([300, 400]);
        called_through([7, 8]);
        assert_eq!([200, 300, 400].map(through), [Some(7), Some(7), Some(8)]);
    }
}
