//! Which process is on which host.

use crate::comm::group::Group;
use hpvm_coll::hosts::Hosts;
use hpvm_fm::Rank;
use std::sync::{Arc, OnceLock};

/// The host of each process of the job. Clones share one table, and communicators of all processes share what follows
/// from it: the memory grows with the number of processes, once.
#[derive(Clone, Debug, Default)]
pub struct Nodes(Arc<Table>);

#[derive(Debug, Default)]
struct Table {
    of: Box<[u32]>,
    /// The site of each process, in a job of several sites.
    sites: Box<[u16]>,
    /// All are on one host.
    alone: bool,
    /// How the group of all processes lies on hosts.
    all: OnceLock<Option<Arc<Hosts>>>,
}

impl Nodes {
    /// `of` tells the host of each process, by any number.
    pub fn new(of: &[u32]) -> Nodes {
        Nodes::at_sites(of, &[])
    }

    /// The same in a job of several sites: `sites` tells the site of each process, by any number.
    pub fn at_sites(of: &[u32], sites: &[u16]) -> Nodes {
        let alone = of.iter().all(|node| *node == of[0]);
        let sites = if sites.len() == of.len() { sites.into() } else { Box::default() };
        Nodes(Arc::new(Table { of: of.into(), sites, alone, all: OnceLock::new() }))
    }

    /// Whether all processes are on one host, as far as is known.
    pub(crate) fn alone(&self) -> bool {
        self.0.alone
    }

    /// How the members of a group lie on hosts, if they are on several and some share one, or if they are at several
    /// sites.
    pub(crate) fn hosts(&self, group: &Group) -> Option<Arc<Hosts>> {
        let table = &self.0;
        if group.is_run_of(table.of.len() as u32) {
            let all = || table.hosts(0..table.of.len() as u32);
            return table.all.get_or_init(all).clone();
        }
        table.hosts(group.processes())
    }

    /// The site of a process, in a job of several sites.
    pub(crate) fn site(&self, process: Rank) -> Option<u16> {
        self.0.sites.get(process as usize).copied()
    }

    /// Bytes that the tables take.
    pub fn bytes(&self) -> usize {
        let hosts = self.0.all.get().and_then(|all| all.as_deref());
        size_of_val(&*self.0.of) + size_of_val(&*self.0.sites) + hosts.map_or(0, Hosts::bytes)
    }
}

impl Table {
    fn hosts(&self, processes: impl Iterator<Item = Rank>) -> Option<Arc<Hosts>> {
        let node = |process: Rank| self.of.get(process as usize).copied();
        if self.sites.is_empty() {
            let nodes: Option<Vec<u32>> = processes.map(node).collect();
            return nodes.and_then(Hosts::new).map(Arc::new);
        }
        let place = |process: Rank| {
            let site = self.sites.get(process as usize).copied()?;
            Some((node(process)?, u32::from(site)))
        };
        let places: Option<Vec<(u32, u32)>> = processes.map(place).collect();
        places.and_then(Hosts::at_sites).map(Arc::new)
    }
}
