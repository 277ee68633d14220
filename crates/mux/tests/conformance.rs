//! Shared memory and the network together pass the suite of `hpvm-transport`: every process on a host of its own,
//! and two on each.

mod jobs;

use hpvm_mux::Mux;
use hpvm_net::Lane;
use hpvm_reliable::Config;
use hpvm_transport::conformance::Fixture;
use hpvm_transport::{
    Broken, Doorbell, Head, Limits, Packets, PeerMemory, PeerMemoryError, Rank, Refused, Segment,
    Streams,
};
use hpvm_wire::counters::Counters;
use hpvm_wire::segment::SLOTS;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Packets that an endpoint takes while nobody polls it.
const INBOX: usize = 16;

/// An endpoint and what came for it while others were at work.
struct Inner {
    mux: RefCell<Mux>,
    inbox: RefCell<VecDeque<(Rank, Head, Vec<u8>)>>,
}

/// An endpoint that is polled in every turn of the suite. Real processes poll while they wait, and
/// acknowledge then; the suite leaves senders alone.
struct Attended(Rc<Inner>);

impl Inner {
    /// Polls once. False: nothing came.
    fn attend(&self) -> bool {
        // Not while it is in the middle of a send.
        let Ok(mut mux) = self.mux.try_borrow_mut() else { return false };
        let mut inbox = self.inbox.borrow_mut();
        if inbox.len() >= INBOX {
            return false;
        }
        let polled = mux.poll(1, |src, head, data| inbox.push_back((src, head, data.into())));
        polled.expect("a network that works") > 0
    }
}

impl Packets for Attended {
    fn rank(&self) -> Rank {
        self.0.mux.borrow().rank()
    }

    fn size(&self) -> u32 {
        self.0.mux.borrow().size()
    }

    fn limits(&self) -> Limits {
        self.0.mux.borrow().limits()
    }

    fn take_credits(&mut self, dst: Rank) -> u16 {
        self.0.mux.borrow_mut().take_credits(dst)
    }

    fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        self.0.mux.borrow_mut().send(dst, head, len, fill)
    }

    fn send_with_next<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        self.0.mux.borrow_mut().send_with_next(dst, head, len, fill)
    }

    fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        mut sink: F,
    ) -> Result<usize, Broken> {
        let waiting = self.0.inbox.borrow_mut().pop_front();
        match waiting {
            Some((src, head, data)) => {
                sink(src, head, &data);
                Ok(1)
            }
            None => self.0.mux.borrow_mut().poll(budget, sink),
        }
    }

    fn arm(&mut self) -> bool {
        self.0.inbox.borrow().is_empty() && self.0.mux.borrow_mut().arm()
    }

    fn disarm(&mut self) {
        self.0.mux.borrow_mut().disarm();
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.0.mux.borrow().doorbell()
    }
}

impl PeerMemory for Attended {
    fn read_pays(&self, src: Rank) -> bool {
        self.0.mux.borrow().read_pays(src)
    }

    unsafe fn read(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        // SAFETY: the caller's promise.
        unsafe { self.0.mux.borrow_mut().read(src, remote, local, len) }
    }

    unsafe fn write(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        // SAFETY: the caller's promise.
        unsafe { self.0.mux.borrow_mut().write(dst, remote, local, len) }
    }
}

impl Streams for Attended {
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        self.0.mux.borrow().can_stream(peer, len)
    }
}

impl Segment for Attended {
    fn counters(&self) -> Option<&Counters> {
        None
    }
}

/// `per_host` processes on each "host": they share memory, the others are reached by sockets.
struct Hosts {
    per_host: u32,
    lane: Lane,
    ends: Vec<Rc<Inner>>,
    /// Turns in a row in which nothing came.
    idle_turns: u32,
}

/// The suite counts turns, and the kernel brings packets by the clock: from so many idle turns on each one takes a moment,
/// so that a kernel that is late on a loaded machine has some ten seconds.
const SLOW_FROM: u32 = 5000;
const MOMENT: Duration = Duration::from_micros(500);

impl Hosts {
    fn new(per_host: u32, lane: Lane) -> Hosts {
        Hosts { per_host, lane, ends: Vec::new(), idle_turns: 0 }
    }

    /// By libfabric, or, where that is not there, counted as skipped and by UDP.
    fn by_ofi(provider: &str) -> Hosts {
        let found = hpvm_ofi::probe();
        let has = |found: &hpvm_ofi::Found| found.providers.iter().any(|name| name == provider);
        let why = match &found {
            Ok(found) if has(found) => return Hosts::new(1, Lane::Ofi(Some(provider.to_owned()))),
            Ok(found) => format!("no provider {provider} here: {}", found.text()),
            Err(why) => why.clone(),
        };
        hpvm_tests::skip::skipped(&why);
        Hosts::new(1, Lane::Udp)
    }
}

impl Fixture for Hosts {
    type Endpoint = Attended;

    fn open(&mut self, size: u32) -> Vec<Attended> {
        let muxes = jobs::open_lane(size, self.per_host, &self.lane).into_iter();
        let inner = |mux| Inner { mux: RefCell::new(mux), inbox: Default::default() };
        self.ends = muxes.map(|mux| Rc::new(inner(mux))).collect();
        self.ends.iter().cloned().map(Attended).collect()
    }

    fn turn(&mut self) {
        let came = self.ends.iter().fold(false, |came, end| end.attend() | came);
        self.idle_turns = if came { 0 } else { self.idle_turns + 1 };
        if self.idle_turns > SLOW_FROM {
            std::thread::sleep(MOMENT);
        }
    }

    /// For each sender the datagrams that may wait, full of the smallest packets; the inbox, into
    /// which one datagram may bring all that waited behind it; and the ring.
    fn bound(&self, size: u32) -> usize {
        let p = Config::default();
        let packets = packets_of_a_datagram();
        let waiting = p.window as usize + p.guaranteed();
        (size as usize * waiting + p.window as usize) * packets + INBOX + SLOTS as usize
    }

    /// Packets that wait for the network share a datagram, and a datagram is delivered whole.
    fn batch(&self) -> usize {
        packets_of_a_datagram()
    }
}

/// Most packets that one datagram carries: empty ones.
fn packets_of_a_datagram() -> usize {
    Config::default().most_datagram / hpvm_wire::datagram::RECORD
}

mod one_each {
    use super::*;
    hpvm_transport::conformance_suite!(Hosts::new(1, Lane::Udp));
}

mod two_each {
    use super::*;
    hpvm_transport::conformance_suite!(Hosts::new(2, Lane::Udp));
}

mod by_libfabric_and_tcp {
    use super::*;
    hpvm_transport::conformance_suite!(Hosts::by_ofi("tcp;ofi_rxm"));
}

mod by_libfabric_and_udp {
    use super::*;
    hpvm_transport::conformance_suite!(Hosts::by_ofi("udp;ofi_rxd"));
}
