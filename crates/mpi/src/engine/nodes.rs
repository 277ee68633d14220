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
    /// All are on one host.
    alone: bool,
    /// How the group of all processes lies on hosts.
    all: OnceLock<Option<Arc<Hosts>>>,
}

impl Nodes {
    /// `of` tells the host of each process, by any number.
    pub fn new(of: &[u32]) -> Nodes {
        let alone = of.iter().all(|node| *node == of[0]);
        Nodes(Arc::new(Table { of: of.into(), alone, all: OnceLock::new() }))
    }

    /// Whether all processes are on one host, as far as is known.
    pub(crate) fn alone(&self) -> bool {
        self.0.alone
    }

    /// How the members of a group lie on hosts, if they are on several and some share one.
    pub(crate) fn hosts(&self, group: &Group) -> Option<Arc<Hosts>> {
        let table = &self.0;
        if group.is_run_of(table.of.len() as u32) {
            let all = || Hosts::new(table.of.iter().copied()).map(Arc::new);
            return table.all.get_or_init(all).clone();
        }
        let node = |process: Rank| table.of.get(process as usize).copied();
        let nodes: Option<Vec<u32>> = group.processes().map(node).collect();
        nodes.and_then(Hosts::new).map(Arc::new)
    }

    /// Bytes that the tables take.
    pub fn bytes(&self) -> usize {
        let hosts = self.0.all.get().and_then(|all| all.as_deref());
        size_of_val(&*self.0.of) + hosts.map_or(0, Hosts::bytes)
    }
}
