//! `hpvm cancel`, `hold`, `release`.

use std::io::Write;

use clap::{ArgMatches, Command};
use hpvm_queue::name::{self, Words};
use hpvm_serve::api::types::Job;
use hpvm_serve::client::{Client, Failure};

use super::{jobs_argument, json_flag, print_json, server};

/// The subcommands.
pub fn definitions() -> [Command; 3] {
    let command =
        |name, about| Command::new(name).about(about).arg(jobs_argument()).arg(json_flag());
    [
        command("cancel", "End jobs; their records and output stay"),
        command("hold", "Keep jobs that wait from starting"),
        command("release", "Let jobs start that are held"),
    ]
}

/// The request that does it to what a word means.
fn path(word: &str, action: &str) -> Result<String, String> {
    let Words { job, tasks } = word.parse()?;
    Ok(match tasks.as_deref() {
        // Of a job that is no array it means the job.
        None => format!("/api/v1/jobs/{job}/{action}?array=true"),
        Some([task]) => format!("/api/v1/jobs/{job}_{task}/{action}"),
        Some(tasks) => {
            let list = super::list::percent(&name::list(tasks));
            format!("/api/v1/jobs/{job}/{action}?tasks={list}")
        }
    })
}

/// Performs one of them on all jobs; the exit code is 1 when one of them could not be done.
pub fn run(action: &str, matches: &ArgMatches) -> Result<i32, String> {
    let words = matches.get_many::<String>("job").unwrap_or_default();
    let mut code = 0;
    for word in words {
        let done = path(word, action).and_then(|path| {
            server::with(async |client: Client| -> Result<Job, Failure> {
                client.post(&path, &[], &serde_json::json!({})).await
            })
        });
        match done {
            Ok(job) if matches.get_flag("json") => {
                print_json(serde_json::to_string(&job))?;
            }
            Ok(_) => {}
            Err(text) => {
                // If standard error is closed, there is nobody to tell.
                let text = hpvm_launch::text::message(&text);
                let _ = writeln!(std::io::stderr(), "hpvm: {action}: {text}");
                code = 1;
            }
        }
    }
    Ok(code)
}
