//! Windows whose memory all ranks load from and store to (sections 12.2.3 and 12.2.5).

use super::create::{Ingredients, Private, address, allocate, assemble, check_shape, release};
use super::{hints, on_win, window};
use crate::args::CountOut;
use crate::body::agree;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::info;
use crate::object::win::{Memory, Peer, WinObject, control_words};
use crate::raise::on_comm;
use crate::runtime::{Entered, World};
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use hpvm_transport::PeerMemory;

/// The memory of all ranks as this rank sees it.
struct Layout {
    /// Where the part of each rank begins in this process.
    bases: Vec<*mut u8>,
    /// What this rank has allocated.
    memory: Memory,
}

pub unsafe fn win_allocate_shared(
    size: MPI_Aint,
    disp_unit: MPI_Aint,
    info: MPI_Info,
    comm: MPI_Comm,
    baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> c_int {
    on_comm("MPI_Win_allocate_shared", comm, |w| {
        out("win", win)?;
        out("baseptr", baseptr)?;
        let private = Private::of(w, comm)?;
        let arguments = check_shape(size, disp_unit).and_then(|()| info::copy_or_empty(info));
        let made = make(w, &private, size, disp_unit, arguments);
        if made.is_err() {
            private.free(w);
        }
        let made = made?;
        let base = w.objects.window(made)?.values.base;
        // SAFETY: checked above; `baseptr` is the address of the program's pointer.
        unsafe {
            *baseptr.cast::<usize>() = base;
            *win = made;
        }
        Ok(())
    })
}

fn make(
    w: &mut Entered,
    private: &Private,
    size: MPI_Aint,
    disp_unit: MPI_Aint,
    info: Result<info::Info>,
) -> Result<MPI_Win> {
    let (comm, ranks) = (private.handle, private.size());
    let info = w.outside(|| agree::together_on(comm, ranks, info))?;
    let apart = hints::is_true(&info, "alloc_shared_noncontig");
    let told = w.outside(|| agree::all_words(comm, ranks, [size as u64, u64::from(apart)]))?;
    let sizes: Vec<usize> = told.iter().map(|[size, _]| *size as usize).collect();
    // Apart only where all agree to it.
    let layout = match told.iter().all(|[_, apart]| *apart == 1) {
        true => apart_from_each_other(w, private, &sizes),
        false => one_after_the_other(w, private, &sizes),
    }?;
    let me = private.rank();
    let (fm, onesided) = w.process.onesided();
    // SAFETY: memory that is shared for this use, until the window is freed.
    let key = unsafe {
        onesided.expose_mapped(fm, layout.bases[me], size as usize, control_words(ranks))
    };
    let base = layout.bases[me];
    let memory = layout.memory;
    let flavor = MPI_WIN_FLAVOR_SHARED;
    let part = Ingredients { flavor, base, size, disp_unit, memory, info };
    let made = assemble(w, private, part, key, |w, rank, key| {
        let (fm, onesided) = w.process.onesided();
        // SAFETY: mapped for the life of the transport, and the same memory everywhere.
        let target = unsafe { onesided.attach_mapped(fm, key, layout.bases[rank]) };
        target.map_err(|e| wrong(Class::RmaShared, e.to_string()))
    });
    if made.is_err() {
        release(w, memory);
    }
    made
}

/// Where memory that `rank` lends lies in this process.
fn map(
    w: &mut World,
    private: &Private,
    rank: usize,
    told: &[u64; 2],
    len: usize,
) -> Result<*mut u8> {
    let process = private.object.comm.group().process(rank as u32).unwrap_or(u32::MAX);
    let (lent, at) = (told[0] == 1, told[1]);
    if process == w.job.rank {
        return Ok(core::ptr::with_exposed_provenance_mut(at as usize));
    }
    let transport = w.process.fm_mut().transport_mut();
    let mapped = if lent { transport.mapped_mut(process, at, len.max(1) as u64) } else { None };
    mapped.map(|base| base.as_ptr()).ok_or_else(|| {
        let text = format!(
            "rank {} can't map memory of rank {rank}: all ranks must be on one host that has shared memory; \
             MPI_Comm_split_type with MPI_COMM_TYPE_SHARED makes such communicators",
            private.rank()
        );
        wrong(Class::RmaShared, text)
    })
}

/// The contiguous layout, in memory of rank 0.
fn one_after_the_other(w: &mut Entered, private: &Private, sizes: &[usize]) -> Result<Layout> {
    let (comm, ranks) = (private.handle, sizes.len());
    let total = sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size));
    let first = private.rank() == 0;
    let made = match total {
        None => Err(wrong(Class::Size, "the sizes of all ranks are more than memory can hold")),
        Some(total) if first => allocate(w, total, true).map(|(base, memory)| (Some(base), memory)),
        Some(_) => Ok((None, Memory::Mapped)),
    };
    let (base, memory) = w.outside(|| agree::together_on(comm, ranks, made))?;
    let told = told(base, memory);
    let all = w.outside(|| agree::all_words(comm, ranks, told))?;
    let start = map(w, private, 0, &all[0], total.unwrap_or(0));
    let start = w.outside(|| agree::together_on(comm, ranks, start));
    let start = start.inspect_err(|_| release(w, memory))?;
    let mut at = 0;
    let mut place = |size: &usize| {
        let base = start.wrapping_add(at);
        at += size;
        base
    };
    Ok(Layout { bases: sizes.iter().map(&mut place).collect(), memory })
}

/// Memory of each rank's own.
fn apart_from_each_other(w: &mut Entered, private: &Private, sizes: &[usize]) -> Result<Layout> {
    let (comm, ranks) = (private.handle, sizes.len());
    let made = allocate(w, sizes[private.rank()], true);
    let (base, memory) = w.outside(|| agree::together_on(comm, ranks, made))?;
    let told = told(Some(base), memory);
    let all = w.outside(|| agree::all_words(comm, ranks, told))?;
    let bases: Result<Vec<_>> =
        (0..ranks).map(|rank| map(w, private, rank, &all[rank], sizes[rank])).collect();
    let bases = w.outside(|| agree::together_on(comm, ranks, bases));
    let bases = bases.inspect_err(|_| release(w, memory))?;
    Ok(Layout { bases, memory })
}

/// What others must know of memory: whether it is lent, and where it lies.
fn told(base: Option<*mut u8>, memory: Memory) -> [u64; 2] {
    let lent = matches!(memory, Memory::Lent(_));
    [u64::from(lent), base.map_or(0, |base| base.expose_provenance() as u64)]
}

pub unsafe fn win_shared_query(
    win: MPI_Win,
    rank: c_int,
    size: *mut MPI_Aint,
    disp_unit: CountOut,
    baseptr: *mut c_void,
) -> c_int {
    on_win("MPI_Win_shared_query", win, |w| {
        let window = window(w, win)?;
        out("size", size)?;
        out("baseptr", baseptr)?;
        if window.is_dynamic() {
            let text = format!("{} was made by MPI_Win_create_dynamic", window.shown());
            return Err(wrong(Class::RmaFlavor, text));
        }
        let found = match window.rank_of(rank)? {
            Some(rank) => shared(&window, &window.peers[rank]),
            // The lowest rank with memory.
            None => {
                let some = window.peers.iter().find(|peer| peer.size > 0);
                some.and_then(|peer| shared(&window, peer))
            }
        };
        let (bytes, unit, base) = found.unwrap_or((0, 1, 0));
        // SAFETY: checked above; the others are places of the program.
        unsafe {
            *size = bytes;
            disp_unit.set(unit);
            *baseptr.cast::<usize>() = base;
        }
        Ok(())
    })
}

/// Size, displacement unit and address of memory that this process can load from and store to.
fn shared(window: &WinObject, peer: &Peer) -> Option<(MPI_Aint, i64, usize)> {
    if peer.size == 0 {
        // Others give no address for nothing, and programs ask.
        return Some((0, peer.disp_unit, 0));
    }
    let own = peer.process == window.peers[window.rank()].process;
    let base = if own { window.values.base } else { address(&peer.target)?.expose_provenance() };
    Some((peer.size as MPI_Aint, peer.disp_unit, base))
}
