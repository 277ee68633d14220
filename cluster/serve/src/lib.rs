//! The server behind `hpvm serve`: HTTP API, sessions, events, page.
//!
//! [`run`] opens the data folder, starts the queue's manager ([`hpvm_queue::manager`]), the sampler
//! of this host, and listens twice: on loopback for browsers, and on a Unix socket in the data folder
//! for commands of the same user. [`router`] has all routes; [`auth`] says who asks; [`app`] is what
//! requests share. Requests never write to the store themselves: they ask the manager.

pub mod api;
pub mod app;
pub mod auth;
pub mod client;
pub mod document;
mod files;
mod hosts;
mod idle;
mod limit;
pub mod look;
mod moderation;
mod origin;
mod page;
mod problem;
pub mod run;
mod sampling;
pub mod secret;
mod slurm;
mod spare;
mod sse;
pub mod starter;
pub mod tls;
mod trouble;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;

use app::App;

pub use run::{Options, run};

/// Everything that is served.
pub fn router(app: App) -> Router {
    api::routes()
        .merge(page::routes())
        .layer(DefaultBodyLimit::max(api::BODY_MAX))
        .layer(from_fn(origin::same_origin))
        .layer(from_fn(origin::headers))
        .with_state(app)
}
