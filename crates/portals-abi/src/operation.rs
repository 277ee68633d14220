//! Data movement (section 3.15).

use crate::interface::run;
use crate::process::Process;
use crate::types::ProcessId;
use core::ffi::{c_int, c_void};
use hpvm_portals::atomic::{DATATYPES, Datatype, OPS, Op};
use hpvm_portals::{Ack, Fault, Get, Interface, Local, OPERAND, Put, Request, Target, Verb};

/// What most operations say alike.
pub struct Common {
    pub length: u64,
    pub target_id: ProcessId,
    pub pt_index: u32,
    pub match_bits: u64,
    pub remote_offset: u64,
    pub user_ptr: *mut c_void,
    pub hdr_data: u64,
}

/// What an operation does, with its data at this side.
pub enum What {
    Put(Local, u8),
    Get(Local),
    Atomic(Local, u8, u8, u8),
    Fetch { get: Local, put: Local, operation: u8, datatype: u8 },
    Swap { get: Local, put: Local, operand: *const c_void, operation: u8, datatype: u8 },
}

/// When an operation that waits starts: a counting event and its threshold.
pub type Trigger = (u32, u64);

fn ack(number: u8) -> Result<Ack, Fault> {
    [Ack::None, Ack::Full, Ack::Count, Ack::Completed]
        .get(usize::from(number))
        .copied()
        .ok_or(Fault::ArgInvalid)
}

fn defined(operation: u8, datatype: u8) -> Result<(Op, Datatype), Fault> {
    let op = OPS.get(usize::from(operation)).ok_or(Fault::ArgInvalid)?;
    let ty = DATATYPES.get(usize::from(datatype)).ok_or(Fault::ArgInvalid)?;
    if op.is_defined_on(*ty) { Ok((*op, *ty)) } else { Err(Fault::ArgInvalid) }
}

#[inline(always)]
fn target(interface: &Interface, id: ProcessId) -> Target {
    match interface.nature().logical {
        true => Target::Logical(id.first),
        false => Target::Physical { nid: id.first, pid: id.second },
    }
}

/// # Safety
/// An operand that is used is readable.
#[inline(always)]
unsafe fn request(interface: &Interface, what: &What, common: &Common) -> Result<Request, Fault> {
    let mut operand = [0; OPERAND];
    let (verb, put, get, ack) = match *what {
        What::Put(local, number) => (Verb::Put, Some(local), None, ack(number)?),
        What::Get(local) => (Verb::Get, None, Some(local), Ack::None),
        What::Atomic(local, number, op, ty) => {
            let (op, ty) = defined(op, ty)?;
            (Verb::Atomic(op, ty), Some(local), None, ack(number)?)
        }
        What::Fetch { get, put, operation, datatype } => {
            let (op, ty) = defined(operation, datatype)?;
            (Verb::FetchAtomic(op, ty), Some(put), Some(get), Ack::None)
        }
        What::Swap { get, put, operand: from, operation, datatype } => {
            let (op, ty) = defined(operation, datatype)?;
            if op.takes_operand() {
                if from.is_null() {
                    return Err(Fault::ArgInvalid);
                }
                // SAFETY: an element, by the caller's promise; the place holds the longest.
                unsafe { from.cast::<u8>().copy_to(operand.as_mut_ptr(), ty.size()) };
            }
            (Verb::Swap(op, ty), Some(put), Some(get), Ack::None)
        }
    };
    Ok(Request {
        verb,
        put,
        get,
        length: common.length,
        ack,
        target: target(interface, common.target_id),
        pt_index: common.pt_index,
        match_bits: common.match_bits,
        remote_offset: common.remote_offset,
        user_ptr: common.user_ptr.expose_provenance() as u64,
        hdr_data: common.hdr_data,
        operand,
    })
}

/// Starts an operation, at once or when `trigger` says.
///
/// # Safety
/// As for `request`.
#[inline(always)]
pub unsafe fn operate(what: &What, common: &Common, trigger: Option<Trigger>) -> c_int {
    loop {
        // SAFETY: the caller's promise.
        match run(|p| unsafe { start(p, what, common, trigger) }) {
            Ok(true) => return 0,
            Ok(false) => crate::progress::make_room(),
            Err(fault) => return fault as c_int,
        }
    }
}

/// Starts an operation, unless so many packets wait to leave that there has to be room first.
///
/// # Safety
/// As for `request`.
#[inline(always)]
unsafe fn start(
    p: &mut Process,
    what: &What,
    common: &Common,
    trigger: Option<Trigger>,
) -> Result<bool, Fault> {
    if p.carrier.is_full() {
        return Ok(false);
    }
    let handle = match what {
        What::Put(local, _) | What::Get(local) | What::Atomic(local, ..) => local.descriptor,
        What::Fetch { get, .. } | What::Swap { get, .. } => get.descriptor,
    };
    let (interface, carrier) = p.interface(handle)?;
    // SAFETY: the caller's promise.
    let request = unsafe { request(interface, what, common)? };
    match trigger {
        None => interface.start(&request, carrier)?,
        Some(trigger) => interface.start_triggered(request, trigger, carrier)?,
    }
    Ok(true)
}

fn local(descriptor: u32, offset: u64) -> Local {
    Local { descriptor, offset }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlPut(
    md_handle: u32,
    local_offset: u64,
    length: u64,
    ack_req: u8,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
    hdr_data: u64,
) -> c_int {
    let from = local(md_handle, local_offset);
    let started = run(|p| {
        if p.carrier.is_full() {
            return Ok(false);
        }
        let (interface, carrier) = p.interface(md_handle)?;
        // Of the arguments themselves: those that the caller has just put on the stack, loaded in pairs for a structure, are there only
        // when all stores before them are done, which those of the packet before may take long to be.
        let put = Put {
            from,
            length,
            ack: ack(ack_req)?,
            target: target(interface, target_id),
            pt_index,
            match_bits,
            remote_offset,
            user_ptr: user_ptr.expose_provenance() as u64,
            hdr_data,
        };
        interface.put(&put, carrier)
    });
    match started {
        Ok(true) => 0,
        Ok(false) => {
            let common = Common {
                length,
                target_id,
                pt_index,
                match_bits,
                remote_offset,
                user_ptr,
                hdr_data,
            };
            // SAFETY: it has no operand.
            unsafe { put_otherwise(from, ack_req, &common) }
        }
        Err(fault) => fault as c_int,
    }
}

/// Starts a put whose data does not go with its header, or for which there is no room yet.
#[inline(never)]
unsafe fn put_otherwise(from: Local, ack_req: u8, common: &Common) -> c_int {
    // SAFETY: it has no operand.
    unsafe { operate(&What::Put(from, ack_req), common, None) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlTriggeredPut(
    md_handle: u32,
    local_offset: u64,
    length: u64,
    ack_req: u8,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
    hdr_data: u64,
    trig_ct_handle: u32,
    threshold: u64,
) -> c_int {
    let what = What::Put(local(md_handle, local_offset), ack_req);
    let common =
        Common { length, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data };
    // SAFETY: the program's operand, if there is one.
    unsafe { operate(&what, &common, Some((trig_ct_handle, threshold))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlGet(
    md_handle: u32,
    local_offset: u64,
    length: u64,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
) -> c_int {
    let into = local(md_handle, local_offset);
    loop {
        let started = run(|p| {
            if p.carrier.is_full() {
                return Ok(false);
            }
            let (interface, carrier) = p.interface(md_handle)?;
            // Of the arguments themselves, as in `PtlPut`.
            let get = Get {
                into,
                length,
                target: target(interface, target_id),
                pt_index,
                match_bits,
                remote_offset,
                user_ptr: user_ptr.expose_provenance() as u64,
            };
            interface.get(&get, carrier).map(|()| true)
        });
        match started {
            Ok(true) => return 0,
            Ok(false) => crate::progress::make_room(),
            Err(fault) => return fault as c_int,
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlTriggeredGet(
    md_handle: u32,
    local_offset: u64,
    length: u64,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
    trig_ct_handle: u32,
    threshold: u64,
) -> c_int {
    let what = What::Get(local(md_handle, local_offset));
    let common =
        Common { length, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data: 0 };
    // SAFETY: the program's operand, if there is one.
    unsafe { operate(&what, &common, Some((trig_ct_handle, threshold))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlAtomic(
    md_handle: u32,
    local_offset: u64,
    length: u64,
    ack_req: u8,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
    hdr_data: u64,
    operation: u8,
    datatype: u8,
) -> c_int {
    let what = What::Atomic(local(md_handle, local_offset), ack_req, operation, datatype);
    let common =
        Common { length, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data };
    // SAFETY: the program's operand, if there is one.
    unsafe { operate(&what, &common, None) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlTriggeredAtomic(
    md_handle: u32,
    local_offset: u64,
    length: u64,
    ack_req: u8,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
    hdr_data: u64,
    operation: u8,
    datatype: u8,
    trig_ct_handle: u32,
    threshold: u64,
) -> c_int {
    let what = What::Atomic(local(md_handle, local_offset), ack_req, operation, datatype);
    let common =
        Common { length, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data };
    // SAFETY: the program's operand, if there is one.
    unsafe { operate(&what, &common, Some((trig_ct_handle, threshold))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlFetchAtomic(
    get_md_handle: u32,
    local_get_offset: u64,
    put_md_handle: u32,
    local_put_offset: u64,
    length: u64,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
    hdr_data: u64,
    operation: u8,
    datatype: u8,
) -> c_int {
    let what = What::Fetch {
        get: local(get_md_handle, local_get_offset),
        put: local(put_md_handle, local_put_offset),
        operation,
        datatype,
    };
    let common =
        Common { length, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data };
    // SAFETY: the program's operand, if there is one.
    unsafe { operate(&what, &common, None) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlTriggeredFetchAtomic(
    get_md_handle: u32,
    local_get_offset: u64,
    put_md_handle: u32,
    local_put_offset: u64,
    length: u64,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
    hdr_data: u64,
    operation: u8,
    datatype: u8,
    trig_ct_handle: u32,
    threshold: u64,
) -> c_int {
    let what = What::Fetch {
        get: local(get_md_handle, local_get_offset),
        put: local(put_md_handle, local_put_offset),
        operation,
        datatype,
    };
    let common =
        Common { length, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data };
    // SAFETY: the program's operand, if there is one.
    unsafe { operate(&what, &common, Some((trig_ct_handle, threshold))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlSwap(
    get_md_handle: u32,
    local_get_offset: u64,
    put_md_handle: u32,
    local_put_offset: u64,
    length: u64,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
    hdr_data: u64,
    operand: *const c_void,
    operation: u8,
    datatype: u8,
) -> c_int {
    let what = What::Swap {
        get: local(get_md_handle, local_get_offset),
        put: local(put_md_handle, local_put_offset),
        operand,
        operation,
        datatype,
    };
    let common =
        Common { length, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data };
    // SAFETY: the program's operand, if there is one.
    unsafe { operate(&what, &common, None) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlTriggeredSwap(
    get_md_handle: u32,
    local_get_offset: u64,
    put_md_handle: u32,
    local_put_offset: u64,
    length: u64,
    target_id: ProcessId,
    pt_index: u32,
    match_bits: u64,
    remote_offset: u64,
    user_ptr: *mut c_void,
    hdr_data: u64,
    operand: *const c_void,
    operation: u8,
    datatype: u8,
    trig_ct_handle: u32,
    threshold: u64,
) -> c_int {
    let what = What::Swap {
        get: local(get_md_handle, local_get_offset),
        put: local(put_md_handle, local_put_offset),
        operand,
        operation,
        datatype,
    };
    let common =
        Common { length, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data };
    // SAFETY: the program's operand, if there is one.
    unsafe { operate(&what, &common, Some((trig_ct_handle, threshold))) }
}
