//! Mutexes: first come, first served. Of a mutex's 8 bytes the first four count tickets taken, the others tickets that
//! are done.

use super::rmw::update_far;
use crate::exposed::Exposed;
use crate::state::{There, held, state};
use crate::types::Name;
use core::ffi::c_int;
use core::ptr::null_mut;
use hpvm_abi::onesided::{Kind, Op};
use hpvm_model::{block, done, fail, mpi, onesided};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes of a mutex.
const SIZE: usize = 8;

/// All mutexes of the job, and which of them this process has.
pub struct Mutexes {
    words: Exposed,
    mine: Mutex<BTreeSet<(usize, usize)>>,
}

impl Mutexes {
    pub fn release(self, name: Name) {
        self.words.release(name);
    }
}

pub unsafe fn create(name: Name, count: c_int) -> c_int {
    let s = state(name);
    let Ok(count) = usize::try_from(count) else {
        fail(name, &format!("{count} mutexes; expected 0 or more"))
    };
    let mut mutexes = s.mutexes.write().unwrap_or_else(PoisonError::into_inner);
    if mutexes.is_some() {
        fail(name, "there are mutexes already; ARMCI_Destroy_mutexes comes first");
    }
    let Some(words) = Exposed::new(name, s.world.comm, s.n, count * SIZE) else { return 1 };
    *mutexes = Some(Mutexes { words, mine: Mutex::default() });
    0
}

pub unsafe fn destroy(name: Name) -> c_int {
    let s = state(name);
    s.flush_all(name);
    // SAFETY: a communicator of our own. Nobody uses the mutexes behind it.
    done(name, unsafe { (mpi().MPI_Barrier)(s.world.comm) });
    let mutexes = s.mutexes.write().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mutexes) = mutexes else { fail(name, "there are no mutexes") };
    if let Some((process, mutex)) = held(&mutexes.mine).first() {
        fail(name, &format!("mutex {mutex} of process {process} is locked"));
    }
    mutexes.release(name);
    0
}

/// One of the two words of a mutex.
#[derive(Clone, Copy)]
struct Word {
    there: There,
    process: usize,
}

impl Word {
    /// Adds; the number before.
    fn add(&self, name: Name, operand: u32) -> u32 {
        match self.near() {
            // SAFETY: a word of mapped memory, which begins at a page.
            // AcqRel: what was done under the lock is seen by the next one who has it.
            Some(at) => unsafe { (*at).fetch_add(operand, Ordering::AcqRel) },
            None => update_far(name, &self.there, Kind::U32, Op::Sum, operand.into(), self.process)
                as u32,
        }
    }

    fn near(&self) -> Option<*mut AtomicU32> {
        (!self.there.mapped.is_null() && !self.there.locked).then_some(self.there.mapped.cast())
    }

    /// Blocks until the word is `number`.
    fn wait(&self, name: Name, number: u32) {
        if let Some(at) = self.near() {
            // Relaxed: `block` ends with a fence.
            // SAFETY: as in `add`.
            return block(name, || unsafe { (*at).load(Ordering::Relaxed) } == number);
        }
        while update_far(name, &self.there, Kind::U32, Op::Read, 0, self.process) as u32 != number {
            // SAFETY: no arguments.
            done(name, unsafe { (onesided().progress)() });
        }
    }
}

/// The two words of a mutex: tickets taken, and done.
fn words(name: Name, mutexes: &Mutexes, mutex: c_int, process: usize) -> (Word, Word, usize) {
    let part = &mutexes.words.parts[process];
    let count = part.len / SIZE;
    let number = usize::try_from(mutex).ok().filter(|number| *number < count);
    let (Some(number), Some(there)) = (number, part.there) else {
        fail(
            name,
            &format!(
                "mutex {mutex} of process {process}, which has {count}; expected 0 to {}",
                count as i64 - 1
            ),
        )
    };
    let word = |at: usize| {
        let base = there.base.cast::<u8>();
        let mapped = if base.is_null() { null_mut() } else { base.wrapping_add(at) };
        let there =
            There { mapped, target: there.target, offset: at as u64, locked: there.locked != 0 };
        Word { there, process }
    };
    (word(number * SIZE), word(number * SIZE + 4), number)
}

/// Calls with the mutexes.
fn with<R>(name: Name, call: impl FnOnce(&Mutexes) -> R) -> R {
    let mutexes = state(name).mutexes.read().unwrap_or_else(PoisonError::into_inner);
    match &*mutexes {
        Some(mutexes) => call(mutexes),
        None => fail(name, "there are no mutexes: call ARMCI_Create_mutexes first"),
    }
}

pub unsafe fn lock(name: Name, mutex: c_int, process: c_int) {
    let process = state(name).process(name, process);
    with(name, |mutexes| {
        let (taken, served, number) = words(name, mutexes, mutex, process);
        if held(&mutexes.mine).contains(&(process, number)) {
            fail(
                name,
                &format!("mutex {mutex} of process {process} is locked by this process already"),
            );
        }
        let ticket = taken.add(name, 1);
        served.wait(name, ticket);
        crate::races::heard(state(name));
        held(&mutexes.mine).insert((process, number));
    });
}

pub unsafe fn unlock(name: Name, mutex: c_int, process: c_int) {
    let s = state(name);
    let process = s.process(name, process);
    with(name, |mutexes| {
        let (_, served, number) = words(name, mutexes, mutex, process);
        if !held(&mutexes.mine).remove(&(process, number)) {
            fail(
                name,
                &format!("mutex {mutex} of process {process} is not locked by this process"),
            );
        }
        // What was done under the lock comes before its end.
        s.flush_all(name);
        served.add(name, 1);
    });
}
