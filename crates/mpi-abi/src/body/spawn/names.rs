//! Published names (section 11.9.4).

use crate::body::check::{out, text, wrong};
use crate::body::env::put_string;
use crate::generated::constants::*;
use crate::object::info;
use crate::raise::on_world;
use core::ffi::{c_char, c_int};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

/// A service's name.
unsafe fn service(name: *const c_char) -> Result<String> {
    // SAFETY: the caller's promise.
    let name = unsafe { text("service_name", name)? };
    if name.is_empty() {
        return Err(wrong(Class::Arg, "service_name is empty"));
    }
    Ok(name)
}

/// A port's name, as `MPI_Lookup_name` can give it back.
unsafe fn port(name: *const c_char) -> Result<String> {
    // SAFETY: the caller's promise.
    let name = unsafe { text("port_name", name)? };
    if name.len() >= MPI_MAX_PORT_NAME as usize {
        let text = format!(
            "port_name has {} bytes; expected fewer than MPI_MAX_PORT_NAME, {MPI_MAX_PORT_NAME}",
            name.len()
        );
        return Err(wrong(Class::Port, text));
    }
    Ok(name)
}

pub unsafe fn publish_name(
    service_name: *const c_char,
    info: MPI_Info,
    port_name: *const c_char,
) -> c_int {
    on_world("MPI_Publish_name", |w| {
        info::copy_or_empty(info)?;
        // SAFETY: the caller's promises.
        let (name, port) = unsafe { (service(service_name)?, port(port_name)?) };
        w.publish_name(&name, &port)
    })
}

pub unsafe fn unpublish_name(
    service_name: *const c_char,
    info: MPI_Info,
    port_name: *const c_char,
) -> c_int {
    on_world("MPI_Unpublish_name", |w| {
        info::copy_or_empty(info)?;
        // SAFETY: the caller's promises.
        let (name, port) = unsafe { (service(service_name)?, text("port_name", port_name)?) };
        w.unpublish_name(&name, &port)
    })
}

pub unsafe fn lookup_name(
    service_name: *const c_char,
    info: MPI_Info,
    port_name: *mut c_char,
) -> c_int {
    on_world("MPI_Lookup_name", |w| {
        out("port_name", port_name)?;
        info::copy_or_empty(info)?;
        // SAFETY: the caller's promise.
        let name = unsafe { service(service_name)? };
        let port = w.lookup_name(&name)?;
        let mut len = 0;
        // SAFETY: checked above; the standard makes the place this long.
        unsafe { put_string(&port, port_name, MPI_MAX_PORT_NAME as usize, &mut len) };
        Ok(())
    })
}
