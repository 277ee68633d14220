//! Memory that one process allocates, and whose description it gives to others (`armci_meminfo_t`).

use crate::exposed::NOWHERE;
use crate::state::{Region, held, state};
use crate::types::{MemInfo, Name};
use core::ffi::{c_int, c_long, c_void};
use hpvm_abi::onesided::Key;
use hpvm_model::{done, fail, onesided};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Memory of this process by its address, with its length and key.
static MINE: Mutex<BTreeMap<usize, (usize, Key)>> = Mutex::new(BTreeMap::new());

/// Longs that a key takes.
const LONGS: usize = size_of::<Key>() / size_of::<c_long>();

fn key_of(info: &MemInfo) -> Key {
    let mut key: Key = [0; size_of::<Key>()];
    for (bytes, word) in key.chunks_exact_mut(size_of::<c_long>()).zip(&info.idlist[..LONGS]) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    key
}

/// # Safety
/// The program's structure.
unsafe fn checked<'a>(name: Name, info: *mut MemInfo) -> &'a mut MemInfo {
    // SAFETY: the caller's promise.
    match unsafe { info.as_mut() } {
        Some(info) => info,
        None => fail(name, "meminfo is null"),
    }
}

pub unsafe fn get(name: Name, bytes: usize, info: *mut MemInfo, _: c_int) {
    let s = state(name);
    // SAFETY: the program's structure; memory of our own, which nobody else knows yet.
    unsafe {
        let info = checked(name, info);
        if bytes == 0 {
            fail(name, "0 bytes; expected 1 or more");
        }
        let memory = (onesided().allocate)(bytes);
        if memory.is_null() {
            fail(name, &format!("{bytes} bytes are not to be had"));
        }
        let mut key: Key = [0; size_of::<Key>()];
        done(name, (onesided().expose)(memory, bytes, &mut key));
        let address = memory.expose_provenance();
        held(&MINE).insert(address, (bytes, key));
        info.armci_addr = memory;
        info.addr = memory;
        info.size = bytes;
        info.cpid = s.me as c_int;
        for (word, bytes) in info.idlist.iter_mut().zip(key.as_chunks::<8>().0) {
            *word = c_long::from_ne_bytes(*bytes);
        }
        attach(name, info);
    }
}

/// Learns how the memory is reached, unless that is known.
fn attach(name: Name, info: &MemInfo) -> Region {
    let s = state(name);
    let (process, address) = (s.process(name, info.cpid), info.armci_addr.addr());
    let mut spaces = s.spaces.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(region) = spaces.find(process, address, info.size) {
        return *region;
    }
    let mut there = NOWHERE;
    // SAFETY: a key that its owner has made; a place for the answer.
    done(name, unsafe { (onesided().attach)(&key_of(info), &mut there) });
    let region = Region { address, there };
    if !spaces.insert(process, address..address.saturating_add(info.size), region) {
        fail(
            name,
            &format!(
                "the {} bytes of process {process} at {address:#x} overlap with others",
                info.size
            ),
        );
    }
    region
}

/// The address for loads and stores where that is possible, else that of the owner.
pub unsafe fn at(name: Name, info: *mut MemInfo, offset: c_long) -> *mut c_void {
    // SAFETY: the program's structure.
    let info = unsafe { checked(name, info) };
    let base = attach(name, info).there.base;
    let base = if base.is_null() { info.armci_addr } else { base };
    base.wrapping_byte_offset(offset as isize)
}

/// Ends what `at` began.
pub unsafe fn detach(name: Name, info: *mut MemInfo, _: c_long) {
    let s = state(name);
    // SAFETY: the program's structure.
    let info = unsafe { checked(name, info) };
    let process = s.process(name, info.cpid);
    s.flush(name, process);
    let mut spaces = s.spaces.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(region) = spaces.remove(process, info.armci_addr.addr()) {
        // SAFETY: attached by `attach`, and known to nobody any more.
        unsafe { (onesided().detach)(region.there.target) };
    }
}

/// The owner gives the memory back, when nobody uses it any more.
pub unsafe fn free(name: Name, info: *mut MemInfo) {
    let s = state(name);
    // SAFETY: the program's structure.
    let info = unsafe { checked(name, info) };
    if info.cpid != s.me as c_int {
        fail(name, &format!("the memory is of process {}; only that frees it", info.cpid));
    }
    let Some((bytes, key)) = held(&MINE).remove(&info.armci_addr.addr()) else {
        fail(name, &format!("no memory of ARMCI_Memget begins at {:p}", info.armci_addr))
    };
    // SAFETY: allocated and exposed by `get`.
    unsafe {
        detach(name, info, 0);
        done(name, (onesided().withdraw)(&key));
        (onesided().release)(info.armci_addr, bytes);
    }
}
