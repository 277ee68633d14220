//! The predefined datatypes of the MPI 5.0 ABI (section 3.2.2 and annex A.1.1) as one table.
//!
//! C types are those of the x86-64 and AArch64 Linux C ABI. Fortran types are gfortran's default
//! kinds; `REAL*2` and `COMPLEX*4`, which gfortran lacks, are there as IEEE binary16.
use std::sync::{Arc, LazyLock, OnceLock};

use super::Datatype;
use super::recipe::Recipe;

/// How the bytes of one basic element are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it: kind of value and bits")]
pub enum Basic {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    /// C `long double`: x87 extended precision in 16 bytes on x86-64.
    F80,
    F128,
    /// Complex numbers, named after their parts.
    C16,
    C32,
    C64,
    C80,
    C128,
    /// C and C++ `bool`, one byte.
    Bool,
    /// Fortran `LOGICAL` of the given bytes: zero is false.
    Logical8,
    Logical16,
    Logical32,
    Logical64,
    Logical128,
    Char,
    WChar,
    Byte,
    Packed,
}

/// The groups of datatypes for which reductions are defined (MPI 5.0, section 6.9.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the standard's")]
pub enum Group {
    CInteger,
    FortranInteger,
    Floating,
    Logical,
    Complex,
    Byte,
    /// `MPI_AINT`, `MPI_COUNT`, `MPI_OFFSET`.
    MultiLanguage,
    /// Value and index, for `MPI_MAXLOC` and `MPI_MINLOC`.
    Pair,
    /// `MPI_CHAR`: the standard has no reductions of it; other MPIs and programs do, as of an integer.
    Character,
    /// Other characters and `MPI_PACKED`: no reduction.
    Other,
}

/// What a predefined datatype is made of.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// One basic element.
    Scalar(Basic),
    /// A value and an index, laid out as a C struct of the two.
    Pair {
        /// The type of the value, at offset 0.
        value: &'static Predefined,
        /// The type of the index.
        index: &'static Predefined,
        /// Offset of the index in bytes.
        index_at: usize,
    },
}

/// One predefined datatype.
#[derive(Debug, Clone, Copy)]
pub struct Predefined {
    /// The ABI's handle value; 0 for the unnamed value-index types.
    pub abi: usize,
    /// The name of the constant; empty for the unnamed value-index types.
    pub name: &'static str,
    /// Bytes of data: what `MPI_Type_size` returns.
    pub size: usize,
    /// Bytes from one element to the next in an array.
    pub extent: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// Size in the `external32` representation, in bytes (section 14.5.2).
    pub external: usize,
    /// The group that decides which reductions are allowed.
    pub group: Group,
    /// The kind of its content.
    pub kind: Kind,
}

impl Predefined {
    /// The basic kind of a scalar; `None` for pairs.
    pub fn basic(&self) -> Option<Basic> {
        match self.kind {
            Kind::Scalar(basic) => Some(basic),
            Kind::Pair { .. } => None,
        }
    }
}

const fn scalar(
    abi: usize,
    name: &'static str,
    basic: Basic,
    group: Group,
    external: usize,
) -> Predefined {
    let (size, align) = size_align(basic);
    Predefined { abi, name, size, extent: size, align, external, group, kind: Kind::Scalar(basic) }
}

const fn pair(
    abi: usize,
    name: &'static str,
    value: &'static Predefined,
    index: &'static Predefined,
) -> Predefined {
    let align = if value.align > index.align { value.align } else { index.align };
    let index_at = value.extent.next_multiple_of(index.align);
    Predefined {
        abi,
        name,
        size: value.size + index.size,
        extent: (index_at + index.extent).next_multiple_of(align),
        align,
        external: value.external + index.external,
        group: Group::Pair,
        kind: Kind::Pair { value, index, index_at },
    }
}

const fn size_align(basic: Basic) -> (usize, usize) {
    use Basic::*;
    match basic {
        I8 | U8 | Bool | Logical8 | Char | Byte | Packed => (1, 1),
        I16 | U16 | F16 | Logical16 => (2, 2),
        C16 => (4, 2),
        I32 | U32 | F32 | Logical32 | WChar => (4, 4),
        C32 => (8, 4),
        I64 | U64 | F64 | Logical64 => (8, 8),
        C64 => (16, 8),
        I128 | F80 | F128 | Logical128 => (16, 16),
        C80 | C128 => (32, 16),
    }
}

macro_rules! scalars {
    ($($ident:ident = $abi:literal, $basic:ident, $group:ident, $external:literal;)*) => {
        $(static $ident: Predefined = scalar(
            $abi, concat!("MPI_", stringify!($ident)), Basic::$basic, Group::$group, $external);)*
        static SCALARS: &[&Predefined] = &[$(&$ident,)*];
    };
}

scalars! {
    AINT = 0x201, I64, MultiLanguage, 8;
    COUNT = 0x202, I64, MultiLanguage, 8;
    OFFSET = 0x203, I64, MultiLanguage, 8;
    PACKED = 0x207, Packed, Other, 1;
    SHORT = 0x208, I16, CInteger, 2;
    INT = 0x209, I32, CInteger, 4;
    LONG = 0x20a, I64, CInteger, 4;
    LONG_LONG = 0x20b, I64, CInteger, 8;
    UNSIGNED_SHORT = 0x20c, U16, CInteger, 2;
    UNSIGNED = 0x20d, U32, CInteger, 4;
    UNSIGNED_LONG = 0x20e, U64, CInteger, 4;
    UNSIGNED_LONG_LONG = 0x20f, U64, CInteger, 8;
    FLOAT = 0x210, F32, Floating, 4;
    C_FLOAT_COMPLEX = 0x212, C32, Complex, 8;
    CXX_FLOAT_COMPLEX = 0x213, C32, Complex, 8;
    DOUBLE = 0x214, F64, Floating, 8;
    C_DOUBLE_COMPLEX = 0x216, C64, Complex, 16;
    CXX_DOUBLE_COMPLEX = 0x217, C64, Complex, 16;
    LOGICAL = 0x218, Logical32, Logical, 4;
    INTEGER = 0x219, I32, FortranInteger, 4;
    REAL = 0x21a, F32, Floating, 4;
    COMPLEX = 0x21b, C32, Complex, 8;
    DOUBLE_PRECISION = 0x21c, F64, Floating, 8;
    DOUBLE_COMPLEX = 0x21d, C64, Complex, 16;
    CHARACTER = 0x21e, Char, Other, 1;
    LONG_DOUBLE = 0x220, F80, Floating, 16;
    C_LONG_DOUBLE_COMPLEX = 0x224, C80, Complex, 32;
    CXX_LONG_DOUBLE_COMPLEX = 0x225, C80, Complex, 32;
    C_BOOL = 0x238, Bool, Logical, 1;
    CXX_BOOL = 0x239, Bool, Logical, 1;
    WCHAR = 0x23c, WChar, Other, 2;
    INT8_T = 0x240, I8, CInteger, 1;
    UINT8_T = 0x241, U8, CInteger, 1;
    CHAR = 0x243, Char, Character, 1;
    SIGNED_CHAR = 0x244, I8, CInteger, 1;
    UNSIGNED_CHAR = 0x245, U8, CInteger, 1;
    BYTE = 0x247, Byte, Byte, 1;
    INT16_T = 0x248, I16, CInteger, 2;
    UINT16_T = 0x249, U16, CInteger, 2;
    INT32_T = 0x250, I32, CInteger, 4;
    UINT32_T = 0x251, U32, CInteger, 4;
    INT64_T = 0x258, I64, CInteger, 8;
    UINT64_T = 0x259, U64, CInteger, 8;
    LOGICAL1 = 0x2c0, Logical8, Logical, 1;
    INTEGER1 = 0x2c1, I8, FortranInteger, 1;
    LOGICAL2 = 0x2c8, Logical16, Logical, 2;
    INTEGER2 = 0x2c9, I16, FortranInteger, 2;
    REAL2 = 0x2ca, F16, Floating, 2;
    LOGICAL4 = 0x2d0, Logical32, Logical, 4;
    INTEGER4 = 0x2d1, I32, FortranInteger, 4;
    REAL4 = 0x2d2, F32, Floating, 4;
    COMPLEX4 = 0x2d3, C16, Complex, 4;
    LOGICAL8 = 0x2d8, Logical64, Logical, 8;
    INTEGER8 = 0x2d9, I64, FortranInteger, 8;
    REAL8 = 0x2da, F64, Floating, 8;
    COMPLEX8 = 0x2db, C32, Complex, 8;
    LOGICAL16 = 0x2e0, Logical128, Logical, 16;
    INTEGER16 = 0x2e1, I128, FortranInteger, 16;
    REAL16 = 0x2e2, F128, Floating, 16;
    COMPLEX16 = 0x2e3, C64, Complex, 16;
    COMPLEX32 = 0x2eb, C128, Complex, 32;
}

static PAIRS: &[Predefined] = &[
    pair(0x228, "MPI_FLOAT_INT", &FLOAT, &INT),
    pair(0x229, "MPI_DOUBLE_INT", &DOUBLE, &INT),
    pair(0x22a, "MPI_LONG_INT", &LONG, &INT),
    pair(0x22b, "MPI_2INT", &INT, &INT),
    pair(0x22c, "MPI_SHORT_INT", &SHORT, &INT),
    pair(0x22d, "MPI_LONG_DOUBLE_INT", &LONG_DOUBLE, &INT),
    pair(0x230, "MPI_2REAL", &REAL, &REAL),
    pair(0x231, "MPI_2DOUBLE_PRECISION", &DOUBLE_PRECISION, &DOUBLE_PRECISION),
    pair(0x232, "MPI_2INTEGER", &INTEGER, &INTEGER),
];

/// First handle value of the ABI's datatypes (`MPI_DATATYPE_NULL`).
const FIRST_HANDLE: usize = 0x200;
/// One past the last handle value that the ABI reserves for datatypes.
const HANDLES_END: usize = 0x300;

/// The predefined datatypes by handle value, each built once.
static BY_HANDLE: LazyLock<Vec<Option<Arc<Datatype>>>> = LazyLock::new(|| {
    let mut table = vec![None; HANDLES_END - FIRST_HANDLE];
    for entry in SCALARS.iter().copied().chain(PAIRS) {
        table[entry.abi - FIRST_HANDLE] =
            Some(Datatype::from_predefined(entry, Recipe::Named(entry)));
    }
    table
});

/// The unnamed value-index types, by position of value and index in `SCALARS`.
static VALUE_INDEX: LazyLock<Vec<OnceLock<Option<Arc<Datatype>>>>> =
    LazyLock::new(|| (0..SCALARS.len() * SCALARS.len()).map(|_| OnceLock::new()).collect());

/// All predefined datatypes: scalars first, then pairs.
pub fn all() -> impl Iterator<Item = &'static Predefined> {
    SCALARS.iter().copied().chain(PAIRS)
}

pub(super) fn by_handle(abi: usize) -> Option<&'static Arc<Datatype>> {
    BY_HANDLE.get(abi.checked_sub(FIRST_HANDLE)?)?.as_ref()
}

pub(super) fn byte() -> &'static Arc<Datatype> {
    static TYPE: LazyLock<Arc<Datatype>> = LazyLock::new(|| match by_handle(BYTE.abi) {
        Some(byte) => byte.clone(),
        None => Datatype::from_predefined(&BYTE, Recipe::Named(&BYTE)),
    });
    &TYPE
}

/// The pair type of two scalars, or `None` where no reduction by location makes sense.
pub(super) fn value_index(
    value: &'static Predefined,
    index: &'static Predefined,
) -> Option<&'static Arc<Datatype>> {
    let same = |a: &Predefined, b: &Predefined| a.abi == b.abi;
    for named in PAIRS {
        if let Kind::Pair { value: v, index: i, .. } = named.kind
            && same(v, value)
            && same(i, index)
        {
            return by_handle(named.abi);
        }
    }
    let position = |of: &Predefined| SCALARS.iter().position(|s| same(s, of));
    let slot = position(value)? * SCALARS.len() + position(index)?;
    VALUE_INDEX[slot].get_or_init(|| build_value_index(value, index)).as_ref()
}

/// Builds an unnamed pair. It lives as long as the process, as predefined types do; the number of
/// pairs that can ever be asked for bounds the memory.
fn build_value_index(
    value: &'static Predefined,
    index: &'static Predefined,
) -> Option<Arc<Datatype>> {
    use Group::{CInteger, Floating, FortranInteger, MultiLanguage};
    let integer = |g| matches!(g, CInteger | FortranInteger | MultiLanguage);
    let ordered = integer(value.group) || value.group == Floating;
    if !ordered || !integer(index.group) {
        return None;
    }
    let entry: &'static Predefined = Box::leak(Box::new(pair(0, "", value, index)));
    let recipe = Recipe::ValueIndex {
        value: by_handle(value.abi)?.clone(),
        index: by_handle(index.abi)?.clone(),
    };
    Some(Datatype::from_predefined(entry, recipe))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_consistent_with_the_abi_encoding() {
        for entry in all() {
            assert_eq!(by_handle(entry.abi).unwrap().size(), entry.size as i64);
            // Handles from 0x240 encode the binary logarithm of the size in bits 3 to 5.
            if entry.abi >= 0x240 {
                assert_eq!(1 << ((entry.abi >> 3) & 7), entry.size, "{}", entry.name);
            }
        }
        assert!(by_handle(0x200).is_none() && by_handle(0x2ff).is_none());
        assert!(by_handle(0).is_none() && by_handle(usize::MAX).is_none());
    }

    #[test]
    fn pairs_are_laid_out_as_c_structs() {
        let expect = |name: &str, size, extent| {
            let entry = PAIRS.iter().find(|p| p.name == name).unwrap();
            assert_eq!((entry.size, entry.extent), (size, extent), "{name}");
        };
        expect("MPI_FLOAT_INT", 8, 8);
        expect("MPI_DOUBLE_INT", 12, 16);
        expect("MPI_SHORT_INT", 6, 8);
        expect("MPI_LONG_DOUBLE_INT", 20, 32);
        expect("MPI_2DOUBLE_PRECISION", 16, 16);
    }
}
