//! Waiting for memory of our own to change (section 9.10).

use crate::ends::{self, What};
use crate::races;
use crate::state::{bytes, state};
use crate::types::Name;
use core::ffi::c_int;
use hpvm_model::{done, fail, onesided};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Behind what `any` found last, of whatever variables.
static FOUND: AtomicUsize = AtomicUsize::new(0);

/// A type of the standard's table 12.
pub trait Word: Copy + PartialOrd {
    /// # Safety
    /// `at` is a variable of this type, aligned.
    unsafe fn load(at: *const Self) -> Self;
}

macro_rules! words {
    ($($ty:ident $atomic:ident),*) => {$(
        impl Word for $ty {
            #[inline(always)]
            unsafe fn load(at: *const $ty) -> $ty {
                // Relaxed: a fence follows once the value is what it should be.
                // SAFETY: the caller's promise.
                unsafe { (*at.cast::<$atomic>()).load(Ordering::Relaxed) as $ty }
            }
        }
    )*};
}

words!(i16 AtomicU16, u16 AtomicU16, i32 AtomicU32, u32 AtomicU32, i64 AtomicU64, u64 AtomicU64, isize AtomicU64,
    usize AtomicU64);

/// Some variables, of which not all may count.
struct Variables<T> {
    at: *const T,
    count: usize,
    status: *const c_int,
    cmp: c_int,
}

impl<T: Word> Variables<T> {
    fn new(
        name: Name,
        at: *const T,
        count: usize,
        status: *const c_int,
        cmp: c_int,
    ) -> Variables<T> {
        let s = state(name);
        races::heard(s);
        if !(1..=6).contains(&cmp) {
            fail(name, &format!("cmp is {cmp}; expected one of SHMEM_CMP_EQ, NE, GT, LE, LT, GE"));
        }
        if count > 0 && (at.is_null() || !at.is_aligned()) {
            let size = size_of::<T>();
            fail(
                name,
                &format!(
                    "the variable at {at:p} is null or misaligned; expected a multiple of {size}"
                ),
            );
        }
        if s.checks && count > 0 {
            s.symmetric(name, at.addr(), bytes::<T>(count));
        }
        Variables { at, count, status, cmp }
    }

    fn counts(&self, i: usize) -> bool {
        // SAFETY: the program's array, if it is one, is as long as the variables.
        self.status.is_null() || unsafe { *self.status.add(i) } == 0
    }

    /// Those that count.
    fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count).filter(|i| self.counts(*i))
    }

    #[inline(always)]
    fn holds(&self, i: usize, value: T) -> bool {
        // SAFETY: the program's array, aligned.
        let now = unsafe { T::load(self.at.add(i)) };
        match self.cmp {
            1 => now == value,
            2 => now != value,
            3 => now > value,
            4 => now <= value,
            5 => now < value,
            _ => now >= value,
        }
    }

    /// The search begins behind what was found last, so that none of them is forgotten. `None`: none counts.
    fn any(&self, value: impl Fn(usize) -> T) -> Option<Option<usize>> {
        // Relaxed, both: any place to begin will do.
        let first = FOUND.load(Ordering::Relaxed).checked_rem(self.count)?;
        let mut some = false;
        let mut all = (first..self.count).chain(0..first).filter(|i| self.counts(*i));
        let found = all.by_ref().inspect(|_| some = true).find(|i| self.holds(*i, value(*i)));
        if let Some(i) = found {
            FOUND.store(i + 1, Ordering::Relaxed); // relaxed: as above
        }
        some.then_some(found)
    }

    /// Writes the indices of those that are as they should be. `None`: none counts.
    ///
    /// # Safety
    /// There is room for as many as there are variables.
    unsafe fn some(&self, indices: *mut usize, value: impl Fn(usize) -> T) -> Option<usize> {
        let (mut count, mut any) = (0, false);
        for i in self.indices() {
            any = true;
            if self.holds(i, value(i)) {
                // SAFETY: the caller's promise.
                unsafe { indices.add(count).write(i) };
                count += 1;
            }
        }
        any.then_some(count)
    }
}

/// Blocks until `ready` says so, which depends on `variables`.
#[inline]
fn block<T>(name: Name, variables: &Variables<T>, ready: impl FnMut() -> bool) {
    ends::block(state(name), name, || What::Variable(variables.at.addr()), ready);
}

/// After a test in vain: a program that tests again and again lets others work.
fn tested(name: Name, found: bool) {
    match found {
        true => fence(Ordering::Acquire), // acquire: as in `block`
        // SAFETY: no arguments.
        false => done(name, unsafe { (onesided().progress)() }),
    }
}

/// What `any` and `some` return when nothing is found.
const NONE: usize = usize::MAX;

pub unsafe fn until<T: Word>(name: Name, ivar: *mut T, cmp: c_int, value: T) {
    let variables = Variables::new(name, ivar, 1, core::ptr::null(), cmp);
    block(name, &variables, || variables.holds(0, value));
}

/// Waits until the variable has another value than `value`.
pub unsafe fn changed<T: Word>(name: Name, ivar: *mut T, value: T) {
    // SAFETY: the program's promise. 2 is `SHMEM_CMP_NE`.
    unsafe { until(name, ivar, 2, value) }
}

pub unsafe fn test<T: Word>(name: Name, ivar: *mut T, cmp: c_int, value: T) -> c_int {
    let variables = Variables::new(name, ivar, 1, core::ptr::null(), cmp);
    let found = variables.holds(0, value);
    tested(name, found);
    found.into()
}

fn wait_for_all<T: Word>(name: Name, variables: &Variables<T>, value: impl Fn(usize) -> T) {
    for i in variables.indices() {
        block(name, variables, || variables.holds(i, value(i)));
    }
}

fn all<T: Word>(name: Name, variables: &Variables<T>, value: impl Fn(usize) -> T) -> c_int {
    let found = variables.indices().all(|i| variables.holds(i, value(i)));
    tested(name, found);
    found.into()
}

fn wait_for_any<T: Word>(
    name: Name,
    variables: &Variables<T>,
    value: impl Fn(usize) -> T,
) -> usize {
    let mut found = NONE;
    block(name, variables, || match variables.any(&value) {
        None => true,
        Some(None) => false,
        Some(Some(i)) => {
            found = i;
            true
        }
    });
    found
}

fn any<T: Word>(name: Name, variables: &Variables<T>, value: impl Fn(usize) -> T) -> usize {
    let found = variables.any(value);
    tested(name, found != Some(None));
    found.flatten().unwrap_or(NONE)
}

/// # Safety
/// There is room for all indices.
unsafe fn wait_for_some<T: Word>(
    name: Name,
    variables: &Variables<T>,
    indices: *mut usize,
    value: impl Fn(usize) -> T,
) -> usize {
    let mut count = 0;
    // SAFETY: the caller's promise.
    block(name, variables, || match unsafe { variables.some(indices, &value) } {
        None => true,
        Some(found) => {
            count = found;
            found > 0
        }
    });
    count
}

/// # Safety
/// There is room for all indices.
unsafe fn some<T: Word>(
    name: Name,
    variables: &Variables<T>,
    indices: *mut usize,
    value: impl Fn(usize) -> T,
) -> usize {
    // SAFETY: the caller's promise.
    let found = unsafe { variables.some(indices, value) };
    tested(name, found != Some(0));
    found.unwrap_or(0)
}

/// The forms with one value, and those with a value for each variable.
macro_rules! forms {
    ($($plain:ident $vector:ident $call:ident $result:ty),*) => {$(
        pub unsafe fn $plain<T: Word>(
            name: Name,
            ivars: *mut T,
            count: usize,
            status: *const c_int,
            cmp: c_int,
            value: T,
        ) -> $result {
            $call(name, &Variables::new(name, ivars, count, status, cmp), |_| value)
        }

        pub unsafe fn $vector<T: Word>(
            name: Name,
            ivars: *mut T,
            count: usize,
            status: *const c_int,
            cmp: c_int,
            values: *const T,
        ) -> $result {
            let variables = Variables::new(name, ivars, count, status, cmp);
            // SAFETY: the program's array is as long as the variables.
            $call(name, &variables, |i| unsafe { *values.add(i) })
        }
    )*};
}

forms!(until_all until_all_vector wait_for_all (), test_all test_all_vector all c_int,
    until_any until_any_vector wait_for_any usize, test_any test_any_vector any usize);

/// The same with a place for indices.
macro_rules! forms_with_indices {
    ($($plain:ident $vector:ident $call:ident),*) => {$(
        pub unsafe fn $plain<T: Word>(
            name: Name,
            ivars: *mut T,
            count: usize,
            indices: *mut usize,
            status: *const c_int,
            cmp: c_int,
            value: T,
        ) -> usize {
            let variables = Variables::new(name, ivars, count, status, cmp);
            // SAFETY: the program's array is as long as the variables.
            unsafe { $call(name, &variables, indices, |_| value) }
        }

        pub unsafe fn $vector<T: Word>(
            name: Name,
            ivars: *mut T,
            count: usize,
            indices: *mut usize,
            status: *const c_int,
            cmp: c_int,
            values: *const T,
        ) -> usize {
            let variables = Variables::new(name, ivars, count, status, cmp);
            // SAFETY: as above, of both arrays.
            unsafe { $call(name, &variables, indices, |i| *values.add(i)) }
        }
    )*};
}

forms_with_indices!(until_some until_some_vector wait_for_some, test_some test_some_vector some);
