//! Ports, and connecting by them (sections 11.9.1 to 11.9.3, 11.10.5).

use super::side;
use crate::body::check::{out, text, wrong};
use crate::body::comm::adopt;
use crate::body::env::put_string;
use crate::dynamic::link::Side;
use crate::dynamic::port::{NAME_BYTES_MAX, PortName};
use crate::generated::constants::*;
use crate::object::info;
use crate::raise::{on_comm, on_world};
use crate::runtime::Entered;
use core::ffi::{c_char, c_int};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm};
use std::io;
use std::sync::Arc;

pub unsafe fn open_port(info: MPI_Info, port_name: *mut c_char) -> c_int {
    on_world("MPI_Open_port", |w| {
        out("port_name", port_name)?;
        info::copy_or_empty(info)?;
        let name = w.open_port()?;
        let mut len = 0;
        // SAFETY: checked above; the standard makes the place this long, and the name is shorter than any MPI's.
        unsafe { put_string(&name, port_name, MPI_MAX_PORT_NAME as usize, &mut len) };
        Ok(())
    })
}

pub unsafe fn close_port(port_name: *const c_char) -> c_int {
    on_world("MPI_Close_port", |w| {
        // SAFETY: the caller's promise.
        let name = unsafe { text("port_name", port_name)? };
        w.close_port(&name)
    })
}

/// What brings two groups together.
type Meet = fn(&mut Entered, &Side, Result<&str>) -> Result<Arc<Comm>>;

unsafe fn meet(
    function: &'static str,
    how: Meet,
    port_name: *const c_char,
    info: MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    newcomm: *mut MPI_Comm,
) -> c_int {
    on_comm(function, comm, |w| {
        out("newcomm", newcomm)?;
        let (side, parent) = side(w, comm, root)?;
        // Both matter at the root only, which tells the others when they are wrong.
        let name = match side.is_root() {
            false => Ok(String::new()),
            // SAFETY: the caller's promise.
            true => info::copy_or_empty(info)
                .and_then(|_| unsafe { text("port_name", port_name) })
                .map_err(|e| if e.class == Class::Arg { wrong(Class::Port, e.text) } else { e }),
        };
        let made = how(w, &side, name.as_deref().map_err(Clone::clone))?;
        // SAFETY: checked above.
        unsafe { *newcomm = adopt(w, &parent, made)? };
        Ok(())
    })
}

pub unsafe fn comm_accept(
    port_name: *const c_char,
    info: MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    newcomm: *mut MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { meet("MPI_Comm_accept", Entered::accept, port_name, info, root, comm, newcomm) }
}

pub unsafe fn comm_connect(
    port_name: *const c_char,
    info: MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    newcomm: *mut MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { meet("MPI_Comm_connect", Entered::connect, port_name, info, root, comm, newcomm) }
}

/// Refuses what is no connected stream socket.
fn check_socket(fd: c_int) -> Result<()> {
    let refuse = |found: String| {
        let text = format!(
            "descriptor {fd} of MPI_Comm_join: expected a connected socket of type SOCK_STREAM, found {found}"
        );
        wrong(Class::Arg, text)
    };
    let (mut kind, mut len) = (0 as c_int, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: an integer and its length, which are written; a wrong descriptor is an error.
    let asked = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &mut len)
    };
    if asked != 0 {
        let cause = io::Error::last_os_error();
        return Err(refuse(match cause.raw_os_error() {
            Some(libc::EBADF) => "none that is open".to_owned(),
            Some(libc::ENOTSOCK) => "no socket".to_owned(),
            _ => cause.to_string(),
        }));
    }
    if kind != libc::SOCK_STREAM {
        return Err(refuse("a socket of another type".to_owned()));
    }
    let mut name = core::mem::MaybeUninit::<libc::sockaddr_storage>::uninit();
    let mut len = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: room for any name and its length, which are written; a wrong descriptor is an error.
    match unsafe { libc::getpeername(fd, name.as_mut_ptr().cast(), &mut len) } {
        0 => Ok(()),
        _ => Err(refuse(format!("one without another end ({})", io::Error::last_os_error()))),
    }
}

/// Sends or receives all of `bytes` on a descriptor of the program's, which may or may not block.
fn exchange(
    fd: c_int,
    events: i16,
    len: usize,
    mut step: impl FnMut(usize) -> isize,
) -> Result<()> {
    let failed =
        |cause: String| wrong(Class::Other, format!("descriptor {fd} of MPI_Comm_join: {cause}"));
    let mut done = 0;
    while done < len {
        match step(done) {
            0 => return Err(failed("the other side has closed it".into())),
            count if count > 0 => done += count as usize,
            _ => {
                let cause = io::Error::last_os_error();
                match cause.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => {
                        hpvm_os::wait(&fd, events, None).map_err(|e| failed(e.to_string()))?;
                    }
                    _ => return Err(failed(cause.to_string())),
                }
            }
        }
    }
    Ok(())
}

/// Tells the other end of `fd` a port's name, and learns that of its port.
fn swap_names(fd: c_int, ours: &str) -> Result<String> {
    // Names of ports are not equally long.
    let mut out = ours.as_bytes().to_vec();
    out.resize(NAME_BYTES_MAX, 0);
    exchange(fd, libc::POLLOUT, out.len(), |done| {
        let rest = &out[done..];
        // SAFETY: the bytes are valid; a wrong descriptor is an error.
        unsafe { libc::send(fd, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) }
    })?;
    let mut theirs = vec![0; out.len()];
    exchange(fd, libc::POLLIN, out.len(), |done| {
        let rest = &mut theirs[done..];
        // SAFETY: as above, and writable.
        unsafe { libc::recv(fd, rest.as_mut_ptr().cast(), rest.len(), 0) }
    })?;
    let end = theirs.iter().position(|byte| *byte == 0).unwrap_or(theirs.len());
    Ok(String::from_utf8_lossy(&theirs[..end]).into_owned())
}

pub unsafe fn comm_join(fd: c_int, intercomm: *mut MPI_Comm) -> c_int {
    on_world("MPI_Comm_join", |w| {
        out("intercomm", intercomm)?;
        check_socket(fd)?;
        let own = w.objects.comm(MPI_COMM_SELF)?.clone();
        let side = Side { comm: own.comm.clone(), root: 0 };
        let ours = w.open_port()?;
        let swapped = w.outside(|| swap_names(fd, &ours));
        let made = swapped.and_then(|theirs| {
            PortName::parse(&theirs)?;
            // One has to accept, and both have to know which.
            match ours < theirs {
                true => w.accept(&side, Ok(&ours)),
                false => w.connect(&side, Ok(&theirs)),
            }
        });
        w.close_port(&ours)?;
        let made = made?;
        // SAFETY: checked above.
        unsafe { *intercomm = adopt(w, &own, made)? };
        Ok(())
    })
}
