//! Nodes in threads over real shared memory, with the calls that wait.

use hpvm_fm::{Action, Node, RecvStream};
use hpvm_shm::{Mapping, Shm};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const NODES: u32 = 4;
const ROUNDS: usize = 30;
const DATA: u8 = 1;
const ACK: u8 = 2;

/// Byte `i` of message `round`.
fn byte(from: u32, round: usize, i: usize) -> u8 {
    (i.wrapping_mul(31) ^ round.wrapping_mul(7) ^ from as usize) as u8
}

/// From nothing to a megabyte, around the edges of packets.
fn length(round: usize) -> usize {
    [0, 1, 40, 104, 105, 8191, 8192, 8193, 16384, 50_000, 1 << 20][round % 11]
}

fn register(node: &mut Node<Shm>, received: &Arc<AtomicU64>, acked: &Arc<AtomicU64>) {
    let received = received.clone();
    node.register(DATA, move |mut stream: RecvStream| {
        let received = received.clone();
        async move {
            let mut round = [0; 8];
            assert_eq!(stream.receive(&mut round).await, 8);
            let round = u64::from_le_bytes(round) as usize;
            let mut bytes = vec![0; length(round) + 1];
            let n = stream.receive(&mut bytes).await;
            assert_eq!(n, length(round));
            let src = stream.src();
            assert!(bytes[..n].iter().enumerate().all(|(i, b)| *b == byte(src, round, i)));
            stream.send(src, ACK, &[]).unwrap();
            received.fetch_add(1, Ordering::Relaxed);
            Action::Continue
        }
    });
    let acked = acked.clone();
    node.register(ACK, move |_| {
        acked.fetch_add(1, Ordering::Relaxed);
        async { Action::Continue }
    });
}

fn run(mut node: Node<Shm>) {
    let received = Arc::new(AtomicU64::new(0));
    let acked = Arc::new(AtomicU64::new(0));
    register(&mut node, &received, &acked);
    let me = node.rank();
    for round in 0..ROUNDS {
        let data: Vec<u8> = (0..length(round)).map(|i| byte(me, round, i)).collect();
        for dst in 0..NODES {
            let mut stream = node.begin_message(dst, data.len() + 8, DATA).unwrap();
            node.send_piece(&mut stream, &(round as u64).to_le_bytes()).unwrap();
            let (a, b) = data.split_at(data.len() / 3);
            node.send_piece(&mut stream, a).unwrap();
            node.send_piece(&mut stream, b).unwrap();
            node.end_message(stream).unwrap();
        }
    }
    let all = ROUNDS as u64 * u64::from(NODES);
    let done = |n: &Arc<AtomicU64>| n.load(Ordering::Relaxed) == all;
    let start = Instant::now();
    while !(done(&received) && done(&acked)) || node.split().1.replies().pending() {
        assert!(start.elapsed() < Duration::from_secs(120), "{received:?} and {acked:?} of {all}");
        if node.extract(usize::MAX).unwrap().packets == 0 {
            node.wait(Duration::from_millis(100));
        }
    }
    assert_eq!(node.split().1.counts().messages, 2 * all);
}

#[test]
fn all_to_all() {
    let mapping = Arc::new(Mapping::create(NODES, [1, 2]).unwrap());
    let barrier = Barrier::new(NODES as usize);
    std::thread::scope(|scope| {
        for rank in 0..NODES {
            let (mapping, barrier) = (mapping.clone(), &barrier);
            scope.spawn(move || {
                let mut shm = Shm::attach(mapping, rank).unwrap();
                barrier.wait();
                shm.settle();
                run(Node::new(shm));
            });
        }
    });
}
