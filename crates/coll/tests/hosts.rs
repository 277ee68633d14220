//! Collectives that know which ranks share a host, and which hosts a site, against their definitions.

mod model;

use hpvm_coll::hosts::{self, Hosts};
use hpvm_coll::select::{ANY, DEFAULT, Limits, Tables};
use hpvm_coll::*;
use model::data::{blank, compose, operands, packed, put, reduced, scramble, sum};
use model::{Mode, Op, Proc, no_op, run, ty};
use proptest::prelude::*;

const SEND: model::Type = ty(4, 6);
const RECV: model::Type = ty(2, 5);
const OPERAND: model::Type = ty(8, 11);

/// By hosts, whatever the length.
fn always() -> Tables {
    let hosts = Limits {
        bcast: ANY,
        reduce: ANY,
        allreduce: ANY,
        parts: 0,
        allgather: ANY,
        alltoall: ANY,
        joined: 0,
        gather: ANY,
    };
    // Between sites, the default: without a limit for what is looked at here.
    let sites = Limits { alltoall: ANY, joined: 0, gather: ANY, ..DEFAULT.sites };
    Tables { hosts, sites, ..DEFAULT.clone() }
}

/// The same, with the forms for long messages.
fn long() -> Tables {
    let always = always();
    let hosts = Limits { allreduce: -1, parts: ANY, alltoall: -1, joined: ANY, ..always.hosts };
    Tables { sites: Limits { alltoall: -1, joined: ANY, ..always.sites }, hosts, ..always }
}

/// A group of at least three ranks on at least two hosts.
#[derive(Clone, Debug)]
struct Case {
    nodes: Vec<u32>,
    /// The site of each host; none where nothing is known of sites.
    sites: Vec<u32>,
    root: u32,
    elements: usize,
    in_place: bool,
    commutative: bool,
    mode: Mode,
    seed: u64,
}

impl Case {
    fn size(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn hosts(&self) -> Option<Hosts> {
        match self.sites.is_empty() {
            true => Hosts::new(self.nodes.iter().copied()),
            false => {
                Hosts::at_sites((0..self.size()).map(|rank| (self.node(rank), self.site(rank))))
            }
        }
    }

    fn node(&self, rank: u32) -> u32 {
        self.nodes[rank as usize]
    }

    fn site(&self, rank: u32) -> u32 {
        self.sites.get(self.node(rank) as usize).copied().unwrap_or(0)
    }

    fn exchange(&self, rank: u32) -> Exchange {
        Exchange {
            rank,
            size: self.size(),
            root: 0,
            send_count: self.elements as i64,
            send_extent: SEND.extent as i64,
            send_size: SEND.size as i64,
            recv_count: 2 * self.elements as i64,
            recv_extent: RECV.extent as i64,
            recv_size: RECV.size as i64,
            in_place: self.in_place,
        }
    }

    fn reduction(&self, rank: u32, in_place: bool) -> Reduction {
        Reduction {
            rank,
            size: self.size(),
            root: self.root,
            count: self.elements as i64,
            extent: OPERAND.extent as i64,
            size_bytes: OPERAND.size as i64,
            commutative: self.commutative,
            in_place,
        }
    }

    fn op(&self) -> Op {
        if self.commutative { sum } else { compose }
    }

    /// Runs one rank each; returns the messages between hosts as (sender, receiver).
    fn run(&self, op: Op, make: impl Fn(u32) -> Proc) -> (Vec<Proc>, Vec<(u32, u32)>) {
        let mut procs: Vec<Proc> = (0..self.size()).map(make).collect();
        procs.iter_mut().for_each(|proc| proc.site = self.site(proc.rank));
        let between = messages(&procs, |rank| self.node(rank));
        run(&mut procs, op, self.mode, self.seed);
        (procs, between)
    }

    /// Nobody waits for what has crossed links one after the other, and where results come `together` one message
    /// at most goes from a site to another.
    fn crosses_once(&self, what: &str, procs: &[Proc], together: bool) {
        let most = procs.iter().map(|proc| proc.crossed).max();
        assert!(most <= Some(1), "{what} crosses {most:?} links: {self:?}");
        if together {
            one_per_pair(&messages(procs, |rank| self.site(rank)), self);
        }
    }

    /// Whether operands that do not commute can be combined host by host and site by site.
    fn may_combine(&self) -> bool {
        let places: Vec<u32> = self
            .hosts()
            .map_or_else(Vec::new, |hosts| (0..self.size()).map(|r| hosts.position(r)).collect());
        self.commutative || places.is_sorted()
    }

    fn barrier(&self, hosts: &Hosts) {
        let make = |rank| Proc::new(rank, hosts::barrier(hosts, rank), vec![], vec![], [SEND; 2]);
        let (procs, between) = self.run(no_op, make);
        assert!(procs.iter().flat_map(|p| &p.heard).all(|&heard| heard), "{self:?}");
        one_per_pair(&between, self);
        self.crosses_once("barrier", &procs, true);
    }

    fn bcast(&self, hosts: &Hosts) {
        let data = packed(self.root, 0, self.elements * RECV.size);
        let mut want = blank(RECV, self.elements);
        put(&mut want, 0, RECV, &data);
        let make = |rank| {
            let input = Broadcast {
                rank,
                size: self.size(),
                root: self.root,
                count: self.elements as i64,
                size_bytes: RECV.size as i64,
                contiguous: false,
            };
            let mut recv = blank(RECV, self.elements);
            if rank == self.root {
                recv.clone_from(&want);
            }
            Proc::new(rank, hosts::bcast(&always(), hosts, &input), vec![], recv, [SEND, RECV])
        };
        let (procs, between) = self.run(no_op, make);
        assert!(procs.iter().all(|p| p.recv == want), "{self:?}");
        one_per_pair(&between, self);
        self.crosses_once("bcast", &procs, true);
    }

    fn allgather(&self, hosts: &Hosts) {
        let (bytes, n) = (self.elements * SEND.size, self.size() as usize);
        let stride = 2 * self.elements * RECV.extent;
        let mut want = blank(RECV, 2 * self.elements * n);
        for rank in 0..self.size() {
            put(&mut want, rank as usize * stride, RECV, &packed(rank, 0, bytes));
        }
        let make = |rank: u32| {
            let schedule = hosts::allgather(&always(), hosts, &self.exchange(rank));
            let own = packed(rank, 0, bytes);
            let (mut send, mut recv) =
                (blank(SEND, self.elements), blank(RECV, 2 * self.elements * n));
            match self.in_place {
                true => put(&mut recv, rank as usize * stride, RECV, &own),
                false => put(&mut send, 0, SEND, &own),
            }
            Proc::new(rank, schedule, send, recv, [SEND, RECV])
        };
        let (procs, _) = self.run(no_op, make);
        assert!(procs.iter().all(|p| p.recv == want), "{self:?}");
        self.crosses_once("allgather", &procs, true);
    }

    fn alltoall(&self, hosts: &Hosts, tables: &Tables) -> Vec<(u32, u32)> {
        let (bytes, n) = (self.elements * SEND.size, self.size() as usize);
        let image = |data: &dyn Fn(u32) -> Vec<u8>| {
            let mut buffer = blank(RECV, 2 * self.elements * n);
            for peer in 0..n {
                put(&mut buffer, peer * 2 * self.elements * RECV.extent, RECV, &data(peer as u32));
            }
            buffer
        };
        let make = |rank: u32| {
            let schedule = hosts::alltoall(tables, hosts, &self.exchange(rank));
            let mut send = blank(SEND, self.elements * n);
            let mut recv = blank(RECV, 2 * self.elements * n);
            match self.in_place {
                true => recv = image(&|to| packed(rank, to, bytes)),
                false => (0..n).for_each(|to| {
                    let data = packed(rank, to as u32, bytes);
                    put(&mut send, to * self.elements * SEND.extent, SEND, &data);
                }),
            }
            Proc::new(rank, schedule, send, recv, [SEND, RECV])
        };
        let (procs, between) = self.run(no_op, make);
        for proc in &procs {
            let want = image(&|from| packed(from, proc.rank, bytes));
            assert!(proc.recv == want, "{self:?} rank {}", proc.rank);
        }
        self.crosses_once("alltoall", &procs, false);
        between
    }

    fn alltoalls(&self, hosts: &Hosts) {
        let count = hosts.count() as usize;
        let between = self.alltoall(hosts, &always());
        one_per_pair(&between, self);
        if self.elements > 0 {
            assert_eq!(between.len(), count * (count - 1), "{self:?}");
            // Every rank gets one from every other host.
            let between = self.alltoall(hosts, &long());
            assert_eq!(between.len(), self.nodes.len() * (count - 1), "{self:?}");
        }
        if self.elements > 0 && !self.in_place {
            // Every rank one to every other.
            let apart = Limits { alltoall: -1, joined: -1, ..DEFAULT.sites };
            self.alltoall(hosts, &Tables { sites: apart, hosts: apart, ..DEFAULT.clone() });
        }
    }

    fn gather(&self, hosts: &Hosts, tables: &Tables) {
        let (bytes, n) = (self.elements * SEND.size, self.size() as usize);
        let stride = 2 * self.elements * RECV.extent;
        let mut want = blank(RECV, 2 * self.elements * n);
        for rank in 0..self.size() {
            put(&mut want, rank as usize * stride, RECV, &packed(rank, 0, bytes));
        }
        let make = |rank: u32| {
            let in_place = self.in_place && rank == self.root;
            let input = Exchange { root: self.root, in_place, ..self.exchange(rank) };
            let schedule = hosts::gather(tables, hosts, &input);
            let mut send = blank(SEND, self.elements);
            let mut recv = blank(RECV, 2 * self.elements * n);
            let data = packed(rank, 0, bytes);
            match in_place {
                true => put(&mut recv, rank as usize * stride, RECV, &data),
                false => put(&mut send, 0, SEND, &data),
            }
            Proc::new(rank, schedule, send, recv, [SEND, RECV])
        };
        let (procs, between) = self.run(no_op, make);
        assert!(procs[self.root as usize].recv == want, "gather {self:?}");
        if tables.hosts.gather == ANY {
            one_per_pair(&between, self);
        }
        self.crosses_once("gather", &procs, false);
    }

    fn scatter(&self, hosts: &Hosts, tables: &Tables) {
        let (bytes, n) = (self.elements * SEND.size, self.size() as usize);
        let make = |rank: u32| {
            let in_place = self.in_place && rank == self.root;
            let input = Exchange { root: self.root, in_place, ..self.exchange(rank) };
            let schedule = hosts::scatter(tables, hosts, &input);
            let mut send = blank(SEND, self.elements * n);
            if rank == self.root {
                (0..n).for_each(|to| {
                    let data = packed(rank, to as u32, bytes);
                    put(&mut send, to * self.elements * SEND.extent, SEND, &data);
                });
            }
            let recv = blank(RECV, 2 * self.elements);
            Proc::new(rank, schedule, send, recv, [SEND, RECV])
        };
        let (procs, between) = self.run(no_op, make);
        for proc in procs.iter().filter(|p| !self.in_place || p.rank != self.root) {
            let mut want = blank(RECV, 2 * self.elements);
            put(&mut want, 0, RECV, &packed(self.root, proc.rank, bytes));
            assert!(proc.recv == want, "scatter {self:?} rank {}", proc.rank);
        }
        if tables.hosts.gather == ANY {
            one_per_pair(&between, self);
        }
        self.crosses_once("scatter", &procs, false);
    }

    fn proc(&self, rank: u32, schedule: Schedule, in_place: bool) -> Proc {
        let mut send = blank(OPERAND, self.elements);
        let mut recv = blank(OPERAND, self.elements);
        let input = if in_place { &mut recv } else { &mut send };
        put(input, 0, OPERAND, &operands(rank, self.elements));
        Proc::new(rank, schedule, send, recv, [ty(1, 1), OPERAND])
    }

    fn reductions(&self, hosts: &Hosts) {
        let mut want = blank(OPERAND, self.elements);
        put(&mut want, 0, OPERAND, &reduced(self.op(), 0..self.size(), self.elements));
        for tables in [always(), long()] {
            let all = |rank| {
                let input = self.reduction(rank, self.in_place);
                self.proc(rank, hosts::allreduce(&tables, hosts, &input), self.in_place)
            };
            let (procs, _) = self.run(self.op(), all);
            assert!(procs.iter().all(|p| p.recv == want), "allreduce {self:?}");
            if self.may_combine() {
                self.crosses_once("allreduce", &procs, true);
            }
            // With an operator that shows its bracketing all ranks must still agree.
            let (procs, _) = self.run(scramble, all);
            assert!(procs.iter().all(|p| p.recv == procs[0].recv), "allreduce {self:?}");
        }
        let rooted = |rank| {
            let in_place = self.in_place && rank == self.root;
            let input = self.reduction(rank, in_place);
            self.proc(rank, hosts::reduce(&always(), hosts, &input), in_place)
        };
        let (procs, between) = self.run(self.op(), rooted);
        assert!(procs[self.root as usize].recv == want, "reduce {self:?}");
        if self.may_combine() {
            self.crosses_once("reduce", &procs, true);
        }
        // Longer ones travel in parts.
        if self.commutative && self.elements < 512 {
            one_per_pair(&between, self);
        }
    }

    /// Elements of what a rank has for another, in operations in which that differs.
    fn length(&self, from: u32, to: u32) -> usize {
        (from as usize * 3 + to as usize * 5 + self.elements) % 4 * self.elements.min(40)
    }

    /// Whether the ranks of each site follow each other.
    fn in_rows(&self) -> bool {
        let sites: Vec<u32> = (0..self.size()).map(|rank| self.site(rank)).collect();
        let rows = sites.chunk_by(|a, b| a == b).map(|row| row[0]);
        let rows: Vec<u32> = rows.collect();
        rows.iter().collect::<std::collections::HashSet<_>>().len() == rows.len()
    }

    fn allgatherv(&self, hosts: &Hosts) {
        let ranks = 0..self.size();
        let counts: Vec<i64> = ranks.clone().map(|r| 2 * self.length(r, 0) as i64).collect();
        let room: i64 = counts.iter().sum();
        // In falling order.
        let displs: Vec<i64> =
            ranks.clone().map(|rank| counts[rank as usize + 1..].iter().sum()).collect();
        let at = |rank: u32| displs[rank as usize] as usize * RECV.extent;
        let data = |rank: u32| packed(rank, 0, self.length(rank, 0) * SEND.size);
        let mut want = blank(RECV, room as usize);
        ranks.for_each(|rank| put(&mut want, at(rank), RECV, &data(rank)));
        let make = |rank: u32| {
            let (extent, size_bytes) = (RECV.extent as i64, RECV.size as i64);
            let recv = Vectors { counts: &counts, displs: &displs, extent, size_bytes };
            let (send_count, send_size) = (self.length(rank, 0) as i64, SEND.size as i64);
            let (size, in_place) = (self.size(), self.in_place);
            let input = GatherV { rank, size, root: 0, send_count, send_size, recv, in_place };
            let mut send = blank(SEND, self.length(rank, 0));
            let mut recv = blank(RECV, room as usize);
            match in_place {
                true => put(&mut recv, at(rank), RECV, &data(rank)),
                false => put(&mut send, 0, SEND, &data(rank)),
            }
            let schedule = hosts::allgatherv(&always(), hosts, &input);
            Proc::new(rank, schedule, send, recv, [SEND, RECV])
        };
        let (procs, _) = self.run(no_op, make);
        assert!(procs.iter().all(|p| p.recv == want), "allgatherv {self:?}");
        self.crosses_once("allgatherv", &procs, true);
    }

    fn alltoallv(&self, hosts: &Hosts) {
        let ranks = 0..self.size();
        let lists = |length: &dyn Fn(u32) -> usize| {
            let counts: Vec<i64> = ranks.clone().map(|peer| length(peer) as i64).collect();
            let displs: Vec<i64> =
                (0..counts.len()).map(|peer| counts[..peer].iter().sum()).collect();
            (counts, displs)
        };
        let image = |(counts, displs): &(Vec<i64>, Vec<i64>),
                     ty: model::Type,
                     data: &dyn Fn(u32) -> Vec<u8>| {
            let mut buffer = blank(ty, counts.iter().sum::<i64>() as usize);
            for peer in ranks.clone() {
                put(&mut buffer, displs[peer as usize] as usize * ty.extent, ty, &data(peer));
            }
            buffer
        };
        let bytes = |from, to| packed(from, to, self.length(from, to) * SEND.size);
        let sends = |rank: u32| lists(&|to| self.length(rank, to));
        let receives = |rank: u32| lists(&|from| 2 * self.length(from, rank));
        let make = |rank: u32| {
            let (out, into) = (sends(rank), receives(rank));
            let vectors = |(counts, displs): &'_ (Vec<i64>, Vec<i64>), ty: model::Type| {
                let (counts, displs) = (counts.clone(), displs.clone());
                (counts, displs, ty.extent as i64, ty.size as i64)
            };
            let ((sc, sd, se, ss), (rc, rd, re, rs)) = (vectors(&out, SEND), vectors(&into, RECV));
            let send = Vectors { counts: &sc, displs: &sd, extent: se, size_bytes: ss };
            let recv = Vectors { counts: &rc, displs: &rd, extent: re, size_bytes: rs };
            let input = AlltoallV { rank, size: self.size(), send, recv, in_place: false };
            let schedule = hosts::alltoallv(hosts, &input);
            let send = image(&out, SEND, &|to| bytes(rank, to));
            let recv = blank(RECV, into.0.iter().sum::<i64>() as usize);
            Proc::new(rank, schedule, send, recv, [SEND, RECV])
        };
        let (procs, _) = self.run(no_op, make);
        for proc in &procs {
            let want = image(&receives(proc.rank), RECV, &|from| bytes(from, proc.rank));
            assert!(proc.recv == want, "alltoallv {self:?} rank {}", proc.rank);
        }
        self.crosses_once("alltoallv", &procs, false);
    }

    fn scans(&self, hosts: &Hosts) {
        let image = |data: &[u8]| {
            let mut image = blank(OPERAND, self.elements);
            put(&mut image, 0, OPERAND, data);
            image
        };
        for inclusive in [true, false] {
            let make = |rank| {
                let input = self.reduction(rank, self.in_place);
                let schedule = match inclusive {
                    true => hosts::scan(&always(), hosts, &input),
                    false => hosts::exscan(&always(), hosts, &input),
                };
                self.proc(rank, schedule, self.in_place)
            };
            let (procs, _) = self.run(self.op(), make);
            for proc in &procs {
                let end = proc.rank + u32::from(inclusive);
                let want = match end {
                    0 if self.in_place => image(&operands(0, self.elements)),
                    0 => blank(OPERAND, self.elements),
                    end => image(&reduced(self.op(), 0..end, self.elements)),
                };
                assert!(proc.recv == want, "scan {inclusive} {self:?} rank {}", proc.rank);
            }
            if self.in_rows() {
                self.crosses_once("scan", &procs, true);
            }
        }
    }

    fn reduce_scatter(&self, hosts: &Hosts) {
        for even in [true, false] {
            let part = |rank| if even { self.elements.min(100) } else { self.length(rank, 1) };
            let counts: Vec<i64> = (0..self.size()).map(|rank| part(rank) as i64).collect();
            let total = counts.iter().sum::<i64>() as usize;
            let make = |rank| {
                let input = self.reduction(rank, self.in_place);
                let block = Reduction { count: part(rank) as i64, root: 0, ..input };
                let Reduction { size, extent, size_bytes, commutative, in_place, .. } = input;
                let counts = &counts[..];
                let parts =
                    ReduceScatter { rank, size, counts, extent, size_bytes, commutative, in_place };
                let schedule = match even {
                    true => hosts::reduce_scatter_block(&always(), hosts, &block),
                    false => hosts::reduce_scatter(&always(), hosts, &parts),
                };
                let (mut send, mut recv) = (blank(OPERAND, total), blank(OPERAND, part(rank)));
                match in_place {
                    true => {
                        recv = blank(OPERAND, total);
                        put(&mut recv, 0, OPERAND, &operands(rank, total));
                    }
                    false => put(&mut send, 0, OPERAND, &operands(rank, total)),
                }
                Proc::new(rank, schedule, send, recv, [ty(1, 1), OPERAND])
            };
            let (procs, _) = self.run(self.op(), make);
            let all = reduced(self.op(), 0..self.size(), total);
            let mut start = 0;
            for proc in &procs {
                let (own, mut want) = (part(proc.rank), blank(OPERAND, part(proc.rank)));
                let bytes = start * OPERAND.size..(start + own) * OPERAND.size;
                put(&mut want, 0, OPERAND, &all[bytes]);
                let rank = proc.rank;
                assert!(proc.recv[..want.len()] == want, "reduce_scatter {self:?} rank {rank}");
                start += own;
            }
            if self.in_rows() {
                self.crosses_once("reduce_scatter", &procs, true);
            }
        }
    }

    fn all(&self) {
        let Some(hosts) = self.hosts() else { return };
        self.allgatherv(&hosts);
        self.alltoallv(&hosts);
        self.scans(&hosts);
        self.reduce_scatter(&hosts);
        self.barrier(&hosts);
        self.bcast(&hosts);
        self.allgather(&hosts);
        self.alltoalls(&hosts);
        // By hosts, and as the length makes it.
        for tables in [always(), DEFAULT.clone()] {
            self.gather(&hosts, &tables);
            self.scatter(&hosts, &tables);
        }
        self.reductions(&hosts);
    }
}

/// What is sent from one place to another, as (sender's, receiver's).
fn messages(procs: &[Proc], place: impl Fn(u32) -> u32) -> Vec<(u32, u32)> {
    let mut between = Vec::new();
    for proc in procs {
        for comm in proc.schedule.rounds().flat_map(|round| round.comms.to_vec()) {
            if let Comm::Send { to: Peer::Local(to), .. } = comm {
                let (a, b) = (place(proc.rank), place(to));
                between.extend((a != b).then_some((a, b)));
            }
        }
    }
    between
}

/// No two messages go from one host, or site, to the same other.
fn one_per_pair(between: &[(u32, u32)], case: &Case) {
    let mut seen = std::collections::HashSet::new();
    assert!(between.iter().all(|pair| seen.insert(*pair)), "{between:?} {case:?}");
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Eager), Just(Mode::Rendezvous), Just(Mode::Mixed)]
}

/// Hosts without any order, or neighbours on each.
fn nodes() -> impl Strategy<Value = Vec<u32>> {
    let mixed = prop::collection::vec(0u32..6, 1..30);
    let teams = prop::collection::vec(1usize..12, 1..6);
    let runs = teams.prop_map(|teams| {
        (0..).zip(teams).flat_map(|(host, n)| std::iter::repeat_n(host, n)).collect::<Vec<u32>>()
    });
    prop_oneof![mixed, runs]
}

fn cases() -> impl Strategy<Value = Case> {
    let numbers = (0u32..64, prop_oneof![0usize..6, 4000usize..5000]);
    // Hosts have numbers below 6. Sites in a row, without any order, or none.
    let rows = prop::collection::vec(0u32..4, 6).prop_map(|mut sites| {
        sites.sort_unstable();
        sites
    });
    let sites = prop_oneof![Just(vec![]), rows, prop::collection::vec(0u32..4, 6)];
    let places = (nodes(), sites);
    (places, numbers, any::<bool>(), any::<bool>(), modes(), any::<u64>()).prop_map(
        |((nodes, sites), (root, elements), in_place, commutative, mode, seed)| Case {
            sites,
            root: root % nodes.len() as u32,
            // Long ones for few ranks only.
            elements: if nodes.len() > 9 { elements % 50 } else { elements },
            nodes,
            in_place,
            commutative,
            mode,
            seed,
        },
    )
}

#[test]
fn where_the_plain_forms_are_right() {
    assert_eq!(Hosts::new([]), None);
    assert_eq!(Hosts::new([3, 3, 3]), None);
    assert_eq!(Hosts::new([2, 1, 0]), None);
    assert_eq!(Hosts::new([7, 9, 7]).map(|h| h.count()), Some(2));
    assert_eq!(Hosts::at_sites([(1, 0), (2, 0)]), None);
    // Site by site: rank 2 is on the second host.
    let hosts = Hosts::at_sites([(1, 0), (2, 1), (3, 0)]).expect("two sites");
    assert_eq!([0, 1, 2].map(|rank| hosts.position(rank)), [0, 2, 1]);
    assert_eq!(hosts.sites().map(|sites| sites.count()), Some(2));
}

#[test]
fn two_and_three_hosts() {
    for nodes in [vec![0, 0, 1], vec![1, 0, 0, 0], vec![0, 1, 0, 1], vec![5, 5, 5, 5, 2, 2, 2, 2]] {
        for (elements, in_place) in [(0, false), (1, false), (3, true), (900, false)] {
            for commutative in [true, false] {
                for root in 0..nodes.len() as u32 {
                    let (mode, seed) = (Mode::Rendezvous, u64::from(root));
                    let (nodes, sites) = (nodes.clone(), vec![]);
                    Case { nodes, sites, root, elements, in_place, commutative, mode, seed }.all();
                }
            }
        }
    }
}

/// Two sites of two hosts of two ranks; three of one host each; a site of one host beside one of three; five with one rank
/// each; hosts of both sites by turns.
#[test]
fn some_sites() {
    let cases: [(&[u32], &[u32]); 5] = [
        (&[0, 0, 1, 1, 2, 2, 3, 3], &[0, 0, 1, 1]),
        (&[0, 0, 1, 2, 2, 2], &[4, 2, 7]),
        (&[0, 1, 1, 2, 3], &[0, 1, 1, 1]),
        (&[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4]),
        (&[0, 1, 2, 3, 0, 1, 2, 3], &[0, 1, 0, 1]),
    ];
    for (nodes, sites) in cases {
        for (elements, in_place) in [(0, false), (1, false), (3, true), (4000, false), (4000, true)]
        {
            for commutative in [true, false] {
                for root in 0..nodes.len() as u32 {
                    let (mode, seed) = (Mode::Mixed, u64::from(root));
                    let (nodes, sites) = (nodes.to_vec(), sites.to_vec());
                    Case { nodes, sites, root, elements, in_place, commutative, mode, seed }.all();
                }
            }
        }
    }
}

/// Operands that are too many for one place are combined in several crossings.
#[test]
fn long_operands_of_many_sites() {
    let tables = Tables { direct: 1000, ..DEFAULT.clone() };
    let nodes = vec![0, 0, 1, 2, 3, 4];
    let case = Case {
        sites: vec![0, 1, 2, 3, 4],
        nodes,
        root: 3,
        elements: 700,
        in_place: false,
        commutative: true,
        mode: Mode::Mixed,
        seed: 1,
    };
    let hosts = case.hosts().expect("several");
    let mut want = blank(OPERAND, case.elements);
    put(&mut want, 0, OPERAND, &reduced(sum, 0..case.size(), case.elements));
    let all = |rank| {
        let schedule = hosts::allreduce(&tables, &hosts, &case.reduction(rank, false));
        case.proc(rank, schedule, false)
    };
    let (procs, _) = case.run(sum, all);
    assert!(procs.iter().all(|p| p.recv == want));
    assert!(procs.iter().any(|p| p.crossed > 1));
    let one = |rank| {
        let schedule = hosts::reduce(&tables, &hosts, &case.reduction(rank, false));
        case.proc(rank, schedule, false)
    };
    let (procs, _) = case.run(sum, one);
    assert!(procs[case.root as usize].recv == want);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_partition(case in cases()) {
        case.all();
    }
}
