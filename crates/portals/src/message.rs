//! What a target learns of a message before its data: the header.

use crate::atomic::{Datatype, Op};

/// Who sent a message: both names of a process, for physical and for logical interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Process {
    pub nid: u32,
    pub pid: u32,
    pub rank: u32,
}

/// What a message asks for ("Data Movement Operations", section 3.15). `PtlSwap` is a fetching atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Put,
    Get,
    Atomic(Op, Datatype),
    FetchAtomic(Op, Datatype),
}

impl Operation {
    /// The parts of a message's data that cannot be divided, in bytes.
    pub(crate) fn grain(self) -> u64 {
        match self {
            Operation::Put | Operation::Get => 1,
            Operation::Atomic(_, datatype) | Operation::FetchAtomic(_, datatype) => {
                datatype.size() as u64
            }
        }
    }
}

/// The header of a message at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub operation: Operation,
    pub initiator: Process,
    pub uid: u32,
    pub match_bits: u64,
    pub hdr_data: u64,
    /// Bytes that the initiator asked for.
    pub rlength: u64,
    /// Offset that the initiator gave, in bytes.
    pub remote_offset: u64,
}
