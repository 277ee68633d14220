//! Users, sessions and one-time links. Secrets are not here, only their hashes: whoever reads a
//! copy of the store cannot sign in with it.

use rusqlite::{OptionalExtension, Row, params};

use super::{Store, StoreError};
use crate::time::Stamp;

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub roles: Vec<String>,
    /// An argon2id hash.
    pub password: Option<String>,
}

fn user(row: &Row<'_>) -> rusqlite::Result<User> {
    let roles: String = row.get(1)?;
    let roles = roles.split(',').filter(|role| !role.is_empty()).map(str::to_owned);
    Ok(User { name: row.get(0)?, roles: roles.collect(), password: row.get(2)? })
}

impl Store {
    /// Makes a user with these roles, or leaves the one there is.
    pub fn ensure_user(&mut self, name: &str, roles: &[&str]) -> Result<(), StoreError> {
        let sql = "INSERT INTO users (name, roles) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
        self.db.execute(sql, params![name, roles.join(",")])?;
        Ok(())
    }

    /// Makes a user, who cannot sign in before a password is set.
    pub fn add_user(&mut self, name: &str, roles: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO users (name, roles) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
        match self.db.execute(sql, [name, roles])? {
            0 => Err(StoreError::Refused(format!("there is a user '{name}' already"))),
            _ => Ok(()),
        }
    }

    /// All users, by name.
    pub fn users(&self) -> Result<Vec<User>, StoreError> {
        let mut statement =
            self.db.prepare_cached("SELECT name, roles, password FROM users ORDER BY name")?;
        let rows = statement.query_map([], user)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Gives a user other roles; the sessions stay and have the new ones.
    pub fn set_roles(&mut self, name: &str, roles: &str) -> Result<(), StoreError> {
        self.change_user("UPDATE users SET roles = ?2 WHERE name = ?1", &[name, roles], name)
    }

    /// Removes a user with sessions, links and tokens. Jobs and their records stay.
    pub fn remove_user(&mut self, name: &str) -> Result<(), StoreError> {
        self.change_user("DELETE FROM users WHERE name = ?1", &[name], name)
    }

    /// Changes one user, unless that leaves no administrator.
    fn change_user(&mut self, sql: &str, words: &[&str], name: &str) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        if transaction.execute(sql, rusqlite::params_from_iter(words))? == 0 {
            return Err(StoreError::Missing(format!("there is no user '{name}'")));
        }
        let admins = "SELECT count(*) FROM users WHERE ',' || roles || ',' LIKE '%,admin,%'";
        if transaction.query_row(admins, [], |row| row.get::<_, i64>(0))? == 0 {
            let text = format!("'{name}' is the last administrator: make somebody else one first");
            return Err(StoreError::Refused(text));
        }
        transaction.commit()?;
        Ok(())
    }

    pub fn user(&self, name: &str) -> Result<Option<User>, StoreError> {
        let mut statement =
            self.db.prepare_cached("SELECT name, roles, password FROM users WHERE name = ?1")?;
        Ok(statement.query_row([name], user).optional()?)
    }

    /// Sets a password and ends all sessions of the user but one, and tokens made by signing in, in
    /// one step.
    pub fn set_password(
        &mut self,
        name: &str,
        hash: &str,
        keep: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        let changed =
            transaction.execute("UPDATE users SET password = ?2 WHERE name = ?1", [name, hash])?;
        if changed == 0 {
            return Err(StoreError::Missing(format!("there is no user '{name}'")));
        }
        transaction.execute(
            "DELETE FROM sessions WHERE user = ?1 AND hash IS NOT ?2",
            params![name, keep],
        )?;
        transaction.execute("DELETE FROM links WHERE user = ?1", [name])?;
        transaction.execute("DELETE FROM tokens WHERE user = ?1 AND login = 1", [name])?;
        transaction.commit()?;
        Ok(())
    }

    /// Records a session by its hash, and forgets those that are over.
    pub fn open_session(
        &mut self,
        hash: &[u8],
        user: &str,
        now: Stamp,
        seconds: u64,
    ) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        transaction.execute("DELETE FROM sessions WHERE expires <= ?1", [now.0])?;
        let sql = "INSERT INTO sessions (hash, user, created, expires) VALUES (?1, ?2, ?3, ?4)";
        transaction.execute(sql, params![hash, user, now.0, now.after(seconds).0])?;
        transaction.commit()?;
        Ok(())
    }

    /// The user of a session that is not over.
    pub fn session(&self, hash: &[u8], now: Stamp) -> Result<Option<User>, StoreError> {
        let sql = "SELECT user FROM sessions WHERE hash = ?1 AND expires > ?2";
        let mut statement = self.db.prepare_cached(sql)?;
        let user: Option<String> =
            statement.query_row(params![hash, now.0], |row| row.get(0)).optional()?;
        user.map_or(Ok(None), |user| self.user(&user))
    }

    pub fn close_session(&mut self, hash: &[u8]) -> Result<(), StoreError> {
        self.db.execute("DELETE FROM sessions WHERE hash = ?1", [hash])?;
        Ok(())
    }

    /// Records a one-time link.
    pub fn put_link(
        &mut self,
        hash: &[u8],
        user: &str,
        now: Stamp,
        seconds: u64,
    ) -> Result<(), StoreError> {
        self.db.execute("DELETE FROM links WHERE expires <= ?1", [now.0])?;
        let sql = "INSERT INTO links (hash, user, expires) VALUES (?1, ?2, ?3)";
        self.db.execute(sql, params![hash, user, now.after(seconds).0])?;
        Ok(())
    }

    /// Uses a link up; the user it was for.
    pub fn take_link(&mut self, hash: &[u8], now: Stamp) -> Result<Option<User>, StoreError> {
        let sql = "DELETE FROM links WHERE hash = ?1 AND expires > ?2 RETURNING user";
        let user: Option<String> =
            self.db.query_row(sql, params![hash, now.0], |row| row.get(0)).optional()?;
        user.map_or(Ok(None), |user| self.user(&user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_come_and_go_but_never_the_last_administrator() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        store.add_user("ann", "admin,user").unwrap();
        assert!(store.add_user("ann", "user").is_err());
        store.add_user("administrator", "user").unwrap();
        for done in [store.set_roles("ann", "viewer"), store.remove_user("ann")] {
            assert!(done.unwrap_err().to_string().contains("last administrator"));
        }
        assert_eq!(store.user("ann").unwrap().unwrap().roles, ["admin", "user"], "nothing changed");
        store.set_roles("administrator", "admin,user").unwrap();
        store.remove_user("ann").unwrap();
        assert!(store.remove_user("ann").is_err());
        assert_eq!(store.users().unwrap().len(), 1);
    }

    #[test]
    fn sessions_end_with_the_password_and_links_work_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        store.ensure_user("me", &["admin", "user"]).unwrap();
        store.put_link(b"l", "me", Stamp(0), 10).unwrap();
        assert!(store.take_link(b"l", Stamp(11_000)).unwrap().is_none());
        assert_eq!(store.take_link(b"l", Stamp(5)).unwrap().unwrap().roles, ["admin", "user"]);
        assert!(store.take_link(b"l", Stamp(5)).unwrap().is_none());
        for hash in [b"a", b"b"] {
            store.open_session(hash, "me", Stamp(0), 10).unwrap();
        }
        assert!(store.session(b"a", Stamp(10_000)).unwrap().is_none(), "over");
        store.set_password("me", "hash", Some(b"b")).unwrap();
        assert!(store.session(b"a", Stamp(5)).unwrap().is_none());
        assert!(store.session(b"b", Stamp(5)).unwrap().is_some());
        assert!(store.set_password("nobody", "hash", None).is_err());
    }
}
