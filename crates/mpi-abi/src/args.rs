//! Arguments that differ between a function and its large-count (`_c`) form, so that one body
//! serves both: arrays of counts, arrays of displacements, and counts that a function stores.

use core::ffi::c_int;

use crate::generated::constants::{MPI_Aint, MPI_Count, MPI_UNDEFINED};

/// An array of counts that the caller owns; `int` or `MPI_Count`.
#[derive(Clone, Copy, Debug)]
pub struct Counts(Array);

/// An array of displacements that the caller owns; `int`, `MPI_Aint` or `MPI_Count`.
#[derive(Clone, Copy, Debug)]
pub struct Displs(Array);

/// Where the caller wants one count stored; `int`, `MPI_Aint` or `MPI_Count`.
#[derive(Clone, Copy, Debug)]
pub struct CountOut(OutPointer);

#[derive(Clone, Copy, Debug)]
enum Array {
    Int(*const c_int),
    Aint(*const MPI_Aint),
    Count(*const MPI_Count),
}

#[derive(Clone, Copy, Debug)]
enum OutPointer {
    Int(*mut c_int),
    Aint(*mut MPI_Aint),
    Count(*mut MPI_Count),
}

impl Counts {
    /// Whether the caller used the `_c` form.
    pub fn is_wide(self) -> bool {
        matches!(self.0, Array::Count(_))
    }

    /// An array of the `int` form; null is allowed.
    pub fn narrow(counts: *const c_int) -> Counts {
        Counts(Array::Int(counts))
    }

    /// An array of the `_c` form; null is allowed.
    pub fn wide(counts: *const MPI_Count) -> Counts {
        Counts(Array::Count(counts))
    }

    /// Whether the caller gave no array.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Element `i`; 0 when the array is null.
    ///
    /// # Safety
    /// The array is null or has more than `i` elements.
    pub unsafe fn get(self, i: usize) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { self.0.get(i) }
    }

    /// The first `n` elements; zeros when the array is null.
    ///
    /// # Safety
    /// The array is null or has at least `n` elements.
    pub unsafe fn to_vec(self, n: usize) -> Vec<i64> {
        // SAFETY: the caller's promise.
        unsafe { self.0.to_vec(n) }
    }
}

impl Displs {
    /// Whether the displacements are those of a `_c` form that has `MPI_Count` there.
    pub fn is_count(self) -> bool {
        matches!(self.0, Array::Count(_))
    }

    /// An array of `int`; null is allowed.
    pub fn narrow(displs: *const c_int) -> Displs {
        Displs(Array::Int(displs))
    }

    /// An array of `MPI_Aint`; null is allowed.
    pub fn wide(displs: *const MPI_Aint) -> Displs {
        Displs(Array::Aint(displs))
    }

    /// An array of `MPI_Count`, as the `_c` forms of the datatype constructors have; null is
    /// allowed.
    pub fn counts(displs: *const MPI_Count) -> Displs {
        Displs(Array::Count(displs))
    }

    /// Whether the caller gave no array.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Element `i`; 0 when the array is null.
    ///
    /// # Safety
    /// The array is null or has more than `i` elements.
    pub unsafe fn get(self, i: usize) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { self.0.get(i) }
    }

    /// The first `n` elements; zeros when the array is null.
    ///
    /// # Safety
    /// The array is null or has at least `n` elements.
    pub unsafe fn to_vec(self, n: usize) -> Vec<i64> {
        // SAFETY: the caller's promise.
        unsafe { self.0.to_vec(n) }
    }
}

impl CountOut {
    /// Where an `int` is stored.
    pub fn narrow(at: *mut c_int) -> CountOut {
        CountOut(OutPointer::Int(at))
    }

    /// Where an `MPI_Aint` is stored.
    pub fn aint(at: *mut MPI_Aint) -> CountOut {
        CountOut(OutPointer::Aint(at))
    }

    /// Where an `MPI_Count` is stored.
    pub fn wide(at: *mut MPI_Count) -> CountOut {
        CountOut(OutPointer::Count(at))
    }

    /// Whether the caller gave no pointer.
    pub fn is_null(self) -> bool {
        match self.0 {
            OutPointer::Int(at) => at.is_null(),
            OutPointer::Aint(at) => at.is_null(),
            OutPointer::Count(at) => at.is_null(),
        }
    }

    /// Stores `value`, or MPI_UNDEFINED where the pointer is too small for it (MPI 5.0, section
    /// 3.2.5). Nothing happens when the pointer is null.
    ///
    /// # Safety
    /// The pointer is null or may be written.
    pub unsafe fn set(self, value: i64) {
        if self.is_null() {
            return;
        }
        // SAFETY: not null, and the caller vouches for the pointer.
        unsafe {
            match self.0 {
                OutPointer::Int(at) => *at = c_int::try_from(value).unwrap_or(MPI_UNDEFINED),
                OutPointer::Aint(at) => {
                    *at = MPI_Aint::try_from(value).unwrap_or(MPI_UNDEFINED as MPI_Aint)
                }
                OutPointer::Count(at) => *at = value,
            }
        }
    }

    /// What the pointer holds, for arguments that are read and written (`position` of MPI_Pack);
    /// 0 when the pointer is null.
    ///
    /// # Safety
    /// The pointer is null or holds a value.
    pub unsafe fn get(self) -> i64 {
        if self.is_null() {
            return 0;
        }
        // SAFETY: not null, and the caller vouches for the pointer.
        unsafe {
            match self.0 {
                OutPointer::Int(at) => i64::from(*at),
                OutPointer::Aint(at) => *at as i64,
                OutPointer::Count(at) => *at,
            }
        }
    }
}

impl Array {
    fn is_null(self) -> bool {
        match self {
            Array::Int(first) => first.is_null(),
            Array::Aint(first) => first.is_null(),
            Array::Count(first) => first.is_null(),
        }
    }

    /// # Safety
    /// The array is null or has more than `i` elements.
    unsafe fn get(self, i: usize) -> i64 {
        if self.is_null() {
            return 0;
        }
        // SAFETY: not null, and the caller vouches for the length.
        unsafe {
            match self {
                Array::Int(first) => i64::from(*first.add(i)),
                Array::Aint(first) => *first.add(i) as i64,
                Array::Count(first) => *first.add(i),
            }
        }
    }

    /// # Safety
    /// The array is null or has at least `n` elements.
    unsafe fn to_vec(self, n: usize) -> Vec<i64> {
        // SAFETY: `i < n`, and the caller vouches for `n`.
        (0..n).map(|i| unsafe { self.get(i) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr;

    #[test]
    fn arrays_of_each_width_read_alike() {
        let (ints, aints, counts) = ([-1, 2, 3], [-1isize, 2, 3], [-1i64, 2, 3]);
        // SAFETY: every array has three elements.
        unsafe {
            assert_eq!(Counts::narrow(ints.as_ptr()).to_vec(3), counts);
            assert_eq!(Counts::wide(counts.as_ptr()).to_vec(3), counts);
            assert_eq!(Displs::narrow(ints.as_ptr()).to_vec(3), counts);
            assert_eq!(Displs::wide(aints.as_ptr()).get(0), -1);
            assert_eq!(Displs::counts(counts.as_ptr()).get(2), 3);
        }
    }

    #[test]
    fn null_arrays_read_as_zeros() {
        let (counts, displs) = (Counts::narrow(ptr::null()), Displs::wide(ptr::null()));
        assert!(counts.is_null() && displs.is_null());
        // SAFETY: null is allowed.
        unsafe {
            assert_eq!(counts.get(5), 0);
            assert_eq!(displs.to_vec(2), [0, 0]);
        }
    }

    #[test]
    fn a_count_that_does_not_fit_becomes_undefined() {
        let (mut int, mut aint, mut count) = (0, 0isize, 0i64);
        // SAFETY: the places are local variables.
        unsafe {
            CountOut::narrow(&mut int).set(1 << 31);
            CountOut::aint(&mut aint).set(1 << 31);
            CountOut::wide(&mut count).set(1 << 40);
            CountOut::narrow(ptr::null_mut()).set(7);
            assert_eq!(CountOut::wide(&mut count).get(), 1 << 40);
            assert_eq!(CountOut::wide(ptr::null_mut()).get(), 0);
        }
        assert_eq!((int, aint, count), (MPI_UNDEFINED, 1 << 31, 1 << 40));
        // SAFETY: as above.
        unsafe { CountOut::narrow(&mut int).set(i64::from(i32::MAX)) };
        assert_eq!(int, i32::MAX);
    }
}
