//! Making and freeing windows (section 12.2).

use super::{hints, on_win, window};
use crate::body::check::{out, wrong};
use crate::body::{agree, attr};
use crate::generated::constants::*;
use crate::object::comm::{CommObject, Extras as CommExtras};
use crate::object::errhandler::Handler;
use crate::object::info::{self, Info};
use crate::object::win::{Extras, Memory, Peer, Sync, Values, WinObject, control_words};
use crate::raise::on_comm;
use crate::runtime::{Entered, World};
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::comm::build;
use hpvm_mpi::error::Result;
use hpvm_mpi::rma::Epochs;
use hpvm_mpi::rma::conflicts::Log;
use hpvm_onesided::{Path, RegionKey, Target};
use hpvm_transport::PeerMemory;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What a rank brings into a window that is being made.
pub(super) struct Ingredients {
    pub flavor: c_int,
    pub base: *mut u8,
    pub size: MPI_Aint,
    pub disp_unit: MPI_Aint,
    pub memory: Memory,
    pub info: Info,
}

/// The communicator of a window that is being made.
pub(super) struct Private {
    pub object: Arc<CommObject>,
    pub handle: MPI_Comm,
}

impl Private {
    /// A duplicate of a communicator that nothing else uses. All its ranks call this.
    pub fn of(w: &mut Entered, comm: MPI_Comm) -> Result<Private> {
        let parent = w.objects.comm(comm)?.comm.clone();
        if parent.is_inter() {
            let text = "windows are made on intracommunicators, and this is an intercommunicator";
            return Err(wrong(Class::Comm, text));
        }
        let made = build::dup(w, &parent)?;
        let extras = CommExtras { handler: Handler::Return, ..CommExtras::default() };
        let object = CommObject::with_extras(made, extras);
        let handle = w.objects.add_comm(object.clone())?;
        Ok(Private { object, handle })
    }

    pub fn size(&self) -> usize {
        self.object.comm.size() as usize
    }

    pub fn rank(&self) -> usize {
        self.object.comm.rank() as usize
    }

    pub fn free(&self, w: &mut Entered) {
        let mut handle = self.handle;
        // SAFETY: our own handle, which nobody else has.
        w.outside(|| unsafe { crate::body::comm::comm_free(&mut handle) });
    }
}

/// Checks a size and a displacement unit.
pub(super) fn check_shape(size: MPI_Aint, disp_unit: MPI_Aint) -> Result<()> {
    if size < 0 {
        return Err(wrong(Class::Size, format!("size is {size}; expected 0 or more")));
    }
    if disp_unit <= 0 {
        return Err(wrong(Class::Disp, format!("disp_unit is {disp_unit}; expected 1 or more")));
    }
    Ok(())
}

/// What ranks tell each other about their part: a key, then size and displacement unit.
const TOLD: usize = RegionKey::BYTES / 8 + 2;

/// Makes a window of what all ranks bring: all have it, or none, and then this rank's region is withdrawn. `attach`
/// finds out how a rank's region is reached.
pub(super) fn assemble(
    w: &mut Entered,
    private: &Private,
    part: Ingredients,
    key: RegionKey,
    attach: impl FnMut(&mut World, usize, &RegionKey) -> Result<Target>,
) -> Result<MPI_Win> {
    let key = match hints::accumulates_long(&part.info) {
        true => w.process.onesided().1.lock_atomics(&key),
        false => key,
    };
    let peers = meet(w, private, &part, key, attach);
    let made = peers.and_then(|peers| finish(w, private, part, key, peers));
    if made.is_err() {
        let (_, onesided) = w.process.onesided();
        onesided.withdraw(&key);
    }
    made
}

/// Tells the others of this rank's part, and learns theirs. An error of one rank is an error of all.
fn meet(
    w: &mut Entered,
    private: &Private,
    part: &Ingredients,
    key: RegionKey,
    mut attach: impl FnMut(&mut World, usize, &RegionKey) -> Result<Target>,
) -> Result<Box<[Peer]>> {
    let mut told = [0; TOLD];
    for (word, bytes) in told.iter_mut().zip(key.to_bytes().as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    (told[TOLD - 2], told[TOLD - 1]) = (part.size as u64, part.disp_unit as u64);
    let (comm, size) = (private.handle, private.size());
    let all = w.outside(|| agree::all_words(comm, size, told))?;
    let mut peer = |(rank, told): (usize, &[u64; TOLD])| {
        let mut bytes = [0; RegionKey::BYTES];
        for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(told) {
            *bytes = word.to_le_bytes();
        }
        let mut key = RegionKey::from_bytes(&bytes);
        // The number that the owner has in its own engine may be another one here.
        key.rank = private.object.comm.group().process(rank as u32).ok_or(Class::Intern)?;
        let target = attach(w, rank, &key)?;
        let (size, disp_unit) = (told[TOLD - 2], told[TOLD - 1] as i64);
        Ok(Peer { process: key.rank, target, size, disp_unit })
    };
    let peers = all.iter().enumerate().map(&mut peer).collect();
    w.outside(|| agree::together_on(comm, size, peers))
}

/// The window itself, once all ranks reach each other.
fn finish(
    w: &mut Entered,
    private: &Private,
    part: Ingredients,
    key: RegionKey,
    peers: Box<[Peer]>,
) -> Result<MPI_Win> {
    let size = private.size();
    let used = hints::initial(&part.info);
    let uses = w.audit.then(|| RefCell::new(vec![Log::default(); size]));
    let object = WinObject {
        object: private.object.clone(),
        comm: private.handle,
        key,
        memory: part.memory,
        distant: peers.iter().any(|peer| peer.target.control().is_none()),
        peers,
        locks: !hints::is_true(&used, "no_locks"),
        values: Values {
            base: part.base.addr(),
            size: part.size,
            disp_unit: c_int::try_from(part.disp_unit).unwrap_or(MPI_UNDEFINED),
            flavor: part.flavor,
            model: MPI_WIN_UNIFIED,
        },
        epochs: RefCell::new(Epochs::new(size)),
        sync: RefCell::new(Sync::new(size)),
        extras: RefCell::new(Extras { info: used, ..Extras::default() }),
        attached: RefCell::default(),
        plain: part.flavor != MPI_WIN_FLAVOR_DYNAMIC && uses.is_none(),
        uses,
    };
    let handle = w.objects.add_window(Rc::new(object))?;
    super::notices::deliver_early(w);
    w.adjust_progress_thread();
    Ok(handle)
}

/// How a rank's region is reached, as the one-sided layer chooses.
pub(super) fn attach(w: &mut World, key: &RegionKey) -> Result<Target> {
    let (fm, onesided) = w.process.onesided();
    onesided.attach(fm, key).map_err(|e| wrong(Class::Other, e.to_string()))
}

/// Lets others access memory of this rank, for a window of `ranks` ranks.
fn expose(w: &mut World, base: *mut u8, len: usize, ranks: usize) -> RegionKey {
    let (fm, onesided) = w.process.onesided();
    // SAFETY: the program has named the memory for this use; it stays until the window is freed.
    unsafe { onesided.expose(fm, base, len, control_words(ranks)) }
}

/// Makes a window of memory of each rank. The caller has checked nothing: all ranks learn who had a mistake.
fn create(
    w: &mut Entered,
    comm: MPI_Comm,
    part: impl FnOnce(&mut Entered) -> Result<Ingredients>,
) -> Result<MPI_Win> {
    let private = Private::of(w, comm)?;
    let part = part(w);
    let memory = part.as_ref().map_or(Memory::Program, |part| part.memory);
    let size = private.size();
    let part = w.outside(|| agree::together_on(private.handle, size, part));
    let made = part.and_then(|part| {
        let key = expose(w, part.base, part.size as usize, size);
        assemble(w, &private, part, key, |w, _, key| attach(w, key))
    });
    if made.is_err() {
        release(w, memory);
        private.free(w);
    }
    made
}

pub unsafe fn win_create(
    base: *mut c_void,
    size: MPI_Aint,
    disp_unit: MPI_Aint,
    info: MPI_Info,
    comm: MPI_Comm,
    win: *mut MPI_Win,
) -> c_int {
    on_comm("MPI_Win_create", comm, |w| {
        out("win", win)?;
        let made = create(w, comm, |_| {
            check_shape(size, disp_unit)?;
            if base.is_null() && size > 0 {
                return Err(wrong(Class::Base, format!("base is null, and size {size}")));
            }
            Ok(Ingredients {
                flavor: MPI_WIN_FLAVOR_CREATE,
                base: base.cast(),
                size,
                disp_unit,
                memory: Memory::Program,
                info: info::copy_or_empty(info)?,
            })
        })?;
        // SAFETY: checked above.
        unsafe { *win = made };
        Ok(())
    })
}

pub unsafe fn win_allocate(
    size: MPI_Aint,
    disp_unit: MPI_Aint,
    info: MPI_Info,
    comm: MPI_Comm,
    baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> c_int {
    on_comm("MPI_Win_allocate", comm, |w| {
        out("win", win)?;
        out("baseptr", baseptr)?;
        let made = create(w, comm, |w| {
            check_shape(size, disp_unit)?;
            let info = info::copy_or_empty(info)?;
            let lends = info.get("alloc_shm") != Some("false");
            let (base, memory) = allocate(w, size as usize, lends)?;
            let flavor = MPI_WIN_FLAVOR_ALLOCATE;
            Ok(Ingredients { flavor, base, size, disp_unit, memory, info })
        })?;
        let base = w.objects.window(made)?.values.base;
        // SAFETY: checked above; `baseptr` is the address of the program's pointer.
        unsafe {
            *baseptr.cast::<usize>() = base;
            *win = made;
        }
        Ok(())
    })
}

/// Memory that the ranks of the host can map, if there is any.
pub(super) fn allocate(w: &mut World, bytes: usize, lends: bool) -> Result<(*mut u8, Memory)> {
    let bytes = bytes.max(1);
    let transport = w.process.fm_mut().transport_mut();
    if lends && let Some(memory) = transport.lend(bytes) {
        return Ok((memory.as_ptr(), Memory::Lent(memory.as_ptr().expose_provenance())));
    }
    let memory = crate::body::env::heap(bytes, crate::body::env::ALIGNMENT)?;
    Ok((memory.cast(), Memory::Heap(memory.expose_provenance())))
}

pub(super) fn release(w: &mut World, memory: Memory) {
    match memory {
        Memory::Program | Memory::Mapped => {}
        Memory::Lent(address) => {
            let memory = core::ptr::with_exposed_provenance_mut(address);
            w.process.fm_mut().transport_mut().take_back(memory);
        }
        // SAFETY: `allocate` had it from the heap, and it has not been freed.
        Memory::Heap(address) => unsafe {
            libc::free(core::ptr::with_exposed_provenance_mut(address));
        },
    }
}

pub unsafe fn win_free(win: *mut MPI_Win) -> c_int {
    const NAME: &str = "MPI_Win_free";
    if win.is_null() {
        return on_win(NAME, MPI_WIN_NULL, |_| out("win", win));
    }
    // SAFETY: not null; the caller's promise.
    let handle = unsafe { *win };
    on_win(NAME, handle, |w| {
        let window = window(w, handle)?;
        window.compare_calls(w, NAME)?;
        window.epochs.borrow().check_free()?;
        let attributes = std::mem::take(&mut window.extras.borrow_mut().attributes);
        if let Err((error, left)) = attr::delete_all(w, handle.0, attributes) {
            window.extras.borrow_mut().attributes = left;
            return Err(error);
        }
        super::flush::everywhere(w, &window)?;
        // From here on nobody accesses this rank's memory.
        super::notices::settle(w, &window)?;
        w.objects.windows.remove(handle.0);
        let (_, onesided) = w.process.onesided();
        onesided.withdraw(&window.key);
        w.adjust_progress_thread();
        release(w, window.memory);
        let mut comm = window.comm;
        // SAFETY: the window's own handle, which nobody else has.
        w.outside(|| unsafe { crate::body::comm::comm_free(&mut comm) });
        // SAFETY: as above.
        unsafe { *win = MPI_WIN_NULL };
        Ok(())
    })
}

/// Where a rank's memory lies in this process, if this process can load and store there.
pub(super) fn address(target: &Target) -> Option<*mut u8> {
    match target.path() {
        Path::Mapped(base) => Some(base),
        _ => None,
    }
}
