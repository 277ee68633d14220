//! Two ends of a direct link in one process.

use super::meeting::{HELLO, check, hello};
use super::{Direct, Ended, Incoming, Outgoing, is_word};
use hpvm_pvm::buffers::Head;
use hpvm_pvm::protocol::{DIRECT_ASK, DIRECT_CARD, DIRECT_SWITCH, Mail};
use hpvm_pvm::record;
use hpvm_pvm::wire::Bytes;
use hpvm_pvm::{Tid, tid};
use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Time in which what happens at all has happened.
const PATIENCE: Duration = Duration::from_secs(100);

const A: Tid = 0x40001;
const B: Tid = 0x80001;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let sender = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    let receiver = listener.accept().expect("accepted").0;
    for stream in [&sender, &receiver] {
        stream.set_nonblocking(true).expect("a flag");
    }
    (sender, receiver)
}

fn message(number: usize, len: usize) -> (Head, Vec<u8>) {
    let head = Head { source: A, target: B, tag: number as i32, ..Head::default() };
    (head, (0..len).map(|at| (at * 7 + number) as u8).collect())
}

type Got = Vec<(Head, Vec<u8>)>;

fn poll(link: &mut Incoming, got: &mut Got) -> Result<(), Ended> {
    let mut memory = |len| (len < 1 << 30).then(|| Vec::with_capacity(len));
    link.poll(&mut memory, &mut |head, bytes| got.push((head, bytes)))
}

#[test]
fn messages_of_all_lengths_come_whole_and_in_their_order() {
    let (sender, receiver) = pair();
    let lengths = [0, 1, 39, 40, 41, 5000, 16344, 16345, 40000, 3 << 20, 7, 0, 9 << 20, 1];
    let (mut out, mut link, mut got) =
        (Outgoing::new(sender), Incoming::new(A, receiver), Vec::new());
    let mut waited = 0;
    for (number, len) in lengths.into_iter().enumerate() {
        let (head, bytes) = message(number, len);
        let (front, back) = bytes.split_at(len / 3);
        let sent = out.send(&head, &[front, &[], back], &mut |_| {
            waited += 1;
            assert!(poll(&mut link, &mut got).is_ok());
            Ok(())
        });
        sent.expect("sent");
    }
    drop(out);
    while poll(&mut link, &mut got).is_ok() {}
    let expected: Got = lengths.iter().enumerate().map(|(n, len)| message(n, *len)).collect();
    assert!(got == expected, "{} of {}", got.len(), expected.len());
    assert!(waited > 0, "more than a connection holds");
}

#[test]
fn a_message_that_cannot_be_waited_for_is_not_torn() {
    let (sender, receiver) = pair();
    let (mut out, mut link, mut got) =
        (Outgoing::new(sender), Incoming::new(A, receiver), Vec::new());
    let (head, bytes) = message(1, 32 << 20);
    let mut never = |_| Err(ErrorKind::OutOfMemory.into());
    assert!(out.send(&head, &[&bytes], &mut never).is_ok(), "it has begun");
    let (after, short) = message(2, 10);
    let refused = out.send(&after, &[&short], &mut never).map_err(|cause| cause.kind());
    assert_eq!(refused, Err(ErrorKind::OutOfMemory), "nothing of it is sent");
    let mut wait = |_| {
        assert!(poll(&mut link, &mut got).is_ok());
        Ok(())
    };
    assert!(out.send(&after, &[&short], &mut wait).is_ok());
    drop(out);
    while poll(&mut link, &mut got).is_ok() {}
    assert!(got == [(head, bytes), (after, short)], "{} messages", got.len());
}

#[test]
fn a_sender_that_ends_in_the_middle_is_forgotten_and_garbage_is_named() {
    let (mut sender, receiver) = pair();
    let (head, _) = message(1, 0);
    let (mut link, mut got) = (Incoming::new(A, receiver), Vec::new());
    sender.write_all(&record::encode(&head, 100)).expect("written");
    sender.write_all(&[1; 60]).expect("written");
    assert!(poll(&mut link, &mut got).is_ok());
    drop(sender);
    assert!(matches!(poll(&mut link, &mut got), Err(Ended::Gone)) && got.is_empty());
    for total in [1 << 30, record::MESSAGE_BYTES_MAX + 1, u64::MAX] {
        let (mut sender, receiver) = pair();
        let mut link = Incoming::new(A, receiver);
        sender.write_all(&record::encode(&head, total)).expect("written");
        assert!(matches!(poll(&mut link, &mut got), Err(Ended::Broken(_))), "{total}");
    }
}

#[test]
fn only_who_has_the_key_says_the_right_hello() {
    let (key, nonce) = ([3; 16], [4; 16]);
    let right = hello((A, B), nonce, &key);
    assert!(check(&right, (A, B), &key).is_some());
    for at in 0..HELLO {
        let mut wrong = right;
        wrong[at] ^= 1;
        assert!(check(&wrong, (A, B), &key).is_none(), "byte {at}");
    }
    assert!(check(&right, (A, B), &[5; 16]).is_none(), "another key");
    assert!(check(&right, (A, B + 1), &key).is_none(), "for another task");
}

/// Two tasks that can hear each other.
fn meet(a: &mut Direct, b: &mut Direct) {
    assert!(a.sent(B).is_none(), "a first message makes no link");
    let ask = a.sent(B).expect("the second does");
    assert!(is_word(&ask) && ask.tag == DIRECT_ASK && a.take(B).is_none());
    let card = b.heard(A, ask.tag, &ask.body.0).expect("a card");
    assert!(is_word(&card) && card.tag == DIRECT_CARD);
    assert!(a.heard(B, card.tag, &card.body.0).is_none());
    let since = Instant::now();
    let said = loop {
        b.look();
        let said = a.look();
        if !said.is_empty() {
            break said;
        }
        assert!(since.elapsed() < PATIENCE, "they do not meet");
    };
    let [(to, switch)] = said.as_slice() else { panic!("{} words", said.len()) };
    assert!(*to == B && is_word(switch) && switch.tag == DIRECT_SWITCH);
    assert_eq!(b.open().count(), 0, "nothing is read before the sender says so");
    assert!(b.heard(A, switch.tag, &switch.body.0).is_none());
    assert_eq!(b.open().count(), 1);
}

#[test]
fn two_tasks_meet_and_strangers_do_not() {
    let (mut a, mut b) = (Direct::new(A), Direct::new(B));
    meet(&mut a, &mut b);
    let (head, bytes) = message(1, 1000);
    let mut link = a.take(B).expect("a link");
    link.send(&head, &[&bytes], &mut |_| Ok(())).expect("sent");
    a.put(B, link);
    let mut got = Vec::new();
    let since = Instant::now();
    while got.is_empty() {
        assert!(poll(&mut b.incoming[0], &mut got).is_ok());
        assert!(since.elapsed() < PATIENCE, "it does not come");
    }
    assert!(got == [(head, bytes)]);
    // One without a key, one with a key of its own, one that says nothing.
    let port = b.listener.as_ref().expect("listening").local_addr().expect("bound").port();
    let call = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("connected");
    let (mut garbage, mut wrong, _silent) = (call(), call(), call());
    garbage.write_all(&[7; 100]).expect("written");
    assert!(b.heard(A, DIRECT_ASK, &[]).is_some());
    wrong.write_all(&hello((A, B), [1; 16], &[2; 16])).expect("written");
    let since = Instant::now();
    while b.callers.len() != 1 && since.elapsed() < PATIENCE {
        b.look();
    }
    assert_eq!((b.callers.len(), b.incoming.len()), (1, 1), "only the silent one is heard out");
    // The end of the receiver is noticed.
    drop(b);
    let since = Instant::now();
    while !a.ways.is_empty() {
        a.look();
        assert!(since.elapsed() < PATIENCE, "the way is kept");
    }
}

#[test]
fn an_address_at_which_somebody_else_answers_is_not_taken() {
    let mut a = Direct::new(A);
    assert!(a.sent(B).is_none() && a.sent(B).is_some());
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = other.local_addr().expect("bound").port();
    let card = [[9; 16].as_slice(), format!("{port},{port},,127.0.0.1/8").as_bytes()].concat();
    assert!(a.heard(B, DIRECT_CARD, &card).is_none());
    let (mut stream, _) = other.accept().expect("called");
    stream.write_all(&[0; 16]).expect("written");
    let since = Instant::now();
    while !a.unreachable.contains(&tid::host_of(B)) {
        assert!(a.look().is_empty() && since.elapsed() < PATIENCE);
    }
    assert!(a.take(B).is_none(), "messages go through the processes");
    // Nor is garbage in place of a card.
    for card in [&[][..], &[1; 16], b"0123456789abcdefno card"] {
        let mut a = Direct::new(A);
        assert!(a.sent(B).is_none() && a.sent(B).is_some());
        assert!(a.heard(B, DIRECT_CARD, card).is_none() && a.look().is_empty());
        assert!(a.take(B).is_none());
    }
}

#[test]
fn the_end_of_a_task_is_told_behind_what_it_has_sent() {
    let (mut a, mut b) = (Direct::new(A), Direct::new(B));
    meet(&mut a, &mut b);
    let told = |who: Tid, source| Mail {
        source,
        body: Bytes(who.to_ne_bytes().to_vec()),
        ..Mail::default()
    };
    let end = told(A, tid::FIRST_HOST);
    assert!(b.holds(&end, Instant::now(), false));
    assert!(!b.holds(&told(A, A), Instant::now(), false), "a message of a task");
    assert!(!b.holds(&told(A + 1, tid::FIRST_HOST), Instant::now(), false), "no link from it");
    // Nothing has come for long: it never will, unless it was not taken.
    let long_ago = Instant::now().checked_sub(Duration::from_secs(3)).expect("the clock runs");
    b.incoming[0].heard = Instant::now() + Duration::from_secs(1000);
    assert!(b.holds(&end, long_ago, false), "the link is young");
    b.incoming[0].heard = long_ago;
    assert!(b.holds(&end, long_ago, true), "the queue is full");
    assert!(!b.holds(&end, long_ago, false) && b.incoming.is_empty());
}

#[test]
fn who_does_not_want_links_makes_none_and_gets_none() {
    let mut a = Direct::new(A);
    a.allowed = false;
    assert!((0..9).all(|_| a.sent(B).is_none()));
    assert!(a.heard(B, DIRECT_ASK, &[]).is_none() && a.listener.is_none());
}
