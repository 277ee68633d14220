//! Elements of atomic operations, and the operations.

/// Codes of [`Kind::Other`] that belong to MPI. One static table, as for handlers: models share the engine.
pub const MPI_CODES: core::ops::Range<u16> = 0..1024;

/// `f32` and `f64` that are updated under the accumulate lock, for models that update many at a time.
pub const LOCKED_F32: Kind = Kind::Other(1024);
/// See [`LOCKED_F32`].
pub const LOCKED_F64: Kind = Kind::Other(1025);
/// Their codes.
pub(crate) const LOCKED_CODES: core::ops::Range<u16> = 1024..1026;

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// What no processor has an atomic operation for: done under the accumulate lock by a function that the
    /// model has registered for the code.
    Other(u16),
}

impl Kind {
    /// The native kinds, by their codes in packets.
    const NATIVE: [Kind; 10] = [
        Kind::I8,
        Kind::I16,
        Kind::I32,
        Kind::I64,
        Kind::U8,
        Kind::U16,
        Kind::U32,
        Kind::U64,
        Kind::F32,
        Kind::F64,
    ];
    /// Set in the code of others.
    const OTHER: u32 = 1 << 16;

    /// Bytes of an element that the processor updates atomically; `None` for others.
    #[inline]
    pub const fn native_size(self) -> Option<usize> {
        match self {
            Kind::I8 | Kind::U8 => Some(1),
            Kind::I16 | Kind::U16 => Some(2),
            Kind::I32 | Kind::U32 | Kind::F32 => Some(4),
            Kind::I64 | Kind::U64 | Kind::F64 => Some(8),
            Kind::Other(_) => None,
        }
    }

    /// The code in packets.
    pub(crate) fn code(self) -> u32 {
        match self {
            Kind::Other(code) => Self::OTHER | u32::from(code),
            native => Self::NATIVE.iter().position(|k| *k == native).unwrap_or_default() as u32,
        }
    }

    /// What a peer's code means.
    pub(crate) fn from_code(code: u32) -> Option<Kind> {
        match code.checked_sub(Self::OTHER) {
            Some(other) => u16::try_from(other).ok().map(Kind::Other),
            None => Self::NATIVE.get(code as usize).copied(),
        }
    }
}

/// What an atomic operation makes of an element and its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AtomicOp {
    Sum = 0,
    Prod = 1,
    Min = 2,
    Max = 3,
    BitAnd = 4,
    BitOr = 5,
    BitXor = 6,
    LogicalAnd = 7,
    LogicalOr = 8,
    LogicalXor = 9,
    /// Of pairs of a value and an index ([`Kind::Other`]).
    MinLoc = 10,
    /// As `MinLoc`.
    MaxLoc = 11,
    /// The operand.
    Replace = 12,
    /// The element as it is: an atomic read.
    NoOp = 13,
}

impl AtomicOp {
    /// All of them, by their codes in packets.
    pub const ALL: [AtomicOp; 14] = [
        AtomicOp::Sum,
        AtomicOp::Prod,
        AtomicOp::Min,
        AtomicOp::Max,
        AtomicOp::BitAnd,
        AtomicOp::BitOr,
        AtomicOp::BitXor,
        AtomicOp::LogicalAnd,
        AtomicOp::LogicalOr,
        AtomicOp::LogicalXor,
        AtomicOp::MinLoc,
        AtomicOp::MaxLoc,
        AtomicOp::Replace,
        AtomicOp::NoOp,
    ];

    /// Whether the native `kind` has this operation.
    #[inline]
    pub const fn is_native(self, kind: Kind) -> bool {
        match self {
            AtomicOp::MinLoc | AtomicOp::MaxLoc => false,
            AtomicOp::BitAnd | AtomicOp::BitOr | AtomicOp::BitXor => {
                !matches!(kind, Kind::F32 | Kind::F64)
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_their_own_way_back_and_others_mean_nothing() {
        for kind in Kind::NATIVE.into_iter().chain([Kind::Other(0), Kind::Other(u16::MAX)]) {
            assert_eq!(Kind::from_code(kind.code()), Some(kind));
        }
        for wrong in [10, 0xffff, 0x2_0000, u32::MAX] {
            assert_eq!(Kind::from_code(wrong), None);
        }
        for (i, op) in AtomicOp::ALL.into_iter().enumerate() {
            assert_eq!(op as usize, i);
        }
    }
}
