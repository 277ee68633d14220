//! Memory that a rank lends to the other ranks of its host: where in its address space it lies, and
//! which open file it is.

use hpvm_sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Regions that one rank may lend. Each is at least as large as all earlier ones together, so
/// this many never run out before the memory does.
pub const REGIONS: usize = 16;

/// One region, or the info for one.
///
/// Access rules: only the owner writes, once: first the other fields, then `file`, which publishes
/// them. A region is never taken back or moved.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Region {
    base: AtomicU64,
    bytes: AtomicU64,
    /// One more than the descriptor in its owner; 0 when there is no region here.
    file: AtomicU32,
    _unused: u32,
}

/// What a region says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionInfo {
    /// Address of its first byte in its owner.
    pub base: u64,
    pub bytes: u64,
    /// Descriptor of the file in its owner.
    pub file: u32,
}

impl RegionInfo {
    /// Where in the region `len` bytes at address `at` of the owner lie, if they do as a whole.
    #[inline]
    pub fn offset(&self, at: u64, len: u64) -> Option<u64> {
        let offset = at.checked_sub(self.base)?;
        (len <= self.bytes && offset <= self.bytes - len).then_some(offset)
    }
}

/// The regions of a rank, in its control block. Those that exist come first.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Regions([Region; REGIONS]);

impl Regions {
    /// Region `index`, if it exists.
    pub fn get(&self, index: usize) -> Option<RegionInfo> {
        let region = self.0.get(index)?;
        // Acquire pairs with the release in `publish`.
        let file = region.file.load(Ordering::Acquire).checked_sub(1)?;
        // Relaxed: ordered by the load above.
        let (base, bytes) =
            (region.base.load(Ordering::Relaxed), region.bytes.load(Ordering::Relaxed));
        Some(RegionInfo { base, bytes, file })
    }

    /// The region of which `len` bytes at `at` are part, and their offset in it.
    pub fn find(&self, at: u64, len: u64) -> Option<(usize, RegionInfo, u64)> {
        let regions = (0..REGIONS).map_while(|i| Some((i, self.get(i)?)));
        regions.into_iter().find_map(|(i, info)| Some((i, info, info.offset(at, len)?)))
    }

    /// Shows region `index`, which is the first that does not exist. Only for the owner.
    pub fn publish(&self, index: usize, info: RegionInfo) {
        let region = &self.0[index];
        // Relaxed: published by the store below.
        region.base.store(info.base, Ordering::Relaxed);
        region.bytes.store(info.bytes, Ordering::Relaxed); // relaxed: as above
        // Release pairs with the acquire in `get`.
        region.file.store(info.file + 1, Ordering::Release);
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_pinned() {
        assert_eq!((size_of::<Region>(), size_of::<Regions>()), (24, 384));
    }

    #[test]
    fn only_whole_runs_are_found() {
        let regions = Regions::default();
        assert_eq!(regions.find(0, 0), None);
        regions.publish(0, RegionInfo { base: 0x1000, bytes: 0x1000, file: 0 });
        regions.publish(1, RegionInfo { base: 0x4000, bytes: 0x2000, file: 9 });
        let found = |at, len| regions.find(at, len).map(|(i, p, offset)| (i, p.file, offset));
        assert_eq!(found(0x1000, 0x1000), Some((0, 0, 0)));
        assert_eq!(found(0x5fff, 1), Some((1, 9, 0x1fff)));
        for (at, len) in [(0xfff, 2), (0x1fff, 2), (0x6000, 1), (0x4000, u64::MAX), (u64::MAX, 1)] {
            assert_eq!(found(at, len), None, "{at:#x} {len:#x}");
        }
    }
}
