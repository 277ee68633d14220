//! What a process decides about its links before it talks to anybody.

use hpvm_wire::datagram::{HEADER, MAX_SACKS, PART_HEADER, RECORD};

/// A millisecond, in the unit of every time of this crate.
pub(crate) const MS: u64 = 1_000_000;

/// A part of a datagram is a multiple of this, the last part excepted.
pub(crate) const PART_UNIT: usize = 512;

/// Sizes, windows and times. All processes of a job use the same `packet` and `share`; the rest may differ, but that everybody takes
/// `datagram` bytes: probes that are longer than a peer's `most_datagram` have no answer. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Largest payload of a packet, at most 65535.
    pub packet: usize,
    /// Largest datagram of the protocol that the path is believed to carry at first: the path's
    /// MTU less IP, UDP and whatever the caller puts in front. Its bytes are counted from the
    /// protocol's header on.
    pub datagram: usize,
    /// Larger datagrams than that are tried up to this size, from the first packet on, and used once the path has carried one; 0:
    /// none are.
    pub most_probed: usize,
    /// Largest datagram ever, sent or received; what a buffer holds. At least `datagram` and `most_probed`.
    pub most_datagram: usize,
    /// Smallest datagram: every path is believed to carry it.
    pub least_datagram: usize,
    /// Datagrams that a sender may have on their way without having been granted a window.
    pub share: u16,
    /// Most datagrams that one sender is granted.
    pub window: u16,
    /// Datagrams that all senders together are granted above their shares. Not more than the
    /// socket's receive buffer holds.
    pub receive_pool: u32,
    /// Buffers that all links together use for sending above what each may use anyway.
    pub send_pool: u32,
    /// Datagrams that wait for the window, per peer, and packets granted at once.
    pub queue: u16,
    /// Longest time that an acknowledgement waits for data to travel with.
    pub ack_delay: u64,
    /// Datagrams of data after which an acknowledgement no longer waits.
    pub ack_every: u16,
    /// Bounds of the first time that a sender waits for an acknowledgement before it sends again.
    pub least_timeout: u64,
    /// The time to wait doubles up to this.
    pub most_timeout: u64,
    /// After a loss the window grows by one for as many acknowledged datagrams as it has, or for so many if that is less. Above
    /// 0. Small: on a long path with a sender of its own that heeds the network, a window that grows by one per round trip
    /// would take minutes to fill it.
    pub slowest_growth: u32,
    /// How often it is looked at whether senders use the windows that they were granted: who has sent less than half of it
    /// since the last look loses half. More than the longest round trip, or a sender on a long path loses what it is filling.
    pub look_every: u64,
    /// How often a smaller datagram size tries to become larger.
    pub probe_interval: u64,
}

impl Default for Config {
    /// For Ethernet with an MTU of 1500 and 64 bytes of headers below and in front.
    fn default() -> Config {
        Config {
            packet: 16 << 10,
            datagram: 1436,
            most_probed: 0,
            most_datagram: 1436,
            least_datagram: 1136,
            share: 8,
            window: 256,
            receive_pool: 512,
            send_pool: 1024,
            queue: 16,
            ack_delay: MS / 2,
            ack_every: 16,
            least_timeout: 2 * MS,
            most_timeout: 100 * MS,
            slowest_growth: u32::MAX,
            look_every: 5 * MS,
            probe_interval: 1000 * MS,
        }
    }
}

impl Config {
    /// Err: two settings contradict each other; the text names them.
    pub fn check(&self) -> Result<(), String> {
        let least = HEADER + PART_HEADER + PART_UNIT.max(RECORD) + 8;
        let rules = [
            (self.packet <= 65535, "packet is above 65535"),
            (self.most_datagram <= 65535, "most_datagram is above 65535"),
            (self.least_datagram >= least, "least_datagram is below 552"),
            (self.datagram >= self.least_datagram, "datagram is below least_datagram"),
            (self.datagram <= self.most_datagram, "datagram is above most_datagram"),
            (self.most_probed <= self.most_datagram, "most_probed is above most_datagram"),
            (self.share >= 2, "share is below 2"),
            (self.window >= self.share, "window is below share"),
            (
                self.window as usize <= 64 * MAX_SACKS,
                "window is above 1024, which no acknowledgement describes",
            ),
            (self.queue >= 1 && self.queue <= 4096, "queue is not between 1 and 4096"),
            (self.ack_every >= 1, "ack_every is 0"),
            (self.least_timeout > 0, "least_timeout is 0"),
            (self.most_timeout >= self.least_timeout, "most_timeout is below least_timeout"),
            (self.slowest_growth > 0, "slowest_growth is 0"),
            (self.probe_interval > 0, "probe_interval is 0"),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, text)) => Err(format!("reliable: {text}: {self:?}")),
            None => Ok(()),
        }
    }

    /// Datagrams that a packet of `len` bytes takes at most when datagrams have `datagram` bytes.
    pub fn datagrams(&self, len: usize, datagram: usize) -> usize {
        (RECORD + len).div_ceil(datagram.saturating_sub(HEADER + RECORD).max(1)).max(1)
    }

    /// Send buffers that a link may use whatever the others do: the largest packet and the
    /// credits that may have been granted.
    pub fn guaranteed(&self) -> usize {
        self.datagrams(self.packet, self.least_datagram) + self.queue as usize
    }

    /// Datagram buffers that `links` links hold at most, sending and receiving.
    pub fn most_buffers(&self, links: usize) -> usize {
        let sending = self.send_pool as usize + links * self.guaranteed();
        let receiving = self.receive_pool as usize + links * self.share as usize;
        sending + receiving
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_sound_and_contradictions_are_named() {
        Config::default().check().expect("sound");
        let wrong = Config { share: 1, ..Config::default() };
        assert!(wrong.check().unwrap_err().contains("share is below 2"));
        let wrong = Config { datagram: 9000, ..Config::default() };
        assert!(wrong.check().unwrap_err().contains("above most_datagram"));
    }
}
