//! What this rank has mapped of the memory that others lend. A region is mapped as a whole, for reading, when
//! something is first read out of it, and once more, for writing, when something is first written to it. So a
//! rank that only copies messages out of a peer's memory can't damage that memory.

use hpvm_transport::Rank;
use hpvm_wire::regions::RegionInfo;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// What a mapping may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    ReadWrite,
}

/// Owner, index and access of a mapped region.
type Name = (Rank, usize, Access);

/// Regions of others.
#[derive(Default)]
pub struct PeerRegions {
    /// `None` where mapping it has failed once.
    mappings: Vec<(Name, Option<PeerMapping>)>,
}

struct PeerMapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping is plain memory; who writes to it does so by rules of its own.
unsafe impl Send for PeerMapping {}
// SAFETY: as above.
unsafe impl Sync for PeerMapping {}

impl PeerRegions {
    /// Where in our address space offset 0 of region `name`, whose owner is process `pid`, lies.
    /// `None`: it can't be mapped. All `info.bytes` can be accessed for as long as `self` lives.
    pub fn map(&mut self, name: Name, pid: u32, info: RegionInfo) -> Option<*mut u8> {
        let known = self.mappings.iter().position(|(known, _)| *known == name);
        let known = known.unwrap_or_else(|| {
            self.mappings.push((name, PeerMapping::open(pid, info, name.2)));
            self.mappings.len() - 1
        });
        // A region never changes; another size would be a lie.
        let mapping = self.mappings[known].1.as_ref().filter(|w| w.bytes as u64 == info.bytes)?;
        Some(mapping.base.as_ptr())
    }
}

impl PeerMapping {
    /// What the owner says is checked: the file has the size it alleges, and can't lose it.
    fn open(pid: u32, info: RegionInfo, access: Access) -> Option<PeerMapping> {
        let writes = access == Access::ReadWrite;
        let path = format!("/proc/{pid}/fd/{}", info.file);
        let file = File::options().read(true).write(writes).open(path).ok()?;
        if !hpvm_os::is_sealed(&file) || file.metadata().ok()?.len() != info.bytes {
            return None;
        }
        let bytes = usize::try_from(info.bytes).ok()?;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | if writes { libc::PROT_WRITE } else { 0 };
        // SAFETY: a new mapping at an address of the kernel's choice; checked below.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0)
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
