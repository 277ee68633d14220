//! What packets ask this process to do beyond storing what they bring: a handler must not send, so it is
//! done when `extract` is over.

use crate::engine::process::Process;
use crate::engine::requests::ReqId;
use crate::pt2pt::protocol::ANNOUNCE;
use crate::pt2pt::split_copy::Call;
use hpvm_fm::{Head, Rank, Transport};

/// What a packet asks this process to do, to be acted on outside of `extract`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Send it in `DATA` packets to the receiver's request.
    Packets(ReqId, u64),
    /// Stream it.
    Stream(ReqId),
    /// Tell a sender whether it has to announce its messages.
    Tell(Rank, u64),
    /// A receiver has told us so.
    Told(Rank, u64),
    /// Help a receiver.
    Help(Call),
    /// A sender has helped us with the message of this duet, and could not copy these parts.
    Helped(usize, u32, u32),
}

impl<T: Transport> Process<T> {
    /// Acts on a packet that has come.
    pub(crate) fn take_step(&mut self, step: Step) {
        match step {
            Step::Packets(id, receiver) => {
                self.backlog.add_stream(id, receiver, self.fm.limits().packet);
            }
            Step::Stream(id) => self.stream_out(id),
            Step::Tell(src, word) => self.send_control(src, Head::single(ANNOUNCE, word), 0),
            Step::Told(dst, word) => self.backlog.told(dst, word),
            Step::Help(call) => self.help(call),
            Step::Helped(place, from, to) => self.helped(place, from..to),
        }
    }
}
