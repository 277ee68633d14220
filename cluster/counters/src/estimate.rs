//! What a value means that was counted for a part of the time only.
//!
//! An event that is counted in turns is a sample of itself: in each turn so many in so much time. The estimate for
//! the whole time is the rate of all turns together times the whole time, and its error follows from how much the
//! rates of the turns differ (the ratio estimator of survey sampling, with the correction for a finite population:
//! what was counted all the time has no error).

/// Standard errors to either side within which the true value lies in 95 of 100 cases.
const SURE: f64 = 1.96;

/// What the kernel says of an event so far; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub value: u64,
    /// Time that it was wanted.
    pub enabled: u64,
    /// Time that it was counted.
    pub running: u64,
}

impl Reading {
    /// Of two parts of one thing, as two threads.
    pub fn plus(self, other: Reading) -> Reading {
        Reading {
            value: self.value.saturating_add(other.value),
            enabled: self.enabled.saturating_add(other.enabled),
            running: self.running.saturating_add(other.running),
        }
    }
}

/// The readings of one event, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Series {
    last: Reading,
    /// Between how many readings it was counted.
    turns: u32,
    /// Sums over the turns: value squared, value times time, time squared.
    squares: f64,
    products: f64,
    times: f64,
}

/// An event over the whole time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// As counted.
    pub raw: u64,
    /// For the whole time; `None`: it was never counted, which is not the same as none.
    pub scaled: Option<f64>,
    /// Part of the time in which it was counted, 0 to 1.
    pub coverage: f64,
    /// The true value lies within so much of `scaled` in 95 of 100 cases; 0 for what was counted all the time. `None`: there
    /// were too few turns to say.
    pub error: Option<f64>,
    /// Nanoseconds, from which coverages are put together.
    pub enabled: u64,
    pub running: u64,
}

impl Series {
    /// The next reading. Readings only grow; one that does not is a fault of who reads, and changes nothing.
    pub fn push(&mut self, now: Reading) {
        let last = self.last;
        let less = now.value < last.value || now.enabled < last.enabled;
        if less || now.running < last.running {
            return;
        }
        let time = (now.running - last.running) as f64;
        if time > 0.0 {
            let value = (now.value - last.value) as f64;
            self.turns += 1;
            self.squares += value * value;
            self.products += value * time;
            self.times += time * time;
        }
        self.last = now;
    }

    /// What they say together.
    pub fn estimate(&self) -> Estimate {
        let Reading { value: raw, enabled, running } = self.last;
        // The kernel reads its clock twice, so the time counted may be longer by a moment.
        let running = running.min(enabled);
        let known = Estimate { raw, enabled, running, ..Estimate::default() };
        if running == 0 {
            return known;
        }
        let coverage = running as f64 / enabled as f64;
        let scaled = Some(raw as f64 / coverage);
        let error = if running == enabled { Some(0.0) } else { self.error(coverage) };
        Estimate { scaled, coverage, error, ..known }
    }

    fn error(&self, coverage: f64) -> Option<f64> {
        if self.turns < 2 {
            return None;
        }
        let turns = f64::from(self.turns);
        let rate = self.last.value as f64 / self.last.running as f64;
        let spread = self.squares - 2.0 * rate * self.products + rate * rate * self.times;
        // Rounding may leave a little less than nothing.
        let variance = spread.max(0.0) / (turns - 1.0);
        let mean_time = self.last.running as f64 / turns;
        let of_rate = ((1.0 - coverage) * variance / turns).sqrt() / mean_time;
        Some(SURE * of_rate * self.last.enabled as f64)
    }
}

impl Estimate {
    /// Of several processes together. Each is scaled by its own times; errors of different processes are independent. What was
    /// never counted in one of them is not known of all.
    pub fn sum(parts: impl IntoIterator<Item = Estimate>) -> Estimate {
        let mut all = Estimate { scaled: Some(0.0), error: Some(0.0), ..Estimate::default() };
        let mut any = false;
        for part in parts {
            // A process that did not run while it was looked at has counted nothing, and lacks nothing.
            if part.enabled == 0 {
                continue;
            }
            any = true;
            all.raw = all.raw.saturating_add(part.raw);
            all.enabled = all.enabled.saturating_add(part.enabled);
            all.running = all.running.saturating_add(part.running);
            all.scaled = all.scaled.zip(part.scaled).map(|(a, b)| a + b);
            all.error = all.error.zip(part.error).map(|(a, b)| (a * a + b * b).sqrt());
        }
        if !any {
            return Estimate::default();
        }
        all.coverage = all.running as f64 / all.enabled as f64;
        if all.scaled.is_none() {
            all.error = None;
        }
        all
    }
}

#[cfg(test)]
mod tests;
