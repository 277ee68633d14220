//! Vector put, get and accumulate: lists of segments of one length, with an address on either side each.

use super::accumulate::{Batch, Sum};
use super::handle::{When, note};
use super::transfer::{SOURCE, Way, length};
use crate::races::{Access, one_transfer};
use crate::state::{State, state};
use crate::types::{Giov, Handle, Name};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use hpvm_abi::onesided::Run;
use hpvm_armci::Part;
use hpvm_model::{copy, fail, onesided, present};

/// Runs that go to a call at a time.
const RUNS_PER_CALL: usize = 4096;

/// Calls with source, destination and length of each segment that is not empty.
///
/// # Safety
/// The program's arrays.
unsafe fn each(
    name: Name,
    vectors: *const Giov,
    count: c_int,
    mut call: impl FnMut(*mut u8, *mut u8, usize),
) {
    let Ok(count) = usize::try_from(count) else {
        fail(name, &format!("{count} descriptors; expected 0 or more"))
    };
    if vectors.is_null() && count != 0 {
        fail(name, "the array of descriptors is null");
    }
    for i in 0..count {
        // SAFETY: the caller's promise.
        let vector = unsafe { *vectors.add(i) };
        let bytes = length(name, vector.bytes);
        let Ok(len) = usize::try_from(vector.len) else {
            fail(
                name,
                &format!("ptr_array_len of descriptor {i} is {}; expected 0 or more", vector.len),
            )
        };
        if len != 0 && (vector.sources.is_null() || vector.dests.is_null()) {
            fail(name, &format!("an array of addresses of descriptor {i} is null"));
        }
        for j in 0..if bytes == 0 { 0 } else { len } {
            // SAFETY: as above.
            let (source, dest) = unsafe { (*vector.sources.add(j), *vector.dests.add(j)) };
            call(source.cast(), dest.cast(), bytes);
        }
    }
}

/// Runs with one target, on their way to a call.
struct Runs<'a> {
    s: &'a State,
    name: Name,
    process: usize,
    call: unsafe extern "C" fn(*mut c_void, *const Run, usize) -> c_int,
    target: *mut c_void,
    runs: Vec<Run>,
    started: bool,
}

impl Runs<'_> {
    fn send(&mut self) {
        if !self.runs.is_empty() {
            // SAFETY: attached; the program's memory is valid, by its promise.
            let code = unsafe { (self.call)(self.target, self.runs.as_ptr(), self.runs.len()) };
            self.started |= self.s.note(self.name, self.process, code);
            self.runs.clear();
        }
    }
}

/// # Safety
/// The program's promises.
unsafe fn move_vectors(
    name: Name,
    way: Way,
    (vectors, count): (*const Giov, c_int),
    process: c_int,
    when: When,
) -> c_int {
    let s = state(name);
    let process = s.process(name, process);
    one_transfer(s, name, "segment", |segments| {
        // SAFETY: the program's arrays.
        unsafe {
            each(name, vectors, count, |_, dest, len| {
                segments.push(Part { at: dest.addr(), len, number: segments.len() });
            });
        }
    });
    let table = onesided();
    let call = match (way, when.now()) {
        (Way::Put, true) => table.put_runs,
        (Way::Put, false) => table.start_put_runs,
        (Way::Get, true) => table.get_runs,
        (Way::Get, false) => table.start_get_runs,
    };
    let mut far =
        Runs { s, name, process, call, target: null_mut(), runs: Vec::new(), started: false };
    // SAFETY: the program's promises; what is mapped is for `len` bytes.
    unsafe {
        each(name, vectors, count, |source, dest, len| {
            let (local, remote) = if way == Way::Put { (source, dest) } else { (dest, source) };
            present(name, way.local(), local, len);
            s.accesses(process, remote.addr(), len, way.access());
            let there = s.there(name, process, remote.addr(), len);
            if there.mapped.is_null() {
                if far.target != there.target || far.runs.len() == RUNS_PER_CALL {
                    far.send();
                    far.target = there.target;
                }
                far.runs.push(Run { local: local.cast(), offset: there.offset, len });
            } else {
                match way {
                    Way::Put => copy(local, there.mapped, len),
                    Way::Get => copy(there.mapped, local, len),
                }
            }
        });
        far.send();
        note(when, process, far.started);
    }
    0
}

/// # Safety
/// The program's promises.
unsafe fn add_vectors(
    name: Name,
    sum: &Sum,
    (vectors, count): (*const Giov, c_int),
    process: c_int,
    when: When,
) -> c_int {
    let s = state(name);
    let process = s.process(name, process);
    let mut batch = Batch::new(s, name, sum, process, when.now());
    // SAFETY: the program's promises; what is found is as long as the segment.
    unsafe {
        each(name, vectors, count, |source, dest, len| {
            sum.whole(name, len);
            present(name, SOURCE, source, len);
            s.accesses(process, dest.addr(), len, Access::Update);
            let there = s.shared(name, process, dest.addr(), len);
            batch.add(source, &there, len);
        });
        note(when, process, batch.end());
    }
    0
}

pub unsafe fn put(name: Name, vectors: *mut Giov, count: c_int, process: c_int) -> c_int {
    // SAFETY: the program's promises.
    unsafe { move_vectors(name, Way::Put, (vectors, count), process, When::Now) }
}

pub unsafe fn get(name: Name, vectors: *mut Giov, count: c_int, process: c_int) -> c_int {
    // SAFETY: the program's promises.
    unsafe { move_vectors(name, Way::Get, (vectors, count), process, When::Now) }
}

pub unsafe fn nb_put(
    name: Name,
    vectors: *mut Giov,
    count: c_int,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe { move_vectors(name, Way::Put, (vectors, count), process, When::Later(handle)) }
}

pub unsafe fn nb_get(
    name: Name,
    vectors: *mut Giov,
    count: c_int,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe { move_vectors(name, Way::Get, (vectors, count), process, When::Later(handle)) }
}

pub unsafe fn accumulate(
    name: Name,
    kind: c_int,
    scale: *const c_void,
    vectors: *mut Giov,
    count: c_int,
    process: c_int,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe { add_vectors(name, &Sum::new(name, kind, scale), (vectors, count), process, When::Now) }
}

pub unsafe fn nb_accumulate(
    name: Name,
    kind: c_int,
    scale: *const c_void,
    vectors: *mut Giov,
    count: c_int,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    let when = When::Later(handle);
    // SAFETY: the program's promises.
    unsafe { add_vectors(name, &Sum::new(name, kind, scale), (vectors, count), process, when) }
}
