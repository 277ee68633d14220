//! Work that nobody waits for: memory to be freed, and what a home notes of values that are gone. Done while answers are on their
//! way, so that it is not in the time of a miss.

use crate::machine::Machine;
use crate::values::Value;
use crate::{Fault, Name};

/// So much is put off at most: values, and bytes of one.
const MOST: usize = 16;
const SMALL: usize = 4096;

#[derive(Default)]
pub(crate) struct Chores {
    /// Values of which nothing refers to the content any more.
    ended: Vec<Value>,
    /// Values that this rank has written, and is the home of, and that are gone.
    gone: Vec<Name>,
}

impl Machine {
    /// Frees a value sooner or later.
    pub(crate) fn discard(&mut self, value: Value) {
        if value.len <= SMALL && self.chores.ended.len() < MOST {
            self.chores.ended.push(value);
        }
    }

    /// A value that this rank has written is gone.
    pub(crate) fn note_gone(&mut self, name: Name) -> Result<(), Fault> {
        self.chores.gone.push(name);
        if self.chores.gone.len() < MOST { Ok(()) } else { self.do_chores() }
    }

    /// Does what was put off. To be called now and then when answers of others are awaited; messages may come of it.
    ///
    /// # Errors
    /// Never after a correct program's calls.
    #[inline]
    pub fn do_chores(&mut self) -> Result<(), Fault> {
        self.chores.ended.clear();
        while let Some(name) = self.chores.gone.pop() {
            self.home_gone(self.me, name)?;
        }
        self.settle()
    }
}
