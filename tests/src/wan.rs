//! A long and slow cable between two test hosts: interface `wan0` on both, and threads here that carry every frame from one
//! to the other with a delay, a rate and losses. What the kernel's `netem` does where it has it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fastrand::Rng;

/// Bytes of the kernel's header in front of a frame, and the longest frame.
const AHEAD: usize = 10;
const LONGEST: usize = 65_550;
/// A frame's bytes on a cable beside its own.
const ON_CABLE: usize = 24;
/// Time for which a frame waits for the cable at most, before it is lost: what a router's queue holds.
const QUEUE: Duration = Duration::from_millis(60);

/// What a cable is like, in each direction.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    pub delay: Duration,
    /// Bits per second.
    pub rate: u64,
    /// Frames of a thousand that are lost.
    pub loss: u32,
}

/// A cable. It is pulled out when this is dropped.
#[derive(Debug)]
pub struct Wan {
    over: Arc<AtomicBool>,
    carriers: Vec<JoinHandle<()>>,
    ends: [String; 2],
}

impl Wan {
    /// Joins two hosts: 10.79.0.1 and 10.79.0.2, without IPv6.
    ///
    /// # Errors
    /// What the system refuses, for people.
    pub fn lay(one: &str, other: &str, cable: Cable) -> Result<Wan, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only distinctness matters. Names of interfaces are short.
        let (own, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let ends = ["a", "b"].map(|end| format!("w{own}{end}{number}"));
        let (over, mut sockets) = (Arc::new(AtomicBool::new(false)), Vec::new());
        // Dropped, it takes away what has been made so far.
        let mut wan = Wan { over, carriers: Vec::new(), ends };
        for (end, (host, address)) in
            wan.ends.iter().zip([(one, "10.79.0.1/24"), (other, "10.79.0.2/24")])
        {
            // What is left of one that was killed.
            let mut ip = Command::new("ip");
            let _ = ip.args(["-n", host, "link", "del", "wan0"]).stderr(Stdio::null()).status();
            let lines = [
                format!("link add {end} type veth peer name wan0 netns {host}"),
                format!("link set {end} up"),
                format!("-n {host} link set wan0 gso_max_segs 1 up"),
                format!("-n {host} addr add {address} dev wan0"),
            ];
            for line in lines {
                let status = Command::new("ip").args(line.split(' ')).status();
                if !status.map_err(|error| format!("ip: {error}"))?.success() {
                    return Err(format!("ip {line} fails"));
                }
            }
            sockets.push(open(end).map_err(|error| format!("a socket for {end}: {error}"))?);
        }
        for (from, to) in [(0, 1), (1, 0)] {
            let copy = |index: usize| sockets[index].try_clone().map_err(|error| error.to_string());
            let (from, to, over) = (copy(from)?, copy(to)?, Arc::clone(&wan.over));
            wan.carriers.push(std::thread::spawn(move || carry(&from, &to, cable, &over)));
        }
        Ok(wan)
    }
}

impl Drop for Wan {
    fn drop(&mut self) {
        // Relaxed: only that it is seen some time.
        self.over.store(true, Ordering::Relaxed);
        self.carriers.drain(..).for_each(|carrier| drop(carrier.join()));
        for end in &self.ends {
            // It may never have been made, or have gone with its host.
            let mut ip = Command::new("ip");
            let _ = ip.args(["link", "del", end]).stderr(Stdio::null()).status();
        }
    }
}

/// Carries frames until it is over.
fn carry(mut from: &File, mut to: &File, cable: Cable, over: &AtomicBool) {
    let mut waiting: VecDeque<(Instant, Box<[u8]>)> = VecDeque::new();
    let (mut buffer, mut rng) = (vec![0; AHEAD + LONGEST], Rng::new());
    let mut free = Instant::now();
    while !over.load(Ordering::Relaxed) {
        let now = Instant::now();
        while let Some((due, frame)) = waiting.front()
            && *due <= now
        {
            // What the other end has no room for is lost.
            let _ = to.write(frame);
            waiting.pop_front();
        }
        let pause = waiting.front().map_or(Duration::from_millis(50), |(due, _)| *due - now);
        wait(from, pause);
        while let Ok(len) = from.read(&mut buffer) {
            let now = Instant::now();
            let begin = free.max(now);
            if begin - now > QUEUE || rng.u32(..1000) < cable.loss {
                continue;
            }
            let bits = (len.saturating_sub(AHEAD) + ON_CABLE) as u64 * 8;
            free = begin + Duration::from_nanos(bits * 1_000_000_000 / cable.rate);
            waiting.push_back((free + cable.delay, buffer[..len].into()));
        }
    }
}

/// Until a frame has come, or so long.
fn wait(socket: &File, limit: Duration) {
    let mut polled = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let limit = libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(limit.subsec_nanos() as i32),
    };
    // SAFETY: one valid entry, a valid time and no set of signals. Whatever comes of it, the caller looks.
    unsafe { libc::ppoll(&mut polled, 1, &limit, std::ptr::null()) };
}

/// A socket that gives and takes whole frames of an interface, with what the kernel has left to be computed in front.
fn open(interface: &str) -> io::Result<File> {
    let all = (libc::ETH_P_ALL as u16).to_be();
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: integers only; the result is checked.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let socket = unsafe { File::from_raw_fd(fd) };
    let options = [
        (libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1),
        (libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1),
        (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 32 << 20),
    ];
    for (level, name, value) in options {
        let value: libc::c_int = value;
        let (at, size) = ((&raw const value).cast(), size_of_val(&value) as libc::socklen_t);
        // SAFETY: a valid option value of its size.
        if unsafe { libc::setsockopt(fd, level, name, at, size) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: a string that ends with a zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    // SAFETY: plain integers and bytes, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = all;
    address.sll_ifindex = index as libc::c_int;
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: a valid address with its length.
    if unsafe { libc::bind(fd, (&raw const address).cast(), size) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(socket)
}
