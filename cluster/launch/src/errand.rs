//! `mpirun` as a rank of a job over several sites has started it, for `MPI_Comm_spawn`: it has the job's launcher start the real one, on
//! the only machine that reaches all hosts, and passes on what that one and the rank say to each other
//! ([`errands`](crate::errands)).

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use crate::errands::Request;
use crate::executor::streams;
use crate::lifeline;
use crate::sys;
use hpvm_sites::DOOR;

/// The door of this rank's host, if a rank of a job over several sites has started us.
pub fn door() -> Option<String> {
    let is_spawning = std::env::var_os(lifeline::VARIABLE).is_some_and(|value| value == "0");
    let value = std::env::var(DOOR).ok().filter(|_| is_spawning)?;
    Some(value.split_once(',')?.0.to_owned())
}

/// Runs until the real launcher has ended. Gives the exit code.
pub fn main(label: &str, args: &[OsString], door: &str) -> i32 {
    match pass_on(args, door) {
        Ok(()) => 0,
        Err(error) => {
            let text =
                format!("error {label}: the job's launcher cannot be reached: {error}\nended 1\n");
            let _ = sys::send(0, text.as_bytes());
            1
        }
    }
}

fn pass_on(args: &[OsString], door: &str) -> io::Result<()> {
    let lifeline = UnixStream::from(sys::duplicate(0)?);
    lifeline.set_nonblocking(false)?;
    let token = crate::run::random_key().map_err(|error| io::Error::other(error.message))?;
    let mut life = streams::connect(door)?;
    life.write_all(format!("life {token}\n").as_bytes())?;
    let port = parents()?;
    let mut to_port = streams::connect(door)?;
    to_port.write_all(format!("port {token}\n").as_bytes())?;
    let body = Request { arguments: args.to_vec(), variables: std::env::vars_os().collect() };
    let body = body.encode();
    let rank = std::env::var("PMI_RANK").unwrap_or_default();
    let mut launcher = streams::connect(door)?;
    launcher.write_all(format!("launch {token} {rank} {}\n", body.len()).as_bytes())?;
    launcher.write_all(&body)?;
    pump(&port, &to_port, |_| ())?;
    let answered = pump(&to_port, &port, |_| ())?;
    // The rank waits until this process leads a group of its own, as a launcher does whose job has parted from ours.
    pump(&lifeline, &launcher, |said| {
        if said.contains(&b'D') {
            lifeline::part();
        }
    })?;
    let told = pump(&launcher, &lifeline, |_| ())?;
    // It says nothing.
    let _ = life.read(&mut [0; 1]);
    let _ = (told.join(), answered.join());
    Ok(())
}

/// The port of the rank that has started us: a socket of this host.
fn parents() -> io::Result<UnixStream> {
    let name = std::env::var(lifeline::PARENT_PORT).unwrap_or_default();
    let id = hpvm_job::port::id_of(&name).ok_or(io::ErrorKind::InvalidInput)?;
    let address = SocketAddr::from_abstract_name(hpvm_job::port::socket_name(id))?;
    let stream = UnixStream::connect_addr(&address)?;
    if streams::of_our_user(&stream) {
        Ok(stream)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// Passes on what comes, and its end, in a thread. `look` sees it first.
fn pump(
    from: &UnixStream,
    to: &UnixStream,
    look: impl Fn(&[u8]) + Send + 'static,
) -> io::Result<std::thread::JoinHandle<()>> {
    let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
    std::thread::Builder::new().spawn(move || {
        let mut buffer = [0; 16 << 10];
        loop {
            match from.read(&mut buffer) {
                Ok(count) if count > 0 => {
                    look(&buffer[..count]);
                    if to.write_all(&buffer[..count]).is_err() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_their_end_are_passed_on() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let (c, mut d) = UnixStream::pair().unwrap();
        let (seen, saw) = std::sync::mpsc::channel();
        let pumped = pump(&b, &c, move |said| seen.send(said.to_vec()).unwrap()).unwrap();
        a.write_all(b"D").unwrap();
        a.shutdown(Shutdown::Write).unwrap();
        pumped.join().unwrap();
        let mut text = String::new();
        d.read_to_string(&mut text).unwrap();
        assert_eq!((&text[..], saw.recv().unwrap()), ("D", b"D".to_vec()));
    }
}
