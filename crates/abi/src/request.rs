//! The form of a request handle that fits an `int`.
//!
//! The engine's requests are numbers `generation << 32 | index` whose generation is odd. The short
//! form keeps the index and the low bits of the generation; the library finds the rest in its
//! table, so no list of numbers is kept, and of 32 stale handles 31 are recognised.
//!
//! ```text
//! | 0: 1 | generation / 2: 5 | index: 22 | kind: 4 |
//! ```

/// The kind of a short request in the low four bits, which tells it from other handles.
pub const SHORT_REQUEST: usize = 12;

const KIND_BITS: u32 = 4;
const INDEX_BITS: u32 = 22;
/// Bit 31 stays free: programs may take numbers below 0 for errors.
const GENERATION_BITS: u32 = 31 - INDEX_BITS - KIND_BITS;

/// The short form of a request handle. Handles that fit anyhow stay as they are; `None`: its place
/// in the table has too high a number.
#[inline(always)]
pub fn shorten(request: usize) -> Option<u32> {
    let generation = (request >> 33) as u32;
    if request >> 32 == 0 {
        return Some(request as u32);
    }
    let index = request as u32;
    if index >> INDEX_BITS != 0 {
        return None;
    }
    let generation = generation & ((1 << GENERATION_BITS) - 1);
    Some(generation << (INDEX_BITS + KIND_BITS) | index << KIND_BITS | SHORT_REQUEST as u32)
}

/// The index in a short form, and the low half of the generation as `agrees` compares it; `None`
/// when the number is no short form.
#[inline(always)]
pub fn index_of_short(request: usize) -> Option<u32> {
    let short = request >> 32 == 0 && request & ((1 << KIND_BITS) - 1) == SHORT_REQUEST;
    short.then_some(request as u32 >> KIND_BITS & ((1 << INDEX_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_name_the_place_and_tell_generations_apart() {
        let id = |generation: usize, index: usize| generation << 32 | index;
        for (generation, index) in [(1, 0), (3, 7), (127, (1 << 22) - 1), (0xffff_ffff, 99)] {
            let short = shorten(id(generation, index)).unwrap();
            assert!(short as i32 > 0);
            assert_eq!(index_of_short(short as usize), Some(index as u32));
            assert_ne!(shorten(id(generation ^ 2, index)), Some(short));
        }
        assert_eq!(shorten(id(1, 1 << 22)), None);
        assert_eq!(shorten(0x180), Some(0x180));
        assert_eq!(index_of_short(id(1, 12)), None);
        assert_eq!(index_of_short(0x180), None);
    }
}
