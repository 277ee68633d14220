//! Starting processes (section 11.8).

use super::side;
use crate::body::check::{out, wrong};
use crate::body::comm::adopt;
use crate::dynamic::link::Side;
use crate::dynamic::start::{PARENT_PORT, Program, soft};
use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::object::info::{self, Info};
use crate::raise::{on_comm, on_world};
use crate::runtime::Entered;
use core::ffi::{CStr, c_char, c_int};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

/// A string of the program's, byte by byte.
///
/// # Safety
/// It is null or ends with a zero byte.
unsafe fn word(what: &str, string: *const c_char) -> Result<OsString> {
    if string.is_null() {
        return Err(wrong(Class::Arg, format!("{what} is null")));
    }
    // SAFETY: the caller's promise.
    Ok(OsString::from_vec(unsafe { CStr::from_ptr(string) }.to_bytes().to_vec()))
}

/// Strings until a null pointer; none for a null array.
///
/// # Safety
/// The array is null or ends with a null pointer, and its strings with zero bytes.
unsafe fn words(what: &str, array: *mut *mut c_char) -> Result<Vec<OsString>> {
    let mut found = Vec::new();
    // SAFETY: the caller's promise; the array is not left behind its end.
    unsafe {
        while !array.is_null() && !(*array.add(found.len())).is_null() {
            found.push(word(what, *array.add(found.len()))?);
        }
    }
    Ok(found)
}

/// The program of one call, or of one part of it.
///
/// # Safety
/// As for [`word`] and [`words`].
unsafe fn program(
    command: *const c_char,
    argv: *mut *mut c_char,
    processes: c_int,
    info: MPI_Info,
) -> Result<Program> {
    let most = u32::try_from(processes)
        .map_err(|_| wrong(Class::Arg, format!("maxprocs is {processes}; expected 0 or more")))?;
    let info = info::copy_or_empty(info)?;
    let value = |key: &str| info.get_bytes(key.as_bytes()).filter(|value| !value.is_empty());
    let path = |key: &str| value(key).map(|value| OsString::from_vec(value.to_vec()));
    Ok(Program {
        // SAFETY: the caller's promises.
        command: unsafe { word("command", command)? },
        // SAFETY: as above.
        arguments: unsafe { words("argv", argv)? },
        processes: info.get("soft").map_or(Ok(most), |text| soft(text, most))?,
        hosts: hosts(&info),
        hostfile: first(&info, &["hostfile", "add-hostfile"]),
        folder: path("wdir").or_else(|| path("wd")),
        path: path("path"),
    })
}

fn first(info: &Info, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| info.get(key)).filter(|value| !value.is_empty()).map(str::to_owned)
}

/// The standard's `host`, and what others call it.
fn hosts(info: &Info) -> Option<String> {
    first(info, &["host", "hosts", "add-host"])
}

/// Starts the processes and gives the handle and the error codes.
///
/// # Safety
/// `errcodes` is null or has room for as many codes as processes are asked for: `asked`, which matters at the root.
unsafe fn start(
    w: &mut Entered,
    (side, parent): &(Side, Arc<CommObject>),
    errcodes: *mut c_int,
    asked: usize,
    programs: impl FnOnce() -> Result<Vec<Program>>,
) -> Result<MPI_Comm> {
    let made = w.spawn(side, || {
        let programs = programs()?;
        match programs.iter().all(|program| program.processes == 0) {
            true => Err(wrong(Class::Spawn, "no process is to be started: maxprocs is 0")),
            false => Ok(programs),
        }
    });
    // Only the root knows how many there are when none of them can be started.
    let asked = if side.is_root() { asked } else { 0 };
    let (count, code) = match &made {
        Ok((_, count)) => (*count, MPI_SUCCESS),
        Err(error) => (asked, error.code()),
    };
    if !errcodes.is_null() {
        for place in 0..count {
            // SAFETY: the caller's promise.
            unsafe { *errcodes.add(place) = code };
        }
    }
    adopt(w, parent, made?.0)
}

pub unsafe fn comm_spawn(
    command: *const c_char,
    argv: *mut *mut c_char,
    maxprocs: c_int,
    info: MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    intercomm: *mut MPI_Comm,
    array_of_errcodes: *mut c_int,
) -> c_int {
    on_comm("MPI_Comm_spawn", comm, |w| {
        out("intercomm", intercomm)?;
        let side = side(w, comm, root)?;
        // SAFETY: the caller's promises.
        let one = || Ok(vec![unsafe { program(command, argv, maxprocs, info)? }]);
        let asked = usize::try_from(maxprocs).unwrap_or(0);
        // SAFETY: checked above; the caller's promise.
        unsafe { *intercomm = start(w, &side, array_of_errcodes, asked, one)? };
        Ok(())
    })
}

pub unsafe fn comm_spawn_multiple(
    count: c_int,
    array_of_commands: *mut *mut c_char,
    array_of_argv: *mut *mut *mut c_char,
    array_of_maxprocs: *const c_int,
    array_of_info: *const MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    intercomm: *mut MPI_Comm,
    array_of_errcodes: *mut c_int,
) -> c_int {
    let several = || -> Result<Vec<Program>> {
        let number = usize::try_from(count).ok().filter(|count| *count > 0);
        let number = number
            .ok_or_else(|| wrong(Class::Count, format!("count is {count}; expected 1 or more")))?;
        if array_of_commands.is_null() || array_of_maxprocs.is_null() || array_of_info.is_null() {
            return Err(wrong(Class::Arg, "an array of commands, maxprocs or info is null"));
        }
        let one = |i: usize| {
            // SAFETY: the caller's promises: the arrays have `count` members.
            unsafe {
                let argv = match array_of_argv.is_null() {
                    true => core::ptr::null_mut(),
                    false => *array_of_argv.add(i),
                };
                let (command, most) = (*array_of_commands.add(i), *array_of_maxprocs.add(i));
                program(command, argv, most, *array_of_info.add(i))
            }
        };
        (0..number).map(one).collect()
    };
    on_comm("MPI_Comm_spawn_multiple", comm, |w| {
        out("intercomm", intercomm)?;
        let side = side(w, comm, root)?;
        let count = if side.0.is_root() { usize::try_from(count).unwrap_or(0) } else { 0 };
        let most = |i: usize| {
            // SAFETY: the caller's promise: the array has `count` members at the root.
            let most = (!array_of_maxprocs.is_null()).then(|| unsafe { *array_of_maxprocs.add(i) });
            most.and_then(|most| usize::try_from(most).ok()).unwrap_or(0)
        };
        let asked = (0..count).map(most).sum();
        // SAFETY: checked above; the caller's promise.
        unsafe { *intercomm = start(w, &side, array_of_errcodes, asked, several)? };
        Ok(())
    })
}

/// Connects a spawned process to those who have spawned it: a part of `MPI_Init`, collective in the new job.
pub fn meet_parents(w: &mut Entered) -> Result<()> {
    // Without a launcher the variable is that of the process which has started this one.
    let name = std::env::var(PARENT_PORT).ok().filter(|_| w.job.manager.is_some());
    let Some(name) = name else { return Ok(()) };
    let world = w.objects.comm(MPI_COMM_WORLD)?.clone();
    let side = Side { comm: world.comm.clone(), root: 0 };
    let made = w.connect_to(&side, Ok(&name), true)?;
    let parent = adopt(w, &world, made)?;
    w.objects.comm(parent)?.extras().name = "MPI_COMM_PARENT".to_owned();
    w.dynamic.parent = Some(parent);
    Ok(())
}

pub unsafe fn comm_get_parent(parent: *mut MPI_Comm) -> c_int {
    on_world("MPI_Comm_get_parent", |w| {
        out("parent", parent)?;
        // SAFETY: checked above.
        unsafe { *parent = w.dynamic.parent.unwrap_or(MPI_COMM_NULL) };
        Ok(())
    })
}
