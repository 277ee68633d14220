//! The rings that all XSKs of one queue have in common, whichever process has them: of frames to be filled, where
//! several processes write, and of frames that have left, where several processes take. The kernel is the other side, and has
//! made neither for more than one.
//!
//! Nobody waits for anybody: each step is one exchange of a word, and what a process has begun when it is stopped or
//! killed, any other one ends. A process that dies loses at most the frames that it had in its hands.

use crate::ring::Parts;
use crate::umem::FRAME;
use core::sync::atomic::{AtomicU64, Ordering};

/// The bits of an entry of the fill ring that the kernel does not look at: where in a frame an address lies.
const LAP: u64 = FRAME as u64 - 1;

/// The writing side of the fill ring.
///
/// An entry is free while the lap in its lower bits is the one before the writer's: written entries have the
/// number of their own lap there. So a writer sees whether somebody has written the next entry without having
/// said so in the ring's index yet, and says so for him.
pub struct Fill {
    parts: Parts<u64>,
}

// SAFETY: all it does to the memory is atomic.
unsafe impl Send for Fill {}

impl Fill {
    /// # Safety
    /// The parts live as long as the result and lie in memory that only the kernel and other `Fill`s of the same ring use; `size` is
    /// a power of two, at most 2^21, so that laps and indices begin anew together. The entries were zero at first.
    pub unsafe fn new(parts: Parts<u64>) -> Fill {
        Fill { parts }
    }

    fn entry(&self, index: u32) -> &AtomicU64 {
        // SAFETY: a live entry, aligned as the kernel's ring is, which all sides only use as an atomic.
        unsafe { AtomicU64::from_ptr(self.parts.entry(index)) }
    }

    fn lap(&self, index: u32) -> u64 {
        // Zeros, which the kernel begins with, are of the lap before the first.
        u64::from(index / self.parts.size + 1) & LAP
    }

    /// Gives the kernel a frame to be filled. There is room for all frames of the queue, so that it never is full;
    /// false: it is, and the frame is lost: somebody has given frames that he has not got.
    #[inline]
    pub fn give(&self, frame: u64) -> bool {
        let producer = self.parts.producer();
        loop {
            // Acquire: the entries up to there are written; pairs with the releases below.
            let at = producer.load(Ordering::Acquire);
            // Acquire: pairs with the kernel's release; it has read what we write over.
            let taken = self.parts.consumer().load(Ordering::Acquire);
            if at.wrapping_sub(taken) >= self.parts.size {
                // Either is older than the other where others go on meanwhile.
                if producer.load(Ordering::Acquire) == at {
                    return false;
                }
                continue;
            }
            let (entry, lap) = (self.entry(at), self.lap(at));
            // Acquire: of an entry of this lap, the index may be moved; pairs with its writer's release.
            let old = entry.load(Ordering::Acquire);
            // Acquire: as above. An index that is still the same makes `old` the content of its entry.
            if producer.load(Ordering::Acquire) != at {
                continue;
            }
            let written = old & LAP == lap;
            // Release: the frame is ours until here. Relaxed in vain: all is read again.
            let (release, none) = (Ordering::Release, Ordering::Relaxed);
            let ours =
                !written && entry.compare_exchange(old, frame & !LAP | lap, release, none).is_ok();
            // Ours or another's: who is first moves the index. Release: pairs with the kernel's acquire, and ours.
            let _ = producer.compare_exchange(at, at.wrapping_add(1), release, none);
            if ours {
                return true;
            }
        }
    }

    pub fn wants_call(&self) -> bool {
        self.parts.wants_call()
    }
}

/// The taking side of the completion ring.
pub struct Completion {
    parts: Parts<u64>,
}

// SAFETY: all it does to the memory is atomic.
unsafe impl Send for Completion {}

impl Completion {
    /// # Safety
    /// As for [`Fill::new`], but for the lap.
    pub unsafe fn new(parts: Parts<u64>) -> Completion {
        Completion { parts }
    }

    /// Takes a frame that has left, whoever has sent it.
    #[inline]
    pub fn take(&self) -> Option<u64> {
        loop {
            // Acquire: pairs with the releases of others; the entry is read after that.
            let at = self.parts.consumer().load(Ordering::Acquire);
            // Acquire: pairs with the kernel's release; the entries up to there can be read.
            if self.parts.producer().load(Ordering::Acquire) == at {
                return None;
            }
            // SAFETY: a live, aligned entry. The kernel may be writing it anew only when somebody has taken it, and then
            // what is read is not used.
            let frame = unsafe { AtomicU64::from_ptr(self.parts.entry(at)) };
            // Relaxed: the kernel's index was acquired.
            let frame = frame.load(Ordering::Relaxed);
            let next = at.wrapping_add(1);
            // Release: it has been read before the kernel may write over it; pairs with the kernel's acquire.
            let (release, none) = (Ordering::Release, Ordering::Relaxed);
            if self.parts.consumer().compare_exchange(at, next, release, none).is_ok() {
                return Some(frame);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr::NonNull;
    use core::sync::atomic::AtomicU32;
    use std::collections::BTreeSet;

    /// A ring with the kernel's end, which has no lap.
    struct Memory {
        indices: Box<[AtomicU32; 3]>,
        entries: Box<[u64]>,
    }

    impl Memory {
        fn new(size: usize) -> Memory {
            Memory { indices: Box::default(), entries: vec![0; size].into() }
        }

        fn parts(&mut self) -> Parts<u64> {
            let [producer, consumer, flags] = &*self.indices;
            Parts {
                producer: producer.into(),
                consumer: consumer.into(),
                flags: flags.into(),
                entries: NonNull::new(self.entries.as_mut_ptr()).unwrap(),
                size: self.entries.len() as u32,
            }
        }
    }

    /// What the kernel does with the fill ring.
    fn kernel_takes(parts: &Parts<u64>) -> Option<u64> {
        // Relaxed: our own index.
        let at = parts.consumer().load(Ordering::Relaxed);
        if parts.producer().load(Ordering::Acquire) == at {
            return None;
        }
        // SAFETY: a live entry.
        let entry = unsafe { AtomicU64::from_ptr(parts.entry(at)) }.load(Ordering::Relaxed);
        parts.consumer().store(at.wrapping_add(1), Ordering::Release);
        Some(entry & !LAP)
    }

    const BYTES: u64 = FRAME as u64;

    #[test]
    fn frames_come_in_order_through_many_laps_and_a_full_ring_takes_none() {
        let mut memory = Memory::new(4);
        let parts = memory.parts();
        // SAFETY: the memory outlives it.
        let fill = unsafe { Fill::new(parts) };
        for lap in 0..5000 {
            for i in 0..4 {
                // Whatever lies below the frame's address is not the kernel's matter.
                assert!(fill.give((lap + i) % 7 * BYTES + 256));
            }
            assert!(!fill.give(0));
            for i in 0..4 {
                assert_eq!(kernel_takes(&parts), Some((lap + i) % 7 * BYTES));
            }
            assert_eq!(kernel_takes(&parts), None);
        }
    }

    /// A writer was stopped between its entry and the index: the next one goes on for it.
    #[test]
    fn what_a_dead_writer_has_begun_is_ended_by_the_next() {
        let mut memory = Memory::new(4);
        let parts = memory.parts();
        // SAFETY: the memory outlives it.
        let fill = unsafe { Fill::new(parts) };
        assert!(fill.give(BYTES));
        fill.entry(1).store((2 * BYTES) | fill.lap(1), Ordering::Relaxed);
        assert!(fill.give(3 * BYTES));
        let all: Vec<_> = std::iter::from_fn(|| kernel_takes(&parts)).collect();
        assert_eq!(all, [BYTES, 2 * BYTES, 3 * BYTES]);
    }

    /// Threads in place of processes: each frame is with one of them or in the ring, never twice, never lost.
    #[test]
    fn several_writers_lose_and_double_nothing() {
        const FRAMES: u64 = 16;
        let mut memory = Memory::new(16);
        let parts = memory.parts();
        let (give, taken) = std::sync::mpsc::channel::<()>();
        let held: Vec<_> = (0..4).map(|_| std::sync::Mutex::new(Vec::new())).collect();
        held.iter().enumerate().for_each(|(i, held)| {
            held.lock().unwrap().extend((0..4).map(|j| (4 * i as u64 + j) * BYTES));
        });
        let rounds = if cfg!(miri) { 200 } else { 20_000 };
        std::thread::scope(|scope| {
            for held in &held {
                let give = give.clone();
                // SAFETY: the memory outlives it.
                let fill = unsafe { Fill::new(parts) };
                scope.spawn(move || {
                    for _ in 0..rounds {
                        let frame = held.lock().unwrap().pop();
                        match frame {
                            Some(frame) => assert!(fill.give(frame), "there is room for all"),
                            None => std::thread::yield_now(),
                        }
                    }
                    drop(give);
                });
            }
            drop(give);
            let mut turn = 0;
            while taken.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
                match kernel_takes(&parts) {
                    Some(frame) => {
                        held[turn % 4].lock().unwrap().push(frame);
                        turn += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
        let mut all: Vec<u64> = std::iter::from_fn(|| kernel_takes(&parts)).collect();
        held.iter().for_each(|held| all.extend(held.lock().unwrap().iter()));
        assert_eq!(all.len() as u64, FRAMES);
        let all: BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(all, (0..FRAMES).map(|frame| frame * BYTES).collect());
    }

    #[test]
    fn several_takers_share_what_has_left() {
        let mut memory = Memory::new(8);
        let parts = memory.parts();
        let total = if cfg!(miri) { 100 } else { 20_000 };
        let all = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                // SAFETY: the memory outlives it.
                let completion = unsafe { Completion::new(parts) };
                let all = &all;
                scope.spawn(move || {
                    loop {
                        match completion.take() {
                            Some(frame) => all.lock().unwrap().push(frame),
                            None if all.lock().unwrap().len() == total => return,
                            None => std::thread::yield_now(),
                        }
                    }
                });
            }
            // SAFETY: the memory outlives it, and this is the only writer.
            let mut kernel = unsafe { crate::ring::Writer::new(parts) };
            let mut next = 0;
            while next < total {
                if kernel.write(next as u64) {
                    next += 1;
                    kernel.publish();
                } else {
                    std::thread::yield_now();
                }
            }
        });
        let all: BTreeSet<u64> = all.into_inner().unwrap().into_iter().collect();
        assert_eq!(all, (0..total as u64).collect());
    }
}
