//! Evaluations: jobs whose output is a page, as `hpvm bench report -o -` writes it.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::extract::{Id, Params};
use super::jobs::find;
use crate::app::App;
use crate::auth::Who;
use crate::files::Output;
use crate::problem::Problem;

/// Bytes of a report, at most: a hundred times what one has.
const REPORT_MAX: u64 = 64 << 20;
/// How a page begins.
const BEGINNING: &[u8] = b"<!DOCTYPE html>";
/// A job can write any page, so a report is shown as one of nobody: it runs nothing, asks nobody for
/// anything, sends nothing, and is of another origin than ours. We may show it in a frame.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/// Parameters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportParams {
    download: Option<u8>,
}

pub async fn report(
    State(app): State<App>,
    who: Who,
    Id(name): Id,
    Params(params): Params<ReportParams>,
) -> Result<Response, Problem> {
    let job = find(&app, &who, name).await?;
    let id = job.id();
    let page = crate::app::blocking(move || {
        let told = |error| Problem::missing(format!("the report of job {name}: {error}"));
        let Some(output) = Output::open(&app, &job, false)? else { return Ok(Vec::new()) };
        Ok(output.part(0, REPORT_MAX).map_err(told)?.bytes)
    })
    .await?;
    if !page.starts_with(BEGINNING) {
        let text = format!(
            "job {name} has written no report: its output is not the page of 'hpvm bench report -o -'"
        );
        return Err(Problem::missing(text));
    }
    let mut headers = HeaderMap::new();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_TYPE, "text/html; charset=utf-8");
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_FRAME_OPTIONS, "SAMEORIGIN");
    if params.download == Some(1) {
        let value = format!("attachment; filename=\"report-{id}.html\"");
        headers
            .extend(HeaderValue::from_str(&value).ok().map(|v| (header::CONTENT_DISPOSITION, v)));
    }
    Ok((headers, page).into_response())
}
