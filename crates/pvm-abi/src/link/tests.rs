//! Links between a sender and a receiver in one process.

use super::incoming::{Extent, Incoming, Stopped};
use super::outgoing::{self, Carrier, Outgoing};
use super::segment::Segment;
use hpvm_pvm::Tid;
use hpvm_pvm::buffers::{ANY, Head, Pattern};
use hpvm_pvm::posted::Posted;
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

/// Takes what is there.
fn poll(link: &mut Incoming, got: &mut Vec<(Head, Vec<u8>)>) {
    let mut memory = |len| Some(Vec::with_capacity(len));
    let mut sink = |head, bytes| got.push((head, bytes));
    assert!(link.poll(&mut memory, &mut sink, Extent::Everything, None).is_ok());
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
        poll(&mut link, &mut got);
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
        (expected.source, expected.stamp) = (1, head.stamp);
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

/// A call that does not wait takes one message, whatever else is there.
#[test]
fn the_next_message_is_taken_alone() {
    let (to, segments) = channel();
    let mut carrier = ToChannel { to, gives_up: true };
    let mut link = Outgoing::open(2, ENOUGH, &mut carrier).expect("opens");
    for number in 0..3 {
        let (head, data) = message(number, 10 * number);
        link.send(&head, &[&data], &mut carrier).expect("sends");
    }
    let (_, segment) = segments.recv().expect("the first segment");
    let mut incoming = Incoming::new(1, segment);
    let mut got = Vec::new();
    for taken in [1, 2, 3, 3] {
        let mut memory = |len| Some(Vec::with_capacity(len));
        let mut sink = |head, bytes| got.push((head, bytes));
        assert!(incoming.poll(&mut memory, &mut sink, Extent::Next, None).is_ok());
        assert_eq!(got.len(), taken);
    }
    assert!(!incoming.is_ready());
}

/// Also where the end of the ring is left out, and in the segments behind the first one.
#[test]
fn when_the_next_message_was_sent_is_known_before_it_is_taken() {
    let (to, segments) = channel();
    let mut carrier = ToChannel { to, gives_up: true };
    let mut link = Outgoing::open(2, ENOUGH, &mut carrier).expect("opens");
    let (_, segment) = segments.recv().expect("the first segment");
    let mut incoming = Incoming::new(1, segment);
    let mut got: Vec<(Head, Vec<u8>)> = Vec::new();
    let mut last = 0;
    for part in lengths().chunks(1700) {
        for (number, len) in part.iter().enumerate() {
            let (head, data) = message(number, *len);
            link.send(&head, &[&data], &mut carrier).expect("sends");
        }
        for (generation, segment) in segments.try_iter() {
            incoming.add(generation, segment);
        }
        for _ in part {
            let stamp = incoming.next_stamp().expect("a message is there");
            let mut memory = |len| Some(Vec::with_capacity(len));
            let mut sink = |head, bytes| got.push((head, bytes));
            assert!(incoming.poll(&mut memory, &mut sink, Extent::Next, None).is_ok());
            assert_eq!(got.pop().map(|(head, _)| head.stamp), Some(stamp));
            assert!(stamp >= last, "a later message has a lower stamp");
            last = stamp;
        }
        assert_eq!(incoming.next_stamp(), None);
    }
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
    segments.try_iter().for_each(|(generation, segment)| incoming.add(generation, segment));
    poll(&mut incoming, &mut got);
    let (last, data) = message(78, 200);
    link.send(&last, &[&data], &mut carrier).expect("room again");
    segments.try_iter().for_each(|(generation, segment)| incoming.add(generation, segment));
    poll(&mut incoming, &mut got);
    assert_eq!(got.len(), sent + 1);
    assert_eq!(got.last().map(|(head, bytes)| (head.tag, bytes.len())), Some((78, 200)));
}

fn is_garbled(link: &mut Incoming) -> bool {
    let mut sink = |_, _| panic!("a message");
    link.poll(&mut |_| Some(Vec::new()), &mut sink, Extent::Everything, None).is_err()
}

#[test]
fn garbage_ends_a_link_and_not_the_process() {
    let (sender, file) = Segment::create(1 << 16).expect("memory");
    let words: [[u32; 2]; 6] = [
        [0, 0],
        [u32::MAX, record::FIRST],
        [8, record::MORE],
        [70_000, 1],
        [9, record::FIRST],
        [0, record::SKIP],
    ];
    for garbage in words {
        let segment = Segment::attach(&file, 1 << 16).expect("attaches");
        // SAFETY: within the segment.
        unsafe { sender.at(0).cast::<[u32; 2]>().write(garbage) };
        sender.head().store(16, hpvm_sync::atomic::Ordering::Release);
        assert!(is_garbled(&mut Incoming::new(1, segment)), "{garbage:?}");
    }
    sender.head().store(1 << 40, hpvm_sync::atomic::Ordering::Release);
    let mut link = Incoming::new(1, Segment::attach(&file, 1 << 16).expect("attaches"));
    assert!(is_garbled(&mut link));
    assert!(Segment::attach(&file, 1 << 17).is_err(), "another size than it has");
}

/// A receive with memory of its own takes messages one by one, whether they are there before it or come while it waits.
#[test]
fn receives_take_messages_straight_to_their_memory() {
    const COUNT: usize = 400;
    let len = |number: usize| [0, 7, 3000, 40_000, 1 << 20][number % 5] + number;
    let (to, segments) = channel();
    let sender = std::thread::spawn(move || {
        let mut carrier = ToChannel { to, gives_up: false };
        let mut link = Outgoing::open(2, 8 << 20, &mut carrier).expect("opens");
        for number in 0..COUNT {
            let (head, data) = message(number, len(number));
            link.send(&head, &[&data], &mut carrier).expect("sends");
        }
    });
    let (_, first) = segments.recv().expect("the first segment");
    let (mut link, mut memory, mut queued) =
        (Incoming::new(1, first), vec![0; 2 << 20], Vec::new());
    for number in 0..COUNT {
        let pattern = Pattern { source: 1, tag: ANY, context: 0 };
        // SAFETY: the memory is there as long as the receive.
        let mut posted = unsafe { Posted::new(pattern, memory.as_mut_ptr(), memory.len(), 1) };
        while posted.got().is_none() && queued.is_empty() {
            segments.try_iter().for_each(|(generation, segment)| link.add(generation, segment));
            let mut sink = |head, bytes| queued.push((head, bytes));
            let mut room = |len| Some(Vec::with_capacity(len));
            let polled = link.poll(&mut room, &mut sink, Extent::OneMessage, Some(&mut posted));
            let stopped = polled.is_ok_and(|stopped| stopped == Stopped::Early);
            assert_eq!(posted.got().is_some() || !queued.is_empty(), stopped);
            std::thread::yield_now();
        }
        let (mut expected, data) = message(number, len(number));
        let (head, got) = match (posted.got(), queued.pop()) {
            (Some((head, len)), None) => (head, memory[..len].to_vec()),
            (None, Some(message)) => message,
            _ => panic!("two messages"),
        };
        (expected.source, expected.stamp) = (1, head.stamp);
        assert_eq!(head, expected);
        assert!(got == data, "message {number}");
    }
    sender.join().expect("the sender");
}

/// Once a receiver that lagged behind follows again, the link goes on in the part of its memory that is hot.
#[test]
fn a_link_that_has_grown_is_used_from_its_start() {
    let (to, segments) = channel();
    let mut carrier = ToChannel { to, gives_up: true };
    let mut link = Outgoing::open(2, ENOUGH, &mut carrier).expect("opens");
    let mut sent = 0;
    let mut send = |count: usize| {
        for _ in 0..count {
            let (head, data) = message(sent, 1 << 20);
            link.send(&head, &[&data], &mut carrier).expect("sends");
            sent += 1;
        }
        link.offset()
    };
    assert!(send(8) > 1 << 20, "the receiver takes nothing");
    let (_, first) = segments.recv().expect("the first segment");
    let (mut incoming, mut got) = (Incoming::new(1, first), Vec::new());
    for _ in 0..20 {
        segments.try_iter().for_each(|(generation, segment)| incoming.add(generation, segment));
        poll(&mut incoming, &mut got);
        // Where half a message would be beyond, the receiver had to be waited for.
        assert!(send(1) <= 2 << 20);
    }
    segments.try_iter().for_each(|(generation, segment)| incoming.add(generation, segment));
    poll(&mut incoming, &mut got);
    assert_eq!(got.len(), 28);
    for (number, (head, bytes)) in got.iter().enumerate() {
        assert!(head.tag == number as i32 && *bytes == message(number, 1 << 20).1, "{number}");
    }
}
