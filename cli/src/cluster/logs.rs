//! `hpvm logs`: what a job has written, and writes.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_queue::name::Name;
use hpvm_serve::client::{Client, Events, Failure, read};
use hyper::Method;

use super::{names, server};

/// The subcommand.
pub fn definition() -> Command {
    Command::new("logs")
        .about("Show the output of a job")
        .arg(
            Arg::new("job")
                .value_name("JOB")
                .required(true)
                .help("Number of the job, or a task of an array, as 12_3"),
        )
        .arg(
            Arg::new("follow")
                .short('f')
                .long("follow")
                .action(ArgAction::SetTrue)
                .help("Go on until the job has ended"),
        )
        .arg(
            Arg::new("stderr")
                .short('e')
                .long("stderr")
                .action(ArgAction::SetTrue)
                .help("Standard error instead of standard output"),
        )
        .arg(
            Arg::new("bytes")
                .long("bytes")
                .value_name("N")
                .value_parser(value_parser!(u32))
                .help("Only the last so many bytes, and what comes"),
        )
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let word = matches.get_one::<String>("job").ok_or("logs: the job is missing")?;
    let id = names::one(word).map_err(|why| format!("logs: {why}"))?;
    let stderr = matches.get_flag("stderr");
    let offset = matches.get_one::<u32>("bytes").map_or(0, |bytes| -i64::from(*bytes));
    if matches.get_flag("follow") {
        follow(id, stderr, offset)?;
        return Ok(0);
    }
    let mut at = offset;
    loop {
        let stream = if stderr { "stderr" } else { "stdout" };
        let path = format!("/api/v1/jobs/{id}/output?stream={stream}&offset={at}");
        let (bytes, next) = server::with(async |client: Client| {
            let answer = client.send(Method::GET, &path, &[], None).await?;
            let next = answer.headers().get("x-offset-next");
            let next = next.and_then(|value| value.to_str().ok()?.parse::<i64>().ok());
            Ok((read(answer).await?, next))
        })?;
        crate::info::print(&bytes)?;
        match next {
            Some(next) if !bytes.is_empty() => at = next,
            _ => return Ok(0),
        }
    }
}

/// Prints the output from a place on until the job has ended.
pub fn follow(id: Name, stderr: bool, offset: i64) -> Result<(), String> {
    let stream = if stderr { "stderr" } else { "stdout" };
    let mut at = offset;
    let done = server::with(async |client: Client| {
        let path = format!("/api/v1/jobs/{id}/output/follow?stream={stream}&offset={at}");
        let mut events = Events::new(client.send(Method::GET, &path, &[], None).await?);
        while let Some(event) = events.next().await {
            if event.name == "end" {
                return Ok(true);
            }
            at = event.id.and_then(|id| id.parse().ok()).unwrap_or(at);
            let text: String = serde_json::from_str(&event.data).unwrap_or_default();
            crate::info::print(text.as_bytes()).map_err(Failure::Broken)?;
        }
        Ok(false)
    })?;
    match done {
        true => Ok(()),
        false => Err(format!("the server has ended; job {id} goes on: hpvm logs -f {id}")),
    }
}
