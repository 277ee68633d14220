//! The portal table, and what is appended to its entries (sections 3.7, 3.11 and 3.12).

use super::initiate::Request;
use super::{ANY_INDEX, Interface};
use crate::carrier::Carrier;
use crate::counters::Triggered;
use crate::entry::{Entry, Options};
use crate::event::List;
use crate::fault::{Fault, Result};
use crate::handle::Kind;
use crate::memory::Region;
use crate::portal::{Portal, Revision, Search, Settings};
use crate::slab::{Id, Slab};

/// Options of a portal table entry, `PTL_PT_*`, with the numbers of portals4.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PtOptions(pub u32);

impl PtOptions {
    pub const ONLY_USE_ONCE: u32 = 1;
    pub const FLOW_CONTROL: u32 = 2;
    pub const ONLY_TRUNCATE: u32 = 4;
    /// These and `PTL_PT_MATCH_UNORDERED`, which we need not make use of.
    pub const ALL: u32 = 15;

    fn has(self, option: u32) -> bool {
        self.0 & option != 0
    }
}

/// What a counting event starts.
pub enum Start {
    Request(Box<Request>),
    /// `PtlTriggeredMEAppend`: the number of the entry that waits to be appended.
    Append {
        entry: Id,
        list: List,
    },
    /// `PtlTriggeredMEUnlink`: the entry's handle.
    Unlink(u32),
}

/// One entry of the portal table.
pub(super) struct Index {
    pub portal: Portal,
    pub queue: Option<Id>,
    pub flow_control: bool,
    options: PtOptions,
    /// By the index of the number that the portal gave.
    links: Vec<Option<Id>>,
    /// Unexpected headers, as last counted.
    headers: usize,
}

impl Index {
    /// The memory of an entry by the portal's number.
    #[inline(always)]
    pub(super) fn region_of<'a>(&self, number: Id, entries: &'a Slab<Link>) -> Option<&'a Region> {
        let link = entries.get((*self.links.get(number.index() as usize)?)?)?;
        // The portal may have given the place to another meanwhile.
        (link.linked == Some(number)).then_some(&link.region)
    }
}

/// An entry of a list.
pub(super) struct Link {
    pt_index: u32,
    region: Region,
    entry: Entry,
    matching: bool,
    /// The portal's number; none while it waits to be appended.
    linked: Option<Id>,
}

/// An entry as a program gives it: its handle's kind depends on the function.
pub struct Appended {
    pub entry: Entry,
    pub region: Region,
    pub counter: u32,
    pub no_counter: u32,
    pub matching: bool,
}

impl Interface {
    pub(super) fn index(&self, pt_index: u32) -> Option<&Index> {
        self.portals.get(pt_index as usize)?.as_ref()
    }

    fn index_mut(&mut self, pt_index: u32) -> Result<&mut Index> {
        let found = self.portals.get_mut(pt_index as usize).and_then(Option::as_mut);
        found.ok_or(Fault::ArgInvalid)
    }

    /// `PtlPTAlloc`
    pub fn table_alloc(
        &mut self,
        options: PtOptions,
        (queue, no_queue): (u32, u32),
        wanted: u32,
    ) -> Result<u32> {
        if options.0 & !PtOptions::ALL != 0 {
            return Err(Fault::ArgInvalid);
        }
        let queue = self.optional(queue, Kind::Queue, no_queue)?;
        let flow_control = options.has(PtOptions::FLOW_CONTROL);
        if flow_control && queue.is_none() {
            return Err(Fault::PtEqNeeded);
        }
        let at = match wanted {
            ANY_INDEX => self.portals.iter().position(Option::is_none).ok_or(Fault::PtFull)?,
            index => index as usize,
        };
        let place = self.portals.get_mut(at).ok_or(Fault::ArgInvalid)?;
        if place.is_some() {
            return Err(Fault::PtInUse);
        }
        let settings = Settings {
            flow_control,
            event_queue: queue.is_some(),
            max_list_size: self.limits.max_list_size as usize,
            revision: Revision::V4_3,
        };
        let portal = Portal::new(settings);
        let links = Vec::new();
        *place = Some(Index { portal, queue, flow_control, options, links, headers: 0 });
        Ok(at as u32)
    }

    /// `PtlPTFree`
    pub fn table_free(&mut self, pt_index: u32) -> Result<()> {
        if !self.index_mut(pt_index)?.portal.is_empty() {
            return Err(Fault::InUse);
        }
        self.portals[pt_index as usize] = None;
        Ok(())
    }

    /// `PtlPTEnable`
    pub fn table_enable(&mut self, pt_index: u32) -> Result<()> {
        self.index_mut(pt_index)?.portal.enable();
        Ok(())
    }

    /// `PtlPTDisable`. The call is over when [`Interface::table_is_idle`].
    pub fn table_disable(&mut self, pt_index: u32) -> Result<()> {
        self.index_mut(pt_index)?.portal.disable();
        Ok(())
    }

    pub fn table_is_idle(&self, pt_index: u32) -> bool {
        self.index(pt_index).is_none_or(|index| index.portal.is_idle())
    }

    /// Checks an entry, and takes note of it; it is in no list yet.
    fn add_entry(&mut self, pt_index: u32, appended: Appended, list: List) -> Result<Id> {
        let Appended { mut entry, region, counter, no_counter, matching } = appended;
        if matching != self.nature.matching {
            return Err(Fault::ArgInvalid);
        }
        entry.ct = self.optional(counter, Kind::Counter, no_counter)?;
        let options = self.index_mut(pt_index)?.options;
        let once = options.has(PtOptions::ONLY_USE_ONCE) && list == List::Priority;
        let truncate = options.has(PtOptions::ONLY_TRUNCATE);
        if (once && !entry.options.has(Options::USE_ONCE))
            || (truncate && entry.options.has(Options::NO_TRUNCATE))
        {
            return Err(Fault::ArgInvalid);
        }
        if self.entries.len() >= self.limits.max_entries as usize {
            return Err(Fault::NoSpace);
        }
        Ok(self.entries.insert(Link { pt_index, region, entry, matching, linked: None }))
    }

    /// Puts an entry that is noted into its list.
    fn link(&mut self, id: Id, list: List) -> Result<()> {
        let link = self.entries.get(id).ok_or(Fault::ArgInvalid)?;
        let (pt_index, entry) = (link.pt_index, link.entry);
        let Interface { portals, effects, .. } = self;
        let found = portals.get_mut(pt_index as usize).and_then(Option::as_mut);
        let index = found.ok_or(Fault::ArgInvalid)?;
        let number = index.portal.append(entry, list, effects)?;
        let at = number.index() as usize;
        if index.links.len() <= at {
            index.links.resize(at + 1, None);
        }
        index.links[at] = Some(id);
        if let Some(link) = self.entries.get_mut(id) {
            link.linked = Some(number);
        }
        self.settle(pt_index);
        Ok(())
    }

    /// `PtlMEAppend`, `PtlLEAppend`: the entry's handle.
    pub fn append(
        &mut self,
        pt_index: u32,
        appended: Appended,
        list: List,
        carrier: &mut impl Carrier,
    ) -> Result<u32> {
        let matching = appended.matching;
        let id = self.add_entry(pt_index, appended, list)?;
        if let Err(fault) = self.link(id, list) {
            self.entries.remove(id);
            return Err(fault);
        }
        self.run_due(carrier);
        Ok(self.entry_handle(id, matching))
    }

    /// `PtlTriggeredMEAppend`: the handle of an entry that is appended later.
    pub fn triggered_append(
        &mut self,
        pt_index: u32,
        appended: Appended,
        list: List,
        (trigger, threshold): (u32, u64),
        carrier: &mut impl Carrier,
    ) -> Result<u32> {
        let matching = appended.matching;
        let entry = self.add_entry(pt_index, appended, list)?;
        let handle = self.entry_handle(entry, matching);
        let start = Triggered::Start(Start::Append { entry, list });
        if let Err(fault) = self.trigger(trigger, threshold, start, carrier) {
            self.entries.remove(entry);
            return Err(fault);
        }
        Ok(handle)
    }

    pub(super) fn append_triggered(&mut self, entry: Id, list: List) {
        if self.link(entry, list).is_err() {
            self.entries.remove(entry);
        }
    }

    /// `PtlMEUnlink`, `PtlLEUnlink`
    pub fn unlink(&mut self, entry: u32) -> Result<()> {
        let kind = if self.nature.matching { Kind::MatchEntry } else { Kind::ListEntry };
        let id = self.object(entry, kind)?;
        let link = self.entries.get(id).filter(|l| l.matching == self.nature.matching);
        let (pt_index, linked) = link.map(|l| (l.pt_index, l.linked)).ok_or(Fault::ArgInvalid)?;
        // One that waits to be appended stays until then: what triggers it would find another.
        let number = linked.ok_or(Fault::InUse)?;
        let index = self.index_mut(pt_index)?;
        index.portal.unlink(number)?;
        index.links[number.index() as usize] = None;
        self.entries.remove(id);
        Ok(())
    }

    /// `PtlTriggeredMEUnlink`
    pub fn triggered_unlink(
        &mut self,
        entry: u32,
        (trigger, threshold): (u32, u64),
        carrier: &mut impl Carrier,
    ) -> Result<()> {
        self.object(entry, Kind::MatchEntry)?;
        self.trigger(trigger, threshold, Triggered::Start(Start::Unlink(entry)), carrier)
    }

    /// `PtlMESearch`, `PtlLESearch`
    pub fn search(
        &mut self,
        pt_index: u32,
        appended: Appended,
        search: Search,
        carrier: &mut impl Carrier,
    ) -> Result<()> {
        let Appended { mut entry, counter, no_counter, matching, .. } = appended;
        if matching != self.nature.matching {
            return Err(Fault::ArgInvalid);
        }
        entry.ct = self.optional(counter, Kind::Counter, no_counter)?;
        let Interface { portals, effects, .. } = self;
        let found = portals.get_mut(pt_index as usize).and_then(Option::as_mut);
        found.ok_or(Fault::ArgInvalid)?.portal.search(entry, search, effects);
        self.settle(pt_index);
        self.run_due(carrier);
        Ok(())
    }

    fn link_of(&self, pt_index: u32, number: Id) -> Option<(Id, &Link)> {
        let id = (*self.index(pt_index)?.links.get(number.index() as usize)?)?;
        let link = self.entries.get(id)?;
        // The portal may have given the place to another meanwhile.
        (link.linked == Some(number)).then_some((id, link))
    }

    /// The memory of an entry by the portal's number.
    pub(super) fn region(&self, pt_index: u32, number: Id) -> Option<Region> {
        self.index(pt_index)?.region_of(number, &self.entries).cloned()
    }

    /// Where the byte at `offset` of an entry lies.
    pub(super) fn address(&self, pt_index: u32, number: Id, offset: u64) -> u64 {
        self.link_of(pt_index, number).map_or(0, |(_, link)| link.region.address(offset))
    }

    /// An entry has unlinked itself and nothing refers to it any more.
    pub(super) fn forget_entry(&mut self, pt_index: u32, number: Id) {
        let Some((id, _)) = self.link_of(pt_index, number) else { return };
        self.entries.remove(id);
        if let Ok(index) = self.index_mut(pt_index) {
            index.links[number.index() as usize] = None;
        }
    }

    /// Counts the unexpected headers of a portal table entry anew.
    pub(super) fn count_headers(&mut self, pt_index: u32) {
        let Some(Some(index)) = self.portals.get_mut(pt_index as usize) else { return };
        let now = index.portal.unexpected_headers();
        self.unexpected_headers = self.unexpected_headers + now - index.headers;
        index.headers = now;
    }
}
