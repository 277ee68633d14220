//! Which communicator is which: a name that all of its ranks find, without a message.

use crate::log::Part;
use crate::mpi;
use core::ffi::c_int;
use hpvm_abi::constants::*;
use std::collections::HashMap;
use std::rc::Rc;

pub struct Parts {
    world: MPI_Group,
    by_handle: HashMap<usize, Rc<Part>>,
    /// How many communicators of the same ranks there have been.
    seen: HashMap<Vec<u32>, u32>,
}

impl Parts {
    pub fn new() -> Parts {
        let mut world = MPI_GROUP_NULL;
        // SAFETY: a place of ours.
        unsafe { (mpi().MPI_Comm_group)(MPI_COMM_WORLD, &mut world) };
        let ranks = members(world, world);
        let all = Rc::new(Part { ranks: ranks.unwrap_or_default(), ..Part::default() });
        let by_handle = HashMap::from([(MPI_COMM_WORLD.0, all)]);
        Parts { world, by_handle, seen: HashMap::new() }
    }

    /// What is known of a communicator; true if nothing was before.
    pub fn of(&mut self, comm: MPI_Comm) -> (Rc<Part>, bool) {
        match self.by_handle.get(&comm.0) {
            Some(part) => (part.clone(), false),
            None => (self.add(comm), true),
        }
    }

    /// Takes a new communicator. Its ranks call this in the same order, as they make communicators, so they give it the same name.
    pub fn add(&mut self, comm: MPI_Comm) -> Rc<Part> {
        let (mut inter, mut group) = (0, MPI_GROUP_NULL);
        // SAFETY: places of ours; the communicator is the program's.
        let ranks = unsafe {
            (mpi().MPI_Comm_test_inter)(comm, &mut inter);
            (mpi().MPI_Comm_group)(comm, &mut group);
            let ranks = members(group, self.world);
            (mpi().MPI_Group_free)(&mut group);
            ranks
        };
        let inter = inter != 0 || ranks.is_none();
        let ranks = ranks.unwrap_or_default();
        let nth = self.seen.entry(ranks.clone()).and_modify(|nth| *nth += 1).or_insert(0);
        // FNV-1a: the same everywhere.
        let hash = ranks.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, rank| {
            (hash ^ u64::from(*rank)).wrapping_mul(0x0100_0000_01b3)
        });
        let part = Rc::new(Part { id: format!("{hash:x}.{nth}"), ranks, inter });
        self.by_handle.insert(comm.0, part.clone());
        part
    }

    /// Its handle may be given to another one.
    pub fn forget(&mut self, comm: MPI_Comm) {
        if comm != MPI_COMM_WORLD {
            self.by_handle.remove(&comm.0);
        }
    }
}

/// The ranks of a group, as `world` numbers them. None if one is not there.
fn members(group: MPI_Group, world: MPI_Group) -> Option<Vec<u32>> {
    let mut size: c_int = 0;
    // SAFETY: a place of ours.
    unsafe { (mpi().MPI_Group_size)(group, &mut size) };
    let own: Vec<c_int> = (0..size).collect();
    let mut ranks = vec![MPI_UNDEFINED; own.len()];
    // SAFETY: both arrays have `size` places.
    unsafe {
        (mpi().MPI_Group_translate_ranks)(group, size, own.as_ptr(), world, ranks.as_mut_ptr())
    };
    ranks.into_iter().map(|rank| u32::try_from(rank).ok()).collect()
}
