//! Begin and end, network interfaces, the map, who this process is (sections 3.5 to 3.9).

use crate::process::{self, Opened, Process, lock};
use crate::progress;
use crate::types::{ProcessId, code, give};
use core::ffi::{c_int, c_uint};
use hpvm_model::Name;
use hpvm_portals::{ANY, ANY_ID, Fault, Handle, HandleKind, Interface, Limits, Nature, Register};

/// Runs the body of a call with the process, and tells those who wait what it has changed.
#[inline(always)]
pub fn run<R>(body: impl FnOnce(&mut Process) -> Result<R, Fault>) -> Result<R, Fault> {
    let mut guard = lock();
    let process = guard.process.as_mut().ok_or(Fault::NoInit)?;
    let result = body(process);
    process.tell();
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlInit() -> c_int {
    let mut guard = lock();
    if guard.process.is_none() {
        let name = c"PtlInit".as_ptr();
        if !hpvm_model::fits() {
            hpvm_model::fail(
                name,
                "libportals.so.4 and libmpi_abi.so.1 are of different versions of hpvm",
            );
        }
        let mut process = process::open(name);
        progress::start_helper(&mut process);
        progress::let_mpi_serve(true);
        guard.process = Some(process);
        process::watch_exit();
    }
    guard.uses += 1;
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlFini() {
    fini(c"PtlFini".as_ptr());
}

/// Ends one use. The last one waits for all other processes.
pub fn fini(name: Name) {
    let mut guard = lock();
    guard.uses = guard.uses.saturating_sub(1);
    if guard.uses > 0 || guard.process.is_none() {
        return;
    }
    let mut guard = progress::end_calls(progress::end_helper(guard));
    if let Some(process) = guard.process.take() {
        // Calls find that there is no process from now on, and do not wait for the others.
        drop(guard);
        progress::let_mpi_serve(false);
        process.close(name);
    }
}

/// `PTL_IFACE_DEFAULT`; 0 is the only other name of the same.
const DEFAULT: c_uint = u32::MAX;

/// Nature that options ask for: of each pair exactly one.
fn nature(options: c_uint) -> Option<Nature> {
    let matching = match options & 3 {
        1 => true,
        2 => false,
        _ => return None,
    };
    let logical = match options >> 2 {
        1 => true,
        2 => false,
        _ => return None,
    };
    Some(Nature { matching, logical })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlNIInit(
    iface: c_uint,
    options: c_uint,
    pid: u32,
    desired: *const Limits,
    actual: *mut Limits,
    ni_handle: *mut u32,
) -> c_int {
    // SAFETY: the program's places.
    code(run(|p| unsafe {
        if (iface != DEFAULT && iface != 0) || ni_handle.is_null() {
            return Err(Fault::ArgInvalid);
        }
        let nature = nature(options).ok_or(Fault::ArgInvalid)?;
        check_pid(p, pid)?;
        let number = usize::from(nature.number());
        if p.interfaces[number].is_none() {
            let wish = if desired.is_null() { Limits::default() } else { desired.read() };
            p.opened += 1;
            let interface = Interface::new(nature, p.opened, wish, p.me, p.peers.clone());
            p.interfaces[number] = Some(Opened { interface, uses: 0 });
        }
        let opened = p.interfaces[number].as_mut().ok_or(Fault::Fail)?;
        opened.uses += 1;
        if !actual.is_null() {
            actual.write(opened.interface.limits());
        }
        give(ni_handle, opened.interface.handle())
    }))
}

/// The pid of a process is given by the job; a program may name it.
fn check_pid(p: &Process, pid: u32) -> Result<(), Fault> {
    let me = p.peers[p.me as usize];
    if pid == ANY_ID || pid == me.pid {
        return Ok(());
    }
    let taken = p.peers.iter().any(|peer| (peer.nid, peer.pid) == (me.nid, pid));
    Err(if taken { Fault::PidInUse } else { Fault::ArgInvalid })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlNIFini(ni_handle: u32) -> c_int {
    let last = run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        let number = usize::from(interface.nature().number());
        let opened = p.interfaces[number].as_mut().ok_or(Fault::ArgInvalid)?;
        opened.uses -= u32::from(opened.uses > 0);
        Ok((opened.uses == 0).then_some(number))
    });
    let number = match last {
        Ok(Some(number)) => number,
        other => return code(other.map(|_| ())),
    };
    // What is on its way to or from memory of the program, which may give it to others from now on.
    let over = progress::wait(lock(), None, |p| match &p.interfaces[number] {
        Some(opened) if opened.uses == 0 && opened.interface.is_busy() => None,
        _ => Some(()),
    });
    if let Err(fault) = over {
        return fault as c_int;
    }
    code(run(|p| {
        if p.interfaces[number].as_ref().is_some_and(|opened| opened.uses == 0) {
            p.interfaces[number] = None;
            p.interrupt();
        }
        Ok(())
    }))
}

/// The interface that `handle` is of.
pub fn of_interface(
    p: &mut Process,
    handle: u32,
) -> Result<(&mut Interface, &mut crate::carrier::Mpi), Fault> {
    let is_interface = Handle::from_bits(handle).is_some_and(|h| h.kind == HandleKind::Interface);
    let (interface, carrier) = p.interface(handle)?;
    let same = is_interface && interface.has(handle);
    if same { Ok((interface, carrier)) } else { Err(Fault::ArgInvalid) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlNIStatus(
    ni_handle: u32,
    register: c_uint,
    status: *mut c_int,
) -> c_int {
    code(run(|p| {
        let register = match register {
            0 => Register::DropCount,
            1 => Register::PermissionViolations,
            2 => Register::OperationViolations,
            _ => return Err(Fault::ArgInvalid),
        };
        of_interface(p, ni_handle)?;
        p.glance();
        let (interface, _) = of_interface(p, ni_handle)?;
        // SAFETY: the program's place.
        unsafe { give(status, interface.status(register)) }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlNIHandle(handle: u32, ni_handle: *mut u32) -> c_int {
    code(run(|p| {
        let (interface, _) = p.interface(handle)?;
        if !interface.has(handle) {
            return Err(Fault::ArgInvalid);
        }
        // SAFETY: the program's place.
        unsafe { give(ni_handle, interface.handle()) }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlSetMap(ni_handle: u32, size: u64, mapping: *const ProcessId) -> c_int {
    code(run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        let size = usize::try_from(size).map_err(|_| Fault::ArgInvalid)?;
        if mapping.is_null() || size > isize::MAX as usize / size_of::<ProcessId>() {
            return Err(Fault::ArgInvalid);
        }
        // SAFETY: as many of the program's.
        let map = unsafe { core::slice::from_raw_parts(mapping, size) };
        interface.set_map(map.iter().map(|id| (id.first, id.second)).collect())
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlGetMap(
    ni_handle: u32,
    size: u64,
    mapping: *mut ProcessId,
    actual: *mut u64,
) -> c_int {
    code(run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        let map = interface.map()?;
        let most = usize::try_from(size).unwrap_or(usize::MAX);
        if mapping.is_null() && most > 0 {
            return Err(Fault::ArgInvalid);
        }
        for (at, &(first, second)) in map.iter().take(most).enumerate() {
            // SAFETY: the program's places, as many as it says.
            unsafe { mapping.add(at).write(ProcessId { first, second }) };
        }
        if !actual.is_null() {
            // SAFETY: the program's place.
            unsafe { actual.write(map.len() as u64) };
        }
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlGetUid(ni_handle: u32, uid: *mut u32) -> c_int {
    code(run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        // SAFETY: the program's place.
        unsafe { give(uid, interface.physical_id().uid) }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlGetId(ni_handle: u32, id: *mut ProcessId) -> c_int {
    code(run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        let found = match interface.nature().logical {
            true => ProcessId::of_rank(interface.rank()),
            false => ProcessId::of_peer(interface.physical_id()),
        };
        // SAFETY: the program's place.
        unsafe { give(id, found) }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlGetPhysId(ni_handle: u32, id: *mut ProcessId) -> c_int {
    code(run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        // SAFETY: the program's place.
        unsafe { give(id, ProcessId::of_peer(interface.physical_id())) }
    }))
}

/// Handles that stand for nothing are equal to themselves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlHandleIsEqual(one: u32, other: u32) -> c_int {
    c_int::from(one == other)
}

/// Operations need not be told apart from their bundle: each goes at once.
fn bundle(ni_handle: u32) -> c_int {
    code(run(|p| of_interface(p, ni_handle).map(|_| ())))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlStartBundle(ni_handle: u32) -> c_int {
    bundle(ni_handle)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlEndBundle(ni_handle: u32) -> c_int {
    bundle(ni_handle)
}

/// Atomic operations are done by this process's processors, on memory that they see.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlAtomicSync() -> c_int {
    code(run(|_| {
        // SeqCst: whatever the program does next comes after what the library's thread has done.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }))
}

/// Calls that wait return `PTL_ABORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlAbort() {
    let _ = run(|p| {
        p.progress.aborts += 1;
        p.interrupt();
        Ok(())
    });
}

/// The rank that stands for every one.
pub const ANY_RANK: u32 = ANY;
