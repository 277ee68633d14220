//! The same for programs in Rust: guards in place of pointers, that end uses and updates when they go.

use crate::carrier::Carrier;
use crate::machine::{Counters, Machine, Settings};
use crate::message::Rank;
use crate::node::Node;
use crate::{Fault, Name};
use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A rank's access to the shared objects. Clones are the same rank.
///
/// After an error all calls fail with the same one.
pub struct Sam<C: Carrier>(Rc<Shared<C>>);

struct Shared<C> {
    node: RefCell<Node<C>>,
    /// Also what the end of a guard came to, which returns nothing.
    broken: RefCell<Option<Fault>>,
    is_broken: Cell<bool>,
}

impl<C: Carrier> Clone for Sam<C> {
    fn clone(&self) -> Sam<C> {
        Sam(self.0.clone())
    }
}

impl<C: Carrier> Sam<C> {
    pub fn new(me: Rank, ranks: u32, settings: Settings, carrier: C) -> Sam<C> {
        Sam(Rc::new(Shared {
            node: RefCell::new(Node::new(Machine::new(me, ranks, settings), carrier)),
            broken: RefCell::new(None),
            is_broken: Cell::new(false),
        }))
    }

    fn call<T>(&self, call: impl FnOnce(&mut Node<C>) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.0.is_broken.get()
            && let Some(fault) = self.0.broken.borrow().clone()
        {
            return Err(fault);
        }
        let result = call(&mut self.0.node.borrow_mut());
        if let Err(fault) = &result {
            *self.0.broken.borrow_mut() = Some(fault.clone());
            self.0.is_broken.set(true);
        }
        result
    }

    pub fn rank(&self) -> Rank {
        self.0.node.borrow_mut().machine().rank()
    }

    pub fn ranks(&self) -> u32 {
        self.0.node.borrow_mut().machine().ranks()
    }

    pub fn counters(&self) -> Counters {
        self.0.node.borrow().counters()
    }

    /// Writes a value of `len` bytes, which are zero when `write` gets them. It is gone after `uses` uses; with 0 it
    /// stays until it is freed.
    ///
    /// # Errors
    /// Somebody's mistake, or a lost peer; here and below.
    pub fn write(
        &self,
        name: Name,
        len: usize,
        uses: u64,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), Fault> {
        let at = self.call(|node| node.value_begin(name, len))?;
        // SAFETY: memory of the value, of this length, which nobody reads before its end.
        write(unsafe { core::slice::from_raw_parts_mut(at, len) });
        self.call(|node| node.value_end(name, uses))
    }

    /// Uses a value; blocks until it has been written.
    pub fn read(&self, name: Name) -> Result<Reading<C>, Fault> {
        let (at, len) = self.call(|node| node.use_begin(name))?;
        Ok(Reading { sam: self.clone(), name, at, len })
    }

    pub fn prefetch(&self, name: Name) -> Result<(), Fault> {
        self.call(|node| node.prefetch(name))
    }

    pub fn push(&self, name: Name, to: Rank) -> Result<(), Fault> {
        self.call(|node| node.push(name, to))
    }

    /// Writes value `new` over value `old`, which goes; blocks until its counted uses but one are over.
    pub fn rename(
        &self,
        old: Name,
        new: Name,
        uses: u64,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), Fault> {
        let (at, len) = self.call(|node| node.rename(old, new))?;
        // SAFETY: as in `write`.
        write(unsafe { core::slice::from_raw_parts_mut(at, len) });
        self.call(|node| node.value_end(new, uses))
    }

    pub fn free(&self, name: Name) -> Result<(), Fault> {
        self.call(|node| node.free(name))
    }

    /// Makes an accumulator, whose first update goes on until the guard goes.
    pub fn accumulator(&self, name: Name, len: usize) -> Result<Updating<C>, Fault> {
        let at = self.call(|node| node.accumulator_begin(name, len))?;
        Ok(Updating { sam: self.clone(), name, at, len, ended: false })
    }

    /// Updates an accumulator; blocks until it has been made and nobody else updates it.
    pub fn update(&self, name: Name) -> Result<Updating<C>, Fault> {
        let (at, len) = self.call(|node| node.update_begin(name))?;
        Ok(Updating { sam: self.clone(), name, at, len, ended: false })
    }

    /// Looks at an accumulator as it is now or was some time ago; `look` also gets how many updates it has seen.
    pub fn chaotic<T>(&self, name: Name, look: impl FnOnce(&[u8], u64) -> T) -> Result<T, Fault> {
        let (at, len, version) = self.call(|node| node.chaotic_begin(name))?;
        // SAFETY: a snapshot of this length, which stays until the end below, and which nobody writes.
        let result = look(unsafe { core::slice::from_raw_parts(at, len) }, version);
        self.call(|node| node.chaotic_end(name))?;
        Ok(result)
    }

    pub fn refresh(&self, name: Name) -> Result<(), Fault> {
        self.call(|node| node.refresh(name))
    }

    pub fn add_task(&self, task: &[u8]) -> Result<(), Fault> {
        self.call(|node| node.task_add(task))
    }

    /// The next task; none when all tasks of all ranks are done.
    pub fn next_task(&self) -> Result<Option<Vec<u8>>, Fault> {
        self.call(Node::task_next)
    }

    /// From now on the first `ranks` ranks share tasks, which all of them say, between two phases, with the same numbers and
    /// before any of them adds or asks for a task. `series` is larger than any before, and less than 2³².
    pub fn share_tasks(&self, ranks: u32, series: u64) -> Result<(), Fault> {
        self.call(|node| node.task_ranks(ranks, series))
    }

    /// Answers others, for a rank that computes long.
    pub fn poll(&self) -> Result<(), Fault> {
        self.call(Node::poll)
    }
}

/// A value in use.
pub struct Reading<C: Carrier> {
    sam: Sam<C>,
    name: Name,
    at: *const u8,
    len: usize,
}

impl<C: Carrier> Deref for Reading<C> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: a value stays where it is, and as it is, while it is in use.
        unsafe { core::slice::from_raw_parts(self.at, self.len) }
    }
}

impl<C: Carrier> Drop for Reading<C> {
    fn drop(&mut self) {
        // An error is told by the next call.
        let _ = self.sam.call(|node| node.use_end(self.name));
    }
}

/// An update under way.
pub struct Updating<C: Carrier> {
    sam: Sam<C>,
    name: Name,
    at: *mut u8,
    len: usize,
    ended: bool,
}

impl<C: Carrier> Updating<C> {
    /// Ends the update, and makes the accumulator a value with so many uses.
    ///
    /// # Errors
    /// Another rank waits to update.
    pub fn into_value(mut self, uses: u64) -> Result<(), Fault> {
        self.ended = true;
        self.sam.call(|node| node.update_end_to_value(self.name, uses))
    }
}

impl<C: Carrier> Deref for Updating<C> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the accumulator stays here while it is updated, and only this guard has its address.
        unsafe { core::slice::from_raw_parts(self.at, self.len) }
    }
}

impl<C: Carrier> DerefMut for Updating<C> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { core::slice::from_raw_parts_mut(self.at, self.len) }
    }
}

impl<C: Carrier> Drop for Updating<C> {
    fn drop(&mut self) {
        if !self.ended {
            // An error is told by the next call.
            let _ = self.sam.call(|node| node.update_end(self.name));
        }
    }
}
