//! Tokens of programs: whose, for what, until when. Only their hashes are here.

use rusqlite::{OptionalExtension, Row, params};

use super::accounts::User;
use super::{Store, StoreError};
use crate::time::Stamp;

/// Tokens of one user, at most: more are a program that makes one for each call.
const PER_USER: i64 = 100;
/// The time of the last use is written at most this often: an hour.
const USED_EVERY_MS: i64 = 3_600_000;

/// A token as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: i64,
    pub user: String,
    pub name: String,
    pub scopes: Vec<String>,
    pub created: Stamp,
    pub expires: Option<Stamp>,
    /// Its last use, to the hour.
    pub used: Option<Stamp>,
}

/// A token to be recorded.
#[derive(Clone, Debug)]
pub struct NewToken {
    pub hash: Vec<u8>,
    pub user: String,
    pub name: String,
    pub scopes: Vec<String>,
    pub expires: Option<Stamp>,
    /// Made by signing in: a new password ends it.
    pub login: bool,
}

const COLUMNS: &str = "id, user, name, scopes, created, expires, used";

fn token(row: &Row<'_>) -> rusqlite::Result<Token> {
    let scopes: String = row.get(3)?;
    Ok(Token {
        id: row.get(0)?,
        user: row.get(1)?,
        name: row.get(2)?,
        scopes: scopes.split(',').map(str::to_owned).collect(),
        created: Stamp(row.get(4)?),
        expires: row.get::<_, Option<i64>>(5)?.map(Stamp),
        used: row.get::<_, Option<i64>>(6)?.map(Stamp),
    })
}

impl Store {
    /// Records a token, and forgets those of the user that are over.
    pub fn add_token(&mut self, new: &NewToken, now: Stamp) -> Result<Token, StoreError> {
        let transaction = self.begin()?;
        transaction.execute(
            "DELETE FROM tokens WHERE user = ?1 AND expires <= ?2",
            params![new.user, now.0],
        )?;
        let count: i64 = transaction.query_row(
            "SELECT count(*) FROM tokens WHERE user = ?1",
            [&new.user],
            |row| row.get(0),
        )?;
        if count >= PER_USER {
            return Err(StoreError::Refused(format!(
                "{} has {count} tokens, and the limit is {PER_USER}: revoke some",
                new.user
            )));
        }
        transaction.execute(
            "INSERT INTO tokens (hash, user, name, scopes, created, expires, login) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                new.hash,
                new.user,
                new.name,
                new.scopes.join(","),
                now.0,
                new.expires.map(|at| at.0),
                new.login
            ],
        )?;
        let id = transaction.last_insert_rowid();
        let sql = format!("SELECT {COLUMNS} FROM tokens WHERE id = ?1");
        let made = transaction.query_row(&sql, [id], token)?;
        transaction.commit()?;
        Ok(made)
    }

    /// The token with this hash and its user, if it is not over.
    pub fn token(&self, hash: &[u8], now: Stamp) -> Result<Option<(Token, User)>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tokens WHERE hash = ?1 AND (expires IS NULL OR expires > ?2)"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let found = statement.query_row(params![hash, now.0], token).optional()?;
        let Some(found) = found else { return Ok(None) };
        Ok(self.user(&found.user)?.map(|user| (found, user)))
    }

    /// Whether the time of this use should be written down.
    pub fn is_use_news(token: &Token, now: Stamp) -> bool {
        token.used.is_none_or(|used| (now.0 - used.0).abs() >= USED_EVERY_MS)
    }

    pub fn token_used(&mut self, id: i64, now: Stamp) -> Result<(), StoreError> {
        self.db.execute("UPDATE tokens SET used = ?2 WHERE id = ?1", params![id, now.0])?;
        Ok(())
    }

    /// The tokens of a user, or all.
    pub fn tokens(&self, user: Option<&str>) -> Result<Vec<Token>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM tokens WHERE ?1 IS NULL OR user = ?1 ORDER BY user, id");
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([user], token)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Ends a token; of this user only, when one is named.
    pub fn revoke_token(&mut self, id: i64, user: Option<&str>) -> Result<Token, StoreError> {
        let sql = format!(
            "DELETE FROM tokens WHERE id = ?1 AND (?2 IS NULL OR user = ?2) RETURNING {COLUMNS}"
        );
        let gone = self.db.query_row(&sql, params![id, user], token).optional()?;
        gone.ok_or_else(|| StoreError::Missing(format!("there is no token {id}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_end_by_time_by_hand_and_with_their_user() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        store.add_user("ann", "user").unwrap();
        store.add_user("bob", "admin,user").unwrap();
        let mut add = |hash: &[u8], user: &str, expires| {
            let (user, name) = (user.to_string(), "t".to_string());
            let (hash, scopes, login) = (hash.to_vec(), vec!["read".into()], user == "bob");
            let new = NewToken { hash, user, name, scopes, expires, login };
            store.add_token(&new, Stamp(0)).unwrap().id
        };
        let (first, _) = (add(b"a", "ann", Some(Stamp(10))), add(b"b", "bob", None));
        let third = add(b"c", "ann", None);
        let is = |store: &Store, hash: &[u8], at| store.token(hash, Stamp(at)).unwrap().is_some();
        assert!(is(&store, b"a", 9) && !is(&store, b"a", 10) && is(&store, b"b", 10));
        assert!(store.revoke_token(first, Some("bob")).is_err(), "of somebody else");
        store.revoke_token(first, Some("ann")).unwrap();
        assert!(!is(&store, b"a", 0) && is(&store, b"c", 0));
        store.set_password("ann", "hash", None).unwrap();
        store.set_password("bob", "hash", None).unwrap();
        assert!(is(&store, b"c", 0) && !is(&store, b"b", 0), "a new password ends sign-ins");
        store.remove_user("ann").unwrap();
        assert!(!is(&store, b"c", 0));
        assert!(store.revoke_token(third, None).is_err());
        assert_eq!(store.tokens(None).unwrap().len(), 0);
        assert_eq!(store.tokens(Some("ann")).unwrap().len(), 0);
    }
}
