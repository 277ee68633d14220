//! The program of this process: its begin and its end, and what happens to errors.

use crate::mpi::{Mpi, Session, checked, entries, is_over};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use hpvm_sam::{Fault, Machine, Name, Node, Settings};
use std::ffi::CString;

/// `sam_home_function`.
pub type HomeFunction = unsafe extern "C" fn(Name, c_int) -> c_int;

pub struct Running {
    pub node: Node<Mpi>,
    session: Session,
}

/// Where a process is. One thread calls SAM.
enum Stage {
    Before,
    Running(Box<Running>),
    /// Ended, or in the middle of a change; what fails there ends the program.
    Ended,
}

struct State {
    stage: Stage,
    home: Option<HomeFunction>,
}

struct Global(UnsafeCell<State>);

// SAFETY: one thread calls SAM (see `Stage`), which docs/sam.md says.
unsafe impl Sync for Global {}

static GLOBAL: Global = Global(UnsafeCell::new(State { stage: Stage::Before, home: None }));

#[inline(always)]
fn state() -> &'static mut State {
    // SAFETY: one thread calls, and the program's functions that are called with it call nothing of SAM (sam.h).
    unsafe { &mut *GLOBAL.0.get() }
}

/// The node, for a function that may be called between `sam_init` and `sam_finish` only.
#[inline(always)]
pub fn node(function: &str) -> &'static mut Node<Mpi> {
    match &mut state().stage {
        Stage::Running(running) => &mut running.node,
        _ => outside(function),
    }
}

#[cold]
fn outside(function: &str) -> ! {
    end_with(function, "was called outside of sam_init and sam_finish")
}

#[inline(always)]
pub fn checked_for<T>(function: &str, result: Result<T, Fault>) -> T {
    match result {
        Ok(value) => value,
        Err(fault) => fail(function, &fault),
    }
}

#[cold]
#[inline(never)]
pub fn fail(function: &str, fault: &Fault) -> ! {
    end_with(function, &fault.to_string())
}

/// Ends the job with a line that names function and rank.
#[cold]
pub fn end_with(function: &str, text: &str) -> ! {
    let place = match &mut state().stage {
        Stage::Running(running) => format!("rank {}: ", running.session.rank),
        _ => String::new(),
    };
    let line = format!("{function}: {place}{text}").replace('\0', "");
    let line = CString::new(line).unwrap_or_default();
    // SAFETY: a string of C.
    unsafe { (entries().extra.fail)(line.as_ptr(), 1) }
}

/// `HPVM_SAM_CACHE`: bytes, with k, m, g or t.
fn cache_setting() -> Result<Option<usize>, String> {
    let Some(text) = std::env::var_os("HPVM_SAM_CACHE") else { return Ok(None) };
    let text = text.to_string_lossy().into_owned();
    let wrong = || format!("HPVM_SAM_CACHE is '{text}'; expected bytes, such as 64m or 2g");
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(wrong()),
    };
    let number: usize = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong).map(Some)
}

/// `sam_set_home`.
pub fn set_home(home: Option<HomeFunction>) {
    if !matches!(state().stage, Stage::Before) {
        end_with("sam_set_home", "was called after sam_init; expected before");
    }
    state().home = home;
}

/// `sam_init`.
pub fn init() {
    if !matches!(state().stage, Stage::Before) {
        end_with("sam_init", "was called a second time; expected once");
    }
    if !hpvm_model::fits() {
        let text = "libsam.so.1 and libmpi_abi.so.1 are of different versions of hpvm";
        end_with("sam_init", text);
    }
    // SAFETY: takes no arguments.
    let joined = checked(unsafe { (entries().extra.init_for_model)() });
    let (session, carrier) = checked_for("sam_init", joined.and_then(|()| Session::open()));
    let mut settings = Settings::default();
    match cache_setting() {
        Ok(cache) => settings.cache = cache.unwrap_or(settings.cache),
        Err(text) => end_with("sam_init", &text),
    }
    if let Some(home) = state().home {
        settings.home = Some(Box::new(move |name, ranks| {
            // SAFETY: the program's function, as sam.h has it. A negative number becomes one that does not exist.
            unsafe { home(name, ranks as c_int) as u32 }
        }));
    }
    let machine = Machine::new(session.rank, session.ranks, settings);
    let node = Node::new(machine, carrier);
    state().stage = Stage::Running(Box::new(Running { node, session }));
    hpvm_model::at_exit(at_exit);
}

/// At the program's `exit`: what was begun for the program is ended.
fn at_exit(_status: c_int) {
    if matches!(state().stage, Stage::Running(_)) {
        end_with("sam_finish", "the process ends without having called sam_finish");
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

/// `sam_barrier`: answers others until all have come.
pub fn barrier(function: &str) {
    let node = node(function);
    let begun = node.poll().and_then(|()| node.carrier().barrier());
    let mut request = checked_for(function, begun);
    while !is_over(request) {
        let (machine, carrier) = node.parts();
        let result = carrier.receive_or(&mut request, machine);
        if let Some(received) = checked_for(function, result) {
            checked_for(function, node.handle(received));
        }
    }
}

/// `sam_finish`.
pub fn finish() {
    let node = node("sam_finish");
    let census = node.machine().census();
    if census.writing > 0 || census.in_use > 0 || census.updating > 0 {
        let text = format!(
            "{} values are being written, {} are in use and {} accumulators are updated; expected none",
            census.writing, census.in_use, census.updating
        );
        end_with("sam_finish", &text);
    }
    barrier("sam_finish");
    let Stage::Running(running) = std::mem::replace(&mut state().stage, Stage::Ended) else {
        return;
    };
    let Running { node, session } = *running;
    let closed = node.into_carrier().close().and_then(|()| session.close());
    checked_for("sam_finish", closed);
}
