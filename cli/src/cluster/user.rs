//! `hpvm user`: who may use the server.

use clap::{Arg, ArgAction, ArgMatches, Command};
use hpvm_serve::api::types::{Link, NewUser, Role, RoleChange, SetPassword, User, Users};
use hpvm_serve::client::Client;
use hyper::Method;

use super::list::{columns, percent, printable};
use super::{json_flag, password, server};

const ROLES: [&str; 3] = ["admin", "user", "viewer"];

/// The subcommand.
pub fn definition() -> Command {
    let name = || Arg::new("name").value_name("NAME").required(true);
    let role = || Arg::new("role").value_name("ROLE").value_parser(ROLES);
    Command::new("user")
        .about("Say who may use the server (for administrators)")
        .long_about(
            "Say who may use the server (for administrators).\n\n\
             admin: everything; user: jobs of one's own; viewer: sees hosts and queues. In the \
             embedded queue all jobs run as the user who has started the server.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("add")
                .about("Make a user; asks for a password, or reads it from standard input")
                .arg(name())
                .arg(role().long("role").default_value("user").help("What they may do"))
                .arg(
                    Arg::new("link")
                        .long("link")
                        .action(ArgAction::SetTrue)
                        .help("Set no password; print a link that signs in once"),
                ),
        )
        .subcommand(Command::new("list").about("List the users").arg(json_flag()))
        .subcommand(
            Command::new("remove")
                .about("Remove a user with sessions and tokens; the jobs stay")
                .arg(name()),
        )
        .subcommand(
            Command::new("passwd").about("Set a user's password; ends their sessions").arg(name()),
        )
        .subcommand(
            Command::new("role")
                .about("Give a user another role")
                .arg(name())
                .arg(role().required(true)),
        )
}

fn role(text: &str) -> Role {
    match text {
        "admin" => Role::Admin,
        "viewer" => Role::Viewer,
        _ => Role::User,
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Admin => "admin",
        Role::User => "user",
        Role::Viewer => "viewer",
    }
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let (action, matches) = matches.subcommand().ok_or("user: no action given; see --help")?;
    let name = || matches.get_one::<String>("name").cloned().unwrap_or_default();
    match action {
        "add" => add(matches, name()),
        "list" => list(matches.get_flag("json")),
        "remove" => {
            let path = format!("/api/v1/users/{}", percent(&name()));
            server::with(async |client: Client| client.call(Method::DELETE, &path, &()).await)
        }
        "passwd" => {
            let path = format!("/api/v1/users/{}/password", percent(&name()));
            let body = SetPassword { password: password::new(&name())? };
            server::with(async |client: Client| client.call(Method::PUT, &path, &body).await)
        }
        _ => {
            let path = format!("/api/v1/users/{}/role", percent(&name()));
            let text = matches.get_one::<String>("role").map_or("user", String::as_str);
            let body = RoleChange { role: role(text) };
            server::with(async |client: Client| client.call(Method::PUT, &path, &body).await)
        }
    }
    .map(|()| 0)
}

fn add(matches: &ArgMatches, name: String) -> Result<(), String> {
    let text = matches.get_one::<String>("role").map_or("user", String::as_str);
    let link = matches.get_flag("link");
    let password = if link { None } else { Some(password::new(&name)?) };
    let path = format!("/api/v1/users/{}/link", percent(&name));
    let user = NewUser { name, role: role(text), password };
    server::with(async |client: Client| client.post::<User>("/api/v1/users", &[], &user).await)?;
    if !link {
        return Ok(());
    }
    let made = server::with(async |client: Client| {
        client.post::<Link>(&path, &[], &serde_json::json!({})).await
    })?;
    crate::info::print(format!("{}\n", made.url).as_bytes())
}

fn list(json: bool) -> Result<(), String> {
    let users = server::with(async |client: Client| client.get::<Users>("/api/v1/users").await)?;
    if json {
        return super::print_json(serde_json::to_string(&users));
    }
    let mut rows = vec![["USER", "ROLE"].map(str::to_owned)];
    let mut last = vec!["PASSWORD".to_string()];
    for user in &users.users {
        rows.push([printable(&user.name, 64), role_name(user.role).into()]);
        let password = if user.has_password { "set" } else { "none" };
        last.push(format!(
            "{password}{}",
            if user.owner { " (has started the server)" } else { "" }
        ));
    }
    crate::info::print(columns(&rows, last.into_iter()).as_bytes())
}
