//! The HTTP API.

pub mod about;
pub mod act;
pub mod counters;
pub mod events;
pub mod extract;
pub mod jobs;
pub mod nodes;
pub mod output;
pub mod ranks;
pub mod reports;
pub mod rules;
pub mod session;
pub mod tokens;
pub mod types;
pub mod users;

use axum::Router;
use axum::routing::{delete, get, post, put};

use crate::app::App;
use act::Act;

/// Bytes of a request, at most: a script of 4 MiB as JSON, its environment and some.
pub const BODY_MAX: usize = 12 << 20;

/// Its routes.
pub fn routes() -> Router<App> {
    let v1 = Router::new()
        .route("/session", get(session::session).post(session::sign_in).delete(session::sign_out))
        .route("/session/password", put(session::password))
        .route("/session/link", post(session::link))
        .route("/session/token", post(session::login))
        .route("/users", get(users::list).post(users::add))
        .route("/users/{name}", delete(users::remove))
        .route("/users/{name}/role", put(users::role))
        .route("/users/{name}/password", put(users::password))
        .route("/users/{name}/link", post(users::link))
        .route("/tokens", get(tokens::list).post(tokens::create))
        .route("/tokens/{id}", delete(tokens::revoke))
        .route("/audit", get(rules::audit))
        .route("/jobs", get(jobs::list).post(jobs::submit))
        .route("/jobs/{id}", get(jobs::job).delete(jobs::delete))
        .route("/jobs/{id}/cancel", act::handler(Act::Cancel))
        .route("/jobs/{id}/hold", act::handler(Act::Hold))
        .route("/jobs/{id}/release", act::handler(Act::Release))
        .route("/jobs/{id}/output", get(output::output))
        .route("/jobs/{id}/output/follow", get(output::follow))
        .route("/jobs/{id}/script", get(jobs::script))
        .route("/jobs/{id}/report", get(reports::report))
        .route("/jobs/{id}/ranks", get(ranks::ranks))
        .route("/jobs/{id}/matrix", get(ranks::matrix))
        .route("/jobs/{id}/counters", get(counters::counters))
        .route("/hosts", get(about::hosts))
        .route("/hosts/{name}/history", get(about::history))
        .route("/hosts/{name}/drain", post(rules::drain))
        .route("/hosts/{name}/resume", post(rules::resume))
        .route("/nodes/{name}", delete(nodes::remove))
        .route("/nodes/{name}/report", post(nodes::report))
        .route("/nodes/{name}/orders", get(nodes::orders))
        .route("/nodes/{name}/jobs/{id}/output", put(nodes::output))
        .route("/nodes/{name}/jobs/{id}/ranks", post(ranks::tell))
        .route("/queues", get(about::queues))
        .route("/queues/{name}/limits", put(rules::limits))
        .route("/info", get(about::info))
        .route("/events", get(events::events))
        .route("/openapi.json", get(about::document));
    Router::new()
        .nest("/api/v1", v1)
        .route("/healthz", get(about::health))
        .route("/metrics", get(about::metrics))
}
