//! Message handlers, and functions that compare messages.

use crate::library::{Handler, Installed, Library, Match, enrolled, finish, lock, pattern};
use core::ffi::c_int;
use hpvm_pvm::Code;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_addmhf(
    src: c_int,
    tag: c_int,
    ctx: c_int,
    function: Option<unsafe extern "C" fn(c_int) -> c_int>,
) -> c_int {
    add(src, tag, ctx, function.map(Handler::ByValue))
}

/// Installs a handler of either language.
pub fn add(src: c_int, tag: c_int, ctx: c_int, function: Option<Handler>) -> c_int {
    let add = || {
        let mut library = enrolled()?;
        let pattern = pattern(src, tag, ctx)?;
        let function = function.ok_or(Code::BadParam)?;
        if library.handlers.iter().any(|other| other.pattern.meets(&pattern)) {
            return Err(Code::Exists);
        }
        library.last_handler += 1;
        let id = library.last_handler;
        library.handlers.push(Installed { id, pattern, function });
        Ok(id)
    };
    finish("pvm_addmhf", add())
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_delmhf(id: c_int) -> c_int {
    let mut library = lock();
    let before = library.handlers.len();
    library.handlers.retain(|handler| handler.id != id);
    let result = match id {
        id if id < 0 => Err(Code::BadParam),
        _ if library.handlers.len() == before => Err(Code::NotFound),
        _ => Ok(0),
    };
    drop(library);
    finish("pvm_delmhf", result)
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_recvf(function: Option<Match>) -> Option<Match> {
    std::mem::replace(&mut lock().matching, function)
}

/// The oldest message that is for a handler: its function, and the message.
fn next(library: &mut Library) -> Option<(Handler, c_int)> {
    let handlers = library.handlers.clone();
    let of = |head: &_| handlers.iter().find(|handler| handler.pattern.accepts(head));
    let number = library.buffers().find(|head| of(head).is_some())?;
    let head = library.buffers().get(number)?.head;
    Some((of(&head)?.function, number))
}

/// Calls the handlers of the messages that have come.
///
/// # Errors
/// The virtual machine has ended.
pub fn dispatch() -> Result<(), Code> {
    loop {
        let mut library = lock();
        let Some((function, number)) = next(&mut library) else { return Ok(()) };
        let buffers = library.buffers();
        buffers.unqueue(number);
        let (send, receive) = (buffers.set_send(0)?, buffers.set_receive(number)?);
        drop(library);
        // SAFETY: the program's function, called as `pvm_addmhf` and `pvmfaddmhf` promise.
        unsafe {
            match function {
                Handler::ByValue(function) => function(number),
                Handler::ByAddress(function) => {
                    let mut number = number;
                    function(&raw mut number)
                }
            }
        };
        let mut library = lock();
        // The handler may have ended it.
        let _ = library.buffers().remove(number);
        library.buffers().set_send(send)?;
        library.buffers().set_receive(receive)?;
    }
}
