//! The table through which libraries of other programming models send packets: see `hpvm_abi::models`.

use crate::body::check::wrong;
use crate::object::request::Named;
use crate::raise::{in_engine, remember};
use crate::runtime::{Entered, World, enter};
use core::ffi::{c_int, c_uint, c_void};
use hpvm_abi::constants::MPI_Request;
use hpvm_abi::models::{BLOCKS_FOR_ALL, LOOKS, Models, NOTHING, Serve, Show};
use hpvm_mpi::engine::models::{MODELS, PACKET, Polled};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};

/// See `hpvm_abi::models`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a name of the C interface")]
pub static hpvm_models_1: Models =
    Models { size: size_of::<Models>(), send, unsent, take, wait, visit, wake, serve: set_service };

const _: () = assert!(MODELS == hpvm_abi::models::COUNT && PACKET == hpvm_abi::models::PACKET);

/// Whom progress calls for packets that nobody waits for. All sets are bits of models.
#[derive(Default)]
pub struct Service {
    functions: [Option<Serve>; MODELS],
    /// Have a function.
    served: u32,
    /// Wait or take themselves, or are in their function.
    busy: u32,
    /// Want to know of requests that may have ended.
    moving: u32,
}

impl Service {
    /// Whose functions are to be called after a turn.
    #[inline(always)]
    pub fn due(&self, with_packets: u32, moved: bool) -> u32 {
        let moving = if moved { self.moving } else { 0 };
        (with_packets | moving) & self.served & !self.busy
    }

    /// A model takes what comes itself. Gives what `end` needs.
    #[inline(always)]
    fn begin(&mut self, bit: u32) -> u32 {
        let begun = bit & !self.busy;
        self.busy |= bit;
        begun
    }

    #[inline(always)]
    fn end(&mut self, begun: u32) {
        self.busy &= !begun;
    }
}

unsafe extern "C" fn set_service(model: c_uint, function: Option<Serve>) {
    let Ok(mut w) = enter() else { return };
    let (model, service) = (number(model), &mut w.objects.model_service);
    let (bit, served) = (1 << model, function.is_some());
    service.functions[model] = function;
    service.served = service.served & !bit | if served { bit } else { 0 };
    service.moving = service.moving & !bit | if served { bit } else { 0 };
}

/// Lets models take what has come for them.
#[inline(never)]
pub fn serve(w: &mut Entered, due: u32) {
    for model in (0..MODELS).filter(|model| due & 1 << model != 0) {
        let service = &mut w.objects.model_service;
        // Another thread may have come in between.
        let (begun, function) = (service.begin(1 << model), service.functions[model]);
        let Some(function) = function.filter(|_| begun != 0) else {
            service.end(begun);
            continue;
        };
        // SAFETY: by the interface; it stays until it is replaced.
        let moves = w.outside(|| unsafe { function() }) != 0;
        let service = &mut w.objects.model_service;
        service.moving = service.moving & !begun | if moves { begun } else { 0 };
        service.end(begun);
    }
}

/// Models' numbers come from our own libraries.
#[inline(always)]
fn number(model: c_uint) -> usize {
    (model as usize).min(MODELS - 1)
}

unsafe extern "C" fn send(
    model: c_uint,
    to: c_uint,
    head: *const u8,
    head_len: usize,
    data: *const u8,
    len: usize,
) -> c_int {
    in_engine(
        |w| {
            let size = w.process.fm().size();
            if to >= size || head_len.saturating_add(len) > PACKET {
                return Err(no_packet(to, head_len, len, size));
            }
            // SAFETY: as many bytes at both, by the interface; without any there may be no address.
            let parts = unsafe { [bytes(head, head_len), bytes(data, len)] };
            if w.process.send_model_now(number(model), to, parts) {
                return Ok(());
            }
            w.process.send_model(number(model), to, parts)
        },
        remember,
    )
}

#[cold]
fn no_packet(to: c_uint, head_len: usize, len: usize, size: u32) -> Error {
    let text = format!(
        "a packet of {head_len} and {len} bytes for rank {to}; expected {PACKET} at most, for 0 to {}",
        size - 1
    );
    wrong(Class::Arg, text)
}

/// # Safety
/// `len` bytes are at `at`, which may be anything if there are none.
unsafe fn bytes<'a>(at: *const u8, len: usize) -> &'a [u8] {
    // SAFETY: the caller's promise.
    if len == 0 { &[] } else { unsafe { core::slice::from_raw_parts(at, len) } }
}

unsafe extern "C" fn unsent(model: c_uint) -> usize {
    let Ok(w) = enter() else { return 0 };
    if w.process.has_backlog() { w.process.unsent_of_model(number(model)) } else { 0 }
}

/// Copies a packet to `place`, says at `from` whose it is, and returns its length.
///
/// # Safety
/// There is room for a packet at `place`, and for a number at `from`.
#[inline(always)]
unsafe fn copied(src: c_uint, data: &[u8], place: *mut u8, from: *mut c_uint) -> isize {
    // SAFETY: the caller's promise; no packet is longer.
    unsafe {
        hpvm_mpi::engine::models::copy(data, place);
        *from = src;
    }
    data.len() as isize
}

/// See `hpvm_abi::models::error_of`.
#[cold]
fn failed(error: Error) -> isize {
    NOTHING - remember(error) as isize
}

unsafe extern "C" fn take(model: c_uint, place: *mut u8, from: *mut c_uint) -> isize {
    let mut length = NOTHING;
    let show = |src, data: &[u8]| {
        // SAFETY: by the interface.
        length = unsafe { copied(src, data, place, from) };
        false
    };
    match looked(number(model), show) {
        Ok(_) => length,
        Err(error) => failed(error),
    }
}

unsafe extern "C" fn wait(
    model: c_uint,
    place: *mut u8,
    from: *mut c_uint,
    requests: *const MPI_Request,
    count: usize,
    needs_all: c_int,
) -> isize {
    let mut length = NOTHING;
    let show = |src, data: &[u8]| {
        // SAFETY: by the interface.
        length = unsafe { copied(src, data, place, from) };
        false
    };
    // SAFETY: by the interface.
    let requests = unsafe { handles(requests, count) };
    match waited(number(model), requests, needs_all != 0, show) {
        Ok(_) => length,
        Err(error) => failed(error),
    }
}

unsafe extern "C" fn visit(
    model: c_uint,
    show: Show,
    context: *mut c_void,
    requests: *const MPI_Request,
    count: usize,
    blocks: c_int,
) -> isize {
    // SAFETY: by the interface.
    let show = |src, data: &[u8]| unsafe { show(context, src, data.as_ptr(), data.len()) } != 0;
    let shown = match blocks {
        LOOKS => looked(number(model), show),
        blocks => {
            // SAFETY: by the interface.
            let requests = unsafe { handles(requests, count) };
            waited(number(model), requests, blocks == BLOCKS_FOR_ALL, show)
        }
    };
    match shown {
        Ok(shown) => shown as isize,
        Err(error) => failed(error),
    }
}

/// # Safety
/// `count` handles are at `requests`, which may be anything if there are none.
unsafe fn handles<'a>(requests: *const MPI_Request, count: usize) -> &'a [MPI_Request] {
    // SAFETY: the caller's promise.
    if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(requests, count) } }
}

/// Shows what waits in the queue of a model, and says how many packets that were.
fn queued(w: &mut World, model: usize, show: &mut impl FnMut(c_uint, &[u8]) -> bool) -> usize {
    let mut shown = 0;
    while let Some(more) = w.process.take_model(model, &mut *show) {
        shown += 1;
        if !more {
            break;
        }
    }
    shown
}

/// Shows what has come, after a step of progress if nothing has, and says how many packets that were.
#[inline(always)]
fn looked(model: usize, mut show: impl FnMut(c_uint, &[u8]) -> bool) -> Result<usize> {
    let mut w = enter()?;
    if w.process.model_has_packet(model) {
        return Ok(queued(&mut w, model, &mut show));
    }
    if w.turns_are_plain() {
        match poll(&mut w, model, 1, &mut show) {
            Polled::Packets(shown) => return Ok(shown),
            Polled::Nothing => {
                w.glanced(false);
                return Ok(0);
            }
            Polled::Other => {}
        }
    }
    let waits = w.objects.model_service.begin(1 << model);
    let glance = w.glance();
    w.objects.model_service.end(waits);
    glance?;
    Ok(queued(&mut w, model, &mut show))
}

/// Shows what has come, and blocks until something has, or a request is done, or somebody has called `wake`; says how many packets that
/// were.
#[inline(always)]
fn waited(
    model: usize,
    requests: &[MPI_Request],
    needs_all: bool,
    mut show: impl FnMut(c_uint, &[u8]) -> bool,
) -> Result<usize> {
    let mut w = enter()?;
    if !w.process.model_has_packet(model) {
        if let Some(shown) = wait_plainly(&mut w, model, requests, &mut show) {
            return Ok(shown);
        }
        wait_for(&mut w, model, requests, needs_all)?;
    }
    Ok(queued(&mut w, model, &mut show))
}

/// Polls between two moments at which other threads may come in.
const POLLS: u32 = 16;

/// Polls for packets of a model of which none is there, as [`Process::poll_for_model`](hpvm_mpi::Process::poll_for_model).
#[inline(always)]
fn poll(
    w: &mut World,
    model: usize,
    polls: u32,
    show: &mut impl FnMut(c_uint, &[u8]) -> bool,
) -> Polled {
    w.process.poll_for_model(model, polls, show).unwrap_or_else(|broken| {
        crate::raise::broken(&mut w.job, &broken);
        Polled::Other
    })
}

/// Waits for packets as long as it is worth polling for them, and nothing else happens: most packets are awaited when they come,
/// as the next thing to come. `None`: it takes longer.
#[inline(always)]
fn wait_plainly(
    w: &mut Entered,
    model: usize,
    requests: &[MPI_Request],
    show: &mut impl FnMut(c_uint, &[u8]) -> bool,
) -> Option<usize> {
    let mut left = w.polls_before_yield();
    while left > 0 && w.turns_are_plain() && w.objects.models_woken & 1 << model == 0 {
        if w.process.model_has_packet(model) || requests.iter().any(|request| is_done(w, *request))
        {
            return None;
        }
        let polls = left.min(POLLS);
        match poll(w, model, polls, show) {
            Polled::Packets(shown) => return Some(shown),
            Polled::Other => return None,
            Polled::Nothing => {}
        }
        left -= polls;
        w.let_in();
        w.hand_over();
    }
    None
}

/// Blocks until a packet is there, a request is done, or somebody has called `wake`.
fn wait_for(
    w: &mut Entered,
    model: usize,
    requests: &[MPI_Request],
    needs_all: bool,
) -> Result<()> {
    let bit = 1 << model;
    w.objects.models_waiting |= bit;
    let waits = w.objects.model_service.begin(bit);
    let waited = w.wait_until(|w| {
        w.process.model_has_packet(model)
            || w.objects.models_woken & bit != 0
            || (needs_all && w.process.has_lost())
            || requests.iter().any(|request| is_done(w, *request))
    });
    w.objects.models_waiting &= !bit;
    w.objects.model_service.end(waits);
    w.objects.models_woken &= !bit;
    let lost = || w.process.lost_member(w.process.world());
    match needs_all.then(lost).flatten() {
        Some(error) if !w.process.model_has_packet(model) => Err(error),
        _ => waited,
    }
}

/// A handle that is none is done: who tests it finds out.
fn is_done(w: &World, request: MPI_Request) -> bool {
    match w.name_request(request) {
        Ok(Named::Plain(id)) => w.process.requests().get(id).is_none_or(|r| r.done),
        Ok(Named::Null) => false,
        Ok(Named::Sent | Named::Object(_)) | Err(_) => true,
    }
}

unsafe extern "C" fn wake(model: c_uint) {
    let Ok(mut w) = enter() else { return };
    w.objects.models_woken |= 1 << number(model);
    w.call_back();
}
