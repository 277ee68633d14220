//! The carrier of a program's messages: packets of the engine that only SAM gets, and messages of a communicator that only
//! SAM knows.
//!
//! A message is a packet, with the content if that is short, else followed by a message of MPI with the content, which
//! MPI copies from memory to memory.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use hpvm_abi::Entries;
use hpvm_abi::constants::*;
use hpvm_abi::models::{BLOCKS_FOR_ALL, LOOKS, NOTHING, SAM, error_of};
use hpvm_model::models;
use hpvm_sam::{Buffer, Carrier, Fault, Head, Here, Incoming, Machine, Outgoing, Received, Store};

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

const CONTENT_TAG: c_int = 2;

/// Bytes of a content at most that does not follow.
const INLINE_CONTENT_BYTES: usize = 4048;

const _: () = assert!(Head::BYTES + INLINE_CONTENT_BYTES <= hpvm_abi::models::PACKET);

/// Packets sent between two looks at how many wait to leave.
const PACKETS_PER_LOOK: u32 = 64;

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

pub struct Mpi {
    comm: MPI_Comm,
    /// Where messages arrive.
    came: Box<[u8; hpvm_abi::models::PACKET]>,
    /// Sends of contents, which are held until they are done.
    under_way: Vec<(MPI_Request, Buffer)>,
    /// Packets that waited to leave, when it was last looked, and those sent since.
    unsent: usize,
    unseen: u32,
    /// Messages to and from each rank, without those of contents.
    sent: Vec<u64>,
    received: Vec<u64>,
}

impl Mpi {
    fn new(comm: MPI_Comm, ranks: u32) -> Mpi {
        let count = vec![0; ranks as usize];
        Mpi {
            comm,
            came: Box::new([0; hpvm_abi::models::PACKET]),
            under_way: Vec::new(),
            unsent: 0,
            unseen: 0,
            sent: count.clone(),
            received: count,
        }
    }

    /// Starts to send a content.
    fn send_content(&mut self, to: u32, content: Buffer) -> Result<(), Fault> {
        let mpi = &entries().standard;
        let (mut request, mut done) = (MPI_REQUEST_NULL, 0);
        // SAFETY: the content is held until the request is done.
        unsafe {
            let (at, len) = (content.address().cast(), content.len() as MPI_Count);
            let (to, comm) = (to as c_int, self.comm);
            checked((mpi.MPI_Isend_c)(at, len, MPI_BYTE, to, CONTENT_TAG, comm, &mut request))?;
            checked((mpi.MPI_Test)(&mut request, &mut done, MPI_STATUS_IGNORE))?;
        }
        if done == 0 {
            self.under_way.push((request, content));
        }
        Ok(())
    }

    fn count_unsent(&mut self) {
        self.unseen = 0;
        // SAFETY: takes a number.
        self.unsent = unsafe { (models().unsent)(SAM) };
    }

    /// Before a call that receives: what is over is forgotten.
    fn look_back(&mut self) -> Result<(), Fault> {
        if self.unsent > 0 {
            self.count_unsent();
        }
        if self.under_way.is_empty() { Ok(()) } else { self.sweep() }
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

    /// Takes what has come: messages that the machine deals with where they lie, or the first that is for it to receive. If it `blocks`,
    /// until something has come, or `other` may be done, if it is a request.
    #[inline(always)]
    fn visit(
        &mut self,
        machine: &mut Machine,
        other: &[MPI_Request],
        blocks: c_int,
    ) -> Result<Received, Fault> {
        let Mpi { came, received, .. } = self;
        let mut visitor = Visitor { machine, came, received, shown: Ok(Shown::Nothing) };
        let context: *mut c_void = (&raw mut visitor).cast();
        // SAFETY: `show` gets what it expects, which nobody else uses until the call is over; requests of ours.
        let code =
            unsafe { (models().visit)(SAM, show, context, other.as_ptr(), other.len(), blocks) };
        match visitor.shown? {
            Shown::Kept { from, len } => self.taken(from, len, machine.store()),
            Shown::Here => Ok(Received::Here),
            Shown::Nothing if code < NOTHING => Err(failed(error_of(code))),
            Shown::Nothing => Ok(Received::Nothing),
        }
    }

    /// What lies where messages arrive, and its content.
    fn taken(&self, from: u32, len: usize, store: &Store) -> Result<Received, Fault> {
        let (head, rest) = Head::from_bytes(&self.came[..len])?;
        let here = rest.len();
        let content = if !head.kind.carries() {
            None
        } else if here as u64 == head.len {
            Some(store.copied(rest)?)
        } else if here == 0 {
            Some(self.content(from as c_int, &head, store)?)
        } else {
            let text = format!("{here} bytes of {} from rank {from}", head.len);
            return Err(Fault::new(text));
        };
        Ok(Received::Message(Incoming { from, head, content }))
    }

    /// The message with the content, which was sent together with the head.
    fn content(&self, from: c_int, head: &Head, store: &Store) -> Result<Buffer, Fault> {
        let len = usize::try_from(head.len).map_err(|_| Fault::no_memory(usize::MAX))?;
        // SAFETY: the message has as many bytes, or the buffer is read by nobody.
        let buffer = unsafe { store.unwritten(len)? };
        let mut status = MPI_Status::default();
        // SAFETY: the buffer has as many bytes.
        checked(unsafe {
            (entries().standard.MPI_Recv_c)(
                buffer.address().cast(),
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
    pub fn receive_or(
        &mut self,
        other: &mut MPI_Request,
        machine: &mut Machine,
    ) -> Result<Option<Received>, Fault> {
        self.look_back()?;
        loop {
            match self.visit(machine, core::slice::from_ref(other), BLOCKS_FOR_ALL)? {
                Received::Nothing => {}
                received => return Ok(Some(received)),
            }
            let mut done = 0;
            // SAFETY: our request.
            checked(unsafe { (entries().standard.MPI_Test)(other, &mut done, MPI_STATUS_IGNORE) })?;
            if done != 0 {
                return Ok(None);
            }
        }
    }

    /// Waits for a message that nobody needs any more.
    fn throw_away(&mut self) -> Result<(), Fault> {
        let mut from = 0;
        // SAFETY: room for the longest packet; the place is ours.
        let length = unsafe {
            (models().wait)(SAM, self.came.as_mut_ptr(), &mut from, core::ptr::null(), 0, 1)
        };
        match usize::try_from(length) {
            Ok(len) => {
                count(&mut self.received, from);
                self.taken(from, len, &Store::default()).map(|_| ())
            }
            Err(_) if length < NOTHING => Err(failed(error_of(length))),
            Err(_) => Ok(()),
        }
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
        while self.received.iter().zip(&coming).any(|(received, sent)| received < sent) {
            self.throw_away()?;
        }
        for (request, _) in &mut self.under_way {
            // SAFETY: our request, whose memory is held.
            checked(unsafe { (mpi.MPI_Wait)(request, MPI_STATUS_IGNORE) })?;
        }
        // SAFETY: the handle is ours.
        checked(unsafe { (mpi.MPI_Comm_free)(&mut self.comm) })
    }
}

/// One more message of a rank.
#[inline(always)]
fn count(received: &mut [u64], from: u32) {
    if let Some(count) = received.get_mut(from as usize) {
        *count += 1;
    }
}

/// What the messages of a visit are shown to.
struct Visitor<'a> {
    machine: &'a mut Machine,
    /// Where a message is copied to that is for the machine to receive.
    came: &'a mut [u8; hpvm_abi::models::PACKET],
    received: &'a mut [u64],
    shown: Result<Shown, Fault>,
}

/// What came of it.
#[derive(Clone, Copy)]
enum Shown {
    Nothing,
    /// The machine has dealt with it.
    Here,
    /// It has been copied.
    Kept {
        from: u32,
        len: usize,
    },
}

impl Visitor<'_> {
    /// True: the next one may be shown.
    #[inline(always)]
    fn see(&mut self, from: u32, message: &[u8]) -> bool {
        count(self.received, from);
        let here = Head::from_bytes(message)
            .and_then(|(head, rest)| self.machine.receive_here(from, &head, rest));
        match here {
            Ok(Here::Kept) => {
                self.came[..message.len()].copy_from_slice(message);
                self.shown = Ok(Shown::Kept { from, len: message.len() });
                false
            }
            Ok(here) => {
                self.shown = Ok(Shown::Here);
                here == Here::More
            }
            Err(fault) => {
                self.shown = Err(fault);
                false
            }
        }
    }
}

unsafe extern "C" fn show(
    context: *mut c_void,
    from: c_uint,
    packet: *const u8,
    len: usize,
) -> c_int {
    // SAFETY: by `Mpi::visit`, and by the engine's promise: a packet that is there until this returns.
    let (visitor, packet) =
        unsafe { (&mut *context.cast::<Visitor<'_>>(), core::slice::from_raw_parts(packet, len)) };
    c_int::from(visitor.see(from, packet))
}

impl Carrier for Mpi {
    #[inline]
    fn send(&mut self, message: &Outgoing) -> Result<(), Fault> {
        let Outgoing { to, head, content } = message;
        if !self.under_way.is_empty() {
            self.sweep()?;
        }
        self.sent[*to as usize] += 1;
        self.unseen += 1;
        if self.unseen >= PACKETS_PER_LOOK {
            self.count_unsent();
        }
        let short = content.as_ref().filter(|content| content.len() <= INLINE_CONTENT_BYTES);
        let bytes = short.map_or(&[][..], |content| content.bytes());
        let (packed, packed_len) = head.to_bytes();
        // SAFETY: as many bytes at both.
        checked(unsafe {
            (models().send)(SAM, *to, packed.as_ptr(), packed_len, bytes.as_ptr(), bytes.len())
        })?;
        match content {
            Some(content) if content.len() > INLINE_CONTENT_BYTES => {
                self.send_content(*to, content.clone())
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn receive(&mut self, wait: bool, machine: &mut Machine) -> Result<Received, Fault> {
        self.look_back()?;
        self.visit(machine, &[], if wait { BLOCKS_FOR_ALL } else { LOOKS })
    }

    fn backlog(&self) -> usize {
        self.under_way.len() + self.unsent
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
