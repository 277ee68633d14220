//! `hpvm cancel`, `hold`, `release`.

use std::io::Write;

use clap::{Arg, ArgMatches, Command};
use hpvm_serve::api::types::{Job, JobList};
use hpvm_serve::client::{Client, Failure};

use super::server;

/// The subcommands.
pub fn definitions() -> [Command; 3] {
    let jobs = || {
        let help = "Numbers of jobs, of arrays (cancel: all jobs of it), or of one job of an array, as 12_3";
        Arg::new("job").value_name("JOB").required(true).num_args(1..).help(help)
    };
    [
        Command::new("cancel").about("End jobs; their records and output stay").arg(jobs()),
        Command::new("hold").about("Keep jobs that wait from starting").arg(jobs()),
        Command::new("release").about("Let jobs start that are held").arg(jobs()),
    ]
}

/// The numbers on a command line.
pub fn numbers(matches: &ArgMatches) -> Result<Vec<i64>, String> {
    let words: Vec<String> =
        matches.get_many::<String>("job").unwrap_or_default().cloned().collect();
    words.iter().map(|word| Ok(number(word)?.0)).collect()
}

/// The number of a job, and whether a whole array may be meant.
fn number(word: &str) -> Result<(i64, bool), String> {
    let bad = || format!("'{word}' is no number of a job; hpvm queue lists them");
    let read = |text: &str| text.parse::<i64>().ok().filter(|n| *n > 0);
    let Some((array, task)) = word.split_once('_') else {
        return Ok((read(word).ok_or_else(bad)?, true));
    };
    let array = read(array).ok_or_else(bad)?;
    let task: u32 = task.parse().map_err(|_| bad())?;
    let mut token = String::new();
    loop {
        let path = format!("/api/v1/jobs?array={array}&limit=1000{token}");
        let page = server::with(async |client: Client| client.get::<JobList>(&path).await)?;
        let found = page.jobs.iter().find(|j| j.array.as_ref().is_some_and(|a| a.task == task));
        match (found, page.next_page_token) {
            (Some(job), _) => return Ok((job.id, false)),
            (None, Some(next)) => token = format!("&page_token={next}"),
            (None, None) => return Err(format!("there is no job {word}")),
        }
    }
}

/// Performs one of them on all jobs; the exit code is 1 when one of them could not be done.
pub fn run(action: &str, matches: &ArgMatches) -> Result<i32, String> {
    let words = matches.get_many::<String>("job").unwrap_or_default();
    let mut code = 0;
    for word in words {
        let done = number(word).and_then(|(id, array)| {
            let more = if array && action == "cancel" { "?array=true" } else { "" };
            let path = format!("/api/v1/jobs/{id}/{action}{more}");
            server::with(async |client: Client| -> Result<Job, Failure> {
                client.post(&path, &[], &serde_json::json!({})).await
            })
        });
        if let Err(text) = done {
            // If standard error is closed, there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "hpvm: {action}: {text}");
            code = 1;
        }
    }
    Ok(code)
}
