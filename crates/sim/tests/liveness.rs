//! Days of virtual time in which processes compute for hours, roads are cut for less than the
//! limit, and hosts and processes die: the living are never given up, the dead always are.
//!
//! The protocol and the decision are the real ones. Virtual are the roads, the kernels (which
//! answer questions while their host lives) and the clock, which jumps from event to event.

use hpvm_reliable::liveness::{Answer, Cause, Liveness, Loss, Owed, Waits};
use hpvm_reliable::{Config, Head, Hub, Sent};
use std::collections::VecDeque;

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
const LIMIT: u64 = 60 * SECOND;
/// Processes, two to a host.
const SIZE: u32 = 8;
/// Steps of the clock: as long as a rank sleeps between two looks.
const STEP: u64 = SECOND / 4;
/// Longer than a loss takes after the limit: the last questions.
const SLACK: u64 = 20 * SECOND;

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

struct World {
    now: u64,
    dice: fastrand::Rng,
    processes: Vec<Process>,
    /// Until when the road between two hosts is cut.
    cuts: Vec<(u32, u32, u64)>,
    /// Hosts without power.
    dark: Vec<u32>,
    losses: Vec<(u64, u32, Loss)>,
}

fn host(rank: u32) -> u32 {
    rank / 2
}

impl World {
    fn new(seed: u64) -> World {
        // So few timers that a day takes a moment; the decision does not depend on them.
        let config = Config { most_timeout: 5 * SECOND, ..Config::default() };
        let process = |_| Process {
            hub: Hub::new(config, SIZE).expect("sound settings"),
            liveness: Liveness::new(LIMIT),
            socket: VecDeque::new(),
            computes_until: 0,
            alive: true,
            came: 0,
        };
        World {
            now: 1000 * SECOND,
            dice: fastrand::Rng::with_seed(seed),
            processes: (0..SIZE).map(process).collect(),
            cuts: Vec::new(),
            dark: Vec::new(),
            losses: Vec::new(),
        }
    }

    fn passes(&self, a: u32, b: u32) -> bool {
        let (a, b) = (host(a), host(b));
        let cut = |(x, y, until): &(u32, u32, u64)| {
            self.now < *until && ((*x, *y) == (a, b) || (*x, *y) == (b, a))
        };
        !self.dark.contains(&a) && !self.dark.contains(&b) && !self.cuts.iter().any(cut)
    }

    /// Lets one step pass: everybody who does not compute does what a rank does that waits.
    fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        self.cuts.retain(|(_, _, until)| now < *until);
        for rank in 0..SIZE {
            let process = &self.processes[rank as usize];
            if process.alive && now >= process.computes_until {
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
                if socket.len() < 1000 {
                    socket.push_back((rank, bytes));
                }
            }
        }
    }

    fn look(&mut self, rank: u32) {
        let now = self.now;
        let process = &self.processes[rank as usize];
        let mut heard = [0; (SIZE / 2) as usize];
        process.hub.each_heard(|peer, at| {
            let latest = &mut heard[host(peer) as usize];
            *latest = at.max(*latest);
        });
        let mut owed = Vec::new();
        let doubt = process.liveness.limits().doubt;
        process.hub.silent(now, doubt, |peer, pending| {
            let (since, host_heard) = (pending.since, heard[host(peer) as usize]);
            let (waits, host) = (Waits::Datagrams, host(peer));
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
            if !self.passes(rank, peer) || self.dice.u8(0..10) == 0 {
                continue;
            }
            let alive = self.processes[peer as usize].alive;
            let port = if alive { Answer::Process(peer) } else { Answer::Refused(peer) };
            let liveness = &mut self.processes[rank as usize].liveness;
            // Strangers fill the queue of the port half of the time: then it says nothing.
            if self.dice.bool() || !alive {
                liveness.answer(now, host(peer), port);
            }
            if about_host {
                liveness.answer(now, host(peer), Answer::Host(host(peer)));
            }
        }
    }

    fn send(&mut self, src: u32, dst: u32) {
        let now = self.now;
        let hub = &mut self.processes[src as usize].hub;
        if hub.grant(dst) > 0 {
            let _ = hub.push(now, dst, Head::single(0, 0), 8, |to| to.fill(1));
        }
    }

    /// For so long processes send now and then, compute for up to two hours, and roads are cut for
    /// less than the limit.
    fn live(&mut self, time: u64) {
        let end = self.now + time;
        while self.now < end && self.losses.is_empty() {
            self.step();
            if self.dice.u16(0..200) == 0 {
                let (src, dst) = (self.dice.u32(0..SIZE), self.dice.u32(0..SIZE));
                if self.processes[src as usize].alive && host(src) != host(dst) {
                    self.send(src, dst);
                }
            }
            if self.dice.u16(0..1000) == 0 {
                let rank = self.dice.usize(0..SIZE as usize);
                let until = self.now + self.dice.u64(0..2 * HOUR);
                self.processes[rank].computes_until = until;
            }
            if self.dice.u16(0..1000) == 0 && self.cuts.is_empty() {
                let (a, b) = (self.dice.u32(0..SIZE / 2), self.dice.u32(0..SIZE / 2));
                // From the last sign of life before it to the first after it passes more.
                self.cuts.push((a, b, self.now + self.dice.u64(0..LIMIT / 2)));
            }
        }
    }
}

#[test]
fn days_of_computing_and_short_cuts_end_nothing() {
    for seed in 0..3 {
        let mut world = World::new(seed);
        world.live(48 * HOUR);
        assert_eq!(world.losses, [], "seed {seed}");
        let came: u64 = world.processes.iter().map(|p| p.came).sum();
        assert!(came > 500, "seed {seed}: {came} packets came");
    }
}

/// A world in which rank 0 waits for rank 7, which computes.
fn waiting(seed: u64) -> World {
    let mut world = World::new(seed);
    world.processes[7].computes_until = u64::MAX;
    world.send(0, 7);
    for _ in 0..10 * LIMIT / STEP {
        world.step();
    }
    assert_eq!(world.losses, []);
    world
}

/// When somebody is given up, and what was seen, if that happens within the limit and a little.
fn first_loss(world: &mut World) -> Option<(u64, Loss)> {
    let start = world.now;
    while world.losses.is_empty() && world.now < start + LIMIT + SLACK {
        world.step();
    }
    world.losses.first().map(|(at, _, loss)| (at - start, *loss))
}

#[test]
fn a_host_that_loses_power_while_it_computes_is_given_up_after_the_limit() {
    for seed in 0..20 {
        let mut world = waiting(seed);
        world.dark.push(host(7));
        let (after, loss) = first_loss(&mut world).expect("a loss");
        assert!(matches!(loss.cause, Cause::HostSilent { .. }) && loss.peer == 7, "{loss:?}");
        assert!(after >= LIMIT - SLACK, "seed {seed}: after {after} ns");
    }
}

#[test]
fn a_process_that_dies_on_a_host_that_lives_is_given_up_after_the_limit() {
    for seed in 0..20 {
        let mut world = waiting(seed);
        world.processes[7].alive = false;
        let (after, loss) = first_loss(&mut world).expect("a loss");
        assert!(matches!(loss.cause, Cause::ProcessGone { .. }) && loss.peer == 7, "{loss:?}");
        assert!(after >= LIMIT, "seed {seed}: after {after} ns");
    }
}
