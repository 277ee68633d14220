//! Access of one rank alone: to stripes whose files this host has by plain reads and writes, to others by messages to
//! their owners ([`super::owner`]).
//!
//! A call returns when the owners have answered, so what it has written is there for whoever reads later. A share of an access goes to all its
//! owners at once; the next follows when they have answered.

use super::Striped;
use super::owner::REQUEST;
use crate::runtime::{Entered, enter};
use hpvm_io::stripes::request::{self, ANSWER, TEXT};
use hpvm_io::stripes::{Part, Share, Shares, Stripe, before_end};
use hpvm_io::{Extent, View};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Class, Error, ReqId};
use std::sync::atomic::Ordering;

/// Numbers of requests, which are tags: from 1 on, and used again after so many.
const NUMBERS: u32 = 1 << 20;

/// A request on its way.
struct Asked {
    stripe: u64,
    /// Lent to the engine until both operations are done.
    message: Vec<u8>,
    answer: Vec<u8>,
    send: Option<ReqId>,
    recv: ReqId,
}

/// A lock that this rank has on a range of the file.
pub struct Held<'a> {
    striped: &'a Striped,
    number: u32,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // What fails here is that the owner has died, with all its locks.
        let _ = self.striped.ask_one(0, request::unlock(self.number), self.number);
    }
}

impl Striped {
    /// As [`hpvm_io::File::write_stream`].
    pub fn write_stream(&self, view: &View, position: u64, data: &[u8]) -> Result<()> {
        let extents = view.extents(position, data.len() as u64);
        for share in Shares::new(self.layout(), extents) {
            let message = |number, stripe, part: &Part| request::write(number, stripe, part, data);
            let asked = self.ask_far(&share, message, |_| 0)?;
            let here = self.here(&share).try_for_each(|(stripe, part)| {
                each(part).try_for_each(|(piece, range)| stripe.write_at(piece.at, &data[range]))
            });
            let mut answers = self.answers(asked);
            here?;
            answers.try_for_each(|answer| {
                answer.and_then(|(_, answer)| request::parse_answer(&answer, 0).map(drop))
            })?;
        }
        Ok(())
    }

    /// As [`hpvm_io::File::read_stream`]. What a stripe does not have of the file's bytes is a hole in it.
    pub fn read_stream(&self, view: &View, position: u64, out: &mut [u8]) -> Result<usize> {
        let extents = || view.extents(position, out.len() as u64);
        let (shares, len) = (Shares::new(self.layout(), extents()), out.len());
        for share in shares {
            let asked = self.ask_far(&share, request::read, |part| part.bytes)?;
            let mut short = false;
            let mut here = Ok(());
            for (stripe, part) in self.here(&share) {
                for (piece, range) in each(part) {
                    let part = &mut out[range];
                    part.fill(0);
                    let read = stripe.read_at(piece.at, part);
                    short |= read.as_ref().is_ok_and(|n| *n < part.len());
                    here = here.and(read.map(drop));
                }
            }
            let answers: Vec<_> = self.answers(asked).collect();
            here?;
            for answer in answers {
                let (stripe, answer) = answer?;
                let part = &share[&stripe];
                let (ends, mut data) = request::parse_answer(&answer, part.bytes)?;
                for range in &part.ranges {
                    let (now, later) = data.split_at(range.len());
                    out[range.clone()].copy_from_slice(now);
                    data = later;
                }
                short |= ends != 0;
            }
            if short {
                let there = before_end(view.extents(position, len as u64), self.length()?);
                let last =
                    share.values().flat_map(|part| &part.ranges).map(|range| range.end).max();
                if there < last.unwrap_or(0) as u64 {
                    return Ok(there as usize);
                }
            }
        }
        Ok(len)
    }

    /// Bytes of the file, as its stripes make them up now.
    pub fn length(&self) -> Result<u64> {
        let layout = self.layout();
        let all = (0..layout.count).map(|stripe| (stripe, Part::default())).collect();
        let asked =
            self.ask_far(&all, |number, stripe, _| request::length(number, stripe), |_| 0)?;
        let mut size = Ok(0);
        for (stripe, _) in self.here(&all) {
            let len = stripe.len().map(|len| layout.size_of(stripe.number, len));
            size = size.and_then(|size: u64| Ok(size.max(len?)));
        }
        let answers: Vec<_> = self.answers(asked).collect();
        for answer in answers {
            let (stripe, answer) = answer?;
            let (len, _) = request::parse_answer(&answer, 0)?;
            size = size.map(|size| size.max(layout.size_of(stripe, len)));
        }
        size
    }

    /// Waits for a lock on bytes `start..end` of the file, which the owner of the first stripe keeps.
    pub fn lock(&self, start: u64, end: u64, writes: bool) -> Result<Held<'_>> {
        let number = self.number();
        self.ask_one(0, request::lock(number, start..end, writes), number)?;
        Ok(Held { striped: self, number })
    }

    fn number(&self) -> u32 {
        // Relaxed: all that counts is that no two are the same at a time.
        self.next.fetch_add(1, Ordering::Relaxed) % NUMBERS + 1
    }

    /// The parts that this rank moves by itself.
    fn here<'a>(&'a self, share: &'a Share) -> impl Iterator<Item = (&'a Stripe, &'a Part)> {
        let reach = |(stripe, part): (&u64, &'a Part)| Some((self.reach(*stripe)?, part));
        share.iter().filter_map(reach)
    }

    /// Asks the owners of all other parts.
    fn ask_far(
        &self,
        share: &Share,
        message: impl Fn(u32, u64, &Part) -> Vec<u8>,
        room: impl Fn(&Part) -> usize,
    ) -> Result<Vec<Asked>> {
        let far = share.iter().filter(|(stripe, _)| self.reach(**stripe).is_none());
        let asked: Vec<_> = far
            .map(|(stripe, part)| {
                let number = self.number();
                (*stripe, number, message(number, *stripe, part), room(part))
            })
            .collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let mut w = enter()?;
        let begin =
            |(stripe, number, message, room)| self.ask(&mut w, stripe, number, message, room);
        asked.into_iter().map(begin).collect()
    }

    /// Asks the owner of one stripe and waits for its answer.
    fn ask_one(&self, stripe: u64, message: Vec<u8>, number: u32) -> Result<()> {
        let asked = self.ask(&mut enter()?, stripe, number, message, 0)?;
        let mut answers = self.answers(vec![asked]);
        answers.try_for_each(|answer| request::parse_answer(&answer?.1, 0).map(drop))
    }

    fn ask(
        &self,
        w: &mut Entered,
        stripe: u64,
        number: u32,
        message: Vec<u8>,
        room: usize,
    ) -> Result<Asked> {
        let comm = &self.object.comm;
        let owner = self.owners.get(stripe as usize).and_then(|rank| comm.peer(*rank as i32));
        let Some(owner) = owner else { return Err(Class::Intern.into()) };
        let mut answer = vec![0u8; ANSWER + room.max(TEXT)];
        let ty = &Datatype::byte();
        let place = Incoming { buf: answer.as_mut_ptr(), count: answer.len() as i64, ty };
        let pattern = Pattern { src: owner, tag: number as i32 };
        // SAFETY: the buffer lives until the receive is complete, or is leaked (`answers`).
        let recv = unsafe { w.process.recv(place, comm, Channel::User, pattern, None) };
        let data = Outgoing { buf: message.as_ptr(), count: message.len() as i64, ty };
        let context = comm.context(Channel::User);
        // SAFETY: as above.
        let send = unsafe { w.process.send(data, owner, context, REQUEST, Mode::Standard, None) };
        let send = match send {
            Started::Done => None,
            Started::Pending(id) => Some(id),
        };
        Ok(Asked { stripe, message, answer, send, recv })
    }

    /// Waits for all answers, each with its stripe.
    fn answers(&self, asked: Vec<Asked>) -> impl Iterator<Item = Result<(u64, Vec<u8>)>> {
        let all: Vec<_> = asked.into_iter().map(|asked| self.answered(asked)).collect();
        all.into_iter()
    }

    fn answered(&self, mut asked: Asked) -> Result<(u64, Vec<u8>)> {
        let outcome = enter().and_then(|mut w| {
            let outcome = w.wait_for(asked.recv)?;
            if let Some(send) = asked.send {
                w.wait_for(send)?;
            }
            Ok(outcome)
        });
        match outcome {
            Ok(outcome) => {
                let place = self.manifest.stripes.get(asked.stripe as usize);
                let host = place.map_or("", |place| &place.host);
                let stripe = asked.stripe;
                let status = outcome.into_status().map_err(|error| {
                    let text = format!("stripe {stripe} on host '{host}': {}", error.text);
                    Error::new(error.class, text)
                })?;
                asked.answer.truncate(status.bytes as usize);
                Ok((stripe, asked.answer))
            }
            Err(error) => {
                // The engine can't go on, and may still know them.
                std::mem::forget((asked.message, asked.answer));
                Err(error)
            }
        }
    }
}

/// The pieces of a part, with where their bytes lie.
fn each(part: &Part) -> impl Iterator<Item = (&Extent, std::ops::Range<usize>)> {
    part.pieces.iter().zip(part.ranges.iter().cloned())
}
