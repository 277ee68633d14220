//! Packing, unpacking and typed copies in the native representation (MPI 5.0, section 5.2).
use super::kernel::Mover;
use super::{Datatype, as_count};

/// A typed copy goes through a buffer of this size, small enough to stay in the first-level cache.
const STAGE: usize = 8192;

impl Datatype {
    /// Copies bytes `position..` of the packed form of `count` copies at `base` into `out`, as
    /// many as fit or remain, and returns how many. A message is packed in any pieces by passing
    /// the sum of the results as the next `position`; finding it takes a few divisions per level
    /// of the type, and a binary search in lists.
    ///
    /// # Safety
    /// `base` (null for absolute displacements) is the address of a buffer whose bytes that
    /// `count` copies of this type describe are valid for reads, and `out` is not among them.
    pub unsafe fn pack(&self, base: *const u8, count: i64, position: u64, out: &mut [u8]) -> usize {
        // SAFETY: `walk` feeds runs of the type only, and no more than `out.len()` bytes of them.
        let mut mover = unsafe { Mover::<true>::new(base.cast_mut(), out.as_mut_ptr()) };
        self.layout.walk(as_count(count), position, out.len() as u64, &mut mover) as usize
    }

    /// The reverse of [`Datatype::pack`]: stores `data` as bytes `position..` of the packed form
    /// and returns how many bytes were stored: fewer than given when the type ends before.
    ///
    /// # Safety
    /// As for [`Datatype::pack`], valid for writes.
    pub unsafe fn unpack(&self, base: *mut u8, count: i64, position: u64, data: &[u8]) -> usize {
        // SAFETY: as in `pack`; the mover only reads from the stream when it unpacks.
        let mut mover = unsafe { Mover::<false>::new(base, data.as_ptr().cast_mut()) };
        self.layout.walk(as_count(count), position, data.len() as u64, &mut mover) as usize
    }
}

/// Copies `scount` copies of `sty` at `src` to `dcount` copies of `dty` at `dst`, as a message to
/// oneself does. Returns the bytes copied: the size of the smaller side, so that a result below
/// the source's packed size means truncation.
///
/// # Safety
/// The bytes that the source describes are valid for reads, those of the destination for writes,
/// and the two do not overlap.
pub unsafe fn copy(
    src: *const u8,
    scount: i64,
    sty: &Datatype,
    dst: *mut u8,
    dcount: i64,
    dty: &Datatype,
) -> u64 {
    let limit = sty.layout.total(as_count(scount)).min(dty.layout.total(as_count(dcount)));
    if limit == 0 {
        return 0;
    }
    if let Some((off, _)) = sty.as_run(scount) {
        // SAFETY: the source is this one run, at least `limit` bytes long.
        let data = unsafe { run_at(src, off, limit) };
        if let Some((off, _)) = dty.as_run(dcount) {
            // SAFETY: so is the destination, and the two do not overlap.
            unsafe { hpvm_copy::any(data.as_ptr(), dst.wrapping_offset(off as isize), data.len()) };
            return limit;
        }
        // SAFETY: the caller's promise about the destination.
        return unsafe { dty.unpack(dst, dcount, 0, data) } as u64;
    }
    if let Some((off, _)) = dty.as_run(dcount) {
        // SAFETY: the destination is this one run, at least `limit` bytes long.
        let out = unsafe { run_at_mut(dst, off, limit) };
        // SAFETY: the caller's promise about the source.
        return unsafe { sty.pack(src, scount, 0, out) } as u64;
    }
    let mut stage = [0u8; STAGE];
    let mut done = 0;
    while done < limit {
        let piece = &mut stage[..STAGE.min((limit - done) as usize)];
        // SAFETY: the caller's promise about the source; the stage is our own.
        let len = unsafe { sty.pack(src, scount, done, piece) };
        // SAFETY: the caller's promise about the destination.
        unsafe { dty.unpack(dst, dcount, done, &piece[..len]) };
        done += len as u64;
    }
    done
}

/// # Safety
/// The `len` bytes at `base + off` are valid for reads for as long as the result lives.
unsafe fn run_at<'a>(base: *const u8, off: i64, len: u64) -> &'a [u8] {
    let address = base.expose_provenance().wrapping_add_signed(off as isize);
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), len as usize) }
}

/// # Safety
/// As for [`run_at`], valid for writes and not accessed in another way meanwhile.
unsafe fn run_at_mut<'a>(base: *mut u8, off: i64, len: u64) -> &'a mut [u8] {
    let address = base.expose_provenance().wrapping_add_signed(off as isize);
    // SAFETY: the caller's promise.
    unsafe {
        let start = std::ptr::with_exposed_provenance_mut(address);
        std::slice::from_raw_parts_mut(start, len as usize)
    }
}
