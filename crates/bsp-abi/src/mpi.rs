//! The carrier of total exchanges: a communicator of MPI that only BSPlib knows.

use crate::mapped::Mapped;
use core::ffi::{c_char, c_int};
use hpvm_abi::Entries;
use hpvm_abi::constants::*;
use hpvm_abi::onesided::Key;
use hpvm_bsp::{Buffer, Carrier, Counts, Shown, Tag};

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
        Ok(Mpi { comm, requests: Vec::new(), mapped: None })
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
    /// What the processes have mapped of each other, where they are of one host.
    mapped: Option<Mapped>,
}

impl Mpi {
    /// Looks for the ways by which processes of one host exchange. All processes call this.
    pub fn map(&mut self, own: usize, processes: usize) -> Result<(), String> {
        self.mapped = Mapped::open(self, own, processes)?;
        Ok(())
    }

    /// How many processes of the program are on this host.
    pub fn on_this_host(&self) -> Result<usize, String> {
        let mpi = &entries().standard;
        let (mut near, mut size) = (MPI_COMM_NULL, 0);
        // SAFETY: the handles and places are ours.
        unsafe {
            let split = mpi.MPI_Comm_split_type;
            checked(split(self.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &mut near))?;
            checked((mpi.MPI_Comm_size)(near, &mut size))?;
            checked((mpi.MPI_Comm_free)(&mut near))?;
        }
        Ok(size.unsigned_abs() as usize)
    }

    /// The keys of all processes.
    pub fn all_gather_keys(&self, own: &Key, processes: usize) -> Result<Vec<Key>, String> {
        let mut keys = vec![*own; processes];
        let bytes = size_of::<Key>() as c_int;
        let (from, to) = (own.as_ptr().cast(), keys.as_mut_ptr().cast());
        // SAFETY: a key of each process of the communicator.
        checked(unsafe {
            let gather = entries().standard.MPI_Allgather;
            gather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, self.comm)
        })?;
        Ok(keys)
    }

    /// The least numbers that any process has.
    pub fn least<const N: usize>(&self, own: [c_int; N]) -> Result<[c_int; N], String> {
        let mut least = own;
        let (from, to) = (own.as_ptr().cast(), least.as_mut_ptr().cast());
        // SAFETY: arrays of `N` numbers.
        checked(unsafe {
            let reduce = entries().standard.MPI_Allreduce;
            reduce(from, to, N as c_int, MPI_INT, MPI_MIN, self.comm)
        })?;
        Ok(least)
    }

    pub fn free(mut self) -> Result<(), String> {
        if let Some(mapped) = self.mapped.take() {
            mapped.close();
        }
        // SAFETY: the handle is ours.
        checked(unsafe { (entries().standard.MPI_Comm_free)(&mut self.comm) })
    }
}

impl Mpi {
    fn all_to_all_by_messages(&self, out: &[Counts], into: &mut [Counts]) -> Result<(), String> {
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
}

impl Carrier for Mpi {
    fn all_to_all(&mut self, out: &[Counts], into: &mut [Counts]) -> Result<(), String> {
        if let Some(mapped) = &mut self.mapped
            && mapped.begin()
        {
            mapped.exchange(out, into);
            return Ok(());
        }
        self.all_to_all_by_messages(out, into)
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

    fn in_place(&self, what: Shown) -> bool {
        self.mapped.as_ref().is_some_and(|mapped| mapped.in_place(what))
    }

    fn turn(&mut self, out: &[Counts], into: &[Counts]) {
        if let Some(mapped) = &mut self.mapped {
            mapped.turn(out, into);
        }
    }

    fn show(&mut self, to: usize, what: Shown, message: &Buffer) -> Result<(), String> {
        match &mut self.mapped {
            Some(mapped) => mapped.show(to, what, message),
            None => Err("no memory of other processes is mapped".to_owned()),
        }
    }

    fn view(
        &mut self,
        from: usize,
        what: Shown,
        len: usize,
        into: &mut Buffer,
    ) -> Result<(), String> {
        match &mut self.mapped {
            Some(mapped) => mapped.view(from, what, len, into),
            None => Err("no memory of other processes is mapped".to_owned()),
        }
    }
}
