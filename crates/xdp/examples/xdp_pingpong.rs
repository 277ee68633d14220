//! The floor of AF_XDP between two hosts: datagrams go back and forth, with nothing above them.
//!
//! `xdp_pingpong DEVICE OWN [PEER]`: with PEER it begins, and prints the median of the time one way for some
//! lengths; without, it answers until a datagram of one byte comes. With XDP_MODE=udp the same by UDP, with generic in the
//! mode that every driver has.

use hpvm_xdp::netlink::Netlink;
use hpvm_xdp::{Device, Interface, Mode, Queue, Wish, Xdp};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const PORT: u16 = 7777;
const ROUNDS: usize = 30_000;

struct End {
    xdp: Option<Xdp>,
    socket: UdpSocket,
    start: Instant,
}

impl End {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        let now = self.start.elapsed().as_nanos() as u64;
        let taken = self.xdp.as_mut().map_or(0, |xdp| xdp.send(now, (to, 0), bytes, bytes.len()));
        if taken == 0 {
            self.socket.send_to(bytes, to).expect("the socket has room");
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> (usize, SocketAddr) {
        let mut looks = 0u32;
        loop {
            looks += 1;
            if let Some(xdp) = &mut self.xdp {
                let now = self.start.elapsed().as_nanos() as u64;
                if let Some(received) = xdp.receive(now, buffer) {
                    return (received.len, received.from);
                }
                if !looks.is_multiple_of(64) {
                    continue;
                }
            }
            if let Ok(received) = self.socket.recv_from(buffer) {
                return received;
            }
            assert!(looks < 1_000_000_000, "nothing comes");
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [device, own] = [&args[1], &args[2]];
    let own: IpAddr = own.parse().expect("our own address");
    let socket = UdpSocket::bind((own, PORT)).expect("the port is free");
    socket.set_nonblocking(true).expect("a socket can be");
    let index = std::fs::read_to_string(format!("/sys/class/net/{device}/ifindex"))
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .or_else(|| std::env::var("XDP_IFINDEX").ok()?.parse().ok())
        .expect("the interface exists");
    let interface = Interface { name: device.clone(), index, addresses: vec![own] };
    let mode = std::env::var("XDP_MODE").unwrap_or_default();
    let best = if mode == "generic" { Mode::Generic } else { Mode::ZeroCopy };
    // The program stays for as long as this.
    let mut queue = (mode != "udp").then(|| {
        let mut netlink = Netlink::new().expect("netlink");
        let wish = Wish { best, ..Wish::ANY };
        Queue::open(&interface, 1, wish, &mut netlink).unwrap_or_else(|why| panic!("{}", why.text))
    });
    let xdp = queue.as_mut().map(|queue| {
        eprintln!("{}; {}", queue.mode.text(), queue.why);
        let device = Device::alone(queue, &interface, PORT).expect("a device");
        Xdp::new(vec![device], PORT, Some(own)).expect("netlink")
    });
    let mut end = End { xdp, socket, start: Instant::now() };
    let mut buffer = vec![0; 65536];
    let Some(peer) = args.get(3) else {
        loop {
            let (len, from) = end.receive(&mut buffer);
            if len == 1 {
                eprintln!("{:?}", end.xdp.as_ref().map(|xdp| (xdp.tally, xdp.lost())));
                return;
            }
            let bytes = buffer[..len].to_vec();
            end.send(from, &bytes);
        }
    };
    let peer = SocketAddr::new(peer.parse().expect("the peer's address"), PORT);
    std::thread::sleep(Duration::from_millis(300));
    for len in [8usize, 64, 256, 1024] {
        let mut times = Vec::with_capacity(ROUNDS);
        let message = vec![len as u8; len];
        for _ in 0..ROUNDS {
            let start = Instant::now();
            end.send(peer, &message);
            assert_eq!(end.receive(&mut buffer).0, len);
            times.push(start.elapsed().as_nanos() as u64);
        }
        times.sort_unstable();
        println!("{len} {:.3}", times[ROUNDS / 2] as f64 / 2000.0);
    }
    end.send(peer, b"x");
    eprintln!("{:?}", end.xdp.as_ref().map(|xdp| (xdp.tally, xdp.lost())));
}
