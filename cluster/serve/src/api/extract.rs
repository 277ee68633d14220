//! Reading requests so that what is wrong with them is told as a problem.

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::problem::Problem;
use hpvm_queue::name::Name;

/// A JSON body.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match axum::Json::<T>::from_request(request, state).await {
            Ok(axum::Json(value)) => Ok(Body(value)),
            Err(error) => Err(Problem::new(error.status(), error.body_text())),
        }
    }
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
