//! Completing requests: wait, test, free, cancel (sections 3.7.3 to 3.7.6, 3.8.4).

use super::handles::Handles;
use super::status::store;
use crate::body::check::out;
use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::object::request::{Active, Generalised, Named, RequestObject, SENT, bad_request};
use crate::raise::{self, in_engine};
use crate::runtime::{Entered, World, enter};
use core::ffi::c_int;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error, Outcome, ReqId, Status};
use std::sync::Arc;

/// An error of a call on requests, and a context of the communicator or file it belongs to.
pub struct Failed {
    context: Option<u32>,
    error: Error,
}

impl Failed {
    /// An error that belongs to the communicator of a context.
    pub(super) fn of(context: Option<u32>, error: Error) -> Failed {
        Failed { context, error }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { context: None, error }
    }
}

/// Runs the body of a call on requests; an operation's error goes to the handler of its communicator or file.
#[inline(always)]
pub fn on_requests(
    function: &'static str,
    body: impl FnOnce(&mut Entered) -> core::result::Result<(), Failed>,
) -> c_int {
    in_engine(body, |failed| raise_failed(function, failed))
}

#[cold]
fn raise_failed(function: &'static str, failed: Failed) -> c_int {
    let mut file = None;
    let found = failed.context.and_then(|context| {
        let mut w = enter().ok()?;
        crate::audit::compare_soon(&mut w);
        file = w.objects.file_of_context(context);
        w.objects.comm_of_context(context)
    });
    if let Some(file) = file {
        return crate::body::errh::raise_file(function, file, failed.error);
    }
    match found {
        Some((handle, object)) => raise::raise(function, &object, handle, failed.error),
        None => raise::raise_global(function, failed.error),
    }
}

impl crate::object::Objects {
    /// The communicator that a context id belongs to.
    pub(crate) fn comm_of_context(&self, context: u32) -> Option<(MPI_Comm, Arc<CommObject>)> {
        let owns = |c: &CommObject| {
            let base = c.comm.base_context();
            (base..base + hpvm_mpi::comm::CONTEXTS).contains(&context)
        };
        let predefined = [MPI_COMM_WORLD, MPI_COMM_SELF];
        let named = predefined.into_iter().filter_map(|h| Some((h, self.comm(h).ok()?)));
        let made = self.comms.iter().map(|(h, c)| (MPI_Comm(h), c));
        named.chain(made).find(|(_, c)| owns(c)).map(|(h, c)| (h, c.clone()))
    }
}

/// What a completion call sees in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Null or inactive: complete with the empty status, and passed over by any and some.
    Idle,
    Pending,
    Done,
}

#[inline]
pub(super) fn look(w: &World, request: MPI_Request) -> Result<Look> {
    let plain = |id: ReqId| match w.process.requests().get(id) {
        Some(r) if r.done => Ok(Look::Done),
        Some(_) => Ok(Look::Pending),
        None => Err(bad_request(request)),
    };
    match w.name_request(request)? {
        Named::Null => Ok(Look::Idle),
        Named::Sent => Ok(Look::Done),
        Named::Plain(id) => plain(id),
        Named::Object(n) => match w.objects.requests.get(n) {
            Some(RequestObject::Persistent { active: None, .. }) => Ok(Look::Idle),
            Some(RequestObject::Persistent { active: Some(Active::Ended(_)), .. }) => {
                Ok(Look::Done)
            }
            Some(RequestObject::Persistent { active: Some(Active::Running(id)), .. }) => plain(*id),
            Some(RequestObject::Generalised { id, .. }) => plain(*id),
            Some(RequestObject::Partitioned(p)) => p.active.map_or(Ok(Look::Idle), plain),
            None => Err(bad_request(request)),
        },
    }
}

/// How a request ended, ready for the program.
pub(super) struct End {
    pub(super) status: MPI_Status,
    context: Option<u32>,
    error: Option<Box<Error>>,
    /// The request was null or inactive.
    idle: bool,
}

pub(super) const EMPTY: MPI_Status = MPI_Status {
    MPI_SOURCE: MPI_ANY_SOURCE,
    MPI_TAG: MPI_ANY_TAG,
    MPI_ERROR: MPI_SUCCESS,
    MPI_internal: [0; 5],
};

impl End {
    /// Of a request that is null or inactive.
    pub(super) fn idle() -> End {
        End { status: EMPTY, context: None, error: None, idle: true }
    }

    pub(super) fn of(outcome: Outcome) -> End {
        let mut status = EMPTY;
        // SAFETY: a place of our own.
        unsafe { store(&mut status, &outcome.status) };
        End { status, context: outcome.context, error: outcome.error, idle: false }
    }

    fn code(&self) -> c_int {
        self.error.as_ref().map_or(MPI_SUCCESS, |e| e.code())
    }

    /// The call's result when it completes this request alone.
    fn into_result(self) -> core::result::Result<(), Failed> {
        match self.error {
            None => Ok(()),
            Some(error) => Err(Failed { context: self.context, error: *error }),
        }
    }
}

/// Ends a request that is done or idle: frees it or makes it inactive, and sets the handle.
///
/// # Safety
/// `place` holds a request handle.
#[inline]
unsafe fn conclude(w: &mut Entered, place: *mut MPI_Request) -> Result<End> {
    // SAFETY: the caller's promise.
    let request = unsafe { *place };
    match w.name_request(request)? {
        Named::Null => Ok(End::idle()),
        Named::Sent => {
            // SAFETY: the caller's promise.
            unsafe { *place = MPI_REQUEST_NULL };
            Ok(End::of(Outcome::EMPTY))
        }
        Named::Plain(id) => {
            let outcome = w.process.take_outcome(id).ok_or_else(|| bad_request(request))?;
            // SAFETY: the caller's promise.
            unsafe { *place = MPI_REQUEST_NULL };
            Ok(End::of(outcome))
        }
        Named::Object(n) => {
            let World { process, objects, .. } = &mut **w;
            match objects.requests.get_mut(n) {
                Some(RequestObject::Persistent { active, .. }) => {
                    let outcome = match active.take() {
                        None => return Ok(End::idle()),
                        Some(Active::Ended(outcome)) => outcome,
                        Some(Active::Running(id)) => {
                            process.take_outcome(id).ok_or_else(|| bad_request(request))?
                        }
                    };
                    Ok(End::of(outcome))
                }
                Some(RequestObject::Partitioned(p)) => {
                    let Some(id) = p.active else { return Ok(End::idle()) };
                    let outcome = process.take_outcome(id).ok_or_else(|| bad_request(request))?;
                    p.settle(process);
                    p.end();
                    Ok(End::of(outcome))
                }
                Some(RequestObject::Generalised { functions, id, .. }) => {
                    let (functions, id) = (*functions, *id);
                    process.take_outcome(id);
                    objects.requests.remove(n);
                    // SAFETY: the caller's promise.
                    unsafe { *place = MPI_REQUEST_NULL };
                    Ok(conclude_generalised(w, functions))
                }
                None => Err(bad_request(request)),
            }
        }
    }
}

/// The error that a function of the program returned.
pub(super) fn failed_callback(code: c_int) -> Option<Error> {
    (code != MPI_SUCCESS).then(|| {
        let text = format!("a function of a generalised request returned error code {code}");
        Error::returned(code, text)
    })
}

/// Asks the program for the status of its generalised request, and lets it free its state
/// (section 13.2).
fn conclude_generalised(w: &mut Entered, functions: Generalised) -> End {
    let mut status = EMPTY;
    let code = query(w, &functions, &mut status);
    let freed = w.outside(|| functions.release());
    let code = if code != MPI_SUCCESS { code } else { freed };
    let error = failed_callback(code).map(Box::new);
    End { status, context: None, error, idle: false }
}

pub(super) fn query(w: &mut Entered, functions: &Generalised, status: &mut MPI_Status) -> c_int {
    let functions = *functions;
    w.outside(|| match functions.query {
        // SAFETY: the program's function, its own argument and a valid status.
        Some(query) => unsafe { query(functions.extra, status) },
        None => MPI_SUCCESS,
    })
}

/// Copies a status to the program, all but its error; the empty status of a request that is null or
/// inactive with it (section 3.7.3).
pub(super) unsafe fn give(place: *mut MPI_Status, end: &End) {
    if place.is_null() {
        return;
    }
    let status = &end.status;
    // SAFETY: not null, and the caller vouches for it.
    unsafe {
        (*place).MPI_SOURCE = status.MPI_SOURCE;
        (*place).MPI_TAG = status.MPI_TAG;
        (*place).MPI_internal = status.MPI_internal;
        if end.idle {
            (*place).MPI_ERROR = MPI_SUCCESS;
        }
    }
}

/// Element `i` of an array of statuses, which may be `MPI_STATUSES_IGNORE`.
pub(super) fn nth(statuses: *mut MPI_Status, i: usize) -> *mut MPI_Status {
    if statuses.is_null() { statuses } else { statuses.wrapping_add(i) }
}

pub unsafe fn wait(request: *mut MPI_Request, status: *mut MPI_Status) -> c_int {
    on_requests("MPI_Wait", |w| {
        out("request", request)?;
        // SAFETY: checked above; the caller vouches for the rest.
        unsafe {
            let handle = *request;
            if handle == SENT {
                *request = MPI_REQUEST_NULL;
                store(status, &Status::EMPTY);
                return Ok(());
            }
            w.wait_until(|w| look(w, handle) != Ok(Look::Pending))?;
            if conclude_clean(w, request, status) {
                return Ok(());
            }
            let end = conclude(w, request)?;
            give(status, &end);
            end.into_result()
        }
    })
}

pub unsafe fn test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status) -> c_int {
    on_requests("MPI_Test", |w| {
        out("request", request)?;
        out("flag", flag)?;
        // SAFETY: checked above; the caller vouches for the rest.
        unsafe {
            look(w, *request)?;
            w.glance()?;
            let done = look(w, *request)? != Look::Pending;
            *flag = c_int::from(done);
            if !done {
                return Ok(());
            }
            let end = conclude(w, request)?;
            give(status, &end);
            end.into_result()
        }
    })
}

/// Ends all requests of an array, none of which is pending. One error makes every status carry its
/// own.
unsafe fn conclude_all(
    w: &mut Entered,
    n: usize,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
) -> core::result::Result<(), Failed> {
    // The index of the first request that failed, and how; its successors' codes go to the
    // statuses as they come.
    let mut failed: Option<End> = None;
    for i in 0..n {
        // SAFETY: the caller vouches for the arrays.
        let (request, status) = unsafe { (requests.add(i), nth(statuses, i)) };
        // SAFETY: as above.
        if failed.is_none() && unsafe { conclude_clean(w, request, status) } {
            continue;
        }
        // SAFETY: as above.
        let end = unsafe { conclude(w, request)? };
        // SAFETY: as above.
        unsafe { give(status, &end) };
        if failed.is_none() && end.code() != MPI_SUCCESS {
            // SAFETY: as above; those before were all successful.
            (0..i).for_each(|k| unsafe { give_code(nth(statuses, k), MPI_SUCCESS) });
            // SAFETY: as above.
            unsafe { give_code(status, end.code()) };
            failed = Some(end);
        } else if failed.is_some() {
            // SAFETY: as above.
            unsafe { give_code(status, end.code()) };
        }
    }
    failed.map_or(Ok(()), |first| Err(in_status(first)))
}

/// Stores the error of a status.
unsafe fn give_code(place: *mut MPI_Status, code: c_int) {
    if !place.is_null() {
        // SAFETY: not null, and the caller vouches for it.
        unsafe { (*place).MPI_ERROR = code };
    }
}

/// The common case of `conclude`, quickly: an operation of the engine that is done and without
/// error. False: it is something else, and nothing has changed.
///
/// # Safety
/// `place` holds a request handle; `status` is null or may be written.
#[inline(always)]
unsafe fn conclude_clean(
    w: &mut Entered,
    place: *mut MPI_Request,
    status: *mut MPI_Status,
) -> bool {
    // SAFETY: the caller's promise.
    let request = unsafe { *place };
    let found = match request {
        SENT => Status::EMPTY,
        other => match w.engine_request(other) {
            Some(id) => match w.process.requests_mut().take_clean(id) {
                Some(found) => found,
                None => return false,
            },
            None => return false,
        },
    };
    // SAFETY: the caller's promise.
    unsafe {
        *place = MPI_REQUEST_NULL;
        store(status, &found);
    }
    true
}

fn in_status(first: End) -> Failed {
    let text = first.error.map_or(String::new(), |e| format!("the first of them: {e}"));
    Failed { context: first.context, error: Error::new(Class::InStatus, text) }
}

pub unsafe fn waitall(
    count: c_int,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Waitall", |w| {
        // SAFETY: the caller's promises.
        let all = unsafe { Handles::new(count, requests)? };
        // A handle that is no request counts as done here and is the error of `conclude_all`.
        let mut first = 0;
        w.wait_until(|w| {
            while first < all.len() && look(w, all.get(first)) != Ok(Look::Pending) {
                first += 1;
            }
            first == all.len()
        })?;
        // SAFETY: as above.
        unsafe { conclude_all(w, all.len(), requests, statuses) }
    })
}

pub unsafe fn testall(
    count: c_int,
    requests: *mut MPI_Request,
    flag: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Testall", |w| {
        out("flag", flag)?;
        // SAFETY: the caller's promises.
        let all = unsafe { Handles::new(count, requests)? };
        w.glance()?;
        let mut done = true;
        for r in all.iter() {
            done &= look(w, r)? != Look::Pending;
        }
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(done) };
        match done {
            // SAFETY: as above.
            true => unsafe { conclude_all(w, all.len(), requests, statuses) },
            false => Ok(()),
        }
    })
}

/// What a look over an array finds first.
pub(super) enum Found {
    /// All are null or inactive.
    Nothing,
    Pending,
    At(usize),
}

pub(super) fn find(w: &World, all: Handles) -> Result<Found> {
    let mut found = Found::Nothing;
    for (i, r) in all.iter().enumerate() {
        match look(w, r)? {
            Look::Done => return Ok(Found::At(i)),
            Look::Pending => found = Found::Pending,
            Look::Idle => {}
        }
    }
    Ok(found)
}

/// Stores the outcome of an `any` call.
unsafe fn give_any(
    w: &mut Entered,
    found: Found,
    requests: *mut MPI_Request,
    indx: *mut c_int,
    status: *mut MPI_Status,
) -> core::result::Result<(), Failed> {
    // SAFETY: the caller of the body vouches for all places.
    unsafe {
        match found {
            Found::At(i) => {
                let end = conclude(w, requests.add(i))?;
                *indx = i as c_int;
                give(status, &end);
                end.into_result()
            }
            _ => {
                *indx = MPI_UNDEFINED;
                give(status, &End::idle());
                Ok(())
            }
        }
    }
}

pub unsafe fn waitany(
    count: c_int,
    requests: *mut MPI_Request,
    indx: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Waitany", |w| {
        out("index", indx)?;
        // SAFETY: the caller's promises.
        let all = unsafe { Handles::new(count, requests)? };
        let mut found = find(w, all)?;
        if matches!(found, Found::Pending) {
            let mut result = Ok(());
            w.wait_until(|w| match find(w, all) {
                Ok(f) => {
                    found = f;
                    !matches!(found, Found::Pending)
                }
                Err(e) => {
                    result = Err(e);
                    true
                }
            })?;
            result?;
        }
        // SAFETY: as above.
        unsafe { give_any(w, found, requests, indx, status) }
    })
}

pub unsafe fn testany(
    count: c_int,
    requests: *mut MPI_Request,
    indx: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Testany", |w| {
        out("index", indx)?;
        out("flag", flag)?;
        // SAFETY: the caller's promises.
        let all = unsafe { Handles::new(count, requests)? };
        w.glance()?;
        let found = find(w, all)?;
        // SAFETY: checked above.
        unsafe {
            *flag = c_int::from(!matches!(found, Found::Pending));
            if matches!(found, Found::Pending) {
                *indx = MPI_UNDEFINED;
                return Ok(());
            }
            give_any(w, found, requests, indx, status)
        }
    })
}

/// Ends all requests of an array that are done, and stores their indices.
unsafe fn give_some(
    w: &mut Entered,
    all: Handles,
    requests: *mut MPI_Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> core::result::Result<(), Failed> {
    let mut active = false;
    let mut ends = Vec::new();
    for i in 0..all.len() {
        // SAFETY: inside the array; read anew because callbacks may run in between.
        match look(w, unsafe { *requests.add(i) })? {
            Look::Idle => {}
            Look::Pending => active = true,
            Look::Done => {
                // SAFETY: as above.
                ends.push((i, unsafe { conclude(w, requests.add(i))? }));
            }
        }
    }
    let none = ends.is_empty() && !active;
    // SAFETY: the caller of the body vouches for all places.
    unsafe { *outcount = if none { MPI_UNDEFINED } else { ends.len() as c_int } };
    let failed = ends.iter().any(|(_, end)| end.error.is_some());
    for (k, (i, end)) in ends.iter().enumerate() {
        // SAFETY: as above.
        unsafe {
            *indices.add(k) = *i as c_int;
            give(nth(statuses, k), end);
            if failed && !statuses.is_null() {
                (*statuses.add(k)).MPI_ERROR = end.code();
            }
        }
    }
    match ends.into_iter().find(|(_, end)| end.error.is_some()) {
        Some((_, end)) => Err(in_status(end)),
        None => Ok(()),
    }
}

pub unsafe fn waitsome(
    incount: c_int,
    requests: *mut MPI_Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Waitsome", |w| {
        out("outcount", outcount)?;
        // SAFETY: the caller's promises.
        let all = unsafe { Handles::new(incount, requests)? };
        if matches!(find(w, all)?, Found::Pending) {
            w.wait_until(|w| !matches!(find(w, all), Ok(Found::Pending)))?;
        }
        // SAFETY: as above.
        unsafe { give_some(w, all, requests, outcount, indices, statuses) }
    })
}

pub unsafe fn testsome(
    incount: c_int,
    requests: *mut MPI_Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    on_requests("MPI_Testsome", |w| {
        out("outcount", outcount)?;
        // SAFETY: the caller's promises.
        let all = unsafe { Handles::new(incount, requests)? };
        w.glance()?;
        // SAFETY: as above.
        unsafe { give_some(w, all, requests, outcount, indices, statuses) }
    })
}
