//! What strangers, peers and users write, changed at random: every reader returns, with an answer or an error.
//!
//! Each target has a folder of inputs in `tests/corpus`, which are read first and then changed. An input that leads
//! to an answer not seen before is changed further. `HPVM_FUZZ_SECONDS=n` goes on for n seconds for each target
//! (`make fuzz`); without it some thousand inputs are tried, the same in every run. An input that makes a reader
//! panic is written beside the corpus and belongs into it when the fault is mended.

mod corpus;
mod pvm;
mod pvm_corpus;
mod targets;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Inputs that are tried where no time is given.
const TRIES: u32 = 3000;
/// Longest input: more only takes longer.
const LONGEST: usize = 4096;
/// Inputs with answers of their own that are kept for further changes.
const POPULATION: usize = 4096;

/// What a reader makes of an input, in words: other words are worth a closer look.
pub type Reader = fn(&[u8]) -> String;

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Reads the corpus of `target`, then inputs made from it.
fn fuzz(target: &str, read: Reader) {
    let folder = folder(target);
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}; expected inputs there", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut inputs: Vec<Vec<u8>> =
        paths.iter().map(|path| std::fs::read(path).expect("an input")).collect();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    let mut seen: HashSet<u64> = inputs.iter().map(|input| attempt(target, read, input)).collect();
    let seconds = std::env::var("HPVM_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let seed = if end.is_some() { fastrand::u64(..) } else { 1 };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tries = 0;
    while end.map_or(tries < TRIES, |end| Instant::now() < end) {
        tries += 1;
        let input = changed(&mut random, &inputs);
        if seen.insert(attempt(target, read, &input)) && inputs.len() < POPULATION {
            inputs.push(input);
        }
    }
    println!("{target}: {tries} inputs, {} answers", seen.len());
}

/// The answer to `input`, as a number. Panics of the reader end the test, with the input in a file.
fn attempt(target: &str, read: Reader, input: &[u8]) -> u64 {
    let Ok(answer) = catch_unwind(AssertUnwindSafe(|| read(input))) else {
        let mut hasher = DefaultHasher::new();
        input.hash(&mut hasher);
        let path = folder(target).join(format!("found-{:016x}", hasher.finish()));
        std::fs::write(&path, input).expect("the input in a file");
        panic!("{target}: the reader panicked; its input is in {}", path.display());
    };
    let mut hasher = DefaultHasher::new();
    // Numbers and names that come from the input make no new answer.
    let words = answer.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 2);
    words.take(12).for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

/// One of the inputs with some changes.
fn changed(random: &mut fastrand::Rng, inputs: &[Vec<u8>]) -> Vec<u8> {
    const TELLING: [u8; 12] = [0, 1, 0x7f, 0x80, 0xff, b'\n', b' ', b',', b':', b'=', b'-', b'9'];
    let mut bytes = inputs[random.usize(..inputs.len())].clone();
    for _ in 0..random.usize(1..=4) {
        let at = random.usize(..=bytes.len());
        match random.u8(..7) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, TELLING[random.usize(..TELLING.len())]),
            2 | 3 if at < bytes.len() => bytes[at] = TELLING[random.usize(..TELLING.len())],
            4 if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
            5 => {
                let other = &inputs[random.usize(..inputs.len())];
                let from = random.usize(..=other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => {
                let end = random.usize(at..=bytes.len()).min(at + 64);
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
        }
        bytes.truncate(LONGEST);
    }
    bytes
}
