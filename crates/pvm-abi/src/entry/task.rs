//! Tasks: who this is, its end, starting and signalling others.

use super::message::numbers;
use crate::library::{self, Library, enrolled, finish, lock, string, tell};
use crate::task::Look;
use core::ffi::{CStr, c_char, c_int};
use hpvm_pvm::protocol::{Answer, Destination, Request, Start, TaskLine};
use hpvm_pvm::wire::Bytes;
use hpvm_pvm::{Code, error, search, tid};
use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;

/// Asks the virtual machine; an answer that is an error code is an error.
pub fn ask(library: &mut Library, request: &Request) -> Result<Answer, Code> {
    let answer = library.enroll()?.ask(request);
    match answer {
        Err(_) => Err(library.lost()),
        Ok(Answer::Code { code }) if code < 0 => Err(from_number(code)),
        Ok(answer) => Ok(answer),
    }
}

/// Asks for a number.
pub fn ask_code(request: &Request) -> Result<c_int, Code> {
    match ask(&mut *enrolled()?, request)? {
        Answer::Code { code } => Ok(code),
        _ => Err(Code::BadMsg),
    }
}

/// An error code that came as a number.
pub fn from_number(number: c_int) -> Code {
    use Code::*;
    let all = [
        BadParam,
        Mismatch,
        Overflow,
        NoData,
        NoHost,
        NoFile,
        Denied,
        NoMem,
        BadMsg,
        SysErr,
        NoBuf,
        NoSuchBuf,
        NullGroup,
        DupGroup,
        NoGroup,
        NotInGroup,
        NoInst,
        HostFail,
        NoParent,
        NotImpl,
        DSysErr,
        BadVersion,
        OutOfRes,
        DupHost,
        CantStart,
        Already,
        NoTask,
        NotFound,
        Exists,
        HostrNMstr,
        ParentNotSet,
        IPLoopback,
    ];
    all.into_iter().find(|code| code.number() == number).unwrap_or(DSysErr)
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_mytid() -> c_int {
    let mytid = || Ok(enrolled()?.enroll()?.tid());
    finish("pvm_mytid", mytid())
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_parent() -> c_int {
    let parent = || Ok(enrolled()?.enroll()?.identity.parent);
    match parent() {
        // That there is none is an answer and no error.
        Ok(parent) => parent,
        Err(code) => finish("pvm_parent", Err(code)),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_exit() -> c_int {
    let exit = || {
        if lock().task.is_none() {
            return Ok(0);
        }
        // Output that comes to us is printed to its end.
        while lock().catching.is_open() {
            wait_for_output()?;
        }
        let mut library = lock();
        let answer = library.task.as_mut().map(|task| {
            task.direct.flush();
            task.ask(&Request::Exit {})
        });
        library.task = None;
        library.handlers.clear();
        match answer {
            Some(Err(code)) => Err(code),
            _ => Ok(0),
        }
    };
    finish("pvm_exit", exit())
}

fn wait_for_output() -> Result<(), Code> {
    let mut library = lock();
    library.progress(Look::Thorough)?;
    if !library.catching.is_open() {
        return Ok(());
    }
    let Some(task) = &library.task else { return Err(Code::SysErr) };
    // Output comes from the virtual machine.
    let (from, due) = (task.control_fd(), task.due());
    drop(library);
    crate::task::sleep(&[from], due);
    Ok(())
}

/// Where programs are searched.
fn folders() -> Vec<String> {
    let program = std::env::current_exe().ok().map(|file| file.to_string_lossy().into_owned());
    let working = std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into_owned());
    search::folders(|name| std::env::var(name).ok(), program.as_deref(), working.as_deref())
}

/// Strings of the program up to a null.
unsafe fn arguments(mut argv: *const *const c_char) -> Vec<Bytes> {
    let mut words = Vec::new();
    // SAFETY: the caller's array, which ends with a null.
    while let Some(word) = unsafe { argv.as_ref() }.filter(|word| !word.is_null()) {
        // SAFETY: a string of the caller; there is a next element, at least the null.
        unsafe {
            words.push(Bytes(CStr::from_ptr(*word).to_bytes().to_vec()));
            argv = argv.add(1);
        }
    }
    words
}

fn environment() -> Vec<Bytes> {
    let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Bytes([name.into_vec(), b"=".to_vec(), value.into_vec()].concat())
    };
    std::env::vars_os().map(entry).collect()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_spawn(
    file: *const c_char,
    argv: *const *const c_char,
    flags: c_int,
    place: *const c_char,
    count: c_int,
    tids: *mut c_int,
) -> c_int {
    let spawn = || {
        // SAFETY: the caller's promises.
        let (program, place) = unsafe { (string(file), string(place)) };
        let program = program.filter(|name| !name.is_empty()).ok_or(Code::BadParam)?;
        if count < 1 {
            return Err(Code::BadParam);
        }
        let mut library = enrolled()?;
        let options = library.options.values;
        let output = Destination {
            tid: options[library::OUTPUT_TID],
            context: options[library::OUTPUT_CONTEXT],
            tag: options[library::OUTPUT_CODE],
        };
        let start = Start {
            program,
            // SAFETY: the caller's promise.
            arguments: unsafe { arguments(argv) },
            flags,
            place: place.unwrap_or_default(),
            count,
            environment: environment(),
            folders: folders(),
            host_folders: Vec::new(),
            working: String::new(),
            output,
            trace: Destination::default(),
            context: library.context,
        };
        let Answer::Tids { tids: got } = ask(&mut library, &Request::Spawn { start })? else {
            return Err(Code::BadMsg);
        };
        // The messages that say which output to wait for are here by now.
        library.progress(Look::Thorough)?;
        if !tids.is_null() && got.len() <= count as usize {
            // SAFETY: the caller's array of `count` numbers.
            unsafe { got.as_ptr().copy_to_nonoverlapping(tids, got.len()) };
        }
        Ok(got.iter().filter(|tid| **tid > 0).count() as c_int)
    };
    finish("pvm_spawn", spawn())
}

/// A task that has ended meanwhile needs no signal: as with PVM, which does not wait for an answer, that is no error.
fn send_signal(tid: c_int, signal: c_int) -> Result<c_int, Code> {
    match ask_code(&Request::Signal { tid, signal }) {
        Err(Code::NoTask) => Ok(0),
        other => other,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_sendsig(tid: c_int, signal: c_int) -> c_int {
    finish("pvm_sendsig", send_signal(tid, signal))
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_kill(tid: c_int) -> c_int {
    finish("pvm_kill", send_signal(tid, libc::SIGTERM))
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_pstat(tid: c_int) -> c_int {
    match ask_code(&Request::TaskStatus { tid }) {
        // That it is not there is an answer.
        Err(Code::NoTask) => Code::NoTask.number(),
        other => finish("pvm_pstat", other),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_tidtohost(tid: c_int) -> c_int {
    let named = tid::is_task(tid) || tid::is_host(tid);
    let host = if named { Ok(tid::host_of(tid)) } else { Err(Code::BadParam) };
    finish("pvm_tidtohost", host)
}

/// `struct pvmtaskinfo`.
#[repr(C)]
pub struct TaskInfo {
    pub tid: c_int,
    pub parent: c_int,
    pub host: c_int,
    pub flag: c_int,
    pub program: *mut c_char,
    pub pid: c_int,
}

/// What a call has given to the program, valid until the next such call.
pub struct Lent<T> {
    items: Vec<T>,
    strings: Vec<CString>,
}

impl<T> Lent<T> {
    pub const fn new() -> Lent<T> {
        Lent { items: Vec::new(), strings: Vec::new() }
    }

    pub fn clear(&mut self) {
        self.items.clear();
        self.strings.clear();
    }

    /// A string of C that lives as long as the others.
    pub fn string(&mut self, text: &str) -> *mut c_char {
        let text = CString::new(text.replace('\0', "")).unwrap_or_default();
        // The bytes stay where they are when the vector moves.
        let address = text.as_ptr().cast_mut();
        self.strings.push(text);
        address
    }

    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    pub fn items(&mut self) -> &mut [T] {
        &mut self.items
    }
}

// SAFETY: pointers to strings of its own.
unsafe impl<T> Send for Lent<T> {}

static TASKS: std::sync::Mutex<Lent<TaskInfo>> = std::sync::Mutex::new(Lent::new());

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_tasks(
    place: c_int,
    count: *mut c_int,
    list: *mut *mut TaskInfo,
) -> c_int {
    let tasks = || {
        let Answer::Tasks { tasks } = ask(&mut *enrolled()?, &Request::Tasks { place })? else {
            return Err(Code::BadMsg);
        };
        let mut lent = TASKS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lent.clear();
        for TaskLine { tid, parent, host, flags: flag, program, pid } in tasks {
            let program = lent.string(&program);
            lent.push(TaskInfo { tid, parent, host, flag, program, pid });
        }
        // SAFETY: null, or the caller's variables.
        unsafe {
            if !count.is_null() {
                *count = lent.items().len() as c_int;
            }
            if !list.is_null() {
                *list = lent.items().as_mut_ptr();
            }
        }
        Ok(0)
    };
    finish("pvm_tasks", tasks())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_siblings(tids: *mut *mut c_int) -> c_int {
    let siblings = || {
        let mut library = enrolled()?;
        // A task that nobody has spawned is the only one of its list.
        let identity = &mut library.enroll()?.identity;
        if !tids.is_null() {
            // SAFETY: not null, so the caller's variable. The list stays as it is until the task has left.
            unsafe { *tids = identity.siblings.as_mut_ptr() };
        }
        Ok(identity.siblings.len() as c_int)
    };
    finish("pvm_siblings", siblings())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_notify(
    what: c_int,
    tag: c_int,
    count: c_int,
    tids: *const c_int,
) -> c_int {
    let notify = || {
        // Of hosts that come there are no numbers.
        let tids = match what & !256 {
            3 => &[],
            // SAFETY: the caller's promise.
            _ => unsafe { numbers(tids, count) }?,
        };
        let of_nobody = tids.is_empty() && what & !256 != 3;
        if tag < 0 || of_nobody {
            return Err(Code::BadParam);
        }
        let mut library = enrolled()?;
        let context = library.context;
        let request = Request::Notify { what, tag, context, count, tids: tids.to_vec() };
        ask(&mut library, &request).map(|_| 0)
    };
    finish("pvm_notify", notify())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_catchout(file: *mut libc::FILE) -> c_int {
    let catch = || {
        let mut library = enrolled()?;
        let tid = library.enroll()?.tid();
        library.catching.file = if file.is_null() { library.catching.file } else { file };
        let on = !file.is_null();
        let options = &mut library.options.values;
        options[library::OUTPUT_TID] = if on { tid } else { 0 };
        options[library::OUTPUT_CONTEXT] = if on { hpvm_pvm::protocol::SYSTEM_CONTEXT } else { 0 };
        options[library::OUTPUT_CODE] = if on { hpvm_pvm::protocol::OUTPUT_TAG } else { 0 };
        Ok(0)
    };
    finish("pvm_catchout", catch())
}

/// Prints the text of the last error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_perror(text: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let text = unsafe { string(text) };
    let last = library::last_error();
    tell(&lock(), &format!("{}: {}", text.unwrap_or_default(), error::text(last)));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_strerror() -> *const c_char {
    static TEXT: std::sync::Mutex<Option<CString>> = std::sync::Mutex::new(None);
    let last = library::last_error();
    let text = CString::new(error::text(last)).unwrap_or_default();
    TEXT.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(text).as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_getfds(fds: *mut *mut c_int) -> c_int {
    static FDS: std::sync::Mutex<Vec<c_int>> = std::sync::Mutex::new(Vec::new());
    let list = || {
        let mut library = enrolled()?;
        let task = library.enroll()?;
        // From now on senders ring whenever the program may be waiting by itself.
        task.watched = true;
        task.arm();
        let mut all = FDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *all = task.descriptors();
        if !fds.is_null() {
            // SAFETY: not null, so the caller's variable.
            unsafe { *fds = all.as_mut_ptr() };
        }
        Ok(all.len() as c_int)
    };
    finish("pvm_getfds", list())
}
