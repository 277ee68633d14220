//! Values: written once, then read anywhere.

use crate::content::{Content, Object};
use crate::machine::{Here, Machine, WANTED};
use crate::message::{Head, Kind, Rank};
use crate::{Fault, Name};
use core::ptr::null_mut;
use std::collections::hash_map::Entry;
use std::rc::Rc;

/// What this rank has of a value.
pub(crate) struct Value {
    /// Where the program reads it; null while it can't.
    pub at: *mut u8,
    pub len: usize,
    /// Uses that have begun and not ended.
    pub pins: u32,
    /// Used since the hand of the cache's clock last passed.
    pub referenced: bool,
    pub content: Option<Content>,
    pub role: Role,
}

pub(crate) enum Role {
    /// Begun by this rank's program, and not ended.
    Writing,
    /// Asked for. `needed`: the program waits for it.
    Wanted {
        needed: bool,
    },
    /// Uses are counted if `left` is not 0: so many there were at most, when it came, less those that this rank has reported
    /// since. `done` of them were not reported yet. `granted`: the owner has counted one already, which has not ended.
    Copy {
        owner: Rank,
        left: u64,
        done: u64,
        granted: bool,
    },
    Owned(Owned),
}

pub(crate) struct Owned {
    /// Uses after which the value goes, without those that were granted; none: it stays.
    left: Option<u64>,
    holders: Holders,
}

/// Who was sent a copy of a value. Many values are read by one rank.
#[derive(Default)]
enum Holders {
    #[default]
    Nobody,
    One(Rank),
    Several(Vec<Rank>),
}

impl Holders {
    #[inline]
    fn as_slice(&self) -> &[Rank] {
        match self {
            Holders::Nobody => &[],
            Holders::One(rank) => core::slice::from_ref(rank),
            Holders::Several(ranks) => ranks,
        }
    }

    /// Adds a rank. False: it was one before.
    #[inline]
    fn add(&mut self, rank: Rank) -> bool {
        match self {
            _ if self.as_slice().contains(&rank) => return false,
            Holders::Nobody => *self = Holders::One(rank),
            Holders::One(first) => *self = Holders::Several(vec![*first, rank]),
            Holders::Several(ranks) => ranks.push(rank),
        }
        true
    }
}

impl Owned {
    /// The head of the message that takes the value to a rank. `waits`: its program will use the value as soon as it comes. That use is
    /// counted now, so that nobody has to tell of its end: the reader has a copy of its own, and needs nothing of ours. Of who has had one
    /// before it is not known whether it waits.
    #[inline(always)]
    fn grant(&mut self, name: Name, to: Rank, waits: bool) -> Head {
        let is_first = self.holders.add(to);
        let a = self.left.unwrap_or(0);
        let granted = waits && is_first && a > 0;
        if granted {
            self.left = Some(a - 1);
        }
        Head { a, b: granted.into(), ..Head::new(Kind::Value, name) }
    }
}

impl Head {
    /// Of a value's: its last use is granted to the reader.
    #[inline(always)]
    pub(crate) fn is_last_use(&self) -> bool {
        self.a == 1 && self.b != 0
    }
}

impl Value {
    /// The value of a message has come from its owner.
    #[inline(always)]
    fn arrived(from: Rank, head: &Head, content: Content) -> Value {
        let (at, len) = content.place();
        let role = Role::Copy { owner: from, left: head.a, done: 0, granted: head.b != 0 };
        Value { at, len, pins: 0, referenced: true, content: Some(content), role }
    }

    fn wanted(needed: bool) -> Value {
        let role = Role::Wanted { needed };
        Value { at: null_mut(), len: 0, pins: 0, referenced: false, content: None, role }
    }

    fn written(content: Content) -> Value {
        let len = content.weight();
        let role = Role::Writing;
        Value { at: null_mut(), len, pins: 0, referenced: false, content: Some(content), role }
    }

    /// From now on the program may read it.
    fn open(&mut self, uses: u64) {
        if let Some(content) = &self.content {
            (self.at, self.len) = content.place();
        }
        self.role =
            Role::Owned(Owned { left: (uses > 0).then_some(uses), holders: Holders::default() });
    }
}

impl Machine {
    /// Begins to write a value of `len` bytes, which are zero; where.
    ///
    /// # Errors
    /// The name is in use, or there is no memory.
    pub fn value_begin(&mut self, name: Name, len: usize) -> Result<*mut u8, Fault> {
        let content = Content::Bytes(self.store.zeroed(len)?);
        let (at, _) = content.place();
        self.insert_written(name, content)?;
        Ok(at)
    }

    /// Makes a structure of the program a value. It belongs to the value now.
    ///
    /// # Errors
    /// The name is in use, or the type is not registered.
    pub fn value_object(
        &mut self,
        name: Name,
        number: u16,
        object: usize,
        uses: u64,
    ) -> Result<(), Fault> {
        let kind = self.content_type(number)?;
        self.insert_written(name, Content::Object(Rc::new(Object::new(object, number, kind))))?;
        self.value_end(name, uses)
    }

    /// Makes what was inserted as written readable.
    pub(crate) fn open_value(&mut self, name: Name, uses: u64) {
        if let Some(value) = self.values.get_mut(&name) {
            value.open(uses);
        }
    }

    pub(crate) fn insert_written(&mut self, name: Name, content: Content) -> Result<(), Fault> {
        if self.accumulators.get(&name).is_some_and(|a| a.is_involved()) {
            return Err(Fault::new(format!("value {name}: there is an accumulator of this name")));
        }
        match self.values.get(&name).map(|value| &value.role) {
            None => {}
            // Asked for before it was written; the answer is that it is here.
            Some(Role::Wanted { .. }) => self.wanted -= 1,
            Some(Role::Writing) => {
                let text = format!("value {name} was begun twice; expected its end in between");
                return Err(Fault::new(text));
            }
            Some(Role::Owned(_)) => {
                let text = format!(
                    "value {name} was written before, by this rank: a value is written once"
                );
                return Err(Fault::new(text));
            }
            Some(Role::Copy { owner, .. }) => {
                let text = format!(
                    "value {name} was written before, by rank {owner}: a value is written once"
                );
                return Err(Fault::new(text));
            }
        }
        self.values.insert(name, Value::written(content));
        Ok(())
    }

    /// The value is written; it can be read anywhere, and is gone after `uses` uses, or with 0 stays until it is freed.
    ///
    /// # Errors
    /// It was not begun by this rank.
    pub fn value_end(&mut self, name: Name, uses: u64) -> Result<(), Fault> {
        match self.values.get_mut(&name) {
            Some(value) if matches!(value.role, Role::Writing) => value.open(uses),
            _ => {
                let text = format!("end of value {name}, which this rank has not begun to write");
                return Err(Fault::new(text));
            }
        }
        self.tell_home(Kind::Created, name, uses)?;
        self.settle()
    }

    /// Begins a use; `None` while the value is not here, which was asked for now if not before. Then ask again after
    /// messages have come.
    ///
    /// # Errors
    /// This rank is about to write the value, or updates an accumulator of this name.
    #[inline]
    pub fn use_begin(&mut self, name: Name) -> Result<Option<(*mut u8, usize)>, Fault> {
        if let Some(value) = self.values.get_mut(&name)
            && !value.at.is_null()
        {
            value.pins += 1;
            value.referenced = true;
            self.counters.uses += 1;
            return Ok(Some((value.at, value.len)));
        }
        self.want(name, true)?;
        Ok(None)
    }

    /// Whether a use could begin now.
    pub fn is_here(&self, name: Name) -> bool {
        self.values.get(&name).is_some_and(|value| !value.at.is_null())
    }

    /// Asks for a value that will be used. False: too many are asked for already; ask again after messages have come.
    ///
    /// # Errors
    /// As for a use.
    pub fn prefetch(&mut self, name: Name) -> Result<bool, Fault> {
        if !self.values.contains_key(&name) && self.wanted >= WANTED {
            return Ok(false);
        }
        self.want(name, false)?;
        Ok(true)
    }

    #[cold]
    fn want(&mut self, name: Name, now: bool) -> Result<(), Fault> {
        let mut place = self.values.entry(name);
        match &mut place {
            Entry::Vacant(_) => {}
            Entry::Occupied(value) => match &mut value.get_mut().role {
                Role::Wanted { needed } => {
                    self.counters.misses += u64::from(now && !*needed);
                    *needed |= now;
                    return Ok(());
                }
                Role::Writing => {
                    let text = format!(
                        "use of value {name}, which this rank has begun to write and not ended"
                    );
                    return Err(Fault::new(text));
                }
                _ => return Ok(()),
            },
        }
        if self.accumulators.get(&name).is_some_and(|a| a.updating) {
            let text =
                format!("use of value {name}, which is an accumulator that this rank updates");
            return Err(Fault::new(text));
        }
        self.counters.misses += u64::from(now);
        place.insert_entry(Value::wanted(now));
        self.wanted += 1;
        self.tell_home(Kind::Fetch, name, now.into())?;
        self.settle()
    }

    /// Ends a use.
    ///
    /// # Errors
    /// None has begun, or more were begun than the value was to have.
    #[inline]
    pub fn use_end(&mut self, name: Name) -> Result<(), Fault> {
        let Some(value) = self.values.get_mut(&name).filter(|value| value.pins > 0) else {
            return Err(Fault::new(format!("end of a use of value {name}, which was not begun")));
        };
        value.pins -= 1;
        match &mut value.role {
            Role::Copy { left: 0, .. } if !self.cache.is_over() => return Ok(()),
            Role::Owned(Owned { left: None, .. }) => return Ok(()),
            _ => {}
        }
        self.use_ended(name)
    }

    #[cold]
    fn use_ended(&mut self, name: Name) -> Result<(), Fault> {
        let Entry::Occupied(mut place) = self.values.entry(name) else { return Ok(()) };
        let value = place.get_mut();
        let (unused, len) = (value.pins == 0, value.len);
        match &mut value.role {
            Role::Copy { owner, left, done, granted } => {
                *done += 1;
                if *left > 0 && unused {
                    let (to, uses) = (*owner, std::mem::take(done));
                    *left = left.saturating_sub(uses);
                    let over = *left == 0;
                    let a = uses - u64::from(std::mem::take(granted));
                    if over {
                        place.remove();
                        self.cache.removed(len);
                    }
                    if a > 0 {
                        let head = Head { a, b: over.into(), ..Head::new(Kind::Used, name) };
                        self.post(to, head, None)?;
                    }
                }
            }
            Role::Owned(_) => self.used(self.me, name, 1, false)?,
            _ => {}
        }
        self.make_room(0);
        self.settle()
    }

    /// Sends a value that this rank has written to one that will read it.
    ///
    /// # Errors
    /// This rank has not written it, or there is no such rank.
    pub fn push(&mut self, name: Name, to: Rank) -> Result<(), Fault> {
        if to >= self.ranks {
            let text =
                format!("push of value {name} to rank {to}; expected 0 to {}", self.ranks - 1);
            return Err(Fault::new(text));
        }
        let Some(Value { role: Role::Owned(owned), .. }) = self.values.get(&name) else {
            let text = format!("push of value {name}, which this rank has not written");
            return Err(Fault::new(text));
        };
        if to == self.me || owned.holders.as_slice().contains(&to) {
            return Ok(());
        }
        self.send_value(name, to, false)
    }

    /// `waits`: as with [`Owned::grant`].
    fn send_value(&mut self, name: Name, to: Rank, waits: bool) -> Result<(), Fault> {
        let Some(Value { role: Role::Owned(owned), content: Some(content), .. }) =
            self.values.get_mut(&name)
        else {
            return Ok(());
        };
        let (head, content) = (owned.grant(name, to, waits), content.clone());
        if head.is_last_use() {
            self.spend(name, to);
        }
        self.post(to, head, Some(content))
    }

    /// A reader's request to the home: the value is sent if this rank has it as bytes. False: nothing has been done.
    ///
    /// Who owns the value and is taken for its home is the home, or need not be: the answer is the same.
    #[inline(always)]
    pub(crate) fn fetch_here(&mut self, from: Rank, head: &Head) -> bool {
        let name = head.name;
        let Some(value) = self.values.get_mut(&name) else { return false };
        let (Role::Owned(owned), Some(Content::Bytes(bytes))) = (&mut value.role, &value.content)
        else {
            return false;
        };
        if owned.left == Some(0) {
            return false;
        }
        let (answer, bytes) = (owned.grant(name, from, head.a != 0), bytes.clone());
        if answer.is_last_use() {
            self.spend(name, from);
        }
        self.put_out(from, answer, Some(bytes));
        true
    }

    /// Begins to write value `new` in the memory of value `old`, which goes, and has its content at first. It counts as a
    /// use of `old`, and it is the last one: `None` while others are not over.
    ///
    /// # Errors
    /// This rank has not written `old`, or uses it; `new` is in use.
    pub fn rename(&mut self, old: Name, new: Name) -> Result<Option<(*mut u8, usize)>, Fault> {
        let Some(Value { role: Role::Owned(owned), pins, content, .. }) = self.values.get_mut(&old)
        else {
            let text = format!(
                "value {old}, to be renamed {new}, is not there, or not written by this rank"
            );
            return Err(Fault::new(text));
        };
        if *pins > 0 {
            let text = format!("value {old}, to be renamed {new}, is used by this rank");
            return Err(Fault::new(text));
        }
        if owned.left.is_some_and(|left| left > 1) {
            return Ok(None);
        }
        let Some(content) = content.take() else { return Ok(None) };
        self.retire(old, self.me)?;
        let content = content.into_unique(&self.store)?;
        let place = content.place();
        self.insert_written(new, content)?;
        self.settle()?;
        Ok(Some(place))
    }

    /// The program has no use for a value or an accumulator any more, anywhere.
    ///
    /// # Errors
    /// This rank uses it.
    pub fn free(&mut self, name: Name) -> Result<(), Fault> {
        if self.values.get(&name).is_some_and(|v| v.pins > 0 || matches!(v.role, Role::Writing)) {
            return Err(Fault::new(format!("value {name} is freed while this rank uses it")));
        }
        self.tell_home(Kind::Free, name, 0)?;
        self.settle()
    }

    /// The end of a value that this rank owns; `knows` has no copy of it any more.
    pub(crate) fn retire(&mut self, name: Name, knows: Rank) -> Result<(), Fault> {
        if self.values.get(&name).is_some_and(|value| value.pins > 0) {
            let text = format!("value {name} is used by this rank while it goes: {LIFETIME}");
            return Err(Fault::new(text));
        }
        let Some(Value { role: Role::Owned(owned), .. }) = self.values.remove(&name) else {
            return Ok(());
        };
        for holder in owned.holders.as_slice().iter().filter(|holder| **holder != knows) {
            self.post(*holder, Head::new(Kind::Drop, name), None)?;
        }
        match self.home_of(name)? {
            // Nothing is before it among what this rank has sent to itself.
            home if home == self.me && self.has_no_own() => self.home_gone(home, name),
            home => self.post(home, Head::new(Kind::Gone, name), None),
        }
    }

    /// Home to owner: a reader wants the value.
    pub(crate) fn supply(
        &mut self,
        from: Rank,
        name: Name,
        reader: Rank,
        waits: bool,
    ) -> Result<(), Fault> {
        match self.values.get(&name).map(|value| &value.role) {
            Some(Role::Owned(_)) if reader == self.me => Ok(()),
            Some(Role::Owned(Owned { left: Some(0), .. })) => {
                self.post(reader, Head::new(Kind::Freed, name), None)
            }
            Some(Role::Owned(_)) => self.send_value(name, reader, waits),
            None => self.post(reader, Head::new(Kind::Freed, name), None),
            // It went, and this rank itself is about to hear that.
            Some(Role::Wanted { .. }) => self.post(reader, Head::new(Kind::Freed, name), None),
            Some(_) => {
                let head = Head { rank: reader, ..Head::new(Kind::Supply, name) };
                Err(self.absurd(from, &head, "asks a rank that does not own it"))
            }
        }
    }

    pub(crate) fn value_came(
        &mut self,
        from: Rank,
        head: &Head,
        content: Content,
    ) -> Result<(), Fault> {
        let name = head.name;
        let needed = match self.values.get(&name).map(|value| &value.role) {
            None => false,
            Some(Role::Wanted { needed }) => {
                self.wanted -= 1;
                *needed
            }
            // It was pushed, and asked for as well.
            Some(Role::Copy { owner, .. }) if *owner == from => return Ok(()),
            Some(Role::Copy { .. } | Role::Owned(_) | Role::Writing) => {
                return Err(self.absurd(from, head, "is a second value of this name"));
            }
        };
        let granted = head.b != 0;
        if granted && !(needed && head.a > 0) {
            return Err(self.absurd(from, head, "grants a use that nobody waits for"));
        }
        let len = content.weight();
        if !self.make_room(len) && !needed {
            self.values.remove(&name);
            return Ok(());
        }
        self.values.insert(name, Value::arrived(from, head, content));
        self.cache.added_value(head, len);
        Ok(())
    }

    /// A value has come as bytes: it is copied if it was asked for, and there is room.
    #[inline(always)]
    pub(crate) fn value_here(
        &mut self,
        from: Rank,
        head: &Head,
        bytes: &[u8],
    ) -> Result<Here, Fault> {
        let has_room = !self.cache.lacks(bytes.len()) && self.cache.is_tidy();
        let Some(value) = self.values.get_mut(&head.name).filter(|_| has_room) else {
            return Ok(Here::Kept);
        };
        let Role::Wanted { needed } = value.role else { return Ok(Here::Kept) };
        if head.b != 0 && !(needed && head.a > 0) {
            return Ok(Here::Kept);
        }
        *value = Value::arrived(from, head, Content::Bytes(self.store.copied(bytes)?));
        self.wanted -= 1;
        self.cache.added_value(head, bytes.len());
        Ok(if needed { Here::Enough } else { Here::More })
    }

    /// What this rank wants is gone.
    pub(crate) fn freed(&mut self, _from: Rank, name: Name) -> Result<(), Fault> {
        self.glance_in_vain(name)?;
        match self.values.get(&name).map(|value| &value.role) {
            Some(Role::Wanted { needed: true }) => {
                let text = format!("use of value {name}, which is gone: {LIFETIME}");
                Err(Fault::new(text))
            }
            Some(Role::Wanted { needed: false }) => {
                self.wanted -= 1;
                self.values.remove(&name);
                Ok(())
            }
            // It was pushed meanwhile, or another of the name was written.
            _ => Ok(()),
        }
    }

    /// `over`: the reader has thrown its copy away, because there can be no further use.
    pub(crate) fn used(
        &mut self,
        from: Rank,
        name: Name,
        uses: u64,
        over: bool,
    ) -> Result<(), Fault> {
        let left = match self.values.get_mut(&name).map(|value| &mut value.role) {
            Some(Role::Owned(Owned { left: Some(left), .. })) => left,
            _ => {
                let text = format!(
                    "value {name} was used by rank {from} after the number of uses that its writer had given"
                );
                return Err(Fault::new(text));
            }
        };
        if uses > *left || uses == 0 {
            let text = format!(
                "value {name} was used {uses} times by rank {from}, and its writer has left {left} uses"
            );
            return Err(Fault::new(text));
        }
        *left -= uses;
        match (*left, over) {
            (0, true) => self.retire(name, from),
            (0, false) => self.retire(name, self.me),
            _ => Ok(()),
        }
    }

    pub(crate) fn drop_copy(&mut self, from: Rank, name: Name) -> Result<(), Fault> {
        let Some(value) = self.values.get_mut(&name) else { return Ok(()) };
        match &mut value.role {
            // It goes when the use ends that was granted.
            Role::Copy { owner, left, granted: true, .. } if *owner == from && value.pins < 2 => {
                *left = 1;
                return Ok(());
            }
            Role::Copy { owner, .. } if *owner == from => {}
            // The copy was thrown away before.
            _ => return Ok(()),
        }
        if value.pins > 0 {
            let text = format!(
                "value {name} is used by this rank, while it goes at its writer, rank {from}: {LIFETIME}"
            );
            return Err(Fault::new(text));
        }
        self.remove_copy(name);
        Ok(())
    }

    fn remove_copy(&mut self, name: Name) {
        if let Some(value) = self.values.remove(&name) {
            self.cache.removed(value.len);
        }
    }

    /// Home to owner: the program has freed the object.
    pub(crate) fn retire_named(&mut self, from: Rank, head: &Head) -> Result<(), Fault> {
        let name = head.name;
        match self.values.get(&name).map(|value| &value.role) {
            Some(Role::Owned(_)) => self.retire(name, self.me),
            Some(Role::Writing | Role::Copy { .. }) => {
                Err(self.absurd(from, head, "frees what this rank does not own"))
            }
            Some(Role::Wanted { .. }) | None => self.retire_accumulator(name),
        }
    }
}

/// When a value goes, for the texts of errors.
pub(crate) const LIFETIME: &str =
    "all the uses that its writer had given are over, or it was freed or renamed";
