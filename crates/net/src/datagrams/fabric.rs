//! Which peers are reached by libfabric ([`crate::ofi`]).

use super::Datagrams;
use crate::net::now;
use crate::ofi::{Fabric, Way, Ways};
use crate::outbox::Outbox;
use hpvm_wire::envelope::{ENVELOPE, Kind, PROBE};
use std::time::Duration;

impl Datagrams {
    /// The way by libfabric of a peer that is new.
    pub(super) fn first_way(&mut self) -> Way {
        match self.fabric {
            None => Way::None,
            Some(_) => {
                self.ways.asking += 1;
                self.ways.due = 0;
                Way::Wanted(0)
            }
        }
    }

    /// Sends what waits in the outbox, as much as goes by libfabric.
    #[inline]
    pub(super) fn flush_by_fabric(&mut self, now: u64) {
        let Datagrams { fabric: Some(fabric), outbox, index, peers, .. } = self else { return };
        let rank = outbox.rank();
        let Some(peer) = (index[rank as usize] as usize).checked_sub(1) else { return };
        let Way::Proven(to) = peers[peer].way else { return };
        if offer(outbox, fabric, to, rank) {
            self.doubt_fabric(now, peer);
        }
    }

    /// The peer does not get what goes by libfabric, perhaps: it is asked again, and the socket serves meanwhile.
    #[cold]
    pub(super) fn doubt_fabric(&mut self, now: u64, index: usize) {
        if let Way::Proven(to) = self.peers[index].way {
            self.nonce = self.nonce.wrapping_add(1 << 16);
            self.peers[index].way = Way::asked(to, self.nonce, now);
            self.ways.proven -= 1;
            self.ways.asking += 1;
            self.ways.due = now;
        }
    }

    /// A peer has sent something, perhaps one of those that are asked.
    #[cold]
    pub(super) fn lives_by_fabric(&mut self, now: u64, index: usize) {
        let way = &mut self.peers[index].way;
        way.is_alive(now);
        self.ways.due = self.ways.due.min(way.next());
    }

    /// The answer to a probe has come; true when it was one by libfabric.
    #[cold]
    pub(super) fn answered_by_fabric(&mut self, index: usize, body: &[u8]) -> bool {
        let Way::Asked(asked) = self.peers[index].way else { return false };
        let right = body == asked.nonce.to_le_bytes();
        if right {
            self.peers[index].way = Way::Proven(asked.to);
            self.ways.asking -= 1;
            self.ways.proven += 1;
        }
        right
    }

    /// Asks peers whether they are reached by libfabric, and hears of those who are not.
    #[inline]
    pub(super) fn turn_fabric(&mut self, now: u64) {
        let Some(fabric) = &mut self.fabric else { return };
        if let Some(rank) = fabric.failed() {
            let index = self.peer_index(rank);
            self.doubt_fabric(now, index);
        }
        if self.ways.due <= now {
            self.ask_by_fabric(now);
        }
    }

    #[cold]
    fn ask_by_fabric(&mut self, now: u64) {
        for index in 0..self.peers.len() {
            if self.peers[index].way.next() > now {
                continue;
            }
            if let Way::Wanted(_) = self.peers[index].way {
                self.introduce(now, index);
            }
            let Way::Asked(asked) = self.peers[index].way else { continue };
            let probe = self.longest_probe(index, asked.nonce);
            let rank = self.peers[index].rank;
            if let Some(fabric) = &mut self.fabric {
                let (taken, _) = fabric.send(asked.to, rank, &probe, probe.len());
                self.tally.sent += u64::from(taken > 0);
            }
            self.peers[index].way.has_asked(now);
        }
        let next = self.peers.iter().map(|peer| peer.way.next());
        self.ways.due = next.min().unwrap_or(u64::MAX);
    }

    /// A probe as long as any message: a switch may drop long frames in silence, so that a short one would prove a way by which the
    /// provider then gets stuck.
    fn longest_probe(&mut self, index: usize, nonce: u64) -> Vec<u8> {
        let longest = self.fabric.as_ref().map_or(0, |fabric| fabric.longest());
        let mut body = vec![0; longest.saturating_sub(ENVELOPE).max(PROBE)];
        body[..PROBE].copy_from_slice(&nonce.to_le_bytes());
        self.plain(index, Kind::Probe, &body)
    }

    /// Makes a peer known to libfabric, once its card is there.
    fn introduce(&mut self, now: u64, index: usize) {
        self.fetch_card(index, Duration::ZERO);
        let Some(card) = &self.peers[index].card else {
            self.peers[index].way.wait_for_card(now);
            return;
        };
        let fabric = self.fabric.as_mut();
        self.peers[index].way = match fabric.and_then(|f| f.insert(card.fabric.as_ref())) {
            Some(to) => {
                self.nonce = self.nonce.wrapping_add(1 << 16);
                Way::asked(to, self.nonce, now)
            }
            None => {
                self.ways.asking -= 1;
                Way::None
            }
        };
    }

    /// When `turn_fabric` has something to do, or the provider wants to be looked at.
    pub(super) fn fabric_deadline(&self) -> u64 {
        let Some(fabric) = &self.fabric else { return u64::MAX };
        fabric.rest().map_or(u64::MAX, |rest| now() + rest).min(self.ways.due)
    }

    /// By which address the provider reads the memory of a peer, if it does.
    #[inline]
    pub fn rdma_to(&self, rank: u32) -> Option<u64> {
        if !self.fabric.as_ref()?.has_rdma() {
            return None;
        }
        let peer = (*self.index.get(rank as usize)? as usize).checked_sub(1)?;
        match self.peers[peer].way {
            Way::Proven(to) => Some(to),
            _ => None,
        }
    }

    /// How many peers are reached by libfabric.
    pub fn ofi_peers(&self) -> u64 {
        self.fabric.as_ref().map_or(0, |_| self.ways.proven.into())
    }

    /// Gives libfabric up when it does not work any more: the socket serves.
    pub(super) fn tidy_fabric(&mut self) {
        if self.fabric.as_ref().is_some_and(|fabric| fabric.is_dead()) {
            self.fabric = None;
            self.ways = Ways::default();
            self.peers.iter_mut().for_each(|peer| peer.way = Way::None);
        }
    }
}

/// Gives the outbox's run to libfabric; true when it refuses the peer.
#[inline]
fn offer(outbox: &mut Outbox, fabric: &mut Fabric, to: u64, rank: u32) -> bool {
    let mut refused = false;
    outbox.offer(|_, bytes, segment| {
        let (taken, refuses) = fabric.send(to, rank, bytes, segment);
        refused = refuses;
        taken
    });
    refused
}
