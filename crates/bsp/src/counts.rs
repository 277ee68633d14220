//! What the processes tell each other at the beginning of a synchronisation.

use crate::fault::Fault;

/// What one process says to another; two words, so that those for 64 processes fit into one short all-to-all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counts {
    /// Bytes of the packed message, and flags above them.
    pub word: u64,
    /// What all must agree on, mixed into one word.
    pub digest: u64,
}

/// Bits of the length: 256 TiB.
const LENGTH_BITS: u32 = 48;

/// The process pushed or popped registrations (the same for all receivers).
pub const REGISTRATIONS: u64 = 1 << LENGTH_BITS;
/// The process is in `bsp_end` (the same for all receivers).
pub const END: u64 = 1 << (LENGTH_BITS + 1);

impl Counts {
    pub fn bytes(&self) -> usize {
        (self.word & ((1 << LENGTH_BITS) - 1)) as usize
    }

    pub fn has(&self, flag: u64) -> bool {
        self.word & flag != 0
    }
}

/// What all processes must agree on at a synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    pub superstep: u64,
    pub end: bool,
    pub pushes: u64,
    pub pops: u64,
    /// What `bsp_set_tagsize` was last told.
    pub tag: u64,
    /// How often it was called in this superstep.
    pub tag_calls: u64,
}

/// Words of `Common` when processes that differ look for where.
pub const COMMON_WORDS: usize = 6;

/// Odd numbers without a pattern, so that processes which differ in one word differ in the digest, and those which differ
/// in several do unless somebody has computed the words for it.
const FACTORS: [u64; COMMON_WORDS] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
];

impl Common {
    /// No product waits for another one: an empty superstep takes little more.
    pub fn digest(&self) -> u64 {
        let products = self.words().into_iter().zip(FACTORS);
        products.fold(0, |sum, (word, factor)| (word as u64).wrapping_mul(factor).wrapping_add(sum))
    }

    pub fn words(&self) -> [i64; COMMON_WORDS] {
        [self.superstep, u64::from(self.end), self.pushes, self.pops, self.tag, self.tag_calls]
            .map(|w| w as i64)
    }

    /// With `digest`, which is the same for all receivers.
    pub fn counts(&self, digest: u64, bytes: usize) -> Counts {
        let registrations = if self.pushes + self.pops > 0 { REGISTRATIONS } else { 0 };
        let end = if self.end { END } else { 0 };
        Counts { word: bytes as u64 | registrations | end, digest }
    }
}

/// Where processes that do not agree differ; `all` has the words of each.
pub fn difference(all: &[i64]) -> Fault {
    let of = |process: usize, word: usize| all[process * COMMON_WORDS + word];
    let processes = all.len() / COMMON_WORDS;
    let other = |word: usize| (1..processes).find(|p| of(*p, word) != of(0, word));
    let calls = |n: i64| if n == 1 { "once".to_owned() } else { format!("{n} times") };
    if let Some(p) = other(1) {
        let (end, sync) = if of(0, 1) == 1 { (0, p) } else { (p, 0) };
        let text = format!(
            "process {end} has called bsp_end while process {sync} has called bsp_sync; all processes must call the same"
        );
        return Fault::by_all("bsp_sync/bsp_end", text);
    }
    for (word, function) in [(2, "bsp_push_reg"), (3, "bsp_pop_reg")] {
        if let Some(p) = other(word) {
            let text = format!(
                "process 0 has called {function} {} in this superstep, process {p} {}; all processes must push and pop the \
                 same registrations in the same order (NULL where a process has no block)",
                calls(of(0, word)),
                calls(of(p, word))
            );
            return Fault::by_all(function, text);
        }
    }
    if let Some(p) = other(4) {
        let text = format!(
            "process 0 has set a tag size of {} bytes, process {p} of {}; all processes must set the same",
            of(0, 4),
            of(p, 4)
        );
        return Fault::by_all("bsp_set_tagsize", text);
    }
    if let Some(p) = other(5) {
        let text = format!(
            "process 0 has called bsp_set_tagsize {} in this superstep, process {p} {}; all processes must call it equally \
             often",
            calls(of(0, 5)),
            calls(of(p, 5))
        );
        return Fault::by_all("bsp_set_tagsize", text);
    }
    if let Some(p) = other(0) {
        let text = format!("process 0 is in superstep {}, process {p} in {}", of(0, 0), of(p, 0));
        return Fault::by_all("bsp_sync", text);
    }
    Fault::by_all("bsp_sync", "the processes do not agree, and do not say on what")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common() -> Common {
        Common { superstep: 3, end: false, pushes: 1, pops: 0, tag: 8, tag_calls: 1 }
    }

    fn told(change: impl Fn(&mut Common)) -> String {
        let mut other = common();
        change(&mut other);
        assert_ne!(other.digest(), common().digest());
        let all = [common().words(), common().words(), other.words()].concat();
        let fault = difference(&all);
        assert!(fault.by_all);
        format!("{}: {}", fault.function.unwrap_or_default(), fault.text)
    }

    #[test]
    fn a_difference_names_function_and_processes() {
        assert!(
            told(|c| c.end = true)
                .starts_with("bsp_sync/bsp_end: process 2 has called bsp_end while process 0")
        );
        let push = told(|c| c.pushes = 2);
        assert!(push.starts_with("bsp_push_reg: process 0 has called bsp_push_reg once"), "{push}");
        assert!(push.contains("process 2 2 times"), "{push}");
        assert!(told(|c| c.pops = 1).starts_with("bsp_pop_reg: process 0"));
        assert!(told(|c| c.tag = 4).contains("of 8 bytes, process 2 of 4"));
        assert!(
            told(|c| c.tag_calls = 2)
                .contains("bsp_set_tagsize once in this superstep, process 2 2 times")
        );
        assert!(told(|c| c.superstep = 4).contains("in superstep 3, process 2 in 4"));
    }

    #[test]
    fn lengths_and_flags_do_not_meet() {
        let counts = common().counts(7, (1 << 48) - 1);
        assert_eq!(counts.bytes(), (1 << 48) - 1);
        assert!(counts.has(REGISTRATIONS) && !counts.has(END));
    }
}
