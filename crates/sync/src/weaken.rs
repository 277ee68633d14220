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

/// Orderings by name, each with a model that does not hold without it.
pub type Table = [(&'static str, fn())];

/// Fails unless every model of the table notices that its ordering is weakened.
pub fn check_noticed(table: &Table) {
    let unnoticed = table.iter().filter(|(name, model)| !is_noticed(name, *model));
    let unnoticed: Vec<_> = unnoticed.map(|(name, _)| name).collect();
    assert!(unnoticed.is_empty(), "no model fails without {unnoticed:?}");
}

/// Fails unless the table is complete: it has every name that the code in `sources` gives to an ordering, and no other.
pub fn check_complete(table: &Table, sources: &[&str]) {
    let uses: Vec<_> = sources.iter().flat_map(|source| source.split("order!(").skip(1)).collect();
    for name in uses.iter().map(|of| of.split('"').nth(1).expect("a name")) {
        assert!(table.iter().any(|(known, _)| *known == name), "{name} has no model");
    }
    assert_eq!(uses.len(), table.len());
}
