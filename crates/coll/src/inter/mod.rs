//! Collectives on intercommunicators (MPI 5.0, section 6.2.3): two groups, and what one group
//! gives the other gets.
//!
//! [`Peer::Local`](crate::Peer::Local) is a rank of the own group, over which the work is prepared
//! and spread; rank 0 of each group, its leader, speaks for it where that saves messages. The input
//! is in [`Buffer::Send`](crate::Buffer::Send) everywhere, as there is no `MPI_IN_PLACE`; only the
//! broadcast keeps to its one buffer.

pub mod allgather;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
pub mod gather;
pub mod reduce;
pub mod scatter;

/// A rank in its group, and the sizes of both groups.
#[derive(Clone, Copy, Debug)]
pub struct Inter {
    pub rank: u32,
    pub local_size: u32,
    pub remote_size: u32,
}

/// The part of a rank in a rooted operation, from the `root` argument of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `MPI_ROOT`.
    Root,
    /// `MPI_PROC_NULL`: in the root's group and not the root; nothing to do.
    Bystander,
    /// In the other group; `root` is a rank of the remote group.
    Member { root: u32 },
}
