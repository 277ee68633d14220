//! Two jobs on different hosts that are linked: large messages go between them by streams, as inside of a job.

use hpvm_mux::{LinkEnds, Mux};
use hpvm_net::{JobKey, Lane, MIN_STREAMED, Opened, Settings, interfaces};
use hpvm_shm::{Mapping, Shm};
use hpvm_transport::{Head, Landing, Memory, Packets, Rank, Streamed, Streams};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LEN: usize = 3 << 20;
/// Time in which a stream that comes at all has come.
const PATIENCE: Duration = Duration::from_secs(120);

/// A job of one process.
fn job() -> Mux {
    let mapping = Arc::new(Mapping::create(1, [1, 2]).expect("memory"));
    let mut shm = Shm::attach(mapping, 0).expect("a rank");
    shm.settle();
    Mux::single_host(shm)
}

/// One end's sockets of a link of two members on two hosts. They have one address, which is that of a loopback interface,
/// or (`named_twice`) passes for that of another one.
fn sockets(member: u32, named_twice: bool) -> Opened {
    let all = interfaces::all().expect("interfaces");
    let loopback = interfaces::Choice::parse("127.0.0.0/8").expect("a network");
    let mut interfaces = interfaces::choose(&all, &loopback).expect("a loopback interface");
    interfaces.iter_mut().for_each(|interface| interface.loopback = !named_twice);
    let settings = Settings {
        rank: member,
        size: 2,
        nodes: vec![0, 1],
        interfaces,
        host: "here".to_owned(),
        timeout: 60_000_000_000,
        lane: Lane::Udp,
        rdma: hpvm_net::Rdma::Never,
        far: Vec::new(),
    };
    Opened::new(settings).expect("sockets")
}

/// Two jobs, in each of which the other one's process is rank 1.
fn linked(named_twice: bool) -> [Mux; 2] {
    let opened = [sockets(0, named_twice), sockets(1, named_twice)];
    let cards = [opened[0].card(), opened[1].card()];
    let mut jobs = [job(), job()];
    for ((job, opened), member) in jobs.iter_mut().zip(opened).zip(0u32..) {
        let cards = cards.clone();
        let directory = move |other: u32, _| Ok(Some(cards[other as usize].clone()));
        let net = opened.join(JobKey::new([7; 16]), Box::new(directory)).expect("sockets");
        let ends = LinkEnds { size: 2, shm: None, net: Some(net) };
        assert_eq!(job.link(ends, &[1 - member]).expect("descriptors"), [1]);
    }
    jobs
}

fn bytes() -> Vec<u8> {
    (0..LEN).map(|i| ((i * 7) >> 3) as u8).collect()
}

/// Says where stream 5 of the other side belongs.
fn expect(receiver: &mut Mux, got: &mut [u8]) {
    let (memory, len) = (Memory::Run(got.as_mut_ptr()), got.len() as u64);
    // SAFETY: the bytes are valid until the stream has ended.
    unsafe { receiver.stream_in(1, 5, Landing { memory, room: len, len, cookie: 3 }) };
}

/// Until stream 5 has come as a whole; `begins`: it is announced by itself.
fn until_it_has_come([sender, receiver]: &mut [Mux; 2], got: &mut [u8], begins: bool) {
    let (mut sent, mut came, mut begun) = (false, false, 0);
    let start = Instant::now();
    while !(sent && came) {
        assert!(start.elapsed() < PATIENCE, "sent: {sent}, came: {came}");
        let before = begun;
        receiver
            .poll(8, |src: Rank, head: Head, data: &[u8]| {
                let number = data.last_chunk().map(|word| u64::from_le_bytes(*word));
                assert_eq!((src, head.handler, number), (1, 9, Some(5)));
                begun += 1;
            })
            .expect("a connection");
        if begun > before {
            expect(receiver, got);
        }
        came |= receiver.streamed() == Some(Streamed::Came(3));
        sender.poll(8, |_, _, _: &[u8]| {}).expect("a connection");
        sent |= sender.streamed() == Some(Streamed::Gone(5));
    }
    assert_eq!(begun, i32::from(begins));
    assert!(got == bytes());
}

#[test]
fn large_messages_go_by_streams() {
    let mut jobs = linked(false);
    let len = LEN as u64;
    let can = |jobs: &[Mux; 2], peer, len| jobs[0].can_stream(peer, len);
    assert!(can(&jobs, 1, MIN_STREAMED) && !can(&jobs, 1, MIN_STREAMED - 1));
    assert!(!can(&jobs, 0, len) && !can(&jobs, 2, len));
    // One that was announced in a packet, and one that needs none.
    let mut got = vec![0; LEN];
    expect(&mut jobs[1], &mut got);
    // SAFETY: the memory belongs to the stream.
    unsafe { jobs[0].stream_out(1, 5, Memory::owned(bytes()), len) };
    until_it_has_come(&mut jobs, &mut got, false);
    assert!(jobs[0].can_open(1, len) && !jobs[0].can_open(0, len));
    let head = Head { handler: 9, flags: 0, aux: 0, imm: 0 };
    got.fill(0);
    // SAFETY: as above.
    unsafe { jobs[0].stream_open(1, (5, head), (Memory::owned(bytes()), len), true) };
    until_it_has_come(&mut jobs, &mut got, true);
    // A link that is closed has none.
    assert_eq!(jobs[0].unlink(|_| false), [1]);
    assert!(!can(&jobs, 1, len) && !jobs[0].can_open(1, len));
}

/// Both hosts may be one machine under two names: `mpirun -H node,node-ib`. Its address is the way from one to the other.
#[test]
fn a_peer_at_our_own_address_gets_large_messages() {
    let mut jobs = linked(true);
    let head = Head { handler: 9, flags: 0, aux: 0, imm: 0 };
    // SAFETY: the memory belongs to the stream.
    unsafe { jobs[0].stream_open(1, (5, head), (Memory::owned(bytes()), LEN as u64), true) };
    until_it_has_come(&mut jobs, &mut vec![0; LEN], true);
}
