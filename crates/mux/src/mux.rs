//! [`Mux`] itself, and what it knows of the job's hosts. Each concept of a transport has a file of its own: `packets`,
//! `peer_memory`, `streams`, `segment`.

use crate::bell::Bell;
use crate::links::Links;
use crate::poll_interval::PollInterval;
use hpvm_net::Net;
use hpvm_shm::processors::{self, Processors};
use hpvm_shm::{Mapping, Shm};
use hpvm_transport::{Packets, Rank};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

/// Stands for the local rank of a rank that runs on another host.
const REMOTE: u32 = u32::MAX;

/// A rank's end of the job's network.
///
/// A rank has two numbers: its rank in the job, and its local rank, which is its number in the segment of
/// its host. In a job on one host they are the same.
pub struct Mux {
    pub(crate) shm: Shm,
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) hosts: Option<Box<Hosts>>,
}

/// What there is only in a job on several hosts, and in one that other jobs have linked to.
pub(crate) struct Hosts {
    /// The local rank of each rank of the job, or `REMOTE`.
    local_ranks: Arc<[u32]>,
    /// The rank in the job of each local rank.
    pub(crate) ranks: Box<[Rank]>,
    /// The ranks of the job on other hosts, if there are any.
    pub(crate) net: Option<Net>,
    /// Ranks of other jobs.
    pub(crate) links: Links,
    /// Polling the sockets costs a system call, so not every progress step does.
    pub(crate) poll_interval: PollInterval,
    pub(crate) bell: Arc<Bell>,
}

impl Hosts {
    pub(crate) fn is_remote(&self, rank: Rank) -> bool {
        self.local_ranks.get(rank as usize) == Some(&REMOTE)
    }
}

impl Mux {
    /// The ranks of one host are the whole job.
    pub fn single_host(shm: Shm) -> Mux {
        Mux { rank: shm.rank(), size: shm.size(), shm, hosts: None }
    }

    /// `shm` reaches the ranks of this host, whose ranks in the job `ranks` tells in the order of their
    /// local ranks; `net` reaches the others of the `size` ranks.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn several_hosts(
        mut shm: Shm,
        ranks: Vec<Rank>,
        size: u32,
        mut net: Net,
    ) -> io::Result<Mux> {
        let local = shm.rank();
        let rank = ranks[local as usize];
        let mut local_ranks = vec![REMOTE; size as usize];
        for (local, rank) in (0..).zip(&ranks) {
            local_ranks[*rank as usize] = local;
        }
        let bell = Bell::new(shm.mapping().clone(), local, &net.descriptors())?;
        net.wake_at(bell.epoll());
        shm.sleep_on(bell.pipe());
        shm.show_rank(rank);
        let hosts = Hosts {
            local_ranks: local_ranks.into(),
            ranks: ranks.into(),
            net: Some(net),
            links: Links::new(size),
            poll_interval: PollInterval::default(),
            bell: Arc::new(bell),
        };
        Ok(Mux { shm, rank, size, hosts: Some(Box::new(hosts)) })
    }

    /// From now on descriptors can be watched, and other jobs linked ([`Mux::link`]), also in a job on one host: this
    /// rank then sleeps in another way, and the doorbell is a new one. Whoever sleeps on the old one is woken.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn prepare_links(&mut self) -> io::Result<()> {
        self.linkable().map(drop)
    }

    pub(crate) fn linkable(&mut self) -> io::Result<&mut Hosts> {
        if self.hosts.is_none() {
            let bell = Bell::new(self.shm.mapping().clone(), self.rank, &[])?;
            let before = self.shm.doorbell();
            self.shm.sleep_on(bell.pipe());
            self.hosts = Some(Box::new(Hosts {
                local_ranks: (0..self.size).collect(),
                ranks: (0..self.size).collect(),
                net: None,
                links: Links::new(self.size),
                poll_interval: PollInterval::default(),
                bell: Arc::new(bell),
            }));
            before.ring();
        }
        self.hosts.as_deref_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The memory of this host's ranks.
    pub fn mapping(&self) -> &Arc<Mapping> {
        self.shm.mapping()
    }

    /// Our number in `mapping`.
    pub fn local_rank(&self) -> u32 {
        self.shm.rank()
    }

    /// See [`Shm::shares_processor`].
    pub fn shares_processor(&self) -> bool {
        self.shm.shares_processor()
    }

    /// The processors that a rank could use when the job began; `None` for one of another host.
    pub fn processors(&self, rank: Rank) -> Option<Processors> {
        let local = self.local(rank).filter(|local| *local < self.shm.size())?;
        Some(processors::shown(self.mapping().control(local)))
    }

    /// See [`Shm::oversubscribed`].
    pub fn oversubscribed(&self) -> bool {
        self.shm.oversubscribed()
    }

    /// See [`Shm::migrate`].
    pub fn migrate(&mut self) {
        self.shm.migrate();
    }

    /// See [`Shm::show_processor`].
    #[inline]
    pub fn show_processor(&self) -> u32 {
        self.shm.show_processor()
    }

    /// See [`Shm::processor`]; 0 for a rank of another host.
    #[inline]
    pub fn processor(&self, rank: Rank) -> u32 {
        self.local(rank).map_or(0, |local| self.shm.processor(local))
    }

    /// The local rank of a rank on this host.
    #[inline(always)]
    pub(crate) fn local(&self, rank: Rank) -> Option<u32> {
        let Some(hosts) = &self.hosts else { return Some(rank) };
        hosts.local_ranks.get(rank as usize).copied().filter(|local| *local != REMOTE)
    }

    /// The job goes on without that rank, which has died.
    pub fn mark_dead(&mut self, rank: Rank) {
        match (self.local(rank), &mut self.hosts) {
            (Some(local), _) => self.shm.mark_dead(local),
            (None, Some(hosts)) => hosts.net.iter_mut().for_each(|net| net.mark_dead(rank)),
            (None, None) => {}
        }
    }

    /// The local rank of each rank of the job, or `REMOTE`. `None`: they are the same.
    pub(crate) fn local_ranks(&self) -> Option<Arc<[u32]>> {
        self.hosts.as_ref().map(|hosts| hosts.local_ranks.clone())
    }

    /// Every packet that was sent to other hosts has been acknowledged.
    pub fn is_quiet(&self) -> bool {
        let links = self.hosts.as_ref().is_none_or(|hosts| hosts.links.is_quiet());
        links && self.net().is_none_or(Net::is_quiet)
    }

    /// The same of what those ranks were sent whom it `concerns`, of our job or another, whatever others have not acknowledged.
    pub fn is_quiet_with(&self, concerns: impl Fn(Rank) -> bool) -> bool {
        let links = self.hosts.as_ref().is_none_or(|hosts| hosts.links.is_quiet_with(&concerns));
        links && self.net().is_none_or(|net| net.is_quiet_with(&concerns))
    }

    /// From now on `fd` wakes this rank as well, when it becomes readable.
    ///
    /// # Errors
    /// It can't be watched.
    pub fn watch(&self, fd: RawFd) -> io::Result<()> {
        self.hosts.as_ref().map_or(Ok(()), |h| h.bell.watch(fd))
    }

    /// `fd` wakes this rank no more.
    pub fn unwatch(&self, fd: RawFd) {
        self.hosts.iter().for_each(|h| h.bell.unwatch(fd));
    }

    /// The job spans several hosts.
    pub fn spans_hosts(&self) -> bool {
        self.net().is_some()
    }

    /// The network to the job's other hosts.
    pub(crate) fn net(&self) -> Option<&Net> {
        self.hosts.as_ref()?.net.as_ref()
    }
}
