//! What `hpvm doctor` says of the server that the commands speak to: where it is, whether it answers, whether it is the one that was
//! pinned, its version, and who we are there.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use hpvm_serve::api::types::{Info, Session};
use hpvm_serve::client::{Address, Client, Failure, short};
use hpvm_serve::run::socket;
use hpvm_serve::tls::fingerprint;
use hpvm_serve::tls::trust::{Shown, Trust, look};
use tokio::net::TcpStream;

use super::credentials;
use super::doctor::{Finding, Level, good, ill};
use super::server::{self, Named, TOKEN, VARIABLE};

const SERVER: &str = "server";
const CERTIFICATE: &str = "certificate";
const LOGIN: &str = "login";

/// After this without an answer there will be none.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Of the server that commands speak to, and of the one with this data folder, if that is another one. `asked` says that somebody has named
/// the folder, by a flag or in a configuration.
pub fn findings(data: &Path, asked: bool) -> Vec<Finding> {
    let here = socket(data);
    let named = match server::named() {
        Ok(named) => named,
        Err(text) => {
            let remedy = format!("export {VARIABLE}=https://HOST:PORT, as hpvm login says");
            return vec![ill(SERVER, Level::Bad, text, remedy)];
        }
    };
    let mut all = match &named {
        Named::Remote(address) => remote(address),
        Named::Path(path) => vec![local(path, &path.display().to_string(), true)],
        Named::Usual(path) if same(path, &here) => vec![local(path, "here", false)],
        Named::Usual(path) => return vec![elsewhere(path, data)],
    };
    let also = !matches!(&named, Named::Path(path) if same(path, &here));
    if also && asked {
        all.push(local_about("server here", &here, &here.display().to_string(), false));
    }
    all
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Commands look at the usual place, and the server was told another one.
fn elsewhere(usual: &Path, data: &Path) -> Finding {
    let here = socket(data);
    let found = local(&here, &here.display().to_string(), false);
    if !found.is_good() {
        return found;
    }
    let text = format!(
        "commands look for one at {}, and it runs with its data in {}",
        usual.display(),
        data.display()
    );
    ill(SERVER, Level::Poor, text, format!("export {VARIABLE}={}", data.display()))
}

fn local(path: &Path, shown: &str, by_variable: bool) -> Finding {
    local_about(SERVER, path, shown, by_variable)
}

/// A server on this machine, by its socket.
fn local_about(about: &'static str, path: &Path, shown: &str, by_variable: bool) -> Finding {
    // The same as the client does, for the kind of the error.
    if let Err(error) = short(path).and_then(UnixStream::connect) {
        return silent(about, path, &error, by_variable);
    }
    match ask(&Client::new(path.to_path_buf())) {
        Ok(info) => of_info(about, &info, &format!("on this machine ({shown})")),
        Err(Failure::Refused(problem)) => {
            let remedy =
                "ask its administrator for an account, or start one of your own: hpvm serve";
            ill(about, Level::Bad, format!("{}: {}", path.display(), problem.detail), remedy)
        }
        Err(failure) => {
            let text = format!("{}: {failure}", path.display());
            ill(about, Level::Bad, text, "look at the server's messages, or start it again")
        }
    }
}

/// Nobody answers at a socket.
fn silent(about: &'static str, path: &Path, error: &std::io::Error, by_variable: bool) -> Finding {
    let shown = path.display();
    let text = format!("{shown}: {error}");
    if error.kind() == ErrorKind::PermissionDenied {
        let remedy = format!(
            "it is another user's: sign in at its address, hpvm login https://HOST:PORT, or unset {VARIABLE}"
        );
        return ill(about, Level::Bad, text, remedy);
    }
    if !by_variable {
        return ill(about, Level::Poor, "none runs here", "hpvm serve, if you want a queue");
    }
    let word = path.to_string_lossy();
    if !path.exists() && word.contains(':') && !word.contains('/') {
        let text = format!("{VARIABLE} is {shown}, which is no address and no file");
        return ill(about, Level::Bad, text, format!("export {VARIABLE}=https://{shown}"));
    }
    let folder = match path.file_name().is_some_and(|name| name == "server.sock") {
        true => path.parent().unwrap_or(path),
        false => path,
    };
    let remedy = format!(
        "start it, hpvm serve --data {}; or unset {VARIABLE} for the one at the usual place",
        folder.display()
    );
    ill(about, Level::Bad, format!("{VARIABLE} names one that does not run: {text}"), remedy)
}

/// What a server says of itself.
fn of_info(about: &'static str, info: &Info, place: &str) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    let text = format!("hpvm {} answers {place}, mode {}", info.version, info.mode);
    if !info.problems.is_empty() {
        let remedy = "what it names; it goes on by itself when that is mended";
        return ill(about, Level::Bad, info.problems.join("; "), remedy);
    }
    if info.version != own {
        let remedy = "install the same version on both; what only one of them knows is refused";
        return ill(about, Level::Poor, format!("{text}; this is hpvm {own}"), remedy);
    }
    good(about, text)
}

fn ask(client: &Client) -> Result<Info, Failure> {
    within(async { client.get::<Info>("/api/v1/info").await })
}

/// Waits for an answer no longer than somebody would.
fn within<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let limited = async {
        let late = || Failure::Broken(format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()));
        tokio::time::timeout(ANSWER_TIMEOUT, work).await.unwrap_or_else(|_| Err(late()))
    };
    server::block_on(limited).unwrap_or_else(|text| Err(Failure::Broken(text)))
}

/// A server on another machine: the way there first, as nothing else can be said without it.
fn remote(address: &Address) -> Vec<Finding> {
    if let Err(found) = reach(address) {
        return vec![found];
    }
    // A file that cannot be used has a finding of its own, too.
    let stored = credentials::find(address);
    let kept = stored.as_ref().ok().and_then(Option::as_ref);
    let trust = kept.map_or(Trust::System, |kept| kept.trust());
    let mut all = Vec::new();
    let certificate = match address.tls {
        true => certificate(address, &trust, kept.is_some()),
        false => good(CERTIFICATE, "none is needed: the connection stays on this machine"),
    };
    let believed = !certificate.is_bad();
    all.push(certificate);
    if !believed {
        // No secret goes there.
        let text =
            format!("{address} listens; it is asked nothing before its certificate is right");
        all.insert(0, ill(SERVER, Level::Bad, text, "see certificate"));
        return all;
    }
    let variable = server::token();
    let by_variable = variable.is_some();
    let token = variable.or(kept.map(|kept| kept.token.clone()));
    let client = Client::remote(address.clone(), trust, token.clone());
    let user = kept.filter(|_| !by_variable).map(|kept| kept.user.as_str());
    let login = match (&token, &stored) {
        (Some(_), _) => login(&client, address, by_variable, user),
        (None, Err(text)) => ill(LOGIN, Level::Bad, text, format!("mend that, or set {TOKEN}")),
        (None, Ok(_)) => {
            let remedy = format!("hpvm login {address}, or set {TOKEN}");
            ill(LOGIN, Level::Bad, format!("not signed in at {address}"), remedy)
        }
    };
    let server = match ask(&client) {
        Ok(info) => of_info(SERVER, &info, &format!("at {address}")),
        // It is there, and tells nothing to strangers.
        Err(Failure::Refused(_)) if login.is_bad() => {
            let text = format!("{address} answers; its version is told to who is signed in");
            ill(SERVER, Level::Poor, text, "see login")
        }
        Err(failure) => {
            let remedy = "is it hpvm serve that listens there? If so, look at its messages";
            ill(SERVER, Level::Bad, format!("{address}: {failure}"), remedy)
        }
    };
    all.insert(0, server);
    all.push(login);
    all
}

/// Whether something listens there.
fn reach(address: &Address) -> Result<(), Finding> {
    let place = (address.host.as_str(), address.port);
    let connected = server::block_on(async {
        match tokio::net::lookup_host(place).await {
            Err(error) => Err((None, error)),
            Ok(_) => match tokio::time::timeout(ANSWER_TIMEOUT, TcpStream::connect(place)).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err((Some(error.kind()), error)),
                Err(late) => Err((Some(ErrorKind::TimedOut), late.into())),
            },
        }
    });
    let (kind, error) = match connected {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(failed)) => failed,
        Err(text) => return Err(ill(SERVER, Level::Bad, text, "try again")),
    };
    let (host, port) = (&address.host, address.port);
    let remedy = match kind {
        None => {
            format!("is '{host}' spelled as it should be in {VARIABLE}? Try: getent hosts {host}")
        }
        Some(ErrorKind::ConnectionRefused) => format!(
            "nobody listens at port {port}: start it there, hpvm serve --listen 0.0.0.0:{port}, or name the port \
             that it prints"
        ),
        Some(_) => format!(
            "is {host} on, and does a firewall let port {port} through? Else: ssh -L {port}:127.0.0.1:{port} {host}, \
             and HPVM_SERVER=https://localhost:{port}"
        ),
    };
    Err(ill(SERVER, Level::Bad, format!("{address}: {error}"), remedy))
}

/// Whether the server is the one that was pinned, or one that the system knows.
fn certificate(address: &Address, trust: &Trust, signed_in: bool) -> Finding {
    let looked = within(async { look(&address.host, address.port).await.map_err(Failure::Broken) });
    let shown = match looked {
        Ok(shown) => shown,
        Err(failure) => {
            let remedy = "is it hpvm serve that listens there, and not another program?";
            return ill(CERTIFICATE, Level::Bad, format!("it speaks no TLS: {failure}"), remedy);
        }
    };
    let found = shown.chain.last().map(fingerprint).unwrap_or_default();
    let login = format!("hpvm login {address}");
    match trust {
        Trust::System if shown.known => {
            good(CERTIFICATE, "an authority of this system vouches for it")
        }
        Trust::System => {
            let text = match signed_in {
                true => {
                    format!("this system does not know it any more, and none was pinned: {found}")
                }
                false => format!("none is pinned, and this system does not know {found}"),
            };
            let remedy = format!("if hpvm serve has printed the same: {login}");
            ill(CERTIFICATE, Level::Bad, text, remedy)
        }
        Trust::Pinned(pinned) => of_pinned(address, trust, pinned, &shown, &found),
    }
}

fn of_pinned(
    address: &Address,
    trust: &Trust,
    pinned: &[u8],
    shown: &Shown,
    found: &str,
) -> Finding {
    // It is believed or not by the very check that connections make, so a name and a time that are wrong are found, too.
    let asked =
        within(async { Client::remote(address.clone(), trust.clone(), None).greet().await });
    let was = fingerprint(&pinned.to_vec().into());
    match asked {
        Ok(()) => good(CERTIFICATE, format!("pinned: {was}")),
        Err(failure) if shown.chain.iter().any(|one| one.as_ref() == pinned) => {
            let remedy = "on the server, hpvm serve --name HOST adds a name; for a time, look at the clocks of both machines";
            ill(CERTIFICATE, Level::Bad, failure.to_string(), remedy)
        }
        Err(_) => {
            let text = format!("it shows {found}, and {was} was pinned");
            let remedy = format!(
                "if the server was set up anew and prints the same: hpvm login {address}. If not, somebody may be in between"
            );
            ill(CERTIFICATE, Level::Bad, text, remedy)
        }
    }
}

/// Whether the token is still good, and whose it is.
fn login(client: &Client, address: &Address, by_variable: bool, user: Option<&str>) -> Finding {
    let session = within(async { client.get::<Session>("/api/v1/session").await });
    match session {
        Ok(session) => {
            let roles = session.roles.join(", ");
            let how = if by_variable { format!(", by {TOKEN}") } else { String::new() };
            good(LOGIN, format!("{} ({roles}) at {address}{how}", session.user))
        }
        Err(Failure::Refused(problem)) if by_variable => {
            let remedy = format!("unset {TOKEN}, or a new one: hpvm token create");
            ill(LOGIN, Level::Bad, format!("the token of {TOKEN}: {}", problem.detail), remedy)
        }
        Err(Failure::Refused(problem)) => {
            let name = user.map(|user| format!(" of {user}")).unwrap_or_default();
            let text = format!("the token{name} is not taken: {}", problem.detail);
            ill(LOGIN, Level::Bad, text, format!("hpvm login {address}"))
        }
        Err(failure) => ill(LOGIN, Level::Bad, failure.to_string(), "try again"),
    }
}
