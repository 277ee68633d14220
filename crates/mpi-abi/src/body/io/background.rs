//! Non-blocking access: a thread of this process moves the data while the program computes.
//!
//! The thread is started by the first access that is worth one, does them in the order of the calls, and sleeps
//! between them. It enters the engine for striped files only, to ask the owners of stripes. It leaves word of how an access has ended where the turns of progress
//! look ([`Watched::File`]), and rings the bell for whoever sleeps meanwhile.

use super::access::Access;
use super::moved;
use super::transfer::{Direction, Transfer};
use crate::body::watch::Watched;
use crate::runtime::{Entered, enter, with_signals_blocked};
use hpvm_io::File;
use hpvm_mpi::ReqId;
use hpvm_mpi::engine::requests::Operation;
use hpvm_mpi::error::Result;
use hpvm_transport::Doorbell;
use std::sync::atomic::{Ordering, fence};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Accesses from this many bytes on go to the thread. To wake it and be woken takes 10 to 20 µs, in which 1 MiB is
/// copied to or from the host's memory; what has to wait for a device waits for longer.
const LEAST_LOCAL: u64 = 1 << 20;
/// The same for files of other hosts, which a round trip away are slower.
const LEAST_REMOTE: u64 = 64 << 10;

/// How an access has ended, once it has.
#[derive(Debug, Default)]
pub struct Ended(Mutex<Option<Result<u64>>>);

impl Ended {
    fn word(&self) -> MutexGuard<'_, Option<Result<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_set(&self) -> bool {
        self.word().is_some()
    }
}

/// One access on its way.
struct Job {
    transfer: Transfer,
    direction: Direction,
    ended: Arc<Ended>,
    bell: Arc<dyn Doorbell>,
}

impl Job {
    fn run(self) {
        // SAFETY: `start`'s caller has promised it until the request is complete, which it is not yet.
        let outcome = unsafe { self.transfer.run(self.direction) };
        *self.ended.word() = Some(outcome);
        // Pairs with the barrier of `arm`: of our word and the sleeper's bell, one side sees the other's.
        fence(Ordering::SeqCst);
        self.bell.ring();
    }
}

/// The thread, while there is one, and the way to it.
static THREAD: Mutex<Option<(Sender<Job>, JoinHandle<()>)>> = Mutex::new(None);

/// Hands a job over; gives it back where no thread can be started.
fn hand_over(job: Job) -> core::result::Result<(), Job> {
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if thread.is_none() {
        let (sender, jobs) = channel();
        let builder = std::thread::Builder::new().name("hpvm-files".into());
        // Signals are the program's: a handler of it shall run on its own threads.
        *thread =
            with_signals_blocked(|| builder.spawn(|| serve(jobs))).ok().map(|own| (sender, own));
    }
    match &*thread {
        Some((sender, _)) => sender.send(job).map_err(|unsent| unsent.0),
        None => Err(job),
    }
}

fn serve(jobs: Receiver<Job>) {
    jobs.into_iter().for_each(Job::run);
}

/// Ends the thread when it has done what it was given: accesses whose requests were freed are still due.
pub fn end() {
    let thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((sender, own)) = thread {
        drop(sender);
        // It does not panic; if it did, its jobs would never be done, and are not waited for here.
        let _ = own.join();
    }
}

/// Does an access that the thread is not for: one that is short, unless it reads what the host would have to wait
/// for; that locks, which excludes other processes but no thread of this one; and that is converted, maybe by functions
/// of the program. `None`: it is for the thread.
///
/// # Safety
/// The memory is valid for the direction.
pub unsafe fn done_at_once(access: &Access<'_>, direction: Direction) -> Option<Result<u64>> {
    let Transfer { file, stripes, view, position, memory, bytes, .. } = &access.transfer;
    let remote = file.is_remote() || stripes.is_some();
    let least = if remote { LEAST_REMOTE } else { LEAST_LOCAL };
    if access.is_plain() && *bytes >= least {
        return None;
    }
    if access.is_plain() && stripes.is_none() && *bytes > 0 && direction == Direction::Read {
        let mut extents = view.extents(*position, *bytes);
        if let (Some(extent), None, Some((first, len))) =
            (extents.next(), extents.next(), memory.run())
        {
            // SAFETY: the caller's promise: one run of this many bytes, which nobody else uses.
            let out = unsafe { core::slice::from_raw_parts_mut(first, len) };
            return file.read_if_there(extent.at, out).map(|()| Ok(*bytes));
        }
    }
    // SAFETY: the caller's promise.
    Some(unsafe { access.run(direction) })
}

/// Starts an access on the thread, and returns its request.
///
/// # Safety
/// The memory is valid for the direction until the request is complete.
pub unsafe fn start(access: Access<'_>, direction: Direction) -> Result<ReqId> {
    let ended = Arc::new(Ended::default());
    let Access { file, transfer, .. } = access;
    let mut w = enter()?;
    let id = w.process.requests_mut().insert(Operation::External, None);
    if let Some(request) = w.process.requests_mut().get_mut(id) {
        // Its errors are the file's.
        request.context = Some(file.comm().base_context());
    }
    let under_way =
        Watched::File { request: id, file: transfer.file.clone(), ended: ended.clone() };
    w.objects.watched.push(under_way);
    let bell = w.bell();
    drop(w);
    if let Err(job) = hand_over(Job { transfer, direction, ended, bell }) {
        job.run();
    }
    Ok(id)
}

/// Looks whether an access has ended, and completes its request then.
pub fn poll(w: &mut Entered, id: ReqId, ended: &Ended) -> bool {
    let Some(outcome) = ended.word().take() else { return false };
    if let Some(request) = w.process.requests_mut().get_mut(id) {
        match outcome {
            Ok(bytes) => request.status = moved(bytes),
            Err(error) => request.error = Some(Box::new(error)),
        }
    }
    w.process.complete_external(id);
    true
}

/// Waits for all accesses of a file whose requests the program has freed, or forgotten.
pub fn finish(file: &Arc<File>) -> Result<()> {
    let is_here =
        |one: &Watched| matches!(one, Watched::File { file: its, .. } if Arc::ptr_eq(its, file));
    enter()?.wait_until(|w| !w.objects.watched.iter().any(is_here))
}
