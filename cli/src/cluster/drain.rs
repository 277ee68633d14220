//! `hpvm drain`, `resume`, `queues`: what administrators lay down, and what it is.

use clap::{Arg, ArgMatches, Command};
use hpvm_queue::describe::time;
use hpvm_serve::api::types::{DrainReason, Queues};
use hpvm_serve::client::Client;
use hyper::Method;

use super::list::{columns, percent};
use super::{json_flag, server};

fn host() -> Arg {
    Arg::new("host").value_name("HOST").required(true).help("As hpvm nodes shows it")
}

/// The subcommands.
pub fn definitions() -> [Command; 3] {
    [
        Command::new("drain")
            .about("Give a host no new jobs; what runs there goes on (for administrators)")
            .arg(host())
            .arg(
                Arg::new("reason")
                    .value_name("REASON")
                    .required(true)
                    .num_args(1..)
                    .help("Why, for those whose jobs wait"),
            ),
        Command::new("resume")
            .about("Give a drained host jobs again (for administrators)")
            .arg(host()),
        Command::new("queues").about("List the queues and their limits").arg(json_flag()),
    ]
}

/// Performs one of the first two.
pub fn run(action: &str, matches: &ArgMatches) -> Result<i32, String> {
    let host = matches.get_one::<String>("host").cloned().unwrap_or_default();
    let words: Vec<String> = match action {
        "drain" => matches.get_many::<String>("reason").unwrap_or_default().cloned().collect(),
        _ => Vec::new(),
    };
    let path = format!("/api/v1/hosts/{}/{action}", percent(&host));
    server::with(async |client: Client| match action {
        "drain" => client.call(Method::POST, &path, &DrainReason { reason: words.join(" ") }).await,
        _ => client.call(Method::POST, &path, &serde_json::json!({})).await,
    })?;
    Ok(0)
}

/// `hpvm queues`.
pub fn queues(matches: &ArgMatches) -> Result<i32, String> {
    let found = server::with(async |client: Client| client.get::<Queues>("/api/v1/queues").await)?;
    if matches.get_flag("json") {
        super::print_json(serde_json::to_string(&found))?;
        return Ok(0);
    }
    let heads = ["QUEUE", "TIME LIMIT", "RANKS", "JOBS PER USER", "RUNNING", "PENDING"];
    let mut rows = vec![heads.map(str::to_owned)];
    let mut last = vec!["HOSTS".to_string()];
    let some = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    for queue in &found.queues {
        let limits = &queue.limits;
        rows.push([
            queue.name.clone(),
            some(limits.time_limit_seconds.map(time)),
            some(limits.ranks.map(|n| n.to_string())),
            some(limits.jobs_per_user.map(|n| n.to_string())),
            queue.running.to_string(),
            queue.pending.to_string(),
        ]);
        last.push(queue.hosts.join(","));
    }
    crate::info::print(columns(&rows, last.into_iter()).as_bytes())?;
    Ok(0)
}
