//! Begin and end (sections 9.1 and 9.2). The engine is MPI's; this library is one of its uses, a session, so programs
//! may use MPI as well, before and after.

use super::team::{TeamObject, free, quieten};
use super::{coll, set};
use crate::ends::{self, Calls};
use crate::place::{self, BESIDES, HEAP_ALIGNMENT};
use crate::races;
use crate::settings::Settings;
use crate::shared_static::{self, Alias};
use crate::state::{Parts, Region, State, current, install, remove, state};
use crate::static_data;
use crate::types::Name;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use hpvm_abi::constants::{
    MPI_BYTE, MPI_COMM_NULL, MPI_COMM_TYPE_SHARED, MPI_Comm, MPI_INFO_NULL, MPI_INT, MPI_MIN,
    MPI_REQUEST_NULL, MPI_STATUS_IGNORE,
};
use hpvm_abi::onesided::{Attached, Key};
use hpvm_model::{done, fail, fits, mpi, onesided, say, session};
use std::io::Write;
use std::sync::{Arc, Mutex, Once, PoisonError};

/// Calls of `shmem_init` without their `shmem_finalize`.
static USES: Mutex<u32> = Mutex::new(0);

pub unsafe fn init(name: Name) {
    begin(name, 0);
}

pub unsafe fn start_pes(name: Name, _: c_int) {
    if current().is_none() {
        begin(name, 0);
    }
}

pub unsafe fn init_thread(name: Name, requested: c_int, provided: *mut c_int) -> c_int {
    if !(0..=3).contains(&requested) {
        fail(name, &format!("requested is {requested}; expected SHMEM_THREAD_SINGLE to MULTIPLE"));
    }
    let level = begin(name, requested);
    if !provided.is_null() {
        // SAFETY: the program's place for a number.
        unsafe { *provided = level };
    }
    0
}

/// Begins a use; the thread level in force.
fn begin(name: Name, level: c_int) -> c_int {
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    *uses += 1;
    if let Some(state) = current() {
        return state.level;
    }
    if !fits() {
        fail(name, "liboshmem.so.1 and libmpi_abi.so.1 are of different versions of hpvm");
    }
    let settings = match Settings::read() {
        Ok(settings) => settings,
        Err(why) => fail(name, &why),
    };
    install(join(name, level, &settings));
    // SAFETY: a function of this library.
    unsafe { (onesided().on_long_wait)(Some(ends::look)) };
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| hpvm_model::at_exit(at_exit));
    level
}

/// Returning from `main` without `shmem_finalize` is as if it had been called; an exit with an error is none.
fn at_exit(status: c_int) {
    if status == 0 && current().is_some() {
        *USES.lock().unwrap_or_else(PoisonError::into_inner) = 0;
        end(c"exit".as_ptr(), true);
    }
}

/// A team of a communicator whose members are known by asking.
fn team(name: Name, comm: MPI_Comm, me_in_world: u32, id: u64) -> TeamObject {
    let (mut me, mut size) = (0, 0);
    // SAFETY: places for numbers.
    unsafe {
        done(name, (mpi().MPI_Comm_rank)(comm, &mut me));
        done(name, (mpi().MPI_Comm_size)(comm, &mut size));
    }
    let mut members = vec![0_u32; size as usize];
    let (from, to) = ((&raw const me_in_world).cast(), members.as_mut_ptr().cast());
    // SAFETY: four bytes of each.
    done(name, unsafe { (mpi().MPI_Allgather)(from, 4, MPI_BYTE, to, 4, MPI_BYTE, comm) });
    TeamObject {
        comm,
        members: members.into(),
        me: me as usize,
        num_contexts: 0,
        calls: Calls::of(id),
    }
}

/// Lets all PEs access `len` bytes at `base`, which others find at `lent`, and `behind` more bytes that are not the program's, and learns how
/// theirs are reached. All PEs call this for the same region.
fn region(
    name: Name,
    world: &TeamObject,
    (base, lent): (usize, usize),
    (len, behind): (usize, usize),
    what: &'static str,
) -> Region {
    let memory = core::ptr::with_exposed_provenance_mut::<c_void>(lent);
    let mut key: Key = [0; size_of::<Key>()];
    // SAFETY: the heap, or static data: memory that the program expects others to change.
    done(name, unsafe { (onesided().expose)(memory, len + behind, &mut key) });
    let mut keys = vec![key; world.size()];
    let bytes = size_of::<Key>() as c_int;
    // SAFETY: a key of each.
    done(name, unsafe {
        let (from, to) = (key.as_ptr().cast(), keys.as_mut_ptr().cast());
        (mpi().MPI_Allgather)(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, world.comm)
    });
    let attach = |key: &Key| {
        let mut there = Attached { target: null_mut(), base: null_mut(), locked: 0 };
        // SAFETY: a key that its owner has made.
        done(name, unsafe { (onesided().attach)(key, &mut there) });
        there
    };
    let mut there: Box<[Attached]> = keys.iter().map(attach).collect();
    let own = &mut there[world.me];
    if !own.base.is_null() {
        // Where the program has it.
        own.base = core::ptr::with_exposed_provenance_mut(base);
    }
    Region { base, len, what, key, there }
}

/// Refuses static data whose size differs between PEs.
fn same_static_data(name: Name, world: &TeamObject, mine: u64) {
    let mut all = vec![0_u64; world.size()];
    // SAFETY: eight bytes of each.
    done(name, unsafe {
        let (from, to) = ((&raw const mine).cast(), all.as_mut_ptr().cast());
        (mpi().MPI_Allgather)(from, 8, MPI_BYTE, to, 8, MPI_BYTE, world.comm)
    });
    world.same(name, "the size of the program's static data", mine, all.into_iter());
}

/// The PEs of this host, if they reach each other's heaps by loads and stores; else this PE alone.
fn shared(name: Name, world: &TeamObject, heap: &Region) -> TeamObject {
    let (mut near, mut chosen) = (MPI_COMM_NULL, MPI_COMM_NULL);
    let me = world.me as c_int;
    // SAFETY: a communicator and a place for another.
    done(name, unsafe {
        (mpi().MPI_Comm_split_type)(world.comm, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &mut near)
    });
    quieten(name, near);
    let near = team(name, near, world.me as u32, ends::SHARED);
    let mapped = |pe: &u32| !heap.there[*pe as usize].base.is_null();
    let (mine, mut all) = (c_int::from(near.members.iter().all(mapped)), 0);
    // SAFETY: places for one number.
    done(name, unsafe {
        let (from, to) = ((&raw const mine).cast(), (&raw mut all).cast());
        (mpi().MPI_Allreduce)(from, to, 1, MPI_INT, MPI_MIN, near.comm)
    });
    if all != 0 {
        return near;
    }
    // SAFETY: as above.
    done(name, unsafe { (mpi().MPI_Comm_split)(near.comm, me, 0, &mut chosen) });
    free(name, &near);
    quieten(name, chosen);
    team(name, chosen, world.me as u32, ends::SHARED)
}

/// The part of `shmem_init` that happens once: all PEs meet.
fn join(name: Name, level: c_int, settings: &Settings) -> State {
    let (session, comm) = session(name, level, c"hpvm-shmem");
    let mut rank = 0;
    // SAFETY: a place for a number.
    done(name, unsafe { (mpi().MPI_Comm_rank)(comm, &mut rank) });
    let world = team(name, comm, rank as u32, ends::WORLD);
    let len = settings.heap.checked_next_multiple_of(4096).unwrap_or(settings.heap).max(4096);
    let memory = place::memory(name, &world, len);
    let heap = memory.expose_provenance().next_multiple_of(HEAP_ALIGNMENT);
    // Before memory is exposed, which may start a thread.
    let segments = static_data::segments();
    let shares = settings.shares_static_data && world.size() > 1;
    let aliases: Vec<Option<Alias>> = segments
        .iter()
        .map(|s| if shares { shared_static::share(name, s, &segments) } else { None })
        .collect();
    let mut regions =
        vec![region(name, &world, (heap, heap), (len, ends::BYTES), "symmetric heap")];
    let shared = shared(name, &world, &regions[0]);
    let lengths = segments.iter().fold(segments.len() as u64, |sum, s| sum << 1 ^ s.len() as u64);
    same_static_data(name, &world, lengths);
    let data = segments.iter().zip(&aliases).map(|(s, alias)| {
        let lent = alias.as_ref().map_or(s.start, |alias| alias.lent(s.start));
        region(name, &world, (s.start, lent), (s.len(), 0), "static data")
    });
    regions.extend(data);
    if rank == 0 {
        // Nobody may be there to read.
        let _ = std::io::stdout().write_all(settings.told().as_bytes());
    }
    let state = State::new(Parts {
        regions,
        memory: memory.addr(),
        aliases: aliases.into_iter().flatten().collect(),
        me: rank as usize,
        checks: settings.checks,
        debug: settings.debug,
        level,
        session,
        world: Arc::new(world),
        shared: Arc::new(shared),
    });
    if settings.debug {
        let mapped = state.bases.iter().filter(|base| **base != 0).count();
        let data = |region: &&Region| region.there.iter().all(|there| !there.base.is_null());
        say(&format!(
            "hpvm: PE {rank} of {}: the heaps of {mapped} PEs are mapped, the static data of {}; {}",
            state.n_pes,
            if state.regions[1..].iter().all(|r| data(&r)) { "all" } else { "fewer" },
            state.regions.iter().map(Region::shown).collect::<Vec<_>>().join(", ")
        ));
    }
    coll::barrier(name, state.world_comm);
    state
}

pub unsafe fn finalize(name: Name) {
    let last = {
        let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
        *uses = uses.saturating_sub(1);
        *uses == 0
    };
    match last {
        true => end(name, false),
        // SAFETY: nothing is asked.
        false => unsafe { coll::barrier_all(name) },
    }
}

/// Blocks until all PEs are at their end. A nonblocking barrier never matches a blocking one, so no PE takes this for one of the
/// program's.
fn meet_at_end(name: Name, s: &State) {
    let mut request = MPI_REQUEST_NULL;
    // SAFETY: a communicator of our own, and a place for a request.
    unsafe {
        done(name, (mpi().MPI_Ibarrier)(s.world_comm, &mut request));
        done(name, (mpi().MPI_Wait)(&mut request, MPI_STATUS_IGNORE));
    }
}

/// Gives everything back; if the process `exits`, not what then goes anyway. All PEs call this.
fn end(name: Name, exits: bool) {
    let s = state(name);
    s.quiet(name);
    ends::tell(s, exits);
    meet_at_end(name, s);
    if s.checks {
        races::all_meet(s, name);
    }
    for handle in s.teams.handles() {
        if let Some(team) = s.teams.remove(handle) {
            free(name, &team);
        }
    }
    set::free_all(s, name);
    let Some(s) = remove() else { return };
    for region in &s.regions {
        // SAFETY: attached and exposed by `region`; all PEs are past their last access.
        unsafe {
            region.there.iter().for_each(|there| (onesided().detach)(there.target));
            done(name, (onesided().withdraw)(&region.key));
        }
    }
    let memory = core::ptr::with_exposed_provenance_mut(s.memory);
    // SAFETY: `allocate` returned it, with this size.
    unsafe { (onesided().release)(memory, s.regions[0].len + BESIDES) };
    if !exits {
        s.aliases.iter().for_each(shared_static::unshare);
    }
    free(name, &s.shared);
    free(name, &s.world);
    // SAFETY: takes no function of ours any more.
    unsafe { (onesided().on_long_wait)(None) };
    let mut session = s.session;
    // SAFETY: our own.
    done(name, unsafe { (mpi().MPI_Session_finalize)(&mut session) });
}

pub unsafe fn global_exit(name: Name, status: c_int) -> ! {
    state(name);
    // SAFETY: what the C library has buffered is written; then the job ends.
    unsafe {
        libc::fflush(null_mut());
        (onesided().end_job)(status)
    }
}
