//! The socket by which a process that is about to become the command, or a rank, says so and waits until its events are
//! there. It has a name without a file, so nothing is left of it; both sides look at who the other is.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use hpvm_launch::sys;

/// Descriptors that one message carries at most; the kernel's limit is 253.
const MAX_DESCRIPTORS: usize = 250;

/// A new socket and its name.
pub fn listen() -> io::Result<(UnixListener, String)> {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_nanos() as u64);
    let name = format!("hpvm-prof-{}-{time:x}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    listener.set_nonblocking(true)?;
    Ok((listener, name))
}

/// Connects to the one of that name, if it is our user's.
pub fn connect(name: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    peer(stream.as_fd())?;
    Ok(stream)
}

/// The process at the other end; an error if it is another user's.
pub fn peer(socket: BorrowedFd<'_>) -> io::Result<i32> {
    let (pid, user) = sys::peer(&socket)?;
    // SAFETY: a system call without arguments.
    match user == unsafe { libc::geteuid() } && pid > 0 {
        true => Ok(pid),
        false => Err(io::Error::other(format!("process {pid} of user {user}"))),
    }
}

/// Room for the descriptors of a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 32 + MAX_DESCRIPTORS * 4]);

/// Sends a byte, and with it descriptors, as many as one message carries.
pub fn give(stream: &UnixStream, descriptors: &[RawFd]) -> io::Result<()> {
    let descriptors = &descriptors[..descriptors.len().min(MAX_DESCRIPTORS)];
    let mut byte = [b'.'];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = Control([0; 32 + MAX_DESCRIPTORS * 4]);
    // SAFETY: all zeroes are a message without parts; the pointers set below live until the call is over, and `control` has
    // room for `MAX_DESCRIPTORS` descriptors.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        if !descriptors.is_empty() {
            let bytes = size_of_val(descriptors) as u32;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(bytes) as _;
            let head = libc::CMSG_FIRSTHDR(&message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(bytes) as _;
            std::ptr::copy_nonoverlapping(
                descriptors.as_ptr().cast::<u8>(),
                libc::CMSG_DATA(head),
                bytes as usize,
            );
        }
        libc::sendmsg(stream.as_raw_fd(), &message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits for such a message, and gives its descriptors.
pub fn take(stream: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut byte = [0];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = Control([0; 32 + MAX_DESCRIPTORS * 4]);
    let mut found = Vec::new();
    // SAFETY: as in `give`; the kernel says how much of `control` it has filled, and each descriptor in it is ours now.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        // With a time limit the kernel interrupts the call of a process that was stopped and goes on.
        while libc::recvmsg(stream.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        let head = libc::CMSG_FIRSTHDR(&message);
        if !head.is_null()
            && ((*head).cmsg_level, (*head).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS)
        {
            let bytes = (*head).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            let first = libc::CMSG_DATA(head).cast::<RawFd>();
            for i in 0..bytes / size_of::<RawFd>() {
                found.push(OwnedFd::from_raw_fd(first.add(i).read_unaligned()));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    extern "C" fn nothing(_: libc::c_int) {}

    #[test]
    fn who_waits_goes_on_waiting_when_the_kernel_interrupts_it() {
        let (client, server) = UnixStream::pair().unwrap();
        client.set_read_timeout(Some(std::time::Duration::from_secs(100))).unwrap();
        let handler = nothing as extern "C" fn(libc::c_int);
        // SAFETY: the handler does nothing, and nobody else here uses this signal.
        unsafe { libc::signal(libc::SIGUSR2, handler as libc::sighandler_t) };
        let (tell, told) = std::sync::mpsc::channel();
        let taker = std::thread::spawn(move || {
            // SAFETY: no arguments.
            tell.send(unsafe { libc::gettid() }).unwrap();
            take(&client).map(|taken| taken.len())
        });
        let thread = told.recv().unwrap();
        let call = format!("/proc/self/task/{thread}/syscall");
        let waits = format!("{} ", libc::SYS_recvmsg);
        for _ in 0..3 {
            // Where the kernel does not say what a thread does, some time has to be enough.
            for _ in 0..2000 {
                if std::fs::read_to_string(&call).is_ok_and(|text| text.starts_with(&waits)) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            // A process that is stopped and goes on is interrupted in the same way.
            // SAFETY: takes numbers; the thread has not been joined.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR2) };
        }
        give(&server, &[server.as_raw_fd()]).unwrap();
        assert_eq!(taker.join().unwrap().unwrap(), 1);
    }

    #[test]
    fn descriptors_pass_between_processes() {
        let (listener, name) = listen().unwrap();
        let client = connect(&name).unwrap();
        let server = listener.accept().unwrap().0;
        assert_eq!(peer(server.as_fd()).unwrap(), std::process::id() as i32);
        let (mut reader, writer) = std::io::pipe().unwrap();
        give(&server, &[writer.as_raw_fd(), writer.as_raw_fd()]).unwrap();
        drop(writer);
        let mut taken = take(&client).unwrap();
        assert_eq!(taken.len(), 2);
        let mut file = std::fs::File::from(taken.remove(0));
        file.write_all(b"through").unwrap();
        drop((file, taken));
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
        give(&server, &[]).unwrap();
        assert!(take(&client).unwrap().is_empty());
    }
}
