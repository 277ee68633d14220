//! A reliable datagram endpoint: its objects, its buffers, sending and receiving.

use crate::abi::{self, CqErrEntry, CqMsgEntry, Fid, FidAv, FidCq, FidDomain, FidEp, FidFabric};
use crate::library::Library;
use crate::memory::Memory;
use crate::offer::{Offer, Wanted, read_ip, with_best};
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::ptr::NonNull;

/// Longest message, bytes: what a buffer holds. Below what `ofi_rxm` sends without asking the receiver first.
pub const LONGEST_MESSAGE: usize = 8 << 10;
/// A provider whose messages are shorter at most is not taken: a datagram of ordinary Ethernet has to fit.
pub const SHORTEST_MESSAGE: usize = 1500;
/// Longest address that is told to others, bytes.
pub const LONGEST_ADDRESS: usize = 128;
/// Buffers that wait to be received into, and that are on their way: 2 MiB and 1 MiB.
const RECEIVES: usize = 256;
const SENDS: usize = 128;
/// Completions that are read at once.
const BATCH: usize = 16;
/// Errors in a row, without a message or a completion between them, after which the endpoint counts as broken.
const MOST_ERRORS: u32 = 1000;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The library has it. When it can't be delivered, [`Endpoint::failed`] may tell.
    Taken,
    /// There is no room now, or the connection is not made yet.
    Later,
    /// The library refuses to send to this peer, with this error.
    Refused(isize),
}

/// What has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub sent: u64,
    pub received: u64,
    /// Operations that ended with an error.
    pub errors: u64,
}

/// An object of the library's, closed at the end.
struct Object<T>(NonNull<T>);

impl<T> Object<T> {
    fn fid(&self) -> *mut Fid {
        // Every object begins with its `Fid`.
        self.0.as_ptr().cast()
    }

    /// Takes what an opening function has made.
    fn made(library: &Library, what: &str, result: c_int, made: *mut T) -> Result<Self, String> {
        match NonNull::new(made) {
            Some(made) if result == 0 => Ok(Object(made)),
            _ if result == 0 => Err(format!("{what}: libfabric returns nothing")),
            _ => Err(format!("{what}: {}", library.error(result as isize))),
        }
    }

    fn bind(&self, library: &Library, other: *mut Fid, flags: u64) -> Result<(), String> {
        // SAFETY: an open object.
        let bind =
            unsafe { call(object_ops(self.fid()), offset_of!(abi::FidOps, bind), |o| o.bind) };
        let bind = bind.ok_or_else(|| lacks("fi_bind"))?;
        // SAFETY: two open objects.
        zero(library, "fi_bind", unsafe { bind(self.fid(), other, flags) })
    }

    fn control(&self, library: &Library, command: c_int, value: *mut c_void) -> Result<(), String> {
        let at = offset_of!(abi::FidOps, control);
        // SAFETY: an open object.
        let control = unsafe { call(object_ops(self.fid()), at, |o| o.control) };
        let control = control.ok_or_else(|| lacks("fi_control"))?;
        // SAFETY: an open object, and memory for what the command gives.
        zero(library, "fi_control", unsafe { control(self.fid(), command, value) })
    }
}

impl<T> Drop for Object<T> {
    fn drop(&mut self) {
        // SAFETY: an open object, which is closed once, before those that it was made from.
        unsafe {
            let at = offset_of!(abi::FidOps, close);
            if let Some(close) = call(object_ops(self.fid()), at, |ops| ops.close) {
                close(self.fid());
            }
        }
    }
}

/// # Safety
/// An open object.
unsafe fn object_ops(object: *mut Fid) -> *const abi::FidOps {
    // SAFETY: as the caller says.
    unsafe { (*object).ops }
}

/// A function out of a table of the library's, if the table is there and long enough.
///
/// # Safety
/// `table` is null, or a table that begins with its size.
unsafe fn call<O, F>(table: *const O, at: usize, of: impl FnOnce(&O) -> Option<F>) -> Option<F> {
    if table.is_null() {
        return None;
    }
    // SAFETY: every table begins with its size; what is behind its end is not touched.
    unsafe {
        let size = *table.cast::<usize>();
        if size < at + size_of::<usize>() { None } else { of(&*table) }
    }
}

fn lacks(what: &str) -> String {
    format!("the provider of libfabric has no {what}")
}

fn zero(library: &Library, what: &str, result: c_int) -> Result<(), String> {
    match result {
        0 => Ok(()),
        error => Err(format!("{what}: {}", library.error(error as isize))),
    }
}

/// What is called for every message.
struct Calls {
    receive: abi::Receive,
    send: abi::Send,
    inject: abi::Inject,
    read: unsafe extern "C" fn(*mut FidCq, *mut c_void, usize) -> isize,
    read_error: unsafe extern "C" fn(*mut FidCq, *mut CqErrEntry, u64) -> isize,
    insert:
        unsafe extern "C" fn(*mut FidAv, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
    try_wait: Option<unsafe extern "C" fn(*mut FidFabric, *mut *mut Fid, c_int) -> c_int>,
}

/// The endpoint of a process. Fields are dropped in this order: what uses another thing goes first.
pub struct Endpoint {
    ep: Object<FidEp>,
    _registration: Option<Object<abi::FidMr>>,
    av: Object<FidAv>,
    cq: Object<FidCq>,
    _domain: Object<FidDomain>,
    fabric: Object<FidFabric>,
    /// Buffers to receive into come first, then those to send from.
    memory: Memory,
    /// What the provider may use of its own, one for each buffer.
    contexts: Memory,
    descriptor: *mut c_void,
    calls: Calls,
    library: Library,
    receives: usize,
    /// Buffers that could not be given to the provider yet.
    unposted: Vec<u32>,
    /// Buffers with a message, and its length.
    came: VecDeque<(u32, usize)>,
    /// Buffers that nothing is sent from, and for whom the others are.
    free: Vec<u32>,
    sends: usize,
    peers: Box<[u32]>,
    failed: Vec<u32>,
    errors_in_row: u32,
    inject_size: usize,
    longest: usize,
    wait: Option<RawFd>,
    /// The provider does not let us wait at the descriptor now.
    restless: bool,
    address: Vec<u8>,
    format: u32,
    provider: String,
    domain: String,
    pub tally: Tally,
}

// SAFETY: the objects are used by whoever holds the endpoint, one at a time (`FI_THREAD_DOMAIN`), whatever the thread.
unsafe impl Send for Endpoint {}

impl Endpoint {
    /// Opens an endpoint of the provider that fits best.
    ///
    /// # Errors
    /// libfabric is not there, nothing fits, or the provider fails: what was looked for and found, for people.
    pub fn open(wanted: &Wanted) -> Result<Endpoint, String> {
        let library = Library::load()?;
        with_best(&library, wanted, |offer| {
            let named = |why| format!("provider {} of libfabric: {why}", offer.provider);
            // SAFETY: an offer that was checked, and is alive until this returns.
            unsafe { Endpoint::of(library, offer) }.map_err(named)
        })
    }

    /// # Safety
    /// An offer whose list is alive.
    unsafe fn of(library: Library, offer: &Offer) -> Result<Endpoint, String> {
        let info = offer.info.as_ptr();
        // SAFETY: the offer was checked: none of these is null.
        let (tx, rx, ep_attr, domain_attr, fabric_attr) = unsafe {
            let info = &*info;
            (&*info.tx_attr, &*info.rx_attr, &*info.ep_attr, &*info.domain_attr, info.fabric_attr)
        };
        let mut made = std::ptr::null_mut();
        // SAFETY: the offer's own attributes.
        let result = unsafe { (library.fabric)(fabric_attr, &mut made, std::ptr::null_mut()) };
        let fabric = Object::made(&library, "fi_fabric", result, made)?;
        // SAFETY: an open object.
        let fabric_ops = unsafe { (*fabric.0.as_ptr()).ops };
        let domain = {
            // SAFETY: its table.
            let open =
                unsafe { call(fabric_ops, offset_of!(abi::FabricOps, domain), |o| o.domain) };
            let open = open.ok_or_else(|| lacks("fi_domain"))?;
            let mut made = std::ptr::null_mut();
            // SAFETY: an open object and the offer that it is from.
            let result = unsafe { open(fabric.0.as_ptr(), info, &mut made, std::ptr::null_mut()) };
            Object::made(&library, "fi_domain", result, made)?
        };
        let receives = RECEIVES.min(rx.size);
        let sends = SENDS.min(tx.size);
        let (cq, wait) = open_queue(&library, &domain, receives + sends)?;
        let av = open_addresses(&library, &domain, domain_attr.av_type)?;
        let ep = open_endpoint(&library, &domain, info)?;
        ep.bind(&library, cq.fid(), abi::FI_TRANSMIT | abi::FI_RECV)?;
        ep.bind(&library, av.fid(), 0)?;
        ep.control(&library, abi::FI_ENABLE, std::ptr::null_mut())?;
        let memory = Memory::new(receives + sends, LONGEST_MESSAGE);
        let memory = memory.map_err(|error| format!("memory for messages: {error}"))?;
        let registration = match domain_attr.mr_mode & abi::FI_MR_LOCAL {
            0 => None,
            _ => Some(register(&library, &domain, &memory, &ep, domain_attr.mr_mode)?),
        };
        // SAFETY: an open object.
        let descriptor = registration.as_ref().map(|mr| unsafe { (*mr.0.as_ptr()).mem_desc });
        let address = name_of(&library, &ep)?;
        let calls = calls_of(&ep, &cq, &av, fabric_ops)?;
        let contexts = Memory::new(receives + sends, size_of::<abi::Context>());
        let contexts = contexts.map_err(|error| format!("memory for operations: {error}"))?;
        let mut endpoint = Endpoint {
            ep,
            _registration: registration,
            av,
            cq,
            _domain: domain,
            fabric,
            memory,
            contexts,
            descriptor: descriptor.unwrap_or(std::ptr::null_mut()),
            calls,
            library,
            receives,
            unposted: (0..receives as u32).rev().collect(),
            came: VecDeque::with_capacity(receives),
            free: (receives as u32..(receives + sends) as u32).collect(),
            sends,
            peers: vec![0; sends].into(),
            failed: Vec::new(),
            errors_in_row: 0,
            inject_size: tx.inject_size,
            longest: LONGEST_MESSAGE.min(ep_attr.max_msg_size),
            wait,
            restless: false,
            address,
            // SAFETY: the offer is alive.
            format: unsafe { (*info).addr_format },
            provider: offer.provider.clone(),
            domain: offer.domain.clone(),
            tally: Tally::default(),
        };
        endpoint.post();
        match endpoint.unposted.len() == receives {
            true => Err("no buffer can be posted to receive into".to_owned()),
            false => Ok(endpoint),
        }
    }

    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// What others need to reach this endpoint.
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// Provider, device and address, for people.
    pub fn text(&self) -> String {
        let ip = self.ip().map_or(String::new(), |ip| format!(", {ip}"));
        let (major, minor) = self.library.version;
        format!("libfabric {major}.{minor}, {} ({}{ip})", self.provider, self.domain)
    }

    /// The address of IP at which it is, if it is at one.
    pub fn ip(&self) -> Option<IpAddr> {
        read_ip(self.format, &self.address)
    }

    /// Longest message.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The descriptor that is readable when something has come; `None`: one has to look.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.wait
    }

    /// Makes the address of a peer's endpoint known. It is an allegation, and refused when it is none of ours' form.
    ///
    /// # Errors
    /// It can't be an address of this provider.
    pub fn insert(&mut self, address: &[u8]) -> Result<u64, String> {
        self.is_address(address)?;
        let mut handle = abi::FI_ADDR_UNSPEC;
        let (table, bytes) = (self.av.0.as_ptr(), address.as_ptr().cast());
        // SAFETY: an open table, an address of the length that its format has, and memory for one handle.
        let inserted =
            unsafe { (self.calls.insert)(table, bytes, 1, &mut handle, 0, std::ptr::null_mut()) };
        match inserted {
            1 if handle != abi::FI_ADDR_UNSPEC => Ok(handle),
            error if error < 0 => {
                Err(format!("fi_av_insert: {}", self.library.error(error as isize)))
            }
            _ => Err("fi_av_insert: the provider does not take the address".to_owned()),
        }
    }

    /// The provider reads as many bytes as its format has, whatever we give it.
    fn is_address(&self, address: &[u8]) -> Result<(), String> {
        let ours = &self.address;
        let right = match self.format {
            // The families are at the same place; ports and addresses may be any.
            abi::FI_SOCKADDR | abi::FI_SOCKADDR_IN | abi::FI_SOCKADDR_IN6 => {
                address.len() == ours.len() && address.get(..2) == ours.get(..2)
            }
            abi::FI_ADDR_STR => address.last() == Some(&0) && address.len() <= LONGEST_ADDRESS,
            _ => address.len() == ours.len(),
        };
        if right {
            return Ok(());
        }
        Err(format!(
            "an address of {} bytes is none of {}, whose own has {}, of another family or of another form",
            address.len(),
            self.provider,
            ours.len()
        ))
    }

    /// Sends a message of at most `longest` bytes. `peer`: what [`Endpoint::failed`] calls it.
    #[inline]
    pub fn send(&mut self, to: u64, peer: u32, message: &[u8]) -> Sent {
        let (ep, len) = (self.ep.0.as_ptr(), message.len());
        if len <= self.inject_size {
            // SAFETY: an open endpoint, and bytes that are used during the call only.
            let result = unsafe { (self.calls.inject)(ep, message.as_ptr().cast(), len, to) };
            return self.sent(result);
        }
        if self.free.is_empty() {
            self.progress();
        }
        let Some(buffer) = self.free.pop() else { return Sent::Later };
        let at = buffer as usize;
        self.memory.bytes_mut(at)[..len].copy_from_slice(message);
        self.peers[at - self.receives] = peer;
        let context = self.contexts.at(at);
        let bytes = self.memory.at(at);
        // SAFETY: an open endpoint; buffer and context are not touched until their completion.
        let result = unsafe { (self.calls.send)(ep, bytes, len, self.descriptor, to, context) };
        if result != 0 {
            self.free.push(buffer);
        }
        self.sent(result)
    }

    #[inline]
    fn sent(&mut self, result: isize) -> Sent {
        match result {
            0 => {
                self.tally.sent += 1;
                Sent::Taken
            }
            error if error == -abi::FI_EAGAIN => {
                // The provider makes connections and room when it is asked what has happened.
                self.progress();
                Sent::Later
            }
            error => {
                self.tally.errors += 1;
                Sent::Refused(error)
            }
        }
    }

    /// Gives the next message to `take`. `None`: nothing has come.
    #[inline]
    pub fn receive<R>(&mut self, take: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if self.came.is_empty() {
            self.progress();
        }
        let (buffer, len) = self.came.pop_front()?;
        let result = take(self.memory.bytes(buffer as usize, len));
        self.tally.received += 1;
        self.unposted.push(buffer);
        self.post();
        Some(result)
    }

    /// Whether a message waits to be received.
    pub fn readable(&mut self) -> bool {
        self.progress();
        if !self.came.is_empty() {
            return true;
        }
        self.restless = !self.may_wait();
        if self.restless {
            self.progress();
        }
        !self.came.is_empty()
    }

    /// The provider permits to wait at its descriptor.
    fn may_wait(&self) -> bool {
        if self.wait.is_none() {
            return false;
        }
        let Some(try_wait) = self.calls.try_wait else { return true };
        let mut queues = [self.cq.fid()];
        // SAFETY: an open fabric and a list of one open queue of it.
        unsafe { try_wait(self.fabric.0.as_ptr(), queues.as_mut_ptr(), 1) == 0 }
    }

    /// Who sleeps has to look again soon: the descriptor does not tell everything.
    pub fn is_restless(&self) -> bool {
        self.wait.is_none() || self.restless || self.free.len() < self.sends
    }

    /// A peer to whom something could not be delivered.
    #[inline]
    pub fn failed(&mut self) -> Option<u32> {
        if self.failed.is_empty() { None } else { self.failed.pop() }
    }

    /// Nothing can be received any more.
    pub fn is_dead(&self) -> bool {
        self.errors_in_row >= MOST_ERRORS || self.unposted.len() == self.receives
    }

    /// Lets the provider work, and takes what has been done.
    #[inline]
    fn progress(&mut self) {
        let none = CqMsgEntry { op_context: std::ptr::null_mut(), flags: 0, len: 0 };
        let mut entries = [none; BATCH];
        // SAFETY: an open queue of this format, and memory for so many entries.
        let result =
            unsafe { (self.calls.read)(self.cq.0.as_ptr(), entries.as_mut_ptr().cast(), BATCH) };
        if result > 0 {
            self.errors_in_row = 0;
            for entry in &entries[..(result as usize).min(BATCH)] {
                self.done(entry.op_context, Some(entry.len));
            }
        } else if result < 0 && result != -abi::FI_EAGAIN {
            self.read_errors(result);
        }
        if !self.unposted.is_empty() {
            self.post();
        }
    }

    #[cold]
    fn read_errors(&mut self, result: isize) {
        self.errors_in_row += 1;
        if result != -abi::FI_EAVAIL {
            self.tally.errors += 1;
            return;
        }
        // SAFETY: integers and pointers, for which zero is a value.
        let mut entry: CqErrEntry = unsafe { core::mem::zeroed() };
        for _ in 0..BATCH {
            // SAFETY: an open queue, and memory for more than any version's entry.
            let got = unsafe { (self.calls.read_error)(self.cq.0.as_ptr(), &mut entry, 0) };
            if got <= 0 {
                return;
            }
            self.tally.errors += 1;
            self.done(entry.op_context, None);
        }
    }

    /// An operation is over, with so many bytes or, `None`, with an error.
    #[inline]
    fn done(&mut self, context: *mut c_void, len: Option<usize>) {
        // What the library says is checked: a context that is none of ours belongs to nothing of ours.
        let from = (context as usize).wrapping_sub(self.contexts.at(0) as usize);
        let buffer = from / size_of::<abi::Context>();
        if !from.is_multiple_of(size_of::<abi::Context>()) || from >= self.contexts.len() {
            return;
        }
        match (buffer.checked_sub(self.receives), len) {
            (None, Some(len)) => self.came.push_back((buffer as u32, len.min(LONGEST_MESSAGE))),
            (None, None) => self.unposted.push(buffer as u32),
            (Some(send), len) => {
                if len.is_none() {
                    self.failed.push(self.peers[send]);
                }
                self.free.push(buffer as u32);
            }
        }
    }

    /// Gives the provider buffers to receive into.
    #[inline]
    fn post(&mut self) {
        while let Some(buffer) = self.unposted.last().copied() {
            let at = buffer as usize;
            let context = self.contexts.at(at);
            let (ep, any) = (self.ep.0.as_ptr(), abi::FI_ADDR_UNSPEC);
            let (bytes, desc) = (self.memory.at(at), self.descriptor);
            // SAFETY: an open endpoint; buffer and context are not touched until their completion.
            let result =
                unsafe { (self.calls.receive)(ep, bytes, LONGEST_MESSAGE, desc, any, context) };
            if result != 0 {
                return;
            }
            self.unposted.pop();
        }
    }
}

/// A queue for the completions of both directions, with a descriptor to wait at where the provider has such.
fn open_queue(
    library: &Library,
    domain: &Object<FidDomain>,
    size: usize,
) -> Result<(Object<FidCq>, Option<RawFd>), String> {
    // SAFETY: an open object.
    let ops = unsafe { (*domain.0.as_ptr()).ops };
    // SAFETY: its table.
    let open = unsafe { call(ops, offset_of!(abi::DomainOps, cq_open), |o| o.cq_open) };
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
        let result = unsafe { open(domain.0.as_ptr(), &mut attr, &mut made, std::ptr::null_mut()) };
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
    let ops = unsafe { (*domain.0.as_ptr()).ops };
    // SAFETY: its table.
    let open = unsafe { call(ops, offset_of!(abi::DomainOps, av_open), |o| o.av_open) };
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
    let result = unsafe { open(domain.0.as_ptr(), &mut attr, &mut made, std::ptr::null_mut()) };
    Object::made(library, "fi_av_open", result, made)
}

fn open_endpoint(
    library: &Library,
    domain: &Object<FidDomain>,
    info: *mut abi::Info,
) -> Result<Object<FidEp>, String> {
    // SAFETY: an open object.
    let ops = unsafe { (*domain.0.as_ptr()).ops };
    // SAFETY: its table.
    let open = unsafe { call(ops, offset_of!(abi::DomainOps, endpoint), |o| o.endpoint) };
    let open = open.ok_or_else(|| lacks("fi_endpoint"))?;
    let mut made = std::ptr::null_mut();
    // SAFETY: an open domain, the offer that it is from, and memory for the result.
    let result = unsafe { open(domain.0.as_ptr(), info, &mut made, std::ptr::null_mut()) };
    Object::made(library, "fi_endpoint", result, made)
}

/// Registers the buffers, for providers that want that (`FI_MR_LOCAL`).
fn register(
    library: &Library,
    domain: &Object<FidDomain>,
    memory: &Memory,
    ep: &Object<FidEp>,
    mr_mode: c_int,
) -> Result<Object<abi::FidMr>, String> {
    // SAFETY: an open object.
    let ops = unsafe { (*domain.0.as_ptr()).mr };
    // SAFETY: its table.
    let reg = unsafe { call(ops, offset_of!(abi::MrOps, reg), |o| o.reg) };
    let reg = reg.ok_or_else(|| lacks("fi_mr_reg"))?;
    let access = abi::FI_TRANSMIT | abi::FI_RECV;
    let (start, len) = (memory.at(0), memory.len());
    let mut made = std::ptr::null_mut();
    // SAFETY: an open domain, and memory that outlives the registration.
    let result =
        unsafe { reg(domain.fid(), start, len, access, 0, 0, 0, &mut made, std::ptr::null_mut()) };
    let mr = Object::made(library, "fi_mr_reg", result, made)
        .map_err(|why| format!("{why} ({len} bytes; ulimit -l may be too low)"))?;
    if mr_mode & abi::FI_MR_ENDPOINT != 0 {
        mr.bind(library, ep.fid(), 0)?;
        mr.control(library, abi::FI_ENABLE, std::ptr::null_mut())?;
    }
    Ok(mr)
}

/// The endpoint's own address.
fn name_of(library: &Library, ep: &Object<FidEp>) -> Result<Vec<u8>, String> {
    // SAFETY: an open object.
    let ops = unsafe { (*ep.0.as_ptr()).cm };
    // SAFETY: its table.
    let getname = unsafe { call(ops, offset_of!(abi::CmOps, getname), |o| o.getname) };
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
fn calls_of(
    ep: &Object<FidEp>,
    cq: &Object<FidCq>,
    av: &Object<FidAv>,
    fabric: *const abi::FabricOps,
) -> Result<Calls, String> {
    // SAFETY: open objects, and their tables.
    unsafe {
        let msg = (*ep.0.as_ptr()).msg;
        let queue = (*cq.0.as_ptr()).ops;
        let table = (*av.0.as_ptr()).ops;
        let receive = call(msg, offset_of!(abi::MsgOps, recv), |o| o.recv);
        let send = call(msg, offset_of!(abi::MsgOps, send), |o| o.send);
        let inject = call(msg, offset_of!(abi::MsgOps, inject), |o| o.inject);
        let read = call(queue, offset_of!(abi::CqOps, read), |o| o.read);
        let read_error = call(queue, offset_of!(abi::CqOps, readerr), |o| o.readerr);
        let insert = call(table, offset_of!(abi::AvOps, insert), |o| o.insert);
        Ok(Calls {
            receive: receive.ok_or_else(|| lacks("fi_recv"))?,
            send: send.ok_or_else(|| lacks("fi_send"))?,
            inject: inject.ok_or_else(|| lacks("fi_inject"))?,
            read: read.ok_or_else(|| lacks("fi_cq_read"))?,
            read_error: read_error.ok_or_else(|| lacks("fi_cq_readerr"))?,
            insert: insert.ok_or_else(|| lacks("fi_av_insert"))?,
            try_wait: call(fabric, offset_of!(abi::FabricOps, trywait), |o| o.trywait),
        })
    }
}
