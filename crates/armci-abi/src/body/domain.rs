//! Hosts, which ARMCI calls SMP domains.

use crate::state::state;
use crate::types::Name;
use core::ffi::c_int;
use hpvm_model::fail;

/// A host by its number; a negative one means that of this process.
fn host(name: Name, id: c_int) -> usize {
    let s = state(name);
    match usize::try_from(id) {
        Err(_) => s.hosts.of(s.me).unwrap_or(0),
        Ok(id) if id < s.hosts.count() => id,
        Ok(id) => fail(name, &format!("domain {id}; expected 0 to {}", s.hosts.count() - 1)),
    }
}

pub unsafe fn processes(name: Name, _: c_int, id: c_int) -> c_int {
    state(name).hosts.processes(host(name, id)).len() as c_int
}

pub unsafe fn of_process(name: Name, _: c_int, process: c_int) -> c_int {
    let s = state(name);
    s.hosts.of(s.process(name, process)).unwrap_or(0) as c_int
}

pub unsafe fn process(name: Name, _: c_int, id: c_int, number: c_int) -> c_int {
    let all = state(name).hosts.processes(host(name, id));
    match all.get(number as u32 as usize) {
        Some(process) => *process as c_int,
        None => {
            fail(name, &format!("process {number} of domain {id}; expected 0 to {}", all.len() - 1))
        }
    }
}

pub unsafe fn mine(name: Name, _: c_int) -> c_int {
    host(name, -1) as c_int
}

pub unsafe fn count(name: Name, _: c_int) -> c_int {
    state(name).hosts.count() as c_int
}

pub unsafe fn is_mine(name: Name, domain: c_int, process: c_int) -> c_int {
    // SAFETY: nothing is asked.
    unsafe { (of_process(name, domain, process) == mine(name, domain)).into() }
}

pub unsafe fn same_node(name: Name, process: c_int) -> c_int {
    // SAFETY: nothing is asked.
    unsafe { is_mine(name, 0, process) }
}
