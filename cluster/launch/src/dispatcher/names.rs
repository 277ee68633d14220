//! Names that ranks publish and look for: held on all hosts of the job for other jobs of the user, and looked for on all of
//! them where no rank of this job has published them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, Dispatcher};
use crate::pmi::server::Server;
use crate::remote::frame::Frame;

/// The names that ranks wait for.
#[derive(Debug, Default)]
pub(super) struct Searches {
    next: u32,
    running: BTreeMap<u32, Search>,
}

#[derive(Debug)]
struct Search {
    rank: u32,
    service: String,
    /// The hosts that have not answered; none: ours is asked first.
    hosts: Option<BTreeSet<u32>>,
}

impl Dispatcher {
    /// Answers a rank, wherever it runs.
    pub(super) fn reply(&mut self, rank: u32, text: String) {
        let node = self.ranks[rank as usize].node;
        match (0..self.links.count()).find(|link| self.links.leads_to(*link, node)) {
            Some(link) if self.links.get(link).open => {
                self.down(Some(link), Frame::Reply { rank, text });
            }
            Some(_) => {}
            None => self.actions.push_back(Action::Reply { rank, text }),
        }
    }

    /// A name that a rank publishes is held on this host, or stands for something else here.
    pub(super) fn held(&mut self, rank: u32, service: String, port: String, held: bool) {
        let (text, published) = self.pmi.published(rank, &service, &port, held);
        if published {
            self.down(None, Frame::Hold { service, port });
        }
        self.reply(rank, text);
    }

    /// Names are published no longer.
    pub(super) fn release(&mut self, services: Vec<String>) {
        if !services.is_empty() {
            self.down(None, Frame::Release(services.clone()));
            self.actions.push_back(Action::Release(services));
        }
    }

    /// A rank looks for a name that no rank has published.
    pub(super) fn find(&mut self, rank: u32, service: String) {
        let search = self.searches.next;
        self.searches.next = search.wrapping_add(1);
        self.actions.push_back(Action::Find { search, service: service.clone() });
        self.searches.running.insert(search, Search { rank, service, hosts: None });
    }

    /// What the name stands for on our host, or on host `node`.
    pub(super) fn found(&mut self, search: u32, node: Option<u32>, port: Option<String>) {
        let Some(running) = self.searches.running.get_mut(&search) else { return };
        match (&mut running.hosts, node) {
            _ if port.is_some() => return self.end_search(search, port.as_deref()),
            (Some(hosts), Some(node)) => {
                hosts.remove(&node);
            }
            (hosts @ None, None) => {
                let open: Vec<usize> = self.links.open().collect();
                let all = open.into_iter().flat_map(|link| self.links.get(link).nodes.clone());
                *hosts = Some(all.collect());
                let service = running.service.clone();
                self.down(None, Frame::Find { search, service });
            }
            // An agent that was not asked.
            (None, Some(_)) | (Some(_), None) => {}
        }
        self.check_search(search);
    }

    /// These hosts answer no more.
    pub(super) fn search_without(&mut self, nodes: &[u32]) {
        for search in self.searches.running.keys().copied().collect::<Vec<_>>() {
            let running = self.searches.running.get_mut(&search);
            if let Some(hosts) = running.and_then(|running| running.hosts.as_mut()) {
                hosts.retain(|host| !nodes.contains(host));
            }
            self.check_search(search);
        }
    }

    fn check_search(&mut self, search: u32) {
        let running = self.searches.running.get(&search);
        if running.is_some_and(|running| running.hosts.as_ref().is_some_and(BTreeSet::is_empty)) {
            self.end_search(search, None);
        }
    }

    fn end_search(&mut self, search: u32, port: Option<&str>) {
        if let Some(ended) = self.searches.running.remove(&search) {
            self.reply(ended.rank, Server::found(port));
        }
    }
}
