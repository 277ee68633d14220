//! `hpvm jobs`: the jobs of this user on this machine, and what the ranks of one wait for. It reads
//! what they show in their shared memory, and disturbs nobody.

mod activity;
mod diagnose;
mod find;

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use diagnose::State;
use find::Job;
use hpvm_shm::observe::{Seen, View};
use hpvm_wire::pending::{ANY, Kind, Record, Stage};
use serde_json::{Value, json};

/// Times the ranks are looked at until none of them has changed meanwhile.
const LOOKS: u32 = 5;

/// The subcommand.
pub fn definition() -> Command {
    Command::new("jobs")
        .about("List your jobs on this machine, or show what the ranks of one wait for")
        .long_about(
            "List your jobs on this machine, or show what the ranks of one wait for.\n\n\
             With JOB, every rank is shown with its state, its counters, and, when it has slept \
             for some hundredths of a second, the operations that it waits for. What can be said \
             about a job that does not go on comes last. The job is neither stopped nor disturbed. \
             A rank that polls, computes, or waits for something else than MPI counts as running; of \
             such a one it is said whether its process computes or sleeps.",
        )
        .arg(
            Arg::new("job")
                .value_name("JOB|PID")
                .help("A job's name or its beginning, or a process of it, or its mpirun"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write JSON"))
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let jobs = find::jobs();
    let json = matches.get_flag("json");
    let text = match matches.get_one::<String>("job") {
        None if json => Value::Array(jobs.iter().map(listed).collect()).to_string() + "\n",
        None => list(&jobs),
        Some(word) => {
            let job = find::choose(&jobs, word)?;
            match find::open(&job) {
                Err(problem) => outside(&job, &problem, json)?,
                Ok(view) => {
                    let look = look(&view, &job, true).map_err(|error| format!("jobs: {error}"))?;
                    if json { look.json(&job).to_string() + "\n" } else { look.text(&job) }
                }
            }
        }
    };
    crate::info::print(text.as_bytes())?;
    Ok(0)
}

/// A job of which no rank is in MPI: what its processes do.
fn outside(job: &Job, problem: &str, json: bool) -> Result<String, String> {
    let activities = activity::of(&job.processes);
    if activities.iter().all(Option::is_none) {
        return Err(problem.to_string());
    }
    let rows = job.processes.iter().zip(&activities);
    if json {
        let processes = rows.map(|(pid, activity)| {
            json!({ "pid": pid, "activity": activity.as_ref().map(activity::Activity::word) })
        });
        let mut value = listed(job);
        value["processes"] = processes.collect();
        value["problem"] = json!(problem);
        return Ok(value.to_string() + "\n");
    }
    let mut out = format!("{problem}\nprogram: {}\n", job.program);
    for (pid, activity) in rows {
        let text = activity.as_ref().map_or("is gone".to_string(), activity::Activity::text);
        let _ = writeln!(out, "process {pid}: {text}");
    }
    Ok(out)
}

/// A job in the list for programs.
fn listed(job: &Job) -> Value {
    json!({
        "job": job.id,
        "launcher": job.launcher,
        "ranks": job.size,
        "processes": job.processes,
        "program": job.program,
    })
}

/// What the ranks of a job do, in a word or two: "stuck", or their number per state.
fn summary(job: &Job) -> String {
    let look = find::open(job).and_then(|view| look(&view, job, false).map_err(|e| e.to_string()));
    let Ok(look) = look else { return "?".into() };
    if look.is_stuck() {
        return "stuck".into();
    }
    let mut words: Vec<(&str, usize)> = Vec::new();
    for word in look.states.iter().map(word) {
        match words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => words.push((word, 1)),
        }
    }
    let words: Vec<_> = words.iter().map(|(word, count)| format!("{count} {word}")).collect();
    words.join(", ")
}

/// The list for people.
fn list(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return "no jobs of this user run on this machine\n".into();
    }
    let heads = ["JOB", "LAUNCHER", "RANKS", "STATE"].map(str::to_owned);
    let number = |n: Option<i64>| n.map_or_else(|| "?".into(), |n| n.to_string());
    let row = |job: &Job| {
        let (launcher, size) = (job.launcher.map(i64::from), job.size.map(i64::from));
        [job.id.clone(), number(launcher), number(size), summary(job)]
    };
    let rows: Vec<_> = std::iter::once(heads).chain(jobs.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let programs =
        std::iter::once("PROGRAM".to_owned()).chain(jobs.iter().map(|j| cut(&j.program)));
    let mut out = String::new();
    for (row, program) in rows.iter().zip(programs) {
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(out, "{cell:<width$}  ");
        }
        let _ = writeln!(out, "{program}");
    }
    out
}

/// The start of a long text.
fn cut(text: &str) -> String {
    const MOST: usize = 100;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// The ranks of a job at one moment.
struct Look {
    ranks: Vec<Seen>,
    states: Vec<State>,
    /// No rank fell asleep or woke up while we looked.
    whole: bool,
    /// Ranks of the job that run on other hosts, of which nothing can be said from here.
    elsewhere: u32,
    /// What the processes of ranks do that do not sleep in MPI, where that can be seen.
    activities: Vec<Option<activity::Activity>>,
}

/// `deep`: also what processes do outside of MPI, which takes some hundredths of a second.
fn look(view: &View, job: &Job, deep: bool) -> Result<Look, hpvm_shm::SegmentError> {
    let mut left = LOOKS;
    loop {
        let ranks = (0..view.ranks()).map(|rank| view.look(rank)).collect::<Result<Vec<_>, _>>()?;
        let mut whole = true;
        for (rank, seen) in (0..).zip(&ranks) {
            whole &= view.generation(rank)? == seen.pending.generation;
        }
        left -= 1;
        if whole || left == 0 {
            let now = now();
            let own = |seen: &Seen| job.processes.contains(&(seen.pid as i32));
            // In a container the ranks have other numbers there than here.
            let here = ranks.iter().any(own);
            let states: Vec<State> = ranks.iter().map(|seen| state(seen, now, here)).collect();
            let elsewhere = job.size.unwrap_or(0).saturating_sub(ranks.len() as u32);
            let mut look = Look { ranks, states, whole, elsewhere, activities: Vec::new() };
            if here && deep {
                look.find_activities();
            }
            return Ok(look);
        }
    }
}

/// CLOCK_MONOTONIC in nanoseconds, the clock of the ranks.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The state of a rank whose number is one of this machine if `here`.
fn state(seen: &Seen, now: u64, here: bool) -> State {
    if seen.pid == 0 {
        return State::Starting;
    }
    let gone = here && !Path::new(&format!("/proc/{}", seen.pid)).exists();
    match (seen.pending.stage, &seen.pending.asleep) {
        (Stage::Finalized, _) => State::Finalized,
        _ if gone => State::Gone,
        (_, None) => State::Running,
        (_, Some(asleep)) => State::Sleeping {
            seconds: now.saturating_sub(asleep.since) as f64 * 1e-9,
            records: asleep.records.clone(),
            more: asleep.total - asleep.records.len() as u32,
            threads: asleep.threads,
        },
    }
}

impl Look {
    /// Looks at the processes of ranks that are not asleep in MPI.
    fn find_activities(&mut self) {
        let outside = |state: &State| matches!(state, State::Running | State::Finalized);
        let pids: Vec<i32> = self.ranks.iter().map(|seen| seen.pid as i32).collect();
        let wanted = pids.iter().zip(&self.states).filter(|(_, state)| outside(state));
        let wanted: Vec<i32> = wanted.map(|(pid, _)| *pid).collect();
        let mut found = activity::of(&wanted).into_iter();
        let states = self.states.iter();
        self.activities =
            states.map(|state| outside(state).then(|| found.next()).flatten().flatten()).collect();
    }

    /// What is to be said about the job; nothing while it moves.
    fn findings(&self) -> Vec<String> {
        match self.whole && self.elsewhere == 0 {
            true => diagnose::findings(&self.states),
            false => Vec::new(),
        }
    }

    fn is_stuck(&self) -> bool {
        self.whole && self.elsewhere == 0 && diagnose::is_stuck(&self.states)
    }

    /// The number in the job of the rank at `place` of this host.
    fn rank(&self, place: usize) -> usize {
        if self.elsewhere == 0 { place } else { self.ranks[place].rank as usize }
    }

    fn text(&self, job: &Job) -> String {
        let launcher = job.launcher.map_or(String::new(), |pid| format!(", launcher {pid}"));
        let others = match self.elsewhere {
            0 => String::new(),
            n => format!(" on this host, {n} elsewhere"),
        };
        let ranks = self.ranks.len();
        let mut out = format!("job {}: {ranks} ranks{others}{launcher}\n", job.id);
        let _ = writeln!(out, "program: {}", job.program);
        for (place, (seen, state)) in self.ranks.iter().zip(&self.states).enumerate() {
            let rank = self.rank(place);
            let activity = self.activities.get(place).and_then(Option::as_ref);
            let activity = activity.map_or(String::new(), |does| format!("; it {}", does.text()));
            let _ =
                writeln!(out, "rank {rank}, process {}: {}{activity}", seen.pid, state_text(state));
            if let State::Sleeping { records, more, .. } = state {
                for record in records {
                    let nested = record.part && record.kind != Kind::Unexpected;
                    let indent = if nested { 8 } else { 4 };
                    let _ = writeln!(out, "{:indent$}{}", "", diagnose::describe(record));
                }
                if records.is_empty() {
                    let _ = writeln!(out, "    no operation of MPI");
                }
                if *more > 0 {
                    let _ = writeln!(out, "    and {more} more");
                }
            }
            let counters = counters(seen);
            if !counters.is_empty() {
                let _ = writeln!(out, "    counters: {counters}");
            }
        }
        for finding in self.findings() {
            let _ = writeln!(out, "=> {finding}");
        }
        out
    }

    fn json(&self, job: &Job) -> Value {
        let ranks = self.ranks.iter().zip(&self.states).enumerate();
        let ranks: Vec<_> = ranks
            .map(|(place, (seen, state))| {
                let mut value = rank_json(self.rank(place), seen, state);
                if let Some(Some(activity)) = self.activities.get(place) {
                    value["activity"] = json!(activity.word());
                }
                value
            })
            .collect();
        let mut value = listed(job);
        value["ranks"] = Value::Array(ranks);
        value["elsewhere"] = json!(self.elsewhere);
        value["findings"] = json!(self.findings());
        value["stuck"] = json!(self.is_stuck());
        value
    }
}

fn state_text(state: &State) -> String {
    match state {
        State::Sleeping { seconds, .. } => format!("{} for {seconds:.1} s", word(state)),
        _ => word(state).into(),
    }
}

fn word(state: &State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Running => "running",
        State::Sleeping { .. } => "sleeping",
        State::Finalized => "finalized",
        State::Gone => "gone",
    }
}

/// The counters that are not 0.
fn counters(seen: &Seen) -> String {
    let some = seen.counters.iter().filter(|(_, value)| *value > 0);
    let some: Vec<_> =
        some.map(|(name, value)| format!("{} {value}", name.replace('_', " "))).collect();
    some.join(", ")
}

fn rank_json(rank: usize, seen: &Seen, state: &State) -> Value {
    let counters: serde_json::Map<String, Value> =
        seen.counters.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
    let mut value = json!({
        "rank": rank, "pid": seen.pid, "state": word(state), "counters": counters,
    });
    if let State::Sleeping { seconds, records, more, threads } = state {
        value["seconds"] = json!(seconds);
        value["operations"] = records.iter().map(record_json).collect();
        value["more_operations"] = json!(more);
        value["other_threads"] = json!(threads);
    }
    value
}

fn record_json(r: &Record) -> Value {
    let number = |n: i32| match n {
        ANY => json!("any"),
        -1 => Value::Null,
        n => json!(n),
    };
    json!({
        "kind": match r.kind {
            Kind::Receive => "receive",
            Kind::Send => "send",
            Kind::SynchronousSend => "synchronous send",
            Kind::Collective => "collective",
            Kind::Probe => "probe",
            Kind::Other => "other",
            Kind::Unexpected => "unexpected message",
        },
        "part_of_collective": r.part,
        "call": r.call,
        "peer": number(r.peer),
        "process": number(r.process),
        "tag": number(r.tag),
        "bytes": r.bytes,
        "communicator": r.comm,
        "context": r.context,
        "text": diagnose::describe(r),
    })
}
