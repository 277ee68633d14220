//! Users, for administrators.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::extract::Body;
use super::session::{check_password, link_for, set_password};
use super::types::{Link, NewUser, Role, RoleChange, SetPassword, User, Users};
use crate::app::App;
use crate::auth::{Admin, Who};
use crate::problem::Problem;
use hpvm_queue::store::accounts;

/// Longest name of a user.
const NAME_MAX: usize = 64;

impl Role {
    /// As the store has it: an administrator is a user, too.
    fn stored(self) -> &'static str {
        match self {
            Role::Admin => "admin,user",
            Role::User => "user",
            Role::Viewer => "viewer",
        }
    }

    fn of(roles: &[String]) -> Role {
        let has = |word| roles.iter().any(|role| role == word);
        match (has("admin"), has("user")) {
            (true, _) => Role::Admin,
            (_, true) => Role::User,
            _ => Role::Viewer,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::User => "user",
            Role::Viewer => "viewer",
        }
    }
}

fn shown(app: &App, user: accounts::User) -> User {
    let owner = user.name == app.owner;
    let has_password = user.password.is_some();
    User { role: Role::of(&user.roles), name: user.name, has_password, owner }
}

pub async fn list(State(app): State<App>, _: Admin) -> Result<Json<Users>, Problem> {
    let users = app.read(|store| store.users()).await?;
    Ok(Json(Users { users: users.into_iter().map(|user| shown(&app, user)).collect() }))
}

fn check_name(name: &str) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    let good = (1..=NAME_MAX).contains(&name.len())
        && name.chars().all(plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if good {
        return Ok(());
    }
    let text = format!(
        "'{}'; expected 1 to {NAME_MAX} letters, digits, and . _ - @ behind the first",
        name.escape_debug()
    );
    Err(Problem::fields(vec![("name", text)]))
}

pub async fn add(
    State(app): State<App>,
    Admin(who): Admin,
    Body(asked): Body<NewUser>,
) -> Result<(StatusCode, Json<User>), Problem> {
    check_name(&asked.name)?;
    if let Some(password) = &asked.password {
        check_password("password", password)?;
    }
    let (name, role) = (asked.name, asked.role);
    let target = format!("{name} as {}", role.name());
    let key = name.clone();
    app.change(&who, "add user", target, move |manager| {
        manager.store().add_user(&key, role.stored())
    })
    .await?;
    if let Some(password) = asked.password {
        set_password(&app, &who, name.clone(), password).await?;
    }
    let user = find(&app, name).await?;
    Ok((StatusCode::CREATED, Json(shown(&app, user))))
}

async fn find(app: &App, name: String) -> Result<accounts::User, Problem> {
    let missing = Problem::missing(format!("there is no user '{}'", name.escape_debug()));
    app.read(move |store| store.user(&name)).await?.ok_or(missing)
}

/// The owner comes in over the socket and is an administrator whatever the store says.
fn not_owner(app: &App, name: &str, what: &str) -> Result<(), Problem> {
    if name != app.owner {
        return Ok(());
    }
    let text = format!("'{name}' has started this server, and {what}");
    Err(Problem::new(StatusCode::CONFLICT, text))
}

pub async fn remove(
    State(app): State<App>,
    Admin(who): Admin,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    not_owner(&app, &name, "cannot be removed")?;
    app.change(&who, "remove user", name.clone(), move |manager| {
        manager.store().remove_user(&name)
    })
    .await?;
    app.access_changed();
    Ok(StatusCode::NO_CONTENT)
}

pub async fn role(
    State(app): State<App>,
    Admin(who): Admin,
    Path(name): Path<String>,
    Body(asked): Body<RoleChange>,
) -> Result<Json<User>, Problem> {
    not_owner(&app, &name, "stays its administrator")?;
    let (key, role) = (name.clone(), asked.role);
    let target = format!("{name}: {}", role.name());
    app.change(&who, "set role", target, move |manager| {
        manager.store().set_roles(&key, role.stored())
    })
    .await?;
    app.access_changed();
    Ok(Json(shown(&app, find(&app, name).await?)))
}

pub async fn password(
    State(app): State<App>,
    Admin(who): Admin,
    Path(name): Path<String>,
    Body(asked): Body<SetPassword>,
) -> Result<StatusCode, Problem> {
    check_password("password", &asked.password)?;
    find(&app, name.clone()).await?;
    set_password(&app, &who, name, asked.password).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A one-time link by which somebody comes in who has no password.
pub async fn link(
    State(app): State<App>,
    Admin(who): Admin,
    Path(name): Path<String>,
) -> Result<Json<Link>, Problem> {
    find(&app, name.clone()).await?;
    let made = link_for(&app, name.clone()).await?;
    note(&app, &who, "make link", name).await?;
    Ok(Json(made))
}

/// Writes into the audit log what was done otherwise.
async fn note(app: &App, who: &Who, action: &'static str, target: String) -> Result<(), Problem> {
    app.change(who, action, target, |_| Ok(())).await
}
