//! Memory descriptors (section 3.10).

use super::Interface;
use crate::fault::{Fault, Result};
use crate::handle::Kind;
use crate::memory::Region;
use crate::slab::Id;

/// Options of a descriptor, `PTL_MD_*`, with the numbers of portals4.h but for `PTL_IOVEC`, which [`Region`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MdOptions(pub u32);

impl MdOptions {
    pub const COUNT_SEND: u32 = 1 << 1;
    pub const COUNT_REPLY: u32 = 1 << 2;
    pub const COUNT_ACK: u32 = 1 << 3;
    pub const EVENT_SUCCESS_DISABLE: u32 = 1 << 5;
    pub const EVENT_SEND_DISABLE: u32 = 1 << 7;
    pub const COUNT_BYTES: u32 = 1 << 15;
    /// These, `PTL_MD_UNORDERED` and `PTL_MD_VOLATILE`.
    pub const ALL: u32 = 0xfe | MdOptions::COUNT_BYTES;

    #[inline(always)]
    pub(super) fn has(self, option: u32) -> bool {
        self.0 & option != 0
    }
}

pub struct Descriptor {
    pub(super) region: Region,
    pub(super) options: MdOptions,
    pub(super) queue: Option<Id>,
    pub(super) counter: Option<Id>,
    /// Operations that still need its memory.
    pub(super) pending: u32,
}

impl Descriptor {
    /// Whether an event or a count tells that data has left.
    #[inline(always)]
    pub(super) fn tells_sends(&self) -> bool {
        let event = self.queue.is_some() && !self.options.has(MdOptions::EVENT_SEND_DISABLE);
        event || (self.counter.is_some() && self.options.has(MdOptions::COUNT_SEND))
    }
}

impl Interface {
    /// `PtlMDBind`. Without a queue or a counting event, their handles are `PTL_EQ_NONE` and `PTL_CT_NONE`.
    pub fn bind(
        &mut self,
        region: Region,
        options: MdOptions,
        (queue, no_queue): (u32, u32),
        (counter, no_counter): (u32, u32),
    ) -> Result<u32> {
        if options.0 & !MdOptions::ALL != 0 {
            return Err(Fault::ArgInvalid);
        }
        let queue = self.optional(queue, Kind::Queue, no_queue)?;
        let counter = self.optional(counter, Kind::Counter, no_counter)?;
        if self.descriptors.len() >= self.limits.max_mds as usize {
            return Err(Fault::NoSpace);
        }
        let descriptor = Descriptor { region, options, queue, counter, pending: 0 };
        let id = self.descriptors.insert(descriptor);
        Ok(self.name(Kind::Descriptor, id))
    }

    /// `PtlMDRelease`
    pub fn release(&mut self, descriptor: u32) -> Result<()> {
        let id = self.object(descriptor, Kind::Descriptor)?;
        if self.descriptors.get(id).is_some_and(|d| d.pending > 0) {
            return Err(Fault::InUse);
        }
        self.descriptors.remove(id);
        Ok(())
    }
}
