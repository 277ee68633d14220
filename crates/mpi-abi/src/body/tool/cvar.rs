//! Control variables (section 15.3.6). All are read-only: they tell what was decided.

use super::category::{LIMITS, WAITING};
use super::enumeration::NO_YES;
use super::{Answer, at, call, find, must, put, put_text};
use crate::generated::constants::*;
use crate::object::table::CAPACITY;
use crate::runtime::{World, enter, thread_level};
use core::ffi::{c_char, c_int, c_void};
use hpvm_mpi::engine::wait_policy;

/// A control variable.
pub(super) struct Control {
    pub name: &'static str,
    text: &'static str,
    /// Index in the table of categories.
    pub category: usize,
    value: Value,
}

/// Where a value comes from.
enum Value {
    /// The same in every process that uses this library.
    Constant(u64),
    /// From the engine, while it runs.
    Engine(fn(&World) -> u64),
    /// A no or yes from the engine.
    Flag(fn(&World) -> bool),
    /// `MPI_THREAD_SINGLE` and so on.
    ThreadLevel,
}

/// The table behind all functions of this part.
pub(super) const CONTROLS: &[Control] = &[
    Control {
        name: "eager_limit",
        text: "Bytes of the longest message that travels in one packet, without a rendezvous.",
        category: LIMITS,
        value: Value::Engine(|w| w.process.fm().limits().packet as u64),
    },
    Control {
        name: "communicators_limit",
        text: "Communicators that may live at the same time in one process.",
        category: LIMITS,
        value: Value::Constant(hpvm_mpi::engine::process::MAX_COMMS as u64),
    },
    Control {
        name: "handles_limit",
        text: "Objects of one kind (datatypes, groups, ...) that may live at the same time.",
        category: LIMITS,
        value: Value::Constant(CAPACITY as u64),
    },
    Control {
        name: "thread_level",
        text: "The level of thread support in force, as an MPI_THREAD constant.",
        category: LIMITS,
        value: Value::ThreadLevel,
    },
    Control {
        name: "oversubscribed",
        text: "Whether ranks of this host have to share processors, so that waits yield early.",
        category: WAITING,
        value: Value::Flag(|w| w.policy.oversubscribed),
    },
    Control {
        name: "polls",
        text: "Turns without success before a waiting rank sleeps, unless the host is oversubscribed.",
        category: WAITING,
        value: Value::Constant(wait_policy::POLLS as u64),
    },
    Control {
        name: "oversubscribed_polls",
        text: "Turns without success before a waiting rank of a oversubscribed host yields.",
        category: WAITING,
        value: Value::Constant(wait_policy::OVERSUBSCRIBED_POLLS as u64),
    },
    Control {
        name: "oversubscribed_yields",
        text: "Yields before a waiting rank of a oversubscribed host sleeps.",
        category: WAITING,
        value: Value::Constant(wait_policy::YIELDS as u64),
    },
    Control {
        name: "sleep_limit",
        text: "Longest sleep of a waiting rank in microseconds, after which it looks for the launcher.",
        category: WAITING,
        value: Value::Constant(wait_policy::MAX_SLEEP.as_micros() as u64),
    },
];

impl Value {
    fn datatype(&self) -> MPI_Datatype {
        match self {
            Value::Constant(_) | Value::Engine(_) => MPI_UNSIGNED_LONG_LONG,
            Value::Flag(_) | Value::ThreadLevel => MPI_INT,
        }
    }

    /// Stores the value at a place of the variable's type.
    unsafe fn read(&self, buf: *mut c_void) -> Answer {
        // SAFETY: the caller gave a place for a value of the variable's type.
        unsafe {
            match self {
                Value::Constant(value) => must(buf.cast(), *value),
                Value::Engine(value) => must(buf.cast(), value(&*entered()?)),
                Value::Flag(value) => must(buf.cast(), c_int::from(value(&*entered()?))),
                Value::ThreadLevel => must(buf.cast(), thread_level()),
            }
        }
    }
}

fn entered() -> Answer<crate::runtime::Entered> {
    enter().map_err(|_| MPI_T_ERR_NOT_ACCESSIBLE)
}

pub unsafe fn cvar_get_num(num_cvar: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    call(|_| unsafe { must(num_cvar, CONTROLS.len() as c_int) })
}

pub unsafe fn cvar_get_info(
    cvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    datatype: *mut MPI_Datatype,
    enumtype: *mut MPI_T_enum,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    scope: *mut c_int,
) -> c_int {
    call(|_| {
        let c = at(CONTROLS, cvar_index)?;
        let constant = matches!(c.value, Value::Constant(_));
        let items = if matches!(c.value, Value::Flag(_)) { NO_YES } else { MPI_T_ENUM_NULL };
        // SAFETY: the caller's promises.
        unsafe {
            put_text(c.name, name, name_len);
            put_text(c.text, desc, desc_len);
            put(verbosity, MPI_T_VERBOSITY_TUNER_BASIC);
            put(datatype, c.value.datatype());
            put(enumtype, items);
            put(bind, MPI_T_BIND_NO_OBJECT);
            put(scope, if constant { MPI_T_SCOPE_CONSTANT } else { MPI_T_SCOPE_READONLY });
        }
        Ok(())
    })
}

pub unsafe fn cvar_get_index(name: *const c_char, cvar_index: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    call(|_| unsafe { must(cvar_index, find(CONTROLS, name, |c| c.name)? as c_int) })
}

pub unsafe fn cvar_handle_alloc(
    cvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: *mut MPI_T_cvar_handle,
    count: *mut c_int,
) -> c_int {
    call(|state| {
        at(CONTROLS, cvar_index)?;
        if handle.is_null() || count.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        let made = state.controls.insert(cvar_index as usize).ok_or(MPI_T_ERR_OUT_OF_HANDLES)?;
        // SAFETY: checked above.
        unsafe {
            *handle = MPI_T_cvar_handle(made);
            *count = 1;
        }
        Ok(())
    })
}

pub unsafe fn cvar_handle_free(handle: *mut MPI_T_cvar_handle) -> c_int {
    call(|state| {
        if handle.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        // SAFETY: checked above.
        unsafe {
            state.controls.remove((*handle).0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
            *handle = MPI_T_CVAR_HANDLE_NULL;
        }
        Ok(())
    })
}

pub unsafe fn cvar_read(handle: MPI_T_cvar_handle, buf: *mut c_void) -> c_int {
    call(|state| {
        let index = *state.controls.get(handle.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
        // SAFETY: the caller's promises.
        unsafe { CONTROLS[index].value.read(buf) }
    })
}

pub unsafe fn cvar_write(handle: MPI_T_cvar_handle, _buf: *const c_void) -> c_int {
    call(|state| {
        state.controls.get(handle.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
        Err(MPI_T_ERR_CVAR_SET_NEVER)
    })
}
