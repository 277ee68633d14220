//! Accesses to the same bytes of a window that nothing orders, so that the standard does not say what comes of them
//! (sections 12.3 and 12.7): what `HPVM_CHECK` looks for.

use hpvm_onesided::AtomicOp;

pub type Use = hpvm_conflicts::Use<Access>;

/// The uses of one target's memory that nothing orders so far.
pub type Log = hpvm_conflicts::Log<Access>;

/// What an operation does with bytes of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Put,
    Get,
    /// Accumulates of all kinds.
    Update(AtomicOp),
    CompareAndSwap,
}

const UPDATE: u64 = 16;

impl Access {
    /// The number in messages.
    pub fn code(self) -> u64 {
        match self {
            Access::Put => 0,
            Access::Get => 1,
            Access::CompareAndSwap => 2,
            Access::Update(op) => UPDATE + op as u64,
        }
    }

    pub fn from_code(code: u64) -> Option<Access> {
        match code {
            0 => Some(Access::Put),
            1 => Some(Access::Get),
            2 => Some(Access::CompareAndSwap),
            _ => {
                let op = AtomicOp::ALL.iter().find(|op| UPDATE + **op as u64 == code);
                op.copied().map(Access::Update)
            }
        }
    }

    fn only_reads(self) -> bool {
        matches!(self, Access::Get | Access::Update(AtomicOp::NoOp))
    }
}

impl core::fmt::Display for Access {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Access::Put => f.write_str("MPI_Put"),
            Access::Get => f.write_str("MPI_Get"),
            Access::CompareAndSwap => f.write_str("MPI_Compare_and_swap"),
            Access::Update(op) => write!(f, "an accumulate ({op:?})"),
        }
    }
}

impl hpvm_conflicts::Access for Access {
    fn clashes(self, other: Access, same_origin: bool) -> bool {
        match (self, other) {
            (a, b) if a.only_reads() && b.only_reads() => false,
            (Access::Put | Access::Get, _) | (_, Access::Put | Access::Get) => true,
            // Accumulates of one rank are in order, and those of several may meet where their operations are the
            // same, or MPI_NO_OP (info key `accumulate_ops`).
            (Access::Update(a), Access::Update(b)) => {
                !same_origin && a != b && a != AtomicOp::NoOp && b != AtomicOp::NoOp
            }
            (Access::CompareAndSwap, _) | (_, Access::CompareAndSwap) => false,
        }
    }

    fn is_put(self) -> bool {
        self == Access::Put
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SUM: Access = Access::Update(AtomicOp::Sum);
    const READ: Access = Access::Update(AtomicOp::NoOp);

    fn of(first: u64, end: u64, origin: u32, access: Access) -> Use {
        Use { first, end, origin, access }
    }

    #[test]
    fn codes_lead_back() {
        let updates = AtomicOp::ALL.map(Access::Update);
        for access in [Access::Put, Access::Get, Access::CompareAndSwap].into_iter().chain(updates)
        {
            assert_eq!(Access::from_code(access.code()), Some(access));
        }
        assert_eq!(Access::from_code(3), None);
        assert_eq!(Access::from_code(u64::MAX), None);
    }

    #[test]
    fn accesses_meet_as_the_standard_says() {
        let put = Access::Put;
        let replace = Access::Update(AtomicOp::Replace);
        // Two ranks at the same bytes, and one rank.
        for (a, b, of_two, of_one) in [
            (put, put, true, true),
            (put, Access::Get, true, true),
            (put, SUM, true, true),
            (put, READ, true, true),
            (put, Access::CompareAndSwap, true, true),
            (Access::Get, Access::Get, false, false),
            (Access::Get, READ, false, false),
            (Access::Get, SUM, true, true),
            (SUM, SUM, false, false),
            (SUM, READ, false, false),
            (SUM, replace, true, false),
            (SUM, Access::CompareAndSwap, false, false),
        ] {
            for (other, expected) in [(1, of_two), (0, of_one)] {
                let (one, two) = (of(8, 16, 0, a), of(12, 20, other, b));
                assert_eq!(one.clashes(&two), expected, "{a} and {b} of ranks 0 and {other}");
                assert_eq!(two.clashes(&one), expected, "{b} and {a} of ranks {other} and 0");
            }
            assert!(!of(8, 16, 0, a).clashes(&of(16, 20, 1, b)), "side by side");
        }
    }

    #[test]
    fn neighbours_are_one_use() {
        let mut log = Log::default();
        for element in 0..1000 {
            log.note(of(element * 8, element * 8 + 8, 0, Access::Put));
        }
        assert_eq!(log.uses(), [of(0, 8000, 0, Access::Put)]);
        log.note(of(8, 8, 0, Access::Get));
        assert_eq!(log.conflict(), None, "nothing was accessed");
        log.note(of(7992, 8000, 0, Access::Put));
        assert!(log.conflict().is_some());
    }

    #[test]
    fn what_was_read_may_be_written() {
        let mut log = Log::default();
        log.note(of(0, 8, 0, Access::Get));
        log.complete_locally();
        log.note(of(0, 8, 0, Access::Put));
        assert_eq!(log.conflict(), None);
        log.complete_locally();
        log.note(of(0, 8, 0, Access::Get));
        assert!(log.conflict().is_some(), "the put may not have come yet");
    }

    fn any_use() -> impl Strategy<Value = Use> {
        let access = prop_oneof![
            Just(Access::Get),
            Just(READ),
            Just(SUM),
            Just(Access::Update(AtomicOp::Max)),
            Just(Access::CompareAndSwap),
            Just(Access::Put),
        ];
        (0u64..200, 1u64..9, 0u32..3, access)
            .prop_map(|(first, len, origin, access)| of(first, first + len, origin, access))
    }

    proptest! {
        #[test]
        fn a_conflict_is_found_where_any_two_clash(uses in prop::collection::vec(any_use(), 0..24)) {
            let pairs = || uses.iter().enumerate().flat_map(|(i, a)| uses[..i].iter().map(move |b| (a, b)));
            let mut log = Log::default();
            uses.iter().for_each(|one| log.note(*one));
            let found = log.conflict();
            prop_assert_eq!(found.is_some(), pairs().any(|(a, b)| a.clashes(b)));
            if let Some((a, b)) = found {
                prop_assert!(a.clashes(&b));
            }
        }
    }
}
