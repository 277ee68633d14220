//! Whether a request may come from where it comes from, and headers of every answer.

use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::auth::Peer;
use crate::problem::Problem;

/// Refuses what another site's page made the browser send, and names of this host that are not ours
/// (with which a page elsewhere could make its own origin point here).
pub async fn same_origin(request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map(|info| info.0);
    let tls = matches!(peer, Some(Peer::Remote { tls: true, .. }));
    if !matches!(peer, Some(Peer::Local { .. }))
        && let Err(text) = check_origin(request.method(), request.headers(), tls)
    {
        return Problem::new(StatusCode::FORBIDDEN, text).into_response();
    }
    next.run(request).await
}

fn check_origin(method: &Method, headers: &HeaderMap, tls: bool) -> Result<(), String> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    // Any port: it may be reached through a tunnel.
    let (name, port) = host.rsplit_once(':').unwrap_or((host, "80"));
    // With TLS the certificate says whose name it is.
    let known = tls || ["127.0.0.1", "localhost", "[::1]"].contains(&name);
    if !known || (!tls && port.parse::<u16>().is_err()) {
        return Err(format!(
            "the address names the host '{}'; this server answers to 127.0.0.1 and localhost only",
            host.escape_debug()
        ));
    }
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return Err("requests from pages of another site are refused".into());
    }
    match text(header::ORIGIN) {
        Some(origin) if origin != format!("http{}://{host}", if tls { "s" } else { "" }) => {
            Err("requests from pages of another origin are refused".into())
        }
        // A program, not a browser: those say where a change comes from.
        _ => Ok(()),
    }
}

/// Headers of every answer.
pub async fn headers(request: Request, next: Next) -> Response {
    const FIXED: [(&str, &str); 6] = [
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; font-src 'self'; frame-src 'self'; form-action 'self'; \
             base-uri 'none'; frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    let mut response = next.run(request).await;
    for (name, value) in FIXED {
        // A report, which is not ours to trust, comes with stricter ones of its own.
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    let cache = HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(cache);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, headers: &[(&str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = header::HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.insert(name, value.parse().unwrap());
        }
        check_origin(&method, &map, false).is_ok()
    }

    #[test]
    fn origins_with_tls() {
        let with = |origin: &str| {
            let mut map = HeaderMap::new();
            map.insert(header::HOST, "n1.example".parse().unwrap());
            map.insert(header::ORIGIN, origin.parse().unwrap());
            check_origin(&Method::POST, &map, true).is_ok()
        };
        assert!(with("https://n1.example"));
        assert!(!with("http://n1.example") && !with("https://evil.example"));
    }

    #[test]
    fn origins() {
        let host = ("host", "localhost:80");
        assert!(asked(Method::POST, &[host]));
        assert!(asked(Method::POST, &[host, ("origin", "http://localhost:80")]));
        assert!(asked(Method::GET, &[host, ("sec-fetch-site", "cross-site")]));
        for bad in [
            [host, ("origin", "http://evil.example")],
            [host, ("origin", "null")],
            [host, ("origin", "http://127.0.0.1:80")],
            [host, ("sec-fetch-site", "cross-site")],
            [host, ("sec-fetch-site", "same-site")],
        ] {
            assert!(!asked(Method::POST, &bad), "{bad:?}");
        }
        for host in ["evil.example", "localhost:x", "127.0.0.1.evil.example:80", ""] {
            assert!(!asked(Method::GET, &[("host", host)]), "{host}");
        }
    }
}
