//! The engine as Fast Messages' streams see it: whole packets out of ready bytes.

use crate::{Fm, Head, Limits, Rank, Stall, Transport};

/// Sends ready packets. An object, so that code which must not know the transport (the C
/// interface) can hold one; [`Fm`] implements it for every transport.
pub trait PacketSender {
    fn rank(&self) -> Rank;
    fn size(&self) -> u32;
    fn limits(&self) -> Limits;
    /// Sends one packet, at most `limits().packet` bytes. Never blocks.
    fn send_packet(&mut self, dst: Rank, head: Head, payload: &[u8]) -> Result<(), Stall>;
}

impl<T: Transport> PacketSender for Fm<T> {
    fn rank(&self) -> Rank {
        Fm::rank(self)
    }

    fn size(&self) -> u32 {
        Fm::size(self)
    }

    fn limits(&self) -> Limits {
        Fm::limits(self)
    }

    #[inline]
    fn send_packet(&mut self, dst: Rank, head: Head, payload: &[u8]) -> Result<(), Stall> {
        self.send(dst, head, payload.len(), |to| to.copy_from_slice(payload))
    }
}
