use crate::check_size;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Descriptors that one message carries at most; the kernel's limit is 253.
pub const MOST_DESCRIPTORS: usize = 250;

/// Room for the descriptors of a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 32 + MOST_DESCRIPTORS * size_of::<RawFd>()]);

/// What has come in one message.
#[derive(Debug, Default)]
pub struct Received {
    /// Bytes of the buffer that were filled; 0: the other side has gone.
    pub len: usize,
    pub descriptors: Vec<OwnedFd>,
}

/// Sends bytes over a Unix socket and descriptors with them, of which the other side gets copies. Does not raise `SIGPIPE`.
/// Returns how many bytes were sent; the descriptors go with the first.
///
/// # Errors
/// As of `sendmsg`; `InvalidInput` for more than [`MOST_DESCRIPTORS`] descriptors, or for some without a byte to go with.
pub fn send(socket: &impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let alone = bytes.is_empty() && !descriptors.is_empty();
    if descriptors.len() > MOST_DESCRIPTORS || alone {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let part = IoSlice::new(bytes);
    let mut control = Control([0; _]);
    let len = size_of_val(descriptors) as u32;
    // SAFETY: the header points to the bytes and to room for the descriptors, all of it alive during the call. A `BorrowedFd` is
    // the descriptor's number.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = (&raw const part).cast_mut().cast();
        message.msg_iovlen = 1;
        if !descriptors.is_empty() {
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(len) as _;
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(len) as _;
            let numbers = descriptors.as_ptr().cast::<u8>();
            std::ptr::copy_nonoverlapping(numbers, libc::CMSG_DATA(head), len as usize);
        }
        libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    check_size(sent)
}

/// Receives one message of a Unix socket, and the descriptors that have come with it, which are closed in programs that this
/// process becomes. Waits again when a signal interrupts it.
///
/// # Errors
/// As of `recvmsg`: nothing is there on a socket that does not block, or none has come in the time of the socket.
pub fn receive(socket: &impl AsFd, bytes: &mut [u8]) -> io::Result<Received> {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = Control([0; _]);
    // SAFETY: zeros are a value of the structure.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    let (fd, flags) = (socket.as_fd().as_raw_fd(), libc::MSG_CMSG_CLOEXEC);
    let len = loop {
        // SAFETY: the header points to as much memory as it says, all of it alive.
        match check_size(unsafe { libc::recvmsg(fd, &raw mut message, flags) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    let mut descriptors = Vec::new();
    // SAFETY: the kernel has filled in the headers that it says; the descriptors in them are new and ours.
    unsafe {
        let mut head = libc::CMSG_FIRSTHDR(&raw const message);
        while !head.is_null() {
            if ((*head).cmsg_level, (*head).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let data = libc::CMSG_DATA(head).cast::<RawFd>();
                let len = (*head).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                for at in 0..len / size_of::<RawFd>() {
                    descriptors.push(OwnedFd::from_raw_fd(data.add(at).read_unaligned()));
                }
            }
            head = libc::CMSG_NXTHDR(&raw const message, head);
        }
    }
    Ok(Received { len, descriptors })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::net::UnixStream;

    #[test]
    fn descriptors_go_along() {
        let (one, other) = UnixStream::pair().unwrap();
        let files = [File::open("/dev/null").unwrap(), File::open("/").unwrap()];
        assert_eq!(send(&one, b"hello", &files.each_ref().map(AsFd::as_fd)).unwrap(), 5);
        let mut bytes = [0; 16];
        let received = receive(&other, &mut bytes).unwrap();
        assert_eq!((&bytes[..received.len], received.descriptors.len()), (&b"hello"[..], 2));
        let second = File::from(received.descriptors.into_iter().nth(1).unwrap());
        assert!(second.metadata().unwrap().is_dir());
        send(&one, b"alone", &[]).unwrap();
        let received = receive(&other, &mut bytes).unwrap();
        assert_eq!((received.len, received.descriptors.len()), (5, 0));
        drop(one);
        assert_eq!(receive(&other, &mut bytes).unwrap().len, 0);
        assert_eq!(send(&other, b".", &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn as_many_as_a_message_carries() {
        let (one, other) = UnixStream::pair().unwrap();
        let file = File::open("/dev/null").unwrap();
        let many = vec![file.as_fd(); MOST_DESCRIPTORS + 1];
        let kind = |result: io::Result<usize>| result.unwrap_err().kind();
        assert_eq!(kind(send(&one, b".", &many)), io::ErrorKind::InvalidInput);
        assert_eq!(kind(send(&one, b"", &many[..1])), io::ErrorKind::InvalidInput);
        send(&one, b".", &many[1..]).unwrap();
        let received = receive(&other, &mut [0]).unwrap();
        assert_eq!(received.descriptors.len(), MOST_DESCRIPTORS);
    }
}
