//! Server-sent events as bytes, so that one event can be sent to many without being made anew.

use std::convert::Infallible;
use std::fmt::Write;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use serde::Serialize;

/// A comment, which keeps a connection that has nothing to say.
pub const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

/// Writes one event behind others. `data` is a line.
pub fn write(text: &mut String, name: &str, id: Option<i64>, data: &str) {
    debug_assert!(!data.contains(['\n', '\r']), "data of an event is one line");
    // Writing to a String cannot fail.
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    let _ = write!(text, "event: {name}\ndata: {data}\n\n");
}

/// One event.
pub fn event(name: &str, id: Option<i64>, data: &str) -> Bytes {
    let mut text = String::with_capacity(data.len() + 64);
    write(&mut text, name, id, data);
    text.into()
}

/// A value as a line.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The answer that carries them. Proxies are asked not to keep events back.
pub fn response(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    use futures_util::StreamExt;
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-cache"),
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(events.map(Ok::<_, Infallible>))).into_response()
}
