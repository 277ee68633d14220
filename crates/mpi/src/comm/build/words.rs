//! Words that all members of a communicator tell each other, or one of them tells the others: collectives by messages, on the channel
//! and tag of the call that they are a part of.

use super::{Host, TaggedComm, settle};
use crate::coll::{Data, Plan};
use crate::datatype::Datatype;
use crate::error::{Class, Error, Result};
use hpvm_coll::select::Tables;
use hpvm_coll::{Exchange, Schedule};

/// An exchange in which each member gives `bytes` bytes.
fn rows_of_bytes(via: &TaggedComm, root: u32, bytes: i64) -> Exchange {
    Exchange {
        rank: via.comm.rank(),
        size: via.comm.size(),
        root,
        send_count: bytes,
        send_extent: 1,
        send_size: 1,
        recv_count: bytes,
        recv_extent: 1,
        recv_size: 1,
        in_place: false,
    }
}

/// Every member's `words`, one row after the other in rank order.
pub(in crate::comm) fn gather_words(
    host: &mut impl Host,
    via: &TaggedComm,
    words: &[u64],
) -> Result<Vec<u64>> {
    let input = rows_of_bytes(via, 0, size_of_val(words) as i64);
    let schedule = |tables: &Tables| hpvm_coll::allgather::schedule_with(tables, &input);
    gather_rows(host, via, words, via.comm.size() as usize, schedule)
}

/// The `words` of every member, one row after the other in rank order, at `root`; nothing at the others.
pub(in crate::comm) fn gather_words_at(
    host: &mut impl Host,
    via: &TaggedComm,
    root: u32,
    words: &[u64],
) -> Result<Vec<u64>> {
    let input = rows_of_bytes(via, root, size_of_val(words) as i64);
    let rows = if via.comm.rank() == root { via.comm.size() as usize } else { 0 };
    gather_rows(host, via, words, rows, |tables| hpvm_coll::gather::schedule_with(tables, &input))
}

/// Runs a schedule that sends `words` and brings this member so many rows of as many words.
fn gather_rows(
    host: &mut impl Host,
    via: &TaggedComm,
    words: &[u64],
    rows: usize,
    schedule: impl FnOnce(&Tables) -> Schedule,
) -> Result<Vec<u64>> {
    let words: Box<[u64]> = words.into();
    let mut all = vec![0u64; words.len() * rows];
    let byte = Datatype::byte();
    let data = Data::new(words.as_ptr().cast(), byte, all.as_mut_ptr().cast(), byte);
    let id = host.with(|p| {
        let plan = Plan::new(schedule(&p.select), data, None);
        // SAFETY: both buffers live until the operation has ended (`settle`).
        unsafe { p.start_tagged(&via.comm, via.channel, via.tag, plan) }
    });
    let ((_, all), _) = settle(host, id, (words, all))?;
    Ok(all)
}

/// Words of the first broadcast of [`spread_words`]: the number of words that are told, and as many of them as fit. What
/// jobs of some dozens of processes tell each other while they become connected fits.
const HEAD: usize = 128;

/// Sends words from `root` of `comm` to all members, at most `most`.
pub(in crate::comm) fn spread_words(
    host: &mut impl Host,
    via: &TaggedComm,
    root: u32,
    words: Vec<u64>,
    most: usize,
) -> Result<Vec<u64>> {
    // Only the root knows how many there are, so the number goes ahead, with those that fit: few messages are
    // longer, and ranks that share processors pay for each broadcast with as many switches as there are ranks.
    let first = words.len().min(HEAD - 1);
    let mut head = vec![words.len() as u64];
    head.extend_from_slice(&words[..first]);
    head.resize(HEAD, 0);
    let head = broadcast_words(host, via, root, head)?;
    let len = head[0];
    if len > most as u64 {
        let text = format!("member {root} is about to tell {len} words; expected at most {most}");
        return Err(Error::new(Class::Other, text));
    }
    let len = len as usize;
    let mut told = head[1..1 + len.min(HEAD - 1)].to_vec();
    if len > HEAD - 1 {
        let mut rest = words.get(HEAD - 1..).unwrap_or_default().to_vec();
        rest.resize(len - (HEAD - 1), 0);
        told.extend(broadcast_words(host, via, root, rest)?);
    }
    Ok(told)
}

/// Sends words of `root` to all members, who know how many there are.
fn broadcast_words(
    host: &mut impl Host,
    via: &TaggedComm,
    root: u32,
    mut words: Vec<u64>,
) -> Result<Vec<u64>> {
    let input = hpvm_coll::Broadcast {
        rank: via.comm.rank(),
        size: via.comm.size(),
        root,
        count: words.len() as i64 * 8,
        size_bytes: 1,
        contiguous: true,
    };
    let byte = Datatype::byte();
    let data = Data::new(core::ptr::null(), byte, words.as_mut_ptr().cast(), byte);
    let id = host.with(|p| {
        let schedule = hpvm_coll::bcast::schedule_with(&p.select, &input);
        let plan = Plan::new(schedule, data, None);
        // SAFETY: `words` lives until the operation has ended (`settle`).
        unsafe { p.start_tagged(&via.comm, via.channel, via.tag, plan) }
    });
    Ok(settle(host, id, words)?.0)
}
