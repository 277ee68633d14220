//! Finding the server.

use std::future::Future;
use std::path::PathBuf;

use hpvm_serve::client::{Client, Failure};
use hpvm_serve::run::socket;

/// The variable that names a server: its socket, or its data folder.
const VARIABLE: &str = "HPVM_SERVER";

/// The folder where a user's server keeps its data unless told otherwise.
pub fn usual_data() -> Result<PathBuf, String> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(state) = variable("XDG_STATE_HOME") {
        return Ok(PathBuf::from(state).join("hpvm"));
    }
    let home = variable("HOME").ok_or("HOME is not set; say where with --data or HPVM_SERVER")?;
    Ok(PathBuf::from(home).join(".local/state/hpvm"))
}

/// The server that commands speak to.
pub fn client() -> Result<Client, String> {
    let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(Client::new(socket(&usual_data()?)));
    };
    if named.to_string_lossy().contains("://") {
        return Err(format!(
            "{VARIABLE} is '{}'; expected the socket or the data folder of a server on this machine \
             (servers elsewhere cannot be named yet: run the command there, by ssh)",
            named.to_string_lossy()
        ));
    }
    let path = PathBuf::from(named);
    Ok(Client::new(if path.is_dir() { socket(&path) } else { path }))
}

/// Runs something that speaks to the server, in this thread.
pub fn with<T>(work: impl AsyncFnOnce(Client) -> Result<T, Failure>) -> Result<T, String> {
    let client = client()?;
    block_on(work(client))?.map_err(|failure| match failure {
        Failure::NoServer(text) => {
            format!("no server runs here ({text}); start one: hpvm serve")
        }
        other => other.to_string(),
    })
}

/// Runs a future in this thread.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| format!("cannot start: {error}"))?.block_on(future))
}
