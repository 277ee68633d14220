//! Jobs that go on although ranks fail (`--enable-recovery`). The others find in the key-value space who is gone: a
//! library that waits for long asks for it, one that does not know the key asks for nothing.

use super::{Action, Dispatcher};
use crate::pmi::server::{ClientState, LOST_KEY, NOBODY_LOST};
use crate::remote::frame::Frame;
use std::time::Duration;

impl Dispatcher {
    /// Ranks that fail do not end the job. To be called when it is known on which hosts the ranks are.
    pub fn with_recovery(&mut self, wanted: bool) {
        self.recovery = wanted;
        if wanted {
            self.pmi.publish_value(LOST_KEY, NOBODY_LOST);
        }
    }

    /// Rank `rank` has failed, and the others go on.
    pub(super) fn outlive(&mut self, rank: u32, code: i32, text: String, now: Duration) {
        self.code.get_or_insert(code);
        self.actions.push_back(Action::Error(text));
        // Nobody waits in MPI for one that has never been part of it, or has left it in order.
        if self.pmi.state(rank) != ClientState::Initialised {
            return;
        }
        let known = self.pmi.value(LOST_KEY).filter(|known| *known != NOBODY_LOST);
        let lost = known.map_or(rank.to_string(), |known| format!("{known},{rank}"));
        self.pmi.publish_value(LOST_KEY, &lost);
        self.down(None, Frame::Puts(vec![(LOST_KEY.to_string(), lost)]));
        // Nobody waits for it in a barrier either: MPI_Finalize of a job on several hosts is one.
        let outcome = self.pmi.excuse_lost();
        self.outcome(rank, outcome, now);
    }
}
