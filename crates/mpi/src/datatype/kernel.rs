//! The copy loops: between scattered blocks in the user's memory and the contiguous stream.
use super::walk::{Row, Sink};

/// Blocks a side of a tile of a matrix whose columns are copied: doubles of one cache line.
const TILE: usize = 8;

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
    ///
    /// The loop is kept from being unrolled: processors see regular strides by the address of the
    /// instruction, and eight stores that take turns hide what one shows. Scattered stores took
    /// 1.5 times as long.
    #[inline(never)]
    fn strided_by<const LEN: usize>(&mut self, off: i64, count: u64, stride: i64) {
        let mut user = self.address(off);
        let mut stream = self.stream;
        for _ in 0..count {
            std::hint::black_box(());
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

    /// `count` copies of a list of blocks. Four at a time: lists are short, so that the loops
    /// cost as much as the copies.
    #[inline(never)]
    fn pattern_by<const LEN: usize>(&mut self, off: i64, count: u64, stride: i64, disps: &[i64]) {
        let mut user = self.address(off);
        let mut stream = self.stream;
        let (fours, rest) = disps.as_chunks::<4>();
        for _ in 0..count {
            for four in fours {
                for (i, disp) in four.iter().enumerate() {
                    // SAFETY: as in `strided_by`.
                    unsafe {
                        let block = user.wrapping_offset(*disp as isize);
                        Self::block(block, stream.add(i * LEN), LEN);
                    }
                }
                // SAFETY: the stream has room for all fed runs.
                stream = unsafe { stream.add(4 * LEN) };
            }
            for disp in rest {
                // SAFETY: as in `strided_by`.
                unsafe {
                    Self::block(user.wrapping_offset(*disp as isize), stream, LEN);
                    stream = stream.add(LEN);
                }
            }
            user = user.wrapping_offset(stride as isize);
        }
        self.stream = stream;
    }

    /// Rows of blocks, in the order of the stream.
    #[inline(never)]
    fn grid_by<const LEN: usize>(&mut self, off: i64, count: u64, stride: i64, row: Row) {
        let mut user = self.address(off);
        let mut stream = self.stream;
        for _ in 0..count {
            let mut block = user;
            for _ in 0..row.count {
                // SAFETY: as in `strided_by`.
                unsafe {
                    Self::block(block, stream, LEN);
                    stream = stream.add(LEN);
                }
                block = block.wrapping_offset(row.stride as isize);
            }
            user = user.wrapping_offset(stride as isize);
        }
        self.stream = stream;
    }

    /// Columns of a matrix, one after the other in the stream. Each line of the user's memory holds
    /// blocks of several columns, so these are copied together, in tiles of [`TILE`] blocks a side.
    #[inline(never)]
    fn columns_by<const LEN: usize>(&mut self, off: i64, count: u64, stride: i64, column: Row) {
        let user = self.address(off);
        let (columns, rows) = (count as usize, column.count as usize);
        for left in (0..columns).step_by(TILE) {
            let right = columns.min(left + TILE);
            for top in (0..rows).step_by(TILE) {
                let bottom = rows.min(top + TILE);
                for r in top..bottom {
                    let from = user.wrapping_offset(r as isize * column.stride as isize);
                    for c in left..right {
                        let block = from.wrapping_offset(c as isize * stride as isize);
                        // SAFETY: as in `strided_by`; the stream has `columns * rows` blocks.
                        unsafe { Self::block(block, self.stream.add((c * rows + r) * LEN), LEN) };
                    }
                }
            }
        }
        // SAFETY: the stream has room for all fed runs.
        self.stream = unsafe { self.stream.add(columns * rows * LEN) };
    }

    /// By columns where `count` columns of `row`s lie side by side: the blocks of a row of the
    /// matrix are apart and end before the next row.
    fn rows_or_columns<const LEN: usize>(&mut self, off: i64, count: u64, stride: i64, row: Row) {
        let width = stride.unsigned_abs().checked_mul(count);
        let side_by_side = width.is_some_and(|width| width <= row.stride.unsigned_abs());
        if side_by_side && count > 1 && LEN as u64 <= stride.unsigned_abs() {
            self.columns_by::<LEN>(off, count, stride, row);
        } else {
            self.grid_by::<LEN>(off, count, stride, row);
        }
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
        self.pattern(off, 1, 0, disps, len);
    }

    fn pattern(&mut self, off: i64, count: u64, stride: i64, disps: &[i64], len: u64) {
        match len {
            1 => self.pattern_by::<1>(off, count, stride, disps),
            2 => self.pattern_by::<2>(off, count, stride, disps),
            4 => self.pattern_by::<4>(off, count, stride, disps),
            8 => self.pattern_by::<8>(off, count, stride, disps),
            12 => self.pattern_by::<12>(off, count, stride, disps),
            16 => self.pattern_by::<16>(off, count, stride, disps),
            24 => self.pattern_by::<24>(off, count, stride, disps),
            32 => self.pattern_by::<32>(off, count, stride, disps),
            48 => self.pattern_by::<48>(off, count, stride, disps),
            64 => self.pattern_by::<64>(off, count, stride, disps),
            _ => (0..count as i64).for_each(|i| {
                let at = off.wrapping_add(stride.wrapping_mul(i));
                disps.iter().for_each(|disp| self.run(at.wrapping_add(*disp), len));
            }),
        }
    }

    fn grid(&mut self, off: i64, count: u64, stride: i64, row: Row) {
        match row.len {
            1 => self.rows_or_columns::<1>(off, count, stride, row),
            2 => self.rows_or_columns::<2>(off, count, stride, row),
            4 => self.rows_or_columns::<4>(off, count, stride, row),
            8 => self.rows_or_columns::<8>(off, count, stride, row),
            12 => self.rows_or_columns::<12>(off, count, stride, row),
            16 => self.rows_or_columns::<16>(off, count, stride, row),
            24 => self.rows_or_columns::<24>(off, count, stride, row),
            32 => self.rows_or_columns::<32>(off, count, stride, row),
            _ => (0..count as i64).for_each(|i| {
                let at = off.wrapping_add(stride.wrapping_mul(i));
                self.strided(at, row.count, row.stride, row.len);
            }),
        }
    }
}
