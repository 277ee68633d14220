//! Tasks that some of the ranks share without the others.

use hpvm_sam::{Machine, Next, Settings};

/// Delivers messages until there are none, but for those to ranks that do not listen.
fn deliver(all: &mut [Machine], listening: usize) {
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for from in 0..listening {
            while let Some(message) = all[from].next_outgoing() {
                let to = message.to as usize;
                assert!(to < listening, "rank {from} sends {:?} to rank {to}", message.head.kind);
                let content = message.content.map(|content| {
                    all[to].store().copied(content.bytes()).expect("memory for a few bytes")
                });
                all[to].receive(from as u32, &message.head, content).expect("no mistake");
                moved = true;
            }
        }
    }
}

/// A phase of the first ranks, all of whose tasks rank 0 adds; how many each of them has done.
fn phase(all: &mut [Machine], ranks: usize, tasks: u8) -> Vec<usize> {
    for task in 0..tasks {
        all[0].task_add(&[task]).expect("no phase is over");
    }
    let (mut done, mut over) = (vec![0; ranks], vec![false; ranks]);
    while over.contains(&false) {
        for rank in (0..ranks).rev().filter(|rank| !over[*rank]).collect::<Vec<_>>() {
            match all[rank].task_next().expect("memory") {
                Next::Task(_) => done[rank] += 1,
                Next::Over => over[rank] = true,
                Next::Wait => {}
            }
            deliver(all, ranks);
        }
    }
    done
}

fn share(all: &mut [Machine], ranks: usize, series: u64) {
    for machine in &mut all[..ranks] {
        machine.task_ranks(ranks as u32, series).expect("between two phases");
    }
}

#[test]
fn the_first_ranks_share_tasks_while_others_do_not_listen() {
    let mut all: Vec<Machine> =
        (0..4).map(|rank| Machine::new(rank, 4, Settings::default())).collect();
    for (series, ranks) in [1, 2, 3, 4, 2, 1, 4].into_iter().enumerate() {
        share(&mut all, ranks, 1 + series as u64);
        for _ in 0..3 {
            let done = phase(&mut all, ranks, 12);
            assert_eq!(done.iter().sum::<usize>(), 12, "each is done once: {done:?}");
            assert!(done.iter().all(|tasks| *tasks > 0), "all have some: {done:?}");
        }
    }
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let mut one = Machine::new(1, 4, Settings::default());
    for (ranks, series) in [(1, 1), (5, 1), (0, 1), (4, 0), (4, 1 << 32)] {
        assert!(one.task_ranks(ranks, series).is_err(), "{ranks} ranks, series {series}");
    }
    one.task_ranks(3, 5).expect("between two phases");
    assert!(one.task_ranks(3, 5).is_err(), "the same series");
    one.task_add(&[1]).expect("memory");
    assert!(one.task_ranks(3, 6).is_err(), "in the middle of a phase");
}
