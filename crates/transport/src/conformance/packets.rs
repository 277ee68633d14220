//! Packets arrive once each, in the order sent, unchanged.

use super::cluster::edge_sizes;
use super::{Attempt, Cluster, Fixture, MAX_IDLE_STEPS};
use crate::{Packets, Rank};
use hpvm_wire::Head;

/// Rank, size and limits are what they must be.
pub fn endpoints_know_themselves<F: Fixture>(fixture: &mut F) {
    for size in [1, 2, 5] {
        let ends = fixture.open(size);
        for (rank, end) in ends.iter().enumerate() {
            let limits = end.limits();
            assert_eq!((end.rank() as usize, end.size()), (rank, size));
            assert!(limits.inline <= limits.packet, "{limits:?}");
            assert!(limits.packet > 0, "{limits:?}");
        }
    }
}

/// Payloads of every size at which a transport may change its ways.
pub fn edge_sizes_arrive_unchanged<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    for len in edge_sizes(&c.ends[0]) {
        for _ in 0..20 {
            c.send(0, 1, len);
            c.send(1, 0, len);
        }
        c.deliver_all();
    }
}

/// Each value of each header field that a protocol may set.
pub fn every_header_arrives_unchanged<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    let plain = Head { handler: 0, flags: 0, aux: 0, imm: 0 };
    let mut heads: Vec<Head> = (0..=u8::MAX).map(|handler| Head { handler, ..plain }).collect();
    heads.extend((0..Head::TRANSPORT).map(|flags| Head { flags, ..plain }));
    heads.extend((0..16).map(|bit| Head { aux: 1 << bit, ..plain }));
    heads.extend((0..64).map(|bit| Head { imm: 1 << bit, ..plain }));
    heads.push(Head { handler: 255, flags: 127, aux: u16::MAX, imm: u64::MAX });
    // Small and large packets may keep their headers at different addresses.
    for len in [0, c.ends[0].limits().packet] {
        for head in &heads {
            let payload = c.dice.bytes(len);
            let sent = (0..MAX_IDLE_STEPS).any(|_| {
                c.poll(1, 16);
                c.fixture.turn();
                c.attempt_this(0, 1, *head, payload.clone()) == Attempt::Sent
            });
            assert!(sent, "no room for {head:?}");
        }
    }
    c.deliver_all();
}

/// A long stream of mixed sizes whose receiver comes and goes.
pub fn one_pair_stays_in_order<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    for _ in 0..3000 {
        let len = c.some_size();
        c.send(0, 1, len);
        if c.dice.below(8) == 0 {
            let budget = 1 + c.dice.below(20);
            c.poll(1, budget);
            c.fixture.turn();
        }
    }
    c.deliver_all();
}

/// Packets that may wait for the next one keep the order among others, and arrive also when nothing follows.
pub fn a_packet_that_may_wait_for_the_next_arrives<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    for round in 0..300 {
        for _ in 0..1 + c.dice.below(3) {
            let (len, with_next) = (c.some_size(), c.dice.below(2) == 0 || round % 2 == 0);
            let (head, payload) = (c.dice.head(), c.dice.bytes(len));
            let sent = (0..MAX_IDLE_STEPS).any(|_| {
                let packet = (head, payload.clone());
                let sent = c.attempt_so(0, 1, packet, with_next) == Attempt::Sent;
                if !sent {
                    c.poll(0, 16);
                    c.poll(1, 16);
                    c.fixture.turn();
                }
                sent
            });
            assert!(sent, "seed {}: no room for {len} bytes", c.fixture.seed());
        }
        c.deliver_all();
    }
}

/// Eight senders, one receiver, everybody at once.
pub fn many_senders_reach_one_receiver<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 9);
    let mut left = [300_usize; 8];
    let mut idle = 0;
    while left.iter().any(|n| *n > 0) {
        let mut moved = 0;
        for (sender, left) in left.iter_mut().enumerate() {
            if *left == 0 {
                continue;
            }
            let len = c.some_size();
            if c.attempt(sender as Rank + 1, 0, len) == Attempt::Sent {
                *left -= 1;
                moved += 1;
            }
        }
        moved += c.poll(0, 16);
        c.fixture.turn();
        idle = if moved > 0 { 0 } else { idle + 1 };
        assert!(idle < MAX_IDLE_STEPS, "seed {}: senders wait: {left:?}", c.fixture.seed());
    }
    c.deliver_all();
}

/// Everybody to everybody, themselves included, sizes and polls at random.
pub fn random_traffic_arrives<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 4);
    let mut left = 6000;
    let mut idle = 0;
    while left > 0 {
        let (src, dst) = (c.dice.below(4) as Rank, c.dice.below(4) as Rank);
        let len = c.some_size();
        let mut moved = 0;
        if c.attempt(src, dst, len) == Attempt::Sent {
            left -= 1;
            moved += 1;
        }
        let (rank, budget) = (c.dice.below(4) as Rank, 1 + c.dice.below(8));
        if c.dice.below(2) == 0 {
            moved += c.poll(rank, budget);
            c.fixture.turn();
        }
        idle = if moved > 0 { 0 } else { idle + 1 };
        assert!(idle < MAX_IDLE_STEPS, "seed {}: {left} packets find no room", c.fixture.seed());
    }
    c.deliver_all();
}

/// A packet to oneself, alone and in company.
pub fn a_process_reaches_itself<F: Fixture>(fixture: &mut F) {
    for size in [1, 3] {
        let mut c = Cluster::new(fixture, size);
        for rank in 0..size {
            for len in edge_sizes(&c.ends[0]) {
                c.send(rank, rank, len);
            }
        }
        c.deliver_all();
    }
}

/// Nothing comes when nothing was sent; credits alone are not packets.
pub fn a_silent_network_delivers_nothing<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 3);
    c.ends[0].take_credits(1);
    c.ends[2].take_credits(2);
    for _ in 0..100 {
        c.fixture.turn();
        for rank in 0..3 {
            assert_eq!(c.poll(rank, 16), 0);
        }
    }
}

/// A poll stops near its budget and later polls bring the rest.
pub fn poll_keeps_to_its_budget<F: Fixture>(fixture: &mut F) {
    /// Each packet counts at least so many bytes.
    const LEAST: usize = 64;
    let batch = fixture.batch();
    // So many that a poll which heeds no budget is seen.
    let many = (4 * batch).max(64);
    let mut c = Cluster::new(fixture, 2);
    for packets in [1, 2, 5] {
        let mut sent = 0;
        for _ in 0..6 * many {
            if sent < many && c.attempt(0, 1, 0) == Attempt::Sent {
                sent += 1;
            }
            c.fixture.turn();
        }
        assert!(sent > 0, "no packet found room");
        c.rest(2000);
        let mut idle = 0;
        while c.on_the_way() > 0 {
            let n = c.poll(1, packets * LEAST);
            assert!(n <= packets + batch, "{n} packets on a budget of {packets}");
            c.fixture.turn();
            idle = if n > 0 { 0 } else { idle + 1 };
            assert!(idle < MAX_IDLE_STEPS, "{} of {sent} packets never came", c.on_the_way());
        }
        c.deliver_all();
    }
}

/// While one sender is in the middle of a send, others reach the same receiver, and its own
/// packet comes once it has finished.
pub fn an_unfinished_send_blocks_nobody<F: Fixture>(fixture: &mut F) {
    let mut ends = fixture.open(3);
    let packet = ends[0].limits().packet;
    let [slow, quick, receiver] = &mut ends[..] else { panic!("the fixture made no 3 endpoints") };
    let (mut slow_credits, mut quick_credits) = (0, 0);
    for len in [1, packet, 1, packet] {
        let mut order = Vec::new();
        let mut patience = MAX_IDLE_STEPS;
        take_credit(slow, &mut slow_credits, fixture);
        // A refusal for want of a buffer uses up nothing: try again.
        while slow
            .send(2, Head::single(1, 1), len, |to| {
                to.fill(1);
                for imm in 2..5 {
                    take_credit(quick, &mut quick_credits, fixture);
                    quick.send(2, Head::single(1, imm), 0, |_| ()).expect("an empty packet");
                    quick_credits -= 1;
                    listen(receiver, &mut order, imm as usize - 1, fixture);
                }
                assert_eq!(order, [2, 3, 4], "what came during an unfinished send of {len} bytes");
            })
            .is_err()
        {
            patience -= 1;
            assert!(patience > 0, "no buffer for {len} bytes");
            fixture.turn();
        }
        slow_credits -= 1;
        listen(receiver, &mut order, 4, fixture);
        assert_eq!(order, [2, 3, 4, 1], "the packet of {len} bytes once its send has ended");
    }
}

/// Waits until there is a credit toward rank 2.
fn take_credit<F: Fixture>(end: &mut F::Endpoint, held: &mut u32, fixture: &mut F) {
    for _ in 0..MAX_IDLE_STEPS {
        if *held > 0 {
            return;
        }
        fixture.turn();
        *held = u32::from(end.take_credits(2));
    }
    panic!("seed {}: rank {} gets no credit toward 2", fixture.seed(), end.rank());
}

/// Polls until `order` has `wanted` entries or patience ends.
fn listen<F: Fixture>(
    receiver: &mut F::Endpoint,
    order: &mut Vec<u64>,
    wanted: usize,
    fixture: &mut F,
) {
    for _ in 0..MAX_IDLE_STEPS {
        if order.len() >= wanted {
            return;
        }
        fixture.turn();
        let outcome = receiver.poll(16, |_, head, _| order.push(head.imm));
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}
