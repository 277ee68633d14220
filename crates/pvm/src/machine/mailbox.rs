//! The mailbox: messages by name and index.

use super::ClientId;
use crate::protocol::{ClassLine, Mail};
use crate::{Code, Tid};
use std::collections::BTreeMap;

const PERSISTENT: i32 = 1;
const MULTI_INSTANCE: i32 = 2;
const OVERWRITABLE: i32 = 4;
const FIRST_AVAIL: i32 = 8;
const READ_AND_DELETE: i32 = 16;
const WAIT_FOR_INFO: i32 = 32;
/// Flags above are an index: `PvmMboxDirectIndex`.
const DIRECT_INDEX_SHIFT: u32 = 10;

#[derive(Debug)]
struct Entry {
    owner: Tid,
    flags: i32,
    mail: Mail,
}

#[derive(Clone, Debug)]
struct Waiter {
    client: ClientId,
    tid: Tid,
    name: String,
    index: i32,
    flags: i32,
}

/// All entries, and who waits for one.
#[derive(Debug, Default)]
pub struct Mailbox {
    classes: BTreeMap<String, BTreeMap<i32, Entry>>,
    waiting: Vec<Waiter>,
}

/// A message for somebody who waited.
pub type Served = Vec<(ClientId, Mail)>;

impl Mailbox {
    /// Inserts a message; returns its index.
    ///
    /// # Errors
    /// The name is there, or somebody else's.
    pub fn put(
        &mut self,
        name: &str,
        tid: Tid,
        flags: i32,
        mail: Mail,
    ) -> Result<(i32, Served), Code> {
        if name.is_empty() || flags < 0 {
            return Err(Code::BadParam);
        }
        let direct = flags >> DIRECT_INDEX_SHIFT;
        let flags = flags & ((1 << DIRECT_INDEX_SHIFT) - 1);
        let class = self.classes.entry(name.to_owned()).or_default();
        let first = class.values().next().map(|entry| entry.flags);
        let several = flags & MULTI_INSTANCE != 0;
        let index = match first {
            None if direct > 0 => Err(Code::NotFound),
            None => Ok(0),
            // The first entry says what the class is.
            Some(_) if direct > 0 => match class.get(&direct) {
                Some(entry) if entry.flags & OVERWRITABLE != 0 || entry.owner == tid => Ok(direct),
                Some(_) => Err(Code::Denied),
                None => Err(Code::NotFound),
            },
            Some(of_class) if (of_class & MULTI_INSTANCE != 0) != several => Err(Code::Exists),
            Some(_) if several => Ok((0..).find(|index| !class.contains_key(index)).unwrap_or(0)),
            Some(of_class) if of_class & flags & OVERWRITABLE != 0 => Ok(0),
            Some(_)
                if class
                    .get(&0)
                    .is_some_and(|entry| entry.owner == tid && flags & OVERWRITABLE != 0) =>
            {
                Ok(0)
            }
            Some(_) if flags & OVERWRITABLE != 0 => Err(Code::Denied),
            Some(_) => Err(Code::Exists),
        };
        if class.is_empty() && index.is_err() {
            self.classes.remove(name);
        }
        let index = index?;
        if let Some(class) = self.classes.get_mut(name) {
            class.insert(index, Entry { owner: tid, flags, mail });
        }
        Ok((index, self.serve(name)))
    }

    /// Those who wait for `name`, as far as it is there now.
    fn serve(&mut self, name: &str) -> Served {
        let mut served = Vec::new();
        for waiter in std::mem::take(&mut self.waiting) {
            if waiter.name != name {
                self.waiting.push(waiter);
                continue;
            }
            match self.read(&waiter.name, waiter.tid, waiter.index, waiter.flags) {
                Ok(mail) => served.push((waiter.client, mail)),
                Err(_) => self.waiting.push(waiter),
            }
        }
        served
    }

    fn read(&mut self, name: &str, tid: Tid, index: i32, flags: i32) -> Result<Mail, Code> {
        let class = self.classes.get_mut(name).ok_or(Code::NotFound)?;
        let index = if flags & FIRST_AVAIL != 0 {
            *class.range(index..).next().ok_or(Code::NotFound)?.0
        } else {
            index
        };
        let entry = class.get(&index).ok_or(Code::NotFound)?;
        if flags & READ_AND_DELETE == 0 {
            return Ok(entry.mail.clone());
        }
        if !may_delete(entry, tid) {
            return Err(Code::Denied);
        }
        let entry = class.remove(&index).ok_or(Code::NotFound)?;
        if class.is_empty() {
            self.classes.remove(name);
        }
        Ok(entry.mail)
    }

    /// The message of a name and index. `Ok(None)`: the client waits for it.
    ///
    /// # Errors
    /// It is not there, or may not be deleted.
    pub fn fetch(
        &mut self,
        name: &str,
        client: ClientId,
        tid: Tid,
        index: i32,
        flags: i32,
    ) -> Result<Option<Mail>, Code> {
        if name.is_empty() || index < 0 || flags < 0 {
            return Err(Code::BadParam);
        }
        match self.read(name, tid, index, flags) {
            Err(Code::NotFound) if flags & WAIT_FOR_INFO != 0 => {
                self.waiting.push(Waiter { client, tid, name: name.to_owned(), index, flags });
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// # Errors
    /// It is not there, or somebody else's.
    pub fn delete(&mut self, name: &str, tid: Tid, index: i32) -> Result<(), Code> {
        if name.is_empty() || index < 0 {
            return Err(Code::BadParam);
        }
        let class = self.classes.get_mut(name).ok_or(Code::NotFound)?;
        let entry = class.get(&index).ok_or(Code::NotFound)?;
        if !may_delete(entry, tid) {
            return Err(Code::Denied);
        }
        class.remove(&index);
        if class.is_empty() {
            self.classes.remove(name);
        }
        Ok(())
    }

    /// Names that `pattern` matches.
    pub fn names(&self, pattern: &str) -> Vec<ClassLine> {
        let fits = |name: &&String| matches(pattern, name);
        let names = self.classes.keys().filter(fits);
        names
            .map(|name| {
                let entries = &self.classes[name];
                ClassLine {
                    name: name.clone(),
                    indices: entries.keys().copied().collect(),
                    owners: entries.values().map(|entry| entry.owner).collect(),
                    flags: entries.values().map(|entry| entry.flags).collect(),
                }
            })
            .collect()
    }

    /// The task is gone: its entries go, or have no owner any more.
    pub fn gone(&mut self, client: ClientId, tid: Tid) {
        self.waiting.retain(|waiter| waiter.client != client);
        for class in self.classes.values_mut() {
            class.retain(|_, entry| entry.owner != tid || entry.flags & PERSISTENT != 0);
            class.values_mut().filter(|entry| entry.owner == tid).for_each(|entry| entry.owner = 0);
        }
        self.classes.retain(|_, class| !class.is_empty());
    }

    /// Empties it (`reset`).
    pub fn clear(&mut self) {
        self.classes.clear();
    }
}

fn may_delete(entry: &Entry, tid: Tid) -> bool {
    entry.owner == tid || entry.owner == 0 || entry.flags & OVERWRITABLE != 0
}

/// `*` and `?` as in a shell; everything else is itself, anywhere in the name as regular expressions match.
fn matches(pattern: &str, name: &str) -> bool {
    if matches!(pattern, "" | "*" | ".*") {
        return true;
    }
    let (pattern, anchored) = match pattern.strip_prefix('^') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let (pattern, ends) = match pattern.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let pattern = pattern.replace(".*", "*");
    let starts = if anchored { 0..1 } else { 0..name.len() + 1 };
    starts
        .filter_map(|at| name.get(at..))
        .any(|rest| glob(pattern.as_bytes(), rest.as_bytes(), ends))
}

fn glob(pattern: &[u8], name: &[u8], ends: bool) -> bool {
    match pattern.split_first() {
        None => !ends || name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|at| glob(rest, &name[at..], ends)),
        Some((b'?' | b'.', rest)) => !name.is_empty() && glob(rest, &name[1..], ends),
        Some((byte, rest)) => name.first() == Some(byte) && glob(rest, &name[1..], ends),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(tag: i32) -> Mail {
        Mail { tag, ..Mail::default() }
    }

    #[test]
    fn a_default_entry_is_there_once_and_goes_with_its_owner() {
        let mut mailbox = Mailbox::default();
        assert_eq!(mailbox.put("n", 1, 0, mail(1)).expect("puts").0, 0);
        assert_eq!(mailbox.put("n", 2, 0, mail(2)), Err(Code::Exists));
        assert_eq!(mailbox.put("n", 2, OVERWRITABLE, mail(2)), Err(Code::Denied));
        assert_eq!(mailbox.delete("n", 2, 0), Err(Code::Denied));
        assert_eq!(mailbox.fetch("n", 0, 2, 0, READ_AND_DELETE), Err(Code::Denied));
        assert_eq!(mailbox.fetch("n", 0, 2, 0, 0), Ok(Some(mail(1))));
        mailbox.gone(1, 1);
        assert_eq!(mailbox.fetch("n", 0, 2, 0, 0), Err(Code::NotFound));
        assert!(mailbox.names("").is_empty());
    }

    #[test]
    fn several_instances_have_the_lowest_free_index() {
        let mut mailbox = Mailbox::default();
        for index in 0..3 {
            assert_eq!(mailbox.put("n", 1, MULTI_INSTANCE, mail(index)).expect("puts").0, index);
        }
        mailbox.delete("n", 1, 1).expect("deletes");
        assert_eq!(mailbox.fetch("n", 0, 2, 1, FIRST_AVAIL), Ok(Some(mail(2))));
        assert_eq!(mailbox.fetch("n", 0, 2, 1, 0), Err(Code::NotFound));
        assert_eq!(mailbox.put("n", 2, MULTI_INSTANCE, mail(9)).expect("puts").0, 1);
    }

    #[test]
    fn who_waits_gets_it_when_it_comes() {
        let mut mailbox = Mailbox::default();
        assert_eq!(mailbox.fetch("n", 7, 2, 0, WAIT_FOR_INFO), Ok(None));
        assert_eq!(mailbox.put("m", 1, 0, mail(1)).expect("puts").1, []);
        assert_eq!(mailbox.put("n", 1, 0, mail(3)).expect("puts").1, [(7, mail(3))]);
    }

    #[test]
    fn persistent_entries_stay_without_owner() {
        let mut mailbox = Mailbox::default();
        mailbox.put("n", 1, PERSISTENT | OVERWRITABLE, mail(1)).expect("puts");
        mailbox.gone(1, 1);
        assert_eq!(mailbox.names("n")[0].owners, [0]);
        let (index, _) = mailbox.put("n", 2, OVERWRITABLE, mail(2)).expect("overwrites");
        assert_eq!(index, 0);
        assert_eq!(mailbox.fetch("n", 0, 3, 0, READ_AND_DELETE), Ok(Some(mail(2))));
    }

    #[test]
    fn patterns() {
        for (pattern, name, fits) in [
            ("*", "x", true),
            ("ab", "xaby", true),
            ("^ab", "xab", false),
            ("a.*c$", "abbc", true),
            ("a?c", "abd", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
