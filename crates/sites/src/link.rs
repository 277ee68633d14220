//! The link between two sites: when a connection is tried, told that we live, taken for broken, and when the other site is
//! given up. Times are nanoseconds of a clock that never goes back.

const SECOND: u64 = 1_000_000_000;
/// Time between two signs of life on a connection over which nothing else goes.
pub const HEARTBEAT: u64 = SECOND / 2;
/// A connection over which nothing came for so long is made anew: the other gateway may have died with its host.
const SILENCE: u64 = 4 * SECOND;
/// Pauses between two tries: the first and the longest.
const FIRST_PAUSE: u64 = SECOND / 20;
const LONGEST_PAUSE: u64 = SECOND;
/// The gateway of the later site tries so much later, so that usually there is one connection and not two that replace each
/// other; where only it can reach the other, it is the one that does.
const SECOND_CHOICE: u64 = SECOND;

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing until then.
    Wait(u64),
    /// Try to connect.
    Connect,
    /// Send a sign of life.
    Tell,
    /// The connection is dead: close it.
    Close,
    /// There was no connection for so long: the other site is lost.
    GiveUp(u64),
}

/// One end of a link.
#[derive(Debug)]
pub struct Link {
    /// It is ours to connect first.
    first: bool,
    /// Time without a connection after which the other site is given up.
    limit: u64,
    connected: bool,
    /// When something last came, and last went.
    heard: u64,
    told: u64,
    /// Since when there is no connection.
    down_since: u64,
    next_try: u64,
    pause: u64,
}

impl Link {
    /// A link without a connection, from now on.
    pub fn new(first: bool, limit: u64, now: u64) -> Link {
        let next_try = if first { now } else { now + SECOND_CHOICE };
        Link {
            first,
            limit,
            connected: false,
            heard: now,
            told: now,
            down_since: now,
            next_try,
            pause: FIRST_PAUSE,
        }
    }

    /// There is a connection, of ours or of the other end's.
    pub fn connected(&mut self, now: u64) {
        (self.connected, self.heard, self.told) = (true, now, now);
        self.pause = FIRST_PAUSE;
    }

    /// There is none any more.
    pub fn broken(&mut self, now: u64) {
        if self.connected {
            self.connected = false;
            // What was heard last is the last that is known of the other site.
            self.down_since = self.heard.min(now);
            self.next_try = if self.first { now } else { now + SECOND_CHOICE };
        }
    }

    /// A try came to nothing.
    pub fn failed(&mut self, now: u64) {
        self.next_try = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// Something came over the connection.
    pub fn heard(&mut self, now: u64) {
        self.heard = now;
    }

    /// Something went over the connection.
    pub fn told(&mut self, now: u64) {
        self.told = now;
    }

    /// What is to be done.
    pub fn poll(&self, now: u64) -> Step {
        if self.connected {
            let (dead, due) = (self.heard + SILENCE.min(self.limit), self.told + HEARTBEAT);
            return match () {
                () if now >= dead => Step::Close,
                () if now >= due => Step::Tell,
                () => Step::Wait(dead.min(due)),
            };
        }
        let end = self.down_since + self.limit;
        match () {
            () if now >= end => Step::GiveUp(now - self.down_since),
            () if now >= self.next_try => Step::Connect,
            () => Step::Wait(end.min(self.next_try)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 10 * SECOND;

    #[test]
    fn tries_again_with_pauses_until_the_limit() {
        let mut link = Link::new(true, LIMIT, 0);
        let (mut now, mut tries) = (0, 0);
        loop {
            match link.poll(now) {
                Step::Wait(until) => now = until,
                Step::Connect => {
                    tries += 1;
                    link.failed(now);
                }
                Step::GiveUp(since) => {
                    assert_eq!((since, now), (LIMIT, LIMIT));
                    break;
                }
                other => panic!("{other:?} without a connection"),
            }
        }
        assert!((10..20).contains(&tries), "{tries}");
    }

    #[test]
    fn a_silent_connection_is_made_anew_and_a_lively_one_is_not() {
        let mut link = Link::new(false, LIMIT, 0);
        assert_eq!(link.poll(0), Step::Wait(SECOND_CHOICE));
        link.connected(5);
        assert_eq!(link.poll(5 + HEARTBEAT), Step::Tell);
        link.told(HEARTBEAT + 5);
        link.heard(3 * SECOND);
        assert_eq!(link.poll(6 * SECOND), Step::Tell);
        assert_eq!(link.poll(7 * SECOND), Step::Close);
        link.broken(7 * SECOND);
        // Its death is counted from the last sign of life.
        assert_eq!(link.poll(13 * SECOND), Step::GiveUp(10 * SECOND));
        link.connected(12 * SECOND);
        assert!(matches!(link.poll(13 * SECOND - 1), Step::Tell));
    }

    /// Two ends on a network that fails at random: as long as no cut lasts as long as the limit nobody gives up, and after
    /// each cut there is a connection again.
    #[test]
    fn cuts_shorter_than_the_limit_are_survived() {
        for seed in 1..200_u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut random = |most: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % most
            };
            let mut ends = [Link::new(true, LIMIT, 0), Link::new(false, LIMIT, 0)];
            let (mut up, mut toggle, mut joined) = (true, SECOND, false);
            for now in (0..200 * SECOND).step_by(20_000_000) {
                if now >= toggle {
                    up = !up;
                    // After a cut there is time for a connection.
                    toggle =
                        now + if up { 6 * SECOND + random(9 * SECOND) } else { random(4 * SECOND) };
                    if up {
                        assert!(!joined || now > 0)
                    }
                }
                for end in 0..2 {
                    match ends[end].poll(now) {
                        Step::Wait(_) => {}
                        Step::Connect if up => {
                            joined = true;
                            ends.iter_mut().for_each(|end| end.connected(now));
                        }
                        Step::Connect => ends[end].failed(now),
                        Step::Tell => {
                            ends[end].told(now);
                            if up && joined {
                                ends[1 - end].heard(now);
                            }
                        }
                        Step::Close => {
                            joined = false;
                            ends[end].broken(now);
                        }
                        Step::GiveUp(_) => panic!("seed {seed}: given up at {now}"),
                    }
                }
            }
        }
    }
}
