//! Long messages that are read out of their senders' memory by the provider of libfabric ([`crate::ofi`]).
//!
//! A peer's memory is read while it is reached by libfabric. A read that fails raises a doubt about that, as a message does,
//! and whoever wanted the bytes gets them another way.

use crate::net::Net;
use hpvm_ofi::ReadEnd;
use hpvm_transport::{Exposed, Rank, Streamed};

impl Net {
    /// See [`hpvm_transport::PeerMemory::has_rdma`].
    #[inline]
    pub fn has_rdma(&self, peer: Rank) -> bool {
        self.datagrams.rdma_to(peer).is_some()
    }

    /// See [`hpvm_transport::PeerMemory::expose`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn expose(
        &mut self,
        peer: Rank,
        number: u64,
        from: *const u8,
        len: u64,
    ) -> Option<Exposed> {
        self.datagrams.rdma_to(peer)?;
        let (fabric, len) = (self.datagrams.fabric.as_mut()?, usize::try_from(len).ok()?);
        // SAFETY: the caller's promise.
        unsafe { fabric.expose(number, from, len) }
    }

    /// See [`hpvm_transport::PeerMemory::conceal`].
    pub fn conceal(&mut self, number: u64) {
        if let Some(fabric) = &mut self.datagrams.fabric {
            fabric.conceal(number);
        }
    }

    /// See [`hpvm_transport::PeerMemory::rdma_read`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn rdma_read(
        &mut self,
        src: Rank,
        exposed: Exposed,
        (to, len): (*mut u8, u64),
        cookie: u64,
    ) -> bool {
        let (Some(from), Ok(len)) = (self.datagrams.rdma_to(src), usize::try_from(len)) else {
            return false;
        };
        let Some(fabric) = &mut self.datagrams.fabric else { return false };
        // SAFETY: the caller's promise.
        unsafe { fabric.read(cookie, (from, src), exposed, (to, len)) }
    }

    /// Whether [`Net::read_end`] has something.
    #[inline]
    pub(crate) fn has_read_end(&self) -> bool {
        self.datagrams.fabric.as_ref().is_some_and(|fabric| fabric.has_read_end())
    }

    /// A read that has ended.
    #[cold]
    pub(crate) fn read_end(&mut self) -> Option<Streamed> {
        Some(match self.datagrams.fabric.as_mut()?.read_end()? {
            ReadEnd::Came(cookie) => Streamed::Read(cookie),
            ReadEnd::Failed(cookie) => Streamed::NotRead(cookie),
        })
    }
}
