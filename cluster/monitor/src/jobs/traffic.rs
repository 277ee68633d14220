//! The rank map of a job that runs: who sent how much to whom, as the ranks of this host have counted it.

use super::Look;
use super::find::Job;
use hpvm_shm::SegmentError;
use hpvm_shm::observe::{Sent, View};
use std::collections::BTreeMap;

/// What a pair of ranks exchanged in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub messages: u64,
    pub bytes: u64,
}

/// By sender and receiver; pairs that did not talk are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// Ranks of the job.
    pub size: u32,
    pub pairs: BTreeMap<(u32, u32), Sum>,
}

/// What the ranks of this host have sent; `None`: they do not count it.
pub fn matrix(view: &View, look: &Look, job: &Job) -> Result<Option<Matrix>, SegmentError> {
    let mut found: Option<Matrix> = None;
    let size = job.size.unwrap_or(0).max(look.ranks.len() as u32);
    for local in 0..view.ranks() {
        let Some(sent) = view.traffic(local)? else { continue };
        let matrix = found.get_or_insert_with(|| Matrix { size, ..Matrix::default() });
        let from = u32::try_from(look.rank(local as usize)).unwrap_or(u32::MAX);
        matrix.add(from, &sent);
    }
    Ok(found)
}

impl Matrix {
    /// What one rank says. A peer that the job does not have is nothing that it can have sent to.
    fn add(&mut self, from: u32, sent: &[Sent]) {
        let size = self.size;
        for sent in sent.iter().filter(|sent| sent.to < size && from < size) {
            self.pair((from, sent.to), Sum { messages: sent.messages, bytes: sent.bytes });
        }
    }

    fn pair(&mut self, pair: (u32, u32), more: Sum) {
        let sum = self.pairs.entry(pair).or_default();
        sum.messages = sum.messages.saturating_add(more.messages);
        sum.bytes = sum.bytes.saturating_add(more.bytes);
    }

    /// Adds another job, as one that the same script has started.
    pub fn merge(&mut self, other: &Matrix) {
        self.size = self.size.max(other.size);
        other.pairs.iter().for_each(|(pair, sum)| self.pair(*pair, *sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ranks_say_is_added_up_and_checked() {
        let sent = |to, bytes| Sent { to, messages: 1, bytes };
        let mut matrix = Matrix { size: 3, ..Matrix::default() };
        matrix.add(0, &[sent(1, 5), sent(3, 9), sent(1, 2)]);
        matrix.add(7, &[sent(1, 5)]);
        matrix.merge(&Matrix {
            size: 4,
            pairs: [((0, 1), Sum { messages: 2, bytes: u64::MAX })].into(),
        });
        assert_eq!(matrix.size, 4);
        assert_eq!(matrix.pairs, [((0, 1), Sum { messages: 4, bytes: u64::MAX })].into());
    }
}
