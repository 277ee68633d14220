//! Tokens of programs.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::extract::{Body, Params};
use super::session::new_token;
use super::types::{MadeToken, NewToken, Token, Tokens};
use crate::app::App;
use crate::auth::{Means, NODE, Reader, TOKEN_PREFIX, Who};
use crate::problem::Problem;
use crate::secret;
use hpvm_queue::store::tokens;
use hpvm_queue::time::Stamp;

/// What a token may be good for. `jobs` includes `read`, `admin` all; `node` is for `hpvm node`, which
/// reads and changes nothing else.
pub const SCOPES: [&str; 4] = ["read", "jobs", "admin", NODE];
/// Longest life of a token, when it has an end: ten years.
const SECONDS_MAX: u64 = 10 * 366 * 86_400;
const NAME_MAX: usize = 100;

fn shown(token: tokens::Token) -> Token {
    let tokens::Token { id, user, name, scopes, created, expires, used } = token;
    Token { id, user, name, scopes, created, expires, used }
}

/// Parameters of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenParams {
    all: Option<bool>,
}

pub async fn list(
    State(app): State<App>,
    Reader(who): Reader,
    Params(params): Params<TokenParams>,
) -> Result<Json<Tokens>, Problem> {
    if params.all == Some(true) && !who.is_admin() {
        let text = "only administrators see the tokens of others";
        return Err(Problem::new(StatusCode::FORBIDDEN, text));
    }
    let user = (params.all != Some(true)).then_some(who.name);
    let tokens = app.read(move |store| store.tokens(user.as_deref())).await?;
    Ok(Json(Tokens { tokens: tokens.into_iter().map(shown).collect() }))
}

fn check(asked: &NewToken, who: &Who) -> Result<(), Problem> {
    let mut faults = Vec::new();
    let count = asked.name.chars().count();
    if !(1..=NAME_MAX).contains(&count) || asked.name.chars().any(char::is_control) {
        faults.push(("name", format!("expected 1 to {NAME_MAX} characters that print")));
    }
    let strange = asked.scopes.iter().find(|scope| !SCOPES.contains(&scope.as_str()));
    if asked.scopes.is_empty() || strange.is_some() {
        let found = strange.map_or("none".into(), |scope| format!("'{}'", scope.escape_debug()));
        faults.push(("scopes", format!("{found}; expected some of {}", SCOPES.join(", "))));
    }
    let admin = who.roles.iter().any(|role| role == "admin");
    for scope in asked.scopes.iter().filter(|scope| ["admin", NODE].contains(&scope.as_str())) {
        if !admin {
            faults.push(("scopes", format!("{scope}; only administrators have it")));
        }
    }
    if asked.scopes.iter().any(|scope| scope == NODE) && asked.scopes.len() > 1 {
        faults.push(("scopes", "node; it goes with no other".into()));
    }
    if asked.expires_seconds.is_some_and(|seconds| !(1..=SECONDS_MAX).contains(&seconds)) {
        faults.push(("expires_seconds", format!("expected 1 to {SECONDS_MAX}")));
    }
    if faults.is_empty() { Ok(()) } else { Err(Problem::fields(faults)) }
}

pub async fn create(
    State(app): State<App>,
    Reader(who): Reader,
    Body(asked): Body<NewToken>,
) -> Result<(StatusCode, Json<MadeToken>), Problem> {
    if matches!(who.means, Means::Token { .. }) {
        // It could outlive itself, or gain what it has not.
        let text = "a token cannot make tokens; sign in with a browser, or on the server's machine";
        return Err(Problem::new(StatusCode::FORBIDDEN, text));
    }
    Ok((StatusCode::CREATED, Json(make(&app, &who, asked, false).await?)))
}

/// Makes a token of this user.
pub async fn make(
    app: &App,
    who: &Who,
    asked: NewToken,
    login: bool,
) -> Result<MadeToken, Problem> {
    check(&asked, who)?;
    let secret = new_token()?;
    let now = Stamp::now();
    let new = tokens::NewToken {
        hash: secret::hash_token(&secret),
        user: who.name.clone(),
        name: asked.name,
        scopes: asked.scopes,
        expires: asked.expires_seconds.map(|seconds| now.after(seconds)),
        login,
    };
    let target = format!("{} ({})", new.name, new.scopes.join(","));
    let made = app
        .change(who, "make token", target, move |manager| manager.store().add_token(&new, now))
        .await?;
    Ok(MadeToken { token: format!("{TOKEN_PREFIX}{secret}"), about: shown(made) })
}

pub async fn revoke(
    State(app): State<App>,
    Reader(who): Reader,
    Path(id): Path<i64>,
) -> Result<StatusCode, Problem> {
    // Another user's token is as if it were not there.
    let user = (!who.is_admin()).then(|| who.name.clone());
    app.change(&who, "revoke token", format!("token {id}"), move |manager| {
        manager.store().revoke_token(id, user.as_deref())
    })
    .await?;
    app.access_changed();
    Ok(StatusCode::NO_CONTENT)
}
