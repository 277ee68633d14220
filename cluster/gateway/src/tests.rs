//! Two gateways of one process, and strangers.

use super::*;
use crate::compress::Packer;
use hpvm_wire::envelope::{Envelope, Kind};
use std::time::Duration;

/// A gateway that runs until the test ends, and its ranks' side.
struct Running {
    site: Arc<Site>,
    gates: Arc<Vec<Gate>>,
    card: Card,
}

fn gateway(own: u16, key: u8) -> Running {
    let key = JobKey::new([key; 16]);
    let sites = Sites::parse("A,B;0x2,1x2", 4).unwrap();
    let (listener, socket) = open(0).unwrap();
    let mut card = card(&listener).unwrap();
    card.addresses = vec![hpvm_net::AddressAndPrefix { ip: Ipv4Addr::LOCALHOST.into(), prefix: 8 }];
    let tls = Arc::new(Tls::new(&key).unwrap());
    let gates = Arc::new(vec![Gate::new(1 - own).unwrap()]);
    let site = Arc::new(Site::new(sites, (own, true), key, socket));
    let (all, of, with) = (Arc::clone(&gates), Arc::clone(&site), Arc::clone(&tls));
    // The other gateway may never come: nobody waits for this thread.
    begin("link", move || drop(all[0].serve(&of, &with, 1_000_000_000_000))).unwrap();
    let (all, of) = (Arc::clone(&gates), Arc::clone(&site));
    begin("ranks", move || drop(of.listen(&all))).unwrap();
    let (all, door) = (Arc::clone(&gates), Door { listener, tls });
    begin("door", move || door.keep(&all)).unwrap();
    Running { site, gates, card }
}

/// A rank's socket, of which its gateway knows.
fn rank(of: &Running, number: u32) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let port = socket.local_addr().unwrap().port();
    of.site.told(number, &Card { port, ..of.card.clone() });
    socket
}

fn datagram(key: u8, src: u32, dst: u32, number: u64) -> Vec<u8> {
    let key = JobKey::new([key; 16]);
    let body = [7; 200];
    let signed = Envelope { job: key.job(), kind: Kind::Data, src, dst, number, len: 200 }.bytes();
    let mac = key.direction(src, dst).mac(&key.body_hash(), &signed, &body);
    [&signed[..], &mac, &body].concat()
}

/// Sends until the other has something, and gives that.
fn carried(from: &UdpSocket, through: &Running, to: &UdpSocket, src: u32, dst: u32) -> Vec<u8> {
    let mut buffer = vec![0; 2000];
    for number in 1..1000 {
        from.send_to(&datagram(1, src, dst, number), (Ipv4Addr::LOCALHOST, through.card.port))
            .unwrap();
        if let Ok((len, _)) = to.recv_from(&mut buffer) {
            buffer.truncate(len);
            return buffer;
        }
    }
    panic!("nothing came");
}

#[test]
fn datagrams_go_from_site_to_site_and_strangers_change_nothing() {
    let (a, b) = (gateway(0, 1), gateway(1, 1));
    a.gates[0].told("localhost", b.card.clone());
    b.gates[0].told("localhost", a.card.clone());
    let (first, third) = (rank(&a, 0), rank(&b, 2));
    let came = carried(&first, &a, &third, 0, 2);
    assert_eq!(Envelope::open(&came).unwrap().0.envelope.dst, 2);
    assert_eq!(Envelope::open(&carried(&third, &b, &first, 2, 0)).unwrap().0.envelope.src, 2);

    // Strangers at both ports: rubbish, silence, another job's gateway, datagrams that prove nothing.
    let address = (Ipv4Addr::LOCALHOST, a.card.port);
    let mut held = Vec::new();
    for _ in 0..2 * GREETINGS {
        let mut stranger = TcpStream::connect(address).unwrap();
        let _ = stranger.write_all(&[0x41; 3000]);
        held.push(TcpStream::connect(address).unwrap());
    }
    let other = Tls::new(&JobKey::new([2; 16])).unwrap();
    let mut refused =
        Conversation::greet(TcpStream::connect(address).unwrap(), other.calls().unwrap());
    assert!(
        !refused.as_mut().is_ok_and(|taken| taken.site().is_ok()),
        "another job's key was taken"
    );
    let before = a.site.strangers();
    let forged = [
        datagram(2, 0, 2, 1),
        datagram(1, 0, 1, 1),
        datagram(1, 2, 0, 1),
        vec![9; 300],
        vec![1; 3],
    ];
    forged.iter().for_each(|bytes| drop(first.send_to(bytes, address)));
    let mut tampered = datagram(1, 0, 2, 1 << 40);
    tampered[60] ^= 1;
    first.send_to(&tampered, address).unwrap();
    carried(&first, &a, &third, 0, 2);
    assert_eq!(a.site.strangers() - before, forged.len() as u64 + 1);
    drop(held);
}

/// Ranks that are numbered by themselves, with a key of their own, use the same link; nobody does once they are forgotten.
#[test]
fn ranks_of_other_spaces_use_the_same_link() {
    let (a, b) = (gateway(0, 1), gateway(1, 1));
    a.gates[0].told("localhost", b.card.clone());
    b.gates[0].told("localhost", a.card.clone());
    let hex = JobKey::new([5; 16]).hex();
    let card = |socket: &UdpSocket| {
        let port = socket.local_addr().unwrap().port();
        Card { port, ..a.card.clone() }.text()
    };
    let (first, second) = (rank(&a, 0), rank(&b, 2));
    for gateway in [&a, &b] {
        // The second of three is at the other site than rank 1 of the job.
        instruct(&format!("space 9 {hex} 3 A,B;0x1,1x2"), &gateway.site, &gateway.gates).unwrap();
        for (member, socket) in [(0, &first), (1, &second)] {
            let line = format!("place 9 {member} {}", card(socket));
            instruct(&line, &gateway.site, &gateway.gates).unwrap();
        }
        // What makes no sense is no reason to end.
        for line in [
            "space 10 x 3 A,B;0x3",
            "space 10 5",
            "place 11 0 7,7,h,1.1.1.1/8",
            "place 9 0 x",
            "forget x",
        ] {
            instruct(line, &gateway.site, &gateway.gates).unwrap();
        }
    }
    let to = (Ipv4Addr::LOCALHOST, a.card.port);
    let mut buffer = vec![0; 2000];
    let mut comes = |number: u64| {
        first.send_to(&datagram(5, 0, 1, number), to).unwrap();
        second.recv_from(&mut buffer).is_ok()
    };
    assert!((1..1000).any(&mut comes), "nothing came");
    let before = a.site.strangers();
    // A key that nobody has told, and a rank of the space that is not of this site.
    first.send_to(&datagram(6, 0, 1, 1), to).unwrap();
    first.send_to(&datagram(5, 1, 2, 1), to).unwrap();
    carried(&first, &a, &second, 0, 2);
    assert_eq!(a.site.strangers() - before, 2);
    instruct("forget 9", &a.site, &a.gates).unwrap();
    assert!((2000..3000).any(&mut comes), "the last words of a space are carried");
}

#[test]
fn a_replayed_datagram_moves_no_rank() {
    let (a, b) = (gateway(0, 1), gateway(1, 1));
    a.gates[0].told("localhost", b.card.clone());
    b.gates[0].told("localhost", a.card.clone());
    let (first, third) = (rank(&a, 0), rank(&b, 2));
    carried(&first, &a, &third, 0, 2);
    let thief = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    thief.send_to(&datagram(1, 0, 2, 1), (Ipv4Addr::LOCALHOST, a.card.port)).unwrap();
    carried(&third, &b, &first, 2, 0);
}

#[test]
fn a_link_that_is_cut_is_made_again() {
    let (a, b) = (gateway(0, 1), gateway(1, 1));
    a.gates[0].told("localhost", b.card.clone());
    b.gates[0].told("localhost", a.card.clone());
    let (first, third) = (rank(&a, 0), rank(&b, 2));
    carried(&first, &a, &third, 0, 2);
    // Who knows the key takes the link over and goes away.
    let tls = Tls::new(&JobKey::new([1; 16])).unwrap();
    for _ in 0..3 {
        let tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, b.card.port)).unwrap();
        let mut taken = Conversation::greet(tcp, tls.calls().unwrap()).unwrap();
        taken.say(&0_u16.to_le_bytes());
        drop(taken);
        let mut buffer = [0; 2000];
        while third.recv_from(&mut buffer).is_ok() {}
        carried(&first, &a, &third, 0, 2);
    }
}

/// Somebody who knows the key takes the link and sends what no gateway does. The connection ends, and the right gateway gets
/// the link back.
#[test]
fn frames_that_make_no_sense_end_the_connection() {
    let (a, b) = (gateway(0, 1), gateway(1, 1));
    a.gates[0].told("localhost", b.card.clone());
    b.gates[0].told("localhost", a.card.clone());
    let (first, third) = (rank(&a, 0), rank(&b, 2));
    carried(&first, &a, &third, 0, 2);
    let frame = |datagram: &[u8]| [&(datagram.len() as u16).to_le_bytes()[..], datagram].concat();
    let two = [datagram(1, 0, 2, 1), datagram(1, 0, 2, 2)].concat();
    let packed = |bytes: &[u8]| Packer::new(true).pack(bytes).expect("shorter").to_vec();
    let many: Vec<u8> = (0..20).flat_map(|number| frame(&datagram(1, 0, 2, number))).collect();
    let frames = [
        // Batches with something after the last datagram, of another batch, of a rank of another site, and one that is cut.
        packed(&[&many[..], &[1]].concat()),
        packed(&[&many[..], &packed(&many)].concat()),
        packed(&[&many[..], &frame(&datagram(1, 3, 2, 1))].concat()),
        packed(&many)[..40].to_vec(),
        frame(&[7; 5]),
        frame(&[1; 65535]),
        // Two in one, of a rank of another site, for a rank of another site, for none, of another job.
        frame(&two),
        frame(&datagram(1, 3, 2, 1)),
        frame(&datagram(1, 0, 1, 1)),
        frame(&datagram(1, 0, 9, 1)),
        frame(&datagram(2, 0, 2, 1)),
        // The beginning of one.
        vec![0xff, 0xff, 1],
    ];
    let tls = Tls::new(&JobKey::new([1; 16])).unwrap();
    for bytes in frames {
        let tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, b.card.port)).unwrap();
        let mut taken = Conversation::greet(tcp, tls.calls().unwrap()).unwrap();
        taken.say(&0_u16.to_le_bytes());
        taken.say(&bytes);
        // It either ends by itself, or when we go.
        drop(taken);
        carried(&first, &a, &third, 0, 2);
    }
    // A site that there is not, and its own.
    for site in [1_u16, 7] {
        let tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, b.card.port)).unwrap();
        let mut taken = Conversation::greet(tcp, tls.calls().unwrap()).unwrap();
        taken.say(&site.to_le_bytes());
        drop(taken);
        carried(&first, &a, &third, 0, 2);
    }
}

/// A compressed batch between datagrams that are not, in pieces.
#[test]
fn compressed_batches_are_delivered() {
    let b = gateway(1, 1);
    // Nobody is there: the connection is ours.
    b.gates[0].told("localhost", Card { port: 1, ..b.card.clone() });
    let third = rank(&b, 2);
    let frame = |number| {
        let datagram = datagram(1, 0, 2, number);
        [&(datagram.len() as u16).to_le_bytes()[..], &datagram].concat()
    };
    let many: Vec<u8> = (2..22).flat_map(frame).collect();
    let batch = Packer::new(true).pack(&many).expect("shorter").to_vec();
    let all = [&0_u16.to_le_bytes()[..], &frame(1), &batch, &[0, 0], &batch, &frame(22)].concat();
    let tls = Tls::new(&JobKey::new([1; 16])).unwrap();
    let tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, b.card.port)).unwrap();
    let mut sender = Conversation::greet(tcp, tls.calls().unwrap()).unwrap();
    all.chunks(333).for_each(|piece| sender.say(piece));
    third.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut buffer = [0; 2000];
    for number in (1..22).chain(2..23) {
        let len = third.recv(&mut buffer).expect("a datagram");
        assert_eq!(Envelope::open(&buffer[..len]).unwrap().0.envelope.number, number);
    }
}

#[test]
fn orders_are_checked() {
    for line in [
        "",
        "start",
        "start 0 0 1 00 auto 2 A;0x2",
        "start 0 0 1000 00112233445566778899aabbccddeeff often 2 A,B;0x1,1x1",
        "start 2 0 1000 00112233445566778899aabbccddeeff auto 2 A,B;0x1,1x1",
    ] {
        assert!(Start::parse(line).is_none(), "{line}");
    }
    let start =
        Start::parse("start 1 7000 1500 00112233445566778899aabbccddeeff auto 2 A,B;0x1,1x1")
            .unwrap();
    assert_eq!((start.site, start.port, start.limit), (1, 7000, 1_500_000_000));
    let running = gateway(0, 1);
    for line in
        ["peer 0 h 1,2,h,10.0.0.1/8", "peer 1 h", "rank x 1,2,h,10.0.0.1/8", "rank 1 1,2", "what"]
    {
        assert!(instruct(line, &running.site, &running.gates).is_none(), "{line}");
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (held, _) = open(0).unwrap();
    let port = held.local_addr().unwrap().port();
    let text = open(port).unwrap_err();
    assert!(text.contains(&format!("opening port {port}")) && text.contains("--gateway"), "{text}");
}
