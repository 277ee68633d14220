//! Arrays of the program whose elements the engine needs in another form.

use core::mem::MaybeUninit;
use core::ptr::null_mut;

/// Elements that need no memory from the heap.
const FEW: usize = 32;

/// The engine's form of an array of the program.
pub struct Several<F, S> {
    user: *mut F,
    len: usize,
    few: [MaybeUninit<S>; FEW],
    many: Vec<S>,
}

/// A length that the program gave; negative ones are the engine's to complain about.
#[inline(always)]
pub fn length<N: TryInto<usize>>(n: N) -> usize {
    n.try_into().unwrap_or(0)
}

impl<F: Copy, S: Copy + PartialEq> Several<F, S> {
    /// The translated elements of `user`, which may be null.
    ///
    /// # Safety
    /// `user` is null or holds `len` elements.
    #[inline(always)]
    pub unsafe fn take(user: *const F, len: usize, translate: impl Fn(F) -> S) -> Several<F, S> {
        let user = user.cast_mut();
        let len = if user.is_null() { 0 } else { len };
        let mut several =
            Several { user, len, few: [MaybeUninit::uninit(); FEW], many: Vec::new() };
        // SAFETY: `i < len`, and the caller vouches for `len`.
        let element = |i: usize| translate(unsafe { *user.add(i) });
        if len > FEW {
            several.many = (0..len).map(element).collect();
        } else {
            several.few[..len].iter_mut().enumerate().for_each(|(i, place)| {
                place.write(element(i));
            });
        }
        several
    }

    /// `len` places for results, which hold `value`; null is allowed and handed on.
    #[inline(always)]
    pub fn fresh(user: *mut F, len: usize, value: S) -> Several<F, S> {
        let len = if user.is_null() { 0 } else { len };
        let mut several =
            Several { user, len, few: [MaybeUninit::uninit(); FEW], many: Vec::new() };
        if len > FEW {
            several.many = vec![value; len];
        } else {
            several.few[..len].fill(MaybeUninit::new(value));
        }
        several
    }

    /// The array for the engine; null where the program's is.
    #[inline(always)]
    pub fn place(&mut self) -> *mut S {
        match () {
            _ if self.user.is_null() => null_mut(),
            _ if self.len > FEW => self.many.as_mut_ptr(),
            _ => self.few.as_mut_ptr().cast(),
        }
    }

    /// Hands all elements back.
    ///
    /// # Safety
    /// As `take`, and the elements may be written.
    #[inline(always)]
    pub unsafe fn give(mut self, translate: impl Fn(S) -> F) {
        let own = self.place();
        for i in 0..self.len {
            // SAFETY: both arrays have `len` elements, all of ours initialised.
            unsafe { *self.user.add(i) = translate(*own.add(i)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_length_come_back() {
        for n in [0, 1, FEW, FEW + 1, 1000] {
            let mut user: Vec<i32> = (0..n as i32).collect();
            // SAFETY: the array has `n` elements, and so has ours.
            unsafe {
                let mut own = Several::take(user.as_mut_ptr(), n, |v| i64::from(v) + 1);
                let place = own.place();
                (0..n).for_each(|i| *place.add(i) *= 2);
                own.give(|v| v as i32);
            }
            assert!(user.iter().enumerate().all(|(i, v)| *v == 2 * (i as i32 + 1)));
        }
        // SAFETY: null is allowed.
        assert!(unsafe { Several::take(null_mut::<i32>(), 9, |v| v) }.place().is_null());
        assert_eq!((length(-1), length(5i64)), (0, 5));
    }
}
