//! Memory of a collective for packed data and for operands.

/// Bytes that any element type may lie in.
#[derive(Debug, Default)]
pub(super) struct Packed {
    words: Vec<u128>,
    len: usize,
}

impl Packed {
    /// Zeros.
    pub fn new(len: usize) -> Packed {
        Packed { words: vec![0; len.div_ceil(16)], len }
    }

    /// Where they lie, until this value is dropped.
    pub fn start(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `words` holds at least `len` bytes, all of them initialised.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed for writing.
        unsafe { core::slice::from_raw_parts_mut(self.start(), self.len) }
    }
}
