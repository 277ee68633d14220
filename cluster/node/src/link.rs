//! The threads that speak to the server. Each keeps a connection of its own; when it breaks, they
//! try again until it is back.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hpvm_queue::attempt::Attempt;
use hpvm_queue::driver::Told;
use hpvm_queue::node::{Orders, Version};
use hpvm_serve::api::nodes::HOLD;
use hpvm_serve::api::types::NodeReport;
use hpvm_serve::client::{Client, Failure, Kept};
use hyper::Method;

/// Between two attempts to reach the server.
const AGAIN: Duration = Duration::from_secs(1);
/// How long an answer may take beyond what it is held back for.
const ANSWER_MARGIN: Duration = Duration::from_secs(20);

/// What the main thread hears of.
#[derive(Debug)]
pub enum News {
    Orders(Orders),
    /// The server does not answer, for this reason.
    Trouble(String),
    /// It refuses us for good.
    Refused(String),
    /// The supervisor of a job is gone.
    Gone(Attempt),
    /// The output of a job that has ended was sent, or why not all of it.
    Sent(Attempt, Option<String>),
    /// What limits have done to the ranks here of a job that has its supervisor elsewhere.
    Limit(Attempt, Told),
    /// Nothing with the job's mark is left on this host.
    Swept(Attempt),
    /// We were told to end.
    Stop,
}

/// The server, for a thread of ours.
pub struct Line {
    kept: Kept,
    runtime: tokio::runtime::Runtime,
}

impl Line {
    pub fn new(client: &Client) -> Result<Line, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
        Ok(Line { kept: client.keep(), runtime })
    }

    /// Asks, and waits for the answer.
    pub fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        held: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let kept = &mut self.kept;
        let asked = async {
            let answer = kept.send(method, path, body);
            let patience = ANSWER_MARGIN + held;
            let late = || Failure::Broken(format!("no answer within {} s", patience.as_secs()));
            tokio::time::timeout(patience, answer).await.unwrap_or_else(|_| Err(late()))
        };
        self.runtime.block_on(asked)
    }

    fn orders(&mut self, path: &str, held: Duration) -> Result<Orders, Failure> {
        parse(&self.ask(Method::GET, path, None, held)?)
    }
}

fn parse(bytes: &[u8]) -> Result<Orders, Failure> {
    serde_json::from_slice(bytes).map_err(|error| {
        Failure::Broken(format!("the server's orders are not understood: {error}"))
    })
}

/// An error that no patience mends is told as such.
fn told(failure: &Failure) -> News {
    match failure {
        Failure::Refused(problem) if [401, 403, 409, 422].contains(&problem.status) => {
            News::Refused(failure.to_string())
        }
        _ => News::Trouble(failure.to_string()),
    }
}

/// Waits for orders, for ever.
pub fn wait_for_orders(mut line: Line, name: &str, news: &Sender<News>) {
    let (mut seen, mut looks) = (Version::default(), 0);
    loop {
        let Version { epoch, number } = seen;
        let path =
            format!("/api/v1/nodes/{name}/orders?epoch={epoch}&number={number}&looks={looks}");
        let got = match line.orders(&path, HOLD) {
            Ok(orders) => {
                // A store that was restored from a copy may count from below again.
                (seen, looks) = (orders.version, orders.looks.number);
                News::Orders(orders)
            }
            Err(failure) => {
                // The next report says whether it is for good: a server that has just started does
                // not know us before it.
                drop(failure);
                std::thread::sleep(AGAIN);
                continue;
            }
        };
        if news.send(got).is_err() {
            return;
        }
    }
}

/// The report that is to be sent next; a newer one takes its place.
#[derive(Clone, Debug, Default)]
pub struct Outgoing(Arc<Mutex<Option<NodeReport>>>);

impl Outgoing {
    pub fn put(&self, report: NodeReport) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }

    fn take(&self) -> Option<NodeReport> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Sends reports, one whenever `bell` rings, until the other end of the bell is gone.
pub fn send_reports(
    mut line: Line,
    name: &str,
    outgoing: &Outgoing,
    bell: &Receiver<()>,
    news: &Sender<News>,
) {
    let path = format!("/api/v1/nodes/{name}/report");
    while bell.recv().is_ok() {
        let Some(report) = outgoing.take() else { continue };
        let Ok(body) = serde_json::to_vec(&report) else { continue };
        let asked = line.ask(Method::POST, &path, Some(body), Duration::ZERO);
        let got = match asked.and_then(|bytes| parse(&bytes)) {
            Ok(orders) => News::Orders(orders),
            Err(failure) => told(&failure),
        };
        if news.send(got).is_err() {
            return;
        }
    }
}
