//! The carrier of total exchanges: a communicator of MPI that only BSPlib knows.

use core::ffi::{c_char, c_int, c_void};
use hpvm_abi::Entries;
use hpvm_abi::constants::*;
use hpvm_bsp::{Carrier, Counts, Tag};

unsafe extern "C" {
    static hpvm_entries_1: Entries;
}

/// The functions of `libmpi_abi.so.1`. Not by name: a program may have functions of the same names in front of them.
pub fn entries() -> &'static Entries {
    // SAFETY: the library is linked, and never changes the table.
    unsafe { &hpvm_entries_1 }
}

/// The text of an MPI error.
pub fn checked(code: c_int) -> Result<(), String> {
    if code == MPI_SUCCESS { Ok(()) } else { Err(error_text(code)) }
}

#[cold]
fn error_text(code: c_int) -> String {
    let mut text = [0u8; MPI_MAX_ERROR_STRING as usize];
    let mut len = 0;
    // SAFETY: the buffer is as long as MPI says.
    let asked = unsafe {
        (entries().standard.MPI_Error_string)(code, text.as_mut_ptr().cast::<c_char>(), &mut len)
    };
    let len = usize::try_from(len).unwrap_or(0).min(text.len());
    match asked {
        MPI_SUCCESS => String::from_utf8_lossy(&text[..len]).into_owned(),
        _ => format!("MPI error {code}"),
    }
}

/// A session of MPI: the engine runs while there is one, whatever the program does with `MPI_Init`.
pub struct Session {
    handle: MPI_Session,
    group: MPI_Group,
    pub rank: usize,
    pub size: usize,
}

impl Session {
    pub fn open() -> Result<Session, String> {
        let mpi = &entries().standard;
        let (mut handle, mut group) = (MPI_SESSION_NULL, MPI_GROUP_NULL);
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the handles and places are ours, the name is a string of C.
        unsafe {
            checked((mpi.MPI_Session_init)(MPI_INFO_NULL, MPI_ERRORS_RETURN, &mut handle))?;
            checked((mpi.MPI_Group_from_session_pset)(
                handle,
                c"mpi://WORLD".as_ptr(),
                &mut group,
            ))?;
            checked((mpi.MPI_Group_rank)(group, &mut rank))?;
            checked((mpi.MPI_Group_size)(group, &mut size))?;
        }
        let number = |n: c_int| usize::try_from(n).map_err(|_| format!("MPI counts {n} processes"));
        Ok(Session { handle, group, rank: number(rank)?, size: number(size)? })
    }

    /// A communicator of the first `processes`. All of them call this together, and nobody else.
    pub fn communicator(&self, processes: usize, name: &core::ffi::CStr) -> Result<Mpi, String> {
        let mpi = &entries().standard;
        let mut comm = MPI_COMM_NULL;
        let mut first = MPI_GROUP_NULL;
        let mut range = [[0, processes as c_int - 1, 1]];
        // SAFETY: the handles and places are ours, the name is a string of C.
        unsafe {
            checked((mpi.MPI_Group_range_incl)(self.group, 1, range.as_mut_ptr(), &mut first))?;
            checked((mpi.MPI_Comm_create_from_group)(
                first,
                name.as_ptr(),
                MPI_INFO_NULL,
                MPI_ERRORS_RETURN,
                &mut comm,
            ))?;
            checked((mpi.MPI_Group_free)(&mut first))?;
        }
        Ok(Mpi { comm, requests: Vec::new() })
    }

    pub fn close(mut self) -> Result<(), String> {
        let mpi = &entries().standard;
        // SAFETY: the handles are ours.
        unsafe {
            checked((mpi.MPI_Group_free)(&mut self.group))?;
            checked((mpi.MPI_Session_finalize)(&mut self.handle))
        }
    }
}

pub struct Mpi {
    comm: MPI_Comm,
    requests: Vec<MPI_Request>,
}

impl Mpi {
    /// What process 0 gives as `number`.
    pub fn broadcast(&self, number: c_int) -> Result<c_int, String> {
        let mut number = number;
        let place = (&raw mut number).cast::<c_void>();
        // SAFETY: the place holds one int.
        checked(unsafe { (entries().standard.MPI_Bcast)(place, 1, MPI_INT, 0, self.comm) })?;
        Ok(number)
    }

    pub fn free(mut self) -> Result<(), String> {
        // SAFETY: the handle is ours.
        checked(unsafe { (entries().standard.MPI_Comm_free)(&mut self.comm) })
    }
}

impl Carrier for Mpi {
    fn all_to_all(&mut self, out: &[Counts], into: &mut [Counts]) -> Result<(), String> {
        let bytes = size_of::<Counts>() as c_int;
        // SAFETY: both have an element for each process of the communicator.
        checked(unsafe {
            (entries().standard.MPI_Alltoall)(
                out.as_ptr().cast(),
                bytes,
                MPI_BYTE,
                into.as_mut_ptr().cast(),
                bytes,
                MPI_BYTE,
                self.comm,
            )
        })
    }

    fn all_gather(&mut self, own: &[i64], into: &mut [i64]) -> Result<(), String> {
        let words = own.len() as MPI_Count;
        // SAFETY: `into` has so many words for each process of the communicator.
        checked(unsafe {
            (entries().standard.MPI_Allgather_c)(
                own.as_ptr().cast(),
                words,
                MPI_INT64_T,
                into.as_mut_ptr().cast(),
                words,
                MPI_INT64_T,
                self.comm,
            )
        })
    }

    unsafe fn send(
        &mut self,
        to: usize,
        tag: Tag,
        from: *const u8,
        len: usize,
    ) -> Result<(), String> {
        let mut request = MPI_REQUEST_NULL;
        let len = len as MPI_Count;
        // SAFETY: the caller's promises.
        checked(unsafe {
            (entries().standard.MPI_Isend_c)(
                from.cast(),
                len,
                MPI_BYTE,
                to as c_int,
                tag as c_int,
                self.comm,
                &mut request,
            )
        })?;
        self.requests.push(request);
        Ok(())
    }

    unsafe fn receive(
        &mut self,
        from: usize,
        tag: Tag,
        into: *mut u8,
        len: usize,
    ) -> Result<(), String> {
        let mut request = MPI_REQUEST_NULL;
        let len = len as MPI_Count;
        // SAFETY: the caller's promises.
        checked(unsafe {
            (entries().standard.MPI_Irecv_c)(
                into.cast(),
                len,
                MPI_BYTE,
                from as c_int,
                tag as c_int,
                self.comm,
                &mut request,
            )
        })?;
        self.requests.push(request);
        Ok(())
    }

    fn complete(&mut self) -> Result<(), String> {
        let (count, requests) = (self.requests.len() as c_int, self.requests.as_mut_ptr());
        // SAFETY: the requests are ours, and what they use stays until now.
        let code =
            unsafe { (entries().standard.MPI_Waitall)(count, requests, MPI_STATUSES_IGNORE) };
        self.requests.clear();
        checked(code)
    }
}
