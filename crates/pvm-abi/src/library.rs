//! What the library holds for the whole process, and how calls get at it.
//!
//! A mutex guards it. No function of the program runs under it, and nobody sleeps under it while a receive waits, but some milliseconds for
//! the rest of a message that has begun to come; requests of the virtual machine are waited for under it, and so are receivers for which too
//! much waits.

use crate::say::say;
use crate::task::{self, Look, Task};
use core::ffi::{c_char, c_int};
use hpvm_pvm::buffers::{ANY, Buffers, Head, Pattern};
use hpvm_pvm::posted::Posted;
use hpvm_pvm::protocol::{GROUP_CONTEXT, OUTPUT_TAG, SYSTEM_CONTEXT};
use hpvm_pvm::{Code, Tid, error, tid};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A function of the program that compares messages (`pvm_recvf`).
pub type Match = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
/// A message handler (`pvm_addmhf`): a function of C gets the message's number, one of Fortran its address.
#[derive(Clone, Copy)]
pub enum Handler {
    ByValue(unsafe extern "C" fn(c_int) -> c_int),
    ByAddress(unsafe extern "C" fn(*mut c_int) -> c_int),
}

/// A handler and what it is for.
#[derive(Clone, Copy)]
pub struct Installed {
    pub id: c_int,
    pub pattern: Pattern,
    pub function: Handler,
}

/// Options (`pvm_setopt`).
pub struct Options {
    pub values: [c_int; 26],
}

/// Numbers of options, as `pvm3.h` has them.
pub const ROUTE: usize = 1;
/// Its value for which nothing goes directly between hosts.
pub const DONT_ROUTE: c_int = 1;
pub const AUTO_ERR: usize = 3;
pub const OUTPUT_TID: usize = 4;
pub const OUTPUT_CODE: usize = 5;
pub const FRAG_SIZE: usize = 10;
pub const RESV_TIDS: usize = 11;
pub const SELF_OUTPUT_TID: usize = 12;
pub const SELF_OUTPUT_CODE: usize = 13;
pub const SHOW_TIDS: usize = 18;
pub const OUTPUT_CONTEXT: usize = 21;
pub const SELF_OUTPUT_CONTEXT: usize = 23;
pub const NO_RESET: usize = 25;
pub const TRACE_TID: usize = 6;
pub const TRACE_CODE: usize = 7;
pub const TRACE_CONTEXT: usize = 22;
pub const SELF_TRACE_TID: usize = 14;
pub const SELF_TRACE_CODE: usize = 15;
pub const SELF_TRACE_CONTEXT: usize = 24;
pub const SELF_TRACE_BUFFER: usize = 16;
pub const SELF_TRACE_OPTIONS: usize = 17;
pub const POLL_TYPE: usize = 19;
/// Destinations of output and of traces: each part of a task's own, and the same of its children.
pub const INHERITED: [[(usize, usize); 3]; 2] = [
    [
        (SELF_OUTPUT_TID, OUTPUT_TID),
        (SELF_OUTPUT_CODE, OUTPUT_CODE),
        (SELF_OUTPUT_CONTEXT, OUTPUT_CONTEXT),
    ],
    [
        (SELF_TRACE_TID, TRACE_TID),
        (SELF_TRACE_CODE, TRACE_CODE),
        (SELF_TRACE_CONTEXT, TRACE_CONTEXT),
    ],
];

const fn defaults() -> [c_int; 26] {
    let mut values = [0; 26];
    values[ROUTE] = 2;
    values[AUTO_ERR] = 1;
    values[FRAG_SIZE] = 4080;
    values[SHOW_TIDS] = 1;
    values[SELF_TRACE_BUFFER] = 0;
    values[SELF_TRACE_OPTIONS] = 1;
    values[POLL_TYPE] = 1;
    values
}

pub struct Library {
    pub task: Option<Task>,
    pub buffers: Option<Buffers>,
    pub context: c_int,
    pub options: Options,
    pub handlers: Vec<Installed>,
    pub last_handler: c_int,
    pub matching: Option<Match>,
    pub catching: crate::catchout::Catching,
    /// How long a receive polls before it sleeps.
    spin: Duration,
    /// It was told that the queue is full.
    told_full: bool,
}

/// A receive whose message comes soon polls longer the next time, and one that gives up polling half as long: between these.
const SHORTEST_SPIN: Duration = Duration::from_micros(2);
const LONGEST_SPIN: Duration = Duration::from_micros(100);
/// The same where messages come from other hosts: to wake up costs several times what such a message takes.
const AWAY_SPIN: Duration = Duration::from_micros(200);
/// A message that came so soon after the call was worth polling for, even if this receive slept: two tasks that both sleep wake each
/// other later than they would poll, and would never poll longer.
const WORTH_POLLING_MAX: Duration = Duration::from_micros(300);
/// From then on others that want the processor get it while we poll.
const ALONE: Duration = Duration::from_micros(20);
/// So long a receive polls before it looks whether another task wants this very processor: some times what a short message takes. Where one
/// did the last time, it looks at once.
const LOOK_AROUND: Duration = Duration::from_micros(5);

// SAFETY: pointers in it are the program's: functions and a `FILE`, which any thread may use.
unsafe impl Send for Library {}

static LIBRARY: Mutex<Library> = Mutex::new(Library {
    task: None,
    buffers: None,
    context: 0,
    options: Options { values: defaults() },
    handlers: Vec::new(),
    last_handler: 0,
    matching: None,
    catching: crate::catchout::Catching::new(),
    spin: LONGEST_SPIN,
    told_full: false,
});

/// The last error (`pvm_errno`).
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub static pvm_errno: hpvm_sync::atomic::AtomicI32 = hpvm_sync::atomic::AtomicI32::new(0);

/// What `pvm_errlist` is in C: an array of strings.
#[repr(transparent)]
pub struct Texts([*const c_char; error::TEXTS.len()]);

// SAFETY: the strings are constants.
unsafe impl Sync for Texts {}

/// The texts of errors; the index is the number of an error without its sign.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub static pvm_errlist: Texts = Texts({
    let mut texts = [core::ptr::null(); error::TEXTS.len()];
    let mut index = 0;
    while index < texts.len() {
        texts[index] = error::TEXTS[index].as_ptr();
        index += 1;
    }
    texts
});

/// How many there are.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub static pvm_nerr: c_int = error::TEXTS.len() as c_int;

pub fn last_error() -> c_int {
    // Relaxed: a variable of C, which each thread that has failed reads by itself.
    pvm_errno.load(hpvm_sync::atomic::Ordering::Relaxed)
}

pub fn lock() -> MutexGuard<'static, Library> {
    LIBRARY.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Nothing of a call is to be done before the process is a task.
pub fn enrolled() -> Result<MutexGuard<'static, Library>, Code> {
    let mut library = lock();
    library.enroll()?;
    Ok(library)
}

impl Library {
    pub fn enroll(&mut self) -> Result<&mut Task, Code> {
        if self.task.is_none() {
            match Task::enroll() {
                Ok(task) => {
                    self.context = task.identity.context;
                    let output = &task.identity.output;
                    let options = &mut self.options.values;
                    for (option, value) in [
                        (OUTPUT_TID, output.tid),
                        (OUTPUT_CODE, output.tag),
                        (OUTPUT_CONTEXT, output.context),
                        (SELF_OUTPUT_TID, output.tid),
                        (SELF_OUTPUT_CODE, output.tag),
                        (SELF_OUTPUT_CONTEXT, output.context),
                    ] {
                        options[option] = value;
                    }
                    self.task = Some(task);
                }
                Err(text) => {
                    say(None, &text);
                    return Err(Code::SysErr);
                }
            }
        }
        self.task.as_mut().ok_or(Code::SysErr)
    }

    pub fn buffers(&mut self) -> &mut Buffers {
        self.buffers.get_or_insert_default()
    }

    /// Takes what has come; output of children is printed. An error: the virtual machine has ended.
    pub fn progress(&mut self, look: Look) -> Result<(), Code> {
        self.progress_for(look, None)
    }

    /// The same with a receive that waits.
    fn progress_for(&mut self, look: Look, posted: Option<&mut Posted>) -> Result<(), Code> {
        let Some(task) = &mut self.task else { return Err(Code::SysErr) };
        let buffers = self.buffers.get_or_insert_default();
        let some = task.poll(buffers, look, posted) | std::mem::take(&mut task.unseen);
        let lost = task.lost;
        if some {
            self.print_output();
        }
        if lost { Err(self.lost()) } else { Ok(()) }
    }

    /// Prints what children have written, if that comes to us for it.
    fn print_output(&mut self) {
        let is_output = |head: &Head| head.context == SYSTEM_CONTEXT && head.tag == OUTPUT_TAG;
        while let Some(number) = self.buffers().find(is_output) {
            self.buffers().unqueue(number);
            if let Some(mut message) = self.buffers().take(number) {
                self.catching.print(&mut message.body, self.options.values[SHOW_TIDS] != 0);
            }
        }
    }

    /// How long the next receive polls: this one has waited for a message since then.
    fn learn(&mut self, head: Option<Head>, since: Instant) {
        let own = self.task.as_ref().map_or(0, Task::tid);
        let source = head.map_or(own, |head| head.source);
        let away = tid::is_task(source) && tid::host_of(source) != tid::host_of(own);
        if since.elapsed() < WORTH_POLLING_MAX {
            self.spin = if away { AWAY_SPIN } else { LONGEST_SPIN };
        }
    }

    /// Whether a receive that has polled in vain for so long goes on with that; if not it sleeps, and the next one polls less.
    fn polls_on(&mut self, polled: Duration, looked_around: &mut bool) -> bool {
        let Some(task) = &mut self.task else { return false };
        let gives_up = polled >= self.spin;
        if !*looked_around && (gives_up || polled >= LOOK_AROUND || task.neighbours.share) {
            *looked_around = true;
            if task.look_around() {
                return false;
            }
        }
        if gives_up {
            self.spin = (self.spin / 2).max(SHORTEST_SPIN);
        }
        !gives_up
    }

    /// What has come cannot be taken: why, once.
    fn tell_full(&mut self) {
        let waiting = self.buffers().waiting_bytes();
        if self.options.values[AUTO_ERR] > 0 && !std::mem::replace(&mut self.told_full, true) {
            let text = format!(
                "{waiting} bytes of messages wait that this task has not received; no more are taken ({} is the limit)",
                hpvm_pvm::limit::VARIABLE
            );
            tell(self, &text);
        }
    }

    /// The virtual machine is no more, so this task is none, and ends.
    pub fn lost(&mut self) -> Code {
        if let Some(task) = self.task.take() {
            if !task.control.halting {
                say(Some(task.tid()), "the virtual machine has ended; this task ends with it");
            }
            // SAFETY: a signal to ourselves. A program that handles it goes on without a virtual machine.
            unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
        }
        Code::SysErr
    }
}

fn find(library: &mut Library, pattern: Pattern) -> Option<Found> {
    library.buffers().find(|head| pattern.accepts(head)).map(Found::Message)
}

/// What a receive finds.
#[derive(Clone, Copy)]
pub enum Found {
    /// The number of a message in the queue.
    Message(c_int),
    /// What the program's function (`pvm_recvf`) has answered, below 0: the receive ends with it.
    Error(c_int),
}

impl Found {
    /// What a call answers.
    pub fn number(self) -> c_int {
        match self {
            Found::Message(number) | Found::Error(number) => number,
        }
    }
}

/// The same by a function of the program, which runs without the mutex.
fn find_by(matching: Match, pattern: Pattern) -> Option<Found> {
    let waiting: Vec<(c_int, Head)> = {
        let mut library = lock();
        let numbers: Vec<_> = library.buffers().waiting().collect();
        let head = |number| Some((number, library.buffers().get(number)?.head));
        numbers.into_iter().filter_map(head).collect()
    };
    let mut best = (0, None);
    for (number, head) in waiting {
        if head.context != pattern.context {
            continue;
        }
        // SAFETY: the program's function, called as `pvm_recvf` promises.
        let rank = unsafe { matching(number, pattern.source, pattern.tag) };
        match rank {
            1 => return Some(Found::Message(number)),
            rank if rank < 0 => return Some(Found::Error(rank)),
            rank if rank > best.0 => best = (rank, Some(Found::Message(number))),
            _ => {}
        }
    }
    best.1
}

/// When a receive gives up.
#[derive(Clone, Copy)]
pub enum Until {
    Now,
    Time(Instant),
    Ever,
}

/// Waits for a message, which stays in the queue: `None` when it is time.
///
/// # Errors
/// The virtual machine has ended.
pub fn wait(pattern: Pattern, until: Until) -> Result<Option<Found>, Code> {
    wait_with(pattern, until, None)
}

/// Waits for a message that goes to the memory of `posted`, or stays in the queue: its number.
///
/// # Errors
/// The virtual machine has ended.
pub fn wait_for(posted: &mut Posted) -> Result<Option<Found>, Code> {
    wait_with(*posted.pattern(), Until::Ever, Some(posted))
}

/// Takes what has come, and finds the first message for a receive, in the queue or in `posted`.
fn look_for(
    mut library: MutexGuard<'static, Library>,
    pattern: Pattern,
    look: Look,
    mut posted: Option<&mut Posted>,
) -> Result<(MutexGuard<'static, Library>, Option<Found>), Code> {
    let plain = library.handlers.is_empty() && library.matching.is_none();
    if !plain || find(&mut library, pattern).is_some() {
        // What has come before is received before, and functions of the program choose from the queue.
        posted = None;
    }
    library.progress_for(look, posted)?;
    if plain {
        let found = find(&mut library, pattern);
        return Ok((library, found));
    }
    // Messages of the group functions are not the program's to choose from.
    let matching = library.matching.filter(|_| pattern.context != GROUP_CONTEXT);
    drop(library);
    crate::entry::handler::dispatch()?;
    let found = match matching {
        Some(matching) => find_by(matching, pattern),
        None => find(&mut lock(), pattern),
    };
    Ok((lock(), found))
}

fn wait_with(
    pattern: Pattern,
    until: Until,
    mut posted: Option<&mut Posted>,
) -> Result<Option<Found>, Code> {
    let mut spinning: Option<Instant> = None;
    // The first look is a quick one, also where nobody waits: what comes by sockets comes soon.
    let mut thoroughly = false;
    let mut looked_around = false;
    loop {
        let look = match until {
            _ if thoroughly => Look::Thorough,
            Until::Now => Look::Glance,
            _ => Look::Waiting,
        };
        let (mut library, found) = look_for(lock(), pattern, look, posted.as_deref_mut())?;
        let got = posted.as_ref().and_then(|posted| posted.got());
        if got.is_some() || found.is_some() {
            if let Some(since) = spinning {
                let queued = match found {
                    Some(Found::Message(number)) => library.buffers().get(number).map(|m| m.head),
                    _ => None,
                };
                library.learn(got.map(|(head, _)| head).or(queued), since);
            }
            return Ok(if got.is_some() { None } else { found });
        }
        if library.task.as_ref().is_some_and(|task| task.full) {
            library.tell_full();
            return Err(Code::NoMem);
        }
        match until {
            Until::Now => return Ok(None),
            Until::Time(time) if Instant::now() >= time => return Ok(None),
            _ => {}
        }
        let since = *spinning.get_or_insert_with(Instant::now);
        if !thoroughly && library.polls_on(since.elapsed(), &mut looked_around) {
            drop(library);
            if since.elapsed() > ALONE {
                std::thread::yield_now();
            }
            core::hint::spin_loop();
            continue;
        }
        if !thoroughly {
            // Nobody sleeps before a thorough look: messages that came beside an answer make no descriptor ready.
            thoroughly = true;
            continue;
        }
        let Some(task) = &library.task else { return Err(Code::SysErr) };
        if !task.arm() {
            task.disarm();
            continue;
        }
        let (fds, due) = (task.descriptors(), task.due());
        drop(library);
        let until = match until {
            Until::Time(time) => Some(time),
            _ => None,
        };
        task::sleep(&fds, [until, due].into_iter().flatten().min());
        if let Some(task) = &lock().task {
            task.disarm();
        }
    }
}

/// What a function returns: the number, or the error after it was told.
pub fn finish(function: &str, result: Result<c_int, Code>) -> c_int {
    match result {
        Ok(value) => value,
        Err(code) => fail(function, code),
    }
}

/// The same for a receive, whose number is also an error where the program's function of `pvm_recvf` has answered one.
pub fn received(function: &str, result: Result<c_int, Code>) -> c_int {
    match result {
        Ok(value) if value >= 0 => value,
        Ok(number) => fail_with(function, number),
        Err(code) => fail(function, code),
    }
}

/// Sets `pvm_errno`.
pub fn keep(code: Code) -> c_int {
    keep_number(code.number())
}

fn keep_number(number: c_int) -> c_int {
    // Relaxed: as `last_error`.
    pvm_errno.store(number, hpvm_sync::atomic::Ordering::Relaxed);
    number
}

/// Sets `pvm_errno`, and tells the error as `PvmAutoErr` says.
pub fn fail(function: &str, code: Code) -> c_int {
    fail_with(function, code.number())
}

fn fail_with(function: &str, number: c_int) -> c_int {
    keep_number(number);
    let auto = {
        let library = lock();
        let auto = library.options.values[AUTO_ERR];
        if auto > 0 {
            tell(&library, &format!("{function}(): {}", error::text(number)));
        }
        auto
    };
    match auto {
        // SAFETY: the program asked to be ended so.
        2 => unsafe { libc::exit(number) },
        3.. => std::process::abort(),
        _ => number,
    }
}

/// A line on standard error, with the name of the task in front.
pub fn tell(library: &Library, text: &str) {
    say(library.task.as_ref().map(Task::tid), text);
}

/// A string of the program.
///
/// # Safety
/// Null or a string of C.
pub unsafe fn string(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    (!text.is_null())
        .then(|| unsafe { core::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// What a receive of the program's arguments accepts.
///
/// # Errors
/// A negative number that does not stand for any.
pub fn pattern(tid: Tid, tag: c_int, context: c_int) -> Result<Pattern, Code> {
    if tid < ANY || tag < ANY {
        return Err(Code::BadParam);
    }
    Ok(Pattern { source: tid, tag, context })
}
