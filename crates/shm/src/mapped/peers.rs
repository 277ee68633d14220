//! What this rank has mapped of the memory that others lend. A region is mapped as a whole when
//! something is first read out of it.

use crate::memory_file;
use hpvm_transport::Rank;
use hpvm_wire::regions::RegionInfo;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// Regions of others.
#[derive(Default)]
pub struct PeerRegions {
    /// By owner and index; `None` where mapping it has failed once.
    mappings: Vec<(Rank, usize, Option<PeerMapping>)>,
}

struct PeerMapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping is plain memory, mapped for reading.
unsafe impl Send for PeerMapping {}
// SAFETY: as above.
unsafe impl Sync for PeerMapping {}

impl PeerRegions {
    /// Where in our address space offset 0 of region `index` of `owner`, process `pid`, lies.
    /// `None`: it can't be mapped. All `info.bytes` can be read for as long as `self` lives.
    pub fn map(
        &mut self,
        owner: Rank,
        index: usize,
        pid: u32,
        info: RegionInfo,
    ) -> Option<*const u8> {
        let known = self.mappings.iter().position(|(o, i, _)| (*o, *i) == (owner, index));
        let known = known.unwrap_or_else(|| {
            self.mappings.push((owner, index, PeerMapping::open(pid, info)));
            self.mappings.len() - 1
        });
        // A region never changes; another size would be a lie.
        let mapping = self.mappings[known].2.as_ref().filter(|w| w.bytes as u64 == info.bytes)?;
        Some(mapping.base.as_ptr())
    }
}

impl PeerMapping {
    /// What the owner says is checked: the file has the size it alleges, and can't lose it.
    fn open(pid: u32, info: RegionInfo) -> Option<PeerMapping> {
        let file = File::open(format!("/proc/{pid}/fd/{}", info.file)).ok()?;
        if !memory_file::is_sealed(&file) || file.metadata().ok()?.len() != info.bytes {
            return None;
        }
        let bytes = usize::try_from(info.bytes).ok()?;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice; checked below.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, flags, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        Some(PeerMapping { base: NonNull::new(base.cast())?, bytes })
    }
}

impl Drop for PeerMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open` with this address and size.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
