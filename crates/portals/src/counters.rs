//! Counting events (section 3.14) and the operations that they trigger (section 3.16).

use crate::slab::{Id, Slab};
use std::collections::{BTreeMap, VecDeque};

/// The value of a counting event, or an addition to it (`ptl_ct_event_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Count {
    pub success: u64,
    pub failure: u64,
}

impl Count {
    /// What thresholds are compared with: successes and failures together.
    pub fn sum(self) -> u128 {
        u128::from(self.success) + u128::from(self.failure)
    }

    /// Whether `PtlCTWait` for `test` successes is over: a failure ends it, too.
    pub fn ends_wait(self, test: u64) -> bool {
        self.success >= test || self.failure != 0
    }
}

/// What happens when a threshold is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triggered<T> {
    /// `PtlTriggeredCTInc`
    Inc { ct: Id, count: Count },
    /// `PtlTriggeredCTSet`
    Set { ct: Id, count: Count },
    /// An operation that this crate knows nothing of: a put, a get, an append.
    Start(T),
}

struct Counter<T> {
    value: Count,
    /// By threshold, then by the order of the calls.
    waiting: BTreeMap<(u64, u64), Triggered<T>>,
}

/// The counting events of an interface. What a call triggers comes out in the order in which thresholds are reached; on one
/// counting event, lower thresholds first, and equal ones in the order of the calls.
pub struct Counters<T> {
    counters: Slab<Counter<T>>,
    calls: u64,
    waiting: usize,
}

impl<T> Default for Counters<T> {
    fn default() -> Counters<T> {
        Counters { counters: Slab::new(), calls: 0, waiting: 0 }
    }
}

impl<T> Counters<T> {
    pub fn new() -> Counters<T> {
        Counters::default()
    }

    /// `PtlCTAlloc`
    pub fn alloc(&mut self) -> Id {
        self.counters.insert(Counter { value: Count::default(), waiting: BTreeMap::new() })
    }

    /// `PtlCTFree`: the operations that waited for it, which never happen. `None`: there is no such counting event.
    pub fn free(&mut self, ct: Id) -> Option<Vec<Triggered<T>>> {
        let waiting = self.counters.remove(ct)?.waiting;
        self.waiting -= waiting.len();
        Some(waiting.into_values().collect())
    }

    /// The counting event with this index, if the low bits of its generation are these.
    #[inline(always)]
    pub(crate) fn find(&self, index: u32, generation: u32) -> Option<Id> {
        self.counters.find(index, generation)
    }

    pub(crate) fn len(&self) -> usize {
        self.counters.len()
    }

    /// Operations that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// `PtlCTGet`
    #[inline(always)]
    pub fn get(&self, ct: Id) -> Option<Count> {
        Some(self.counters.get(ct)?.value)
    }

    /// `PtlCTInc`, and what [`crate::Effect::Add`] asks for: what is to be started now. The value wraps, as C's numbers do.
    /// Nothing happens to a counting event that has been freed.
    pub fn inc(&mut self, ct: Id, count: Count) -> Vec<T> {
        if self.add(ct, count) { Vec::new() } else { self.run(Triggered::Inc { ct, count }) }
    }

    /// The same where nothing waits for the counting event. False: something does, or it is not there, and nothing has happened.
    #[inline(always)]
    pub(crate) fn add(&mut self, ct: Id, count: Count) -> bool {
        let idle = self.counters.get_mut(ct).filter(|counter| counter.waiting.is_empty());
        let Some(counter) = idle else { return false };
        counter.value = sum(counter.value, count);
        true
    }

    /// `PtlCTSet`: what is to be started now. An operation that has been triggered does not come again after a lower value.
    pub fn set(&mut self, ct: Id, count: Count) -> Vec<T> {
        self.run(Triggered::Set { ct, count })
    }

    /// An operation of `PtlTriggered...`, which waits for `ct` to reach `threshold`: what is to be started now. `None`: there is
    /// no such counting event.
    pub fn trigger(&mut self, ct: Id, threshold: u64, what: Triggered<T>) -> Option<Vec<T>> {
        let counter = self.counters.get_mut(ct)?;
        if counter.value.sum() >= u128::from(threshold) {
            return Some(self.run(what));
        }
        self.calls += 1;
        self.waiting += 1;
        counter.waiting.insert((threshold, self.calls), what);
        Some(Vec::new())
    }

    /// `PtlCTCancelTriggered`: what waited, which never happens. `None`: there is no such counting event.
    pub fn cancel(&mut self, ct: Id) -> Option<Vec<Triggered<T>>> {
        let counter = self.counters.get_mut(ct)?;
        let waiting = std::mem::take(&mut counter.waiting);
        self.waiting -= waiting.len();
        Some(waiting.into_values().collect())
    }

    /// Does `first` and what it triggers, and so on. This ends: each operation waits once only.
    fn run(&mut self, first: Triggered<T>) -> Vec<T> {
        let mut due = VecDeque::from([first]);
        let mut started = Vec::new();
        while let Some(next) = due.pop_front() {
            let (ct, count, set) = match next {
                Triggered::Start(what) => {
                    started.push(what);
                    continue;
                }
                Triggered::Inc { ct, count } => (ct, count, false),
                Triggered::Set { ct, count } => (ct, count, true),
            };
            let Some(counter) = self.counters.get_mut(ct) else { continue };
            counter.value = if set { count } else { sum(counter.value, count) };
            while let Some(first) = counter.waiting.first_entry() {
                if u128::from(first.key().0) > counter.value.sum() {
                    break;
                }
                due.push_back(first.remove());
                self.waiting -= 1;
            }
        }
        started
    }
}

fn sum(a: Count, b: Count) -> Count {
    Count { success: a.success.wrapping_add(b.success), failure: a.failure.wrapping_add(b.failure) }
}
