//! The table through which libraries of other programming models send packets: see `hpvm_abi::models`.

use crate::body::check::wrong;
use crate::object::request::Named;
use crate::raise::{in_engine, remember};
use crate::runtime::{Entered, World, enter};
use core::ffi::{c_int, c_uint};
use hpvm_abi::constants::MPI_Request;
use hpvm_abi::models::{Models, NOTHING};
use hpvm_mpi::engine::models::{MODELS, PACKET};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};

/// See `hpvm_abi::models`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a name of the C interface")]
pub static hpvm_models_1: Models =
    Models { size: size_of::<Models>(), send, unsent, take, wait, wake };

const _: () = assert!(MODELS == hpvm_abi::models::COUNT && PACKET == hpvm_abi::models::PACKET);

/// Models' numbers come from our own libraries.
fn number(model: c_uint) -> usize {
    model as usize % MODELS
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
                let text = format!(
                    "a packet of {head_len} and {len} bytes for rank {to}; expected {PACKET} at most, for 0 to {}",
                    size - 1
                );
                return Err(wrong(Class::Arg, text));
            }
            // SAFETY: as many bytes at both, by the interface; without any there may be no address.
            let parts = unsafe { [bytes(head, head_len), bytes(data, len)] };
            w.process.send_model(number(model), to, parts)
        },
        remember,
    )
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

/// The oldest packet of a model, if one has come.
///
/// # Safety
/// There is room for a packet at `place`, and for a number at `from`.
unsafe fn taken(w: &mut World, model: usize, place: *mut u8, from: *mut c_uint) -> Option<isize> {
    w.process.take_model(model, |src, data| {
        // SAFETY: the caller's promise; no packet is longer.
        unsafe {
            hpvm_mpi::engine::models::copy(data, place);
            *from = src;
        }
        data.len() as isize
    })
}

/// See `hpvm_abi::models::error_of`.
#[cold]
fn failed(error: Error) -> isize {
    NOTHING - remember(error) as isize
}

unsafe extern "C" fn take(model: c_uint, place: *mut u8, from: *mut c_uint) -> isize {
    let model = number(model);
    let mut w = match enter() {
        Ok(w) => w,
        Err(error) => return failed(error),
    };
    // SAFETY: by the interface.
    if let Some(len) = unsafe { taken(&mut w, model, place, from) } {
        return len;
    }
    if let Err(error) = w.glance() {
        drop(w);
        return failed(error);
    }
    // SAFETY: by the interface.
    unsafe { taken(&mut w, model, place, from) }.unwrap_or(NOTHING)
}

unsafe extern "C" fn wait(
    model: c_uint,
    place: *mut u8,
    from: *mut c_uint,
    requests: *const MPI_Request,
    count: usize,
    needs_all: c_int,
) -> isize {
    let model = number(model);
    let mut w = match enter() {
        Ok(w) => w,
        Err(error) => return failed(error),
    };
    let requests = match count {
        0 => &[],
        // SAFETY: `count` handles, by the interface.
        _ => unsafe { core::slice::from_raw_parts(requests, count) },
    };
    if !w.process.model_has_packet(model)
        && let Err(error) = wait_for(&mut w, model, requests, needs_all != 0)
    {
        drop(w);
        return failed(error);
    }
    // SAFETY: by the interface.
    unsafe { taken(&mut w, model, place, from) }.unwrap_or(NOTHING)
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
    let waited = w.wait_until(|w| {
        w.process.model_has_packet(model)
            || w.objects.models_woken & bit != 0
            || (needs_all && w.process.has_lost())
            || requests.iter().any(|request| is_done(w, *request))
    });
    w.objects.models_waiting &= !bit;
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
