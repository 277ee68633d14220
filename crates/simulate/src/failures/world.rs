//! Hosts, processes and roads that fail, in virtual time: the reliability protocol and the decision who is lost are
//! the real ones.
//!
//! Virtual are the roads, the kernels (which answer questions while their host lives) and the clock.

use hpvm_reliable::liveness::{Answer, Liveness, Loss, Owed, Waits};
use hpvm_reliable::{Config, Head, Hub, Sent};
use std::collections::VecDeque;

/// Times are nanoseconds here, as in `hpvm-reliable`.
pub const SECOND: u64 = 1_000_000_000;
/// Silence after which a peer is given up.
pub const SILENCE_LIMIT: u64 = 60 * SECOND;
/// Longer than a loss takes after the limit: the last questions.
pub const SLACK: u64 = 20 * SECOND;
/// Datagrams that the socket of a process holds which computes.
const SOCKET: usize = 1000;

struct Process {
    hub: Hub,
    liveness: Liveness,
    socket: VecDeque<(u32, Vec<u8>)>,
    /// It computes, and calls nothing, until then.
    computes_until: u64,
    alive: bool,
    /// Packets that came.
    came: u64,
}

/// A job on hosts with as many processes each.
pub struct World {
    pub now: u64,
    pub dice: fastrand::Rng,
    /// Of the clock: as long as a rank sleeps between two looks, or up to four times that.
    step: u64,
    per_host: u32,
    processes: Vec<Process>,
    /// Until when the road between two hosts is cut.
    cuts: Vec<(u32, u32, u64)>,
    /// Hosts without power.
    dark: Vec<u32>,
    /// Who was given up: when, by whom.
    pub losses: Vec<(u64, u32, Loss)>,
}

impl World {
    /// Err: the protocol's settings contradict each other.
    pub fn new(
        seed: u64,
        (hosts, per_host): (u32, u32),
        (now, step): (u64, u64),
    ) -> Result<World, String> {
        // So few timers that a day takes a moment; the decision does not depend on them.
        let config = Config { most_timeout: 5 * SECOND, ..Config::default() };
        let size = hosts * per_host;
        let process = |_| {
            Ok::<_, String>(Process {
                hub: Hub::new(config, size)?,
                liveness: Liveness::new(SILENCE_LIMIT),
                socket: VecDeque::new(),
                computes_until: 0,
                alive: true,
                came: 0,
            })
        };
        Ok(World {
            now,
            dice: fastrand::Rng::with_seed(seed),
            step,
            per_host,
            processes: (0..size).map(process).collect::<Result<_, _>>()?,
            cuts: Vec::new(),
            dark: Vec::new(),
            losses: Vec::new(),
        })
    }

    pub fn size(&self) -> u32 {
        self.processes.len() as u32
    }

    pub fn host(&self, rank: u32) -> u32 {
        rank / self.per_host
    }

    pub fn hosts(&self) -> u32 {
        self.size() / self.per_host
    }

    /// Whether a process is there and its host has power.
    pub fn lives(&self, rank: u32) -> bool {
        self.processes[rank as usize].alive && !self.dark.contains(&self.host(rank))
    }

    pub fn computes(&self, rank: u32) -> bool {
        self.now < self.processes[rank as usize].computes_until
    }

    /// Packets that came, at all processes.
    pub fn came(&self) -> u64 {
        self.processes.iter().map(|p| p.came).sum()
    }

    pub fn compute(&mut self, rank: u32, until: u64) {
        self.processes[rank as usize].computes_until = until;
    }

    pub fn cut(&mut self, a: u32, b: u32, until: u64) {
        self.cuts.push((a, b, until));
    }

    pub fn is_cut(&self) -> bool {
        !self.cuts.is_empty()
    }

    pub fn darken(&mut self, host: u32) {
        self.dark.push(host);
    }

    pub fn kill(&mut self, rank: u32) {
        self.processes[rank as usize].alive = false;
    }

    /// Nobody owes anybody anything, and nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.processes.iter().all(|p| p.socket.is_empty() && p.hub.all_acknowledged())
    }

    fn passes(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.host(a), self.host(b));
        let cut = |(x, y, until): &(u32, u32, u64)| {
            self.now < *until && ((*x, *y) == (a, b) || (*x, *y) == (b, a))
        };
        !self.dark.contains(&a) && !self.dark.contains(&b) && !self.cuts.iter().any(cut)
    }

    /// Lets one step pass: everybody who does not compute does what a rank does that waits.
    pub fn step(&mut self) {
        self.now += self.step;
        let now = self.now;
        self.cuts.retain(|(_, _, until)| now < *until);
        for rank in 0..self.size() {
            if self.lives(rank) && !self.computes(rank) {
                self.poll(rank);
                self.look(rank);
            }
        }
    }

    fn poll(&mut self, rank: u32) {
        let now = self.now;
        let process = &mut self.processes[rank as usize];
        while let Some((src, bytes)) = process.socket.pop_front() {
            let came = &mut process.came;
            let _ = process.hub.on_datagram(now, src, &bytes, &mut |_, _| *came += 1);
        }
        process.hub.flush_acks(now);
        let mut out = Vec::new();
        process.hub.transmit(now, &mut |dst, bytes| {
            out.push((dst, bytes.to_vec()));
            Sent::Taken
        });
        for (dst, bytes) in out {
            // A tenth is lost anyway. A process that computes for long has a full socket.
            if self.passes(rank, dst) && self.dice.u8(0..10) > 0 {
                let socket = &mut self.processes[dst as usize].socket;
                if socket.len() < SOCKET {
                    socket.push_back((rank, bytes));
                }
            }
        }
    }

    fn look(&mut self, rank: u32) {
        let (now, per_host) = (self.now, self.per_host);
        let process = &self.processes[rank as usize];
        let mut heard = vec![0; self.hosts() as usize];
        process.hub.each_heard(|peer, at| {
            let latest: &mut u64 = &mut heard[(peer / per_host) as usize];
            *latest = at.max(*latest);
        });
        let mut owed = Vec::new();
        let doubt = process.liveness.limits().doubt;
        process.hub.silent(now, doubt, |peer, pending| {
            let host = peer / per_host;
            let (since, host_heard) = (pending.since, heard[host as usize]);
            let waits = Waits::Datagrams;
            owed.push(Owed { peer, host, waits, since, heard: pending.heard, host_heard });
        });
        let mut asked = Vec::new();
        let loss = self.processes[rank as usize].liveness.look(now, &owed, |owed, about_host| {
            asked.push((owed.peer, about_host));
            true
        });
        if let Some(loss) = loss {
            self.losses.push((now, rank, loss));
        }
        for (peer, about_host) in asked {
            // The kernel answers whatever its processes do; some answers are lost.
            if self.passes(rank, peer) && self.dice.u8(0..10) > 0 {
                self.answer(rank, peer, about_host);
            }
        }
    }

    fn answer(&mut self, rank: u32, peer: u32, about_host: bool) {
        let (now, host) = (self.now, self.host(peer));
        let alive = self.processes[peer as usize].alive;
        let port = if alive { Answer::Process(peer) } else { Answer::Refused(peer) };
        // Strangers fill the queue of the port half of the time: then it says nothing.
        let says = self.dice.bool() || !alive;
        let liveness = &mut self.processes[rank as usize].liveness;
        if says {
            liveness.answer(now, host, port);
        }
        if about_host {
            liveness.answer(now, host, Answer::Host(host));
        }
    }

    pub fn send(&mut self, src: u32, dst: u32) {
        let now = self.now;
        let hub = &mut self.processes[src as usize].hub;
        if hub.grant(dst) > 0 {
            let _ = hub.push(now, dst, Head::single(0, 0), 8, |to| to.fill(1));
        }
    }
}
