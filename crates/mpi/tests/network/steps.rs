//! What one turn of a process takes from the network.

use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
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
fn a_turn_on_one_host_takes_what_receives_are_posted_for() {
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
