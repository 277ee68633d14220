//! Events (section 15.3.8): there are none, and no sources of them, so every index is wrong and
//! no handle can be a live one.

use super::{call, must};
use crate::generated::constants::*;
use core::ffi::{c_char, c_int, c_void};

pub unsafe fn event_get_num(num_events: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    call(|_| unsafe { must(num_events, 0) })
}

pub unsafe fn source_get_num(num_sources: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    call(|_| unsafe { must(num_sources, 0) })
}

macro_rules! refused {
    ($(fn $function:ident($($argument:ident: $kind:ty),*) $error:expr;)*) => {$(
        pub unsafe fn $function($($argument: $kind),*) -> c_int {
            $(let _ = $argument;)*
            call(|_| Err($error))
        }
    )*};
}

refused! {
    fn event_get_index(name: *const c_char, event_index: *mut c_int) MPI_T_ERR_INVALID_NAME;
    fn event_get_info(event_index: c_int, name: *mut c_char, name_len: *mut c_int,
        verbosity: *mut c_int, array_of_datatypes: *mut MPI_Datatype,
        array_of_displacements: *mut MPI_Aint, num_elements: *mut c_int,
        enumtype: *mut MPI_T_enum, info: *mut MPI_Info, desc: *mut c_char, desc_len: *mut c_int,
        bind: *mut c_int) MPI_T_ERR_INVALID_INDEX;
    fn event_handle_alloc(event_index: c_int, obj_handle: *mut c_void, info: MPI_Info,
        event_registration: *mut MPI_T_event_registration) MPI_T_ERR_INVALID_INDEX;
    fn event_handle_free(event_registration: MPI_T_event_registration, user_data: *mut c_void,
        free_cb_function: MPI_T_event_free_cb_function) MPI_T_ERR_INVALID_HANDLE;
    fn event_handle_get_info(event_registration: MPI_T_event_registration, info_used: *mut MPI_Info)
        MPI_T_ERR_INVALID_HANDLE;
    fn event_handle_set_info(event_registration: MPI_T_event_registration, info: MPI_Info)
        MPI_T_ERR_INVALID_HANDLE;
    fn event_register_callback(event_registration: MPI_T_event_registration,
        cb_safety: MPI_T_cb_safety, info: MPI_Info, user_data: *mut c_void,
        event_cb_function: MPI_T_event_cb_function) MPI_T_ERR_INVALID_HANDLE;
    fn event_callback_get_info(event_registration: MPI_T_event_registration,
        cb_safety: MPI_T_cb_safety, info_used: *mut MPI_Info) MPI_T_ERR_INVALID_HANDLE;
    fn event_callback_set_info(event_registration: MPI_T_event_registration,
        cb_safety: MPI_T_cb_safety, info: MPI_Info) MPI_T_ERR_INVALID_HANDLE;
    fn event_set_dropped_handler(event_registration: MPI_T_event_registration,
        dropped_cb_function: MPI_T_event_dropped_cb_function) MPI_T_ERR_INVALID_HANDLE;
    fn event_read(event_instance: MPI_T_event_instance, element_index: c_int, buffer: *mut c_void)
        MPI_T_ERR_INVALID_HANDLE;
    fn event_copy(event_instance: MPI_T_event_instance, buffer: *mut c_void)
        MPI_T_ERR_INVALID_HANDLE;
    fn event_get_timestamp(event_instance: MPI_T_event_instance, event_timestamp: *mut MPI_Count)
        MPI_T_ERR_INVALID_HANDLE;
    fn event_get_source(event_instance: MPI_T_event_instance, source_index: *mut c_int)
        MPI_T_ERR_INVALID_HANDLE;
    fn source_get_info(source_index: c_int, name: *mut c_char, name_len: *mut c_int,
        desc: *mut c_char, desc_len: *mut c_int, ordering: *mut MPI_T_source_order,
        ticks_per_second: *mut MPI_Count, max_ticks: *mut MPI_Count, info: *mut MPI_Info)
        MPI_T_ERR_INVALID_INDEX;
    fn source_get_timestamp(source_index: c_int, timestamp: *mut MPI_Count) MPI_T_ERR_INVALID_INDEX;
}
