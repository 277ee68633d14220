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
    /// When something came last, if ever, by the attended clock.
    heard: Option<Duration>,
}

/// However little patience there is, a host may take so long until it is heard of first.
const START: Duration = Duration::from_secs(30);

/// A clock that stands still while this process itself does: stopped by a signal, say. What came
/// meanwhile is unread, so the time is nobody else's silence.
#[derive(Debug)]
pub struct AttendedClock {
    /// When it was read last.
    read: Duration,
    /// Time in which it stood still.
    missed: Duration,
    /// Longest time between two readings of a process that runs.
    longest: Duration,
}

impl AttendedClock {
    /// For a process that reads it every `longest` at least.
    pub fn new(longest: Duration) -> Self {
        Self { read: Duration::ZERO, missed: Duration::ZERO, longest }
    }

    /// The time by this clock at the time `now`.
    pub fn at(&mut self, now: Duration) -> Duration {
        let gap = now.saturating_sub(self.read);
        if gap > self.longest {
            self.missed += gap;
        }
        self.read = self.read.max(now);
        now.saturating_sub(self.missed)
    }

    /// When it shows `time`, if it goes on.
    pub fn real(&self, time: Duration) -> Duration {
        time.saturating_add(self.missed)
    }
}

/// All connections of one process. Pure: the time comes in.
#[derive(Debug)]
pub struct Links {
    links: Vec<Link>,
    patience: Duration,
    alive_at: Duration,
    pub clock: AttendedClock,
}

impl Links {
    /// Connections to these groups of hosts, begun at time zero. After `patience` without a sign
    /// of life one is taken for lost.
    pub fn new(groups: Vec<Vec<u32>>, patience: Duration) -> Self {
        let link = |nodes| Link { nodes, open: true, arrived: false, heard: None };
        let links = groups.into_iter().map(link).collect();
        // Something is told every quarter of the patience.
        let clock = AttendedClock::new(patience / 2);
        Self { links, patience, alive_at: patience / 4, clock }
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
        self.links[link].heard = Some(self.clock.at(now));
    }

    /// Those that were silent for too long. To be asked every quarter of the patience at least.
    pub fn silent(&mut self, now: Duration) -> Vec<usize> {
        let now = self.clock.at(now);
        self.open().filter(|link| now >= self.limit(*link)).collect()
    }

    /// When a connection is given up, by the attended clock.
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
        Some(self.clock.real(silent).min(self.alive_at))
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

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(8);

    fn links() -> Links {
        let mut links = Links::new(vec![vec![1], vec![2]], LIMIT);
        links.heard(0, Duration::from_secs(1));
        links.heard(1, Duration::from_secs(1));
        links
    }

    #[test]
    fn who_is_silent_for_the_limit_is_told() {
        let mut links = links();
        for second in 2..9 {
            links.heard(1, Duration::from_secs(second));
            assert_eq!(links.silent(Duration::from_secs(second)), [0; 0], "{second}");
        }
        assert_eq!(links.silent(Duration::from_secs(9)), [0]);
    }

    #[test]
    fn a_gap_in_our_own_time_is_nobodys_silence() {
        let mut links = links();
        assert_eq!(links.silent(Duration::from_secs(2)), [0; 0]);
        // Stopped for many times the limit.
        assert_eq!(links.silent(Duration::from_secs(500)), [0; 0]);
        links.heard(1, Duration::from_secs(500));
        assert!(links.tell(Duration::from_secs(500)));
        for second in 501..507 {
            assert_eq!(links.silent(Duration::from_secs(second)), [0; 0], "{second}");
            assert!(links.next_due().is_some_and(|due| due > Duration::from_secs(400)));
        }
        // What is silent after that is silent.
        assert_eq!(links.silent(Duration::from_secs(507)), [0]);
    }
}
