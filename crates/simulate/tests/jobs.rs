//! Small jobs whose times can be computed by hand, and jobs whose data are checked.

use hpvm_simulate::program::PingPong;
use hpvm_simulate::time::{NS, US};
use hpvm_simulate::{Call, Collective, Job, Kind, Machine, Outcome, Program, Repeated};
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

fn rooted(kind: Kind, root: u32, bytes: usize) -> Call {
    Call::Collective(Collective { kind, bytes, root, group: 0, pending: false })
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
        let outcome = run(&job(ranks, ranks), Call::BARRIER);
        let round = outcome.mean() / u64::from(doublings as u32);
        // The work of a sender, the latency, the work of a receiver.
        assert!((13 * US..13 * US + 10 * NS).contains(&round), "{ranks} ranks: {round} a round");
    }
}

#[test]
fn a_host_meets_in_its_slots() {
    let outcome = run(&job(4, 1), Call::BARRIER);
    assert_eq!(outcome.statistics.between, 0);
    assert!(outcome.statistics.slots > 0, "{:?}", outcome.statistics);
    // A post, its sight, and the reading of three others.
    assert_eq!(outcome.mean(), (5 + 50 + 15) * NS);
    // Between hosts only heads talk: two hosts of four take one message's time more.
    let two = run(&job(8, 2), Call::BARRIER);
    assert_eq!(two.statistics.between, 6 * 2, "of six barriers: {two:?}");
}

#[test]
fn collectives_carry_their_data() {
    // `Job::run` fails when a sum or a block is wrong.
    for (ranks, hosts) in [(1, 1), (2, 1), (3, 1), (5, 5), (8, 2), (12, 5), (33, 4), (64, 64)] {
        for bytes in [8, 64, 4096, 40_000, 400_000] {
            run(&job(ranks, hosts), Call::of_all(Kind::Allreduce, bytes));
            if bytes < 10_000 {
                run(&job(ranks, hosts), Call::of_all(Kind::Alltoall, bytes));
            }
            run(&job(ranks, hosts), rooted(Kind::Bcast, ranks - 1, bytes));
        }
        for (kind, _) in Kind::ALL {
            for bytes in [0, 8, 4000] {
                run(&job(ranks, hosts), rooted(kind, ranks / 2, bytes));
            }
        }
    }
}

/// Even and odd ranks, each with a communicator of their own, in which order is turned.
struct Halves(u32);

impl Program for Halves {
    fn call(&self, rank: u32, step: usize) -> Option<Call> {
        let (kind, _) = *Kind::ALL.get(step / 2)?;
        let (group, pending) = (1 + rank % 2, step % 2 == 1);
        // The requests of the last ones are waited for together.
        let collective = Collective { kind, bytes: 24, root: 1, group, pending };
        Some(Call::Collective(collective))
    }

    fn groups(&self, rank: u32) -> Vec<(u32, Vec<u32>)> {
        let half = (0..self.0).rev().filter(|other| other % 2 == rank % 2);
        vec![(1 + rank % 2, half.collect())]
    }
}

#[test]
fn parts_of_a_job_have_collectives_of_their_own() {
    for (ranks, hosts) in [(6, 1), (6, 2), (17, 17)] {
        let outcome = job(ranks, hosts).run(Rc::new(Halves(ranks)));
        outcome.unwrap_or_else(|error| panic!("{ranks} ranks on {hosts} hosts: {error}"));
    }
}

#[test]
fn a_request_is_waited_for_apart_from_others() {
    let isend = Call::Isend { to: 1, bytes: 100_000, tag: 2 };
    let irecv = |tag| Call::Irecv { from: 0, bytes: 100_000, tag };
    let first =
        vec![isend, Call::Wait(1), Call::Mark, Call::Compute(500 * US), isend, Call::Waitall];
    // Of two receives the first one is there long before the second.
    let second = vec![irecv(2), irecv(2), Call::Wait(2), Call::Mark, Call::Wait(1), Call::Mark];
    let outcome = job(2, 2).run(Rc::new(Lines(vec![first, second]))).expect("a run");
    let [one, both] = outcome.marks[1][..] else { panic!("two marks: {:?}", outcome.marks) };
    assert!(one < 200 * US && both > 500 * US, "{one} {both}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let noisy = |seed| Job { seed, noise: 500, ..job(40, 5) };
    let marks = |seed| run(&noisy(seed), Call::of_all(Kind::Allreduce, 1024)).marks;
    assert_eq!(marks(7), marks(7));
    assert_ne!(marks(7), marks(8));
    let quiet = run(&job(40, 5), Call::of_all(Kind::Allreduce, 1024)).end;
    assert!(run(&noisy(7), Call::of_all(Kind::Allreduce, 1024)).end > quiet, "noise takes time");
}

#[test]
fn ranks_that_share_processors_wait_for_each_other() {
    let mut oversubscribed = job(16, 1);
    oversubscribed.machine.set("host.processors", "2").expect("a count");
    let (alone, oversubscribed) =
        (run(&job(16, 1), Call::BARRIER), run(&oversubscribed, Call::BARRIER));
    // Each of 8 ranks of a processor has its turn, and turns cost 2 µs.
    assert!(oversubscribed.mean() >= 8 * 2 * US, "{}", oversubscribed.mean());
    assert!(alone.mean() < US, "{}", alone.mean());
}

/// What a rank of the other processor posts comes while a rank still polls: it need not give its processor away for that.
#[test]
fn a_rank_that_waits_keeps_its_processor_for_a_while() {
    let mean = |spin| {
        let mut job = job(4, 1);
        job.machine.set("host.processors", "2").expect("a count");
        job.machine.set("host.spin", spin).expect("a time");
        run(&job, Call::BARRIER).mean()
    };
    // A switch takes 2 us, and each processor has two ranks.
    let (at_once, later) = (mean("0ns"), mean("1us"));
    assert!(at_once >= 4 * US, "{at_once}");
    assert!((2 * US..3 * US).contains(&later), "{later}");
}

/// Also where ranks look in vain again and again, for room in slots, at what needs the processor that they have.
#[test]
fn whoever_keeps_a_processor_gives_it_away_in_the_end() {
    for (kind, bytes) in Kind::ALL.into_iter().flat_map(|(kind, _)| [8, 100_000].map(|n| (kind, n)))
    {
        for processors in ["1", "3"] {
            let mut job = job(8, 1);
            job.machine.set("host.processors", processors).expect("a count");
            run(&job, Call::of_all(kind, bytes));
        }
    }
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
