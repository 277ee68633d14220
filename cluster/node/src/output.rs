//! Sends what jobs write to the server. The server says how much it has, so a part that was lost
//! or sent twice changes nothing, and a new life of `hpvm node` goes on where the last one was.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use hpvm_queue::attempt::Attempt;
use hpvm_queue::describe;
use hpvm_queue::driver::Settings;
use hpvm_queue::job::Job;
use hpvm_queue::stepd::record::{self, FileId};
use hpvm_serve::api::types::Received;
use hpvm_serve::client::Failure;
use hyper::Method;

use crate::link::{Line, News};

/// How often files are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(150);
/// Bytes of one request.
const CHUNK: usize = 1 << 20;
/// How long the end of a job waits for a server whose disk is full to take the last of its output.
const DISK_PATIENCE: Duration = Duration::from_secs(60);

/// A job whose output is to be sent; it may have ended.
#[derive(Clone, Debug)]
pub struct Task {
    pub job: Box<Job>,
    pub ended: bool,
}

struct Stream {
    name: &'static str,
    file: File,
    /// Where in the file this attempt begins.
    from: u64,
    /// What the server has; not asked yet at first.
    offset: Option<u64>,
}

#[derive(Default)]
struct Sending {
    streams: Vec<Stream>,
    /// Since when the server has taken nothing.
    stuck: Option<Instant>,
}

/// Sends until the other end of `tasks` is gone. Each list replaces the one before.
pub fn run(mut line: Line, place: &Settings, tasks: &Receiver<Vec<Task>>, news: &Sender<News>) {
    let mut list: Vec<Task> = Vec::new();
    let mut sending: BTreeMap<Attempt, Sending> = BTreeMap::new();
    loop {
        match tasks.recv_timeout(POLL_INTERVAL) {
            Ok(newer) => list = tasks.try_iter().last().unwrap_or(newer),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        sending.retain(|id, _| list.iter().any(|task| task.job.attempt() == *id));
        let mut over = Vec::new();
        for task in &list {
            let id = task.job.attempt();
            let state = sending.entry(id).or_default();
            if let Some(trouble) = state.step(&mut line, place, task) {
                over.push(id);
                if news.send(News::Sent(id, trouble)).is_err() {
                    return;
                }
            }
        }
        list.retain(|task| !over.contains(&task.job.attempt()));
    }
}

impl Sending {
    /// Sends what is new. Something when that was all: what could not be sent, if anything.
    fn step(&mut self, line: &mut Line, place: &Settings, task: &Task) -> Option<Option<String>> {
        if self.streams.is_empty() {
            match open(place, &task.job) {
                Ok(Some(streams)) => self.streams = streams,
                // It never began.
                Ok(None) => return task.ended.then_some(None),
                Err(text) => return task.ended.then_some(Some(text)),
            }
        }
        for stream in &mut self.streams {
            match stream.push(line, &place.host, task.job.attempt()) {
                Ok(()) => {}
                Err(Failure::Refused(problem)) if problem.status == 404 => return Some(None),
                Err(Failure::Refused(problem)) => {
                    let since = *self.stuck.get_or_insert_with(Instant::now);
                    let text = format!("the end of the output is missing: {}", problem.detail);
                    return (task.ended && since.elapsed() > DISK_PATIENCE).then_some(Some(text));
                }
                // Nobody hears of the end before the server is back, either.
                Err(_) => return None,
            }
        }
        self.stuck = None;
        task.ended.then_some(None)
    }
}

impl Stream {
    /// Sends until the end of the file.
    fn push(&mut self, line: &mut Line, host: &str, id: Attempt) -> Result<(), Failure> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let offset = self.offset.unwrap_or(0);
            let count = match self.offset {
                None => 0,
                Some(_) => self.file.read_at(&mut buffer, self.from + offset).unwrap_or(0),
            };
            if count == 0 && self.offset.is_some() {
                return Ok(());
            }
            let name = self.name;
            let Attempt { job, restarts } = id;
            let path = format!(
                "/api/v1/nodes/{host}/jobs/{job}/output?stream={name}&offset={offset}&restarts={restarts}"
            );
            let body = buffer[..count].to_vec();
            let answer = line.ask(Method::PUT, &path, Some(body), Duration::ZERO)?;
            let Received { size } = serde_json::from_slice(&answer)
                .map_err(|error| Failure::Broken(format!("the server's answer: {error}")))?;
            self.offset = Some(size);
        }
    }
}

/// The files that the job writes; nothing when it was not launched.
fn open(place: &Settings, job: &Job) -> Result<Option<Vec<Stream>>, String> {
    let told = |error: std::io::Error| format!("its output cannot be read: {error}");
    let seen = record::read(&place.folder(job.attempt())).map_err(told)?;
    let Some(launch) = seen.and_then(|seen| seen.launch) else { return Ok(None) };
    let (stdout, stderr) = place.outputs(job);
    let mut streams = vec![stream("stdout", &stdout, launch.stdout, launch.stdout_from)?];
    if !describe::is_joined(&job.spec) {
        streams.push(stream("stderr", &stderr, launch.stderr, launch.stderr_from)?);
    }
    Ok(Some(streams))
}

/// Neither a link to elsewhere, nor a pipe, nor a file that has taken the place of the job's.
fn stream(
    name: &'static str,
    path: &PathBuf,
    identity: FileId,
    from: u64,
) -> Result<Stream, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut options = File::options();
    let options = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path).map_err(told)?;
    let meta = file.metadata().map_err(told)?;
    if FileId::of(&meta) != identity {
        return Err(format!("{} is not the file that the job wrote", path.display()));
    }
    Ok(Stream { name, file, from, offset: None })
}
