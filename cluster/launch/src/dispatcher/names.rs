//! Names that ranks publish and look for: held on all hosts of the job for other jobs of the user, and looked for on all of
//! them where no rank of this job has published them. A publication is answered when all hosts hold the name, and its end
//! when none does: who is told of either by other ways finds it so.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, Dispatcher};
use crate::pmi::server::Server;
use crate::remote::frame::Frame;

/// What ranks wait for an answer to from the job's hosts.
#[derive(Debug, Default)]
pub(super) struct Questions {
    next: u32,
    running: BTreeMap<u32, Question>,
}

#[derive(Debug)]
struct Question {
    rank: u32,
    service: String,
    what: What,
    /// The hosts that have not answered; none: ours is asked first.
    hosts: Option<BTreeSet<u32>>,
}

/// What the rank does with the name.
#[derive(Debug, PartialEq, Eq)]
enum What {
    /// What that is answered with.
    Publish(String),
    Unpublish,
    Lookup,
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

    fn open_question(&mut self, question: Question) -> u32 {
        let number = self.questions.next;
        self.questions.next = number.wrapping_add(1);
        self.questions.running.insert(number, question);
        number
    }

    /// The hosts that can be asked.
    fn hosts_below(&mut self) -> BTreeSet<u32> {
        let open: Vec<usize> = self.links.open().collect();
        open.into_iter().flat_map(|link| self.links.get(link).nodes.clone()).collect()
    }

    /// A name that a rank publishes is held on this host, or stands for something else here: then it is on the others.
    pub(super) fn held(&mut self, rank: u32, service: String, port: String, held: bool) {
        let (text, published) = self.pmi.published(rank, &service, &port, held);
        if !published {
            return self.reply(rank, text);
        }
        let hosts = Some(self.hosts_below());
        let asked = Question { rank, service: service.clone(), what: What::Publish(text), hosts };
        let question = self.open_question(asked);
        self.down(None, Frame::Hold { question, service, port });
        self.check_question(question);
    }

    /// Host `node` holds the name that a rank publishes, or it stands for something else there.
    pub(super) fn held_on(&mut self, question: u32, node: u32, held: bool) {
        let publishes = |q: &&mut Question| matches!(q.what, What::Publish(_));
        let asked = self.questions.running.get_mut(&question).filter(publishes);
        let Some(asked) = asked else { return };
        if !held {
            let (rank, service) = (asked.rank, asked.service.clone());
            self.questions.running.remove(&question);
            let text = self.pmi.take_back(&service);
            self.release(vec![service]);
            return self.reply(rank, text);
        }
        if let Some(hosts) = &mut asked.hosts {
            hosts.remove(&node);
        }
        self.check_question(question);
    }

    /// Names are published no longer.
    pub(super) fn release(&mut self, services: Vec<String>) {
        if !services.is_empty() {
            self.down(None, Frame::Release(services.clone()));
            self.actions.push_back(Action::Release(services));
        }
    }

    /// A rank takes a name back. Agents do what they are told in order: one that has looked for the name has released it before.
    pub(super) fn unpublish(&mut self, rank: u32, service: String) {
        self.release(vec![service.clone()]);
        let hosts = Some(self.hosts_below());
        let asked = Question { rank, service: service.clone(), what: What::Unpublish, hosts };
        let question = self.open_question(asked);
        self.down(None, Frame::Find { question, service });
        self.check_question(question);
    }

    /// A rank looks for a name that no rank has published.
    pub(super) fn find(&mut self, rank: u32, service: String) {
        let asked = Question { rank, service: service.clone(), what: What::Lookup, hosts: None };
        let question = self.open_question(asked);
        self.actions.push_back(Action::Find { question, service });
    }

    /// What the name stands for on our host, or on host `node`.
    pub(super) fn found(&mut self, question: u32, node: Option<u32>, port: Option<String>) {
        // Ours has answered: the others are asked next.
        let below = node.is_none().then(|| self.hosts_below());
        let finds = |q: &&mut Question| !matches!(q.what, What::Publish(_));
        let asked = self.questions.running.get_mut(&question).filter(finds);
        let Some(asked) = asked else { return };
        match (&mut asked.hosts, node) {
            _ if port.is_some() && asked.what == What::Lookup => {
                return self.answer(question, port.as_deref());
            }
            (Some(hosts), Some(node)) => {
                hosts.remove(&node);
            }
            (hosts @ None, None) => {
                *hosts = below;
                let service = asked.service.clone();
                self.down(None, Frame::Find { question, service });
            }
            // An agent that was not asked.
            (None, Some(_)) | (Some(_), None) => {}
        }
        self.check_question(question);
    }

    /// These hosts answer no more.
    pub(super) fn ask_without(&mut self, nodes: &[u32]) {
        for question in self.questions.running.keys().copied().collect::<Vec<_>>() {
            let asked = self.questions.running.get_mut(&question);
            if let Some(hosts) = asked.and_then(|asked| asked.hosts.as_mut()) {
                hosts.retain(|host| !nodes.contains(host));
            }
            self.check_question(question);
        }
    }

    fn check_question(&mut self, question: u32) {
        let asked = self.questions.running.get(&question);
        if asked.is_some_and(|asked| asked.hosts.as_ref().is_some_and(BTreeSet::is_empty)) {
            self.answer(question, None);
        }
    }

    /// All hosts have answered, or one has found the name.
    fn answer(&mut self, question: u32, port: Option<&str>) {
        if let Some(asked) = self.questions.running.remove(&question) {
            let text = match asked.what {
                What::Publish(text) => text,
                What::Unpublish => Server::unpublished(),
                What::Lookup => Server::found(port),
            };
            self.reply(asked.rank, text);
        }
    }
}
