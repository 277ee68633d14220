//! Where the processes of a topology are: on which hosts, and in which parts of these.

use crate::body::env::localities_on;
use crate::runtime::Entered;
use hpvm_mpi::Comm;
use hpvm_mpi::comm::hardware::{self, LEVELS, Localities, words_of};
use hpvm_mpi::comm::reorder::Parts;
use hpvm_mpi::error::Result;
use hpvm_shm::processors::{self, Processors};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The localities of those who may use some processors of this host: the machine is asked once, which takes a hundred microseconds.
#[derive(Debug, Default)]
pub(crate) struct ReadLocalities(HashMap<Processors, Localities>);

impl ReadLocalities {
    fn of(&mut self, mask: &Processors) -> Localities {
        /// More than a host has ranks, if a process binds itself anew again and again.
        const MAX_MASKS: usize = 4096;
        if let Some(localities) = self.0.get(mask) {
            return *localities;
        }
        if self.0.len() >= MAX_MASKS {
            self.0.clear();
        }
        *self.0.entry(*mask).or_insert_with(|| localities_on(mask))
    }
}

/// The parts in which the first `members` processes of a communicator are now. All members find the same, and decide alike whether they
/// have to tell each other: from what all know since the job began. Collective.
pub(super) fn told(w: &mut Entered, comm: &Arc<Comm>, members: u32) -> Result<Parts> {
    if let Some([]) = hardware::kept(comm) {
        return Ok(Parts::default());
    }
    let Some(hosts) = hosts(w, comm, comm.size()) else { return Ok(Parts::default()) };
    let first = hosts.get(..members as usize).unwrap_or(&hosts);
    let different: BTreeSet<u64> = first.iter().copied().collect();
    if different.len() == first.len() {
        return Ok(Parts::default());
    }
    if let Some(words) = hardware::kept(comm) {
        return Ok(within(first, words));
    }
    // Who is elsewhere has not shown what it may use.
    let masks = masks(w, comm, comm.size());
    let words = match masks.is_some_and(|masks| masks.windows(2).all(|pair| pair[0] == pair[1])) {
        true => Vec::new(),
        false => {
            let own =
                processors::own().map_or(Localities::default(), |mask| w.read_localities.of(&mask));
            hardware::gather(w, comm, &own)?
        }
    };
    // What does not divide all of them divides no part of them.
    let all = within(&hosts, &words);
    hardware::keep(comm, if all.is_flat() { &[] } else { &words });
    Ok(if first.len() == hosts.len() { all } else { within(first, &words) })
}

/// The same as far as this process knows it alone: without the parts of hosts if there are several, and nothing has been told.
pub(super) fn known(w: &mut Entered, comm: &Comm, members: u32) -> Parts {
    let Some(hosts) = hosts(w, comm, members) else { return Parts::default() };
    if let Some(words) = hardware::kept(comm) {
        return within(&hosts, words);
    }
    // Members or not: the others' localities are told, or are not, to all.
    let Some(masks) = masks(w, comm, comm.size()) else { return Parts::new(&[hosts]) };
    let words =
        masks.iter().take(hosts.len()).flat_map(|mask| words_of(&w.read_localities.of(mask)));
    within(&hosts, &words.collect::<Vec<_>>())
}

/// The hosts of the first `members` processes of a communicator; `None`: not of all, which are of other jobs.
fn hosts(w: &Entered, comm: &Comm, members: u32) -> Option<Vec<u64>> {
    let first = comm.group().processes().take(members as usize);
    first.map(|process| w.job.nodes.get(process as usize).copied().map(u64::from)).collect()
}

/// The processors that each of the first processes could use when the job began; `None`: some are on other hosts.
fn masks(w: &Entered, comm: &Comm, members: u32) -> Option<Vec<Processors>> {
    let transport = w.process.fm().transport();
    let first = comm.group().processes().take(members as usize);
    first.map(|process| transport.processors(process)).collect()
}

/// Hosts, and what is in them, of as many processes as there are hosts. `words`: [`LEVELS`] for each process, or none.
fn within(hosts: &[u64], words: &[u64]) -> Parts {
    let level = |level| words.iter().skip(level).step_by(LEVELS).take(hosts.len()).copied();
    let inside = (0..LEVELS).map(|at| level(at).collect::<Vec<u64>>());
    Parts::new(&core::iter::once(hosts.to_vec()).chain(inside).collect::<Vec<_>>())
}
