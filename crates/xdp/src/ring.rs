//! The rings that one XSK and the kernel share: one side writes entries and publishes them, the other takes
//! them. Each index has one writer: the process (one thread, [`Writer`] and [`Reader`] are not `Sync`) or the
//! kernel, so the usual pair of a release store and an acquire load is all there is to order. The rings that the XSKs of
//! several processes have in common are in `shared_ring`.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

/// Where the parts of a ring are.
#[derive(Clone, Copy)]
pub struct Parts<T> {
    /// Entries that were published, ever.
    pub producer: NonNull<AtomicU32>,
    /// Entries that were taken, ever.
    pub consumer: NonNull<AtomicU32>,
    pub flags: NonNull<AtomicU32>,
    pub entries: NonNull<T>,
    /// How many entries there are: a power of two.
    pub size: u32,
}

impl<T: Copy> Parts<T> {
    pub fn producer(&self) -> &AtomicU32 {
        // SAFETY: whoever made a side of a ring of this has promised that it lives.
        unsafe { self.producer.as_ref() }
    }

    pub fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    pub fn entry(&self, index: u32) -> *mut T {
        // SAFETY: the index is below `size`, and so many entries there are.
        unsafe { self.entries.as_ptr().add((index & (self.size - 1)) as usize) }
    }

    /// The kernel sleeps and wants a system call.
    pub fn wants_call(&self) -> bool {
        // SAFETY: as above.
        let flags = unsafe { self.flags.as_ref() };
        // Relaxed: a hint that the kernel sets before it sleeps; it looks at the ring once more after that.
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// The side that writes: of the fill ring and the transmit ring.
pub struct Writer<T> {
    parts: Parts<T>,
    /// Entries written, published or not.
    written: u32,
    /// The consumer's index as last seen.
    taken: u32,
}

// SAFETY: it owns its side of the ring; the memory is shared with the kernel, not with threads.
unsafe impl<T: Copy> Send for Writer<T> {}

impl<T: Copy> Writer<T> {
    /// # Safety
    /// The parts live as long as the result, nobody else writes to this side, and `size` is a power of two.
    pub unsafe fn new(parts: Parts<T>) -> Writer<T> {
        // Relaxed: our own index.
        let written = parts.producer().load(Ordering::Relaxed);
        Writer { parts, written, taken: written }
    }

    /// Writes an entry, which `publish` shows to the other side. False: the ring is full.
    #[inline]
    pub fn write(&mut self, entry: T) -> bool {
        if self.written.wrapping_sub(self.taken) >= self.parts.size {
            // Acquire: pairs with the consumer's release; the entry may be written over after that.
            self.taken = self.parts.consumer().load(Ordering::Acquire);
            if self.written.wrapping_sub(self.taken) >= self.parts.size {
                return false;
            }
        }
        // SAFETY: an entry that the consumer has taken is ours.
        unsafe { self.parts.entry(self.written).write(entry) };
        self.written = self.written.wrapping_add(1);
        true
    }

    #[inline]
    pub fn publish(&mut self) {
        // Release: the entries first; pairs with the consumer's acquire.
        self.parts.producer().store(self.written, Ordering::Release);
    }

    /// The other side has taken all that was published.
    #[inline]
    pub fn is_taken(&self) -> bool {
        // Relaxed: nothing is written on the strength of this.
        self.parts.consumer().load(Ordering::Relaxed) == self.written
    }

    pub fn wants_call(&self) -> bool {
        self.parts.wants_call()
    }
}

/// The side that reads: of the receive ring and the completion ring.
pub struct Reader<T> {
    parts: Parts<T>,
    taken: u32,
    /// The producer's index as last seen.
    written: u32,
}

// SAFETY: as for `Writer`.
unsafe impl<T: Copy> Send for Reader<T> {}

impl<T: Copy> Reader<T> {
    /// # Safety
    /// As for [`Writer::new`].
    pub unsafe fn new(parts: Parts<T>) -> Reader<T> {
        // Relaxed: our own index.
        let taken = parts.consumer().load(Ordering::Relaxed);
        Reader { parts, taken, written: taken }
    }

    /// Takes an entry, if there is one.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        if self.taken == self.written {
            // Acquire: pairs with the producer's release; the entries up to there can be read.
            self.written = self.parts.producer().load(Ordering::Acquire);
            if self.taken == self.written {
                return None;
            }
        }
        // SAFETY: an entry that was published is ours until it is released.
        let entry = unsafe { self.parts.entry(self.taken).read() };
        self.taken = self.taken.wrapping_add(1);
        // Release: it has been read before the producer may write over it.
        self.parts.consumer().store(self.taken, Ordering::Release);
        Some(entry)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        // Relaxed: `take` looks again.
        self.taken == self.written && self.parts.producer().load(Ordering::Relaxed) == self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Memory {
        indices: Box<[AtomicU32; 3]>,
        entries: Box<[u64]>,
    }

    impl Memory {
        fn new(size: usize, start: u32) -> Memory {
            let indices = Box::new([start.into(), start.into(), 0.into()]);
            Memory { indices, entries: vec![0; size].into() }
        }

        fn ring(&mut self) -> (Writer<u64>, Reader<u64>) {
            let [producer, consumer, flags] = &*self.indices;
            let parts = Parts {
                producer: producer.into(),
                consumer: consumer.into(),
                flags: flags.into(),
                entries: NonNull::new(self.entries.as_mut_ptr()).unwrap(),
                size: self.entries.len() as u32,
            };
            // SAFETY: the test keeps the memory, and has one of each.
            unsafe { (Writer::new(parts), Reader::new(parts)) }
        }
    }

    #[test]
    fn entries_come_in_order_also_where_indices_wrap() {
        for start in [0, 5, u32::MAX - 3, u32::MAX] {
            let mut memory = Memory::new(4, start);
            let (mut writer, mut reader) = memory.ring();
            assert!(reader.is_empty() && reader.take().is_none() && writer.is_taken());
            for round in 0..10 {
                for i in 0..4 {
                    assert!(writer.write(round * 4 + i));
                }
                assert!(!writer.write(99), "it is full");
                assert!(reader.take().is_none(), "not published");
                writer.publish();
                assert!(!reader.is_empty() && !writer.is_taken());
                for i in 0..4 {
                    assert_eq!(reader.take(), Some(round * 4 + i));
                }
                assert!(reader.is_empty() && reader.take().is_none() && writer.is_taken());
            }
        }
    }

    #[test]
    fn two_threads_lose_nothing() {
        let mut memory = Memory::new(8, u32::MAX - 100);
        let (mut writer, mut reader) = memory.ring();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut next = 0;
                while next < 10_000 {
                    if writer.write(next) {
                        next += 1;
                        writer.publish();
                    } else {
                        std::thread::yield_now();
                    }
                }
            });
            let mut expected = 0;
            while expected < 10_000 {
                match reader.take() {
                    Some(entry) => {
                        assert_eq!(entry, expected);
                        expected += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }

    #[test]
    fn the_kernel_asks_for_a_call() {
        let mut memory = Memory::new(2, 0);
        let (writer, _reader) = memory.ring();
        assert!(!writer.wants_call());
        memory.indices[2].store(libc::XDP_RING_NEED_WAKEUP, Ordering::Relaxed);
        assert!(writer.wants_call());
    }
}
