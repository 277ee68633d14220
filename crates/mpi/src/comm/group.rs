//! Groups of processes (MPI 5.0, chapter 7.3).
//!
//! A process is named by its rank in the job (`Rank`); a group is an ordered set of them.

use hpvm_fm::Rank;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// An ordered set of processes. Immutable; shared by handles and communicators.
#[derive(Debug)]
pub struct Group {
    members: Members,
    /// A number of the session that it comes from, 0 for none. What is made of a group comes from
    /// where the group does.
    origin: u64,
}

#[derive(Debug)]
enum Members {
    /// Ranks `first` to `first + size - 1` of the job: no table, whatever the size.
    Run {
        first: Rank,
        size: u32,
    },
    List {
        ranks: Box<[Rank]>,
        index: OnceLock<HashMap<Rank, u32>>,
    },
}

/// How two groups (or the groups of two communicators) relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Same members in the same order.
    Identical,
    /// Same members, other order.
    Similar,
    Unequal,
}

impl Group {
    /// The group without members.
    pub fn empty() -> Arc<Group> {
        Group::run(0, 0)
    }

    /// `size` consecutive processes of the job.
    pub fn run(first: Rank, size: u32) -> Arc<Group> {
        Group::made(Members::Run { first, size }, 0)
    }

    fn made(members: Members, origin: u64) -> Arc<Group> {
        Arc::new(Group { members, origin })
    }

    /// The same members, coming from a session.
    pub fn from_session(&self, origin: u64) -> Arc<Group> {
        let members = match &self.members {
            Members::Run { first, size } => Members::Run { first: *first, size: *size },
            Members::List { ranks, .. } => {
                Members::List { ranks: ranks.clone(), index: OnceLock::new() }
            }
        };
        Group::made(members, origin)
    }

    /// The number of the session that the group comes from; 0 for none.
    pub fn origin(&self) -> u64 {
        self.origin
    }

    /// The given processes, coming from where this group does.
    pub fn part(&self, ranks: Vec<Rank>) -> Arc<Group> {
        let group = Group::list(ranks);
        if self.origin == 0 { group } else { group.from_session(self.origin) }
    }

    /// The given processes in this order. The caller made sure that none comes twice.
    pub fn list(ranks: Vec<Rank>) -> Arc<Group> {
        let size = ranks.len() as u32;
        let first = ranks.first().copied().unwrap_or(0);
        if ranks.iter().enumerate().all(|(i, r)| *r as usize == first as usize + i) {
            return Group::run(first, size);
        }
        Group::made(Members::List { ranks: ranks.into(), index: OnceLock::new() }, 0)
    }

    #[inline]
    pub fn size(&self) -> u32 {
        match &self.members {
            Members::Run { size, .. } => *size,
            Members::List { ranks, .. } => ranks.len() as u32,
        }
    }

    /// Whether its members are processes 0 to `size` - 1 of the job, in order.
    pub(crate) fn is_run_of(&self, size: u32) -> bool {
        matches!(self.members, Members::Run { first: 0, size: all } if all == size)
    }

    /// The process of `rank`, which is below `size()`; else `None`.
    #[inline]
    pub fn process(&self, rank: u32) -> Option<Rank> {
        match &self.members {
            Members::Run { first, size } => (rank < *size).then(|| *first + rank),
            Members::List { ranks, .. } => ranks.get(rank as usize).copied(),
        }
    }

    /// The rank of `process`, if it is a member.
    #[inline(always)]
    pub fn rank_of(&self, process: Rank) -> Option<u32> {
        let Members::Run { first, size } = &self.members else {
            return self.rank_in_list(process);
        };
        let rank = process.wrapping_sub(*first);
        (rank < *size).then_some(rank)
    }

    fn rank_in_list(&self, process: Rank) -> Option<u32> {
        let Members::List { ranks, index } = &self.members else { return None };
        let make = || ranks.iter().enumerate().map(|(i, r)| (*r, i as u32)).collect();
        index.get_or_init(make).get(&process).copied()
    }

    /// All members in order.
    pub fn processes(&self) -> impl Iterator<Item = Rank> + '_ {
        (0..self.size()).filter_map(|p| self.process(p))
    }

    /// MPI_Group_compare.
    pub fn compare(&self, other: &Group) -> Likeness {
        if self.size() != other.size() {
            return Likeness::Unequal;
        }
        if self.processes().eq(other.processes()) {
            return Likeness::Identical;
        }
        match self.processes().all(|p| other.rank_of(p).is_some()) {
            true => Likeness::Similar,
            false => Likeness::Unequal,
        }
    }

    /// Members of `self`, then those of `other` that are not in `self`.
    pub fn union(&self, other: &Group) -> Arc<Group> {
        let more = other.processes().filter(|p| self.rank_of(*p).is_none());
        self.part(self.processes().chain(more).collect())
    }

    /// Members of `self` that are in `other`, in the order of `self`.
    pub fn intersection(&self, other: &Group) -> Arc<Group> {
        self.part(self.processes().filter(|p| other.rank_of(*p).is_some()).collect())
    }

    /// Members of `self` that are not in `other`, in the order of `self`.
    pub fn difference(&self, other: &Group) -> Arc<Group> {
        self.part(self.processes().filter(|p| other.rank_of(*p).is_none()).collect())
    }

    /// The members of these `ranks`, in that order. `Err(rank)`: out of range or named twice.
    pub fn incl(&self, ranks: &[i64]) -> Result<Arc<Group>, i64> {
        let mut seen = std::collections::HashSet::new();
        let mut processes = Vec::with_capacity(ranks.len());
        for rank in ranks {
            let process = u32::try_from(*rank).ok().and_then(|p| self.process(p)).ok_or(*rank)?;
            if !seen.insert(process) {
                return Err(*rank);
            }
            processes.push(process);
        }
        Ok(self.part(processes))
    }

    /// The members of all other ranks, in order. Errors as for [`Group::incl`].
    pub fn excl(&self, ranks: &[i64]) -> Result<Arc<Group>, i64> {
        Ok(self.difference(&*self.incl(ranks)?))
    }
}

/// The ranks that triplets (first, last, stride) name, in order. `Err`: the stride that is 0 or
/// leads nowhere.
pub fn expand_ranges(ranges: &[[i64; 3]]) -> Result<Vec<i64>, [i64; 3]> {
    let mut ranks = Vec::new();
    for range @ [first, last, stride] in ranges.iter().copied() {
        if stride == 0 || first < 0 || last < 0 {
            return Err(range);
        }
        // A stride away from `last` names nobody.
        if (stride > 0 && first > last) || (stride < 0 && first < last) {
            return Err(range);
        }
        let steps = (last - first) / stride;
        ranks.extend((0..=steps).map(|i| first + i * stride));
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_a_rank_beyond_the_last() {
        let group = Group::run(3, 2);
        assert_eq!([0, 1, 2, u32::MAX].map(|r| group.process(r)), [Some(3), Some(4), None, None]);
    }

    #[test]
    fn set_operations_keep_the_order_of_the_first() {
        let a = Group::list(vec![4, 2, 7, 1]);
        let b = Group::list(vec![1, 9, 4]);
        let members = |g: Arc<Group>| g.processes().collect::<Vec<_>>();
        assert_eq!(members(a.union(&b)), [4, 2, 7, 1, 9]);
        assert_eq!(members(a.intersection(&b)), [4, 1]);
        assert_eq!(members(a.difference(&b)), [2, 7]);
        assert_eq!(members(a.incl(&[3, 0]).unwrap()), [1, 4]);
        assert_eq!(members(a.excl(&[3, 0]).unwrap()), [2, 7]);
        assert_eq!(a.incl(&[1, 1]).unwrap_err(), 1);
        assert_eq!(a.incl(&[4]).unwrap_err(), 4);
        assert_eq!(a.rank_of(7), Some(2));
        assert_eq!(a.rank_of(3), None);
    }

    #[test]
    fn the_session_is_inherited() {
        let a = Group::list(vec![4, 2, 7, 1]).from_session(9);
        let b = Group::list(vec![1, 9, 4]);
        for made in [a.union(&b), a.intersection(&b), a.difference(&b), a.incl(&[3]).unwrap()] {
            assert_eq!(made.origin(), 9);
        }
        assert_eq!((b.union(&a).origin(), a.excl(&[0]).unwrap().origin()), (0, 9));
        assert_eq!(a.compare(&Group::list(vec![4, 2, 7, 1])), Likeness::Identical);
    }

    #[test]
    fn comparison() {
        let a = Group::run(0, 3);
        assert_eq!(a.compare(&Group::list(vec![0, 1, 2])), Likeness::Identical);
        assert_eq!(a.compare(&Group::list(vec![2, 1, 0])), Likeness::Similar);
        assert_eq!(a.compare(&Group::list(vec![2, 1, 5])), Likeness::Unequal);
        assert_eq!(Group::empty().compare(&Group::list(vec![])), Likeness::Identical);
    }

    #[test]
    fn ranges() {
        assert_eq!(expand_ranges(&[[0, 6, 3], [5, 1, -2]]).unwrap(), [0, 3, 6, 5, 3, 1]);
        assert_eq!(expand_ranges(&[[2, 2, 1]]).unwrap(), [2]);
        assert!(expand_ranges(&[[0, 1, 0]]).is_err());
    }
}
