//! Collective algorithms as schedules, one file each.
//!
//! A schedule is what one rank does in one collective operation: rounds of messages and, between
//! them, copies and reductions. It is made of numbers only; buffers, datatypes and messages are the
//! business of whoever runs it. Blocking, non-blocking and persistent operations use the same.
//!
//! Every collective is a module with `schedule(&input)`, which lets the default [`select`] tables
//! choose, `schedule_with(tables, &input)` and `build(algorithm, &input)`; below it lies one module
//! per algorithm. Module [`inter`] has the forms for intercommunicators, module [`hosts`] those for
//! groups of which several ranks share a host.
//!
//! [`select`] chooses the algorithm. For blocking operations it also chooses the carrier: messages or shared memory. The
//! methods through shared memory are in `hpvm-mpi`, because they need buffers and the segment.
//!
//! Deliberately absent: shared memory itself, and anything that depends on time.

pub mod allgather;
pub mod allgatherv;
pub mod allreduce;
pub mod alltoall;
pub mod alltoallv;
pub mod alltoallw;
pub mod barrier;
pub mod bcast;
mod exchange;
mod fold;
pub mod gather;
mod halving;
pub mod hosts;
pub mod input;
pub mod inter;
pub mod neighbour;
mod partial;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;
pub mod schedule;
pub mod select;
mod tree;

pub use input::{
    AlltoallV, AlltoallW, Broadcast, Exchange, GatherV, Group, Neighbours, ReduceScatter,
    Reduction, ScatterV, TypedVectors, Vectors,
};
pub use schedule::{Block, Buffer, Comm, Local, Peer, Round, Schedule, TempSpec, Ty};
