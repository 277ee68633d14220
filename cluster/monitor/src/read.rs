//! The kernel's counters and levels as they are, from `/proc` and `/sys`.

use std::io;
use std::path::Path;
use std::time::Duration;

use procfs::{CpuTime, Current, CurrentSI, KernelStats, LoadAverage, Meminfo, Uptime};

use crate::sample::{Capacity, Memory};

/// One reading: counters that only grow, and levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// A clock that is never set; only differences mean something.
    pub clock: Duration,
    /// Milliseconds since 1970-01-01 UTC, which may be set, also backwards.
    pub at_ms: u64,
    pub cpu: Ticks,
    pub cores: Vec<Ticks>,
    pub memory: Memory,
    pub interfaces: Vec<InterfaceCounters>,
    pub disks: Vec<DiskCounters>,
    pub capacity: Option<Capacity>,
    pub load: [f32; 3],
    pub uptime_seconds: f64,
}

/// Time of a processor, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    pub user: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub steal: u64,
}

/// Bytes of a network interface since it came up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    pub name: String,
    /// Whether there is hardware behind it.
    pub hardware: bool,
    pub received: u64,
    pub sent: u64,
}

/// Bytes of a disk since it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    pub name: String,
    pub read: u64,
    pub written: u64,
}

/// `/proc/diskstats` counts in sectors of this many bytes, whatever the disk's own are.
const SECTOR: u64 = 512;

/// Block devices that lie on others or in memory: their bytes are counted below them, or nowhere.
const STACKED: [&str; 6] = ["loop", "ram", "zram", "dm-", "md", "nbd"];

/// Reads the counters of this host. `clock` and `at_ms` are the caller's: [`Reading::clock`].
///
/// Blocks for well below a millisecond; asks no file system and no network.
///
/// # Errors
/// `/proc` is not mounted or says what this program does not understand; the text names the file.
pub fn read(clock: Duration, at_ms: u64) -> io::Result<Reading> {
    let said = |what: &'static str| move |e| io::Error::other(format!("{what}: {e}"));
    let stat = KernelStats::current().map_err(said("/proc/stat"))?;
    let memory = Meminfo::current().map_err(said("/proc/meminfo"))?;
    let load = LoadAverage::current().map_err(said("/proc/loadavg"))?;
    let uptime = Uptime::current().map_err(said("/proc/uptime"))?;
    Ok(Reading {
        clock,
        at_ms,
        cpu: ticks(&stat.total),
        cores: stat.cpu_time.iter().map(ticks).collect(),
        memory: Memory {
            total: memory.mem_total,
            // Kernels before 3.14 do not estimate it; free memory is the least it can be.
            available: memory.mem_available.unwrap_or(memory.mem_free),
            swap_total: memory.swap_total,
            swap_free: memory.swap_free,
        },
        interfaces: interfaces().map_err(said("/proc/net/dev"))?,
        disks: disks().unwrap_or_default(),
        capacity: None,
        load: [load.one, load.five, load.fifteen],
        uptime_seconds: uptime.uptime,
    })
}

fn ticks(time: &CpuTime) -> Ticks {
    let or_none = Option::unwrap_or_default;
    Ticks {
        // The time of guests is in `user` and `nice` already.
        user: time.user + time.nice,
        system: time.system + or_none(time.irq) + or_none(time.softirq),
        idle: time.idle,
        iowait: or_none(time.iowait),
        steal: or_none(time.steal),
    }
}

fn interfaces() -> procfs::ProcResult<Vec<InterfaceCounters>> {
    let mut found: Vec<_> = procfs::net::dev_status()?
        .into_values()
        .map(|device| InterfaceCounters {
            hardware: Path::new("/sys/class/net").join(&device.name).join("device").exists(),
            received: device.recv_bytes,
            sent: device.sent_bytes,
            name: device.name,
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Whole devices only. Some containers hide `/proc/diskstats`: then there are none.
fn disks() -> procfs::ProcResult<Vec<DiskCounters>> {
    let whole = |name: &str| {
        !STACKED.iter().any(|prefix| name.starts_with(prefix))
            && Path::new("/sys/block").join(name.replace('/', "!")).exists()
    };
    Ok(procfs::diskstats()?
        .into_iter()
        .filter(|disk| whole(&disk.name))
        .map(|disk| DiskCounters {
            read: disk.sectors_read.saturating_mul(SECTOR),
            written: disk.sectors_written.saturating_mul(SECTOR),
            name: disk.name,
        })
        .collect())
}
