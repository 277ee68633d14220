//! Reductions into a datatype from its packed form, as one-sided accumulates need them
//! (MPI 5.0, section 12.3.4).
use std::sync::Arc;

use super::Predef;
use crate::datatype::{Datatype, Kind, Predefined};
use crate::error::{Class, Error, Result};

/// Packed bytes reduced at a time.
const STAGE: usize = 4096;

/// Room for the elements of a stage in array form: padding makes pairs at most twice as large.
const PADDED: usize = 2 * STAGE;

impl Predef {
    /// The one predefined datatype that `ty` consists of. Fails with `MPI_ERR_OP` when there is
    /// none, or the operation is not defined for it. `None`: the operation takes any datatype.
    pub fn check_accumulate(self, ty: &Datatype) -> Result<Option<&'static Predefined>> {
        if self.takes_any() {
            return Ok(None);
        }
        let Some(entry) = ty.element() else {
            let name = self.name();
            let text = format!("{name} needs a datatype whose elements are all of one kind");
            return Err(Error::new(Class::Op, text));
        };
        self.check(entry)?;
        Ok(Some(entry))
    }

    /// Combines `data`, which is bytes `position..` of the packed form of `count` copies of `ty`,
    /// into those copies at `base`: `base[i] = data[i] op base[i]`. Returns the bytes taken:
    /// whole elements only, and none past the end of the copies. `position` is the start of an
    /// element. Not atomic towards other threads or processes.
    ///
    /// # Safety
    /// The bytes that `count` copies at `base` describe are valid for reads and writes, and `data`
    /// is not among them.
    pub unsafe fn accumulate(
        self,
        data: &[u8],
        base: *mut u8,
        count: i64,
        position: u64,
        ty: &Arc<Datatype>,
    ) -> Result<usize> {
        let Some(entry) = self.check_accumulate(ty)? else {
            // SAFETY: the caller's promise.
            let replace = || unsafe { ty.unpack(base, count, position, data) };
            return Ok(if self == Predef::Replace { replace() } else { data.len() });
        };
        let element = element_type(entry, ty);
        let per_stage = STAGE / entry.size;
        let mut done = 0;
        for piece in data.chunks(per_stage * entry.size) {
            let n = piece.len() / entry.size;
            let mut packed = [0u8; STAGE];
            let packed = &mut packed[..n * entry.size];
            // SAFETY: the caller's promise; `packed` is our own.
            let got = unsafe { ty.pack(base, count, position + done as u64, packed) };
            let n = got / entry.size;
            let len = n * entry.size;
            // SAFETY: `piece` and `packed` hold `n` elements.
            unsafe { self.combine(entry, element, &piece[..len], &mut packed[..len], n)? };
            // SAFETY: the caller's promise.
            done += unsafe { ty.unpack(base, count, position + done as u64, &packed[..len]) };
            if len < piece.len() {
                break;
            }
        }
        Ok(done)
    }

    /// Reduces packed elements. Scalars are arrays as they are; pairs are padded first.
    ///
    /// # Safety
    /// Both slices hold `n` packed elements.
    unsafe fn combine(
        self,
        entry: &Predefined,
        element: Option<&Datatype>,
        data: &[u8],
        packed: &mut [u8],
        n: usize,
    ) -> Result<()> {
        let (Kind::Pair { .. }, Some(element)) = (entry.kind, element) else {
            // SAFETY: the caller's promise.
            return unsafe { self.apply(entry, data.as_ptr(), packed.as_mut_ptr(), n) };
        };
        let (mut input, mut inout) = ([0u8; PADDED], [0u8; PADDED]);
        let count = n as i64;
        // SAFETY: `n` padded elements fit: none is more than twice its packed size.
        unsafe {
            element.unpack(input.as_mut_ptr(), count, 0, data);
            element.unpack(inout.as_mut_ptr(), count, 0, packed);
            self.apply(entry, input.as_ptr(), inout.as_mut_ptr(), n)?;
            element.pack(inout.as_ptr(), count, 0, packed);
        }
        Ok(())
    }
}

/// The datatype of one element; for unnamed pairs it is the innermost type of `ty`.
fn element_type<'a>(entry: &Predefined, ty: &'a Datatype) -> Option<&'a Datatype> {
    match Datatype::predefined(entry.abi) {
        Some(named) => Some(named),
        None => ty.innermost(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_into_a_column() {
        let int = Datatype::predefined(0x209).unwrap();
        let column = Datatype::vector(3, 1, 2, int).unwrap();
        let mut target = [1i32, 2, 3, 4, 5, 6];
        let data: Vec<u8> = [10i32, 20, 30].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let base = target.as_mut_ptr().cast();
        // SAFETY: the column spans five of the six integers.
        unsafe {
            assert_eq!(Predef::Sum.accumulate(&data[..4], base, 1, 0, &column), Ok(4));
            assert_eq!(Predef::Sum.accumulate(&data[4..], base, 1, 4, &column), Ok(8));
            assert_eq!(Predef::Max.accumulate(&data[..8], base, 1, 8, &column), Ok(4));
        }
        assert_eq!(target, [11, 2, 23, 4, 35, 6]);
    }

    #[test]
    fn pairs_are_packed_without_padding() {
        let pair = Datatype::predefined(0x22c).unwrap();
        let two = Datatype::contiguous(2, pair).unwrap();
        let mut target = [[5i32, 7], [1, 3]];
        let mut data = Vec::new();
        for (value, index) in [(4i16, 1i32), (9, 2)] {
            data.extend_from_slice(&value.to_ne_bytes());
            data.extend_from_slice(&index.to_ne_bytes());
        }
        // SAFETY: two pairs of eight bytes with padding.
        let len =
            unsafe { Predef::MaxLoc.accumulate(&data, target.as_mut_ptr().cast(), 1, 0, &two) };
        assert_eq!((len, target), (Ok(12), [[5, 7], [9, 2]]));
        let int64 = Datatype::predefined(0x258).unwrap();
        let short = Datatype::predefined(0x208).unwrap();
        let unnamed = Datatype::value_index(short, int64).unwrap();
        let nested = Datatype::dup(&Datatype::contiguous(1, unnamed).unwrap()).unwrap();
        let mut target = [3i64, 8];
        let mut data = 2i16.to_ne_bytes().to_vec();
        data.extend_from_slice(&6i64.to_ne_bytes());
        // SAFETY: one pair of sixteen bytes with padding.
        let len =
            unsafe { Predef::MinLoc.accumulate(&data, target.as_mut_ptr().cast(), 1, 0, &nested) };
        assert_eq!((len, target), (Ok(10), [2, 6]));
    }

    #[test]
    fn mixed_types_are_refused() {
        let (int, double) =
            (Datatype::predefined(0x209).unwrap(), Datatype::predefined(0x214).unwrap());
        let mixed = Datatype::structure(&[1, 1], &[0, 8], &[int.clone(), double.clone()]).unwrap();
        assert_eq!(Predef::Sum.check_accumulate(&mixed).unwrap_err().class, Class::Op);
        assert!(Predef::Replace.check_accumulate(&mixed).is_ok());
        assert!(Predef::Band.check_accumulate(double).is_err());
    }
}
