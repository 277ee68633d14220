//! `hpvm wait`: until jobs have ended.

use clap::{ArgMatches, Command};
use hpvm_queue::job::{JobSummary, State};
use hpvm_serve::api::types::Job;
use hpvm_serve::client::{Client, Events, Failure};
use hyper::Method;

use super::{act, jobs_argument, server};

/// The subcommand.
pub fn definition() -> Command {
    Command::new("wait")
        .about("Wait until jobs have ended; exit with the first code that is not 0")
        .arg(jobs_argument())
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let mut code = 0;
    for job in act::numbers(matches)? {
        let ended = for_job(job)?;
        code = if code == 0 { ended } else { code };
    }
    Ok(code)
}

/// Waits for a job and gives its exit code: its own, 128 + signal, 124 for a time limit.
pub fn for_job(id: i64) -> Result<i32, String> {
    let ended = server::with(async |client: Client| ended(&client, id).await)?;
    let outcome = ended.outcome.ok_or("the server does not say how the job ended")?;
    if let Some(detail) = &outcome.detail {
        // If standard error is closed, there is nobody to tell.
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("hpvm: job {id}: {detail}\n"),
        );
    }
    Ok(outcome.exit_code())
}

async fn ended(client: &Client, id: i64) -> Result<JobSummary, Failure> {
    // A stream first, then a look: so the end cannot fall in between.
    let answer = client.send(Method::GET, "/api/v1/events", &[], None).await?;
    let mut events = Events::new(answer);
    let job = client.get::<Job>(&format!("/api/v1/jobs/{id}")).await?;
    if job.summary.state == State::Ended {
        return Ok(job.summary);
    }
    while let Some(event) = events.next().await {
        if event.name == "job-removed" && event.data.contains(&format!("\"id\":{id}}}")) {
            return Err(Failure::Broken(format!("the record of job {id} was removed")));
        }
        if event.name != "job" {
            continue;
        }
        let summary = serde_json::from_str::<JobSummary>(&event.data).ok();
        if let Some(summary) = summary.filter(|job| job.id == id && job.state == State::Ended) {
            return Ok(summary);
        }
    }
    Err(Failure::Broken(format!("the server has ended; job {id} goes on: hpvm wait {id}")))
}
