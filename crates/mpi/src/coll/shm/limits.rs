//! Up to which length a collective goes through slots, and above which length by messages chosen as if nobody read
//! memory, before its members have told each other anything. What all ranks of a host know alike decides this for most
//! lengths.

use hpvm_coll::select::{self, COLL_KINDS, CollKind, Facts};

/// The limits of a communicator, by [`CollKind`]. For the lengths in between the table is looked up for each call.
#[derive(Debug)]
pub(super) struct Limits {
    /// The facts that they hold for; `reads` does not matter.
    facts: Facts,
    pub slots_up_to: [u32; COLL_KINDS],
    pub messages_above: [u64; COLL_KINDS],
}

impl Limits {
    /// The limits that hold whether members can read each other's memory or not. In `facts`, `reads` is false.
    fn new(facts: Facts) -> Limits {
        let reading = Facts { reads: true, ..facts };
        let slots = |kind, facts| select::slots_up_to(kind, facts) as u32;
        Limits {
            facts,
            slots_up_to: CollKind::ALL.map(|kind| slots(kind, &facts).min(slots(kind, &reading))),
            messages_above: CollKind::ALL.map(|kind| {
                let other = select::messages_above(kind, &reading);
                let agree = select::agreement_up_to(kind, &facts);
                select::messages_above(kind, &facts).max(other).max(agree)
            }),
        }
    }
}

/// Number of limits that a process keeps. Programs make and free communicators by the thousand, but of few kinds.
const KEPT_LIMITS: usize = 8;

/// The limits that a process keeps, by the facts that they hold for.
#[derive(Debug, Default)]
pub(crate) struct KnownLimits {
    kept: Vec<Limits>,
    /// Index of the entry that is replaced next.
    oldest: usize,
}

impl KnownLimits {
    pub(super) fn of(&mut self, facts: Facts) -> &Limits {
        let facts = Facts { reads: false, ..facts };
        let at = self.kept.iter().position(|limits| limits.facts == facts);
        let at = at.unwrap_or_else(|| self.keep(Limits::new(facts)));
        &self.kept[at]
    }

    #[cold]
    fn keep(&mut self, limits: Limits) -> usize {
        if self.kept.len() < KEPT_LIMITS {
            self.kept.push(limits);
            return self.kept.len() - 1;
        }
        let at = self.oldest;
        self.oldest = (at + 1) % KEPT_LIMITS;
        self.kept[at] = limits;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_coll::select::{ALWAYS_SLOTS, ShmMethod, select_shm};

    #[test]
    fn they_hold_whether_members_read_or_not() {
        let mut known = KnownLimits::default();
        for members in [2, 3, 64] {
            for (oversubscribed, large) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let facts = Facts { members, oversubscribed, reads: true, large };
                let limits = known.of(facts);
                for kind in CollKind::ALL {
                    let up_to = u64::from(limits.slots_up_to[kind as usize]);
                    let above = limits.messages_above[kind as usize];
                    assert!(up_to >= ALWAYS_SLOTS && above >= up_to);
                    for reads in [false, true] {
                        let facts = Facts { reads, ..facts };
                        assert!(
                            (1..=up_to)
                                .all(|bytes| select_shm(kind, &facts, bytes) == ShmMethod::Slots)
                        );
                        let beyond = [above.saturating_add(1), above.saturating_mul(3), u64::MAX];
                        let goes = |bytes: u64| {
                            bytes <= above || select_shm(kind, &facts, bytes) == ShmMethod::Messages
                        };
                        assert!(beyond.into_iter().all(goes), "{kind:?} {facts:?} {above}");
                    }
                }
            }
        }
    }

    #[test]
    fn few_are_kept_and_each_is_found() {
        let mut known = KnownLimits::default();
        for members in (2..40).chain(2..40) {
            let facts = Facts { members, oversubscribed: false, reads: true, large: false };
            assert_eq!(known.of(facts).facts, Facts { reads: false, ..facts });
            assert_eq!(known.of(facts).facts.members, members);
            assert!(known.kept.len() <= KEPT_LIMITS);
        }
    }
}
