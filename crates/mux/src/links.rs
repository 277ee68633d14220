//! Ranks of other jobs, which dynamic processes (MPI 5.0, chapter 11) bring together with ours.
//!
//! Two groups of processes that connect share a segment made for the purpose, in which each process has a slot; every
//! process attaches to it with an endpoint of its own, a *link*. A rank of another job has a number above those of
//! our job, which is this process's own: others know it by other numbers.

use crate::mux::Mux;
use hpvm_shm::Shm;
use hpvm_transport::{Broken, Head, Packets, Rank};
use std::io;

/// Stands for a slot from which nothing is taken: our own, our job's, or one that another link serves.
const NOBODY: Rank = Rank::MAX;

struct Link {
    shm: Shm,
    /// The rank at each slot, or `NOBODY`.
    ranks: Box<[Rank]>,
}

/// All links of a process.
pub(crate) struct Links {
    /// The number of the first rank of another job: the size of ours.
    first: Rank,
    /// By rank, from `first` on: its link and its slot there.
    routes: Vec<(usize, u32)>,
    /// `None`: closed, and free for another one.
    links: Vec<Option<Link>>,
}

impl Links {
    pub fn new(first: Rank) -> Links {
        Links { first, routes: Vec::new(), links: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    fn route(&self, rank: Rank) -> Option<(usize, u32)> {
        self.routes.get(rank.checked_sub(self.first)? as usize).copied()
    }

    /// The endpoint that reaches `rank`, and its slot there.
    pub fn reach(&self, rank: Rank) -> Option<(&Shm, u32)> {
        let (link, slot) = self.route(rank)?;
        Some((&self.links.get(link)?.as_ref()?.shm, slot))
    }

    pub fn reach_mut(&mut self, rank: Rank) -> Option<(&mut Shm, u32)> {
        let (link, slot) = self.route(rank)?;
        Some((&mut self.links.get_mut(link)?.as_mut()?.shm, slot))
    }

    fn open(&mut self) -> impl Iterator<Item = &mut Link> {
        self.links.iter_mut().flatten()
    }

    #[inline(never)]
    pub fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: &mut F,
    ) -> Result<usize, Broken> {
        let mut packets = 0;
        for Link { shm, ranks } in self.links.iter_mut().flatten() {
            packets += shm.poll(budget, |slot, head, data| {
                // The segment has checked that it is below the number of slots.
                match ranks[slot as usize] {
                    NOBODY => {}
                    rank => sink(rank, head, data),
                }
            })?;
        }
        Ok(packets)
    }

    pub fn arm(&mut self) -> bool {
        self.open().all(|link| link.shm.arm())
    }

    pub fn disarm(&mut self) {
        self.open().for_each(|link| link.shm.disarm());
    }
}

impl Mux {
    /// From now on reaches the processes at the slots `peers` of the segment of `shm`, which get the returned ranks.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn link(&mut self, mut shm: Shm, peers: &[u32]) -> io::Result<Vec<Rank>> {
        let hosts = self.linkable()?;
        shm.sleep_on(hosts.bell.pipe());
        let links = &mut hosts.links;
        let place = links.links.iter().position(Option::is_none).unwrap_or(links.links.len());
        let mut ranks = vec![NOBODY; shm.size() as usize].into_boxed_slice();
        let mut fresh = Vec::with_capacity(peers.len());
        for slot in peers {
            let rank = links.first + links.routes.len() as Rank;
            links.routes.push((place, *slot));
            if let Some(at) = ranks.get_mut(*slot as usize) {
                *at = rank;
            }
            fresh.push(rank);
        }
        let link = Some(Link { shm, ranks });
        match links.links.get_mut(place) {
            Some(free) => *free = link,
            None => links.links.push(link),
        }
        self.size += fresh.len() as u32;
        Ok(fresh)
    }

    /// Closes every link none of whose ranks is `used`, and gives those ranks: they are reached no more.
    pub fn unlink(&mut self, used: impl Fn(Rank) -> bool) -> Vec<Rank> {
        let Some(hosts) = &mut self.hosts else { return Vec::new() };
        let mut gone = Vec::new();
        for place in &mut hosts.links.links {
            let Some(link) = place else { continue };
            let ranks = link.ranks.iter().copied().filter(|rank| *rank != NOBODY);
            if !ranks.clone().any(&used) {
                gone.extend(ranks);
                *place = None;
            }
        }
        gone
    }

    /// The ranks of other jobs that are reached now.
    pub fn linked(&self) -> Vec<Rank> {
        let links = self.hosts.iter().flat_map(|hosts| hosts.links.links.iter().flatten());
        links.flat_map(|link| link.ranks.iter().copied()).filter(|rank| *rank != NOBODY).collect()
    }
}
