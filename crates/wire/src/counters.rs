//! Per-rank counters that monitors read from outside.
//!
//! The owner alone writes them (a plain load, add, store), so a count costs a store and no
//! locked instruction; a reader in another process sees values that are each current, though not
//! of one instant.

use hpvm_sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        /// The counters of one rank, in its control block.
        #[derive(Debug, Default)]
        #[repr(C, align(128))]
        pub struct Counters { $($(#[doc = $doc])* pub $name: AtomicU64,)* }

        impl Counters {
            /// Name and meaning of every counter, in the order of `read`.
            pub const TABLE: &[(&str, &str)] =
                &[$((stringify!($name), concat!($($doc),*)),)*];

            /// Name and value of every counter.
            pub fn read(&self) -> Vec<(&'static str, u64)> {
                // Relaxed: a statistic that orders nothing.
                vec![$((stringify!($name), self.$name.load(Ordering::Relaxed)),)*]
            }
        }
    };
}

counters! {
    /// Packets sent.
    packets_sent,
    /// Payload bytes sent in packets.
    bytes_sent,
    /// Packets received.
    packets_received,
    /// Bytes read straight from a peer's memory (single copy, or RDMA by libfabric).
    peer_bytes_read,
    /// Bytes written straight to a peer's memory, to help a receiver that pulls.
    peer_bytes_written,
    /// Bytes copied out of memory that a peer lends (`MPI_Alloc_mem`).
    bytes_mapped,
    /// Allocations of `MPI_Alloc_mem` for which no shared memory was to be had.
    lend_refused,
    /// Put operations started (one-sided).
    puts,
    /// Get operations started (one-sided).
    gets,
    /// Elements updated by atomic operations that were started here (one-sided).
    atomics,
    /// Bytes of puts and gets.
    onesided_bytes,
    /// Times a packet had to wait for a credit.
    credit_stalls,
    /// Times a packet had to wait for a free frame.
    frame_stalls,
    /// Times the rank went to sleep in the kernel.
    sleeps,
    /// Times the rank woke a sleeping peer.
    doorbells,
    /// Packets taken past a slot whose sender had not finished it.
    leapfrogs,
    /// Messages that came before their receive was posted.
    unexpected,
    /// Datagrams sent to other hosts.
    datagrams_sent,
    /// Datagrams received from other hosts.
    datagrams_received,
    /// What carries datagrams: a word of `LaneInUse`, 0 for UDP.
    lane,
    /// Of the datagrams sent, those past the kernel (AF_XDP), or the messages in which libfabric took them.
    lane_sent,
    /// Of the datagrams received, those past the kernel (AF_XDP), or the messages in which libfabric brought them.
    lane_received,
    /// Ranks of other hosts that datagrams go to past the kernel (AF_XDP), or that are reached by libfabric, now.
    lane_peers,
    /// Ranks of other hosts that this one has exchanged datagrams with.
    net_peers,
    /// Datagrams sent again because no acknowledgement came.
    datagrams_resent,
    /// Datagrams of the job that were dropped: had come before, outside the window, or without room for them.
    datagrams_dropped,
    /// Chunks of large messages sent to other hosts over connections.
    chunks_sent,
    /// Chunks of large messages received from other hosts.
    chunks_received,
    /// Chunks sent again because a connection broke.
    chunks_resent,
    /// Connections for large messages that broke.
    connections_broken,
    /// Datagrams and connections that proved no knowledge of the job's key.
    strangers,
}

/// Adds `n` to a counter of our own.
#[inline(always)]
pub fn add(counter: &AtomicU64, n: u64) {
    // Relaxed, and load-store instead of fetch_add: one writer, and readers only want the value.
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

/// Gives a counter of our own a value that was counted elsewhere.
#[inline(always)]
pub fn set(counter: &AtomicU64, value: u64) {
    counter.store(value, Ordering::Relaxed); // relaxed: as in `add`
}
