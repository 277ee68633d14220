//! The types of what is packed.

/// The type of an element; the numbers are those of `PVM_STR` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Str = 0,
    Byte = 1,
    Short = 2,
    Int = 3,
    Float = 4,
    Cplx = 5,
    Double = 6,
    Dcplx = 7,
    Long = 8,
    Ushort = 9,
    Uint = 10,
    Ulong = 11,
}

impl Element {
    pub fn from_number(number: i32) -> Option<Element> {
        use Element::*;
        let all = [Str, Byte, Short, Int, Float, Cplx, Double, Dcplx, Long, Ushort, Uint, Ulong];
        all.get(usize::try_from(number).ok()?).copied()
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Element::Str | Element::Byte => 1,
            Element::Short | Element::Ushort => 2,
            Element::Int | Element::Uint | Element::Float => 4,
            Element::Cplx | Element::Double | Element::Long | Element::Ulong => 8,
            Element::Dcplx => 16,
        }
    }
}
