//! Every byte layout: packets, control blocks, bootstrap messages.
//!
//! What another process writes into one of these layouts is an allegation: the reader checks it
//! (`Cell::head`, `segment::Header::check`) before any offset, length or id in it is used. The
//! size of every layout is pinned by a test, because two builds of hpvm may meet in one job.

pub mod accumulate_lock;
pub mod bulk;
pub mod cell;
pub mod coll_slots;
pub mod counters;
pub mod datagram;
pub mod delegation;
pub mod envelope;
pub mod epoch_words;
pub mod lane;
pub mod narrow;
pub mod packet;
pub mod pending;
pub mod regions;
pub mod rw_lock;
pub mod segment;
pub mod split_copy;
pub mod traffic;

pub use packet::Head;
