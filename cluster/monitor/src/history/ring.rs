//! Slots of equal time, the oldest overwritten.

use std::collections::VecDeque;

use super::packed::Packed;
use super::{Point, Resolution, Series};

#[derive(Clone, Debug)]
pub struct Ring {
    resolution: Resolution,
    /// Slots before the current one, oldest first, without a hole: gaps are slots, too.
    slots: VecDeque<Packed>,
    /// Number of the current slot since 1970; `None` before the first sample.
    current: Option<u64>,
    sum: Mean,
}

impl Ring {
    pub fn new(resolution: Resolution) -> Ring {
        // Exactly: one that grows by doubling takes up to twice its slots.
        let slots = VecDeque::with_capacity(resolution.slots);
        Ring { resolution, slots, current: None, sum: Mean::default() }
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
        // One place is the current slot's.
        if self.slots.len() + 1 >= self.resolution.slots {
            self.slots.pop_front();
        }
        self.slots.push_back(slot);
    }

    /// The clock was set back: the time that comes again is forgotten.
    fn back(&mut self, steps: u64) {
        self.sum.take();
        let keep = self.slots.len() as u64;
        self.slots.truncate(keep.saturating_sub(steps) as usize);
    }

    pub fn series(&self) -> Series {
        let Some(current) = self.current else {
            return Series { step_ms: self.resolution.step_ms, ..Series::default() };
        };
        let first = current.saturating_sub(self.slots.len() as u64);
        let mut series = Series {
            start_ms: first * self.resolution.step_ms,
            step_ms: self.resolution.step_ms,
            ..Series::default()
        };
        let last = Packed::new(&self.sum.clone().take());
        for slot in self.slots.iter().copied().chain([last]) {
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
