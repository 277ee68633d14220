//! Making communicators (MPI 5.0, section 7.4.2 and 7.6.2).
//!
//! These calls block in the standard, so they are written as straight scripts over a [`Host`] that
//! can wait. The non-blocking `MPI_Comm_idup` uses the agreement of `context` directly.

use crate::collective::{Data, Plan};
use crate::comm::{Channel, Comm};
use crate::context::{Agreed, FROM_GROUP};
use crate::datatype::Datatype;
use crate::error::{Class, Error, Result};
use crate::group::Group;
use crate::matching::Pattern;
use crate::process::Process;
use crate::pt2pt::{Incoming, Mode, Outgoing, Started};
use crate::request::{Outcome, ReqId};
use hpvm_coll::Exchange;
use hpvm_fm::{Rank, Transport};
use std::sync::Arc;

/// Who runs a process and can wait: the C library behind its lock, or a test on the virtual
/// network.
pub trait Host {
    type T: Transport;
    /// Uses the process. Never blocks inside.
    fn with<R>(&mut self, f: impl FnOnce(&mut Process<Self::T>) -> R) -> R;
    /// Blocks until the request is done, without freeing it.
    fn wait_only(&mut self, id: ReqId) -> Result<()>;
    /// Blocks until the request is done, and frees it.
    fn wait(&mut self, id: ReqId) -> Result<Outcome> {
        self.wait_only(id)?;
        self.with(|p| p.take_outcome(id)).ok_or_else(|| Class::Intern.into())
    }
}

/// Waits, and makes an error of the request the error of the call.
fn finish(host: &mut impl Host, id: ReqId) -> Result<()> {
    match host.wait(id)?.error {
        Some(error) => Err(*error),
        None => Ok(()),
    }
}

/// A context id that no member of `comm` uses. `tag` keeps several agreements on the same channel
/// apart.
fn agree(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    channel: Channel,
    tag: Option<i32>,
) -> Result<u32> {
    loop {
        let agreement = host.with(|p| {
            let tag = tag.unwrap_or_else(|| comm.collective_tag());
            p.agree(comm, channel, tag)
        })?;
        let outcome = host.wait_only(agreement.request());
        let agreed = host.with(|p| p.agreed(agreement));
        outcome?;
        match agreed? {
            Agreed::Context(base) => return Ok(base),
            Agreed::Again => {}
        }
    }
}

/// Every member's `words`, one row after the other in rank order.
fn gather_words(host: &mut impl Host, comm: &Arc<Comm>, words: &[u64]) -> Result<Vec<u64>> {
    let bytes = size_of_val(words) as i64;
    let mut all = vec![0u64; words.len() * comm.size() as usize];
    let input = Exchange {
        rank: comm.rank(),
        size: comm.size(),
        root: 0,
        send_count: bytes,
        send_extent: 1,
        send_size: 1,
        recv_count: bytes,
        recv_extent: 1,
        recv_size: 1,
        in_place: false,
    };
    let byte = Datatype::byte();
    let data = Data::new(words.as_ptr().cast(), byte, all.as_mut_ptr().cast(), byte);
    let id = host.with(|p| {
        let schedule = hpvm_coll::allgather::schedule_with(&p.select, &input);
        // SAFETY: both buffers outlive the wait below.
        unsafe { p.start_collective(comm, Plan::new(schedule, data, None)) }
    });
    finish(host, id)?;
    Ok(all)
}

/// Sends `out` to `peer` and returns the words that come from it, at most `most`.
fn swap_words(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    channel: Channel,
    peer: Rank,
    tag: i32,
    out: &[u64],
    most: usize,
) -> Result<Vec<u64>> {
    let byte = Datatype::byte();
    let mut back = vec![0u64; most];
    let (recv, sent) = host.with(|p| {
        let m = Incoming { buf: back.as_mut_ptr().cast(), count: most as i64 * 8, ty: byte };
        let pattern = Pattern { src: peer, tag };
        // SAFETY: `back` and `out` outlive the waits below.
        let recv = unsafe { p.recv(m, comm, channel, pattern, None) };
        let m = Outgoing { buf: out.as_ptr().cast(), count: size_of_val(out) as i64, ty: byte };
        // SAFETY: as above.
        let sent = unsafe { p.send(m, peer, comm.context(channel), tag, Mode::Standard, None) };
        (recv, sent)
    });
    if let Started::Pending(id) = sent {
        finish(host, id)?;
    }
    let outcome = host.wait(recv)?;
    if let Some(error) = outcome.error {
        return Err(*error);
    }
    back.truncate(outcome.status.bytes as usize / 8);
    Ok(back)
}

/// Sends words from `root` of `comm` to all members.
fn spread_words(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    root: u32,
    mut words: Vec<u64>,
) -> Result<Vec<u64>> {
    // The length first: only the root knows it.
    let rows = gather_words(host, comm, &[words.len() as u64])?;
    words.resize(rows[root as usize] as usize, 0);
    let input = hpvm_coll::Broadcast {
        rank: comm.rank(),
        size: comm.size(),
        root,
        count: words.len() as i64 * 8,
        size_bytes: 1,
        contiguous: true,
    };
    let byte = Datatype::byte();
    let data = Data::new(core::ptr::null(), byte, words.as_mut_ptr().cast(), byte);
    let id = host.with(|p| {
        let schedule = hpvm_coll::bcast::schedule_with(&p.select, &input);
        // SAFETY: `words` outlives the wait below.
        unsafe { p.start_collective(comm, Plan::new(schedule, data, None)) }
    });
    finish(host, id)?;
    Ok(words)
}

fn me(host: &mut impl Host) -> Rank {
    host.with(|p| p.fm().rank())
}

fn not_a_member() -> Error {
    Error::new(Class::Intern, "the calling process is not a member of its own communicator")
}

/// `MPI_Comm_dup`: the same groups, a new context.
pub fn dup(host: &mut impl Host, comm: &Arc<Comm>) -> Result<Arc<Comm>> {
    let base = match comm.is_inter() {
        false => agree(host, comm, Channel::Collective, None)?,
        true => agree_across(host, comm)?,
    };
    same_groups(comm, base, me(host))
}

/// A communicator with the groups of `comm` and another context.
pub fn same_groups(comm: &Comm, base: u32, me: Rank) -> Result<Arc<Comm>> {
    match comm.remote_group() {
        None => Comm::intra(base, comm.group().clone(), me),
        Some(remote) => Comm::inter(base, comm.group().clone(), remote.clone(), me),
    }
    .ok_or_else(not_a_member)
}

/// The local side of an intercommunicator as a communicator of its own, for building only. It
/// shares the parent's `Building` context: local and remote processes differ, so do not meet.
fn local_side(host: &mut impl Host, comm: &Comm) -> Result<Arc<Comm>> {
    let me = me(host);
    Comm::intra(comm.base_context(), comm.group().clone(), me).ok_or_else(not_a_member)
}

/// Both sides of an intercommunicator as one group, the side with the lower first process first.
fn both_sides(comm: &Comm) -> Arc<Group> {
    let (a, b) = match comm.remote_group() {
        None => return comm.group().clone(),
        Some(remote) => (comm.group(), remote),
    };
    match a.process(0) < b.process(0) {
        true => a.union(b),
        false => b.union(a),
    }
}

/// Agreement of both sides of an intercommunicator.
fn agree_across(host: &mut impl Host, comm: &Arc<Comm>) -> Result<u32> {
    let me = me(host);
    let all = Comm::intra(comm.base_context(), both_sides(comm), me).ok_or_else(not_a_member)?;
    agree(host, &all, Channel::Building, Some(comm.collective_tag()))
}

/// `MPI_Comm_create` on an intracommunicator: `None` for those that are not in `group`.
pub fn create(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    group: &Arc<Group>,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    if comm.is_inter() {
        return create_inter(host, comm, group);
    }
    let base = agree(host, comm, Channel::Collective, None)?;
    let made = Comm::intra(base, group.clone(), me);
    Ok(keep_or_release(host, made, base))
}

/// A context was agreed on by all, but this process may not be in the new communicator.
fn keep_or_release(host: &mut impl Host, made: Option<Arc<Comm>>, base: u32) -> Option<Arc<Comm>> {
    if made.is_none() {
        host.with(|p| p.release_base(base));
    }
    made
}

/// `MPI_Comm_create` on an intercommunicator: each side gives its part of the new one.
fn create_inter(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    group: &Arc<Group>,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    let base = agree_across(host, comm)?;
    let mine: Vec<u64> = group.processes().map(u64::from).collect();
    let theirs = across(host, comm, mine)?;
    let remote = Group::list(theirs.into_iter().map(|w| w as Rank).collect());
    let made = match remote.size() {
        0 => None,
        _ => Comm::inter(base, group.clone(), remote, me),
    };
    Ok(keep_or_release(host, made, base))
}

/// What the first process of each side says, told to all of the other side.
fn across(host: &mut impl Host, comm: &Arc<Comm>, words: Vec<u64>) -> Result<Vec<u64>> {
    let local = local_side(host, comm)?;
    let tag = comm.collective_tag();
    let theirs = match (comm.rank(), comm.peer(0)) {
        (0, Some(leader)) => {
            let most = comm.peers().size() as usize + words.len() + 2;
            swap_words(host, comm, Channel::Building, leader, tag, &words, most)?
        }
        _ => Vec::new(),
    };
    let channel_comm = Comm::building(&local);
    spread_words(host, &channel_comm, 0, theirs)
}

/// `MPI_Comm_split`. `colour` is `None` for `MPI_UNDEFINED`.
pub fn split(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    colour: Option<i32>,
    key: i32,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    let row = [colour.map_or(u64::MAX, |c| c as u64), i64::from(key) as u64];
    if comm.is_inter() {
        return split_inter(host, comm, row);
    }
    let rows = gather_words(host, comm, &row)?;
    let base = agree(host, comm, Channel::Collective, None)?;
    let made = match colour {
        None => None,
        Some(_) => Comm::intra(base, of_colour(comm.group(), &rows, row[0]), me),
    };
    Ok(keep_or_release(host, made, base))
}

/// The members of `group` whose row (colour, key) has `colour`, by key, then by rank.
fn of_colour(group: &Group, rows: &[u64], colour: u64) -> Arc<Group> {
    let mut chosen: Vec<(i64, Rank)> = group
        .processes()
        .zip(rows.chunks_exact(2))
        .filter(|(_, row)| row[0] == colour)
        .map(|(process, row)| (row[1] as i64, process))
        .collect();
    // A stable sort keeps the order of ranks among equal keys.
    chosen.sort_by_key(|(key, _)| *key);
    Group::list(chosen.into_iter().map(|(_, process)| process).collect())
}

fn split_inter(host: &mut impl Host, comm: &Arc<Comm>, row: [u64; 2]) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    let base = agree_across(host, comm)?;
    let side = local_side(host, comm)?;
    let local = Comm::building(&side);
    let rows = gather_words(host, &local, &row)?;
    let remote_size = comm.peers().size() as usize;
    let theirs = match (comm.rank(), comm.peer(0)) {
        (0, Some(leader)) => {
            let tag = comm.collective_tag();
            swap_words(host, comm, Channel::Building, leader, tag, &rows, 2 * remote_size)?
        }
        _ => {
            comm.collective_tag();
            Vec::new()
        }
    };
    let theirs = spread_words(host, &local, 0, theirs)?;
    let made = match row[0] {
        u64::MAX => None,
        colour => {
            let group = of_colour(comm.group(), &rows, colour);
            let remote = of_colour(comm.peers(), &theirs, colour);
            match remote.size() {
                0 => None,
                _ => Comm::inter(base, group, remote, me),
            }
        }
    };
    Ok(keep_or_release(host, made, base))
}

/// `MPI_Comm_create_group`: only the members of `group` take part.
pub fn create_group(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    group: &Arc<Group>,
    tag: i32,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    let Some(part) = Comm::intra(comm.base_context(), group.clone(), me) else {
        return Ok(None);
    };
    let base = agree(host, &part, Channel::Building, Some(tag))?;
    Ok(Comm::intra(base, group.clone(), me))
}

/// `MPI_Comm_create_from_group`: no parent; `tag` is made from the string tag.
pub fn create_from_group(
    host: &mut impl Host,
    group: &Arc<Group>,
    tag: i32,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    let Some(part) = Comm::intra(FROM_GROUP, group.clone(), me) else {
        return Ok(None);
    };
    let base = agree(host, &part, Channel::Building, Some(tag & i32::MAX))?;
    Ok(Comm::intra(base, group.clone(), me))
}

/// `MPI_Intercomm_create`. `bridge` is the communicator that both leaders share and the remote
/// leader's rank there; it matters at `leader` only.
pub fn intercomm_create(
    host: &mut impl Host,
    local: &Arc<Comm>,
    leader: u32,
    bridge: Option<(&Arc<Comm>, i32)>,
    tag: i32,
) -> Result<Arc<Comm>> {
    let me = me(host);
    let mine: Vec<u64> = local.group().processes().map(u64::from).collect();
    let theirs = match bridge.filter(|_| local.rank() == leader) {
        None => Ok(Vec::new()),
        Some((bridge, remote)) => match bridge.peer(remote) {
            None => Err(Error::new(Class::Rank, format!("remote leader {remote} is not a rank"))),
            Some(peer) => {
                let most = host.with(|p| p.fm().size()) as usize;
                swap_words(host, bridge, Channel::Building, peer, tag, &mine, most)
            }
        },
    };
    // The others must hear of the leader's failure: no group is empty.
    let failed = theirs.as_ref().err().cloned();
    let theirs = spread_words(host, local, leader, theirs.unwrap_or_default())?;
    if let Some(error) = failed {
        return Err(error);
    }
    let remote = Group::list(theirs.into_iter().map(|w| w as Rank).collect());
    if remote.size() == 0 {
        return Err(Error::new(Class::Rank, "the local leader could not reach the remote leader"));
    }
    if remote.intersection(local.group()).size() != 0 {
        return Err(Error::new(Class::Comm, "the two groups of an intercommunicator overlap"));
    }
    // All of both sides agree, on a context made for the purpose.
    let draft = Comm::inter(FROM_GROUP, local.group().clone(), remote.clone(), me)
        .ok_or_else(not_a_member)?;
    let all = Comm::intra(FROM_GROUP, both_sides(&draft), me).ok_or_else(not_a_member)?;
    let base = agree(host, &all, Channel::Collective, Some(tag))?;
    Comm::inter(base, local.group().clone(), remote, me).ok_or_else(not_a_member)
}

/// `MPI_Intercomm_merge`.
pub fn intercomm_merge(host: &mut impl Host, comm: &Arc<Comm>, high: bool) -> Result<Arc<Comm>> {
    let me = me(host);
    let base = agree_across(host, comm)?;
    let theirs_high = across(host, comm, vec![u64::from(high)])?.first() == Some(&1);
    let remote = comm.peers();
    let local = comm.group();
    // Equal flags: any order that both sides choose alike will do.
    let local_first = match (high, theirs_high) {
        (false, true) => true,
        (true, false) => false,
        _ => local.process(0) < remote.process(0),
    };
    let group = if local_first { local.union(remote) } else { remote.union(local) };
    Comm::intra(base, group, me).ok_or_else(not_a_member)
}
