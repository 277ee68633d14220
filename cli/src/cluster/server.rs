//! Finding the server.

use std::future::Future;
use std::path::PathBuf;

use hpvm_serve::client::{Address, Client, Failure};
use hpvm_serve::run::socket;
use hpvm_serve::tls::trust::Trust;

use super::{credentials, manner};

/// The variable that names a server: its socket, its data folder, or its address.
pub const VARIABLE: &str = "HPVM_SERVER";

/// The folder where a user's server keeps its data unless told otherwise.
pub fn usual_data() -> Result<PathBuf, String> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(state) = variable("XDG_STATE_HOME") {
        return Ok(PathBuf::from(state).join("hpvm"));
    }
    let home = variable("HOME").ok_or("HOME is not set; say where with --data or HPVM_SERVER")?;
    Ok(PathBuf::from(home).join(".local/state/hpvm"))
}

/// A token for a server elsewhere, instead of the one that `hpvm login` has stored.
pub const TOKEN: &str = "HPVM_TOKEN";

/// Whether a variable is for hpvm's own commands alone: a secret, which jobs do not need and records must not hold, and what
/// sets up a server.
pub fn is_ours(name: &str) -> bool {
    name == TOKEN || super::config::is_variable(name)
}

/// What `HPVM_SERVER` says, when it is the address of a server.
pub fn address() -> Result<Option<Address>, String> {
    match std::env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned()) {
        Some(text) if text.contains("://") => {
            Address::parse(&text).map(Some).map_err(|error| format!("{VARIABLE}: {error}"))
        }
        _ => Ok(None),
    }
}

/// Where the server is that commands speak to.
pub enum Named {
    Remote(Address),
    /// A socket that `HPVM_SERVER` names, itself or by its folder.
    Path(PathBuf),
    /// The socket at the usual place.
    Usual(PathBuf),
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Named::Remote(address) => address.fmt(f),
            Named::Path(path) | Named::Usual(path) => path.display().fmt(f),
        }
    }
}

/// Where commands look for a server. Nothing is asked of it.
pub fn named() -> Result<Named, String> {
    if let Some(server) = address()? {
        return Ok(Named::Remote(server));
    }
    let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(Named::Usual(socket(&usual_data()?)));
    };
    let path = PathBuf::from(named);
    Ok(Named::Path(if path.is_dir() { socket(&path) } else { path }))
}

/// A token that is set instead of a stored one.
pub fn token() -> Option<String> {
    std::env::var(TOKEN).ok().filter(|token| !token.is_empty())
}

/// The server that commands speak to.
pub fn client() -> Result<Client, String> {
    let server = match named()? {
        Named::Remote(server) => server,
        Named::Path(socket) | Named::Usual(socket) => return Ok(Client::new(socket)),
    };
    let stored = credentials::find(&server)?;
    let trust = stored.as_ref().map_or(Trust::System, |stored| stored.trust());
    let token = token().or(stored.map(|stored| stored.token));
    if token.is_none() {
        return Err(format!("not signed in at {server}: hpvm login {server}, or set {TOKEN}"));
    }
    Ok(Client::remote(server, trust, token))
}

/// Whether commands speak to a server that may be another machine.
pub fn is_remote() -> bool {
    matches!(address(), Ok(Some(_)))
}

/// Runs something that speaks to the server, in this thread.
pub fn with<T>(work: impl AsyncFnOnce(Client) -> Result<T, Failure>) -> Result<T, String> {
    let client = client()?;
    manner::detail(|| {
        format!("asks {}", named().map_or_else(|why| why, |found| found.to_string()))
    });
    let begin = std::time::Instant::now();
    let done = block_on(work(client))?;
    manner::detail(|| {
        let what = if done.is_ok() { "answered" } else { "failed" };
        format!("{what} after {:.1} ms", begin.elapsed().as_secs_f64() * 1000.0)
    });
    done.map_err(|failure| match failure {
        Failure::NoServer(text) => {
            format!("no server runs here ({text}); start one: hpvm serve")
        }
        other => other.to_string(),
    })
}

/// Runs a future in this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| format!("cannot start: {error}"))?.block_on(future))
}
