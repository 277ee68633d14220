//! A progress step: takes packets from the transport, then does the work that they leave to be done.

use crate::engine::process::Process;
use hpvm_fm::{Broken, Transport};

/// Bytes taken from the transport at a time before other work gets its turn, in a job on several hosts.
pub(crate) const BUDGET: usize = 256 * 1024;
/// The same on one host: one packet.
pub(crate) const ONE_PACKET: usize = 1;
/// Most packets taken in one step before other work gets its turn, however many receives are posted.
pub(crate) const MAX_PACKETS: usize = 256;
/// The same for packets of Fast Messages and of other programming models.
const MAX_FAST_PACKETS: usize = 16;

impl<T: Transport> Process<T> {
    /// One progress step: moves on everything that can move, and never blocks. True when something happened.
    // Inlined: without a stack frame of its own a step in vain costs a tenth less.
    #[inline(always)]
    pub fn progress(&mut self) -> Result<bool, Broken> {
        let packets = self.extract()?;
        self.inbox.fast.drain(&mut self.fm);
        Ok((packets != 0) | self.do_deferred())
    }

    /// Takes packets from the transport and handles them. On one host it takes no more packets than receives
    /// are posted: further messages would be unexpected, and so be copied once more, while their senders
    /// wait for what this process is about to send.
    #[inline(always)]
    pub(crate) fn extract(&mut self) -> Result<usize, Broken> {
        let inbox = &mut self.inbox;
        let mut packets = 0;
        loop {
            let taken =
                self.fm.extract(self.budget, |src, head, data| inbox.on_packet(src, head, data))?;
            packets += taken;
            if taken == 0 || self.budget != ONE_PACKET {
                break;
            }
            // Packets of Fast Messages and of other models go to queues that their own calls empty.
            let queued = inbox.fast.has_arrivals() || inbox.models.have_packets();
            let goes_on = (inbox.posted != 0 && packets < MAX_PACKETS)
                || (packets < MAX_FAST_PACKETS && queued);
            if !goes_on {
                break;
            }
        }
        if packets != 0 {
            self.after_extract()?;
        }
        Ok(packets)
    }

    /// To be called when packets have been handled: checks what only the transport can check, and completes
    /// streams.
    #[inline(always)]
    pub(crate) fn after_extract(&mut self) -> Result<(), Broken> {
        if self.inbox.suspects {
            self.check_suspects()?;
        }
        self.complete_streams();
        Ok(())
    }

    #[cold]
    fn check_suspects(&mut self) -> Result<(), Broken> {
        self.inbox.suspects = false;
        self.check_split_copies();
        self.inbox.violation.take().map_or(Ok(()), |text| Err(Broken::Corrupt(text)))
    }

    /// Completes the requests whose streams have ended.
    #[inline(always)]
    pub(crate) fn complete_streams(&mut self) {
        while let Some(ended) = self.fm.transport_mut().streamed() {
            self.finish_stream(ended);
        }
    }

    /// Does the work that packets have left to be done, and sends what waits for credits. True when something
    /// happened.
    #[inline(always)]
    pub(crate) fn do_deferred(&mut self) -> bool {
        let inbox = &self.inbox;
        if inbox.transfers.is_empty()
            && inbox.deferred.is_empty()
            && inbox.ready.is_empty()
            && self.backlog.is_empty()
            && !inbox.onesided.has_work()
        {
            return false;
        }
        self.do_deferred_now()
    }

    #[inline(never)]
    fn do_deferred_now(&mut self) -> bool {
        self.step_left = self.thresholds.max_step;
        let mut moved = self.advance_transfers();
        self.step_left = self.thresholds.max_step;
        // Only what is on the list now. What this work defers in its turn is left to the next step.
        for _ in 0..self.inbox.deferred.len() {
            let Some(deferred) = self.inbox.deferred.pop_front() else { break };
            self.perform(deferred);
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
