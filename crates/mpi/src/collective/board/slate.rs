//! Slates: where notes lie that are too long for a board.
//!
//! The ranks of a host lend each other memory for them, one slate for each board. The rules are
//! those of the board: what belongs to an operation's number is written by the owner, before the
//! note of that number says how long it is, and stays until all members of the host have finished
//! the number [`NOTES`] before the next one that lies there.
//!
//! The members agree on slates when the first long collective comes: everybody offers one
//! ([`Process::offer_slate`]), looks at those of its host ([`Process::see_slates`]), and all say
//! whether that was possible ([`Process::agree_on_slates`]).

use super::call::{long, short};
use super::{MOST, What, each, index};
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::Result;
use crate::pt2pt::pack_all;
use hpvm_fm::Transport;
use hpvm_wire::board::NOTES;
use std::ptr::NonNull;

/// Most bytes of a note on a slate.
pub const LONG: u64 = 2 << 20;
/// Most bytes of operands that one head combines. More are better shared out.
const OPERANDS: u64 = 8 << 20;
/// Notes begin so far behind a page's first byte. Buffers of programs mostly begin with a page or 16
/// bytes later, and there are processors that copy twenty times as slowly from a page to an address
/// that is, within its page, a few bytes further on.
const SKEW: usize = 2048;
/// Notes of the same numbers as on the board, and room for what nobody else reads.
const SLATE: usize = SKEW + (NOTES + 1) * LONG as usize;
/// A note on the board that stands for one on the slate holds the length of that.
const WORD: usize = size_of::<u64>();

/// The slates of the members on one host.
#[derive(Debug)]
pub struct Slates {
    own: NonNull<u8>,
    /// In the order of their numbers in the team; the own one, too.
    team: Box<[*const u8]>,
}

// SAFETY: slates are plain memory, which stays where it is while the process is in the job. Who
// writes and reads what, and when, is ruled by the numbers of operations.
unsafe impl Send for Slates {}
// SAFETY: as above.
unsafe impl Sync for Slates {}

/// The slate that belongs to one of our boards.
#[derive(Debug)]
pub(super) struct Own {
    memory: NonNull<u8>,
    /// Where nobody else is on this host, it need not be lent.
    private: Vec<u128>,
}

// SAFETY: as for `Slates`.
unsafe impl Send for Own {}
// SAFETY: as for `Slates`.
unsafe impl Sync for Own {}

impl Own {
    fn lent(transport: &mut impl Transport) -> Option<Own> {
        transport.lend_memory(SLATE).map(|memory| Own { memory, private: Vec::new() })
    }

    fn private() -> Option<Own> {
        let mut words = vec![0; SLATE / size_of::<u128>()];
        NonNull::new(words.as_mut_ptr().cast()).map(|memory| Own { memory, private: words })
    }
}

fn offset(number: u64) -> usize {
    SKEW + (number as usize % NOTES) * LONG as usize
}

impl Slates {
    /// Our note of operation `number`: `len` bytes of it, at most `LONG`.
    ///
    /// # Safety
    /// As for [`hpvm_wire::board::Board::post`], and nobody else of this process has this slice.
    #[expect(clippy::mut_from_ref, reason = "memory of its own, for which the numbers speak")]
    pub unsafe fn own(&self, number: u64, len: usize) -> &mut [u8] {
        let len = len.min(LONG as usize);
        // SAFETY: within the slate; the caller's promise.
        unsafe { core::slice::from_raw_parts_mut(self.own.as_ptr().add(offset(number)), len) }
    }

    /// Room for `len` bytes, at most `LONG`, that only we use, within one operation.
    pub fn scratch(&self, len: usize) -> *mut u8 {
        debug_assert!(len <= LONG as usize);
        self.own.as_ptr().wrapping_add(SKEW + NOTES * LONG as usize)
    }

    /// The note of operation `number` of the member of the team at place `member`, for which there
    /// is `word` on its board.
    ///
    /// # Safety
    /// As for [`hpvm_wire::board::Board::read`].
    pub unsafe fn read(&self, member: u32, number: u64, word: &[u8]) -> Result<&[u8]> {
        let Ok(word) = <[u8; WORD]>::try_from(word) else { return Err(short(word.len(), WORD)) };
        let len = u64::from_ne_bytes(word);
        if len > LONG {
            return Err(long(len as usize, LONG as usize));
        }
        let from = self.team[member as usize].wrapping_add(offset(number));
        // SAFETY: within that slate; its owner leaves the note alone until we have finished.
        Ok(unsafe { core::slice::from_raw_parts(from, len as usize) })
    }
}

/// What the board says of a note of `len` bytes on the slate.
pub(super) fn word(len: usize) -> [u8; WORD] {
    (len as u64).to_ne_bytes()
}

impl What {
    /// Writes what member `rank` of `size` brings along to a note; returns its bytes. Of a part that
    /// is longer than the note, which only a wrong program has, there is only the length.
    ///
    /// # Safety
    /// The buffers are valid.
    pub(super) unsafe fn pack(&self, rank: u32, size: u32, out: &mut [u8]) -> usize {
        let part = match self {
            What::Barrier | What::Bcast { .. } => return 0,
            What::Reduce { send, recv, bytes, .. } => {
                let from = if send.is_null() { recv.cast_const() } else { *send };
                // SAFETY: the caller's promise; `longest_note` has seen to the length.
                unsafe { core::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), *bytes) };
                return *bytes;
            }
            What::Allgather(sides) => sides.own_part(rank),
            What::Alltoall(sides) => sides.all_parts(size),
        };
        let len = part.packed_size() as usize;
        let Some(out) = out.get_mut(..len) else { return len };
        // SAFETY: the caller's promise.
        unsafe { pack_all(part, out) };
        len
    }
}

impl<T: Transport> Process<T> {
    /// The longest note that `what` needs on `comm`, for which [`Process::way`] has said `Across`;
    /// `None`: it is better done by messages. `bytes` is as long as the notes with which members
    /// begin. The same on all members.
    pub fn longest_note(&self, comm: &Comm, what: &What, bytes: u64) -> Option<u64> {
        let hosts = comm.hosts(|process| self.node(process))?;
        let longest = match what {
            What::Allgather(_) => bytes.saturating_mul(comm.size().into()),
            What::Alltoall(_) => {
                let block = bytes / u64::from(comm.size());
                let carried = bytes.max(block.saturating_mul(hosts.heaviest() as u64));
                match carried > MOST && each::is_long(block) {
                    true => each::longest(hosts, block, comm.size()).max(MOST + 1),
                    false => carried,
                }
            }
            // Messages need its datatype.
            What::Reduce { ty, .. } if ty.abi == 0 => return None,
            What::Reduce { .. } if bytes.saturating_mul(hosts.largest().into()) > OPERANDS => {
                return None;
            }
            _ => bytes,
        };
        (longest <= LONG).then_some(longest)
    }

    /// Whether notes of `bytes` bytes may be posted; `None`: the members have to agree first.
    #[inline]
    pub fn has_notes_of(&self, comm: &Comm, bytes: u64) -> Option<bool> {
        if bytes <= MOST {
            return Some(true);
        }
        comm.boards().slates.get().map(Option::is_some)
    }

    /// The address of the slate that belongs to our board for `comm`; 0 if there is none. It is
    /// for the others of our host.
    pub fn offer_slate(&mut self, comm: &Comm) -> u64 {
        let Some(index) = index(comm).filter(|index| *index < self.boards.len()) else { return 0 };
        let alone = comm.known_hosts().is_some_and(|h| h.team(h.host(comm.rank())).len() == 1);
        // One from a time when we were alone can't be seen by others.
        let fits = |own: &Own| alone || own.private.is_empty();
        if !self.boards[index].slate.as_ref().is_some_and(fits) {
            let transport = self.fm.transport_mut();
            self.boards[index].slate = if alone { Own::private() } else { Own::lent(transport) };
        }
        let slate = self.boards[index].slate.as_ref();
        slate.map_or(0, |own| own.memory.as_ptr().expose_provenance() as u64)
    }

    /// Looks at the slates of our host; `offers` are the addresses of all members, in the order of
    /// ranks. `None` if one can't be seen.
    pub fn see_slates(&mut self, comm: &Comm, offers: &[u64]) -> Option<Slates> {
        let own = self.boards.get(index(comm)?)?.slate.as_ref()?.memory;
        let hosts = comm.known_hosts()?;
        let team = hosts.team(hosts.host(comm.rank()));
        let transport = self.fm.transport_mut();
        let seen = team.iter().map(|member| match *member == comm.rank() {
            true => Some(own.as_ptr().cast_const()),
            false => {
                let process = comm.group().process(*member)?;
                transport.window(process, offers[*member as usize], SLATE as u64)
            }
        });
        Some(Slates { own, team: seen.collect::<Option<_>>()? })
    }

    /// All members have seen the slates of their hosts, or one of them has not: `seen` is `None`.
    pub fn agree_on_slates(&self, comm: &Comm, seen: Option<Slates>) {
        // A second answer would be the same.
        let _ = comm.boards().slates.set(seen);
    }
}
