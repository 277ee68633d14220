//! Lists, of which each call gives one entry. Behind the last one the list begins anew, as it is then; so it does when a program
//! sets the argument for the number of entries to -1.

use super::{Length, give, number, set, text};
use crate::entry::machine::{HostInfo, pvm_config};
use crate::entry::mailbox::{ClassInfo, pvm_getmboxinfo};
use crate::entry::task::{TaskInfo, pvm_siblings, pvm_tasks};
use core::ffi::{c_char, c_int};
use hpvm_pvm::Code;
use std::sync::{Mutex, PoisonError};

/// A list of the C functions, and how much of it the program has seen.
struct List<T> {
    items: *mut T,
    count: c_int,
    next: c_int,
}

// SAFETY: the address of what the C functions have lent to the program, which any thread of it may read.
unsafe impl<T> Send for List<T> {}

impl<T> List<T> {
    const fn new() -> List<T> {
        List { items: std::ptr::null_mut(), count: 0, next: 0 }
    }

    /// The next entry and how many there are; 0 and none where there are none.
    ///
    /// # Errors
    /// What `fill` returns.
    ///
    /// # Safety
    /// `count` is null or the program's variable; `fill` gives a list that stays until it is called again.
    unsafe fn next(
        &mut self,
        count: *const c_int,
        fill: impl FnOnce(*mut c_int, *mut *mut T) -> c_int,
    ) -> Result<(Option<&T>, c_int), c_int> {
        // SAFETY: not null, so the program's variable.
        let again = !count.is_null() && unsafe { number(count) } == -1;
        if again || self.next == self.count {
            (self.count, self.next) = (0, 0);
            let code = fill(&raw mut self.count, &raw mut self.items);
            if code < 0 {
                self.count = 0;
                return Err(code);
            }
        }
        if self.next == self.count {
            return Ok((None, 0));
        }
        // SAFETY: below the number of entries.
        let item = unsafe { &*self.items.add(self.next as usize) };
        self.next += 1;
        Ok((Some(item), self.count))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfconfig_(
    hosts: *mut c_int,
    formats: *mut c_int,
    tid: *mut c_int,
    name: *mut c_char,
    arch: *mut c_char,
    speed: *mut c_int,
    info: *mut c_int,
    name_length: Length,
    arch_length: Length,
) {
    static HOSTS: Mutex<List<HostInfo>> = Mutex::new(List::new());
    let mut list = HOSTS.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's variables.
    unsafe {
        match list.next(hosts, |count, items| pvm_config(count, std::ptr::null_mut(), items)) {
            Err(code) => set(info, code),
            Ok((host, count)) => {
                set(hosts, count);
                set(formats, 1);
                if let Some(host) = host {
                    set(tid, host.tid);
                    give(name, name_length, host.name);
                    give(arch, arch_length, host.arch);
                    set(speed, host.speed);
                }
                set(info, 1);
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmftasks_(
    place: *const c_int,
    tasks: *mut c_int,
    tid: *mut c_int,
    parent: *mut c_int,
    host: *mut c_int,
    flags: *mut c_int,
    program: *mut c_char,
    info: *mut c_int,
    length: Length,
) {
    static TASKS: Mutex<List<TaskInfo>> = Mutex::new(List::new());
    let mut list = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's variables.
    unsafe {
        match list.next(tasks, |count, items| pvm_tasks(number(place), count, items)) {
            Err(code) => set(info, code),
            Ok((task, count)) => {
                set(tasks, count);
                if let Some(task) = task {
                    set(tid, task.tid);
                    set(parent, task.parent);
                    set(host, task.host);
                    set(flags, task.flag);
                    give(program, length, task.program);
                }
                set(info, 1);
            }
        }
    }
}

/// The indices, owners and flags of all entries of a name; the program has room for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfgetmboxinfo_(
    pattern: *const c_char,
    name: *mut c_char,
    names: *mut c_int,
    entries: *mut c_int,
    indices: *mut c_int,
    owners: *mut c_int,
    flags: *mut c_int,
    info: *mut c_int,
    pattern_length: Length,
    name_length: Length,
) {
    static NAMES: Mutex<List<ClassInfo>> = Mutex::new(List::new());
    let mut list = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's variables.
    unsafe {
        let pattern = text(pattern, pattern_length);
        let found =
            list.next(names, |count, items| pvm_getmboxinfo(pattern.as_ptr(), count, items));
        let class = match found {
            Err(code) => return set(info, code),
            Ok((None, _)) => {
                set(names, 0);
                return set(info, Code::NotFound.number());
            }
            Ok((Some(class), count)) => {
                set(names, count);
                class
            }
        };
        give(name, name_length, class.name);
        set(entries, class.entries);
        for (to, from) in [(indices, class.indices), (owners, class.owners), (flags, class.flags)] {
            if !to.is_null() {
                from.copy_to_nonoverlapping(to, class.entries as usize);
            }
        }
        set(info, 1);
    }
}

/// The task of a number among those that were spawned together; with -1 only how many they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvmfsiblings_(count: *mut c_int, index: *const c_int, tid: *mut c_int) {
    let mut tids = std::ptr::null_mut();
    // SAFETY: the caller's variables.
    unsafe {
        let there = pvm_siblings(&raw mut tids);
        set(count, there);
        if !index.is_null() {
            let index = number(index);
            let known = (0..there).contains(&index);
            set(tid, if known { *tids.add(index as usize) } else { Code::NoTask.number() });
        }
    }
}
