//! Message buffers.

use crate::library::{enrolled, finish, lock};
use core::ffi::c_int;
use hpvm_pvm::Code;
use hpvm_pvm::body::Encoding;

fn encoding(number: c_int) -> Result<Encoding, Code> {
    Encoding::from_number(number).ok_or(Code::BadParam)
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_mkbuf(enc: c_int) -> c_int {
    finish("pvm_mkbuf", encoding(enc).and_then(|enc| Ok(enrolled()?.buffers().make(enc))))
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_initsend(enc: c_int) -> c_int {
    finish("pvm_initsend", encoding(enc).and_then(|enc| Ok(enrolled()?.buffers().init_send(enc))))
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_freebuf(mid: c_int) -> c_int {
    let result = lock().buffers().remove(mid);
    finish("pvm_freebuf", result.map(|()| 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_getsbuf() -> c_int {
    lock().buffers().send_buffer()
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_getrbuf() -> c_int {
    lock().buffers().receive_buffer()
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_setsbuf(mid: c_int) -> c_int {
    let result = lock().buffers().set_send(mid);
    finish("pvm_setsbuf", result)
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_setrbuf(mid: c_int) -> c_int {
    let result = lock().buffers().set_receive(mid);
    finish("pvm_setrbuf", result)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_bufinfo(
    mid: c_int,
    len: *mut c_int,
    tag: *mut c_int,
    tid: *mut c_int,
) -> c_int {
    let found = lock().buffers().named(mid).map(|message| (message.body.len(), message.head));
    let result = found.map(|(bytes, head)| {
        let values = [(len, bytes as c_int), (tag, head.tag), (tid, head.source)];
        for (to, value) in values.into_iter().filter(|(to, _)| !to.is_null()) {
            // SAFETY: not null, so the caller's int.
            unsafe { *to = value };
        }
        0
    });
    finish("pvm_bufinfo", result)
}

/// The encoding as `struct pvmminfo` has it: XDR's number, or the data signature of the sender's host, which is like ours.
fn signature(encoding: Encoding) -> c_int {
    match encoding {
        Encoding::Default => 0x1000_0000,
        Encoding::Raw | Encoding::InPlace | Encoding::Trace => super::machine::SIGNATURE,
    }
}

/// `struct pvmminfo`.
#[derive(Default)]
#[repr(C)]
pub struct Info {
    pub len: c_int,
    pub ctx: c_int,
    pub tag: c_int,
    pub wid: c_int,
    pub enc: c_int,
    pub crc: c_int,
    pub src: c_int,
    pub dst: c_int,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_getminfo(mid: c_int, info: *mut Info) -> c_int {
    let mut library = lock();
    let found = match library.buffers().named(mid) {
        Err(code) => Err(code),
        Ok(_) if info.is_null() => Err(Code::BadParam),
        Ok(message) => {
            let (head, len) = (message.head, message.body.len() as c_int);
            let filled = Info {
                len,
                ctx: head.context,
                tag: head.tag,
                wid: head.wait_id,
                enc: signature(message.encoding),
                crc: head.crc,
                src: head.source,
                dst: head.target,
            };
            // SAFETY: not null, so the caller's structure.
            unsafe { info.write(filled) };
            Ok(0)
        }
    };
    drop(library);
    finish("pvm_getminfo", found)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_setminfo(mid: c_int, info: *const Info) -> c_int {
    let mut library = lock();
    let result = match library.buffers().named(mid) {
        Err(code) => Err(code),
        Ok(_) if info.is_null() => Err(Code::BadParam),
        Ok(message) => {
            // SAFETY: not null, so the caller's structure.
            let info = unsafe { &*info };
            let head = &mut message.head;
            (head.context, head.tag, head.wait_id) = (info.ctx, info.tag, info.wid);
            (head.crc, head.source, head.target) = (info.crc, info.src, info.dst);
            Ok(0)
        }
    };
    drop(library);
    finish("pvm_setminfo", result)
}

/// The wait id of a message: older programs.
#[unsafe(no_mangle)]
pub extern "C" fn pvm_getmwid(mid: c_int) -> c_int {
    let found = lock().buffers().named(mid).map(|message| message.head.wait_id);
    finish("pvm_getmwid", found)
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_setmwid(mid: c_int, wid: c_int) -> c_int {
    let done = lock().buffers().named(mid).map(|message| message.head.wait_id = wid);
    finish("pvm_setmwid", done.map(|()| 0))
}
