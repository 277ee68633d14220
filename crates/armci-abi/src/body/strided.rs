//! Strided put, get and accumulate.

#![expect(clippy::too_many_arguments, reason = "as ARMCI has them")]

use super::accumulate::{Batch, Sum, add};
use super::handle::{When, note};
use super::transfer::{SOURCE, Way, bytes};
use crate::races::{Access, one_transfer};
use crate::state::{State, state};
use crate::types::{Handle, Name};
use core::ffi::{c_char, c_int, c_void};
use hpvm_abi::onesided::Run;
use hpvm_armci::{MAX_LEVELS, Part, Strided};
use hpvm_model::{copy, fail, onesided, present};

/// Runs that go to a call at a time: many enough for the call to cost little.
const RUNS_PER_CALL: usize = 4096;

/// One side of a strided transfer: where it begins, and the strides.
pub type Side = (*mut c_void, *const c_int);

/// # Safety
/// The arrays have as many numbers as `levels` says.
unsafe fn described(
    name: Name,
    source: *const c_int,
    dest: *const c_int,
    count: *const c_int,
    levels: c_int,
) -> Strided {
    let Some(levels) = usize::try_from(levels).ok().filter(|levels| *levels <= MAX_LEVELS) else {
        fail(name, &format!("stride_levels is {levels}; expected 0 to {MAX_LEVELS}"))
    };
    if count.is_null() || levels != 0 && (source.is_null() || dest.is_null()) {
        fail(name, "an array of counts or strides is null");
    }
    let of = |array: *const c_int, len: usize| match len {
        0 => &[],
        // SAFETY: the caller's promise.
        len => unsafe { core::slice::from_raw_parts(array, len) },
    };
    match Strided::new(of(count, levels + 1), of(source, levels), of(dest, levels)) {
        Ok(strided) => strided,
        Err(why) => fail(name, &why),
    }
}

/// Puts or gets. True: it needs a flush.
///
/// # Safety
/// The local bytes are valid, without `now` until the flush.
unsafe fn transfer(
    s: &State,
    name: Name,
    way: Way,
    strided: &Strided,
    (local, remote): (*mut u8, usize),
    process: usize,
    now: bool,
) -> bool {
    if let Some(len) = strided.as_run() {
        // SAFETY: the caller's promise.
        return unsafe { bytes(s, name, way, (local, remote), len, process, now) };
    }
    present(name, way.local(), local, strided.bytes());
    let (low, len) = if way == Way::Put { strided.dest_span() } else { strided.source_span() };
    if s.races.is_some() {
        one_transfer(s, name, "row", |rows| {
            let base = if way == Way::Put { remote } else { local.addr() };
            strided.for_each(|_, dest, len| {
                let at = base.wrapping_add_signed(dest);
                rows.push(Part { at, len, number: rows.len() });
            });
        });
        strided.for_each(|source, dest, len| {
            let at = if way == Way::Put { dest } else { source };
            s.accesses(process, remote.wrapping_add_signed(at), len, way.access());
        });
    }
    let there = s.there(name, process, remote.wrapping_add_signed(low), len);
    if there.mapped.is_null() {
        let place = (there.target, there.offset.wrapping_sub(low as u64));
        // SAFETY: attached, and all runs lie in the span; the caller's promise.
        return unsafe { far(s, name, way, strided, (local, place), process, now) };
    }
    let mapped = there.mapped.wrapping_offset(low.wrapping_neg());
    // SAFETY: all runs lie in the span, which is mapped; the caller's promise.
    strided.for_each(|source, dest, len| unsafe {
        match way {
            Way::Put => copy(local.wrapping_offset(source), mapped.wrapping_offset(dest), len),
            Way::Get => copy(mapped.wrapping_offset(source), local.wrapping_offset(dest), len),
        }
    });
    false
}

/// # Safety
/// As for `transfer`; the runs are in the target.
#[cold]
unsafe fn far(
    s: &State,
    name: Name,
    way: Way,
    strided: &Strided,
    (local, (target, offset)): (*mut u8, (*mut c_void, u64)),
    process: usize,
    now: bool,
) -> bool {
    let table = onesided();
    let call = match (way, now) {
        (Way::Put, true) => table.put_runs,
        (Way::Put, false) => table.start_put_runs,
        (Way::Get, true) => table.get_runs,
        (Way::Get, false) => table.start_get_runs,
    };
    let mut started = false;
    let mut runs = Vec::with_capacity(strided.runs().min(RUNS_PER_CALL));
    let mut send = |runs: &mut Vec<Run>| {
        // SAFETY: the caller's promise.
        started |= s.note(name, process, unsafe { call(target, runs.as_ptr(), runs.len()) });
        runs.clear();
    };
    strided.for_each(|source, dest, len| {
        let (here, there) = if way == Way::Put { (source, dest) } else { (dest, source) };
        let offset = offset.wrapping_add_signed(there as i64);
        runs.push(Run { local: local.wrapping_offset(here).cast(), offset, len });
        if runs.len() == RUNS_PER_CALL {
            send(&mut runs);
        }
    });
    if !runs.is_empty() {
        send(&mut runs);
    }
    started
}

/// # Safety
/// The program's promises.
unsafe fn move_strided(
    name: Name,
    way: Way,
    (source, dest): (Side, Side),
    (count, levels): (*const c_int, c_int),
    process: c_int,
    when: When,
) -> c_int {
    let s = state(name);
    let process = s.process(name, process);
    let (local, remote) = match way {
        Way::Put => (source.0, dest.0),
        Way::Get => (dest.0, source.0),
    };
    // SAFETY: the program's promises.
    unsafe {
        let strided = described(name, source.1, dest.1, count, levels);
        let places = (local.cast(), remote.addr());
        let started = transfer(s, name, way, &strided, places, process, when.now());
        note(when, process, started);
    }
    0
}

/// # Safety
/// The program's promises.
unsafe fn add_strided(
    name: Name,
    sum: &Sum,
    (source, dest): (Side, Side),
    (count, levels): (*const c_int, c_int),
    process: c_int,
    when: When,
) -> c_int {
    let s = state(name);
    // SAFETY: the program's promises.
    unsafe {
        let strided = described(name, source.1, dest.1, count, levels);
        if levels == 0 {
            return add(name, sum, (source.0, dest.0), strided.run(), process, when);
        }
        let process = s.process(name, process);
        let (low, len) = strided.dest_span();
        sum.whole(name, strided.run());
        if len == 0 {
            note(when, process, false);
            return 0;
        }
        present(name, SOURCE, source.0.cast(), strided.bytes());
        let there = s.shared(name, process, dest.0.addr().wrapping_add_signed(low), len);
        let mut batch = Batch::new(s, name, sum, process, when.now());
        strided.for_each(|source_at, dest_at, len| {
            let to = there.at(dest_at.wrapping_sub(low));
            s.accesses(process, dest.0.addr().wrapping_add_signed(dest_at), len, Access::Update);
            batch.add(source.0.cast::<u8>().wrapping_offset(source_at), &to, len);
        });
        note(when, process, batch.end());
    }
    0
}

pub unsafe fn put(
    name: Name,
    source: *mut c_void,
    source_strides: *const c_int,
    dest: *mut c_void,
    dest_strides: *const c_int,
    count: *const c_int,
    levels: c_int,
    process: c_int,
) -> c_int {
    let sides = ((source, source_strides), (dest, dest_strides));
    // SAFETY: the program's promises.
    unsafe { move_strided(name, Way::Put, sides, (count, levels), process, When::Now) }
}

pub unsafe fn get(
    name: Name,
    source: *mut c_void,
    source_strides: *const c_int,
    dest: *mut c_void,
    dest_strides: *const c_int,
    count: *const c_int,
    levels: c_int,
    process: c_int,
) -> c_int {
    let sides = ((source, source_strides), (dest, dest_strides));
    // SAFETY: the program's promises.
    unsafe { move_strided(name, Way::Get, sides, (count, levels), process, When::Now) }
}

pub unsafe fn nb_put(
    name: Name,
    source: *mut c_void,
    source_strides: *const c_int,
    dest: *mut c_void,
    dest_strides: *const c_int,
    count: *const c_int,
    levels: c_int,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    let sides = ((source, source_strides), (dest, dest_strides));
    // SAFETY: the program's promises.
    unsafe { move_strided(name, Way::Put, sides, (count, levels), process, When::Later(handle)) }
}

pub unsafe fn nb_get(
    name: Name,
    source: *mut c_void,
    source_strides: *const c_int,
    dest: *mut c_void,
    dest_strides: *const c_int,
    count: *const c_int,
    levels: c_int,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    let sides = ((source, source_strides), (dest, dest_strides));
    // SAFETY: the program's promises.
    unsafe { move_strided(name, Way::Get, sides, (count, levels), process, When::Later(handle)) }
}

pub unsafe fn accumulate(
    name: Name,
    kind: c_int,
    scale: *const c_void,
    source: *mut c_void,
    source_strides: *const c_int,
    dest: *mut c_void,
    dest_strides: *const c_int,
    count: *const c_int,
    levels: c_int,
    process: c_int,
) -> c_int {
    let sides = ((source, source_strides), (dest, dest_strides));
    // SAFETY: the program's promises.
    unsafe {
        let sum = Sum::new(name, kind, scale);
        add_strided(name, &sum, sides, (count, levels), process, When::Now)
    }
}

pub unsafe fn nb_accumulate(
    name: Name,
    kind: c_int,
    scale: *const c_void,
    source: *mut c_void,
    source_strides: *const c_int,
    dest: *mut c_void,
    dest_strides: *const c_int,
    count: *const c_int,
    levels: c_int,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    let sides = ((source, source_strides), (dest, dest_strides));
    // SAFETY: the program's promises.
    unsafe {
        let sum = Sum::new(name, kind, scale);
        add_strided(name, &sum, sides, (count, levels), process, When::Later(handle))
    }
}

pub unsafe fn put_flag(
    name: Name,
    source: *mut c_void,
    source_strides: *const c_int,
    dest: *mut c_void,
    dest_strides: *const c_int,
    count: *const c_int,
    levels: c_int,
    flag: *mut c_int,
    value: c_int,
    process: c_int,
) -> c_int {
    // SAFETY: the program's promises.
    unsafe {
        put(name, source, source_strides, dest, dest_strides, count, levels, process);
        super::value::raise_flag(name, flag, value, process);
    }
    0
}

/// Strides of what lies together.
fn packed(count: *const c_int, levels: c_int) -> [c_int; MAX_LEVELS] {
    let mut strides = [0; MAX_LEVELS];
    let mut len: c_int = 1;
    for (i, stride) in
        strides.iter_mut().enumerate().take(levels.clamp(0, MAX_LEVELS as c_int) as usize)
    {
        // SAFETY: the program's array has one number more than there are levels.
        len = len.wrapping_mul(unsafe { *count.add(i) });
        *stride = len;
    }
    strides
}

/// Packs strided memory of this process into `buffer`.
pub unsafe fn write_strided(
    name: Name,
    memory: *mut c_void,
    levels: c_int,
    strides: *const c_int,
    count: *const c_int,
    buffer: *mut c_char,
) {
    let together = packed(count, levels);
    let (memory, buffer) = (memory.cast::<u8>(), buffer.cast::<u8>());
    // SAFETY: the program's promises.
    unsafe {
        let strided = described(name, strides, together.as_ptr(), count, levels);
        strided.for_each(|from, to, len| {
            copy(memory.wrapping_offset(from), buffer.wrapping_offset(to), len);
        });
    }
}

/// The opposite.
pub unsafe fn read_strided(
    name: Name,
    memory: *mut c_void,
    levels: c_int,
    strides: *const c_int,
    count: *const c_int,
    buffer: *mut c_char,
) {
    let together = packed(count, levels);
    let (memory, buffer) = (memory.cast::<u8>(), buffer.cast::<u8>());
    // SAFETY: the program's promises.
    unsafe {
        let strided = described(name, together.as_ptr(), strides, count, levels);
        strided.for_each(|from, to, len| {
            copy(buffer.wrapping_offset(from), memory.wrapping_offset(to), len);
        });
    }
}
