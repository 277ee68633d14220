//! What `hpvm top` hears from the server: a thread follows the events, another asks and cancels.

use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

use hpvm_serve::api::types::{Job, JobRemoved, Ranks};
use hpvm_serve::client::{Client, Event, Events, Failure};
use hyper::Method;

use super::model::News;
use crate::cluster::server;

/// Between two attempts to reach the server.
const AGAIN: Duration = Duration::from_secs(1);

/// What is asked of the server.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    Ranks(i64),
    Cancel(i64),
}

/// Opens the stream of events; its first one is the snapshot.
pub async fn open(client: &Client) -> Result<Events, Failure> {
    Ok(Events::new(client.send(Method::GET, "/api/v1/events", &[], None).await?))
}

/// The ranks of a running job, or why they cannot be seen.
pub async fn ranks(client: &Client, job: i64) -> Result<Ranks, String> {
    let path = format!("/api/v1/jobs/{job}/ranks");
    client.get::<Ranks>(&path).await.map_err(|failure| failure.to_string())
}

/// An event as news; nothing when it is none, an error when it is not understood.
pub fn news(event: &Event) -> Result<Option<News>, Failure> {
    let data = &event.data;
    let read = match event.name.as_str() {
        "snapshot" => serde_json::from_str(data).map(News::Snapshot),
        "job" => serde_json::from_str(data).map(News::Job),
        "job-removed" => {
            serde_json::from_str(data).map(|removed: JobRemoved| News::Removed(removed.id))
        }
        "host" => serde_json::from_str(data).map(News::Host),
        _ => return Ok(None),
    };
    read.map(Some).map_err(|error| {
        Failure::Broken(format!("the server's event '{}' is not understood: {error}", event.name))
    })
}

/// Starts both threads; they end with the program.
pub fn start(client: Client, out: Sender<News>, requests: Receiver<Request>) {
    let (other, tell) = (client.clone(), out.clone());
    thread::spawn(move || {
        if let Err(why) = server::block_on(follow(&client, &out)) {
            // When nobody listens any more, the program ends.
            let _ = out.send(News::Lost(why));
        }
    });
    thread::spawn(move || {
        for request in requests {
            let answer = server::block_on(perform(&other, request));
            if tell.send(answer.unwrap_or_else(News::Lost)).is_err() {
                return;
            }
        }
    });
}

/// Passes events on until nobody listens; connects again when the connection is lost.
async fn follow(client: &Client, out: &Sender<News>) {
    loop {
        let lost = match pass(client, out).await {
            Ok(()) => "the server has ended the stream".into(),
            Err(failure) => failure.to_string(),
        };
        if out.send(News::Lost(lost)).is_err() {
            return;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn pass(client: &Client, out: &Sender<News>) -> Result<(), Failure> {
    let mut events = open(client).await?;
    while let Some(event) = events.next().await {
        if let Some(news) = news(&event)?
            && out.send(news).is_err()
        {
            break;
        }
    }
    Ok(())
}

async fn perform(client: &Client, request: Request) -> News {
    match request {
        Request::Ranks(job) => News::Ranks(job, ranks(client, job).await),
        Request::Cancel(job) => {
            let path = format!("/api/v1/jobs/{job}/cancel");
            match client.post::<Job>(&path, &[], &serde_json::json!({})).await {
                Ok(_) => News::Done(format!("job {job} is cancelled")),
                Err(failure) => News::Done(format!("job {job} was not cancelled: {failure}")),
            }
        }
    }
}
