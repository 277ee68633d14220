//! libfabric's provider `verbs` over Soft-RoCE: the kernel's own implementation of RDMA on any interface. Its devices belong to
//! the first network namespace, so both ends are in one process.

use super::{inside, well, words};
use hpvm_ofi::{Endpoint, Exposed, Provider, Rdma, ReadEnd, Sent, Wanted, cards, probe};
use std::net::IpAddr;
use std::time::Instant;

const ADDRESS: &str = "10.9.0.1";
const PROVIDER: &str = "verbs;ofi_rxm";

/// An interface with a device of Soft-RoCE.
fn set_up() {
    inside();
    let modules = ["modprobe", "-a", "rdma_rxe", "dummy", "ib_uverbs", "rdma_ucm"];
    well(words(&modules));
    let address = format!("{ADDRESS}/24");
    for command in [
        &["ip", "link", "add", "dum0", "type", "dummy"][..],
        &["ip", "address", "add", &address, "dev", "dum0"],
        &["ip", "link", "set", "dum0", "up"],
        &["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "dum0"],
    ] {
        well(words(command));
    }
    let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a whole structure. What is registered stays in memory.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &unlimited) }, 0);
    // SAFETY: no other thread reads the environment now. The device has smaller queues than cards have.
    unsafe { std::env::set_var("FI_UNIVERSE_SIZE", "8") };
}

fn open(provider: Provider) -> Endpoint {
    let addresses = vec![ADDRESS.parse::<IpAddr>().expect("an address")];
    let wanted = Wanted { provider, addresses, rdma: Rdma::Auto };
    Endpoint::open(&wanted).unwrap_or_else(|why| panic!("{why}"))
}

/// Sends messages of both kinds, those that are copied at once and those that are sent from registered memory, both ways.
fn messages_arrive(a: &mut Endpoint, b: &mut Endpoint) {
    let (to_b, to_a) = (a.insert(b.address()).expect("b"), b.insert(a.address()).expect("a"));
    let (start, count) = (Instant::now(), 2000u32);
    let len = |n: u32| [8, 200, 5000, 8192][n as usize % 4];
    let send = |from: &mut Endpoint, to, sent: &mut u32| {
        let mut message = vec![0; len(*sent)];
        message[..4].copy_from_slice(&sent.to_le_bytes());
        match from.send(to, 1, &message) {
            Sent::Taken => *sent += 1,
            Sent::Later => {}
            Sent::Refused(error) => panic!("error {error}"),
        }
    };
    let receive = |at: &mut Endpoint, came: &mut u32| {
        let message = at.receive(<[u8]>::to_vec);
        if let Some(message) = message {
            // A connection keeps the order.
            assert_eq!(message[..4], came.to_le_bytes());
            assert_eq!(message.len(), len(*came));
            *came += 1;
        }
    };
    let (mut sent, mut came) = ([0, 0], [0, 0]);
    while came != [count, count] {
        assert!(start.elapsed() < super::LONG, "{sent:?} sent, {came:?} came");
        if sent[0] < count {
            send(a, to_b, &mut sent[0]);
        }
        if sent[1] < count {
            send(b, to_a, &mut sent[1]);
        }
        receive(a, &mut came[1]);
        receive(b, &mut came[0]);
    }
    assert_eq!((a.failed(), b.failed(), a.tally.errors, b.tally.errors), (None, None, 0, 0));
}

/// Reads memory that the other end exposes, and then with a key that it has given to nothing. (A key that it has concealed may go on
/// to work: the provider keeps registrations for the next time.)
fn memory_is_read(owner: &mut Endpoint, reader: &mut Endpoint) {
    let from = reader.insert(owner.address()).expect("the owner");
    let end_of = |owner: &mut Endpoint, reader: &mut Endpoint, exposed, copy: &mut Vec<u8>| {
        let (start, to) = (Instant::now(), (copy.as_mut_ptr(), copy.len()));
        // SAFETY: nobody uses the copy until the read has ended.
        assert!(unsafe { reader.read(3, (from, 1), exposed, to) });
        loop {
            assert!(start.elapsed() < super::LONG, "the read does not end");
            assert_eq!((reader.receive(|_| ()), owner.receive(|_| ())), (None, None));
            if let Some(end) = reader.read_end() {
                return end;
            }
        }
    };
    for len in [1, 5000, (3 << 20) + 1] {
        let memory: Vec<u8> = (0..len).map(|at: usize| (at * 13 + at / 1000) as u8).collect();
        // SAFETY: the memory outlives the exposure.
        let exposed = unsafe { owner.expose(9, memory.as_ptr(), len) }.expect("memory to lock");
        let mut copy = vec![0; len];
        assert_eq!(end_of(owner, reader, exposed, &mut copy), ReadEnd::Came(3));
        assert!(copy == memory, "{len} bytes");
        owner.conceal(9);
    }
    let (nothing, mut copy) = (Exposed { address: 1 << 40, key: 0x0bad_0bad }, vec![0; 5000]);
    assert_eq!(end_of(owner, reader, nothing, &mut copy), ReadEnd::Failed(3));
    assert_eq!(reader.failed(), Some(1));
}

/// Lets the device look as if it hung on a bus, as cards do.
fn pretend_it_is_a_card() {
    let script = "d=$(readlink -f /sys/class/infiniband/rxe0) && mkdir /tmp/cards && \
                  mount -t tmpfs none /tmp/cards && mkdir -p /tmp/cards/rxe0/device && \
                  ln -s $d/* /tmp/cards/rxe0/ && mount --bind /tmp/cards /sys/class/infiniband";
    well(words(&["sh", "-c", script]));
}

#[test]
#[ignore = "needs a kernel with Soft-RoCE: make vm"]
fn messages_arrive_by_verbs_and_cards_are_chosen() {
    set_up();
    let named = || open(Provider::Named(PROVIDER.to_owned()));
    // Closed with messages behind it, and opened again.
    for _ in 0..2 {
        let (mut a, mut b) = (named(), named());
        assert_eq!(a.ip(), Some(ADDRESS.parse().expect("an address")), "{}", a.text());
        messages_arrive(&mut a, &mut b);
    }
    assert!(cards().is_empty(), "a device that is made of software is no card: {:?}", cards());
    let found = probe().expect("libfabric");
    assert_eq!(found.automatic, None);
    pretend_it_is_a_card();
    assert_eq!(cards(), ["rxe0"]);
    let found = probe().expect("libfabric");
    assert_eq!(found.automatic, Some(("rxe0".to_owned(), PROVIDER.to_owned())));
    let of_cards = || open(Provider::OfCards(cards()));
    let (mut a, mut b) = (of_cards(), of_cards());
    assert_eq!(a.provider(), PROVIDER);
    messages_arrive(&mut a, &mut b);
    memory_is_read(&mut a, &mut b);
}
