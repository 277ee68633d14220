//! What is known of the connections to the agents that were started from here.

use std::time::Duration;

/// One connection, and all hosts that are reached through it.
#[derive(Debug)]
pub struct Link {
    /// Numbers of the hosts; the first is at the other end.
    pub nodes: Vec<u32>,
    /// Neither lost nor closed in order.
    pub open: bool,
    /// Everybody behind it waits in the barrier.
    pub arrived: bool,
    /// When something came last, if ever.
    heard: Option<Duration>,
}

/// However little patience there is, a host may take so long until it is heard of first.
const START: Duration = Duration::from_secs(30);

/// All connections of one process. Pure: the time comes in.
#[derive(Debug)]
pub struct Links {
    links: Vec<Link>,
    patience: Duration,
    alive_at: Duration,
}

impl Links {
    /// Connections to these groups of hosts, begun at time zero. After `patience` without a sign
    /// of life one is taken for lost.
    pub fn new(groups: Vec<Vec<u32>>, patience: Duration) -> Self {
        let link = |nodes| Link { nodes, open: true, arrived: false, heard: None };
        let links = groups.into_iter().map(link).collect();
        Self { links, patience, alive_at: patience / 4 }
    }

    /// How many there were at first.
    pub fn count(&self) -> usize {
        self.links.len()
    }

    /// One of them.
    pub fn get(&mut self, link: usize) -> &mut Link {
        &mut self.links[link]
    }

    /// Those that are open.
    pub fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.links.len()).filter(|link| self.links[*link].open)
    }

    /// Whether any is.
    pub fn any_open(&self) -> bool {
        self.open().next().is_some()
    }

    /// Something has come.
    pub fn heard(&mut self, link: usize, now: Duration) {
        self.links[link].heard = Some(now);
    }

    /// Those that were silent for too long.
    pub fn silent(&self, now: Duration) -> Vec<usize> {
        self.open().filter(|link| now >= self.limit(*link)).collect()
    }

    /// When a connection is given up.
    fn limit(&self, link: usize) -> Duration {
        match self.links[link].heard {
            Some(heard) => heard + self.patience,
            None => self.patience.max(START),
        }
    }

    /// Whether it is time to tell the others that we live; then the next time is set.
    pub fn tell(&mut self, now: Duration) -> bool {
        let due = now >= self.alive_at;
        if due {
            self.alive_at = now + self.patience / 4;
        }
        due
    }

    /// When [`Links::tell`] is due.
    pub fn next_telling(&self) -> Duration {
        self.alive_at
    }

    /// When one of the two above is due, if there is anybody.
    pub fn next_due(&self) -> Option<Duration> {
        let silent = self.open().map(|link| self.limit(link)).min()?;
        Some(silent.min(self.alive_at))
    }

    /// Whether a host is behind a connection.
    pub fn leads_to(&self, link: usize, node: u32) -> bool {
        self.links[link].nodes.contains(&node)
    }

    /// The open connection behind which a host is.
    pub fn toward(&self, node: u32) -> Option<usize> {
        self.open().find(|link| self.leads_to(*link, node))
    }

    /// Everybody may arrive again.
    pub fn barrier_opened(&mut self) {
        self.links.iter_mut().for_each(|link| link.arrived = false);
    }

    /// For messages: `60 s`.
    pub fn patience(&self) -> Duration {
        self.patience
    }
}
