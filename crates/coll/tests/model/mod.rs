//! A model of an executor: runs the schedules of all ranks against each other, with byte buffers,
//! matching in order of issue, and deliveries in an order drawn from a seed.
#![allow(dead_code)]

pub mod data;

use std::collections::{HashMap, VecDeque};

use hpvm_coll::{Block, Buffer, Comm, Local, Peer, Schedule, TempSpec, Ty};

/// A small seeded generator (splitmix64).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// When a send is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// At once.
    Eager,
    /// When the data has arrived.
    Rendezvous,
    /// Either, drawn by message.
    Mixed,
}

/// Packed size and extent of one element; the lower bound is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    pub size: usize,
    pub extent: usize,
}

pub const fn ty(size: usize, extent: usize) -> Type {
    Type { size, extent }
}

/// An operator on one packed element: `inout = input OP inout`.
pub type Op = fn(&[u8], &mut [u8]);

/// One rank with its buffers.
pub struct Proc {
    pub group: usize,
    pub rank: u32,
    pub schedule: Schedule,
    pub send: Vec<u8>,
    pub recv: Vec<u8>,
    pub send_type: Type,
    pub recv_type: Type,
    pub send_of: Vec<Type>,
    pub recv_of: Vec<Type>,
    /// The ranks, by index in the run, that had begun when the last thing we heard was sent.
    pub heard: Vec<bool>,
    /// Which side of slow links it is on, and how many of them whatever it waited for has crossed one after the other.
    pub site: u32,
    pub crossed: u32,
    temps: Vec<Vec<u8>>,
    round: usize,
    open: usize,
}

impl Proc {
    pub fn new(
        rank: u32,
        schedule: Schedule,
        send: Vec<u8>,
        recv: Vec<u8>,
        types: [Type; 2],
    ) -> Proc {
        let temps = schedule.temps().iter().map(|spec| match *spec {
            TempSpec::Bytes(bytes) => vec![0xAA; bytes],
            TempSpec::Elements(n) => vec![0xAB; n as usize * types[1].extent],
        });
        Proc {
            group: 0,
            rank,
            temps: temps.collect(),
            schedule,
            send,
            recv,
            send_type: types[0],
            recv_type: types[1],
            send_of: Vec::new(),
            recv_of: Vec::new(),
            heard: Vec::new(),
            site: 0,
            crossed: 0,
            round: 0,
            open: 0,
        }
    }

    fn type_of(&self, ty: Ty) -> Type {
        match ty {
            Ty::Send => self.send_type,
            Ty::Recv => self.recv_type,
            Ty::SendOf(i) => self.send_of[i as usize],
            Ty::RecvOf(i) => self.recv_of[i as usize],
            Ty::Bytes => Type { size: 1, extent: 1 },
        }
    }

    fn buffer(&self, buffer: Buffer) -> &[u8] {
        match buffer {
            Buffer::Send => &self.send,
            Buffer::Recv => &self.recv,
            Buffer::Temp(i) => &self.temps[i as usize],
        }
    }

    fn buffer_mut(&mut self, buffer: Buffer) -> &mut [u8] {
        match buffer {
            Buffer::Send => panic!("a schedule writes the send buffer"),
            Buffer::Recv => &mut self.recv,
            Buffer::Temp(i) => &mut self.temps[i as usize],
        }
    }

    fn elements(&self, block: &Block) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let Type { size, extent } = self.type_of(block.ty);
        let (start, count) = (block.offset, block.count);
        assert!(count >= 0 && start >= 0, "negative block {block:?}");
        (0..count as usize).map(move |i| {
            let at = start as usize + i * extent;
            at..at + size
        })
    }

    fn pack(&self, block: &Block) -> Vec<u8> {
        let buffer = self.buffer(block.buffer);
        self.elements(block).flat_map(|range| buffer[range].iter().copied()).collect()
    }

    fn unpack(&mut self, block: &Block, data: &[u8]) {
        let ranges: Vec<_> = self.elements(block).collect();
        let expected: usize = ranges.iter().map(|r| r.len()).sum();
        assert_eq!(expected, data.len(), "rank {} gets a wrong length: {block:?}", self.rank);
        let buffer = self.buffer_mut(block.buffer);
        let mut at = 0;
        for range in ranges {
            let len = range.len();
            buffer[range].copy_from_slice(&data[at..at + len]);
            at += len;
        }
    }

    fn local(&mut self, local: &Local, op: Op) {
        match local {
            Local::Copy { from, to } => {
                let data = self.pack(from);
                self.unpack(to, &data);
            }
            Local::Reduce { input, inout } => {
                assert!(input.ty == Ty::Recv && inout.ty == Ty::Recv && input.count == inout.count);
                assert!(!overlap(self, input, inout), "reduction onto itself");
                let input = self.pack(input);
                let mut result = self.pack(inout);
                let size = self.recv_type.size;
                for (a, b) in input.chunks(size).zip(result.chunks_mut(size)) {
                    op(a, b);
                }
                self.unpack(inout, &result);
            }
        }
    }
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub messages: usize,
    pub bytes: usize,
    /// The most bytes that one rank sent.
    pub most_out: usize,
    /// The most rounds of one rank.
    pub rounds: usize,
}

struct Sending {
    proc: usize,
    block: Block,
    heard: Vec<bool>,
    crossed: u32,
    /// Present if the send was eager.
    data: Option<Vec<u8>>,
}

struct Receiving {
    proc: usize,
    block: Block,
}

enum Action {
    Start(usize),
    Deliver(Sending, Receiving),
}

#[derive(Default)]
struct Channel {
    sent: VecDeque<Sending>,
    posted: VecDeque<Receiving>,
}

struct World<'a> {
    procs: &'a mut [Proc],
    index: HashMap<(usize, u32), usize>,
    channels: HashMap<(usize, usize), Channel>,
    actions: Vec<Action>,
    rng: Rng,
    mode: Mode,
    op: Op,
    cost: Cost,
    out: Vec<usize>,
}

/// An operator for operations that have none.
pub fn no_op(_: &[u8], _: &mut [u8]) {
    panic!("a reduction where there is none");
}

/// Runs all schedules to their end.
pub fn run(procs: &mut [Proc], op: Op, mode: Mode, seed: u64) -> Cost {
    let index = procs.iter().enumerate().map(|(i, p)| ((p.group, p.rank), i)).collect();
    let count = procs.len();
    let actions = (0..count).map(Action::Start).collect();
    for (i, proc) in procs.iter_mut().enumerate() {
        proc.heard = (0..count).map(|other| other == i).collect();
    }
    let cost = Cost {
        rounds: procs.iter().map(|p| p.schedule.len()).max().unwrap_or(0),
        ..Cost::default()
    };
    let mut world = World {
        procs,
        index,
        channels: HashMap::new(),
        actions,
        rng: Rng(seed),
        mode,
        op,
        cost,
        out: vec![0; count],
    };
    while !world.actions.is_empty() {
        let pick = world.rng.below(world.actions.len());
        match world.actions.swap_remove(pick) {
            Action::Start(proc) => world.start(proc),
            Action::Deliver(sending, receiving) => world.deliver(sending, receiving),
        }
    }
    for proc in world.procs.iter() {
        let (round, rounds) = (proc.round, proc.schedule.len());
        assert_eq!(round, rounds, "deadlock: rank {} of group {}", proc.rank, proc.group);
    }
    for (pair, channel) in &world.channels {
        assert!(channel.sent.is_empty() && channel.posted.is_empty(), "left over on {pair:?}");
    }
    world.cost.most_out = world.out.iter().copied().max().unwrap_or(0);
    world.cost
}

impl World<'_> {
    fn find(&self, from: usize, peer: Peer) -> usize {
        let group = self.procs[from].group;
        match peer {
            Peer::Local(rank) => {
                assert!(rank != self.procs[from].rank, "rank {rank} sends to itself");
                self.index[&(group, rank)]
            }
            Peer::Remote(rank) => self.index[&(1 - group, rank)],
        }
    }

    fn start(&mut self, me: usize) {
        let round = self.procs[me].round;
        let Some(view) = self.procs[me].schedule.round(round) else { return };
        let comms = view.comms.to_vec();
        check_overlap(&self.procs[me], &comms);
        self.procs[me].open = comms.len();
        for comm in comms {
            match comm {
                Comm::Send { to, block } => self.send(me, to, block),
                Comm::Recv { from, block } => {
                    let from = self.find(me, from);
                    let channel = self.channels.entry((from, me)).or_default();
                    channel.posted.push_back(Receiving { proc: me, block });
                    self.match_up(from, me);
                }
            }
        }
        self.finish_round(me);
    }

    fn send(&mut self, me: usize, to: Peer, block: Block) {
        let to = self.find(me, to);
        let eager = match self.mode {
            Mode::Eager => true,
            Mode::Rendezvous => false,
            Mode::Mixed => self.rng.below(2) == 0,
        };
        let data = eager.then(|| self.procs[me].pack(&block));
        if eager {
            self.procs[me].open -= 1;
        }
        let channel = self.channels.entry((me, to)).or_default();
        channel.sent.push_back(Sending {
            proc: me,
            block,
            heard: self.procs[me].heard.clone(),
            crossed: self.procs[me].crossed + u32::from(self.procs[me].site != self.procs[to].site),
            data,
        });
        self.match_up(me, to);
    }

    fn match_up(&mut self, from: usize, to: usize) {
        let channel = self.channels.entry((from, to)).or_default();
        if channel.sent.is_empty() || channel.posted.is_empty() {
            return;
        }
        if let (Some(s), Some(r)) = (channel.sent.pop_front(), channel.posted.pop_front()) {
            self.actions.push(Action::Deliver(s, r));
        }
    }

    fn deliver(&mut self, sending: Sending, receiving: Receiving) {
        let eager = sending.data.is_some();
        let data = match sending.data {
            Some(data) => data,
            None => self.procs[sending.proc].pack(&sending.block),
        };
        self.cost.messages += 1;
        self.cost.bytes += data.len();
        self.out[sending.proc] += data.len();
        self.procs[receiving.proc].unpack(&receiving.block, &data);
        let known = &mut self.procs[receiving.proc].heard;
        known.iter_mut().zip(&sending.heard).for_each(|(known, heard)| *known |= heard);
        let receiver = &mut self.procs[receiving.proc];
        receiver.crossed = receiver.crossed.max(sending.crossed);
        receiver.open -= 1;
        self.finish_round(receiving.proc);
        if !eager {
            self.procs[sending.proc].open -= 1;
            self.finish_round(sending.proc);
        }
    }

    fn finish_round(&mut self, me: usize) {
        let proc = &mut self.procs[me];
        if proc.open > 0 {
            return;
        }
        let Some(view) = proc.schedule.round(proc.round) else { return };
        assert!(!view.comms.is_empty() || !view.locals.is_empty(), "empty round");
        let locals = view.locals.to_vec();
        for local in &locals {
            proc.local(local, self.op);
        }
        proc.round += 1;
        self.actions.push(Action::Start(me));
    }
}

/// Whether the elements of two blocks of a rank interleave or overlap.
fn overlap(proc: &Proc, a: &Block, b: &Block) -> bool {
    let hull = |block: &Block| {
        let extent = proc.type_of(block.ty).extent as i64;
        block.offset..block.offset + block.count * extent
    };
    let (a_hull, b_hull) = (hull(a), hull(b));
    a.buffer == b.buffer && a_hull.start < b_hull.end && b_hull.start < a_hull.end
}

/// No received block may overlap another block of the round.
fn check_overlap(proc: &Proc, comms: &[Comm]) {
    let block = |comm: &Comm| match *comm {
        Comm::Send { block, .. } | Comm::Recv { block, .. } => block,
    };
    for (i, comm) in comms.iter().enumerate() {
        if !matches!(comm, Comm::Recv { .. }) {
            continue;
        }
        let written = block(comm);
        assert!(written.buffer != Buffer::Send, "receives into the send buffer");
        for (j, other) in comms.iter().enumerate() {
            let disjoint = i == j || !overlap(proc, &written, &block(other));
            assert!(disjoint, "messages overlap: {comm:?}, {other:?}");
        }
    }
}
