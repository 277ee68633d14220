//! What a collective is told: numbers only. Ranks count from 0; extents and offsets are bytes.
//!
//! Counts times extents must fit in 63 bits, which every buffer that exists satisfies. An argument
//! that MPI calls not significant on a rank (the receive side of a gather away from the root) may
//! hold anything, an empty slice included.

use crate::schedule::{Block, Buffer, Ty};

/// A rank and the size of its group.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub rank: u32,
    pub size: u32,
}

/// `MPI_Bcast`. The buffer is [`Buffer::Recv`] with [`Ty::Recv`] on every rank.
#[derive(Clone, Copy, Debug)]
pub struct Broadcast {
    pub rank: u32,
    pub size: u32,
    pub root: u32,
    /// Elements of the type; may differ between ranks as long as the packed length does not.
    pub count: i64,
    /// Packed bytes of one element.
    pub size_bytes: i64,
    /// Whether this rank's buffer is its own packed form: no gaps, no lower bound, type map in
    /// order. May differ between ranks; it saves a copy.
    pub contiguous: bool,
}

impl Broadcast {
    pub(crate) fn bytes(&self) -> i64 {
        self.count * self.size_bytes
    }

    pub(crate) fn whole(&self) -> Block {
        Block::new(Buffer::Recv, 0, self.count, Ty::Recv)
    }
}

/// `MPI_Reduce`, `MPI_Allreduce`, `MPI_Scan`, `MPI_Exscan`, `MPI_Reduce_scatter_block`.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    pub rank: u32,
    pub size: u32,
    /// `MPI_Reduce` only.
    pub root: u32,
    /// Elements; for `MPI_Reduce_scatter_block` the elements of one rank's result.
    pub count: i64,
    /// Bytes from one element to the next.
    pub extent: i64,
    /// Packed bytes of one element.
    pub size_bytes: i64,
    pub commutative: bool,
    /// The input is in [`Buffer::Recv`]; for `MPI_Reduce` at the root only.
    pub in_place: bool,
}

impl Reduction {
    /// The buffer that holds this rank's contribution.
    pub(crate) fn source(&self) -> Buffer {
        if self.in_place { Buffer::Recv } else { Buffer::Send }
    }

    pub(crate) fn whole(&self, buffer: Buffer) -> Block {
        Block::new(buffer, 0, self.count, Ty::Recv)
    }

    pub(crate) fn bytes(&self) -> i64 {
        self.count * self.size_bytes
    }
}

/// `MPI_Reduce_scatter`.
#[derive(Clone, Copy, Debug)]
pub struct ReduceScatter<'a> {
    pub rank: u32,
    pub size: u32,
    /// Elements of every rank's result.
    pub counts: &'a [i64],
    pub extent: i64,
    pub size_bytes: i64,
    pub commutative: bool,
    pub in_place: bool,
}

/// `MPI_Gather`, `MPI_Scatter`, `MPI_Allgather`, `MPI_Alltoall`; counts are those of one block.
///
/// On an intercommunicator `size` is the size of the remote group and blocks belong to its ranks.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    pub rank: u32,
    pub size: u32,
    /// `MPI_Gather` and `MPI_Scatter` only.
    pub root: u32,
    pub send_count: i64,
    pub send_extent: i64,
    /// Packed bytes of one element of the send type.
    pub send_size: i64,
    pub recv_count: i64,
    pub recv_extent: i64,
    /// Packed bytes of one element of the receive type.
    pub recv_size: i64,
    /// Gather: the root's block is in place. Scatter: the root keeps its block where it is.
    /// Allgather: every rank's block is in place. Alltoall: the input is in [`Buffer::Recv`].
    pub in_place: bool,
}

impl Exchange {
    /// `blocks` blocks from block `first` of the send buffer.
    #[inline]
    pub(crate) fn sent(&self, first: u32, blocks: u32) -> Block {
        let offset = i64::from(first) * self.send_count * self.send_extent;
        Block::new(Buffer::Send, offset, i64::from(blocks) * self.send_count, Ty::Send)
    }

    /// `blocks` blocks from block `first` of the receive buffer.
    #[inline]
    pub(crate) fn received(&self, first: u32, blocks: u32) -> Block {
        let offset = i64::from(first) * self.recv_count * self.recv_extent;
        Block::new(Buffer::Recv, offset, i64::from(blocks) * self.recv_count, Ty::Recv)
    }

    /// Packed bytes of one block as the send side tells it.
    pub(crate) fn send_bytes(&self) -> i64 {
        self.send_count * self.send_size
    }

    /// Packed bytes of one block as the receive side tells it.
    pub(crate) fn recv_bytes(&self) -> i64 {
        self.recv_count * self.recv_size
    }
}

/// One side of a `v` operation: a block for every peer, all of one type.
#[derive(Clone, Copy, Debug)]
pub struct Vectors<'a> {
    pub counts: &'a [i64],
    /// In extents of the type, as in the call.
    pub displs: &'a [i64],
    pub extent: i64,
    /// Packed bytes of one element.
    pub size_bytes: i64,
}

/// One side of a `w` operation: a block of its own type for every peer.
#[derive(Clone, Copy, Debug)]
pub struct TypedVectors<'a> {
    pub counts: &'a [i64],
    /// In bytes, as in the call.
    pub displs: &'a [i64],
    /// Packed bytes of one element of each peer's type.
    pub sizes: &'a [i64],
}

/// `MPI_Gatherv` and `MPI_Allgatherv`.
#[derive(Clone, Copy, Debug)]
pub struct GatherV<'a> {
    pub rank: u32,
    /// Ranks in the group; on an intercommunicator, in the remote group.
    pub size: u32,
    /// `MPI_Gatherv` only.
    pub root: u32,
    pub send_count: i64,
    /// Packed bytes of one element of the send type.
    pub send_size: i64,
    pub recv: Vectors<'a>,
    /// The own block (gather: of the root) is already in the receive buffer.
    pub in_place: bool,
}

/// `MPI_Scatterv`.
#[derive(Clone, Copy, Debug)]
pub struct ScatterV<'a> {
    pub rank: u32,
    pub size: u32,
    pub root: u32,
    pub send: Vectors<'a>,
    pub recv_count: i64,
    /// Packed bytes of one element of the receive type.
    pub recv_size: i64,
    /// The root keeps its block where it is.
    pub in_place: bool,
}

/// `MPI_Alltoallv`.
#[derive(Clone, Copy, Debug)]
pub struct AlltoallV<'a> {
    pub rank: u32,
    /// Ranks in the group; on an intercommunicator, in the remote group.
    pub size: u32,
    pub send: Vectors<'a>,
    pub recv: Vectors<'a>,
    /// The input is in the receive buffer, described by `recv`; `send` is not looked at.
    pub in_place: bool,
}

/// `MPI_Alltoallw`.
#[derive(Clone, Copy, Debug)]
pub struct AlltoallW<'a> {
    pub rank: u32,
    /// Ranks in the group; on an intercommunicator, in the remote group.
    pub size: u32,
    pub send: TypedVectors<'a>,
    pub recv: TypedVectors<'a>,
    /// The input is in the receive buffer, described by `recv`; `send` is not looked at.
    pub in_place: bool,
}

/// The neighbours of a rank in a process topology, in the order of the topology's queries.
/// A negative rank is `MPI_PROC_NULL`.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours<'a> {
    pub sources: &'a [i32],
    pub destinations: &'a [i32],
    /// A Cartesian topology: neighbours come in pairs (down, up) of a dimension, and what is sent
    /// down arrives from above, also where both are the same process (MPI 5.0, section 8.6).
    pub cartesian: bool,
}
