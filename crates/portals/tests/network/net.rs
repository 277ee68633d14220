//! The network: packets and transfers in flight, and the processes' memories.

use hpvm_portals::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of a process's memory. The first half is read and written by its own operations, in the second are its entries.
pub const ARENA: usize = 1 << 19;
/// Memory begins at this address.
pub const BASE: u64 = 0x1_0000;
/// Bytes of the entry for each initiator.
pub const SLOT: u64 = 10_000;

/// `PTL_EQ_NONE`, `PTL_CT_NONE`.
pub const NO_QUEUE: u32 = 0x3fff_ffff;
pub const NO_COUNTER: u32 = 0x5fff_ffff;

/// Numbers that follow from a seed.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

struct Side {
    transfer: Transfer,
    region: Region,
    offset: u64,
    /// Bytes that are kept, and all that move.
    length: u64,
    total: u64,
}

/// Between two processes, in one direction.
#[derive(Default)]
struct Link {
    packets: VecDeque<Vec<u8>>,
    /// By purpose: what is sent, what is received.
    sends: [VecDeque<Side>; 3],
    receives: [VecDeque<Side>; 3],
}

/// What can happen next.
enum Step {
    Packet { from: usize, to: usize },
    Transfer { from: usize, to: usize, purpose: usize },
    Over(usize),
}

struct Port<'a> {
    me: usize,
    size: usize,
    memory: &'a mut [u8],
    links: &'a mut [Link],
}

fn place(run: Run, memory: &[u8]) -> Result<std::ops::Range<usize>, Inaccessible> {
    let from = run.address.checked_sub(BASE).ok_or(Inaccessible)? as usize;
    let range = from..from.checked_add(run.length as usize).ok_or(Inaccessible)?;
    if range.end <= memory.len() { Ok(range) } else { Err(Inaccessible) }
}

fn gather(
    memory: &[u8],
    region: &Region,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>, Inaccessible> {
    let mut bytes = Vec::new();
    for run in region.runs(offset, length) {
        bytes.extend_from_slice(&memory[place(run, memory)?]);
    }
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(Inaccessible) }
}

impl Port<'_> {
    fn link(&mut self, from: usize, to: usize) -> &mut Link {
        &mut self.links[from * self.size + to]
    }
}

impl Carrier for Port<'_> {
    fn send(&mut self, to: u32, head: &Head, data: Data) -> Result<(), Unreachable> {
        let mut bytes = [0; Head::BYTES];
        let len = head.write(&mut bytes);
        let mut packet = bytes[..len].to_vec();
        match data {
            Data::None => {}
            Data::Bytes(bytes) => packet.extend_from_slice(bytes),
            Data::Memory { region, offset, length } => {
                assert!(length <= EAGER);
                let bytes = gather(self.memory, region, offset, length);
                packet.extend_from_slice(&bytes.expect("memory of the process"));
            }
        }
        let me = self.me;
        self.link(me, to as usize).packets.push_back(packet);
        Ok(())
    }

    fn send_bytes(
        &mut self,
        to: u32,
        transfer: Transfer,
        region: &Region,
        offset: u64,
        length: u64,
    ) {
        let me = self.me;
        let side = Side { transfer, region: region.clone(), offset, length, total: length };
        self.link(me, to as usize).sends[transfer.purpose as usize].push_back(side);
    }

    fn receive_bytes(
        &mut self,
        from: u32,
        transfer: Transfer,
        region: &Region,
        offset: u64,
        (length, total): (u64, u64),
    ) {
        let me = self.me;
        let side = Side { transfer, region: region.clone(), offset, length, total };
        self.link(from as usize, me).receives[transfer.purpose as usize].push_back(side);
    }

    fn read(&self, region: &Region, offset: u64, into: &mut [u8]) -> Result<(), Inaccessible> {
        into.copy_from_slice(&gather(self.memory, region, offset, into.len() as u64)?);
        Ok(())
    }

    fn write(&mut self, region: &Region, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        let mut at = 0;
        for run in region.runs(offset, bytes.len() as u64) {
            let range = place(run, self.memory)?;
            let length = range.len();
            self.memory[range].copy_from_slice(&bytes[at..at + length]);
            at += length;
        }
        if at == bytes.len() { Ok(()) } else { Err(Inaccessible) }
    }
}

pub struct Node {
    pub interface: Interface,
    pub memory: Vec<u8>,
    pub descriptor: u32,
    pub mine: u32,
    pub others: u32,
}

pub struct World {
    pub nodes: Vec<Node>,
    pub rng: Rng,
    links: Vec<Link>,
    /// Ends of transfers that their processes do not know yet.
    over: Vec<(usize, Transfer)>,
}

impl World {
    pub fn new(seed: u64, size: usize) -> World {
        let peer = |at: usize| Peer { nid: 1 + at as u32 / 2, pid: 1 + at as u32 % 2, uid: 7 };
        let peers: Arc<[Peer]> = (0..size).map(peer).collect();
        let node = |me: usize| {
            let nature = Nature { matching: true, logical: true };
            let limits = Limits::default();
            let mut interface = Interface::new(nature, 1, limits, me as u32, peers.clone());
            let map = peers.iter().map(|peer| (peer.nid, peer.pid)).collect();
            interface.set_map(map).expect("a map");
            let mine = interface.queue_alloc(1 << 14).expect("room");
            let others = interface.queue_alloc(1 << 14).expect("room");
            let half = ARENA as u64 / 2;
            let region = Region::new(BASE, half).expect("short");
            let counter = (NO_COUNTER, NO_COUNTER);
            let bound = interface.bind(region, MdOptions(0), (mine, NO_QUEUE), counter);
            let descriptor = bound.expect("a descriptor");
            Node { interface, memory: vec![0; ARENA], descriptor, mine, others }
        };
        let links = (0..size * size).map(|_| Link::default()).collect();
        World { nodes: (0..size).map(node).collect(), rng: Rng::new(seed), links, over: Vec::new() }
    }

    /// At each process, portal table entry 0 with an entry for each initiator, and one with a word for all.
    pub fn open_entries(&mut self) {
        let size = self.nodes.len();
        for at in 0..size {
            let others = self.nodes[at].others;
            let index = self.with(at, |i, _| i.table_alloc(PtOptions(0), (others, NO_QUEUE), 0));
            assert_eq!(index, Ok(0));
            for initiator in 0..=size {
                let word = initiator == size;
                let start = BASE + ARENA as u64 / 2 + initiator as u64 * SLOT;
                let length = if word { 8 } else { SLOT };
                let rank = (!word).then_some(initiator as u32);
                let entry = Entry {
                    length,
                    ct: None,
                    uid: Some(7),
                    options: Options::OP_PUT | Options::OP_GET | Options::EVENT_LINK_DISABLE,
                    source: Source::Logical(rank),
                    match_bits: u64::from(word),
                    ignore_bits: 0,
                    min_free: 0,
                    user_ptr: 0,
                };
                let region = Region::new(start, length).expect("short");
                let appended = Appended {
                    entry,
                    region,
                    counter: NO_COUNTER,
                    no_counter: NO_COUNTER,
                    matching: true,
                };
                let done = self.with(at, |i, port| i.append(0, appended, List::Priority, port));
                assert!(done.is_ok());
            }
        }
    }

    fn with<R>(&mut self, at: usize, call: impl FnOnce(&mut Interface, &mut Port) -> R) -> R {
        let size = self.nodes.len();
        let node = &mut self.nodes[at];
        let mut port = Port { me: at, size, memory: &mut node.memory, links: &mut self.links };
        call(&mut node.interface, &mut port)
    }

    pub fn start(&mut self, at: usize, request: Request) {
        self.with(at, |i, port| i.start(&request, port)).expect("a sound request");
    }

    pub fn packet(
        &mut self,
        from: usize,
        to: usize,
        head: &Head,
        data: &[u8],
    ) -> Result<(), Malformed> {
        self.with(to, |i, port| i.packet(from as u32, head, data, port))
    }

    /// A number for all bytes of a process that are in no entry.
    pub fn outside(&self, at: usize) -> u64 {
        let entries = ARENA / 2..ARENA / 2 + (self.nodes.len() + 1) * SLOT as usize;
        let bytes = self.nodes[at].memory.iter().enumerate();
        let outside = bytes.filter(|(place, _)| !entries.contains(place) && *place >= ARENA / 2);
        outside.fold(1, |sum, (_, byte)| sum * 31 % 0xffff_fffb + u64::from(*byte))
    }

    fn steps(&self) -> Vec<Step> {
        let size = self.nodes.len();
        let mut steps: Vec<Step> = (0..self.over.len()).map(Step::Over).collect();
        for (at, link) in self.links.iter().enumerate() {
            let (from, to) = (at / size, at % size);
            if !link.packets.is_empty() {
                steps.push(Step::Packet { from, to });
            }
            for purpose in 0..3 {
                if !link.sends[purpose].is_empty() && !link.receives[purpose].is_empty() {
                    steps.push(Step::Transfer { from, to, purpose });
                }
            }
        }
        steps
    }

    /// Lets something happen. False: nothing is in flight.
    pub fn step(&mut self) -> bool {
        let mut steps = self.steps();
        if steps.is_empty() {
            return false;
        }
        match steps.swap_remove(self.rng.below(steps.len())) {
            Step::Packet { from, to } => {
                let link = &mut self.links[from * self.nodes.len() + to];
                let packet = link.packets.pop_front().expect("one");
                let (head, data) = Head::from_bytes(&packet).expect("a header");
                let done = self.packet(from, to, &head, data);
                assert_eq!(done, Ok(()), "{head:?}");
            }
            Step::Transfer { from, to, purpose } => self.transfer(from, to, purpose),
            Step::Over(at) => {
                let (node, transfer) = self.over.swap_remove(at);
                self.with(node, |i, port| i.transferred(transfer, NiFail::Ok, port));
            }
        }
        true
    }

    fn transfer(&mut self, from: usize, to: usize, purpose: usize) {
        let link = &mut self.links[from * self.nodes.len() + to];
        let send = link.sends[purpose].pop_front().expect("one");
        let receive = link.receives[purpose].pop_front().expect("one");
        assert_eq!(send.length, receive.total);
        let bytes = gather(&self.nodes[from].memory, &send.region, send.offset, send.length);
        let bytes = bytes.expect("memory of the process");
        let kept = &bytes[..receive.length as usize];
        self.with(to, |_, port| port.write(&receive.region, receive.offset, kept)).expect("memory");
        self.over.push((from, send.transfer));
        self.over.push((to, receive.transfer));
    }
}
