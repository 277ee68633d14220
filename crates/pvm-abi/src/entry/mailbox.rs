//! The mailbox.

use super::task::{Lent, ask, ask_code};
use crate::library::{Library, enrolled, finish, keep, string};
use core::ffi::{c_char, c_int};
use hpvm_pvm::Code;
use hpvm_pvm::body::{Body, Encoding};
use hpvm_pvm::buffers::Message;
use hpvm_pvm::machine::mailbox;
use hpvm_pvm::protocol::{Answer, Mail, Request};
use hpvm_pvm::wire::Bytes;

fn put(name: String, number: c_int, flags: c_int) -> Result<c_int, Code> {
    let mut library = enrolled()?;
    let tid = library.enroll()?.tid();
    let context = library.context;
    let message = library.buffers().get(number).ok_or(Code::NoSuchBuf)?;
    let mail = Mail {
        source: tid,
        tag: message.head.tag,
        context,
        wait_id: message.head.wait_id,
        encoding: message.head.encoding,
        // SAFETY: what the program has packed in place it keeps until the buffer is sent or ends.
        body: Bytes(unsafe { message.body.settled(Vec::new()) }),
    };
    drop(library);
    ask_code(&Request::Put { name, flags, mail })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_putinfo(name: *const c_char, number: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let name = unsafe { string(name) }.filter(|name| !name.is_empty()).ok_or(Code::BadParam);
    finish("pvm_putinfo", name.and_then(|name| put(name, number, flags)))
}

fn fetch(name: String, index: c_int, flags: c_int) -> Result<c_int, Code> {
    let mut library = enrolled()?;
    let Answer::Mail { mail } = ask(&mut library, &Request::Fetch { name, index, flags })? else {
        return Err(Code::BadMsg);
    };
    let encoding = Encoding::from_number(mail.encoding).unwrap_or_default();
    let message = Message::new(mail.head(), Body::of(mail.body.0), encoding);
    Ok(library.buffers().add(Box::new(message)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_recvinfo(name: *const c_char, index: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let name = unsafe { string(name) }.ok_or(Code::BadParam);
    match name.and_then(|name| fetch(name, index, flags)) {
        // As a receive that finds nothing: an answer, which `pvm_perror` knows nevertheless.
        Err(Code::NotFound) => keep(Code::NotFound),
        // The buffer becomes the receive buffer, as by `pvm_recv`.
        Ok(number) => {
            let mut library = crate::library::lock();
            let before = library.buffers().receive_buffer();
            let _ = library.buffers().remove(before);
            let set = library.buffers().set_receive(number);
            drop(library);
            finish("pvm_recvinfo", set.map(|_| number))
        }
        other => finish("pvm_recvinfo", other),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_delinfo(name: *const c_char, index: c_int, _flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let name = unsafe { string(name) }.ok_or(Code::BadParam);
    finish("pvm_delinfo", name.and_then(|name| ask_code(&Request::Delete { name, index })))
}

/// `struct pvmmboxinfo`.
#[repr(C)]
pub struct ClassInfo {
    pub name: *mut c_char,
    pub entries: c_int,
    pub indices: *mut c_int,
    pub owners: *mut c_int,
    pub flags: *mut c_int,
}

/// What `pvm_getmboxinfo` has given to the program.
struct Classes {
    lent: Lent<ClassInfo>,
    numbers: Vec<Vec<c_int>>,
}

// SAFETY: pointers to vectors of its own.
unsafe impl Send for Classes {}

static CLASSES: std::sync::Mutex<Classes> =
    std::sync::Mutex::new(Classes { lent: Lent::new(), numbers: Vec::new() });

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_getmboxinfo(
    pattern: *const c_char,
    count: *mut c_int,
    list: *mut *mut ClassInfo,
) -> c_int {
    let get = || {
        // SAFETY: the caller's promise.
        let pattern = unsafe { string(pattern) }.unwrap_or_default();
        let Answer::Classes { classes } = ask(&mut *enrolled()?, &Request::Names { pattern })?
        else {
            return Err(Code::BadMsg);
        };
        let mut all = CLASSES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.lent.clear();
        all.numbers.clear();
        for class in classes {
            let entries = class.indices.len() as c_int;
            let mut keep = |mut numbers: Vec<c_int>| {
                let address = numbers.as_mut_ptr();
                all.numbers.push(numbers);
                address
            };
            let (indices, owners) = (keep(class.indices), keep(class.owners));
            let flags = keep(class.flags);
            let name = all.lent.string(&class.name);
            all.lent.push(ClassInfo { name, entries, indices, owners, flags });
        }
        let items = all.lent.items();
        // SAFETY: null, or the caller's variables.
        unsafe {
            if !count.is_null() {
                *count = items.len() as c_int;
            }
            if !list.is_null() {
                *list = items.as_mut_ptr();
            }
        }
        Ok(0)
    };
    finish("pvm_getmboxinfo", get())
}

/// Indices that flags have room for.
const MOST_DIRECT: c_int = c_int::MAX >> mailbox::DIRECT_INDEX_SHIFT;

/// Before 3.4: one integer under a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_insert(name: *const c_char, request: c_int, data: c_int) -> c_int {
    let insert = || {
        // SAFETY: the caller's promise.
        let name = unsafe { string(name) }.filter(|name| !name.is_empty()).ok_or(Code::BadParam)?;
        let several = mailbox::PERSISTENT | mailbox::MULTI_INSTANCE;
        let flags = match request {
            // The first that is free.
            -1 => several,
            0..MOST_DIRECT => mailbox::ONLY_NEW | several | request << mailbox::DIRECT_INDEX_SHIFT,
            _ => return Err(Code::BadParam),
        };
        let mail = Mail { body: Bytes(data.to_ne_bytes().to_vec()), ..Mail::default() };
        let mut library = enrolled()?;
        match ask(&mut library, &Request::Put { name, flags, mail })? {
            Answer::Code { code } => Ok(code),
            _ => Err(Code::BadMsg),
        }
    };
    finish("pvm_insert", insert())
}

/// The first index of a class.
fn first_index(library: &mut Library, name: &str) -> Result<c_int, Code> {
    // An empty pattern stands for all names, so that no letter of this one means anything else.
    let Answer::Classes { classes } = ask(library, &Request::Names { pattern: String::new() })?
    else {
        return Err(Code::BadMsg);
    };
    let class = classes.into_iter().find(|class| class.name == name).ok_or(Code::NotFound)?;
    class.indices.first().copied().ok_or(Code::NotFound)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_lookup(
    name: *const c_char,
    request: c_int,
    data: *mut c_int,
) -> c_int {
    let lookup = || {
        // SAFETY: the caller's promise.
        let name = unsafe { string(name) }.ok_or(Code::BadParam)?;
        let mut library = enrolled()?;
        let index = match request {
            -1 => first_index(&mut library, &name)?,
            request => request,
        };
        let Answer::Mail { mail } = ask(&mut library, &Request::Fetch { name, index, flags: 0 })?
        else {
            return Err(Code::BadMsg);
        };
        let value = Body::of(mail.body.0).take_int()?;
        if !data.is_null() {
            // SAFETY: not null, so the caller's variable.
            unsafe { *data = value };
        }
        Ok(index)
    };
    finish("pvm_lookup", lookup())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_delete(name: *const c_char, request: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let name = unsafe { string(name) }.ok_or(Code::BadParam);
    finish("pvm_delete", name.and_then(|name| ask_code(&Request::Delete { name, index: request })))
}
