//! The rank map: how many messages and bytes this process has sent to each other one, counted where a monitor reads
//! them (`hpvm_wire::traffic`). Only in a process that is monitored.
//!
//! A message counts when the program, or a collective, sends it, with the bytes of its elements. How it then travels, in
//! how many packets, does not matter, and neither does whether it is received.
//!
//! A process that is not monitored executes nothing of this: counted sends leave the fast path at the branch that sends with
//! a backlog take anyway ([`crate::engine::backlog`]).

use crate::engine::process::Process;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::counters::add;
use hpvm_wire::traffic::{Peer, Traffic};
use std::collections::HashMap;

/// Where each peer's counters lie.
pub(crate) struct Index {
    /// By rank: one more than the entry's index; 0: it has none yet.
    indices: Box<[u32]>,
    /// Of teams, by their members.
    teams: HashMap<Box<[Rank]>, u32>,
}

impl Index {
    /// One more than the index of a peer's entry; 0: the list is full.
    fn index_of(&mut self, traffic: &Traffic, peer: Rank) -> u32 {
        let Some(index) = self.indices.get_mut(peer as usize) else { return 0 };
        if *index == 0 {
            *index = traffic.add(peer).map_or(0, |at| at + 1);
        }
        *index
    }
}

fn count(traffic: &Traffic, at: u32, messages: u64, bytes: u64) {
    if let Some(Peer { messages: count, bytes: sum, .. }) = traffic.peer(at) {
        add(count, messages);
        add(sum, bytes);
    }
}

impl<T: Transport> Process<T> {
    /// From now on messages are counted for each peer. To be called before the first message.
    pub fn monitor(&mut self) {
        let Some(traffic) = self.fm.transport().traffic() else { return };
        traffic.begin();
        // The allocator gives zeroed pages, which take memory when they are written.
        self.traffic = Some(Index {
            indices: vec![0; self.fm.size() as usize].into(),
            teams: HashMap::default(),
        });
        self.backlog.count_every_send();
    }

    /// Whether messages are counted for each peer.
    pub fn is_monitored(&self) -> bool {
        self.traffic.is_some()
    }

    /// `messages` of `bytes` together have been sent to `dst`.
    #[inline]
    pub(crate) fn count_sent(&mut self, dst: Rank, messages: u64, bytes: u64) {
        let (Some(index), Some(traffic)) = (&mut self.traffic, self.fm.transport().traffic())
        else {
            return;
        };
        // When the list is full, this peer is not counted.
        if let Some(at) = index.index_of(traffic, dst).checked_sub(1) {
            count(traffic, at, messages, bytes);
        }
    }

    /// Where what goes to each of these together is counted ([`Process::count_at`]); `None`: each has to be
    /// counted by itself.
    pub(crate) fn team(&mut self, members: &[Rank]) -> Option<u32> {
        let index = self.traffic.as_mut()?;
        let traffic = self.fm.transport().traffic()?;
        match members {
            [] => None,
            [peer] => index.index_of(traffic, *peer).checked_sub(1),
            _ => match index.teams.get(members) {
                Some(at) => Some(*at),
                None => {
                    let at = traffic.add_team(members)?;
                    index.teams.insert(members.into(), at);
                    Some(at)
                }
            },
        }
    }

    /// A message of `bytes` has been sent to each of a team.
    #[inline]
    pub(crate) fn count_at(&self, at: u32, bytes: u64) {
        if let Some(traffic) = self.fm.transport().traffic() {
            count(traffic, at, 1, bytes);
        }
    }
}
