//! Accumulators: updated by one rank at a time, and moving to who updates them.
//!
//! Updaters form a chain. The home knows its end; who asks to update becomes the new end, and the old one is told
//! who comes next (`Pass`). A rank hands the accumulator on (`Hand`) when its update is over and it knows whom to. So a rank
//! that updates again and again sends nothing, and each rank has at most one successor to remember.

use crate::cache::Copied;
use crate::content::Content;
use crate::machine::Machine;
use crate::message::{Head, Kind, Rank};
use crate::values::{LIFETIME, Role};
use crate::{Fault, Name};

/// What this rank has of an accumulator.
#[derive(Default)]
pub(crate) struct Accumulator {
    /// The accumulator is here.
    content: Option<Content>,
    /// Updates before the one under way.
    version: u64,
    /// The program updates.
    pub updating: bool,
    /// In the chain, without the accumulator.
    pub waiting: bool,
    /// It came for an update that the program has not begun yet.
    granted: bool,
    /// Whom to hand it to.
    next: Option<Rank>,
    /// Who wants a snapshot that can't be had yet: at most once each.
    glances: Vec<Rank>,
    /// A snapshot has been asked for.
    pub glancing: bool,
    /// The program waits for it.
    needed: bool,
    pub snapshot: Option<Snapshot>,
    /// What chaotic reads that have begun and not ended look at.
    reading: Option<(Snapshot, u32)>,
}

#[derive(Clone)]
pub(crate) struct Snapshot {
    pub content: Content,
    version: u64,
}

impl Accumulator {
    /// Chaotic reads that have begun and not ended.
    pub fn pins(&self) -> u32 {
        self.reading.as_ref().map_or(0, |(_, pins)| *pins)
    }

    /// Has it, or is about to.
    pub fn is_involved(&self) -> bool {
        self.content.is_some() || self.waiting
    }

    fn is_empty(&self) -> bool {
        !self.is_involved()
            && !self.glancing
            && self.next.is_none()
            && self.glances.is_empty()
            && self.snapshot.is_none()
            && self.reading.is_none()
    }

    /// The accumulator, when nobody is changing it.
    fn at_rest(&self) -> Option<&Content> {
        self.content.as_ref().filter(|_| !self.updating)
    }
}

/// A chaotic read: where, how long, and how many updates it has seen.
pub type Glimpse = (*const u8, usize, u64);

impl Machine {
    /// Makes an accumulator of `len` bytes, which are zero, and begins its first update; where.
    ///
    /// # Errors
    /// The name is in use, or there is no memory.
    pub fn accumulator_begin(&mut self, name: Name, len: usize) -> Result<*mut u8, Fault> {
        let content = Content::Bytes(self.store.zeroed(len)?);
        if let Some(value) = self.values.get(&name)
            && !matches!(value.role, Role::Wanted { .. })
        {
            return Err(Fault::new(format!("accumulator {name}: there is a value of this name")));
        }
        let entry = self.accumulators.entry(name).or_default();
        if entry.is_involved() {
            let text = format!("accumulator {name} was made before: it is made once");
            return Err(Fault::new(text));
        }
        let (at, _) = content.place();
        entry.content = Some(content);
        entry.updating = true;
        self.tell_home(Kind::Accumulator, name, 0)?;
        self.settle()?;
        Ok(at)
    }

    /// Begins an update; `None` while the accumulator is not here. Then ask again after messages have come, until it is:
    /// it stays for this update.
    ///
    /// # Errors
    /// This rank updates it already, or it is a value, or there is no memory.
    pub fn update_begin(&mut self, name: Name) -> Result<Option<(*mut u8, usize)>, Fault> {
        let entry = self.accumulators.entry(name).or_default();
        if entry.updating {
            let text = format!("update of accumulator {name} was begun twice by this rank");
            return Err(Fault::new(text));
        }
        if let Some(content) = entry.content.take() {
            // Who reads a snapshot, or is being sent one, keeps it.
            let content = content.into_unique(&self.store)?;
            let place = content.place();
            entry.content = Some(content);
            (entry.updating, entry.granted) = (true, false);
            return Ok(Some(place));
        }
        if std::mem::replace(&mut entry.waiting, true) {
            return Ok(None);
        }
        if let Some(value) = self.values.get(&name)
            && !matches!(value.role, Role::Wanted { .. })
        {
            return Err(Fault::new(format!("update of {name}, which is a value")));
        }
        self.tell_home(Kind::Acquire, name, 0)?;
        self.settle()?;
        Ok(None)
    }

    /// Ends an update.
    ///
    /// # Errors
    /// None has begun.
    pub fn update_end(&mut self, name: Name) -> Result<(), Fault> {
        let entry = self.updated(name)?;
        entry.version += 1;
        entry.updating = false;
        self.serve(name)?;
        self.settle()
    }

    /// Ends the last update of an accumulator, which becomes a value.
    ///
    /// # Errors
    /// No update has begun, or another rank waits to update.
    pub fn update_end_to_value(&mut self, name: Name, uses: u64) -> Result<(), Fault> {
        let entry = self.updated(name)?;
        if let Some(next) = entry.next {
            let text =
                format!("accumulator {name} is made a value, while rank {next} waits to update it");
            return Err(Fault::new(text));
        }
        entry.version += 1;
        entry.updating = false;
        self.serve(name)?;
        let content = self.accumulators.get_mut(&name).and_then(|entry| entry.content.take());
        self.forget_if_empty(name);
        let Some(content) = content else { return Ok(()) };
        self.insert_written(name, content)?;
        self.open_value(name, uses);
        self.tell_home(Kind::Converted, name, uses)?;
        self.settle()
    }

    fn updated(&mut self, name: Name) -> Result<&mut Accumulator, Fault> {
        self.accumulators.get_mut(&name).filter(|entry| entry.updating).ok_or_else(|| {
            Fault::new(format!(
                "end of an update of accumulator {name}, which this rank has not begun"
            ))
        })
    }

    /// Begins a chaotic read: of the accumulator if it is here, or else of the snapshot that came last; `None` while
    /// there is none, which was asked for now if not before. Then ask again after messages have come.
    ///
    /// # Errors
    /// The home of the name is said to be a rank that does not exist.
    pub fn chaotic_begin(&mut self, name: Name) -> Result<Option<Glimpse>, Fault> {
        if !self.accumulators.contains_key(&name)
            && let Some(value) = self.values.get(&name)
            && let Some(content) = value.content.clone().filter(|_| !value.at.is_null())
        {
            // It has become a value meanwhile.
            let entry = self.accumulators.entry(name).or_default();
            entry.reading = Some((Snapshot { content, version: u64::MAX }, 0));
        }
        let entry = self.accumulators.entry(name).or_default();
        if entry.updating {
            let text = format!("chaotic read of accumulator {name}, which this rank updates");
            return Err(Fault::new(text));
        }
        if entry.reading.is_none() {
            let held = entry.content.clone().map(|content| (content, entry.version));
            let held = held.map(|(content, version)| Snapshot { content, version });
            entry.reading = held.or_else(|| entry.snapshot.clone()).map(|snapshot| (snapshot, 0));
        }
        if let Some((snapshot, pins)) = &mut entry.reading {
            *pins += 1;
            let (at, len) = snapshot.content.place();
            return Ok(Some((at, len, snapshot.version)));
        }
        entry.needed = true;
        self.ask_snapshot(name)?;
        Ok(None)
    }

    /// Ends a chaotic read.
    ///
    /// # Errors
    /// None has begun.
    pub fn chaotic_end(&mut self, name: Name) -> Result<(), Fault> {
        let entry = self.accumulators.get_mut(&name);
        let Some((_, pins)) = entry.and_then(|entry| entry.reading.as_mut()) else {
            let text = format!("end of a chaotic read of {name}, which was not begun");
            return Err(Fault::new(text));
        };
        *pins -= 1;
        if *pins == 0 {
            if let Some(entry) = self.accumulators.get_mut(&name) {
                entry.reading = None;
            }
            self.forget_if_empty(name);
            self.make_room(0);
        }
        Ok(())
    }

    /// Asks for a newer snapshot, which takes the place of the one here when it comes.
    ///
    /// # Errors
    /// As for a chaotic read.
    pub fn refresh(&mut self, name: Name) -> Result<(), Fault> {
        let entry = self.accumulators.entry(name).or_default();
        if entry.content.is_some() || self.values.contains_key(&name) {
            self.forget_if_empty(name);
            return Ok(());
        }
        self.ask_snapshot(name)
    }

    fn ask_snapshot(&mut self, name: Name) -> Result<(), Fault> {
        let entry = self.accumulators.entry(name).or_default();
        if std::mem::replace(&mut entry.glancing, true) {
            return Ok(());
        }
        self.tell_home(Kind::Glance, name, 0)?;
        self.settle()
    }

    /// Forgets an accumulator of which nothing is here.
    pub(crate) fn forget_if_empty(&mut self, name: Name) {
        if self.accumulators.get(&name).is_some_and(Accumulator::is_empty) {
            self.accumulators.remove(&name);
        }
    }

    /// What others wait for, of an accumulator that nobody changes: snapshots, then the accumulator itself.
    fn serve(&mut self, name: Name) -> Result<(), Fault> {
        let Some(entry) = self.accumulators.get_mut(&name) else { return Ok(()) };
        let Some(content) = entry.at_rest().cloned() else { return Ok(()) };
        let (a, readers) = (entry.version, std::mem::take(&mut entry.glances));
        for reader in readers {
            let head = Head { a, ..Head::new(Kind::Snapshot, name) };
            self.post(reader, head, Some(content.clone()))?;
        }
        drop(content);
        let Some(entry) = self.accumulators.get_mut(&name) else { return Ok(()) };
        if entry.granted {
            return Ok(());
        }
        let Some(next) = entry.next.take() else { return Ok(()) };
        let Some(content) = entry.content.take() else { return Ok(()) };
        self.forget_if_empty(name);
        self.post(next, Head { a, ..Head::new(Kind::Hand, name) }, Some(content))
    }

    /// Home to the end of the chain: who comes next.
    pub(crate) fn pass(&mut self, from: Rank, head: &Head) -> Result<(), Fault> {
        let (name, next) = (head.name, head.rank);
        if next == self.me {
            return Err(self.absurd(from, head, "names its receiver as the next to update"));
        }
        if self.values.get(&name).is_some_and(|v| matches!(v.role, Role::Owned(_))) {
            let text = format!("update of {name} by rank {next}: it is a value now");
            return Err(Fault::new(text));
        }
        match self.accumulators.get_mut(&name) {
            Some(entry) if entry.is_involved() && entry.next.is_none() => entry.next = Some(next),
            _ => return Err(self.absurd(from, head, "finds no accumulator here")),
        }
        self.serve(name)
    }

    pub(crate) fn handed(
        &mut self,
        from: Rank,
        head: &Head,
        content: Content,
    ) -> Result<(), Fault> {
        let name = head.name;
        let weight = match self.accumulators.get_mut(&name) {
            Some(entry) if entry.waiting => {
                entry.content = Some(content);
                entry.version = head.a;
                (entry.waiting, entry.granted) = (false, true);
                // Older than what is here now.
                entry.snapshot.take().map(|snapshot| snapshot.content.weight())
            }
            _ => return Err(self.absurd(from, head, "was not asked for")),
        };
        if let Some(weight) = weight {
            self.cache.removed(weight);
        }
        self.counters.migrations += u64::from(from != self.me);
        self.serve(name)
    }

    /// Home to the end of the chain: a rank wants a snapshot.
    pub(crate) fn show(&mut self, from: Rank, head: &Head) -> Result<(), Fault> {
        let (name, reader) = (head.name, head.rank);
        if let Some(value) = self.values.get(&name)
            && let (Role::Owned(_), Some(content)) = (&value.role, &value.content)
        {
            let head = Head { a: u64::MAX, ..Head::new(Kind::Snapshot, name) };
            return self.post(reader, head, Some(content.clone()));
        }
        match self.accumulators.get_mut(&name) {
            Some(entry) if entry.is_involved() && !entry.glances.contains(&reader) => {
                entry.glances.push(reader);
                self.serve(name)
            }
            Some(entry) if entry.is_involved() => {
                Err(self.absurd(from, head, "asks for a second snapshot at a time"))
            }
            _ => self.post(reader, Head::new(Kind::Freed, name), None),
        }
    }

    pub(crate) fn snapshot_came(
        &mut self,
        from: Rank,
        head: &Head,
        content: Content,
    ) -> Result<(), Fault> {
        let name = head.name;
        let Some(entry) = self.accumulators.get_mut(&name).filter(|entry| entry.glancing) else {
            return Err(self.absurd(from, head, "was not asked for"));
        };
        entry.glancing = false;
        let newer = entry.snapshot.as_ref().is_none_or(|old| old.version <= head.a);
        if entry.content.is_some() || !newer {
            entry.needed = false;
            return Ok(());
        }
        if let Some(old) = entry.snapshot.take() {
            self.cache.removed(old.content.weight());
        }
        let weight = content.weight();
        let needed = std::mem::take(&mut entry.needed);
        if !self.make_room(weight) && !needed {
            self.forget_if_empty(name);
            return Ok(());
        }
        let entry = self.accumulators.entry(name).or_default();
        entry.snapshot = Some(Snapshot { content, version: head.a });
        self.cache.added(name, Copied::Snapshot, weight);
        Ok(())
    }

    /// What a snapshot was asked of is gone.
    pub(crate) fn glance_in_vain(&mut self, name: Name) -> Result<(), Fault> {
        let Some(entry) = self.accumulators.get_mut(&name) else { return Ok(()) };
        entry.glancing = false;
        if entry.needed {
            return Err(Fault::new(format!("chaotic read of {name}, which is gone: {LIFETIME}")));
        }
        self.forget_if_empty(name);
        Ok(())
    }

    /// The program has freed an accumulator, of which this rank is the end of the chain.
    pub(crate) fn retire_accumulator(&mut self, name: Name) -> Result<(), Fault> {
        let Some(entry) = self.accumulators.get_mut(&name) else { return Ok(()) };
        if entry.updating || entry.waiting || entry.granted {
            let text = format!("accumulator {name} is freed while this rank updates it");
            return Err(Fault::new(text));
        }
        if entry.content.take().is_none() {
            return Ok(());
        }
        self.forget_if_empty(name);
        self.tell_home(Kind::Gone, name, 0)
    }
}
