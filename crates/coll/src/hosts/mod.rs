//! Collectives of a group on several hosts, some of which have several of its ranks.
//!
//! Ranks of a host meet at one of them, its head, and only heads talk to other hosts, with the
//! schedules of the other modules for a group of one rank per host. An alltoall has a rank of its
//! own for each other host. Every function gives way to the plain form where that is better: for
//! long messages ([`Limits`]), and for operations that do not commute where
//! the ranks of a host are not neighbours. All ranks decide alike.
//!
//! Where ranks are at several sites, with a slow link between each two, there is one level more: the
//! heads of hosts meet at the head of their site by the same functions, and what heads of sites do
//! among themselves is in [`links`].

mod allgather;
mod alltoall;
mod barrier;
mod bcast;
mod dealt;
pub mod heads;
mod joined;
mod links;
mod parts;
mod prefix;
mod reduce;
mod rooted;
mod varied;

pub use allgather::allgather;
pub use alltoall::alltoall;
pub use barrier::barrier;
pub use bcast::bcast;
pub use dealt::{reduce_scatter, reduce_scatter_block};
pub use prefix::{exscan, scan};
pub use reduce::{allreduce, reduce};
pub use rooted::{gather, scatter};
pub use varied::{allgatherv, alltoallv, alltoallw, gatherv, scatterv};

use crate::bcast as plain;
use crate::input::Broadcast;
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};
use crate::select::{Limits, Tables};
use std::sync::OnceLock;

/// How the ranks of a group lie on hosts: at least two, and not one rank on each, unless they are at
/// several sites.
///
/// Hosts are numbered by their lowest rank, site by site. A *position* counts ranks host by host, and
/// within a host in rank order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The rank at each position.
    ranks: Box<[u32]>,
    /// The position of each rank.
    positions: Box<[u32]>,
    /// The first position of each host, and the number of ranks.
    starts: Box<[u32]>,
    /// The host of each rank.
    of: Box<[u32]>,
    between: Between,
    /// See `heaviest` and `most_arrivals`; found when first asked for.
    heaviest: OnceLock<i64>,
    most_arrivals: OnceLock<i64>,
}

/// What lies between hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Between {
    /// Nothing that would take long.
    Cables,
    /// Of some, the slow link of two sites: how the hosts, as ranks, lie at sites, as hosts.
    Sites(Box<Hosts>),
    /// Of all, a slow link: the "hosts" are sites.
    Links,
}

impl Hosts {
    /// `nodes` tells for each rank in order which host it is on, by any number. `None` where the
    /// plain forms are right: all ranks share a host, or no two do.
    pub fn new(nodes: impl IntoIterator<Item = u32>) -> Option<Hosts> {
        let (of, hosts) = numbered(nodes);
        if hosts < 2 || hosts as usize == of.len() {
            return None;
        }
        Some(Hosts::build(of, Between::Cables))
    }

    /// The same where ranks may be at several sites: `places` tells for each rank in order its host
    /// and its site. Between two sites one rank on each host is no reason for the plain forms.
    pub fn at_sites(places: impl IntoIterator<Item = (u32, u32)>) -> Option<Hosts> {
        let places: Vec<(u32, u32)> = places.into_iter().collect();
        let (site_of, sites) = numbered(places.iter().map(|(_, site)| *site));
        if sites < 2 {
            return Hosts::new(places.iter().map(|(node, _)| *node));
        }
        // Hosts by their lowest rank, then site by site.
        let (first, hosts) = numbered(places);
        let mut at: Vec<(u32, u32)> = vec![(0, 0); hosts as usize];
        for (host, site) in first.iter().zip(&site_of) {
            at[*host as usize] = (*site, *host);
        }
        at.sort_unstable();
        let mut number = vec![0; hosts as usize];
        for (new, (_, old)) in (0..).zip(&at) {
            number[*old as usize] = new;
        }
        let of = first.iter().map(|host| number[*host as usize]).collect();
        let above = Hosts::build(at.iter().map(|(site, _)| *site).collect(), Between::Links);
        Some(Hosts::build(of, Between::Sites(Box::new(above))))
    }

    /// `of` is the host of each rank, numbered from 0 without gaps.
    fn build(of: Box<[u32]>, between: Between) -> Hosts {
        let mut ranks: Box<[u32]> = (0..of.len() as u32).collect();
        ranks.sort_by_key(|rank| of[*rank as usize]);
        let mut positions = vec![0; of.len()].into_boxed_slice();
        let mut starts = Vec::new();
        for (position, rank) in (0..).zip(&ranks) {
            positions[*rank as usize] = position;
            if of[*rank as usize] as usize == starts.len() {
                starts.push(position);
            }
        }
        starts.push(of.len() as u32);
        Hosts {
            ranks,
            positions,
            starts: starts.into(),
            of,
            between,
            heaviest: OnceLock::new(),
            most_arrivals: OnceLock::new(),
        }
    }

    /// Bytes that the tables take.
    pub fn bytes(&self) -> usize {
        let Hosts { ranks, positions, starts, of, .. } = self;
        let above = self.sites().map_or(0, |sites| size_of::<Hosts>() + sites.bytes());
        size_of_val(&**ranks)
            + size_of_val(&**positions)
            + size_of_val(&**starts)
            + size_of_val(&**of)
            + above
    }

    /// How the hosts, as ranks, lie at sites, as hosts; none where all ranks are at one.
    pub fn sites(&self) -> Option<&Hosts> {
        match &self.between {
            Between::Sites(sites) => Some(sites),
            Between::Cables | Between::Links => None,
        }
    }

    /// The site of a rank, by any number.
    fn site(&self, rank: u32) -> u32 {
        self.sites().map_or(0, |sites| sites.host(self.host(rank)))
    }

    /// The first rank of each site, and the number of all ranks. None where all ranks are at one site, or those of one do not
    /// follow each other.
    fn site_starts(&self) -> Option<Vec<u32>> {
        self.sites()?;
        let ranks = 0..self.of.len() as u32;
        let mut starts = vec![0];
        starts.extend(ranks.clone().skip(1).filter(|rank| self.site(*rank) != self.site(rank - 1)));
        // Sites are numbered by their lowest rank.
        let in_order = ranks.clone().is_sorted_by_key(|rank| self.site(rank));
        starts.push(ranks.end);
        in_order.then_some(starts)
    }

    /// Up to how many bytes collectives go by hosts.
    fn limits<'a>(&self, tables: &'a Tables) -> &'a Limits {
        match self.between {
            Between::Cables => &tables.hosts,
            Between::Sites(_) | Between::Links => &tables.sites,
        }
    }

    /// Hosts that have ranks of the group.
    pub fn count(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The most ranks on one host.
    pub fn largest(&self) -> u32 {
        self.starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
    }

    /// The least ranks on one host.
    fn smallest(&self) -> u32 {
        self.starts.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0)
    }

    /// Whether the ranks of a host follow each other.
    fn is_run(&self, host: u32) -> bool {
        let team = self.team(host);
        (team[0]..).zip(team).all(|(expected, rank)| expected == *rank)
    }

    /// The host of a rank.
    pub fn host(&self, rank: u32) -> u32 {
        self.of[rank as usize]
    }

    /// The rank at a position.
    pub fn at(&self, position: u32) -> u32 {
        self.ranks[position as usize]
    }

    /// The position of a rank.
    pub fn position(&self, rank: u32) -> u32 {
        self.positions[rank as usize]
    }

    /// The first position of a host.
    pub fn start(&self, host: u32) -> u32 {
        self.starts[host as usize]
    }

    /// The ranks of a host in rank order.
    pub fn team(&self, host: u32) -> &[u32] {
        &self.ranks[self.start(host) as usize..self.start(host + 1) as usize]
    }

    /// The number of a rank in its team.
    pub fn number(&self, rank: u32) -> u32 {
        self.positions[rank as usize] - self.start(self.host(rank))
    }

    /// Whether positions are ranks.
    pub fn in_order(&self) -> bool {
        (0..).zip(&self.ranks).all(|(position, rank)| position == *rank)
    }

    /// The head of a host: its lowest rank, or the root if it has that.
    pub fn head(&self, host: u32, root: u32) -> u32 {
        if self.host(root) == host { root } else { self.team(host)[0] }
    }

    /// The first rank of a rank's host, or of its site where there are several.
    fn leader(&self, rank: u32) -> u32 {
        let host = self.host(rank);
        let first = self.sites().map_or(host, |sites| sites.leader(host));
        self.team(first)[0]
    }

    /// Whether operands come to this rank in rank order.
    fn leads(&self, rank: u32) -> bool {
        self.leader(rank) == rank
    }

    fn others(&self, host: u32) -> impl Iterator<Item = u32> {
        (0..self.count()).filter(move |other| *other != host)
    }

    /// Who carries for `host`, in an alltoall, what goes to and comes from `other`.
    pub fn carrier(&self, host: u32, other: u32) -> u32 {
        let team = self.team(host);
        team[other as usize % team.len()]
    }

    /// What `rank` carries in an alltoall, in the order of hosts.
    pub fn loads(&self, rank: u32) -> impl Iterator<Item = Load> {
        let host = self.host(rank);
        let carried = self.others(host).filter(move |other| self.carrier(host, *other) == rank);
        carried.map(move |other| Load {
            host: other,
            peer: self.carrier(other, host),
            blocks: self.team(host).len() as i64 * self.team(other).len() as i64,
        })
    }

    /// The rank of another host to whom, in an alltoall in which all carry their own blocks, `rank`
    /// gives those for that host.
    pub fn landing(&self, rank: u32, other: u32) -> u32 {
        let team = self.team(other);
        team[self.number(rank) as usize % team.len()]
    }

    /// The ranks of other hosts for whom `rank` is the [`Hosts::landing`], in the order of positions.
    pub fn arrivals(&self, rank: u32) -> impl Iterator<Item = u32> {
        let host = self.host(rank);
        let senders = self.others(host).flat_map(|other| self.team(other).iter().copied());
        senders.filter(move |sender| self.landing(*sender, host) == rank)
    }

    /// Whether anybody of `other` gives blocks to `rank`.
    pub fn landing_at(&self, other: u32, rank: u32) -> bool {
        other != self.host(rank) && self.number(rank) < self.team(other).len() as u32
    }

    /// The most blocks that arrive so at any rank: for all ranks of its host, of which the first has
    /// the most senders.
    pub fn most_arrivals(&self) -> i64 {
        *self.most_arrivals.get_or_init(|| {
            let blocks = |host: u32| {
                let senders = self.arrivals(self.team(host)[0]).count();
                (senders * self.team(host).len()) as i64
            };
            (0..self.count()).map(blocks).max().unwrap_or(0)
        })
    }

    /// The most blocks that any rank carries in an alltoall, in each direction.
    pub fn heaviest(&self) -> i64 {
        *self.heaviest.get_or_init(|| {
            let carried = |rank: u32| self.loads(rank).map(|load| load.blocks).sum();
            (0..self.of.len() as u32).map(carried).max().unwrap_or(0)
        })
    }
}

/// Numbers in place of names, in the order in which names come first, and how many there are.
fn numbered<N: Eq + std::hash::Hash>(names: impl IntoIterator<Item = N>) -> (Box<[u32]>, u32) {
    let mut numbers = std::collections::HashMap::new();
    let number = |name| {
        let next = numbers.len() as u32;
        *numbers.entry(name).or_insert(next)
    };
    let all = names.into_iter().map(number).collect();
    (all, numbers.len() as u32)
}

/// What one rank carries in an alltoall between its own host and another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The other host.
    pub host: u32,
    /// Who carries there.
    pub peer: u32,
    /// Blocks in each direction.
    pub blocks: i64,
}

/// In hosts of so many ranks all talk with the head; more form a tree.
const FLAT: usize = 8;
/// Bytes that all ranks of a host get from the head itself.
const FROM_HEAD_BYTES_MAX: i64 = 16 * 1024;

/// Appends that `head` gives a block to all ranks of its host. `block` has `bytes` packed bytes.
fn spread(
    s: &mut Schedule,
    tables: &Tables,
    hosts: &Hosts,
    (rank, head): (u32, u32),
    block: Block,
    bytes: i64,
) {
    let team = hosts.team(hosts.host(rank));
    if team.len() <= FLAT && bytes <= FROM_HEAD_BYTES_MAX {
        match rank == head {
            true => {
                team.iter().filter(|r| **r != head).for_each(|r| s.send(Peer::Local(*r), block))
            }
            false => s.recv(Peer::Local(head), block),
        }
        return s.end_round();
    }
    let part = plain::schedule_with(
        tables,
        &Broadcast {
            rank: hosts.number(rank),
            size: team.len() as u32,
            root: hosts.number(head),
            count: block.count,
            size_bytes: bytes / block.count.max(1),
            contiguous: block.ty == Ty::Bytes,
        },
    );
    s.append(&part, |number| team[number as usize], |b| within(b, block));
}

/// A block of a broadcast's only buffer, which begins where `whole` does.
fn within(b: Block, whole: Block) -> Block {
    let ty = if b.ty == Ty::Recv { whole.ty } else { b.ty };
    Block { buffer: whole.buffer, offset: whole.offset + b.offset, ty, ..b }
}

/// The same block in another buffer, if it was in `from`.
fn moved(b: Block, from: Buffer, to: Buffer) -> Block {
    if b.buffer == from { Block { buffer: to, ..b } } else { b }
}
