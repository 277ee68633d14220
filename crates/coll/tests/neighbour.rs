//! Neighbourhood collectives on graphs and Cartesian topologies, against their definitions.

mod model;

use hpvm_coll::*;
use model::data::{blank, packed, put};
use model::{Mode, Proc, Rng, no_op, run, ty};
use proptest::prelude::*;

const SEND: model::Type = ty(4, 6);
const RECV: model::Type = ty(2, 5);
const TYPES: [model::Type; 2] = [SEND, RECV];

/// Sources and destinations of every rank, and for every source the place of the edge in the
/// sender's list of destinations.
struct Topology {
    sources: Vec<Vec<i32>>,
    destinations: Vec<Vec<i32>>,
    /// For each rank and source place: the place at the sender.
    edges: Vec<Vec<usize>>,
    cartesian: bool,
}

/// A random multigraph with loops, where the k-th edge from a to b is the k-th in both lists.
fn graph(size: usize, edges: usize, seed: u64) -> Topology {
    let mut rng = Rng(seed);
    let mut t = Topology {
        sources: vec![vec![]; size],
        destinations: vec![vec![]; size],
        edges: vec![vec![]; size],
        cartesian: false,
    };
    for _ in 0..edges {
        let (from, to) = (rng.below(size), rng.below(size));
        if rng.below(5) == 0 {
            t.destinations[from].push(-1);
            t.sources[to].push(-1);
            t.edges[to].push(0);
        }
        t.edges[to].push(t.destinations[from].len());
        t.destinations[from].push(to as i32);
        t.sources[to].push(from as i32);
    }
    t
}

/// A grid; an edge goes from the place (dimension, direction) to the opposite one.
fn grid(dims: &[i32], periodic: &[bool]) -> Topology {
    let size = dims.iter().product::<i32>();
    let shift = |rank: i32, dim: usize, by: i32| {
        let stride = dims[dim + 1..].iter().product::<i32>();
        let at = rank / stride % dims[dim];
        let to = at + by;
        if !periodic[dim] && !(0..dims[dim]).contains(&to) {
            return -1;
        }
        rank + (to.rem_euclid(dims[dim]) - at) * stride
    };
    let neighbours = |rank: i32| -> Vec<i32> {
        (0..dims.len()).flat_map(|dim| [shift(rank, dim, -1), shift(rank, dim, 1)]).collect()
    };
    let lists: Vec<_> = (0..size).map(neighbours).collect();
    let opposite: Vec<usize> = (0..2 * dims.len()).map(|i| i ^ 1).collect();
    Topology {
        sources: lists.clone(),
        destinations: lists,
        edges: vec![opposite; size as usize],
        cartesian: true,
    }
}

/// Which of the five operations.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Allgather,
    AllgatherV,
    Alltoall,
    AlltoallV,
    AlltoallW,
}

const HOWS: [How; 5] =
    [How::Allgather, How::AllgatherV, How::Alltoall, How::AlltoallV, How::AlltoallW];

/// Elements that `from` sends along its edge number `place`.
fn length(how: How, from: usize, place: usize, scale: usize) -> usize {
    match how {
        How::Allgather | How::Alltoall => scale,
        How::AllgatherV => from % 3 * scale,
        How::AlltoallV | How::AlltoallW => (from + place) % 3 * scale,
    }
}

fn content(how: How, from: usize, place: usize, scale: usize) -> Vec<u8> {
    let gathers = matches!(how, How::Allgather | How::AllgatherV);
    let to = if gathers { 0 } else { place as u32 };
    packed(from as u32, to, length(how, from, place, scale) * SEND.size)
}

fn starts(counts: &[i64]) -> Vec<i64> {
    counts.iter().scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count))).collect()
}

fn recv_counts(t: &Topology, how: How, rank: usize, scale: usize) -> Vec<i64> {
    let pairs = t.sources[rank].iter().zip(&t.edges[rank]);
    let count = |(&from, &place): (&i32, &usize)| match from {
        -1 if !matches!(how, How::Allgather | How::Alltoall) => 2,
        -1 => 2 * scale as i64,
        from => 2 * length(how, from as usize, place, scale) as i64,
    };
    pairs.map(count).collect()
}

fn build(t: &Topology, how: How, rank: usize, scale: usize) -> Schedule {
    let neighbours = Neighbours {
        sources: &t.sources[rank],
        destinations: &t.destinations[rank],
        cartesian: t.cartesian,
    };
    let exchange = Exchange {
        rank: rank as u32,
        size: t.sources.len() as u32,
        root: 0,
        send_count: scale as i64,
        send_extent: SEND.extent as i64,
        send_size: SEND.size as i64,
        recv_count: 2 * scale as i64,
        recv_extent: RECV.extent as i64,
        recv_size: RECV.size as i64,
        in_place: false,
    };
    let out = t.destinations[rank].len();
    let sends: Vec<i64> = (0..out).map(|i| length(how, rank, i, scale) as i64).collect();
    let recvs = recv_counts(t, how, rank, scale);
    let (sdispls, rdispls) = (starts(&sends), starts(&recvs));
    let side = |counts, displs, ty: model::Type| Vectors {
        counts,
        displs,
        extent: ty.extent as i64,
        size_bytes: ty.size as i64,
    };
    let (send, recv) = (side(&sends, &sdispls, SEND), side(&recvs, &rdispls, RECV));
    let id = rank as u32;
    match how {
        How::Allgather => neighbour::allgather(&neighbours, &exchange),
        How::Alltoall => neighbour::alltoall(&neighbours, &exchange),
        How::AllgatherV => {
            let count = length(how, rank, 0, scale) as i64;
            neighbour::allgatherv(&neighbours, id, count, SEND.size as i64, &recv)
        }
        How::AlltoallV => neighbour::alltoallv(&neighbours, id, &send, &recv),
        How::AlltoallW => {
            let bytes = |displs: &[i64], ty: model::Type| -> Vec<i64> {
                displs.iter().map(|d| d * ty.extent as i64).collect()
            };
            let (ssizes, rsizes) = (vec![4; sends.len()], vec![2; recvs.len()]);
            let displs = (bytes(&sdispls, SEND), bytes(&rdispls, RECV));
            let send = TypedVectors { counts: &sends, displs: &displs.0, sizes: &ssizes };
            let recv = TypedVectors { counts: &recvs, displs: &displs.1, sizes: &rsizes };
            neighbour::alltoallw(&neighbours, id, &send, &recv)
        }
    }
}

fn check(t: &Topology, how: How, scale: usize, mode: Mode, seed: u64) {
    let size = t.sources.len();
    let gathers = matches!(how, How::Allgather | How::AllgatherV);
    let mut procs: Vec<_> = (0..size)
        .map(|rank| {
            let edges = if gathers { 1 } else { t.destinations[rank].len() };
            let sends = (0..edges).map(|place| content(how, rank, place, scale));
            let data: Vec<u8> = sends.flatten().collect();
            let mut send = blank(SEND, data.len() / SEND.size);
            put(&mut send, 0, SEND, &data);
            let room = recv_counts(t, how, rank, scale).iter().sum::<i64>() as usize;
            let schedule = build(t, how, rank, scale);
            let mut proc = Proc::new(rank as u32, schedule, send, blank(RECV, room), TYPES);
            proc.send_of = vec![SEND; t.destinations[rank].len()];
            proc.recv_of = vec![RECV; t.sources[rank].len()];
            proc
        })
        .collect();
    let cost = run(&mut procs, no_op, mode, seed);
    assert!(cost.rounds <= 1);
    for (rank, proc) in procs.iter().enumerate() {
        let counts = recv_counts(t, how, rank, scale);
        let mut want = blank(RECV, counts.iter().sum::<i64>() as usize);
        for (i, start) in starts(&counts).into_iter().enumerate() {
            if t.sources[rank][i] >= 0 {
                let from = t.sources[rank][i] as usize;
                let data = content(how, from, t.edges[rank][i], scale);
                put(&mut want, start as usize * RECV.extent, RECV, &data);
            }
        }
        assert!(proc.recv == want, "{how:?} rank {rank} of {size}: {:?}", t.sources[rank]);
    }
}

#[test]
fn grids() {
    let shapes: [&[i32]; 9] =
        [&[1], &[2], &[5], &[1, 1], &[2, 2], &[2, 1, 3], &[3, 4], &[1, 2], &[4, 2, 2]];
    for dims in shapes {
        for bits in 0..8 {
            let periodic = [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0];
            let t = grid(dims, &periodic);
            for how in HOWS {
                for scale in [0, 1, 3] {
                    check(&t, how, scale, Mode::Rendezvous, 1);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn graphs(size in 1usize..12, edges in 0usize..60, way in 0usize..5, scale in 0usize..4,
              mode in prop_oneof![Just(Mode::Eager), Just(Mode::Rendezvous), Just(Mode::Mixed)],
              seed: u64) {
        check(&graph(size, edges, seed), HOWS[way], scale, mode, seed);
    }
}
