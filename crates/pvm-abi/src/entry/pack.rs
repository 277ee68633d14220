//! Packing and unpacking.

use crate::library::{finish, lock};
use core::ffi::{
    CStr, c_char, c_double, c_float, c_int, c_long, c_short, c_uint, c_ulong, c_ushort,
};
use hpvm_pvm::Code;
use hpvm_pvm::body::{Body, Encoding};
use hpvm_pvm::buffers::{Head, Message};
use hpvm_pvm::element::Element;

/// Packs elements of any type into the send buffer.
pub unsafe fn pack(
    element: Element,
    from: *const u8,
    count: c_int,
    stride: c_int,
) -> Result<c_int, Code> {
    let mut library = lock();
    let message = library.buffers().sending()?;
    let in_place = message.encoding == Encoding::InPlace;
    // SAFETY: the caller's promise.
    unsafe { message.body.pack(element, from, count, stride, in_place) }.map(|()| 0)
}

/// Unpacks elements of any type from the receive buffer.
pub unsafe fn unpack(
    element: Element,
    to: *mut u8,
    count: c_int,
    stride: c_int,
) -> Result<c_int, Code> {
    let mut library = lock();
    // SAFETY: the caller's promise.
    unsafe { library.buffers().receiving()?.body.unpack(element, to, count, stride) }.map(|()| 0)
}

macro_rules! pair {
    ($($pack:ident $unpack:ident $type:ty, $element:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pack(from: *const $type, count: c_int, stride: c_int) -> c_int {
            // SAFETY: the caller's promise.
            finish(stringify!($pack), unsafe { pack(Element::$element, from.cast(), count, stride) })
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $unpack(to: *mut $type, count: c_int, stride: c_int) -> c_int {
            // SAFETY: the caller's promise.
            finish(stringify!($unpack), unsafe { unpack(Element::$element, to.cast(), count, stride) })
        }
    )*};
}

pair! {
    pvm_pkbyte pvm_upkbyte c_char, Byte;
    pvm_pkcplx pvm_upkcplx c_float, Cplx;
    pvm_pkdcplx pvm_upkdcplx c_double, Dcplx;
    pvm_pkdouble pvm_upkdouble c_double, Double;
    pvm_pkfloat pvm_upkfloat c_float, Float;
    pvm_pkint pvm_upkint c_int, Int;
    pvm_pklong pvm_upklong c_long, Long;
    pvm_pkshort pvm_upkshort c_short, Short;
    pvm_pkuint pvm_upkuint c_uint, Uint;
    pvm_pkulong pvm_upkulong c_ulong, Ulong;
    pvm_pkushort pvm_upkushort c_ushort, Ushort;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_pkstr(text: *const c_char) -> c_int {
    let pack = || {
        if text.is_null() {
            return Err(Code::BadParam);
        }
        // SAFETY: not null, so a string of the caller.
        let text = unsafe { CStr::from_ptr(text) };
        lock().buffers().sending()?.body.append_str(text.to_bytes());
        Ok(0)
    };
    finish("pvm_pkstr", pack())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_upkstr(text: *mut c_char) -> c_int {
    let unpack = || {
        if text.is_null() {
            return Err(Code::BadParam);
        }
        let mut library = lock();
        let bytes = library.buffers().receiving()?.body.take_str()?;
        // SAFETY: not null, so memory of the caller; that it is enough is the program's business.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(text.cast(), bytes.len()) };
        Ok(0)
    };
    finish("pvm_upkstr", unpack())
}

/// A copy of the bytes, the head and the encoding of a buffer, which is to be packed into the send buffer and so is another one.
fn contents(mid: c_int) -> Result<(Head, Vec<u8>, Encoding), Code> {
    let mut library = lock();
    let own = library.buffers().send_buffer();
    let message = library.buffers().named(mid)?;
    if mid == own {
        return Err(Code::BadParam);
    }
    // SAFETY: what the program has packed in place it keeps until the buffer is sent or ends.
    Ok((message.head, unsafe { message.body.settled(Vec::new()) }, message.encoding))
}

/// Packs a whole message, with its head, so that `pvm_upkmesg` makes it again.
#[unsafe(no_mangle)]
pub extern "C" fn pvm_pkmesg(mid: c_int) -> c_int {
    let pack = || {
        let (head, bytes, _) = contents(mid)?;
        lock().buffers().sending()?.body.append_message(&head, &bytes);
        Ok(0)
    };
    finish("pvm_pkmesg", pack())
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_pkmesgbody(mid: c_int) -> c_int {
    let pack = || {
        let (_, bytes, encoding) = contents(mid)?;
        let mut library = lock();
        let into = library.buffers().sending()?;
        // Data in place are sent as they lie in memory, which is raw.
        if (into.encoding == Encoding::Default) != (encoding == Encoding::Default) {
            return Err(Code::Mismatch);
        }
        into.body.append(&bytes);
        Ok(0)
    };
    finish("pvm_pkmesgbody", pack())
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_upkmesg() -> c_int {
    let unpack = || {
        let mut library = lock();
        let (head, bytes) = library.buffers().receiving()?.body.take_message()?;
        let encoding = Encoding::from_number(head.encoding).unwrap_or_default();
        Ok(library.buffers().add(Box::new(Message::new(head, Body::of(bytes), encoding))))
    };
    finish("pvm_upkmesg", unpack())
}
