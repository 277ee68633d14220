//! Handles of teams and contexts: an index and a generation, so that a handle of what has been destroyed is recognised.

use core::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// Objects of one kind at a time. Communicators end at 8192.
pub const MAX: usize = 4096;
/// Bits of the index.
const INDEX: u32 = 16;
/// Indices begin here, so that no handle is one of those that the header defines.
const FIRST_INDEX: usize = 16;

struct Entry<T> {
    handle: usize,
    value: T,
}

/// Objects by handle. Looking one up takes no lock.
pub struct Table<T> {
    entries: [AtomicPtr<Entry<T>>; MAX],
    /// The number of objects so far: generations never come again.
    made: Mutex<usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { entries: [const { AtomicPtr::new(null_mut()) }; MAX], made: Mutex::new(0) }
    }
}

impl<T> Table<T> {
    pub fn new() -> Table<T> {
        Table::default()
    }

    /// The handle of a new object. `None`: there are [`MAX`].
    pub fn insert(&self, value: T) -> Option<usize> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: changed under the lock only.
        let free = self.entries.iter().position(|e| e.load(Ordering::Relaxed).is_null())?;
        *made += 1;
        let handle = *made << INDEX | (free + FIRST_INDEX);
        let entry = Box::into_raw(Box::new(Entry { handle, value }));
        // Release pairs with the acquire in `get`: the content comes first.
        self.entries[free].store(entry, Ordering::Release);
        Some(handle)
    }

    /// Whether `insert` finds room now.
    pub fn has_room(&self) -> bool {
        let _held = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: changed under the lock only.
        self.entries.iter().any(|entry| entry.load(Ordering::Relaxed).is_null())
    }

    #[inline(always)]
    pub fn get(&self, handle: usize) -> Option<&T> {
        let index = (handle & ((1 << INDEX) - 1)).wrapping_sub(FIRST_INDEX);
        // Acquire pairs with the release in `insert`.
        let entry = self.entries.get(index)?.load(Ordering::Acquire);
        // SAFETY: null, or made by `insert` and not removed: the program must not destroy what it uses.
        let entry = unsafe { entry.as_ref() }?;
        (entry.handle == handle).then_some(&entry.value)
    }

    /// Takes an object out. `None`: the handle is of none.
    pub fn remove(&self, handle: usize) -> Option<T> {
        let _held = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        self.get(handle)?;
        let index = (handle & ((1 << INDEX) - 1)) - FIRST_INDEX;
        // AcqRel: as in `insert` and `get`.
        let entry = self.entries[index].swap(null_mut(), Ordering::AcqRel);
        // SAFETY: `insert` made it, and it is in the table no more.
        Some(unsafe { Box::from_raw(entry) }.value)
    }

    /// The handles of all objects.
    pub fn handles(&self) -> Vec<usize> {
        let _held = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // Acquire: as in `get`.
        let entries = self.entries.iter().map(|e| e.load(Ordering::Acquire));
        // SAFETY: null or in the table, which is locked.
        entries.filter_map(|e| unsafe { e.as_ref() }).map(|e| e.handle).collect()
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        for handle in self.handles() {
            self.remove(handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_the_past_is_known_as_such() {
        let table = Table::new();
        let first = table.insert("a").expect("room");
        assert_eq!(table.get(first), Some(&"a"));
        assert_eq!(table.remove(first), Some("a"));
        let second = table.insert("b").expect("room");
        assert_eq!((table.get(first), table.get(second)), (None, Some(&"b")));
        assert_eq!(table.remove(first), None);
        for wrong in [0, 1, 2, 15, 16, usize::MAX, first ^ 1] {
            assert_eq!(table.get(wrong), None, "{wrong}");
        }
        assert!(table.has_room());
        let more: Vec<usize> = (1..MAX).filter_map(|_| table.insert("c")).collect();
        assert_eq!((more.len(), table.insert("d")), (MAX - 1, None));
        assert_eq!((table.handles().len(), table.has_room()), (MAX, false));
    }
}
