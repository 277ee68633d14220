//! The table through which libraries of other programming models use the one-sided layer: see `hpvm_abi::onesided`.

use crate::body::check::wrong;
use crate::body::rma::wait_for_ops;
use crate::raise::{EXPLANATION, in_engine, remember};
use crate::runtime::{self, Entered, World, enter};
use core::ffi::{c_int, c_void};
use hpvm_abi::onesided::{self as abi, Attached, DONE, Key, OneSided, STARTED};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use hpvm_onesided::{AtomicOp, Kind, OpId, Path, RegionKey, Run, Target, Update};
use hpvm_transport::PeerMemory;
use std::collections::BTreeSet;

/// See `hpvm_abi::onesided`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a name of the C interface")]
pub static hpvm_onesided_1: OneSided = OneSided {
    size: size_of::<OneSided>(),
    allocate,
    release,
    expose,
    withdraw,
    attach,
    detach,
    put,
    get,
    put_runs,
    get_runs,
    accumulate,
    compare_and_swap,
    flush,
    progress,
    wait,
    end_job,
    start_put_runs,
    start_get_runs,
    accumulate_runs,
    hasten,
    shares_processors,
    allocate_at,
    on_long_wait,
};

/// Pages are what the system maps.
const PAGE: usize = 4096;

/// Before a failure is told: where a rank is gone, the launcher says why, and ends this one.
#[cold]
pub fn await_explanation(failure: &hpvm_onesided::Error) {
    use hpvm_onesided::Error::{Gone, HolderGone};
    if let Gone { .. } | HolderGone { .. } = failure {
        std::thread::sleep(EXPLANATION);
    }
}

#[cold]
fn refused(failure: Box<hpvm_onesided::Error>) -> Error {
    await_explanation(&failure);
    wrong(Class::RmaRange, failure.to_string())
}

/// Runs the body of a call that only works or not.
fn run(body: impl FnOnce(&mut Entered) -> Result<()>) -> c_int {
    in_engine(body, remember)
}

/// Runs the body of a call that starts an operation at `target`. With `wait` it is then complete on this side.
///
/// # Safety
/// `target` comes from `attach`.
#[inline]
unsafe fn operate(
    target: abi::Target,
    wait: c_int,
    start: impl FnOnce(&mut World, &Target) -> hpvm_onesided::Result<Option<OpId>>,
) -> c_int {
    // SAFETY: the caller's promise.
    let target = unsafe { &*target.cast::<Target>() };
    let code = run(|w| match start(w, target).map_err(refused)? {
        None => Ok(()),
        Some(op) if wait != 0 => finish(w, &[op]),
        // Nobody asks for it any more. What goes wrong is told by the next flush.
        Some(op) => w.process.onesided().1.forget(op).map_err(refused),
    });
    match (code, target.path()) {
        (0, Path::Mapped(_)) => DONE,
        (0, _) => STARTED,
        _ => code,
    }
}

/// Waits until operations are done.
fn finish(w: &mut Entered, ops: &[OpId]) -> Result<()> {
    wait_for_ops(w, ops)?;
    let (_, onesided) = w.process.onesided();
    let mut result = Ok(());
    for op in ops {
        result = result.and(onesided.forget(*op).map_err(refused));
    }
    result
}

unsafe extern "C" fn allocate(bytes: usize) -> *mut c_void {
    let Ok(mut w) = enter() else { return core::ptr::null_mut() };
    if let Some(memory) = w.process.fm_mut().transport_mut().lend(bytes) {
        return memory.as_ptr().cast();
    }
    private(None, bytes)
}

unsafe extern "C" fn allocate_at(address: usize, bytes: usize) -> *mut c_void {
    let Ok(mut w) = enter() else { return core::ptr::null_mut() };
    let transport = w.process.fm_mut().transport_mut();
    if let Some(memory) = transport.lend_at(address, bytes) {
        return memory.as_ptr().cast();
    }
    if let Some(elsewhere) = transport.lend(bytes) {
        // Memory that the ranks of the host can map is worth more than the address.
        transport.take_back(elsewhere.as_ptr());
        return core::ptr::null_mut();
    }
    private(Some(address), bytes)
}

/// Memory that the other ranks can't map; null where there is none.
fn private(at: Option<usize>, bytes: usize) -> *mut c_void {
    hpvm_os::map(at, bytes, None).map_or(core::ptr::null_mut(), |memory| memory.as_ptr().cast())
}

unsafe extern "C" fn release(memory: *mut c_void, bytes: usize) {
    let Ok(mut w) = enter() else { return };
    if !w.process.fm_mut().transport_mut().take_back(memory.cast()) {
        // SAFETY: `allocate` mapped it, with this size.
        unsafe { libc::munmap(memory, bytes.next_multiple_of(PAGE)) };
    }
}

unsafe extern "C" fn expose(memory: *mut c_void, len: usize, key: *mut Key) -> c_int {
    run(|w| {
        let (fm, onesided) = w.process.onesided();
        // SAFETY: the caller names memory for this use, which stays until it withdraws the key.
        let made = unsafe { onesided.expose(fm, memory.cast(), len, 0) };
        // Models get the address, and use the processor's atomics there.
        let made = onesided.set_direct(&made);
        // SAFETY: a valid place, by the interface.
        unsafe { *key = made.to_bytes() };
        Ok(())
    })
}

unsafe extern "C" fn withdraw(key: *const Key) -> c_int {
    run(|w| {
        // SAFETY: a valid key, by the interface.
        let key = RegionKey::from_bytes(unsafe { &*key });
        let (_, onesided) = w.process.onesided();
        match onesided.withdraw(&key) {
            true => w.adjust_progress_thread(),
            false => return Err(wrong(Class::Arg, format!("region {} is not exposed", key.id))),
        }
        Ok(())
    })
}

unsafe extern "C" fn attach(key: *const Key, attached: *mut Attached) -> c_int {
    run(|w| {
        // SAFETY: a valid key, by the interface.
        let key = RegionKey::from_bytes(unsafe { &*key });
        let (fm, onesided) = w.process.onesided();
        let target = onesided.attach(fm, &key).map_err(refused)?;
        let base = match target.path() {
            Path::Mapped(base) => base.cast(),
            _ => core::ptr::null_mut(),
        };
        let locked = c_int::from(target.key().is_locked());
        let target = Box::into_raw(Box::new(target)).cast();
        // SAFETY: a valid place, by the interface.
        unsafe { *attached = Attached { target, base, locked } };
        w.adjust_progress_thread();
        Ok(())
    })
}

unsafe extern "C" fn detach(target: abi::Target) {
    // SAFETY: `attach` made it, and nobody uses it any more.
    drop(unsafe { Box::from_raw(target.cast::<Target>()) });
}

unsafe extern "C" fn put(
    target: abi::Target,
    offset: u64,
    local: *const c_void,
    len: usize,
    wait: c_int,
) -> c_int {
    // SAFETY: the caller's promises, by the interface.
    unsafe {
        operate(target, wait, |w, target| {
            let (fm, onesided) = w.process.onesided();
            onesided.put(fm, target, offset, local.cast(), len)
        })
    }
}

unsafe extern "C" fn get(
    target: abi::Target,
    offset: u64,
    local: *mut c_void,
    len: usize,
    wait: c_int,
) -> c_int {
    // SAFETY: the caller's promises, by the interface.
    unsafe {
        operate(target, wait, |w, target| {
            let (fm, onesided) = w.process.onesided();
            onesided.get(fm, target, offset, local.cast(), len)
        })
    }
}

/// A copy of the runs of a call, from which an operation draws also after the call.
///
/// # Safety
/// `runs` points to `count` of them.
unsafe fn boxed(runs: *const abi::Run, count: usize) -> Box<dyn Iterator<Item = Run>> {
    // SAFETY: the caller's promise.
    let runs = unsafe { core::slice::from_raw_parts(runs, count) };
    let own = |run: &abi::Run| Run { local: run.local.cast(), offset: run.offset, len: run.len };
    Box::new(runs.iter().map(own).collect::<Vec<_>>().into_iter())
}

/// # Safety
/// As for `put_runs` and `start_put_runs`.
unsafe fn putting(target: abi::Target, runs: *const abi::Run, count: usize, wait: c_int) -> c_int {
    // SAFETY: the caller's promises, by the interface.
    unsafe {
        operate(target, wait, |w, target| {
            let (fm, onesided) = w.process.onesided();
            onesided.put_runs(fm, target, boxed(runs, count))
        })
    }
}

/// # Safety
/// As for `get_runs` and `start_get_runs`.
unsafe fn getting(target: abi::Target, runs: *const abi::Run, count: usize, wait: c_int) -> c_int {
    // SAFETY: the caller's promises, by the interface.
    unsafe {
        operate(target, wait, |w, target| {
            let (fm, onesided) = w.process.onesided();
            onesided.get_runs(fm, target, boxed(runs, count))
        })
    }
}

/// The forms that are waited for, and those that are not.
macro_rules! runs_calls {
    ($($name:ident $call:ident $wait:literal),*) => {$(
        unsafe extern "C" fn $name(
            target: abi::Target,
            runs: *const abi::Run,
            count: usize,
        ) -> c_int {
            // SAFETY: the caller's promises, by the interface.
            unsafe { $call(target, runs, count, $wait) }
        }
    )*};
}

runs_calls!(put_runs putting 1, start_put_runs putting 0, get_runs getting 1, start_get_runs getting 0);

fn kind_of(kind: abi::Kind) -> Kind {
    match kind {
        abi::Kind::I8 => Kind::I8,
        abi::Kind::I16 => Kind::I16,
        abi::Kind::I32 => Kind::I32,
        abi::Kind::I64 => Kind::I64,
        abi::Kind::U8 => Kind::U8,
        abi::Kind::U16 => Kind::U16,
        abi::Kind::U32 => Kind::U32,
        abi::Kind::U64 => Kind::U64,
        abi::Kind::F32 => Kind::F32,
        abi::Kind::F64 => Kind::F64,
        abi::Kind::LockedF32 => hpvm_onesided::LOCKED_F32,
        abi::Kind::LockedF64 => hpvm_onesided::LOCKED_F64,
    }
}

fn op_of(op: abi::Op) -> AtomicOp {
    match op {
        abi::Op::Sum => AtomicOp::Sum,
        abi::Op::Prod => AtomicOp::Prod,
        abi::Op::Min => AtomicOp::Min,
        abi::Op::Max => AtomicOp::Max,
        abi::Op::And => AtomicOp::BitAnd,
        abi::Op::Or => AtomicOp::BitOr,
        abi::Op::Xor => AtomicOp::BitXor,
        abi::Op::Replace => AtomicOp::Replace,
        abi::Op::Read => AtomicOp::NoOp,
    }
}

unsafe extern "C" fn accumulate(
    target: abi::Target,
    offset: u64,
    kind: abi::Kind,
    op: abi::Op,
    operand: *const c_void,
    count: usize,
    fetch: *mut c_void,
    wait: c_int,
) -> c_int {
    let fetch = (!fetch.is_null()).then_some(fetch.cast());
    let (kind, op) = (kind_of(kind), op_of(op));
    // SAFETY: the caller's promises, by the interface.
    unsafe {
        operate(target, wait, |w, target| {
            let (fm, onesided) = w.process.onesided();
            onesided.accumulate(fm, target, offset, kind, op, operand.cast(), count, fetch)
        })
    }
}

unsafe extern "C" fn accumulate_runs(
    target: abi::Target,
    kind: abi::Kind,
    op: abi::Op,
    updates: *const abi::Update,
    count: usize,
    wait: c_int,
) -> c_int {
    let what = (kind_of(kind), op_of(op), false);
    // SAFETY: the caller's promises, by the interface.
    unsafe {
        let updates = core::slice::from_raw_parts(updates, count);
        operate(target, wait, |w, target| {
            let (fm, onesided) = w.process.onesided();
            let own = |u: &abi::Update| Update {
                operand: u.operand.cast(),
                fetch: core::ptr::null_mut(),
                offset: u.offset,
                count: u.count,
            };
            let updates: Vec<Update> = updates.iter().map(own).collect();
            onesided.accumulate_runs(fm, target, what, Box::new(updates.into_iter()))
        })
    }
}

unsafe extern "C" fn compare_and_swap(
    target: abi::Target,
    offset: u64,
    kind: abi::Kind,
    compare: *const c_void,
    swap: *const c_void,
    result: *mut c_void,
    wait: c_int,
) -> c_int {
    let (kind, compare, swap) = (kind_of(kind), compare.cast(), swap.cast());
    // SAFETY: the caller's promises, by the interface.
    unsafe {
        operate(target, wait, |w, target| {
            let (fm, onesided) = w.process.onesided();
            onesided.compare_and_swap(fm, target, offset, kind, compare, swap, result.cast())
        })
    }
}

unsafe extern "C" fn flush(targets: *const abi::Target, count: usize) -> c_int {
    run(|w| {
        // SAFETY: the caller's promise, by the interface.
        let targets = unsafe { core::slice::from_raw_parts(targets, count) };
        let mut begun = Vec::new();
        // A rank answers when it has done all that went there before, whichever of its memory it was for.
        let mut asked = BTreeSet::new();
        for target in targets {
            // SAFETY: as above.
            let target = unsafe { &*target.cast::<Target>() };
            let rank = target.key().rank;
            if asked.contains(&rank) {
                continue;
            }
            let (fm, onesided) = w.process.onesided();
            if let Some(op) = onesided.flush(fm, target).map_err(refused)? {
                begun.push(op);
                asked.insert(rank);
            }
        }
        if begun.is_empty() { Ok(()) } else { finish(w, &begun) }
    })
}

unsafe extern "C" fn progress() -> c_int {
    run(|w| {
        w.send_batches();
        w.glance()
    })
}

unsafe extern "C" fn hasten() -> c_int {
    run(|w| {
        w.send_batches();
        Ok(())
    })
}

unsafe extern "C" fn shares_processors() -> c_int {
    // Without an engine nobody can tell, and sharing is the answer that is never wrong.
    enter().map_or(1, |w| c_int::from(w.policy.oversubscribed))
}

unsafe extern "C" fn wait(
    ready: unsafe extern "C" fn(*mut c_void) -> c_int,
    state: *mut c_void,
) -> c_int {
    run(|w| {
        // Whoever stores rings no bell.
        w.polls_memory += 1;
        // SAFETY: the caller's function with the caller's state.
        let waited = w.wait_for_everybody(|_| unsafe { ready(state) } != 0);
        w.polls_memory -= 1;
        waited
    })
}

unsafe extern "C" fn on_long_wait(call: Option<abi::LongWait>) {
    if let Ok(mut w) = enter() {
        w.long_waits.name(call);
    }
}

unsafe extern "C" fn end_job(code: c_int) -> ! {
    runtime::end_job(code)
}
