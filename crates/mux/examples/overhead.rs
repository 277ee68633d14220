//! What the network transport adds to the system calls: one-way time of a message between two endpoints of one
//! thread over loopback, beside bare datagrams. `cargo run --release -p hpvm-mux --example overhead`

use hpvm_mux::Mux;
use hpvm_transport::{Head, Packets};
use std::hint::black_box;
use std::net::UdpSocket;
use std::time::Instant;

#[path = "../tests/jobs/mod.rs"]
mod jobs;

const ROUNDS: u32 = 20_000;

/// Best time of some batches, nanoseconds one way.
fn measure(mut round: impl FnMut()) -> f64 {
    (0..1000).for_each(|_| round());
    let batch = |_| {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| round());
        start.elapsed().as_nanos() as f64 / f64::from(ROUNDS) / 2.0
    };
    (0..7).map(batch).fold(f64::MAX, f64::min)
}

fn bare(bytes: usize) -> f64 {
    let open = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (a, b) = (open(), open());
    let to = |s: &UdpSocket| s.local_addr().expect("bound");
    let (to_a, to_b) = (to(&a), to(&b));
    let (message, mut buffer) = (vec![1; bytes], vec![0; 65536]);
    measure(|| {
        a.send_to(&message, to_b).expect("room");
        black_box(b.recv_from(&mut buffer).expect("a datagram"));
        b.send_to(&message, to_a).expect("room");
        black_box(a.recv_from(&mut buffer).expect("a datagram"));
    })
}

fn pass(from: &mut Mux, to: &mut Mux, credits: &mut u16, bytes: usize) {
    let dst = to.rank();
    while *credits == 0 {
        *credits = from.take_credits(dst);
    }
    *credits -= 1;
    from.send(dst, Head::single(1, 7), bytes, |to| to.fill(3)).expect("room");
    let mut came = 0;
    while came == 0 {
        came = to
            .poll(1, |_, _, data| {
                black_box(data.len());
            })
            .expect("a network");
    }
}

fn ours(bytes: usize) -> f64 {
    let mut ends = jobs::open(2, 1);
    let (mut there, mut back) = (0, 0);
    let [a, b] = &mut ends[..] else { unreachable!("two ranks") };
    measure(|| {
        pass(a, b, &mut there, bytes);
        pass(b, a, &mut back, bytes);
    })
}

fn main() {
    println!("{:>6} {:>10} {:>10} {:>10}", "bytes", "bare ns", "hpvm ns", "adds ns");
    for bytes in [8, 64, 256, 1024] {
        let (bare, ours) = (bare(bytes), ours(bytes));
        println!("{bytes:>6} {bare:>10.0} {ours:>10.0} {:>10.0}", ours - bare);
    }
}
