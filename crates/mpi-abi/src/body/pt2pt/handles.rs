//! The request array of a call, read handle by handle. There is never a reference to the whole: the call
//! writes handles through the program's own pointer while it reads others, and functions of the program
//! that run meanwhile may write to the array, too.

use crate::body::check::wrong;
use crate::generated::constants::*;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

/// See the module's text.
#[derive(Clone, Copy)]
pub(super) struct Handles {
    first: *const MPI_Request,
    len: usize,
}

impl Handles {
    /// The array that a program gave.
    ///
    /// # Safety
    /// Unless it is null, `requests` may be read for `count` handles as long as the value is used.
    #[inline]
    pub unsafe fn new(count: c_int, requests: *const MPI_Request) -> Result<Handles> {
        match usize::try_from(count) {
            Ok(len) if len == 0 || !requests.is_null() => Ok(Handles { first: requests, len }),
            Ok(_) => Err(wrong(Class::Arg, "the array of requests is null")),
            Err(_) => Err(wrong(Class::Count, format!("count is {count}; expected 0 or more"))),
        }
    }

    #[inline(always)]
    pub fn len(self) -> usize {
        self.len
    }

    /// What the array holds at `index`, which is below `len`, at this moment.
    #[inline(always)]
    pub fn get(self, index: usize) -> MPI_Request {
        assert!(index < self.len);
        // SAFETY: inside the array; the promise of `new`.
        unsafe { *self.first.add(index) }
    }

    /// All of them, each read when it is asked for.
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = MPI_Request> {
        (0..self.len).map(move |index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_those_of_the_moment() {
        let mut array = [MPI_Request(7), MPI_Request(8)];
        let first = array.as_mut_ptr();
        // SAFETY: the array outlives the value.
        let all = unsafe { Handles::new(2, first).unwrap() };
        let mut seen = all.iter();
        assert_eq!((all.get(1), seen.next()), (MPI_Request(8), Some(MPI_Request(7))));
        // SAFETY: inside the array.
        unsafe { *first.add(1) = MPI_Request(9) };
        assert_eq!((seen.next(), seen.next()), (Some(MPI_Request(9)), None));
        // SAFETY: nothing is read.
        unsafe {
            assert!(
                Handles::new(-1, first).is_err() && Handles::new(1, core::ptr::null()).is_err()
            );
            assert_eq!(Handles::new(0, core::ptr::null()).unwrap().len(), 0);
        }
    }
}
