//! Answers: what this rank sends to those that asked, when it has left `extract`.

use crate::Rank;
use crate::mapped;
use crate::messages::packets::*;
use crate::region::Regions;
use hpvm_fm::{Fm, Head, Transport};
use std::collections::VecDeque;

/// An answer, as far as it has not been sent. The number is the asker's name of its operation.
pub(crate) enum Answer {
    /// Parts of a region: offsets and lengths, which have been checked.
    Memory {
        operation: u64,
        region: RegionName,
        runs: VecDeque<(u64, u64)>,
    },
    /// Elements as they were.
    Elements {
        operation: u64,
        bytes: Vec<u8>,
    },
    /// All that the asker sent before has been done.
    Flushed {
        operation: u64,
    },
    Failed {
        operation: u64,
        fault: Fault,
    },
}

/// The header of an answer.
fn head(operation: u64, last: bool, failed: bool) -> Head {
    let last = if last { Head::LAST } else { 0 };
    let failed = if failed { FAILED } else { 0 };
    Head { handler: ANSWER, flags: Head::FIRST | last | failed, aux: 0, imm: operation }
}

impl Answer {
    /// Sends what can be sent now. Whether some of it has left, and whether all has.
    pub fn send<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        regions: &Regions,
    ) -> (bool, bool) {
        let sent = match self {
            Answer::Memory { operation, region, runs } => {
                return send_memory(fm, dst, regions, *operation, *region, runs);
            }
            Answer::Elements { operation, bytes } => {
                fm.send(dst, head(*operation, true, false), bytes.len(), |out| {
                    out.copy_from_slice(bytes)
                })
            }
            Answer::Flushed { operation } => fm.send(dst, head(*operation, true, false), 0, |_| ()),
            Answer::Failed { operation, fault } => {
                fm.send(dst, head(*operation, true, true), Fault::BYTES, |out| fault.write(out))
            }
        };
        (sent.is_ok(), sent.is_ok())
    }
}

fn send_memory<T: Transport>(
    fm: &mut Fm<T>,
    dst: Rank,
    regions: &Regions,
    operation: u64,
    name: RegionName,
    runs: &mut VecDeque<(u64, u64)>,
) -> (bool, bool) {
    let mut some = false;
    loop {
        let left: u64 = runs.iter().map(|(_, len)| *len).sum();
        let n = left.min(fm.limits().packet as u64) as usize;
        let parts = match parts(regions, name, runs, n) {
            Ok(parts) => parts,
            Err(fault) => {
                // It was withdrawn meanwhile.
                let fill = |out: &mut [u8]| fault.write(out);
                let sent = fm.send(dst, head(operation, true, true), Fault::BYTES, fill).is_ok();
                return (some || sent, sent);
            }
        };
        let last = n as u64 == left;
        let sent = fm.send(dst, head(operation, last, false), n, |out| {
            let mut out = Writer(out);
            for (at, len) in parts {
                let to = out.take(len);
                // SAFETY: inside the region, which is exposed still.
                unsafe { mapped::copy(at, to.as_mut_ptr(), len) };
            }
        });
        if sent.is_err() {
            return (some, false);
        }
        some = true;
        if last {
            return (true, true);
        }
        take(runs, n as u64);
    }
}

/// Where the first `n` bytes of `runs` lie.
fn parts(
    regions: &Regions,
    name: RegionName,
    runs: &VecDeque<(u64, u64)>,
    n: usize,
) -> Result<Vec<(*mut u8, usize)>, Fault> {
    let mut parts = Vec::new();
    let mut left = n as u64;
    for (offset, len) in runs {
        let part = left.min(*len);
        parts.push((regions.find(name, *offset, part)?, part as usize));
        left -= part;
        if left == 0 {
            break;
        }
    }
    Ok(parts)
}

/// Takes `n` bytes off the front.
fn take(runs: &mut VecDeque<(u64, u64)>, mut n: u64) {
    while n > 0
        && let Some((offset, len)) = runs.front_mut()
    {
        let part = n.min(*len);
        (*offset, *len, n) = (*offset + part, *len - part, n - part);
        if *len == 0 {
            runs.pop_front();
        }
    }
}
