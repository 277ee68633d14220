//! Models that must fail: one ordering at a time is made weaker than the code says.
//!
//! A model that passes proves little unless it fails when an ordering is wrong. So a test goes through the names
//! of all orderings ([`order!`](crate::order)), weakens each in turn, and expects the model to find it out.

use core::sync::atomic::Ordering;
use std::cell::Cell;

thread_local! {
    /// The ordering that is weakened. All threads of a model run on one thread of the system.
    static WEAKENED: Cell<&'static str> = const { Cell::new("") };
}

/// What `name` is to be now: as written, or weakened.
pub fn ordering(written: Ordering, name: &'static str) -> Ordering {
    match (WEAKENED.get() == name, written) {
        (false, written) => written,
        // A fence can't be relaxed.
        (true, Ordering::SeqCst) => Ordering::AcqRel,
        (true, _) => Ordering::Relaxed,
    }
}

/// True when `model` fails with the ordering `name` weakened, as it should.
pub fn is_noticed(name: &'static str, model: impl FnOnce() + Send + 'static) -> bool {
    let run = move || {
        WEAKENED.set(name);
        model();
    };
    std::thread::spawn(run).join().is_err()
}
