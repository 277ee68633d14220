//! A reliable datagram endpoint: its objects, its buffers, sending and receiving.

use crate::abi::{self, CqErrEntry, CqMsgEntry, FidAv, FidCq, FidDomain, FidEp, FidFabric};
use crate::library::Library;
use crate::memory::Memory;
use crate::object::{Object, function, lacks};
use crate::offer::{Offer, Wanted, read_ip, with_best};
use crate::open::{Calls, Enabled, calls_of, name_of, open_enabled, register};
use crate::rdma::{READS, Reads};
use core::ffi::c_void;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::os::fd::RawFd;

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

/// The endpoint of a process. It is closed first, then its fields are dropped in this order: what uses another thing goes first.
pub struct Endpoint {
    pub(crate) ep: Object<FidEp>,
    registration: Option<Object<abi::FidMr>>,
    /// `None`: the provider does not read the memory of peers, or is not to.
    pub(crate) reads: Option<Reads>,
    av: Object<FidAv>,
    cq: Object<FidCq>,
    pub(crate) domain_object: Object<FidDomain>,
    fabric: Object<FidFabric>,
    /// Buffers to receive into come first, then those to send from.
    memory: Memory,
    /// What the provider may use of its own, one for each buffer.
    pub(crate) contexts: Memory,
    descriptor: *mut c_void,
    calls: Calls,
    pub(crate) library: Library,
    receives: usize,
    /// Buffers that could not be given to the provider yet.
    unposted: Vec<u32>,
    /// Buffers with a message, and its length.
    came: VecDeque<(u32, usize)>,
    /// Buffers that nothing is sent from, and for whom the others are.
    free: Vec<u32>,
    pub(crate) sends: usize,
    peers: Box<[u32]>,
    pub(crate) failed: Vec<u32>,
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
    /// A peer has been made known.
    peers_known: bool,
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
        let fabric_ops = unsafe { (*fabric.as_ptr()).ops };
        let domain = {
            // SAFETY: its table.
            let open = unsafe { function!(fabric_ops, abi::FabricOps, domain) };
            let open = open.ok_or_else(|| lacks("fi_domain"))?;
            let mut made = std::ptr::null_mut();
            // SAFETY: an open object and the offer that it is from.
            let result = unsafe { open(fabric.as_ptr(), info, &mut made, std::ptr::null_mut()) };
            Object::made(&library, "fi_domain", result, made)?
        };
        let receives = RECEIVES.min(rx.size);
        let sends = SENDS.min(tx.size);
        let reads = if offer.reads { READS } else { 0 };
        let queue = (receives + sends + reads, domain_attr.av_type);
        let Enabled { ep, av, cq, wait } = open_enabled(&library, &domain, info, queue)?;
        let memory = Memory::new(receives + sends, LONGEST_MESSAGE);
        let memory = memory.map_err(|error| format!("memory for messages: {error}"))?;
        let registration = match domain_attr.mr_mode & abi::FI_MR_LOCAL {
            0 => None,
            // SAFETY: the memory goes after the registration.
            _ => Some(unsafe {
                let all = (memory.at(0).cast_const(), memory.len());
                let access = (abi::FI_TRANSMIT | abi::FI_RECV, 0);
                register(&library, &domain, all, access, &ep, domain_attr.mr_mode)?
            }),
        };
        // SAFETY: an open object.
        let descriptor = registration.as_ref().map(|mr| unsafe { (*mr.as_ptr()).mem_desc });
        let address = name_of(&library, &ep)?;
        let calls = calls_of(&ep, &cq, &av, fabric_ops)?;
        let contexts = Memory::new(receives + sends + reads, size_of::<abi::Context>());
        let contexts = contexts.map_err(|error| format!("memory for operations: {error}"))?;
        let longest_read = ep_attr.max_msg_size;
        let reads = offer.reads.then(|| Reads::of(&ep, domain_attr, longest_read)).flatten();
        let mut endpoint = Endpoint {
            ep,
            registration,
            reads,
            av,
            cq,
            domain_object: domain,
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
            peers_known: false,
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
        self.peers_known = true;
        let mut handle = abi::FI_ADDR_UNSPEC;
        let (table, bytes) = (self.av.as_ptr(), address.as_ptr().cast());
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
        let (ep, len) = (self.ep.as_ptr(), message.len());
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

    /// Whether a message waits to be received, or a read has ended.
    pub fn readable(&mut self) -> bool {
        self.progress();
        if self.has_something() {
            return true;
        }
        self.restless = !self.may_wait();
        if self.restless {
            self.progress();
        }
        self.has_something()
    }

    fn has_something(&self) -> bool {
        !self.came.is_empty() || self.reads.as_ref().is_some_and(Reads::have_ended)
    }

    /// The provider permits to wait at its descriptor.
    fn may_wait(&self) -> bool {
        if self.wait.is_none() {
            return false;
        }
        let Some(try_wait) = self.calls.try_wait else { return true };
        let mut queues = [self.cq.fid()];
        // SAFETY: an open fabric and a list of one open queue of it.
        unsafe { try_wait(self.fabric.as_ptr(), queues.as_mut_ptr(), 1) == 0 }
    }

    /// Who sleeps has to look again soon: the descriptor does not tell everything.
    pub fn is_restless(&self) -> bool {
        let reads = self.reads.as_ref().is_some_and(Reads::need_progress);
        self.wait.is_none() || self.restless || self.free.len() < self.sends || reads
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
            unsafe { (self.calls.read)(self.cq.as_ptr(), entries.as_mut_ptr().cast(), BATCH) };
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
        if self.reads.as_ref().is_some_and(Reads::want_to_begin) {
            self.begin_reads();
        }
    }

    #[cold]
    fn read_errors(&mut self, result: isize) {
        self.errors_in_row += 1;
        if result != -abi::FI_EAVAIL {
            self.tally.errors += 1;
            return;
        }
        for _ in 0..BATCH {
            // Each time anew: an entry that names memory for more about the error is written there.
            // SAFETY: integers and pointers, for which zero is a value.
            let mut entry: CqErrEntry = unsafe { core::mem::zeroed() };
            // SAFETY: an open queue, and memory for more than any version's entry.
            let got = unsafe { (self.calls.read_error)(self.cq.as_ptr(), &mut entry, 0) };
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
            (Some(send), len) if send >= self.sends => {
                self.read_done(send - self.sends, len.is_some())
            }
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
            let (ep, any) = (self.ep.as_ptr(), abi::FI_ADDR_UNSPEC);
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

impl Endpoint {
    /// Whether closing would be a danger. `ofi_rxm` closes its connections one after the other and then looks at what has
    /// come; a message gives its buffer back to a connection that is gone (libfabric 1.17 with Soft-RoCE dies of it).
    fn is_left_open(&self) -> bool {
        let connected = self.peers_known || self.tally != Tally::default();
        connected && self.provider.ends_with("ofi_rxm")
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.is_left_open() {
            // The kernel closes it with the process.
            self.ep.leave();
            self.registration.iter_mut().for_each(Object::leave);
            self.reads.iter_mut().for_each(Reads::leave);
            self.av.leave();
            self.cq.leave();
            self.domain_object.leave();
            self.fabric.leave();
            self.memory.leave();
            self.contexts.leave();
            return;
        }
        let mut closed = self.ep.close();
        if !closed {
            // Some providers count a registration that is bound to it (`FI_MR_ENDPOINT`) as use.
            self.registration = None;
            self.reads = None;
            closed = self.ep.close();
        }
        if !closed {
            // Its threads or its card may go on writing into what it has been given.
            self.memory.leave();
            self.contexts.leave();
        }
    }
}
