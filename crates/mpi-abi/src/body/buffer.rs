//! Buffers for buffered sends (MPI 5.0, section 3.6).
//!
//! The library keeps messages of its own; the attached buffer only says how much it may keep, so
//! that a program sees the limits that it set. Space counts as used until the message has left.

use hpvm_mpi::ReqId;

/// A buffer that the program attached.
#[derive(Debug, Default)]
pub struct Attached {
    /// Address and size in bytes, as the program gave them.
    pub space: Option<(usize, i64)>,
    /// Messages under way and the bytes that each uses.
    pub messages: Vec<(ReqId, i64)>,
}
