//! Info objects: ordered lists of keys and values (MPI 5.0, chapter 10). They may be used before
//! `MPI_Init` and from any thread.

use super::table::{Kind, Table};
use super::{bad_handle, too_many};
use crate::generated::constants::{MPI_INFO_ENV, MPI_INFO_NULL, MPI_Info};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::sync::{Mutex, PoisonError};

/// Keys and values in the order in which the keys were first set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info(Vec<(String, String)>);

impl Info {
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    pub fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, v)) => *v = value.to_owned(),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    /// False when there is no such key.
    pub fn delete(&mut self, key: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(k, _)| k != key);
        self.0.len() != before
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Key number `n` in order.
    pub fn key(&self, n: usize) -> Option<&str> {
        self.0.get(n).map(|(k, _)| k.as_str())
    }
}

static INFOS: Mutex<Table<Info>> = Mutex::new(Table::new(Kind::Info));

/// Uses the info object of a handle. `MPI_INFO_ENV` is filled by the caller of `set_environment`;
/// before that it is empty.
pub fn with_info<R>(handle: MPI_Info, f: impl FnOnce(&mut Info) -> R) -> Result<R> {
    if handle == MPI_INFO_ENV {
        let mut env = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        return Ok(f(&mut env));
    }
    let mut infos = INFOS.lock().unwrap_or_else(PoisonError::into_inner);
    let info = infos.get_mut(handle.0);
    let info =
        info.ok_or_else(|| bad_handle(Class::Info, "info", handle == MPI_INFO_NULL, handle.0))?;
    Ok(f(info))
}

static ENVIRONMENT: Mutex<Info> = Mutex::new(Info(Vec::new()));

/// Sets what `MPI_INFO_ENV` shows.
pub fn set_environment(info: Info) {
    *ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner) = info;
}

/// A copy of the info of a handle; empty for `MPI_INFO_NULL`, which many calls accept.
pub fn copy_or_empty(handle: MPI_Info) -> Result<Info> {
    match handle {
        MPI_INFO_NULL => Ok(Info::default()),
        other => with_info(other, |i| i.clone()),
    }
}

/// Keeps an info object and returns its handle.
pub fn add(info: Info) -> Result<MPI_Info> {
    let mut infos = INFOS.lock().unwrap_or_else(PoisonError::into_inner);
    infos.insert(info).map(MPI_Info).ok_or_else(|| too_many("info objects"))
}

/// Frees a handle.
pub fn remove(handle: MPI_Info) -> Result<()> {
    let mut infos = INFOS.lock().unwrap_or_else(PoisonError::into_inner);
    let removed = infos.remove(handle.0);
    removed
        .map(drop)
        .ok_or_else(|| bad_handle(Class::Info, "info", handle == MPI_INFO_NULL, handle.0))
}
