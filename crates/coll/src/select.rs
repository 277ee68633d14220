//! Which algorithm runs for which number of ranks and message length.
//!
//! The choice looks only at numbers that are the same on all ranks. The tables are data: a tuning
//! run (`hpvm tune`) measures its own, which reach [`Tables`] as [`text`]. The values here are
//! estimates from the algorithms' costs (latency about 0.5 us, 5 GB/s per rank).

pub mod origin;
mod shm;
pub mod text;

pub use shm::{
    ALWAYS_SLOTS, Facts, LARGE_SLOT, SLOT, ShmMethod, WHOLE_OPERANDS, agreement_up_to,
    messages_above, select_shm, slots_up_to, untimed_shm,
};

use std::borrow::Cow;

/// One line of a table. A table is read from the top, and the first line that fits wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<A> {
    /// Fits up to so many ranks.
    pub ranks: u32,
    /// Fits up to so many bytes. Each table says which bytes count.
    pub bytes: i64,
    pub algorithm: A,
}

/// A table of rules; a static one, or one made at run time.
pub type Table<A> = Cow<'static, [Rule<A>]>;

/// Algorithms of [`crate::bcast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bcast {
    Binomial,
    ScatterAllgather,
    /// With segments of so many bytes.
    Chain {
        segment: u32,
    },
}

/// Algorithms of [`crate::reduce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// A tree turned to the root for operations that commute, else a tree in rank order.
    Binomial,
    Rabenseifner,
}

/// Algorithms of [`crate::allreduce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allreduce {
    Direct,
    RecursiveDoubling,
    Rabenseifner,
    Ring,
}

/// Algorithms of [`crate::gather`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gather {
    Binomial,
    Linear,
}

/// Algorithms of [`crate::scatter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scatter {
    Binomial,
    Linear,
}

/// Algorithms of [`crate::allgather`] and [`crate::allgatherv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allgather {
    Direct,
    Dissemination,
    Ring,
}

/// Algorithms of [`crate::alltoall`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alltoall {
    Bruck,
    /// With messages to and from so many peers in flight.
    Pairwise {
        window: u32,
    },
}

/// Algorithms of [`crate::reduce_scatter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceScatter {
    Tree,
    Halving,
    Pairwise,
}

/// What carries a blocking collective of ranks that share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Collective slots, or another method through shared memory ([`way`]).
    SharedMemory,
    Messages,
}

/// Collectives that shared memory can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollKind {
    Bcast,
    Reduce,
    Allreduce,
    Allgather,
    Alltoall,
    Gather,
    Scatter,
}

impl CollKind {
    pub const ALL: [CollKind; COLL_KINDS] = [
        CollKind::Bcast,
        CollKind::Reduce,
        CollKind::Allreduce,
        CollKind::Allgather,
        CollKind::Alltoall,
        CollKind::Gather,
        CollKind::Scatter,
    ];
}

/// Collectives that shared memory can carry.
pub const COLL_KINDS: usize = 7;

/// How often the bytes of an announced message are copied inside a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Out of the sender's memory, by the kernel.
    One,
    /// By way of memory that both share.
    Two,
}

/// Up to how many bytes a collective of a group on several hosts goes by [`crate::hosts`], so that
/// few messages travel between hosts. Longer ones are better spread over all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the message.
    pub bcast: i64,
    /// Bytes of one rank's operand.
    pub reduce: i64,
    /// Bytes of one rank's operand: by the heads of hosts.
    pub allreduce: i64,
    /// The same, beyond `allreduce`: by the ranks of a host, each for a part.
    pub parts: i64,
    /// Bytes of the whole result.
    pub allgather: i64,
    /// Bytes that one rank carries: in one message per pair of hosts.
    pub alltoall: i64,
    /// Beyond that, bytes of the block between two ranks: in one message from a host to a rank.
    pub joined: i64,
    /// Bytes of one rank's block, of scatter as well.
    pub gather: i64,
}

/// The tables of all collectives that have a choice. They must be the same on all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Bytes of the message.
    pub bcast: Table<Bcast>,
    /// Bytes of one rank's operand.
    pub reduce: Table<Reduce>,
    /// Bytes of one rank's operand.
    pub allreduce: Table<Allreduce>,
    /// The same for ranks each of which may be on a host of its own. Where no line fits: `allreduce`.
    pub allreduce_apart: Table<Allreduce>,
    /// The same for ranks that read long messages out of each other's memory. Where no line fits: `allreduce`.
    pub allreduce_reads: Table<Allreduce>,
    /// Bytes of one rank's block.
    pub gather: Table<Gather>,
    /// Bytes of one rank's block.
    pub scatter: Table<Scatter>,
    /// Bytes of the whole result.
    pub allgather: Table<Allgather>,
    /// Bytes of the whole result.
    pub allgatherv: Table<Allgather>,
    /// Bytes of the block between two ranks.
    pub alltoall: Table<Alltoall>,
    /// Bytes of one rank's operand, before the scatter.
    pub reduce_scatter: Table<ReduceScatter>,
    /// By [`CollKind`]. Bytes of a member's slot: as above, but of all blocks of an alltoall, and of one
    /// block of an allgather. Where no line fits: shared memory.
    pub carriers: [Table<Carrier>; COLL_KINDS],
    /// Ranks of the job, bytes of the message. Where no line fits, processes find out by themselves.
    pub copies: Table<Copies>,
    /// Names and bytes of the thresholds of messages that the text sets. Whoever has them knows the names.
    pub thresholds: Vec<(String, u64)>,
    /// Not a part of the text, like all below.
    pub hosts: Limits,
    /// The same for groups at several sites: the plain forms know nothing of the link between two.
    pub sites: Limits,
    /// Bytes of the operands of all other sites, up to which an allreduce or a reduction over their links has them
    /// come together in one crossing. Beyond, and with more than two sites, messages that are shorter cross more often.
    pub direct: i64,
}

/// The limit of a rule that fits any number of bytes.
pub const ANY: i64 = i64::MAX;
/// The limit of a rule that fits any number of ranks.
pub const ALL: u32 = u32::MAX;
const KIB: i64 = 1024;

const fn rule<A>(ranks: u32, bytes: i64, algorithm: A) -> Rule<A> {
    Rule { ranks, bytes, algorithm }
}

/// The built-in tables.
pub static DEFAULT: Tables = Tables {
    bcast: Cow::Borrowed(&[
        rule(2, ANY, Bcast::Binomial),
        rule(ALL, 16 * KIB, Bcast::Binomial),
        rule(4, ANY, Bcast::Chain { segment: 64 * KIB as u32 }),
        rule(8, 128 * KIB, Bcast::Binomial),
        rule(ALL, 32 * KIB, Bcast::Binomial),
        rule(ALL, ANY, Bcast::ScatterAllgather),
    ]),
    reduce: Cow::Borrowed(&[
        rule(ALL, 8 * KIB, Reduce::Binomial),
        rule(2, ANY, Reduce::Binomial),
        rule(ALL, ANY, Reduce::Rabenseifner),
    ]),
    allreduce: Cow::Borrowed(&[
        rule(2, 8 * KIB, Allreduce::Direct),
        rule(2, ANY, Allreduce::Rabenseifner),
        rule(3, 4 * KIB, Allreduce::Direct),
        rule(4, 8 * KIB, Allreduce::RecursiveDoubling),
        rule(7, 256, Allreduce::Direct),
        rule(ALL, 8 * KIB, Allreduce::RecursiveDoubling),
        rule(ALL, 256 * KIB, Allreduce::Rabenseifner),
        rule(32, ANY, Allreduce::Ring),
        rule(ALL, ANY, Allreduce::Rabenseifner),
    ]),
    // A message between hosts takes longer than copying what two could spare.
    allreduce_apart: Cow::Borrowed(&[rule(2, 64 * KIB, Allreduce::Direct)]),
    // To read a whole operand takes less time than two rounds of halves, each with an announcement. Beyond these lengths
    // the memory that is moved costs more than the rounds, and up to 24 KiB halves are as fast or faster.
    allreduce_reads: Cow::Borrowed(&[
        rule(2, 8 * KIB, Allreduce::Direct),
        rule(2, 24 * KIB, Allreduce::Rabenseifner),
        rule(2, WHOLE_OPERANDS as i64, Allreduce::Direct),
    ]),
    gather: Cow::Borrowed(&[
        rule(4, ANY, Gather::Linear),
        rule(ALL, 2 * KIB, Gather::Binomial),
        rule(ALL, ANY, Gather::Linear),
    ]),
    scatter: Cow::Borrowed(&[
        rule(4, ANY, Scatter::Linear),
        rule(ALL, 2 * KIB, Scatter::Binomial),
        rule(ALL, ANY, Scatter::Linear),
    ]),
    allgather: Cow::Borrowed(&[
        rule(4, 64 * KIB, Allgather::Direct),
        rule(ALL, 64 * KIB, Allgather::Dissemination),
        rule(ALL, ANY, Allgather::Ring),
    ]),
    allgatherv: Cow::Borrowed(&[
        rule(8, 1024 * KIB, Allgather::Direct),
        rule(ALL, 64 * KIB, Allgather::Dissemination),
        rule(ALL, ANY, Allgather::Ring),
    ]),
    alltoall: Cow::Borrowed(&[
        rule(7, ANY, Alltoall::Pairwise { window: 8 }),
        rule(ALL, 256, Alltoall::Bruck),
        rule(ALL, 32 * KIB, Alltoall::Pairwise { window: 32 }),
        rule(ALL, ANY, Alltoall::Pairwise { window: 4 }),
    ]),
    reduce_scatter: Cow::Borrowed(&[
        rule(2, ANY, ReduceScatter::Pairwise),
        rule(ALL, 256 * KIB, ReduceScatter::Halving),
        rule(ALL, ANY, ReduceScatter::Pairwise),
    ]),
    carriers: [const { Cow::Borrowed(&[]) }; COLL_KINDS],
    copies: Cow::Borrowed(&[]),
    thresholds: Vec::new(),
    hosts: Limits {
        bcast: 256 * KIB,
        reduce: 64 * KIB,
        allreduce: 16 * KIB,
        parts: 128 * KIB,
        allgather: 256 * KIB,
        alltoall: 512 * KIB,
        joined: 32 * KIB,
        gather: 2 * KIB,
    },
    sites: Limits {
        bcast: ANY,
        reduce: ANY,
        allreduce: ANY,
        parts: 0,
        allgather: ANY,
        alltoall: 512 * KIB,
        joined: 32 * KIB,
        gather: 2 * KIB,
    },
    direct: 16 * KIB * KIB,
};

/// What the first line that fits says.
fn find<A: Copy>(table: &[Rule<A>], ranks: u32, bytes: i64) -> Option<A> {
    let fits = |rule: &&Rule<A>| ranks <= rule.ranks && bytes <= rule.bytes;
    table.iter().find(fits).map(|rule| rule.algorithm)
}

fn pick<A: Copy>(table: &[Rule<A>], ranks: u32, bytes: i64, otherwise: A) -> A {
    find(table, ranks, bytes).unwrap_or(otherwise)
}

/// What the tables say. Where no line fits, the algorithm that never does badly.
impl Tables {
    pub fn bcast(&self, ranks: u32, bytes: i64) -> Bcast {
        pick(&self.bcast, ranks, bytes, Bcast::Binomial)
    }

    pub fn reduce(&self, ranks: u32, bytes: i64) -> Reduce {
        pick(&self.reduce, ranks, bytes, Reduce::Binomial)
    }

    pub fn allreduce(&self, ranks: u32, bytes: i64) -> Allreduce {
        pick(&self.allreduce, ranks, bytes, Allreduce::RecursiveDoubling)
    }

    /// The same for ranks each of which may be on a host of its own.
    pub fn allreduce_apart(&self, ranks: u32, bytes: i64) -> Allreduce {
        let apart = find(&self.allreduce_apart, ranks, bytes);
        apart.unwrap_or_else(|| self.allreduce(ranks, bytes))
    }

    /// The same for ranks that read long messages out of each other's memory.
    pub fn allreduce_reads(&self, ranks: u32, bytes: i64) -> Allreduce {
        let reads = find(&self.allreduce_reads, ranks, bytes);
        reads.unwrap_or_else(|| self.allreduce(ranks, bytes))
    }

    pub fn gather(&self, ranks: u32, bytes: i64) -> Gather {
        pick(&self.gather, ranks, bytes, Gather::Linear)
    }

    pub fn scatter(&self, ranks: u32, bytes: i64) -> Scatter {
        pick(&self.scatter, ranks, bytes, Scatter::Linear)
    }

    pub fn allgather(&self, ranks: u32, bytes: i64) -> Allgather {
        pick(&self.allgather, ranks, bytes, Allgather::Ring)
    }

    pub fn allgatherv(&self, ranks: u32, bytes: i64) -> Allgather {
        pick(&self.allgatherv, ranks, bytes, Allgather::Ring)
    }

    pub fn alltoall(&self, ranks: u32, bytes: i64) -> Alltoall {
        pick(&self.alltoall, ranks, bytes, Alltoall::Pairwise { window: 8 })
    }

    pub fn reduce_scatter(&self, ranks: u32, bytes: i64) -> ReduceScatter {
        pick(&self.reduce_scatter, ranks, bytes, ReduceScatter::Pairwise)
    }

    pub fn carrier(&self, kind: CollKind, ranks: u32, bytes: i64) -> Carrier {
        pick(&self.carriers[kind as usize], ranks, bytes, Carrier::SharedMemory)
    }

    pub fn copies(&self, ranks: u32, bytes: i64) -> Option<Copies> {
        find(&self.copies, ranks, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_fitting_line_wins() {
        assert_eq!(DEFAULT.allreduce(8, 8), Allreduce::RecursiveDoubling);
        assert_eq!(DEFAULT.allreduce(5, 8), Allreduce::Direct);
        assert_eq!(DEFAULT.allreduce(8, 1 << 30), Allreduce::Ring);
        let mut own = DEFAULT.clone();
        own.bcast = Cow::Owned(vec![rule(4, 10, Bcast::Chain { segment: 7 })]);
        assert_eq!(own.bcast(4, 10), Bcast::Chain { segment: 7 });
        assert_eq!(own.bcast(5, 10), Bcast::Binomial);
    }

    #[test]
    fn ranks_that_may_be_on_hosts_of_their_own_have_lines_before_the_others() {
        // Ranks, bytes, inside a host, apart.
        let cases = [
            (2, 8, Allreduce::Direct, Allreduce::Direct),
            (2, 8 * KIB + 8, Allreduce::Rabenseifner, Allreduce::Direct),
            (2, 64 * KIB, Allreduce::Rabenseifner, Allreduce::Direct),
            (2, 64 * KIB + 8, Allreduce::Rabenseifner, Allreduce::Rabenseifner),
            (3, 4 * KIB + 8, Allreduce::RecursiveDoubling, Allreduce::RecursiveDoubling),
            (4, 64 * KIB, Allreduce::Rabenseifner, Allreduce::Rabenseifner),
        ];
        for (ranks, bytes, inside, apart) in cases {
            assert_eq!(DEFAULT.allreduce(ranks, bytes), inside, "{ranks} {bytes}");
            assert_eq!(DEFAULT.allreduce_apart(ranks, bytes), apart, "{ranks} {bytes}");
        }
    }

    #[test]
    fn ranks_that_read_memory_exchange_whole_operands_of_middle_length() {
        let cases = [
            (2, 8, Allreduce::Direct),
            (2, 24 * KIB, Allreduce::Rabenseifner),
            (2, 24 * KIB + 8, Allreduce::Direct),
            (2, 256 * KIB, Allreduce::Direct),
            (2, 256 * KIB + 8, Allreduce::Rabenseifner),
            (3, 64 * KIB, Allreduce::Rabenseifner),
        ];
        for (ranks, bytes, expected) in cases {
            assert_eq!(DEFAULT.allreduce_reads(ranks, bytes), expected, "{ranks} {bytes}");
        }
    }

    #[test]
    fn default_tables_cover_everything() {
        fn covers<A>(table: &[Rule<A>]) -> bool {
            table.last().is_some_and(|rule| rule.ranks == ALL && rule.bytes == ANY)
        }
        assert!(covers(&DEFAULT.bcast) && covers(&DEFAULT.reduce) && covers(&DEFAULT.allreduce));
        assert!(covers(&DEFAULT.gather) && covers(&DEFAULT.scatter) && covers(&DEFAULT.alltoall));
        assert!(covers(&DEFAULT.allgather) && covers(&DEFAULT.allgatherv));
        assert!(covers(&DEFAULT.reduce_scatter));
    }
}
