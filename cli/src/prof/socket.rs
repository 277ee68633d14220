//! The socket by which a process that is about to become the command, or a rank, says so and waits until its events are
//! there. It has a name without a file, so nothing is left of it; both sides look at who the other is.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

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
    let (pid, user) = hpvm_os::peer(&socket)?;
    match user == hpvm_os::user() && pid > 0 {
        true => Ok(pid),
        false => Err(io::Error::other(format!("process {pid} of user {user}"))),
    }
}

/// Sends a byte, and with it descriptors, as many as one message carries.
pub fn give(stream: &UnixStream, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let descriptors = &descriptors[..descriptors.len().min(hpvm_os::MOST_DESCRIPTORS)];
    hpvm_os::send(stream, b".", descriptors).map(|_| ())
}

/// Waits for such a message, and gives its descriptors.
pub fn take(stream: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    Ok(hpvm_os::receive(stream, &mut [0])?.descriptors)
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
        give(&server, &[server.as_fd()]).unwrap();
        assert_eq!(taker.join().unwrap().unwrap(), 1);
    }

    #[test]
    fn descriptors_pass_between_processes() {
        let (listener, name) = listen().unwrap();
        let client = connect(&name).unwrap();
        let server = listener.accept().unwrap().0;
        assert_eq!(peer(server.as_fd()).unwrap(), std::process::id() as i32);
        let (mut reader, writer) = std::io::pipe().unwrap();
        give(&server, &[writer.as_fd(), writer.as_fd()]).unwrap();
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
