//! How the objects of an endpoint are opened, and the functions that are called for every message.

use crate::abi::{self, CqErrEntry, Fid, FidAv, FidCq, FidDomain, FidEp, FidFabric};
use crate::endpoint::LONGEST_ADDRESS;
use crate::library::Library;
use crate::object::{Object, function, lacks, zero};
use core::ffi::{c_int, c_void};
use std::os::fd::RawFd;

/// How often an endpoint is opened whose port turns out to be taken.
const PORT_TRIES: u32 = 20;

/// What is called for every message.
pub(crate) struct Calls {
    pub receive: abi::Receive,
    pub send: abi::Send,
    pub inject: abi::Inject,
    pub read: unsafe extern "C" fn(*mut FidCq, *mut c_void, usize) -> isize,
    pub read_error: unsafe extern "C" fn(*mut FidCq, *mut CqErrEntry, u64) -> isize,
    pub insert:
        unsafe extern "C" fn(*mut FidAv, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
    pub try_wait: Option<unsafe extern "C" fn(*mut FidFabric, *mut *mut Fid, c_int) -> c_int>,
}

/// A queue for the completions of both directions, with a descriptor to wait at where the provider has such.
fn open_queue(
    library: &Library,
    domain: &Object<FidDomain>,
    size: usize,
) -> Result<(Object<FidCq>, Option<RawFd>), String> {
    // SAFETY: an open object.
    let ops = unsafe { (*domain.as_ptr()).ops };
    // SAFETY: its table.
    let open = unsafe { function!(ops, abi::DomainOps, cq_open) };
    let open = open.ok_or_else(|| lacks("fi_cq_open"))?;
    let mut last = Err(lacks("completion queue"));
    for wait_obj in [abi::FI_WAIT_FD, abi::FI_WAIT_NONE] {
        let mut attr = abi::CqAttr {
            size,
            flags: 0,
            format: abi::FI_CQ_FORMAT_MSG,
            wait_obj,
            signaling_vector: 0,
            wait_cond: 0,
            wait_set: std::ptr::null_mut(),
        };
        let mut made = std::ptr::null_mut();
        // SAFETY: an open domain, attributes, and memory for the result.
        let result = unsafe { open(domain.as_ptr(), &mut attr, &mut made, std::ptr::null_mut()) };
        match Object::made(library, "fi_cq_open", result, made) {
            Ok(cq) if wait_obj == abi::FI_WAIT_NONE => return Ok((cq, None)),
            Ok(cq) => {
                let mut fd: c_int = -1;
                let got = cq.control(library, abi::FI_GETWAIT, (&raw mut fd).cast());
                if got.is_ok() && fd >= 0 {
                    return Ok((cq, Some(fd)));
                }
                last = Err("fi_control: the provider gives no descriptor to wait at".to_owned());
            }
            Err(why) => last = Err(why),
        }
    }
    last
}

fn open_addresses(
    library: &Library,
    domain: &Object<FidDomain>,
    kind: c_int,
) -> Result<Object<FidAv>, String> {
    // SAFETY: an open object.
    let ops = unsafe { (*domain.as_ptr()).ops };
    // SAFETY: its table.
    let open = unsafe { function!(ops, abi::DomainOps, av_open) };
    let open = open.ok_or_else(|| lacks("fi_av_open"))?;
    let mut attr = abi::AvAttr {
        kind,
        rx_ctx_bits: 0,
        count: 0,
        ep_per_node: 0,
        name: std::ptr::null(),
        map_addr: std::ptr::null_mut(),
        flags: 0,
    };
    let mut made = std::ptr::null_mut();
    // SAFETY: an open domain, attributes, and memory for the result.
    let result = unsafe { open(domain.as_ptr(), &mut attr, &mut made, std::ptr::null_mut()) };
    Object::made(library, "fi_av_open", result, made)
}

fn open_endpoint(
    library: &Library,
    domain: &Object<FidDomain>,
    info: *mut abi::Info,
) -> Result<Object<FidEp>, String> {
    // SAFETY: an open object.
    let ops = unsafe { (*domain.as_ptr()).ops };
    // SAFETY: its table.
    let open = unsafe { function!(ops, abi::DomainOps, endpoint) };
    let open = open.ok_or_else(|| lacks("fi_endpoint"))?;
    let mut made = std::ptr::null_mut();
    // SAFETY: an open domain, the offer that it is from, and memory for the result.
    let result = unsafe { open(domain.as_ptr(), info, &mut made, std::ptr::null_mut()) };
    Object::made(library, "fi_endpoint", result, made)
}

/// An endpoint that is enabled, and what is bound to it. Dropped in this order: what uses another thing goes first.
pub(crate) struct Enabled {
    pub ep: Object<FidEp>,
    pub av: Object<FidAv>,
    pub cq: Object<FidCq>,
    /// The descriptor of the queue to wait at, where the provider has such.
    pub wait: Option<RawFd>,
}

/// Opens an endpoint of an offer with a queue of `size` entries and a table of addresses.
///
/// A provider over sockets binds to a port that the kernel chooses and listens there later. Two processes may be given the same port,
/// of which the second one to listen is refused: another endpoint has another port. It has another queue, too: `ofi_rxm` leaves what
/// it waits for of an endpoint that could not be enabled in the list of the queue (libfabric 1.17), and looks there later.
pub(crate) fn open_enabled(
    library: &Library,
    domain: &Object<FidDomain>,
    info: *mut abi::Info,
    (size, av_type): (usize, c_int),
) -> Result<Enabled, String> {
    let mut tries = PORT_TRIES;
    loop {
        let (cq, wait) = open_queue(library, domain, size)?;
        let av = open_addresses(library, domain, av_type)?;
        let ep = open_endpoint(library, domain, info)?;
        ep.bind(library, cq.fid(), abi::FI_TRANSMIT | abi::FI_RECV)?;
        ep.bind(library, av.fid(), 0)?;
        let enabled = Enabled { ep, av, cq, wait };
        let result = enabled.ep.control_result(abi::FI_ENABLE, std::ptr::null_mut())?;
        tries -= 1;
        if result == -libc::EINVAL {
            // `ofi_rxm` asks for a queue that is as long as 256 peers need, which Soft-RoCE's devices do not have.
            return Err(format!(
                "fi_enable: {}; if its queues are too long for the card, FI_UNIVERSE_SIZE=N, for jobs of N ranks, makes \
                 them shorter",
                library.error(result as isize)
            ));
        }
        if result != -libc::EADDRINUSE || tries == 0 {
            return zero(library, "fi_enable", result).map(|()| enabled);
        }
    }
}

/// Registers `len` bytes from `start` for `access`, under the key `key` where the provider does not choose it.
///
/// # Safety
/// The memory stays allocated until the registration is closed.
pub(crate) unsafe fn register(
    library: &Library,
    domain: &Object<FidDomain>,
    (start, len): (*const c_void, usize),
    (access, key): (u64, u64),
    ep: &Object<FidEp>,
    mr_mode: c_int,
) -> Result<Object<abi::FidMr>, String> {
    // SAFETY: an open object.
    let ops = unsafe { (*domain.as_ptr()).mr };
    // SAFETY: its table.
    let reg = unsafe { function!(ops, abi::MrOps, reg) };
    let reg = reg.ok_or_else(|| lacks("fi_mr_reg"))?;
    let null = std::ptr::null_mut();
    let mut made = std::ptr::null_mut();
    // SAFETY: an open domain, and memory that outlives the registration.
    let result = unsafe { reg(domain.fid(), start, len, access, 0, key, 0, &mut made, null) };
    let mr = Object::made(library, "fi_mr_reg", result, made)
        .map_err(|why| format!("{why} ({len} bytes; ulimit -l may be too low)"))?;
    if mr_mode & abi::FI_MR_ENDPOINT != 0 {
        mr.bind(library, ep.fid(), 0)?;
        mr.control(library, abi::FI_ENABLE, std::ptr::null_mut())?;
    }
    Ok(mr)
}

/// The endpoint's own address.
pub(crate) fn name_of(library: &Library, ep: &Object<FidEp>) -> Result<Vec<u8>, String> {
    // SAFETY: an open object.
    let ops = unsafe { (*ep.as_ptr()).cm };
    // SAFETY: its table.
    let getname = unsafe { function!(ops, abi::CmOps, getname) };
    let getname = getname.ok_or_else(|| lacks("fi_getname"))?;
    let mut address = vec![0u8; LONGEST_ADDRESS];
    let mut len = address.len();
    // SAFETY: an open endpoint, and memory for `len` bytes.
    zero(library, "fi_getname", unsafe {
        getname(ep.fid(), address.as_mut_ptr().cast(), &mut len)
    })?;
    if len == 0 || len > LONGEST_ADDRESS {
        return Err(format!(
            "fi_getname: an address of {len} bytes; 1 to {LONGEST_ADDRESS} are taken"
        ));
    }
    address.truncate(len);
    Ok(address)
}

/// The functions for every message, of an endpoint that is enabled: they stay the same from then on.
pub(crate) fn calls_of(
    ep: &Object<FidEp>,
    cq: &Object<FidCq>,
    av: &Object<FidAv>,
    fabric: *const abi::FabricOps,
) -> Result<Calls, String> {
    // SAFETY: open objects, and their tables.
    unsafe {
        let msg = (*ep.as_ptr()).msg;
        let queue = (*cq.as_ptr()).ops;
        let table = (*av.as_ptr()).ops;
        let receive = function!(msg, abi::MsgOps, recv);
        let send = function!(msg, abi::MsgOps, send);
        let inject = function!(msg, abi::MsgOps, inject);
        let read = function!(queue, abi::CqOps, read);
        let read_error = function!(queue, abi::CqOps, readerr);
        let insert = function!(table, abi::AvOps, insert);
        Ok(Calls {
            receive: receive.ok_or_else(|| lacks("fi_recv"))?,
            send: send.ok_or_else(|| lacks("fi_send"))?,
            inject: inject.ok_or_else(|| lacks("fi_inject"))?,
            read: read.ok_or_else(|| lacks("fi_cq_read"))?,
            read_error: read_error.ok_or_else(|| lacks("fi_cq_readerr"))?,
            insert: insert.ok_or_else(|| lacks("fi_av_insert"))?,
            try_wait: function!(fabric, abi::FabricOps, trywait),
        })
    }
}
