//! Which events there are. Names are those of `perf list`.

use crate::pmu;
use perf_event_open_sys::bindings::*;

/// Who counts an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The kernel: no counter is needed.
    Software,
    /// The processor.
    Hardware,
}

/// An event, as the kernel is asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub kind: Kind,
    /// It is in nanoseconds, not a number of things.
    pub time: bool,
    /// Events of one group are counted at the same times, so that their ratios are right. 0: alone.
    pub group: u8,
    /// `type`, `config`, `config1` and `config2` of `perf_event_attr`.
    pub type_: u32,
    pub configs: [u64; 3],
}

fn event(name: &str, kind: Kind, group: u8, type_: u32, config: u64) -> Event {
    let configs = [config, 0, 0];
    Event { name: name.into(), kind, time: name == TASK_CLOCK, group, type_, configs }
}

/// Time on a processor, by which others are divided.
pub const TASK_CLOCK: &str = "task-clock";
/// They need the kernel's side to be counted, see [`crate::allowed`].
pub const OF_THE_KERNEL: [&str; 2] = ["context-switches", "cpu-migrations"];

/// Events that the kernel counts.
pub fn software() -> Vec<Event> {
    [
        (TASK_CLOCK, PERF_COUNT_SW_TASK_CLOCK),
        ("minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN),
        ("major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ),
        (OF_THE_KERNEL[0], PERF_COUNT_SW_CONTEXT_SWITCHES),
        (OF_THE_KERNEL[1], PERF_COUNT_SW_CPU_MIGRATIONS),
    ]
    .map(|(name, config)| event(name, Kind::Software, 0, PERF_TYPE_SOFTWARE, config.into()))
    .into()
}

fn generic(name: &str, group: u8, config: u32) -> Event {
    event(name, Kind::Hardware, group, PERF_TYPE_HARDWARE, config.into())
}

/// An event of a cache: which one, what is done, with what result.
fn cache(name: &str, group: u8, which: u32, op: u32, result: u32) -> Event {
    let config = u64::from(which) | u64::from(op) << 8 | u64::from(result) << 16;
    event(name, Kind::Hardware, group, PERF_TYPE_HW_CACHE, config)
}

/// What most people ask of a processor: two of each group, so that each group fits any processor's counters.
pub fn usual() -> Vec<Event> {
    let read = PERF_COUNT_HW_CACHE_OP_READ;
    let (access, miss) = (PERF_COUNT_HW_CACHE_RESULT_ACCESS, PERF_COUNT_HW_CACHE_RESULT_MISS);
    vec![
        generic("cycles", 1, PERF_COUNT_HW_CPU_CYCLES),
        generic("instructions", 1, PERF_COUNT_HW_INSTRUCTIONS),
        generic("branches", 2, PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
        generic("branch-misses", 2, PERF_COUNT_HW_BRANCH_MISSES),
        generic("cache-references", 3, PERF_COUNT_HW_CACHE_REFERENCES),
        generic("cache-misses", 3, PERF_COUNT_HW_CACHE_MISSES),
        cache("L1-dcache-loads", 4, PERF_COUNT_HW_CACHE_L1D, read, access),
        cache("L1-dcache-load-misses", 4, PERF_COUNT_HW_CACHE_L1D, read, miss),
        cache("LLC-loads", 5, PERF_COUNT_HW_CACHE_LL, read, access),
        cache("LLC-load-misses", 5, PERF_COUNT_HW_CACHE_LL, read, miss),
        cache("dTLB-loads", 6, PERF_COUNT_HW_CACHE_DTLB, read, access),
        cache("dTLB-load-misses", 6, PERF_COUNT_HW_CACHE_DTLB, read, miss),
        cache("iTLB-loads", 7, PERF_COUNT_HW_CACHE_ITLB, read, access),
        cache("iTLB-load-misses", 7, PERF_COUNT_HW_CACHE_ITLB, read, miss),
    ]
}

/// All that the machine offers for processes: the usual ones, the kernel's other names, and those of the processor's own
/// that the kernel has names for. What the processor lacks is refused when it is opened.
pub fn all() -> Vec<Event> {
    let mut events = usual();
    events.extend([
        generic("bus-cycles", 0, PERF_COUNT_HW_BUS_CYCLES),
        generic("ref-cycles", 0, PERF_COUNT_HW_REF_CPU_CYCLES),
        generic("stalled-cycles-frontend", 0, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND),
        generic("stalled-cycles-backend", 0, PERF_COUNT_HW_STALLED_CYCLES_BACKEND),
    ]);
    let caches = [
        ("L1-dcache", PERF_COUNT_HW_CACHE_L1D),
        ("L1-icache", PERF_COUNT_HW_CACHE_L1I),
        ("LLC", PERF_COUNT_HW_CACHE_LL),
        ("dTLB", PERF_COUNT_HW_CACHE_DTLB),
        ("iTLB", PERF_COUNT_HW_CACHE_ITLB),
        ("branch", PERF_COUNT_HW_CACHE_BPU),
        ("node", PERF_COUNT_HW_CACHE_NODE),
    ];
    let ops = [
        ("load", PERF_COUNT_HW_CACHE_OP_READ),
        ("store", PERF_COUNT_HW_CACHE_OP_WRITE),
        ("prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH),
    ];
    for (of, which) in caches {
        for (op, number) in ops {
            let plural = if op.ends_with("ch") { "es" } else { "s" };
            let (access, miss) =
                (PERF_COUNT_HW_CACHE_RESULT_ACCESS, PERF_COUNT_HW_CACHE_RESULT_MISS);
            events.push(cache(&format!("{of}-{op}{plural}"), 0, which, number, access));
            events.push(cache(&format!("{of}-{op}-misses"), 0, which, number, miss));
        }
    }
    events.extend(pmu::events());
    // What is asked for under two names is counted once.
    let mut seen = std::collections::BTreeSet::new();
    events.retain(|event| seen.insert((event.type_, event.configs)) && !has_name_before(event));
    let mut names = std::collections::BTreeSet::new();
    events.retain(|event| names.insert(event.name.clone()));
    events
}

/// The processor's own entry for an event that has a name of the kernel.
fn has_name_before(event: &Event) -> bool {
    event.type_ == PERF_TYPE_RAW
        && usual().iter().any(|usual| Some(&*usual.name) == pmu::kernel_name(&event.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_once() {
        let all: Vec<_> = software().into_iter().chain(all()).map(|event| event.name).collect();
        let mut names = all.clone();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().any(|name| name == "L1-icache-prefetches"), "{all:?}");
    }

    #[test]
    fn usual_events_come_in_pairs() {
        for group in 1..=7 {
            assert_eq!(usual().iter().filter(|event| event.group == group).count(), 2);
        }
    }
}
