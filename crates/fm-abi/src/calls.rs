//! The entry points, as `include/fm.h` documents them.

#![allow(non_snake_case, non_upper_case_globals, reason = "names of the C interface")]

use crate::host::installed;
use crate::local::{HANDLERS, Local, current, forget, initialize, set};
use crate::stream::{self, Replying, Sending, Stream};
use core::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use hpvm_fm::SendError;
use hpvm_fm::backoff::Backoff;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// A message handler in C.
pub type Handler = unsafe extern "C" fn(*mut Stream, c_uint) -> c_int;

/// `FM_CONTINUE`, `FM_QUIT`: what handlers return.
pub const CONTINUE: c_int = 0;
pub const QUIT: c_int = 1;
/// `FM_ANY_ID`.
pub const ANY_ID: c_ulong = c_ulong::MAX;
/// `FM_QUIET` ... `FM_KEY_NAME`.
pub const PARAMETER_QUIET: c_int = 1;
pub const PARAMETER_MAX_HANDLERS: c_int = 2;
/// The launcher knows what these named in 1998: accepted, without effect.
pub const PARAMETERS_OF_THE_LAUNCHER: core::ops::RangeInclusive<c_int> = 3..=6;

const OK: c_int = 0;
const ERROR: c_int = -1;

/// This process's number; an `unsigned long` in C, which Linux makes as wide as a pointer.
#[unsafe(no_mangle)]
pub static FM_nodeid: AtomicUsize = AtomicUsize::new(0);
/// How many processes the program has.
#[unsafe(no_mangle)]
pub static FM_numnodes: AtomicUsize = AtomicUsize::new(0);

fn report(text: &str) {
    if let Some(host) = installed() {
        host.report(text);
    }
}

/// Runs `call` with this thread's state; says what went wrong and gives `failed`.
fn call<R>(name: &str, failed: R, call: impl FnOnce(&Rc<Local>) -> Result<R, String>) -> R {
    let run = || match current() {
        Some(local) => call(&local),
        None => Err("expected FM_initialize before, by the same thread".into()),
    };
    finish(name, failed, catch_unwind(AssertUnwindSafe(run)))
}

fn finish<R>(name: &str, failed: R, result: std::thread::Result<Result<R, String>>) -> R {
    match result {
        Ok(Ok(value)) => value,
        Ok(Err(text)) => {
            report(&format!("{name}: {text}"));
            failed
        }
        Err(_) => {
            report(&format!("{name}: internal error; the message above says where"));
            failed
        }
    }
}

/// What the header's `FM_set_parameter` comes to: a number or a text, by parameter.
#[unsafe(no_mangle)]
pub extern "C" fn FM_set_parameter_value(
    parameter: c_int,
    number: c_ulong,
    _text: *const c_char,
) -> c_int {
    let run = || {
        if current().is_some() {
            return Err("expected before FM_initialize".to_owned());
        }
        match parameter {
            PARAMETER_QUIET => set(|settings| settings.quiet = true),
            PARAMETER_MAX_HANDLERS if number <= HANDLERS as c_ulong => {}
            PARAMETER_MAX_HANDLERS => {
                return Err(format!("FM_MAX_HANDLERS {number}; expected at most {HANDLERS}"));
            }
            p if PARAMETERS_OF_THE_LAUNCHER.contains(&p) => {}
            p => return Err(format!("unknown parameter {p}")),
        }
        Ok(OK)
    };
    finish("FM_set_parameter", ERROR, catch_unwind(AssertUnwindSafe(run)))
}

#[unsafe(no_mangle)]
pub extern "C" fn FM_initialize() -> c_int {
    let run = || {
        let host = installed().ok_or("this library holds no engine")?;
        let local = initialize(host)?;
        // Relaxed: the program reads them on this thread.
        FM_nodeid.store(local.rank as usize, Ordering::Relaxed);
        FM_numnodes.store(local.size as usize, Ordering::Relaxed);
        Ok(OK)
    };
    finish("FM_initialize", ERROR, catch_unwind(AssertUnwindSafe(run)))
}

#[unsafe(no_mangle)]
pub extern "C" fn FM_finalize() -> c_int {
    call("FM_finalize", ERROR, |local| {
        if local.inside.get() {
            return Err("was called inside a handler".into());
        }
        let mut backoff = Backoff::default();
        while local.replies.pending() {
            local.help(&mut backoff)?;
        }
        local.host.with(&mut |_, fast| (0..=u8::MAX).for_each(|id| fast.unregister(id)))?;
        forget();
        local.host.stop()?;
        Ok(OK)
    })
}

/// The header documents it.
///
/// # Safety
/// `handler` is null or a function of this signature.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FM_register_handler(id: c_ulong, handler: Option<Handler>) -> c_ulong {
    call("FM_register_handler", ANY_ID, |local| {
        let mut handlers = local.handlers.borrow_mut();
        let at = if id == ANY_ID {
            handlers.iter().position(Option::is_none).ok_or("all 256 handler ids are in use")?
        } else {
            usize::try_from(id)
                .ok()
                .filter(|id| *id < HANDLERS)
                .ok_or_else(|| format!("handler id {id}; expected 0 to 255 or FM_ANY_ID"))?
        };
        handlers[at] = handler;
        Ok(at as c_ulong)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn FM_reallocate_credit() -> c_int {
    // Credits adapt to who talks to whom without being told.
    call("FM_reallocate_credit", ERROR, |_| Ok(OK))
}

#[unsafe(no_mangle)]
pub extern "C" fn FM_begin_message(
    recipient: c_ulong,
    length: c_ulong,
    handler: c_ulong,
) -> *mut Stream {
    let Some(local) = current() else {
        // Another thread may own the send queue: not an error worth a text.
        return core::ptr::null_mut();
    };
    let run = || match begin(&local, recipient, length, handler) {
        Ok(stream) => Ok(Box::into_raw(Box::new(stream))),
        Err(SendError::Busy) => Ok(core::ptr::null_mut()),
        Err(SendError::TooLong { .. }) if local.inside.get() => Ok(core::ptr::null_mut()),
        Err(why) => Err(why.to_string()),
    };
    finish("FM_begin_message", core::ptr::null_mut(), catch_unwind(AssertUnwindSafe(run)))
}

fn begin(
    local: &Local,
    recipient: c_ulong,
    length: c_ulong,
    handler: c_ulong,
) -> Result<Stream, SendError> {
    let size = local.size;
    let dst = u32::try_from(recipient).unwrap_or(u32::MAX);
    let bound = length as usize;
    let most = HANDLERS as u64 - 1;
    // An id that no node can register.
    let handler = u8::try_from(handler)
        .map_err(|_| broken(format!("handler {handler}, expected at most {most}")))?;
    if dst >= size {
        return Err(SendError::NoSuchNode { dst, size });
    }
    if local.inside.get() {
        return Ok(Stream::Reply(Replying(local.replies.begin_message(dst, bound, handler)?)));
    }
    let mut backoff = Backoff::default();
    loop {
        let mut result = Err(SendError::Busy);
        local.host.with(&mut |_, fast| result = fast.begin(dst, bound, handler)).map_err(broken)?;
        match result {
            Err(SendError::Stalled) => local.help(&mut backoff).map_err(broken)?,
            result => return result.map(|stream| Stream::Send(Sending(stream))),
        }
    }
}

fn broken(text: String) -> SendError {
    SendError::Broken(hpvm_fm::Broken::Corrupt(text))
}

/// The header documents it.
///
/// # Safety
/// `stream` came from `FM_begin_message` and was not ended; `buffer` is valid for reads of
/// `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FM_send_piece(
    stream: *mut Stream,
    buffer: *const c_void,
    length: c_ulong,
) -> c_int {
    call("FM_send_piece", ERROR, |local| {
        if buffer.is_null() && length != 0 {
            return Err(format!("{length} bytes at a null pointer"));
        }
        let piece = if length == 0 {
            &[]
        } else {
            // SAFETY: not null, and valid for reads (the caller's promise).
            unsafe { core::slice::from_raw_parts(buffer.cast::<u8>(), length as usize) }
        };
        // SAFETY: null or alive (the caller's promise), and used by this thread only.
        match unsafe { stream.as_mut() } {
            Some(Stream::Send(sending)) => send(local, sending, piece).map(|()| OK),
            Some(Stream::Reply(reply)) => {
                reply.0.send_piece(piece).map(|()| OK).map_err(|why| why.to_string())
            }
            Some(Stream::Receive(_)) => Err("this stream is to be received from".into()),
            None => Err("the stream is NULL; FM_begin_message may give NULL, see fm.h".into()),
        }
    })
}

fn send(local: &Local, sending: &Sending, piece: &[u8]) -> Result<(), String> {
    if local.inside.get() {
        return Err("this stream was begun outside handlers; a handler can't send on it".into());
    }
    let mut rest = piece;
    let mut backoff = Backoff::default();
    loop {
        let mut taken = Ok(0);
        local.host.with(&mut |net, fast| taken = fast.push(net, &sending.0, rest))?;
        let taken = taken.map_err(|why| why.to_string())?;
        rest = &rest[taken..];
        if rest.is_empty() {
            return Ok(());
        }
        local.help(&mut backoff)?;
    }
}

/// The header documents it.
///
/// # Safety
/// `stream` came from `FM_begin_message` and was not ended; it is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FM_end_message(stream: *mut Stream) -> c_int {
    call("FM_end_message", ERROR, |local| {
        // SAFETY: null or alive (the caller's promise).
        match unsafe { stream.as_ref() } {
            None => return Err("the stream is NULL; FM_begin_message may give NULL".into()),
            Some(Stream::Receive(_)) => return Err("this stream is to be received from".into()),
            Some(Stream::Send(_)) if local.inside.get() => {
                return Err("this stream was begun outside handlers".into());
            }
            Some(_) => {}
        }
        // SAFETY: made by `Box::into_raw` in `FM_begin_message` and given back once.
        match *unsafe { Box::from_raw(stream) } {
            Stream::Send(sending) => end(local, &sending).map(|()| OK),
            Stream::Reply(reply) => {
                reply.0.end_message();
                Ok(OK)
            }
            Stream::Receive(_) => Ok(OK),
        }
    })
}

fn end(local: &Local, sending: &Sending) -> Result<(), String> {
    let mut backoff = Backoff::default();
    loop {
        let mut ended = Ok(false);
        local.host.with(&mut |net, fast| ended = fast.finish(net, &sending.0))?;
        if ended.map_err(|why| why.to_string())? {
            return Ok(());
        }
        local.help(&mut backoff)?;
    }
}

/// The header documents it.
///
/// # Safety
/// `stream` is the one its handler was given, and the handler has not returned; `buffer` is valid
/// for writes of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FM_receive(
    buffer: *mut c_void,
    stream: *mut Stream,
    length: c_uint,
) -> c_int {
    if buffer.is_null() && length != 0 {
        report(&format!("FM_receive: {length} bytes to a null pointer"));
        return ERROR;
    }
    // SAFETY: the caller's promises, passed on.
    let received = unsafe { stream::receive(stream, buffer.cast(), length as usize) };
    if received < 0 {
        report("FM_receive: this stream is not one that a handler was given");
        return ERROR;
    }
    c_int::try_from(received).unwrap_or(c_int::MAX)
}

#[unsafe(no_mangle)]
pub extern "C" fn FM_extract(maxbytes: c_uint) -> c_int {
    call("FM_extract", ERROR, |local| {
        let packets = local.extract(maxbytes as usize)?;
        if packets > 0 {
            local.idle.borrow_mut().worked();
        } else if maxbytes > 0 && local.idle.borrow_mut().nothing() {
            local.host.wait_a_little();
            local.idle.borrow_mut().slept();
        }
        Ok(c_int::try_from(packets).unwrap_or(c_int::MAX))
    })
}
