//! Signing in and out, one's own password.

use std::time::Instant;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::extract::Body;
use super::tokens;
use super::types::{Link, Login, MadeToken, NewPassword, NewToken, Session, SignIn};
use crate::app::{App, blocking};
use crate::auth::{self, Means, Peer, Reader, SESSION_SECONDS, Who};
use crate::limit::SIGN_IN;
use crate::problem::Problem;
use crate::secret;
use hpvm_queue::store::accounts::User;
use hpvm_queue::time::Stamp;

/// Fewest characters of a password.
const PASSWORD_MIN: usize = 8;
/// Most bytes: hashing takes time for each.
const PASSWORD_MAX: usize = 1000;
/// How long `hpvm login` lasts: three months.
const LOGIN_SECONDS: u64 = 90 * 86_400;

pub async fn sign_in(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Body(asked): Body<SignIn>,
) -> Result<Response, Problem> {
    let user = checked(&app, &peer, asked).await?;
    open(&app, user, &headers, &peer).await
}

/// The user whose link or password this is.
async fn checked(app: &App, peer: &Peer, asked: SignIn) -> Result<User, Problem> {
    let address = peer.origin();
    match (asked.link, asked.user, asked.password) {
        (Some(link), None, None) => by_link(app, &address, &link).await,
        (None, Some(user), Some(password)) => by_password(app, &address, user, password).await,
        _ => Err(Problem::bad("expected either user and password, or link")),
    }
}

/// A link that was printed by the server or asked for over its socket; it works once.
pub async fn by_link(app: &App, address: &str, link: &str) -> Result<User, Problem> {
    let bucket = format!("address {address}");
    app.limit(&[&bucket], SIGN_IN, Instant::now())?;
    let hash = secret::hash_token(link);
    let user = app.ask(move |manager| manager.store().take_link(&hash, Stamp::now())).await?;
    let text = "this link was used already, or is too old; hpvm serve --link prints a new one";
    let user = user.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, text))?;
    app.unlimit(&bucket);
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
    app.limit(&[&buckets[0], &buckets[1]], SIGN_IN, Instant::now())?;
    if password.len() > PASSWORD_MAX {
        return Err(wrong());
    }
    let user = app.read(move |store| store.user(&name)).await?;
    let hash = user.as_ref().and_then(|user| user.password.clone());
    let hash = hash.unwrap_or_else(|| app.decoy.clone());
    let good = blocking(move || Ok(secret::verify_password(&password, &hash))).await?;
    let user = user.filter(|user| good && user.password.is_some()).ok_or_else(wrong)?;
    buckets.iter().for_each(|bucket| app.unlimit(bucket));
    Ok(user)
}

/// Opens a session; the one that the request came with, if any, ends.
pub async fn open(
    app: &App,
    user: User,
    headers: &HeaderMap,
    peer: &Peer,
) -> Result<Response, Problem> {
    let token = new_token()?;
    let (hash, name) = (secret::hash_token(&token), user.name.clone());
    let old = auth::token(headers, peer.tls()).map(|token| secret::hash_token(&token));
    let who = signed_in(&user, peer, Means::Session(hash.clone()));
    app.change(&who, "sign in", "", move |manager| {
        if let Some(old) = old {
            manager.store().close_session(&old)?;
        }
        manager.store().open_session(&hash, &name, Stamp::now(), SESSION_SECONDS)
    })
    .await?;
    app.access_changed();
    let cookie = [(header::SET_COOKIE, auth::cookie(Some(&token), peer.tls()))];
    Ok((cookie, Json(Session { user: user.name, roles: user.roles })).into_response())
}

fn signed_in(user: &User, peer: &Peer, means: Means) -> Who {
    Who { name: user.name.clone(), roles: user.roles.clone(), means, origin: peer.origin() }
}

/// Signs a program in, as `hpvm login` does: gives a token with all rights of the user.
pub async fn login(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(asked): Body<Login>,
) -> Result<Json<MadeToken>, Problem> {
    let (name, sign_in) = (asked.name, asked.sign_in);
    let user = checked(&app, &peer, sign_in).await?;
    let admin = user.roles.iter().any(|role| role == "admin");
    let scope = if admin { "admin" } else { "jobs" };
    let who = signed_in(&user, &peer, Means::Socket);
    let asked = NewToken {
        name: name.unwrap_or_else(|| "login".into()),
        scopes: vec![scope.into()],
        expires_seconds: Some(LOGIN_SECONDS),
    };
    Ok(Json(tokens::make(&app, &who, asked, true).await?))
}

pub fn new_token() -> Result<String, Problem> {
    secret::token().map_err(|text| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, text))
}

pub async fn session(Reader(who): Reader) -> Json<Session> {
    Json(Session { user: who.name, roles: who.roles })
}

/// Ends the session, or the token that the request came with.
pub async fn sign_out(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    who: Result<Reader, Problem>,
) -> Result<Response, Problem> {
    if let Ok(Reader(who)) = who {
        let means = who.means.clone();
        app.change(&who, "sign out", "", move |manager| match means {
            Means::Session(hash) => manager.store().close_session(&hash),
            Means::Token { hash, .. } => match manager.store().token(&hash, Stamp::now())? {
                Some((token, _)) => manager.store().revoke_token(token.id, None).map(|_| ()),
                None => Ok(()),
            },
            Means::Socket => Ok(()),
        })
        .await?;
        app.access_changed();
    }
    let cookie = [(header::SET_COOKIE, auth::cookie(None, peer.tls()))];
    Ok((StatusCode::NO_CONTENT, cookie).into_response())
}

pub async fn password(
    State(app): State<App>,
    Reader(who): Reader,
    Body(asked): Body<NewPassword>,
) -> Result<StatusCode, Problem> {
    if matches!(who.means, Means::Token { .. }) {
        let text = "a token cannot set a password; sign in with a browser";
        return Err(Problem::new(StatusCode::FORBIDDEN, text));
    }
    app.limit(&[&format!("password {}", who.name)], SIGN_IN, Instant::now())?;
    check_password("new", &asked.new)?;
    let name = who.name.clone();
    let user = app.read(move |store| store.user(&name)).await?;
    // Who comes over the socket is the owner by the kernel's word and may have forgotten it.
    let present = user.and_then(|user| user.password);
    if let (Some(hash), Some(_)) = (present, who.session()) {
        let old = asked.old.unwrap_or_default();
        let good = blocking(move || Ok(secret::verify_password(&old, &hash))).await?;
        if !good {
            return Err(Problem::fields(vec![("old", "is not the present password".into())]));
        }
    }
    set_password(&app, &who, who.name.clone(), asked.new).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What is no password.
pub fn check_password(field: &'static str, password: &str) -> Result<(), Problem> {
    let count = password.chars().count();
    if count < PASSWORD_MIN || password.len() > PASSWORD_MAX {
        let text = format!("has {count} characters; expected {PASSWORD_MIN} to {PASSWORD_MAX}");
        return Err(Problem::fields(vec![(field, text)]));
    }
    Ok(())
}

/// Sets the password of a user; their sessions end, but for the one that this comes from.
pub async fn set_password(
    app: &App,
    who: &Who,
    user: String,
    password: String,
) -> Result<(), Problem> {
    let hash = blocking(move || {
        secret::hash_password(&password)
            .map_err(|text| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, text))
    })
    .await?;
    let keep = who.session().filter(|_| who.name == user).map(<[u8]>::to_vec);
    app.change(who, "set password", user.clone(), move |manager| {
        manager.store().set_password(&user, &hash, keep.as_deref())
    })
    .await?;
    app.access_changed();
    Ok(())
}

/// A new one-time link, for who comes over the socket.
pub async fn link(State(app): State<App>, Reader(who): Reader) -> Result<Json<Link>, Problem> {
    if who.means != Means::Socket {
        let text = "links are given to commands on the server's own machine only";
        return Err(Problem::new(StatusCode::FORBIDDEN, text));
    }
    Ok(Json(link_for(&app, who.name).await?))
}

/// A new one-time link of a user.
pub async fn link_for(app: &App, user: String) -> Result<Link, Problem> {
    let token = new_token()?;
    let hash = secret::hash_token(&token);
    app.ask(move |manager| {
        manager.store().put_link(&hash, &user, Stamp::now(), crate::run::LINK_SECONDS)
    })
    .await?;
    Ok(Link { url: format!("{}#link={token}", app.url) })
}
