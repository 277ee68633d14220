//! Slots of equal time, the oldest overwritten.

use std::collections::VecDeque;

use super::chunk::{Chunk, POINTS};
use super::packed::Packed;
use super::{Point, Resolution, Series};

#[derive(Clone, Debug)]
pub struct Ring {
    resolution: Resolution,
    /// Slots before the current one, oldest first, without a hole: gaps are slots, too. The oldest
    /// chunk may reach further back than the resolution does.
    chunks: VecDeque<Chunk>,
    /// Those behind the chunks, fewer than one has.
    slots: Vec<Packed>,
    /// Number of the current slot since 1970; `None` before the first sample.
    current: Option<u64>,
    sum: Mean,
}

impl Ring {
    pub fn new(resolution: Resolution) -> Ring {
        // Exactly: what grows by doubling takes up to twice its slots.
        let chunks = VecDeque::with_capacity(resolution.slots / POINTS + 2);
        let slots = Vec::with_capacity(POINTS);
        Ring { resolution, chunks, slots, current: None, sum: Mean::default() }
    }

    pub fn push(&mut self, at_ms: u64, point: &Point) {
        let number = at_ms / self.resolution.step_ms;
        match self.current {
            Some(current) if number > current => self.forward(number - current),
            Some(current) if number < current => self.back(current - number),
            _ => {}
        }
        self.current = Some(number);
        self.sum.add(point);
    }

    /// The current slot is complete; `steps - 1` slots without a sample follow.
    fn forward(&mut self, steps: u64) {
        let done = Packed::new(&self.sum.take());
        self.keep(done);
        // More gaps than there are slots would only push each other out.
        for _ in 1..steps.min(self.resolution.slots as u64 + 1) {
            self.keep(Packed::GAP);
        }
    }

    fn keep(&mut self, slot: Packed) {
        self.slots.push(slot);
        let Ok(full) = <&[Packed; POINTS]>::try_from(&self.slots[..]) else { return };
        self.chunks.push_back(Chunk::new(full));
        self.slots.clear();
        // One place is the current slot's.
        while (self.chunks.len() - 1) * POINTS + 1 >= self.resolution.slots {
            self.chunks.pop_front();
        }
    }

    /// The clock was set back: the time that comes again is forgotten.
    fn back(&mut self, steps: u64) {
        self.sum.take();
        let all = self.chunks.len() * POINTS + self.slots.len();
        let left = all.saturating_sub(usize::try_from(steps).unwrap_or(all));
        let mut whole = self.chunks.len() * POINTS;
        while left < whole {
            let Some(last) = self.chunks.pop_back() else { break };
            whole -= POINTS;
            self.slots.clear();
            if left > whole {
                self.slots.extend(last.points());
            }
        }
        self.slots.truncate(left - whole);
    }

    pub fn series(&self) -> Series {
        let Some(current) = self.current else {
            return Series { step_ms: self.resolution.step_ms, ..Series::default() };
        };
        let all = self.chunks.len() * POINTS + self.slots.len();
        // One place is the current slot's.
        let known = all.min(self.resolution.slots - 1);
        let first = current.saturating_sub(known as u64);
        let mut series = Series {
            start_ms: first * self.resolution.step_ms,
            step_ms: self.resolution.step_ms,
            ..Series::default()
        };
        let last = Packed::new(&self.sum.clone().take());
        let old = self.chunks.iter().flat_map(Chunk::points).chain(self.slots.iter().copied());
        for slot in old.skip(all - known).chain([last]) {
            let point = slot.point();
            series.cpu.push(point.cpu);
            series.memory.push(point.memory);
            series.received.push(point.received);
            series.sent.push(point.sent);
            series.read.push(point.read);
            series.written.push(point.written);
        }
        series
    }
}

/// The mean of the points of one slot, each value over the points that have it.
#[derive(Clone, Debug, Default)]
struct Mean {
    sums: [(f64, u32); 6],
}

impl Mean {
    fn add(&mut self, point: &Point) {
        let values =
            [point.cpu, point.memory, point.received, point.sent, point.read, point.written];
        for (sum, value) in self.sums.iter_mut().zip(values) {
            if let Some(value) = value {
                sum.0 += f64::from(value);
                sum.1 += 1;
            }
        }
    }

    fn take(&mut self) -> Point {
        let sums = std::mem::take(&mut self.sums);
        let mean = |i: usize| (sums[i].1 > 0).then(|| (sums[i].0 / f64::from(sums[i].1)) as f32);
        Point {
            cpu: mean(0),
            memory: mean(1),
            received: mean(2),
            sent: mean(3),
            read: mean(4),
            written: mean(5),
        }
    }
}
