//! The virtual machine: hosts, contexts, its end; and what is answered by a no.

use super::message::numbers;
use super::task::{Lent, ask, ask_code};
use crate::library::{enrolled, finish, string};
use core::ffi::{c_char, c_int};
use hpvm_pvm::protocol::{Answer, HostLine, Request};
use hpvm_pvm::{Code, search};

/// `struct pvmhostinfo`.
#[repr(C)]
pub struct HostInfo {
    pub tid: c_int,
    pub name: *mut c_char,
    pub arch: *mut c_char,
    pub speed: c_int,
    pub signature: c_int,
}

static HOSTS: std::sync::Mutex<Lent<HostInfo>> = std::sync::Mutex::new(Lent::new());

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_config(
    hosts: *mut c_int,
    formats: *mut c_int,
    list: *mut *mut HostInfo,
) -> c_int {
    let config = || {
        let Answer::Hosts { hosts: found } = ask(&mut *enrolled()?, &Request::Config {})? else {
            return Err(Code::BadMsg);
        };
        let mut lent = HOSTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lent.clear();
        for HostLine { tid, name, arch, speed, signature } in found {
            let (name, arch) = (lent.string(&name), lent.string(&arch));
            lent.push(HostInfo { tid, name, arch, speed, signature });
        }
        // SAFETY: null, or the caller's variables.
        unsafe {
            if !hosts.is_null() {
                *hosts = lent.items().len() as c_int;
            }
            if !formats.is_null() {
                *formats = 1;
            }
            if !list.is_null() {
                *list = lent.items().as_mut_ptr();
            }
        }
        Ok(0)
    };
    finish("pvm_config", config())
}

/// So many strings.
///
/// # Safety
/// The array is there where `count` is above 0, and each string.
pub unsafe fn strings(names: *const *const c_char, count: c_int) -> Result<Vec<String>, Code> {
    let count = usize::try_from(count).ok().filter(|count| *count > 0 && !names.is_null());
    let count = count.ok_or(Code::BadParam)?;
    // SAFETY: the caller's array of so many strings.
    (0..count).map(|i| unsafe { string(*names.add(i)) }.ok_or(Code::BadParam)).collect()
}

/// The number of hosts for which it worked; a code for each in `infos`.
unsafe fn of_hosts(request: Request, infos: *mut c_int) -> Result<c_int, Code> {
    let Answer::Tids { tids } = ask(&mut *enrolled()?, &request)? else { return Err(Code::BadMsg) };
    if !infos.is_null() {
        // SAFETY: not null, so the caller's array with a number for each host.
        unsafe { tids.as_ptr().copy_to_nonoverlapping(infos, tids.len()) };
    }
    Ok(tids.iter().filter(|tid| **tid >= 0).count() as c_int)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_addhosts(
    names: *const *const c_char,
    count: c_int,
    infos: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promises.
    let added = unsafe {
        strings(names, count).and_then(|names| of_hosts(Request::AddHosts { names }, infos))
    };
    finish("pvm_addhosts", added)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_delhosts(
    names: *const *const c_char,
    count: c_int,
    infos: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promises.
    let deleted = unsafe {
        strings(names, count).and_then(|names| of_hosts(Request::DeleteHosts { names }, infos))
    };
    finish("pvm_delhosts", deleted)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_mstat(name: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let name = unsafe { string(name) }.ok_or(Code::BadParam);
    match name.and_then(|name| ask_code(&Request::HostStatus { name })) {
        // That it is not there is an answer.
        Err(Code::NoHost) => Code::NoHost.number(),
        other => finish("pvm_mstat", other),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_halt() -> c_int {
    let halt = || {
        // All tasks get a signal, this one too.
        let _ = enrolled()?.enroll()?.control.tell(&Request::Halt {});
        Ok(0)
    };
    finish("pvm_halt", halt())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_hostsync(
    host: c_int,
    clock: *mut libc::timeval,
    delta: *mut libc::timeval,
) -> c_int {
    let sync = || {
        let mut here = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: a structure of ours.
        unsafe { libc::gettimeofday(&raw mut here, std::ptr::null_mut()) };
        let Answer::Time { seconds, micros } = ask(&mut *enrolled()?, &Request::Clock { host })?
        else {
            return Err(Code::BadMsg);
        };
        let there = libc::timeval { tv_sec: seconds, tv_usec: micros.into() };
        let micros = (here.tv_sec - there.tv_sec) * 1_000_000 + here.tv_usec - there.tv_usec;
        let span = libc::timeval {
            tv_sec: micros.div_euclid(1_000_000),
            tv_usec: micros.rem_euclid(1_000_000),
        };
        // SAFETY: null, or the caller's structures.
        unsafe {
            if !clock.is_null() {
                *clock = there;
            }
            if !delta.is_null() {
                *delta = span;
            }
        }
        Ok(0)
    };
    finish("pvm_hostsync", sync())
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_getcontext() -> c_int {
    let get = || Ok(enrolled()?.context);
    finish("pvm_getcontext", get())
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_setcontext(context: c_int) -> c_int {
    let set = || {
        let mut library = enrolled()?;
        if context < 0 {
            return Err(Code::BadParam);
        }
        Ok(std::mem::replace(&mut library.context, context))
    };
    finish("pvm_setcontext", set())
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_newcontext() -> c_int {
    finish("pvm_newcontext", ask_code(&Request::NewContext {}))
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_freecontext(context: c_int) -> c_int {
    finish("pvm_freecontext", ask_code(&Request::FreeContext { context }))
}

/// How hosts like ours lay out data: PVM's number.
pub const SIGNATURE: c_int = 0x0040_8841;

/// The number of a kind of machine: of ours, or an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_archcode(arch: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let arch = unsafe { string(arch) };
    finish(
        "pvm_archcode",
        match arch.as_deref() {
            None => Err(Code::BadParam),
            Some(search::ARCH) => Ok(SIGNATURE),
            Some(_) => Err(Code::NotFound),
        },
    )
}

/// Names in the environment variable `PVM_EXPORT`, which a child gets as it gets all others.
fn exported(change: impl FnOnce(&mut Vec<String>)) {
    let before = std::env::var("PVM_EXPORT").unwrap_or_default();
    let mut names: Vec<String> =
        before.split(':').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    change(&mut names);
    // SAFETY: as `setenv`, which PVM calls here: a program with threads sees to it that none reads the environment.
    unsafe { std::env::set_var("PVM_EXPORT", names.join(":")) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_export(name: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let Some(name) = (unsafe { string(name) }) else {
        return finish("pvm_export", Err(Code::BadParam));
    };
    exported(|names| {
        if !names.contains(&name) {
            names.push(name);
        }
    });
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_unexport(name: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let Some(name) = (unsafe { string(name) }) else {
        return finish("pvm_unexport", Err(Code::BadParam));
    };
    exported(|names| names.retain(|known| *known != name));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_version() -> *const c_char {
    c"3.4.6".as_ptr()
}

/// The process that holds the virtual machine, as it is asked for statistics by PVM's own tools: there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_tickle(
    count: c_int,
    words: *const c_int,
    got: *mut c_int,
    _: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let words = unsafe { numbers(words, count) };
    if !got.is_null() {
        // SAFETY: not null, so the caller's variable.
        unsafe { *got = 0 };
    }
    finish("pvm_tickle", words.and(Err(Code::NotImpl)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_getnoresets(tids: *mut *mut c_int, count: *mut c_int) -> c_int {
    static TIDS: std::sync::Mutex<Vec<c_int>> = std::sync::Mutex::new(Vec::new());
    let list = || {
        let Answer::Tids { tids: found } = ask(&mut *enrolled()?, &Request::NoResets {})? else {
            return Err(Code::BadMsg);
        };
        let mut all = TIDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *all = found;
        // SAFETY: null, or the caller's variables.
        unsafe {
            if !tids.is_null() {
                *tids = all.as_mut_ptr();
            }
            if !count.is_null() {
                *count = all.len() as c_int;
            }
        }
        Ok(0)
    };
    finish("pvm_getnoresets", list())
}

macro_rules! not_there {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        /// Replaces a part of PVM's daemon, which is not there.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) -> c_int {
            $(let _ = $argument;)*
            finish(stringify!($name), Err(Code::NotImpl))
        }
    )*};
}

not_there! {
    pvm_reg_hoster();
    pvm_reg_rm(hosts: *mut *mut HostInfo);
    pvm_reg_tasker();
    pvm_reg_tracer(tid: c_int, context: c_int, tag: c_int, output_context: c_int, mask: *const c_char, buffer: c_int, options: c_int);
    pvm_gettmask(who: c_int, mask: *mut c_char);
    pvm_settmask(who: c_int, mask: *const c_char);
}
