//! The history: slots, gaps, clocks that jump, and how much memory it may take.

use hpvm_monitor::history::{DAY, HOUR};
use hpvm_monitor::{Cpu, CpuUse, History, HostSample, Memory};

fn sample(at_ms: u64, user: f32) -> HostSample {
    HostSample {
        at_ms,
        cpu: Some(Cpu { total: CpuUse { user, ..CpuUse::default() }, cores: vec![] }),
        memory: Memory { total: 100, available: 50, ..Memory::default() },
        ..HostSample::default()
    }
}

fn history(samples: &[(u64, f32)]) -> History {
    let mut history = History::new();
    for (at_ms, user) in samples {
        history.push(&sample(*at_ms, *user));
    }
    history
}

#[test]
fn nothing_sampled_nothing_said() {
    let series = History::new().hour();
    assert_eq!((series.step_ms, series.cpu.len()), (1000, 0));
}

#[test]
fn seconds_without_a_sample_are_gaps() {
    let series = history(&[(10_000, 0.5), (11_200, 1.0), (14_000, 0.2)]).hour();
    assert_eq!((series.start_ms, series.step_ms), (10_000, 1000));
    assert_eq!(series.cpu, [Some(0.5), Some(1.0), None, None, Some(0.2)]);
    assert_eq!(series.memory, [Some(0.5), Some(0.5), None, None, Some(0.5)]);
    assert_eq!(series.received, [None; 5], "what no sample had is a gap");
}

#[test]
fn a_slot_is_the_mean_of_its_samples() {
    let series = history(&[(30_000, 0.0), (31_000, 1.0), (59_000, 0.2), (60_000, 1.0)]).day();
    assert_eq!(series.start_ms, 30_000);
    assert_eq!(series.cpu, [Some(0.4), Some(1.0)]);
}

#[test]
fn a_clock_set_back_forgets_what_comes_again() {
    let series = history(&[(10_000, 0.2), (11_000, 0.4), (12_000, 0.6), (11_000, 1.0)]).hour();
    assert_eq!(series.start_ms, 10_000);
    assert_eq!(series.cpu, [Some(0.2), Some(1.0)]);
    let series = history(&[(10_000, 0.2), (11_000, 0.4), (3_000, 1.0), (4_000, 0.0)]).hour();
    assert_eq!((series.start_ms, series.cpu), (3_000, vec![Some(1.0), Some(0.0)]));
}

#[test]
fn a_clock_set_far_ahead_leaves_only_gaps_and_returns() {
    let far = 4_000_000_000_000;
    let series = history(&[(10_000, 0.2), (far, 1.0)]).hour();
    assert_eq!(series.cpu.len(), HOUR.slots);
    assert_eq!(series.start_ms, far - 1000 * (HOUR.slots as u64 - 1));
    assert_eq!(series.cpu.iter().flatten().count(), 1);
}

#[test]
fn the_oldest_goes() {
    let mut history = History::new();
    for second in 0..100_000 {
        history.push(&sample(second * 1000, (second % 2) as f32));
    }
    let (hour, day) = (history.hour(), history.day());
    assert_eq!((hour.cpu.len(), day.cpu.len()), (HOUR.slots, DAY.slots));
    assert_eq!(hour.start_ms, 1000 * (100_000 - HOUR.slots as u64));
    assert_eq!(hour.cpu.last(), Some(&Some(1.0)));
    assert_eq!(day.cpu[5], Some(0.5));
}

#[test]
fn a_clock_set_back_far_keeps_what_was_before() {
    for back in [1, 119, 120, 121, 240, 999] {
        let mut history = History::new();
        for second in 0..1000 {
            history.push(&sample(second * 1000, (second % 10) as f32 / 10.0));
        }
        let now = 999 - back;
        history.push(&sample(now * 1000, 1.0));
        let series = history.hour();
        assert_eq!((series.start_ms, series.cpu.len() as u64), (0, now + 1), "back by {back} s");
        for (second, cpu) in series.cpu[..now as usize].iter().enumerate() {
            assert_eq!(
                *cpu,
                Some((second % 10) as f32 / 10.0),
                "second {second}, back by {back} s"
            );
        }
        assert_eq!(series.cpu.last(), Some(&Some(1.0)));
    }
}
