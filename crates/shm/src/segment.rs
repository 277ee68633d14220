//! The job's memory on this host: made by one rank, mapped by all, without a name in the file
//! system. It is a memfd; the others open it through `/proc/PID/fd/N` of its creator, so when the
//! last process is gone, by whatever signal, so is the memory. Its size is sealed.

use core::sync::atomic::Ordering;
use hpvm_sync::atomic::AtomicU32;
use hpvm_wire::cell::Cell;
use hpvm_wire::coll_slots::{COLL_SLOTS, CollSlots, LARGE_SETS, LARGE_SLOTS, LargeSlot};
use hpvm_wire::delegation::DelegationSlot;
use hpvm_wire::pending::Pending;
use hpvm_wire::segment::{
    Control, FRAME_BYTES, FRAME_PROGRESS, FRAME_STRIDE, FRAMES, Geometry, Header, MAGIC, MAX_RANKS,
    SLOTS, VERSION,
};
use hpvm_wire::traffic::Traffic;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;

/// Why a segment could not be made or joined.
#[derive(Debug)]
pub enum SegmentError {
    /// A system call failed: what, and errno's text.
    System { what: String, cause: std::io::Error },
    /// The memory is not what the job says it is.
    Foreign(String),
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SegmentError::System { what, cause } => write!(f, "shared memory: {what}: {cause}"),
            SegmentError::Foreign(text) => write!(f, "shared memory: {text}"),
        }
    }
}

impl std::error::Error for SegmentError {}

fn failed(what: impl Into<String>) -> SegmentError {
    SegmentError::System { what: what.into(), cause: std::io::Error::last_os_error() }
}

/// The mapped segment. Unmapped when the last user drops it.
pub struct Mapping {
    base: NonNull<u8>,
    geometry: Geometry,
    /// The creator's descriptor, which the others open through /proc.
    file: File,
}

// SAFETY: a mapping is plain memory; all shared access goes through atomics or the ownership
// rules written down in `hpvm_wire::segment` and `hpvm_wire::cell`.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// The control block of one rank, at hand without computing where it lies.
pub(crate) struct OwnControl {
    control: NonNull<Control>,
    /// Keeps the memory.
    _mapping: Arc<Mapping>,
}

// SAFETY: a reference to a control block, all of whose fields are atomic, and the mapping that it lies in, which is `Send`.
unsafe impl Send for OwnControl {}

impl OwnControl {
    /// That of `rank`, which is below `mapping.ranks()`.
    pub fn new(mapping: &Arc<Mapping>, rank: u32) -> OwnControl {
        OwnControl { control: NonNull::from(mapping.control(rank)), _mapping: mapping.clone() }
    }
}

impl Deref for OwnControl {
    type Target = Control;

    #[inline(always)]
    fn deref(&self) -> &Control {
        // SAFETY: it was a reference into the mapping, which lives as long as this does.
        unsafe { self.control.as_ref() }
    }
}

impl Mapping {
    /// Makes the segment of a job of `ranks` ranks on this host with the job's random `key`.
    pub fn create(ranks: u32, key: [u64; 2]) -> Result<Mapping, SegmentError> {
        if ranks == 0 || ranks > MAX_RANKS {
            return Err(SegmentError::Foreign(format!(
                "{ranks} ranks on one host; expected 1 to {MAX_RANKS}"
            )));
        }
        let geometry = Geometry { ranks };
        let bytes = geometry.bytes() as u64;
        let file = hpvm_os::memory_file(c"hpvm", bytes).map_err(|cause| SegmentError::System {
            what: format!("making the memory of {ranks} ranks"),
            cause,
        })?;
        let mapping = Self::map(file, geometry)?;
        for rank in 0..ranks {
            // Relaxed: published with everything else by the magic below.
            mapping.control(rank).credits.store(SLOTS, Ordering::Relaxed);
        }
        let header = mapping.header_mut();
        // SAFETY: nobody else has mapped the segment yet, so plain writes are ours to make.
        unsafe {
            (*header).version = VERSION;
            (*header).ranks = ranks;
            (*header).key = key;
        }
        // Release pairs with the acquire in `check`.
        mapping.header().magic.store(MAGIC, Ordering::Release);
        Ok(mapping)
    }

    /// Maps the segment that another process made. `path` is what its [`Mapping::path`] said.
    pub fn join(path: &str, ranks: u32, key: [u64; 2]) -> Result<Mapping, SegmentError> {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|cause| {
            SegmentError::System { what: format!("opening {path} of the first rank"), cause }
        })?;
        let file = hpvm_os::above_streams(file).map_err(|cause| SegmentError::System {
            what: "a descriptor that is no standard stream".into(),
            cause,
        })?;
        let found = file
            .metadata()
            .map_err(|cause| SegmentError::System { what: format!("size of {path}"), cause })?
            .len();
        let geometry = Geometry { ranks };
        if ranks == 0 || ranks > MAX_RANKS || found != geometry.bytes() as u64 {
            return Err(SegmentError::Foreign(format!(
                "expected {} bytes for {ranks} ranks, found {found} in {path}",
                geometry.bytes()
            )));
        }
        if !hpvm_os::is_sealed(&file) {
            return Err(SegmentError::Foreign(format!(
                "{path} may shrink; expected a file that is sealed against that"
            )));
        }
        let mapping = Self::map(file, geometry)?;
        mapping.check(ranks, key)?;
        Ok(mapping)
    }

    fn map(file: File, geometry: Geometry) -> Result<Mapping, SegmentError> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new shared mapping at an address of the kernel's choice; checked below.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                geometry.bytes(),
                protection,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(failed(format!("mapping {} bytes", geometry.bytes())));
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| failed("mapping at address 0"))?;
        Ok(Mapping { base, geometry, file })
    }

    /// What the creator wrote is an allegation until it agrees with what the job says.
    fn check(&self, ranks: u32, key: [u64; 2]) -> Result<(), SegmentError> {
        let h = self.header();
        // Acquire pairs with the release in `create`.
        let magic = h.magic.load(Ordering::Acquire);
        if magic != MAGIC {
            return Err(SegmentError::Foreign(format!("magic {magic:#x}, expected {MAGIC:#x}")));
        }
        if h.version != VERSION || h.ranks != ranks {
            return Err(SegmentError::Foreign(format!(
                "layout {} for {} ranks, expected layout {VERSION} for {ranks} ranks \
                 (do all ranks use the same hpvm?)",
                h.version, h.ranks
            )));
        }
        if h.key != key {
            return Err(SegmentError::Foreign("it belongs to another job".into()));
        }
        Ok(())
    }

    /// Where another process of the same user can open this segment while we live.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    pub fn ranks(&self) -> u32 {
        self.geometry.ranks
    }

    pub fn header(&self) -> &Header {
        // SAFETY: the mapping is at least `HEADER` bytes and page-aligned, and every bit pattern
        // is a valid `Header`.
        unsafe { &*self.header_mut() }
    }

    fn header_mut(&self) -> *mut Header {
        self.base.as_ptr().cast()
    }

    /// The control block of `rank`, which is below `ranks()`.
    #[inline(always)]
    pub fn control(&self, rank: u32) -> &Control {
        debug_assert!(rank < self.geometry.ranks);
        // SAFETY: inside the mapping by the geometry, page-aligned, all fields atomic.
        unsafe { &*self.base.as_ptr().add(self.geometry.control(rank)).cast() }
    }

    /// What `rank`, which is below `ranks()`, shows while it sleeps.
    pub fn pending(&self, rank: u32) -> &Pending {
        debug_assert!(rank < self.geometry.ranks);
        // SAFETY: inside the mapping by the geometry, page-aligned, all fields atomic.
        unsafe { &*self.base.as_ptr().add(self.geometry.pending(rank)).cast() }
    }

    /// The ring of `rank`, which is below `ranks()`.
    #[inline(always)]
    pub fn ring(&self, rank: u32) -> &[Cell] {
        debug_assert!(rank < self.geometry.ranks);
        // SAFETY: inside the mapping by the geometry, aligned to 128; a `Cell` is interior-mutable
        // throughout and any bit pattern is valid.
        unsafe {
            let first = self.base.as_ptr().add(self.geometry.ring(rank)).cast();
            core::slice::from_raw_parts(first, SLOTS as usize)
        }
    }

    /// CollSlots `index` (below `COLL_SLOTS`) of `rank`, which is below `ranks()`.
    #[inline(always)]
    pub fn coll_slots(&self, rank: u32, index: usize) -> &CollSlots {
        debug_assert!(rank < self.geometry.ranks && index < COLL_SLOTS);
        // SAFETY: inside the mapping by the geometry, aligned to 128; every bit pattern is valid.
        unsafe {
            &*self.base.as_ptr().add(self.geometry.coll_slots(rank)).cast::<CollSlots>().add(index)
        }
    }

    /// The large slot for operation `number` of set `index` (below `LARGE_SETS`) of `rank`, which is below `ranks()`.
    #[inline(always)]
    pub fn large_slot(&self, rank: u32, index: usize, number: u64) -> &LargeSlot {
        debug_assert!(rank < self.geometry.ranks && index < LARGE_SETS);
        let at = index * LARGE_SLOTS + number as usize % LARGE_SLOTS;
        // SAFETY: inside the mapping by the geometry, aligned to a page; every bit pattern is valid.
        unsafe {
            &*self.base.as_ptr().add(self.geometry.large_slots(rank)).cast::<LargeSlot>().add(at)
        }
    }

    /// What `rank`, which is below `ranks()`, has sent to whom.
    #[inline(always)]
    pub fn traffic(&self, rank: u32) -> &Traffic {
        debug_assert!(rank < self.geometry.ranks);
        // SAFETY: inside the mapping by the geometry, aligned to a page, all fields atomic.
        unsafe { &*self.base.as_ptr().add(self.geometry.traffic(rank)).cast() }
    }

    /// Where others leave operations for `rank`, which is below `ranks()`.
    #[inline(always)]
    pub fn delegation(&self, rank: u32) -> &DelegationSlot {
        debug_assert!(rank < self.geometry.ranks);
        // SAFETY: inside the mapping by the geometry, aligned to a page; every bit pattern is valid.
        unsafe { &*self.base.as_ptr().add(self.geometry.delegation(rank)).cast() }
    }

    /// `FRAME_BYTES` bytes of frame `index` (below `FRAMES`) of `rank`.
    #[inline(always)]
    pub fn frame(&self, rank: u32, index: usize) -> *mut u8 {
        debug_assert!(rank < self.geometry.ranks && index < FRAMES && FRAME_BYTES < FRAME_STRIDE);
        // SAFETY: inside the mapping by the geometry.
        unsafe { self.base.as_ptr().add(self.geometry.frames(rank) + index * FRAME_STRIDE) }
    }

    /// How far the message in fragments that begins in that frame has come.
    #[inline(always)]
    pub fn progress(&self, rank: u32, index: usize) -> &AtomicU32 {
        // SAFETY: the word lies behind the payload, inside the frame's stride, aligned to 64; any bit
        // pattern is valid.
        unsafe { &*self.frame(rank, index).add(FRAME_PROGRESS).cast() }
    }

    /// How many ranks have attached.
    pub fn attached(&self) -> &AtomicU32 {
        &self.header().attached
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this address and size, and nobody can hold a
        // reference into it any more.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), self.geometry.bytes());
        }
    }
}
