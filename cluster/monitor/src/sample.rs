//! What is sampled: levels as they are, counters as rates.

use serde::{Deserialize, Serialize};

/// One sample of a host. Bytes are bytes, rates are per second, fractions lie between 0 and 1.
///
/// A rate needs two readings, so `cpu`, `network` and the rates of `disk` are absent in the first
/// sample; they are absent, too, when a counter went backwards and the difference means nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostSample {
    /// When the second reading was taken, in milliseconds since 1970-01-01 UTC.
    pub at_ms: u64,
    /// Time between the two readings of the rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    pub memory: Memory,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    pub disk: Disk,
    /// Graphics processors, in the order of their drivers; empty where there are none, or none answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// Mean number of runnable processes in the last 1, 5 and 15 minutes.
    pub load: [f32; 3],
    pub uptime_seconds: f64,
}

/// Use of the processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Cpu {
    /// All processors together: 1 is all of them busy.
    pub total: CpuUse,
    /// One entry per processor; empty when their number changed between the readings.
    pub cores: Vec<CpuUse>,
}

/// Fractions of the time between two readings. What is missing to 1 was idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CpuUse {
    /// In programs, those with a lowered priority and guests of a hypervisor included.
    pub user: f32,
    /// In the kernel, interrupts included.
    pub system: f32,
    /// Idle while some process waited for a disk.
    pub iowait: f32,
    /// Taken away by a hypervisor.
    pub steal: f32,
}

impl CpuUse {
    /// Time that did work here: programs and kernel.
    pub fn busy(&self) -> f32 {
        self.user + self.system
    }
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Memory {
    pub total: u64,
    /// What programs could still take without swapping (the kernel's estimate).
    pub available: u64,
    pub swap_total: u64,
    pub swap_free: u64,
}

/// Network traffic in bytes per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Network {
    /// Sum over the interfaces that have hardware behind them; where there is none (a container),
    /// over all but the loopback. Bridges and tunnels would count the same bytes twice.
    pub received: f64,
    pub sent: f64,
    pub interfaces: Vec<Interface>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Interface {
    pub name: String,
    pub received: f64,
    pub sent: f64,
}

/// Disks: bytes per second of all whole devices, and the room where jobs' data lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Disk {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<f64>,
    /// Absent when no folder was named or its file system does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
}

/// A graphics processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Gpu {
    /// As its driver names it.
    pub name: String,
    /// Part of the last moment in which it worked; absent when the driver does not say, as of one that is
    /// shared out in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f32>,
    /// Its own memory, in bytes.
    pub memory_total: u64,
    pub memory_used: u64,
}

/// Room of a file system in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Capacity {
    pub total: u64,
    /// What an unprivileged user may still write.
    pub available: u64,
}
