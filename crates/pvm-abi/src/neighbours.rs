//! Tasks on processors: what [`balance`] needs to know of them, which the receivers' ends of links show.

use crate::link::outgoing::Receiver;
use crate::task::Task;
use hpvm_pvm::Tid;
use hpvm_shm::balance::{self, Balance};

/// Most tasks that one looks after: looking costs a cache line for each.
const NEIGHBOURS_MAX: usize = 16;

/// What a task remembers of the tasks of its host.
#[derive(Default)]
pub struct Neighbours {
    balance: Balance,
    /// Another task was last seen waiting on our processor.
    pub share: bool,
}

impl Task {
    /// Sees whether a task to which this one sends waits, awake, for the very processor that runs us: polling would keep
    /// it from answering. Shows ours. Where two share a processor and each could have one, one of them moves sooner or later.
    pub fn look_around(&mut self) -> bool {
        let links = self.links();
        self.neighbours.share = links.len() <= NEIGHBOURS_MAX && {
            let here = balance::here();
            let known = links.len() as u32;
            self.show(here, known);
            let others: Vec<(Tid, Receiver)> =
                self.links().iter().map(|link| (link.to, link.receiver())).collect();
            let share = here != 0 && others.iter().any(|(_, o)| o.awake && o.processor == here);
            if share && all_could_run(known, &others, balance::usable) {
                let (shown, me) = in_order(self.tid(), here, &others);
                if self.neighbours.balance.migrate(&shown, me) {
                    self.show(balance::here(), known);
                }
            }
            share
        };
        self.neighbours.share
    }
}

/// Whether there is a processor for each task, as far as one is known. Who knows less than another one leaves moving to it: the
/// workers of a master, of whom each knows only that, would all go where it is not.
fn all_could_run(
    known: u32,
    others: &[(Tid, Receiver)],
    processors: impl FnOnce() -> usize,
) -> bool {
    let most = others.iter().map(|(_, other)| other.knows).max().unwrap_or(0);
    known >= most && (known as usize) < processors()
}

/// Where all are, in the order of their numbers, by which they agree who moves; and which one is us.
fn in_order(own: Tid, here: u32, others: &[(Tid, Receiver)]) -> (Vec<u32>, usize) {
    let mut all: Vec<(Tid, u32)> =
        others.iter().filter(|(tid, _)| *tid != own).map(|(tid, o)| (*tid, o.processor)).collect();
    all.push((own, here));
    all.sort_unstable();
    let me = all.iter().position(|(tid, _)| *tid == own).unwrap_or(0);
    (all.into_iter().map(|(_, processor)| processor).collect(), me)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(tid: Tid, processor: u32, knows: u32) -> (Tid, Receiver) {
        (tid, Receiver { awake: true, processor, knows })
    }

    #[test]
    fn tasks_are_in_the_order_of_their_numbers() {
        let others = [other(9, 1, 1), other(3, 2, 1), other(5, 7, 1)];
        assert_eq!(in_order(5, 4, &others), (vec![2, 4, 1], 1));
        assert_eq!(in_order(2, 4, &[]), (vec![4], 0));
    }

    #[test]
    fn only_who_knows_most_moves_and_only_where_all_could_run() {
        let two = || 2;
        assert!(all_could_run(1, &[other(9, 1, 1)], two));
        assert!(!all_could_run(2, &[other(9, 1, 1), other(8, 1, 1)], two), "three on two");
        assert!(!all_could_run(1, &[other(9, 1, 15)], two), "a master of 15");
        assert!(!all_could_run(1, &[other(9, 1, 15)], || 64), "who knows more");
        assert!(all_could_run(15, &[other(9, 1, 1)], || 64));
        assert!(!all_could_run(1, &[other(9, 1, 1)], || 0), "nobody tells");
    }
}
