//! `hpvm info`: what is installed here, and what this machine lets us do. With a program,
//! [`crate::needs`].

use std::io::Write;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};

use hpvm_launch::place::topology::{Level, Topology};

use crate::tuned::Tuned;

/// The subcommand.
pub fn definition() -> Command {
    Command::new("info")
        .about("Show the installation and what this machine offers, or what a program needs of MPI")
        .long_about(
            "Without PROGRAM: show the installation and what this machine offers.\n\n\
             With PROGRAM: show which MPI it was built for, directly or through libraries it \
             needs, where those would be loaded from under mpirun, and which symbols of MPI that \
             they need are not available. Nothing is run; only the files' tables are read. What a \
             program loads while it runs (Python's modules, plug-ins) is not seen: name the \
             module's file instead.",
        )
        .arg(
            Arg::new("PROGRAM")
                .value_hint(clap::ValueHint::CommandName)
                .value_parser(clap::value_parser!(std::ffi::OsString))
                .help("A program, found as mpirun would, or a shared library by its path"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write JSON"))
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    if let Some(program) = matches.get_one::<std::ffi::OsString>("PROGRAM") {
        return crate::needs::run(program, matches.get_flag("json"));
    }
    let rows = collect();
    let mut text = String::new();
    if matches.get_flag("json") {
        let object: serde_json::Map<String, Value> =
            rows.into_iter().map(|(key, _, value)| (key.to_string(), value)).collect();
        text = Value::Object(object).to_string() + "\n";
    } else {
        for (_, title, value) in rows {
            let shown = match value {
                Value::String(text) => text,
                Value::Bool(true) => "yes".to_string(),
                Value::Bool(false) => "no".to_string(),
                Value::Null => "not found".to_string(),
                Value::Object(entries) => {
                    let entries = entries.iter().map(|(name, value)| format!("{name} {value}"));
                    entries.collect::<Vec<_>>().join(", ")
                }
                other => other.to_string(),
            };
            text += &format!("{title:<36} {shown}\n");
        }
    }
    print(text.as_bytes())?;
    Ok(0)
}

/// Writes to standard output; a reader that has gone away is no error.
pub fn print(bytes: &[u8]) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Name for programs, name for people, value.
fn collect() -> Vec<(&'static str, &'static str, Value)> {
    let prefix = hpvm_launch::environment::prefix().ok();
    let library = hpvm_launch::environment::library_folder();
    let machine = Topology::here().ok();
    let count = |level| machine.as_ref().map(|machine| machine.parts(level).len());
    let tuned = Tuned::here();
    let single_copy = std::env::var("HPVM_SINGLE_COPY").ok();
    let thresholds: serde_json::Map<String, Value> =
        tuned.thresholds().iter().map(|(name, n, _)| ((*name).to_string(), json!(n))).collect();
    let file = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_string());
    vec![
        ("version", "hpvm version", json!(env!("CARGO_PKG_VERSION"))),
        ("prefix", "installed in", json!(prefix.map(|path| path.display().to_string()))),
        ("library", "MPI library in", json!(library.map(|path| path.display().to_string()))),
        ("host", "host", json!(hpvm_launch::hosts::local_name())),
        ("cpus", "usable cpus", json!(count(Level::HwThread))),
        ("cores", "usable cores", json!(count(Level::Core))),
        ("sockets", "sockets", json!(count(Level::Socket))),
        ("numa", "NUMA nodes", json!(count(Level::Numa))),
        ("tables", "tables of collectives", json!(tuned.source)),
        ("small", "small collectives inside a host", json!(tuned.small())),
        ("copies", "large messages inside a host", json!(tuned.copies(single_copy.as_deref()))),
        ("thresholds", "thresholds of messages, bytes", Value::Object(thresholds)),
        ("kernel", "kernel", json!(file("/proc/sys/kernel/osrelease"))),
        ("memfd", "shared memory without names (memfd)", json!(has_memfd())),
        ("process_vm_readv", "single-copy reads between processes", json!(has_cross_memory())),
        ("membarrier", "cheap sleeping (membarrier)", json!(has_membarrier())),
        ("pidfd", "process descriptors (pidfd)", json!(has_pidfd())),
        ("xdp", "datagrams past the kernel (AF_XDP)", json!(xdp())),
        ("ofi", "messages of libfabric (--lane ofi)", json!(ofi())),
        ("ptrace_scope", "ptrace_scope", json!(file("/proc/sys/kernel/yama/ptrace_scope"))),
    ]
}

/// Whether datagrams can pass the kernel, and how they probably would: trying it here could reset a card.
fn xdp() -> String {
    match crate::past_kernel::look() {
        Ok(how) => format!("yes: {how}"),
        Err(why) => format!("no: {why}"),
    }
}

/// Whether `--lane ofi` can be had, and by which providers.
fn ofi() -> String {
    match hpvm_ofi::probe() {
        Ok(found) => format!("yes: {}; {}", found.text(), found.automatic_text()),
        Err(why) => format!("no: {why}"),
    }
}

fn has_memfd() -> bool {
    // SAFETY: the name is a terminated string.
    let fd = unsafe { libc::memfd_create(c"hpvm-info".as_ptr(), libc::MFD_CLOEXEC) };
    if fd >= 0 {
        // SAFETY: the descriptor is ours and used nowhere else.
        unsafe { libc::close(fd) };
    }
    fd >= 0
}

/// Whether a process may read the memory of another one, which is its child.
fn has_cross_memory() -> bool {
    let secret = 0x6870_766d_u64;
    let mut copy = 0_u64;
    // SAFETY: the process has one thread; the child only waits for its end.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return false;
    }
    if child == 0 {
        // SAFETY: pause and _exit are async-signal-safe.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::pause();
            libc::_exit(0);
        }
    }
    let size = size_of::<u64>();
    let local = libc::iovec { iov_base: (&raw mut copy).cast(), iov_len: size };
    let remote = libc::iovec { iov_base: (&raw const secret).cast_mut().cast(), iov_len: size };
    // SAFETY: `local` is writable for its length; the child has the same address mapped, and
    // should it not, the call fails. The child is ours to kill and reap.
    let count = unsafe {
        let count = libc::process_vm_readv(child, &local, 1, &remote, 1, 0);
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
        count
    };
    count == size as isize && copy == secret
}

fn has_membarrier() -> bool {
    const QUERY: libc::c_int = 0;
    const PRIVATE_OR_GLOBAL_EXPEDITED: libc::c_long = 1 << 1 | 1 << 3;
    // SAFETY: the query changes nothing.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, QUERY, 0, 0) };
    commands > 0 && commands & PRIVATE_OR_GLOBAL_EXPEDITED != 0
}

fn has_pidfd() -> bool {
    hpvm_launch::sys::pidfd(std::process::id() as libc::pid_t).is_ok()
}
