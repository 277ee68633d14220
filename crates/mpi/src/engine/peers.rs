//! Who the processes are that this one can reach: those of its job, and those of other jobs that have been
//! connected with it (MPI 5.0, chapter 11).
//!
//! Inside an engine a process is named by a [`Rank`], its number there. Ranks of our own job are the same everywhere in the
//! job, but each engine has its own numbers for processes of other jobs. So messages about processes use identities, which
//! mean the same everywhere.

use hpvm_fm::Rank;

/// A process, as all others know it: the number of its job, and its rank there. In a job that has never been
/// connected with another, its number is 0, and the identity of a process is its rank.
pub type Identity = u64;

/// Bits of an identity that hold the rank in the job; the others hold the job's number.
pub const RANK_BITS: u32 = 24;

/// The identity of rank `rank` of the job with the random number `job`.
pub fn identity(job: u64, rank: Rank) -> Identity {
    job << RANK_BITS | Identity::from(rank) & ((1 << RANK_BITS) - 1)
}

/// All processes that this one reaches, or has reached.
#[derive(Debug)]
pub(crate) struct Peers {
    job: u64,
    size: u32,
    /// By rank, from `size` on; `None`: it is reached no more.
    others: Vec<Option<Identity>>,
}

impl Peers {
    pub fn new(size: u32) -> Peers {
        Peers { job: 0, size, others: Vec::new() }
    }

    pub fn set_job(&mut self, job: u64) {
        self.job = job;
    }

    /// Who `rank` is; `None` for one that is not reached.
    pub fn identity(&self, rank: Rank) -> Option<Identity> {
        match rank.checked_sub(self.size) {
            None => Some(identity(self.job, rank)),
            Some(other) => self.others.get(other as usize).copied().flatten(),
        }
    }

    /// The number of a process here.
    pub fn find(&self, wanted: Identity) -> Option<Rank> {
        let rank = (wanted & ((1 << RANK_BITS) - 1)) as Rank;
        if rank < self.size && identity(self.job, rank) == wanted {
            return Some(rank);
        }
        // The latest: a process that was left and met again has another number.
        let place = self.others.iter().rposition(|other| *other == Some(wanted))?;
        Some(self.size + place as Rank)
    }

    /// The processes with the next numbers.
    pub fn add(&mut self, identities: &[Identity]) {
        // A process that was met again is found under its new number only.
        for known in self.others.iter_mut().filter(|o| o.is_some_and(|o| identities.contains(&o))) {
            *known = None;
        }
        self.others.extend(identities.iter().copied().map(Some));
    }

    /// They are reached no more.
    pub fn forget(&mut self, ranks: &[Rank]) {
        for rank in ranks {
            let place = rank.checked_sub(self.size).map(|place| place as usize);
            if let Some(other) = place.and_then(|place| self.others.get_mut(place)) {
                *other = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_found_by_their_identities() {
        let mut peers = Peers::new(3);
        assert_eq!((peers.identity(2), peers.find(2), peers.find(3)), (Some(2), Some(2), None));
        peers.set_job(7);
        assert_eq!(peers.find(2), None);
        peers.add(&[identity(9, 0), identity(9, 2)]);
        assert_eq!(peers.find(identity(9, 2)), Some(4));
        assert_eq!(peers.identity(4), Some(identity(9, 2)));
        assert_eq!(peers.find(identity(7, 1)), Some(1));
        assert_eq!(peers.find(identity(7, 3)), None, "there is no such rank");
        peers.forget(&[4, 0]);
        assert_eq!((peers.find(identity(9, 2)), peers.identity(4)), (None, None));
        assert_eq!(peers.find(identity(7, 0)), Some(0), "the own job stays");
        peers.add(&[identity(9, 2)]);
        assert_eq!(peers.find(identity(9, 2)), Some(5));
        peers.add(&[identity(9, 2)]);
        assert_eq!((peers.find(identity(9, 2)), peers.identity(5)), (Some(6), None));
    }
}
