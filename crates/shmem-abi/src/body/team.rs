//! Teams (section 9.4): each is a communicator.

use crate::ends::{self, Calls};
use crate::state::{State, state};
use crate::types::{NO_TEAM, Name, SHARED, TEAM_NUM_CONTEXTS, Team, TeamConfig, WORLD};
use core::ffi::{c_int, c_long};
use hpvm_abi::constants::{
    MPI_COMM_NULL, MPI_Comm, MPI_ERRORS_RETURN, MPI_INT, MPI_MIN, MPI_UNDEFINED,
};
use hpvm_model::{done, fail, mpi};
use hpvm_shmem::Strided;
use std::sync::Arc;

/// A team, as a member knows it.
pub struct TeamObject {
    pub comm: MPI_Comm,
    /// PEs of the world, by number in the team.
    pub members: Box<[u32]>,
    pub me: usize,
    pub num_contexts: c_int,
    /// Its collectives.
    pub calls: Calls,
}

impl TeamObject {
    /// Refuses what differs between its PEs and would make addresses differ.
    pub fn same(&self, name: Name, what: &str, mine: u64, all: impl Iterator<Item = u64>) {
        if let Some((other, theirs)) = all.enumerate().find(|(_, theirs)| *theirs != mine) {
            let me = self.me;
            let text =
                format!("{what}: {mine} on PE {me}, {theirs} on PE {other}; expected the same");
            fail(name, &text);
        }
    }

    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The number in the team of a PE of the world.
    fn number_of(&self, pe: u32) -> Option<usize> {
        self.members.iter().position(|member| *member == pe)
    }
}

impl State {
    /// The team of a handle. `None`: the handle is of none.
    #[inline(always)]
    pub fn team(&self, team: Team) -> Option<&Arc<TeamObject>> {
        match team {
            WORLD => Some(&self.world),
            SHARED => Some(&self.shared),
            team => self.teams.get(team.0),
        }
    }
}

/// The team of a handle that may be `SHMEM_TEAM_INVALID`, for which `None` stands.
#[inline(always)]
pub fn checked(s: &'static State, name: Name, team: Team) -> Option<&'static Arc<TeamObject>> {
    s.team(team).or_else(|| none(name, team))
}

#[cold]
fn none(name: Name, team: Team) -> Option<&'static Arc<TeamObject>> {
    if team != NO_TEAM {
        fail(name, &format!("{:#x} is no team, or one that has been destroyed", team.0));
    }
    None
}

/// Members of a communicator that were handed out return errors to this library, which tells the program.
pub fn quieten(name: Name, comm: MPI_Comm) {
    // SAFETY: a communicator of our own.
    done(name, unsafe { (mpi().MPI_Comm_set_errhandler)(comm, MPI_ERRORS_RETURN) });
}

pub unsafe fn my_pe(name: Name, team: Team) -> c_int {
    checked(state(name), name, team).map_or(-1, |team| team.me as c_int)
}

pub unsafe fn n_pes(name: Name, team: Team) -> c_int {
    checked(state(name), name, team).map_or(-1, |team| team.size() as c_int)
}

pub unsafe fn get_config(name: Name, team: Team, mask: c_long, config: *mut TeamConfig) -> c_int {
    let Some(team) = checked(state(name), name, team) else { return -1 };
    if mask & TEAM_NUM_CONTEXTS != 0 {
        if config.is_null() {
            fail(name, "config is null, and config_mask asks for a value");
        }
        // SAFETY: not null; the program's structure.
        unsafe { (*config).num_contexts = team.num_contexts };
    }
    0
}

pub unsafe fn translate_pe(name: Name, from: Team, pe: c_int, to: Team) -> c_int {
    let s = state(name);
    let (Some(from), Some(to)) = (checked(s, name, from), checked(s, name, to)) else { return -1 };
    let world = usize::try_from(pe).ok().and_then(|pe| from.members.get(pe));
    world.and_then(|pe| to.number_of(*pe)).map_or(-1, |number| number as c_int)
}

/// What a configuration asks for.
///
/// # Safety
/// `config` is null or valid.
unsafe fn contexts(config: *const TeamConfig, mask: c_long) -> c_int {
    match mask & TEAM_NUM_CONTEXTS != 0 && !config.is_null() {
        // SAFETY: the caller's promise.
        true => unsafe { (*config).num_contexts },
        false => 0,
    }
}

/// Ends the job if the program gives no place for a handle.
pub fn expect_place<T>(name: Name, what: &str, place: *mut T) {
    if place.is_null() {
        fail(name, &format!("{what} is null; expected the address of a handle"));
    }
}

/// Whether all PEs of a team that become members of a new one have room for it: it is made on all or on none.
fn all_have_room(s: &State, name: Name, parent: &TeamObject, member: bool) -> bool {
    let (own, mut least) = (c_int::from(!member || s.teams.has_room()), 0);
    let (from, to) = ((&raw const own).cast(), (&raw mut least).cast());
    // SAFETY: a number each.
    done(name, unsafe { (mpi().MPI_Allreduce)(from, to, 1, MPI_INT, MPI_MIN, parent.comm) });
    least != 0
}

/// Splits a parent: those with the same color become a team, in the order of `members`. `None` of them: this PE is in
/// none. Returns `None` on all PEs if a member has as many teams as it can have.
fn split(
    s: &State,
    name: Name,
    parent: &TeamObject,
    group: Option<(c_int, Vec<u32>)>,
    num_contexts: c_int,
) -> Option<Team> {
    let me = parent.members[parent.me];
    let place = group.and_then(|(color, members)| {
        members.iter().position(|pe| *pe == me).map(|number| (color, number, members))
    });
    parent.calls.join(name);
    if !all_have_room(s, name, parent, place.is_some()) {
        return None;
    }
    let (color, key) = place.as_ref().map_or((MPI_UNDEFINED, 0), |(c, n, _)| (*c, *n as c_int));
    let mut comm = MPI_COMM_NULL;
    // SAFETY: a valid communicator and a place for another.
    done(name, unsafe { (mpi().MPI_Comm_split)(parent.comm, color, key, &mut comm) });
    let Some((_, number, members)) = place else { return Some(NO_TEAM) };
    quieten(name, comm);
    let id = ends::id_of_team([parent.calls.id(), parent.calls.number(), color as u64]);
    let (members, calls) = (members.into(), Calls::of(id));
    let object = TeamObject { comm, members, me: number, num_contexts, calls };
    match s.teams.insert(Arc::new(object)) {
        Some(handle) => Some(Team(handle)),
        // Another thread has taken it meanwhile.
        None => fail(name, &format!("there are {} teams already", hpvm_model::MAX)),
    }
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn split_strided(
    name: Name,
    parent: Team,
    start: c_int,
    stride: c_int,
    size: c_int,
    config: *const TeamConfig,
    mask: c_long,
    new_team: *mut Team,
) -> c_int {
    let s = state(name);
    expect_place(name, "new_team", new_team);
    // SAFETY: not null; the program's place for a handle, here and below.
    unsafe { *new_team = NO_TEAM };
    let Some(parent) = checked(s, name, parent) else { return -1 };
    let set = Strided { start, stride, size };
    let Ok(numbers) = set.members(parent.size() as u32) else { return -1 };
    let members = numbers.iter().map(|number| parent.members[*number as usize]).collect();
    // SAFETY: the program's structure, if it is not null.
    let contexts = unsafe { contexts(config, mask) };
    let Some(made) = split(s, name, parent, Some((0, members)), contexts) else { return -1 };
    // SAFETY: as above.
    unsafe { *new_team = made };
    0
}

#[expect(clippy::too_many_arguments, reason = "as the standard has them")]
pub unsafe fn split_2d(
    name: Name,
    parent: Team,
    xrange: c_int,
    xaxis_config: *const TeamConfig,
    xaxis_mask: c_long,
    xaxis_team: *mut Team,
    yaxis_config: *const TeamConfig,
    yaxis_mask: c_long,
    yaxis_team: *mut Team,
) -> c_int {
    let s = state(name);
    expect_place(name, "xaxis_team", xaxis_team);
    expect_place(name, "yaxis_team", yaxis_team);
    // SAFETY: not null; the program's places for handles, here and below.
    unsafe { (*xaxis_team, *yaxis_team) = (NO_TEAM, NO_TEAM) };
    let Some(parent) = checked(s, name, parent) else { return -1 };
    let Some(width) = usize::try_from(xrange).ok().filter(|x| *x > 0) else { return -1 };
    let (width, me) = (width.min(parent.size()), parent.me);
    let pes = |numbers: &mut dyn Iterator<Item = usize>| -> Vec<u32> {
        numbers.filter_map(|number| parent.members.get(number).copied()).collect()
    };
    let (row, column) = (me / width, me % width);
    let in_row = pes(&mut (row * width..(row + 1) * width));
    let in_column = pes(&mut (column..parent.size()).step_by(width));
    // SAFETY: the program's structures, if they are not null.
    let asked = unsafe { (contexts(xaxis_config, xaxis_mask), contexts(yaxis_config, yaxis_mask)) };
    let Some(x) = split(s, name, parent, Some((row as c_int, in_row)), asked.0) else {
        return -1;
    };
    let Some(y) = split(s, name, parent, Some((column as c_int, in_column)), asked.1) else {
        // All members of all rows are here.
        if let Some(object) = s.teams.remove(x.0) {
            free(name, &object);
        }
        return -1;
    };
    // SAFETY: as above.
    unsafe { (*xaxis_team, *yaxis_team) = (x, y) };
    0
}

pub unsafe fn destroy(name: Name, team: Team) {
    let s = state(name);
    if matches!(team, WORLD | SHARED) {
        fail(name, "SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED are not destroyed by the program");
    }
    let Some(object) = checked(s, name, team) else { return };
    // Its contexts that can be shared end with it.
    for ctx in s.contexts.handles() {
        if s.contexts.get(ctx).is_some_and(|c| Arc::ptr_eq(&c.team, object)) {
            s.contexts.remove(ctx);
        }
    }
    if let Some(object) = s.teams.remove(team.0) {
        free(name, &object);
    }
}

/// Frees the communicator of a team. All its members call this.
pub fn free(name: Name, team: &TeamObject) {
    let mut comm = team.comm;
    // SAFETY: a communicator of our own, which nobody uses any more.
    done(name, unsafe { (mpi().MPI_Comm_free)(&mut comm) });
}
