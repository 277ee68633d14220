//! Collectives across hosts whose members do not agree on lengths, which only a wrong program has: all come
//! to their end, as many as possible with an error, and what follows is as it should be.

use crate::data::word_type;
use hpvm_mpi::coll::shm::{BlockBuffers, CollArgs, ShmCollective, ShmOperation};
use hpvm_mpi::datatype::TypeRef;
use hpvm_mpi::error::Result;
use hpvm_mpi::op::Predef;
use hpvm_mpi::pt2pt::Incoming;
use hpvm_mpi::{Comm, Group, Process};
use hpvm_sim::{Config, Network, Reads, SimTransport};
use std::sync::Arc;

type P = Process<SimTransport>;

/// A context whose slots nothing else uses: its set has large slots.
const CONTEXT: u32 = 4 * 64 * 13;

/// Processes whose communicator uses slots in each host and staging.
struct Job {
    network: Network,
    processes: Vec<P>,
    comms: Vec<Arc<Comm>>,
}

/// What a member gives and takes, in words: the send side of a block and the receive side of it.
#[derive(Clone, Copy)]
struct Lengths {
    sent: usize,
    received: usize,
}

impl Job {
    fn new(nodes: &[u32]) -> Job {
        Job::on(nodes, Config::calm(nodes.len() as u32))
    }

    /// Processes of one host that share processors and do not read each other's memory: what does not fit in a large
    /// slot goes piece by piece.
    fn oversubscribed(size: u32) -> Job {
        let config = Config { reads: Reads::Never, ..Config::calm(size) };
        let mut job = Job::on(&vec![0; size as usize], config);
        job.processes.iter_mut().for_each(|p| p.oversubscribed = true);
        job
    }

    fn on(nodes: &[u32], config: Config) -> Job {
        let size = nodes.len() as u32;
        let network = Network::new(config);
        let processes = (0..size).map(|rank| {
            let mut p = Process::new(network.endpoint(rank));
            p.set_nodes(nodes);
            p
        });
        let comm = |rank| Comm::intra(CONTEXT, Group::run(0, size), rank).expect("a member");
        let (processes, comms) = (processes.collect(), (0..size).map(comm).collect());
        Job { network, processes, comms }
    }

    /// Lets everybody go on until `done` has said so of all.
    fn until(&mut self, case: &str, mut done: impl FnMut(usize, &mut P) -> bool) {
        let mut left: Vec<usize> = (0..self.processes.len()).collect();
        for _ in 0..2000 {
            self.network.settle();
            self.processes.iter_mut().for_each(|p| assert!(p.progress().is_ok()));
            left.retain(|rank| !done(*rank, &mut self.processes[*rank]));
            if left.is_empty() {
                return;
            }
        }
        panic!("{case}: members {left:?} wait for ever");
    }

    /// Runs what `make` says that each member does, of which each shows `bytes`;
    /// how it ends for each.
    fn run(
        &mut self,
        case: &str,
        bytes: u64,
        mut make: impl FnMut(u32) -> CollArgs,
    ) -> Vec<Result<()>> {
        let comms = self.comms.clone();
        let mut calls: Vec<Option<ShmOperation>> = (self.processes.iter_mut().zip(&comms).zip(0..))
            .map(|((p, comm), rank)| {
                // SAFETY: the callers keep all buffers.
                unsafe { p.begin_shm(comm, make(rank), bytes) }.expect("it begins")
            })
            .collect();
        let mut ends: Vec<Result<()>> = comms.iter().map(|_| Ok(())).collect();
        self.until(case, |rank, p| {
            let call = calls[rank].as_mut().expect("shared memory is its way");
            match call.poll(p) {
                Ok(done) => done,
                Err(error) => {
                    ends[rank] = Err(error);
                    true
                }
            }
        });
        let went = |call: &Option<ShmOperation>| {
            call.as_ref().is_some_and(|call| !call.goes_by_messages())
        };
        assert!(calls.iter().all(went), "{case} went by messages");
        ends
    }

    /// As the name says; more often than operations may be outstanding in staging buffers.
    fn others_are_right(&mut self) {
        let size = self.comms.len() as u64;
        for n in 0..6 {
            let sent: Vec<u64> = (0..size).map(|rank| rank + n).collect();
            let mut sums = vec![0; sent.len()];
            let ends = self.run("a right one", 8, |rank| {
                let rank = rank as usize;
                reduce(None, &sent[rank..=rank], &mut sums[rank..=rank])
            });
            assert!(ends.iter().all(Result::is_ok), "{ends:?}");
            let sum: u64 = sent.iter().sum();
            assert!(sums.iter().all(|s| *s == sum), "{sums:?} instead of {sum}");
        }
    }

    /// Exchanges blocks of which each member says how long they are; how it ends for each.
    fn exchange(&mut self, to_all: bool, lengths: impl Fn(u32) -> Lengths) -> Vec<Result<()>> {
        let size = self.comms.len();
        let most = (0..size as u32).map(|m| lengths(m).sent.max(lengths(m).received)).max();
        let most = most.unwrap_or(0);
        let mut buffers: Vec<_> =
            (0..size).map(|_| (vec![1u64; most * size], vec![0u64; most * size])).collect();
        let bytes = 8 * (lengths(0).received * if to_all { size } else { 1 }) as u64;
        let ends = self.run("an exchange", bytes, |rank| {
            let (sent, received) = &mut buffers[rank as usize];
            let buffers = BlockBuffers {
                send: Some(sent.as_ptr().cast()),
                send_count: lengths(rank).sent as i64,
                send_ty: TypeRef::new(word_type()),
                recv: received.as_mut_ptr().cast(),
                recv_count: lengths(rank).received as i64,
                recv_ty: TypeRef::new(word_type()),
            };
            if to_all { CollArgs::Alltoall(buffers) } else { CollArgs::Allgather(buffers) }
        });
        self.others_are_right();
        ends
    }

    fn reduce(&mut self, root: Option<u32>, count: impl Fn(u32) -> usize) -> Vec<Result<()>> {
        let size = self.comms.len() as u32;
        let most = (0..size).map(&count).max().unwrap_or(0);
        let sent = vec![1u64; most];
        let mut received: Vec<Vec<u64>> = (0..size).map(|_| vec![0; most]).collect();
        let longest = 8 * count(0) as u64;
        let ends = self.run("a reduction", longest, |rank| {
            reduce(root, &sent[..count(rank)], &mut received[rank as usize][..count(rank)])
        });
        self.others_are_right();
        ends
    }
}

fn reduce(root: Option<u32>, sent: &[u64], received: &mut [u64]) -> CollArgs {
    CollArgs::Reduce {
        root,
        send: sent.as_ptr().cast(),
        recv: received.as_mut_ptr().cast(),
        count: sent.len(),
        bytes: size_of_val(sent),
        ty: word_type().as_predefined().expect("predefined"),
        op: Predef::Sum,
    }
}

/// Jobs of several shapes; heads are 0 and the first of each host.
const JOBS: [&[u32]; 3] = [&[0, 0, 1, 1], &[0, 0, 0, 1, 2, 2], &[0, 1, 2, 3, 3]];

/// A member of a host of several that is not its head.
fn wrong(nodes: &[u32]) -> u32 {
    nodes.len() as u32 - if nodes[1] == 0 { nodes.len() as u32 - 1 } else { 1 }
}

fn all_fail(ends: &[Result<()>], case: &str) {
    assert!(ends.iter().all(Result::is_err), "{case}: {ends:?}");
}

#[test]
fn a_block_that_is_too_short_or_too_long() {
    for nodes in JOBS {
        let wrong = wrong(nodes);
        for (words, sent) in [(4, 3), (4, 5), (4000, 3999), (4000, 4001)] {
            let sent = |m| if m == wrong { sent } else { words };
            let lengths = |m| Lengths { sent: sent(m), received: words };
            let mut job = Job::new(nodes);
            all_fail(&job.exchange(false, lengths), "allgather");
            all_fail(&job.exchange(true, lengths), "alltoall");
        }
    }
}

#[test]
fn a_long_block_that_is_too_short_or_too_long() {
    for nodes in JOBS {
        let wrong = wrong(nodes);
        for sent in [6499, 6501] {
            let lengths =
                |m| Lengths { sent: if m == wrong { sent } else { 6500 }, received: 6500 };
            all_fail(&Job::new(nodes).exchange(true, lengths), "alltoall");
        }
    }
}

#[test]
fn a_block_in_pieces_that_is_too_short_or_too_long() {
    for members in [2, 3] {
        for sent in [0, 1, 39_999, 40_001, 80_000] {
            let lengths =
                |m| Lengths { sent: if m == 1 { sent } else { 40_000 }, received: 40_000 };
            for to_all in [false, true] {
                let ends = Job::oversubscribed(members).exchange(to_all, lengths);
                let others = ends.iter().enumerate().filter(|(member, _)| *member != 1);
                assert!(others.into_iter().all(|(_, end)| end.is_err()), "{sent}: {ends:?}");
            }
        }
    }
}

#[test]
fn an_operand_that_is_too_short() {
    for nodes in JOBS {
        let wrong = wrong(nodes);
        for words in [4, 4000] {
            let count = |m| words - usize::from(m == wrong);
            let mut job = Job::new(nodes);
            all_fail(&job.reduce(None, count), "allreduce");
            for root in 0..nodes.len() as u32 {
                let ends = job.reduce(Some(root), count);
                assert!(ends[root as usize].is_err() || root == wrong, "{root}: {ends:?}");
            }
        }
    }
}

#[test]
fn a_broadcast_of_less_than_expected() {
    for nodes in JOBS {
        for words in [3, 4000] {
            let mut job = Job::new(nodes);
            let mut buffers = vec![vec![1u64; words + 1]; nodes.len()];
            let longest = 8 * words as u64;
            let ends = job.run("a broadcast", longest, |rank| {
                let count = words as i64 + i64::from(rank == 0);
                let Incoming { buf, count, ty } = Incoming {
                    buf: buffers[rank as usize].as_mut_ptr().cast(),
                    count,
                    ty: word_type(),
                };
                CollArgs::Bcast { root: 0, buf, count, ty: TypeRef::new(ty) }
            });
            assert!(ends.iter().any(Result::is_err), "{ends:?}");
            job.others_are_right();
        }
    }
}
