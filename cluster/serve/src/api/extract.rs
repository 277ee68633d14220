//! Reading requests so that what is wrong with them is told as a problem.

use axum::body::Bytes;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::problem::Problem;
use hpvm_queue::name::Name;

/// A JSON body.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let is_json = request.headers().get(header::CONTENT_TYPE);
        if is_json.is_none_or(|kind| kind != "application/json") {
            // Says what is wrong with it, or knows another name of the same.
            return axum::Json::<T>::from_request(request, state).await.map_or_else(told, read);
        }
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|error| Problem::new(error.status(), error.body_text()))?;
        match serde_json::from_slice(&bytes) {
            Ok(value) => Ok(Body(value)),
            // Keeping track of the place of an error takes time, so only where there is one.
            Err(_) => axum::Json::<T>::from_bytes(&bytes).map_or_else(told, read),
        }
    }
}

fn read<T>(json: axum::Json<T>) -> Result<Body<T>, Problem> {
    Ok(Body(json.0))
}

fn told<T>(error: JsonRejection) -> Result<Body<T>, Problem> {
    Err(Problem::new(error.status(), error.body_text()))
}

/// The parameters behind the question mark.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(value)) => Ok(Params(value)),
            Err(error) => Err(Problem::bad(error.body_text())),
        }
    }
}

/// The number of a job in a path, or a task of an array, `12_3`.
pub struct Id(pub Name);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        let text = path.map_err(|error| Problem::bad(error.body_text()))?.0;
        text.parse().map(Id).map_err(Problem::missing)
    }
}
