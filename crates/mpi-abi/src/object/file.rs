//! What a file handle refers to.

use super::comm::CommObject;
use super::errhandler::Handler;
use super::{Objects, bad_handle, too_many};
use crate::body::io::{SharedPointer, Striped};
use crate::generated::constants::{MPI_COMM_NULL, MPI_Comm, MPI_FILE_NULL, MPI_File};
use hpvm_copy::slow_stores::SlowStores;
use hpvm_io::{Hints, View};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Status};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An open file: one for each rank of the communicator that it was opened on.
#[derive(Debug)]
pub struct FileObject {
    pub file: Arc<hpvm_io::File>,
    /// A duplicate of the communicator that the file was opened on, for the file's own messages.
    pub object: Arc<CommObject>,
    pub comm: MPI_Comm,
    /// The host of each rank, by any number; all the same on one host.
    pub hosts: Vec<u64>,
    pub shared: SharedPointer,
    /// Where the data lie if they lie in stripes; then `file` has none.
    pub stripes: Option<Arc<Striped>>,
    state: Mutex<State>,
    /// Memory in which collective calls gather, kept from one to the next: fresh memory costs more than to copy into it.
    scratch: Mutex<Vec<u8>>,
    /// Memory of all ranks of the one host in which they gather what they write together.
    pub common: Mutex<Common>,
}

/// Such memory, made when it is first needed. All ranks find the same here.
#[derive(Debug, Default)]
pub enum Common {
    #[default]
    Untried,
    /// Some rank could not have it.
    Refused,
    Memory(Arc<hpvm_io::SharedMemory>),
}

/// Bytes of such memory that are kept.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// The parts that change.
#[derive(Debug)]
pub struct State {
    pub view: Arc<View>,
    /// The individual file pointer, in etypes.
    pub position: u64,
    pub hints: Hints,
    /// `MPI_File_set_atomicity`
    pub atomic: bool,
    pub handler: Handler,
    pub split: Option<Split>,
    pub rhythm: Rhythm,
    /// How this rank's stores to memory went in which another one gathers.
    pub stores: SlowStores,
}

/// How often a program syncs: what will be synced soon can be on its way to the device while more is gathered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rhythm {
    /// Collective writes that were gathered since the last sync, and between the two before.
    since: u32,
    between: u32,
}

/// Writes between two syncs, at most, of which each sends its bytes to the device: more of them may well write the same bytes again.
const WRITES_EACH_SENT: u32 = 8;

impl Rhythm {
    /// A collective write begins; says whether a sync is about to follow it, as one followed those before.
    pub fn write(&mut self) -> bool {
        self.since = self.since.saturating_add(1);
        (self.since..=WRITES_EACH_SENT).contains(&self.between)
    }

    /// Everything is synced. A second sync, as programs call it for the order of accesses, says nothing.
    pub fn sync(&mut self) {
        if self.since > 0 {
            self.between = core::mem::take(&mut self.since);
        }
    }
}

/// A split collective call that has begun (section 14.4.5).
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// The function that ends it.
    pub end: &'static str,
    /// The address of the buffer.
    pub buffer: usize,
    pub status: Status,
}

impl FileObject {
    pub fn new(
        file: hpvm_io::File,
        object: Arc<CommObject>,
        comm: MPI_Comm,
        hosts: Vec<u64>,
        (shared, stripes): (SharedPointer, Option<Arc<Striped>>),
        state: State,
    ) -> FileObject {
        let (file, state) = (Arc::new(file), Mutex::new(state));
        let (scratch, common) = (Mutex::default(), Mutex::default());
        FileObject { file, object, comm, hosts, shared, stripes, state, scratch, common }
    }

    /// Memory of any length and content, to be given back by [`FileObject::keep_scratch`].
    pub fn scratch(&self) -> Vec<u8> {
        std::mem::take(&mut *self.scratch.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps memory for the next call.
    pub fn keep_scratch(&self, bytes: Vec<u8>) {
        if bytes.capacity() <= KEPT_BYTES_MAX {
            *self.scratch.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
        }
    }

    /// Whether all ranks are on one host, which keeps the file in its memory.
    pub fn is_near(&self) -> bool {
        let one_host = self.hosts.iter().all(|host| *host == self.hosts[0]);
        one_host && self.stripes.is_none() && !self.file.is_remote()
    }

    /// Whether this rank is the first of its host.
    pub fn is_first_of_host(&self) -> bool {
        let own = self.rank();
        !self.hosts[..own].contains(&self.hosts[own])
    }

    /// The changing parts. Held for moments only, never across a callback or a wait for others.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn comm(&self) -> &Comm {
        &self.object.comm
    }

    pub fn rank(&self) -> usize {
        self.comm().rank() as usize
    }

    /// Bytes of the file.
    pub fn length(&self) -> Result<u64> {
        self.stripes.as_ref().map_or_else(|| self.file.size(), |striped| striped.length())
    }

    /// Ranks that have it open.
    pub fn size(&self) -> usize {
        self.comm().group().size() as usize
    }
}

impl Objects {
    /// The file of a handle.
    pub fn file(&self, handle: MPI_File) -> Result<&Arc<FileObject>> {
        let found = self.files.get(handle.0);
        found.ok_or_else(|| bad_handle(Class::File, "file", handle == MPI_FILE_NULL, handle.0))
    }

    /// The file whose own messages go by `context`, and its handle.
    pub fn file_of_context(&self, context: u32) -> Option<MPI_File> {
        let is = |file: &FileObject| file.comm().base_context() == context;
        self.files.iter().find(|(_, file)| is(file)).map(|(handle, _)| MPI_File(handle))
    }

    /// Keeps a file and returns its handle.
    pub fn add_file(&mut self, file: Arc<FileObject>) -> Result<MPI_File> {
        debug_assert!(file.comm != MPI_COMM_NULL);
        self.files.insert(file).map(MPI_File).ok_or_else(|| too_many("files"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_is_expected_where_one_followed_before() {
        let mut rhythm = Rhythm::default();
        assert!(!rhythm.write() && !rhythm.write());
        rhythm.sync();
        assert!(rhythm.write() && rhythm.write());
        // None followed: more writes than last time.
        assert!(!rhythm.write());
        (0..WRITES_EACH_SENT).for_each(|_| assert!(!rhythm.write()));
        rhythm.sync();
        assert!(!rhythm.write(), "too many to send each");
        rhythm.sync();
        assert!(rhythm.write());
        (0..2).for_each(|_| rhythm.sync());
        assert!(rhythm.write(), "the second sync says nothing");
    }
}
