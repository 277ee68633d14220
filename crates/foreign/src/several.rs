//! Arrays of the program whose elements the engine needs in another form.

use core::mem::MaybeUninit;
use core::ptr::null_mut;

/// Elements that need no memory from the heap.
const INLINE_ELEMENTS: usize = 32;

/// The engine's form of an array of the program.
pub struct Several<F, S> {
    user: *mut F,
    len: usize,
    few: [MaybeUninit<S>; INLINE_ELEMENTS],
    many: Vec<S>,
}

/// A length that the program gave; negative ones are the engine's to complain about.
#[inline(always)]
pub fn length<N: TryInto<usize>>(n: N) -> usize {
    n.try_into().unwrap_or(0)
}

impl<F: Copy, S: Copy + PartialEq> Several<F, S> {
    /// For `len` elements of `user`, which may be null; none yet. What it holds is never moved, because
    /// that would copy all of it.
    #[inline(always)]
    pub fn new(user: *const F, len: usize) -> Several<F, S> {
        let len = if user.is_null() { 0 } else { len };
        let few = [const { MaybeUninit::uninit() }; INLINE_ELEMENTS];
        Several { user: user.cast_mut(), len, few, many: Vec::new() }
    }

    /// Takes the translated elements.
    ///
    /// # Safety
    /// The program's array is null or has the length given.
    #[inline(always)]
    pub unsafe fn take(&mut self, translate: impl Fn(F) -> S) {
        let user = self.user;
        // SAFETY: `i < len`, and the caller vouches for `len`.
        let element = |i: usize| translate(unsafe { *user.add(i) });
        if self.len > INLINE_ELEMENTS {
            self.many = (0..self.len).map(element).collect();
        } else {
            self.few[..self.len].iter_mut().enumerate().for_each(|(i, place)| {
                place.write(element(i));
            });
        }
    }

    /// Takes `value` for every element: places for results.
    #[inline(always)]
    pub fn fill(&mut self, value: S) {
        if self.len > INLINE_ELEMENTS {
            self.many = vec![value; self.len];
        } else {
            self.few[..self.len].fill(MaybeUninit::new(value));
        }
    }

    /// The array for the engine; null where the program's is.
    #[inline(always)]
    pub fn pointer(&mut self) -> *mut S {
        match () {
            _ if self.user.is_null() => null_mut(),
            _ if self.len > INLINE_ELEMENTS => self.many.as_mut_ptr(),
            _ => self.few.as_mut_ptr().cast(),
        }
    }

    /// Hands all elements back.
    ///
    /// # Safety
    /// After `take` or `fill`; as `take`, and the elements may be written.
    #[inline(always)]
    pub unsafe fn give(&mut self, translate: impl Fn(S) -> F) {
        let own = self.pointer();
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
        for n in [0, 1, INLINE_ELEMENTS, INLINE_ELEMENTS + 1, 1000] {
            let mut user: Vec<i32> = (0..n as i32).collect();
            // SAFETY: the array has `n` elements, and so has ours.
            unsafe {
                let mut own = Several::new(user.as_mut_ptr(), n);
                own.take(|v| i64::from(v) + 1);
                let place = own.pointer();
                (0..n).for_each(|i| *place.add(i) *= 2);
                own.give(|v| v as i32);
            }
            assert!(user.iter().enumerate().all(|(i, v)| *v == 2 * (i as i32 + 1)));
        }
        let mut none = Several::new(null_mut::<i32>(), 9);
        none.fill(7i64);
        assert!(none.pointer().is_null());
        assert_eq!((length(-1), length(5i64)), (0, 5));
    }
}
