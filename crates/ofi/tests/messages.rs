//! Endpoints of the providers that this machine has, two in one process. Counted as skipped where libfabric or a provider
//! is not there.

use hpvm_ofi::{Endpoint, LONGEST_MESSAGE, Provider, Rdma, ReadEnd, Sent, Wanted, probe};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// One test at a time. The kernel may give a port that one test has left, and still sends to, to another test's endpoint.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wanted(provider: &str) -> Wanted {
    let addresses = vec![IpAddr::from(Ipv4Addr::LOCALHOST)];
    Wanted { provider: Provider::Named(provider.to_owned()), addresses, rdma: Rdma::Always }
}

/// Whether this machine has the provider.
fn has(provider: &str) -> bool {
    match probe() {
        Err(why) => {
            hpvm_tests::skip::skipped(&why);
            false
        }
        Ok(found) if !found.providers.iter().any(|name| name == provider) => {
            hpvm_tests::skip::skipped(&format!("libfabric has no provider {provider} here"));
            false
        }
        Ok(_) => true,
    }
}

fn open(provider: &str) -> Endpoint {
    Endpoint::open(&wanted(provider)).unwrap_or_else(|why| panic!("{why}"))
}

/// The bytes of message `n` of length `len`.
fn bytes(n: usize, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|at| (at * 7 + n * 13) as u8).collect();
    let number = (n as u64).to_le_bytes();
    let head = len.min(8);
    bytes[..head].copy_from_slice(&number[..head]);
    bytes
}

/// Sends `count` messages of every length from one to the other, more than there are buffers, and receives them.
fn messages_arrive(provider: &str) {
    let _alone = alone();
    if !has(provider) {
        return;
    }
    let (mut a, mut b) = (open(provider), open(provider));
    assert!(a.provider() == provider && a.longest() == LONGEST_MESSAGE, "{}", a.text());
    let to = a.insert(b.address()).expect("an address of the same provider");
    let count = 2000;
    let len = |n: usize| [8, 40, 200, 1500, 5000, LONGEST_MESSAGE][n % 6];
    let start = Instant::now();
    let (mut sent, mut got) = (0, vec![false; count]);
    let mut came = 0;
    while came < count {
        assert!(start.elapsed() < LIMIT, "{provider}: {sent} sent, {came} came");
        while sent < count {
            match a.send(to, 1, &bytes(sent, len(sent))) {
                Sent::Taken => sent += 1,
                Sent::Later => break,
                Sent::Refused(error) => panic!("{provider}: error {error}"),
            }
        }
        // The sender has to work, too.
        assert_eq!(a.receive(<[u8]>::len), None);
        while let Some(n) = b.receive(|message| {
            let n = u64::from_le_bytes(*message.first_chunk().expect("a number")) as usize;
            assert!(message == bytes(n, len(n)), "message {n} of {} bytes", message.len());
            n
        }) {
            assert!(!std::mem::replace(&mut got[n], true), "message {n} twice");
            came += 1;
        }
    }
    assert_eq!((a.failed(), a.tally.errors, b.tally.errors), (None, 0, 0));
    assert_eq!((a.tally.sent, b.tally.received), (count as u64, count as u64));
}

#[test]
fn messages_arrive_by_tcp() {
    messages_arrive("tcp;ofi_rxm");
}

#[test]
fn messages_arrive_by_udp() {
    messages_arrive("udp;ofi_rxd");
}

#[test]
fn messages_arrive_by_shared_memory() {
    messages_arrive("shm");
}

/// Lets both endpoints work until a read of `reader` has ended.
fn end_of_read(reader: &mut Endpoint, other: &mut Endpoint) -> ReadEnd {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < LIMIT, "{}: the read does not end", reader.text());
        assert_eq!((reader.receive(|_| ()), other.receive(|_| ())), (None, None));
        if let Some(end) = reader.read_end() {
            return end;
        }
    }
}

/// Memory that one exposes is read by the other, in one operation and in more than there may be at a time; what is no longer
/// exposed is refused.
#[test]
fn exposed_memory_is_read() {
    let _alone = alone();
    for provider in ["tcp;ofi_rxm", "udp;ofi_rxd"] {
        if !has(provider) {
            continue;
        }
        let (mut owner, mut reader) = (open(provider), open(provider));
        assert!(owner.has_rdma() && reader.has_rdma(), "{provider}");
        let from = reader.insert(owner.address()).expect("an address");
        for (number, len) in [1usize, 4097, 1 << 20, (40 << 20) + 3].into_iter().enumerate() {
            let number = number as u64;
            let memory = bytes(number as usize, len);
            // SAFETY: the memory outlives the exposure.
            let exposed = unsafe { owner.expose(number, memory.as_ptr(), len) }.expect("room");
            // SAFETY: the same.
            let again = unsafe { owner.expose(number, memory.as_ptr(), len) };
            assert_eq!(again, Some(exposed), "the same memory has one key");
            let mut copy = vec![0; len];
            let to = (copy.as_mut_ptr(), len);
            // SAFETY: nobody uses the copy until the read has ended.
            assert!(unsafe { reader.read(number, (from, 1), exposed, to) });
            assert_eq!(end_of_read(&mut reader, &mut owner), ReadEnd::Came(number), "{provider}");
            assert!(copy == memory, "{provider}: {len} bytes");
            owner.conceal(number);
        }
        assert_eq!(reader.failed(), None);
    }
}

#[test]
fn concealed_memory_is_not_read() {
    let _alone = alone();
    let provider = "tcp;ofi_rxm";
    if !has(provider) {
        return;
    }
    let (mut owner, mut reader) = (open(provider), open(provider));
    let from = reader.insert(owner.address()).expect("an address");
    let memory = vec![1u8; 1 << 20];
    // SAFETY: the memory outlives the exposure.
    let exposed = unsafe { owner.expose(7, memory.as_ptr(), memory.len()) }.expect("room");
    owner.conceal(7);
    let mut copy = vec![0u8; memory.len()];
    // SAFETY: nobody uses the copy until the read has ended.
    assert!(unsafe { reader.read(9, (from, 5), exposed, (copy.as_mut_ptr(), copy.len())) });
    assert_eq!(end_of_read(&mut reader, &mut owner), ReadEnd::Failed(9));
    assert_eq!((reader.failed(), reader.failed()), (Some(5), None), "the peer is named once");
    assert!(copy.iter().all(|byte| *byte == 0));
}

#[test]
fn reads_are_there_only_where_they_are_wanted() {
    let _alone = alone();
    for provider in ["tcp;ofi_rxm", "udp;ofi_rxd"] {
        for rdma in [Rdma::Auto, Rdma::Never] {
            if !has(provider) {
                continue;
            }
            let opened = Endpoint::open(&Wanted { rdma, ..wanted(provider) });
            let mut endpoint = opened.unwrap_or_else(|why| panic!("{why}"));
            let memory = [0u8; 100];
            // SAFETY: the memory outlives the endpoint's use of it.
            let exposed = unsafe { endpoint.expose(1, memory.as_ptr(), memory.len()) };
            assert_eq!((endpoint.has_rdma(), exposed), (false, None), "{provider}, {rdma:?}");
        }
    }
}

/// Who sleeps at the descriptor is woken by a message; whoever has none is told to look again soon.
#[test]
fn a_sleeper_is_woken() {
    let _alone = alone();
    for provider in ["tcp;ofi_rxm", "udp;ofi_rxd", "shm"] {
        if !has(provider) {
            continue;
        }
        let (mut a, mut b) = (open(provider), open(provider));
        let to = a.insert(b.address()).expect("an address");
        // The connection is made first.
        let start = Instant::now();
        while a.send(to, 1, b"first") != Sent::Taken {
            assert_eq!(b.receive(|_| ()), None);
            assert!(start.elapsed() < LIMIT, "{provider}");
        }
        while b.receive(|_| ()).is_none() {
            assert_eq!(a.receive(|_| ()), None);
            assert!(start.elapsed() < LIMIT, "{provider}");
        }
        let (asleep, woken) = (AtomicBool::new(false), AtomicBool::new(false));
        // Relaxed, here and below: they say when to go on and order nothing.
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        let send = || {
            while !is(&asleep) && start.elapsed() < LIMIT {
                std::thread::yield_now();
            }
            // It is about to sleep.
            std::thread::sleep(Duration::from_millis(50));
            while a.send(to, 1, b"second") != Sent::Taken {
                assert!(start.elapsed() < LIMIT, "it can't be sent");
            }
            // It goes on working until the other has it.
            while !is(&woken) && start.elapsed() < LIMIT {
                assert_eq!(a.receive(|_| ()), None);
            }
        };
        let mut sleep = || {
            let mut sleeps = 0;
            while !b.readable() {
                asleep.store(true, Ordering::Relaxed); // relaxed: as above
                let limit = if b.is_restless() { 10 } else { 30_000 };
                let fd = b.descriptor().unwrap_or(-1);
                let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                // SAFETY: valid memory for one entry.
                unsafe { libc::poll(&mut poll, 1, limit) };
                sleeps += 1;
                assert!(start.elapsed() < LIMIT, "{provider}: nothing after {sleeps} sleeps");
            }
            woken.store(true, Ordering::Relaxed); // relaxed: as above
            assert_eq!(b.receive(<[u8]>::to_vec), Some(b"second".to_vec()));
        };
        std::thread::scope(|scope| {
            scope.spawn(send);
            sleep();
        });
    }
}

#[test]
fn what_does_not_fit_is_said_in_a_sentence() {
    let _alone = alone();
    if !has("tcp;ofi_rxm") {
        return;
    }
    let why = |wanted: &Wanted| match Endpoint::open(wanted) {
        Err(why) => why,
        Ok(endpoint) => panic!("{}", endpoint.text()),
    };
    let none = why(&wanted("no-such-provider"));
    for word in ["no-such-provider", "tcp;ofi_rxm", "HPVM_OFI_PROVIDER"] {
        assert!(none.contains(word), "{none}");
    }
    // An address that no interface has: of the network for documentation.
    let addresses = vec![IpAddr::from([192, 0, 2, 250])];
    let elsewhere = why(&Wanted { addresses, ..wanted("tcp;ofi_rxm") });
    for word in ["192.0.2.250", "127.0.0.1", "HPVM_NET"] {
        assert_eq!(elsewhere.matches(word).count(), 1, "{elsewhere}");
    }
}

#[test]
fn wrong_addresses_are_refused() {
    let _alone = alone();
    for provider in ["tcp;ofi_rxm", "udp;ofi_rxd", "shm"] {
        if !has(provider) {
            continue;
        }
        let mut a = open(provider);
        let own = a.address().to_vec();
        let mut other_family = own.clone();
        other_family[0] ^= 0xff;
        let not_ended = vec![b'x'; own.len()];
        for wrong in [&[][..], &own[..own.len() - 1], &[0; 1000], &not_ended] {
            assert!(a.insert(wrong).is_err(), "{provider}: {wrong:?}");
        }
        if provider != "shm" {
            assert!(a.insert(&other_family).is_err(), "{provider}");
        }
        a.insert(&own).expect("its own address is one");
    }
}

/// Whoever is sent to and is not there shows as a failure or as nothing at all, and others are reached all the same.
#[test]
fn a_peer_that_is_gone_hinders_nobody() {
    let _alone = alone();
    for provider in ["tcp;ofi_rxm", "udp;ofi_rxd"] {
        if !has(provider) {
            continue;
        }
        let (mut a, mut b) = (open(provider), open(provider));
        let gone = open(provider);
        let (to, nowhere) = (a.insert(b.address()), a.insert(gone.address()));
        let (to, nowhere) = (to.expect("an address"), nowhere.expect("an address"));
        drop(gone);
        let (start, mut came) = (Instant::now(), 0);
        while came < 100 {
            assert!(start.elapsed() < LIMIT, "{provider}: {came} came");
            a.send(nowhere, 7, &[0; 5000]);
            a.send(to, 1, &[1; 5000]);
            assert_eq!(a.receive(|_| ()), None);
            came += u32::from(b.receive(|message| assert_eq!(message[0], 1)).is_some());
        }
        while let Some(peer) = a.failed() {
            assert_eq!(peer, 7, "{provider}");
        }
        assert!(!a.is_dead() && !b.is_dead());
    }
}

/// The port of a TCP socket of this process that is bound and does not listen, if the descriptor is one.
fn bound_port(fd: i32) -> Option<u16> {
    let number = |name| {
        let (mut value, mut len) = (0i32, size_of::<i32>() as u32);
        let at = (&raw mut value).cast();
        // SAFETY: any descriptor may be asked, and there is room for the answer.
        let result = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, name, at, &mut len) };
        (result == 0).then_some(value)
    };
    if number(libc::SO_TYPE)? != libc::SOCK_STREAM || number(libc::SO_ACCEPTCONN)? != 0 {
        return None;
    }
    // SAFETY: plain numbers.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::sockaddr_in>() as u32;
    // SAFETY: as above.
    let result = unsafe { libc::getsockname(fd, (&raw mut address).cast(), &mut len) };
    let inet = result == 0 && i32::from(address.sin_family) == libc::AF_INET;
    (inet && address.sin_port != 0).then(|| u16::from_be(address.sin_port))
}

/// A provider binds a socket and listens at it later. Whoever listens at that port in between does not keep an endpoint from
/// opening and from being waited at.
#[test]
fn a_port_that_is_taken_in_the_last_moment_is_not_the_end() {
    let _alone = alone();
    let provider = "tcp;ofi_rxm";
    if !has(provider) {
        return;
    }
    // Fewer than an endpoint has tries.
    let (taken, enough) = (AtomicUsize::new(0), 10);
    // Relaxed, here and below: it says when to stop and orders nothing.
    let going_on = || taken.load(Ordering::Relaxed) < enough;
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut listeners = Vec::new();
            while going_on() && start.elapsed() < LIMIT {
                // Those of endpoints that other tests have left open can't be taken.
                let ports = (3..1000).filter_map(bound_port);
                listeners
                    .extend(ports.filter_map(|p| TcpListener::bind((Ipv4Addr::LOCALHOST, p)).ok()));
                taken.store(listeners.len(), Ordering::Relaxed); // relaxed: as above
            }
        });
        while going_on() {
            assert!(start.elapsed() < LIMIT, "too few ports could be taken to show anything");
            // What a try has left behind would be met here.
            assert!(!open(provider).readable());
        }
    });
}

/// Libraries that libfabric is linked with have handlers of their own, which hide by which signal a process died.
#[test]
fn signals_stay_the_programs() {
    let _alone = alone();
    let handlers = || {
        [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGTERM].map(|signal| {
            // SAFETY: plain numbers.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: nothing is changed, and there is room for the answer.
            assert_eq!(unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) }, 0);
            action.sa_sigaction
        })
    };
    let before = handlers();
    if has("tcp;ofi_rxm") {
        let _endpoint = open("tcp;ofi_rxm");
        assert_eq!(handlers(), before);
    }
}
