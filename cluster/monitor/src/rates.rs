//! From two readings to a sample: arithmetic only.
//!
//! Counters grow, until they do not: an interface goes away and comes back with zero, a processor
//! is taken offline, a host is restored from an image. A difference that is negative means nothing,
//! so it gives no rate at all, which is not the same as a rate of zero.

use std::time::Duration;

use crate::read::{DiskCounters, InterfaceCounters, Reading, Ticks};
use crate::sample::{Cpu, CpuUse, Disk, HostSample, Interface, Network};

/// The least time between two readings that gives rates. The kernel counts a processor's time in
/// ticks of 10 ms mostly; over a few of them a fraction would be noise.
const INTERVAL_MIN: Duration = Duration::from_millis(50);

/// What one reading says by itself: levels, no rates.
pub fn first(now: &Reading) -> HostSample {
    HostSample {
        at_ms: now.at_ms,
        memory: now.memory,
        disk: Disk { capacity: now.capacity, ..Disk::default() },
        load: now.load,
        uptime_seconds: now.uptime_seconds,
        ..HostSample::default()
    }
}

/// The sample at `now`, with rates since `before`.
pub fn between(before: &Reading, now: &Reading) -> HostSample {
    let mut sample = first(now);
    let Some(interval) = now.clock.checked_sub(before.clock).filter(|time| *time >= INTERVAL_MIN)
    else {
        return sample;
    };
    let seconds = interval.as_secs_f64();
    sample.interval_seconds = Some(seconds);
    sample.cpu = cpu(before, now);
    sample.network = Some(network(&before.interfaces, &now.interfaces, seconds));
    (sample.disk.read, sample.disk.written) = disks(&before.disks, &now.disks, seconds);
    sample
}

fn cpu(before: &Reading, now: &Reading) -> Option<Cpu> {
    let total = cpu_use(&before.cpu, &now.cpu)?;
    // The kernel lists the processors that are online, without those between: with another number
    // of them an entry's predecessor is not known.
    let cores = if before.cores.len() == now.cores.len() {
        let pairs = before.cores.iter().zip(&now.cores);
        pairs.map(|(before, now)| cpu_use(before, now)).collect::<Option<Vec<_>>>()
    } else {
        None
    };
    Some(Cpu { total, cores: cores.unwrap_or_default() })
}

/// None when a counter went backwards, or no tick passed.
fn cpu_use(before: &Ticks, now: &Ticks) -> Option<CpuUse> {
    let user = now.user.checked_sub(before.user)?;
    let system = now.system.checked_sub(before.system)?;
    let steal = now.steal.checked_sub(before.steal)?;
    // These two may step back a little (proc_stat(5)): a task that waited is counted with the
    // processor it wakes up on.
    let idle = now.idle.saturating_sub(before.idle);
    let iowait = now.iowait.saturating_sub(before.iowait);
    let all = user + system + steal + idle + iowait;
    if all == 0 {
        return None;
    }
    let fraction = |ticks: u64| (ticks as f64 / all as f64) as f32;
    Some(CpuUse {
        user: fraction(user),
        system: fraction(system),
        iowait: fraction(iowait),
        steal: fraction(steal),
    })
}

/// An interface that is new, or whose counters went back, is left out of this sample.
fn network(before: &[InterfaceCounters], now: &[InterfaceCounters], seconds: f64) -> Network {
    let any_hardware = now.iter().any(|interface| interface.hardware);
    let mut network = Network::default();
    for current in now {
        let Some(former) = before.iter().find(|former| former.name == current.name) else {
            continue;
        };
        let rates = rate(former.received, current.received, seconds).zip(rate(
            former.sent,
            current.sent,
            seconds,
        ));
        let Some((received, sent)) = rates else { continue };
        let counts = if any_hardware { current.hardware } else { current.name != "lo" };
        if counts {
            network.received += received;
            network.sent += sent;
        }
        network.interfaces.push(Interface { name: current.name.clone(), received, sent });
    }
    network
}

/// None when no disk can be compared: nothing is known, which is not zero.
fn disks(
    before: &[DiskCounters],
    now: &[DiskCounters],
    seconds: f64,
) -> (Option<f64>, Option<f64>) {
    let mut sums = (None, None);
    for current in now {
        let Some(former) = before.iter().find(|former| former.name == current.name) else {
            continue;
        };
        let rates = rate(former.read, current.read, seconds).zip(rate(
            former.written,
            current.written,
            seconds,
        ));
        if let Some((read, written)) = rates {
            sums = (Some(sums.0.unwrap_or(0.0) + read), Some(sums.1.unwrap_or(0.0) + written));
        }
    }
    sums
}

fn rate(before: u64, now: u64, seconds: f64) -> Option<f64> {
    now.checked_sub(before).map(|difference| difference as f64 / seconds)
}
