//! `MPI_MAXLOC` and `MPI_MINLOC` (MPI 5.0, section 6.9.4): the extreme value, and of equal ones
//! the smallest index.
use super::element::{F16, Ordered};
use super::long_double::LongDouble;
use super::quad::Quad;
use crate::datatype::{Basic, Predefined};

/// An array of `n` pairs: bytes from one to the next and from a value to its index.
pub(super) struct Array {
    pub extent: usize,
    pub index_at: usize,
    pub n: usize,
}

/// Runs `$body` with `$t` as the Rust type of a basic kind; `$else` for kinds without an order.
macro_rules! with_ordered {
    ($basic:expr, $t:ident => $body:expr, $else:expr) => {
        match $basic {
            Some(Basic::I8) => {
                type $t = i8;
                $body
            }
            Some(Basic::I16) => {
                type $t = i16;
                $body
            }
            Some(Basic::I32) => {
                type $t = i32;
                $body
            }
            Some(Basic::I64) => {
                type $t = i64;
                $body
            }
            Some(Basic::I128) => {
                type $t = i128;
                $body
            }
            Some(Basic::U8) => {
                type $t = u8;
                $body
            }
            Some(Basic::U16) => {
                type $t = u16;
                $body
            }
            Some(Basic::U32) => {
                type $t = u32;
                $body
            }
            Some(Basic::U64) => {
                type $t = u64;
                $body
            }
            Some(Basic::F16) => {
                type $t = F16;
                $body
            }
            Some(Basic::F32) => {
                type $t = f32;
                $body
            }
            Some(Basic::F64) => {
                type $t = f64;
                $body
            }
            Some(Basic::F80) => {
                type $t = LongDouble;
                $body
            }
            Some(Basic::F128) => {
                type $t = Quad;
                $body
            }
            _ => $else,
        }
    };
}

/// The maximum (`max`) or minimum with its index, per pair. Padding is left alone.
///
/// # Safety
/// Both buffers are arrays as described, valid for reads and, `inout`, for writes.
pub(super) unsafe fn apply(
    max: bool,
    value: &Predefined,
    index: &Predefined,
    array: &Array,
    input: *const u8,
    inout: *mut u8,
) {
    with_ordered!(value.basic(), V => {
        // SAFETY: the caller's promise.
        with_ordered!(index.basic(), I => unsafe { pairs::<V, I>(max, array, input, inout) }, ())
    }, ());
}

/// # Safety
/// As for [`apply`], with values of type `V` and indices of type `I`.
unsafe fn pairs<V: Ordered, I: Ordered>(
    max: bool,
    array: &Array,
    input: *const u8,
    inout: *mut u8,
) {
    for i in 0..array.n {
        // SAFETY: pair `i` lies inside both arrays.
        unsafe {
            let from = input.add(i * array.extent);
            let to = inout.add(i * array.extent);
            let (a, b) = (from.cast::<V>().read_unaligned(), to.cast::<V>().read_unaligned());
            let (from_index, to_index) =
                (from.add(array.index_at).cast::<I>(), to.add(array.index_at).cast::<I>());
            let (ai, bi) = (from_index.read_unaligned(), to_index.read_unaligned());
            let (a_wins, b_wins) =
                if max { (b.less(a), a.less(b)) } else { (a.less(b), b.less(a)) };
            if a_wins || (!b_wins && ai.less(bi)) {
                to.cast::<V>().write_unaligned(a);
                to_index.write_unaligned(ai);
            }
        }
    }
}
