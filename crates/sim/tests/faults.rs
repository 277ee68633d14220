//! The suite finds the faults it is there to find: a sound network behind a wrapper with one
//! defect fails the checks that look for that defect.

use hpvm_sim::{Config, Network, SimTransport};
use hpvm_transport::conformance::{self, Fixture};
use hpvm_transport::{
    Broken, Doorbell, Head, Limits, Packets, PeerMemory, PeerMemoryError, Rank, Refused, Segment,
    Streams,
};
use hpvm_wire::split_copy::{SPLIT_COPIES, SplitCopy};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Every fiftieth packet vanishes at the receiver.
    Drops,
    /// Every fiftieth packet comes twice.
    Repeats,
    /// Two packets of one poll swap.
    Swaps,
    /// The last byte of large payloads changes.
    FlipsByte,
    /// The sender's bit for FIRST gets lost.
    LosesFlag,
    /// The upper half of the immediate gets lost.
    CutsImmediate,
    /// Packets claim to come from somebody else.
    WrongSender,
    /// The last payload byte is missing.
    CutsPayload,
    /// Polls ignore their budget.
    IgnoresBudget,
    /// The count that poll returns is one too many.
    Miscounts,
    /// Some credits are used up for nothing.
    LeaksCredits,
    /// Credits come from nowhere.
    InventsCredits,
    /// `arm` succeeds while packets wait.
    ArmsBlindly,
    /// `arm` never succeeds.
    NeverArms,
    /// Reads leave out the last byte.
    ShortRead,
    /// Reads write one byte too many.
    LongRead,
    /// Reads of bad addresses succeed.
    TrustsAddresses,
    /// Writes leave out the last byte.
    ShortWrite,
    /// Writes write one byte too many.
    LongWrite,
    /// Writes to bad addresses succeed.
    TrustsTargets,
    /// all split copies of a process are one.
    OneSplitCopy,
    /// Everybody takes its own control blocks for those of others.
    OwnSplitCopy,
    /// There are control blocks of processes that do not exist.
    InventsSplitCopies,
}

struct Faulty {
    inner: SimTransport,
    fault: Fault,
    polled: u64,
    /// Credits that the inner network does not know of.
    invented: u16,
}

impl Packets for Faulty {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn take_credits(&mut self, dst: Rank) -> u16 {
        let n = self.inner.take_credits(dst);
        match self.fault {
            // The inner network still counts the credits as held: they are gone.
            Fault::LeaksCredits => n.saturating_sub(u16::from(n > 1)),
            Fault::InventsCredits if n == 0 => {
                self.invented += 1;
                1
            }
            _ => n,
        }
    }

    fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        mut head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        match self.fault {
            Fault::LosesFlag => head.flags &= !Head::FIRST,
            Fault::CutsImmediate => head.imm &= u64::from(u32::MAX),
            Fault::InventsCredits if self.invented > 0 => {
                // Stands for a packet that lies in memory nobody reserved.
                self.invented -= 1;
                fill(&mut vec![0; len]);
                return Ok(());
            }
            _ => {}
        }
        let cut = usize::from(self.fault == Fault::CutsPayload && len > 0);
        let mut payload = vec![0; len];
        let mut fill = Some(fill);
        self.inner.send(dst, head, len - cut, |to| {
            if let Some(fill) = fill.take() {
                fill(&mut payload);
            }
            to.copy_from_slice(&payload[..len - cut]);
            if self.fault == Fault::FlipsByte && len > 200 {
                to[len - 1] ^= 1;
            }
        })
    }

    fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        mut sink: F,
    ) -> Result<usize, Broken> {
        let budget = if self.fault == Fault::IgnoresBudget { usize::MAX } else { budget };
        let mut batch = Vec::new();
        let mut n = self.inner.poll(budget, |src, head, p| batch.push((src, head, p.to_vec())))?;
        let size = self.inner.size();
        if self.fault == Fault::Swaps && n >= 2 {
            batch.swap(0, 1);
        }
        for (src, head, payload) in batch {
            self.polled += 1;
            let nth = self.polled.is_multiple_of(50);
            let src = if self.fault == Fault::WrongSender { (src + 1) % size } else { src };
            match self.fault {
                Fault::Drops if nth => n -= 1,
                Fault::Repeats if nth => {
                    sink(src, head, &payload);
                    sink(src, head, &payload);
                    n += 1;
                }
                _ => sink(src, head, &payload),
            }
        }
        Ok(n + usize::from(self.fault == Fault::Miscounts && n > 0))
    }

    fn arm(&mut self) -> bool {
        match self.fault {
            Fault::ArmsBlindly => true,
            Fault::NeverArms => false,
            _ => self.inner.arm(),
        }
    }

    fn disarm(&mut self) {
        self.inner.disarm();
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.inner.doorbell()
    }
}

impl PeerMemory for Faulty {
    fn can_read(&self, src: Rank) -> bool {
        self.inner.can_read(src)
    }

    unsafe fn read(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let len = match self.fault {
            Fault::ShortRead => len.saturating_sub(1),
            // The suite leaves a margin behind the room, which this fault writes into.
            Fault::LongRead if len < 65536 => len + 1,
            _ => len,
        };
        // SAFETY: `local` is valid for `len` bytes, or by the suite's margin for one more.
        let outcome = unsafe { self.inner.read(src, remote, local, len) };
        if self.fault == Fault::TrustsAddresses { Ok(()) } else { outcome }
    }

    unsafe fn write(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let len = match self.fault {
            Fault::ShortWrite => len.saturating_sub(1),
            // What the suite writes is a part of something longer.
            Fault::LongWrite if (2..65536).contains(&len) => len + 1,
            _ => len,
        };
        // SAFETY: `local` is valid for `len` bytes, or by the suite's for one more.
        let outcome = unsafe { self.inner.write(dst, remote, local, len) };
        if self.fault == Fault::TrustsTargets { Ok(()) } else { outcome }
    }
}

impl Streams for Faulty {}

impl Segment for Faulty {
    fn split_copy(&self, owner: Rank, index: usize) -> Option<&SplitCopy> {
        match self.fault {
            Fault::OneSplitCopy => {
                self.inner.split_copy(owner, index.min(SPLIT_COPIES) / SPLIT_COPIES * SPLIT_COPIES)
            }
            Fault::OwnSplitCopy if owner < self.size() => self.inner.split_copy(self.rank(), index),
            Fault::InventsSplitCopies => self.inner.split_copy(owner % self.size(), index),
            _ => self.inner.split_copy(owner, index),
        }
    }
}

struct Workshop {
    fault: Fault,
    network: Option<Network>,
}

impl Fixture for Workshop {
    type Endpoint = Faulty;

    fn open(&mut self, size: u32) -> Vec<Faulty> {
        let network = Network::new(calm(size));
        let fault = self.fault;
        let wrap = |inner| Faulty { inner, fault, polled: 0, invented: 0 };
        let ends = network.endpoints().into_iter().map(wrap).collect();
        self.network = Some(network);
        ends
    }

    fn turn(&mut self) {
        if let Some(network) = &self.network {
            network.step();
        }
    }

    fn bound(&self, size: u32) -> usize {
        calm(size).credits
    }
}

fn calm(size: u32) -> Config {
    Config { poll_ticks: 1, ..Config::calm(size) }
}

type Check = fn(&mut Workshop);

/// Which checks must find which fault.
const FOUND_BY: &[(Fault, &[Check])] = &[
    (Fault::Drops, &[conformance::one_pair_stays_in_order, conformance::random_traffic_arrives]),
    (Fault::Repeats, &[conformance::one_pair_stays_in_order, conformance::random_traffic_arrives]),
    (Fault::Swaps, &[conformance::one_pair_stays_in_order]),
    (
        Fault::FlipsByte,
        &[conformance::edge_sizes_arrive_unchanged, conformance::a_process_reaches_itself],
    ),
    (Fault::LosesFlag, &[conformance::every_header_arrives_unchanged]),
    (Fault::CutsImmediate, &[conformance::every_header_arrives_unchanged]),
    (
        Fault::WrongSender,
        &[conformance::edge_sizes_arrive_unchanged, conformance::many_senders_reach_one_receiver],
    ),
    (Fault::IgnoresBudget, &[conformance::poll_keeps_to_its_budget]),
    (Fault::Miscounts, &[conformance::edge_sizes_arrive_unchanged]),
    (Fault::CutsPayload, &[conformance::edge_sizes_arrive_unchanged]),
    (Fault::LeaksCredits, &[conformance::credits_do_not_leak]),
    (
        Fault::InventsCredits,
        &[conformance::credits_run_out_and_come_back, conformance::outstanding_packets_are_bounded],
    ),
    (Fault::ArmsBlindly, &[conformance::arm_sees_a_waiting_packet]),
    (Fault::NeverArms, &[conformance::arm_sees_a_waiting_packet, conformance::an_armed_bell_rings]),
    (Fault::ShortRead, &[conformance::read_copies_exactly]),
    (Fault::LongRead, &[conformance::read_copies_exactly]),
    (Fault::TrustsAddresses, &[conformance::read_refuses_wild_addresses]),
    (
        Fault::ShortWrite,
        &[conformance::write_copies_exactly, conformance::a_message_is_copied_from_both_ends],
    ),
    (Fault::LongWrite, &[conformance::write_copies_exactly]),
    (Fault::TrustsTargets, &[conformance::write_refuses_wild_addresses]),
    (Fault::OneSplitCopy, &[conformance::split_copies_are_seen_by_all_and_apart]),
    (
        Fault::OwnSplitCopy,
        &[
            conformance::split_copies_are_seen_by_all_and_apart,
            conformance::a_message_is_copied_from_both_ends,
        ],
    ),
    (Fault::InventsSplitCopies, &[conformance::split_copies_are_seen_by_all_and_apart]),
];

#[test]
fn each_fault_is_found() {
    for (fault, checks) in FOUND_BY {
        for (i, check) in checks.iter().enumerate() {
            assert!(fails(*check, *fault), "check {i} of {fault:?} passes in spite of it");
        }
    }
}

#[test]
fn the_wrapper_alone_is_no_fault() {
    for (fault, checks) in FOUND_BY {
        for (i, check) in checks.iter().enumerate() {
            assert!(!fails(*check, Fault::None), "check {i} of {fault:?} fails without it");
        }
    }
}

fn fails(check: Check, fault: Fault) -> bool {
    let mut workshop = Workshop { fault, network: None };
    catch_unwind(AssertUnwindSafe(|| check(&mut workshop))).is_err()
}
