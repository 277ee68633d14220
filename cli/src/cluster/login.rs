//! `hpvm login` and `logout`: signing in at a server on another machine.

use std::io::{IsTerminal, Write};

use clap::{Arg, ArgAction, ArgMatches, Command};
use hpvm_serve::api::types::{Login, MadeToken, Session, SignIn};
use hpvm_serve::client::{Address, Client};
use hpvm_serve::tls::fingerprint;
use hpvm_serve::tls::trust::{Trust, look};
use hyper::Method;

use super::credentials::{self, Stored};
use super::{password, server};

/// The subcommands.
pub fn definitions() -> [Command; 2] {
    [
        Command::new("login")
            .about("Sign in at a server on another machine, for the other commands")
            .long_about(
                "Sign in at a server on another machine, for the other commands.\n\n\
                 Shows the fingerprint of a certificate that the system does not know; compare it \
                 with the one that hpvm serve prints. The certificate is pinned, and a token that \
                 lasts three months is kept in a file that only you can read. Then \
                 HPVM_SERVER=https://HOST:PORT makes all commands speak to that server.",
            )
            .arg(
                Arg::new("server")
                    .value_name("https://HOST:PORT")
                    .help("The server [default: HPVM_SERVER]"),
            )
            .arg(
                Arg::new("user")
                    .short('u')
                    .long("user")
                    .value_name("NAME")
                    .help("The user there [default: your name here]"),
            )
            .arg(
                Arg::new("fingerprint")
                    .long("fingerprint")
                    .value_name("SHA256:..")
                    .help("The certificate must have this fingerprint; asks nothing about it"),
            )
            .arg(
                Arg::new("link")
                    .long("link")
                    .action(ArgAction::SetTrue)
                    .conflicts_with("token")
                    .help("Sign in by a one-time link instead of a password; asks for it"),
            )
            .arg(
                Arg::new("token")
                    .long("token")
                    .action(ArgAction::SetTrue)
                    .help("Keep a token that hpvm token create has made; asks for it"),
            ),
        Command::new("logout").about("End the token of the server that HPVM_SERVER names"),
    ]
}

/// `hpvm login`.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let server = match matches.get_one::<String>("server") {
        Some(text) => Address::parse(text)?,
        None => server::address()?.ok_or("login: name a server, like https://head:8421")?,
    };
    let pinned = match server.tls {
        true => pin(&server, matches.get_one::<String>("fingerprint"))?,
        false => None,
    };
    let trust = pinned.clone().map_or(Trust::System, Trust::Pinned);
    let (token, user) = match matches.get_flag("token") {
        true => kept(&server, &trust)?,
        false => made(&server, &trust, matches)?,
    };
    credentials::put(&server, &Stored { token, user: user.clone(), pinned })?;
    let text =
        format!("Signed in as {user}. For the other commands: export HPVM_SERVER={server}\n");
    crate::info::print(text.as_bytes())?;
    Ok(0)
}

/// A token that somebody has made before.
fn kept(server: &Address, trust: &Trust) -> Result<(String, String), String> {
    let token = password::line("Token", true)?;
    let client = Client::remote(server.clone(), trust.clone(), Some(token.clone()));
    let who = server::block_on(async { client.get::<Session>("/api/v1/session").await })?;
    Ok((token, who.map_err(|failure| failure.to_string())?.user))
}

/// A token for a password or a link.
fn made(server: &Address, trust: &Trust, matches: &ArgMatches) -> Result<(String, String), String> {
    let sign_in = if matches.get_flag("link") {
        let text = password::line("Link", false)?;
        let link = text.rsplit_once("#link=").map_or(text.as_str(), |(_, link)| link);
        SignIn { link: Some(link.trim().to_string()), ..SignIn::default() }
    } else {
        // SAFETY: the call has no arguments and cannot fail.
        let own = || hpvm_serve::run::user_name(unsafe { libc::getuid() });
        let user = matches.get_one::<String>("user").cloned().unwrap_or_else(own);
        let password = password::line(&format!("Password of {user} at {server}"), true)?;
        SignIn { user: Some(user), password: Some(password), link: None }
    };
    let name = format!("login from {}", hpvm_launch::hosts::local_name());
    let body = Login { sign_in, name: Some(name) };
    let client = Client::remote(server.clone(), trust.clone(), None);
    let asked = async { client.post::<MadeToken>("/api/v1/session/token", &[], &body).await };
    let made = server::block_on(asked)?.map_err(|failure| failure.to_string())?;
    Ok((made.token, made.about.user))
}

/// The certificate to pin; nothing when the system knows who has issued it.
fn pin(server: &Address, expected: Option<&String>) -> Result<Option<Vec<u8>>, String> {
    let shown = server::block_on(look(&server.host, server.port))??;
    if shown.known && expected.is_none() {
        return Ok(None);
    }
    let last = shown.chain.last().ok_or_else(|| format!("{server} shows no certificate"))?;
    let found = fingerprint(last);
    let same = |text: &str| text.trim().eq_ignore_ascii_case(&found);
    match expected {
        Some(text) if same(text) => {}
        Some(text) => {
            return Err(format!("{server} has the certificate {found}; expected {}", text.trim()));
        }
        None if std::io::stdin().is_terminal() => {
            let mut out = std::io::stderr();
            // If standard error is closed, the question below fails as well.
            let _ = writeln!(
                out,
                "{server} has a certificate that this system does not know:\n  {found}\n\
                 hpvm serve prints the same when it starts, if this is the right server."
            );
            if password::line("Is it the same (yes/no)", false)?.trim() != "yes" {
                return Err("not signed in".into());
            }
        }
        None => {
            return Err(format!(
                "{server} has a certificate that this system does not know. If hpvm serve has \
                 printed the same: hpvm login --fingerprint {found} {server}"
            ));
        }
    }
    Ok(Some(last.as_ref().to_vec()))
}

/// `hpvm logout`.
pub fn logout() -> Result<i32, String> {
    let server = server::address()?.ok_or("logout: HPVM_SERVER names no server elsewhere")?;
    let ended = server::with(async |client: Client| {
        client.call(Method::DELETE, "/api/v1/session", &serde_json::json!({})).await
    });
    // It is forgotten here, whether or not the server could be told.
    credentials::remove(&server)?;
    ended.map(|()| 0)
}
