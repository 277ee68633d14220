//! Who asks, and whether the request may come from where it comes from.

use std::net::SocketAddr;

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::IncomingStream;
use tokio::net::{TcpListener, UnixListener};

use crate::app::App;
use crate::problem::Problem;
use crate::secret;
use hpvm_queue::job::{Job, JobSummary};
use hpvm_queue::time::Stamp;

/// Name of the cookie that holds a session's token.
pub const COOKIE: &str = "hpvm_session";
/// How long a session lasts: two weeks.
pub const SESSION_SECONDS: u64 = 14 * 86_400;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process of this machine, by the kernel's word.
    Local { uid: Option<u32> },
    Remote(SocketAddr),
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        Peer::Local { uid: stream.io().peer_cred().ok().map(|credentials| credentials.uid()) }
    }
}

impl Connected<IncomingStream<'_, TcpListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Peer::Remote(*stream.remote_addr())
    }
}

/// The user behind a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    pub name: String,
    pub roles: Vec<String>,
    /// Hash of the session's token; none for who comes over the socket.
    pub session: Option<Vec<u8>>,
}

impl Who {
    pub fn is_admin(&self) -> bool {
        self.roles.iter().any(|role| role == "admin")
    }

    pub fn may_see(&self, owner: &str) -> bool {
        self.is_admin() || self.name == owner
    }

    /// Another user's job is as if it were not there.
    pub fn sees(&self, job: Job) -> Result<Job, Problem> {
        let JobSummary { user, id, .. } = &job.summary;
        match self.may_see(user) {
            true => Ok(job),
            false => Err(Problem::missing(format!("there is no job {id}"))),
        }
    }
}

impl FromRequestParts<App> for Who {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let peer = parts.extensions.get::<ConnectInfo<Peer>>().map(|info| info.0);
        if let Some(Peer::Local { uid }) = peer {
            // The socket's folder is closed to others; the kernel says who it is all the same.
            if uid == Some(app.uid) || uid == Some(0) {
                let roles = vec!["admin".into(), "user".into()];
                return Ok(Who { name: app.owner.clone(), roles, session: None });
            }
            let text = "this server belongs to another user of this machine";
            return Err(Problem::new(StatusCode::FORBIDDEN, text));
        }
        let refused = || Problem::new(StatusCode::UNAUTHORIZED, "sign in first");
        let hash = secret::hash_token(&token(&parts.headers).ok_or_else(refused)?);
        let key = hash.clone();
        let user = app.read(move |store| store.session(&key, Stamp::now())).await?;
        let user = user.ok_or_else(refused)?;
        Ok(Who { name: user.name, roles: user.roles, session: Some(hash) })
    }
}

/// The token in a request's cookie.
pub fn token(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|c| c.trim().split_once('='));
    let value = pairs.find(|(name, _)| *name == COOKIE)?.1;
    let good = value.len() == 64 && value.bytes().all(|b| b.is_ascii_hexdigit());
    good.then(|| value.to_string())
}

/// The cookie of a session, or the one that removes it.
pub fn cookie(token: Option<&str>) -> String {
    let (value, age) = token.map_or(("", 0), |token| (token, SESSION_SECONDS));
    format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}")
}

/// Refuses what another site's page made the browser send, and names of this host that are not ours
/// (with which a page elsewhere could make its own origin point here).
pub async fn same_origin(request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map(|info| info.0);
    if !matches!(peer, Some(Peer::Local { .. }))
        && let Err(text) = check_origin(request.method(), request.headers())
    {
        return Problem::new(StatusCode::FORBIDDEN, text).into_response();
    }
    next.run(request).await
}

fn check_origin(method: &Method, headers: &HeaderMap) -> Result<(), String> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    // Any port: it may be reached through a tunnel.
    let (name, port) = host.rsplit_once(':').unwrap_or((host, "80"));
    let known = ["127.0.0.1", "localhost", "[::1]"].contains(&name);
    if !known || port.parse::<u16>().is_err() {
        return Err(format!(
            "the address names the host '{}'; this server answers to 127.0.0.1 and localhost only",
            host.escape_debug()
        ));
    }
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return Err("requests from pages of another site are refused".into());
    }
    match text(header::ORIGIN) {
        Some(origin) if origin != format!("http://{host}") => {
            Err("requests from pages of another origin are refused".into())
        }
        // A program, not a browser: those say where a change comes from.
        _ => Ok(()),
    }
}

/// Headers of every answer.
pub async fn headers(request: Request, next: Next) -> Response {
    const FIXED: [(&str, &str); 6] = [
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; \
             frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    let mut response = next.run(request).await;
    for (name, value) in FIXED {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let cache = HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(cache);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, headers: &[(&str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = header::HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.insert(name, value.parse().unwrap());
        }
        check_origin(&method, &map).is_ok()
    }

    #[test]
    fn origins() {
        let host = ("host", "localhost:80");
        assert!(asked(Method::POST, &[host]));
        assert!(asked(Method::POST, &[host, ("origin", "http://localhost:80")]));
        assert!(asked(Method::GET, &[host, ("sec-fetch-site", "cross-site")]));
        for bad in [
            [host, ("origin", "http://evil.example")],
            [host, ("origin", "null")],
            [host, ("origin", "http://127.0.0.1:80")],
            [host, ("sec-fetch-site", "cross-site")],
            [host, ("sec-fetch-site", "same-site")],
        ] {
            assert!(!asked(Method::POST, &bad), "{bad:?}");
        }
        for host in ["evil.example", "localhost:x", "127.0.0.1.evil.example:80", ""] {
            assert!(!asked(Method::GET, &[("host", host)]), "{host}");
        }
    }

    #[test]
    fn tokens_in_cookies() {
        let of = |text: &str| {
            let mut map = HeaderMap::new();
            map.insert(header::COOKIE, text.parse().unwrap());
            token(&map)
        };
        let good = "a".repeat(64);
        assert_eq!(of(&format!("x=y; {COOKIE}={good}")), Some(good.clone()));
        assert_eq!(of(&format!("{COOKIE}={good}b")), None);
        assert_eq!(of(&format!("{COOKIE}=' OR 1=1 --")), None);
        assert_eq!(of(&format!("x{COOKIE}={good}")), None);
    }
}
