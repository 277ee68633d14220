//! Memory of a collective for packed data and for operands.

/// Bytes that any element type may lie in.
#[derive(Debug, Default)]
pub(super) struct Packed(Vec<u128>);

impl Packed {
    /// Zeros.
    pub fn new(len: usize) -> Packed {
        Packed(vec![0; len.div_ceil(16)])
    }

    /// Where they lie, until this value is dropped.
    pub fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
