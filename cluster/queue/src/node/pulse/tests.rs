//! Two fleets hear the same: one takes reports without news where they come in, the other takes them all.

use proptest::prelude::*;

use super::*;
use crate::apply::tests::job;
use crate::attempt::Attempt;
use crate::driver::Standing;
use crate::job::{Job, JobId, Outcome, Share};
use crate::node::{Fleet, Queue, Refused, Said, Told};

const HOSTS: [&str; 2] = ["n1", "n2"];
const JOBS: [JobId; 3] = [1, 2, 3];

#[derive(Clone, Debug)]
enum Step {
    /// The host says the same again, with so much added to its number.
    Same(usize, u64),
    /// What it says of a job becomes another.
    Says(usize, JobId, u8),
    Begins(usize),
    Grows(usize),
    Want(JobId),
    Cancel(JobId),
    Forget(JobId),
    Suspect(JobId),
    Remove(usize),
    Tick,
    Seconds(i64),
}

fn steps() -> impl Strategy<Value = Step> {
    let (host, id) = (0..HOSTS.len(), prop::sample::select(JOBS.to_vec()));
    prop_oneof![
        8 => (host.clone(), prop_oneof![8 => Just(1u64), 1 => Just(0), 1 => Just(3)])
            .prop_map(|(host, by)| Step::Same(host, by)),
        4 => (host.clone(), id.clone(), 0..4u8).prop_map(|(host, id, what)| Step::Says(host, id, what)),
        1 => host.clone().prop_map(Step::Begins),
        1 => host.clone().prop_map(Step::Grows),
        2 => id.clone().prop_map(Step::Want),
        1 => id.clone().prop_map(Step::Cancel),
        1 => id.clone().prop_map(Step::Forget),
        1 => id.prop_map(Step::Suspect),
        1 => host.prop_map(Step::Remove),
        1 => Just(Step::Tick),
        4 => prop_oneof![3 => 1..4i64, 1 => 9..12i64, 1 => 290..310i64].prop_map(Step::Seconds),
    ]
}

/// Job 3 has ranks on both hosts.
fn placed(id: JobId) -> Job {
    let hosts = if id == 3 { &HOSTS[..] } else { &HOSTS[id as usize - 1..id as usize] };
    let mut job = job(id);
    job.summary.hosts = hosts.iter().map(|host| host.to_string()).collect();
    let share =
        |host: &&str| Share { host: host.to_string(), ranks: 1, cpus: 1, ..Share::default() };
    job.allocation = hosts.iter().map(share).collect();
    job
}

fn said(what: u8) -> Option<Said> {
    match what {
        0 => None,
        1 => Some(Said::Runs),
        2 => Some(Said::Later("no room".into())),
        _ => Some(Said::Ended(Outcome::exit(3), Stamp(5))),
    }
}

/// What the manager does with a report.
fn taken(fleet: &mut Fleet, name: &str, said: &Report, capacity: Capacity) -> Answer {
    let done = fleet.report(name, said, capacity.into());
    if let Some(row) = fleet.unrecorded(name) {
        fleet.recorded(row);
    }
    if done.is_ok() {
        fleet.lets_report(name, said, capacity);
    }
    (done, fleet.orders(name))
}

type Answer = (Result<(Vec<JobId>, bool), Refused>, Option<Orders>);

/// All that can be asked of a fleet, but for times of the system's clock.
fn looks(fleet: &mut Fleet) -> String {
    let kind = |standing| match standing {
        Standing::Ended(outcome, _) => format!("{:?} {:?}", outcome.kind, outcome.detail),
        other => format!("{other:?}"),
    };
    let views: Vec<_> = fleet.views().into_iter().map(|v| (v.name, v.capacity, v.silent)).collect();
    let stand: Vec<_> = JOBS.iter().map(|id| kind(fleet.standing(&placed(*id)))).collect();
    let orders: Vec<_> = HOSTS.iter().map(|name| fleet.orders(name)).collect();
    format!("{views:?} {stand:?} {orders:?} {:?}", fleet.take_news())
}

/// Plays the steps to both; gives how many reports were taken without the manager.
fn play(steps: &[Step]) -> usize {
    let fleet = || Fleet::new(Queue::default(), 300, Vec::new());
    let (mut quick, mut plain) = (fleet(), fleet());
    let (mut now, mut quickly) = (Stamp(1000), 0);
    let first = |name: &&str| Report { identity: name.to_string(), ..Report::default() };
    let mut hosts: Vec<Report> = HOSTS.iter().map(first).collect();
    let mut sizes = [Capacity { cpus: 2, memory: 3, gpus: 0 }; 2];
    for step in steps {
        for fleet in [&quick, &plain] {
            fleet.pulses().set_clock(now);
        }
        let reporter = match step {
            Step::Same(host, by) => {
                hosts[*host].number += by;
                Some(*host)
            }
            Step::Says(host, id, what) => {
                let report = &mut hosts[*host];
                let job = Attempt::first(*id);
                report.jobs.retain(|told| told.job != job);
                report.jobs.extend(said(*what).map(|said| Told { job, said, if_fails: None }));
                report.number += 1;
                Some(*host)
            }
            Step::Begins(host) => {
                let report = &mut hosts[*host];
                (report.session, report.number) = (report.session + 1, 1);
                Some(*host)
            }
            Step::Grows(host) => {
                sizes[*host].cpus += 1;
                hosts[*host].number += 1;
                Some(*host)
            }
            Step::Seconds(seconds) => {
                now = now.after(*seconds as u64);
                None
            }
            other => {
                for fleet in [&mut quick, &mut plain] {
                    match other {
                        Step::Want(id) => fleet.want(&placed(*id)),
                        Step::Cancel(id) => fleet.cancel(&placed(*id), "ann"),
                        Step::Forget(id) => fleet.forget(&placed(*id)),
                        Step::Suspect(id) => fleet.suspect(&placed(*id)),
                        Step::Remove(host) => fleet.remove(HOSTS[*host]),
                        _ => fleet.tick(),
                    }
                }
                None
            }
        };
        if let Some(host) = reporter {
            let (name, report, size) = (HOSTS[host], &hosts[host], sizes[host]);
            let expected = taken(&mut plain, name, report, size);
            let got = match quick.pulses().take(name, report, size) {
                None => taken(&mut quick, name, report, size),
                Some(orders) => {
                    quickly += 1;
                    (Ok((Vec::new(), false)), Some((*orders).clone()))
                }
            };
            assert_eq!(got, expected, "{step:?}");
        }
        assert_eq!(looks(&mut quick), looks(&mut plain), "{step:?}");
    }
    quickly
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn who_reports_without_the_manager_is_answered_and_seen_as_by_it(
        steps in prop::collection::vec(steps(), 1..60)
    ) {
        play(&steps);
    }
}

#[test]
fn the_second_report_of_the_same_does_not_reach_the_manager() {
    let (same, begin) = (Step::Same(0, 1), Step::Begins(0));
    assert_eq!(play(&[begin.clone(), same.clone(), same.clone()]), 2);
    // An order is given by the next report, and the one after it says that it is carried out.
    let ordered = [begin, same.clone(), Step::Want(1), same.clone(), Step::Says(0, 1, 1), same];
    assert_eq!(play(&ordered), 2);
}

#[test]
fn the_manager_is_asked_when_the_time_of_the_last_report_is_to_be_written_down() {
    let pulses = Pulses::default();
    let capacity = Capacity { cpus: 2, memory: 3, gpus: 0 };
    let report = |number| Report { identity: "a".into(), session: 1, number, ..Report::default() };
    let recorded = |ago: i64| Stamp(Stamp::now().0 - ago);
    let beat = Beat { last: (1, 1), at: pulses.now(), seen: Stamp::now() };
    // In the past, and in what became the future when the clock was set back.
    for (ago, taken) in [(0, true), (SEEN_EVERY_MS, false), (-SEEN_EVERY_MS, false)] {
        let opened = (&report(1), capacity);
        pulses.open("n1", opened, Orders::default(), recorded(ago), beat);
        let got = pulses.take("n1", &report(2), capacity);
        assert_eq!(got.is_some(), taken, "{ago}");
    }
}
