//! What the launcher's tests have in common.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hpvm_tests::hosts::Hosts;
use hpvm_tests::process::clean;
use hpvm_tests::processes;

/// Long enough for a loaded machine; only a hang takes as long.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Shell functions that speak PMI-1 as a rank does.
pub const PMI: &str = r#"
say() { printf '%s\n' "$*" >&"$PMI_FD"; }
ask() { say "$@"; read -r reply <&"$PMI_FD"; }
init() { ask cmd=init pmi_version=1 pmi_subversion=1; }
finalize() { ask cmd=finalize; }
"#;

/// One job to run, whose processes can be recognised by a variable in their environment.
pub struct Job {
    pub command: Command,
    pub mark: String,
}

/// `mpirun` with these arguments.
pub fn mpirun<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Job {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // Only distinctness matters.
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mark = format!("{}-{count}", std::process::id());
    let mut command = clean(env!("CARGO_BIN_EXE_hpvm"));
    command
        .arg0("mpirun")
        .args(args)
        .env("HPVM_TEST_MARK", &mark)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Job { command, mark }
}

/// A job of ranks that each run a bash script.
pub fn bash(flags: &[&str], script: &str) -> Job {
    let script = format!("{PMI}{script}");
    mpirun(&[flags, &["bash", "-c", &script]].concat())
}

/// `mpirun` on the first of the test hosts.
pub fn on_hosts(hosts: &Hosts, args: &[&str]) -> Job {
    let mut job = mpirun::<&str>(&[]);
    let mut command = hosts.command(1, env!("CARGO_BIN_EXE_hpvm"));
    command.arg("run").args(args);
    for (name, value) in job.command.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    job.command = command;
    job
}

/// A job whose agents are started without ssh.
pub fn quick(hosts: &Hosts, args: &[&str]) -> Job {
    let agent = Hosts::agent();
    on_hosts(hosts, &[&["--launch-agent", agent.to_str().unwrap()], args].concat())
}

/// Fails if processes are left on one of these hosts after a while.
pub fn nothing_left(hosts: &Hosts) {
    let end = Instant::now() + PATIENCE;
    for host in 1..=hosts.count() {
        loop {
            let mut left = hosts.processes(host);
            left.retain(|(_, line)| !line.contains("sshd: /usr/sbin/sshd [listener]"));
            if left.is_empty() {
                break;
            }
            assert!(Instant::now() < end, "still on {}: {left:?}", hosts.name(host));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What a job left.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Job {
    /// Runs the job to its end and checks that no process of it is left.
    pub fn run(mut self) -> Ended {
        let child = self.command.spawn().expect("the launcher starts");
        let ended = wait(child);
        self.check_gone();
        ended
    }

    /// Starts the job.
    pub fn start(&mut self) -> Child {
        self.command.spawn().expect("the launcher starts")
    }

    /// Fails if processes of the job are still there after a while.
    pub fn check_gone(&self) {
        let left = until(|| marked(&self.mark).is_empty());
        assert!(left, "still running: {:?}", marked(&self.mark));
    }
}

/// Waits for a launcher and collects its output.
pub fn wait(child: Child) -> Ended {
    let pid = child.id() as i32;
    let (done, ended) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let output: Output = child.wait_with_output().expect("output");
        let _ = done.send(());
        output
    });
    if ended.recv_timeout(PATIENCE).is_err() {
        kill(pid, libc::SIGKILL);
        panic!("the job hangs: {:?}", waiter.join());
    }
    let output = waiter.join().expect("no panic");
    let code = output.status.code().unwrap_or_else(|| {
        panic!("the launcher itself was killed by {:?}", output.status.signal())
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code, out: text(&output.stdout), err: text(&output.stderr) }
}

/// Waits for a launcher whose output does not matter; gives its exit code, if it has one.
pub fn until_ended(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        assert!(Instant::now() < end, "the job hangs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reads a child's standard output until this text has come.
pub fn read_until(child: &mut Child, text: &str) -> String {
    until_read(child.stdout.as_mut().expect("piped"), text)
}

/// The same of its standard error.
pub fn read_error_until(child: &mut Child, text: &str) -> String {
    until_read(child.stderr.as_mut().expect("piped"), text)
}

/// Nothing is read behind the text: what comes then is for somebody else.
fn until_read(from: &mut (impl Read + AsRawFd), text: &str) -> String {
    let end = Instant::now() + PATIENCE;
    let mut seen = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&seen).contains(text) {
        let said = || String::from_utf8_lossy(&seen).into_owned();
        assert!(readable(from.as_raw_fd(), end), "no {text:?} after {:?}", said());
        from.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error} after {:?}", said()));
        seen.push(byte[0]);
    }
    String::from_utf8_lossy(&seen).into_owned()
}

/// Waits until there is something to read, or the end.
fn readable(fd: i32, end: Instant) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    while Instant::now() < end {
        // SAFETY: one entry, which lives until the call returns.
        if unsafe { libc::poll(&mut poll, 1, 1000) } > 0 {
            return true;
        }
    }
    false
}

/// A file for which jobs wait: what happens before it is there happens while they run, however slow anything is.
pub struct Gate(tempfile::TempDir);

impl Gate {
    pub fn new() -> Gate {
        let gate = Gate(tempfile::tempdir().expect("a folder"));
        // Jobs of other users look for it, too.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(gate.0.path(), open).expect("our folder");
        gate
    }

    /// The file.
    pub fn file(&self) -> std::path::PathBuf {
        self.0.path().join("open")
    }

    /// What a shell says to wait for it, or for the end of a test that has failed.
    pub fn wait(&self) -> String {
        let (folder, file) = (self.0.path().display(), self.file());
        format!("while [ -d {folder} ] && [ ! -e {} ]; do sleep 0.01; done", file.display())
    }

    /// The jobs go on.
    pub fn open(&self) {
        std::fs::write(self.file(), "").expect("a file");
    }
}

/// A port of this machine that nobody listens at, and that nobody is given who asks for any: a server may end, and another
/// one begin there.
pub fn own_port() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let first = range.ok().and_then(|text| text.split_whitespace().next()?.parse().ok());
    let below = first.unwrap_or(32768u32).max(2048) - 1024;
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // Other runs of these tests begin elsewhere.
    let seed = std::process::id().wrapping_mul(2_654_435_761);
    let free = |port: &u16| std::net::TcpListener::bind(("0.0.0.0", *port)).is_ok();
    // Relaxed: only distinctness matters.
    let next = || seed.wrapping_add(7919 * COUNT.fetch_add(1, Ordering::Relaxed));
    let mut ports = std::iter::repeat_with(|| (1024 + next() % below) as u16);
    ports.by_ref().take(1000).find(free).expect("a free port")
}

/// Reads what there is. A process that was stopped and goes on reads again: with a time limit, the kernel interrupts the call.
pub fn read_some(from: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match from.read(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Waits for a condition; false if it never came true.
pub fn until(condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // Who was kept from running so long looks once more.
    condition()
}

/// The processes in whose environment a mark stands, with their command lines.
pub fn marked(mark: &str) -> Vec<(i32, String)> {
    processes::with(&format!("HPVM_TEST_MARK={mark}"))
        .into_iter()
        .map(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid, String::from_utf8_lossy(&line).replace('\0', " "))
        })
        .collect()
}

/// Sends a signal.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: the call takes two integers.
    unsafe { libc::kill(pid, signal) };
}

/// Both sides of a terminal: the one that a person sits at, and the one for a program.
pub fn terminal() -> (File, OwnedFd) {
    // Both ends are closed on exec from the beginning: another test may fork at any time.
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: calls on descriptors that are fresh and ours alone.
    unsafe {
        let ours = libc::posix_openpt(flags);
        assert!(libc::grantpt(ours) == 0 && libc::unlockpt(ours) == 0);
        let theirs = libc::ioctl(ours, libc::TIOCGPTPEER, flags);
        assert!(theirs >= 0);
        (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    }
}

/// Gives a terminal a size.
pub fn set_size(terminal: &File, rows: u16, columns: u16) {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call reads the structure, which lives until it returns.
    let set = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &size) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// Makes the terminal at a command's standard input its own, so that Ctrl-C there reaches it.
pub fn own_terminal(command: &mut Command) {
    // SAFETY: both calls are async-signal-safe; descriptor 0 is the terminal by then.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
}

/// Writes an executable file. A process of its own does so: what another test starts meanwhile would
/// inherit our open file, and a file that somebody may write can't be started.
pub fn script(dir: &Path, name: &str, text: &str) -> String {
    let file = dir.join(name);
    let write = r#"printf '%s' "$2" > "$1" && chmod 755 "$1""#;
    let mut shell = Command::new("/bin/sh");
    let written = shell.args(["-c", write, "sh"]).arg(&file).arg(text).status();
    assert!(written.expect("a shell").success(), "cannot write {}", file.display());
    file.to_str().expect("text").to_string()
}

/// Copies a program. A process of its own does so, for the same reason.
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let mut cp = Command::new("cp");
    let copied = cp.arg(from.as_ref()).arg(to.as_ref()).status().expect("cp");
    assert!(copied.success(), "{cp:?}");
}

/// The lines of a text in sorted order.
pub fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort();
    lines
}
