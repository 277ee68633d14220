//! Memory that one rank lends and another reads: what is found, what is refused, and that lies
//! about it are found out.

use hpvm_shm::{Mapping, Shm};
use hpvm_transport::PeerMemory;
use hpvm_wire::regions::RegionInfo;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Longer than any processor's own cache, so that copying pays.
const LONG: usize = 64 << 20;

fn ends<const N: usize>() -> (Arc<Mapping>, [Shm; N]) {
    let mapping = Arc::new(Mapping::create(N as u32, [3, 4]).expect("a segment"));
    let attach = |rank| Shm::attach(mapping.clone(), rank as u32).expect("a rank");
    (mapping.clone(), core::array::from_fn(attach))
}

/// What `end` finds of `len` bytes at `at` of rank 0.
fn seen(end: &mut Shm, at: *mut u8, len: usize) -> Option<&[u8]> {
    let found = end.mapped(0, at.addr() as u64, len as u64)?;
    // SAFETY: `mapped` says so, and nobody writes now.
    Some(unsafe { core::slice::from_raw_parts(found, len) })
}

#[test]
fn others_see_what_the_owner_writes() {
    let (_, [mut a, mut b]) = ends();
    let memory = a.lend(LONG + 1).expect("memory").as_ptr();
    for round in 1..4u8 {
        // SAFETY: `LONG + 1` bytes are ours.
        unsafe { memory.write_bytes(round, LONG + 1) };
        let found = seen(&mut b, memory, LONG).expect("it is lent");
        assert_ne!(found.as_ptr(), memory.cast_const());
        assert!(found.iter().step_by(4095).all(|byte| *byte == round));
    }
    // Not lent, or not as a whole.
    let mut heap = vec![0u8; LONG];
    assert_eq!(seen(&mut b, heap.as_mut_ptr(), LONG), None);
    assert_eq!(seen(&mut b, memory.wrapping_sub(1), LONG), None);
    assert_eq!(seen(&mut b, memory, 1 << 40), None);
    assert_eq!(b.mapped(1, memory.addr() as u64, LONG as u64), None);
    assert_eq!(b.mapped(2, memory.addr() as u64, LONG as u64), None);
    assert!(a.take_back(memory) && !a.take_back(memory));
}

#[test]
fn what_others_write_the_owner_and_third_ranks_see() {
    let (_, [mut a, mut b, mut c]) = ends();
    let memory = a.lend(3 * 4096).expect("memory").as_ptr();
    let at = memory.wrapping_add(100).addr() as u64;
    let [of_a, of_b, of_c] =
        [&mut a, &mut b, &mut c].map(|end| end.mapped_mut(0, at, 8).expect("it is lent").as_ptr());
    assert_eq!(of_a, memory.wrapping_add(100), "the owner has it where it is");
    for (round, (from, to)) in [(of_b, of_a), (of_a, of_b), (of_c, of_b)].into_iter().enumerate() {
        // SAFETY: both have eight bytes, and this is the only thread.
        let found = unsafe {
            from.cast::<u64>().write_unaligned(round as u64 + 7);
            to.cast::<u64>().read_unaligned()
        };
        assert_eq!(found, round as u64 + 7);
    }
    assert_eq!(b.mapped_mut(0, at, 64 << 20), None, "not as a whole");
    assert_eq!(b.mapped_mut(1, at, 8), None, "rank 1 lends nothing");
    assert_eq!(b.mapped_mut(3, at, 8), None, "there is no rank 3");
    assert_eq!(a.mapped_mut(0, (&raw const at).addr() as u64, 8), None, "not lent");
}

#[test]
fn what_can_not_be_had_is_refused() {
    let (mapping, [mut a, _b]) = ends();
    assert!(a.lend(1 << 60).is_none());
    // Relaxed: one thread.
    assert_eq!(mapping.control(0).counters.lend_refused.load(Ordering::Relaxed), 1);
    assert!(a.lend(1 << 20).is_some());
    let (_, [mut alone]) = ends();
    assert!(alone.lend(1 << 20).is_none(), "nobody else could read it");
}

#[test]
fn lies_about_regions_are_found_out() {
    let plain = tempfile();
    let descriptor = plain.as_raw_fd() as u32;
    plain.set_len(LONG as u64).expect("a file");
    let info = RegionInfo { base: 0x10000, bytes: LONG as u64, file: descriptor };
    let lies = [
        ("may shrink", info),
        ("is no open file", RegionInfo { file: 99_999, ..info }),
        ("is longer than it is", RegionInfo { bytes: 2 * LONG as u64, ..info }),
        ("is longer than anything", RegionInfo { bytes: u64::MAX, ..info }),
    ];
    for (lie, info) in lies {
        let (mapping, [_a, mut b]) = ends();
        mapping.control(0).regions.publish(0, info);
        for _ in 0..2 {
            assert_eq!(b.mapped(0, 0x10000, LONG as u64), None, "a region that {lie}");
        }
    }
}

/// A region that grows in words after it has been mapped is not believed.
#[test]
fn a_region_keeps_its_size() {
    let (mapping, [mut a, mut b]) = ends();
    let memory = a.lend(LONG).expect("memory").as_ptr().addr() as u64;
    assert!(b.mapped(0, memory, LONG as u64).is_some());
    let info = mapping.control(0).regions.get(0).expect("a region");
    mapping.control(0).regions.publish(0, RegionInfo { bytes: 4 * info.bytes, ..info });
    assert_eq!(b.mapped(0, memory, 2 * info.bytes), None);
}

/// An open file without seals.
fn tempfile() -> std::fs::File {
    let path = std::env::temp_dir().join(format!("hpvm-lent-{}", std::process::id()));
    let file = std::fs::File::create_new(&path).expect("a file");
    std::fs::remove_file(&path).expect("its name");
    file
}
