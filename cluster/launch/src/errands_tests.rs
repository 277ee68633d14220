//! Streams by hand and at random.

use super::*;
use proptest::prelude::*;

fn end(number: u32) -> End {
    End { node: Some(1), number }
}

fn here(number: u32) -> End {
    End { node: None, number }
}

fn acts(errands: &mut Errands) -> Vec<Act> {
    std::iter::from_fn(|| errands.poll_act()).collect()
}

fn say(to: End, bytes: &[u8]) -> Act {
    Act::Say { to, bytes: bytes.to_vec() }
}

fn request() -> Request {
    let word = |text: &str| OsString::from(text);
    Request {
        arguments: vec![word("-n"), word("2"), OsString::from_vec(vec![0xff, b' '])],
        variables: vec![(word("HPVM_A"), word("x=y"))],
    }
}

fn launch(rank: u32) -> Vec<u8> {
    let body = request().encode();
    [format!("launch t {rank} {}\n", body.len()).into_bytes(), body].concat()
}

#[test]
fn requests_are_read_as_they_were_written_and_nothing_else_is() {
    let bytes = request().encode();
    assert_eq!(Request::decode(&bytes), Ok(request()));
    for cut in 0..bytes.len() {
        assert!(Request::decode(&bytes[..cut]).is_err(), "{cut}");
    }
    let pair = |name: &str, value: &str| Request {
        arguments: Vec::new(),
        variables: vec![(name.into(), value.into())],
    };
    for bad in [pair("", "x"), pair("A=", "x"), pair("A", "\0")] {
        assert!(Request::decode(&bad.encode()).is_err(), "{bad:?}");
    }
}

/// In whatever order the three streams come, and however they are cut.
#[test]
fn a_launcher_is_started_when_all_its_streams_are_there() {
    let said: [(End, Vec<u8>); 3] =
        [(end(7), launch(3)), (end(8), b"port t\nearly".to_vec()), (end(9), b"life t\n".to_vec())];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        for cut in [1, 3, 1000] {
            let mut errands = Errands::default();
            for (from, bytes) in order.map(|place| &said[place]) {
                assert_eq!(acts(&mut errands), []);
                bytes.chunks(cut).for_each(|part| errands.said(*from, part, |rank, _| rank == 3));
            }
            let ends = [end(7), end(8), end(9)];
            assert_eq!(acts(&mut errands), [Act::Launch { ends, request: request(), rank: 3 }]);
            errands.launched(ends, Ok([here(0), here(1), here(2)]));
            assert_eq!(acts(&mut errands), [say(here(1), b"early")]);
            errands.said(here(0), b"error x\n", |_, _| false);
            errands.said(end(7), b"D", |_, _| false);
            assert_eq!(acts(&mut errands), [say(end(7), b"error x\n"), say(here(0), b"D")]);
            // An end is passed on; nothing is kept when both have come.
            for (from, to) in
                [(here(0), end(7)), (end(7), here(0)), (here(2), end(9)), (end(9), here(2))]
            {
                errands.said(from, &[], |_, _| false);
                assert_eq!(acts(&mut errands), [say(to, &[])]);
            }
            assert_eq!(
                (errands.uses.len(), errands.wanted.len()),
                (2, 0),
                "port and its other end"
            );
        }
    }
}

#[test]
fn a_rank_that_dies_meanwhile_ends_its_launcher() {
    let mut errands = Errands::default();
    errands.said(end(7), &launch(3), |_, _| true);
    errands.said(end(7), &[], |_, _| true);
    errands.said(end(8), b"port t\n", |_, _| true);
    errands.said(end(9), b"life t\n", |_, _| true);
    assert_eq!(acts(&mut errands).len(), 1);
    errands.launched([end(7), end(8), end(9)], Ok([here(0), here(1), here(2)]));
    assert_eq!(acts(&mut errands), [say(here(0), &[])], "its lifeline is cut");
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut errands = Errands::default();
    errands.said(end(7), &launch(3), |_, _| true);
    errands.said(end(8), b"port t\n", |_, _| true);
    errands.said(end(9), b"life t\n", |_, _| true);
    acts(&mut errands);
    let ends = [end(7), end(8), end(9)];
    errands.launched(ends, Err("no".into()));
    let text = b"error its launcher cannot be started: no\nended 1\n";
    assert_eq!(
        acts(&mut errands),
        [say(end(7), text), say(end(7), &[]), say(end(8), &[]), say(end(9), &[])]
    );
    // Of a rank that does not run there, of those who have spawned a job that was not, and what makes no sense.
    let long = vec![b'x'; LINE_MAX + 1];
    for bytes in [
        &launch(4)[..],
        b"parent\n",
        b"launch t x 3\n",
        b"what\n",
        b"launch t 3 99999999999\n",
        &long,
    ] {
        let mut errands = Errands::default();
        errands.said(end(1), bytes, |rank, _| rank == 3);
        assert_eq!(acts(&mut errands), [say(end(1), &[])]);
        errands.said(end(1), b"more\n", |_, _| true);
        assert_eq!(acts(&mut errands), []);
        errands.said(end(1), &[], |_, _| true);
        assert!(errands.uses.is_empty());
    }
}

#[test]
fn one_rank_reaches_those_who_have_spawned_the_job() {
    let mut errands = Errands::of_spawned(Some(here(0)));
    errands.said(here(0), b"before", |_, _| true);
    errands.said(end(1), b"parent\nhello", |_, _| true);
    assert_eq!(acts(&mut errands), [say(here(0), b"hello"), say(end(1), b"before")]);
    errands.said(end(2), b"parent\n", |_, _| true);
    assert_eq!(acts(&mut errands), [say(end(2), &[])]);
    errands.said(here(0), &[], |_, _| true);
    assert_eq!(acts(&mut errands), [say(end(1), &[])]);
}

#[test]
fn gateways_are_told_by_the_first_launcher_only() {
    let mut first = Errands::default();
    let mut later = Errands::of_spawned(None);
    let tell = |number: u32, line: &str| Act::Tell { number, line: line.into() };
    for number in 0..2 {
        let from = end(5 + number);
        for byte in b"space\nKEY 2 A,B;0x1,1x1\n0 card\n" {
            first.said(from, &[*byte], |_, _| true);
        }
        let (space, place) =
            (format!("space {number} KEY 2 A,B;0x1,1x1"), format!("place {number} 0 card"));
        assert_eq!(acts(&mut first), [tell(number, &space), tell(number, &place)]);
    }
    first.said(end(5), &[], |_, _| true);
    assert_eq!(acts(&mut first), [tell(0, "forget 0"), say(end(5), &[])]);
    later.said(end(5), b"space\nKEY", |_, _| true);
    assert_eq!(acts(&mut later), [Act::Reach { from: end(5) }]);
    later.reached(end(5), Some(here(3)));
    assert_eq!(acts(&mut later), [say(here(3), b"space\nKEY")]);
    later.said(end(6), b"space\n", |_, _| true);
    acts(&mut later);
    later.reached(end(6), None);
    assert_eq!(acts(&mut later), [say(end(6), &[])]);
}

/// A rank at one site reaches the port of a rank at another one, also if it calls before that one looks; else it is told at once.
#[test]
fn who_calls_a_port_is_joined_with_who_has_opened_it() {
    let mut errands = Errands::default();
    let mut hear = |from: End, bytes: &[u8]| {
        errands.said(from, bytes, |_, _| true);
        acts(&mut errands)
    };
    assert_eq!(hear(end(1), b"reach p\n"), [say(end(1), b"")], "it is not open yet");
    assert_eq!(hear(end(2), b"offer p\n"), [say(end(2), b"\n")]);
    assert_eq!(hear(end(3), b"offer p\n"), [say(end(3), b"")], "somebody else has it");
    assert_eq!(hear(end(4), b"reach p\nhello"), [say(end(4), b"\n"), say(end(2), b"0\n")]);
    assert_eq!(hear(end(5), b"reach p\n"), [say(end(5), b"\n"), say(end(2), b"1\n")]);
    assert_eq!(hear(end(6), b"reach p\n"), [say(end(6), b"\n"), say(end(2), b"2\n")]);
    assert_eq!(hear(end(4), b" you"), []);
    assert_eq!(hear(end(7), b"take p 0\n"), [say(end(7), b"hello you")]);
    assert_eq!(hear(end(7), b"yes"), [say(end(4), b"yes")]);
    for wrong in ["take p 0\n", "take p x\n", "take q 1\n"] {
        assert_eq!(hear(end(8), wrong.as_bytes()), [say(end(8), b"")], "{wrong}");
        assert_eq!(hear(end(8), b""), []);
    }
    // One goes before it is taken; of the other the port is closed. Those who speak with each other go on.
    assert_eq!(hear(end(5), b""), []);
    assert_eq!(hear(end(9), b"take p 1\n"), [say(end(9), b"")]);
    assert_eq!(hear(end(2), b""), [say(end(2), b""), say(end(6), b"")]);
    assert_eq!(hear(end(4), b"on"), [say(end(7), b"on")]);
    assert_eq!(hear(end(10), b"reach p\n"), [say(end(10), b"")]);
    assert!(errands.ports.is_empty());
}

#[test]
fn ports_of_spawned_jobs_are_known_to_the_first_launcher() {
    for words in [&b"offer p\n"[..], b"reach p\nhello", b"take p 0\n"] {
        let mut later = Errands::of_spawned(None);
        later.said(end(1), words, |_, _| true);
        assert_eq!(acts(&mut later), [Act::Reach { from: end(1) }]);
        later.reached(end(1), Some(here(3)));
        assert_eq!(acts(&mut later), [say(here(3), words)]);
    }
}

proptest! {
    /// Whatever streams say, each is told its end at most once as long as it has not ended itself, and nothing is kept of those that have.
    #[test]
    fn nothing_is_said_to_who_was_told_the_end(
        steps in prop::collection::vec((0..5u32, 0..12usize), 1..60),
    ) {
        let launch = launch(1);
        let words: [&[u8]; 12] = [
            b"offer p\n", b"reach p\n", b"take p 0\n", &launch, b"port t\n", b"life t\n", b"space\n", b"x y\n", b"k 2 A,B;0x2\n", b"parent\n", b"", b"",
        ];
        let mut errands = Errands::default();
        let (mut over, mut told, mut next) = (BTreeSet::new(), BTreeSet::new(), 0);
        let mut said = |errands: &mut Errands, from: End, bytes: &[u8], told: &mut BTreeSet<End>| {
            errands.said(from, bytes, |_, _| true);
            while let Some(act) = errands.poll_act() {
                match act {
                    Act::Say { to, bytes } if bytes.is_empty() => assert!(told.insert(to), "{to:?}"),
                    Act::Say { to, .. } => assert!(!told.contains(&to), "{to:?}"),
                    Act::Launch { ends, .. } => {
                        next += 3;
                        errands.launched(ends, Ok([here(next), here(next + 1), here(next + 2)]));
                    }
                    Act::Reach { .. } | Act::Tell { .. } => {}
                }
            }
        };
        for (number, word) in steps {
            let from = end(number);
            if over.contains(&from) {
                continue;
            }
            if words[word].is_empty() {
                over.insert(from);
            }
            said(&mut errands, from, words[word], &mut told);
        }
        // Everybody ends.
        let mut open: Vec<End> = errands.uses.keys().copied().filter(|end| !over.contains(end)).collect();
        open.retain(|end| !errands.ended.contains(end));
        open.into_iter().for_each(|from| said(&mut errands, from, &[], &mut told));
        let waiting = errands.uses.values().all(|kept| matches!(kept, Use::Waits(_)));
        prop_assert!(waiting, "{:?}", errands.uses);
    }
}
