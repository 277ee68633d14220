//! The floor of AF_XDP between two hosts: datagrams go back and forth, with nothing above them.
//!
//! `xdp_pingpong DEVICE OWN [PEER]`: with PEER it begins, and prints for some lengths the time one way: the median of all, and, as
//! `hpvmbench` takes it, the median and the least of batches of a millisecond; and how many datagrams of 80 bytes leave in a second, in windows of 64 that are answered once, so many in a system
//! call; without, it answers until a datagram of one byte comes. With XDP_MODE=udp the same by UDP, with generic in the
//! mode that every driver has.

use hpvm_xdp::netlink::Netlink;
use hpvm_xdp::{Device, Interface, Mode, Queue, Wish, Xdp};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const PORT: u16 = 7777;
const ROUNDS: usize = 30_000;
const WINDOWS: usize = 3000;
const WINDOW: usize = 64;
const IN_WINDOW: usize = 80;
/// The first byte of what is not answered.
const UNANSWERED: u8 = 255;

struct End {
    xdp: Option<Xdp>,
    socket: UdpSocket,
    start: Instant,
}

impl End {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.send_run(to, bytes, bytes.len());
    }

    /// Sends datagrams of `segment` bytes; past the kernel in one call of it.
    fn send_run(&mut self, to: SocketAddr, bytes: &[u8], segment: usize) {
        let now = self.start.elapsed().as_nanos() as u64;
        let taken = self.xdp.as_mut().map_or(0, |xdp| xdp.send(now, (to, 0), bytes, segment));
        for datagram in bytes[taken..].chunks(segment) {
            self.socket.send_to(datagram, to).expect("the socket has room");
        }
    }

    /// Millions of datagrams in a second, `run` of them in a call.
    fn rate(&mut self, peer: SocketAddr, buffer: &mut [u8], run: usize) -> f64 {
        let bytes = vec![UNANSWERED; run * IN_WINDOW];
        let start = Instant::now();
        for _ in 0..WINDOWS {
            (0..WINDOW / run).for_each(|_| self.send_run(peer, &bytes, IN_WINDOW));
            self.send(peer, &[8; 8]);
            assert_eq!(self.receive(buffer).0, 8);
        }
        (WINDOWS * WINDOW) as f64 / 1e6 / start.elapsed().as_secs_f64()
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

/// The means of batches of a millisecond of these round trips, microseconds one way, in order.
fn batches(times: &[u64]) -> Vec<f64> {
    let (mut batches, mut sum, mut count) = (Vec::new(), 0, 0u32);
    for time in times {
        (sum, count) = (sum + time, count + 1);
        if sum >= 1_000_000 {
            batches.push(sum as f64 / f64::from(count) / 2000.0);
            (sum, count) = (0, 0);
        }
    }
    batches.sort_unstable_by(f64::total_cmp);
    batches
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
        let device =
            Device::alone(queue, &interface, PORT).unwrap_or_else(|why| panic!("{}", why.text));
        eprintln!("{}", device.mode.text());
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
            if buffer[0] != UNANSWERED {
                let bytes = buffer[..len].to_vec();
                end.send(from, &bytes);
            }
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
        let batches = batches(&times);
        times.sort_unstable();
        let median = times[ROUNDS / 2] as f64 / 2000.0;
        println!(
            "{len} {median:.3}, batches {:.3}, least {:.3}",
            batches[batches.len() / 2],
            batches[0]
        );
    }
    for run in [1, 4, 16] {
        println!("{run} in a call: {:.3} million/s", end.rate(peer, &mut buffer, run));
    }
    end.send(peer, b"x");
    eprintln!("{:?}", end.xdp.as_ref().map(|xdp| (xdp.tally, xdp.lost())));
}
