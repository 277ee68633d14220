//! Random collectives, several under way at a time, on several communicators.

use crate::calls::{Call, Kind, script};
use crate::harness::{P, Part, Shared, ended, hash};
use crate::spaces::{Space, spaces};
use crate::{exchange, reductions};
use hpvm_mpi::ReqId;
use hpvm_sim::Turn;

/// The buffers of a call and what the receive buffer shall begin with at the end: all of it, except
/// where the input of a reduction was there and is longer than the result.
pub struct Buffers {
    pub send: Vec<u8>,
    pub recv: Vec<u8>,
    pub expected: Vec<u8>,
}

struct Running {
    call: Call,
    id: ReqId,
    buffers: Buffers,
    /// What the send buffer must still hold at the end.
    sent: Vec<u8>,
}

/// The collectives of one process.
pub struct Collectives {
    shared: Shared,
    spaces: Vec<Space>,
    script: std::vec::IntoIter<Call>,
    running: Vec<Running>,
    turns: u64,
}

impl Collectives {
    pub fn new(shared: &Shared, calls: u32) -> Collectives {
        let spaces = spaces(shared.rank, shared.size);
        Collectives {
            shared: shared.clone(),
            script: script(shared.seed, shared.size, spaces.len() as u64, calls).into_iter(),
            spaces,
            running: Vec::new(),
            turns: 0,
        }
    }

    fn start_next(&mut self, p: &mut P) -> bool {
        let Some(call) = self.script.next() else { return false };
        let space = &self.spaces[call.space];
        let Some(call) = call.valid_on(space) else { return true };
        let me = self.shared.rank;
        let (plan, buffers) = match call.kind {
            Kind::Barrier => (p.plan(&space.comm).barrier(), Buffers::none()),
            kind if kind.reduces() => reductions::plan(p, space, &call, me),
            _ => exchange::plan(p, space, &call, me),
        };
        self.shared.note((call.seq, space.colour.into(), 1));
        let sent = buffers.send.clone();
        // SAFETY: `running` keeps the buffers until the request has ended.
        let id = unsafe { p.start_collective(&space.comm, plan) };
        self.running.push(Running { call, id, buffers, sent });
        true
    }

    /// Looks at what has ended; whether anything had.
    fn collect(&mut self, p: &mut P) -> bool {
        let mut moved = false;
        let mut place = 0;
        while place < self.running.len() {
            let r = &mut self.running[place];
            if ended(p, r.id, &r.call).is_none() {
                place += 1;
                continue;
            }
            moved = true;
            let space = &self.spaces[r.call.space];
            let text =
                format!("seed {}, rank {}: {:?}", self.shared.seed, self.shared.rank, r.call);
            assert!(r.buffers.send == r.sent, "{text}: the send buffer has changed");
            assert!(r.buffers.recv.starts_with(&r.buffers.expected), "{text}: other data");
            if r.call.kind == Kind::Barrier {
                let other = if space.is_inter() { 1 - space.colour } else { space.colour };
                let entered = self.shared.noted((r.call.seq, other.into(), 1));
                assert!(entered as usize == space.peers().len(), "{text}: {entered} had entered");
            }
            self.running.swap_remove(place);
        }
        moved
    }

    fn may_start(&self) -> bool {
        self.running.len() < 4
    }
}

impl Buffers {
    pub fn none() -> Buffers {
        Buffers { send: Vec::new(), recv: Vec::new(), expected: Vec::new() }
    }
}

impl Part for Collectives {
    fn turn(&mut self, p: &mut P) -> Turn {
        self.turns += 1;
        let mut moved = self.collect(p);
        let shared = &self.shared;
        let chance = hash(&[shared.seed, shared.rank.into(), self.turns]) % 100;
        if self.may_start() && chance < 60 {
            moved |= self.start_next(p);
        }
        match (self.running.is_empty(), self.script.len() > 0) {
            (true, false) => Turn::Done,
            (_, true) if moved || self.may_start() => Turn::Worked,
            _ if moved => Turn::Worked,
            _ => Turn::Idle,
        }
    }
}
