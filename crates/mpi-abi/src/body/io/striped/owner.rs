//! The owner's side of independent access: requests of ranks that do not see the file of a stripe.
//!
//! They are messages of the file's own communicator. Turns of progress take them as they come, also those of the thread
//! that makes progress while the program computes, and hand them to another thread of this process, which alone moves
//! the data and answers, one request after the other. So a request is done whole before the next of its stripe. That thread
//! asks nobody for anything: whoever waits for an answer makes progress meanwhile.

use crate::body::watch::Watched;
use crate::object::comm::CommObject;
use crate::runtime::{Entered, enter, with_signals_blocked};
use crate::say::say;
use hpvm_io::stripes::request::{self, Ask, LONGEST_REQUEST, Request};
use hpvm_io::stripes::{Holder, Locks, Stripe};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::{ANY_PROCESS, Pattern, Unexpected};
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Class, Error};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The tag of requests; answers have that which the request names, from 1 on.
pub const REQUEST: i32 = 0;
/// While somebody waits for a lock: from one look to the next whether its holder is still alive.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// A stripe whose owner this process is, of a file that is open.
#[derive(Debug)]
pub struct Owner {
    object: Arc<CommObject>,
    stripe: Arc<Stripe>,
    locks: Mutex<Locks>,
}

/// A request that has come.
struct Job {
    owner: Arc<Owner>,
    message: Unexpected,
}

/// The thread, while there is one, and the way to it.
static THREAD: Mutex<Option<(Sender<Job>, JoinHandle<()>)>> = Mutex::new(None);

impl Owner {
    /// Serves a stripe from now on.
    pub fn start(object: Arc<CommObject>, stripe: Arc<Stripe>) -> Result<Arc<Owner>> {
        start_thread()?;
        let owner = Arc::new(Owner { object, stripe, locks: Mutex::default() });
        let mut w = enter()?;
        if w.objects.stripe_owners.is_empty() {
            w.objects.watched.push(Watched::Stripes);
        }
        w.objects.stripe_owners.push(owner.clone());
        w.adjust_progress_thread();
        Ok(owner)
    }

    /// Ends that. All requests have been answered.
    pub fn end(self: &Arc<Owner>) -> Result<()> {
        let mut w = enter()?;
        w.objects.stripe_owners.retain(|other| !Arc::ptr_eq(self, other));
        w.adjust_progress_thread();
        Ok(())
    }

    fn locks(&self) -> std::sync::MutexGuard<'_, Locks> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what a message asks for, and answers.
    fn serve(&self, message: Unexpected) -> Result<()> {
        let comm = &self.object.comm;
        let source = comm.rank_of(message.src);
        let Some(bytes) = self.receive(message)? else { return Ok(()) };
        let source = usize::try_from(source).map_err(|_| Error::from(Class::Intern))?;
        // Who sends what is no request has no place for an answer either.
        let Some(Request { number, stripe, ask }) = Request::parse(&bytes) else { return Ok(()) };
        let granted = match &ask {
            Ask::Lock(range, alone) => self.locks().ask((source, number), range.clone(), *alone),
            Ask::Unlock => {
                self.answer((source, number), request::answer(0))?;
                self.locks().release((source, number))
            }
            _ => {
                let done = match stripe == self.stripe.number {
                    true => request::serve(&self.stripe, &ask),
                    false => Err(Error::new(Class::Intern, "a request went to the wrong owner")),
                };
                let answer = done.unwrap_or_else(|error| request::failure(&error));
                return self.answer((source, number), answer);
            }
        };
        self.tell(granted)
    }

    fn tell(&self, granted: Vec<Holder>) -> Result<()> {
        granted.into_iter().try_for_each(|holder| self.answer(holder, request::answer(0)))
    }

    /// Ends the locks of ranks that have died.
    fn look_for_the_dead(&self) -> Result<()> {
        let mut w = enter()?;
        w.learn_of_deaths();
        let comm = &self.object.comm;
        let lost: Vec<i32> =
            w.process.lost().iter().map(|process| comm.rank_of(*process)).collect();
        drop(w);
        if lost.is_empty() {
            return Ok(());
        }
        let granted = self.locks().lose(|rank| lost.contains(&(rank as i32)));
        self.tell(granted)
    }

    /// The bytes of a request; none where it is too long to be one, or its sender has died.
    fn receive(&self, message: Unexpected) -> Result<Option<Vec<u8>>> {
        let len = message.bytes().min(LONGEST_REQUEST as u64);
        let mut bytes = vec![0u8; len as usize];
        let ty = &Datatype::byte();
        let room = Incoming { buf: bytes.as_mut_ptr(), count: len as i64, ty };
        let mut w = enter()?;
        // SAFETY: the buffer lives until the receive is complete, or is leaked.
        let id = unsafe { w.process.recv_matched(room, &self.object.comm, message) };
        match w.wait_for_new(id) {
            Ok(outcome) => Ok(outcome.error.is_none().then_some(bytes)),
            Err(error) => {
                std::mem::forget(bytes);
                Err(error)
            }
        }
    }

    fn answer(&self, (rank, number): Holder, bytes: Vec<u8>) -> Result<()> {
        let comm = &self.object.comm;
        let Some(process) = comm.peer(rank as i32) else { return Err(Class::Intern.into()) };
        let ty = &Datatype::byte();
        let data = Outgoing { buf: bytes.as_ptr(), count: bytes.len() as i64, ty };
        let context = comm.context(Channel::User);
        let mut w = enter()?;
        // SAFETY: the buffer lives until the send is complete, or is leaked.
        let started =
            unsafe { w.process.send(data, process, context, number as i32, Mode::Standard, None) };
        let Started::Pending(id) = started else { return Ok(()) };
        match w.wait_for_new(id) {
            // Whoever has died needs no answer.
            Ok(_) => Ok(()),
            Err(error) => {
                std::mem::forget(bytes);
                Err(error)
            }
        }
    }
}

/// Hands what has come to the thread.
pub fn take(w: &mut Entered) {
    for place in 0..w.objects.stripe_owners.len() {
        let owner = w.objects.stripe_owners[place].clone();
        let any = Pattern { src: ANY_PROCESS, tag: REQUEST };
        while let Some(message) = w.process.take_probed(&owner.object.comm, any) {
            let thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((sender, _)) = &*thread {
                // It ends after the last of its senders.
                let _ = sender.send(Job { owner: owner.clone(), message });
            }
        }
    }
}

fn start_thread() -> Result<()> {
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if thread.is_some() {
        return Ok(());
    }
    let (sender, jobs) = channel();
    let builder = std::thread::Builder::new().name("hpvm-stripes".into());
    // Signals are the program's: a handler of it shall run on its own threads.
    let started = with_signals_blocked(|| builder.spawn(move || run(&jobs)));
    let failed = |e| Error::new(Class::Other, format!("no thread to serve a stripe: {e}"));
    *thread = Some((sender, started.map_err(failed)?));
    Ok(())
}

fn run(jobs: &Receiver<Job>) {
    // Owners with locks that somebody waits for, by address.
    let mut waiting: BTreeMap<usize, Arc<Owner>> = BTreeMap::new();
    loop {
        let next = match waiting.is_empty() {
            true => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => jobs.recv_timeout(BETWEEN_LOOKS),
        };
        let served = match next {
            Ok(Job { owner, message }) => {
                let served = owner.serve(message);
                if owner.locks().has_waiting() {
                    waiting.insert(Arc::as_ptr(&owner).addr(), owner);
                }
                served
            }
            Err(RecvTimeoutError::Timeout) => {
                waiting.retain(|_, owner| owner.locks().has_waiting());
                waiting.values().try_for_each(|owner| owner.look_for_the_dead())
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Err(error) = served {
            say(&format!("stripes of files are no longer served: {error}"));
            return;
        }
    }
}

/// Ends the thread. No file is open any more.
pub fn end() {
    let thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((sender, own)) = thread {
        drop(sender);
        // It does not panic; if it did, nobody would wait for its answers any more.
        let _ = own.join();
    }
}
