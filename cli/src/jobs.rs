//! `hpvm jobs`: the jobs of this user on this machine, and what the ranks of one wait for. It reads
//! what they show in their shared memory, and disturbs nobody.

use std::fmt::Write;

use clap::{Arg, ArgAction, ArgMatches, Command};
use hpvm_monitor::jobs::activity::{self, Activity};
use hpvm_monitor::jobs::diagnose::{self, State};
use hpvm_monitor::jobs::find::{self, Job};
use hpvm_monitor::jobs::traffic::{self, Matrix};
use hpvm_monitor::jobs::{Look, look};
use hpvm_shm::observe::Seen;
use hpvm_wire::lane::{LaneInUse, WhyUdp};
use hpvm_wire::pending::{ANY, Kind, Record};
use serde_json::{Value, json};

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
        .arg(
            Arg::new("matrix")
                .long("matrix")
                .action(ArgAction::SetTrue)
                .requires("job")
                .help("Show who has sent how much to whom, in jobs started with mpirun --monitor or by the queue"),
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
                    let look = look(&view, &job).map_err(|error| format!("jobs: {error}"))?;
                    let counted = traffic::matrix(&view, &look, &job)
                        .map_err(|error| format!("jobs: {error}"))?;
                    if matches.get_flag("matrix") {
                        let counted = counted.ok_or_else(|| uncounted(&job))?;
                        let text = if json {
                            matrix_json(&counted).to_string() + "\n"
                        } else {
                            matrix_text(&counted)
                        };
                        crate::info::print(text.as_bytes())?;
                        return Ok(0);
                    }
                    let does = activities(&look, &job);
                    if json {
                        json_of(&look, &does, &job).to_string() + "\n"
                    } else {
                        text(&look, &does, &job)
                    }
                }
            }
        }
    };
    crate::info::print(text.as_bytes())?;
    Ok(0)
}

fn uncounted(job: &Job) -> String {
    format!(
        "jobs: {}: its ranks do not count what they send to whom; start it with mpirun --monitor",
        job.id
    )
}

/// A line for each pair of ranks that talked, in the order of senders.
fn matrix_text(matrix: &Matrix) -> String {
    let mut out = format!("{:>7} {:>7} {:>12} {:>16}\n", "FROM", "TO", "MESSAGES", "BYTES");
    for ((from, to), sum) in &matrix.pairs {
        let _ = writeln!(out, "{from:>7} {to:>7} {:>12} {:>16}", sum.messages, sum.bytes);
    }
    out
}

/// Sender, receiver, messages, bytes.
fn matrix_json(matrix: &Matrix) -> Value {
    let pairs = matrix.pairs.iter();
    let entries: Vec<_> =
        pairs.map(|((from, to), sum)| json!([from, to, sum.messages, sum.bytes])).collect();
    json!({ "size": matrix.size, "entries": entries })
}

/// What the processes of ranks do that do not sleep in MPI, where that can be seen.
fn activities(look: &Look, job: &Job) -> Vec<Option<Activity>> {
    // In a container the ranks have other numbers there than here.
    let outside = |seen: &Seen, state: &State| {
        matches!(state, State::Running | State::Finalized)
            && job.processes.contains(&(seen.pid as i32))
    };
    let rows: Vec<bool> =
        look.ranks.iter().zip(&look.states).map(|(seen, state)| outside(seen, state)).collect();
    let wanted = look.ranks.iter().zip(&rows).filter(|(_, wanted)| **wanted);
    let wanted: Vec<i32> = wanted.map(|(seen, _)| seen.pid as i32).collect();
    let mut found = activity::of(&wanted).into_iter();
    rows.into_iter().map(|wanted| wanted.then(|| found.next()).flatten().flatten()).collect()
}

/// A job of which no rank is in MPI: what its processes do.
fn outside(job: &Job, problem: &str, json: bool) -> Result<String, String> {
    let activities = activity::of(&job.processes);
    if activities.iter().all(Option::is_none) {
        return Err(problem.to_string());
    }
    let rows = job.processes.iter().zip(&activities);
    if json {
        let row = |(pid, does): (&i32, &Option<Activity>)| json!({ "pid": pid, "activity": does.as_ref().map(Activity::word) });
        let mut value = listed(job);
        value["processes"] = rows.map(row).collect();
        value["problem"] = json!(problem);
        return Ok(value.to_string() + "\n");
    }
    let mut out = format!("{problem}\nprogram: {}\n", job.program);
    for (pid, does) in rows {
        let text = does.as_ref().map_or("is gone".to_string(), Activity::text);
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
    let look = find::open(job).and_then(|view| look(&view, job).map_err(|e| e.to_string()));
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
    const SHOWN: usize = 100;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

fn text(look: &Look, does: &[Option<Activity>], job: &Job) -> String {
    let launcher = job.launcher.map_or(String::new(), |pid| format!(", launcher {pid}"));
    let others = match look.elsewhere {
        0 => String::new(),
        n => format!(" on this host, {n} elsewhere"),
    };
    let ranks = look.ranks.len();
    let mut out = format!("job {}: {ranks} ranks{others}{launcher}\n", job.id);
    let _ = writeln!(out, "program: {}", job.program);
    for (place, (seen, state)) in look.ranks.iter().zip(&look.states).enumerate() {
        let rank = look.rank(place);
        let does = does.get(place).and_then(Option::as_ref);
        let does = does.map_or(String::new(), |does| format!("; it {}", does.text()));
        let _ = writeln!(out, "rank {rank}, process {}: {}{does}", seen.pid, state_text(state));
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
        if let Some(lane) = lane(seen) {
            let _ = writeln!(out, "    lane to other hosts: {lane}");
        }
        let counters = counters(seen);
        if !counters.is_empty() {
            let _ = writeln!(out, "    counters: {counters}");
        }
    }
    for finding in look.findings() {
        let _ = writeln!(out, "=> {finding}");
    }
    out
}

fn json_of(look: &Look, does: &[Option<Activity>], job: &Job) -> Value {
    let ranks = look.ranks.iter().zip(&look.states).enumerate();
    let ranks: Vec<_> = ranks
        .map(|(place, (seen, state))| {
            let mut value = rank_json(look.rank(place), seen, state);
            if let Some(Some(does)) = does.get(place) {
                value["activity"] = json!(does.word());
            }
            value
        })
        .collect();
    let mut value = listed(job);
    value["ranks"] = Value::Array(ranks);
    value["elsewhere"] = json!(look.elsewhere);
    value["findings"] = json!(look.findings());
    value["stuck"] = json!(look.is_stuck());
    value
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

/// How a rank's datagrams go to other hosts, where it has sent some.
fn lane(seen: &Seen) -> Option<String> {
    let count =
        |name| seen.counters.iter().find(|(n, _)| *n == name).map_or(0, |(_, value)| *value);
    let reached = |lane: &str| {
        let (reached, all) = (count("lane_peers"), count("net_peers"));
        let rest = if reached < all { ", udp to the others" } else { "" };
        format!("{lane} to {reached} of {all} ranks{rest}")
    };
    Some(match LaneInUse::from_word(count("lane"))? {
        LaneInUse::Udp | LaneInUse::UdpFor(_) if count("datagrams_sent") == 0 => return None,
        LaneInUse::Udp => "udp".to_owned(),
        LaneInUse::UdpFor(why) => format!("udp (not xdp: {})", why_udp(why)),
        LaneInUse::XdpGeneric => reached("xdp (generic mode, copied)"),
        LaneInUse::XdpNative => reached("xdp (native mode, copied)"),
        LaneInUse::XdpZeroCopy => reached("xdp (native mode, zero-copy)"),
        LaneInUse::Ofi(provider) => reached(&format!("ofi ({})", hpvm_ofi::word(provider)?)),
    })
}

fn why_udp(why: WhyUdp) -> &'static str {
    match why {
        WhyUdp::Forbidden => "privileges are missing, see hpvm doctor",
        WhyUdp::Taken => "another job or program has the interface",
        WhyUdp::Copies => "only generic mode works well here, which has to be asked for",
        WhyUdp::Impossible => "it can't be had by this interface, see hpvm info",
        WhyUdp::Gone => "the interface has gone away",
    }
}

/// The counters that are not 0.
fn counters(seen: &Seen) -> String {
    let some = seen.counters.iter();
    // What `lane` has said.
    let said = ["lane", "lane_peers", "net_peers"];
    let some = some.filter(|(name, n)| *n > 0 && !said.contains(name));
    let some: Vec<_> =
        some.map(|(name, value)| format!("{} {value}", name.replace('_', " "))).collect();
    some.join(", ")
}

fn rank_json(rank: usize, seen: &Seen, state: &State) -> Value {
    let counters: serde_json::Map<String, Value> =
        seen.counters.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
    let mut value = json!({
        "rank": rank, "pid": seen.pid, "state": word(state), "counters": counters, "lane": lane(seen),
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
            Kind::Window => "window",
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
