//! Making communicators (MPI 5.0, section 7.4.2 and 7.6.2).
//!
//! These calls block in the standard, so they are written as straight scripts over a [`Host`] that
//! can wait. The non-blocking `MPI_Comm_idup` starts with [`start_dup`] and polls.

use crate::comm::agreement::{Agreed, Agreement, FROM_GROUP};
use crate::comm::group::Group;
use crate::comm::{Channel, Comm, Form};
use crate::datatype::Datatype;
use crate::engine::matching::Pattern;
use crate::engine::peers::RANK_BITS;
use crate::engine::process::Process;
use crate::engine::requests::{Outcome, ReqId};
use crate::error::{Class, Error, Result};
use crate::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_fm::{Rank, Transport};
use std::collections::HashSet;
use std::sync::Arc;

mod words;

pub(super) use words::{gather_words, gather_words_at, spread_words};

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
    /// Connects the members of `side` with those of another group, of which one `accepts`. All members of both call it.
    /// At `leader` `pass` gives words to the other side's leader, and takes some from it; both call it equally often.
    fn acquaint(
        &mut self,
        side: &Arc<Comm>,
        leader: u32,
        accepts: bool,
        pass: impl FnMut(&mut Self, &[u64]) -> Result<Vec<u64>>,
    ) -> Result<()> {
        let _ = (side, leader, accepts, pass);
        Err(Error::new(Class::Other, "processes of different jobs can't be connected here"))
    }
}

/// Waits for an operation that uses `memory`, and makes an error of the request the error of the call. When
/// waiting itself fails the operation may still be under way: the memory is left to it for ever.
fn settle<M>(host: &mut impl Host, id: ReqId, memory: M) -> Result<(M, Outcome)> {
    match host.wait(id) {
        Ok(mut outcome) => match outcome.error.take() {
            Some(error) => Err(*error),
            None => Ok((memory, outcome)),
        },
        Err(error) => {
            core::mem::forget(memory);
            host.with(|p| p.detach(id));
            Err(error)
        }
    }
}

/// Where the messages of one call travel: all of its steps use one channel and one tag, because the
/// messages of a pair of processes stay in order and both go through the steps in the same order.
pub(super) struct TaggedComm {
    comm: Arc<Comm>,
    channel: Channel,
    tag: i32,
}

impl TaggedComm {
    /// A collective call on an intracommunicator.
    pub(super) fn collective(comm: &Arc<Comm>) -> TaggedComm {
        TaggedComm::of(comm, Channel::Collective, Form::Blocking)
    }

    fn of(comm: &Arc<Comm>, channel: Channel, form: Form) -> TaggedComm {
        TaggedComm { comm: comm.clone(), channel, tag: comm.collective_tag(form) }
    }

    /// Its members, as this process numbers them.
    pub(super) fn processes(&self) -> impl Iterator<Item = Rank> + '_ {
        self.comm.group().processes()
    }

    /// The same channel and tag for the members of `group` only, or for more than the group.
    pub(super) fn among(&self, group: Arc<Group>, me: Rank) -> Result<TaggedComm> {
        let comm = Comm::intra(self.comm.base_context(), group, me).ok_or_else(not_a_member)?;
        Ok(TaggedComm { comm, channel: self.channel, tag: self.tag })
    }
}

/// A context id that no member of the via's communicator uses.
fn agree(host: &mut impl Host, via: &TaggedComm) -> Result<u32> {
    let mut agreement = host.with(|p| p.agree(&via.comm, via.channel, via.tag))?;
    loop {
        let outcome = host.wait_only(agreement.request());
        let agreed = host.with(|p| p.agreed(agreement));
        outcome?;
        match agreed? {
            Agreed::Context(base) => return Ok(base),
            Agreed::Again(again) => agreement = again,
        }
    }
}

/// Sends `out` to `peer` and returns the words that come from it, at most `most`.
fn swap_words(
    host: &mut impl Host,
    via: &TaggedComm,
    peer: Rank,
    out: &[u64],
    most: usize,
) -> Result<Vec<u64>> {
    Swap::start(host, via, peer, out, most).end(host)
}

/// Sends each of `peers` the word that `word` has for it, and returns the words that come from them.
pub(super) fn swap_with_all(
    host: &mut impl Host,
    via: &TaggedComm,
    peers: &[Rank],
    word: impl Fn(Rank) -> u64,
) -> Result<Vec<(Rank, u64)>> {
    let swaps: Vec<Swap> =
        peers.iter().map(|peer| Swap::start(host, via, *peer, &[word(*peer)], 1)).collect();
    let ends: Vec<_> = swaps.into_iter().map(|swap| (swap.peer, swap.end(host))).collect();
    let word = |(peer, end): (Rank, Result<Vec<u64>>)| match end?[..] {
        [word] => Ok((peer, word)),
        _ => Err(Error::new(Class::Other, format!("process {peer} sent nothing; expected a word"))),
    };
    ends.into_iter().map(word).collect()
}

/// Words on their way to a process, and those that are expected from it. It has to be [ended](Swap::end).
struct Swap {
    peer: Rank,
    out: Box<[u64]>,
    sent: Started,
    back: Vec<u64>,
    recv: ReqId,
}

impl Swap {
    fn start(host: &mut impl Host, via: &TaggedComm, peer: Rank, out: &[u64], most: usize) -> Swap {
        let TaggedComm { comm, channel, tag } = via;
        let (channel, tag) = (*channel, *tag);
        let byte = Datatype::byte();
        let out: Box<[u64]> = out.into();
        let mut back = vec![0u64; most];
        let (recv, sent) = host.with(|p| {
            let m = Incoming { buf: back.as_mut_ptr().cast(), count: most as i64 * 8, ty: byte };
            let pattern = Pattern { src: peer, tag };
            // SAFETY: `back` and `out` live until the operations have ended (`settle`, `take_back`).
            let recv = unsafe { p.recv(m, comm, channel, pattern, None) };
            let bytes = size_of_val(&*out) as i64;
            let m = Outgoing { buf: out.as_ptr().cast(), count: bytes, ty: byte };
            let context = comm.context(channel);
            // SAFETY: as above.
            let sent = unsafe { p.send(m, peer, context, tag, Mode::Standard, None) };
            (recv, sent)
        });
        Swap { peer, out, sent, back, recv }
    }

    /// Waits for both.
    fn end(self, host: &mut impl Host) -> Result<Vec<u64>> {
        let Swap { peer, out, sent, back, recv } = self;
        if let Started::Pending(id) = sent
            && let Err(error) = settle(host, id, out)
        {
            take_back(host, recv, back);
            return Err(error);
        }
        let (mut back, outcome) = settle(host, recv, back)?;
        let bytes = outcome.status.bytes as usize;
        if !bytes.is_multiple_of(8) {
            let text = format!("process {peer} sent {bytes} bytes; expected words of 8 bytes");
            return Err(Error::new(Class::Other, text));
        }
        back.truncate(bytes / 8);
        Ok(back)
    }
}

/// Nobody will wait for receive `id` into `memory` any more. If its message is on its way already the memory
/// is left to it for ever.
fn take_back(host: &mut impl Host, id: ReqId, memory: Vec<u64>) {
    let ended = host.with(|p| {
        let ended = p.cancel(id) || p.requests().get(id).is_none_or(|r| r.done);
        p.detach(id);
        ended
    });
    if !ended {
        core::mem::forget(memory);
    }
}

impl<T: Transport> Process<T> {
    /// The identities of the members of `group`; for processes that are not reached any more none that exists.
    pub(super) fn identities(&self, group: &Group) -> Vec<u64> {
        group.processes().map(|process| self.identity(process).unwrap_or(u64::MAX)).collect()
    }

    fn first_identity(&self, group: &Group) -> Option<u64> {
        group.process(0).and_then(|process| self.identity(process))
    }
}

fn me(host: &mut impl Host) -> Rank {
    host.with(|p| p.fm().rank())
}

fn not_a_member() -> Error {
    Error::new(Class::Intern, "the calling process is not a member of its own communicator")
}

/// `MPI_Comm_dup`: the same groups, a new context.
pub fn dup(host: &mut impl Host, comm: &Arc<Comm>) -> Result<Arc<Comm>> {
    let me = me(host);
    let via = host.with(|p| everybody(p, comm, Form::Blocking))?;
    let base = agree(host, &via)?;
    same_groups(comm, base, me)
}

/// As [`dup`], for a process that wants no communicator in the end: the others get theirs.
pub fn dup_and_drop(host: &mut impl Host, comm: &Arc<Comm>) -> Result<()> {
    let via = host.with(|p| everybody(p, comm, Form::Blocking))?;
    let base = agree(host, &via)?;
    host.with(|p| p.release_base(base));
    Ok(())
}

/// Starts what [`dup`] does. When the agreement has ended, [`same_groups`] makes the communicator.
pub fn start_dup<T: Transport>(process: &mut Process<T>, comm: &Arc<Comm>) -> Result<Agreement> {
    let via = everybody(process, comm, Form::Nonblocking)?;
    process.agree(&via.comm, via.channel, via.tag)
}

/// A communicator with the groups of `comm` and another context.
pub fn same_groups(comm: &Comm, base: u32, me: Rank) -> Result<Arc<Comm>> {
    match comm.remote_group() {
        None => Comm::intra(base, comm.group().clone(), me),
        Some(remote) => Comm::inter(base, comm.group().clone(), remote.clone(), me),
    }
    .ok_or_else(not_a_member)
}

/// All members of `comm`, those of both sides of an intercommunicator.
pub(super) fn everybody<T: Transport>(
    process: &Process<T>,
    comm: &Arc<Comm>,
    form: Form,
) -> Result<TaggedComm> {
    match comm.is_inter() {
        false => Ok(TaggedComm::of(comm, Channel::Collective, form)),
        true => TaggedComm::of(comm, Channel::Building, form)
            .among(both_sides(process, comm), process.fm().rank()),
    }
}

/// A collective call on an intercommunicator. Collectives within a side have no channel of their
/// own: they share `Building`, where the tag keeps them apart.
fn between(comm: &Arc<Comm>) -> TaggedComm {
    TaggedComm::of(comm, Channel::Building, Form::Blocking)
}

/// Both sides of an intercommunicator as one group, the side with the lower first process first: in the order of
/// identities, which both sides see alike.
fn both_sides<T: Transport>(p: &Process<T>, comm: &Comm) -> Arc<Group> {
    let (a, b) = match comm.remote_group() {
        None => return comm.group().clone(),
        Some(remote) => (comm.group(), remote),
    };
    match p.first_identity(a) < p.first_identity(b) {
        true => a.union(b),
        false => b.union(a),
    }
}

/// The channel and tag of `via` for both sides of `comm`.
fn among_both(host: &mut impl Host, via: &TaggedComm, comm: &Comm) -> Result<TaggedComm> {
    let (all, me) = host.with(|p| (both_sides(p, comm), p.fm().rank()));
    via.among(all, me)
}

/// `MPI_Comm_create`: `None` for those that are not in `group`. On an intercommunicator each side
/// gives its part of the new one.
pub fn create(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    group: &Arc<Group>,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    if comm.is_inter() {
        return create_inter(host, comm, group);
    }
    let base = agree(host, &TaggedComm::collective(comm))?;
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

fn create_inter(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    group: &Arc<Group>,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    let via = between(comm);
    let all = among_both(host, &via, comm)?;
    let base = agree(host, &all)?;
    let mine = host.with(|p| p.identities(group));
    let theirs = across(host, &via, mine)?;
    let remote = host.with(|p| group_of(&theirs, |who| p.find(who)))?;
    let made = match remote.size() {
        0 => None,
        _ => Comm::inter(base, group.clone(), remote, me),
    };
    Ok(keep_or_release(host, made, base))
}

/// The group of the processes whose identities another process has named; `find` tells the process of one.
fn group_of(words: &[u64], find: impl Fn(u64) -> Option<Rank>) -> Result<Arc<Group>> {
    let mut seen = HashSet::with_capacity(words.len());
    let mut processes = Vec::with_capacity(words.len());
    for word in words {
        let Some(process) = find(*word).filter(|p| seen.insert(*p)) else {
            let text = format!(
                "the other side names process {word} as a member; expected processes that this one is connected \
                 with, each once"
            );
            return Err(Error::new(Class::Other, text));
        };
        processes.push(process);
    }
    Ok(Group::list(processes))
}

/// What the first process of each side says, told to all of the other side. `via` is that of an
/// intercommunicator. No side says more than two words for each of its members, and two.
fn across(host: &mut impl Host, via: &TaggedComm, words: Vec<u64>) -> Result<Vec<u64>> {
    let me = me(host);
    let comm = &via.comm;
    let most = 2 * comm.peers().size() as usize + 2;
    let theirs = match (comm.rank(), comm.peer(0)) {
        (0, Some(leader)) => swap_words(host, via, leader, &words, most)?,
        _ => Vec::new(),
    };
    let side = via.among(comm.group().clone(), me)?;
    spread_words(host, &side, 0, theirs, most)
}

/// `MPI_Comm_split`. `colour` is `None` for `MPI_UNDEFINED`.
pub fn split(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    colour: Option<i32>,
    key: i32,
) -> Result<Option<Arc<Comm>>> {
    let colour = colour.map_or(u64::MAX, |c| u64::from(c as u32));
    split_rows(host, comm, colour, key, |_, _, _| Ok(()))
}

/// As [`split`], with `u64::MAX` for no colour. The members of an intracommunicator may change the rows (colour, key) of all once
/// they know them, in the same way on all of them.
pub(super) fn split_rows<H: Host>(
    host: &mut H,
    comm: &Arc<Comm>,
    colour: u64,
    key: i32,
    change: impl FnOnce(&mut H, &TaggedComm, &mut [u64]) -> Result<()>,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    let row = [colour, i64::from(key) as u64];
    if comm.is_inter() {
        return split_inter(host, comm, row);
    }
    let via = TaggedComm::collective(comm);
    let mut rows = gather_words(host, &via, &row)?;
    change(host, &via, &mut rows)?;
    let base = agree(host, &via)?;
    let made = match rows.get(2 * comm.rank() as usize) {
        None | Some(&u64::MAX) => None,
        Some(colour) => Comm::intra(base, of_colour(comm.group(), &rows, *colour), me),
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
    group.part(chosen.into_iter().map(|(_, process)| process).collect())
}

fn split_inter(host: &mut impl Host, comm: &Arc<Comm>, row: [u64; 2]) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    let via = between(comm);
    let all = among_both(host, &via, comm)?;
    let base = agree(host, &all)?;
    let rows = gather_words(host, &via.among(comm.group().clone(), me)?, &row)?;
    let theirs = across(host, &via, rows.clone())?;
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
    let via = TaggedComm { comm: comm.clone(), channel: Channel::Building, tag };
    create_from(host, &via, group)
}

/// `MPI_Comm_create_from_group`: no parent; `tag` is made from the string tag.
pub fn create_from_group(
    host: &mut impl Host,
    group: &Arc<Group>,
    tag: i32,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    let Some(comm) = Comm::intra(FROM_GROUP, group.clone(), me) else {
        return Ok(None);
    };
    create_from(host, &TaggedComm { comm, channel: Channel::Building, tag: tag & i32::MAX }, group)
}

fn create_from(
    host: &mut impl Host,
    via: &TaggedComm,
    group: &Arc<Group>,
) -> Result<Option<Arc<Comm>>> {
    let me = me(host);
    if group.rank_of(me).is_none() {
        return Ok(None);
    }
    let base = agree(host, &via.among(group.clone(), me)?)?;
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
    let bridge = bridge.map(|(comm, remote)| {
        let via = TaggedComm { comm: comm.clone(), channel: Channel::Building, tag };
        let peer = comm.peer(remote).filter(|_| remote >= 0).ok_or_else(|| {
            Error::new(Class::Rank, format!("remote leader {remote} is not a rank of peer_comm"))
        });
        peer.map(|peer| (via, peer))
    });
    connect(host, &TaggedComm::collective(local), leader, bridge, tag)
}

/// `MPI_Intercomm_create_from_groups`: `local` is this side's group, `peer` the remote leader,
/// which matters at `leader` only; `tag` is made from the string tag.
pub fn intercomm_create_from_groups(
    host: &mut impl Host,
    local: &Arc<Group>,
    leader: u32,
    peer: Option<Rank>,
    tag: i32,
) -> Result<Arc<Comm>> {
    let tag = tag & i32::MAX;
    let comm = Comm::intra(FROM_GROUP, local.clone(), me(host)).ok_or_else(not_a_member)?;
    let via = TaggedComm { comm, channel: Channel::Building, tag };
    let bridge = peer
        .map(|peer| Ok((TaggedComm { comm: via.comm.clone(), channel: Channel::User, tag }, peer)));
    connect(host, &via, leader, bridge, tag)
}

/// Processes of a group that this side may not know, at most.
const LARGEST_STRANGER: usize = 1 << 16;
/// Words that leaders pass to each other at a time while their groups become connected, at most: the name of a port.
const MOST_PASSED: usize = 64;

/// Words of the leader, or its failure, which it gets itself; the others get no words then.
fn spread_or_fail(
    host: &mut impl Host,
    side: &TaggedComm,
    leader: u32,
    words: Result<Vec<u64>>,
    most: usize,
) -> Result<Vec<u64>> {
    let failed = words.as_ref().err().cloned();
    let told = spread_words(host, side, leader, words.unwrap_or_default(), most)?;
    failed.map_or(Ok(told), Err)
}

/// Joins two groups: the leaders swap the lists of members over `bridge`, and tell them to their
/// sides. Members of different jobs that do not know each other become connected first.
fn connect(
    host: &mut impl Host,
    side: &TaggedComm,
    leader: u32,
    bridge: Option<Result<(TaggedComm, Rank)>>,
    tag: i32,
) -> Result<Arc<Comm>> {
    let local = side.comm.group();
    let (mine, size) = host.with(|p| (p.identities(local), p.fm().size()));
    let most = LARGEST_STRANGER.max(size as usize);
    let mut bridge = bridge.filter(|_| side.comm.rank() == leader).transpose();
    let theirs = match &bridge {
        Ok(None) => Ok(Vec::new()),
        Err(error) => Err(error.clone()),
        Ok(Some((via, peer))) => swap_words(host, via, *peer, &mine, most),
    };
    // The others must hear of the leader's failure: no group is empty.
    let theirs = spread_or_fail(host, side, leader, theirs, most)?;
    let job = |who: &u64| who >> RANK_BITS;
    if mine.iter().chain(&theirs).any(|who| Some(job(who)) != mine.first().map(job)) {
        let known = host.with(|p| theirs.iter().all(|who| p.find(*who).is_some()));
        let known = gather_words(host, side, &[u64::from(known)])?.iter().all(|known| *known == 1);
        let bridge = bridge.as_mut().ok().and_then(Option::as_mut);
        let told = match &bridge {
            None => Ok(Vec::new()),
            Some((via, peer)) => swap_words(host, via, *peer, &[u64::from(known)], 1),
        };
        let told = spread_or_fail(host, side, leader, told, 1)?;
        if !known || told.first() != Some(&1) {
            let pass = |host: &mut _, words: &[u64]| match &bridge {
                None => Err(Class::Intern.into()),
                Some((via, peer)) => swap_words(host, via, *peer, words, MOST_PASSED),
            };
            host.acquaint(&side.comm, leader, mine < theirs, pass)?;
        }
    }
    let remote = host.with(|p| group_of(&theirs, |who| p.find(who)))?;
    if remote.size() == 0 {
        return Err(Error::new(Class::Rank, "the local leader could not reach the remote leader"));
    }
    if remote.intersection(local).size() != 0 {
        return Err(Error::new(Class::Comm, "the two groups of an intercommunicator overlap"));
    }
    join_sides(host, local, &remote, tag)
}

/// The intercommunicator of two sides all of whose members know both: they agree, on a context made for the purpose.
pub(super) fn join_sides(
    host: &mut impl Host,
    local: &Arc<Group>,
    remote: &Arc<Group>,
    tag: i32,
) -> Result<Arc<Comm>> {
    let me = me(host);
    let draft = Comm::inter(FROM_GROUP, local.clone(), remote.clone(), me);
    let comm = draft.ok_or_else(not_a_member)?;
    let via = TaggedComm { comm: comm.clone(), channel: Channel::Collective, tag };
    let all = among_both(host, &via, &comm)?;
    let base = agree(host, &all)?;
    Comm::inter(base, local.clone(), remote.clone(), me).ok_or_else(not_a_member)
}

/// `MPI_Intercomm_merge`.
pub fn intercomm_merge(host: &mut impl Host, comm: &Arc<Comm>, high: bool) -> Result<Arc<Comm>> {
    let me = me(host);
    let via = between(comm);
    let all = among_both(host, &via, comm)?;
    let base = agree(host, &all)?;
    let theirs_high = across(host, &via, vec![u64::from(high)])?.first() == Some(&1);
    let remote = comm.peers();
    let local = comm.group();
    // Equal flags: any order that both sides choose alike will do.
    let local_first = match (high, theirs_high) {
        (false, true) => true,
        (true, false) => false,
        _ => host.with(|p| p.first_identity(local) < p.first_identity(remote)),
    };
    let group = if local_first { local.union(remote) } else { remote.union(local) };
    Comm::intra(base, group, me).ok_or_else(not_a_member)
}

#[cfg(test)]
mod tests;
