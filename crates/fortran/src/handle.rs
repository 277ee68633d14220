//! Handles: integers in the program, the ABI's own type below.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr::null_mut;

/// A place of the program for one handle.
pub struct Handle<C> {
    user: *mut c_int,
    before: c_int,
    own: C,
}

impl<C: Copy> Handle<C> {
    /// For a result. What stands in its place is not looked at: it may be no handle.
    #[inline(always)]
    pub fn fresh(user: *mut c_int, fromint: impl Fn(c_int) -> C) -> Self {
        Self { user, before: 0, own: fromint(0) }
    }

    /// Hands over a result, if there is one.
    ///
    /// # Safety
    /// `user` is the address of an integer.
    #[inline(always)]
    pub unsafe fn give_if(self, success: bool, toint: impl Fn(C) -> c_int) {
        if success {
            // SAFETY: the caller's promise.
            unsafe { *self.user = toint(self.own) };
        }
    }

    /// For a handle that is read and perhaps written.
    ///
    /// # Safety
    /// `user` is the address of an integer.
    #[inline(always)]
    pub unsafe fn new(
        user: *mut c_int,
        fromint: impl Fn(c_int) -> C,
        toint: impl Fn(C) -> c_int,
    ) -> Self {
        // SAFETY: the caller's promise.
        let own = fromint(unsafe { *user });
        Self { user, before: toint(own), own }
    }

    /// Where C is to write.
    #[inline(always)]
    pub fn pointer(&mut self) -> *mut C {
        &mut self.own
    }

    /// Hands over what C wrote, if anything.
    ///
    /// # Safety
    /// As `new`.
    #[inline(always)]
    pub unsafe fn give(self, toint: impl Fn(C) -> c_int) {
        let after = toint(self.own);
        if after != self.before {
            // SAFETY: the caller's promise.
            unsafe { *self.user = after };
        }
    }
}

/// Handles that need no memory from the heap.
const INLINE_HANDLES: usize = 32;

/// An array of handles of the program.
pub struct Handles<C> {
    user: *mut c_int,
    len: usize,
    few: [MaybeUninit<C>; INLINE_HANDLES],
    many: Vec<C>,
}

impl<C: Copy> Handles<C> {
    /// The translated elements of `user`.
    ///
    /// # Safety
    /// `user` holds `len` integers, unless `len` is 0.
    #[inline(always)]
    pub unsafe fn new(user: *mut c_int, len: usize, fromint: impl Fn(c_int) -> C) -> Self {
        let mut handles =
            Self { user, len, few: [MaybeUninit::uninit(); INLINE_HANDLES], many: Vec::new() };
        // SAFETY: `i < len`, and the caller vouches for `len`.
        let element = |i: usize| fromint(unsafe { *user.add(i) });
        if len > INLINE_HANDLES {
            handles.many = (0..len).map(element).collect();
        } else {
            for (i, place) in handles.few[..len].iter_mut().enumerate() {
                place.write(element(i));
            }
        }
        handles
    }

    /// `len` places for results. What stands in the program's is not looked at.
    pub fn fresh(user: *mut c_int, len: usize, fromint: impl Fn(c_int) -> C) -> Self {
        let few = [MaybeUninit::new(fromint(0)); INLINE_HANDLES];
        let many = if len > INLINE_HANDLES { vec![fromint(0); len] } else { Vec::new() };
        Self { user, len, few, many }
    }

    /// Hands over the results; the integer 0 is none.
    ///
    /// # Safety
    /// As `new`.
    pub unsafe fn give_if(mut self, success: bool, toint: impl Fn(C) -> c_int) {
        let own = self.pointer();
        for i in 0..if success { self.len } else { 0 } {
            // SAFETY: both arrays have `len` elements, all of ours initialised.
            match toint(unsafe { *own.add(i) }) {
                0 => {}
                // SAFETY: as above.
                number => unsafe { *self.user.add(i) = number },
            }
        }
    }

    /// The array for C. One without elements has an address, too: C's null means something else.
    #[inline(always)]
    pub fn pointer(&mut self) -> *mut C {
        match () {
            _ if self.user.is_null() => null_mut(),
            _ if self.len > INLINE_HANDLES => self.many.as_mut_ptr(),
            _ => self.few.as_mut_ptr().cast(),
        }
    }

    /// Hands all elements back.
    ///
    /// # Safety
    /// As `new`.
    #[inline(always)]
    pub unsafe fn give(mut self, toint: impl Fn(C) -> c_int) {
        let own = self.pointer();
        for i in 0..self.len {
            // SAFETY: both arrays have `len` elements, all of ours initialised.
            unsafe { *self.user.add(i) = toint(*own.add(i)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one() {
        let mut user = 5;
        // SAFETY: a local variable.
        unsafe {
            let mut handle = Handle::new(&mut user, |i| i64::from(i) * 2, |c| (c / 2) as c_int);
            assert_eq!(*handle.pointer(), 10);
            *handle.pointer() = 14;
            handle.give(|c| (c / 2) as c_int);
            assert_eq!(user, 7);
            let mut result = Handle::fresh(&mut user, i64::from);
            *result.pointer() = 9;
            result.give_if(false, |c| c as c_int);
            assert_eq!(user, 7);
            // What does not survive the way there and back stays if C writes nothing.
            let handle = Handle::new(&mut user, |_| 0_i64, |_| 0);
            handle.give(|_| 0);
        }
        assert_eq!(user, 7);
    }

    #[test]
    fn many() {
        for n in [0, 1, INLINE_HANDLES, INLINE_HANDLES + 1, 500] {
            let mut user: Vec<c_int> = (0..n as c_int).collect();
            // SAFETY: the array has `n` elements.
            unsafe {
                let mut handles = Handles::new(user.as_mut_ptr(), n, |i| i64::from(i) + 1);
                let place = handles.pointer();
                (0..n).for_each(|i| *place.add(i) *= 3);
                handles.give(|c| c as c_int);
            }
            assert!(user.iter().enumerate().all(|(i, v)| *v == 3 * (i as c_int + 1)));
        }
    }
}
