//! Rules of the specification that programs rely on, one by one.

use hpvm_portals::{
    Count, Counters, Effect, Entry, Event, EventKind, List, Message, NiFail, Operation, Options,
    Portal, Process, Refused, Register, Revision, Search, Settings, Triggered, Verdict,
};

const SETTINGS: Settings =
    Settings { flow_control: false, event_queue: true, max_list_size: 8, revision: Revision::V4_3 };

fn put(match_bits: u64, rlength: u64) -> Message {
    Message {
        operation: Operation::Put,
        initiator: Process { nid: 1, pid: 2, rank: 3 },
        uid: 0,
        match_bits,
        hdr_data: 0,
        rlength,
        remote_offset: 0,
    }
}

/// An entry of 100 bytes that takes puts with these bits.
fn takes(match_bits: u64, options: Options) -> Entry {
    let options = options | Options::OP_PUT;
    Entry { match_bits, ignore_bits: 0, ..Entry::list_entry(100, None, None, options, match_bits) }
}

/// Local offsets, which list entries have not.
fn local(match_bits: u64, min_free: u64, options: Options) -> Entry {
    let entry = takes(match_bits, Options::default());
    Entry { options: entry.options | Options::MANAGE_LOCAL | options, min_free, ..entry }
}

fn kinds(out: &mut Vec<Effect>) -> Vec<EventKind> {
    let event =
        |effect| if let Effect::Post(Event { kind, .. }) = effect { Some(kind) } else { None };
    std::mem::take(out).into_iter().filter_map(event).collect()
}

/// Takes a message whole; its offset and length.
fn deliver(portal: &mut Portal, message: Message, out: &mut Vec<Effect>) -> (u64, u64) {
    match portal.arrive(message, true, out) {
        Verdict::Deliver(d) => {
            assert!(portal.complete(d.id, NiFail::Ok, out));
            (d.offset, d.mlength)
        }
        Verdict::Refuse(fail) => panic!("refused: {fail:?}"),
    }
}

#[test]
fn an_append_that_finds_its_message_unlinks_itself_without_a_link() {
    let (mut portal, mut out) = (Portal::new(SETTINGS), Vec::new());
    portal.append(takes(5, Options::USE_ONCE), List::Overflow, &mut out).expect("room");
    deliver(&mut portal, put(5, 10), &mut out);
    assert_eq!(kinds(&mut out), [EventKind::Link, EventKind::Put, EventKind::AutoUnlink]);
    portal.append(takes(5, Options::USE_ONCE), List::Priority, &mut out).expect("room");
    let expected = [EventKind::PutOverflow, EventKind::AutoFree, EventKind::AutoUnlink];
    assert_eq!(kinds(&mut out), expected);
    assert!(portal.is_empty());
}

#[test]
fn a_message_on_its_way_is_told_of_when_it_is_there() {
    let (mut portal, mut out) = (Portal::new(SETTINGS), Vec::new());
    let overflow = portal.append(takes(5, Options::default()), List::Overflow, &mut out);
    let Verdict::Deliver(moving) = portal.arrive(put(5, 10), true, &mut out) else {
        panic!("refused")
    };
    let quiet = Options::USE_ONCE | Options::EVENT_UNLINK_DISABLE;
    let found = portal.append(takes(5, quiet), List::Priority, &mut out).expect("room");
    assert_eq!(kinds(&mut out), [EventKind::Link], "of the overflow entry");
    assert_eq!(portal.unlink(found), Err(Refused::NotLinked));
    assert_eq!(portal.unlink(overflow.expect("room")), Err(Refused::InUse));
    portal.complete(moving.id, NiFail::Ok, &mut out);
    assert!(out.contains(&Effect::Released(found)));
    assert_eq!(kinds(&mut out), [EventKind::Put, EventKind::PutOverflow]);
    assert_eq!(portal.unlink(overflow.expect("room")), Ok(()));
    assert!(portal.is_empty());
}

#[test]
fn local_offsets_and_min_free() {
    let (mut portal, mut out) = (Portal::new(SETTINGS), Vec::new());
    portal.append(local(1, 30, Options::default()), List::Overflow, &mut out).expect("room");
    assert_eq!(deliver(&mut portal, put(1, 40), &mut out), (0, 40));
    assert_eq!(deliver(&mut portal, put(1, 30), &mut out), (40, 30));
    assert_eq!(kinds(&mut out), [EventKind::Link, EventKind::Put, EventKind::Put]);
    assert_eq!(deliver(&mut portal, put(1, 1), &mut out), (70, 1));
    assert_eq!(kinds(&mut out), [EventKind::Put, EventKind::AutoUnlink]);
    let refused = portal.arrive(put(1, 1), true, &mut out);
    assert_eq!(refused, Verdict::Refuse(NiFail::Dropped));
    assert_eq!(NiFail::Dropped.register(), Register::DropCount);
    portal.search(takes(1, Options::EVENT_COMM_DISABLE), Search::Delete, &mut out);
    let over = EventKind::PutOverflow;
    assert_eq!(kinds(&mut out), [over, over, over, EventKind::AutoFree]);
}

#[test]
fn what_is_too_long_is_cut_or_goes_on_to_the_next_entry() {
    let (mut portal, mut out) = (Portal::new(SETTINGS), Vec::new());
    let whole = takes(1, Options::default());
    let whole = Entry { options: whole.options | Options::NO_TRUNCATE, ..whole };
    portal.append(whole, List::Priority, &mut out).expect("room");
    let refused = portal.arrive(put(1, 101), true, &mut out);
    assert_eq!(refused, Verdict::Refuse(NiFail::Dropped));
    portal.append(takes(1, Options::default()), List::Priority, &mut out).expect("room");
    assert_eq!(deliver(&mut portal, put(1, 101), &mut out), (0, 100));
    let beyond = Message { remote_offset: 150, ..put(1, 10) };
    assert_eq!(deliver(&mut portal, beyond, &mut out), (150, 0));
    let partly = Message { remote_offset: 95, ..put(1, 10) };
    assert_eq!(deliver(&mut portal, partly, &mut out), (95, 5));
}

#[test]
fn flow_control_reports_when_nothing_moves_any_more() {
    let settings = Settings { flow_control: true, ..SETTINGS };
    let (mut portal, mut out) = (Portal::new(settings), Vec::new());
    portal.append(takes(1, Options::EVENT_LINK_DISABLE), List::Overflow, &mut out).expect("room");
    let Verdict::Deliver(moving) = portal.arrive(put(1, 10), true, &mut out) else {
        panic!("refused")
    };
    let refused = Verdict::Refuse(NiFail::PtDisabled);
    assert_eq!(portal.arrive(put(1, 10), false, &mut out), refused);
    assert_eq!(portal.arrive(put(1, 10), true, &mut out), refused);
    assert_eq!(kinds(&mut out), []);
    portal.complete(moving.id, NiFail::Ok, &mut out);
    assert_eq!(kinds(&mut out), [EventKind::Put, EventKind::PtDisabled]);
    portal.enable();
    assert!(matches!(portal.arrive(put(1, 10), true, &mut out), Verdict::Deliver(_)));
}

#[test]
fn searches_end_as_the_revision_says() {
    for (revision, end) in [(Revision::V4_0, 0), (Revision::V4_3, 1)] {
        let settings = Settings { revision, ..SETTINGS };
        let (mut portal, mut out) = (Portal::new(settings), Vec::new());
        let mut counters = Counters::<()>::new();
        let ct = counters.alloc();
        portal.append(takes(1, Options::default()), List::Overflow, &mut out).expect("room");
        for _ in 0..3 {
            deliver(&mut portal, put(1, 1), &mut out);
        }
        out.clear();
        let seek = Entry { ct: Some(ct), ..takes(1, Options::EVENT_CT_OVERFLOW) };
        portal.search(seek, Search::Only, &mut out);
        assert_eq!(kinds(&mut out).len(), 3 + end);
        portal.search(seek, Search::Delete, &mut out);
        for effect in &out {
            if let Effect::Add { ct, count } = *effect {
                counters.inc(ct, count);
            }
        }
        assert_eq!(kinds(&mut out).len(), 3 + end);
        let counted = Count { success: 3 * end as u64, failure: end as u64 };
        assert_eq!(counters.get(ct), Some(counted));
        portal.search(seek, Search::Delete, &mut out);
        assert_eq!(kinds(&mut out), [EventKind::Search], "nothing is left");
    }
}

#[test]
fn thresholds_in_order_and_chains() {
    let mut counters = Counters::new();
    let (a, b) = (counters.alloc(), counters.alloc());
    let one = Count { success: 1, failure: 0 };
    for (threshold, name) in [(2, "c"), (1, "a"), (2, "d"), (9, "never")] {
        assert_eq!(counters.trigger(a, threshold, Triggered::Start(name)), Some(vec![]));
    }
    counters.trigger(a, 1, Triggered::Inc { ct: b, count: one });
    counters.trigger(b, 1, Triggered::Start("b"));
    counters.trigger(b, 1, Triggered::Set { ct: a, count: Count::default() });
    assert_eq!(counters.inc(a, one), ["a", "b"]);
    assert_eq!(counters.get(a), Some(Count::default()));
    assert_eq!(counters.inc(a, Count { success: 1, failure: 1 }), ["c", "d"]);
    assert_eq!(counters.trigger(a, 2, Triggered::Start("at once")), Some(vec!["at once"]));
    assert_eq!(counters.cancel(a), Some(vec![Triggered::Start("never")]));
    assert_eq!(counters.set(a, Count { success: 100, failure: 0 }), Vec::<&str>::new());
    assert_eq!(counters.free(b), Some(vec![]));
    assert_eq!(counters.trigger(b, 0, Triggered::Start("gone")), None);
}

mod counters_model {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Inc(u64, u64),
        Set(u64, u64),
        Trigger(u64),
        Cancel,
    }

    proptest! {
        #[test]
        fn as_a_list_sorted_each_time(
            steps in prop::collection::vec(prop_oneof![
                3 => (0u64..3, 0u64..2).prop_map(|(s, f)| Step::Inc(s, f)),
                1 => (0u64..9, 0u64..2).prop_map(|(s, f)| Step::Set(s, f)),
                5 => (0u64..20).prop_map(Step::Trigger),
                1 => Just(Step::Cancel),
            ], 0..50),
        ) {
            let mut counters = Counters::new();
            let ct = counters.alloc();
            let (mut value, mut waiting) = ((0, 0), Vec::<(u64, usize)>::new());
            for (serial, step) in steps.into_iter().enumerate() {
                let found = match step {
                    Step::Inc(success, failure) => {
                        value = (value.0 + success, value.1 + failure);
                        counters.inc(ct, Count { success, failure })
                    }
                    Step::Set(success, failure) => {
                        value = (success, failure);
                        counters.set(ct, Count { success, failure })
                    }
                    Step::Trigger(threshold) => {
                        waiting.push((threshold, serial));
                        counters.trigger(ct, threshold, Triggered::Start(serial)).expect("there")
                    }
                    Step::Cancel => {
                        waiting.clear();
                        counters.cancel(ct);
                        Vec::new()
                    }
                };
                waiting.sort();
                let sum = value.0 + value.1;
                let (due, rest): (Vec<_>, Vec<_>) = waiting.iter().partition(|w| w.0 <= sum);
                waiting = rest;
                prop_assert_eq!(found, due.iter().map(|w| w.1).collect::<Vec<_>>());
            }
        }
    }
}
