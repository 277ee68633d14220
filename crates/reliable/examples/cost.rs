//! What the protocol costs per datagram: a ping-pong and a stream of 8-byte packets between two
//! hubs, without a network. Arguments: `pingpong` or `stream`, and how many packets.
//!
//! Every datagram is counted once, with what sender and receiver do for it together.

use hpvm_reliable::{Config, Head, Hub, Sent};
use std::time::Instant;

/// A socket that writes datagrams one behind the other.
struct Road {
    bytes: Vec<[u8; 2048]>,
    lens: Vec<usize>,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap_or_else(|| "pingpong".into());
    let count: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mut hubs =
        [(); 2].map(|()| Hub::new(Config::default(), 2).unwrap_or_else(|e| panic!("{e}")));
    let mut credits = [0_u16; 2];
    let mut road = Road { bytes: vec![[0; 2048]; 256], lens: Vec::new() };
    let mut now = 1_000_000;
    let start = Instant::now();
    let (mut sent, mut delivered, mut datagrams) = (0, 0, 0);
    while delivered < count {
        let from = if kind == "pingpong" { (sent % 2) as usize } else { 0 };
        let burst = if kind == "pingpong" { 1 } else { 16 };
        for _ in 0..burst {
            send(&mut hubs[from], now, from, &mut credits[from], sent, &mut road);
            sent += 1;
        }
        now += 2000;
        datagrams += road.lens.len();
        delivered += hand_over(&mut hubs[1 - from], now, from, &mut road);
        // The turn of the receiver's loop; in a stream it acknowledges now and then.
        if hubs[1 - from].has_work(now) {
            transmit(&mut hubs[1 - from], now, &mut road);
            datagrams += road.lens.len();
            hand_over(&mut hubs[from], now, 1 - from, &mut road);
        }
    }
    let time = start.elapsed().as_nanos() as f64;
    println!(
        "{kind}: {delivered} packets in {datagrams} datagrams, {:.1} ns per packet, {:.1} ns per datagram",
        time / delivered as f64,
        time / datagrams as f64
    );
}

fn send(hub: &mut Hub, now: u64, from: usize, credits: &mut u16, number: u64, road: &mut Road) {
    let to = 1 - from as u32;
    if *credits == 0 {
        *credits = hub.grant(to);
    }
    let fill = |room: &mut [u8]| room.copy_from_slice(&number.to_le_bytes());
    if hub.push(now, to, Head::single(1, number), 8, fill).is_ok() {
        *credits -= 1;
    }
    hub.transmit_to(now, to, &mut |_, bytes| road.take(bytes));
}

fn transmit(hub: &mut Hub, now: u64, road: &mut Road) {
    hub.transmit(now, &mut |_, bytes| road.take(bytes));
}

fn hand_over(hub: &mut Hub, now: u64, from: usize, road: &mut Road) -> u64 {
    let mut delivered = 0;
    for (bytes, len) in road.bytes.iter().zip(road.lens.drain(..)) {
        let _ = hub.on_datagram(now, from as u32, &bytes[..len], &mut |_, payload| {
            delivered += payload.len() as u64 / 8;
        });
    }
    delivered
}

impl Road {
    fn take(&mut self, bytes: &[u8]) -> Sent {
        let Some(room) = self.bytes.get_mut(self.lens.len()) else { return Sent::Later };
        room[..bytes.len()].copy_from_slice(bytes);
        self.lens.push(bytes.len());
        Sent::Taken
    }
}
