//! Up to which length a collective goes through slots, and above which by messages, before its members have told each
//! other anything: what ranks of one host know alike settles most lengths.

use hpvm_coll::select::{self, Facts, SMALL, Small};

/// The limits of a communicator, by [`Small`]. Lengths in between are asked for one by one.
#[derive(Debug)]
pub(super) struct Limits {
    /// What they hold for; `reads` is not looked at.
    facts: Facts,
    pub slots_up_to: [u32; SMALL],
    pub messages_above: [u64; SMALL],
}

impl Limits {
    /// Those that hold whether members can read each other's memory or not; `facts` say that they cannot.
    fn new(facts: Facts) -> Limits {
        let reading = Facts { reads: true, ..facts };
        let slots = |small, facts| select::slots_up_to(small, facts) as u32;
        Limits {
            facts,
            slots_up_to: Small::ALL.map(|small| slots(small, &facts).min(slots(small, &reading))),
            messages_above: Small::ALL.map(|small| {
                let other = select::messages_above(small, &reading);
                select::messages_above(small, &facts).max(other)
            }),
        }
    }
}

/// Limits that are kept: programs make and free communicators by the thousand, and those are of few kinds.
const KEPT: usize = 8;

/// The limits of communicators that a process has looked at.
#[derive(Debug, Default)]
pub(crate) struct KnownLimits {
    kept: Vec<Limits>,
    /// Who makes room for the next one.
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
        if self.kept.len() < KEPT {
            self.kept.push(limits);
            return self.kept.len() - 1;
        }
        let at = self.oldest;
        self.oldest = (at + 1) % KEPT;
        self.kept[at] = limits;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_coll::select::{ALWAYS_SLOTS, Way, way};

    #[test]
    fn they_hold_whether_members_read_or_not() {
        let mut known = KnownLimits::default();
        for members in [2, 3, 64] {
            for (oversubscribed, large) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let facts = Facts { members, oversubscribed, reads: true, large };
                let limits = known.of(facts);
                for small in Small::ALL {
                    let up_to = u64::from(limits.slots_up_to[small as usize]);
                    let above = limits.messages_above[small as usize];
                    assert!(up_to >= ALWAYS_SLOTS && above >= up_to);
                    for reads in [false, true] {
                        let facts = Facts { reads, ..facts };
                        assert!((1..=up_to).all(|bytes| way(small, &facts, bytes) == Way::Slots));
                        let beyond = [above.saturating_add(1), above.saturating_mul(3), u64::MAX];
                        let goes = |bytes: u64| {
                            bytes <= above || way(small, &facts, bytes) == Way::Messages
                        };
                        assert!(beyond.into_iter().all(goes), "{small:?} {facts:?} {above}");
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
            assert!(known.kept.len() <= KEPT);
        }
    }
}
