//! A client for the server's socket: what the commands of `hpvm` speak.

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use crate::api::types::Problem;

/// Longest answer that is read as a whole.
const ANSWER_MAX: usize = 64 << 20;

/// Why a request failed.
#[derive(Debug)]
pub enum Failure {
    /// Nobody listens.
    NoServer(String),
    /// The connection broke.
    Broken(String),
    /// The server says no.
    Refused(Box<Problem>),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::NoServer(text) | Failure::Broken(text) => f.write_str(text),
            Failure::Refused(problem) => {
                f.write_str(&problem.detail)?;
                let more = problem.errors.iter().skip(1);
                more.into_iter().try_for_each(|e| write!(f, "\n  {}: {}", e.field, e.detail))
            }
        }
    }
}

/// The server behind a socket.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

/// A path that fits into a socket's address, however long it is: the folder is kept open under a
/// number.
pub fn short(path: &Path) -> io::Result<PathBuf> {
    /// What a socket's address holds, less the final zero.
    const MAX_SOCKET_PATH: usize = 107;
    if path.as_os_str().len() <= MAX_SOCKET_PATH {
        return Ok(path.to_path_buf());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let file = std::fs::File::open(folder)?;
    let number = file.as_raw_fd();
    // The address must stay good for as long as the process may connect; it does so a few times.
    std::mem::forget(file);
    Ok(PathBuf::from(format!("/proc/self/fd/{number}")).join(path.file_name().unwrap_or_default()))
}

impl Client {
    pub fn new(socket: PathBuf) -> Client {
        Client { socket }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let path = self.socket.display();
        let told = |error: io::Error| Failure::NoServer(format!("{path}: {error}"));
        let stream = UnixStream::connect(short(&self.socket).map_err(told)?).await.map_err(told)?;
        let broken = |error: hyper::Error| Failure::Broken(format!("{path}: {error}"));
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // Its errors come out of the request as well.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    /// Sends a request; the answer is one of success.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut sender = self.connect().await?;
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.unwrap_or_default())));
        let request = request.map_err(|error| Failure::Broken(error.to_string()))?;
        let broken =
            |error: hyper::Error| Failure::Broken(format!("the server went away: {error}"));
        let answer = sender.send_request(request).await.map_err(broken)?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let bytes = read(answer).await?;
        let problem = serde_json::from_slice(&bytes).unwrap_or_else(|_| Problem {
            title: status.to_string(),
            detail: format!("the server answers {status}"),
            status: status.as_u16(),
            errors: Vec::new(),
        });
        Err(Failure::Refused(Box::new(problem)))
    }

    /// Asks for a value.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        parse(&read(self.send(Method::GET, path, &[], None).await?).await?)
    }

    /// Hands in a value and reads the answer.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        value: &impl Serialize,
    ) -> Result<T, Failure> {
        let body = serde_json::to_vec(value).map_err(|error| Failure::Broken(error.to_string()))?;
        parse(&read(self.send(Method::POST, path, headers, Some(body)).await?).await?)
    }
}

/// A whole answer.
pub async fn read(answer: Response<Incoming>) -> Result<Vec<u8>, Failure> {
    let limited = http_body_util::Limited::new(answer.into_body(), ANSWER_MAX);
    let broken = |error| Failure::Broken(format!("the server's answer broke off: {error}"));
    Ok(limited.collect().await.map_err(broken)?.to_bytes().to_vec())
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::Broken(format!("the server's answer is not understood: {error}")))
}

/// A stream of events, read one by one.
pub struct Events {
    body: Incoming,
    bytes: Vec<u8>,
}

/// An event: its name and its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub id: Option<String>,
    pub data: String,
}

impl Events {
    pub fn new(answer: Response<Incoming>) -> Events {
        Events { body: answer.into_body(), bytes: Vec::new() }
    }

    /// The next event; nothing at the end of the stream.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.bytes.windows(2).position(|pair| pair == b"\n\n") {
                let text: Vec<u8> = self.bytes.drain(..end + 2).collect();
                let event = event(&String::from_utf8_lossy(&text));
                if !event.name.is_empty() {
                    return Some(event);
                }
                continue;
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.bytes.extend_from_slice(&data);
            }
        }
    }
}

fn event(text: &str) -> Event {
    let mut event = Event::default();
    for line in text.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => event.name = value.into(),
            "id" => event.id = Some(value.into()),
            "data" if event.data.is_empty() => event.data = value.into(),
            "data" => event.data = format!("{}\n{value}", event.data),
            _ => {}
        }
    }
    event
}
