//! Info objects: ordered lists of keys and values (MPI 5.0, chapter 10). They may be used before
//! `MPI_Init` and from any thread.

use super::table::{Kind, Table};
use super::{bad_handle, too_many};
use crate::generated::constants::*;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::sync::{Mutex, PoisonError};

/// Keys and values in the order in which the keys were first set. They are bytes as in C; what
/// hpvm itself looks at is text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info(Vec<(Vec<u8>, Vec<u8>)>);

impl Info {
    pub fn get_bytes(&self, key: &[u8]) -> Option<&[u8]> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_slice())
    }

    /// A value that is text.
    pub fn get(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(self.get_bytes(key.as_bytes())?).ok()
    }

    pub fn set_bytes(&mut self, key: &[u8], value: &[u8]) {
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, v)) => *v = value.to_owned(),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    pub fn set(&mut self, key: &str, value: &str) {
        self.set_bytes(key.as_bytes(), value.as_bytes());
    }

    /// False when there is no such key.
    pub fn delete_bytes(&mut self, key: &[u8]) -> bool {
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
    pub fn key_bytes(&self, n: usize) -> Option<&[u8]> {
        self.0.get(n).map(|(k, _)| k.as_slice())
    }

    /// The pairs that are text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = |b| std::str::from_utf8(b).ok();
        self.0.iter().filter_map(move |(k, v)| Some((text(k)?, text(v)?)))
    }
}

/// Key and value that tell what kinds of memory hpvm knows (section 12.4.3): every object has
/// them.
pub const ALLOC_KINDS: (&str, &str) = ("mpi_memory_alloc_kinds", "system,mpi");

static INFOS: Mutex<Table<Info>> = Mutex::new(Table::new(Kind::Info));

/// Uses the info object of a handle; of `MPI_INFO_ENV`, a copy.
pub fn with_info<R>(handle: MPI_Info, f: impl FnOnce(&mut Info) -> R) -> Result<R> {
    if handle == MPI_INFO_ENV {
        return Ok(f(&mut own_environment()));
    }
    let mut infos = INFOS.lock().unwrap_or_else(PoisonError::into_inner);
    let info = infos.get_mut(handle.0);
    let info =
        info.ok_or_else(|| bad_handle(Class::Info, "info", handle == MPI_INFO_NULL, handle.0))?;
    Ok(f(info))
}

/// Info objects that live.
pub fn live() -> usize {
    INFOS.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// `MPI_INFO_ENV` shows how the program was started; it can't be changed.
pub fn check_writable(handle: MPI_Info) -> Result<()> {
    match handle {
        MPI_INFO_ENV => Err(Error::new(Class::Info, "MPI_INFO_ENV can't be changed or freed")),
        _ => Ok(()),
    }
}

/// What `MPI_INFO_ENV` shows: about this process and its arguments.
fn own_environment() -> Info {
    use std::os::unix::ffi::OsStringExt;
    let arguments: Vec<Vec<u8>> = std::env::args_os().map(OsStringExt::into_vec).collect();
    environment(&arguments)
}

/// How a process with these arguments, the program first, was started (section 11.5.3). Unknown
/// things have no key.
pub fn environment(arguments: &[Vec<u8>]) -> Info {
    use std::os::unix::ffi::OsStringExt;
    let mut info = Info::default();
    let mut set = |key: &str, value: Vec<u8>| {
        // Values have a limit; a cut one would be wrong.
        if !value.is_empty() && value.len() < MPI_MAX_INFO_VAL as usize {
            info.set_bytes(key.as_bytes(), &value);
        }
    };
    if let Some((command, rest)) = arguments.split_first() {
        set("command", command.clone());
        set("argv", rest.join(&b' '));
    }
    if let Ok(ranks) = std::env::var("PMI_SIZE") {
        set("maxprocs", ranks.clone().into());
        set("soft", ranks.into());
    }
    set("host", crate::runtime::host_name().into());
    set("arch", std::env::consts::ARCH.into());
    if let Ok(folder) = std::env::current_dir() {
        set("wdir", folder.into_os_string().into_vec());
    }
    // Before MPI runs and after it the lowest, or what was given last.
    set("thread_level", level_name(crate::runtime::thread_level()).into());
    set(ALLOC_KINDS.0, ALLOC_KINDS.1.into());
    info
}

fn level_name(level: i32) -> &'static str {
    match level {
        MPI_THREAD_MULTIPLE => "MPI_THREAD_MULTIPLE",
        MPI_THREAD_SERIALIZED => "MPI_THREAD_SERIALIZED",
        MPI_THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        _ => "MPI_THREAD_SINGLE",
    }
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
    check_writable(handle)?;
    let mut infos = INFOS.lock().unwrap_or_else(PoisonError::into_inner);
    let removed = infos.remove(handle.0);
    removed
        .map(drop)
        .ok_or_else(|| bad_handle(Class::Info, "info", handle == MPI_INFO_NULL, handle.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_bytes() {
        let mut info = Info::default();
        info.set("b", "1");
        info.set("a", "2");
        info.set_bytes(b"\xff", b"\xfe");
        info.set("b", "3");
        assert_eq!((info.len(), info.key_bytes(0), info.get("b")), (3, Some(&b"b"[..]), Some("3")));
        assert_eq!(info.get_bytes(b"\xff"), Some(&b"\xfe"[..]));
        assert_eq!(info.iter().count(), 2);
        assert!(info.delete_bytes(b"b") && !info.delete_bytes(b"b"));
        assert_eq!(info.key_bytes(0), Some(&b"a"[..]));
    }

    #[test]
    fn the_environment_tells_command_and_arguments() {
        let info = environment(&[b"prog".to_vec(), b"-n".to_vec(), b"3".to_vec()]);
        assert_eq!((info.get("command"), info.get("argv")), (Some("prog"), Some("-n 3")));
        assert!(info.get("wdir").is_some() && info.get("host").is_some());
        assert_eq!(environment(&[]).get("command"), None);
    }
}
