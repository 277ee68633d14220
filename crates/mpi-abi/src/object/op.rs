//! What an operation handle refers to.

use super::Objects;
use super::bad_handle;
use crate::generated::constants::{MPI_OP_NULL, MPI_Op};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use hpvm_mpi::op::{Op, Predef};
use std::sync::{Arc, OnceLock};

/// A reduction operation made by the program.
#[derive(Debug)]
pub struct OpObject {
    pub op: Arc<Op>,
}

/// The predefined operations by handle minus the null handle.
fn predefined(handle: MPI_Op) -> Option<&'static Arc<Op>> {
    static TABLE: OnceLock<Vec<Option<Arc<Op>>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let op = |h| Predef::from_abi(h).map(|p| Arc::new(Op::Predefined(p)));
        (MPI_OP_NULL.0..MPI_OP_NULL.0 + 0x40).map(op).collect()
    });
    table.get(handle.0.wrapping_sub(MPI_OP_NULL.0))?.as_ref()
}

impl Objects {
    /// The operation of a handle.
    #[inline]
    pub fn op(&self, handle: MPI_Op) -> Result<&Arc<Op>> {
        let found = predefined(handle).or_else(|| self.ops.get(handle.0).map(|o| &o.op));
        found.ok_or_else(|| bad_handle(Class::Op, "op", handle == MPI_OP_NULL, handle.0))
    }
}
