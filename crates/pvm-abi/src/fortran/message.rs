//! Messages: packing by a number for the type, typed sends, handlers, and collective calls.

use super::{Length, number, set, text};
use crate::entry::buffer::{self, Info};
use crate::entry::{group, handler, message, pack, reduce};
use crate::library::{Handler, finish};
use core::ffi::{c_char, c_int, c_void};
use hpvm_pvm::Code;
use hpvm_pvm::element::Element;

/// A type of Fortran's: `STRING` is characters, and there are none without a sign.
fn element(what: c_int) -> Result<Element, Code> {
    match Element::from_number(what) {
        Some(Element::Str) => Ok(Element::Byte),
        Some(Element::Ushort | Element::Uint | Element::Ulong) | None => Err(Code::BadParam),
        Some(element) => Ok(element),
    }
}

// What is packed may be a text, whose length is behind the other arguments: `count` says how much of it is meant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfpack_(
    what: *const c_int,
    from: *const c_void,
    count: *const c_int,
    stride: *const c_int,
    info: *mut c_int,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let packed = element(number(what))
            .and_then(|element| pack::pack(element, from.cast(), number(count), number(stride)));
        set(info, finish("pvmfpack", packed));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfunpack_(
    what: *const c_int,
    to: *mut c_void,
    count: *const c_int,
    stride: *const c_int,
    info: *mut c_int,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let unpacked = element(number(what))
            .and_then(|element| pack::unpack(element, to.cast(), number(count), number(stride)));
        set(info, finish("pvmfunpack", unpacked));
    }
}

/// The type of a typed call: characters are counted, too, and no NUL is looked for.
unsafe fn kind(what: *const c_int) -> c_int {
    // SAFETY: the caller's variable.
    let what = unsafe { number(what) };
    if what == Element::Str as c_int { Element::Byte as c_int } else { what }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfpsend_(
    tid: *const c_int,
    tag: *const c_int,
    data: *const c_void,
    count: *const c_int,
    what: *const c_int,
    info: *mut c_int,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let (tid, tag, count) = (number(tid), number(tag), number(count));
        set(info, message::pvm_psend(tid, tag, data, count, kind(what)));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfprecv_(
    tid: *const c_int,
    tag: *const c_int,
    data: *mut c_void,
    count: *const c_int,
    what: *const c_int,
    source: *mut c_int,
    got_tag: *mut c_int,
    got: *mut c_int,
    info: *mut c_int,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let (tid, tag, count) = (number(tid), number(tag), number(count));
        let done = message::pvm_precv(tid, tag, data, count, kind(what), source, got_tag, got);
        set(info, done);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfmcast_(
    count: *const c_int,
    tids: *const c_int,
    tag: *const c_int,
    info: *mut c_int,
) {
    // SAFETY: the caller's variables.
    unsafe { set(info, message::pvm_mcast(tids, number(count), number(tag))) };
}

/// Waits for ever when the seconds are -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmftrecv_(
    tid: *const c_int,
    tag: *const c_int,
    seconds: *const c_int,
    micros: *const c_int,
    buffer: *mut c_int,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let span = libc::timeval { tv_sec: number(seconds).into(), tv_usec: number(micros).into() };
        let time = if span.tv_sec == -1 { std::ptr::null() } else { &raw const span };
        set(buffer, message::pvm_trecv(number(tid), number(tag), time));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfbufinfo_(
    number_of: *const c_int,
    bytes: *mut c_int,
    tag: *mut c_int,
    tid: *mut c_int,
    info: *mut c_int,
) {
    // SAFETY: the caller's variables.
    unsafe { set(info, buffer::pvm_bufinfo(number(number_of), bytes, tag, tid)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfgetminfo_(
    number_of: *const c_int,
    len: *mut c_int,
    context: *mut c_int,
    tag: *mut c_int,
    wait_id: *mut c_int,
    encoding: *mut c_int,
    crc: *mut c_int,
    source: *mut c_int,
    target: *mut c_int,
    info: *mut c_int,
) {
    let mut of = Info::default();
    // SAFETY: the caller's variables, and a structure of ours.
    unsafe {
        set(info, buffer::pvm_getminfo(number(number_of), &raw mut of));
        let values = [(len, of.len), (context, of.ctx), (tag, of.tag), (wait_id, of.wid)];
        let rest = [(encoding, of.enc), (crc, of.crc), (source, of.src), (target, of.dst)];
        values.into_iter().chain(rest).for_each(|(to, value)| set(to, value));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfsetminfo_(
    number_of: *const c_int,
    context: *const c_int,
    tag: *const c_int,
    wait_id: *const c_int,
    source: *const c_int,
    target: *const c_int,
    info: *mut c_int,
) {
    let mut of = Info::default();
    // SAFETY: the caller's variables, and a structure of ours.
    unsafe {
        let mid = number(number_of);
        let mut done = buffer::pvm_getminfo(mid, &raw mut of);
        if done >= 0 {
            (of.ctx, of.tag, of.wid) = (number(context), number(tag), number(wait_id));
            (of.src, of.dst) = (number(source), number(target));
            done = buffer::pvm_setminfo(mid, &raw const of);
        }
        set(info, done);
    }
}

/// Unpacks the message that is in a buffer; the receive buffer stays what it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfupkmesg_(number_of: *const c_int, fresh: *mut c_int) {
    // SAFETY: the caller's variables.
    unsafe {
        let before = buffer::pvm_setrbuf(number(number_of));
        if before < 0 {
            return set(fresh, before);
        }
        set(fresh, pack::pvm_upkmesg());
        buffer::pvm_setrbuf(before);
    }
}

/// The handler is Fortran's, so it gets the address of the message's number. The id of the handler is in `info`; `_unused` is an
/// argument of PVM's that means nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfaddmhf_(
    source: *const c_int,
    tag: *const c_int,
    context: *const c_int,
    _unused: *mut c_int,
    function: Option<unsafe extern "C" fn(*mut c_int) -> c_int>,
    info: *mut c_int,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let (source, tag, context) = (number(source), number(tag), number(context));
        set(info, handler::add(source, tag, context, function.map(Handler::ByAddress)));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfgather_(
    result: *mut c_void,
    data: *const c_void,
    count: *const c_int,
    what: *const c_int,
    tag: *const c_int,
    name: *const c_char,
    root: *const c_int,
    info: *mut c_int,
    length: Length,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let (name, count, tag) = (text(name, length), number(count), number(tag));
        let root = number(root);
        let done = group::pvm_gather(result, data, count, kind(what), tag, name.as_ptr(), root);
        set(info, done);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfscatter_(
    result: *mut c_void,
    data: *const c_void,
    count: *const c_int,
    what: *const c_int,
    tag: *const c_int,
    name: *const c_char,
    root: *const c_int,
    info: *mut c_int,
    length: Length,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let (name, count, tag) = (text(name, length), number(count), number(tag));
        let root = number(root);
        let done = group::pvm_scatter(result, data, count, kind(what), tag, name.as_ptr(), root);
        set(info, done);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfreduce_(
    function: Option<reduce::Function>,
    data: *mut c_void,
    count: *const c_int,
    what: *const c_int,
    tag: *const c_int,
    name: *const c_char,
    root: *const c_int,
    info: *mut c_int,
    length: Length,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let (name, count, tag) = (text(name, length), number(count), number(tag));
        let (kind, root) = (kind(what), number(root));
        set(info, reduce::pvm_reduce(function, data, count, kind, tag, name.as_ptr(), root));
    }
}

/// The functions of `pvmfreduce`, whose arguments are the same in both languages.
macro_rules! functions {
    ($($name:ident = $function:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            kind: *mut c_int,
            x: *mut c_void,
            y: *mut c_void,
            count: *mut c_int,
            info: *mut c_int,
        ) {
            // SAFETY: the caller's promises.
            unsafe { reduce::$function(kind, x, y, count, info) }
        }
    )*};
}

functions! {
    pvmmax_ = PvmMax;
    pvmmin_ = PvmMin;
    pvmproduct_ = PvmProduct;
    pvmsum_ = PvmSum;
}
