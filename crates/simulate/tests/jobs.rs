//! Small jobs whose times can be computed by hand, and jobs whose data are checked.

use hpvm_simulate::program::PingPong;
use hpvm_simulate::time::{NS, US};
use hpvm_simulate::{Call, Job, Machine, Outcome, Program, Repeated};
use std::rc::Rc;

/// A machine on which bytes cost nothing.
fn plain() -> Machine {
    let mut machine = Machine::default();
    for (name, value) in [
        ("network.latency", "10us"),
        ("network.send", "1us"),
        ("network.receive", "2us"),
        ("network.gap", "0ns"),
        ("network.bandwidth", "100TB/s"),
        ("host.latency", "100ns"),
        ("host.send", "20ns"),
        ("host.receive", "30ns"),
        ("host.bandwidth", "100TB/s"),
        ("host.slot", "50ns"),
        ("host.slot-work", "5ns"),
    ] {
        machine.set(name, value).expect(name);
    }
    machine
}

fn job(ranks: u32, hosts: u32) -> Job {
    Job { machine: plain(), ranks, hosts, fabric: None, seed: 1, noise: 0 }
}

fn run(job: &Job, call: Call) -> Outcome {
    let outcome = job.run(Rc::new(Repeated { call, times: 3 }));
    outcome.unwrap_or_else(|error| panic!("{job:?}: {error}"))
}

#[test]
fn a_message_costs_what_the_machine_says() {
    let outcome = job(2, 2).run(Rc::new(PingPong { bytes: 8, times: 4, partner: 1 }));
    let one_way = outcome.expect("a run").mean() / 2;
    // Sender's work, latency, receiver's work; the bytes are a few picoseconds.
    assert!((13 * US..13 * US + NS).contains(&one_way), "{one_way}");
    let outcome = job(2, 1).run(Rc::new(PingPong { bytes: 8, times: 4, partner: 1 }));
    let one_way = outcome.expect("a run").mean() / 2;
    assert!((150 * NS..151 * NS).contains(&one_way), "{one_way}");
}

#[test]
fn bandwidth_is_the_machines() {
    let mut job = job(2, 2);
    job.machine.set("network.bandwidth", "1GB/s").expect("a bandwidth");
    let bytes = 1 << 20;
    let outcome = job.run(Rc::new(PingPong { bytes, times: 2, partner: 1 })).expect("a run");
    let seconds = outcome.mean() as f64 / 2.0 * 1e-12;
    let rate = bytes as f64 / seconds;
    assert!((0.85e9..1e9).contains(&rate), "{rate}");
}

#[test]
fn a_barrier_takes_a_round_for_each_doubling() {
    for doublings in 1..=8 {
        let ranks = 1 << doublings;
        let outcome = run(&job(ranks, ranks), Call::Barrier);
        let round = outcome.mean() / u64::from(doublings as u32);
        // The work of a sender, the latency, the work of a receiver.
        assert!((13 * US..13 * US + 10 * NS).contains(&round), "{ranks} ranks: {round} a round");
    }
}

#[test]
fn a_host_meets_in_its_slots() {
    let outcome = run(&job(4, 1), Call::Barrier);
    assert_eq!(outcome.statistics.between, 0);
    assert!(outcome.statistics.slots > 0, "{:?}", outcome.statistics);
    // A post, its sight, and the reading of three others.
    assert_eq!(outcome.mean(), (5 + 50 + 15) * NS);
    // Between hosts only heads talk: two hosts of four take one message's time more.
    let two = run(&job(8, 2), Call::Barrier);
    assert_eq!(two.statistics.between, 6 * 2, "of six barriers: {two:?}");
}

#[test]
fn collectives_carry_their_data() {
    // `Job::run` fails when a sum or a block is wrong.
    for (ranks, hosts) in [(1, 1), (2, 1), (3, 1), (5, 5), (8, 2), (12, 5), (33, 4), (64, 64)] {
        for bytes in [8, 64, 4096, 40_000, 400_000] {
            run(&job(ranks, hosts), Call::Allreduce(bytes));
            if bytes < 10_000 {
                run(&job(ranks, hosts), Call::Alltoall(bytes));
            }
            run(&job(ranks, hosts), Call::Bcast(ranks - 1, bytes));
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let noisy = |seed| Job { seed, noise: 500, ..job(40, 5) };
    let marks = |seed| run(&noisy(seed), Call::Allreduce(1024)).marks;
    assert_eq!(marks(7), marks(7));
    assert_ne!(marks(7), marks(8));
    let quiet = run(&job(40, 5), Call::Allreduce(1024)).end;
    assert!(run(&noisy(7), Call::Allreduce(1024)).end > quiet, "noise takes time");
}

#[test]
fn ranks_that_share_processors_wait_for_each_other() {
    let mut oversubscribed = job(16, 1);
    oversubscribed.machine.set("host.processors", "2").expect("a count");
    let (alone, oversubscribed) =
        (run(&job(16, 1), Call::Barrier), run(&oversubscribed, Call::Barrier));
    // Each of 8 ranks of a processor has its turn, and turns cost 2 µs.
    assert!(oversubscribed.mean() >= 8 * 2 * US, "{}", oversubscribed.mean());
    assert!(alone.mean() < US, "{}", alone.mean());
}

struct Lines(Vec<Vec<Call>>);

impl Program for Lines {
    fn call(&self, rank: u32, step: usize) -> Option<Call> {
        self.0[rank as usize].get(step).copied()
    }
}

#[test]
fn computing_takes_time_and_messages_wait_for_it() {
    let recv = Call::Recv { from: 1, bytes: 8, tag: 3 };
    let send = Call::Send { to: 0, bytes: 8, tag: 3 };
    let lines = vec![vec![recv, Call::Mark], vec![Call::Compute(70 * US), send]];
    let outcome = job(2, 2).run(Rc::new(Lines(lines))).expect("a run");
    let at = outcome.marks[0][0];
    assert!((83 * US..84 * US).contains(&at), "{at}");
}

#[test]
fn who_waits_for_ever_is_named() {
    let recv = Call::Recv { from: 1, bytes: 8, tag: 3 };
    let error = job(2, 2).run(Rc::new(Lines(vec![vec![recv], Vec::new()]))).expect_err("a wait");
    assert_eq!(error.to_string(), "1 of 2 ranks wait for what nobody sends: 0");
    let send = Call::Send { to: 9, bytes: 8, tag: 3 };
    let error = job(2, 2).run(Rc::new(Lines(vec![vec![send], Vec::new()]))).expect_err("nobody");
    assert_eq!(error.to_string(), "rank 0 names rank 9; there are 2");
}

#[test]
fn jobs_that_cannot_be_are_refused() {
    for (ranks, hosts, expected) in [
        (0, 1, "0 ranks: expected 1 to"),
        (4, 0, "0 hosts for 4 ranks"),
        (4, 5, "5 hosts for 4 ranks: expected 1 to 4"),
    ] {
        let error = job(ranks, hosts).check().expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
