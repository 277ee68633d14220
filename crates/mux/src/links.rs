//! Ranks of other jobs, which dynamic processes (MPI 5.0, chapter 11) bring together with ours.
//!
//! Two groups of processes that connect form a *link*, in which each process has a number, its *member number*. The
//! members on one host share a segment made for the link, to which each attaches with an endpoint of its own. Members on
//! different hosts reach each other by sockets made for the link, with a key of its own. A rank of another job has a
//! number above those of our job. That number holds in this process only: other processes know the rank by other numbers.

use crate::mux::Mux;
use hpvm_net::{Net, now};
use hpvm_shm::Shm;
use hpvm_transport::{Broken, Head, Packets, Rank, Streamed, Streams};
use std::io;

/// Stands for a member from which nothing is taken: our own, our job's, or one that another link serves.
const NOBODY: Rank = Rank::MAX;
/// How long the sockets of a link that is closed answer those whose last packet's acknowledgement was lost, nanoseconds: many
/// times the interval in which packets are sent again.
const LINGER: u64 = 1_000_000_000;

/// This process's ends of a link.
pub struct LinkEnds {
    /// Members of the link.
    pub size: u32,
    /// To the members on this host, and the member number of each number in that segment.
    pub shm: Option<(Shm, Box<[u32]>)>,
    /// To those on other hosts, by their member numbers.
    pub net: Option<Net>,
}

struct Link {
    shm: Option<(Shm, Box<[u32]>)>,
    net: Option<Net>,
    /// The rank of each member, or `NOBODY`.
    ranks: Box<[Rank]>,
}

/// How a rank of another job is reached, and what its number is there.
#[derive(Clone, Copy)]
enum Carrier {
    Memory(u32),
    Network(u32),
}

/// All links of a process.
pub(crate) struct Links {
    /// The number of the first rank of another job: the size of ours.
    first: Rank,
    /// By rank, from `first` on: its link and how it is reached there.
    routes: Vec<(usize, Carrier)>,
    /// `None`: closed, and free for another one.
    links: Vec<Option<Link>>,
    /// Sockets of closed links, and until when they answer.
    leaving: Vec<(Net, u64)>,
    /// There are sockets, of links that are open or closed.
    has_sockets: bool,
}

impl Links {
    pub fn new(first: Rank) -> Links {
        let (routes, links, leaving) = (Vec::new(), Vec::new(), Vec::new());
        Links { first, routes, links, leaving, has_sockets: false }
    }

    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    pub fn has_sockets(&self) -> bool {
        self.has_sockets
    }

    fn route(&self, rank: Rank) -> Option<(usize, Carrier)> {
        self.routes.get(rank.checked_sub(self.first)? as usize).copied()
    }

    /// The endpoint that reaches `rank` through memory, and its number there.
    pub fn reach(&self, rank: Rank) -> Option<(&Shm, u32)> {
        let (link, Carrier::Memory(local)) = self.route(rank)? else { return None };
        Some((&self.links.get(link)?.as_ref()?.shm.as_ref()?.0, local))
    }

    pub fn reach_mut(&mut self, rank: Rank) -> Option<(&mut Shm, u32)> {
        let (link, Carrier::Memory(local)) = self.route(rank)? else { return None };
        Some((&mut self.links.get_mut(link)?.as_mut()?.shm.as_mut()?.0, local))
    }

    /// The sockets that reach `rank`, and its number there.
    pub fn net_mut(&mut self, rank: Rank) -> Option<(&mut Net, u32)> {
        let (link, Carrier::Network(member)) = self.route(rank)? else { return None };
        Some((self.links.get_mut(link)?.as_mut()?.net.as_mut()?, member))
    }

    pub fn net(&self, rank: Rank) -> Option<(&Net, u32)> {
        let (link, Carrier::Network(member)) = self.route(rank)? else { return None };
        Some((self.links.get(link)?.as_ref()?.net.as_ref()?, member))
    }

    /// A stream from or to another job that has ended.
    #[inline]
    pub fn streamed(&mut self) -> Option<Streamed> {
        match self.has_sockets {
            true => self.nets().find_map(Net::streamed),
            false => None,
        }
    }

    /// Bytes of streams are on their way.
    pub fn streams_busy(&self) -> bool {
        self.links.iter().flatten().any(|link| link.net.as_ref().is_some_and(Net::streams_busy))
    }

    fn open(&mut self) -> impl Iterator<Item = &mut Link> {
        self.links.iter_mut().flatten()
    }

    fn shms(&mut self) -> impl Iterator<Item = &mut Shm> {
        self.open().filter_map(|link| Some(&mut link.shm.as_mut()?.0))
    }

    fn nets(&mut self) -> impl Iterator<Item = &mut Net> {
        let open = self.links.iter_mut().flatten().filter_map(|link| link.net.as_mut());
        open.chain(self.leaving.iter_mut().map(|(net, _)| net))
    }

    #[inline(never)]
    pub fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: &mut F,
    ) -> Result<usize, Broken> {
        let mut packets = 0;
        for Link { shm, ranks, .. } in self.links.iter_mut().flatten() {
            let Some((shm, members)) = shm else { continue };
            packets += shm.poll(budget, |local, head, data| {
                // The segment has checked that it is below its size.
                match ranks[members[local as usize] as usize] {
                    NOBODY => {}
                    rank => sink(rank, head, data),
                }
            })?;
        }
        Ok(packets)
    }

    /// The same for what comes from other hosts.
    #[inline(never)]
    pub fn poll_sockets<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: &mut F,
    ) -> Result<usize, Broken> {
        let mut packets = 0;
        for Link { net, ranks, .. } in self.links.iter_mut().flatten() {
            let Some(net) = net else { continue };
            packets += net.poll(budget, &mut |member: Rank, head, data: &[u8]| {
                // The sockets take nothing from a number that is not below the link's size.
                match ranks[member as usize] {
                    NOBODY => {}
                    rank => sink(rank, head, data),
                }
            })?;
        }
        if !self.leaving.is_empty() {
            self.poll_leaving(budget);
        }
        Ok(packets)
    }

    #[cold]
    fn poll_leaving(&mut self, budget: usize) {
        // Answers those who have not heard of our acknowledgement. Who has gone needs no answer.
        self.leaving.retain_mut(|(net, end)| {
            let polled = net.poll(budget, &mut |_: Rank, _: Head, _: &[u8]| {});
            polled.is_ok() && now() < *end
        });
        self.look_for_sockets();
    }

    fn look_for_sockets(&mut self) {
        let open = self.links.iter().flatten().any(|link| link.net.is_some());
        self.has_sockets = open || !self.leaving.is_empty();
    }

    /// False: something has come.
    pub fn arm(&mut self) -> bool {
        self.shms().all(Packets::arm) && self.nets().all(Net::arm)
    }

    pub fn disarm(&mut self) {
        self.shms().for_each(Packets::disarm);
    }

    /// Until when the process may sleep.
    pub fn deadline(&mut self) -> u64 {
        let end = self.leaving.iter().map(|(_, end)| *end).min().unwrap_or(u64::MAX);
        self.nets().map(Net::deadline).min().unwrap_or(u64::MAX).min(end)
    }

    /// Every packet that was sent to other hosts has been acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.links.iter().flatten().all(|link| link.net.as_ref().is_none_or(Net::is_quiet))
    }

    /// The same of what those ranks were sent whom it `concerns`.
    pub fn is_quiet_with(&self, concerns: impl Fn(Rank) -> bool) -> bool {
        self.links.iter().flatten().all(|link| {
            let known = |member: Rank| link.ranks.get(member as usize).copied();
            let concerns =
                |member| known(member).is_some_and(|rank| rank != NOBODY && concerns(rank));
            link.net.as_ref().is_none_or(|net| net.is_quiet_with(concerns))
        })
    }
}

impl Mux {
    /// From now on reaches the members `peers` of a link, which get the returned ranks.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn link(&mut self, ends: LinkEnds, peers: &[u32]) -> io::Result<Vec<Rank>> {
        let LinkEnds { size, mut shm, mut net } = ends;
        let hosts = self.linkable()?;
        if let Some((shm, _)) = &mut shm {
            shm.sleep_on(hosts.bell.pipe());
        }
        if let Some(net) = &mut net {
            net.descriptors().into_iter().try_for_each(|fd| hosts.bell.watch(fd))?;
            net.wake_at(hosts.bell.epoll());
        }
        let links = &mut hosts.links;
        let place = links.links.iter().position(Option::is_none).unwrap_or(links.links.len());
        let mut ranks = vec![NOBODY; size as usize].into_boxed_slice();
        let mut fresh = Vec::with_capacity(peers.len());
        let locals = shm.as_ref().map_or(&[][..], |(_, members)| members);
        for member in peers {
            let rank = links.first + links.routes.len() as Rank;
            let local = locals.iter().position(|local| local == member);
            let carrier = local.map_or(Carrier::Network(*member), |l| Carrier::Memory(l as u32));
            links.routes.push((place, carrier));
            if let Some(at) = ranks.get_mut(*member as usize) {
                *at = rank;
            }
            fresh.push(rank);
        }
        links.has_sockets |= net.is_some();
        let link = Some(Link { shm, net, ranks });
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
        let links = &mut hosts.links;
        let mut gone = Vec::new();
        for place in &mut links.links {
            let Some(link) = place else { continue };
            let ranks = link.ranks.iter().copied().filter(|rank| *rank != NOBODY);
            if !ranks.clone().any(&used) {
                gone.extend(ranks);
                let closed = place.take();
                let net = closed.and_then(|link| link.net);
                links.leaving.extend(net.map(|net| (net, now() + LINGER)));
            }
        }
        gone
    }

    /// The ranks of other jobs that are reached now.
    pub fn linked(&self) -> Vec<Rank> {
        let links = self.hosts.iter().flat_map(|hosts| hosts.links.links.iter().flatten());
        links.flat_map(|link| link.ranks.iter().copied()).filter(|rank| *rank != NOBODY).collect()
    }

    /// Ranks of other jobs are reached, or were a moment ago, on other hosts.
    pub fn links_hosts(&self) -> bool {
        self.hosts.as_ref().is_some_and(|hosts| hosts.links.has_sockets())
    }
}
