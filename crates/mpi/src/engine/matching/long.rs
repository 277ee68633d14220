//! Queues of many entries, with a hash beside them: a match is found in a few steps, however many receives are posted or
//! messages are unexpected. Growing numbers keep the order among the entries that match.

use super::{ANY_PROCESS, Pattern, Posted, Unexpected};
use crate::engine::requests::ReqId;
use crate::status::ANY_TAG;
use hpvm_fm::Rank;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes a pattern, which is one word: by a multiplication whose upper half depends on all bits.
#[derive(Default)]
struct PatternHasher(u64);

impl Hasher for PatternHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, word: u64) {
        const ODD: u128 = 0x9e37_79b9_7f4a_7c15; // the golden ratio's bits
        let product = u128::from(self.0 ^ word) * ODD;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

type ByPattern<E> = HashMap<u64, VecDeque<E>, BuildHasherDefault<PatternHasher>>;

fn key(src: Rank, tag: i32) -> u64 {
    u64::from(src) << 32 | u64::from(tag as u32)
}

/// The patterns that accept a message.
fn keys(src: Rank, tag: i32) -> [u64; 4] {
    [key(src, tag), key(src, ANY_TAG), key(ANY_PROCESS, tag), key(ANY_PROCESS, ANY_TAG)]
}

/// Posted receives by what they accept.
#[derive(Default)]
pub(super) struct LongPosted {
    by_pattern: ByPattern<(u64, ReqId)>,
    next: u64,
    len: usize,
}

impl LongPosted {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn post(&mut self, pattern: Pattern, request: ReqId) {
        let queue = self.by_pattern.entry(key(pattern.src, pattern.tag)).or_default();
        queue.push_back((self.next, request));
        self.next += 1;
        self.len += 1;
    }

    /// The first receive that accepts the message; it is posted no more.
    pub fn arrive(&mut self, src: Rank, tag: i32) -> Option<ReqId> {
        let first = |key: &u64| Some((self.by_pattern.get(key)?.front()?.0, *key));
        let (_, key) = keys(src, tag).iter().filter_map(first).min()?;
        let queue = self.by_pattern.get_mut(&key)?;
        let (_, request) = queue.pop_front()?;
        if queue.is_empty() {
            self.by_pattern.remove(&key);
        }
        self.len -= 1;
        Some(request)
    }

    pub fn withdraw(&mut self, pattern: Pattern, request: ReqId) -> bool {
        let key = key(pattern.src, pattern.tag);
        let Some(queue) = self.by_pattern.get_mut(&key) else { return false };
        let Some(index) = queue.iter().position(|(_, r)| *r == request) else { return false };
        queue.remove(index);
        if queue.is_empty() {
            self.by_pattern.remove(&key);
        }
        self.len -= 1;
        true
    }

    /// All receives, in the order in which they were posted.
    pub fn into_short(self) -> VecDeque<Posted> {
        let mut all: Vec<(u64, Posted)> = Vec::with_capacity(self.len);
        for (key, queue) in self.by_pattern {
            let pattern = Pattern { src: (key >> 32) as Rank, tag: key as u32 as i32 };
            all.extend(queue.into_iter().map(|(n, request)| (n, Posted { pattern, request })));
        }
        all.sort_unstable_by_key(|(n, _)| *n);
        all.into_iter().map(|(_, posted)| posted).collect()
    }
}

/// Unexpected messages by what would accept them.
#[derive(Default)]
pub(super) struct LongUnexpected {
    messages: BTreeMap<u64, Unexpected>,
    /// Numbers of messages. Some of them may be gone: they are dropped when they come to the front.
    by_pattern: ByPattern<u64>,
    /// Numbers in all queues of `by_pattern`.
    numbers: usize,
    next: u64,
}

impl LongUnexpected {
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn keep(&mut self, message: Unexpected) {
        self.enter(self.next, message.src, message.tag);
        self.messages.insert(self.next, message);
        self.next += 1;
        // Each message is taken by one of its patterns and left behind in the two others.
        if self.numbers > 6 * self.messages.len() {
            self.by_pattern.clear();
            self.numbers = 0;
            let all: Vec<_> = self.messages.iter().map(|(n, m)| (*n, m.src, m.tag)).collect();
            all.into_iter().for_each(|(n, src, tag)| self.enter(n, src, tag));
        }
    }

    /// Message `n` can be found by three patterns; by the fourth, which accepts all, the first is.
    fn enter(&mut self, n: u64, src: Rank, tag: i32) {
        for key in &keys(src, tag)[..3] {
            self.by_pattern.entry(*key).or_default().push_back(n);
            self.numbers += 1;
        }
    }

    /// The number of the first message that `pattern` accepts.
    fn first(&mut self, pattern: Pattern) -> Option<u64> {
        if pattern.src == ANY_PROCESS && pattern.tag == ANY_TAG {
            return self.messages.first_key_value().map(|(n, _)| *n);
        }
        let key = key(pattern.src, pattern.tag);
        let queue = self.by_pattern.get_mut(&key)?;
        while let Some(n) = queue.front().copied() {
            if self.messages.contains_key(&n) {
                return Some(n);
            }
            queue.pop_front();
            self.numbers -= 1;
        }
        self.by_pattern.remove(&key);
        None
    }

    #[cold]
    pub fn peek(&mut self, pattern: Pattern) -> Option<&Unexpected> {
        let n = self.first(pattern)?;
        self.messages.get(&n)
    }

    pub fn take(&mut self, pattern: Pattern) -> Option<Unexpected> {
        let n = self.first(pattern)?;
        self.messages.remove(&n)
    }

    /// The first message that is `wanted`, out of the queue.
    pub fn take_where(&mut self, wanted: impl Fn(&Unexpected) -> bool) -> Option<Unexpected> {
        let n = self.messages.iter().find(|(_, m)| wanted(m)).map(|(n, _)| *n)?;
        self.messages.remove(&n)
    }

    /// All messages, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &Unexpected> {
        self.messages.values()
    }

    /// Entries in the hash.
    #[cfg(test)]
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    pub fn into_short(self) -> VecDeque<Unexpected> {
        self.messages.into_values().collect()
    }
}
