//! What a browser gets: the page that was built into the program, or the plain one.

mod html;
mod plain;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::app::App;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Routes of the pages. The plain page is always there, below `/plain`.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/plain", get(plain::jobs))
        .route("/plain/style.css", get(plain::style))
        .route("/plain/session", post(plain::sign_in))
        .route("/plain/sign-out", post(plain::sign_out))
        .route("/plain/jobs", post(plain::submit))
        .route("/plain/jobs/{id}", get(plain::job))
        .route("/plain/jobs/{id}/{action}", post(plain::act))
        .route("/", get(root))
        .route("/{*path}", get(file))
}

async fn root(app: State<App>, headers: HeaderMap) -> Response {
    match find("index.html") {
        Some(_) => serve("index.html", &headers),
        None => plain::start(app, headers).await,
    }
}

async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    if find(&path).is_some() {
        return serve(&path, &headers);
    }
    // Addresses inside the page: the page itself finds its way. Names of hosts may have dots.
    let climbs = path.split('/').any(|name| name == "." || name == "..");
    let elsewhere = climbs || path.starts_with("api/") || path.starts_with("assets/");
    if find("index.html").is_some() && !elsewhere {
        return serve("index.html", &headers);
    }
    crate::problem::Problem::missing("there is nothing at this address").into_response()
}

fn find(path: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(name, _)| *name == path).map(|(_, bytes)| *bytes)
}

/// A file; its compressed form (`.br`, made when the page was built) where the browser takes it.
fn serve(path: &str, headers: &HeaderMap) -> Response {
    let takes = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let brotli = takes.is_some_and(|text| text.split(',').any(|name| name.trim() == "br"));
    let packed = find(&format!("{path}.br")).filter(|_| brotli);
    let Some(bytes) = packed.or_else(|| find(path)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut answer = ([(header::CONTENT_TYPE, kind(path))], bytes).into_response();
    let map = answer.headers_mut();
    if packed.is_some() {
        map.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
    }
    map.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    // Files in assets/ have a hash of their content in their name.
    let lasting = path.starts_with("assets/");
    let cache = if lasting { "public, max-age=31536000, immutable" } else { "no-cache" };
    map.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    answer
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json" | "webmanifest" | "map") => "application/json",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}
