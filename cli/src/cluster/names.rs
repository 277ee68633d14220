//! Jobs on a command line: `12`, a task of an array `12_3`, several tasks `12_[1-3,7]`, and the
//! number of an array for all of it.

use hpvm_queue::job::{JobId, JobSummary};
use hpvm_queue::name::{Name, Words};
use hpvm_serve::api::types::{Job, JobList};
use hpvm_serve::client::Client;

use super::server;

/// What the words mean, each job by its own name.
pub fn all(words: &[String]) -> Result<Vec<Name>, String> {
    let mut names = Vec::new();
    for word in words {
        let asked: Words = word.parse()?;
        match asked.tasks {
            Some(tasks) => {
                names.extend(tasks.iter().map(|task| Name { job: asked.job, task: Some(*task) }));
            }
            None => names.extend(of_number(asked.job)?),
        }
    }
    Ok(names)
}

/// The one job that a word means.
pub fn one(word: &str) -> Result<Name, String> {
    let name: Name = word.parse()?;
    match &array(name)?[..] {
        [] => Ok(name),
        [only] => Ok(*only),
        [first, .., last] => Err(format!(
            "job {name} is an array, {first} to {last}; name one of its tasks, as {first}"
        )),
    }
}

/// A job as the server knows it.
pub fn job(name: Name) -> Result<Job, String> {
    server::with(async |client: Client| client.get::<Job>(&format!("/api/v1/jobs/{name}")).await)
}

fn of_number(number: JobId) -> Result<Vec<Name>, String> {
    let tasks = array(Name::from(number))?;
    Ok(if tasks.is_empty() { vec![Name::from(number)] } else { tasks })
}

/// The tasks of an array that has this name; none when it is the name of something else.
fn array(name: Name) -> Result<Vec<Name>, String> {
    if name.task.is_some() {
        return Ok(Vec::new());
    }
    let job = job(name)?;
    let of_another = job.summary.array.as_ref().is_some_and(|array| array.id != name.job);
    if of_another || (job.summary.array.is_none() && job.spec.array.is_none()) {
        return Ok(Vec::new());
    }
    let mut names: Vec<Name> = tasks(name.job)?.iter().map(Name::from).collect();
    // What of it waits in Slurm has one record.
    names.extend(job.summary.array.is_none().then_some(name));
    names.sort_unstable();
    Ok(names)
}

/// The jobs of an array that have records of their own.
pub fn tasks(array: JobId) -> Result<Vec<JobSummary>, String> {
    let (mut jobs, mut token) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/v1/jobs?array={array}&sort=id&limit=1000{token}");
        let page = server::with(async |client: Client| client.get::<JobList>(&path).await)?;
        jobs.extend(page.jobs);
        match page.next_page_token {
            Some(next) => token = format!("&page_token={next}"),
            None => return Ok(jobs),
        }
    }
}
