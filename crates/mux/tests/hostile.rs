//! Networks and strangers that do their worst: nothing of it reaches the application.

mod jobs;

use hpvm_mux::Mux;
use hpvm_net::Card;
use hpvm_transport::conformance::Dice;
use hpvm_transport::{Broken, Head, Packets, Segment};
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Time in which a test that works has long ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two processes that send each other numbered packets of changing size and check what comes.
struct Talk {
    ends: Vec<Mux>,
    credits: [u16; 2],
    sent: [u64; 2],
    came: [u64; 2],
    /// Datagrams per packet are few or many.
    most: usize,
}

fn pattern(src: u32, number: u64, len: usize) -> Vec<u8> {
    Dice(u64::from(src) << 40 | number).bytes(len)
}

fn length(number: u64, most: usize) -> usize {
    (number as usize * 7919) % (most + 1)
}

impl Talk {
    fn new(ends: Vec<Mux>, most: usize) -> Talk {
        Talk { ends, credits: [0; 2], sent: [0; 2], came: [0; 2], most }
    }

    /// Each process sends what it can and polls once.
    fn turn(&mut self, packets: u64) {
        for me in 0..2 {
            if self.sent[me] < packets {
                self.send(me);
            }
            let (most, came) = (self.most, &mut self.came[me]);
            let polled = self.ends[me].poll(4096, |src, head, data| {
                assert_eq!((src as usize, head.imm), (1 - me, *came));
                assert!(data == pattern(src, *came, length(*came, most)), "packet {came}");
                *came += 1;
            });
            polled.expect("a network that works");
        }
    }

    fn send(&mut self, me: usize) {
        let end = &mut self.ends[me];
        if self.credits[me] == 0 {
            self.credits[me] = end.take_credits(1 - me as u32);
        }
        if self.credits[me] > 0 {
            let number = self.sent[me];
            let bytes = pattern(me as u32, number, length(number, self.most));
            let head = Head::single(3, number);
            if end.send(1 - me as u32, head, bytes.len(), |to| to.copy_from_slice(&bytes)).is_ok() {
                self.credits[me] -= 1;
                self.sent[me] += 1;
            }
        }
    }

    /// Sends `packets` each way and waits until all have come and are acknowledged. `meanwhile`
    /// runs every turn.
    fn exchange(&mut self, packets: u64, mut meanwhile: impl FnMut()) {
        let start = Instant::now();
        while self.came != [packets; 2] || !self.ends.iter().all(Mux::is_quiet) {
            self.turn(packets);
            meanwhile();
            assert!(start.elapsed() < PATIENCE, "{:?} of {packets} came", self.came);
        }
    }

    fn counter(&mut self, me: usize, name: &str) -> u64 {
        // `arm` shows them.
        self.ends[me].arm();
        self.ends[me].disarm();
        let all = self.ends[me].counters().expect("shared memory").read();
        all.iter().find(|(n, _)| *n == name).expect("a counter of that name").1
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A road between two processes on which everything goes wrong. Each process sees the other at one
/// of its sockets.
struct Road {
    sockets: [UdpSocket; 2],
    /// Where the processes are.
    to: [SocketAddr; 2],
    /// Datagrams that wait: receiver, turns that they still wait, bytes.
    held: VecDeque<(usize, u32, Vec<u8>)>,
    dice: Dice,
    /// Percent lost, doubled, held up; and all of them while `cut`.
    faults: [usize; 3],
    cut: bool,
    seen: Vec<Vec<u8>>,
}

impl Road {
    fn new(ports: [u16; 2], faults: [usize; 3], seed: u64) -> Road {
        let open = || {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            socket.set_nonblocking(true).expect("non-blocking");
            socket
        };
        Road {
            sockets: [open(), open()],
            to: ports.map(loopback),
            held: VecDeque::new(),
            dice: Dice(seed),
            faults,
            cut: false,
            seen: Vec::new(),
        }
    }

    /// The port at which process `me` is seen.
    fn port(&self, me: usize) -> u16 {
        self.sockets[me].local_addr().expect("bound").port()
    }

    fn turn(&mut self) {
        let mut buffer = vec![0; 65536];
        for to in 0..2 {
            while let Ok((len, _)) = self.sockets[to].recv_from(&mut buffer) {
                let datagram = buffer[..len].to_vec();
                if self.seen.len() < 1000 {
                    self.seen.push(datagram.clone());
                }
                let [lost, doubled, late] = self.faults;
                if self.cut || self.dice.below(100) < lost {
                    continue;
                }
                if self.dice.below(100) < doubled {
                    self.held.push_back((to, self.dice.below(50) as u32, datagram.clone()));
                }
                let wait = if self.dice.below(100) < late { self.dice.below(300) } else { 0 };
                self.held.push_back((to, wait as u32, datagram));
            }
        }
        for _ in 0..self.held.len() {
            let Some((to, wait, datagram)) = self.held.pop_front() else { break };
            match wait {
                0 => drop(self.sockets[1 - to].send_to(&datagram, self.to[to])),
                wait => self.held.push_back((to, wait - 1, datagram)),
            }
        }
    }
}

/// Two processes that reach each other on a road with these faults only.
fn on_a_road(faults: [usize; 3], seed: u64, timeout: u64) -> (Vec<Mux>, Road) {
    let mut road = None;
    let mut change = |rank: u32, mut cards: Vec<Card>| {
        let ports = [cards[0].port, cards[1].port];
        let road = road.get_or_insert_with(|| Road::new(ports, faults, seed));
        let other = 1 - rank as usize;
        cards[other].port = road.port(other);
        cards
    };
    let ends = jobs::open_with(2, 1, timeout, &mut change);
    (ends, road.expect("a job of two"))
}

#[test]
fn a_clean_network_carries_everything() {
    let mut talk = Talk::new(jobs::open(2, 1), 16384);
    talk.exchange(2000, || ());
    for me in 0..2 {
        assert_eq!(talk.counter(me, "strangers"), 0);
        assert!(talk.counter(me, "datagrams_sent") > 2000);
    }
}

#[test]
fn losses_doubles_and_disorder_are_invisible() {
    for (seed, faults) in
        [[5, 5, 5], [20, 0, 0], [0, 50, 0], [0, 0, 60], [30, 30, 30]].into_iter().enumerate()
    {
        let (ends, mut road) = on_a_road(faults, seed as u64, 60_000_000_000);
        let mut talk = Talk::new(ends, 5000);
        talk.exchange(150, || road.turn());
    }
}

#[test]
fn a_cut_of_some_seconds_only_delays() {
    let (ends, mut road) = on_a_road([0, 0, 0], 1, 60_000_000_000);
    let mut talk = Talk::new(ends, 3000);
    let start = Instant::now();
    talk.exchange(3000, || {
        let time = start.elapsed();
        let cut = time > Duration::from_millis(5) && time < Duration::from_secs(2);
        road.cut = cut;
        road.turn();
    });
}

#[test]
fn a_peer_that_is_cut_off_is_lost_after_the_timeout_and_not_before() {
    let timeout = 3_000_000_000;
    let (ends, mut road) = on_a_road([0, 0, 0], 1, timeout);
    let mut talk = Talk::new(ends, 100);
    // The last sign of life comes later.
    let start = Instant::now();
    talk.exchange(50, || road.turn());
    // The other end disappears as a whole: its kernel must not answer for it.
    drop(talk.ends.pop());
    talk.send(0);
    let broken = loop {
        road.turn();
        if let Err(broken) = talk.ends[0].poll(4096, |_, _, _| ()) {
            break broken;
        }
        assert!(start.elapsed() < 2 * PATIENCE, "a peer that is gone was never missed");
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(start.elapsed() >= Duration::from_nanos(timeout));
    assert!(matches!(broken, Broken::PeerLost { rank: 1, .. }), "{broken}");
    let text = broken.to_string();
    assert!(text.contains("1 packets") && text.contains("--net-timeout"), "{text}");
}

#[test]
fn a_peer_that_computes_is_not_lost() {
    let timeout = 2_000_000_000;
    let mut talk = Talk::new(jobs::open_with(2, 1, timeout, &mut |_, cards| cards), 100);
    talk.exchange(50, || ());
    talk.send(0);
    // Rank 1 does nothing for longer than the timeout; its kernel answers for it.
    let start = Instant::now();
    while start.elapsed() < Duration::from_nanos(2 * timeout) {
        talk.ends[0].poll(4096, |_, _, _| ()).expect("a peer that lives");
        std::thread::sleep(Duration::from_millis(1));
    }
    talk.exchange(51, || ());
}

/// One machine may be two hosts of a job under two names. A peer there that has never answered, because it computes, is asked
/// for at the address that is ours as well.
#[test]
fn a_peer_at_our_own_address_that_computes_from_the_start_is_not_lost() {
    let timeout = 2_000_000_000;
    let mut talk = Talk::new(jobs::open_one_machine(2, 1, timeout), 100);
    talk.send(0);
    let start = Instant::now();
    while start.elapsed() < Duration::from_nanos(2 * timeout) {
        talk.ends[0].poll(4096, |_, _, _| ()).expect("a peer that lives");
        std::thread::sleep(Duration::from_millis(1));
    }
    talk.exchange(51, || ());
}

/// What strangers may send who know how our datagrams look.
fn forge(dice: &mut Dice, seen: &[Vec<u8>]) -> Vec<u8> {
    let len = dice.below(1600);
    let mut datagram = match seen.len() {
        0 => dice.bytes(len),
        n => seen[dice.below(n)].clone(),
    };
    match dice.below(5) {
        0 => datagram = dice.bytes(len),
        1 => datagram.truncate(dice.below(datagram.len() + 1)),
        2 => {
            let bit = dice.below((datagram.len() * 8).max(1));
            datagram.resize(datagram.len().max(1), 0);
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
        3 => datagram.extend(dice.bytes(9)),
        // As it was: a replay.
        _ => {}
    }
    datagram
}

#[test]
fn strangers_on_the_port_change_nothing_and_are_counted() {
    let (ends, mut road) = on_a_road([2, 2, 2], 9, 60_000_000_000);
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut dice = Dice(77);
    let mut talk = Talk::new(ends, 2000);
    let mut sent = 0;
    talk.exchange(400, || {
        road.turn();
        for to in road.to {
            let forged = forge(&mut dice, &road.seen);
            drop(stranger.send_to(&forged, to));
            sent += 1;
        }
    });
    let counted = talk.counter(0, "strangers") + talk.counter(1, "strangers");
    assert!(counted > sent / 10, "{counted} of {sent} forgeries were counted");
    let dropped = talk.counter(0, "datagrams_dropped") + talk.counter(1, "datagrams_dropped");
    assert!(dropped > 0, "replays were counted");
}

#[test]
fn half_open_connections_do_no_harm() {
    let mut port = 0;
    let mut change = |_: u32, cards: Vec<Card>| {
        port = cards[1].port;
        cards
    };
    let mut talk = Talk::new(jobs::open_with(2, 1, 60_000_000_000, &mut change), 500);
    let mut open = Vec::new();
    talk.exchange(300, || {
        if open.len() < 60 {
            open.extend(std::net::TcpStream::connect(loopback(port)));
        }
    });
    assert!(open.len() == 60);
}

#[test]
fn cards_that_come_late_only_delay() {
    // The other tests of this file do not mind.
    jobs::LATE.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut talk = Talk::new(jobs::open(2, 1), 5000);
    talk.exchange(500, || {});
    jobs::LATE.store(false, std::sync::atomic::Ordering::Relaxed);
}
