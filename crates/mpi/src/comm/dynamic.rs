//! What groups of processes need when they connect or part (MPI 5.0, chapter 11): the words that a root passes on to its group
//! while it speaks to another job, and the intercommunicator that results.

use crate::comm::build::{self, Host, TaggedComm};
use crate::comm::group::Group;
use crate::comm::{Comm, Form};
use crate::error::Result;
use hpvm_fm::Rank;
use std::sync::Arc;

/// Tells all members of the intracommunicator `comm` the words of `root`, of which there are at most `most`.
/// Collective.
pub fn tell(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    root: u32,
    words: Vec<u64>,
    most: usize,
) -> Result<Vec<u64>> {
    build::spread_words(host, &TaggedComm::collective(comm), root, words, most)
}

/// As many words of every member of the intracommunicator `comm`, in rank order. Collective.
pub fn collect(host: &mut impl Host, comm: &Arc<Comm>, words: &[u64]) -> Result<Vec<u64>> {
    build::gather_words(host, &TaggedComm::collective(comm), words)
}

/// As many words of every member of the intracommunicator `comm`, in rank order, at `root`; nothing at the others. Collective.
pub fn collect_at(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    root: u32,
    words: &[u64],
) -> Result<Vec<u64>> {
    build::gather_words_at(host, &TaggedComm::collective(comm), root, words)
}

/// The members of a communicator that is about to be disconnected: those of our job, and those of others.
pub struct Parting {
    via: TaggedComm,
    ours: TaggedComm,
    others: Vec<Rank>,
}

impl Parting {
    /// All members of `comm` call it, those of both sides of an intercommunicator. `is_ours`: of our job.
    pub fn new(
        host: &mut impl Host,
        comm: &Arc<Comm>,
        is_ours: impl Fn(Rank) -> bool,
    ) -> Result<Parting> {
        let (via, me) = host.with(|p| (build::everybody(p, comm, Form::Blocking), p.fm().rank()));
        let via = via?;
        let (mut ours, others): (Vec<_>, Vec<_>) = via.processes().partition(|p| is_ours(*p));
        // The order on which all of our job agree.
        ours.sort_unstable();
        let ours = via.among(Group::list(ours), me)?;
        Ok(Parting { via, ours, others })
    }

    /// Tells each member of another job the word that `word` has for it, and returns what they tell, in no order. Nobody
    /// passes on anything for others: a word has arrived whatever becomes of third processes.
    pub fn swap(
        &self,
        host: &mut impl Host,
        word: impl Fn(Rank) -> u64,
    ) -> Result<Vec<(Rank, u64)>> {
        build::swap_with_all(host, &self.via, &self.others, word)
    }

    /// All members, as this process numbers them, in order.
    pub fn members(&self) -> Vec<Rank> {
        let mut members: Vec<Rank> = self.via.processes().collect();
        members.sort_unstable();
        members
    }

    /// Waits for all members that are of our job.
    pub fn meet_ours(&self, host: &mut impl Host) -> Result<()> {
        build::gather_words(host, &self.ours, &[0]).map(drop)
    }
}

/// The intercommunicator of `local`, which this process is in, and the processes `remote`. All of both sides call
/// it with the same `tag`.
pub fn join(
    host: &mut impl Host,
    local: &Arc<Group>,
    remote: Vec<Rank>,
    tag: i32,
) -> Result<Arc<Comm>> {
    build::join_sides(host, local, &Group::list(remote), tag)
}

/// Text as words: its length in bytes, and the bytes.
pub fn words_of(text: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    core::iter::once(text.len() as u64).chain(text.chunks(8).map(word)).collect()
}

/// The text that words hold; what is missing is left out.
pub fn text_of(words: &[u64]) -> Vec<u8> {
    let [len, words @ ..] = words else { return Vec::new() };
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(usize::try_from(*len).unwrap_or(usize::MAX));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_words_and_text_again() {
        for text in ["", "a", "12345678", "123456789"] {
            assert_eq!(text_of(&words_of(text.as_bytes())), text.as_bytes());
        }
        assert_eq!(text_of(&[]), b"");
        assert_eq!(text_of(&[9, u64::from_le_bytes(*b"abcdefgh")]), b"abcdefgh");
    }
}
