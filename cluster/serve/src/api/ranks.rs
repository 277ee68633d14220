//! What the ranks of a running job do and have sent to whom, as they show it in shared memory.

use axum::Json;
use axum::extract::{Path as Segments, State};
use axum::http::StatusCode;
use serde::Deserialize;
use std::time::Instant;
use utoipa::ToSchema;

use super::extract::{Body, Id, Params};
use super::jobs::find as find_job;
use super::types::{Matrix, Ranks};
use crate::app::App;
use crate::auth::{FromNode, Who};
use crate::look::JobLook;
use crate::look::check;
use crate::look::gather::gather;
use crate::problem::Problem;
use hpvm_queue::node::Parts;

pub async fn ranks(State(app): State<App>, who: Who, Id(name): Id) -> Result<Json<Ranks>, Problem> {
    let job = find_job(&app, &who, name).await?;
    let parts = Parts { ranks: true, ..Parts::default() };
    Ok(Json(gather(&app, &job, parts).await?.ranks()))
}

/// Which of the two numbers of a pair is shown.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrafficUnit {
    #[default]
    Bytes,
    Messages,
}

#[derive(Debug, Deserialize)]
pub struct MatrixQuery {
    #[serde(default)]
    unit: TrafficUnit,
}

pub async fn matrix(
    State(app): State<App>,
    who: Who,
    Id(name): Id,
    Params(query): Params<MatrixQuery>,
) -> Result<Json<Matrix>, Problem> {
    let job = find_job(&app, &who, name).await?;
    let parts = Parts { traffic: true, ..Parts::default() };
    Ok(Json(gather(&app, &job, parts).await?.matrix(query.unit)?))
}

/// Takes what a host tells of the ranks of a job that it runs.
pub async fn tell(
    State(app): State<App>,
    _: FromNode,
    Segments((name, id)): Segments<(String, i64)>,
    Body(mut look): Body<JobLook>,
) -> Result<StatusCode, Problem> {
    check::take(&mut look, &name)
        .map_err(|text| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text))?;
    let (host, identity) = (name.clone(), look.identity.clone());
    app.ask(move |manager| manager.has_ranks_on(&host, &identity, id)).await?;
    app.wanted.hear(id, &name, look, Instant::now());
    Ok(StatusCode::NO_CONTENT)
}
