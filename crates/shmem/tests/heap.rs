//! The symmetric heap against a map of bytes, for arbitrary sequences of calls.

use hpvm_shmem::{Heap, MIN_ALIGNMENT};
use proptest::prelude::*;

const LEN: usize = 4096;

#[derive(Clone, Debug)]
enum Call {
    Allocate {
        len: usize,
        log_alignment: u32,
    },
    /// The n-th of those in use.
    Free(usize),
    Resize(usize, usize),
    /// An offset at which nothing may begin.
    Wrong(usize),
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (0_usize..700, 0_u32..9).prop_map(|(len, log_alignment)| Call::Allocate { len, log_alignment }),
        3 => (0_usize..64).prop_map(Call::Free),
        2 => (0_usize..64, 0_usize..900).prop_map(|(n, len)| Call::Resize(n, len)),
        1 => (0_usize..LEN).prop_map(Call::Wrong),
    ]
}

/// What is in use: offset and bytes asked for.
type Model = Vec<(usize, usize)>;

fn check(heap: &Heap, model: &Model) {
    let mut owner = vec![None; LEN];
    for (i, &(at, len)) in model.iter().enumerate() {
        assert_eq!(heap.len_at(at), Some(len));
        assert!(heap.contains(at, len) && heap.contains(at + len - 1, 1));
        assert!(!heap.contains(at, len + 1), "more than was asked for");
        for byte in &mut owner[at..at + len] {
            assert_eq!(*byte, None, "two allocations share a byte");
            *byte = Some(i);
        }
    }
    let longest = owner.split(|byte| byte.is_some()).map(<[_]>::len).max().unwrap_or(0);
    let (all, room) = heap.room();
    assert_eq!(all, LEN);
    // What rounding takes is lost, and no more.
    assert!(
        room <= longest && room + 2 * MIN_ALIGNMENT > longest.min(room + 2 * MIN_ALIGNMENT - 1)
    );
}

fn apply(heap: &mut Heap, model: &mut Model, call: &Call) {
    match *call {
        Call::Allocate { len, log_alignment } => {
            let room = heap.room().1;
            match heap.allocate(len, 1 << log_alignment) {
                Some(at) => {
                    assert!(at.is_multiple_of((1 << log_alignment).max(MIN_ALIGNMENT)));
                    assert!(at + len <= LEN && len != 0);
                    model.push((at, len));
                }
                None => assert!(
                    len == 0 || room < len + 2 * MIN_ALIGNMENT + (64.max(1 << log_alignment))
                ),
            }
        }
        Call::Free(n) if !model.is_empty() => {
            let (at, _) = model.swap_remove(n % model.len());
            assert!(heap.free(at));
            assert!(!heap.free(at), "free for the second time");
        }
        Call::Resize(n, len) if !model.is_empty() => {
            let n = n % model.len();
            let (at, before) = model[n];
            match heap.resize(at, len) {
                true => model[n].1 = len,
                false => assert!(len == 0 || len > before, "a shorter one always fits"),
            }
        }
        Call::Wrong(at) if model.iter().all(|(used, _)| *used != at) => {
            assert!(!heap.free(at) && !heap.resize(at, 8) && heap.len_at(at).is_none());
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn no_two_allocations_overlap_and_nothing_is_lost(calls in prop::collection::vec(call(), 1..120)) {
        let (mut heap, mut twin) = (Heap::new(LEN), Heap::new(LEN));
        let (mut model, mut twins) = (Model::new(), Model::new());
        for call in &calls {
            apply(&mut heap, &mut model, call);
            apply(&mut twin, &mut twins, call);
            prop_assert_eq!(&model, &twins, "two PEs differ");
            check(&heap, &model);
        }
        for (at, _) in model {
            prop_assert!(heap.free(at));
        }
        prop_assert_eq!(heap.room(), (LEN, LEN), "all came back, in one piece");
    }
}

#[test]
fn an_empty_heap_has_nothing() {
    let mut heap = Heap::new(0);
    assert_eq!(heap.allocate(1, 1), None);
    assert_eq!(Heap::new(64).allocate(usize::MAX, 1), None);
    assert_eq!(Heap::new(64).allocate(64, 1), Some(0));
}
