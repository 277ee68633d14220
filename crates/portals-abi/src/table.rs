//! The portal table, list entries, match entries, memory descriptors (sections 3.7, 3.10 to 3.12).

use crate::interface::{ANY_RANK, of_interface, run};
use crate::process::lock;
use crate::progress::wait;
use crate::types::{CT_NONE, EQ_NONE, IOVEC, Iovec, Le, Md, Me, code, give, given};
use core::ffi::{c_int, c_uint, c_void};
use hpvm_portals::{
    ANY, ANY_ID, Appended, Entry, Fault, Handle, HandleKind, Interface, List, MdOptions, Options,
    PtOptions, Region, Run, Search, Source,
};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlPTAlloc(
    ni_handle: u32,
    options: c_uint,
    eq_handle: u32,
    pt_index_req: u32,
    pt_index: *mut u32,
) -> c_int {
    code(run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        if pt_index.is_null() {
            return Err(Fault::ArgInvalid);
        }
        let index =
            interface.table_alloc(PtOptions(options), (eq_handle, EQ_NONE), pt_index_req)?;
        // SAFETY: the program's place.
        unsafe { give(pt_index, index) }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlPTFree(ni_handle: u32, pt_index: u32) -> c_int {
    code(run(|p| of_interface(p, ni_handle)?.0.table_free(pt_index)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlPTEnable(ni_handle: u32, pt_index: u32) -> c_int {
    code(run(|p| of_interface(p, ni_handle)?.0.table_enable(pt_index)))
}

/// Returns when nothing moves any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlPTDisable(ni_handle: u32, pt_index: u32) -> c_int {
    let disabled = run(|p| of_interface(p, ni_handle)?.0.table_disable(pt_index));
    if disabled.is_err() {
        return code(disabled);
    }
    let idle = wait(lock(), None, |p| match of_interface(p, ni_handle) {
        Ok((interface, _)) => interface.table_is_idle(pt_index).then_some(()),
        Err(_) => Some(()),
    });
    code(idle.map(|_| ()))
}

/// Memory that a program describes: bytes, or with `vector` as many parts.
///
/// # Safety
/// With `vector`, `length` parts are at `start`.
unsafe fn region(
    interface: &Interface,
    start: *mut c_void,
    length: u64,
    vector: bool,
) -> Result<Region, Fault> {
    if !vector {
        return Region::new(start.expose_provenance() as u64, length).ok_or(Fault::ArgInvalid);
    }
    if length > interface.limits().max_iovecs as u64 || (start.is_null() && length > 0) {
        return Err(Fault::ArgInvalid);
    }
    let part = |at: usize| {
        // SAFETY: the caller's promise.
        let Iovec { base, len } = unsafe { start.cast::<Iovec>().add(at).read_unaligned() };
        Run { address: base.expose_provenance() as u64, length: len }
    };
    Region::vector((0..length as usize).map(part).collect()).ok_or(Fault::ArgInvalid)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlMDBind(ni_handle: u32, md: *const Md, md_handle: *mut u32) -> c_int {
    code(run(|p| {
        let (interface, _) = of_interface(p, ni_handle)?;
        // SAFETY: the program's descriptor, with its memory.
        unsafe {
            let md = given(md)?;
            if md_handle.is_null() {
                return Err(Fault::ArgInvalid);
            }
            let region = region(interface, md.start, md.length, md.options & IOVEC != 0)?;
            let options = MdOptions(md.options & !IOVEC);
            let queue = (md.eq_handle, EQ_NONE);
            let counter = (md.ct_handle, CT_NONE);
            give(md_handle, interface.bind(region, options, queue, counter)?)
        }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlMDRelease(md_handle: u32) -> c_int {
    code(run(|p| {
        let released = p.interface(md_handle)?.0.release(md_handle);
        if released != Err(Fault::InUse) {
            return released;
        }
        // What it waits for may have come.
        p.glance();
        p.interface(md_handle)?.0.release(md_handle)
    }))
}

/// The bits of `PTL_ME_*` and those of [`Options`] for the same.
const OPTIONS: [(c_uint, Options); 19] = [
    (1 << 1, Options::OP_PUT),
    (1 << 2, Options::OP_GET),
    (1 << 3, Options::USE_ONCE),
    (1 << 4, Options::ACK_DISABLE),
    (1 << 5, Options::UNEXPECTED_HDR_DISABLE),
    (1 << 7, Options::EVENT_LINK_DISABLE),
    (1 << 8, Options::EVENT_COMM_DISABLE),
    (1 << 9, Options::EVENT_FLOWCTRL_DISABLE),
    (1 << 10, Options::EVENT_SUCCESS_DISABLE),
    (1 << 11, Options::EVENT_OVER_DISABLE),
    (1 << 12, Options::EVENT_UNLINK_DISABLE),
    (1 << 13, Options::EVENT_CT_COMM),
    (1 << 14, Options::EVENT_CT_OVERFLOW),
    (1 << 15, Options::EVENT_CT_BYTES),
    (1 << 16, Options::MANAGE_LOCAL),
    (1 << 17, Options::NO_TRUNCATE),
    (1 << 19, Options::LOCAL_INC_UH_RLENGTH),
    (1 << 20, Options::UH_LOCAL_OFFSET_INC_MANIPULATED),
    (1 << 21, Options::MANAGE_LOCAL_STOP_IF_UH),
];

/// `PTL_IOVEC`, `PTL_ME_IS_ACCESSIBLE`, `PTL_ME_MAY_ALIGN`, `PTL_ME_OV_RDMA_DISABLE`: no bits of [`Options`].
const OTHERS: c_uint = IOVEC | 1 << 6 | 1 << 18 | 1 << 22;
/// The last option of list entries is `PTL_LE_EVENT_CT_BYTES`; `PTL_LE_OV_RDMA_DISABLE` is another.
const OF_LISTS: c_uint = ((1 << 16) - 1) | 1 << 22;

fn options(bits: c_uint) -> Result<Options, Fault> {
    let mut left = bits & !OTHERS;
    let mut options = Options::default();
    for (bit, option) in OPTIONS {
        if left & bit != 0 {
            options = options | option;
            left &= !bit;
        }
    }
    if left == 0 { Ok(options) } else { Err(Fault::ArgInvalid) }
}

fn uid(uid: u32) -> Option<u32> {
    (uid != ANY).then_some(uid)
}

/// # Safety
/// `le` is null or readable, and so is a vector that it names.
unsafe fn list_entry(
    interface: &Interface,
    le: *const Le,
    user_ptr: *mut c_void,
) -> Result<Appended, Fault> {
    // SAFETY: the caller's promise.
    let le = unsafe { given(le)? };
    if le.options & !OF_LISTS != 0 {
        return Err(Fault::ArgInvalid);
    }
    // SAFETY: the caller's promise.
    let region = unsafe { region(interface, le.start, le.length, le.options & IOVEC != 0)? };
    let user_ptr = user_ptr.expose_provenance() as u64;
    let entry =
        Entry::list_entry(region.length(), None, uid(le.uid), options(le.options)?, user_ptr);
    let (counter, no_counter) = (le.ct_handle, CT_NONE);
    Ok(Appended { entry, region, counter, no_counter, matching: false })
}

/// # Safety
/// As for `list_entry`.
unsafe fn match_entry(
    interface: &Interface,
    me: *const Me,
    user_ptr: *mut c_void,
) -> Result<Appended, Fault> {
    // SAFETY: the caller's promise.
    let me = unsafe { given(me)? };
    // SAFETY: the caller's promise.
    let region = unsafe { region(interface, me.start, me.length, me.options & IOVEC != 0)? };
    let only = |id: u32, any: u32| (id != any).then_some(id);
    let source = match interface.nature().logical {
        true => Source::Logical(only(me.match_id.first, ANY_RANK)),
        false => Source::Physical {
            nid: only(me.match_id.first, ANY_ID),
            pid: only(me.match_id.second, ANY_ID),
        },
    };
    let entry = Entry {
        length: region.length(),
        ct: None,
        uid: uid(me.uid),
        options: options(me.options)?,
        source,
        match_bits: me.match_bits,
        ignore_bits: me.ignore_bits,
        min_free: me.min_free,
        user_ptr: user_ptr.expose_provenance() as u64,
    };
    let (counter, no_counter) = (me.ct_handle, CT_NONE);
    Ok(Appended { entry, region, counter, no_counter, matching: true })
}

fn list(number: u8) -> Result<List, Fault> {
    match number {
        0 => Ok(List::Priority),
        1 => Ok(List::Overflow),
        _ => Err(Fault::ArgInvalid),
    }
}

fn kind_of_search(number: u8) -> Result<Search, Fault> {
    match number {
        0 => Ok(Search::Only),
        1 => Ok(Search::Delete),
        _ => Err(Fault::ArgInvalid),
    }
}

/// Defines append and search of one kind of entries.
macro_rules! entries {
    ($append:ident $search:ident $unlink:ident $ty:ident $read:ident $kind:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $append(
            ni_handle: u32,
            pt_index: u32,
            entry: *const $ty,
            ptl_list: u8,
            user_ptr: *mut c_void,
            handle: *mut u32,
        ) -> c_int {
            code(run(|p| {
                let (interface, carrier) = of_interface(p, ni_handle)?;
                if handle.is_null() {
                    return Err(Fault::ArgInvalid);
                }
                // SAFETY: the program's entry and place.
                unsafe {
                    let appended = $read(interface, entry, user_ptr)?;
                    give(handle, interface.append(pt_index, appended, list(ptl_list)?, carrier)?)
                }
            }))
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $search(
            ni_handle: u32,
            pt_index: u32,
            entry: *const $ty,
            ptl_search_op: u8,
            user_ptr: *mut c_void,
        ) -> c_int {
            code(run(|p| {
                // A message that is there is one that could be found.
                p.glance();
                let (interface, carrier) = of_interface(p, ni_handle)?;
                // SAFETY: the program's entry.
                let entry = unsafe { $read(interface, entry, user_ptr)? };
                interface.search(pt_index, entry, kind_of_search(ptl_search_op)?, carrier)
            }))
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $unlink(handle: u32) -> c_int {
            code(run(|p| {
                if !Handle::from_bits(handle).is_some_and(|h| h.kind == HandleKind::$kind) {
                    return Err(Fault::ArgInvalid);
                }
                let unlinked = p.interface(handle)?.0.unlink(handle);
                if unlinked == Err(Fault::InUse) {
                    // The data that it waits for may have come.
                    p.glance();
                    return p.interface(handle)?.0.unlink(handle);
                }
                unlinked
            }))
        }
    };
}

entries!(PtlLEAppend PtlLESearch PtlLEUnlink Le list_entry ListEntry);
entries!(PtlMEAppend PtlMESearch PtlMEUnlink Me match_entry MatchEntry);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlTriggeredMEAppend(
    ni_handle: u32,
    pt_index: u32,
    me: *const Me,
    ptl_list: u8,
    user_ptr: *mut c_void,
    me_handle: *mut u32,
    trig_ct_handle: u32,
    threshold: u64,
) -> c_int {
    code(run(|p| {
        let (interface, carrier) = of_interface(p, ni_handle)?;
        if me_handle.is_null() {
            return Err(Fault::ArgInvalid);
        }
        let trigger = (trig_ct_handle, threshold);
        // SAFETY: the program's entry and place.
        unsafe {
            let me = match_entry(interface, me, user_ptr)?;
            let list = list(ptl_list)?;
            give(me_handle, interface.triggered_append(pt_index, me, list, trigger, carrier)?)
        }
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlTriggeredMEUnlink(
    me_handle: u32,
    trig_ct_handle: u32,
    threshold: u64,
) -> c_int {
    code(run(|p| {
        let (interface, carrier) = p.interface(me_handle)?;
        interface.triggered_unlink(me_handle, (trig_ct_handle, threshold), carrier)
    }))
}
