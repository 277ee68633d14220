//! What a peer writes is an allegation: packets that no correct peer sends, and handlers that no
//! correct program has.

use hpvm_fm::{Action, Fast, Fault, Head, RecvStream};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

const STREAM: u8 = 16;
const FIRST: u8 = Head::FIRST;
const LAST: u8 = Head::LAST;
/// The id with a handler; nothing else has one.
const KNOWN: u8 = 5;

type Log = Arc<Mutex<Vec<(u32, Vec<u8>)>>>;

/// A node of a job of three that logs whole messages for `KNOWN`.
fn node() -> (Fast, Log) {
    let mut fast = Fast::new(3, 1 << 14);
    let log = Log::default();
    let to = log.clone();
    fast.register(KNOWN, move |mut stream: RecvStream| {
        let to = to.clone();
        async move {
            let mut all = vec![0; 4096];
            let n = stream.receive(&mut all).await;
            all.truncate(n);
            to.lock().unwrap().push((stream.src(), all));
            Action::Continue
        }
    });
    (fast, log)
}

fn opening(number: u16, flags: u8, handler: u8, bound: u64) -> Head {
    Head { handler: STREAM, flags, aux: number, imm: bound << 8 | u64::from(handler) }
}

fn follow(number: u16, flags: u8, at: u64) -> Head {
    Head { handler: STREAM, flags, aux: number, imm: at }
}

fn is_corrupt(result: Result<Action, Fault>) -> bool {
    matches!(result, Err(Fault::Corrupt { .. }))
}

/// A correct message of node 1 arrives.
fn still_works(fast: &mut Fast, log: &Log) {
    let before = log.lock().unwrap().len();
    assert_eq!(fast.on_packet(1, opening(9, FIRST, KNOWN, 4), b"ab"), Ok(Action::Continue));
    assert_eq!(fast.on_packet(1, follow(9, LAST, 2), b"cd"), Ok(Action::Continue));
    let log = log.lock().unwrap();
    assert_eq!(log.len(), before + 1);
    assert_eq!(log[before], (1, b"abcd".to_vec()));
}

#[test]
fn unknown_handler_is_reported_once_per_message() {
    let (mut fast, log) = node();
    let fault = Fault::UnknownHandler { src: 1, handler: 7 };
    assert_eq!(fast.on_packet(1, opening(0, FIRST, 7, 100), b"x"), Err(fault.clone()));
    assert_eq!(fast.on_packet(1, follow(0, 0, 1), b"x"), Ok(Action::Continue));
    assert_eq!(fast.on_packet(1, follow(0, LAST, 2), b"x"), Ok(Action::Continue));
    assert_eq!(fast.on_packet(1, opening(1, FIRST | LAST, 7, 1), b"x"), Err(fault));
    assert_eq!(fast.counts().faults, 2);
    still_works(&mut fast, &log);
}

#[test]
fn lengths_numbers_offsets_and_ids_are_checked() {
    let (mut fast, log) = node();
    assert!(is_corrupt(fast.on_packet(3, opening(0, FIRST, KNOWN, 9), b"")));
    assert!(is_corrupt(fast.on_packet(1, Head { handler: 19, ..follow(0, 0, 0) }, b"")));
    assert!(is_corrupt(fast.on_packet(1, follow(0, LAST, 0), b"never began")));
    assert!(is_corrupt(fast.on_packet(1, opening(0, FIRST | LAST, KNOWN, 2), b"abc")));
    still_works(&mut fast, &log);
    assert!(fast.on_packet(1, opening(0, FIRST, KNOWN, 3), b"ab").is_ok());
    assert!(is_corrupt(fast.on_packet(1, follow(0, LAST, 2), b"cd")));
    still_works(&mut fast, &log);
    assert!(fast.on_packet(1, opening(0, FIRST, KNOWN, 9), b"ab").is_ok());
    assert!(is_corrupt(fast.on_packet(1, follow(1, 0, 2), b"c")));
    assert!(fast.on_packet(1, follow(0, LAST, 3), b"c").is_ok(), "the rest is discarded");
    still_works(&mut fast, &log);
    assert!(fast.on_packet(1, opening(0, FIRST, KNOWN, 9), b"ab").is_ok());
    assert!(is_corrupt(fast.on_packet(1, follow(0, LAST, 7), b"c")));
    still_works(&mut fast, &log);
    assert!(fast.on_packet(1, opening(0, FIRST, KNOWN, 9), b"ab").is_ok());
    assert!(is_corrupt(fast.on_packet(1, opening(1, FIRST, KNOWN, 9), b"ab")));
    assert!(fast.on_packet(1, follow(1, LAST, 2), b"").is_ok());
    still_works(&mut fast, &log);
}

#[test]
fn a_handler_that_waits_for_anything_else_is_ended() {
    let (mut fast, log) = node();
    fast.register(6, |_| async {
        std::future::pending::<()>().await;
        Action::Continue
    });
    let stalled = Err(Fault::HandlerStalled { src: 1, handler: 6 });
    assert_eq!(fast.on_packet(1, opening(0, FIRST, 6, 9), b"ab"), stalled);
    assert_eq!(fast.on_packet(1, follow(0, LAST, 2), b""), Ok(Action::Continue));
    assert_eq!(fast.on_packet(1, opening(1, FIRST | LAST, 6, 0), b""), stalled);
    still_works(&mut fast, &log);
}

#[test]
fn a_handler_that_panics_loses_its_message_only() {
    let (mut fast, log) = node();
    fast.register(6, |mut stream: RecvStream| async move {
        stream.receive(&mut [0; 3]).await;
        panic!("on purpose");
    });
    assert!(fast.on_packet(1, opening(0, FIRST, 6, 9), b"ab").is_ok());
    let mut call = || fast.on_packet(1, follow(0, 0, 2), b"c");
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut call)).is_err());
    assert!(fast.on_packet(1, follow(0, LAST, 3), b"d").is_ok());
    still_works(&mut fast, &log);
}

#[test]
fn a_stream_that_outlives_its_handler_gives_nothing() {
    let (mut fast, log) = node();
    let kept: Arc<Mutex<Vec<RecvStream>>> = Arc::default();
    let keeper = kept.clone();
    fast.register(6, move |stream| {
        keeper.lock().unwrap().push(stream);
        async { Action::Continue }
    });
    assert!(fast.on_packet(1, opening(0, FIRST | LAST, 6, 2), b"ab").is_ok());
    let mut stream = kept.lock().unwrap().pop().unwrap();
    let mut byte = [0; 2];
    let mut receive = std::pin::pin!(stream.receive(&mut byte));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let polled = receive.as_mut().poll(&mut context);
    assert_eq!(polled, std::task::Poll::Ready(0));
    still_works(&mut fast, &log);
}

fn any_packet() -> impl Strategy<Value = (u32, Head, Vec<u8>)> {
    let handler = prop_oneof![9 => Just(STREAM), 1 => any::<u8>()];
    let imm = prop_oneof![
        0_u64..8,
        (0_u64..40).prop_map(|bound| bound << 8 | u64::from(KNOWN)),
        any::<u64>(),
    ];
    let head = (handler, 0_u8..4, 0_u16..3, imm);
    (0_u32..4, head, proptest::collection::vec(any::<u8>(), 0..20)).prop_map(
        |(src, (handler, flags, aux, imm), bytes)| (src, Head { handler, flags, aux, imm }, bytes),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever comes: no panic, no message longer than announced, and a correct message of a
    /// node whose last message ended is delivered.
    #[test]
    fn any_packets(packets in proptest::collection::vec(any_packet(), 0..60), inbox in any::<bool>()) {
        let (mut fast, log) = node();
        if inbox {
            fast.register_inbox(6);
        }
        for (src, head, bytes) in packets {
            let _ = fast.on_packet(src, head, &bytes);
        }
        while let Some(arrival) = fast.next_arrival() {
            prop_assert!(arrival.bytes.len() as u64 <= arrival.bound && arrival.src < 3);
        }
        let _ = fast.on_packet(1, follow(0, LAST, 0), b"");
        still_works(&mut fast, &log);
    }
}
