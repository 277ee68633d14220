//! Operations whose end the model tells the owner of the memory in a packet behind them: what is put so asks for no answer, and what is
//! short leaves in one datagram with the notice.
//!
//! It may wait for that, because nobody looks at the bytes before the notice, and the owner finds them when it has the notice, because
//! packets of a pair are in order. An owner that refuses a put tells the origin with its next answer; the range of a put is
//! checked here, so that only memory that is not exposed any more can be refused.

use crate::messages::batch::Of;
use crate::messages::packets::RegionName;
use crate::messages::{Body, Completion};
use crate::ops::{Direction, check_packets, count};
use crate::region::{Path, Target};
use crate::runs::{Cursor, Parts, Run};
use crate::{OneSided, OpId, Result};
use hpvm_fm::{Fm, Transport};

impl Target {
    /// Whether whatever this rank tells the owner comes in packets, as operations do: in order with them.
    fn is_by_packets_alone(&self) -> bool {
        self.path == Path::Messages && self.control.is_none()
    }
}

impl OneSided {
    /// As `put`, by a model that tells the owner when it may look at the bytes, and asks [`OneSided::flush_before_notice`] first. Where
    /// the notice is sure to come behind the bytes, they wait for it, and nobody asks whether they have come.
    ///
    /// # Errors
    /// As for `put`.
    ///
    /// # Safety
    /// As for `put`.
    pub unsafe fn put_before_notice<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        offset: u64,
        local: *const u8,
        len: usize,
    ) -> Result<Option<OpId>> {
        if !target.is_by_packets_alone() {
            // SAFETY: the caller's promise.
            return unsafe { self.put(fm, target, offset, local, len) };
        }
        target.check(offset, len)?;
        self.check_alive(target)?;
        check_packets(fm, target)?;
        count(fm, Direction::Put, len);
        let of = (Of::Put(RegionName::from(&target.key)), offset);
        let completion = Completion::Notice;
        // SAFETY: the caller's promise.
        if unsafe { self.gather(fm, target, of, completion, (local, len)) } {
            return Ok(None);
        }
        let run = Run { local: local.cast_mut(), offset, len };
        let runs = Cursor::new(Parts::One(Some(run)), None);
        self.request(fm, target, Body::Put { target: *target, runs, completion }, false)
    }

    /// As `flush`, by a model that tells the owner of `target` next, at once if this [`OneSided::precedes`] what it tells. What was put by
    /// `put_before_notice` need not have taken effect when this is done, but has when the owner is told.
    ///
    /// # Errors
    /// As for `flush`.
    pub fn flush_before_notice<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
    ) -> Result<Option<OpId>> {
        let dst = target.key.rank;
        let waits_for_nothing = target.is_by_packets_alone()
            && !self.queues.is_lost(dst)
            && self.queues.send_before_notice(fm, dst, &mut self.under_way);
        match waits_for_nothing {
            true => self.under_way.take_lost(dst).map(|()| None),
            false => self.flush(fm, target),
        }
    }

    /// Whether all that has been asked of the owner of `target` takes effect before what is sent to it from now on arrives, so that who
    /// tells it so need not wait for a flush. Not where words of control are mapped: what is told by these overtakes packets.
    pub fn precedes(&self, target: &Target) -> bool {
        target.is_by_packets_alone() && self.queues.precedes(target.key.rank)
    }
}
