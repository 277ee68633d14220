//! What a process knows of one other.

use crate::Time;
use crate::action::Settings;
use crate::lane::{Chunk, Lane};
use crate::transfer::Streams;

pub(crate) struct Peer<M> {
    pub lanes: Vec<Lane>,
    pub streams: Streams<M>,
    /// Since when it can't be reached although it should be; 0 while that is not so.
    pub unreached: Time,
}

impl<M> Peer<M> {
    pub fn new(now: Time) -> Peer<M> {
        Peer { lanes: vec![Lane::new(now)], streams: Streams::default(), unreached: 0 }
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
        self.streams.pending()
    }

    pub fn lanes_up(&self) -> usize {
        self.lanes.iter().filter(|l| l.up().is_some()).count()
    }

    /// The chunk that `lane` writes next. It stays in the lane until it is known to have come.
    pub fn next_chunk(&mut self, lane: u8, settings: &Settings) -> Option<Chunk> {
        let up = self.lanes_up().max(1) as u64;
        let lane = &mut self.lanes[usize::from(lane)];
        if let Some(chunk) = lane.next_chunk() {
            return Some(chunk);
        }
        let (least, most) = (u64::from(settings.share), u64::from(settings.chunk));
        let share = |left: u64| match up {
            1 => most,
            // Two chunks for each lane, so that a slower one gets fewer.
            up => (left / (2 * up)).max(least).min(most),
        };
        let chunk = self.streams.cut(share)?;
        lane.push(chunk);
        Some(chunk)
    }
}
