//! The control group (version 2) of a job's attempt, where one can be had: the kernel then keeps the
//! limits of memory and processors, ends all processes at once, and tells what they have used.
//!
//! Groups are made beside that of the server or of `hpvm node`, in a folder that is theirs: one that
//! systemd has left to the unit (`Delegate=`), or the root of all groups where no systemd manages it.
//! Limits need controllers in that folder, and so nobody may be in it: the units put their main
//! process into a group of its own (`DelegateSubgroup=`, systemd 254). Without controllers a group
//! still ends all of a job, and the supervisor looks after memory itself, as without a group.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::processors;

/// Period of the limit of processors, in microseconds: the kernel's own.
const PERIOD: u64 = 100_000;
/// What limits need, and what is taken where it is to be had.
const CONTROLLERS: [&str; 2] = ["cpu", "memory"];
const FURTHER: [&str; 2] = ["pids", "cpuset"];
/// A process that is killed is gone at once, unless it hangs in the kernel.
const WAITS: u32 = 400;
const WAIT: Duration = Duration::from_millis(5);

/// A folder in which groups of jobs can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

/// What processes of a group have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub peak_memory: Option<u64>,
    /// The kernel has ended some of them for want of memory.
    pub out_of_memory: bool,
    /// The kernel has refused to start one more.
    pub out_of_processes: bool,
}

/// How a group gets on with its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// For how much of the last ten seconds nothing in it ran for want of memory, in percent.
    pub stalled: f64,
    /// Bytes that the kernel cannot push out, without swap: those of processes, and of files in memory.
    pub kept: u64,
    /// How many pages of files were ever read again soon after they had been pushed out.
    pub fetched_again: u64,
}

/// What a group is held to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes.
    pub memory: Option<u64>,
    pub cpus: Option<u32>,
    /// The numbers of the only processors that it may run on; none: any.
    pub processors: Vec<u32>,
    /// Processes and threads.
    pub processes: Option<u32>,
}

/// The group of an attempt.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    /// The kernel keeps the limit of memory.
    pub bounds_memory: bool,
    /// And that of processes.
    pub bounds_processes: bool,
}

/// Where a process can make groups of jobs, or why nowhere.
pub fn home(pid: i32) -> Result<Home, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let mount = mount(&read("/proc/self/mountinfo")?).ok_or("no cgroup v2 is mounted")?;
    let own = own(&read(&format!("/proc/{pid}/cgroup"))?).ok_or("no process is in a cgroup v2")?;
    folder(&mount, &own, &is_delegated).map(Home)
}

impl Home {
    /// Why groups there have no limits of memory and processors, if they have none.
    pub fn lacks(&self) -> Option<String> {
        let read = |file: &str| fs::read_to_string(self.0.join(file)).unwrap_or_default();
        let (offered, folder) = (read("cgroup.controllers"), self.0.display());
        let offered: Vec<&str> = offered.split_whitespace().collect();
        if let Some(missing) = CONTROLLERS.iter().find(|name| !offered.contains(name)) {
            return Some(format!("{folder} has no controller '{missing}'"));
        }
        // The root has processes and limits; it has no type.
        let inner = self.0.join("cgroup.type").exists() && !read("cgroup.procs").is_empty();
        inner.then(|| format!("there are processes in {folder} itself"))
    }

    /// Ends the group of this name, if there is one.
    pub fn end(&self, name: &str) -> bool {
        let path = self.0.join(name);
        !path.exists() || end(&path)
    }

    /// Hands the controllers down. Refused where processes are in the folder; then groups have no
    /// limits.
    fn hand_down(&self) {
        for name in CONTROLLERS.into_iter().chain(FURTHER) {
            let _ = put(&self.0.join("cgroup.subtree_control"), &format!("+{name}"));
        }
    }
}

fn mount(info: &str) -> Option<PathBuf> {
    let is_ours = |rest: &str| rest.starts_with("cgroup2 ");
    let line = info.lines().find(|line| line.split(" - ").nth(1).is_some_and(is_ours))?;
    Some(PathBuf::from(line.split(' ').nth(4)?))
}

fn own(groups: &str) -> Option<PathBuf> {
    groups.lines().find_map(|line| line.strip_prefix("0::/")).map(PathBuf::from)
}

/// The folder that is ours to manage: that in which our own group is, our own, or the root.
fn folder(mount: &Path, own: &Path, delegated: &impl Fn(&Path) -> bool) -> Result<PathBuf, String> {
    let own = mount.join(own);
    let above = own.parent().filter(|_| own != mount).filter(|above| delegated(above));
    let folder = match above {
        Some(above) => above.to_path_buf(),
        None if delegated(&own) => own,
        None if own == mount && hpvm_os::user() == 0 && !has_systemd() => own,
        None => return Err(format!("{} is not left to us", own.display())),
    };
    match writable(&folder.join("cgroup.procs")) {
        true => Ok(folder),
        false => Err(format!("{} cannot be written", folder.display())),
    }
}

fn has_systemd() -> bool {
    Path::new("/run/systemd/system").exists()
}

fn writable(file: &Path) -> bool {
    OpenOptions::new().write(true).open(file).is_ok()
}

/// Whether systemd has left the group to its unit (`Delegate=`).
fn is_delegated(folder: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(folder.as_os_str().as_bytes()) else { return false };
    [c"user.delegate", c"trusted.delegate"].into_iter().any(|name| {
        let mut value = [0_u8; 1];
        // SAFETY: two strings that end with a zero, and room for one byte.
        let read = unsafe {
            libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len())
        };
        read == 1 && value[0] == b'1'
    })
}

/// Writes to a file of the kernel's; it makes none.
fn put(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(text.as_bytes())
}

impl Group {
    /// Makes the group, with its limits as far as the kernel takes them.
    pub fn make(home: &Home, name: &str, bounds: &Bounds) -> io::Result<Group> {
        home.hand_down();
        let path = home.0.join(name);
        match fs::create_dir(&path) {
            // Of an attempt whose supervisor was killed before it had begun.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        let mut group = Group { path, bounds_memory: false, bounds_processes: false };
        let set = |file: &str, text: String| put(&group.path.join(file), &text).is_ok();
        if let Some(bytes) = bounds.memory {
            // All of it or none: half a job is of no use. And what it may not have in memory, it
            // may not have on disk.
            let whole = set("memory.oom.group", "1".into());
            let swap = set("memory.swap.max", "0".into()) || !group.has("memory.swap.max");
            group.bounds_memory = whole && swap && set("memory.max", bytes.to_string());
        }
        if let Some(count) = bounds.processes {
            group.bounds_processes = set("pids.max", count.to_string());
        }
        if let Some(cpus) = bounds.cpus {
            let quota = u64::from(cpus.max(1)) * PERIOD;
            // Without the controller processors are counted, not enforced.
            let _ = put(&group.path.join("cpu.max"), &format!("{quota} {PERIOD}"));
        }
        if !bounds.processors.is_empty() {
            // Without the controller its processes are bound one by one, and may undo it.
            let _ = put(&group.path.join("cpuset.cpus"), &processors::list(&bounds.processors));
        }
        Ok(group)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn has(&self, file: &str) -> bool {
        self.path.join(file).exists()
    }

    /// Where a process that is to be in the group writes `0`.
    pub fn entrance(&self) -> io::Result<OwnedFd> {
        Ok(OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))?.into())
    }

    /// Puts a process into it.
    pub fn take(&self, pid: i32) -> io::Result<()> {
        put(&self.path.join("cgroup.procs"), &pid.to_string())
    }

    /// Whether a process is in it, which may have ended and was not waited for.
    pub fn holds(&self, pid: i32) -> bool {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        own(&text).is_some_and(|own| own.file_name() == self.path.file_name())
    }

    pub fn used(&self) -> Used {
        let read = |file: &str| fs::read_to_string(self.path.join(file)).unwrap_or_default();
        Used {
            peak_memory: read("memory.peak").trim().parse().ok(),
            out_of_memory: field(&read("memory.events"), "oom_kill").is_some_and(|n| n > 0),
            out_of_processes: field(&read("pids.events"), "max").is_some_and(|n| n > 0),
        }
    }

    /// How it gets on with its memory. What the kernel does not tell is 0.
    pub fn pressure(&self) -> Pressure {
        let read = |file: &str| fs::read_to_string(self.path.join(file)).unwrap_or_default();
        let (stat, stalls) = (read("memory.stat"), read("memory.pressure"));
        let full = stalls.lines().find_map(|line| line.strip_prefix("full avg10="));
        let stalled = full.and_then(|full| full.split(' ').next()?.parse().ok());
        let of = |name| field(&stat, name).unwrap_or(0);
        Pressure {
            stalled: stalled.unwrap_or(0.0),
            kept: of("anon").saturating_add(of("shmem")),
            fetched_again: of("workingset_refault_file"),
        }
    }

    /// Ends all processes in it, and removes it; false when one hangs in the kernel.
    pub fn end(&self) -> bool {
        end(&self.path)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Of one that could not be entered; else it is gone already, or something hangs in it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Ends all processes in a group, and in the groups that they have made in it, and removes all of
/// them; false when one hangs in the kernel.
pub fn end(path: &Path) -> bool {
    if put(&path.join("cgroup.kill"), "1").is_err() {
        return remove(path);
    }
    for _ in 0..WAITS {
        let events = fs::read_to_string(path.join("cgroup.events")).unwrap_or_default();
        if field(&events, "populated") == Some(0) {
            return remove(path);
        }
        std::thread::sleep(WAIT);
    }
    false
}

/// Removes a group and all in it, if nothing runs there.
fn remove(path: &Path) -> bool {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    fs::remove_dir(path).is_ok() || !path.exists()
}

/// A value of `name value` lines.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Puts the calling process into a group. Makes system calls only.
pub fn enter(entrance: &OwnedFd) {
    use std::os::fd::AsRawFd;
    // Whether it has worked is looked at from outside.
    let _ = hpvm_launch::sys::write(entrance.as_raw_fd(), b"0");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, in place of the kernel's.
    fn group(files: &[(&str, &str)]) -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_path_buf();
        fs::create_dir(folder.join("q-7")).unwrap();
        for (name, text) in files {
            fs::write(folder.join("q-7").join(name), text).unwrap();
        }
        (dir, Home(folder))
    }

    #[test]
    fn where_it_is_mounted_and_where_we_are() {
        let info = "30 23 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n\
                    31 30 0:27 / /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw\n";
        assert_eq!(mount(info), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mount("30 23 0:26 / /x - cgroup cgroup rw\n"), None);
        assert_eq!(own("4:memory:/a\n0::/b/c\n"), Some("b/c".into()));
        assert_eq!(own("4:memory:/a\n"), None);
    }

    #[test]
    fn the_folder_is_the_one_that_was_left_to_us() {
        let dir = tempfile::tempdir().unwrap();
        let unit = dir.path().join("hpvm.service");
        fs::create_dir_all(unit.join("main")).unwrap();
        fs::write(unit.join("cgroup.procs"), "").unwrap();
        let ours = |path: &Path| path == unit;
        let of = |own: &str| folder(dir.path(), Path::new(own), &ours);
        assert_eq!(of("hpvm.service/main"), Ok(unit.clone()));
        assert_eq!(of("hpvm.service"), Ok(unit.clone()));
        assert!(of("other").unwrap_err().contains("is not left to us"));
        fs::remove_file(unit.join("cgroup.procs")).unwrap();
        assert!(of("hpvm.service").unwrap_err().contains("cannot be written"));
    }

    #[test]
    fn limits_are_written_where_the_kernel_has_them() {
        let files = ["memory.oom.group", "memory.max", "cpu.max", "pids.max", "cpuset.cpus"]
            .map(|name| (name, ""));
        let (_dir, home) = group(&files);
        let bounds = Bounds {
            memory: Some(1 << 30),
            cpus: Some(3),
            processors: vec![0, 1, 4],
            processes: Some(99),
        };
        let made = Group::make(&home, "q-7", &bounds).unwrap();
        let read = |file: &str| fs::read_to_string(made.path().join(file)).unwrap();
        assert!(made.bounds_memory && made.bounds_processes);
        let texts = files.map(|(name, _)| read(name));
        assert_eq!(texts, ["1", "1073741824", "300000 100000", "99", "0-1,4"]);
        // No controllers: nothing is limited, and no file made up.
        let (_dir, home) = group(&[]);
        let made = Group::make(&home, "q-7", &bounds).unwrap();
        assert!(!made.bounds_memory && !made.bounds_processes);
        assert!(!made.has("memory.max") && !made.has("cpu.max"));
    }

    #[test]
    fn what_keeps_groups_from_having_limits() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home(dir.path().to_path_buf());
        let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        assert!(home.lacks().unwrap().contains("no controller 'cpu'"));
        put("cgroup.controllers", "cpuset cpu io pids\n");
        assert!(home.lacks().unwrap().contains("no controller 'memory'"));
        put("cgroup.controllers", "cpuset cpu io memory pids\n");
        put("cgroup.procs", "1\n2\n");
        assert_eq!(home.lacks(), None, "the root");
        put("cgroup.type", "domain\n");
        assert!(home.lacks().unwrap().contains("there are processes in"));
        put("cgroup.procs", "");
        assert_eq!(home.lacks(), None);
    }

    #[test]
    fn what_was_used() {
        let events = "low 0\nhigh 0\nmax 31\noom 1\noom_kill 2\noom_group_kill 1\n";
        let files =
            [("memory.events", events), ("memory.peak", "4096\n"), ("pids.events", "max 1\n")];
        let (_dir, home) = group(&files);
        let used = || Group::make(&home, "q-7", &Bounds::default()).unwrap().used();
        let all = Used { peak_memory: Some(4096), out_of_memory: true, out_of_processes: true };
        assert_eq!(used(), all);
        let (_dir, home) = group(&[("memory.events", "oom 1\noom_kill 0\n")]);
        let used = Group::make(&home, "q-7", &Bounds::default()).unwrap().used();
        assert_eq!(used, Used::default());
    }

    #[test]
    fn how_it_gets_on_with_its_memory() {
        let text = "some avg10=9.00 avg60=1.00 avg300=0.00 total=7\nfull avg10=81.25 avg60=0.00 avg300=0.00 total=5\n";
        let stat = "anon 4096\nfile 9000\nanon_thp 7\nshmem 8192\nworkingset_refault_anon 1\n\
                    workingset_refault_file 33\n";
        let pressure = |files: &[(&str, &str)]| {
            let (_dir, home) = group(files);
            Group::make(&home, "q-7", &Bounds::default()).unwrap().pressure()
        };
        let all = Pressure { stalled: 81.25, kept: 12288, fetched_again: 33 };
        assert_eq!(pressure(&[("memory.pressure", text), ("memory.stat", stat)]), all);
        assert_eq!(pressure(&[("memory.pressure", "")]), Pressure::default());
    }

    /// On the kernel's own files, where this process may make groups.
    #[test]
    fn all_of_a_group_ends() {
        let Ok(home) = home(std::process::id() as i32) else { return };
        let name = format!("hpvm-test-{}", std::process::id());
        let group =
            Group::make(&home, &name, &Bounds { cpus: Some(1), ..Bounds::default() }).unwrap();
        let entrance = group.entrance().unwrap();
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "setsid sleep 1000 & sleep 1000"]);
        // SAFETY: the closure makes system calls only.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut command, move || {
                enter(&entrance);
                Ok(())
            });
        }
        let mut child = command.spawn().unwrap();
        assert!(group.holds(child.id() as i32));
        assert!(group.end() && !group.path().exists());
        assert!(!child.wait().unwrap().success());
        assert!(end(group.path()), "nothing is left to be ended");
    }
}
