//! Collectives that move blocks: what each rank gives and gets, and their plans.

use crate::calls::{Call, Kind};
use crate::collectives::Buffers;
use crate::data::{Shape, UNIT, content};
use crate::harness::{P, hash};
use crate::spaces::Space;
use hpvm_coll::Neighbours;
use hpvm_mpi::coll::{Plan, Typed, Varied};
use hpvm_mpi::pt2pt::{Incoming, Outgoing};

/// Block that goes to everybody.
const ALL: u32 = u32::MAX;

/// A block: from which process, to which.
type Key = (u32, u32);

/// One side of a call: its blocks and where they lie.
struct Side {
    shape: Shape,
    keys: Vec<Key>,
    units: Vec<usize>,
    /// First unit of each block.
    starts: Vec<usize>,
    room: usize,
}

impl Side {
    fn new(call: &Call, keys: Vec<Key>, me: u32, which: u64) -> Side {
        let shape = Shape::new(hash(&[call.seq, me.into(), which]).is_multiple_of(3));
        let units: Vec<usize> = keys.iter().map(|k| units(call, *k)).collect();
        let mut starts = vec![0; keys.len()];
        let mut room = 0;
        let backwards = call.kind.varies() && which == hash(&[call.seq]) % 2;
        for i in 0..keys.len() {
            let i = if backwards { keys.len() - 1 - i } else { i };
            starts[i] = room;
            // Vectors leave a gap behind every block.
            room += units[i] + usize::from(call.kind.varies());
        }
        Side { shape, keys, units, starts, room }
    }

    fn put(&self, call: &Call, buffer: &mut [u8], i: usize) {
        let (from, to) = self.keys[i];
        let packed = content(call.seq, from, to, self.units[i]);
        assert_eq!(packed.len(), self.units[i] * UNIT);
        self.shape.put(buffer, self.starts[i], &packed);
    }

    /// A buffer with all blocks that `choose` wants.
    fn filled(&self, call: &Call, choose: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut buffer = self.shape.blank(self.room);
        (0..self.keys.len()).filter(|i| choose(*i)).for_each(|i| self.put(call, &mut buffer, i));
        buffer
    }

    /// Elements of a block where all have one length.
    fn count(&self, call: &Call) -> i64 {
        call.count as i64 * self.shape.per_unit
    }

    fn counts(&self) -> Vec<i64> {
        self.units.iter().map(|u| *u as i64 * self.shape.per_unit).collect()
    }

    fn displs(&self) -> Vec<i64> {
        self.starts.iter().map(|s| *s as i64 * self.shape.per_unit).collect()
    }

    fn typed<B>(&self, buf: B) -> Typed<B> {
        let displs = self.starts.iter().map(|s| (*s * self.shape.stride) as i64).collect();
        let types = vec![self.shape.ty.clone(); self.keys.len()];
        Typed { buf, counts: self.counts(), displs, types }
    }
}

/// Units of a block; in place both directions of a pair have the same.
fn units(call: &Call, (from, to): Key) -> usize {
    let (from, to) = if call.in_place { (from.min(to), from.max(to)) } else { (from, to) };
    match call.kind.varies() {
        false => call.count,
        true => (hash(&[call.seq, from.into(), to.into(), 9]) % (call.count as u64 + 1)) as usize,
    }
}

/// The neighbours of a rank in a random graph: sources and destinations.
fn neighbours(call: &Call, space: &Space) -> (Vec<i32>, Vec<i32>) {
    let (n, me) = (space.local.len() as u64, u64::from(space.comm.rank()));
    let edges = |from: u64, to: u64| {
        // Few edges where there are many ranks; sometimes two between a pair, sometimes to itself.
        let degree = hash(&[call.seq, from, to, 3]) % (n / 2 + 3);
        usize::try_from(2u64.saturating_sub(degree)).unwrap_or(0)
    };
    let list = |edge: &dyn Fn(u64) -> usize| {
        (0..n).flat_map(|r| std::iter::repeat_n(r as i32, edge(r))).collect::<Vec<i32>>()
    };
    (list(&|r| edges(r, me)), list(&|r| edges(me, r)))
}

/// Blocks that this process gives and gets; `None` where a side is not significant.
fn sides(call: &Call, space: &Space, me: u32) -> (Option<Vec<Key>>, Option<Vec<Key>>) {
    use Kind::*;
    let root = call.root(space, me);
    let peers = space.peers();
    match call.kind {
        Gather | Gatherv => (
            root.is_leaf.then(|| vec![(me, ALL)]),
            root.is_root.then(|| peers.iter().map(|p| (*p, ALL)).collect()),
        ),
        Scatter | Scatterv => (
            root.is_root.then(|| peers.iter().map(|p| (root.process, *p)).collect()),
            root.is_leaf.then(|| vec![(root.process, me)]),
        ),
        Allgather | Allgatherv => {
            (Some(vec![(me, ALL)]), Some(peers.iter().map(|p| (*p, ALL)).collect()))
        }
        NeighborAllgather | NeighborAllgatherv => {
            let (sources, _) = neighbours(call, space);
            let from = |r: &i32| (space.local[*r as usize], ALL);
            (Some(vec![(me, ALL)]), Some(sources.iter().map(from).collect()))
        }
        NeighborAlltoall | NeighborAlltoallv | NeighborAlltoallw => {
            let (sources, destinations) = neighbours(call, space);
            let from = |r: &i32| (space.local[*r as usize], me);
            let to = |r: &i32| (me, space.local[*r as usize]);
            let gives = destinations.iter().map(to).collect();
            (Some(gives), Some(sources.iter().map(from).collect()))
        }
        _ => (
            Some(peers.iter().map(|p| (me, *p)).collect()),
            Some(peers.iter().map(|p| (*p, me)).collect()),
        ),
    }
}

/// The plan of a call and its buffers.
pub fn plan(p: &P, space: &Space, call: &Call, me: u32) -> (Plan, Buffers) {
    if call.kind == Kind::Bcast {
        return bcast(p, space, call, me);
    }
    let (gives, gets) = sides(call, space, me);
    let mut out = gives.map(|keys| Side::new(call, keys, me, 0));
    let mut into = gets.map(|keys| Side::new(call, keys, me, 1));
    // What a rank has in place of a send buffer (a scatter's root: of a receive buffer).
    let mut held: Box<dyn Fn(usize) -> bool> = Box::new(|_| false);
    let mut whole = Buffers::none();
    if call.in_place && in_place_here(call, space, me) {
        match call.kind {
            Kind::Scatter | Kind::Scatterv => into = None,
            Kind::Alltoall | Kind::Alltoallv | Kind::Alltoallw => {
                // The receive buffer holds what is to be sent, in the places of what will come.
                let keys = space.peers().iter().map(|p| (me, *p)).collect();
                let side = Side::new(call, keys, me, 1);
                whole.recv = side.filled(call, |_| true);
                out = None;
            }
            _ => {
                let own = space.peers().iter().position(|p| *p == me);
                held = Box::new(move |i| Some(i) == own);
                out = None;
            }
        }
    }
    whole.send = out.as_ref().map_or(Vec::new(), |side| side.filled(call, |_| true));
    if let Some(side) = &into {
        if whole.recv.is_empty() {
            whole.recv = side.filled(call, held);
        }
        whole.expected = side.filled(call, |_| true);
    }
    (make(p, space, call, me, out.as_ref(), into.as_ref(), &mut whole), whole)
}

fn in_place_here(call: &Call, space: &Space, me: u32) -> bool {
    use Kind::*;
    match call.kind {
        Gather | Gatherv | Scatter | Scatterv => call.root(space, me).is_root,
        Allgather | Allgatherv | Alltoall | Alltoallv | Alltoallw => true,
        _ => false,
    }
}

fn make(
    p: &P,
    space: &Space,
    call: &Call,
    me: u32,
    out: Option<&Side>,
    into: Option<&Side>,
    buffers: &mut Buffers,
) -> Plan {
    use Kind::*;
    let (planner, root) = (p.plan(&space.comm), call.root(space, me).argument);
    let (from, to) = (buffers.send.as_ptr(), buffers.recv.as_mut_ptr());
    let send = out.map(|s| Outgoing { buf: from, count: own_count(call, s), ty: &s.shape.ty });
    let recv = into.map(|s| Incoming { buf: to, count: own_count(call, s), ty: &s.shape.ty });
    let vectors =
        |s: Option<&Side>| s.map_or((Vec::new(), Vec::new()), |s| (s.counts(), s.displs()));
    let ((sc, sd), (rc, rd)) = (vectors(out), vectors(into));
    let send_v = out.map(|s| Varied { buf: from, counts: &sc, displs: &sd, ty: &s.shape.ty });
    let recv_v = into.map(|s| Varied { buf: to, counts: &rc, displs: &rd, ty: &s.shape.ty });
    let send_w = || out.map(|s| s.typed(from));
    let recv_w = || into.map(|s| s.typed(to));
    let (sources, destinations) = neighbours(call, space);
    let near = Neighbours { sources: &sources, destinations: &destinations, cartesian: false };
    let must = "both sides are significant";
    match call.kind {
        Gather => planner.gather(root, send, recv),
        Gatherv => planner.gatherv(root, send, recv_v),
        Scatter => planner.scatter(root, send, recv),
        Scatterv => planner.scatterv(root, send_v, recv),
        Allgather => planner.allgather(send, recv.expect(must)),
        Allgatherv => planner.allgatherv(send, recv_v.expect(must)),
        Alltoall => planner.alltoall(send, recv.expect(must)),
        Alltoallv => planner.alltoallv(send_v, recv_v.expect(must)),
        Alltoallw => planner.alltoallw(send_w(), recv_w().expect(must)),
        NeighborAllgather => {
            planner.neighbor_allgather(&near, send.expect(must), recv.expect(must))
        }
        NeighborAllgatherv => {
            planner.neighbor_allgatherv(&near, send.expect(must), recv_v.expect(must))
        }
        NeighborAlltoall => planner.neighbor_alltoall(&near, send.expect(must), recv.expect(must)),
        NeighborAlltoallv => {
            planner.neighbor_alltoallv(&near, send_v.expect(must), recv_v.expect(must))
        }
        NeighborAlltoallw => {
            planner.neighbor_alltoallw(&near, send_w().expect(must), recv_w().expect(must))
        }
        other => unreachable!("{other:?} moves no blocks"),
    }
}

/// The count argument of a side that has one.
fn own_count(call: &Call, side: &Side) -> i64 {
    match call.kind.varies() {
        true => side.counts().first().copied().unwrap_or(0),
        false => side.count(call),
    }
}

fn bcast(p: &P, space: &Space, call: &Call, me: u32) -> (Plan, Buffers) {
    let root = call.root(space, me);
    let side = Side::new(call, vec![(root.process, ALL)], me, 1);
    let gets = root.is_root || root.is_leaf;
    let mut recv = side.filled(call, |_| root.is_root);
    let expected = side.filled(call, |_| gets);
    let into = Incoming { buf: recv.as_mut_ptr(), count: side.count(call), ty: &side.shape.ty };
    let plan = p.plan(&space.comm).bcast(root.argument, into);
    (plan, Buffers { send: Vec::new(), recv, expected })
}
