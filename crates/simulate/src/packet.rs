//! A packet on its way.

use hpvm_transport::{Head, Rank};

pub struct Packet {
    pub src: Rank,
    pub dst: Rank,
    pub head: Head,
    /// Bytes of the payload; a schedule without an engine sends none of them.
    pub len: usize,
    pub payload: Box<[u8]>,
}

/// Bytes of a packet beside its payload: the header of a datagram of hpvm and those of UDP, IP and Ethernet.
pub const HEADERS: usize = 40 + 66;
