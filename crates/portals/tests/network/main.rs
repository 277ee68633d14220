//! Interfaces of several processes on a network that delivers in an order of its own, checked against what a single memory would
//! have shown; and what peers may allege. A failure names the seed that replays it. HPVM_SEED=n runs seed n alone,
//! HPVM_SEEDS=n that many.

mod net;
mod script;

use hpvm_portals::{Ack, Head, Local, OPERAND, PacketKind, Request, Target, Verb};
use net::{ARENA, World};
use script::run;

/// Seeds of a test: `most`, or what the environment says.
fn seeds(most: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let many = number("HPVM_SEEDS").unwrap_or(most);
    number("HPVM_SEED").map_or(0..many, |seed| seed..seed + 1)
}

#[test]
fn operations_do_what_one_memory_would_show() {
    for seed in seeds(400) {
        run(seed, 1 + (seed % 5) as usize, 120);
    }
}

/// What nobody has a use for leaves its descriptor free only when it has left, and others behind it arrive.
#[test]
fn refused_data_goes_nowhere() {
    for seed in seeds(100) {
        let mut world = World::new(seed, 2);
        world.open_entries();
        let outside = world.outside(1);
        let descriptor = world.nodes[0].descriptor;
        world.nodes[0].memory[..5000].fill(7);
        // No such portal table entry, no such match bits, and at last one that is taken.
        for (pt_index, match_bits, length) in [(9, 0, 5000), (0, 77, 4000), (0, 0, 5000)] {
            let request = Request {
                verb: Verb::Put,
                put: Some(Local { descriptor, offset: 0 }),
                get: None,
                length,
                ack: Ack::Full,
                target: Target::Logical(1),
                pt_index,
                match_bits,
                remote_offset: 0,
                user_ptr: match_bits + u64::from(pt_index),
                hdr_data: 0,
                operand: [0; OPERAND],
            };
            world.start(0, request);
        }
        let mut events = Vec::new();
        while world.step() {
            let node = &mut world.nodes[0];
            while let Ok((event, false)) = node.interface.queue_take(node.mine, |e| *e) {
                let acknowledged = event.kind == 10;
                if acknowledged && event.user_ptr != 0 {
                    assert!(event.fail != 0 && event.mlength == 0, "seed {seed}: {event:?}");
                } else {
                    assert!(event.fail == 0 && event.mlength > 0, "seed {seed}: {event:?}");
                }
                events.push((event.user_ptr, acknowledged));
            }
        }
        for user_ptr in [9, 77, 0] {
            let of = events.iter().filter(|event| event.0 == user_ptr);
            assert!(of.map(|event| event.1).eq([false, true]), "seed {seed}: {events:?}");
        }
        let start = ARENA / 2;
        assert!(world.nodes[1].memory[start..start + 5000].iter().all(|byte| *byte == 7));
        assert_eq!(outside, world.outside(1), "seed {seed}");
        assert!((0..2).all(|at| !world.nodes[at].interface.is_busy()), "seed {seed}");
    }
}

/// Whatever headers a peer sends: nothing panics, and no byte changes but those of entries.
#[test]
fn allegations() {
    let kinds = [
        PacketKind::Put,
        PacketKind::Push,
        PacketKind::Get,
        PacketKind::Ready,
        PacketKind::Reply(hpvm_portals::NiFail::Ok),
        PacketKind::Reply(hpvm_portals::NiFail::Dropped),
        PacketKind::Atomic(hpvm_portals::atomic::Op::Sum, hpvm_portals::atomic::Datatype::Int32),
        PacketKind::FetchAtomic(
            hpvm_portals::atomic::Op::Cswap,
            hpvm_portals::atomic::Datatype::Double,
        ),
    ];
    for seed in seeds(300) {
        let mut world = World::new(seed, 2);
        world.open_entries();
        let outside = world.outside(0);
        for _ in 0..300 {
            let pick = world.rng.below(10);
            if pick == 0 {
                // Operations that an answer could be about.
                let length = [8, 5000][world.rng.below(2)];
                let descriptor = world.nodes[0].descriptor;
                let local = Local { descriptor, offset: 0 };
                let get = world.rng.below(2) == 0;
                let request = Request {
                    verb: if get { Verb::Get } else { Verb::Put },
                    put: (!get).then_some(local),
                    get: get.then_some(local),
                    length,
                    ack: Ack::Full,
                    target: Target::Logical(1),
                    pt_index: 0,
                    match_bits: 0,
                    remote_offset: 0,
                    user_ptr: 0,
                    hdr_data: 0,
                    operand: [0; OPERAND],
                };
                world.start(0, request);
            }
            let head = Head {
                kind: kinds[world.rng.below(kinds.len())],
                interface: world.nodes[0].interface.nature().number(),
                long: world.rng.below(2) == 0,
                flag: world.rng.below(2) == 0,
                pt_index: [0, 0, 1, 63, 64, u32::MAX][world.rng.below(6)],
                ticket: world.rng.below(4) as u64,
                match_bits: world.rng.below(3) as u64,
                hdr_data: 0,
                length: [0, 4, 8, 100, 5000, u64::MAX][world.rng.below(6)],
                remote_offset: [0, 5, 1 << 20, u64::MAX][world.rng.below(4)],
                operand: [3; OPERAND],
            };
            let data = vec![0xab; [0, 4, 8, 100][world.rng.below(4)]];
            // An error is as good as none: what counts is what follows.
            let _ = world.packet(1, 0, &head, &data);
        }
        assert_eq!(outside, world.outside(0), "seed {seed}: memory of no entry has changed");
        assert_eq!(world.nodes[0].memory.len(), ARENA);
    }
}
