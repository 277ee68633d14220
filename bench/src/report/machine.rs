//! The machine, as far as figures depend on it, and reasons to doubt them.

use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Rows of "what: value" in groups, and warnings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Details {
    pub host: String,
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    pub rows: Vec<Row>,
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub group: String,
    pub what: String,
    pub value: String,
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A field of a file of "name: value" lines.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

impl Details {
    /// Asks the running system; what it does not tell is left out.
    pub fn here() -> Self {
        let machine = Machine::here();
        let host = read("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".into());
        let mut details = Self {
            host,
            cpu: machine.cpu.clone(),
            cores: machine.cores,
            kernel: machine.kernel.clone(),
            rows: Vec::new(),
            warnings: machine.warning().into_iter().collect(),
        };
        details.processor();
        details.memory();
        details.limits();
        details.network();
        details.doubts();
        details
    }

    /// What must be the same for two runs to be one.
    pub fn identity(&self) -> [String; 4] {
        [self.host.clone(), self.cpu.clone(), self.cores.to_string(), self.kernel.clone()]
    }

    fn row(&mut self, group: &str, what: &str, value: Option<String>) {
        if let Some(value) = value {
            let (group, what) = (group.to_owned(), what.to_owned());
            self.rows.push(Row { group, what, value });
        }
    }

    fn processor(&mut self) {
        let (cpu, cores) = (self.cpu.clone(), self.cores.to_string());
        self.row("processor", "model", Some(cpu));
        self.row("processor", "processors of this process", Some(cores));
        let smt = read("/sys/devices/system/cpu/smt/active");
        self.row("processor", "threads of a core in use", smt.map(|on| yes(on == "1")));
        for index in 0..6 {
            let of = |file: &str| {
                read(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}"))
            };
            let (Some(level), Some(kind), Some(size)) = (of("level"), of("type"), of("size"))
            else {
                continue;
            };
            let shared =
                of("shared_cpu_list").map_or_else(String::new, |l| format!(", processors {l}"));
            let name = format!("cache level {level}, {}", kind.to_lowercase());
            self.row("processor", &name, Some(format!("{size}{shared}")));
        }
        let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        self.row("processor", "frequency governor", governor);
    }

    fn memory(&mut self) {
        let info = read("/proc/meminfo").unwrap_or_default();
        for (name, what) in [("MemTotal", "memory"), ("MemAvailable", "available")] {
            self.row("memory", what, field(&info, name).map(mebibytes));
        }
        let huge = read("/sys/kernel/mm/transparent_hugepage/enabled");
        self.row("memory", "transparent huge pages", huge);
        let nodes = read("/sys/devices/system/node/online");
        self.row("memory", "NUMA nodes", nodes);
        let kernel = self.kernel.clone();
        self.row("system", "Linux", Some(kernel));
    }

    fn limits(&mut self) {
        let limits = read("/proc/self/limits").unwrap_or_default();
        for (name, what) in
            [("Max open files", "open files"), ("Max locked memory", "locked memory")]
        {
            let line = limits.lines().find_map(|line| line.strip_prefix(name));
            let soft = line.and_then(|line| line.split_whitespace().next()).map(str::to_owned);
            self.row("limits", what, soft);
        }
        self.row("limits", "/dev/shm", shared_memory());
        let yama = read("/proc/sys/kernel/yama/ptrace_scope");
        self.row("limits", "yama ptrace_scope (above 0 cross-memory attach needs leave)", yama);
        for (file, what) in
            [("cpu.max", "cgroup processor limit"), ("memory.max", "cgroup memory limit")]
        {
            self.row("limits", what, read(Path::new("/sys/fs/cgroup").join(file)));
        }
        let buffers = read("/proc/sys/net/core/rmem_max");
        self.row("limits", "socket receive buffer", buffers.map(|b| format!("{b} B")));
    }

    fn network(&mut self) {
        let mut names: Vec<String> = std::fs::read_dir("/sys/class/net")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        for name in names {
            let of = |file: &str| read(format!("/sys/class/net/{name}/{file}"));
            let speed = of("speed").filter(|s| !s.starts_with('-'));
            let speed = speed.map_or_else(String::new, |s| format!(", {s} Mbit/s"));
            let mtu = of("mtu").unwrap_or_default();
            let state = of("operstate").unwrap_or_default();
            self.row("network", &name, Some(format!("{state}, MTU {mtu}{speed}")));
        }
    }

    fn doubts(&mut self) {
        let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
        let flags = field(&cpuinfo, "flags").unwrap_or_default();
        if flags.split(' ').any(|flag| flag == "hypervisor") {
            self.warnings.push(
                "a virtual machine: its processors may be threads of one core or share them with others".into(),
            );
        }
        let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        if let Some(governor) = governor.filter(|g| g != "performance") {
            self.warnings.push(format!(
                "the frequency governor is '{governor}': the clock follows the load; 'performance' keeps it up"
            ));
        }
        if self.cores < 2 {
            self.warnings.push(
                "one processor: ranks take turns on it, latencies are those of the scheduler"
                    .into(),
            );
        }
    }
}

fn yes(on: bool) -> String {
    if on { "yes" } else { "no" }.to_owned()
}

/// "12345 kB" in MiB.
fn mebibytes(text: String) -> String {
    let kilobytes = text.split(' ').next().and_then(|n| n.parse::<u64>().ok());
    kilobytes.map_or(text, |k| format!("{} MiB", k >> 10))
}

fn shared_memory() -> Option<String> {
    // SAFETY: the structure is plain data for which zeroes are a valid value; statvfs fills it for a path that is a
    // constant with a terminating zero.
    let (code, about) = unsafe {
        let mut about: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(c"/dev/shm".as_ptr(), &mut about), about)
    };
    (code == 0).then(|| format!("{} MiB", (about.f_blocks * about.f_frsize) >> 20))
}

/// Ticks that all processors were busy for, and that others took from this virtual machine.
pub fn stolen() -> Option<(u64, u64)> {
    let stat = read("/proc/stat")?;
    let ticks: Vec<u64> =
        stat.lines().next()?.split_whitespace().skip(1).filter_map(|t| t.parse().ok()).collect();
    Some((ticks.iter().take(8).sum(), *ticks.get(7)?))
}

/// The one-minute load.
pub fn load() -> Option<f64> {
    read("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_sizes() {
        let text = "MemTotal:       24576000 kB\nflags\t\t: fpu hypervisor\n";
        assert_eq!(field(text, "MemTotal").map(mebibytes).as_deref(), Some("24000 MiB"));
        assert_eq!(field(text, "flags").as_deref(), Some("fpu hypervisor"));
        assert_eq!(field(text, "none"), None);
    }

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        let details = Details::here();
        for group in ["processor", "memory", "limits"] {
            assert!(details.rows.iter().any(|row| row.group == group), "{group}: {details:?}");
        }
    }
}
