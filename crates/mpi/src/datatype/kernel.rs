//! The copy loops: between scattered blocks in the user's memory and the contiguous stream.
use super::walk::Sink;

/// Copies each run it is fed: from the user's buffer to the stream (`PACK`), or back.
///
/// The addresses in the user's buffer are computed as integers, because the buffer may be
/// `MPI_BOTTOM` and the displacements absolute.
pub(super) struct Mover<const PACK: bool> {
    user: usize,
    stream: *mut u8,
}

impl<const PACK: bool> Mover<PACK> {
    /// # Safety
    /// All runs that the sink will be fed lie, relative to `user`, in memory that is valid for
    /// reads (`PACK`) or writes; `stream` is valid for writes (`PACK`) or reads of as many bytes
    /// as the runs have together; the two do not overlap.
    pub unsafe fn new(user: *mut u8, stream: *mut u8) -> Self {
        Self { user: user.expose_provenance(), stream }
    }

    fn address(&self, off: i64) -> *mut u8 {
        let address = self.user.wrapping_add_signed(off as isize);
        std::ptr::with_exposed_provenance_mut(address)
    }

    /// Copies one block of `len` bytes and advances neither pointer.
    ///
    /// # Safety
    /// Both are valid for `len` bytes and do not overlap.
    #[inline(always)]
    unsafe fn block(user: *mut u8, stream: *mut u8, len: usize) {
        let (from, to) =
            if PACK { (user.cast_const(), stream) } else { (stream.cast_const(), user) };
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len) }
    }

    /// As [`Mover::block`], without a call for the lengths that structs are made of: such a block
    /// is copied as its first and its last bytes, which may overlap.
    ///
    /// # Safety
    /// As for [`Mover::block`].
    #[inline(always)]
    unsafe fn short_or_long(user: *mut u8, stream: *mut u8, len: usize) {
        // SAFETY: the caller's promise; both ends lie inside the block.
        unsafe {
            match len {
                4..=8 => Self::both_ends::<4>(user, stream, len),
                9..=16 => Self::both_ends::<8>(user, stream, len),
                17..=32 => Self::both_ends::<16>(user, stream, len),
                33..=64 => Self::both_ends::<32>(user, stream, len),
                _ => Self::block(user, stream, len),
            }
        }
    }

    /// # Safety
    /// As for [`Mover::block`], and `END <= len <= 2 * END`.
    #[inline(always)]
    unsafe fn both_ends<const END: usize>(user: *mut u8, stream: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            Self::block(user, stream, END);
            Self::block(user.add(len - END), stream.add(len - END), END);
        }
    }

    /// Blocks of a length known to the compiler: one load and one store each.
    #[inline(never)]
    fn strided_by<const LEN: usize>(&mut self, off: i64, count: u64, stride: i64) {
        let mut user = self.address(off);
        let mut stream = self.stream;
        for _ in 0..count {
            // SAFETY: `new`'s caller promised that all fed runs are valid and apart.
            unsafe {
                Self::block(user, stream, LEN);
                stream = stream.add(LEN);
            }
            user = user.wrapping_offset(stride as isize);
        }
        self.stream = stream;
    }

    /// Every other block of a dense array: with length and stride known, the compiler shuffles
    /// whole vectors.
    #[inline(never)]
    fn every_other<T: Copy>(&mut self, off: i64, count: u64) {
        let user = self.address(off).cast::<T>();
        let stream = self.stream.cast::<T>();
        let count = count as usize;
        for i in 0..count {
            // SAFETY: as in `strided_by`; block `i` lies two blocks after block `i - 1`.
            unsafe {
                if PACK {
                    stream.add(i).write_unaligned(user.add(2 * i).read_unaligned());
                } else {
                    user.add(2 * i).write_unaligned(stream.add(i).read_unaligned());
                }
            }
        }
        // SAFETY: the stream has room for all fed runs, so this is at most one past its end.
        self.stream = unsafe { stream.add(count).cast() };
    }

    #[inline(never)]
    fn strided_any(&mut self, off: i64, count: u64, stride: i64, len: usize) {
        let mut user = self.address(off);
        let mut stream = self.stream;
        for _ in 0..count {
            // SAFETY: as in `strided_by`.
            unsafe {
                Self::short_or_long(user, stream, len);
                stream = stream.add(len);
            }
            user = user.wrapping_offset(stride as isize);
        }
        self.stream = stream;
    }

    #[inline(never)]
    fn indexed_by<const LEN: usize>(&mut self, off: i64, disps: &[i64]) {
        let user = self.address(off);
        let mut stream = self.stream;
        for disp in disps {
            // SAFETY: as in `strided_by`.
            unsafe {
                Self::block(user.wrapping_offset(*disp as isize), stream, LEN);
                stream = stream.add(LEN);
            }
        }
        self.stream = stream;
    }
}

impl<const PACK: bool> Sink for Mover<PACK> {
    #[inline]
    fn run(&mut self, off: i64, len: u64) {
        let len = len as usize;
        let user = self.address(off);
        // SAFETY: `new`'s caller promised that all fed runs are valid and apart.
        unsafe {
            Self::short_or_long(user, self.stream, len);
            self.stream = self.stream.add(len);
        }
    }

    fn strided(&mut self, off: i64, count: u64, stride: i64, len: u64) {
        match (len, stride) {
            (4, 8) => self.every_other::<u32>(off, count),
            (8, 16) => self.every_other::<u64>(off, count),
            (1, _) => self.strided_by::<1>(off, count, stride),
            (2, _) => self.strided_by::<2>(off, count, stride),
            (4, _) => self.strided_by::<4>(off, count, stride),
            (8, _) => self.strided_by::<8>(off, count, stride),
            (12, _) => self.strided_by::<12>(off, count, stride),
            (16, _) => self.strided_by::<16>(off, count, stride),
            (24, _) => self.strided_by::<24>(off, count, stride),
            (32, _) => self.strided_by::<32>(off, count, stride),
            (64, _) => self.strided_by::<64>(off, count, stride),
            _ => self.strided_any(off, count, stride, len as usize),
        }
    }

    #[inline(never)]
    fn table(&mut self, off: i64, count: u64, stride: i64, disps: &[i64], starts: &[u64]) {
        let mut user = self.address(off);
        let mut stream = self.stream;
        for _ in 0..count {
            for (disp, range) in disps.iter().zip(starts.windows(2)) {
                let len = (range[1] - range[0]) as usize;
                // SAFETY: `new`'s caller promised that all fed runs are valid and apart.
                unsafe {
                    Self::short_or_long(user.wrapping_offset(*disp as isize), stream, len);
                    stream = stream.add(len);
                }
            }
            user = user.wrapping_offset(stride as isize);
        }
        self.stream = stream;
    }

    fn indexed(&mut self, off: i64, disps: &[i64], len: u64) {
        match len {
            1 => self.indexed_by::<1>(off, disps),
            2 => self.indexed_by::<2>(off, disps),
            4 => self.indexed_by::<4>(off, disps),
            8 => self.indexed_by::<8>(off, disps),
            12 => self.indexed_by::<12>(off, disps),
            16 => self.indexed_by::<16>(off, disps),
            24 => self.indexed_by::<24>(off, disps),
            32 => self.indexed_by::<32>(off, disps),
            _ => disps.iter().for_each(|disp| self.run(off.wrapping_add(*disp), len)),
        }
    }
}
