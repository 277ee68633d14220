//! Ranks of one host, each a thread, with memory that all have mapped.

mod common;

use common::{PAIRS, Pairs};
use hpvm_fm::{Fm, PeerMemory};
use hpvm_onesided::{Allowed, AtomicOp, Error, Kind, OneSided, Path, RegionKey, Run, Target};
use hpvm_shm::{Mapping, Shm};
use std::sync::{Arc, Barrier, Mutex};

/// One rank.
struct Rank {
    fm: Fm<Shm>,
    onesided: OneSided,
}

fn ranks(n: u32) -> Vec<Rank> {
    let mapping = Arc::new(Mapping::create(n, [5, 6]).expect("a segment"));
    let attach = |rank| {
        let fm = Fm::new(Shm::attach(mapping.clone(), rank).expect("a rank"));
        Rank { fm, onesided: OneSided::new(rank) }
    };
    (0..n).map(attach).collect()
}

impl Rank {
    /// Exposes `len` bytes that are lent.
    fn expose(&mut self, len: usize, words: u32) -> (*mut u8, RegionKey) {
        let memory = self.fm.transport_mut().lend(len).expect("memory").as_ptr();
        // SAFETY: lent memory lives as long as the transport.
        (memory, unsafe { self.onesided.expose(&mut self.fm, memory, len, words) })
    }

    fn attach(&mut self, key: &RegionKey) -> Target {
        self.onesided.attach(&mut self.fm, key).expect("a way")
    }

    fn put(&mut self, target: &Target, offset: u64, bytes: &[u8]) -> Result<(), Box<Error>> {
        // SAFETY: the slice has as many bytes.
        let started =
            unsafe { self.onesided.put(&mut self.fm, target, offset, bytes.as_ptr(), bytes.len()) };
        started.map(|op| assert_eq!(op, None))
    }

    fn get(&mut self, target: &Target, offset: u64, bytes: &mut [u8]) -> Result<(), Box<Error>> {
        // SAFETY: as in `put`.
        let started = unsafe {
            self.onesided.get(&mut self.fm, target, offset, bytes.as_mut_ptr(), bytes.len())
        };
        started.map(|op| assert_eq!(op, None))
    }

    /// The element before.
    fn fetch<const N: usize>(
        &mut self,
        target: &Target,
        offset: u64,
        (kind, op): (Kind, AtomicOp),
        operand: [u8; N],
    ) -> Result<[u8; N], Box<Error>> {
        let mut old = [0; N];
        // SAFETY: one element of `N` bytes everywhere.
        let started = unsafe {
            let (operand, old) = (operand.as_ptr(), Some(old.as_mut_ptr()));
            self.onesided.accumulate(&mut self.fm, target, offset, kind, op, operand, 1, old)
        };
        started.map(|op| assert_eq!(op, None))?;
        Ok(old)
    }
}

#[test]
fn what_is_put_is_there_and_is_got() {
    let mut all = ranks(2);
    let (memory, key) = all[0].expose(1 << 16, 0);
    let key = RegionKey::from_bytes(&key.to_bytes());
    assert!(!key.is_locked(), "lent memory needs no lock");
    let target = all[1].attach(&key);
    assert!(matches!(target.path(), Path::Mapped(_)));
    assert_ne!(target.base(), Some(memory), "an address of its own");
    for (len, offset) in [(1, 3), (2, 2), (4, 8), (8, 16), (8, 17), (40, 5), (1000, 1), (60000, 7)]
    {
        let sent: Vec<u8> = (0..len).map(|i| (i * 7 + len) as u8).collect();
        all[1].put(&target, offset, &sent).unwrap();
        let Rank { fm, onesided } = &mut all[1];
        assert_eq!(onesided.flush(fm, &target).unwrap(), None);
        // SAFETY: the owner's memory, and nobody writes now.
        let there = unsafe { core::slice::from_raw_parts(memory.add(offset as usize), len) };
        assert_eq!(there, sent);
        let mut back = vec![0; len];
        all[1].get(&target, offset, &mut back).unwrap();
        assert_eq!(back, sent);
    }
}

#[test]
fn what_lies_outside_is_refused_with_numbers() {
    let mut all = ranks(2);
    let (_, key) = all[0].expose(4096, 0);
    let target = all[1].attach(&key);
    for (offset, len) in [(4096, 1), (4089, 8), (u64::MAX, 1), (0, 4097)] {
        let error = all[1].put(&target, offset, &vec![0; len]).unwrap_err();
        let text =
            format!("{len} bytes at offset {offset} of region 0 of rank 0, which has 4096 bytes");
        assert_eq!(error.to_string(), text);
        assert_eq!(all[1].get(&target, offset, &mut vec![0; len]).unwrap_err(), error);
    }
    let error = all[1].fetch(&target, 4092, (Kind::I64, AtomicOp::Sum), [0; 8]).unwrap_err();
    assert!(matches!(*error, Error::Range { offset: 4092, len: 8, .. }));
    let error = all[1].fetch(&target, 0, (Kind::F64, AtomicOp::BitOr), [0; 8]).unwrap_err();
    assert!(matches!(*error, Error::Unsupported { .. }), "{error}");
    let error = all[1].fetch(&target, 0, (Kind::Other(3), AtomicOp::Sum), [0; 8]).unwrap_err();
    assert!(matches!(*error, Error::Unsupported { .. }), "{error}");
    assert!(all[0].onesided.withdraw(&key) && !all[0].onesided.withdraw(&key));
    let Rank { fm, onesided } = &mut all[0];
    let again = onesided.attach(fm, &key);
    assert!(matches!(*again.unwrap_err(), Error::NotExposed { rank: 0, region: 0 }));
}

/// Every rank adds to the same elements of every native kind, to one that is not aligned and to one that is wide:
/// nothing is lost.
#[test]
fn atomics_of_all_ranks_lose_nothing() {
    const RANKS: u32 = 4;
    const TIMES: u64 = 2000;
    let mut all = ranks(RANKS);
    all.iter_mut().for_each(|rank| rank.onesided.register_apply(PAIRS..PAIRS + 1, Box::new(Pairs)));
    let (memory, key) = all[0].expose(4096, 8);
    let memory = Mutex::new(memory.expose_provenance());
    let start = Barrier::new(RANKS as usize);
    std::thread::scope(|scope| {
        for mut rank in all.drain(1..) {
            scope.spawn(|| {
                let target = rank.attach(&key);
                let mut rank = rank;
                start.wait();
                for i in 0..TIMES {
                    rank.fetch(&target, 0, (Kind::I64, AtomicOp::Sum), 1i64.to_ne_bytes()).unwrap();
                    rank.fetch(&target, 8, (Kind::U32, AtomicOp::Sum), 1u32.to_ne_bytes()).unwrap();
                    rank.fetch(&target, 12, (Kind::U16, AtomicOp::Sum), 1u16.to_ne_bytes())
                        .unwrap();
                    rank.fetch(&target, 14, (Kind::I8, AtomicOp::Sum), 1i8.to_ne_bytes()).unwrap();
                    rank.fetch(&target, 16, (Kind::F64, AtomicOp::Sum), 1f64.to_ne_bytes())
                        .unwrap();
                    rank.fetch(&target, 24, (Kind::F32, AtomicOp::Sum), 1f32.to_ne_bytes())
                        .unwrap();
                    rank.fetch(&target, 32, (Kind::I64, AtomicOp::Max), i.to_ne_bytes()).unwrap();
                    rank.fetch(&target, 41, (Kind::I64, AtomicOp::Sum), 1i64.to_ne_bytes())
                        .unwrap();
                    let pair = [1u64, 2].map(u64::to_ne_bytes).concat();
                    let pair: [u8; 16] = pair.try_into().unwrap();
                    rank.fetch(&target, 64, (Kind::Other(PAIRS), AtomicOp::Sum), pair).unwrap();
                    target.control().expect("words").all()[3]
                        .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
        start.wait();
    });
    let base = core::ptr::with_exposed_provenance::<u8>(*memory.lock().unwrap());
    // SAFETY: the region's memory; all threads have ended.
    let word = |at: usize| unsafe { base.add(at).cast::<u64>().read_unaligned() };
    let all_times = TIMES * u64::from(RANKS - 1);
    assert_eq!(word(0), all_times);
    assert_eq!(word(8) as u32, all_times as u32);
    assert_eq!((word(8) >> 32) as u16, all_times as u16);
    assert_eq!((word(8) >> 48) as u8, all_times as u8);
    assert_eq!(f64::from_bits(word(16)), all_times as f64);
    assert_eq!(f32::from_bits(word(24) as u32), all_times as f32);
    assert_eq!(word(32), TIMES - 1);
    assert_eq!(word(41), all_times);
    assert_eq!((word(64), word(72)), (all_times, 2 * all_times));
    let own = all[0].attach(&key);
    let words = own.control().expect("words").all();
    assert_eq!(words.len(), 8);
    assert_eq!(words[3].load(std::sync::atomic::Ordering::Relaxed), all_times);
}

/// A lock of compare-and-swap around plain puts and gets.
#[test]
fn compare_and_swap_makes_a_lock() {
    const TIMES: u64 = 500;
    let mut all = ranks(3);
    let (_, key) = all[0].expose(4096, 0);
    std::thread::scope(|scope| {
        for mut rank in all.drain(1..) {
            scope.spawn(move || {
                let target = rank.attach(&key);
                for _ in 0..TIMES {
                    while rank.swap_if(&target, 0, 0, 1) != 0 {
                        std::thread::yield_now();
                    }
                    let mut count = [0; 8];
                    rank.get(&target, 128, &mut count).unwrap();
                    let count = (u64::from_ne_bytes(count) + 1).to_ne_bytes();
                    rank.put(&target, 128, &count).unwrap();
                    rank.onesided.fence();
                    assert_eq!(rank.swap_if(&target, 0, 1, 0), 1);
                }
            });
        }
    });
    let own = all[0].attach(&key);
    let mut count = [0; 8];
    all[0].get(&own, 128, &mut count).unwrap();
    assert_eq!(u64::from_ne_bytes(count), 2 * TIMES);
}

impl Rank {
    fn swap_if(&mut self, target: &Target, offset: u64, compare: u32, swap: u32) -> u32 {
        let (compare, swap, mut old) = (compare.to_ne_bytes(), swap.to_ne_bytes(), [0; 4]);
        // SAFETY: four bytes each.
        let started = unsafe {
            let (fm, old) = (&mut self.fm, old.as_mut_ptr());
            let (compare, swap) = (compare.as_ptr(), swap.as_ptr());
            self.onesided.compare_and_swap(fm, target, offset, Kind::U32, compare, swap, old)
        };
        assert_eq!(started.unwrap(), None);
        u32::from_ne_bytes(old)
    }
}

#[test]
fn runs_go_where_they_belong() {
    let mut all = ranks(2);
    let (memory, key) = all[0].expose(4096, 0);
    let target = all[1].attach(&key);
    let mut local: Vec<u8> = (0..100).collect();
    let at = local.as_mut_ptr();
    let runs = |at: *mut u8| {
        Box::new((0..10usize).map(move |i| Run {
            local: at.wrapping_add(10 * i),
            offset: 300 * i as u64,
            len: i,
        }))
    };
    let Rank { fm, onesided } = &mut all[1];
    // SAFETY: all runs lie inside of `local`.
    assert_eq!(unsafe { onesided.put_runs(fm, &target, runs(at)) }.unwrap(), None);
    for i in 0..10 {
        for j in 0..i {
            // SAFETY: inside of the region.
            assert_eq!(unsafe { *memory.add(300 * i + j) }, (10 * i + j) as u8);
        }
    }
    let mut back = vec![0; 100];
    // SAFETY: all runs lie inside of `back`.
    let got = unsafe { onesided.get_runs(fm, &target, runs(back.as_mut_ptr())) };
    assert_eq!(got.unwrap(), None);
    let expected: Vec<u8> = (0..100).map(|i| if i % 10 < i / 10 { i } else { 0 }).collect();
    assert_eq!(back, expected);
}

#[test]
fn operations_in_packets_to_a_rank_that_has_died_fail() {
    let mut ranks = ranks(2);
    let messages = Allowed { mapped: false, cross_memory: false };
    ranks.iter_mut().for_each(|rank| rank.onesided.set_allowed(messages));
    let (_, key) = ranks[1].expose(64, 0);
    let me = &mut ranks[0];
    let target = me.attach(&key);
    assert_eq!(target.path(), Path::Messages);
    let (one, mut old) = ([1u8; 8], [0u8; 8]);
    let Rank { fm, onesided } = me;
    // SAFETY: both have eight bytes, until the operations are done.
    let got = unsafe { onesided.get(fm, &target, 0, old.as_mut_ptr(), 8) }.expect("under way");
    let got = got.expect("nobody has answered");
    let flush = onesided.flush(fm, &target).expect("no error").expect("nobody has answered");
    assert!(!onesided.is_done(got) && !onesided.is_done(flush));
    assert!(onesided.lose(1) && !onesided.lose(1));
    let died = Err(Box::new(Error::Died { rank: 1 }));
    for op in [got, flush] {
        assert!(onesided.is_done(op));
        assert_eq!(onesided.forget(op), died);
    }
    // SAFETY: as above.
    let put = unsafe { onesided.put(fm, &target, 0, one.as_ptr(), 8) };
    assert_eq!(put.map(drop), died);
    assert_eq!(onesided.flush(fm, &target).map(drop), died);
    assert!(!onesided.has_work());
}
