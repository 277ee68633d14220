//! Who asks, and what they may.
//!
//! Three ways lead in: the server's own socket (the kernel says who it is), the cookie of a session,
//! the token of a program. What a handler takes decides what is asked of whom: [`Reader`] somebody
//! known, [`Who`] besides that the right to change something when the request does, [`Admin`] an
//! administrator. A token has no more rights than its scopes, nor than its user.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::serve::IncomingStream;
use tokio::net::{TcpListener, UnixListener};

use crate::app::App;
use crate::idle::IdleTimeout;
use crate::limit::{REQUESTS, STRANGERS};
use crate::problem::Problem;
use crate::secret;
use hpvm_queue::job::{Job, JobSummary};
use hpvm_queue::store::audit::Actor;
use hpvm_queue::store::{Store, StoreError};
use hpvm_queue::time::Stamp;

/// Name of the cookie that holds a session's token. With TLS the browser itself sees to it that no
/// other host has set it and that it never travels without.
const COOKIE: &str = "hpvm_session";
const COOKIE_TLS: &str = "__Host-hpvm_session";
/// What a token begins with, so that scanners of leaked secrets know it.
pub const TOKEN_PREFIX: &str = "hpvm_";
/// The scope of tokens for `hpvm node`, which gets at nothing but its own reports and orders.
pub const NODE: &str = "node";
/// How long a session lasts: two weeks.
pub const SESSION_SECONDS: u64 = 14 * 86_400;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process of this machine, by the kernel's word.
    Local {
        uid: Option<u32>,
    },
    Remote {
        address: SocketAddr,
        tls: bool,
    },
}

impl Peer {
    /// For limits and the audit log.
    pub fn origin(&self) -> String {
        match self {
            Peer::Local { .. } => "socket".into(),
            Peer::Remote { address, .. } => address.ip().to_string(),
        }
    }

    pub fn tls(&self) -> bool {
        matches!(self, Peer::Remote { tls: true, .. })
    }
}

impl Connected<IncomingStream<'_, IdleTimeout<UnixListener>>> for Peer {
    fn connect_info(stream: IncomingStream<'_, IdleTimeout<UnixListener>>) -> Self {
        Peer::Local { uid: stream.io().io().peer_cred().ok().map(|credentials| credentials.uid()) }
    }
}

impl Connected<IncomingStream<'_, IdleTimeout<TcpListener>>> for Peer {
    fn connect_info(stream: IncomingStream<'_, IdleTimeout<TcpListener>>) -> Self {
        Peer::Remote { address: *stream.remote_addr(), tls: false }
    }
}

/// By what somebody is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// The server's own socket.
    Socket,
    /// A session, by the hash of its token.
    Session(Vec<u8>),
    /// A program's token, by its hash.
    Token { hash: Vec<u8>, scopes: Vec<String> },
}

/// The user behind a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    pub name: String,
    pub roles: Vec<String>,
    pub means: Means,
    /// Where from: an address, or `socket`.
    pub origin: String,
}

/// Somebody known, whatever the request is.
#[derive(Debug)]
pub struct Reader(pub Who);

/// An administrator.
#[derive(Debug)]
pub struct Admin(pub Who);

/// `hpvm node` of some host.
#[derive(Debug)]
pub struct FromNode(pub Who);

impl Who {
    /// Whether it is a token for hosts, which is nobody's voice.
    fn is_node(&self) -> bool {
        matches!(&self.means, Means::Token { scopes, .. } if scopes.iter().any(|s| s == NODE))
    }

    fn has_scope(&self, scope: &str) -> bool {
        match &self.means {
            Means::Token { scopes, .. } => scopes.iter().any(|s| s == scope || s == "admin"),
            _ => true,
        }
    }

    pub fn is_admin(&self) -> bool {
        self.roles.iter().any(|role| role == "admin") && self.has_scope("admin")
    }

    /// Whether jobs may be submitted and one's own ended.
    pub fn may_change(&self) -> bool {
        self.roles.iter().any(|role| role == "user" || role == "admin") && self.has_scope("jobs")
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

    /// The hash of the session, if it is one.
    pub fn session(&self) -> Option<&[u8]> {
        match &self.means {
            Means::Session(hash) => Some(hash),
            _ => None,
        }
    }

    /// For the audit log.
    pub fn actor(&self) -> Actor {
        Actor { user: self.name.clone(), origin: self.origin.clone() }
    }

    /// Whether they are still who they were when the request began, with the same rights: a session
    /// may have ended and a user be gone.
    pub async fn is_still(&self, app: &App) -> bool {
        let means = self.means.clone();
        if means == Means::Socket {
            let name = self.name.clone();
            let now = app.read(move |store| store.user(&name)).await;
            return self.name == app.owner
                || matches!(now, Ok(Some(user)) if user.roles == self.roles);
        }
        let now = app.read(move |store| known(store, means)).await;
        matches!(now, Ok((Some((name, roles, _)), _)) if name == self.name && roles == self.roles)
    }

    /// Finds out who it is.
    async fn of(parts: &Parts, app: &App) -> Result<Who, Problem> {
        let peer = parts.extensions.get::<ConnectInfo<Peer>>().map(|info| info.0);
        let origin = peer.map_or_else(String::new, |peer| peer.origin());
        if let Some(Peer::Local { uid }) = peer {
            // The socket's folder is closed to others; the kernel says who it is all the same.
            if uid == Some(app.uid) || uid == Some(0) {
                let roles = vec!["admin".into(), "user".into()];
                return Ok(Who { name: app.owner.clone(), roles, means: Means::Socket, origin });
            }
            return Who::of_system(app, uid, origin).await;
        }
        let tls = peer.is_some_and(|peer| peer.tls());
        let found = match claimed(&parts.headers, tls) {
            Some(means) => find(app, means).await?,
            None => None,
        };
        let Some((name, roles, means)) = found else {
            app.limit(&[&format!("stranger {origin}")], STRANGERS, Instant::now())?;
            let bearer = parts.headers.contains_key(header::AUTHORIZATION);
            let text =
                if bearer { "this token is unknown, over or revoked" } else { "sign in first" };
            return Err(Problem::new(StatusCode::UNAUTHORIZED, text));
        };
        let who = Who { name, roles, means, origin };
        // All hosts may report with one token, each a few times a second.
        if !who.is_node() {
            app.limit(&[&format!("account {}", who.name)], REQUESTS, Instant::now())?;
        }
        Ok(who)
    }

    /// In system mode a user of this machine who has an account comes over the socket as well.
    async fn of_system(app: &App, uid: Option<u32>, origin: String) -> Result<Who, Problem> {
        let Some(uid) = uid.filter(|_| app.place.system) else {
            return Err(forbidden("this server belongs to another user of this machine"));
        };
        let name = crate::run::user_name(uid);
        let asked = name.clone();
        let found = app.read(move |store| store.user(&asked)).await?;
        let Some(user) = found else {
            let text =
                format!("'{name}' has no account at this server; an administrator gives one");
            return Err(Problem::new(StatusCode::FORBIDDEN, text));
        };
        app.limit(&[&format!("account {name}")], REQUESTS, Instant::now())?;
        Ok(Who { name, roles: user.roles, means: Means::Socket, origin })
    }

    /// The same, of a person or of a program that speaks for one.
    async fn of_person(parts: &Parts, app: &App) -> Result<Who, Problem> {
        let who = Who::of(parts, app).await?;
        match who.is_node() {
            true => Err(forbidden("this token is for hpvm node alone")),
            false => Ok(who),
        }
    }
}

/// What a request says it is: a token in the header counts before a cookie, which a browser adds.
fn claimed(headers: &HeaderMap, tls: bool) -> Option<Means> {
    if let Some(line) = headers.get(header::AUTHORIZATION) {
        let token = line.to_str().ok()?.strip_prefix("Bearer ")?.trim();
        let hash = secret::hash_token(token.strip_prefix(TOKEN_PREFIX).filter(|t| is_token(t))?);
        return Some(Means::Token { hash, scopes: Vec::new() });
    }
    Some(Means::Session(secret::hash_token(&token(headers, tls)?)))
}

type Known = (String, Vec<String>, Means);

/// Tokens of hosts that were found good lately: a thousand hosts ask a thousand times a second.
#[derive(Debug, Default)]
pub struct Remembered(Mutex<BTreeMap<Vec<u8>, Good>>);

#[derive(Debug)]
struct Good {
    known: Known,
    /// What [`crate::app::Inner::access`] was before the store was asked: whoever ends a token or a
    /// user changes it.
    access: u64,
    at: Instant,
}

/// A token that runs out is taken for so much longer, at most.
const REMEMBERED: Duration = Duration::from_secs(5);

impl Remembered {
    fn get(&self, hash: &[u8], access: u64, now: Instant) -> Option<Known> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(hash).filter(|good| good.holds(access, now)).map(|good| good.known.clone())
    }

    fn put(&self, hash: Vec<u8>, known: Known, access: u64, now: Instant) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, good| good.holds(access, now));
        all.insert(hash, Good { known, access, at: now });
    }
}

impl Good {
    fn holds(&self, access: u64, now: Instant) -> bool {
        self.access == access && now.duration_since(self.at) < REMEMBERED
    }
}

/// Who that is, by memory or by the store.
async fn find(app: &App, means: Means) -> Result<Option<Known>, Problem> {
    let (access, now) = (*app.access.borrow(), Instant::now());
    if let Means::Token { hash, .. } = &means
        && let Some(known) = app.remembered.get(hash, access, now)
    {
        return Ok(Some(known));
    }
    let (found, used) = app.read(move |store| known(store, means)).await?;
    if let Some(token) = used {
        // A store that takes nothing more refuses nobody who only reads.
        let _ = app.ask(move |manager| manager.store().token_used(token, Stamp::now())).await;
    }
    if let Some(known @ (_, _, Means::Token { hash, scopes })) = &found
        && scopes.iter().any(|scope| scope == NODE)
    {
        app.remembered.put(hash.clone(), known.clone(), access, now);
    }
    Ok(found)
}

/// Who that is, if it still holds; and the token whose use is to be written down.
fn known(store: &Store, means: Means) -> Result<(Option<Known>, Option<i64>), StoreError> {
    let now = Stamp::now();
    Ok(match means {
        Means::Socket => (None, None),
        Means::Session(hash) => {
            let user = store.session(&hash, now)?;
            (user.map(|user| (user.name, user.roles, Means::Session(hash))), None)
        }
        Means::Token { hash, .. } => match store.token(&hash, now)? {
            Some((token, user)) => {
                let used = Store::is_use_news(&token, now).then_some(token.id);
                let means = Means::Token { hash, scopes: token.scopes };
                (Some((user.name, user.roles, means)), used)
            }
            None => (None, None),
        },
    })
}

fn forbidden(text: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, text)
}

impl FromRequestParts<App> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Who::of_person(parts, app).await.map(Reader)
    }
}

impl FromRequestParts<App> for Who {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let who = Who::of_person(parts, app).await?;
        match matches!(parts.method, Method::GET | Method::HEAD) || who.may_change() {
            true => Ok(who),
            false if who.has_scope("jobs") => {
                Err(forbidden("viewers change nothing; an administrator gives roles"))
            }
            false => Err(forbidden("this token's scopes do not include jobs")),
        }
    }
}

impl FromRequestParts<App> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let who = Who::of_person(parts, app).await?;
        match who.is_admin() {
            true => Ok(Admin(who)),
            false if who.has_scope("admin") => Err(forbidden("only administrators may do this")),
            false => Err(forbidden("this token's scopes do not include admin")),
        }
    }
}

impl FromRequestParts<App> for FromNode {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let who = Who::of(parts, app).await?;
        match who.is_node() || who.is_admin() {
            true => Ok(FromNode(who)),
            false => Err(forbidden("expected a token of the scope node")),
        }
    }
}

/// 256 bits in hexadecimal.
fn is_token(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The token in a request's cookie.
pub fn token(headers: &HeaderMap, tls: bool) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|line| line.split(';')).filter_map(|c| c.trim().split_once('='));
    let value = pairs.find(|(name, _)| *name == cookie_name(tls))?.1;
    is_token(value).then(|| value.to_string())
}

fn cookie_name(tls: bool) -> &'static str {
    if tls { COOKIE_TLS } else { COOKIE }
}

/// The cookie of a session, or the one that removes it.
pub fn cookie(token: Option<&str>, tls: bool) -> String {
    let (value, age) = token.map_or(("", 0), |token| (token, SESSION_SECONDS));
    let (name, secure) = (cookie_name(tls), if tls { "; Secure" } else { "" });
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_cookies() {
        let of = |text: &str| {
            let mut map = HeaderMap::new();
            map.insert(header::COOKIE, text.parse().unwrap());
            token(&map, false)
        };
        let good = "a".repeat(64);
        assert_eq!(of(&format!("x=y; {COOKIE}={good}")), Some(good.clone()));
        assert_eq!(of(&format!("{COOKIE}={good}b")), None);
        assert_eq!(of(&format!("{COOKIE}=' OR 1=1 --")), None);
        assert_eq!(of(&format!("x{COOKIE}={good}")), None);
    }

    #[test]
    fn a_token_is_remembered_until_anybodys_access_changes() {
        let (remembered, now) = (Remembered::default(), Instant::now());
        let means = Means::Token { hash: vec![1], scopes: vec![NODE.into()] };
        let known: Known = ("ann".into(), Vec::new(), means);
        remembered.put(vec![1], known.clone(), 7, now);
        assert_eq!(remembered.get(&[1], 7, now), Some(known));
        assert_eq!(remembered.get(&[2], 7, now), None);
        assert_eq!(remembered.get(&[1], 8, now), None);
        assert_eq!(remembered.get(&[1], 7, now + REMEMBERED), None);
    }

    #[test]
    fn rights_of_roles_and_scopes() {
        let who = |role: &[&str], scopes: Option<&[&str]>| {
            let words = |list: &[&str]| list.iter().map(|w| w.to_string()).collect();
            let means = scopes.map_or(Means::Session(Vec::new()), |scopes| Means::Token {
                hash: Vec::new(),
                scopes: words(scopes),
            });
            let who = Who { name: "ann".into(), roles: words(role), means, origin: String::new() };
            (who.may_change(), who.is_admin(), who.may_see("bob"))
        };
        assert_eq!(who(&["admin", "user"], None), (true, true, true));
        assert_eq!(who(&["user"], None), (true, false, false));
        assert_eq!(who(&["viewer"], None), (false, false, false));
        assert_eq!(who(&["admin", "user"], Some(&["read"])), (false, false, false));
        assert_eq!(who(&["admin", "user"], Some(&["jobs"])), (true, false, false));
        assert_eq!(who(&["user"], Some(&["admin"])), (true, false, false));
        assert_eq!(who(&["viewer"], Some(&["admin"])), (false, false, false));
    }
}
