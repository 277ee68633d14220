//! Lane `auto` passes the kernel by itself where a driver runs the program (native mode): here that of a tap, whose frames the
//! test carries from one host to the other. Skipped, with a word, where hosts, taps or XDP can't be had.

use crate::common::{UnderWay, clean, prefix, program, run_within};
use hpvm_tests::hosts::Hosts;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(120);
const NAME: &[u8] = b"tap7";

/// Makes the interface in a host's network, and gives the end from which its frames come.
fn tap(host: &str) -> std::io::Result<File> {
    let network = File::open(format!("/run/netns/{host}"))?;
    // A thread of its own: it stays in that network until it ends.
    std::thread::scope(|scope| {
        let made = scope.spawn(|| {
            // SAFETY: a descriptor and an integer.
            if unsafe { libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                return Err(std::io::Error::last_os_error());
            }
            let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
            // SAFETY: a name that ends with zero.
            let fd = unsafe { libc::open(c"/dev/net/tun".as_ptr(), flags) };
            if fd < 0 {
                return Err(std::io::Error::last_os_error());
            }
            // SAFETY: just made.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            // SAFETY: zeros are a value of the structure.
            let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
            for (to, byte) in request.ifr_name.iter_mut().zip(NAME) {
                *to = *byte as libc::c_char;
            }
            request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
            // SAFETY: a live request.
            match unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &request) } {
                0 => Ok(File::from(fd)),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
        made.join().expect("a thread")
    })
}

/// Carries frames both ways until it is to end.
fn carry(mut ends: [File; 2], over: &AtomicBool) {
    let mut frame = [0; 4096];
    // Relaxed: it need not be at once.
    while !over.load(Ordering::Relaxed) {
        let ready =
            |end: &File| libc::pollfd { fd: end.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut both = [ready(&ends[0]), ready(&ends[1])];
        // SAFETY: two live structures.
        unsafe { libc::poll(both.as_mut_ptr(), 2, 50) };
        for from in [0, 1] {
            while let Ok(len) = ends[from].read(&mut frame) {
                // A frame that finds no room is lost, as on any network.
                let _ = ends[1 - from].write(&frame[..len]);
            }
        }
    }
}

fn set_up(hosts: &Hosts, host: u32) {
    let address = format!("10.79.0.{host}/24");
    for words in
        [&["ip", "addr", "add", &address, "dev", "tap7"][..], &["ip", "link", "set", "tap7", "up"]]
    {
        let status = hosts.command(host, words[0]).args(&words[1..]).status().expect("it runs");
        assert!(status.success(), "{words:?}");
    }
}

#[test]
fn auto_passes_the_kernel_where_a_driver_runs_the_program() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    if let Err(why) = hpvm_xdp::probe() {
        hpvm_tests::skip::skipped(&why.text);
        return;
    }
    let ends = match [1, 2].map(|host| tap(&hosts.name(host))) {
        [Ok(one), Ok(other)] => [one, other],
        [Err(why), _] | [_, Err(why)] => {
            hpvm_tests::skip::skipped(&format!("no tap can be made: {why}"));
            return;
        }
    };
    for host in [1, 2] {
        set_up(&hosts, host);
    }
    let (over, job) = (AtomicBool::new(false), UnderWay::new());
    std::thread::scope(|scope| {
        scope.spawn(|| carry(ends, &over));
        let mut command = clean(prefix().join("bin/mpirun"));
        command.args(["-H", &hosts.list(), "-n", "4", "-ppn", "2", "--net", "tap7"]);
        command.arg("--launch-agent").arg(Hosts::agent()).arg(program("hosts"));
        command.args(["1", "2", job.file()]);
        let watcher = scope.spawn(|| {
            job.wait();
            is_shown(&hosts, "lane to other hosts: xdp (native mode, copied)");
            job.is_over();
        });
        let outcome = run_within(command, LIMIT);
        let watched = watcher.join();
        over.store(true, Ordering::Relaxed);
        assert_eq!(outcome.code, Some(0), "{}", outcome.output);
        assert!(outcome.output.contains("right "), "{}", outcome.output);
        watched.expect("the lane is shown");
    });
}

/// Waits until `hpvm jobs` says this of both ranks of the first host.
fn is_shown(hosts: &Hosts, text: &str) {
    let hpvm = prefix().join("bin/hpvm");
    let jobs = |words: &[&str]| {
        let output = hosts.command(1, &hpvm).arg("jobs").args(words).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let end = Instant::now() + LIMIT;
    loop {
        let list = jobs(&[]);
        let names = list.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        let mut all = names.map(|name| jobs(&[name]));
        if all.any(|one| one.matches(text).count() == 2) {
            return;
        }
        assert!(Instant::now() < end, "not shown: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
