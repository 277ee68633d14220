//! A client of the server: over its socket, or from another machine over TLS with a token.

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{self, CertificateError};

use crate::api::types::Problem;
use crate::tls::trust::{Trust, server_name};

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

/// A server and the way to it.
#[derive(Clone, Debug)]
pub struct Client {
    way: Way,
    token: Option<String>,
}

#[derive(Clone, Debug)]
enum Way {
    Socket(PathBuf),
    Remote { server: Address, trust: Trust },
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub tls: bool,
    /// A name or an address; of IPv6 without brackets.
    pub host: String,
    pub port: u16,
}

impl Address {
    /// `https://host:port`; `http://` for a loopback address only, where nobody can listen.
    pub fn parse(text: &str) -> Result<Address, String> {
        let bad =
            |why: &str| format!("'{}': {why}; expected https://HOST:PORT", text.escape_debug());
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad("no address of a server"))?;
        let tls = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(bad("unknown scheme")),
        };
        let rest = rest.split(['/', '#']).next().unwrap_or_default();
        // A bracket ends an address of IPv6; a colon behind it, or the only one, begins the port.
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().map_err(|_| bad("the port is no number"))?)
            }
            _ => (rest, crate::run::PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
        if host.is_empty() || host.contains('@') {
            return Err(bad("no name of a host"));
        }
        let loopback = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        if !tls && !loopback {
            return Err(bad("plain HTTP would show the token to everybody on the way"));
        }
        Ok(Address { tls, host, port })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

impl Address {
    fn authority(&self) -> String {
        let (host, port) = (&self.host, self.port);
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

/// Both directions of a connection.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

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
        Client { way: Way::Socket(socket), token: None }
    }

    /// A server elsewhere.
    pub fn remote(server: Address, trust: Trust, token: Option<String>) -> Client {
        Client { way: Way::Remote { server, trust }, token }
    }

    /// Whether it may be another machine, with other files.
    pub fn is_remote(&self) -> bool {
        matches!(self.way, Way::Remote { .. })
    }

    async fn open(&self) -> Result<Box<dyn Stream>, Failure> {
        match &self.way {
            Way::Socket(socket) => {
                let path = socket.display();
                let told = |error: io::Error| Failure::NoServer(format!("{path}: {error}"));
                let socket = short(socket).map_err(told)?;
                Ok(Box::new(UnixStream::connect(socket).await.map_err(told)?))
            }
            Way::Remote { server, trust } => {
                let told = |error: io::Error| Failure::Broken(explained(server, &error));
                let place = (server.host.as_str(), server.port);
                let stream = TcpStream::connect(place).await.map_err(told)?;
                if !server.tls {
                    return Ok(Box::new(stream));
                }
                let name = server_name(&server.host).map_err(Failure::Broken)?;
                let config = trust.config().map_err(Failure::Broken)?;
                let connector = TlsConnector::from(Arc::new(config));
                Ok(Box::new(connector.connect(name, stream).await.map_err(told)?))
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let stream = self.open().await?;
        let broken = |error: hyper::Error| Failure::Broken(format!("the server: {error}"));
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // Its errors come out of the request as well.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    /// Connects and asks nothing: whether the server is there, and is the one that is believed.
    pub async fn greet(&self) -> Result<(), Failure> {
        self.open().await.map(drop)
    }

    fn host(&self) -> String {
        match &self.way {
            Way::Socket(_) => "localhost".into(),
            Way::Remote { server, .. } => server.authority(),
        }
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
        self.ask(&mut sender, method, path, headers, body).await
    }

    async fn ask(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = Request::builder().method(method).uri(path).header("host", self.host());
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
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

    /// Sends a value and does not look at the answer.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        value: &impl Serialize,
    ) -> Result<(), Failure> {
        let body = serde_json::to_vec(value).map_err(|error| Failure::Broken(error.to_string()))?;
        read(self.send(method, path, &[], Some(body)).await?).await.map(|_| ())
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

/// A connection that is used again and again. What is sent over it must bear being sent twice: one
/// that the server has closed meanwhile is noticed too late.
#[derive(Debug)]
pub struct Kept {
    client: Client,
    open: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    pub fn keep(&self) -> Kept {
        Kept { client: self.clone(), open: None }
    }
}

impl Kept {
    /// Sends a request and reads the whole answer, which is one of success.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, Failure> {
        if let Some(mut open) = self.open.take().filter(|open| !open.is_closed()) {
            match self.once(&mut open, &method, path, &body).await {
                Err(Failure::Broken(_) | Failure::NoServer(_)) => {}
                done => {
                    self.open = Some(open);
                    return done;
                }
            }
        }
        let mut open = self.client.connect().await?;
        let done = self.once(&mut open, &method, path, &body).await;
        if matches!(done, Ok(_) | Err(Failure::Refused(_))) {
            self.open = Some(open);
        }
        done
    }

    async fn once(
        &self,
        open: &mut SendRequest<Full<Bytes>>,
        method: &Method,
        path: &str,
        body: &Option<Vec<u8>>,
    ) -> Result<Vec<u8>, Failure> {
        let broken =
            |error: hyper::Error| Failure::Broken(format!("the server went away: {error}"));
        open.ready().await.map_err(broken)?;
        read(self.client.ask(open, method.clone(), path, &[], body.clone()).await?).await
    }
}

/// Why a server cannot be reached, with what to do.
fn explained(server: &Address, error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        // The second is an authority of the same name with another key.
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => format!(
            "{server}: its certificate is not the one that was pinned, nor one that this system \
             knows. If the server was set up anew, compare fingerprints: hpvm login {server}. If not, \
             somebody may be in between"
        ),
        Some(rustls::Error::InvalidCertificate(error)) => {
            format!(
                "{server}: {error} (hpvm serve --name gives the server's certificate more names)"
            )
        }
        _ => format!("{server}: {error}"),
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

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses() {
        for (text, shown) in [
            ("https://n1.example:9", "https://n1.example:9"),
            ("https://n1", "https://n1:8421"),
            ("https://[::1]:9/#link=x", "https://[::1]:9"),
            ("http://127.0.0.1:9", "http://127.0.0.1:9"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), shown);
        }
        for bad in ["n1", "ftp://n1", "https://", "https://n1:x", "https://me@n1"] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
        assert!(Address::parse("http://n1:9").unwrap_err().contains("plain HTTP"));
    }
}
