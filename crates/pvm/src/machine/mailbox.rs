//! The mailbox: messages by name and index.

use super::ClientId;
use crate::protocol::{ClassLine, Mail};
use crate::{Code, Tid};
use std::collections::BTreeMap;

pub const PERSISTENT: i32 = 1;
pub const MULTI_INSTANCE: i32 = 2;
const OVERWRITABLE: i32 = 4;
const FIRST_AVAIL: i32 = 8;
const READ_AND_DELETE: i32 = 16;
const WAIT_FOR_INFO: i32 = 32;
/// Not of PVM: `pvm_insert` takes no other's place.
pub const ONLY_NEW: i32 = 1 << (DIRECT_INDEX_SHIFT - 1);
/// Flags above are an index: `PvmMboxDirectIndex`.
pub const DIRECT_INDEX_SHIFT: u32 = 10;

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
    /// Inserts a message; returns its index. As PVM 3.4.6: one of several instances has the lowest index that is free; any other takes the
    /// place of what is at its index, 0 unless the flags say which, if that is the task's own or may be overwritten.
    ///
    /// # Errors
    /// What is there is somebody else's, or the call (`ONLY_NEW`) takes nobody's place.
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
        let asked = flags >> DIRECT_INDEX_SHIFT;
        let there = self.classes.get(name);
        let at = |index| there.and_then(|class| class.get(&index));
        let index = match at(asked) {
            _ if flags & MULTI_INSTANCE != 0 && flags & ONLY_NEW == 0 => {
                (asked..).find(|index| at(*index).is_none()).ok_or(Code::OutOfRes)?
            }
            None => asked,
            Some(entry) if flags & ONLY_NEW == 0 && may_change(entry, tid) => asked,
            Some(_) => return Err(Code::Denied),
        };
        let class = self.classes.entry(name.to_owned()).or_default();
        class.insert(index, Entry { owner: tid, flags: flags & !ONLY_NEW, mail });
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
        if !may_change(entry, tid) {
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
        if !may_change(entry, tid) {
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

    /// Deletes what has no owner any more (`reset info`): of all names if `name` is empty, of all indices if `index` is negative.
    pub fn delete_orphans(&mut self, name: &str, index: i32) {
        let fits = |entry: &Entry, at: i32| entry.owner == 0 && (index < 0 || at == index);
        for (_, class) in self.classes.iter_mut().filter(|(of, _)| name.is_empty() || *of == name) {
            class.retain(|at, entry| !fits(entry, *at));
        }
        self.classes.retain(|_, class| !class.is_empty());
    }

    /// Empties it (`reset`).
    pub fn clear(&mut self) {
        self.classes.clear();
    }
}

/// Also what has no owner any more is locked, until the virtual machine is reset.
fn may_change(entry: &Entry, tid: Tid) -> bool {
    entry.owner == tid || entry.flags & OVERWRITABLE != 0
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
        assert_eq!(mailbox.put("n", 2, 0, mail(2)), Err(Code::Denied));
        assert_eq!(mailbox.put("n", 2, OVERWRITABLE, mail(2)), Err(Code::Denied));
        assert_eq!(mailbox.put("n", 1, 0, mail(5)).expect("its own").0, 0);
        assert_eq!(mailbox.delete("n", 2, 0), Err(Code::Denied));
        assert_eq!(mailbox.fetch("n", 0, 2, 0, READ_AND_DELETE), Err(Code::Denied));
        assert_eq!(mailbox.fetch("n", 0, 2, 0, 0), Ok(Some(mail(5))));
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

    /// Calls of two tasks (1, and 2 whose entries are locked) and their answers, as PVM 3.4.6 gave them.
    #[test]
    fn indices_and_owners_are_as_in_pvm() {
        let direct = |index: i32| index << DIRECT_INDEX_SHIFT;
        let (multi, over) = (MULTI_INSTANCE, OVERWRITABLE);
        let denied = Err(Code::Denied);
        let mut mailbox = Mailbox::default();
        for (tid, name, flags, answer) in [
            (1, "d", direct(3), Ok(3)),
            (1, "d", direct(5) | multi, Ok(5)),
            (1, "d", multi, Ok(0)),
            (1, "d", multi, Ok(1)),
            (1, "d", 0, Ok(0)),
            (1, "d", direct(3) | multi, Ok(4)),
            (2, "d", 0, denied),
            (2, "d", direct(3), denied),
            (2, "d", direct(9), Ok(9)),
            (2, "f", multi | over, Ok(0)),
            (2, "f", multi | over, Ok(1)),
            (1, "f", direct(1) | multi, Ok(2)),
            (1, "f", direct(1), Ok(1)),
            (1, "f", 0, Ok(0)),
            (2, "f", 0, denied),
            (1, "i", ONLY_NEW | multi | direct(5), Ok(5)),
            (1, "i", ONLY_NEW | multi | direct(5), denied),
            (1, "i", direct(5), Ok(5)),
        ] {
            let got = mailbox.put(name, tid, flags, mail(0)).map(|(index, _)| index);
            assert_eq!(got, answer, "task {tid}, {name}, flags {flags:x}");
        }
        let class = mailbox.names("^i").remove(0);
        assert_eq!((class.indices, class.flags), (vec![5], vec![direct(5)]));
        mailbox.put("p", 1, PERSISTENT, mail(1)).expect("puts");
        mailbox.gone(1, 1);
        assert_eq!(mailbox.delete("p", 2, 0), Err(Code::Denied));
        assert_eq!(mailbox.put("p", 2, over, mail(2)), Err(Code::Denied));
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
    fn only_what_has_no_owner_is_deleted_with_the_orphans() {
        let mut mailbox = Mailbox::default();
        let left = |mailbox: &Mailbox| {
            let classes = mailbox.names("*").into_iter();
            classes.map(|class| (class.name, class.indices)).collect::<Vec<_>>()
        };
        for (name, tid) in [("a", 1), ("a", 2), ("a", 1), ("b", 1), ("c", 2)] {
            mailbox.put(name, tid, PERSISTENT | MULTI_INSTANCE, mail(0)).expect("puts");
        }
        mailbox.gone(1, 1);
        mailbox.delete_orphans("c", -1);
        mailbox.delete_orphans("a", 1);
        mailbox.delete_orphans("a", 2);
        let (a, b, c) = ("a".to_owned(), "b".to_owned(), "c".to_owned());
        let all = [(a.clone(), vec![0, 1]), (b, vec![0]), (c.clone(), vec![0])];
        assert_eq!(left(&mailbox), all);
        mailbox.delete_orphans("", -1);
        assert_eq!(left(&mailbox), [(a, vec![1]), (c, vec![0])]);
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
