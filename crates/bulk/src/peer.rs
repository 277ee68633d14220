//! What a process knows about one peer.

use crate::Time;
use crate::action::{Done, Settings};
use crate::rail::{Chunk, Rail};
use crate::transfer::{Streams, Unasked};
use std::collections::VecDeque;

pub(crate) struct Peer<M> {
    pub rails: Vec<Rail>,
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
        Peer { rails: vec![Rail::new(now)], streams, unreached: None, met: false }
    }

    /// The rail with that number, which comes into being with the ones before it.
    pub fn rail(&mut self, rail: u8, now: Time) -> &mut Rail {
        let index = usize::from(rail);
        while self.rails.len() <= index {
            self.rails.push(Rail::new(now));
        }
        &mut self.rails[index]
    }

    /// Something is unfinished between the two.
    pub fn pending(&self) -> bool {
        self.streams.pending() || self.owes()
    }

    /// It is owed a word.
    pub fn owes(&self) -> bool {
        self.rails.iter().any(|rail| rail.owes() || rail.tell_now) || !self.streams.go.is_empty()
    }

    /// Whoever makes the connections should make one though nothing is unfinished.
    pub fn is_missed(&self) -> bool {
        self.met && self.rails_up() == 0
    }

    /// `count` chunks have come over a rail in all; streams that have come as a whole are added
    /// to `done`.
    pub fn come(&mut self, rail: u8, count: u64, done: &mut VecDeque<Done>) {
        let rail = &mut self.rails[usize::from(rail)];
        while let Some(chunk) = rail.take_come(count) {
            done.extend(self.streams.come(&chunk).map(Done::Gone));
        }
    }

    pub fn rails_up(&self) -> usize {
        self.rails.iter().filter(|l| l.up().is_some()).count()
    }

    /// The chunk that `rail` writes next. It stays in the rail until it is known to have come.
    pub fn next_chunk(&mut self, rail: u8, settings: &Settings) -> Option<Chunk> {
        let up = self.rails_up().max(1) as u64;
        let rail = &mut self.rails[usize::from(rail)];
        if let Some(chunk) = rail.next_again() {
            return Some(chunk);
        }
        let (least, most) = (u64::from(settings.share), u64::from(settings.chunk));
        let share = |left: u64| match up {
            1 => most,
            // Two chunks for each rail, so that a slower one gets fewer.
            up => (left / (2 * up)).max(least).min(most),
        };
        let unasked = Unasked {
            early: u64::from(settings.early),
            ahead: u64::from(settings.ahead),
            alone: up == 1,
            told: u64::from(settings.most_untold.max(1)),
        };
        let chunk = self.streams.cut(share, &unasked)?;
        rail.push(chunk);
        Some(chunk)
    }
}
