//! Packets as the engine shows them: most are dealt with where they lie, inside the engine, so that neither a copy nor an entry into the
//! engine is needed for each. Those that may need a call of the engine are copied, and dealt with afterwards.

use crate::carrier::Buffer;
use crate::process::{Process, try_lock};
use core::ffi::{c_int, c_uint, c_void};
use hpvm_abi::constants::MPI_Request;
use hpvm_abi::models::{BLOCKS, LOOKS, NOTHING, PORTALS, error_of};
use hpvm_model::models;

/// A packet that has been copied.
pub struct Kept {
    pub from: u32,
    pub bytes: Buffer,
    pub length: usize,
}

/// Whether what a call waits for is there.
pub type Ready<'a> = &'a mut dyn FnMut(&mut Process) -> bool;

/// What the packets of a visit are shown to.
pub struct Visitor<'a> {
    /// `None`: the thread that makes the visit does not have the lock.
    process: Option<&'a mut Process>,
    /// None: the caller waits for nothing in particular.
    ready: Option<Ready<'a>>,
    /// Where a packet is copied to, and whose it is and how long, when one is there.
    place: Buffer,
    kept: Option<(u32, usize)>,
}

/// What came of a visit.
pub struct Visited {
    /// Packets.
    pub shown: usize,
    /// To be dealt with, or the buffer at least given back.
    pub kept: Result<Kept, Buffer>,
}

/// The engine cannot go on.
#[cold]
fn broken(code: c_int) -> ! {
    hpvm_model::fail(c"Portals".as_ptr(), &hpvm_model::text(code))
}

impl<'a> Visitor<'a> {
    #[inline(always)]
    pub fn new(process: Option<&'a mut Process>, place: Buffer, ready: Option<Ready<'a>>) -> Self {
        Visitor { process, ready, place, kept: None }
    }

    /// Takes what has come. With `blocks`: until something has, one of `requests` is done, or the leader is woken.
    #[inline(always)]
    pub fn visit(mut self, requests: &[MPI_Request], blocks: bool) -> Visited {
        let context: *mut c_void = (&raw mut self).cast();
        let (all, count) = (requests.as_ptr(), requests.len());
        let blocks = if blocks { BLOCKS } else { LOOKS };
        // SAFETY: `show` gets what it expects, which nobody else uses until the call is over; requests that nobody else tests while there
        // is a leader.
        let shown = unsafe { (models().visit)(PORTALS, show, context, all, count, blocks) };
        let shown = usize::try_from(shown).unwrap_or_else(|_| match shown {
            NOTHING => 0,
            code => broken(error_of(code)),
        });
        let Visitor { place, kept, .. } = self;
        let kept = match kept {
            Some((from, length)) => Ok(Kept { from, bytes: place, length }),
            None => Err(place),
        };
        Visited { shown, kept }
    }

    /// True: the next one may be shown.
    #[inline(always)]
    fn see(&mut self, from: u32, packet: &[u8]) -> bool {
        let more = match &mut self.process {
            Some(process) => deal(process, &mut self.ready, (from, packet)),
            // Not to be waited for: who has it may wait for the engine.
            None => try_lock().and_then(|mut guard| {
                deal(guard.process.as_mut()?, &mut self.ready, (from, packet))
            }),
        };
        more.unwrap_or_else(|| self.keep(from, packet))
    }

    #[inline(never)]
    fn keep(&mut self, from: u32, packet: &[u8]) -> bool {
        self.place[..packet.len()].copy_from_slice(packet);
        self.kept = Some((from, packet.len()));
        false
    }
}

/// Deals with a packet where it lies. Says whether another packet may be shown: not when the caller has what it waits for. `None`:
/// nothing has been done.
#[inline(always)]
fn deal(
    process: &mut Process,
    ready: &mut Option<Ready<'_>>,
    (from, packet): (u32, &[u8]),
) -> Option<bool> {
    if !process.packet_here(from, packet) {
        return None;
    }
    let found = ready.as_mut().is_some_and(|ready| ready(process));
    Some(!found && !process.has_due())
}

unsafe extern "C" fn show(
    context: *mut c_void,
    from: c_uint,
    packet: *const u8,
    len: usize,
) -> c_int {
    // SAFETY: by `Visitor::visit`, and by the engine's promise: a packet that is there until this returns.
    let (visitor, packet) =
        unsafe { (&mut *context.cast::<Visitor<'_>>(), core::slice::from_raw_parts(packet, len)) };
    c_int::from(visitor.see(from, packet))
}
