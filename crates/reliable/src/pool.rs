//! Memory for datagrams, shared by all links of a process.
//!
//! Each link may use a guaranteed number of buffers whatever the others do, and more out of what
//! the links share. A [`Share`] keeps the account; the buffers themselves are made when first
//! used, are used again latest first (they are in the cache), and are let go when long unused.

/// No buffer.
pub(crate) const NONE: u32 = u32::MAX;

/// Free buffers that are kept for the next burst.
const SPARE: usize = 64;

pub(crate) struct Pool {
    size: usize,
    buffers: Vec<Box<[u8]>>,
    /// Indices in `buffers` of free buffers, and of buffers that were let go.
    free: Vec<u32>,
    holes: Vec<u32>,
}

impl Pool {
    pub fn new(size: usize) -> Pool {
        Pool { size, buffers: Vec::new(), free: Vec::new(), holes: Vec::new() }
    }

    /// A buffer. That there is room for it the caller's account has said.
    #[inline]
    pub fn take(&mut self) -> u32 {
        match self.free.pop() {
            Some(buffer) => buffer,
            None => self.make(),
        }
    }

    #[cold]
    fn make(&mut self) -> u32 {
        let buffer = vec![0; self.size].into_boxed_slice();
        if let Some(hole) = self.holes.pop() {
            self.buffers[hole as usize] = buffer;
            return hole;
        }
        self.buffers.push(buffer);
        (self.buffers.len() - 1) as u32
    }

    #[inline]
    pub fn give(&mut self, buffer: u32) {
        self.free.push(buffer);
    }

    #[inline(always)]
    pub fn bytes(&mut self, buffer: u32) -> &mut [u8] {
        &mut self.buffers[buffer as usize]
    }

    /// Lets go of some buffers that have long been free.
    pub fn trim(&mut self) {
        let used = self.buffers.len() - self.holes.len() - self.free.len();
        let surplus = self.free.len().saturating_sub(used + SPARE).min(16);
        // The first of the list are those that were not used for longest.
        for index in self.free.drain(..surplus) {
            self.buffers[index as usize] = Box::default();
            self.holes.push(index);
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let entries = self.buffers.capacity() * size_of::<Box<[u8]>>()
            + (self.free.capacity() + self.holes.capacity()) * 4;
        (self.buffers.len() - self.holes.len()) * self.size + entries
    }

    /// What `memory` is at most when accounts allow `buffers` buffers.
    pub fn bound(buffers: usize, size: usize) -> usize {
        // Vectors double.
        buffers * (size + 2 * size_of::<Box<[u8]>>() + 4 * 4) + 256
    }

    /// Buffers in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.buffers.len() - self.holes.len() - self.free.len()
    }
}

/// What links hold together above what each is guaranteed.
pub(crate) struct Share {
    each: u32,
    total: u32,
    extra: u32,
}

impl Share {
    pub fn new(each: usize, total: u32) -> Share {
        Share { each: each as u32, total, extra: 0 }
    }

    /// How many more a link that holds `held` may have now.
    #[inline]
    pub fn room(&self, held: u32) -> u32 {
        self.each.saturating_sub(held) + (self.total - self.extra)
    }

    /// A link that holds `held` takes `n` more, of which there is room.
    #[inline]
    pub fn take(&mut self, held: &mut u32, n: u32) {
        let before = held.saturating_sub(self.each);
        *held += n;
        self.extra += held.saturating_sub(self.each) - before;
        debug_assert!(self.extra <= self.total);
    }

    /// It gives `n` of them back.
    #[inline]
    pub fn give(&mut self, held: &mut u32, n: u32) {
        let before = held.saturating_sub(self.each);
        *held -= n;
        self.extra -= before - held.saturating_sub(self.each);
    }

    /// What nobody holds of the part that is shared.
    pub fn free(&self) -> u32 {
        self.total - self.extra
    }

    pub fn total(&self) -> u32 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_and_let_go() {
        let mut pool = Pool::new(1000);
        let all: Vec<u32> = (0..200).map(|_| pool.take()).collect();
        pool.bytes(all[7])[3] = 9;
        assert_eq!(pool.used(), 200);
        all.iter().for_each(|b| pool.give(*b));
        assert_eq!(pool.take(), 199);
        for _ in 0..100 {
            pool.trim();
        }
        assert!(pool.memory() < 100 * 1000, "{}", pool.memory());
        let again: Vec<u32> = (0..150).map(|_| pool.take()).collect();
        assert_eq!(pool.used(), 151);
        assert!(again.iter().all(|b| pool.bytes(*b).len() == 1000));
        assert!(pool.memory() <= Pool::bound(200, 1000));
    }

    #[test]
    fn a_share_keeps_its_promise() {
        let mut share = Share::new(3, 5);
        let (mut a, mut b) = (0, 0);
        assert_eq!(share.room(a), 8);
        share.take(&mut a, 8);
        assert_eq!((share.room(a), share.room(b), share.free()), (0, 3, 0));
        share.take(&mut b, 3);
        assert_eq!(share.room(b), 0);
        share.give(&mut a, 6);
        assert_eq!((a, share.room(a), share.room(b), share.free()), (2, 6, 5, 5));
        share.give(&mut b, 3);
        share.give(&mut a, 2);
        assert_eq!((share.free(), share.total()), (5, 5));
    }
}
