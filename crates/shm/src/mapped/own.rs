//! What this rank lends: regions, and who has which part of them.

use hpvm_wire::regions::{REGIONS, RegionInfo, Regions};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// Allocations are multiples of this, and begin at one: what is freed goes back to the system.
pub const PAGE: usize = 4096;
/// Least size of a region. Address space only: pages come into being when they are touched.
const MIN_REGION: usize = 64 << 20;

/// The regions of this rank.
#[derive(Default)]
pub struct OwnRegions {
    regions: Vec<Region>,
    /// No further region can be made; what there is stays in use.
    exhausted: bool,
}

struct Region {
    base: NonNull<u8>,
    bytes: usize,
    file: File,
    /// Offset and length of what is free, neighbours joined.
    free: BTreeMap<usize, usize>,
    /// Offset and length of what is in use.
    used: BTreeMap<usize, usize>,
    /// See [`strict_memory`].
    strict: bool,
}

// SAFETY: a region is plain memory that stays where it is; whoever got a part of it uses it.
unsafe impl Send for Region {}
// SAFETY: as above; the maps change through `&mut` only.
unsafe impl Sync for Region {}

impl OwnRegions {
    /// Memory of `bytes` bytes at a multiple of `PAGE`, in a region that `shown` tells to others.
    /// `None`: there is none to be had this way.
    pub fn allocate(&mut self, shown: &Regions, bytes: usize) -> Option<NonNull<u8>> {
        let bytes = bytes.checked_next_multiple_of(PAGE).filter(|b| *b != 0)?;
        if let Some(memory) = self.regions.iter_mut().find_map(|r| r.take(bytes)) {
            return Some(memory);
        }
        if self.exhausted || self.regions.len() == REGIONS {
            return None;
        }
        let so_far: usize = self.regions.iter().map(|r| r.bytes).sum();
        let enough = bytes.max(MIN_REGION);
        let made = Region::new(enough.max(so_far), None).or_else(|_| Region::new(enough, None));
        let Ok(region) = made else {
            // Too large for this system, or no region at all: only the latter is for good.
            self.exhausted = bytes <= MIN_REGION;
            return None;
        };
        self.add(shown, region).take(bytes)
    }

    /// As `allocate`, at this address, a multiple of `PAGE`: there, a region begins or can be made. `None` also where anything else
    /// lies there.
    pub fn allocate_at(
        &mut self,
        shown: &Regions,
        address: usize,
        bytes: usize,
    ) -> Option<NonNull<u8>> {
        let bytes = bytes.checked_next_multiple_of(PAGE).filter(|b| *b != 0)?;
        if let Some(region) = self.regions.iter_mut().find(|r| r.base.as_ptr().addr() == address) {
            return region.take_from(0, bytes);
        }
        // The other half is for `allocate`, which makes each region larger than those before.
        if self.exhausted || self.regions.len() >= REGIONS / 2 {
            return None;
        }
        let region = Region::new(bytes.max(MIN_REGION), Some(address)).ok()?;
        self.add(shown, region).take(bytes)
    }

    /// Shows a region to others.
    fn add(&mut self, shown: &Regions, region: Region) -> &mut Region {
        let info = RegionInfo {
            base: region.base.as_ptr().addr() as u64,
            bytes: region.bytes as u64,
            file: region.file.as_raw_fd() as u32,
        };
        let index = self.regions.len();
        shown.publish(index, info);
        self.regions.push(region);
        &mut self.regions[index]
    }

    /// The byte at `offset` of region `index`.
    pub fn at(&self, index: usize, offset: u64) -> Option<NonNull<u8>> {
        let region = self.regions.get(index)?;
        let offset = usize::try_from(offset).ok().filter(|offset| *offset <= region.bytes)?;
        // SAFETY: inside the mapping, or at its end.
        Some(unsafe { region.base.add(offset) })
    }

    /// Takes back what `allocate` returned. False: it did not return that.
    pub fn free(&mut self, memory: *mut u8) -> bool {
        self.regions.iter_mut().any(|r| r.give_back(memory.addr()))
    }
}

impl Region {
    /// Of at least `bytes` bytes, at an address of the kernel's choice or `at` this one, if nothing lies there.
    fn new(bytes: usize, at: Option<usize>) -> io::Result<Region> {
        let bytes = bytes.checked_next_power_of_two().ok_or(io::ErrorKind::OutOfMemory)?;
        let file = hpvm_os::memory_file(c"hpvm-mapped", bytes as u64)?;
        let base = hpvm_os::map(at, bytes, Some(&file))?;
        // SAFETY: our own mapping. Large pages where the system gives them to who asks.
        unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        let free = BTreeMap::from([(0, bytes)]);
        Ok(Region { base, bytes, file, free, used: BTreeMap::new(), strict: strict_memory() })
    }

    fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let (offset, _) = self.free.iter().find(|(_, room)| **room >= bytes)?;
        self.take_from(*offset, bytes)
    }

    /// Takes the first bytes of what is free from `offset` on, which are at least so many.
    fn take_from(&mut self, offset: usize, bytes: usize) -> Option<NonNull<u8>> {
        let room = *self.free.get(&offset).filter(|room| **room >= bytes)?;
        if self.strict && !self.reserve(offset, bytes) {
            return None;
        }
        self.free.remove(&offset);
        if room > bytes {
            self.free.insert(offset + bytes, room - bytes);
        }
        self.used.insert(offset, bytes);
        // SAFETY: inside the mapping.
        Some(unsafe { self.base.add(offset) })
    }

    fn give_back(&mut self, address: usize) -> bool {
        let offset = address.wrapping_sub(self.base.as_ptr().addr());
        let Some(bytes) = self.used.remove(&offset) else { return false };
        self.punch(offset, bytes);
        let (mut offset, mut bytes) = (offset, bytes);
        if let Some(after) = self.free.remove(&(offset + bytes)) {
            bytes += after;
        }
        if let Some((before, room)) = self.free.range(..offset).next_back().map(|(o, r)| (*o, *r))
            && before + room == offset
        {
            self.free.remove(&before);
            (offset, bytes) = (before, room + bytes);
        }
        self.free.insert(offset, bytes);
        true
    }

    /// Makes sure that the pages exist. False: there are not enough.
    fn reserve(&self, offset: usize, bytes: usize) -> bool {
        // SAFETY: a system call on our own descriptor with integers.
        let failed =
            unsafe { libc::fallocate(self.file.as_raw_fd(), 0, offset as i64, bytes as i64) != 0 };
        if failed {
            self.punch(offset, bytes);
        }
        !failed
    }

    /// Gives pages back to the system. Where that fails they stay, and are used again.
    fn punch(&self, offset: usize, bytes: usize) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: as in `reserve`.
        unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset as i64, bytes as i64) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`; whoever uses memory of it broke the rule of
        // `OwnRegions::allocate` that it lives as long as its rank.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// The system never promises more memory than it has. Then pages are made when they are asked for,
/// because a page that can't be had later would end the process.
fn strict_memory() -> bool {
    std::fs::read("/proc/sys/vm/overcommit_memory").is_ok_and(|text| text.first() == Some(&b'2'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of the region's file that exist, in bytes.
    fn touched(region: &Region) -> u64 {
        use std::os::unix::fs::MetadataExt;
        region.file.metadata().unwrap().blocks() * 512
    }

    #[test]
    fn what_is_freed_is_used_again_and_goes_back_to_the_system() {
        let (mut own, shown) = (OwnRegions::default(), Regions::default());
        let take = |own: &mut OwnRegions, n| own.allocate(&shown, n).unwrap();
        let (a, b, c) = (take(&mut own, 1), take(&mut own, 2 * PAGE), take(&mut own, PAGE));
        assert_eq!(b.as_ptr().addr() - a.as_ptr().addr(), PAGE);
        // SAFETY: `b` has two pages.
        unsafe { b.as_ptr().write_bytes(7, 2 * PAGE) };
        assert!(touched(&own.regions[0]) >= 2 * PAGE as u64);
        assert!(own.free(b.as_ptr()) && !own.free(b.as_ptr()));
        assert_eq!(touched(&own.regions[0]), 0);
        assert!(own.free(a.as_ptr()));
        assert_eq!(take(&mut own, 3 * PAGE), a);
        assert!(own.free(a.as_ptr()) && own.free(c.as_ptr()));
        assert_eq!(own.regions[0].free, BTreeMap::from([(0, MIN_REGION)]));
        assert!(!own.free(a.as_ptr().wrapping_add(1)) && !own.free(core::ptr::null_mut()));
    }

    #[test]
    fn regions_grow_and_are_shown() {
        let (mut own, shown) = (OwnRegions::default(), Regions::default());
        let first = own.allocate(&shown, MIN_REGION).unwrap();
        let second = own.allocate(&shown, MIN_REGION + 1).unwrap();
        assert_eq!(own.regions.iter().map(|r| r.bytes / MIN_REGION).collect::<Vec<_>>(), [1, 2]);
        for (index, memory) in [first, second].iter().enumerate() {
            let at = memory.as_ptr().addr() as u64;
            let (found, info, offset) = shown.find(at, MIN_REGION as u64).unwrap();
            assert_eq!((found, info.base, offset), (index, at, 0));
        }
        assert_eq!(shown.get(2), None);
        // More than any address space holds; and small ones are to be had still.
        assert_eq!(own.allocate(&shown, 1 << 62), None);
        assert!(own.allocate(&shown, usize::MAX).is_none());
        assert!(own.allocate(&shown, 1).is_some());
    }

    #[test]
    fn a_region_lies_where_it_is_wanted_or_nowhere() {
        let (mut own, shown) = (OwnRegions::default(), Regions::default());
        // Where the kernel has just had room.
        let room = Region::new(MIN_REGION, None).unwrap();
        let address = room.base.as_ptr().addr();
        assert_eq!(own.allocate_at(&shown, address, PAGE), None, "something lies there");
        drop(room);
        let memory = own.allocate_at(&shown, address, PAGE).expect("memory");
        assert_eq!(memory.as_ptr().addr(), address);
        assert_eq!(shown.get(0).map(|info| info.base), Some(address as u64));
        assert_eq!(own.allocate_at(&shown, address, PAGE), None, "it is in use");
        assert_eq!(own.allocate_at(&shown, address + PAGE, PAGE), None, "no region begins there");
        let next = own.allocate(&shown, PAGE).expect("memory");
        assert!(own.free(memory.as_ptr()));
        assert_eq!(own.allocate_at(&shown, address, 2 * PAGE), None, "less is free there");
        assert!(own.free(next.as_ptr()));
        assert_eq!(own.allocate_at(&shown, address, 2 * PAGE), Some(memory));
    }

    /// Allocations against a list of what each must hold.
    #[test]
    fn random_allocations_do_not_overlap() {
        let (mut own, shown) = (OwnRegions::default(), Regions::default());
        let (mut live, mut state) = (Vec::new(), 12345u64);
        for turn in 0..2000u64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let draw = (state >> 33) as usize;
            if draw % 5 < 3 && live.len() < 50 {
                let bytes = 1 + draw % (20 * PAGE);
                let memory = own.allocate(&shown, bytes).unwrap();
                // SAFETY: it has `bytes` bytes.
                unsafe { memory.as_ptr().write_bytes(turn as u8, bytes) };
                live.push((memory, bytes, turn as u8));
            } else if !live.is_empty() {
                let (memory, bytes, mark) = live.swap_remove(draw % live.len());
                // SAFETY: it is live.
                let found = unsafe { core::slice::from_raw_parts(memory.as_ptr(), bytes) };
                assert!(found.iter().all(|b| *b == mark), "turn {turn}");
                assert!(own.free(memory.as_ptr()));
            }
        }
        live.iter().for_each(|(memory, ..)| assert!(own.free(memory.as_ptr())));
        assert_eq!(own.regions[0].free, BTreeMap::from([(0, MIN_REGION)]));
    }
}
