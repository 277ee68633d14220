//! Links between a sender and a receiver in one process.

use super::incoming::Incoming;
use super::outgoing::{self, Carrier, Outgoing};
use super::segment::Segment;
use hpvm_pvm::Tid;
use hpvm_pvm::buffers::Head;
use hpvm_pvm::record;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};

struct ToChannel {
    to: Sender<(u32, Segment)>,
    /// Does not wait for a receiver that takes nothing.
    gives_up: bool,
}

/// More than all messages of a test have together.
const ENOUGH: u64 = 1 << 30;

impl Carrier for ToChannel {
    fn hand_over(
        &mut self,
        _: Tid,
        generation: u32,
        capacity: u64,
        file: OwnedFd,
    ) -> io::Result<()> {
        let segment = Segment::attach(&file, capacity)?;
        self.to.send((generation, segment)).map_err(|_| io::ErrorKind::ConnectionRefused.into())
    }
    fn ring(&mut self, _: Tid) {}
    fn rest(&mut self, _: Tid) -> io::Result<()> {
        if self.gives_up {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        std::thread::yield_now();
        Ok(())
    }
}

fn message(number: usize, len: usize) -> (Head, Vec<u8>) {
    let head = Head { target: 2, tag: number as i32, ..Head::default() };
    (head, (0..len).map(|at| (at * 7 + number) as u8).collect())
}

/// Takes `wanted` messages.
fn take(segments: &Receiver<(u32, Segment)>, wanted: usize) -> Vec<(Head, Vec<u8>)> {
    let (_, first) = segments.recv().expect("the first segment");
    let mut link = Incoming::new(1, first);
    let mut got = Vec::new();
    while got.len() < wanted {
        for (generation, segment) in segments.try_iter() {
            link.add(generation, segment);
        }
        let polled = link.poll(&mut |len| Some(Vec::with_capacity(len)), &mut |head, bytes| {
            got.push((head, bytes))
        });
        assert!(polled.is_ok());
        std::thread::yield_now();
    }
    got
}

fn lengths() -> Vec<usize> {
    let large = [100_000, 5_000_000, 1, 65_536, 1 << 20, 0, 3_000_000];
    (0..3000).map(|n| n % 700).chain(large).chain((0..500).map(|n| n * 13 % 9000)).collect()
}

fn check(got: &[(Head, Vec<u8>)]) {
    for (number, (len, (head, bytes))) in lengths().into_iter().zip(got).enumerate() {
        let (mut expected, data) = message(number, len);
        expected.source = 1;
        assert_eq!(*head, expected);
        assert!(*bytes == data, "message {number} of {len} bytes");
    }
}

#[test]
fn messages_of_all_lengths_arrive_in_order_while_the_receiver_reads() {
    let (to, segments) = channel();
    let sender = std::thread::spawn(move || {
        let mut carrier = ToChannel { to, gives_up: true };
        let mut link = Outgoing::open(2, ENOUGH, &mut carrier).expect("opens");
        for (number, len) in lengths().into_iter().enumerate() {
            let (head, data) = message(number, len);
            let (left, right) = data.split_at(len / 3);
            link.send(&head, &[left, &[], right], &mut carrier).expect("sends");
        }
    });
    check(&take(&segments, lengths().len()));
    sender.join().expect("the sender");
}

/// A sender sees where its receiver waits, and whether it sleeps.
#[test]
fn a_receiver_shows_itself() {
    let (to, segments) = channel();
    let mut carrier = ToChannel { to, gives_up: true };
    let link = Outgoing::open(2, ENOUGH, &mut carrier).expect("opens");
    let shown = |awake, processor, knows| outgoing::Receiver { awake, processor, knows };
    assert_eq!(link.receiver(), shown(true, 0, 0));
    let (_, segment) = segments.recv().expect("the first segment");
    let incoming = Incoming::new(1, segment);
    incoming.show(5, 3);
    assert!(incoming.arm(), "nothing is there");
    assert_eq!(link.receiver(), shown(false, 5, 3));
    incoming.disarm();
    assert_eq!(link.receiver(), shown(true, 5, 3));
}

#[test]
fn a_sender_does_not_wait_for_a_receiver_that_computes() {
    let (to, segments) = channel();
    let mut carrier = ToChannel { to, gives_up: true };
    let mut link = Outgoing::open(2, ENOUGH, &mut carrier).expect("opens");
    for (number, len) in lengths().into_iter().enumerate() {
        let (head, data) = message(number, len);
        link.send(&head, &[&data], &mut carrier).expect("sends");
    }
    drop((link, carrier));
    check(&take(&segments, lengths().len()));
}

/// With less than the messages have the sender waits, but not for ever: all arrive, also those longer than the limit.
#[test]
fn a_sender_waits_where_too_much_waits_for_the_receiver() {
    let (to, segments) = channel();
    let sender = std::thread::spawn(move || {
        let mut carrier = ToChannel { to, gives_up: false };
        let mut link = Outgoing::open(2, 1 << 20, &mut carrier).expect("opens");
        for (number, len) in lengths().into_iter().enumerate() {
            let (head, data) = message(number, len);
            link.send(&head, &[&data], &mut carrier).expect("sends");
        }
    });
    check(&take(&segments, lengths().len()));
    sender.join().expect("the sender");
}

/// Memory is bounded by the limit, give or take a fragment, and what was given up half-way is not seen.
#[test]
fn what_waits_for_a_receiver_that_takes_nothing_is_bounded() {
    const LIMIT: u64 = 3 << 20;
    let (to, segments) = channel();
    let mut carrier = ToChannel { to, gives_up: true };
    let mut link = Outgoing::open(2, LIMIT, &mut carrier).expect("opens");
    let mut sent = 0;
    loop {
        let (head, data) = message(sent, 100_000);
        match link.send(&head, &[&data], &mut carrier) {
            Ok(()) => sent += 1,
            Err(cause) => break assert_eq!(cause.kind(), io::ErrorKind::OutOfMemory),
        }
    }
    let bytes = sent as u64 * 100_000;
    assert!(bytes <= LIMIT && bytes > LIMIT - (1 << 19), "{bytes}");
    let (first, data) = message(77, 2_000_000);
    assert!(link.send(&first, &[&data], &mut carrier).is_err(), "a long one");
    // Some is taken, and there is room again: for the receiver's next message nothing of the broken one is left.
    let (_, segment) = segments.recv().expect("the first segment");
    let mut incoming = Incoming::new(1, segment);
    let mut got = Vec::new();
    let mut poll = |got: &mut Vec<(Head, Vec<u8>)>| {
        for (generation, segment) in segments.try_iter() {
            incoming.add(generation, segment);
        }
        let polled = incoming.poll(&mut |len| Some(Vec::with_capacity(len)), &mut |head, bytes| {
            got.push((head, bytes))
        });
        assert!(polled.is_ok());
    };
    poll(&mut got);
    let (last, data) = message(78, 200);
    link.send(&last, &[&data], &mut carrier).expect("room again");
    poll(&mut got);
    assert_eq!(got.len(), sent + 1);
    assert_eq!(got.last().map(|(head, bytes)| (head.tag, bytes.len())), Some((78, 200)));
}

#[test]
fn garbage_ends_a_link_and_not_the_process() {
    let (sender, file) = Segment::create(1 << 16).expect("memory");
    let words: [[u32; 2]; 5] =
        [[0, 0], [u32::MAX, record::FIRST], [8, record::MORE], [70_000, 1], [9, record::FIRST]];
    for garbage in words {
        let segment = Segment::attach(&file, 1 << 16).expect("attaches");
        // SAFETY: within the segment.
        unsafe { sender.at(0).cast::<[u32; 2]>().write(garbage) };
        sender.head().store(16, hpvm_sync::atomic::Ordering::Release);
        let mut link = Incoming::new(1, segment);
        assert!(
            link.poll(&mut |_| Some(Vec::new()), &mut |_, _| panic!("a message")).is_err(),
            "{garbage:?}"
        );
    }
    sender.head().store(1 << 40, hpvm_sync::atomic::Ordering::Release);
    let mut link = Incoming::new(1, Segment::attach(&file, 1 << 16).expect("attaches"));
    assert!(link.poll(&mut |_| Some(Vec::new()), &mut |_, _| panic!("a message")).is_err());
    assert!(Segment::attach(&file, 1 << 17).is_err(), "another size than it has");
}
