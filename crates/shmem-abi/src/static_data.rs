//! The program's static data: the writable segments of the executable.

use core::ffi::{c_int, c_void};
use core::ops::Range;

const PAGE: usize = 4096;

/// Addresses of `.data` and `.bss` of the executable, without what the dynamic linker makes read-only.
pub fn segments() -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // SAFETY: the function gets the vector, which lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

/// Looks at one object; the executable comes first, and nothing after it counts.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: valid during the call, by `dl_iterate_phdr`; `found` is the vector of `segments`.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Range<usize>>>()) };
    // SAFETY: the headers of a loaded object.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let range = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr.wrapping_add(header.p_vaddr) as usize;
        start..start + header.p_memsz as usize
    };
    let relro = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO).map(&range);
    let writable = |h: &&libc::Elf64_Phdr| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0;
    found.extend(headers.iter().filter(writable).filter_map(|header| {
        let mut data = range(header);
        if let Some(fixed) = &relro
            && data.contains(&fixed.start)
        {
            data.start = data.start.max(fixed.end & !(PAGE - 1));
        }
        (!data.is_empty()).then_some(data)
    }));
    1
}
