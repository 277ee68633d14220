//! What the protocol does when, one property at a time.

mod pair;

use hpvm_reliable::{Config, Dropped, Head, Hub, Sent};
use pair::{Fate, MS, Pair, US};

#[test]
fn a_ping_pong_needs_one_datagram_per_message() {
    let mut p = Pair::new(Config::default());
    for round in 0..1000 {
        for end in [0, 1] {
            assert!(p.push(end, 8));
            p.transmit(end);
            while p.got[1 - end].len() < round + 1 {
                assert!(p.step());
            }
        }
    }
    for hub in &p.hubs {
        let c = hub.counters();
        assert_eq!((c.datagrams_sent, c.acks_sent, c.retransmitted), (1000, 0, 0), "{c:?}");
    }
}

#[test]
fn a_stream_needs_few_acknowledgements() {
    let mut p = Pair::new(Config::default());
    p.stream(20_000, 1000);
    let (sent, acks) = (p.hubs[0].counters(), p.hubs[1].counters());
    assert_eq!((sent.retransmitted, sent.timeouts), (0, 0), "{sent:?}");
    assert!(acks.acks_sent * 8 < sent.datagrams_sent, "{acks:?}");
}

#[test]
fn small_packets_share_datagrams_when_they_wait() {
    let mut p = Pair::new(Config { share: 2, window: 2, ..Config::default() });
    p.stream(10_000, 8);
    let sent = p.hubs[0].counters().datagrams_sent;
    assert!(sent < 2000, "{sent} datagrams");
}

#[test]
fn the_window_grows_for_those_who_talk() {
    let mut p = Pair::new(Config::default());
    p.delay = 100 * US;
    let first = p.stream(500, 1000);
    let later = p.stream(500, 1000);
    // 200 us for each round trip; with the share alone it would be 500 / 8 of them.
    assert!(first < 30 * 200 * US, "{first}");
    assert!(later <= 6 * 200 * US, "{later}");
}

#[test]
fn a_single_loss_costs_a_round_trip_and_no_timeout() {
    let mut p = Pair::new(Config::default());
    p.stream(200, 1000);
    let undisturbed = p.stream(200, 1000);
    let mut data = 0;
    p.fate = Box::new(move |_, from, bytes| {
        data += u32::from(from == 0 && bytes.len() > 1000);
        if from == 0 && data == 50 { Fate::Lose } else { Fate::Pass }
    });
    let disturbed = p.stream(200, 1000);
    let c = p.hubs[0].counters();
    assert_eq!((c.lost, c.retransmitted, c.timeouts), (1, 1, 0), "{c:?}");
    assert!(disturbed < 2 * undisturbed + 200 * US, "{disturbed} against {undisturbed}");
}

/// A process that computes does not answer; that is no reason to send slowly to it afterwards.
#[test]
fn a_peer_that_computes_is_not_a_network_that_loses() {
    let mut p = Pair::new(Config::default());
    p.stream(1000, 1000);
    let before = p.stream(1000, 1000);
    for _ in 0..5 {
        for _ in 0..16 {
            assert!(p.push(0, 1000));
        }
        p.transmit(0);
        // It does not look into its socket for a while; meanwhile the sender tries again.
        for _ in 0..30 {
            p.now += 20 * MS;
            p.transmit(0);
        }
        while !p.hubs[0].all_acknowledged() {
            assert!(p.step());
        }
    }
    let c = *p.hubs[0].counters();
    assert!(c.timeouts > 20 && c.retransmitted < 100, "{c:?}");
    assert_eq!((c.slowdowns, c.lost), (0, 0));
    // Its windows have shrunk with time; what the sender may do has not.
    p.stream(1000, 1000);
    let after = p.stream(1000, 1000);
    assert!(after < 2 * before, "{after} against {before}");
}

#[test]
fn a_lost_tail_costs_one_short_timeout() {
    let mut p = Pair::new(Config::default());
    p.stream(200, 8);
    let mut lose = true;
    p.fate = Box::new(move |_, _, _| match core::mem::take(&mut lose) {
        true => Fate::Lose,
        false => Fate::Pass,
    });
    let time = p.stream(1, 8);
    assert!(time < 3 * MS, "{time}");
    assert_eq!(p.hubs[0].counters().timeouts, 1);
}

#[test]
fn a_link_that_comes_back_resumes_at_once() {
    for down in [50 * MS, 1000 * MS, 5000 * MS] {
        let mut p = Pair::new(Config::default());
        p.stream(100, 1000);
        let back = p.now + down;
        p.fate = Box::new(move |now, _, _| if now < back { Fate::Lose } else { Fate::Pass });
        p.stream(300, 1000);
        let late = p.now - back;
        assert!(late < 110 * MS, "{late} ns after {down} ns");
        assert_eq!(p.got[1].len(), 400);
        let sent = p.hubs[0].counters().datagrams_sent;
        assert!(sent < 400 + 200, "{sent} datagrams, most of them in vain");
    }
}

#[test]
fn silence_is_told_with_what_is_pending() {
    let mut p = Pair::new(Config::default());
    p.stream(10, 8);
    p.fate = Box::new(|_, _, _| Fate::Lose);
    let since = p.now;
    assert!(p.push(0, 8) && p.push(0, 8));
    p.transmit(0);
    let silent = |hub: &Hub, now, timeout| {
        let mut all = Vec::new();
        hub.silent(now, timeout, |peer, pending| all.push((peer, pending.packets)));
        all
    };
    p.run_until(since + 900 * MS);
    assert_eq!(silent(&p.hubs[0], p.now, 1000 * MS), []);
    p.run_until(since + 1000 * MS);
    assert_eq!(silent(&p.hubs[0], p.now, 1000 * MS), [(1, 2)]);
    assert_eq!(silent(&p.hubs[1], p.now, 0), []);
    let mut heard = Vec::new();
    p.hubs[0].each_heard(|peer, at| heard.push((peer, at)));
    assert!(matches!(heard[..], [(1, 1..)]) && heard[0].1 <= since, "{heard:?}");
    assert!(!p.hubs[0].all_acknowledged());
    p.fate = Box::new(|_, _, _| Fate::Pass);
    p.run_until(p.now + 1000 * MS);
    assert!(p.hubs[0].all_acknowledged());
    assert_eq!(p.hubs[0].pending(1).packets, 0);
}

#[test]
fn a_path_that_becomes_narrow_is_noticed_and_so_is_its_recovery() {
    let config = Config { datagram: 4000, most_datagram: 4000, packet: 8192, ..Config::default() };
    for told in [false, true] {
        let mut p = Pair::new(config);
        p.stream(100, 8000);
        p.fate = Box::new(move |_, _, bytes| match (bytes.len() <= 1400, told) {
            (true, _) => Fate::Pass,
            (false, true) => Fate::TooLarge(1400),
            (false, false) => Fate::Lose,
        });
        let time = p.stream(300, 8000);
        assert!(time < 3000 * MS, "{time}");
        let c = *p.hubs[0].counters();
        assert!(c.size_lowered > 0, "{c:?}");
        // Now the size is found: nothing more is lost but probes.
        p.stream(300, 8000);
        let c = *p.hubs[0].counters();
        let before = c.timeouts;
        p.fate = Box::new(|_, _, _| Fate::Pass);
        while p.now < 200_000 * MS {
            p.stream(20, 8000);
            p.now += 100 * MS;
        }
        let (sent, timeouts) = (p.hubs[0].counters().datagrams_sent, p.hubs[0].counters().timeouts);
        p.stream(100, 8000);
        let large = p.hubs[0].counters().datagrams_sent - sent;
        assert!(large < 100 * 3 + 30, "{large} datagrams for 100 packets of 2 and a bit");
        assert!(timeouts <= before + 2, "{timeouts} after {before}");
    }
}

#[test]
fn a_path_that_carries_more_is_used_until_it_becomes_narrow() {
    let config = Config { most_probed: 8900, most_datagram: 8900, ..Config::default() };
    for len in [1300, 3000, 5000, 16_000] {
        let mut p = Pair::new(config);
        p.stream(20, 8000);
        let sent = p.hubs[0].counters().datagrams_sent;
        p.stream(100, 8000);
        let large = p.hubs[0].counters().datagrams_sent - sent;
        assert!(large <= 110, "{large} datagrams for 100 packets that fit");
        p.fate = Box::new(|_, _, bytes| if bytes.len() <= 1200 { Fate::Pass } else { Fate::Lose });
        let time = p.stream(300, len);
        assert!(time < 3000 * MS, "{time} for packets of {len} bytes");
    }
}

#[test]
fn a_size_that_the_caller_learns_late_costs_no_timeout() {
    let config = Config { datagram: 4000, most_datagram: 4000, packet: 8192, ..Config::default() };
    let mut p = Pair::new(config);
    p.stream(100, 8000);
    p.fate = Box::new(|_, _, bytes| if bytes.len() <= 1400 { Fate::Pass } else { Fate::Lose });
    let start = p.now;
    assert!(p.push(0, 8000));
    p.transmit(0);
    p.hubs[0].set_datagram(1, 1400);
    p.transmit(0);
    while !p.hubs[0].all_acknowledged() {
        assert!(p.step());
    }
    assert!(p.now - start < MS, "{}", p.now - start);
    assert_eq!(p.hubs[0].counters().timeouts, 0);
    assert_eq!(p.got[1].len(), 101);
}

#[test]
fn one_receiver_of_many_keeps_to_its_pool() {
    let config = Config { share: 4, window: 64, receive_pool: 100, ..Config::default() };
    let senders = 200_u32;
    let mut receiver = Hub::new(config, senders).expect("sound");
    let mut hubs: Vec<Hub> =
        (0..senders).map(|_| Hub::new(config, senders).expect("sound")).collect();
    let mut now = MS;
    let mut delivered = 0;
    let mut windows_exceeded = false;
    for _ in 0..200 {
        let mut on_the_way = 0;
        let mut road = Vec::new();
        for (rank, hub) in hubs.iter_mut().enumerate() {
            for _ in 0..hub.grant(0) {
                hub.push(now, 0, Head::single(1, 1), 1000, |room| room.fill(1)).expect("a credit");
            }
            hub.transmit(now, &mut |_, bytes| {
                on_the_way += 1;
                road.push((rank as u32, bytes.to_vec()));
                Sent::Taken
            });
        }
        // What is permitted beyond what has come: the shares and the pool, and while windows
        // shrink what was permitted before.
        windows_exceeded |= on_the_way > 4 * senders + 2 * 100;
        now += 10 * US;
        for (rank, bytes) in road {
            let outcome = receiver.on_datagram(now, rank, &bytes, &mut |_, _| delivered += 1);
            assert!(outcome.is_ok());
        }
        now += 10 * US;
        receiver.transmit(now, &mut |rank, bytes| {
            let _ = hubs[rank as usize].on_datagram(now, 0, bytes, &mut |_, _| ());
            Sent::Taken
        });
        assert!(receiver.memory() <= Hub::bound(&config, senders, receiver.links()));
    }
    assert!(delivered > 200 * 200, "{delivered}");
    assert!(!windows_exceeded);
}

#[test]
fn idle_links_give_their_windows_and_memory_back() {
    let config = Config { receive_pool: 64, window: 64, share: 4, ..Config::default() };
    let mut p = Pair::new(config);
    p.delay = 100 * US;
    p.stream(500, 1000);
    let (busy, now) = (p.hubs[1].memory(), p.now);
    for hub in &mut p.hubs {
        for i in 1..2000 {
            hub.transmit(now + i * 5 * MS, &mut |_, _| Sent::Taken);
        }
    }
    p.now += 11_000 * MS;
    assert!(p.hubs[1].memory() <= busy);
    let before = p.hubs[0].counters().datagrams_sent;
    assert!((0..60).all(|_| p.push(0, 1000) || before > 0));
    p.transmit(0);
    // What was promised while the link was busy is not taken back, but no more is promised.
    assert!(p.hubs[0].counters().datagrams_sent - before <= 64);
    p.run_until(p.now + 100 * MS);
    assert!(p.hubs[0].all_acknowledged());
}

#[test]
fn a_full_socket_is_tried_again() {
    let mut hub = Hub::new(Config::default(), 2).expect("sound");
    let credits = hub.grant(1);
    assert!(credits > 2);
    for _ in 0..3 {
        hub.push(MS, 1, Head::single(1, 1), 1300, |_| ()).expect("a credit");
    }
    let mut calls = 0;
    let sent = hub.transmit(MS, &mut |_, _| {
        calls += 1;
        if calls == 2 { Sent::Later } else { Sent::Taken }
    });
    assert_eq!((sent, calls, hub.has_work(MS)), (1, 2, true));
    assert_eq!(hub.transmit(MS, &mut |_, _| Sent::Taken), 2);
    assert!(!hub.has_work(MS));
}

#[test]
fn contracts_are_kept_by_refusal() {
    let mut hub = Hub::new(Config::default(), 4).expect("sound");
    assert!(hub.push(MS, 1, Head::single(1, 1), 8, |_| panic!("filled")).is_err());
    assert!(hub.grant(1) > 0);
    assert!(hub.push(MS, 1, Head::single(1, 1), 16385, |_| panic!("filled")).is_err());
    assert!(hub.push(MS, 1, Head::single(1, 1), 16384, |_| ()).is_ok());
    assert_eq!(hub.links(), 1);
    assert!(Hub::new(Config { share: 0, ..Config::default() }, 4).is_err());
    let nothing = hub.on_datagram(MS, 2, b"short", &mut |_, _| panic!("delivered"));
    assert_eq!(nothing, Err(Dropped::Garbage));
}

/// A path that is long against its datagrams: 20 ms, and one loss early on.
#[test]
fn on_a_long_path_the_window_grows_back_as_fast_as_it_is_told_to() {
    let took = |slowest_growth| {
        let config = Config {
            window: 1024,
            receive_pool: 2048,
            send_pool: 2048,
            most_timeout: 1000 * MS,
            slowest_growth,
            ..Config::default()
        };
        let mut pair = Pair::new(config);
        pair.delay = 20 * MS;
        let mut seen = 0;
        pair.fate = Box::new(move |_, from, _| {
            seen += u32::from(from == 0);
            if from == 0 && (100..104).contains(&seen) { Fate::Lose } else { Fate::Pass }
        });
        let time = pair.stream(1500, 16 << 10);
        assert!(pair.hubs[0].counters().slowdowns > 0);
        time
    };
    let (slow, fast) = (took(u32::MAX), took(8));
    assert!(fast * 2 < slow, "{fast} and {slow} ns");
    assert!(Config { slowest_growth: 0, ..Config::default() }.check().is_err());
}

/// A path of 40 ms in each direction on which 1436 bytes take 120 us: a sender that goes on keeps the whole window, though a
/// round trip is what it takes to fill it.
#[test]
fn on_a_long_path_the_window_stays_open() {
    let took = |look_every| {
        let config = Config {
            window: 1024,
            receive_pool: 2048,
            send_pool: 2048,
            most_timeout: 1000 * MS,
            look_every,
            ..Config::default()
        };
        let mut pair = Pair::new(config);
        pair.delay = 40 * MS;
        pair.gap = 120_000;
        (pair.stream(2400, 16 << 10), pair.hubs[0].counters().slowdowns)
    };
    // Datagrams alone take 3.3 s; the rest goes until the window is open.
    let ((kept, slowdowns), (taken, _)) = (took(1000 * MS), took(5 * MS));
    assert_eq!(slowdowns, 0, "nothing is lost");
    assert!(kept < 3900 * MS, "{kept} ns");
    assert!(taken > kept * 5 / 4, "{taken} and {kept} ns");
}
