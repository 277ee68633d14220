//! What one progress step takes from the network, and copies.

use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::pt2pt::select::DEFAULT;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Process, ReqId};
use hpvm_sim::{Config, Network, SimTransport};

type P = Process<SimTransport>;

/// A message of a byte from `p` to rank 1.
fn send(p: &mut P, byte: &u8) {
    let m = Outgoing { buf: byte, count: 1, ty: Datatype::byte() };
    let context = p.world().context(Channel::User);
    // SAFETY: it is a byte, and sent when this returns.
    let started = unsafe { p.send(m, 1, context, 0, Mode::Standard, None) };
    assert_eq!(started, Started::Done);
}

fn receive(p: &mut P, byte: &mut u8) -> ReqId {
    let (m, pattern) =
        (Incoming { buf: byte, count: 1, ty: Datatype::byte() }, Pattern { src: 0, tag: 0 });
    let comm = p.world().clone();
    // SAFETY: the test holds the byte for longer than the process.
    unsafe { p.recv(m, &comm, Channel::User, pattern, None) }
}

/// A message that comes behind those that are waited for stays where it is: to keep it would take time, in
/// which its sender waits for what this process is about to send.
#[test]
fn a_step_on_one_host_takes_what_receives_are_posted_for() {
    let network = Network::new(Config::calm(2));
    let (mut sender, mut receiver) =
        (Process::new(network.endpoint(0)), Process::new(network.endpoint(1)));
    let mut bytes = [0; 2];
    let ids = bytes.each_mut().map(|byte| receive(&mut receiver, byte));
    (1..=4).for_each(|byte| send(&mut sender, &byte));
    network.settle();
    receiver.progress().unwrap();
    assert!(ids.iter().all(|id| receiver.requests().get(*id).is_some_and(|r| r.done)));
    assert_eq!((bytes, receiver.queue_lengths()), ([1, 2], (0, 0)));
    receiver.progress().unwrap();
    assert_eq!(receiver.queue_lengths(), (0, 1), "who waits for something else takes one");
}

/// A program that probes for the last of many messages does not have to call as often as there are messages.
#[test]
fn a_probe_goes_on_while_messages_come() {
    let network = Network::new(Config::calm(2));
    let (mut sender, mut receiver) =
        (Process::new(network.endpoint(0)), Process::new(network.endpoint(1)));
    for tag in 0..100 {
        let m = Outgoing { buf: [7u8].as_ptr(), count: 1, ty: Datatype::byte() };
        let context = sender.world().context(Channel::User);
        // SAFETY: it is a byte, and sent when this returns.
        let started = unsafe { sender.send(m, 1, context, tag, Mode::Standard, None) };
        assert_eq!(started, Started::Done);
    }
    network.settle();
    let (world, pattern) = (receiver.world().clone(), Pattern { src: 0, tag: 99 });
    receiver.progress().unwrap();
    assert_eq!((receiver.probe(&world, pattern), receiver.arrived_unexpected()), (None, 1));
    let found = receiver.probe_further(&world, pattern).unwrap();
    assert_eq!(found.map(|status| status.tag), Some(99));
    assert_eq!(receiver.probe_further(&world, Pattern { src: 0, tag: 100 }).unwrap(), None);
}

/// A progress step copies a bounded part of a long message, and the next ones the rest.
#[test]
fn a_step_copies_a_bounded_part_of_a_long_message() {
    const LEN: usize = 8 << 20;
    let network = Network::new(Config::calm(2));
    let (mut sender, mut receiver) =
        (Process::new(network.endpoint(0)), Process::new(network.endpoint(1)));
    // A part of a split copy may be as long again.
    let max_step = DEFAULT.max_step as usize;
    let sent: Vec<u8> = (0..LEN).map(|i| (i / 3) as u8 | 1).collect();
    let mut buffer = vec![0u8; LEN];
    let into = Incoming { buf: buffer.as_mut_ptr(), count: LEN as i64, ty: Datatype::byte() };
    let (world, pattern) = (receiver.world().clone(), Pattern { src: 0, tag: 0 });
    // SAFETY: both buffers outlive the processes.
    let (recv, started) = unsafe {
        let recv = receiver.recv(into, &world, Channel::User, pattern, None);
        let m = Outgoing { buf: sent.as_ptr(), count: LEN as i64, ty: Datatype::byte() };
        let context = world.context(Channel::User);
        (recv, sender.send(m, 1, context, 0, Mode::Standard, None))
    };
    assert!(matches!(started, Started::Pending(_)));
    network.settle();
    let mut steps = 0;
    while !receiver.requests().get(recv).is_some_and(|r| r.done) {
        let before = buffer.iter().zip(&sent).filter(|(a, b)| a == b).count();
        receiver.progress().unwrap();
        let after = buffer.iter().zip(&sent).filter(|(a, b)| a == b).count();
        assert!(after - before <= 2 * max_step, "{} bytes in a step", after - before);
        steps += 1;
        network.settle();
    }
    assert!(buffer == sent && steps >= LEN / max_step / 2, "{steps} steps");
}
