//! Starting, ending and asking about the library (chapters 9 and 11).

mod abi;
mod hardware;
mod memory;

pub use abi::*;
pub use hardware::*;
pub use memory::*;

use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::raise::{anywhere, on_world};
use crate::runtime::{self, Stage, enter};
use core::ffi::{c_char, c_int};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use std::time::Instant;

/// The thread that initialised MPI.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

pub unsafe fn init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    let _ = (argc, argv);
    anywhere("MPI_Init", || initialise(MPI_THREAD_SINGLE))
}

pub unsafe fn init_thread(
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    anywhere("MPI_Init_thread", || {
        out("provided", provided)?;
        if !runtime::THREAD_LEVELS.contains(&required) {
            let text = format!("required thread level {required}; expected an MPI_THREAD constant");
            return Err(wrong(Class::Arg, text));
        }
        initialise(required)?;
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { *provided = runtime::thread_level() };
        Ok(())
    })
}

/// Whether MPI was initialized for a programming model, and the program has not done so since.
static MODELS: AtomicBool = AtomicBool::new(false);

/// `MPI_Init` for a programming model (see `Extra`).
pub fn init_for_model() -> Result<()> {
    if runtime::stage() == Stage::Before {
        initialise(MPI_THREAD_SINGLE)?;
        // One thread initialises MPI, and asks.
        MODELS.store(true, Ordering::Relaxed);
    }
    Ok(())
}

pub fn is_models() -> bool {
    // The thread that stores it asks.
    MODELS.load(Ordering::Relaxed)
}

fn initialise(level: c_int) -> Result<()> {
    match runtime::stage() {
        Stage::Before => {}
        // The program takes over what a model has begun. One thread does both.
        Stage::Initialized if MODELS.swap(false, Ordering::Relaxed) => {
            runtime::raise_thread_level(level);
            return Ok(());
        }
        Stage::Initialized => {
            return Err(wrong(Class::Other, "MPI has been initialized already"));
        }
        Stage::Finalized => {
            let text = "MPI can't be initialized again after MPI_Finalize; sessions can";
            return Err(wrong(Class::Other, text));
        }
    }
    runtime::raise_thread_level(level);
    runtime::start()?;
    let mut w = enter()?;
    let (world, own) = (w.process.world().clone(), w.process.own().clone());
    w.objects.add_predefined_comms(world, own);
    crate::body::spawn::meet_parents(&mut w)?;
    drop(w);
    let _ = MAIN.set(std::thread::current().id());
    runtime::set_stage(Stage::Initialized);
    Ok(())
}

pub unsafe fn initialized(flag: *mut c_int) -> c_int {
    anywhere("MPI_Initialized", || {
        out("flag", flag)?;
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(runtime::stage() != Stage::Before) };
        Ok(())
    })
}

pub unsafe fn finalized(flag: *mut c_int) -> c_int {
    anywhere("MPI_Finalized", || {
        out("flag", flag)?;
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(runtime::stage() == Stage::Finalized) };
        Ok(())
    })
}

pub unsafe fn finalize() -> c_int {
    anywhere("MPI_Finalize", || {
        if runtime::stage() != Stage::Initialized {
            let text = match runtime::stage() {
                Stage::Before => "MPI has not been initialized",
                _ => "MPI has been finalized already",
            };
            return Err(wrong(Class::Other, text));
        }
        crate::body::attr::finalize()?;
        if enter()?.audit {
            crate::audit::compare_all(&mut enter()?)?;
            crate::audit::report()?;
        }
        enter()?.objects.remove_predefined_comms();
        runtime::finish(runtime::Use::World)?;
        runtime::set_stage(Stage::Finalized);
        Ok(())
    })
}

pub unsafe fn query_thread(provided: *mut c_int) -> c_int {
    on_world("MPI_Query_thread", |_| {
        out("provided", provided)?;
        // SAFETY: checked above.
        unsafe { *provided = runtime::thread_level() };
        Ok(())
    })
}

pub unsafe fn is_thread_main(flag: *mut c_int) -> c_int {
    on_world("MPI_Is_thread_main", |_| {
        out("flag", flag)?;
        let main = MAIN.get() == Some(&std::thread::current().id());
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(main) };
        Ok(())
    })
}

pub unsafe fn abort(comm: MPI_Comm, errorcode: c_int) -> c_int {
    // Any communicator ends the whole job, which section 9.8 allows.
    let _ = comm;
    runtime::abort_by_program(errorcode)
}

/// For profiling tools, which put their own in front of this one; `hpvm prof --region` needs none.
pub unsafe fn pcontrol(level: c_int) -> c_int {
    crate::region::control(level);
    MPI_SUCCESS
}

/// Seconds since the first call in this process: small numbers keep all digits.
pub unsafe fn wtime() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

pub unsafe fn wtick() -> f64 {
    let mut resolution = libc::timespec { tv_sec: 0, tv_nsec: 1 };
    // SAFETY: a valid place for the result.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut resolution) };
    resolution.tv_sec as f64 + resolution.tv_nsec as f64 * 1e-9
}

pub unsafe fn get_version(version: *mut c_int, subversion: *mut c_int) -> c_int {
    anywhere("MPI_Get_version", || {
        out("version", version)?;
        out("subversion", subversion)?;
        // SAFETY: checked above.
        unsafe { (*version, *subversion) = (5, 0) };
        Ok(())
    })
}

pub unsafe fn abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) -> c_int {
    anywhere("MPI_Abi_get_version", || {
        out("abi_major", abi_major)?;
        out("abi_minor", abi_minor)?;
        // SAFETY: checked above.
        unsafe { (*abi_major, *abi_minor) = (1, 0) };
        Ok(())
    })
}

/// Copies `text` with a final zero byte to a place of `size` bytes, cut if need be, and stores the
/// length without the zero.
///
/// # Safety
/// `place` is valid for `size` bytes, `len` for a number.
pub unsafe fn put_string(text: &str, place: *mut c_char, size: usize, len: *mut c_int) {
    let bytes = &text.as_bytes()[..text.len().min(size - 1)];
    // SAFETY: at most `size` bytes are written.
    unsafe {
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), place.cast(), bytes.len());
        *place.add(bytes.len()) = 0;
        *len = bytes.len() as c_int;
    }
}

pub unsafe fn get_library_version(version: *mut c_char, resultlen: *mut c_int) -> c_int {
    anywhere("MPI_Get_library_version", || {
        out("version", version)?;
        out("resultlen", resultlen)?;
        let text = concat!("hpvm ", env!("CARGO_PKG_VERSION"), " (MPI 5.0 standard ABI)");
        let size = MPI_MAX_LIBRARY_VERSION_STRING as usize;
        // SAFETY: checked above; the standard makes the place this long.
        unsafe { put_string(text, version, size, resultlen) };
        Ok(())
    })
}

pub unsafe fn get_processor_name(name: *mut c_char, resultlen: *mut c_int) -> c_int {
    on_world("MPI_Get_processor_name", |_| {
        out("name", name)?;
        out("resultlen", resultlen)?;
        let text = crate::runtime::host_name();
        // SAFETY: checked above; the standard makes the place this long.
        unsafe { put_string(&text, name, MPI_MAX_PROCESSOR_NAME as usize, resultlen) };
        Ok(())
    })
}
