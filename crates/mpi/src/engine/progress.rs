//! A progress step: what has come is taken from the network, and what that left to be done is done.

use crate::engine::process::Process;
use hpvm_fm::{Broken, Transport};

/// Bytes taken from the network at a time before other work gets its chance, in a job on several hosts.
pub(crate) const BUDGET: usize = 256 * 1024;
/// The same on one host: a packet.
pub(crate) const ONE_PACKET: usize = 1;
/// Packets taken in one step before other work gets its chance, however many receives are posted.
pub(crate) const MAX_PACKETS: usize = 256;
/// The same where they are of Fast Messages or of another model.
const MAX_FAST_PACKETS: usize = 16;

impl<T: Transport> Process<T> {
    /// Moves everything on that can move. True when something happened.
    // Part of the caller's turn: a poll in vain costs a tenth less without the frame of a function.
    #[inline(always)]
    pub fn progress(&mut self) -> Result<bool, Broken> {
        let packets = self.extract()?;
        self.inbox.fast.drain(&mut self.fm);
        Ok((packets != 0) | self.deferred())
    }

    /// Takes packets from the network and handles them, on one host no more than receives are posted
    /// for: what comes after those would be kept, and copied again, while its sender waits for what
    /// we are about to send.
    #[inline(always)]
    pub(crate) fn extract(&mut self) -> Result<usize, Broken> {
        let inbox = &mut self.inbox;
        let mut packets = 0;
        loop {
            let taken =
                self.fm.extract(self.budget, |src, head, data| inbox.packet(src, head, data))?;
            packets += taken;
            if taken == 0 || self.budget != ONE_PACKET {
                break;
            }
            // Those of Fast Messages and of other models go to queues, which their own calls ask for.
            let queued = inbox.fast.has_arrivals() || inbox.models.have_packets();
            let goes_on = (inbox.posted != 0 && packets < MAX_PACKETS)
                || (packets < MAX_FAST_PACKETS && queued);
            if !goes_on {
                break;
            }
        }
        if packets != 0 {
            self.extracted()?;
        }
        Ok(packets)
    }

    /// What follows when packets have been handled.
    #[inline(always)]
    pub(crate) fn extracted(&mut self) -> Result<(), Broken> {
        if self.inbox.suspects {
            self.check_suspects()?;
        }
        self.take_ended();
        Ok(())
    }

    #[cold]
    fn check_suspects(&mut self) -> Result<(), Broken> {
        self.inbox.suspects = false;
        self.check_split_copies();
        self.inbox.violation.take().map_or(Ok(()), |text| Err(Broken::Corrupt(text)))
    }

    /// Completes what streams have ended.
    #[inline(always)]
    pub(crate) fn take_ended(&mut self) {
        while let Some(ended) = self.fm.transport_mut().streamed() {
            self.finish_stream(ended);
        }
    }

    /// What arrivals left to be done, and what waits for credits. True when something happened.
    #[inline(always)]
    pub(crate) fn deferred(&mut self) -> bool {
        let inbox = &self.inbox;
        if inbox.transfers.is_empty()
            && inbox.deferred.is_empty()
            && inbox.ready.is_empty()
            && self.backlog.is_empty()
            && !inbox.onesided.has_work()
        {
            return false;
        }
        self.run_deferred()
    }

    #[inline(never)]
    fn run_deferred(&mut self) -> bool {
        self.step_left = self.thresholds.max_step;
        let mut moved = self.advance_transfers();
        self.step_left = self.thresholds.max_step;
        // What these leave to be done is done in the next step.
        for _ in 0..self.inbox.deferred.len() {
            let Some(deferred) = self.inbox.deferred.pop_front() else { break };
            self.act(deferred);
            moved = true;
        }
        moved |= self.drain_backlog();
        if self.inbox.onesided.has_work() {
            moved |= self.inbox.onesided.drain(&mut self.fm);
        }
        while let Some(id) = self.inbox.ready.pop_front() {
            self.advance_collective(id);
            moved = true;
        }
        moved
    }
}
