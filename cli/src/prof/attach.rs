//! Counts a job that runs already.

use std::time::{Duration, Instant};

use clap::ArgMatches;
use hpvm_counters::allowed::Offer;
use hpvm_counters::{Part, Report, Target};
use hpvm_launch::sys;
use hpvm_monitor::jobs::find::{self, Job};

use super::output::{self, Usual};

/// Time between two looks, milliseconds.
const BETWEEN: Duration = Duration::from_millis(100);

/// Performs `hpvm prof -j JOB`.
pub fn run(word: &str, offer: Offer, matches: &ArgMatches) -> Result<i32, String> {
    if offer.events.is_empty() {
        return Err(format!("prof: {}", offer.notes.join("; ")));
    }
    let limit = match matches.get_one::<f64>("duration") {
        Some(seconds) => Some(Duration::try_from_secs_f64(*seconds).map_err(|_| {
            format!("prof: --duration {seconds}: expected a number of seconds of 0 or more")
        })?),
        None => None,
    };
    let job = choose(word)?;
    let stop = super::command::signals().map_err(|error| format!("prof: signals: {error}"))?;
    if let Ok(before) = sys::descriptor_limit() {
        // Ranks for which there is no room are not counted whole, and their values say so.
        let _ = sys::set_descriptor_limit(&libc::rlimit { rlim_cur: before.rlim_max, ..before });
    }
    let host = hpvm_launch::hosts::local_name();
    let mut parts: Vec<(Part, Target)> = find::processes_by_rank(&job)
        .into_iter()
        .map(|(rank, processes)| {
            let pid = processes.first().copied().unwrap_or(0);
            let part =
                Part { rank, host: host.clone(), job: job.id.clone(), pid, ..Part::default() };
            (part, Target::attach(&offer, &processes))
        })
        .collect();
    let began = Instant::now();
    loop {
        parts.iter_mut().for_each(|(_, target)| target.read());
        let left = limit.map(|limit| limit.saturating_sub(began.elapsed()));
        if left == Some(Duration::ZERO)
            || !is_there(&job)
            || waits(&stop, left.unwrap_or(BETWEEN).min(BETWEEN))
        {
            break;
        }
    }
    parts.iter_mut().for_each(|(_, target)| target.read());
    let report = Report {
        command: format!("job {}", job.id),
        elapsed: began.elapsed().as_secs_f64(),
        events: offer.events,
        parts: parts
            .into_iter()
            .map(|(part, target)| Part { estimates: target.estimates(), ..part })
            .collect(),
        notes: offer.notes,
    };
    output::write(&report, matches, Usual::Output)?;
    Ok(0)
}

/// The job that a word means: as for `hpvm jobs`, or a number of the queue.
fn choose(word: &str) -> Result<Job, String> {
    let jobs = find::jobs();
    let found = find::choose(&jobs, word).or_else(|error| {
        // A task of an array has a number, too, which the server knows.
        let number = if word.contains('_') { crate::cluster::number(word) } else { None };
        let word = number.as_deref().unwrap_or(word);
        let queued: Vec<_> = jobs.iter().filter(|job| find::is_queued_as(job, word)).collect();
        match queued[..] {
            [job] => Ok(job.clone()),
            _ => Err(error),
        }
    });
    found.map_err(|text| format!("prof: {}", text.strip_prefix("jobs: ").unwrap_or(&text)))
}

fn is_there(job: &Job) -> bool {
    job.processes.iter().any(|pid| {
        // First comes the state. A process that has ended waits for its launcher.
        let stat = hpvm_os::process::stat(*pid as u32);
        stat.is_some_and(|stat| !stat.trim_start().starts_with(['Z', 'X']))
    })
}

/// Waits so long; true if a signal has come.
fn waits(stop: &std::os::fd::OwnedFd, time: Duration) -> bool {
    matches!(hpvm_os::wait(stop, libc::POLLIN, Some(time)), Ok(true))
}
