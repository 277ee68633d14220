//! The end of a PE, and those who wait for it in vain: a PE that has begun to end (`shmem_finalize`, or the exit of its program) joins no
//! collective any more, gives back no lock and stores nothing.
//!
//! At its end a PE leaves word in words behind its heap, which are no program's: that it has come there, how many collectives of each of
//! its teams it has joined, and which locks it has. Nobody is told. A PE that has waited for long (`OneSided::on_long_wait`) reads these
//! words of all others, so a wait pays nothing before. Each collective counts itself (`Calls`) on the way in: a PE that has ended with a
//! lower count than a team's member who waits will never come, and one with the same count has been there, so nothing has to be guessed.

use crate::state::{State, current};
use crate::types::Name;
use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use hpvm_model::{fail, onesided};
use hpvm_shmem::Strided;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes behind each heap for what a PE tells at its end.
pub const BYTES: usize = 128 << 10;

/// Words: how it ends, the numbers of teams and locks that follow, two words for each team, one for each lock.
const HOW: usize = 0;
const TEAMS: usize = 1;
const LOCKS: usize = 2;
const FIRST: usize = 3;
/// Most of each; what is known of others is not told, and then a wait for it goes on.
const TEAMS_MAX: usize = 6000;
const LOCKS_MAX: usize = 4000;
const _: () = assert!((FIRST + 2 * TEAMS_MAX + LOCKS_MAX) * size_of::<u64>() <= BYTES);

/// How a PE ends: the first word.
const FINALIZED: u64 = 1;
const EXITED: u64 = 2;

/// Numbers of what all PEs have: the barriers without a team, and the two predefined teams.
pub const BARRIERS: u64 = 0;
pub const WORLD: u64 = 1;
pub const SHARED: u64 = 2;
/// The highest bits tell the numbers of teams from those of active sets and from the three above.
const OF_TEAM: u64 = 1 << 63;
const OF_SET: u64 = 1 << 62;

/// Bits of a lock's offset in its region; the number of the region is above them.
const OFFSET_BITS: u32 = 56;

fn mixed(words: [u64; 3]) -> u64 {
    words.iter().fold(0, |sum: u64, word| {
        let sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^ sum >> 29
    })
}

/// The number of a team, which all its members find alike: of its parent's number, the number of the call that made it, and its color.
pub fn id_of_team(words: [u64; 3]) -> u64 {
    mixed(words) | OF_TEAM
}

/// The number of an active set.
pub fn id_of_set(set: Strided) -> u64 {
    mixed([set.start as u64, set.stride as u64, set.size as u64]) & !OF_TEAM | OF_SET
}

/// The collectives of a team that this PE has joined. A team's collectives come one after the other.
pub struct Calls {
    id: u64,
    number: AtomicU64,
    /// The function of the last one.
    name: AtomicPtr<c_char>,
}

impl Calls {
    pub fn of(id: u64) -> Calls {
        Calls { id, number: AtomicU64::new(0), name: AtomicPtr::new(null_mut()) }
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    /// This PE joins the next one.
    #[inline(always)]
    pub fn join(&self, name: Name) {
        // Relaxed, all: one thread at a time, and no data come with it. Not one instruction that locks: a barrier would pay for it.
        self.number.store(self.number.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.name.store(name.cast_mut(), Ordering::Relaxed); // relaxed: as above
    }

    pub fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed) // relaxed: as above
    }
}

/// What a thread waits for.
pub enum What {
    /// A lock, by its address.
    Lock(usize),
    /// A variable of this PE, by its address.
    Variable(usize),
    /// The members of an active set, with its number, that are to make its communicator.
    Set(u64, Vec<u32>),
}

struct Wait {
    name: Name,
    what: What,
    /// It was found to be in vain once. The thread has looked again since if it is found a second time.
    suspected: bool,
}

// SAFETY: a name points to a constant.
unsafe impl Send for Wait {}

/// The waits of all threads, by a number.
#[derive(Default)]
pub struct Waits {
    waits: Mutex<BTreeMap<u64, Wait>>,
    last: AtomicU64,
    /// This PE ends itself.
    ends: AtomicBool,
}

/// A wait that is known while this lives.
pub struct Noted<'a> {
    of: &'a Waits,
    number: u64,
}

impl Waits {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Wait>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note(&self, name: Name, what: What) -> Noted<'_> {
        let number = self.last.fetch_add(1, Ordering::Relaxed); // relaxed: a counter
        self.all().insert(number, Wait { name, what, suspected: false });
        Noted { of: self, number }
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.of.all().remove(&self.number);
    }
}

/// Blocks until `ready` says so, for `what`.
#[inline]
pub fn block(s: &State, name: Name, what: impl FnOnce() -> What, mut ready: impl FnMut() -> bool) {
    if !hpvm_model::soon(&mut ready) {
        let _noted = s.waits.note(name, what());
        hpvm_model::block_long(name, ready);
    }
}

/// A lock as all PEs name it.
fn code_of_lock(s: &State, lock: usize) -> Option<u64> {
    let (region, offset) = s.find(lock, size_of::<u64>())?;
    let number = s.regions.iter().position(|known| known.base == region.base)?;
    Some((number as u64) << OFFSET_BITS | offset as u64)
}

/// What all PEs of a team call together, as this PE knows it.
fn each_calls(s: &State, mut tell: impl FnMut(&Calls, &[u32], &'static str)) {
    tell(&s.barriers, &s.world.members, "the barriers of all PEs");
    tell(&s.world.calls, &s.world.members, "the collectives of SHMEM_TEAM_WORLD");
    tell(&s.shared.calls, &s.shared.members, "the collectives of SHMEM_TEAM_SHARED");
    for handle in s.teams.handles() {
        if let Some(team) = s.teams.get(handle) {
            tell(&team.calls, &team.members, "the collectives of this team");
        }
    }
    let sets = s.sets.lock().unwrap_or_else(PoisonError::into_inner);
    sets.values()
        .for_each(|set| tell(&set.calls, &set.members, "the collectives of this active set"));
}

/// The words of this PE.
fn own_words(s: &State) -> &[AtomicU64] {
    let at = core::ptr::with_exposed_provenance(s.heap + s.regions[0].len);
    // SAFETY: `place::memory` has so many bytes behind the heap, all 0 at first, aligned as the heap's length is.
    unsafe { core::slice::from_raw_parts(at, BYTES / size_of::<u64>()) }
}

/// This PE begins to end; its operations are complete. It `exits` if its program does not say so.
pub fn tell(s: &State, exits: bool) {
    s.waits.ends.store(true, Ordering::Relaxed); // relaxed: of this PE's threads one ends it
    let mut teams = Vec::new();
    each_calls(s, |calls, _, _| teams.extend([calls.id(), calls.number()]));
    teams.truncate(2 * TEAMS_MAX);
    let locks = s.locks.all().into_iter().filter_map(|lock| code_of_lock(s, lock));
    let locks: Vec<u64> = locks.take(LOCKS_MAX).collect();
    let words = own_words(s);
    for (word, value) in words[FIRST..].iter().zip(teams.iter().chain(&locks)) {
        word.store(*value, Ordering::Relaxed); // relaxed: `HOW` comes behind them
    }
    words[TEAMS].store(teams.len() as u64 / 2, Ordering::Relaxed); // relaxed, both: as above
    words[LOCKS].store(locks.len() as u64, Ordering::Relaxed);
    // Release pairs with the acquire in `read`.
    words[HOW].store(if exits { EXITED } else { FINALIZED }, Ordering::Release);
}

/// What a PE has left.
struct Left {
    exited: bool,
    calls: BTreeMap<u64, u64>,
    locks: Vec<u64>,
}

impl Left {
    fn shown(&self) -> &'static str {
        match self.exited {
            true => "has returned from main, or called exit(0), without shmem_finalize",
            false => "has called shmem_finalize",
        }
    }
}

/// `count` words of a PE from number `first` on. `None`: they can't be read.
fn words(s: &State, pe: usize, first: usize, count: usize) -> Option<Vec<u64>> {
    let (heap, mut read) = (&s.regions[0], vec![0_u64; count]);
    let there = &heap.there[pe];
    let offset = heap.len + first * size_of::<u64>();
    if !there.base.is_null() {
        let at = there.base.cast::<u8>().wrapping_add(offset).cast::<AtomicU64>();
        for (i, word) in read.iter_mut().enumerate() {
            // SAFETY: mapped with the heap; the callers' numbers are below those of the words. Acquire pairs with the release in `tell`.
            *word = unsafe { (*at.add(i)).load(Ordering::Acquire) };
        }
        return Some(read);
    }
    let (to, len) = (read.as_mut_ptr().cast::<c_void>(), count * size_of::<u64>());
    // SAFETY: attached, and room for as many bytes, which are there when the call returns.
    let code = unsafe { (onesided().get)(there.target, offset as u64, to, len, 1) };
    matches!(code, hpvm_abi::onesided::DONE | hpvm_abi::onesided::STARTED).then_some(read)
}

/// What a PE has left, if it has begun to end.
fn read(s: &State, pe: usize) -> Option<Left> {
    let how = words(s, pe, HOW, 1)?[0];
    if how == 0 {
        return None;
    }
    let counts = words(s, pe, TEAMS, 2)?;
    // What a program writes behind its heap by mistake must not lead to more than there is.
    let teams = usize::try_from(counts[0]).ok().filter(|teams| *teams <= TEAMS_MAX)?;
    let locks = usize::try_from(counts[1]).ok().filter(|locks| *locks <= LOCKS_MAX)?;
    let pairs = words(s, pe, FIRST, 2 * teams)?;
    let calls = pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let locks = words(s, pe, FIRST + 2 * teams, locks)?;
    Some(Left { exited: how == EXITED, calls, locks })
}

/// `OneSided::on_long_wait`: a thread of this process waits, in whatever call.
pub unsafe extern "C" fn look() -> c_int {
    current().map_or(0, |s| look_around(s).into())
}

/// Ends the job if a thread waits for what will never come. True: this is to be called again soon.
pub fn look_around(s: &State) -> bool {
    if s.waits.ends.load(Ordering::Relaxed) {
        return false; // relaxed: see `tell`
    }
    let others = (0..s.n_pes).filter(|pe| *pe != s.me);
    let left: BTreeMap<usize, Left> = others.filter_map(|pe| Some((pe, read(s, pe)?))).collect();
    if left.is_empty() {
        return false;
    }
    each_calls(s, |calls, members, of| judge(calls, members, of, &left));
    judge_waits(s, &left)
}

/// Ends the job if a member has ended before a collective that this PE has joined.
fn judge(calls: &Calls, members: &[u32], of: &str, left: &BTreeMap<usize, Left>) {
    let (number, name) = (calls.number(), calls.name.load(Ordering::Relaxed)); // relaxed: see `join`
    if name.is_null() {
        return;
    }
    for (pe, left) in members.iter().filter_map(|pe| left.get_key_value(&(*pe as usize))) {
        let theirs = match left.calls.get(&calls.id()) {
            Some(theirs) => *theirs,
            // Sets are never given back, so the PE has never called one that it does not know.
            None if calls.id() & (OF_TEAM | OF_SET) == OF_SET && left.calls.len() < TEAMS_MAX => 0,
            None => continue,
        };
        if theirs < number {
            let (shown, size) = (left.shown(), members.len());
            let text = format!(
                "PE {pe} {shown}, and joins no more calls; this one is number {number} of {of}, of which PE {pe} has joined {theirs}; \
                 expected all {size} PEs to call it"
            );
            fail(name, &text);
        }
    }
}

/// The same of other waits.
fn judge_waits(s: &State, left: &BTreeMap<usize, Left>) -> bool {
    let mut again = false;
    let mut verdict = None;
    for wait in s.waits.all().values_mut() {
        let text = match &wait.what {
            What::Lock(lock) => of_lock(s, *lock, left),
            What::Set(id, members) => of_set(*id, members, left),
            What::Variable(at) if left.len() + 1 == s.n_pes && is_alone(s) => {
                // What a PE put before its end may have come between the last look at the variable and this one.
                again = true;
                let sure = std::mem::replace(&mut wait.suspected, true);
                sure.then(|| of_variable(*at, left))
            }
            What::Variable(_) => None,
        };
        if let Some(text) = text {
            verdict = Some((wait.name, text));
        }
    }
    if let Some((name, text)) = verdict {
        fail(name, &text);
    }
    again
}

fn of_variable(at: usize, left: &BTreeMap<usize, Left>) -> String {
    let first = left.first_key_value();
    let one = first.map_or(String::new(), |(pe, left)| format!(" (PE {pe} {})", left.shown()));
    format!("all other PEs have ended{one}, so nobody changes the variable at {at:#x} any more")
}

fn of_lock(s: &State, lock: usize, left: &BTreeMap<usize, Left>) -> Option<String> {
    let code = code_of_lock(s, lock)?;
    let (pe, left) = left.iter().find(|(_, left)| left.locks.contains(&code))?;
    Some(format!(
        "PE {pe} has the lock, here at {lock:#x}, and {}; expected shmem_clear_lock before",
        left.shown()
    ))
}

fn of_set(id: u64, members: &[u32], left: &BTreeMap<usize, Left>) -> Option<String> {
    let unknown = |left: &Left| !left.calls.contains_key(&id) && left.calls.len() < TEAMS_MAX;
    let ended = members.iter().filter_map(|pe| left.get_key_value(&(*pe as usize)));
    let (pe, left) = ended.into_iter().find(|(_, left)| unknown(left))?;
    Some(format!(
        "PE {pe} is in the active set and {}; expected all {} members of the set to call",
        left.shown(),
        members.len()
    ))
}

/// Whether nobody but the other PEs could change a variable of this one: no other thread of the program, no child, which has the
/// symmetric heap in common with it.
fn is_alone(s: &State) -> bool {
    // SAFETY: zeros are a value of the structure; a question that waits for nobody and leaves all children as they are.
    let childless = unsafe {
        let mut info: libc::siginfo_t = core::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_ALL, 0, &mut info, flags) == -1
            && std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD)
    };
    let threads = || std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    childless && (s.level == 0 || threads() == 1)
}
