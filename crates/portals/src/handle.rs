//! Handles: what kind of object, of which interface, which number, and how often that number has been in use, so that a handle of
//! what has gone is recognised.

/// Kinds of objects. No handle has the kind 7: `PTL_INVALID_HANDLE` is none of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Interface = 0,
    Queue = 1,
    Counter = 2,
    Descriptor = 3,
    ListEntry = 4,
    MatchEntry = 5,
}

const KINDS: [Kind; 6] = [
    Kind::Interface,
    Kind::Queue,
    Kind::Counter,
    Kind::Descriptor,
    Kind::ListEntry,
    Kind::MatchEntry,
];

/// Bits from the top: 3 kind, 2 interface, 10 generation, 17 index.
const INDEX: u32 = 17;
pub(crate) const GENERATION: u32 = 10;
const INTERFACE: u32 = 2;
const INDEX_MASK: u32 = (1 << INDEX) - 1;
pub(crate) const GENERATION_MASK: u32 = (1 << GENERATION) - 1;

/// A handle, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    pub kind: Kind,
    /// The number of the interface, 0 to 3.
    pub interface: u8,
    pub generation: u32,
    pub index: u32,
}

impl Handle {
    /// The largest index is in no handle: with it, some would be `PTL_EQ_NONE` and `PTL_CT_NONE`.
    pub const MAX_INDEX: u32 = INDEX_MASK - 1;

    pub fn to_bits(self) -> u32 {
        (self.kind as u32) << (INTERFACE + GENERATION + INDEX)
            | u32::from(self.interface & 3) << (GENERATION + INDEX)
            | (self.generation & GENERATION_MASK) << INDEX
            | self.index & INDEX_MASK
    }

    /// The index and the low bits of the generation in the handle of an object of this kind and interface. `None`: it is of another.
    #[inline(always)]
    pub(crate) fn numbers(bits: u32, kind: Kind, interface: u8) -> Option<(u32, u32)> {
        let whose = (kind as u32) << INTERFACE | u32::from(interface & 3);
        let index = bits & INDEX_MASK;
        let fits = bits >> (GENERATION + INDEX) == whose && index <= Handle::MAX_INDEX;
        fits.then_some((index, bits >> INDEX & GENERATION_MASK))
    }

    /// The number of the interface that a handle is of, if it is one.
    #[inline(always)]
    pub fn interface_of(bits: u32) -> u8 {
        (bits >> (GENERATION + INDEX) & 3) as u8
    }

    /// `None`: no handle has these bits.
    pub fn from_bits(bits: u32) -> Option<Handle> {
        let kind = *KINDS.get((bits >> (INTERFACE + GENERATION + INDEX)) as usize)?;
        let index = bits & INDEX_MASK;
        (index <= Handle::MAX_INDEX).then_some(Handle {
            kind,
            interface: (bits >> (GENERATION + INDEX) & 3) as u8,
            generation: bits >> INDEX & GENERATION_MASK,
            index,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_none_is_no_handle() {
        // PTL_EQ_NONE, PTL_CT_NONE, PTL_INVALID_HANDLE.
        for none in [0x3fff_ffff, 0x5fff_ffff, 0xffff_ffff] {
            assert_eq!(Handle::from_bits(none), None);
        }
    }

    #[test]
    fn bits_say_what_went_into_them() {
        for kind in KINDS {
            for (interface, generation, index) in
                [(0, 0, 0), (3, GENERATION_MASK, Handle::MAX_INDEX), (2, 77, 99)]
            {
                let handle = Handle { kind, interface, generation, index };
                let bits = handle.to_bits();
                assert_eq!(Handle::from_bits(bits), Some(handle));
                assert_eq!(Handle::interface_of(bits), interface);
                assert_eq!(Handle::numbers(bits, kind, interface), Some((index, generation)));
                assert_eq!(Handle::numbers(bits, kind, interface ^ 1), None);
                assert_eq!(Handle::numbers(bits ^ 1 << 31, kind, interface), None);
                assert_eq!(Handle::numbers(bits | INDEX_MASK, kind, interface), None);
            }
        }
    }
}
