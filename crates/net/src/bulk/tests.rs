//! Real connections over loopback, through a proxy that breaks them.

use super::*;
use hpvm_transport::Holes;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const KEY: [u8; 16] = [9; 16];

fn now() -> u64 {
    crate::net::now()
}

fn listener() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

fn address(of: SocketAddr) -> Address {
    Address::new(of.ip(), of.port(), false, 0).unwrap()
}

/// Two processes, and where the second is to be found.
struct Pair {
    ends: [Streams; 2],
    ways: Vec<Address>,
}

impl Pair {
    fn new(settings: Settings) -> Pair {
        let listeners = [listener(), listener()];
        let ways = vec![address(listeners[1].local_addr().unwrap())];
        let mut rank = 0..;
        let ends =
            listeners.map(|l| Streams::new((rank.next().unwrap(), 2), &KEY, l, settings.clone()));
        Pair { ends, ways }
    }

    fn turn(&mut self) -> Result<bool, Nonsense> {
        let mut moved = false;
        for end in &mut self.ends {
            let ways = self.ways.clone();
            end.look(now());
            moved |= end.turn(now(), &mut |_| ways.clone())?;
        }
        Ok(moved)
    }

    /// Begins to move `from` from process `src` to `to` at the other.
    fn begin(&mut self, src: usize, number: u64, from: Memory, to: Memory, len: u64, room: u64) {
        let landing = Landing { memory: to, room, len, cookie: number };
        // SAFETY: the callers keep both buffers until both sides have ended.
        unsafe {
            self.ends[1 - src].receive(now(), src as u32, number, landing);
            self.ends[src].send(now(), (1 - src as u32, number), from, len);
        }
    }

    /// Until `streams` have come.
    fn finish(&mut self, streams: usize) {
        let start = Instant::now();
        let mut left = streams;
        while left > 0 {
            assert!(start.elapsed() < Duration::from_secs(120), "{}", self.ends[0].pending(1));
            if !self.turn().unwrap() {
                std::thread::yield_now();
            }
            for end in &mut self.ends {
                while let Some(ended) = end.done() {
                    left -= usize::from(matches!(ended, Streamed::Gone(_)));
                }
            }
        }
    }
}

fn noise(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(31) ^ (i >> 8) ^ seed) as u8).collect()
}

#[test]
fn streams_of_all_sizes_both_ways() {
    let mut pair = Pair::new(Settings::default());
    let lens = [1, 31, 4096, 65_536, 1 << 20, (5 << 20) + 3];
    let mut buffers: Vec<(Vec<u8>, Vec<u8>)> =
        lens.iter().chain(&lens).map(|len| (noise(*len, *len), vec![0; *len])).collect();
    for (number, (from, to)) in buffers.iter_mut().enumerate() {
        let len = from.len() as u64;
        let (from, to) = (Memory::Run(from.as_mut_ptr()), Memory::Run(to.as_mut_ptr()));
        pair.begin(number / lens.len(), number as u64, from, to, len, len);
    }
    pair.finish(buffers.len());
    assert!(buffers.iter().all(|(from, to)| from == to));
    assert!(!pair.ends[0].busy() || pair.turn().is_ok());
    assert_eq!(pair.ends[0].counters().connections, 1);
}

/// Every second byte.
struct Striped(*mut u8);

impl Holes for Striped {
    unsafe fn gather(&self, offset: u64, out: &mut [u8]) {
        for (i, byte) in out.iter_mut().enumerate() {
            // SAFETY: the test's buffers are twice as long as their packed size.
            *byte = unsafe { *self.0.add(2 * (offset as usize + i)) };
        }
    }

    unsafe fn scatter(&self, offset: u64, data: &[u8]) {
        for (i, byte) in data.iter().enumerate() {
            // SAFETY: as above.
            unsafe { *self.0.add(2 * (offset as usize + i)) = *byte };
        }
    }
}

#[test]
fn holes_and_truncated_landings() {
    let mut pair = Pair::new(Settings::default());
    let len = 700_001;
    let mut from = noise(2 * len, 5);
    let mut to = vec![0xee; 2 * len];
    let (source, landing) = (Striped(from.as_mut_ptr()), Striped(to.as_mut_ptr()));
    let (source, landing) = (Memory::Holes(Box::new(source)), Memory::Holes(Box::new(landing)));
    let room = 600_000;
    pair.begin(1, 7, source, landing, len as u64, room);
    pair.finish(1);
    for i in 0..len {
        let expected = if (i as u64) < room { from[2 * i] } else { 0xee };
        assert_eq!((to[2 * i], to[2 * i + 1]), (expected, 0xee), "byte {i}");
    }
}

/// What an end is told of streams that were opened: number and length.
fn openings(end: &mut Streams) -> Vec<(u64, u64)> {
    let mut openings = Vec::new();
    end.release(|_| 0, &mut |_, head, data| {
        assert_eq!((head, data.len()), (HEAD, 16));
        let word = |at: usize| u64::from_le_bytes(*data[at..].first_chunk().unwrap());
        openings.push((word(8), word(0)));
    });
    openings
}

const HEAD: Head = Head { handler: 3, flags: 1, aux: 2, imm: 77 };

#[test]
fn opened_streams_wait_for_their_place() {
    let mut pair = Pair::new(Settings::default());
    let (mut a, mut b) = (noise(100, 1), vec![0; 100]);
    let (from, to) = (Memory::Run(a.as_mut_ptr()), Memory::Run(b.as_mut_ptr()));
    pair.begin(0, 1, from, to, 100, 100);
    pair.finish(1);
    assert!(pair.ends[0].may_open(1));
    // Wholly unasked, in part, and not at all because the window is used up or forbids it.
    let lens = [100_000, 200_000, 3 << 20, 200_000, 3 << 20, 50];
    let mut buffers: Vec<_> = lens.iter().map(|len| (noise(*len, *len), vec![0; *len])).collect();
    for (number, (from, _)) in (2..).zip(&mut buffers) {
        let source = (Memory::Run(from.as_mut_ptr()), from.len() as u64);
        // SAFETY: the buffers outlive the streams.
        unsafe { pair.ends[0].open(now(), 1, (number, HEAD), source, (number != 7, 0)) };
    }
    let mut opened = Vec::new();
    let start = Instant::now();
    let mut copied = 0;
    while opened.len() < lens.len() || copied < 2 {
        assert!(start.elapsed() < Duration::from_secs(60));
        pair.turn().unwrap();
        opened.extend(openings(&mut pair.ends[1]));
        // What fits the window may be done with before it is received.
        copied += std::iter::from_fn(|| pair.ends[0].done()).count();
    }
    let expected: Vec<_> = (2..).zip(lens.map(|len| len as u64)).collect();
    assert_eq!(opened, expected, "in the order in which they were opened");
    for (index, (_, to)) in buffers.iter_mut().enumerate().rev() {
        let number = 2 + index as u64;
        let (memory, len) = (Memory::Run(to.as_mut_ptr()), to.len() as u64);
        let landing = Landing { memory, room: len, len, cookie: number };
        // SAFETY: as above.
        unsafe { pair.ends[1].receive(now(), 0, number, landing) };
    }
    pair.finish(lens.len() - copied);
    while !pair.ends.iter().all(Streams::is_quiet) {
        assert!(start.elapsed() < Duration::from_secs(60));
        pair.turn().unwrap();
    }
    assert!(buffers.iter().all(|(from, to)| from == to));
}

/// Passes connections on, and breaks them when they have carried `life` bytes.
fn proxy(to: SocketAddr, life: u64, stop: Arc<AtomicBool>, broke: Arc<AtomicU64>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        // Relaxed: a flag that orders nothing.
        while !stop.load(Ordering::Relaxed) {
            let Ok((near, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            near.set_nonblocking(false).unwrap();
            let far = TcpStream::connect(to).unwrap();
            let left = Arc::new(AtomicU64::new(life));
            for (mut a, mut b) in
                [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
            {
                let (left, broke) = (left.clone(), broke.clone());
                std::thread::spawn(move || {
                    let mut bytes = [0; 5000];
                    while let Ok(n @ 1..) = a.read(&mut bytes) {
                        let before = left.load(Ordering::Relaxed); // relaxed: as above
                        if before < n as u64 || b.write_all(&bytes[..n]).is_err() {
                            break;
                        }
                        left.fetch_sub(n as u64, Ordering::Relaxed); // relaxed: as above
                    }
                    broke.fetch_add(1, Ordering::Relaxed); // relaxed: a statistic
                    let _ = (a.shutdown(Shutdown::Both), b.shutdown(Shutdown::Both));
                });
            }
        }
    });
    address
}

#[test]
fn broken_connections_are_made_again_and_nothing_is_lost() {
    let settings =
        Settings { chunk: 64 << 10, pause: MS, longest_pause: 5 * MS, ..Settings::default() };
    let mut pair = Pair::new(settings);
    let to = pair.ways[0].socket_address().unwrap();
    let (stop, broke) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    // Two rails of different endurance.
    let lives = [700_000, 1_500_000];
    pair.ways = lives.map(|life| address(proxy(to, life, stop.clone(), broke.clone()))).to_vec();
    let mut buffers: Vec<(Vec<u8>, Vec<u8>)> =
        (0..8).map(|i| (noise((3 << 20) + i, i), vec![0; (3 << 20) + i])).collect();
    for (number, (from, to)) in buffers.iter_mut().enumerate() {
        let len = from.len() as u64;
        let (from, to) = (Memory::Run(from.as_mut_ptr()), Memory::Run(to.as_mut_ptr()));
        pair.begin(number % 2, number as u64, from, to, len, len);
    }
    pair.finish(buffers.len());
    stop.store(true, Ordering::Relaxed); // relaxed: see `proxy`
    assert!(buffers.iter().all(|(from, to)| from == to));
    let counters = pair.ends[0].counters();
    assert!(counters.broken > 5 && counters.resent > 0, "{counters:?}");
}

#[test]
fn strangers_do_no_harm_and_are_counted() {
    let settings = Settings { greeting: 50 * MS, ..Settings::default() };
    let mut pair = Pair::new(settings);
    let to = pair.ways[0].socket_address().unwrap();
    let mut open = Vec::new();
    for i in 0..40 {
        let mut stranger = TcpStream::connect(to).unwrap();
        let bytes = noise(i * 7, i);
        // Some say nothing, some too little, some too much.
        let _ = stranger.write_all(&bytes);
        open.push(stranger);
    }
    // One that knows the words but not the key.
    let mut liar = Pair::new(Settings::default());
    liar.ends[0] = Streams::new((0, 2), &[8; 16], listener(), Settings::default());
    liar.ways = pair.ways.clone();
    let (mut a, mut b) = (noise(3 << 20, 1), vec![0; 3 << 20]);
    let (from, to) = (Memory::Run(a.as_mut_ptr()), Memory::Run(b.as_mut_ptr()));
    pair.begin(0, 1, from, to, 3 << 20, 3 << 20);
    let mut c = noise(100, 2);
    // SAFETY: `c` outlives the liar.
    unsafe { liar.ends[0].send(now(), (1, 1), Memory::Run(c.as_mut_ptr()), 100) };
    let start = Instant::now();
    let counts = |s: &Streams| s.counters().strangers;
    while counts(&pair.ends[1]) < 40 || counts(&liar.ends[0]) < 1 {
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", pair.ends[1].counters());
        let ways = liar.ways.clone();
        liar.ends[0].turn(now(), &mut |_| ways.clone()).unwrap();
        pair.turn().unwrap();
    }
    pair.finish(1);
    assert_eq!(a, b);
    assert_eq!(liar.ends[0].counters().connections, 0);
}

#[test]
fn a_peer_out_of_reach_is_told_of_and_one_whose_kernel_takes_the_connection_is_not() {
    let mut pair = Pair::new(Settings::default());
    let there = pair.ways.clone();
    // Nobody listens there, and nobody else gets the port.
    let reserved = crate::ping::LivenessPort::reserve(false, None).unwrap();
    pair.ways = vec![address(([127, 0, 0, 1], reserved.port()).into())];
    let (mut a, mut b) = (noise(100, 1), vec![0; 100]);
    let (from, to) = (Memory::Run(a.as_mut_ptr()), Memory::Run(b.as_mut_ptr()));
    pair.begin(0, 1, from, to, 100, 100);
    let silent = |streams: &Streams, time| {
        let mut found = None;
        streams.silent(now(), time, |peer, _| found = Some(peer));
        found
    };
    let start = Instant::now();
    while silent(&pair.ends[0], 20 * MS) != Some(1) {
        assert!(start.elapsed() < Duration::from_secs(60));
        pair.turn().unwrap();
    }
    // Only its kernel is there: the process itself does nothing.
    pair.ways = there;
    while silent(&pair.ends[0], 0).is_some() {
        assert!(start.elapsed() < Duration::from_secs(60));
        let ways = pair.ways.clone();
        pair.ends[0].turn(now(), &mut |_| ways.clone()).unwrap();
    }
    pair.finish(1);
    assert_eq!(a, b);
}
