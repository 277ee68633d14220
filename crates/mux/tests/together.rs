//! Packets and datagrams: a packet that may wait for the next one shares its datagram, and a long one needs fewer where frames are large.

mod jobs;

use hpvm_mux::Mux;
use hpvm_net::MIN_STREAMED;
use hpvm_transport::{Head, Packets, Segment, Streams};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const PAIRS: u64 = 100;

/// The credits of rank 0 toward rank 1, and the datagrams that it has sent.
struct Sender {
    ends: Vec<Mux>,
    credits: u32,
    /// Packets that have come to rank 1 and were not waited for yet.
    came: usize,
}

impl Sender {
    fn new() -> Sender {
        Sender::among(jobs::open(2, 1))
    }

    fn among(ends: Vec<Mux>) -> Sender {
        let mut sender = Sender { ends, credits: 0, came: 0 };
        // The way is looked for with datagrams of its own.
        sender.send(40, false);
        sender.receive(1);
        while !sender.ends.iter().all(Mux::is_quiet) {
            sender.receive(0);
        }
        sender
    }

    fn send(&mut self, len: usize, with_next: bool) {
        // The receiver has polled, but the kernel may bring its acknowledgement later.
        let start = Instant::now();
        while self.credits == 0 {
            assert!(start.elapsed() < PATIENCE, "no credits toward a receiver that has polled");
            self.credits = u32::from(self.ends[0].take_credits(1));
            if self.credits == 0 {
                self.receive(0);
            }
        }
        let end = &mut self.ends[0];
        let (head, fill) = (Head::single(3, len as u64), |to: &mut [u8]| to.fill(7));
        let sent = match with_next {
            true => end.send_with_next(1, head, len, fill),
            false => end.send(1, head, len, fill),
        };
        sent.expect("there is a credit");
        self.credits -= 1;
    }

    /// Polls once, and until so many packets have come to rank 1.
    fn receive(&mut self, packets: usize) {
        let start = Instant::now();
        loop {
            self.ends[0].poll(4096, |_, _, _| ()).expect("a network that works");
            let came = &mut self.came;
            let polled = self.ends[1].poll(4096, |src, head, data| {
                *came += 1;
                assert_eq!((src, head.imm), (0, data.len() as u64));
                assert!(data.iter().all(|byte| *byte == 7));
            });
            polled.expect("a network that works");
            if self.came >= packets {
                self.came -= packets;
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{} of {packets} packets came", self.came);
        }
    }

    fn datagrams(&mut self) -> u64 {
        // `arm` shows them.
        self.ends[0].arm();
        self.ends[0].disarm();
        let all = self.ends[0].counters().expect("shared memory").read();
        all.iter().find(|(name, _)| *name == "datagrams_sent").expect("a counter of that name").1
    }

    /// How many datagrams packets of 4 KiB take.
    fn long_ones(&mut self) -> u64 {
        let mut before = 0;
        for packet in 0..2 * PAIRS {
            if packet == PAIRS {
                before = self.datagrams();
            }
            self.send(4096, false);
            self.receive(1);
        }
        self.datagrams() - before
    }

    /// How many datagrams pairs of packets take.
    fn pairs(&mut self, with_next: bool) -> u64 {
        let before = self.datagrams();
        for _ in 0..PAIRS {
            self.send(40, with_next);
            self.send(0, false);
            self.receive(2);
        }
        self.datagrams() - before
    }
}

#[test]
fn two_packets_leave_in_one_datagram() {
    let mut sender = Sender::new();
    let (together, apart) = (sender.pairs(true), sender.pairs(false));
    // A datagram that the kernel delivers late may be sent again.
    assert!(together < PAIRS + PAIRS / 2, "{PAIRS} pairs in {together} datagrams");
    assert!(apart >= 2 * PAIRS, "{PAIRS} times two packets in {apart} datagrams");
}

#[test]
fn a_long_packet_is_one_datagram_where_the_interface_has_large_frames() {
    let mut ordinary = Sender::new();
    let datagrams = ordinary.long_ones();
    let streams = |sender: &Sender, len| sender.ends[0].can_stream(1, len);
    assert!(streams(&ordinary, MIN_STREAMED));
    assert!(datagrams >= 3 * PAIRS, "{PAIRS} packets in {datagrams} ordinary datagrams");
    // The loopback interface's MTU is larger than any card's.
    let minute = 60_000_000_000;
    let mut large = Sender::among(jobs::open_one_machine(2, 1, minute));
    let datagrams = large.long_ones();
    // Nor need a message be a stream that is one datagram.
    assert!(!streams(&large, MIN_STREAMED) && !streams(&large, 8192) && streams(&large, 9000));
    assert!(datagrams < 2 * PAIRS, "{PAIRS} packets in {datagrams} large datagrams");
}
