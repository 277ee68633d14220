//! What is recorded of this process: the thread that has initialized MPI keeps it.

use crate::log::{Log, Message, Part};
use crate::parts::Parts;
use crate::{is_right, mpi};
use core::ffi::c_int;
use hpvm_abi::constants::*;
use hpvm_model::say;
use std::cell::RefCell;
use std::ffi::CStr;
use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the files go; without it nothing is recorded.
const VARIABLE: &str = "HPVM_RECORD";
/// Bytes that are kept before they are written.
const BUFFER_BYTES: usize = 1 << 20;
/// A shorter time between two calls is not asked for how much of it the process had a processor, and a still shorter one is
/// that of the record itself.
const SHORT_GAP_NS: u64 = 20_000;
const NOTHING: u64 = 60;
/// After a look in vain: a program that waits looks again sooner than this.
const LOOKS_AGAIN: u64 = 2_000;

pub struct State {
    pub log: Log,
    pub parts: Parts,
    file: File,
    path: PathBuf,
    /// Calls in each other: those of functions that MPI calls are not the program's.
    depth: u32,
    began: u64,
    /// When the last call ended, by the wall's clock and by that of the processor.
    left: (u64, u64),
    /// The last call asked for what was not there yet.
    polls: bool,
    /// Messages that have been found, but not received.
    pub found: std::collections::HashMap<usize, Rc<Part>>,
}

thread_local! {
    /// Never dropped: a program may end MPI when what threads keep has gone.
    static STATE: RefCell<ManuallyDrop<Option<State>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

/// Something is recorded in this process, and a thread that does not record has called MPI.
static RECORDS: AtomicBool = AtomicBool::new(false);
static OTHERS: AtomicBool = AtomicBool::new(false);

fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place of ours.
    unsafe { libc::clock_gettime(id, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

fn wall() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

fn processor() -> u64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Before a call of MPI: the program has computed until now.
pub fn enter() {
    let mine = STATE.with_borrow_mut(|state| state.as_mut().map(State::enter).is_some());
    // Relaxed, both: flags that are looked at when the threads have ended, or not at all.
    if !mine && RECORDS.load(Ordering::Relaxed) {
        OTHERS.store(true, Ordering::Relaxed);
    }
}

/// After a call: writes what it was, if it has ended well.
pub fn leave(code: c_int, write: impl FnOnce(&mut State)) {
    leave_polling(code, false, write);
}

/// The same; `polls`: it has asked for something that is not there yet.
pub fn leave_polling(code: c_int, polls: bool, write: impl FnOnce(&mut State)) {
    STATE.with_borrow_mut(|state| {
        if let Some(state) = state.as_mut() {
            state.leave(polls, |state| {
                if is_right(code) {
                    write(state);
                }
            });
        }
    });
}

impl State {
    fn enter(&mut self) {
        self.depth += 1;
        if self.depth > 1 {
            return;
        }
        let mut computed = wall().saturating_sub(self.left.0);
        if computed > SHORT_GAP_NS {
            // Somebody else may have had the processor.
            computed = computed.min(processor().saturating_sub(self.left.1));
        }
        if computed > if self.polls { LOOKS_AGAIN } else { NOTHING } {
            self.log.compute(computed);
        }
    }

    fn leave(&mut self, polls: bool, write: impl FnOnce(&mut State)) {
        self.depth -= 1;
        if self.depth > 0 {
            return;
        }
        write(self);
        self.polls = polls;
        if self.log.text.len() > BUFFER_BYTES {
            self.flush();
        }
        // The wall's clock last: asking for the other takes longer.
        let spent = processor();
        self.left = (wall(), spent);
    }

    fn flush(&mut self) {
        if let Err(error) = self.file.write_all(self.log.text.as_bytes()) {
            give_up(&self.path, &error);
        }
        self.log.text.clear();
    }

    /// What is known of a communicator. None, and a word in the record, where calls on it cannot be simulated.
    pub fn part(&mut self, comm: MPI_Comm, function: &str) -> Option<Rc<Part>> {
        let (part, is_new) = self.parts.of(comm);
        if part.inter {
            self.log.unknown(function);
            return None;
        }
        if is_new {
            self.log.group(&part);
        }
        Some(part)
    }

    /// A message to or from a rank of a communicator. None where there is none.
    pub fn message(
        &mut self,
        sends: bool,
        (bytes, peer, tag): (u64, c_int, c_int),
        comm: MPI_Comm,
    ) -> Option<Message> {
        if peer == MPI_PROC_NULL {
            return None;
        }
        let part = self.part(comm, "messages-between-groups")?;
        Some(Message { sends, peer, bytes, tag, part })
    }

    /// A new communicator, of which this process is a member.
    pub fn made(&mut self, comm: MPI_Comm) {
        if comm == MPI_COMM_NULL {
            return;
        }
        let part = self.parts.add(comm);
        if !part.inter {
            self.log.group(&part);
        }
    }
}

/// MPI has been initialized by this thread.
pub fn begin() {
    let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) else {
        return;
    };
    let folder = Path::new(&folder);
    if let Some(name) = elsewhere() {
        // SAFETY: MPI has been initialized.
        unsafe { (mpi().MPI_Abort)(MPI_COMM_WORLD, 1) };
        refuse(name);
    }
    let (mut rank, mut size) = (0, 0);
    // SAFETY: places of ours, and a collective that all ranks call here: so that all begin together.
    unsafe {
        (mpi().MPI_Comm_rank)(MPI_COMM_WORLD, &mut rank);
        (mpi().MPI_Comm_size)(MPI_COMM_WORLD, &mut size);
    }
    let path = folder.join(rank.to_string());
    let made = std::fs::create_dir_all(folder).and_then(|()| File::create(&path));
    let file = match made {
        Ok(file) => file,
        Err(error) => give_up(&path, &error),
    };
    let mut log = Log::default();
    log.begin(rank as u32, size as u32, &host());
    let parts = Parts::new();
    // SAFETY: as above.
    unsafe { (mpi().MPI_Barrier)(MPI_COMM_WORLD) };
    let (spent, found) = (processor(), Default::default());
    let began = wall();
    let left = (began, spent);
    let state = State { log, parts, file, path, depth: 0, began, left, polls: false, found };
    STATE.set(ManuallyDrop::new(Some(state)));
    RECORDS.store(true, Ordering::Relaxed); // relaxed: see `enter`
}

/// The library by which the program, or a part of it, calls MPI past this one.
fn elsewhere() -> Option<&'static CStr> {
    let is_loaded = |name: &&CStr| {
        // SAFETY: a string of C; nothing is loaded.
        !unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }.is_null()
    };
    [c"libmpi_abi_fortran.so.1", c"libmpi.so.12", c"libmpi.so.40"].into_iter().find(is_loaded)
}

fn refuse(library: &CStr) -> ! {
    say(&format!(
        "hpvm trace: the program uses {}: what it calls cannot be recorded. Programs can be recorded that are compiled by \
         hpvm's mpicc or mpicxx and have no calls of MPI from Fortran",
        library.to_string_lossy()
    ));
    std::process::exit(1)
}

/// When the program is loaded. One that never gets to our `MPI_Init` would leave no record, and nobody would say why.
extern "C" fn loaded() {
    if std::env::var_os(VARIABLE).is_some_and(|folder| !folder.is_empty())
        && let Some(name) = elsewhere()
    {
        refuse(name);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

/// MPI is about to end.
pub fn end() {
    let Some(mut state) = STATE.with_borrow_mut(|state| state.take()) else { return };
    state.enter();
    // Relaxed: see `enter`.
    if OTHERS.load(Ordering::Relaxed) {
        state.log.unknown("calls-of-several-threads");
    }
    let lasted = wall().saturating_sub(state.began);
    state.log.end(lasted);
    state.flush();
    RECORDS.store(false, Ordering::Relaxed); // relaxed: see `enter`
}

fn host() -> String {
    let mut name = [0; MPI_MAX_PROCESSOR_NAME as usize];
    let mut len = 0;
    // SAFETY: the place is as long as MPI says.
    unsafe { (mpi().MPI_Get_processor_name)(name.as_mut_ptr(), &mut len) };
    let bytes: Vec<u8> =
        name.iter().take(usize::try_from(len).unwrap_or(0)).map(|c| *c as u8).collect();
    let name = String::from_utf8_lossy(&bytes).into_owned();
    name.split_whitespace().next().unwrap_or("unknown").to_string()
}

/// A record that is not whole is worth nothing: ends the job.
fn give_up(path: &Path, error: &std::io::Error) -> ! {
    say(&format!("hpvm trace: '{}': {error}", path.display()));
    // SAFETY: MPI has been initialized.
    unsafe { (mpi().MPI_Abort)(MPI_COMM_WORLD, 1) };
    std::process::exit(1)
}
