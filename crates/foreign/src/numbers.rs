//! Numbers: ranks, tags, error codes and enumerations, from one ABI's values to the other's.

use crate::several::length;
use crate::{Abi, entries};
use core::ffi::{c_int, c_void};
use hpvm_abi::constants::*;

/// Values of an ABI beside those of the standard one.
pub type Pairs = &'static [(c_int, c_int)];

/// What a number becomes that means nothing in its ABI but might in the other: the engine refuses
/// it wherever an enumeration is expected.
pub const NONSENSE: c_int = c_int::MIN + 1;

/// From the program to the engine.
#[inline]
pub fn to_standard(pairs: Pairs, value: c_int) -> c_int {
    pairs.iter().find(|pair| pair.0 == value).map_or(NONSENSE, |pair| pair.1)
}

/// From the engine to the program; what the ABI has no number for stays as it is.
#[inline]
pub fn to_foreign(pairs: Pairs, value: c_int) -> c_int {
    pairs.iter().find(|pair| pair.1 == value).map_or(value, |pair| pair.0)
}

/// Flags, each of them translated; unknown ones become one that the engine refuses.
pub fn flags_to_standard(pairs: Pairs, value: c_int) -> c_int {
    let known = pairs.iter().filter(|pair| value & pair.0 != 0);
    let (seen, flags) = known.fold((0, 0), |(s, f), pair| (s | pair.0, f | pair.1));
    if seen == value { flags } else { flags | 1 << 30 }
}

/// Flags on the way back.
pub fn flags_to_foreign(pairs: Pairs, value: c_int) -> c_int {
    pairs.iter().filter(|pair| value & pair.1 != 0).fold(0, |flags, pair| flags | pair.0)
}

/// A number below 0 that is no sentinel of the ABI must not become one of the standard's.
fn not_a_sentinel(value: c_int) -> c_int {
    if value > -1000 { value - 1000 } else { value }
}

/// A rank, `MPI_ANY_SOURCE`, `MPI_PROC_NULL`, `MPI_ROOT` or `MPI_UNDEFINED`.
#[inline(always)]
pub fn rank_in<A: Abi>(rank: c_int) -> c_int {
    match rank {
        0.. => rank,
        r if r == A::MPI_ANY_SOURCE => MPI_ANY_SOURCE,
        r if r == A::MPI_PROC_NULL => MPI_PROC_NULL,
        r if r == A::MPI_ROOT => MPI_ROOT,
        r if r == A::MPI_UNDEFINED => MPI_UNDEFINED,
        r => not_a_sentinel(r),
    }
}

/// The same on the way back.
#[inline(always)]
pub fn rank_out<A: Abi>(rank: c_int) -> c_int {
    match rank {
        MPI_ANY_SOURCE => A::MPI_ANY_SOURCE,
        MPI_PROC_NULL => A::MPI_PROC_NULL,
        MPI_ROOT => A::MPI_ROOT,
        MPI_UNDEFINED => A::MPI_UNDEFINED,
        r => r,
    }
}

/// A tag or `MPI_ANY_TAG`.
#[inline(always)]
pub fn tag_in<A: Abi>(tag: c_int) -> c_int {
    match tag {
        0.. => tag,
        t if t == A::MPI_ANY_TAG => MPI_ANY_TAG,
        t => not_a_sentinel(t),
    }
}

/// The same on the way back.
#[inline(always)]
pub fn tag_out<A: Abi>(tag: c_int) -> c_int {
    if tag == MPI_ANY_TAG { A::MPI_ANY_TAG } else { tag }
}

/// An error code or class. Those that programs add come after `MPI_ERR_LASTCODE` in every ABI.
#[inline(always)]
pub fn error_in<A: Abi>(code: c_int) -> c_int {
    if code == MPI_SUCCESS { MPI_SUCCESS } else { cold_error_in(A::ERROR_CLASS, code) }
}

#[cold]
fn cold_error_in(pairs: Pairs, code: c_int) -> c_int {
    let last = to_foreign(pairs, MPI_ERR_LASTCODE);
    let found = pairs.iter().find(|pair| pair.0 == code).map(|pair| pair.1);
    found.unwrap_or_else(|| shift(code, last, MPI_ERR_LASTCODE))
}

/// The same on the way back. A class that the ABI lacks is `MPI_ERR_OTHER` there.
#[inline(always)]
pub fn error_out<A: Abi>(code: c_int) -> c_int {
    if code == MPI_SUCCESS { MPI_SUCCESS } else { cold_error_out(A::ERROR_CLASS, code) }
}

#[cold]
fn cold_error_out(pairs: Pairs, code: c_int) -> c_int {
    let theirs = |standard| pairs.iter().find(|pair| pair.1 == standard).map(|pair| pair.0);
    theirs(code).unwrap_or_else(|| match code {
        // Classes of the standard that the ABI lacks; other numbers are a program's own.
        MPI_SUCCESS..=MPI_ERR_ABI | MPI_T_ERR_CANNOT_INIT..=MPI_T_ERR_PVAR_NO_ATOMIC => {
            to_foreign(pairs, MPI_ERR_OTHER)
        }
        _ => shift(code, MPI_ERR_LASTCODE, to_foreign(pairs, MPI_ERR_LASTCODE)),
    })
}

/// The sum of `n` lengths that the program gave; null is the engine's to complain about.
///
/// # Safety
/// `lengths` is null or holds `n` numbers.
pub unsafe fn sum(lengths: *const c_int, n: c_int) -> usize {
    if lengths.is_null() {
        return 0;
    }
    // SAFETY: not null, and the caller vouches for it.
    (0..length(n)).map(|i| length(unsafe { *lengths.add(i) })).sum()
}

/// The error codes of `MPI_Comm_spawn`, of which the engine stores as many as the root has `asked` for: all the code of the
/// call when that has failed.
///
/// # Safety
/// At the root, `codes` is null or has room for `asked` codes.
pub unsafe fn error_codes_out<A: Abi>(
    codes: *mut c_int,
    asked: usize,
    code: c_int,
    root: c_int,
    comm: MPI_Comm,
) {
    let mut rank = MPI_PROC_NULL;
    if code == MPI_SUCCESS || codes.is_null() {
        return;
    }
    // SAFETY: the place is ours.
    let known = unsafe { (entries().standard.MPI_Comm_rank)(comm, &mut rank) };
    if known == MPI_SUCCESS && rank == root {
        let code = error_out::<A>(code);
        // SAFETY: the caller's promise.
        (0..asked).for_each(|i| unsafe { *codes.add(i) = code });
    }
}

/// A code beyond `last` stays as far beyond the other ABI's last; others are left alone.
fn shift(code: c_int, last: c_int, other: c_int) -> c_int {
    if code > last { (code - last).saturating_add(other) } else { code }
}

/// The address of a buffer: `MPI_BOTTOM`, `MPI_IN_PLACE`, `MPI_BUFFER_AUTOMATIC` or memory.
#[inline(always)]
pub fn address_in<A: Abi>(address: *const c_void) -> *const c_void {
    match address.addr() {
        a if a == A::MPI_IN_PLACE => MPI_IN_PLACE,
        a if a == A::MPI_BUFFER_AUTOMATIC => MPI_BUFFER_AUTOMATIC,
        a if a == A::MPI_BOTTOM => MPI_BOTTOM,
        _ => address,
    }
}

/// Whether a buffer is `MPI_IN_PLACE`.
#[inline(always)]
pub fn is_in_place<A: Abi>(address: *const c_void) -> bool {
    address.addr() == A::MPI_IN_PLACE
}

/// [`address_in`] for a buffer that is written.
#[inline(always)]
pub fn address_mut_in<A: Abi>(address: *mut c_void) -> *mut c_void {
    address_in::<A>(address).cast_mut()
}

/// A buffer's address that the engine gave back at `place` (`MPI_Buffer_detach`).
///
/// # Safety
/// `place` is null or the place of a pointer.
pub unsafe fn detached_out<A: Abi>(place: *mut c_void) {
    let place = place.cast::<*mut c_void>();
    // SAFETY: the caller's promise.
    if !place.is_null() && unsafe { *place } == MPI_BUFFER_AUTOMATIC {
        // SAFETY: as above.
        unsafe { *place = core::ptr::without_provenance_mut(A::MPI_BUFFER_AUTOMATIC) };
    }
}

/// The displacement of a file view, or `MPI_DISPLACEMENT_CURRENT`.
pub fn view_displacement_in<A: Abi>(displacement: MPI_Offset) -> MPI_Offset {
    match displacement {
        d if d == A::MPI_DISPLACEMENT_CURRENT => MPI_DISPLACEMENT_CURRENT,
        d if d == MPI_DISPLACEMENT_CURRENT => MPI_Offset::MIN,
        d => d,
    }
}

/// A distribution's argument of `MPI_Type_create_darray`.
pub fn distribution_argument_in<A: Abi>(argument: c_int) -> c_int {
    match argument {
        a if a == A::MPI_DISTRIBUTE_DFLT_DARG => MPI_DISTRIBUTE_DFLT_DARG,
        // The standard's own value would mean the default.
        a => a,
    }
}

/// The key of an attribute: predefined ones are translated, those of the program stay.
#[inline]
pub fn keyval_in<A: Abi>(keyval: c_int) -> c_int {
    let own = A::KEYVAL.iter().find(|pair| pair.0 == keyval).map(|pair| pair.1);
    let predefined = A::KEYVAL.iter().any(|pair| pair.1 == keyval);
    own.unwrap_or(if predefined { NONSENSE } else { keyval })
}

/// A way to split a communicator; `MPI_UNDEFINED` stays.
pub fn split_type_in<A: Abi>(split: c_int) -> c_int {
    if split == A::MPI_UNDEFINED { MPI_UNDEFINED } else { to_standard(A::SPLIT_TYPE, split) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_mean_nothing_do_not_become_others() {
        let pairs: Pairs = &[(1, 10), (2, 20)];
        assert_eq!((to_standard(pairs, 2), to_standard(pairs, 20)), (20, NONSENSE));
        assert_eq!((to_foreign(pairs, 10), to_foreign(pairs, 7)), (1, 7));
        assert_eq!(not_a_sentinel(-4), -1004);
    }

    #[test]
    fn flags_are_translated_one_by_one() {
        let pairs: Pairs = &[(1, 4), (2, 8), (64, 1)];
        assert_eq!(flags_to_standard(pairs, 65), 5);
        assert_eq!(flags_to_foreign(pairs, 5), 65);
        assert_eq!(flags_to_standard(pairs, 1 | 128), 4 | 1 << 30);
    }

    #[test]
    fn errors_of_the_program_lie_beyond_the_last_code() {
        let pairs: Pairs =
            &[(15, MPI_ERR_OTHER), (0x3fff_ffff, MPI_ERR_LASTCODE), (15, MPI_ERR_ABI)];
        let made = cold_error_out(pairs, MPI_ERR_LASTCODE + 3);
        assert_eq!(made, 0x4000_0002);
        assert_eq!(cold_error_in(pairs, made), MPI_ERR_LASTCODE + 3);
        assert_eq!(cold_error_out(pairs, MPI_ERR_ABI), 15);
        assert_eq!(cold_error_in(pairs, 15), MPI_ERR_OTHER);
        assert_eq!(cold_error_in(pairs, 333), 333);
    }
}
