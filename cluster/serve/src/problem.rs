//! Errors as RFC 9457 wants them.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::api::types;
use hpvm_queue::check::Fault;
use hpvm_queue::store::StoreError;

/// An error on its way to whoever asked.
#[derive(Debug)]
pub struct Problem {
    pub status: StatusCode,
    pub detail: String,
    pub errors: Vec<types::FieldError>,
    /// Seconds after which it makes sense to try again.
    pub retry_after: Option<u64>,
}

impl Problem {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem { status, detail: detail.into(), errors: Vec::new(), retry_after: None }
    }

    pub fn missing(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, detail)
    }

    pub fn bad(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Fields that make no sense.
    pub fn fields(faults: Vec<Fault>) -> Problem {
        let errors: Vec<_> = faults
            .into_iter()
            .map(|(field, detail)| types::FieldError { field: field.into(), detail })
            .collect();
        let first = errors.first().map_or(String::new(), |e| format!("{}: {}", e.field, e.detail));
        let detail = match errors.len() {
            0 | 1 => first,
            n => format!("{first}; and {} more", n - 1),
        };
        Problem { errors, ..Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail) }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let status = match error {
            StoreError::Busy(_) => StatusCode::INSUFFICIENT_STORAGE,
            StoreError::Refused(_) => StatusCode::CONFLICT,
            StoreError::Missing(_) => StatusCode::NOT_FOUND,
            StoreError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem::new(status, error.to_string())
    }
}

impl From<Problem> for types::Problem {
    fn from(problem: Problem) -> Self {
        types::Problem {
            title: problem.status.canonical_reason().unwrap_or("Error").into(),
            detail: problem.detail,
            status: problem.status.as_u16(),
            errors: problem.errors,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, retry) = (self.status, self.retry_after);
        let body = serde_json::to_vec(&types::Problem::from(self)).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        if let Some(seconds) = retry {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
