//! One-sided operations on the virtual network, checked against a sequential model of memory. A failure names the
//! seed that replays it. HPVM_SEED=n runs seed n alone, HPVM_SEEDS=n that many.

mod common;
mod model;

use hpvm_fm::Fm;
use hpvm_onesided::{Allowed, AtomicOp, Kind, OneSided, OpId, Target};
use hpvm_sim::{Config, Network, Reads, SimTransport, Turn};
use model::{Job, run};

/// Seeds of a test: `most`, or what the environment says.
fn seeds(from: u64, most: u64) -> impl Iterator<Item = u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let one = number("HPVM_SEED");
    let many = number("HPVM_SEEDS").unwrap_or(most);
    let range = one.map_or(from..from + many, |seed| seed..seed + 1);
    range.into_iter()
}

const MESSAGES: Allowed = Allowed { mapped: false, cross_memory: false };
const KERNEL: Allowed = Allowed { mapped: false, cross_memory: true };

#[test]
fn in_messages_over_networks_of_every_shape() {
    for seed in seeds(0, 600) {
        let config = Config::random(2 + (seed % 5) as u32, seed);
        run(config, Job { allowed: MESSAGES, operations: 60, kill: None });
    }
}

#[test]
fn in_datagrams_that_get_lost() {
    for seed in seeds(10_000, 150) {
        let config = Config::lossy(2 + (seed % 3) as u32, seed);
        run(config, Job { allowed: MESSAGES, operations: 40, kill: None });
    }
}

#[test]
fn mapped() {
    for seed in seeds(20_000, 100) {
        let config = Config::random(2 + (seed % 5) as u32, seed);
        run(config, Job { allowed: Allowed::default(), operations: 60, kill: None });
    }
}

/// The kernel copies, or refuses at any moment, so that one operation goes this way and the next in packets.
#[test]
fn through_the_kernel_and_where_it_refuses() {
    let refused = Reads::Sometimes { refused_percent: 30 };
    for seed in seeds(30_000, 300) {
        let reads = if seed % 3 == 0 { Reads::Always } else { refused };
        let config = Config { reads, ..Config::random(2 + (seed % 4) as u32, seed) };
        run(config, Job { allowed: KERNEL, operations: 60, kill: None });
    }
}

/// A rank dies in the middle: the others learn of it, and nothing else goes wrong.
#[test]
fn with_a_death() {
    for seed in seeds(40_000, 200) {
        let size = 2 + (seed % 4) as u32;
        let kill = Some((seed as u32 % size, 50 + seed % 700));
        let config = Config::random(size, seed);
        run(config, Job { allowed: MESSAGES, operations: 60, kill });
    }
}

/// An end of a pair: what it has under way, and the packets that have come to it.
struct End {
    fm: Fm<SimTransport>,
    onesided: OneSided,
    awaits: Option<OpId>,
    packets: usize,
    /// A message of the model has come.
    told: bool,
}

impl End {
    fn turn(&mut self) -> Turn {
        let onesided = &mut self.onesided;
        let packets = self.fm.extract(4096, |src, head, data| {
            onesided.on_packet(src, head, data).expect("correct packets");
        });
        self.packets += packets.expect("a network that works");
        self.told |= self.onesided.take_messages().next().is_some();
        self.onesided.drain(&mut self.fm);
        if let Some(id) = self.awaits.take_if(|id| self.onesided.is_done(*id)) {
            self.onesided.forget(id).expect("a flush without a fault");
            return Turn::Done;
        }
        Turn::Idle
    }
}

/// Starts one operation at a target that is reached in messages, flushes it, and says how many packets came there.
fn packets_of(start: impl FnOnce(&mut End, &Target) -> Option<OpId>) -> usize {
    let mut memory = [7u64; 1024];
    packets_in(&mut memory, true, |_| false, start)
}

/// Starts operations at memory that is reached in messages, and says how many packets came to its owner until they were flushed, if
/// they are to be, or `over` says that they are done, or the owner has been told so.
fn packets_in(
    memory: &mut [u64; 1024],
    flush: bool,
    over: impl Fn(&[u64; 1024]) -> bool,
    start: impl FnOnce(&mut End, &Target) -> Option<OpId>,
) -> usize {
    let at = memory.as_mut_ptr();
    let network = Network::new(Config::calm(2));
    let mut ends: Vec<End> = network
        .endpoints()
        .into_iter()
        .map(|endpoint| {
            let fm = Fm::new(endpoint);
            let mut onesided = OneSided::new(fm.rank());
            onesided.set_allowed(MESSAGES);
            End { fm, onesided, awaits: None, packets: 0, told: false }
        })
        .collect();
    let owner = &mut ends[1];
    // SAFETY: the memory lives longer than both ends.
    let key = unsafe { owner.onesided.expose(&mut owner.fm, at.cast(), 8192, 0) };
    let origin = &mut ends[0];
    let target = origin.onesided.attach(&mut origin.fm, &key).expect("a way");
    if let Some(id) = start(origin, &target) {
        origin.onesided.forget(id).expect("it is under way");
    }
    if flush {
        origin.awaits = origin.onesided.flush(&mut origin.fm, &target).expect("a flush");
        assert!(origin.awaits.is_some());
    }
    let mut done = false;
    network.run(1_000_000, &mut ends, |_, end| {
        let turn = end.turn();
        // SAFETY: nobody accesses the memory between turns.
        done |= turn == Turn::Done || over(unsafe { &*at.cast::<[u64; 1024]>() }) || end.told;
        if done { Turn::Done } else { turn }
    });
    ends[1].packets
}

/// The answer to an operation tells what a flush behind it would ask.
#[test]
fn a_flush_right_behind_one_operation_sends_nothing() {
    let mut to = [0u64; 512];
    let local = to.as_mut_ptr().cast::<u8>();
    let sum = (Kind::U64, AtomicOp::Sum);
    for bytes in [8, 1024, 4096] {
        // SAFETY: `to` lives longer than all operations.
        let put = |end: &mut End, target: &Target| unsafe {
            end.onesided.put(&mut end.fm, target, 0, local, bytes).expect("a put")
        };
        assert_eq!(packets_of(put), 1, "put of {bytes}");
        // SAFETY: as above.
        let get = |end: &mut End, target: &Target| unsafe {
            end.onesided.get(&mut end.fm, target, 0, local, bytes).expect("a get")
        };
        assert_eq!(packets_of(get), 1, "get of {bytes}");
    }
    for fetch in [None, Some(local)] {
        // SAFETY: as above.
        let update = |end: &mut End, target: &Target| unsafe {
            let (fm, operand) = (&mut end.fm, local);
            end.onesided.accumulate(fm, target, 0, sum.0, sum.1, operand, 1, fetch).expect("a sum")
        };
        assert_eq!(packets_of(update), 1, "sum, fetched: {}", fetch.is_some());
    }
    // SAFETY: as above.
    let swap = |end: &mut End, target: &Target| unsafe {
        let fm = &mut end.fm;
        end.onesided.compare_and_swap(fm, target, 0, sum.0, local, local, local).expect("a swap")
    };
    assert_eq!(packets_of(swap), 1, "swap");
}

/// Starts the put of a word of `value` to each place, as a program that does not wait for them.
fn put_words(end: &mut End, target: &Target, value: u64) -> Option<OpId> {
    for word in 0..1024 {
        // SAFETY: `value` lives through the call, which copies it or sends it.
        let put = unsafe {
            let (fm, local) = (&mut end.fm, (&raw const value).cast());
            end.onesided.put(fm, target, 8 * word, local, 8).expect("a put")
        };
        assert_eq!(put, None, "a put of a word that has neither left nor gathered");
    }
    None
}

/// Adds one to each word in the same way.
fn add_to_words(end: &mut End, target: &Target) -> Option<OpId> {
    let one = 1u64;
    for word in 0..1024 {
        let (kind, op) = (Kind::U64, AtomicOp::Sum);
        // SAFETY: as above.
        let sum = unsafe {
            let (fm, local) = (&mut end.fm, (&raw const one).cast());
            end.onesided.accumulate(fm, target, 8 * word, kind, op, local, 1, None).expect("a sum")
        };
        assert_eq!(sum, None, "a sum that has neither left nor gathered");
    }
    None
}

#[test]
fn words_in_a_row_share_packets_and_a_flush_completes_them() {
    let mut memory = [7u64; 1024];
    let packets = packets_in(&mut memory, true, |_| false, |end, to| put_words(end, to, 9));
    assert_eq!(memory, [9; 1024]);
    assert!(packets < 20, "1024 puts of a word came in {packets} packets");
    let packets = packets_in(&mut memory, true, |_| false, add_to_words);
    assert_eq!(memory, [10; 1024]);
    assert!(packets < 20, "1024 sums of a word came in {packets} packets");
}

/// Who computes after its puts calls nothing that would send them: the answer to the first one does.
#[test]
fn words_arrive_without_a_flush() {
    let mut memory = [7u64; 1024];
    let there = |memory: &[u64; 1024]| *memory == [8; 1024];
    packets_in(&mut memory, false, there, |end, to| put_words(end, to, 8));
    assert_eq!(memory, [8; 1024]);
    packets_in(&mut memory, false, |memory| *memory == [9; 1024], add_to_words);
    assert_eq!(memory, [9; 1024]);
}

/// What is put before a notice comes before it, in one packet where it is short, and nobody is asked or answers.
#[test]
fn puts_before_a_notice_ask_for_nothing() {
    let word = [9u64; 512];
    for (len, times, packets) in [(8, 1, 2), (8, 100, 2), (1024, 1, 2), (4096, 2, 3)] {
        let mut memory = [7u64; 1024];
        let came = packets_in(
            &mut memory,
            false,
            |_| false,
            |end, to| {
                for _ in 0..times {
                    let (fm, local) = (&mut end.fm, word.as_ptr().cast());
                    // SAFETY: `word` lives longer than all operations.
                    let put = unsafe { end.onesided.put_before_notice(fm, to, 0, local, len) };
                    assert_eq!(put.expect("a put"), None);
                }
                let flush = end.onesided.flush_before_notice(&mut end.fm, to).expect("a flush");
                assert_eq!(flush, None, "{times} puts of {len}: there is nothing to wait for");
                assert!(end.onesided.precedes(to));
                end.onesided.post_message(&mut end.fm, to.key(), 1, 2);
                None
            },
        );
        assert_eq!(memory[..len / 8], word[..len / 8], "the owner was told before they came");
        assert_eq!(came, packets, "{times} puts of {len}, and the notice");
    }
}

/// Behind an operation that its origin waits for, a notice waits as it did.
#[test]
fn other_operations_before_a_notice_are_answered() {
    let mut memory = [7u64; 1024];
    let mut to = [0u64; 1];
    packets_in(
        &mut memory,
        false,
        |memory| memory[1] == 9,
        |end, target| {
            let nine = 9u64;
            let (fm, local) = (&mut end.fm, to.as_mut_ptr().cast());
            // SAFETY: both live longer than all operations.
            let (got, put) = unsafe {
                let got = end.onesided.get(fm, target, 0, local, 8).expect("a get");
                let nine = (&raw const nine).cast();
                (got, end.onesided.put_before_notice(fm, target, 8, nine, 8).expect("a put"))
            };
            assert_eq!(put, None);
            assert!(!end.onesided.precedes(target), "the get has not been answered");
            let flush = end.onesided.flush_before_notice(&mut end.fm, target).expect("a flush");
            end.onesided.forget(flush.expect("the get's answer is waited for")).expect("under way");
            got
        },
    );
}
