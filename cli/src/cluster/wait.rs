//! `hpvm wait`: until jobs have ended.

use clap::{ArgMatches, Command};
use hpvm_queue::job::{JobSummary, State};
use hpvm_queue::name::{Name, Words};
use hpvm_serve::api::types::Job;
use hpvm_serve::client::{Client, Events, Failure};
use hyper::Method;

use super::{job_words, jobs_argument, json_flag, manner, names, print_json, server};

/// The subcommand.
pub fn definition() -> Command {
    Command::new("wait")
        .about("Wait until jobs have ended; exit with the first code that is not 0")
        .arg(jobs_argument())
        .arg(json_flag())
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let mut code = 0;
    for word in job_words(matches) {
        let ended = for_word(&word)?;
        code = if code == 0 { ended } else { code };
        if matches.get_flag("json") {
            show(word)?;
        }
    }
    Ok(code)
}

/// What has ended, a line of JSON for each job.
fn show(word: String) -> Result<(), String> {
    for name in names::all(&[word])? {
        print_json(serde_json::to_string(&names::job(name)?.summary))?;
    }
    Ok(())
}

/// Waits for what a word means; of an array the code is the highest of its tasks, as sbatch has it.
pub fn for_word(word: &str) -> Result<i32, String> {
    let asked: Words = word.parse()?;
    let Some(tasks) = asked.tasks else {
        // Slurm splits tasks from this one, which is the last to end up as one of them.
        let (code, job) = for_job(Name::from(asked.job))?;
        let array = job.array.filter(|array| array.id == asked.job);
        return array.map_or(Ok(code), |array| highest(&names::tasks(array.id)?));
    };
    let mut code = 0;
    for task in tasks {
        code = for_job(Name { job: asked.job, task: Some(task) })?.0.max(code);
    }
    Ok(code)
}

fn highest(jobs: &[JobSummary]) -> Result<i32, String> {
    let mut code = 0;
    for job in jobs {
        let ended = job.outcome.as_ref().filter(|_| job.state == State::Ended);
        code = ended
            .map_or_else(|| Ok(for_job(Name::from(job))?.0), |o| Ok::<_, String>(o.exit_code()))?
            .max(code);
    }
    Ok(code)
}

/// Waits for a job and gives its exit code: its own, 128 + signal, 124 for a time limit.
fn for_job(name: Name) -> Result<(i32, JobSummary), String> {
    let ended = server::with(async |client: Client| ended(&client, name).await)?;
    let outcome = ended.outcome.as_ref().ok_or("the server does not say how the job ended")?;
    if let Some(detail) = &outcome.detail {
        manner::remark(&format!("job {}: {detail}", Name::from(&ended)));
    }
    Ok((outcome.exit_code(), ended))
}

async fn ended(client: &Client, name: Name) -> Result<JobSummary, Failure> {
    // A stream first, then a look: so the end cannot fall in between.
    let answer = client.send(Method::GET, "/api/v1/events", &[], None).await?;
    let mut events = Events::new(answer);
    let job = client.get::<Job>(&format!("/api/v1/jobs/{name}")).await?;
    // A task that gets a record of its own only when Slurm starts it is asked for by its name.
    let id = job.summary.id;
    let is_it = |job: &JobSummary| match name.task {
        Some(_) => Name::from(job) == name,
        None => job.id == id,
    };
    if job.summary.state == State::Ended {
        return Ok(job.summary);
    }
    while let Some(event) = events.next().await {
        if event.name == "job-removed" && event.data.contains(&format!("\"id\":{id}}}")) {
            return Err(Failure::Broken(format!("the record of job {name} was removed")));
        }
        if event.name != "job" {
            continue;
        }
        let summary = serde_json::from_str::<JobSummary>(&event.data).ok();
        if let Some(summary) = summary.filter(|job| is_it(job) && job.state == State::Ended) {
            return Ok(summary);
        }
    }
    Err(Failure::Broken(format!("the server has ended; job {name} goes on: hpvm wait {name}")))
}
