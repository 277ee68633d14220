//! Operations on counting events that wait for a counting event (section 3.16). The others are beside those that do not wait.

use crate::interface::run;
use crate::types::{CtEvent, code};
use core::ffi::c_int;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlTriggeredCTInc(
    ct_handle: u32,
    increment: CtEvent,
    trig_ct_handle: u32,
    threshold: u64,
) -> c_int {
    code(run(|p| {
        let what = (ct_handle, increment.increment()?, false);
        let (interface, carrier) = p.interface(ct_handle)?;
        interface.triggered_count(what, (trig_ct_handle, threshold), carrier)
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PtlTriggeredCTSet(
    ct_handle: u32,
    new_ct: CtEvent,
    trig_ct_handle: u32,
    threshold: u64,
) -> c_int {
    code(run(|p| {
        let what = (ct_handle, new_ct.count(), true);
        let (interface, carrier) = p.interface(ct_handle)?;
        interface.triggered_count(what, (trig_ct_handle, threshold), carrier)
    }))
}
