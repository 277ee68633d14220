//! What the ranks of a file or a window tell each other: collectives of its own communicator.

use crate::args::{Counts, Displs};
use crate::body::check::wrong;
use crate::body::coll;
use crate::generated::constants::*;
use crate::object::file::FileObject;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::path::Path;

/// Waits until all ranks of the file are here.
pub fn barrier(comm: MPI_Comm) -> Result<()> {
    // SAFETY: no arguments but a valid communicator.
    done(unsafe { coll::barrier(comm) })
}

/// The words of every rank, by rank.
pub fn all_words<const N: usize>(
    comm: MPI_Comm,
    size: usize,
    mine: [u64; N],
) -> Result<Vec<[u64; N]>> {
    let mut all = vec![[0; N]; size];
    // SAFETY: `N` words, and as many for each rank.
    unsafe { gather(comm, N, mine.as_ptr(), all.as_mut_ptr().cast())? };
    Ok(all)
}

/// Gathers so many words of every rank at all.
///
/// # Safety
/// `mine` is valid for reads of as many, and `all` for writes of as many for each rank of `comm`.
unsafe fn gather(comm: MPI_Comm, words: usize, mine: *const u64, all: *mut u64) -> Result<()> {
    let bytes = (words * 8) as MPI_Count;
    // SAFETY: the caller's promise.
    done(unsafe {
        coll::allgather(mine.cast(), bytes, MPI_BYTE, all.cast(), bytes, MPI_BYTE, comm)
    })
}

/// The words of every rank for every other: `mine[r]` goes to rank r, and what comes from it is in place r.
pub fn exchange_words<const N: usize>(comm: MPI_Comm, mine: &[[u64; N]]) -> Result<Vec<[u64; N]>> {
    let mut all = vec![[0; N]; mine.len()];
    let bytes = (N * 8) as MPI_Count;
    // SAFETY: both buffers have `N` words for each rank.
    done(unsafe {
        coll::alltoall(
            mine.as_ptr().cast(),
            bytes,
            MPI_BYTE,
            all.as_mut_ptr().cast(),
            bytes,
            MPI_BYTE,
            comm,
        )
    })?;
    Ok(all)
}

/// Parts of a buffer, one for each rank: first byte and length.
pub type Parts = Vec<(usize, usize)>;

/// Sends `send[parts[r]]` to rank r, and receives into `recv[parts[r]]` what rank r sends.
pub fn exchange_bytes(
    comm: MPI_Comm,
    (send, send_parts): (&[u8], &Parts),
    (recv, recv_parts): (&mut [u8], &Parts),
) -> Result<()> {
    let fits = |parts: &Parts, len: usize| parts.iter().all(|(at, n)| at + n <= len);
    assert!(fits(send_parts, send.len()) && fits(recv_parts, recv.len()), "parts beyond a buffer");
    let counts = |parts: &Parts| parts.iter().map(|p| p.1 as MPI_Count).collect::<Vec<_>>();
    let displs = |parts: &Parts| parts.iter().map(|p| p.0 as MPI_Aint).collect::<Vec<_>>();
    let (send_counts, send_displs) = (counts(send_parts), displs(send_parts));
    let (recv_counts, recv_displs) = (counts(recv_parts), displs(recv_parts));
    // SAFETY: the arrays have one entry for each rank, and all parts lie inside their buffers.
    done(unsafe {
        coll::alltoallv(
            address(send.as_ptr(), send.len()).cast(),
            Counts::wide(send_counts.as_ptr()),
            Displs::wide(send_displs.as_ptr()),
            MPI_BYTE,
            address(recv.as_mut_ptr(), recv.len()).cast_mut().cast(),
            Counts::wide(recv_counts.as_ptr()),
            Displs::wide(recv_displs.as_ptr()),
            MPI_BYTE,
            comm,
        )
    })
}

/// The address of a buffer. That of an empty vector is a small number, of which some mean something else in
/// MPI (`MPI_IN_PLACE`): another one stands for it, which is never used.
fn address(start: *const u8, len: usize) -> *const u8 {
    static NOTHING: [u8; 1] = [0];
    if len == 0 { NOTHING.as_ptr() } else { start }
}

/// The bytes of rank 0, which may be of any length there.
pub fn bytes_of_first(comm: MPI_Comm, rank: usize, mine: Vec<u8>) -> Result<Vec<u8>> {
    let mut len = [mine.len() as u64];
    broadcast(comm, bytes_of(&mut len))?;
    let mut all = if rank == 0 { mine } else { vec![0; len[0] as usize] };
    if !all.is_empty() {
        broadcast(comm, &mut all)?;
    }
    Ok(all)
}

fn bytes_of(words: &mut [u64; 1]) -> &mut [u8] {
    // SAFETY: eight bytes of a word that lives as long, of which any are valid.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), 8) }
}

fn broadcast(comm: MPI_Comm, bytes: &mut [u8]) -> Result<()> {
    // SAFETY: the buffer has as many bytes.
    done(unsafe {
        coll::bcast(
            address(bytes.as_mut_ptr(), bytes.len()).cast_mut().cast(),
            bytes.len() as MPI_Count,
            MPI_BYTE,
            0,
            comm,
        )
    })
}

/// The error of a call among the ranks, by its code.
pub fn done(code: c_int) -> Result<()> {
    match Class::from_code(code) {
        _ if code == MPI_SUCCESS => Ok(()),
        class => {
            let class = class.unwrap_or(Class::Other);
            let text = crate::raise::last_detail(class).unwrap_or_default();
            Err(wrong(class, format!("the ranks could not agree: {text}")))
        }
    }
}

/// The same result on all ranks: a rank whose own step went well gets the error of the first that failed.
pub fn together<R>(file: &FileObject, mine: Result<R>) -> Result<R> {
    together_at(file.comm, file.size(), file.file.path(), mine)
}

/// As `together`, while the file of this path is opened.
pub fn together_at<R>(comm: MPI_Comm, size: usize, path: &Path, mine: Result<R>) -> Result<R> {
    let codes = all_words(comm, size, [code_of(&mine)])?;
    unless_failed(mine, codes.iter().map(|[code]| *code), Some(path))
}

/// As `together`, where there is no file.
pub fn together_on<R>(comm: MPI_Comm, size: usize, mine: Result<R>) -> Result<R> {
    let codes = all_words(comm, size, [code_of(&mine)])?;
    unless_failed(mine, codes.iter().map(|[code]| *code), None)
}

/// How a rank's own step has ended, and what it has to say where none has failed.
#[repr(C)]
#[derive(Clone, Copy)]
struct Told<const N: usize> {
    code: u64,
    words: [u64; N],
}

/// As `together`; the ranks tell each other some words as well, which count where none has failed. They come by rank.
pub fn together_with<R, const N: usize>(
    file: &FileObject,
    mine: Result<R>,
    words: [u64; N],
) -> Result<(R, Vec<[u64; N]>)> {
    let told = Told { code: code_of(&mine), words };
    let mut all = vec![Told { code: 0, words: [0; N] }; file.size()];
    // SAFETY: `Told` is `N + 1` words without anything between them, of which any values are valid; there is one for each rank.
    unsafe { gather(file.comm, N + 1, (&raw const told).cast(), all.as_mut_ptr().cast())? };
    let codes = all.iter().map(|told| told.code);
    let result = unless_failed(mine, codes, Some(file.file.path()))?;
    Ok((result, all.iter().map(|told| told.words).collect()))
}

/// How a step has ended: the error's code, and above it what the system said.
fn code_of<R>(mine: &Result<R>) -> u64 {
    let Err(error) = mine else { return MPI_SUCCESS as u64 };
    let system = error.system().map_or(0, |errno| errno.get());
    u64::from(system) << 32 | u64::from(error.code() as u32)
}

/// The own result, unless a rank has an error by these codes ([`code_of`]).
fn unless_failed<R>(
    mine: Result<R>,
    mut codes: impl Iterator<Item = u64>,
    path: Option<&Path>,
) -> Result<R> {
    let result = mine?;
    let success = MPI_SUCCESS as u64;
    match codes.by_ref().enumerate().find(|(_, code)| *code != success) {
        None => Ok(result),
        Some((rank, code)) => {
            let class = Class::from_code(code as u32 as c_int).unwrap_or(Class::Other);
            let at = path.map(|path| format!(" with '{}'", hpvm_io::error::shown(path)));
            let at = at.unwrap_or_default();
            let said = match (code >> 32) as c_int {
                0 => String::new(),
                errno => format!(": {}", std::io::Error::from_raw_os_error(errno)),
            };
            Err(wrong(class, format!("rank {rank} of those that take part failed{at}{said}")))
        }
    }
}

/// Fails on all ranks when they do not have the same value.
pub fn same(file: &FileObject, what: &str, value: u64) -> Result<()> {
    same_on(file.comm, file.size(), Class::NotSame, what, value)
}

/// As `same`, before there is a file.
pub fn same_on(comm: MPI_Comm, size: usize, class: Class, what: &str, value: u64) -> Result<()> {
    let values = all_words(comm, size, [value])?;
    match values.iter().position(|other| *other != values[0]) {
        None => Ok(()),
        Some(rank) => {
            let (first, other) = (values[0][0], values[rank][0]);
            let text = format!(
                "{what} is {first} at rank 0 and {other} at rank {rank}; expected the same"
            );
            Err(wrong(class, text))
        }
    }
}
