//! Signing in and out, passwords.

use std::time::Instant;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::extract::Body;
use super::types::{Link, NewPassword, Session, SignIn};
use crate::app::{App, blocking};
use crate::auth::{self, Peer, SESSION_SECONDS, Who};
use crate::problem::Problem;
use crate::secret;
use hpvm_queue::store::accounts::User;
use hpvm_queue::time::Stamp;

/// Fewest characters of a password.
const PASSWORD_MIN: usize = 8;
/// Most bytes: hashing takes time for each.
const PASSWORD_MAX: usize = 1000;

pub async fn sign_in(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Body(asked): Body<SignIn>,
) -> Result<Response, Problem> {
    let address = match peer {
        Peer::Remote(address) => address.ip().to_string(),
        Peer::Local { .. } => "local".into(),
    };
    let user = match (asked.link, asked.user, asked.password) {
        (Some(link), None, None) => by_link(&app, &address, &link).await?,
        (None, Some(user), Some(password)) => by_password(&app, &address, user, password).await?,
        _ => return Err(Problem::bad("expected either user and password, or link")),
    };
    open(&app, user, &headers).await
}

/// Takes an attempt from each of these buckets.
fn attempt(app: &App, names: &[&str]) -> Result<(), Problem> {
    for name in names {
        app.limits.take(name, Instant::now()).map_err(|seconds| {
            let text = format!("too many attempts to sign in; try again in {seconds} s");
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, text);
            Problem { retry_after: Some(seconds), ..problem }
        })?;
    }
    Ok(())
}

/// A link that was printed by the server or asked for over its socket; it works once.
pub async fn by_link(app: &App, address: &str, link: &str) -> Result<User, Problem> {
    let bucket = format!("address {address}");
    attempt(app, &[&bucket])?;
    let hash = secret::hash_token(link);
    let user = app.ask(move |manager| manager.store().take_link(&hash, Stamp::now())).await?;
    let text = "this link was used already, or is too old; hpvm serve --link prints a new one";
    let user = user.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, text))?;
    app.limits.forget(&bucket);
    Ok(user)
}

/// An unknown user and a wrong password look the same and take as long.
pub async fn by_password(
    app: &App,
    address: &str,
    name: String,
    password: String,
) -> Result<User, Problem> {
    let wrong = || Problem::new(StatusCode::UNAUTHORIZED, "unknown user or wrong password");
    let buckets = [format!("address {address}"), format!("user {name}")];
    attempt(app, &[&buckets[0], &buckets[1]])?;
    if password.len() > PASSWORD_MAX {
        return Err(wrong());
    }
    let user = app.read(move |store| store.user(&name)).await?;
    let hash = user.as_ref().and_then(|user| user.password.clone());
    let hash = hash.unwrap_or_else(|| app.decoy.clone());
    let good = blocking(move || Ok(secret::verify_password(&password, &hash))).await?;
    let user = user.filter(|user| good && user.password.is_some()).ok_or_else(wrong)?;
    buckets.iter().for_each(|bucket| app.limits.forget(bucket));
    Ok(user)
}

/// Opens a session; the one that the request came with, if any, ends.
pub async fn open(app: &App, user: User, headers: &HeaderMap) -> Result<Response, Problem> {
    let token = new_token()?;
    let (hash, name) = (secret::hash_token(&token), user.name.clone());
    let old = auth::token(headers).map(|token| secret::hash_token(&token));
    app.ask(move |manager| {
        if let Some(old) = old {
            manager.store().close_session(&old)?;
        }
        manager.store().open_session(&hash, &name, Stamp::now(), SESSION_SECONDS)
    })
    .await?;
    let cookie = [(header::SET_COOKIE, auth::cookie(Some(&token)))];
    Ok((cookie, Json(Session { user: user.name, roles: user.roles })).into_response())
}

pub fn new_token() -> Result<String, Problem> {
    secret::token().map_err(|text| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, text))
}

pub async fn session(who: Who) -> Json<Session> {
    Json(Session { user: who.name, roles: who.roles })
}

/// Ends the session, if there is one.
pub async fn sign_out(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(token) = auth::token(&headers) {
        let hash = secret::hash_token(&token);
        app.ask(move |manager| manager.store().close_session(&hash)).await?;
    }
    let cookie = [(header::SET_COOKIE, auth::cookie(None))];
    Ok((StatusCode::NO_CONTENT, cookie).into_response())
}

pub async fn password(
    State(app): State<App>,
    who: Who,
    Body(asked): Body<NewPassword>,
) -> Result<StatusCode, Problem> {
    attempt(&app, &[&format!("password {}", who.name)])?;
    let count = asked.new.chars().count();
    if count < PASSWORD_MIN || asked.new.len() > PASSWORD_MAX {
        let text = format!("has {count} characters; expected {PASSWORD_MIN} to {PASSWORD_MAX}");
        return Err(Problem::fields(vec![("new", text)]));
    }
    let name = who.name.clone();
    let user = app.read(move |store| store.user(&name)).await?;
    // Who comes over the socket is the owner by the kernel's word and may have forgotten it.
    if let (Some(hash), Some(_)) = (user.and_then(|user| user.password), &who.session) {
        let old = asked.old.unwrap_or_default();
        let good = blocking(move || Ok(secret::verify_password(&old, &hash))).await?;
        if !good {
            return Err(Problem::fields(vec![("old", "is not the present password".into())]));
        }
    }
    let hash = blocking(move || {
        secret::hash_password(&asked.new)
            .map_err(|text| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, text))
    })
    .await?;
    app.ask(move |manager| manager.store().set_password(&who.name, &hash, who.session.as_deref()))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A new one-time link, for who comes over the socket.
pub async fn link(State(app): State<App>, who: Who) -> Result<Json<Link>, Problem> {
    if who.session.is_some() {
        let text = "links are given to commands on the server's own machine only";
        return Err(Problem::new(StatusCode::FORBIDDEN, text));
    }
    let token = new_token()?;
    let hash = secret::hash_token(&token);
    app.ask(move |manager| {
        manager.store().put_link(&hash, &who.name, Stamp::now(), crate::run::LINK_SECONDS)
    })
    .await?;
    Ok(Json(Link { url: format!("{}#link={token}", app.url) }))
}
