//! One rank's part: what it has, what it wants, and what it answers. Events in, messages out.

use crate::accumulators::Accumulator;
use crate::buffer::Buffer;
use crate::cache::Cache;
use crate::content::{Content, ContentType, unpacked};
use crate::directory::Directory;
use crate::message::{Head, Kind, Outgoing, Rank};
use crate::name::Names;
use crate::store::Store;
use crate::tasks::Tasks;
use crate::values::{Role, Value};
use crate::{Fault, Name};
use std::collections::VecDeque;
use std::rc::Rc;

/// Where the home of a name is, given the number of ranks: the same on all ranks, and less than that number.
pub type Home = Box<dyn Fn(Name, u32) -> u32>;

pub struct Settings {
    /// Bytes of copies of other ranks' objects. What the program uses at the moment may be more.
    pub cache: usize,
    /// In place of [`Name::home`].
    pub home: Option<Home>,
}

/// Room for a working set, and little beside the memory of a machine.
const CACHE: usize = 256 << 20;

/// Memory of contents that are gone is kept for others up to this part of the cache.
const CACHE_PER_KEPT: usize = 4;

impl Default for Settings {
    fn default() -> Settings {
        Settings { cache: CACHE, home: None }
    }
}

/// Values that a rank wants and that have not come: as many as it may prefetch, so that what it asks others to
/// do is bounded.
pub(crate) const WANTED: usize = 4096;

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// Uses of values, and how many of them had to be waited for.
    pub uses: u64,
    pub misses: u64,
    /// Messages sent to other ranks, and bytes of their contents.
    pub messages: u64,
    pub bytes: u64,
    /// Copies thrown away for want of room.
    pub evictions: u64,
    /// Accumulators that came from other ranks.
    pub migrations: u64,
    /// Tasks that came from other ranks.
    pub stolen: u64,
}

/// Objects of a rank, by what they are to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Values that it has written.
    pub owned: usize,
    /// Values of others.
    pub copies: usize,
    /// Values that it has asked for.
    pub wanted: usize,
    /// Values that its program has begun to write and not ended.
    pub writing: usize,
    /// Values that its program uses.
    pub in_use: usize,
    /// Accumulators that it updates.
    pub updating: usize,
    /// Bytes of copies and snapshots.
    pub bytes: usize,
}

/// What a machine has made of a message that it was shown where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// Dealt with, and the next one may be shown.
    More,
    /// Dealt with: there is an answer to send, or the program goes on.
    Enough,
    /// Nothing: it is for [`Machine::receive`].
    Kept,
}

pub struct Machine {
    pub(crate) me: Rank,
    pub(crate) ranks: u32,
    home: Option<Home>,
    pub(crate) values: Names<Value>,
    /// Values that have been asked for and have not come.
    pub(crate) wanted: usize,
    pub(crate) accumulators: Names<Accumulator>,
    pub(crate) directory: Directory,
    pub(crate) cache: Cache,
    pub(crate) tasks: Tasks,
    pub(crate) store: Store,
    types: Vec<Rc<dyn ContentType>>,
    out: VecDeque<Outgoing>,
    /// Messages to this rank itself.
    own: VecDeque<(Head, Option<Content>)>,
    /// Values whose last use was granted to a rank, which end when the messages before have left: nobody waits for that.
    spent: Vec<(Name, Rank)>,
    /// What that came to.
    late: Option<Fault>,
    pub(crate) counters: Counters,
}

impl Machine {
    pub fn new(me: Rank, ranks: u32, settings: Settings) -> Machine {
        let store = Store::default();
        store.set_limit(settings.cache / CACHE_PER_KEPT);
        Machine {
            me,
            ranks,
            home: settings.home,
            values: Names::default(),
            wanted: 0,
            accumulators: Names::default(),
            directory: Directory::default(),
            cache: Cache::new(settings.cache),
            tasks: Tasks::new(me, ranks),
            store,
            types: Vec::new(),
            out: VecDeque::new(),
            own: VecDeque::new(),
            spent: Vec::new(),
            late: None,
            counters: Counters::default(),
        }
    }

    pub fn rank(&self) -> Rank {
        self.me
    }

    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What this rank has at the moment.
    pub fn census(&self) -> Census {
        let count = |matches: fn(&Role) -> bool| {
            self.values.values().filter(|value| matches(&value.role)).count()
        };
        Census {
            owned: count(|role| matches!(role, Role::Owned(_))),
            copies: count(|role| matches!(role, Role::Copy { .. })),
            wanted: self.wanted,
            writing: count(|role| matches!(role, Role::Writing)),
            in_use: self.values.values().filter(|value| value.pins > 0).count(),
            updating: self.accumulators.values().filter(|entry| entry.updating).count(),
            bytes: self.cache.bytes(),
        }
    }

    /// Bytes of copies, with those that are in use.
    pub fn cached_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Changes the limit of the cache; copies above it go when they are not in use.
    pub fn set_cache(&mut self, bytes: usize) {
        self.cache.set_limit(bytes);
        self.make_room(0);
        self.store.set_limit(bytes / CACHE_PER_KEPT);
    }

    /// Where memory of contents comes from.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Adds a type of contents; its number. All ranks register the same types in the same order.
    ///
    /// # Errors
    /// There are too many.
    pub fn register_type(&mut self, kind: Rc<dyn ContentType>) -> Result<u16, Fault> {
        self.types.push(kind);
        u16::try_from(self.types.len()).map_err(|_| Fault::new("more than 65535 types of contents"))
    }

    /// The type of a number that [`Machine::register_type`] gave.
    ///
    /// # Errors
    /// There is none.
    pub fn content_type(&self, number: u16) -> Result<Rc<dyn ContentType>, Fault> {
        let found = usize::from(number).checked_sub(1).and_then(|at| self.types.get(at));
        found.cloned().ok_or_else(|| {
            let most = self.types.len();
            Fault::new(format!("type {number} is not registered here; registered are 1 to {most}"))
        })
    }

    pub(crate) fn home_of(&self, name: Name) -> Result<Rank, Fault> {
        match &self.home {
            None => Ok(name.home(self.ranks)),
            Some(home) => match home(name, self.ranks) {
                rank if rank < self.ranks => Ok(rank),
                rank => Err(Fault::new(format!(
                    "the home of {name} is said to be rank {rank}; expected 0 to {}",
                    self.ranks - 1
                ))),
            },
        }
    }

    #[inline(always)]
    pub fn has_outgoing(&self) -> bool {
        !self.out.is_empty() || !self.spent.is_empty()
    }

    /// The next message to send, after which [`Machine::sent`] is called. Ask again until there is none after every call and every
    /// message received.
    #[inline(always)]
    pub fn first_outgoing(&mut self) -> Option<&Outgoing> {
        if self.out.is_empty() && !self.spent.is_empty() {
            self.end_spent();
        }
        self.out.front()
    }

    /// What [`Machine::first_outgoing`] gave has been sent.
    #[inline(always)]
    pub fn sent(&mut self) {
        self.out.pop_front();
    }

    /// Both at once.
    pub fn next_outgoing(&mut self) -> Option<Outgoing> {
        self.first_outgoing()?;
        self.out.pop_front()
    }

    /// The last use of a value that this rank owns was granted.
    pub(crate) fn spend(&mut self, name: Name, to: Rank) {
        self.spent.push((name, to));
    }

    fn end_spent(&mut self) {
        let mut at = 0;
        while let Some((name, reader)) = self.spent.get(at).copied() {
            at += 1;
            if let Err(fault) = self.retire(name, reader).and_then(|()| self.settle()) {
                self.late.get_or_insert(fault);
            }
        }
        self.spent.clear();
    }

    /// A message without a content for the home of a name.
    pub(crate) fn tell_home(&mut self, kind: Kind, name: Name, a: u64) -> Result<(), Fault> {
        let to = self.home_of(name)?;
        self.post(to, Head { a, ..Head::new(kind, name) }, None)
    }

    /// A message; what goes to this rank is handled when the event under way is.
    pub(crate) fn post(
        &mut self,
        to: Rank,
        mut head: Head,
        content: Option<Content>,
    ) -> Result<(), Fault> {
        if to == self.me {
            self.own.push_back((head, content));
            return Ok(());
        }
        let packed = content.map(|content| content.packed(&self.store)).transpose()?;
        let content = packed.map(|(number, bytes)| {
            head.content_type = number;
            bytes
        });
        self.put_out(to, head, content);
        Ok(())
    }

    /// A message to another rank.
    #[inline(always)]
    pub(crate) fn put_out(&mut self, to: Rank, mut head: Head, content: Option<Buffer>) {
        if let Some(bytes) = &content {
            head.len = bytes.len() as u64;
            self.counters.bytes += head.len;
        }
        self.counters.messages += 1;
        self.out.push_back(Outgoing { to, head, content });
    }

    /// Whether this rank has sent nothing to itself that it has not handled.
    #[inline(always)]
    pub(crate) fn has_no_own(&self) -> bool {
        self.own.is_empty()
    }

    /// Handles what this rank has sent to itself. The end of every event.
    #[inline]
    pub(crate) fn settle(&mut self) -> Result<(), Fault> {
        if self.own.is_empty() { Ok(()) } else { self.handle_own() }
    }

    fn handle_own(&mut self) -> Result<(), Fault> {
        while let Some((head, content)) = self.own.pop_front() {
            self.handle(self.me, &head, content)?;
        }
        Ok(())
    }

    /// A message of a peer has come, with the bytes behind its head, and is shown where it lies. What most messages for values need is
    /// done so, and calls no function of the program.
    ///
    /// # Errors
    /// There is no memory.
    #[inline(always)]
    pub fn receive_here(&mut self, from: Rank, head: &Head, bytes: &[u8]) -> Result<Here, Fault> {
        if from >= self.ranks || from == self.me || self.late.is_some() || !self.own.is_empty() {
            return Ok(Here::Kept);
        }
        match head.kind {
            Kind::Fetch if self.fetch_here(from, head) => Ok(Here::Enough),
            Kind::Value if head.content_type == 0 && bytes.len() as u64 == head.len => {
                self.value_here(from, head, bytes)
            }
            _ => Ok(Here::Kept),
        }
    }

    /// A message of a peer has come.
    ///
    /// # Errors
    /// A mistake of the program that this rank notices, or something that no correct peer sends.
    pub fn receive(
        &mut self,
        from: Rank,
        head: &Head,
        content: Option<Buffer>,
    ) -> Result<(), Fault> {
        if let Some(fault) = self.late.take() {
            return Err(fault);
        }
        if from >= self.ranks || from == self.me {
            return Err(Fault::new(format!("a message of rank {from}, which is no peer")));
        }
        let came = content.as_ref().map_or(0, |buffer| buffer.len() as u64);
        if came != head.len || content.is_some() != head.kind.carries() {
            let expected = head.len;
            let text =
                format!("{:?} of rank {from} with {came} bytes; expected {expected}", head.kind);
            return Err(Fault::new(text));
        }
        let content = match (content, head.content_type) {
            (None, _) => None,
            (Some(buffer), 0) => Some(Content::Bytes(buffer)),
            (Some(buffer), number) => {
                let kind = self.content_type(number)?;
                let object = unpacked(&kind, number, buffer.bytes())?;
                Some(Content::Object(Rc::new(object)))
            }
        };
        self.handle(from, head, content)?;
        self.settle()
    }

    fn handle(&mut self, from: Rank, head: &Head, content: Option<Content>) -> Result<(), Fault> {
        let name = head.name;
        if head.rank >= self.ranks && head.kind != Kind::Token {
            return Err(self.absurd(from, head, "names a rank that does not exist"));
        }
        let by_home = matches!(head.kind, Kind::Supply | Kind::Pass | Kind::Show | Kind::Retire);
        if by_home && from != self.me && from != self.home_of(name)? {
            return Err(self.absurd(from, head, "is the home's to send"));
        }
        match (head.kind, content) {
            (Kind::Created, _) => self.home_created(from, name, false),
            (Kind::Converted, _) => self.home_created(from, name, true),
            (Kind::Fetch, _) => self.home_fetch(from, name, head.a != 0),
            (Kind::Gone, _) => self.home_gone(from, name),
            (Kind::Free, _) => self.home_free(from, name),
            (Kind::Accumulator, _) => self.home_accumulator(from, name),
            (Kind::Acquire, _) => self.home_acquire(from, name),
            (Kind::Glance, _) => self.home_glance(from, name),
            (Kind::Supply, _) => self.supply(from, name, head.rank, head.a != 0),
            (Kind::Value, Some(content)) => self.value_came(from, head, content),
            (Kind::Freed, _) => self.freed(from, name),
            (Kind::Used, _) => self.used(from, name, head.a, head.b != 0),
            (Kind::Drop, _) => self.drop_copy(from, name),
            (Kind::Retire, _) => self.retire_named(from, head),
            (Kind::Pass, _) => self.pass(from, head),
            (Kind::Hand, Some(content)) => self.handed(from, head, content),
            (Kind::Show, _) => self.show(from, head),
            (Kind::Snapshot, Some(content)) => self.snapshot_came(from, head, content),
            (Kind::Ask | Kind::Token | Kind::Over, _) => self.task_word(from, head),
            (Kind::Give, Some(content)) => self.task_came(from, head, &content),
            (Kind::Value | Kind::Hand | Kind::Snapshot | Kind::Give, None) => {
                Err(self.absurd(from, head, "has no content"))
            }
        }
    }

    /// What no correct peer sends.
    #[cold]
    pub(crate) fn absurd(&self, from: Rank, head: &Head, why: &str) -> Fault {
        Fault::new(format!("the message {:?} of rank {from} for {} {why}", head.kind, head.name))
    }
}
