//! Tables and properties of the policy.

use super::*;
use crate::apply::tests::job;
use crate::apply::{Event, apply};
use proptest::prelude::*;

const CAPACITY: Resources = Resources { cpus: 4, memory: 1000, gpus: 0 };
const NOW: Stamp = Stamp(10_000);

fn asks(id: i64, ranks: u32, limit: Option<u64>) -> Job {
    let mut job = job(id);
    (job.spec.ranks, job.summary.ranks) = (ranks, ranks);
    job.summary.time_limit_seconds = limit;
    job
}

fn runs(job: Job) -> Job {
    let cpus = Request::of(&job).cpus().min(CAPACITY.cpus);
    on(job, "h", cpus)
}

/// It runs on this host and holds so many processors.
fn on(job: Job, host: &str, cpus: u32) -> Job {
    let memory = job.spec.memory_bytes.unwrap_or(0);
    let share =
        Share { host: host.into(), ranks: job.spec.ranks, cpus, memory, ..Share::default() };
    apply(&job, &Event::Started { shares: vec![share], at: NOW }).unwrap()
}

fn hosts(cpus: &[u32]) -> Vec<Host> {
    let host = |(i, cpus): (usize, &u32)| {
        let name = if i == 0 { "h".to_string() } else { format!("h{i}") };
        let (capacity, processors) = (Resources { cpus: *cpus, ..CAPACITY }, Arc::default());
        Host { name, capacity, processors, closed: None }
    };
    cpus.iter().enumerate().map(host).collect()
}

fn planned_on(cpus: &[u32], jobs: &[Job]) -> Plan {
    plan(NOW, &hosts(cpus), jobs.iter(), |_| Other::Unknown)
}

fn started(plan: &Plan) -> Vec<JobId> {
    plan.start.iter().map(|(id, _)| *id).collect()
}

fn planned(jobs: &[Job]) -> Plan {
    plan(NOW, &hosts(&[4]), jobs.iter(), |_| Other::Unknown)
}

#[test]
fn the_first_that_fit_start() {
    let plan = planned(&[asks(1, 2, None), asks(2, 2, None), asks(3, 1, None)]);
    assert_eq!(started(&plan), [1, 2]);
    assert!(plan.wait[0].reason.contains("1 processor; 0 are free"), "{plan:?}");
}

#[test]
fn more_ranks_than_processors_get_all_of_them() {
    assert_eq!(started(&planned(&[asks(1, 64, None)])), [1]);
    assert_eq!(started(&planned(&[asks(1, 64, None), asks(2, 1, None)])), [1]);
}

#[test]
fn a_gap_is_filled_by_what_ends_in_time() {
    let running = runs(asks(1, 3, Some(100)));
    let big = asks(2, 4, Some(50));
    let (short, long) = (asks(3, 1, Some(100)), asks(4, 1, Some(101)));
    let plan = planned(&[running.clone(), big.clone(), long]);
    assert!(plan.start.is_empty());
    assert_eq!(plan.wait[0].estimated_start, Some(NOW.after(100)));
    assert!(plan.wait[1].reason.contains("job 2"), "{plan:?}");
    assert_eq!(plan.wait[1].estimated_start, Some(NOW.after(150)));
    assert_eq!(started(&planned(&[running, big, short])), [3]);
}

#[test]
fn who_waits_for_endless_jobs_is_not_overtaken() {
    let plan = planned(&[runs(asks(1, 3, None)), asks(2, 2, None), asks(3, 1, None)]);
    assert!(plan.start.is_empty());
    assert!(plan.wait[0].reason.contains("without a time limit"), "{plan:?}");
}

#[test]
fn waiting_counts() {
    let mut important = asks(2, 4, None);
    important.summary.priority = 10;
    assert_eq!(started(&planned(&[asks(1, 4, None), important.clone()])), [2]);
    let mut old = asks(1, 4, None);
    old.summary.submitted = Stamp(NOW.0 - 20 * 60_000);
    important.summary.submitted = NOW;
    assert_eq!(started(&planned(&[old, important])), [1]);
}

#[test]
fn dependencies() {
    let depends = |kind| {
        let mut job = asks(2, 1, None);
        job.spec.depends_on = vec![crate::job::Dependency { kind, job: 1, task: None }];
        job
    };
    let try_with = |kind, other: Other| {
        let job = depends(kind);
        let plan = plan(NOW, &hosts(&[4]), [&job].into_iter(), |_| other.clone());
        plan.wait.first().map_or("starts".into(), |waiting| waiting.reason.clone())
    };
    use DependKind::{AfterAny, AfterNotOk, AfterOk};
    let ended = |code| Other::Ended(Outcome::exit(code));
    for (kind, other, said) in [
        (AfterOk, ended(0), "starts"),
        (AfterOk, ended(3), "to succeed, which ended with code 3"),
        (AfterOk, Other::Active, "waits for the end of job 1"),
        (AfterAny, ended(3), "starts"),
        (AfterNotOk, ended(0), "to fail, which ended with code 0"),
        (AfterNotOk, ended(3), "starts"),
        (AfterOk, Other::Unknown, "there is no job 1"),
    ] {
        let reason = try_with(kind, other);
        assert!(reason.contains(said), "{kind:?}: {reason}");
    }
}

#[test]
fn arrays_and_memory() {
    let task = |id| {
        let mut job = asks(id, 1, None);
        let task = u32::try_from(id).unwrap();
        job.summary.array = Some(crate::job::ArrayTask { id: 1, task, at_once: Some(2) });
        job
    };
    let plan = planned(&[runs(task(1)), task(2), task(3)]);
    assert_eq!(started(&plan), [2]);
    assert!(plan.wait[0].reason.contains("only 2"), "{plan:?}");
    let mut greedy = asks(1, 1, None);
    greedy.spec.memory_bytes = Some(1001);
    assert!(planned(&[greedy]).wait[0].reason.starts_with("can never start"));
}

/// Host and ranks of each share of the only job that starts.
fn shares(plan: &Plan) -> Vec<(&str, u32, u32)> {
    let (_, shares) = plan.start.first().expect("a job that starts");
    shares.iter().map(|share| (share.host.as_str(), share.ranks, share.cpus)).collect()
}

#[test]
fn a_job_stays_on_the_fullest_host_that_suffices() {
    assert_eq!(shares(&planned_on(&[4, 2, 4], &[asks(1, 2, None)])), [("h1", 2, 2)]);
    assert_eq!(shares(&planned_on(&[4, 2], &[asks(1, 3, None)])), [("h", 3, 3)]);
    // It fits on a host, only not now: it waits for that one.
    let busy = on(asks(1, 1, None), "h", 1);
    let plan = planned_on(&[4, 2], &[busy, asks(2, 4, None)]);
    assert!(plan.wait[0].reason.contains("4 free processors; 5 are free"), "{plan:?}");
}

#[test]
fn a_job_larger_than_any_host_spans_several() {
    assert_eq!(
        shares(&planned_on(&[4, 2, 4], &[asks(1, 9, None)])),
        [("h", 4, 4), ("h2", 4, 4), ("h1", 1, 1)]
    );
    // More ranks than processors on all: in proportion, at least one each.
    assert_eq!(shares(&planned_on(&[4, 2], &[asks(1, 12, None)])), [("h", 8, 4), ("h1", 4, 2)]);
    let mut wide = asks(1, 1, None);
    wide.spec.cpus_per_rank = Some(100);
    assert_eq!(shares(&planned_on(&[2, 4], &[wide])), [("h1", 1, 4)]);
}

#[test]
fn as_many_hosts_as_are_asked_for() {
    let asks_nodes = |nodes, ranks| {
        let mut job = asks(1, ranks, None);
        job.spec.nodes = Some(nodes);
        job
    };
    assert_eq!(shares(&planned_on(&[4, 4, 4], &[asks_nodes(2, 3)])), [("h", 2, 2), ("h1", 1, 1)]);
    assert_eq!(shares(&planned_on(&[4, 4], &[asks_nodes(2, 1)])), [("h", 1, 1), ("h1", 1, 1)]);
    let plan = planned_on(&[4, 4], &[asks_nodes(3, 3)]);
    assert!(plan.wait[0].reason.contains("asks for 3 hosts; there are 2"), "{plan:?}");
    let mut named = asks_nodes(1, 1);
    named.spec.hosts = vec!["h1".into()];
    assert_eq!(shares(&planned_on(&[4, 4], &[named.clone()])), [("h1", 1, 1)]);
    named.spec.hosts = vec!["x".into()];
    let plan = planned_on(&[4, 4], &[named]);
    assert!(plan.wait[0].reason.contains("there is no host 'x'"), "{plan:?}");
}

#[test]
fn closed_hosts_get_nothing_and_say_why() {
    let mut all = hosts(&[4, 2]);
    all[0].closed = Some("host h is drained by ann: fan".into());
    let with = |jobs: &[Job]| plan(NOW, &all, jobs.iter(), |_| Other::Unknown);
    let made = with(&[asks(1, 2, None), asks(2, 4, None), asks(3, 2, None)]);
    assert_eq!(shares(&made), [("h1", 2, 2)]);
    // The large one waits for the host, and the small one behind it is not held up by that.
    assert!(made.wait[0].reason.contains("drained by ann"), "{made:?}");
    assert!(made.wait[1].reason.contains("2 processors; 0 are free"), "{made:?}");
    assert_eq!(started(&with(&[asks(2, 4, None), asks(3, 2, None)])), [3]);
}

#[test]
fn graphics_processors_have_numbers() {
    let mut all = hosts(&[4, 4]);
    all[1].capacity.gpus = 3;
    let gpu = |id, count| {
        let mut job = asks(id, 1, None);
        job.spec.gpus = Some(count);
        job
    };
    let jobs = [gpu(1, 2), gpu(2, 1), gpu(3, 1), gpu(4, 4)];
    let made = plan(NOW, &all, jobs.iter(), |_| Other::Unknown);
    let numbers: Vec<_> = made.start.iter().map(|(_, shares)| shares[0].gpus.clone()).collect();
    assert_eq!(numbers, [vec![0, 1], vec![2]]);
    assert!(made.wait[0].reason.contains("1 GPU; 0 are free"), "{made:?}");
    assert!(made.wait[1].reason.contains("asks for 4 GPUs; there are 3"), "{made:?}");
}

/// Hosts whose cores have two hardware threads each.
fn with_threads(cpus: &[u32]) -> Vec<Host> {
    let mut all = hosts(cpus);
    for host in &mut all {
        let cores = host.capacity.cpus / 2;
        let text: Vec<String> = (0..cores).map(|core| format!("{core}+{}", core + cores)).collect();
        host.processors = Arc::new(Processors::parse(&text.join(",")).unwrap());
    }
    all
}

#[test]
fn no_two_jobs_share_a_core() {
    let all = with_threads(&[8]);
    let with = |jobs: &[Job]| plan(NOW, &all, jobs.iter(), |_| Other::Unknown);
    let made = with(&[asks(1, 1, None), asks(2, 3, None), asks(3, 2, None), asks(4, 1, None)]);
    let held: Vec<_> = made
        .start
        .iter()
        .map(|(_, shares)| (shares[0].cpus, shares[0].processors.clone()))
        .collect();
    assert_eq!(held, [(2, vec![0, 4]), (4, vec![1, 2, 5, 6]), (2, vec![3, 7])]);
    assert!(made.wait[0].reason.contains("1 processor; 0 are free"), "{made:?}");
    // Who runs already has them still, also when somebody before has ended; all are for who wants more.
    let mut second = asks(2, 3, None);
    second = apply(&second, &Event::Started { shares: made.start[1].1.clone(), at: NOW }).unwrap();
    let made = with(&[second, asks(5, 4, None)]);
    assert_eq!(made.start[0].1[0].processors, [0, 3, 4, 7]);
    let made = with(&[asks(6, 64, None)]);
    assert_eq!(made.start[0].1[0].processors, (0..8).collect::<Vec<_>>());
    // One of an hpvm that did not know processors holds some all the same.
    assert!(with(&[on(asks(7, 7, None), "h", 7), asks(8, 1, None)]).start.is_empty());
}

proptest! {
    /// On no host is more given away than it has, and every job that starts gets what it asks for.
    #[test]
    fn any_queue_on_any_hosts(
        cpus in prop::collection::vec(1_u32..9, 1..6),
        list in prop::collection::vec(
            (1_u32..20, 1_u32..4, prop::option::of(1_u32..4), prop::option::of(1_u64..500)), 0..40),
    ) {
        let all = hosts(&cpus);
        let mut running: Vec<Job> = Vec::new();
        for (i, (ranks, per_rank, nodes, limit)) in list.into_iter().enumerate() {
            let mut job = asks(i as i64 + 1, ranks, limit);
            (job.spec.cpus_per_rank, job.spec.nodes) = (Some(per_rank), nodes);
            running.push(job);
            // What starts runs in the next round.
            let made = plan(NOW, &all, running.iter(), |_| Other::Unknown);
            for (id, shares) in made.start {
                let job = running.iter_mut().find(|job| job.id() == id).unwrap();
                let given: u32 = shares.iter().map(|share| share.ranks).sum();
                prop_assert_eq!(given, ranks.max(nodes.unwrap_or(1)));
                prop_assert!(shares.iter().all(|share| share.ranks > 0));
                prop_assert!(nodes.is_none_or(|nodes| nodes as usize == shares.len()));
                *job = apply(job, &Event::Started { shares, at: NOW }).unwrap();
            }
        }
        for host in &all {
            let held: u32 = running.iter().map(|job| cpus_on(job, &host.name)).sum();
            prop_assert!(held <= host.capacity.cpus, "{held} of {host:?}");
        }
    }

    /// Where processors are known, every job that starts has as many as it holds, whole cores, and no two
    /// have the same, however many have ended before.
    #[test]
    fn processors_are_given_once(
        cores in prop::collection::vec(1_u32..5, 1..4),
        list in prop::collection::vec(
            (1_u32..12, 1_u32..3, prop::option::of(1_u32..3), any::<prop::sample::Index>(), 0..3_u8), 0..40),
    ) {
        let all = with_threads(&cores.iter().map(|cores| 2 * cores).collect::<Vec<_>>());
        let mut jobs: Vec<Job> = Vec::new();
        for (i, (ranks, per_rank, nodes, ends, chance)) in list.into_iter().enumerate() {
            if chance == 0 && !jobs.is_empty() {
                jobs.remove(ends.index(jobs.len()));
            }
            let mut job = asks(i as i64 + 1, ranks, None);
            (job.spec.cpus_per_rank, job.spec.nodes) = (Some(per_rank), nodes);
            jobs.push(job);
            let made = plan(NOW, &all, jobs.iter(), |_| Other::Unknown);
            for (id, shares) in made.start {
                let job = jobs.iter_mut().find(|job| job.id() == id).unwrap();
                *job = apply(job, &Event::Started { shares, at: NOW }).unwrap();
            }
            let mut seen = BTreeSet::new();
            for share in jobs.iter().flat_map(|job| &job.allocation) {
                prop_assert_eq!(share.processors.len(), share.cpus as usize);
                prop_assert_eq!(share.cpus % 2, 0);
                for processor in &share.processors {
                    prop_assert!(seen.insert((share.host.clone(), *processor)), "{share:?}");
                }
            }
        }
    }
}

proptest! {
    /// Nothing is given away twice, everybody is heard, and the first in the line is never made
    /// to wait longer by those behind it.
    #[test]
    fn any_queue(list in prop::collection::vec(
        (1_u32..6, prop::option::of(1_u64..500), any::<bool>(), -5_i32..5), 0..60))
    {
        let mut jobs: Vec<Job> = Vec::new();
        let mut used = 0;
        for (i, (ranks, limit, started, priority)) in list.into_iter().enumerate() {
            let mut job = asks(i as i64 + 1, ranks, limit);
            job.summary.priority = priority;
            let cpus = ranks.min(CAPACITY.cpus);
            if started && used + cpus <= CAPACITY.cpus {
                used += cpus;
                job = runs(job);
            }
            jobs.push(job);
        }
        let made = planned(&jobs);
        let find = |id: i64| &jobs[id as usize - 1];
        let taken: u32 = made.start.iter().flat_map(|(_, shares)| shares).map(|s| s.cpus).sum();
        prop_assert!(used + taken <= CAPACITY.cpus);
        let waiting = jobs.iter().filter(|job| job.state() != State::Running).count();
        prop_assert_eq!(made.start.len() + made.wait.len(), waiting);
        if let Some(first) = made.wait.first() {
            let alone: Vec<Job> = jobs.iter()
                .filter(|job| job.state() == State::Running || job.id() == first.id
                    || (started(&made).contains(&job.id()) && (-job.summary.priority, job.id())
                        < (-find(first.id).summary.priority, first.id)))
                .cloned().collect();
            let expected = planned(&alone).wait.first().and_then(|w| w.estimated_start);
            prop_assert_eq!(first.estimated_start, expected);
        }
    }
}
