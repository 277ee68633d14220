//! Sending and receiving.

use crate::library::{
    Found, Library, Until, enrolled, finish, lock, pattern, received, wait, wait_for,
};
use core::ffi::{CStr, c_int, c_void};
use hpvm_pvm::body::{Body, Encoding};
use hpvm_pvm::buffers::{Head, Message};
use hpvm_pvm::element::Element;
use hpvm_pvm::posted::Posted;
use hpvm_pvm::{Code, Tid, tid};
use std::time::{Duration, Instant};

/// Sends a buffer to tasks; messages to ourselves are in the queue at once.
pub fn send_to(
    library: &mut Library,
    number: c_int,
    to: &[Tid],
    tag: c_int,
    context: c_int,
) -> Result<(), Code> {
    library.enroll()?;
    let Library { task: Some(task), buffers: Some(buffers), .. } = library else {
        return Err(Code::NoBuf);
    };
    let mut message = buffers.take_out(number).ok_or(Code::NoBuf)?;
    // SAFETY: what the program has packed in place it keeps until it is sent, which is now.
    if unsafe { message.body.parts() }.is_none() {
        // SAFETY: as above.
        unsafe { message.body.settle() };
    }
    let mut result = Ok(());
    {
        // SAFETY: as above.
        let parts = unsafe { message.body.parts() }.unwrap_or_default();
        for tid in to {
            let head = Head { source: task.tid(), target: *tid, tag, context, ..message.head };
            if *tid != task.tid() {
                result = result.and(task.send(*tid, &head, &parts, buffers));
                continue;
            }
            if buffers.waiting_bytes() > task.limit {
                result = Err(Code::NoMem);
                continue;
            }
            let copy = Message::new(head, Body::of(parts.concat()), message.encoding);
            buffers.arrived(Box::new(copy));
        }
    }
    buffers.put_back(number, message);
    if task.lost {
        return Err(library.lost());
    }
    result
}

fn send(to: &[Tid], tag: c_int) -> Result<c_int, Code> {
    let mut library = enrolled()?;
    let reserved = library.options.values[crate::library::RESV_TIDS] != 0;
    if tag < 0 && !reserved {
        return Err(Code::BadParam);
    }
    let (number, context) = (library.buffers().send_buffer(), library.context);
    if number == 0 {
        return Err(Code::NoBuf);
    }
    send_to(&mut library, number, to, tag, context).map(|()| 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_send(to: c_int, tag: c_int) -> c_int {
    let checked = if tid::is_task(to) { Ok(()) } else { Err(Code::BadParam) };
    finish("pvm_send", checked.and_then(|()| send(&[to], tag)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_mcast(tids: *const c_int, count: c_int, tag: c_int) -> c_int {
    let send = || {
        // SAFETY: the caller's promise.
        let tids = unsafe { numbers(tids, count) }?;
        if !tids.iter().all(|tid| tid::is_task(*tid)) {
            return Err(Code::BadParam);
        }
        // Each once, and not to ourselves.
        let mine = enrolled()?.enroll()?.tid();
        let mut to: Vec<_> = tids.iter().copied().filter(|tid| *tid != mine).collect();
        to.sort_unstable();
        to.dedup();
        send(&to, tag)
    };
    finish("pvm_mcast", send())
}

/// An array of the program.
///
/// # Safety
/// As long as `count` says.
pub unsafe fn numbers<'a>(from: *const c_int, count: c_int) -> Result<&'a [c_int], Code> {
    match usize::try_from(count) {
        Ok(0) => Ok(&[]),
        // SAFETY: the caller's promise.
        Ok(count) if !from.is_null() => Ok(unsafe { core::slice::from_raw_parts(from, count) }),
        _ => Err(Code::BadParam),
    }
}

/// Receives: the buffer's number, 0, or the error that the program's function of `pvm_recvf` has answered.
pub fn receive(tid: Tid, tag: c_int, until: Until) -> Result<c_int, Code> {
    let context = enrolled()?.context;
    Ok(match wait(pattern(tid, tag, context)?, until)? {
        None => 0,
        Some(Found::Message(number)) => {
            lock().buffers().receive(number);
            number
        }
        Some(Found::Error(number)) => number,
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_recv(tid: c_int, tag: c_int) -> c_int {
    received("pvm_recv", receive(tid, tag, Until::Ever))
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_nrecv(tid: c_int, tag: c_int) -> c_int {
    received("pvm_nrecv", receive(tid, tag, Until::Now))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_trecv(tid: c_int, tag: c_int, time: *const libc::timeval) -> c_int {
    // SAFETY: null, or the caller's structure.
    let until = match unsafe { time.as_ref() } {
        None => Ok(Until::Ever),
        Some(time) if time.tv_sec < 0 || time.tv_usec < 0 => Err(Code::BadParam),
        Some(time) if time.tv_sec == 0 && time.tv_usec == 0 => Ok(Until::Now),
        Some(time) => {
            let (seconds, more) = (time.tv_sec as u64, Duration::from_micros(time.tv_usec as u64));
            let span = Duration::from_secs(seconds).checked_add(more);
            let time = span.and_then(|span| Instant::now().checked_add(span));
            Ok(time.map_or(Until::Ever, Until::Time))
        }
    };
    received("pvm_trecv", until.and_then(|until| receive(tid, tag, until)))
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_probe(tid: c_int, tag: c_int) -> c_int {
    let probe = || {
        let context = enrolled()?.context;
        Ok(wait(pattern(tid, tag, context)?, Until::Now)?.map_or(0, Found::number))
    };
    received("pvm_probe", probe())
}

/// The type and length of the data of `pvm_psend` and `pvm_precv`.
unsafe fn typed(data: *const c_void, len: c_int, kind: c_int) -> Result<(Element, c_int), Code> {
    let element = Element::from_number(kind).ok_or(Code::BadParam)?;
    if len < 0 || (data.is_null() && len > 0) {
        return Err(Code::BadParam);
    }
    Ok((element, len))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_psend(
    to: c_int,
    tag: c_int,
    data: *const c_void,
    len: c_int,
    kind: c_int,
) -> c_int {
    let send = || {
        // SAFETY: the caller's promises.
        let (element, len) = unsafe { typed(data, len, kind) }?;
        if !tid::is_task(to) || tag < 0 {
            return Err(Code::BadParam);
        }
        let len = match element {
            Element::Str if data.is_null() => return Err(Code::BadParam),
            Element::Str => {
                // SAFETY: a string of the caller, whose length is not looked at.
                unsafe { CStr::from_ptr(data.cast()) }.to_bytes_with_nul().len() as c_int
            }
            _ => len,
        };
        let mut library = enrolled()?;
        let context = library.context;
        let number = library.buffers().make(Encoding::InPlace);
        let packed = match library.buffers().get(number) {
            // SAFETY: as many elements as the caller says; they are sent before this returns.
            Some(message) => unsafe { message.body.pack(element, data.cast(), len, 1, true) },
            None => Err(Code::NoMem),
        };
        let sent = packed.and_then(|()| send_to(&mut library, number, &[to], tag, context));
        let _ = library.buffers().remove(number);
        sent.map(|()| 0)
    };
    finish("pvm_psend", send())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_precv(
    tid: c_int,
    tag: c_int,
    data: *mut c_void,
    len: c_int,
    kind: c_int,
    source: *mut c_int,
    got_tag: *mut c_int,
    got_len: *mut c_int,
) -> c_int {
    let receive = || {
        // SAFETY: the caller's promises.
        let (element, len) = unsafe { typed(data, len, kind) }?;
        let context = enrolled()?.context;
        let (pattern, room) = (pattern(tid, tag, context)?, len as usize * element.size());
        // SAFETY: the caller's promise: so many elements can be written until this returns.
        let mut posted = unsafe { Posted::new(pattern, data.cast(), room, element.size()) };
        let number = wait_for(&mut posted)?;
        let (head, bytes) = match (posted.got(), number) {
            (Some(got), _) => got,
            (None, Some(Found::Message(number))) => {
                let mut library = lock();
                library.buffers().unqueue(number);
                let message = library.buffers().get(number).ok_or(Code::NoSuchBuf)?;
                let (head, bytes) = (message.head, message.body.len());
                let taken = bytes.min(room) as c_int;
                // SAFETY: no more bytes than the caller has room for.
                unsafe { message.body.unpack(Element::Byte, data.cast(), taken, 1) }?;
                let _ = library.buffers().remove(number);
                (head, bytes)
            }
            (None, Some(Found::Error(number))) => return Ok(number),
            (None, None) => return Err(Code::SysErr),
        };
        let values = [(source, head.source), (got_tag, head.tag), (got_len, bytes as c_int)];
        for (to, value) in values.into_iter().filter(|(to, _)| !to.is_null()) {
            // SAFETY: not null, so the caller's int.
            unsafe { *to = value };
        }
        Ok(0)
    };
    received("pvm_precv", receive())
}
