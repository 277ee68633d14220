//! What a process knows of one other.

use crate::Time;
use crate::action::{Done, Settings};
use crate::lane::{Chunk, Lane};
use crate::transfer::{Streams, Unasked};
use std::collections::VecDeque;

pub(crate) struct Peer<M> {
    pub lanes: Vec<Lane>,
    pub streams: Streams<M>,
    /// Since when it can't be reached although it should be.
    pub unreached: Option<Time>,
    /// It was once connected to. Whoever makes the connections then keeps one: the other side may
    /// have something to send.
    pub met: bool,
}

impl<M> Peer<M> {
    pub fn new(now: Time, settings: &Settings) -> Peer<M> {
        let streams = Streams::new(settings);
        Peer { lanes: vec![Lane::new(now)], streams, unreached: None, met: false }
    }

    /// The lane with that number, which comes into being with the ones before it.
    pub fn lane(&mut self, lane: u8, now: Time) -> &mut Lane {
        let index = usize::from(lane);
        while self.lanes.len() <= index {
            self.lanes.push(Lane::new(now));
        }
        &mut self.lanes[index]
    }

    /// Something is unfinished between the two.
    pub fn pending(&self) -> bool {
        self.streams.pending() || self.owes()
    }

    /// It is owed a word.
    pub fn owes(&self) -> bool {
        self.lanes.iter().any(|lane| lane.owes() || lane.tell_now) || !self.streams.go.is_empty()
    }

    /// Whoever makes the connections should make one though nothing is unfinished.
    pub fn is_missed(&self) -> bool {
        self.met && self.lanes_up() == 0
    }

    /// `count` chunks have come over a lane in all; streams that have come as a whole are added
    /// to `done`.
    pub fn come(&mut self, lane: u8, count: u64, done: &mut VecDeque<Done>) {
        let lane = &mut self.lanes[usize::from(lane)];
        while let Some(chunk) = lane.take_come(count) {
            done.extend(self.streams.come(&chunk).map(Done::Gone));
        }
    }

    pub fn lanes_up(&self) -> usize {
        self.lanes.iter().filter(|l| l.up().is_some()).count()
    }

    /// The chunk that `lane` writes next. It stays in the lane until it is known to have come.
    pub fn next_chunk(&mut self, lane: u8, settings: &Settings) -> Option<Chunk> {
        let up = self.lanes_up().max(1) as u64;
        let lane = &mut self.lanes[usize::from(lane)];
        if let Some(chunk) = lane.next_again() {
            return Some(chunk);
        }
        let (least, most) = (u64::from(settings.share), u64::from(settings.chunk));
        let share = |left: u64| match up {
            1 => most,
            // Two chunks for each lane, so that a slower one gets fewer.
            up => (left / (2 * up)).max(least).min(most),
        };
        let unasked = Unasked {
            early: u64::from(settings.early),
            ahead: u64::from(settings.ahead),
            alone: up == 1,
            told: u64::from(settings.most_untold.max(1)),
        };
        let chunk = self.streams.cut(share, &unasked)?;
        lane.push(chunk);
        Some(chunk)
    }
}
