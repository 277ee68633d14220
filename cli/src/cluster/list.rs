//! `hpvm queue`, `show`, `nodes`: what squeue, scontrol show and sinfo show.

use std::fmt::Write;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_queue::check::turns_text;
use hpvm_queue::describe::time;
use hpvm_queue::job::{CpuBind, JobSummary, Outcome, Share, State};
use hpvm_queue::name::shown;
use hpvm_queue::processors::list;
use hpvm_queue::time::Stamp;
use hpvm_serve::api::types::{Host, HostState, Hosts, Job, JobList};
use hpvm_serve::client::Client;
use serde_json::json;

use super::{job_words, json_flag, manner, names, server};

/// Orders of the list. The server has the first two; the others are made here.
const SORTS: [&str; 14] = [
    "id",
    "-id",
    "name",
    "-name",
    "user",
    "-user",
    "state",
    "-state",
    "time",
    "-time",
    "ranks",
    "-ranks",
    "priority",
    "-priority",
];

/// `hpvm queue`.
pub fn queue_definition() -> Command {
    let value = |name: &'static str, short, of: &'static str, help: &'static str| {
        Arg::new(name).long(name).short(short).value_name(of).help(help)
    };
    Command::new("queue")
        .about("List the jobs that wait and run")
        .arg(value("user", 'u', "USER", "Jobs of this user"))
        .arg(value(
            "states",
            't',
            "LIST",
            "Jobs in these states: submitted, held, pending, running, ended, all",
        ))
        .arg(value("partition", 'p', "QUEUE", "Jobs of this queue").visible_alias("queue"))
        .arg(value("name", 'n', "TEXT", "Jobs whose name contains this"))
        .arg(value("nodelist", 'w', "HOST", "Jobs on this host"))
        .arg(
            Arg::new("all")
                .short('a')
                .long("all")
                .action(ArgAction::SetTrue)
                .help("Also those that have ended"),
        )
        .arg(
            Arg::new("sort")
                .long("sort")
                .value_name("KEY")
                .value_parser(SORTS)
                .hide_possible_values(true)
                .default_value("id")
                .allow_hyphen_values(true)
                .help(
                    "Order: id, name, user, state, time, ranks or priority; -id: the largest first",
                ),
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .default_value("1000")
                .help("At most so many"),
        )
        .arg(json_flag())
}

/// Performs it.
pub fn queue(matches: &ArgMatches) -> Result<i32, String> {
    let jobs = fetch(matches)?;
    let text = if matches.get_flag("json") {
        json!({ "jobs": jobs }).to_string() + "\n"
    } else {
        table(&jobs, Stamp::now())
    };
    crate::info::print(text.as_bytes())?;
    Ok(0)
}

fn fetch(matches: &ArgMatches) -> Result<Vec<JobSummary>, String> {
    let sort = matches.get_one::<String>("sort").map_or("id", String::as_str);
    let mut query = format!("sort={}", if sort == "-id" { sort } else { "id" });
    let states = match matches.get_one::<String>("states").map(|text| text.to_lowercase()) {
        Some(text) if text == "all" => String::new(),
        Some(text) => text,
        None if matches.get_flag("all") => String::new(),
        None => "active".into(),
    };
    let mut add = |name: &str, value: Option<&String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            // Writing to a String cannot fail.
            let _ = write!(query, "&{name}={}", percent(value));
        }
    };
    add("state", Some(&states));
    add("user", matches.get_one::<String>("user"));
    add("name", matches.get_one::<String>("name"));
    add("host", matches.get_one::<String>("nodelist"));
    let limit = *matches.get_one::<u64>("limit").unwrap_or(&1000) as usize;
    let queue = matches.get_one::<String>("partition");
    let mut jobs: Vec<JobSummary> = Vec::new();
    let mut token = String::new();
    while jobs.len() < limit {
        let path = format!("/api/v1/jobs?limit={}&{query}{token}", (limit - jobs.len()).min(1000));
        let page = server::with(async |client: Client| client.get::<JobList>(&path).await)?;
        jobs.extend(page.jobs.into_iter().filter(|job| queue.is_none_or(|q| *q == job.queue)));
        let Some(next) = page.next_page_token else { break };
        token = format!("&page_token={next}");
    }
    order(&mut jobs, sort, Stamp::now());
    Ok(jobs)
}

/// Puts jobs that are in the order of their numbers into another one; among equals the number decides.
fn order(jobs: &mut [JobSummary], sort: &str, now: Stamp) {
    let is_reversed = sort.starts_with('-');
    // Twice, so that equals stay in their order.
    if is_reversed {
        jobs.reverse();
    }
    match sort.trim_start_matches('-') {
        "name" => jobs.sort_by(|a, b| a.name.cmp(&b.name)),
        "user" => jobs.sort_by(|a, b| a.user.cmp(&b.user)),
        "state" => jobs.sort_by_key(|job| job.state.name()),
        "time" => jobs.sort_by_key(|job| used(job, now)),
        "ranks" => jobs.sort_by_key(|job| job.ranks),
        "priority" => jobs.sort_by_key(|job| job.priority),
        // So the server has sent them.
        _ => {}
    }
    if is_reversed {
        jobs.reverse();
    }
}

/// Seconds that a job has run.
fn used(job: &JobSummary, now: Stamp) -> u64 {
    job.started.map_or(0, |started| job.ended.unwrap_or(now).since(started))
}

/// Text as a value in an address.
pub fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~,".contains(&byte);
    let mut out = String::new();
    for byte in text.bytes() {
        match plain(byte) {
            true => out.push(char::from(byte)),
            // Writing to a String cannot fail.
            false => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// The list for people.
fn table(jobs: &[JobSummary], now: Stamp) -> String {
    let mut rows =
        vec![["JOB", "QUEUE", "NAME", "USER", "STATE", "TIME", "RANKS"].map(str::to_owned)];
    rows.extend(jobs.iter().map(|job| row(job, now)));
    let last = std::iter::once("HOSTS (REASON)".to_owned()).chain(jobs.iter().map(where_or_why));
    columns(&rows, last)
}

/// Rows in columns, the first of which is the head; what comes last is not padded.
pub fn columns<const N: usize>(rows: &[[String; N]], last: impl Iterator<Item = String>) -> String {
    let width = |column: usize| rows.iter().map(|row| cells(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for (number, (row, last)) in rows.iter().zip(last).enumerate() {
        let is_head = number == 0;
        if is_head && manner::is_quiet() {
            continue;
        }
        for (column, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[column] - cells(cell) + 2);
            let head = (!is_head).then(|| rows[0][column].as_str());
            out += &manner::painted(cell, head);
            out += &space;
        }
        let last = last.trim_end();
        out += &if is_head { manner::painted(last, None) } else { last.to_string() };
        out.push('\n');
    }
    out
}

/// How many cells of a terminal a text takes: letters of some languages take two, others none.
pub fn cells(text: &str) -> usize {
    ratatui::text::Span::raw(text).width()
}

fn row(job: &JobSummary, now: Stamp) -> [String; 7] {
    let id = shown(job);
    let used = used(job, now);
    let state = match (job.cancelling, job.state) {
        (true, _) => "cancelling",
        (false, state) => state.name(),
    };
    let name = printable(&job.name, 30);
    [id, job.queue.clone(), name, job.user.clone(), state.into(), time(used), job.ranks.to_string()]
}

/// Names come from others; they must not steer the terminal.
pub fn printable(text: &str, most: usize) -> String {
    let strange = |c: char| c.is_control() || turns_text(c);
    text.chars().take(most).map(|c| if strange(c) { '?' } else { c }).collect()
}

/// The hosts of a job, how it ended, or why it waits.
pub fn where_or_why(job: &JobSummary) -> String {
    let outcome = job.outcome.as_ref().map(|outcome| {
        let detail = outcome.detail.as_ref().map_or(String::new(), |detail| format!(": {detail}"));
        format!("(code {}{detail})", outcome.exit_code())
    });
    let start = job.estimated_start.map_or(String::new(), |at| format!("; starts by {at}"));
    let reason = job.reason.as_ref().map(|reason| format!("({reason}{start})"));
    let text = outcome.or(reason).unwrap_or_default();
    printable(format!("{} {text}", job.hosts.join(",")).trim(), 300)
}

/// `hpvm show`.
pub fn show_definition() -> Command {
    Command::new("show")
        .about("Show everything about jobs")
        .arg(super::jobs_argument())
        .arg(json_flag())
}

/// Performs it.
pub fn show(matches: &ArgMatches) -> Result<i32, String> {
    for name in names::all(&job_words(matches))? {
        let job = names::job(name)?;
        let text = if matches.get_flag("json") {
            let mut value = serde_json::to_value(&job).map_err(|error| error.to_string())?;
            // Names that scripts know from elsewhere, there also when there is no value.
            let own = &job.summary;
            let detail = own.outcome.as_ref().and_then(|outcome| outcome.detail.clone());
            value["start"] = json!(own.started);
            value["end"] = json!(own.ended);
            value["exit_code"] = json!(job.exit_code);
            value["reason"] = json!(own.reason.clone().or(detail));
            value.to_string() + "\n"
        } else {
            description(&job)
        };
        crate::info::print(text.as_bytes())?;
    }
    Ok(0)
}

fn description(job: &Job) -> String {
    let own = &job.summary;
    let mut out = format!("Job {} {}\n", shown(own), printable(&own.name, 200));
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {name:<12} {}", printable(&value, 4000));
        }
    };
    let at = |at: Option<Stamp>| at.map(|at| at.to_string());
    line("state", Some(own.state.name().into()));
    line("number", own.array.as_ref().map(|_| own.id.to_string()));
    line("reason", own.reason.clone());
    line("starts by", at(own.estimated_start));
    if let Some(outcome) = &own.outcome {
        line("exit code", Some(outcome.exit_code().to_string()));
        line("because", outcome.detail.clone());
    }
    if own.restarts > 0 {
        let most = job.spec.max_restarts;
        line("restarts", Some(format!("{} of {most}", own.restarts)));
        line("the last for", own.last_failure.as_ref().map(failure));
    }
    line("user", Some(own.user.clone()));
    line("queue", Some(own.queue.clone()));
    line("ranks", Some(own.ranks.to_string()));
    line("hosts", Some(own.hosts.join(",")).filter(|hosts| !hosts.is_empty()));
    line("processors", processors(job));
    line("submitted", Some(own.submitted.to_string()));
    line("started", at(own.started));
    line("ended", at(own.ended));
    line("time limit", own.time_limit_seconds.map(time));
    line("folder", job.spec.workdir.clone());
    if own.state != State::Submitted {
        let (out, err) = (job.output.stdout, job.output.stderr);
        line("output", Some(format!("{out} bytes, standard error {err} bytes")));
    }
    line("command", Some(job.command_line.clone()));
    out
}

/// Those that the job holds, host by host.
fn processors(job: &Job) -> Option<String> {
    let known = || job.allocation.iter().filter(|share| !share.processors.is_empty());
    let of = |share: &Share| format!("{} of {}", list(&share.processors), share.host);
    let text = match &job.allocation[..] {
        [only] if !only.processors.is_empty() => list(&only.processors),
        _ => known().map(of).collect::<Vec<_>>().join(", "),
    };
    let free = if job.spec.cpu_bind == Some(CpuBind::None) { " (not bound)" } else { "" };
    (!text.is_empty()).then(|| text + free)
}

/// Why an attempt failed after which the job was started again.
fn failure(outcome: &Outcome) -> String {
    let detail = outcome.detail.clone();
    detail.unwrap_or_else(|| format!("code {}", outcome.exit_code()))
}

/// `hpvm nodes`.
pub fn nodes_definition() -> Command {
    Command::new("nodes").about("List the hosts and what is free on them").arg(json_flag())
}

/// Performs it.
pub fn nodes(matches: &ArgMatches) -> Result<i32, String> {
    let hosts = server::with(async |client: Client| client.get::<Hosts>("/api/v1/hosts").await)?;
    let text = if matches.get_flag("json") {
        serde_json::to_string(&hosts).map_err(|error| error.to_string())? + "\n"
    } else {
        let mut rows =
            vec![["HOST", "STATE", "CPUS", "RESERVED", "GPUS", "MEMORY"].map(str::to_owned)];
        rows.extend(hosts.hosts.iter().map(host_row));
        let note = |host: &Host| match (&host.sample, host.state, &host.reason) {
            (_, HostState::Lost, Some(reason)) => printable(reason, 400),
            (_, HostState::Lost, _) => format!("last seen {}", host.last_seen),
            (_, _, Some(reason)) => printable(reason, 200),
            (Some(sample), ..) => format!("load {:.2}", sample.load[0]),
            (None, ..) => String::new(),
        };
        let notes = hosts.hosts.iter().map(note);
        columns(&rows, std::iter::once("NOTE".to_owned()).chain(notes))
    };
    crate::info::print(text.as_bytes())?;
    Ok(0)
}

fn host_row(host: &Host) -> [String; 6] {
    let state = match host.state {
        HostState::Up => "up",
        HostState::Drained => "drained",
        HostState::Lost => "lost",
    };
    let memory = format!("{:.1} GiB", host.memory as f64 / (1_u64 << 30) as f64);
    [
        printable(&host.name, 60),
        state.into(),
        host.cpus.to_string(),
        host.cpus_reserved.to_string(),
        host.gpus.to_string(),
        memory,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_line_whatever_letters_are_in_them() {
        let rows =
            ["NAME", "名前 🚀", "e\u{301}te\u{301}", "poisson"].map(|name| [name.to_string()]);
        let text = columns(&rows, (0..4).map(|_| "here".into()));
        let at = |line: &str| cells(line.split("here").next().unwrap_or_default());
        let starts: Vec<usize> = text.lines().map(at).collect();
        assert_eq!(starts, [9, 9, 9, 9], "{text}");
    }

    #[test]
    fn hosts_and_why_are_words_of_their_own() {
        let job = |hosts: &[&str], reason| {
            let value = json!({
                "id": 1, "name": "a", "user": "me", "state": "running", "reason": reason, "ranks": 4,
                "hosts": hosts, "submitted": "2026-11-28T13:06:34.210Z", "queue": "main", "priority": 0,
            });
            where_or_why(&serde_json::from_value(value).expect("a job"))
        };
        let why = Some("being cancelled by root");
        assert_eq!(job(&["n1", "n2"], why), "n1,n2 (being cancelled by root)");
        assert_eq!(job(&[], why), "(being cancelled by root)");
        assert_eq!(job(&["n1"], None), "n1");
    }
}
