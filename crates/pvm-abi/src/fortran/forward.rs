//! What differs from C in how its arguments come, and in nothing else.

use super::{Length, number, set, text};
use crate::entry::{buffer, group, handler, machine, mailbox, message, option, pack, task};
use core::ffi::{c_char, c_int};

/// Numbers in, one number out.
macro_rules! numbers {
    ($($name:ident($($argument:ident),*) = $module:ident::$function:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: *const c_int,)* result: *mut c_int) {
            // SAFETY: the caller's variables.
            unsafe { set(result, $module::$function($(number($argument)),*)) };
        }
    )*};
}

numbers! {
    pvmfdelmhf_(id) = handler::pvm_delmhf;
    pvmfexit_() = task::pvm_exit;
    pvmffreebuf_(buffer) = buffer::pvm_freebuf;
    pvmffreecontext_(context) = machine::pvm_freecontext;
    pvmfgetcontext_() = machine::pvm_getcontext;
    pvmfgetopt_(what) = option::pvm_getopt;
    pvmfgetrbuf_() = buffer::pvm_getrbuf;
    pvmfgetsbuf_() = buffer::pvm_getsbuf;
    pvmfhalt_() = machine::pvm_halt;
    pvmfinitsend_(encoding) = buffer::pvm_initsend;
    pvmfkill_(tid) = task::pvm_kill;
    pvmfmkbuf_(encoding) = buffer::pvm_mkbuf;
    pvmfmytid_() = task::pvm_mytid;
    pvmfnewcontext_() = machine::pvm_newcontext;
    pvmfnrecv_(tid, tag) = message::pvm_nrecv;
    pvmfparent_() = task::pvm_parent;
    pvmfpkmesg_(buffer) = pack::pvm_pkmesg;
    pvmfpkmesgbody_(buffer) = pack::pvm_pkmesgbody;
    pvmfprobe_(tid, tag) = message::pvm_probe;
    pvmfpstat_(tid) = task::pvm_pstat;
    pvmfrecv_(tid, tag) = message::pvm_recv;
    pvmfsend_(tid, tag) = message::pvm_send;
    pvmfsendsig_(tid, signal) = task::pvm_sendsig;
    pvmfsetcontext_(context) = machine::pvm_setcontext;
    pvmfsetopt_(what, value) = option::pvm_setopt;
    pvmfsetrbuf_(buffer) = buffer::pvm_setrbuf;
    pvmfsetsbuf_(buffer) = buffer::pvm_setsbuf;
    pvmftidtoh_(tid) = task::pvm_tidtohost;
    pvmftidtohost_(tid) = task::pvm_tidtohost;
}

/// A text and numbers in, one number out.
macro_rules! named {
    ($($name:ident($($argument:ident),*) = $module:ident::$function:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            name: *const c_char,
            $($argument: *const c_int,)*
            result: *mut c_int,
            length: Length,
        ) {
            // SAFETY: the caller's variables.
            unsafe { set(result, $module::$function(text(name, length).as_ptr(), $(number($argument)),*)) };
        }
    )*};
}

named! {
    pvmfarchcode_() = machine::pvm_archcode;
    pvmfbarrier_(count) = group::pvm_barrier;
    pvmfbcast_(tag) = group::pvm_bcast;
    pvmfdelinfo_(index, flags) = mailbox::pvm_delinfo;
    pvmffreezegroup_(size) = group::pvm_freezegroup;
    pvmfgetinst_(tid) = group::pvm_getinst;
    pvmfgettid_(instance) = group::pvm_gettid;
    pvmfgsize_() = group::pvm_gsize;
    pvmfjoingroup_() = group::pvm_joingroup;
    pvmflvgroup_() = group::pvm_lvgroup;
    pvmfmstat_() = machine::pvm_mstat;
    pvmfperror_() = task::pvm_perror;
    pvmfputinfo_(buffer, flags) = mailbox::pvm_putinfo;
    pvmfrecvinfo_(index, flags) = mailbox::pvm_recvinfo;
}

/// Before 3.3: the route of messages, `PvmRoute` of `pvmfsetopt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfadvise_(route: *const c_int, info: *mut c_int) {
    // SAFETY: the caller's variables.
    unsafe { set(info, option::pvm_setopt(crate::library::ROUTE as c_int, number(route)).min(0)) };
}

/// Before 3.3: whether errors are told, `PvmAutoErr` of `pvmfsetopt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfserror_(tell: *const c_int, before: *mut c_int) {
    // SAFETY: the caller's variables.
    unsafe { set(before, option::pvm_setopt(crate::library::AUTO_ERR as c_int, number(tell))) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfsleep_(seconds: *const c_int) {
    // SAFETY: the caller's variable.
    crate::others::pvmsleep(unsafe { number(seconds) });
}
