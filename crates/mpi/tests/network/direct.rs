//! Receives without a request, packet by packet.

use hpvm_fm::{Broken, Head, Packets};
use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::pt2pt::protocol::{EAGER, FRAGMENT, FRAGMENT_HEAD, MessageHead, envelope};
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Comm, Group, Process, Received, ReqId};
use hpvm_sim::{Config, Network, SimTransport};
use std::sync::Arc;

type P = Process<SimTransport>;

/// Sends `bytes` from rank 0 to rank 1 with tag 5.
fn send(p: &mut P, comm: &Comm, bytes: &[u8], mode: Mode) -> Option<ReqId> {
    let out = Outgoing { buf: bytes.as_ptr(), count: bytes.len() as i64, ty: Datatype::byte() };
    // SAFETY: the callers keep the bytes to the end.
    match unsafe { p.send(out, 1, comm.context(Channel::User), 5, mode, None) } {
        Started::Done => None,
        Started::Pending(id) => Some(id),
    }
}

/// What a blocking receive of rank 1 comes to in one poll, before it waits.
fn recv(p: &mut P, comm: &Arc<Comm>, buffer: &mut [u8]) -> Result<Received, Broken> {
    let (buf, count, ty) = (buffer.as_mut_ptr(), buffer.len() as i64, Datatype::byte());
    let (into, pattern) = (Incoming { buf, count, ty }, Pattern { src: 0, tag: 5 });
    // SAFETY: the callers keep the buffer to the end.
    unsafe {
        match p.recv_polling(into, comm, pattern, 1) {
            Some(status) => Ok(Received::Done(status)),
            None => p.recv_after_polling(into, comm, pattern),
        }
    }
}

#[test]
fn a_synchronous_message_takes_nothing_from_what_is_kept() {
    let network = Network::new(Config::calm(2));
    let (mut a, mut b) = (Process::new(network.endpoint(0)), Process::new(network.endpoint(1)));
    let comms = [0, 1].map(|rank| Comm::intra(CONTEXTS * 2, Group::run(0, 2), rank).unwrap());
    let (world, bytes) = (a.world().clone(), [7; 3000]);
    assert!(send(&mut a, &world, &bytes, Mode::Standard).is_none());
    network.settle();
    b.progress().unwrap();
    let kept = b.kept_of(0);
    assert!(kept >= 3000);

    let sent = send(&mut a, &comms[0], &bytes, Mode::Synchronous).unwrap();
    network.settle();
    let mut buffer = [0; 3000];
    let Ok(Received::Pending(id)) = recv(&mut b, &comms[1], &mut buffer) else {
        panic!("the sender has to be told");
    };
    b.progress().unwrap();
    network.settle();
    a.progress().unwrap();
    assert!(b.take_outcome(id).is_some() && a.take_outcome(sent).is_some());
    assert_eq!(buffer, bytes);
    assert_eq!(b.kept_of(0), kept, "the other message is kept still, whole");
}

/// What a receive at rank 1 comes to when `first` and `bytes` bytes in pieces came from rank 0, all at
/// once.
fn received(first: u8, prefix: MessageHead, bytes: usize) -> Result<Received, Broken> {
    let network = Network::new(Config { fragment: Some(3000), ..Config::calm(2) });
    let (mut a, mut b) = (network.endpoint(0), Process::new(network.endpoint(1)));
    let comm = b.world().clone();
    let head = Head::single(first, envelope(comm.context(Channel::User), 5));
    let rest = Head::single(FRAGMENT, prefix.number);
    assert!(a.take_credits(1) > 0);
    let prefix = prefix.to_bytes();
    a.send_fragments(1, Some((head, &prefix)), rest, bytes, |_, out, _| out.fill(1)).unwrap();
    network.settle();
    recv(&mut b, &comm, &mut [0; 10_000])
}

#[test]
fn a_violation_that_comes_with_the_message_is_told() {
    let long = MessageHead { len: 9000, number: 1 };
    assert!(matches!(received(FRAGMENT_HEAD, long, 9000), Ok(Received::Pending(_))));
    let short = MessageHead { len: 8200, ..long };
    let pending = received(FRAGMENT_HEAD, short, 9000);
    assert!(matches!(pending, Err(Broken::Corrupt(_))), "{pending:?}");
    // The message is whole, what follows belongs to none.
    let done = received(EAGER, long, 9000);
    assert!(matches!(done, Err(Broken::Corrupt(_))), "{done:?}");
}

/// A rank that has sent more than its share, finalized and stopped polling gives no credits any more.
#[test]
fn nobody_needs_a_word_to_somebody_who_has_ended() {
    let network = Network::new(Config { credits: 2, ..Config::calm(2) });
    let (mut a, mut b) = (Process::new(network.endpoint(0)), Process::new(network.endpoint(1)));
    b.set_quota(100);
    let comm = b.world().clone();
    while b.fm_mut().send(0, Head::single(EAGER, 0), 0, |_| ()).is_ok() {}
    assert!(send(&mut a, &comm, &[7; 3000], Mode::Standard).is_none());
    network.settle();
    b.progress().unwrap();
    assert!(b.has_backlog(), "a has to be told to announce");
    assert!(!b.owes_packets());
    // A message is another matter.
    let out = Outgoing { buf: [1].as_ptr(), count: 1, ty: Datatype::byte() };
    // SAFETY: a constant.
    let sent = unsafe { b.send(out, 0, comm.context(Channel::User), 5, Mode::Standard, None) };
    assert!(matches!(sent, Started::Pending(_)) && b.owes_packets());
}

/// How many of `messages` of `len` bytes, one at a time, rank 1 reads out of rank 0's memory, if so many reads in a hundred are slow.
fn reads_of(len: usize, messages: u64, slow_reads_percent: u8) -> u64 {
    let network =
        Network::new(Config { fragment: Some(3000), slow_reads_percent, ..Config::calm(2) });
    let (mut a, mut b) = (Process::new(network.endpoint(0)), Process::new(network.endpoint(1)));
    let world = [a.world().clone(), b.world().clone()];
    let mut bytes = vec![0; len];
    for message in 0..messages {
        bytes.fill(message as u8);
        let sent = send(&mut a, &world[0], &bytes, Mode::Standard);
        network.settle();
        let mut buffer = vec![!message as u8; len];
        let came = recv(&mut b, &world[1], &mut buffer).unwrap();
        for _ in 0..3 {
            b.progress().unwrap();
            network.settle();
            a.progress().unwrap();
            network.settle();
        }
        if let Received::Pending(id) = came {
            assert!(b.take_outcome(id).is_some());
        }
        assert!(sent.is_none_or(|id| a.take_outcome(id).is_some()));
        assert_eq!(buffer, bytes);
    }
    network.statistics().reads
}

#[test]
fn messages_whose_reads_are_slow_are_copied_twice_but_for_two_in_so_many() {
    for len in [20_000, 64 << 10, 100_000] {
        assert_eq!(reads_of(len, 200, 0), 200);
        // A first one, two to find out, and as many again behind each 128 that nobody reads.
        for (messages, reads) in [(1, 1), (3, 3), (131, 3), (132, 4), (262, 6), (263, 7)] {
            assert_eq!(reads_of(len, messages, 100), reads, "{messages} messages of {len} bytes");
        }
    }
    // Longer ones are copied by both sides.
    assert_eq!(reads_of(512 << 10, 20, 0), reads_of(512 << 10, 20, 100));
}
