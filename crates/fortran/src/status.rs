//! Statuses: the same words in Fortran and C, but perhaps not aligned as C wants them.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{null, without_provenance_mut};

use hpvm_abi::constants::MPI_SUCCESS;

use crate::Fortran;

/// The words of a status.
pub const fn words<F: Fortran>() -> usize {
    size_of::<F::Status>() / size_of::<c_int>()
}

/// One status of the program.
pub struct Status<F: Fortran> {
    user: *mut c_int,
    own: MaybeUninit<F::Status>,
}

impl<F: Fortran> Status<F> {
    /// For a status or `MPI_STATUS_IGNORE`.
    ///
    /// # Safety
    /// `user` is the address of either.
    #[inline(always)]
    pub unsafe fn new(user: *const c_int) -> Self {
        let ignore = F::sentinels().status_ignore.contains(&user.cast());
        let user = if ignore { null() } else { user };
        let mut own = MaybeUninit::<F::Status>::zeroed();
        if !user.is_null() {
            // C does not write every word of it.
            // SAFETY: both have that many words; the caller vouches for the program's.
            unsafe { user.copy_to_nonoverlapping(own.as_mut_ptr().cast(), words::<F>()) };
        }
        Self { user: user.cast_mut(), own }
    }

    /// The status for C.
    #[inline(always)]
    pub fn pointer(&mut self) -> *mut F::Status {
        match self.user.is_null() {
            true => without_provenance_mut(F::MPI_STATUS_IGNORE),
            false => self.own.as_mut_ptr(),
        }
    }

    /// Hands it back.
    ///
    /// # Safety
    /// As `new`, and the program's may be written.
    #[inline(always)]
    pub unsafe fn give(self) {
        if !self.user.is_null() {
            let own = self.own.as_ptr().cast::<c_int>();
            // SAFETY: both have that many words, ours initialised.
            unsafe { self.user.copy_from_nonoverlapping(own, words::<F>()) };
        }
    }
}

/// `MPI_STATUS_F2F08` and `MPI_STATUS_F082F`: both forms have the same words.
///
/// # Safety
/// Both are the addresses of statuses, and `ierror` that of an integer.
pub unsafe fn copy<F: Fortran>(from: *const c_int, to: *mut c_int, ierror: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        from.copy_to(to, words::<F>());
        *ierror = MPI_SUCCESS;
    }
}

/// An array of statuses of the program.
pub struct Statuses<F: Fortran> {
    user: *mut c_int,
    own: Vec<MaybeUninit<F::Status>>,
}

impl<F: Fortran> Statuses<F> {
    /// For `len` statuses or `MPI_STATUSES_IGNORE`.
    ///
    /// # Safety
    /// `user` is the address of either.
    #[inline(always)]
    pub unsafe fn new(user: *mut c_int, len: usize) -> Self {
        let known = F::sentinels();
        let address = user.cast_const().cast::<c_void>();
        let ignored = [known.statuses_ignore, known.status_ignore];
        if ignored.as_flattened().contains(&address) || user.is_null() {
            return Self { user: core::ptr::null_mut(), own: Vec::new() };
        }
        let mut own = Vec::new();
        if !user.cast::<F::Status>().is_aligned() {
            own = vec![MaybeUninit::zeroed(); len];
            let count = words::<F>() * len;
            // SAFETY: both have that many words; the caller vouches for the program's.
            unsafe { user.copy_to_nonoverlapping(own.as_mut_ptr().cast(), count) };
        }
        Self { user, own }
    }

    /// The array for C.
    #[inline(always)]
    pub fn pointer(&mut self) -> *mut F::Status {
        match () {
            _ if self.user.is_null() => without_provenance_mut(F::MPI_STATUSES_IGNORE),
            _ if self.own.is_empty() => self.user.cast(),
            _ => self.own.as_mut_ptr().cast(),
        }
    }

    /// Hands the array back.
    ///
    /// # Safety
    /// As `new`, and the program's may be written.
    #[inline(always)]
    pub unsafe fn give(self) {
        let count = words::<F>() * self.own.len();
        if count > 0 {
            // SAFETY: both have that many words, ours initialised.
            unsafe { self.user.copy_from_nonoverlapping(self.own.as_ptr().cast(), count) };
        }
    }
}
