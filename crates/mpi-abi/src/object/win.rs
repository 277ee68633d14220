//! What a window handle refers to.

use super::attributes::Attributes;
use super::comm::CommObject;
use super::errhandler::Handler;
use super::info::Info;
use super::{Objects, bad_handle, too_many};
use crate::generated::constants::*;
use core::ffi::c_int;
use hpvm_mpi::error::Result;
use hpvm_mpi::rma::Epochs;
use hpvm_mpi::rma::conflicts::Log;
use hpvm_mpi::{Class, Comm, Group};
use hpvm_onesided::{MAX_WORDS, RegionKey, Target};
use hpvm_wire::epoch_words::{self, EpochWords};
use hpvm_wire::rw_lock::{self, LockWords, Ticket};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// A window at one rank. The parts that change are borrowed for moments only, never across a callback or a wait;
/// the engine's guard keeps other threads out.
pub struct WinObject {
    /// A duplicate of the communicator that the window was made on, for the window's own messages.
    pub object: Arc<CommObject>,
    pub comm: MPI_Comm,
    /// What this rank exposes.
    pub key: RegionKey,
    pub memory: Memory,
    /// By rank.
    pub peers: Box<[Peer]>,
    /// Some rank's memory is reached by messages.
    pub distant: bool,
    /// `no_locks`: the program promises not to lock.
    pub locks: bool,
    /// What `MPI_Win_get_attr` gives the addresses of.
    pub values: Values,
    pub epochs: RefCell<Epochs>,
    pub sync: RefCell<Sync>,
    pub extras: RefCell<Extras>,
    /// Memory that `MPI_Win_attach` has added: address and bytes.
    pub attached: RefCell<BTreeMap<usize, usize>>,
    /// What is asked of each operation is asked by the layer below: the window is not dynamic, and has no `uses`.
    pub plain: bool,
    /// `HPVM_CHECK`: by target rank, what this rank's operations access until something orders them.
    pub uses: Option<RefCell<Vec<Log>>>,
}

/// Values of the predefined attributes, in the types of section 12.2.6.
#[derive(Debug)]
pub struct Values {
    pub base: usize,
    pub size: MPI_Aint,
    pub disp_unit: c_int,
    pub flavor: c_int,
    pub model: c_int,
}

/// Where the memory of the window at this rank comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The program, or nowhere.
    Program,
    /// The transport lends it.
    Lent(usize),
    /// The C library's heap.
    Heap(usize),
    /// Another rank lends it.
    Mapped,
}

/// A rank of a window.
pub struct Peer {
    pub process: u32,
    pub target: Target,
    pub size: u64,
    pub disp_unit: i64,
}

/// What others have told this rank, and what it waits for on behalf of others.
#[derive(Debug, Default)]
pub struct Sync {
    /// By rank, how often it has sent a notice that it has posted, less how often this rank has started: with what it has
    /// told by [`EpochWords`], how often it has posted and this rank has not started.
    pub posted: Vec<u64>,
    /// By rank, the same of completing and of this rank's waiting for that.
    pub completed: Vec<u64>,
    /// By rank, how often this rank has told it that it has posted, and that it has completed, by such words.
    pub told: Vec<[u64; 2]>,
    /// Threads that wait until they are told, by packets.
    pub waiting: u64,
    /// The ranks of `MPI_Win_post` whose completion is awaited.
    pub exposed_to: Rc<[u32]>,
    /// The last group of an epoch, and the ranks of its members in the window, ascending: programs begin epochs with the
    /// same one again and again.
    pub last_group: Option<(Arc<Group>, Rc<[u32]>)>,
    /// By rank, whether its target has granted the lock that was asked for by a notice.
    pub granted: Vec<bool>,
    /// By rank, how many notices have gone there.
    pub sent: Vec<[u64; 1]>,
    /// By rank, how many notices have come from there.
    pub came: Vec<u64>,
    /// Tickets of this rank's lock that wait for ranks that asked by a notice.
    pub proxies: Vec<(u32, Ticket)>,
    /// Ranks that this rank's lock was granted to by a notice, and whether for themselves alone.
    pub holders: Vec<(u32, bool)>,
}

/// Words of a lock, and then those of epochs, which begin on lines of their own.
const LOCK_WORDS: usize = rw_lock::WORDS.next_multiple_of(16);

/// Control words of a window of `ranks` ranks at each of them. Where there are more ranks than words for them, they tell each other of
/// epochs by notices.
pub fn control_words(ranks: usize) -> u32 {
    let all = LOCK_WORDS.saturating_add(epoch_words::words(ranks));
    u32::try_from(all).ok().filter(|all| *all <= MAX_WORDS).unwrap_or(LOCK_WORDS as u32)
}

impl Peer {
    /// The words of its lock, if this process maps them.
    #[inline(always)]
    pub fn lock_words(&self) -> Option<LockWords<'_>> {
        LockWords::new(self.target.control()?.all())
    }

    /// The words in which those of a window of `ranks` ranks tell it of epochs, if this process maps them.
    #[inline]
    pub fn epoch_words(&self, ranks: usize) -> Option<EpochWords<'_>> {
        EpochWords::new(self.target.control()?.all().get(LOCK_WORDS..)?, ranks)
    }
}

/// The parts that the C interface adds.
#[derive(Debug, Default)]
pub struct Extras {
    pub name: String,
    pub handler: Handler,
    pub attributes: Attributes,
    pub info: Info,
}

impl Sync {
    pub fn new(size: usize) -> Sync {
        let none = || vec![0; size];
        Sync {
            posted: none(),
            completed: none(),
            told: vec![[0; 2]; size],
            granted: vec![false; size],
            sent: vec![[0]; size],
            came: vec![0; size],
            ..Sync::default()
        }
    }
}

impl WinObject {
    pub fn comm(&self) -> &Comm {
        &self.object.comm
    }

    pub fn rank(&self) -> usize {
        self.comm().rank() as usize
    }

    pub fn context(&self) -> u32 {
        self.comm().base_context()
    }

    pub fn is_dynamic(&self) -> bool {
        self.values.flavor == MPI_WIN_FLAVOR_DYNAMIC
    }

    /// How messages name the window.
    pub fn shown(&self) -> String {
        let name = self.extras.borrow().name.clone();
        let what = if name.is_empty() { "a window".to_owned() } else { format!("window {name:?}") };
        format!("{what} of {} ranks", self.peers.len())
    }
}

impl Objects {
    /// The window of a handle, if there is one.
    #[inline(always)]
    pub fn find_window(&self, handle: MPI_Win) -> Option<&Rc<WinObject>> {
        self.windows.get(handle.0)
    }

    /// The window of a handle.
    #[inline(always)]
    pub fn window(&self, handle: MPI_Win) -> Result<&Rc<WinObject>> {
        self.find_window(handle)
            .ok_or_else(|| bad_handle(Class::Win, "win", handle == MPI_WIN_NULL, handle.0))
    }

    /// The window whose messages have this context id.
    pub fn window_of_context(&self, context: u32) -> Option<&Rc<WinObject>> {
        self.windows.iter().map(|(_, window)| window).find(|window| window.context() == context)
    }

    /// Keeps a window and returns its handle.
    pub fn add_window(&mut self, window: Rc<WinObject>) -> Result<MPI_Win> {
        self.windows.insert(window).map(MPI_Win).ok_or_else(|| too_many("windows"))
    }
}
