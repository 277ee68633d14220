//! Performance variables (section 15.3.7): the counters of this rank and the lengths of its queues.

use super::category::{MATCHING, TRAFFIC};
use super::{Answer, State, at, call, find, must, put, put_text};
use crate::generated::constants::*;
use crate::runtime::enter;
use core::ffi::{c_char, c_int, c_void};
use hpvm_wire::counters::Counters;
use std::sync::OnceLock;

/// A performance variable; its values are `unsigned long long`.
pub(super) struct Performance {
    name: &'static str,
    text: &'static str,
    pub category: usize,
    value: Value,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Index in the table of counters. A handle counts from its start or reset on.
    Counter(usize),
    PostedReceives,
    UnexpectedMessages,
    LiveRequests,
}

const LEVELS: [Performance; 3] = [
    Performance {
        name: "posted_receives",
        text: "Receives that wait for a message.",
        category: MATCHING,
        value: Value::PostedReceives,
    },
    Performance {
        name: "unexpected_messages",
        text: "Messages that have come and wait for a receive.",
        category: MATCHING,
        value: Value::UnexpectedMessages,
    },
    Performance {
        name: "live_requests",
        text: "Operations that have been started and whose requests are not freed.",
        category: MATCHING,
        value: Value::LiveRequests,
    },
];

/// The table behind all functions of this part: the counters, then the levels.
pub(super) fn performances() -> &'static [Performance] {
    static TABLE: OnceLock<Vec<Performance>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let counters = Counters::TABLE.iter().enumerate();
        let counters = counters.map(|(i, (name, text))| Performance {
            name,
            text: text.trim_start(),
            category: TRAFFIC,
            value: Value::Counter(i),
        });
        counters.chain(LEVELS).collect()
    })
}

impl Performance {
    fn counts(&self) -> bool {
        matches!(self.value, Value::Counter(_))
    }

    fn class(&self) -> c_int {
        if self.counts() { MPI_T_PVAR_CLASS_COUNTER } else { MPI_T_PVAR_CLASS_LEVEL }
    }
}

impl Value {
    /// What the engine has now; 0 when it does not run.
    fn now(self) -> u64 {
        let Ok(mut w) = enter() else { return 0 };
        match self {
            Value::Counter(i) => {
                // Only says that the engine's own counts are in the table now.
                w.process.publish_counters();
                let all = w.process.fm().counters().map(Counters::read).unwrap_or_default();
                all.get(i).map_or(0, |(_, value)| *value)
            }
            Value::PostedReceives => w.process.queue_lengths().0 as u64,
            Value::UnexpectedMessages => w.process.queue_lengths().1 as u64,
            Value::LiveRequests => w.process.requests().live() as u64,
        }
    }
}

/// A variable in use by a tool.
#[derive(Debug)]
pub(super) struct Handle {
    /// Handle of the session it belongs to.
    session: usize,
    value: Value,
    /// Counters: what the engine had when counting went on, `None` while stopped.
    since: Option<u64>,
    /// Counters: what was counted before that.
    sum: u64,
}

impl Handle {
    fn counts(&self) -> bool {
        matches!(self.value, Value::Counter(_))
    }

    fn start(&mut self) {
        self.since = self.since.or_else(|| Some(self.value.now()));
    }

    fn stop(&mut self) {
        self.sum = self.read();
        self.since = None;
    }

    fn set(&mut self, value: u64) {
        self.sum = value;
        self.since = self.since.map(|_| self.value.now());
    }

    fn read(&self) -> u64 {
        match (self.counts(), self.since) {
            (false, _) => self.value.now(),
            (true, None) => self.sum,
            (true, Some(since)) => self.sum.wrapping_add(self.value.now().wrapping_sub(since)),
        }
    }
}

impl State {
    fn pvar_session(&self, session: MPI_T_pvar_session) -> Answer {
        self.sessions.get(session.0).map(|_| ()).ok_or(MPI_T_ERR_INVALID_SESSION)
    }

    fn pvar(
        &mut self,
        session: MPI_T_pvar_session,
        handle: MPI_T_pvar_handle,
    ) -> Answer<&mut Handle> {
        self.pvar_session(session)?;
        let found = self.handles.get_mut(handle.0).filter(|h| h.session == session.0);
        found.ok_or(MPI_T_ERR_INVALID_HANDLE)
    }

    /// Does `f` to a counter, or to all of a session for `MPI_T_PVAR_ALL_HANDLES`, which passes
    /// over variables of other kinds; one of those alone is the error `refused`.
    fn counters(
        &mut self,
        session: MPI_T_pvar_session,
        handle: MPI_T_pvar_handle,
        refused: c_int,
        f: fn(&mut Handle),
    ) -> Answer {
        if handle == MPI_T_PVAR_ALL_HANDLES {
            self.pvar_session(session)?;
            let all: Vec<usize> = self.handles.iter().map(|(handle, _)| handle).collect();
            for handle in all {
                match self.handles.get_mut(handle) {
                    Some(h) if h.session == session.0 && h.counts() => f(h),
                    _ => {}
                }
            }
            return Ok(());
        }
        let h = self.pvar(session, handle)?;
        if !h.counts() {
            return Err(refused);
        }
        f(h);
        Ok(())
    }
}

pub unsafe fn pvar_get_num(num_pvar: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    call(|_| unsafe { must(num_pvar, performances().len() as c_int) })
}

pub unsafe fn pvar_get_info(
    pvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    var_class: *mut c_int,
    datatype: *mut MPI_Datatype,
    enumtype: *mut MPI_T_enum,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    readonly: *mut c_int,
    continuous: *mut c_int,
    atomic: *mut c_int,
) -> c_int {
    call(|_| {
        let p = at(performances(), pvar_index)?;
        // SAFETY: the caller's promises.
        unsafe {
            put_text(p.name, name, name_len);
            put_text(p.text, desc, desc_len);
            put(verbosity, MPI_T_VERBOSITY_USER_BASIC);
            put(var_class, p.class());
            put(datatype, MPI_UNSIGNED_LONG_LONG);
            put(enumtype, MPI_T_ENUM_NULL);
            put(bind, MPI_T_BIND_NO_OBJECT);
            put(readonly, c_int::from(!p.counts()));
            put(continuous, c_int::from(!p.counts()));
            put(atomic, c_int::from(p.counts()));
        }
        Ok(())
    })
}

pub unsafe fn pvar_get_index(
    name: *const c_char,
    var_class: c_int,
    pvar_index: *mut c_int,
) -> c_int {
    call(|_| {
        // SAFETY: the caller's promises.
        let found = unsafe { find(performances(), name, |p| p.name)? };
        if performances()[found].class() != var_class {
            return Err(MPI_T_ERR_INVALID_NAME);
        }
        // SAFETY: as above.
        unsafe { must(pvar_index, found as c_int) }
    })
}

pub unsafe fn pvar_session_create(session: *mut MPI_T_pvar_session) -> c_int {
    call(|state| {
        if session.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        let made = state.sessions.insert(()).ok_or(MPI_T_ERR_OUT_OF_SESSIONS)?;
        // SAFETY: checked above.
        unsafe { must(session, MPI_T_pvar_session(made)) }
    })
}

pub unsafe fn pvar_session_free(session: *mut MPI_T_pvar_session) -> c_int {
    call(|state| {
        if session.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        // SAFETY: checked above.
        let named = unsafe { *session };
        state.sessions.remove(named.0).ok_or(MPI_T_ERR_INVALID_SESSION)?;
        let all: Vec<usize> = state.handles.iter().map(|(handle, _)| handle).collect();
        for handle in all {
            if state.handles.get(handle).is_some_and(|h| h.session == named.0) {
                state.handles.remove(handle);
            }
        }
        // SAFETY: as above.
        unsafe { must(session, MPI_T_PVAR_SESSION_NULL) }
    })
}

pub unsafe fn pvar_handle_alloc(
    session: MPI_T_pvar_session,
    pvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: *mut MPI_T_pvar_handle,
    count: *mut c_int,
) -> c_int {
    call(|state| {
        state.pvar_session(session)?;
        let p = at(performances(), pvar_index)?;
        if handle.is_null() || count.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        let object = Handle { session: session.0, value: p.value, since: None, sum: 0 };
        let made = state.handles.insert(object).ok_or(MPI_T_ERR_OUT_OF_HANDLES)?;
        // SAFETY: checked above.
        unsafe {
            *handle = MPI_T_pvar_handle(made);
            *count = 1;
        }
        Ok(())
    })
}

pub unsafe fn pvar_handle_free(
    session: MPI_T_pvar_session,
    handle: *mut MPI_T_pvar_handle,
) -> c_int {
    call(|state| {
        if handle.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        // SAFETY: checked above.
        let named = unsafe { *handle };
        state.pvar(session, named)?;
        state.handles.remove(named.0);
        // SAFETY: as above.
        unsafe { must(handle, MPI_T_PVAR_HANDLE_NULL) }
    })
}

pub unsafe fn pvar_start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> c_int {
    call(|s| s.counters(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, Handle::start))
}

pub unsafe fn pvar_stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> c_int {
    call(|s| s.counters(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, Handle::stop))
}

pub unsafe fn pvar_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> c_int {
    call(|s| s.counters(session, handle, MPI_T_ERR_PVAR_NO_WRITE, |h| h.set(0)))
}

pub unsafe fn pvar_read(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    buf: *mut c_void,
) -> c_int {
    call(|state| {
        let value = state.pvar(session, handle)?.read();
        // SAFETY: the caller gave a place for an `unsigned long long`.
        unsafe { must(buf.cast(), value) }
    })
}

pub unsafe fn pvar_write(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    buf: *const c_void,
) -> c_int {
    call(|state| {
        let h = state.pvar(session, handle)?;
        if !h.counts() {
            return Err(MPI_T_ERR_PVAR_NO_WRITE);
        }
        if buf.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        // SAFETY: the caller gave an `unsigned long long`.
        h.set(unsafe { *buf.cast::<u64>() });
        Ok(())
    })
}

pub unsafe fn pvar_readreset(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    buf: *mut c_void,
) -> c_int {
    call(|state| {
        let h = state.pvar(session, handle)?;
        if !h.counts() {
            return Err(MPI_T_ERR_PVAR_NO_ATOMIC);
        }
        let value = h.read();
        // Reading and resetting see the same state of the engine: what is counted in between
        // is not lost but counts from now on.
        h.since = h.since.map(|since| since.wrapping_add(value.wrapping_sub(h.sum)));
        h.sum = 0;
        // SAFETY: the caller gave a place for an `unsigned long long`.
        unsafe { must(buf.cast(), value) }
    })
}
