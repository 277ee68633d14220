//! Collectives on intercommunicators, against their definitions.

mod model;

use hpvm_coll::inter::{self, Inter, Role};
use hpvm_coll::select::{Gather, Scatter};
use hpvm_coll::*;
use model::data::{POISON, blank, compose, operand, packed, put};
use model::{Mode, Proc, no_op, run, ty};
use proptest::prelude::*;

const SEND: model::Type = ty(4, 6);
const RECV: model::Type = ty(2, 5);
const ELEMENT: model::Type = ty(8, 11);

#[derive(Clone, Copy, Debug)]
struct Case {
    sizes: [u32; 2],
    /// Group and rank of the root.
    root: (usize, u32),
    count: usize,
    mode: Mode,
    seed: u64,
}

impl Case {
    fn inter(&self, group: usize, rank: u32) -> Inter {
        Inter { rank, local_size: self.sizes[group], remote_size: self.sizes[1 - group] }
    }

    fn role(&self, group: usize, rank: u32) -> Role {
        match self.root {
            (g, root) if g != group => Role::Member { root },
            (_, root) if root == rank => Role::Root,
            _ => Role::Bystander,
        }
    }

    /// Runs all ranks of both groups; `make` gives schedule, send buffer, receive buffer, types.
    fn run(
        &self,
        op: model::Op,
        make: impl Fn(usize, u32) -> (Schedule, Vec<u8>, Vec<u8>, [model::Type; 2]),
    ) -> Vec<Proc> {
        let mut procs = Vec::new();
        for group in 0..2 {
            for rank in 0..self.sizes[group] {
                let (schedule, send, recv, types) = make(group, rank);
                let mut proc = Proc::new(rank, schedule, send, recv, types);
                proc.group = group;
                proc.send_of = vec![SEND; 64];
                proc.recv_of = vec![RECV; 64];
                procs.push(proc);
            }
        }
        run(&mut procs, op, self.mode, self.seed);
        procs
    }

    fn exchange(&self, group: usize, elements: [usize; 2]) -> Exchange {
        Exchange {
            rank: 0,
            size: 0,
            root: 0,
            send_count: elements[group] as i64,
            send_extent: SEND.extent as i64,
            send_size: SEND.size as i64,
            recv_count: 2 * elements[1 - group] as i64,
            recv_extent: RECV.extent as i64,
            recv_size: RECV.size as i64,
            in_place: false,
        }
    }

    fn reduction(&self, group: usize, rank: u32, count: usize) -> Reduction {
        Reduction {
            rank,
            size: self.sizes[group],
            root: 0,
            count: count as i64,
            extent: ELEMENT.extent as i64,
            size_bytes: ELEMENT.size as i64,
            commutative: false,
            in_place: false,
        }
    }

    /// The packed reduction over a group in rank order.
    fn reduced(&self, group: usize, count: usize) -> Vec<u8> {
        let mut result = operands(group, self.sizes[group] - 1, count);
        for rank in (0..self.sizes[group] - 1).rev() {
            let input = operands(group, rank, count);
            for (a, b) in input.chunks(8).zip(result.chunks_mut(8)) {
                compose(a, b);
            }
        }
        result
    }
}

/// A rank as a number that no rank of the other group has.
fn id(group: usize, rank: u32) -> u32 {
    group as u32 * 1000 + rank
}

fn operands(group: usize, rank: u32, count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| operand(id(group, rank), i).to_le_bytes()).collect()
}

fn elements(ty: model::Type, data: &[u8]) -> Vec<u8> {
    let mut buffer = blank(ty, data.len() / ty.size);
    put(&mut buffer, 0, ty, data);
    buffer
}

fn rooted(case: Case) {
    let (root_group, root) = case.root;
    let bytes = case.count * SEND.size;
    let sender = id(root_group, root);
    // Broadcast.
    let procs = case.run(no_op, |group, rank| {
        let role = case.role(group, rank);
        let input = Broadcast {
            rank,
            size: case.sizes[group],
            root: 0,
            count: case.count as i64,
            size_bytes: SEND.size as i64,
            contiguous: false,
        };
        let recv = match role {
            Role::Root => elements(SEND, &packed(sender, 0, bytes)),
            _ => blank(SEND, case.count),
        };
        (inter::bcast::schedule(role, &input), vec![], recv, [SEND, SEND])
    });
    for proc in &procs {
        let gets = case.role(proc.group, proc.rank) != Role::Bystander;
        let want = elements(SEND, &packed(sender, 0, bytes));
        assert!(proc.recv == if gets { want } else { blank(SEND, case.count) });
    }
    // Reduce.
    let procs = case.run(compose, |group, rank| {
        let role = case.role(group, rank);
        let schedule = inter::reduce::reduce(role, &case.reduction(group, rank, case.count));
        let recv = if role == Role::Root { blank(ELEMENT, case.count) } else { vec![] };
        let send = elements(ELEMENT, &operands(group, rank, case.count));
        (schedule, send, recv, [ELEMENT, ELEMENT])
    });
    let at_root = |p: &&Proc| (p.group, p.rank) == case.root;
    let want = elements(ELEMENT, &case.reduced(1 - root_group, case.count));
    assert!(procs.iter().find(at_root).unwrap().recv == want, "{case:?}");
}

fn gather_scatter(case: Case) {
    let (root_group, root) = case.root;
    let bytes = case.count * SEND.size;
    let others = case.sizes[1 - root_group];
    let stride = 2 * case.count * RECV.extent;
    let send_stride = case.count * SEND.extent;
    for how in [Gather::Linear, Gather::Binomial] {
        let procs = case.run(no_op, |group, rank| {
            let role = case.role(group, rank);
            let input = case.exchange(group, [case.count; 2]);
            let room = if role == Role::Root { stride * others as usize } else { 0 };
            let schedule = inter::gather::build(how, &case.inter(group, rank), role, &input);
            let send = elements(SEND, &packed(rank, 0, bytes));
            (schedule, send, vec![POISON; room], [SEND, RECV])
        });
        let mut want = vec![POISON; stride * others as usize];
        for rank in 0..others {
            put(&mut want, rank as usize * stride, RECV, &packed(rank, 0, bytes));
        }
        let at_root = |p: &&Proc| (p.group, p.rank) == case.root;
        assert!(procs.iter().find(at_root).unwrap().recv == want, "{how:?} {case:?}");
    }
    for how in [Scatter::Linear, Scatter::Binomial] {
        let procs = case.run(no_op, |group, rank| {
            let role = case.role(group, rank);
            let input = case.exchange(group, [case.count; 2]);
            let mut send = vec![];
            if role == Role::Root {
                send = vec![POISON; send_stride * others as usize];
                for to in 0..others {
                    put(&mut send, to as usize * send_stride, SEND, &packed(root, to, bytes));
                }
            }
            let schedule = inter::scatter::build(how, &case.inter(group, rank), role, &input);
            (schedule, send, blank(RECV, 2 * case.count), [SEND, RECV])
        });
        for proc in procs.iter().filter(|p| p.group != root_group) {
            assert!(proc.recv == elements(RECV, &packed(root, proc.rank, bytes)), "{how:?}");
        }
    }
}

/// Elements from a rank of one group to a rank of the other.
fn length(case: &Case, group: usize, from: u32, to: u32) -> usize {
    (from as usize * 3 + to as usize * 5 + group) % 3 * case.count
}

/// Gatherv and scatterv, lengths by the rank of the group without the root.
fn vectors(case: Case) {
    let (root_group, root) = case.root;
    let others = case.sizes[1 - root_group];
    let lengths: Vec<i64> = (0..others).map(|r| length(&case, 0, r, 0) as i64).collect();
    let displs: Vec<i64> = (0..others as usize).map(|i| lengths[..i].iter().sum()).collect();
    let total = lengths.iter().sum::<i64>() as usize;
    let data = |rank: u32| packed(rank, 7, lengths[rank as usize] as usize * 4);
    let all: Vec<u8> = (0..others).flat_map(data).collect();
    let side = Vectors { counts: &lengths, displs: &displs, extent: 6, size_bytes: 4 };
    let own = |role: Role, rank: u32| match role {
        Role::Member { .. } => lengths[rank as usize],
        _ => 0,
    };
    let procs = case.run(no_op, |group, rank| {
        let role = case.role(group, rank);
        let send_count = own(role, rank);
        let in_place = false;
        let input =
            GatherV { rank, size: 0, root: 0, send_count, send_size: 4, recv: side, in_place };
        let send = if send_count > 0 { elements(SEND, &data(rank)) } else { vec![] };
        let recv = if role == Role::Root { blank(SEND, total) } else { vec![] };
        let schedule = inter::gather::schedule_v(&case.inter(group, rank), role, &input);
        (schedule, send, recv, [SEND, SEND])
    });
    let at_root = |p: &&Proc| (p.group, p.rank) == (root_group, root);
    assert!(procs.iter().find(at_root).unwrap().recv == elements(SEND, &all));
    let procs = case.run(no_op, |group, rank| {
        let role = case.role(group, rank);
        let recv_count = own(role, rank);
        let in_place = false;
        let input =
            ScatterV { rank, size: 0, root: 0, send: side, recv_count, recv_size: 4, in_place };
        let send = if role == Role::Root { elements(SEND, &all) } else { vec![] };
        let schedule = inter::scatter::schedule_v(&case.inter(group, rank), role, &input);
        (schedule, send, blank(SEND, recv_count as usize), [SEND, SEND])
    });
    for proc in procs.iter().filter(|p| p.group != root_group) {
        assert!(proc.recv == elements(SEND, &data(proc.rank)));
    }
}

/// Allgather with lengths that differ by direction, by both algorithms and by choice.
fn allgather(case: Case, lengths: [usize; 2]) {
    type Build = fn(&Inter, &Exchange) -> Schedule;
    let builds: [Build; 3] =
        [inter::allgather::leaders, inter::allgather::direct, inter::allgather::schedule];
    for build in builds {
        let procs = case.run(no_op, |group, rank| {
            let input = case.exchange(group, lengths);
            let own = packed(id(group, rank), 0, lengths[group] * SEND.size);
            let others = case.sizes[1 - group] as usize;
            let recv = blank(RECV, 2 * lengths[1 - group] * others);
            (build(&case.inter(group, rank), &input), elements(SEND, &own), recv, [SEND, RECV])
        });
        for proc in &procs {
            let from = 1 - proc.group;
            let data = (0..case.sizes[from])
                .flat_map(|rank| packed(id(from, rank), 0, lengths[from] * SEND.size));
            assert!(proc.recv == elements(RECV, &data.collect::<Vec<_>>()), "{case:?}");
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum All {
    Gather,
    Even,
    Vectors,
    Typed,
}

fn alltoall(case: Case, how: All) {
    let length = |group: usize, from: u32, to: u32| match how {
        All::Gather => length(&case, group, from, 0),
        All::Even => case.count,
        All::Vectors | All::Typed => length(&case, group, from, to),
    };
    let data = |group: usize, from: u32, to: u32| {
        let tag = if matches!(how, All::Gather) { 0 } else { to };
        packed(id(group, from), tag, length(group, from, to) * SEND.size)
    };
    let starts = |counts: &[i64]| -> Vec<i64> {
        (0..counts.len()).map(|i| counts[..i].iter().sum()).collect()
    };
    let procs = case.run(no_op, |group, rank| {
        let others = case.sizes[1 - group];
        let sends: Vec<i64> = (0..others).map(|to| length(group, rank, to) as i64).collect();
        let recvs: Vec<i64> =
            (0..others).map(|from| 2 * length(1 - group, from, rank) as i64).collect();
        let (sdispls, rdispls) = (starts(&sends), starts(&recvs));
        let room = recvs.iter().sum::<i64>() as usize;
        let at = case.inter(group, rank);
        let send = Vectors { counts: &sends, displs: &sdispls, extent: 6, size_bytes: 4 };
        let recv = Vectors { counts: &recvs, displs: &rdispls, extent: 5, size_bytes: 2 };
        let (size, in_place) = (others, false);
        let schedule = match how {
            All::Gather => {
                let send_count = length(group, rank, 0) as i64;
                let input =
                    GatherV { rank, size, root: 0, send_count, send_size: 4, recv, in_place };
                inter::allgather::schedule_v(&at, &input)
            }
            All::Even => inter::alltoall::schedule(&at, &case.exchange(group, [case.count; 2])),
            All::Vectors => {
                inter::alltoall::schedule_v(&at, &AlltoallV { rank, size, send, recv, in_place })
            }
            All::Typed => {
                let sbytes: Vec<i64> = sdispls.iter().map(|d| d * 6).collect();
                let rbytes: Vec<i64> = rdispls.iter().map(|d| d * 5).collect();
                let send = TypedVectors { counts: &sends, displs: &sbytes, sizes: &[4; 64] };
                let recv = TypedVectors { counts: &recvs, displs: &rbytes, sizes: &[2; 64] };
                inter::alltoall::schedule_w(&at, &AlltoallW { rank, size, send, recv, in_place })
            }
        };
        let peers = if matches!(how, All::Gather) { 1 } else { others };
        let out: Vec<u8> = (0..peers).flat_map(|to| data(group, rank, to)).collect();
        (schedule, elements(SEND, &out), blank(RECV, room), [SEND, RECV])
    });
    for proc in &procs {
        let from = 1 - proc.group;
        let all = (0..case.sizes[from]).flat_map(|rank| data(from, rank, proc.rank));
        assert!(proc.recv == elements(RECV, &all.collect::<Vec<_>>()), "{how:?} {case:?}");
    }
}

fn reductions(case: Case) {
    let procs = case.run(compose, |group, rank| {
        let input = case.reduction(group, rank, case.count);
        let send = elements(ELEMENT, &operands(group, rank, case.count));
        (inter::reduce::allreduce(&input), send, blank(ELEMENT, case.count), [ELEMENT; 2])
    });
    for proc in &procs {
        let want = elements(ELEMENT, &case.reduced(1 - proc.group, case.count));
        assert!(proc.recv == want, "allreduce {case:?}");
    }
    // Both groups deal out the same number of elements, each in its own way.
    let total = case.count * (case.sizes[0] * case.sizes[1]) as usize;
    for even in [true, false] {
        let counts = |group: usize| -> Vec<i64> {
            let size = case.sizes[group] as usize;
            let mut counts = vec![(total / size) as i64; size];
            if !even && size > 1 {
                counts[0] += counts[size - 1];
                counts[size - 1] = 0;
            }
            counts
        };
        let procs = case.run(compose, |group, rank| {
            let counts = counts(group);
            let own = counts[rank as usize] as usize;
            let input = case.reduction(group, rank, own);
            let schedule = if even {
                inter::reduce::reduce_scatter_block(&input)
            } else {
                inter::reduce::reduce_scatter(&ReduceScatter {
                    rank,
                    size: input.size,
                    counts: &counts,
                    extent: input.extent,
                    size_bytes: input.size_bytes,
                    commutative: false,
                    in_place: false,
                })
            };
            let send = elements(ELEMENT, &operands(group, rank, total));
            (schedule, send, blank(ELEMENT, own), [ELEMENT; 2])
        });
        for proc in &procs {
            let counts = counts(proc.group);
            let start = counts[..proc.rank as usize].iter().sum::<i64>() as usize;
            let end = start + counts[proc.rank as usize] as usize;
            let all = case.reduced(1 - proc.group, total);
            assert!(proc.recv == elements(ELEMENT, &all[start * 8..end * 8]), "{case:?}");
        }
    }
}

fn everything(case: Case) {
    let barrier = |group, rank| {
        let schedule = inter::barrier::schedule(&case.inter(group, rank));
        (schedule, vec![], vec![], [SEND, RECV])
    };
    for proc in case.run(no_op, barrier) {
        let others = proc.heard.split_at(case.sizes[0] as usize);
        let others = if proc.group == 0 { others.1 } else { others.0 };
        assert!(others.iter().all(|&heard| heard), "barrier {case:?}");
    }
    rooted(case);
    gather_scatter(case);
    vectors(case);
    allgather(case, [case.count, case.count]);
    allgather(case, [case.count, 0]);
    allgather(case, [2 * case.count, case.count]);
    for how in [All::Gather, All::Even, All::Vectors, All::Typed] {
        alltoall(case, how);
    }
    reductions(case);
}

#[test]
fn small_groups() {
    for a in 1..=6 {
        for b in 1..=6 {
            for count in [0, 1, 3] {
                let root = ((a + b) as usize % 2, if (a + b) % 2 == 0 { a } else { b } / 2);
                let (mode, seed) = (Mode::Rendezvous, 5);
                everything(Case { sizes: [a, b], root, count, mode, seed });
            }
        }
    }
}

#[test]
fn large_groups() {
    let (root, mode, seed) = ((1, 20), Mode::Rendezvous, 5);
    everything(Case { sizes: [40, 23], root, count: 1, mode, seed });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_groups(a in 1u32..20, b in 1u32..20, group in 0usize..2, root in 0u32..20,
                  count in 0usize..4, seed: u64,
                  mode in prop_oneof![Just(Mode::Eager), Just(Mode::Rendezvous), Just(Mode::Mixed)]) {
        let sizes = [a, b];
        everything(Case { sizes, root: (group, root % sizes[group]), count, mode, seed });
    }
}
