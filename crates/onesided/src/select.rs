//! How the memory of a rank is reached: one function over facts. It is asked once for each region.

/// What the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    /// It is our own memory.
    pub own: bool,
    /// Its owner lends it, and we have mapped it.
    pub mapped: bool,
    /// We have mapped its control words.
    pub control: bool,
    /// The kernel copies from and to the owner's memory, as far as is known.
    pub cross_memory: bool,
}

/// Ways that may be taken; for tests and for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    pub mapped: bool,
    pub cross_memory: bool,
}

impl Default for Allowed {
    fn default() -> Allowed {
        Allowed { mapped: true, cross_memory: true }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Mapped,
    CrossMemory,
    Messages,
}

/// | | own | mapped | control words | kernel copies | way |
/// |---|---|---|---|---|---|
/// | | yes | | | | mapped |
/// | | no | yes | yes | | mapped |
/// | | no | no | yes | yes | cross-memory |
/// | | no | else | | | messages |
///
/// Without control words nothing is done but by the owner: wide atomics need its lock.
pub(crate) fn select(facts: Facts) -> Way {
    match facts {
        Facts { own: true, .. } => Way::Mapped,
        Facts { mapped: true, control: true, .. } => Way::Mapped,
        Facts { cross_memory: true, control: true, .. } => Way::CrossMemory,
        _ => Way::Messages,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        let facts =
            |own, mapped, control, cross_memory| Facts { own, mapped, control, cross_memory };
        assert_eq!(select(facts(true, false, false, false)), Way::Mapped);
        assert_eq!(select(facts(false, true, true, true)), Way::Mapped);
        assert_eq!(select(facts(false, true, false, true)), Way::Messages);
        assert_eq!(select(facts(false, false, true, true)), Way::CrossMemory);
        assert_eq!(select(facts(false, false, false, true)), Way::Messages);
        assert_eq!(select(facts(false, false, true, false)), Way::Messages);
    }
}
