//! What a rank knows as the home of names: who owns the value, or is last in the chain of updaters, and who waits for
//! an object that is not there yet.

use crate::machine::Machine;
use crate::message::{Head, Kind, Rank};
use crate::name::Names;
use crate::values::LIFETIME;
use crate::{Fault, Name};
use std::collections::VecDeque;

/// Names of objects that are gone, which a home remembers: who uses one of them later is told so. Older ones are
/// forgotten, and a use of them waits as for an object that was never written.
const REMEMBERED: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    Value {
        owner: Rank,
    },
    /// `end`: of the chain.
    Accumulator {
        end: Rank,
    },
}

/// What the home knows of a name. Every list has a rank at most once.
#[derive(Default)]
struct Entry {
    object: Option<Object>,
    /// Who wants a value, and whether its program waits for it.
    readers: Vec<(Rank, bool)>,
    /// Who waits to update an accumulator that was not made yet.
    updaters: Vec<Rank>,
    /// Who waits for a snapshot of one.
    glances: Vec<Rank>,
    /// Who has freed it. The program can know that an object exists before its home does.
    freed: Option<Rank>,
}

#[derive(Default)]
pub(crate) struct Directory {
    entries: Names<Entry>,
    gone: Names<()>,
    order: VecDeque<Name>,
}

impl Directory {
    fn remember(&mut self, name: Name) {
        if self.gone.insert(name, ()).is_none() {
            self.order.push_back(name);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.gone.remove(&oldest);
        }
    }
}

impl Machine {
    /// The entry of a name for which this rank is the home.
    fn entry(&mut self, from: Rank, name: Name) -> Result<&mut Entry, Fault> {
        let home = self.home_of(name)?;
        if home != self.me {
            let me = self.me;
            let text = format!(
                "rank {from} takes rank {me} for the home of {name}; here it is rank {home}"
            );
            return Err(Fault::new(text));
        }
        Ok(self.directory.entries.entry(name).or_default())
    }

    /// As [`Machine::entry`], unless the object is gone.
    fn living(&mut self, from: Rank, name: Name) -> Result<Option<&mut Entry>, Fault> {
        if self.directory.gone.contains_key(&name) {
            return Ok(None);
        }
        self.entry(from, name).map(Some)
    }

    /// Who asked twice for what comes once.
    #[cold]
    fn asked_twice(from: Rank, name: Name) -> Fault {
        Fault::new(format!("rank {from} has asked twice for {name}"))
    }

    fn tell(&mut self, to: Rank, kind: Kind, name: Name, rank: Rank) -> Result<(), Fault> {
        self.post(to, Head { rank, ..Head::new(kind, name) }, None)
    }

    /// A value is written, or an accumulator has become one (`converted`).
    pub(crate) fn home_created(
        &mut self,
        from: Rank,
        name: Name,
        converted: bool,
    ) -> Result<(), Fault> {
        let Some(entry) = self.living(from, name)? else {
            let text = format!(
                "value {name}, written by rank {from}, was there before, and is gone: a name is used once"
            );
            return Err(Fault::new(text));
        };
        match entry.object {
            None if !converted => {}
            Some(Object::Accumulator { end }) if converted && end == from => {}
            Some(Object::Accumulator { end }) if converted => {
                let text = format!(
                    "accumulator {name} is made a value by rank {from}, while rank {end} waits to update it"
                );
                return Err(Fault::new(text));
            }
            Some(Object::Value { owner }) => {
                let text = format!(
                    "value {name} is written by rank {from}, and was written by rank {owner} before: a value is written once"
                );
                return Err(Fault::new(text));
            }
            Some(Object::Accumulator { .. }) => {
                let text = format!(
                    "value {name} is written by rank {from}, and there is an accumulator of this name"
                );
                return Err(Fault::new(text));
            }
            None => {
                let text = format!(
                    "rank {from} makes a value of accumulator {name}, which does not exist"
                );
                return Err(Fault::new(text));
            }
        }
        if let Some(updater) = entry.updaters.first() {
            let text = format!(
                "update of {name} by rank {updater}: it is a value, written by rank {from}"
            );
            return Err(Fault::new(text));
        }
        entry.object = Some(Object::Value { owner: from });
        let readers = std::mem::take(&mut entry.readers);
        let glances = std::mem::take(&mut entry.glances);
        let freed = entry.freed.take();
        for (reader, waits) in readers {
            self.ask_owner(from, name, reader, waits)?;
        }
        for reader in glances {
            self.tell(from, Kind::Show, name, reader)?;
        }
        match freed {
            Some(rank) => self.tell(from, Kind::Retire, name, rank),
            None => Ok(()),
        }
    }

    fn ask_owner(&mut self, owner: Rank, name: Name, rank: Rank, waits: bool) -> Result<(), Fault> {
        self.post(owner, Head { rank, a: waits.into(), ..Head::new(Kind::Supply, name) }, None)
    }

    pub(crate) fn home_fetch(&mut self, from: Rank, name: Name, waits: bool) -> Result<(), Fault> {
        // Most values are there when they are wanted. An entry is at the home only.
        let entry = self.directory.entries.get(&name);
        if let Some(Entry { object: Some(Object::Value { owner }), .. }) = entry {
            return match *owner {
                // Nothing is before it among what this rank has sent to itself.
                me if me == self.me && self.has_no_own() => self.supply(me, name, from, waits),
                owner => self.ask_owner(owner, name, from, waits),
            };
        }
        let Some(entry) = self.living(from, name)? else {
            return self.post(from, Head::new(Kind::Freed, name), None);
        };
        if entry.readers.iter().any(|(reader, _)| *reader == from) {
            return Err(Machine::asked_twice(from, name));
        }
        entry.readers.push((from, waits));
        Ok(())
    }

    pub(crate) fn home_gone(&mut self, from: Rank, name: Name) -> Result<(), Fault> {
        let entry = self.entry(from, name)?;
        match entry.object {
            Some(Object::Value { owner }) if owner == from => {}
            Some(Object::Accumulator { end }) if end == from => {}
            Some(Object::Accumulator { end }) => {
                let text =
                    format!("accumulator {name} is freed while rank {end} waits to update it");
                return Err(Fault::new(text));
            }
            _ => return Err(Fault::new(format!("rank {from} ends {name}, which it does not own"))),
        }
        let readers = entry.readers.iter().map(|(reader, _)| reader);
        let waiting: Vec<Rank> = readers.chain(&entry.glances).copied().collect();
        self.directory.entries.remove(&name);
        self.directory.remember(name);
        for reader in waiting {
            self.post(reader, Head::new(Kind::Freed, name), None)?;
        }
        Ok(())
    }

    pub(crate) fn home_free(&mut self, from: Rank, name: Name) -> Result<(), Fault> {
        // Freed twice, or freed when the last use was over.
        let Some(entry) = self.living(from, name)? else { return Ok(()) };
        let owner = match entry.object {
            Some(Object::Value { owner } | Object::Accumulator { end: owner }) => owner,
            None => {
                entry.freed = Some(from);
                return Ok(());
            }
        };
        self.tell(owner, Kind::Retire, name, from)
    }

    pub(crate) fn home_accumulator(&mut self, from: Rank, name: Name) -> Result<(), Fault> {
        let Some(entry) = self.living(from, name)? else {
            let text = format!(
                "accumulator {name}, made by rank {from}, was there before, and is gone: a name is used once"
            );
            return Err(Fault::new(text));
        };
        match entry.object {
            None => entry.object = Some(Object::Accumulator { end: from }),
            Some(Object::Value { owner }) => {
                let text = format!(
                    "accumulator {name} is made by rank {from}, and there is a value of this name, written by rank {owner}"
                );
                return Err(Fault::new(text));
            }
            Some(Object::Accumulator { .. }) => {
                let text = format!(
                    "accumulator {name} is made by rank {from}, and was made before: it is made once"
                );
                return Err(Fault::new(text));
            }
        }
        let updaters = std::mem::take(&mut entry.updaters);
        let glances = std::mem::take(&mut entry.glances);
        let freed = entry.freed.take();
        for reader in glances {
            self.tell(from, Kind::Show, name, reader)?;
        }
        for updater in updaters {
            self.home_acquire(updater, name)?;
        }
        match freed {
            Some(rank) => self.tell(from, Kind::Retire, name, rank),
            None => Ok(()),
        }
    }

    pub(crate) fn home_acquire(&mut self, from: Rank, name: Name) -> Result<(), Fault> {
        let Some(entry) = self.living(from, name)? else {
            return Err(Fault::new(format!(
                "update of {name} by rank {from}, which is gone: {LIFETIME}"
            )));
        };
        match entry.object {
            None if entry.updaters.contains(&from) => Err(Machine::asked_twice(from, name)),
            None => {
                entry.updaters.push(from);
                Ok(())
            }
            Some(Object::Value { owner }) => Err(Fault::new(format!(
                "update of {name} by rank {from}: it is a value, written by rank {owner}"
            ))),
            Some(Object::Accumulator { end }) if end == from => {
                Err(Machine::asked_twice(from, name))
            }
            Some(Object::Accumulator { end }) => {
                entry.object = Some(Object::Accumulator { end: from });
                self.tell(end, Kind::Pass, name, from)
            }
        }
    }

    pub(crate) fn home_glance(&mut self, from: Rank, name: Name) -> Result<(), Fault> {
        let Some(entry) = self.living(from, name)? else {
            return self.post(from, Head::new(Kind::Freed, name), None);
        };
        match entry.object {
            Some(Object::Value { owner } | Object::Accumulator { end: owner }) => {
                self.tell(owner, Kind::Show, name, from)
            }
            None if entry.glances.contains(&from) => Err(Machine::asked_twice(from, name)),
            None => {
                entry.glances.push(from);
                Ok(())
            }
        }
    }
}
