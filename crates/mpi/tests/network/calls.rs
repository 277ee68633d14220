//! The script of collectives: the same for all processes.

use crate::harness::hash;
use crate::spaces::Space;
use hpvm_mpi::coll::Root;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
    Reduce,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
}

const KINDS: [Kind; 22] = {
    use Kind::*;
    [
        Barrier,
        Bcast,
        Gather,
        Gatherv,
        Scatter,
        Scatterv,
        Allgather,
        Allgatherv,
        Alltoall,
        Alltoallv,
        Alltoallw,
        NeighborAllgather,
        NeighborAllgatherv,
        NeighborAlltoall,
        NeighborAlltoallv,
        NeighborAlltoallw,
        Reduce,
        Allreduce,
        ReduceScatter,
        ReduceScatterBlock,
        Scan,
        Exscan,
    ]
};

impl Kind {
    pub fn reduces(self) -> bool {
        use Kind::*;
        matches!(self, Reduce | Allreduce | ReduceScatter | ReduceScatterBlock | Scan | Exscan)
    }

    pub fn neighbours(self) -> bool {
        use Kind::*;
        matches!(
            self,
            NeighborAllgather
                | NeighborAllgatherv
                | NeighborAlltoall
                | NeighborAlltoallv
                | NeighborAlltoallw
        )
    }

    /// Whether blocks differ in length.
    pub fn varies(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Gatherv
                | Scatterv
                | Allgatherv
                | Alltoallv
                | Alltoallw
                | NeighborAllgatherv
                | NeighborAlltoallv
                | NeighborAlltoallw
        )
    }
}

/// One collective call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Known to all processes, different for every call.
    pub seq: u64,
    pub kind: Kind,
    /// Which communicator.
    pub space: usize,
    /// A number from which the root is made.
    root: u64,
    /// Units of a block, or elements of a reduction; the most where they vary.
    pub count: usize,
    pub in_place: bool,
    /// The reduction's operation.
    pub commutes: bool,
}

/// The calls of a run.
pub fn script(seed: u64, size: u32, spaces: u64, calls: u32) -> Vec<Call> {
    let call = |i: u32| {
        let h = |what: u64| hash(&[seed, i.into(), what, 5]);
        // MessageHead ones choose other algorithms; among many processes they would take too long.
        let counts = [0, 1, 2, 3, 7, 20, 64];
        let long = (size < 10 && h(7) % 12 == 0).then_some(500 + h(8) as usize % 6000);
        Call {
            seq: h(0),
            kind: KINDS[(h(1) % KINDS.len() as u64) as usize],
            space: (h(2) % spaces) as usize,
            root: h(3),
            count: long.unwrap_or(counts[(h(4) % counts.len() as u64) as usize]),
            in_place: h(5) % 4 == 0,
            commutes: h(6) % 2 == 0,
        }
    };
    (0..calls).map(call).collect()
}

/// Who the root of a call is.
#[derive(Clone, Copy, Debug)]
pub struct Rooted {
    /// The process.
    pub process: u32,
    pub argument: Root,
    pub is_root: bool,
    pub is_leaf: bool,
}

impl Call {
    /// The call as it may be made on `space`; `None` where it is not defined.
    pub fn valid_on(mut self, space: &Space) -> Option<Call> {
        if space.is_inter() {
            self.in_place = false;
            if self.kind.neighbours() || matches!(self.kind, Kind::Scan | Kind::Exscan) {
                return None;
            }
        }
        Some(self)
    }

    pub fn root(&self, space: &Space, me: u32) -> Rooted {
        let Some(remote) = &space.remote else {
            let rank = (self.root % space.local.len() as u64) as u32;
            let process = space.local[rank as usize];
            let is_root = process == me;
            return Rooted { process, argument: Root::Rank(rank), is_root, is_leaf: true };
        };
        let ours = u64::from(space.colour) == self.root & 1;
        let side = if ours { &space.local } else { remote };
        let rank = (self.root / 2 % side.len() as u64) as u32;
        let process = side[rank as usize];
        let argument = match ours {
            true if process == me => Root::Here,
            true => Root::Nowhere,
            false => Root::Rank(rank),
        };
        Rooted { process, argument, is_root: process == me, is_leaf: !ours }
    }
}
