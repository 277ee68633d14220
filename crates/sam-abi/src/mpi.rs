//! The carrier of a program's messages: a communicator of MPI that only SAM knows.
//!
//! A message is one of MPI's, with the content if that is short, else followed by a second one with the content, which
//! MPI copies from memory to memory. Short is what MPI sends at once.

use core::ffi::{CStr, c_char, c_int};
use hpvm_abi::Entries;
use hpvm_abi::constants::*;
use hpvm_sam::{Buffer, Carrier, Fault, Head, Incoming, Outgoing};
use std::rc::Rc;

unsafe extern "C" {
    static hpvm_entries_1: Entries;
}

/// The functions of `libmpi_abi.so.1`. Not by name: a program may have functions of the same names in front of them.
#[inline(always)]
pub fn entries() -> &'static Entries {
    // SAFETY: the library is linked, and never changes the table.
    unsafe { &hpvm_entries_1 }
}

/// The text of an MPI error.
#[inline(always)]
pub fn checked(code: c_int) -> Result<(), Fault> {
    if code == MPI_SUCCESS { Ok(()) } else { Err(failed(code)) }
}

#[cold]
fn failed(code: c_int) -> Fault {
    let mut text = [0u8; MPI_MAX_ERROR_STRING as usize + 1];
    let mut len = 0;
    // SAFETY: the buffer is longer than MPI says.
    unsafe { (entries().standard.MPI_Error_string)(code, text.as_mut_ptr().cast(), &mut len) };
    let text = CStr::from_bytes_until_nul(&text).unwrap_or(c"an error of MPI");
    Fault::new(text.to_string_lossy())
}

const HEAD_TAG: c_int = 1;
const CONTENT_TAG: c_int = 2;

/// Bytes of a message whose content does not follow: as much as MPI sends eagerly everywhere.
const SHORT: usize = 4096;

/// A session of MPI: the engine runs while there is one, whatever the program does with `MPI_Init`.
pub struct Session {
    handle: MPI_Session,
    pub rank: u32,
    pub ranks: u32,
}

impl Session {
    /// Collective: the session, and the communicator of all ranks.
    pub fn open() -> Result<(Session, Mpi), Fault> {
        let mpi = &entries().standard;
        let (mut handle, mut group) = (MPI_SESSION_NULL, MPI_GROUP_NULL);
        let mut comm = MPI_COMM_NULL;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the handles and places are ours, the names are strings of C.
        unsafe {
            checked((mpi.MPI_Session_init)(MPI_INFO_NULL, MPI_ERRORS_RETURN, &mut handle))?;
            let world: *const c_char = c"mpi://WORLD".as_ptr();
            checked((mpi.MPI_Group_from_session_pset)(handle, world, &mut group))?;
            checked((mpi.MPI_Comm_create_from_group)(
                group,
                c"hpvm.sam".as_ptr(),
                MPI_INFO_NULL,
                MPI_ERRORS_RETURN,
                &mut comm,
            ))?;
            checked((mpi.MPI_Group_rank)(group, &mut rank))?;
            checked((mpi.MPI_Group_size)(group, &mut size))?;
            checked((mpi.MPI_Group_free)(&mut group))?;
        }
        let number =
            |n: c_int| u32::try_from(n).map_err(|_| Fault::new(format!("MPI counts {n} ranks")));
        let (rank, ranks) = (number(rank)?, number(size)?);
        Ok((Session { handle, rank, ranks }, Mpi::new(comm, ranks)))
    }

    pub fn close(mut self) -> Result<(), Fault> {
        // SAFETY: the handle is ours.
        checked(unsafe { (entries().standard.MPI_Session_finalize)(&mut self.handle) })
    }
}

/// What a send under way still reads.
enum Held {
    Head(#[allow(dead_code, reason = "owns the memory")] Box<[u8; SHORT]>),
    Content(#[allow(dead_code, reason = "owns the memory")] Rc<Buffer>),
}

pub struct Mpi {
    comm: MPI_Comm,
    /// Where messages are put together, and where they arrive.
    out: Box<[u8; SHORT]>,
    came: Box<[u8; SHORT]>,
    under_way: Vec<(MPI_Request, Held)>,
    /// Messages to and from each rank, without those of contents.
    sent: Vec<u64>,
    received: Vec<u64>,
}

impl Mpi {
    fn new(comm: MPI_Comm, ranks: u32) -> Mpi {
        let count = vec![0; ranks as usize];
        let buffer = || Box::new([0; SHORT]);
        Mpi {
            comm,
            out: buffer(),
            came: buffer(),
            under_way: Vec::new(),
            sent: count.clone(),
            received: count,
        }
    }

    /// Starts to send; what is held stays until the send is done.
    fn start(
        &mut self,
        to: u32,
        tag: c_int,
        from: *const u8,
        len: usize,
    ) -> Result<Option<MPI_Request>, Fault> {
        let mpi = &entries().standard;
        let mut request = MPI_REQUEST_NULL;
        let mut done = 0;
        // SAFETY: the caller keeps `len` bytes at `from` until the request is done.
        unsafe {
            let (len, to) = (len as MPI_Count, to as c_int);
            checked((mpi.MPI_Isend_c)(
                from.cast(),
                len,
                MPI_BYTE,
                to,
                tag,
                self.comm,
                &mut request,
            ))?;
            checked((mpi.MPI_Test)(&mut request, &mut done, MPI_STATUS_IGNORE))?;
        }
        Ok((done == 0).then_some(request))
    }

    /// Forgets sends that are done.
    fn sweep(&mut self) -> Result<(), Fault> {
        let mut result = Ok(());
        self.under_way.retain_mut(|(request, _)| {
            let mut done = 0;
            // SAFETY: our request, whose memory is held.
            let code =
                unsafe { (entries().standard.MPI_Test)(request, &mut done, MPI_STATUS_IGNORE) };
            if let Err(fault) = checked(code) {
                result = Err(fault);
            }
            done == 0
        });
        result
    }

    /// Receives the message that waits, or comes, from `source`.
    fn receive_from(&mut self, source: c_int) -> Result<Incoming, Fault> {
        let mut status = MPI_Status::default();
        // SAFETY: room for the longest message; the place is ours.
        checked(unsafe {
            (entries().standard.MPI_Recv)(
                self.came.as_mut_ptr().cast(),
                SHORT as c_int,
                MPI_BYTE,
                source,
                HEAD_TAG,
                self.comm,
                &mut status,
            )
        })?;
        self.taken(&status)
    }

    /// What lies where messages arrive, and its content.
    fn taken(&mut self, status: &MPI_Status) -> Result<Incoming, Fault> {
        let len = (status.bytes() as usize).min(SHORT);
        let from = status.MPI_SOURCE;
        let head = Head::from_bytes(&self.came[..len])?;
        if let Some(count) = self.received.get_mut(from as usize) {
            *count += 1;
        }
        let here = len - Head::BYTES;
        let content = if !head.kind.carries() {
            None
        } else if here as u64 == head.len {
            Some(Buffer::copied(&self.came[Head::BYTES..len])?)
        } else if here == 0 {
            Some(self.content(from, &head)?)
        } else {
            let text = format!("{here} bytes of {} from rank {from}", head.len);
            return Err(Fault::new(text));
        };
        Ok(Incoming { from: from as u32, head, content })
    }

    /// The message with the content, which was sent together with the head.
    fn content(&self, from: c_int, head: &Head) -> Result<Buffer, Fault> {
        let len = usize::try_from(head.len).map_err(|_| Fault::no_memory(usize::MAX))?;
        let mut buffer = Buffer::new(len)?;
        let mut status = MPI_Status::default();
        // SAFETY: the buffer has as many bytes.
        checked(unsafe {
            (entries().standard.MPI_Recv_c)(
                buffer.bytes_mut().as_mut_ptr().cast(),
                len as MPI_Count,
                MPI_BYTE,
                from,
                CONTENT_TAG,
                self.comm,
                &mut status,
            )
        })?;
        match status.bytes() {
            bytes if bytes == head.len => Ok(buffer),
            bytes => Err(Fault::new(format!(
                "a content of {bytes} bytes from rank {from}; {} were announced",
                head.len
            ))),
        }
    }

    /// Begins a barrier; `receive_or` tells when it is over.
    pub fn barrier(&mut self) -> Result<MPI_Request, Fault> {
        let mut request = MPI_REQUEST_NULL;
        // SAFETY: the place is ours.
        checked(unsafe { (entries().standard.MPI_Ibarrier)(self.comm, &mut request) })?;
        Ok(request)
    }

    /// Waits for a message, or for `other` to be done. None: it is, and its handle is null.
    pub fn receive_or(&mut self, other: &mut MPI_Request) -> Result<Option<Incoming>, Fault> {
        self.sweep()?;
        let mpi = &entries().standard;
        let mut requests = [MPI_REQUEST_NULL, *other];
        let mut status = MPI_Status::default();
        let (mut which, mut was) = (0, 0);
        let into = self.came.as_mut_ptr().cast();
        // SAFETY: room for the longest message, which stays until the request is done or cancelled; the places are ours.
        unsafe {
            let posted = &mut requests[0];
            let most = SHORT as c_int;
            checked((mpi.MPI_Irecv)(
                into,
                most,
                MPI_BYTE,
                MPI_ANY_SOURCE,
                HEAD_TAG,
                self.comm,
                posted,
            ))?;
            checked((mpi.MPI_Waitany)(2, requests.as_mut_ptr(), &mut which, &mut status))?;
            *other = requests[1];
            if which == 0 {
                return self.taken(&status).map(Some);
            }
            checked((mpi.MPI_Cancel)(&mut requests[0]))?;
            checked((mpi.MPI_Wait)(&mut requests[0], &mut status))?;
            checked((mpi.MPI_Test_cancelled)(&status, &mut was))?;
        }
        // A message may have come in the last moment: then it is to be handled, and `other` asked again.
        if was != 0 { Ok(None) } else { self.taken(&status).map(Some) }
    }

    /// Receives what others have sent and nobody needs any more, and ends. Collective: nobody sends meanwhile.
    pub fn close(mut self) -> Result<(), Fault> {
        let mpi = &entries().standard;
        let mut coming = vec![0u64; self.sent.len()];
        // SAFETY: both have a word for each rank.
        checked(unsafe {
            (mpi.MPI_Alltoall)(
                self.sent.as_ptr().cast(),
                1,
                MPI_UINT64_T,
                coming.as_mut_ptr().cast(),
                1,
                MPI_UINT64_T,
                self.comm,
            )
        })?;
        for (rank, count) in coming.into_iter().enumerate() {
            while self.received[rank] < count {
                self.receive_from(rank as c_int)?;
            }
        }
        for (request, _) in &mut self.under_way {
            // SAFETY: our request, whose memory is held.
            checked(unsafe { (mpi.MPI_Wait)(request, MPI_STATUS_IGNORE) })?;
        }
        // SAFETY: the handle is ours.
        checked(unsafe { (mpi.MPI_Comm_free)(&mut self.comm) })
    }
}

impl Carrier for Mpi {
    fn send(&mut self, message: Outgoing) -> Result<(), Fault> {
        let Outgoing { to, head, content } = message;
        if !self.under_way.is_empty() {
            self.sweep()?;
        }
        self.sent[to as usize] += 1;
        self.out[..Head::BYTES].copy_from_slice(&head.to_bytes());
        let mut len = Head::BYTES;
        let mut long = None;
        if let Some(content) = content {
            let end = len.saturating_add(content.len());
            match self.out.get_mut(len..end) {
                Some(room) => {
                    room.copy_from_slice(content.bytes());
                    len = end;
                }
                None => long = Some(content),
            }
        }
        if let Some(request) = self.start(to, HEAD_TAG, self.out.as_ptr(), len)? {
            let held = std::mem::replace(&mut self.out, Box::new([0; SHORT]));
            self.under_way.push((request, Held::Head(held)));
        }
        if let Some(content) = long
            && let Some(request) = self.start(to, CONTENT_TAG, content.address(), content.len())?
        {
            self.under_way.push((request, Held::Content(content)));
        }
        Ok(())
    }

    fn receive(&mut self, wait: bool) -> Result<Option<Incoming>, Fault> {
        if !self.under_way.is_empty() {
            self.sweep()?;
        }
        if wait {
            return self.receive_from(MPI_ANY_SOURCE).map(Some);
        }
        let mut status = MPI_Status::default();
        let mut found = 0;
        // SAFETY: the places are ours.
        checked(unsafe {
            let comm = self.comm;
            (entries().standard.MPI_Iprobe)(MPI_ANY_SOURCE, HEAD_TAG, comm, &mut found, &mut status)
        })?;
        if found == 0 {
            return Ok(None);
        }
        self.receive_from(status.MPI_SOURCE).map(Some)
    }

    fn backlog(&self) -> usize {
        self.under_way.len()
    }
}

/// No request: what `receive_or` leaves of the other one when it is done.
pub fn is_over(request: MPI_Request) -> bool {
    request == MPI_REQUEST_NULL
}

/// A place that a caller in C may leave out.
///
/// # Safety
/// `place` is null, or where a `T` may be written.
pub unsafe fn give<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}
