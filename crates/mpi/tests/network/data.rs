//! Types whose layout the tests know, and contents of blocks.

use crate::harness::hash;
use hpvm_mpi::datatype::Datatype;
use std::sync::Arc;

/// Packed bytes of the unit in which blocks are counted.
pub const UNIT: usize = 16;

const POISON: u8 = 0xee;
const MPI_UINT64_T: usize = 0x259;

/// A datatype as the tests lay it out themselves.
#[derive(Clone, Debug)]
pub struct Shape {
    pub ty: Arc<Datatype>,
    /// Elements of a unit.
    pub per_unit: i64,
    /// Where the eight-byte words of a unit lie, and the bytes of a unit with its gaps.
    words: [usize; 2],
    pub stride: usize,
}

pub fn word_type() -> &'static Arc<Datatype> {
    Datatype::predefined(MPI_UINT64_T).unwrap()
}

impl Shape {
    /// Two words without a gap, or one element of two words with a gap between them.
    pub fn new(gappy: bool) -> Shape {
        if !gappy {
            return Shape { ty: word_type().clone(), per_unit: 2, words: [0, 8], stride: 16 };
        }
        let ty = Datatype::vector(2, 1, 2, word_type()).unwrap();
        ty.commit();
        Shape { ty, per_unit: 1, words: [0, 16], stride: 24 }
    }

    pub fn blank(&self, units: usize) -> Vec<u8> {
        vec![POISON; units * self.stride]
    }

    /// Writes packed data into the units from `first` on.
    pub fn put(&self, buffer: &mut [u8], first: usize, packed: &[u8]) {
        for (i, unit) in packed.chunks_exact(UNIT).enumerate() {
            for (w, at) in self.words.into_iter().enumerate() {
                let at = (first + i) * self.stride + at;
                buffer[at..at + 8].copy_from_slice(&unit[8 * w..8 * w + 8]);
            }
        }
    }
}

/// The packed block of `units` that `from` has for `to` in operation `seq`.
pub fn content(seq: u64, from: u32, to: u32, units: usize) -> Vec<u8> {
    let word = |i| hash(&[seq, from.into(), to.into(), i]).to_le_bytes();
    (0..2 * units as u64).flat_map(word).collect()
}
