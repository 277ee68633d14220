//! Random programs, and what they mean.

use proptest::prelude::*;

/// Bytes of memory that every process has; blocks lie in it, and may overlap.
pub const MEMORY: usize = 256;

/// Where blocks may begin.
pub const BASES: [usize; 4] = [0, 64, 96, 192];

/// Bytes of every block.
pub const BLOCK: usize = 64;

/// What one process does in a superstep; numbers are taken modulo what there is.
#[derive(Clone, Debug)]
pub enum Call {
    /// To process, block, offset, length; the data comes from an own address.
    Put { to: usize, base: usize, offset: usize, len: usize, from: usize },
    /// From process, block, offset, length, to an own address.
    Get { from: usize, base: usize, offset: usize, len: usize, into: usize },
    /// To process, length, first byte.
    Send { to: usize, len: usize, byte: u8 },
    /// Writes to own memory, at once.
    Write { at: usize, byte: u8 },
}

/// A superstep: what all processes do together, and what each does.
#[derive(Clone, Debug)]
pub struct Step {
    /// Blocks to push; process `p` pushes `BASES[(base + p * shift) % 4]`.
    pub pushes: Vec<(usize, usize)>,
    /// Which of the live registrations to pop, in the order of their pushes.
    pub pops: Vec<usize>,
    pub tag: Option<usize>,
    /// Process (modulo their number), and call.
    pub calls: Vec<(usize, Call)>,
    /// Messages that every process takes out of its queue: moved, or by address.
    pub takes: usize,
}

fn call() -> impl Strategy<Value = Call> {
    let number = || 0usize..1000;
    prop_oneof![
        4 => (number(), number(), number(), 0usize..BLOCK, number()).prop_map(
            |(to, base, offset, len, from)| Call::Put { to, base, offset, len, from }),
        4 => (number(), number(), number(), 0usize..BLOCK, number()).prop_map(
            |(from, base, offset, len, into)| Call::Get { from, base, offset, len, into }),
        3 => (number(), 0usize..50, any::<u8>()).prop_map(|(to, len, byte)| Call::Send { to, len, byte }),
        2 => (number(), any::<u8>()).prop_map(|(at, byte)| Call::Write { at, byte }),
    ]
}

/// Puts or gets of one length by one process, mostly in a row: before some of them the offset, or the own address, leaps.
fn row() -> impl Strategy<Value = Vec<(usize, Call)>> {
    let number = || 0usize..1000;
    let leap = prop_oneof![12 => Just((0, 0)), 1 => (0usize..9, 0usize..9)];
    let numbers = (0usize..8, number(), number(), number(), number());
    let shape = (prop_oneof![Just(1usize), Just(4), Just(8), Just(3)], any::<bool>());
    (numbers, shape, prop::collection::vec(leap, 1..50)).prop_map(
        |((caller, other, base, mut offset, mut own), (len, puts), leaps)| {
            let call = |(offset_leap, own_leap)| {
                offset += len + offset_leap;
                own += len + own_leap;
                let call = match puts {
                    true => Call::Put { to: other, base, offset, len, from: own },
                    false => Call::Get { from: other, base, offset, len, into: own },
                };
                (caller, call)
            };
            leaps.into_iter().map(call).collect()
        },
    )
}

pub fn program() -> impl Strategy<Value = Vec<Step>> {
    let single = (0usize..8, call()).prop_map(|call| vec![call]);
    let calls = prop::collection::vec(prop_oneof![6 => single, 1 => row()], 0..24);
    let calls = calls.prop_map(|calls| calls.concat());
    let step = (
        prop::collection::vec((0usize..4, 0usize..4), 0..3),
        prop::collection::vec(0usize..1000, 0..2),
        prop::option::of(0usize..20),
        calls,
        0usize..12,
    );
    let step =
        step.prop_map(|(pushes, pops, tag, calls, takes)| Step { pushes, pops, tag, calls, takes });
    prop::collection::vec(step, 1..8)
}

/// Tag and payload.
pub type Message = (Vec<u8>, Vec<u8>);

/// What can be seen of one process at the end of a superstep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub memory: Vec<u8>,
    /// What `bsp_qsize` says.
    pub queue: (usize, usize),
    /// Tags and payloads of the messages that were taken.
    pub taken: Vec<Message>,
}

/// A registration: where the block of each process is.
#[derive(Clone, Debug)]
pub struct Registered {
    pub bases: Vec<usize>,
}

/// The registrations of a program, which the processes know as well: all do the same.
#[derive(Clone, Default)]
pub struct Registrations {
    pub live: Vec<Registered>,
}

impl Registrations {
    pub fn pushed(step: &Step, processes: usize) -> Vec<Registered> {
        let bases = |(base, shift): &(usize, usize)| {
            (0..processes).map(|p| BASES[(base + p * shift) % BASES.len()]).collect()
        };
        step.pushes.iter().map(|push| Registered { bases: bases(push) }).collect()
    }

    /// The registration that process `p` means by its block at `base`: the last one.
    pub fn meant(&self, p: usize, base: usize) -> Option<&Registered> {
        self.live.iter().rev().find(|registered| registered.bases[p] == base)
    }

    /// Blocks that all processes can pop now, for their last registrations; `pending` are this superstep's.
    pub fn poppable(&self, pending: &[Registered], processes: usize) -> Vec<usize> {
        let all: Vec<&Registered> = self.live.iter().chain(pending).collect();
        let last = |i: &usize| {
            (0..processes)
                .all(|p| !all[i + 1..].iter().any(|later| later.bases[p] == all[*i].bases[p]))
        };
        (0..all.len()).filter(last).collect()
    }

    /// Makes pushes and pops valid; returns what was popped, in order.
    pub fn advance(&mut self, step: &Step, processes: usize) -> Vec<Registered> {
        let pushed = Self::pushed(step, processes);
        let mut popped = Vec::new();
        let mut rest = self.clone();
        rest.live.extend(pushed);
        for pop in &step.pops {
            let can = rest.poppable(&[], processes);
            if !can.is_empty() {
                popped.push(rest.live.remove(can[pop % can.len()]));
            }
        }
        *self = rest;
        popped
    }
}

/// The meaning of a program: one process after the other, everything copied.
pub struct Model {
    processes: usize,
    memory: Vec<Vec<u8>>,
    registrations: Registrations,
    tag: usize,
    next_tag: usize,
}

impl Model {
    pub fn new(processes: usize) -> Model {
        let memory = (0..processes).map(initial).collect();
        Model { processes, memory, registrations: Registrations::default(), tag: 0, next_tag: 0 }
    }

    /// What each process sees at the end of each superstep.
    pub fn run(mut self, steps: &[Step]) -> Vec<Vec<Seen>> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &Step) -> Vec<Seen> {
        let (mut puts, mut gets, mut sends) = (Vec::new(), Vec::new(), Vec::new());
        for (n, (process, call)) in step.calls.iter().enumerate() {
            let p = process % self.processes;
            match call {
                Call::Write { at, byte } => self.memory[p][at % MEMORY] = *byte,
                Call::Send { to, len, byte } => {
                    let message = (tag_of(n, self.tag), payload_of(*byte, *len));
                    sends.push((p, to % self.processes, message));
                }
                Call::Put { to, base, offset, len, from } => {
                    let to = to % self.processes;
                    let Some(registered) = self.registrations.meant(p, BASES[base % 4]) else {
                        continue;
                    };
                    let at = registered.bases[to] + place(*offset, *len);
                    let from = from % (MEMORY - len);
                    puts.push((p, to, at, self.memory[p][from..from + len].to_vec()));
                }
                Call::Get { from, base, offset, len, into } => {
                    let from = from % self.processes;
                    let Some(registered) = self.registrations.meant(p, BASES[base % 4]) else {
                        continue;
                    };
                    let at = registered.bases[from] + place(*offset, *len);
                    gets.push((p, from, at, into % (MEMORY - len), *len));
                }
            }
        }
        self.exchange(puts, gets);
        self.tag_and_queue(step, sends)
    }

    fn exchange(
        &mut self,
        mut puts: Vec<(usize, usize, usize, Vec<u8>)>,
        mut gets: Vec<(usize, usize, usize, usize, usize)>,
    ) {
        let read: Vec<Vec<u8>> = gets
            .iter()
            .map(|(_, from, at, _, len)| self.memory[*from][*at..at + len].to_vec())
            .collect();
        let mut read: Vec<_> = gets.drain(..).zip(read).collect();
        read.sort_by_key(|((_, from, ..), _)| *from);
        for ((p, _, _, into, len), data) in read {
            self.memory[p][into..into + len].copy_from_slice(&data);
        }
        puts.sort_by_key(|(source, ..)| *source);
        for (_, to, at, data) in puts {
            self.memory[to][at..at + data.len()].copy_from_slice(&data);
        }
    }

    fn tag_and_queue(&mut self, step: &Step, mut sends: Vec<(usize, usize, Message)>) -> Vec<Seen> {
        if let Some(tag) = step.tag {
            self.next_tag = tag;
        }
        self.tag = self.next_tag;
        self.registrations.advance(step, self.processes);
        sends.sort_by_key(|(source, ..)| std::cmp::Reverse(*source));
        let seen = |p: usize| {
            let queue: Vec<_> =
                sends.iter().filter(|(_, to, _)| *to == p).map(|(.., m)| m.clone()).collect();
            Seen {
                memory: self.memory[p].clone(),
                queue: (queue.len(), queue.iter().map(|(_, payload)| payload.len()).sum()),
                taken: queue.into_iter().take(step.takes).collect(),
            }
        };
        (0..self.processes).map(seen).collect()
    }
}

/// Memory at the beginning.
pub fn initial(process: usize) -> Vec<u8> {
    (0..MEMORY).map(|i| (i * 7 + process * 31) as u8).collect()
}

/// Where in its block an access of this length is.
pub fn place(offset: usize, len: usize) -> usize {
    offset % (BLOCK - len + 1)
}

pub fn tag_of(n: usize, size: usize) -> Vec<u8> {
    (0..size).map(|i| (n + i) as u8).collect()
}

pub fn payload_of(byte: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| byte.wrapping_add(i as u8)).collect()
}
