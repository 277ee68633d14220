//! `hpvm token`: what programs sign in with.

use clap::{Arg, ArgAction, ArgMatches, Command};
use hpvm_queue::time::Stamp;
use hpvm_serve::api::types::{MadeToken, NewToken, Tokens};
use hpvm_serve::client::Client;
use hyper::Method;

use super::list::{columns, printable};
use super::{json_flag, server, values};

/// The subcommand.
pub fn definition() -> Command {
    Command::new("token")
        .about("Make, list and revoke the tokens that programs sign in with")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("create")
                .about("Make a token and print it, this once")
                .arg(
                    Arg::new("name")
                        .value_name("NAME")
                        .required(true)
                        .help("What it is called in lists"),
                )
                .arg(
                    Arg::new("scope")
                        .long("scope")
                        .value_name("SCOPE")
                        .value_parser(["read", "jobs", "admin", "node"])
                        .action(ArgAction::Append)
                        .value_delimiter(',')
                        .default_value("jobs")
                        .help("read; jobs (submits and ends jobs, too); admin (all that you may); node (hpvm node alone)"),
                )
                .arg(
                    Arg::new("expires")
                        .long("expires")
                        .value_name("TIME")
                        .default_value("90-0")
                        .help("How long it lasts, as 90-0 (days), 12:00:00, or never"),
                )
                .arg(json_flag()),
        )
        .subcommand(
            Command::new("list")
                .about("List your tokens")
                .arg(
                    Arg::new("all")
                        .short('a')
                        .long("all")
                        .action(ArgAction::SetTrue)
                        .help("Those of all users (for administrators)"),
                )
                .arg(json_flag()),
        )
        .subcommand(
            Command::new("revoke").about("End a token").arg(
                Arg::new("id")
                    .value_name("ID")
                    .required(true)
                    .value_parser(clap::value_parser!(i64).range(1..))
                    .help("Its number in the list"),
            ),
        )
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let (action, matches) = matches.subcommand().ok_or("token: no action given; see --help")?;
    match action {
        "create" => create(matches),
        "list" => list(matches),
        _ => {
            let id = matches.get_one::<i64>("id").copied().unwrap_or_default();
            let path = format!("/api/v1/tokens/{id}");
            server::with(async |client: Client| client.call(Method::DELETE, &path, &()).await)
        }
    }
    .map(|()| 0)
}

fn create(matches: &ArgMatches) -> Result<(), String> {
    let text = matches.get_one::<String>("expires").map_or("never", String::as_str);
    let seconds = match text {
        "never" => None,
        text => Some(values::time(text).map_err(|error| format!("--expires: {error}"))?),
    };
    let asked = NewToken {
        name: matches.get_one::<String>("name").cloned().unwrap_or_default(),
        scopes: matches.get_many::<String>("scope").unwrap_or_default().cloned().collect(),
        expires_seconds: seconds,
    };
    let made = server::with(async |client: Client| {
        client.post::<MadeToken>("/api/v1/tokens", &[], &asked).await
    })?;
    if matches.get_flag("json") {
        return super::print_json(serde_json::to_string(&made));
    }
    crate::info::print((made.token + "\n").as_bytes())
}

fn list(matches: &ArgMatches) -> Result<(), String> {
    let path = match matches.get_flag("all") {
        true => "/api/v1/tokens?all=true",
        false => "/api/v1/tokens",
    };
    let found = server::with(async |client: Client| client.get::<Tokens>(path).await)?;
    if matches.get_flag("json") {
        return super::print_json(serde_json::to_string(&found));
    }
    let mut rows = vec![["ID", "USER", "SCOPES", "EXPIRES", "LAST USE"].map(str::to_owned)];
    let mut last = vec!["NAME".to_string()];
    let at = |at: Option<Stamp>| at.map_or_else(|| "never".to_string(), |at| at.to_string());
    for token in &found.tokens {
        let (expires, used) = (at(token.expires), at(token.used));
        rows.push([
            token.id.to_string(),
            token.user.clone(),
            token.scopes.join(","),
            expires,
            used,
        ]);
        last.push(printable(&token.name, 100));
    }
    crate::info::print(columns(&rows, last.into_iter()).as_bytes())
}
