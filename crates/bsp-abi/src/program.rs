//! The BSP program of this process: its begin and its end.

use crate::again;
use crate::mpi::{Mpi, Session, checked, entries};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use hpvm_bsp::{Fault, Process, Settings};
use std::ffi::CString;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

/// The SPMD part while it runs.
pub struct Running {
    pub process: Process,
    pub carrier: Mpi,
    session: Session,
    begin: Instant,
}

/// Where a process is. BSPlib has no threads: the thread that calls it first calls it always.
enum Stage {
    /// Nothing was called yet.
    Before,
    /// Before `bsp_begin`; MPI runs.
    Joined(Session),
    Running(Box<Running>),
    /// After `bsp_end`, with so many processes.
    Ended(usize),
    /// In the middle of a change; what fails there ends the program.
    Changing,
}

struct State {
    stage: Stage,
    /// `bsp_init` was called.
    init: bool,
}

struct Global(UnsafeCell<State>);

// SAFETY: one thread calls BSPlib (see `Stage`), which docs/bsp.md says.
unsafe impl Sync for Global {}

static GLOBAL: Global = Global(UnsafeCell::new(State { stage: Stage::Before, init: false }));

#[inline(always)]
fn state() -> &'static mut State {
    // SAFETY: one thread calls, and no function keeps the reference while it runs the program's own.
    unsafe { &mut *GLOBAL.0.get() }
}

/// The SPMD part, for a function that may be called there only.
#[inline(always)]
pub fn running(function: &str) -> &'static mut Running {
    match &mut state().stage {
        Stage::Running(running) => running,
        _ => outside(function),
    }
}

#[cold]
fn outside(function: &str) -> ! {
    let when = match state().stage {
        Stage::Ended(_) => "after bsp_end",
        _ => "before bsp_begin",
    };
    end_with(
        function,
        &format!("was called {when}; it can only be called between bsp_begin and bsp_end"),
    )
}

/// Hands an error to people, and ends the program.
#[cold]
pub fn fail(function: &str, fault: &Fault) -> ! {
    end_with(fault.function.unwrap_or(function), &fault.text)
}

/// Ends the program with a line that names function, process and superstep.
#[cold]
pub fn end_with(function: &str, text: &str) -> ! {
    let place = match &state().stage {
        Stage::Running(r) => {
            format!("process {}, superstep {}: ", r.process.pid(), r.process.superstep())
        }
        Stage::Joined(session) => format!("process {}: ", session.rank),
        _ => String::new(),
    };
    let line = format!("{function}: {place}{text}").replace('\0', "");
    let line = CString::new(line).unwrap_or_default();
    // SAFETY: a string of C.
    unsafe { (entries().extra.fail)(line.as_ptr(), 1) }
}

/// The text of an error of MPI, as ours.
#[cold]
fn mpi_failed(function: &str, text: &str) -> ! {
    end_with(function, text)
}

/// Starts the engine, if it does not run yet.
fn join(function: &str) {
    if !matches!(state().stage, Stage::Before) {
        return;
    }
    // SAFETY: takes no arguments.
    let opened =
        checked(unsafe { (entries().extra.init_for_model)() }).and_then(|()| Session::open());
    match opened {
        Ok(session) => state().stage = Stage::Joined(session),
        Err(text) => mpi_failed(function, &text),
    }
    hpvm_model::at_exit(at_exit);
}

/// Writes what the C library has buffered, which the end of the program would have done: errors and the end of a job don't.
fn flush() {
    // SAFETY: all streams of the process, which ends or has come back from its SPMD function.
    unsafe { libc::fflush(core::ptr::null_mut()) };
}

/// Ends the job, without a word, with an exit code.
fn end_job(code: c_int) -> ! {
    flush();
    // SAFETY: an exit code.
    unsafe { (hpvm_model::onesided().end_job)(code) }
}

/// What the processes tell each other before the SPMD part.
struct Begins {
    /// Process 0 wants so many.
    wanted: c_int,
    /// The exit code of processes that have ended with an error instead.
    error: c_int,
}

/// All processes call this, whether they begin or end with an error.
fn meet(session: &Session, own: Begins) -> Result<(Mpi, Begins), String> {
    let all = session.communicator(session.size, c"hpvm.bsp")?;
    let wanted = if session.rank == 0 { own.wanted } else { c_int::MAX };
    let [wanted, error] = all.least([wanted, -own.error])?;
    Ok((all, Begins { wanted, error: -error }))
}

/// The exit code of this process, which has ended with an error and waits for the others.
static ERROR: AtomicI32 = AtomicI32::new(0);

/// Some process neither begins nor ends.
unsafe extern "C" fn waited_long() -> c_int {
    end_job(ERROR.load(Ordering::Relaxed)) // relaxed: this thread has stored it
}

/// The end of a process that has not called `bsp_begin`, where others may wait for it. The system tells 8 bits of a status.
fn ended_early(session: Session, status: c_int) {
    let (init, error) = (state().init, status & 0xff);
    // Behind `bsp_init` there is no program without process 0.
    if init && (error != 0 || session.rank == 0) {
        end_job(error);
    }
    if error != 0 {
        flush();
        ERROR.store(error, Ordering::Relaxed); // relaxed: see `waited_long`
        // SAFETY: a function of this library.
        unsafe { (hpvm_model::onesided().on_long_wait)(Some(waited_long)) };
        // When all are here, processes that all end so have all said why.
        let met = meet(&session, Begins { wanted: c_int::MAX, error });
        end_job(met.map_or(error, |(_, begins)| begins.error))
    }
    if init {
        state().stage = Stage::Joined(session);
        flush();
        end_with("bsp_begin", "the process ends without having called bsp_begin");
    }
    close(session);
}

/// At the program's `exit`: the SPMD part must have ended, and what was begun for the program is ended.
fn at_exit(status: c_int) {
    match std::mem::replace(&mut state().stage, Stage::Changing) {
        Stage::Running(running) => {
            state().stage = Stage::Running(running);
            flush();
            end_with("bsp_end", "the process ends without having called bsp_end");
        }
        Stage::Joined(session) => ended_early(session, status),
        _ => {}
    }
    let mpi = entries();
    let mut finalized = 0;
    // SAFETY: the place is ours; the program has not called MPI_Init, so nobody else ends what we have begun.
    unsafe {
        (mpi.standard.MPI_Finalized)(&mut finalized);
        if finalized == 0 && (mpi.extra.adopted)() == 0 {
            (mpi.standard.MPI_Finalize)();
        }
    }
}

fn close(session: Session) {
    if let Err(text) = session.close() {
        mpi_failed("bsp_end", &text);
    }
}

/// `bsp_init`: processes other than 0 run the SPMD part here, and end.
pub fn init(spmd: Option<unsafe extern "C" fn()>) {
    let Some(spmd) = spmd else {
        end_with("bsp_init", "the function is NULL; expected the one with bsp_begin and bsp_end")
    };
    match state().stage {
        Stage::Running(_) => {
            end_with("bsp_init", "was called after bsp_begin; expected as first statement of main")
        }
        Stage::Ended(_) => {
            end_with("bsp_init", "was called after bsp_end; expected as first statement of main")
        }
        _ if state().init => end_with("bsp_init", "was called a second time; expected once"),
        _ => {}
    }
    join("bsp_init");
    state().init = true;
    let Stage::Joined(Session { rank, .. }) = state().stage else { return };
    if rank == 0 {
        return;
    }
    // SAFETY: the program's function.
    unsafe { spmd() };
    match state().stage {
        // SAFETY: ends the process as the end of main does.
        Stage::Ended(_) => unsafe { libc::exit(0) },
        Stage::Running(_) => {
            flush();
            end_with("bsp_init", "the SPMD function has returned without bsp_end")
        }
        _ => end_with("bsp_init", "the SPMD function has returned without bsp_begin"),
    }
}

/// The process whose error it is ends the job, under its own name.
fn await_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

/// `bsp_begin`: with as many processes as process 0 asks for, or all if there are fewer. The others end here.
pub fn begin(wanted: c_int) {
    join("bsp_begin");
    let session = match std::mem::replace(&mut state().stage, Stage::Changing) {
        Stage::Joined(session) => session,
        other => {
            state().stage = other;
            end_with("bsp_begin", "was called a second time; a program has one SPMD part");
        }
    };
    let met = meet(&session, Begins { wanted, error: 0 });
    let (all, begins) = met.unwrap_or_else(|text| mpi_failed("bsp_begin", &text));
    let Begins { wanted, error } = begins;
    if error != 0 {
        await_the_end();
    }
    let (rank, size) = (session.rank, session.size);
    let Ok(processes @ 1..) = usize::try_from(wanted) else {
        state().stage = Stage::Joined(session);
        end_with("bsp_begin", &format!("{wanted} processes; expected 1 or more"));
    };
    let processes = processes.min(size);
    let mut carrier = Ok(all);
    if processes < size {
        if let Err(text) = carrier.and_then(Mpi::free) {
            mpi_failed("bsp_begin", &text);
        }
        if rank >= processes {
            leave(session);
        }
        carrier = session.communicator(processes, c"hpvm.bsp.first");
    }
    let mapped = carrier.and_then(|mut carrier| {
        carrier.map(rank, processes)?;
        Ok(carrier)
    });
    let carrier = mapped.unwrap_or_else(|text| mpi_failed("bsp_begin", &text));
    let settings = Settings { checks: hpvm_model::checks(), ..Settings::default() };
    let process = Process::new(rank, processes, settings);
    let begin = Instant::now();
    let mut running = Box::new(Running { process, carrier, session, begin });
    again::open(&mut running.process);
    state().stage = Stage::Running(running);
}

/// The end of a process that the program has no use for.
fn leave(session: Session) -> ! {
    close(session);
    // SAFETY: ends the process as the end of main does.
    unsafe { libc::exit(0) }
}

/// `bsp_end`.
pub fn end() {
    let running = running("bsp_end");
    again::close();
    if let Err(fault) = running.process.sync(&mut running.carrier, true) {
        fail("bsp_end", &fault);
    }
    let Stage::Running(running) = std::mem::replace(&mut state().stage, Stage::Changing) else {
        return;
    };
    let processes = running.process.processes();
    let Running { process, carrier, session, .. } = *running;
    if let Err(text) = carrier.free() {
        mpi_failed("bsp_end", &text);
    }
    close(session);
    process.leave_tips();
    state().stage = Stage::Ended(processes);
}

/// `bsp_nprocs`: before `bsp_begin`, the processes there are.
pub fn processes() -> usize {
    join("bsp_nprocs");
    match &state().stage {
        Stage::Running(running) => running.process.processes(),
        Stage::Joined(session) => session.size,
        Stage::Ended(processes) => *processes,
        Stage::Before | Stage::Changing => 1,
    }
}

/// Seconds since `bsp_begin`.
pub fn time() -> f64 {
    running("bsp_time").begin.elapsed().as_secs_f64()
}
