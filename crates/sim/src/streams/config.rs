//! The character of virtual connections.

use core::ops::RangeInclusive;
use hpvm_bulk::Settings;

/// Every time is in ticks, of which each poll of an endpoint is one.
#[derive(Clone, Debug)]
pub struct StreamConfig {
    pub seed: u64,
    /// Messages from this length on are streamed.
    pub least: u64,
    /// Ways between each two processes.
    pub rails: u8,
    /// How long bytes travel.
    pub delay: RangeInclusive<u64>,
    /// Bytes that a connection holds in one direction.
    pub buffer: RangeInclusive<usize>,
    /// Most bytes that one call moves.
    pub part: usize,
    /// Connections in a hundred that break, and after how many bytes.
    pub break_percent: u8,
    pub life: RangeInclusive<u64>,
    /// How long an end takes to learn that the connection is gone.
    pub learn: RangeInclusive<u64>,
    /// Attempts to connect in a hundred that are refused, and that are never answered.
    pub refuse_percent: u8,
    pub black_hole_percent: u8,
    /// Writes in a hundred after which nothing moves for a while, and how long that is.
    pub stall_percent: u8,
    pub stall: RangeInclusive<u64>,
    /// Rail `dead_rail - 1` is not to be had any more after tick `dies`; 0: none dies.
    pub dead_rail: u32,
    pub dies: u64,
    /// Strangers in ten thousand ticks.
    pub strangers: u32,
    /// How often two processes reach each other by network cards, which then read long messages, and how many of those reads fail,
    /// in a hundred.
    pub rdma_percent: u8,
    pub rdma_fail_percent: u8,
    /// One tick is a nanosecond here.
    pub settings: Settings,
}

impl StreamConfig {
    /// Connections without any trouble.
    pub fn calm() -> StreamConfig {
        StreamConfig {
            seed: 0,
            least: 1,
            rails: 1,
            delay: 0..=0,
            buffer: 1 << 20..=1 << 20,
            part: 1 << 20,
            break_percent: 0,
            life: 1..=1,
            learn: 0..=0,
            refuse_percent: 0,
            black_hole_percent: 0,
            stall_percent: 0,
            stall: 0..=0,
            dead_rail: 0,
            dies: 0,
            strangers: 0,
            rdma_percent: 0,
            rdma_fail_percent: 0,
            settings: Settings {
                chunk: 1 << 20,
                share: 1 << 16,
                early: 1 << 12,
                ahead: 1 << 11,
                brief: 1 << 9,
                short: 1 << 10,
                early_window: 1 << 14,
                most_window: 1 << 16,
                spare_window: 1 << 18,
                most_behind: 64,
                most_untold: 1 << 16,
                silence: 0,
                flowing_silence: 0,
                restless: 1000,
                least_flow: 2000,
                connect: 1000,
                pause: 10,
                longest_pause: 200,
                patience: 500,
                greeting: 20_000,
                strangers: 8,
            },
        }
    }

    /// Connections whose every property is drawn from the seed.
    pub fn random(seed: u64) -> StreamConfig {
        let mut r = fastrand::Rng::with_seed(seed ^ 0x7374_7265_616d);
        let rails = r.u8(1..=3);
        let calm = StreamConfig::calm();
        let (early, ahead) = (r.u32(0..=1500), r.u32(0..=1500));
        StreamConfig {
            seed,
            least: r.u64(1..=1000),
            rails,
            delay: 0..=r.u64(0..=50),
            buffer: 32..=r.usize(32..=20_000),
            part: r.usize(1..=3000),
            break_percent: r.u8(0..=80),
            life: 1..=r.u64(1..=20_000),
            learn: 0..=r.u64(0..=300),
            refuse_percent: r.u8(0..=30),
            black_hole_percent: r.u8(0..=20),
            stall_percent: r.u8(0..=3),
            stall: 0..=r.u64(0..=300),
            dead_rail: if rails > 1 && r.bool() { r.u32(1..=u32::from(rails)) } else { 0 },
            dies: r.u64(0..=5000),
            strangers: r.u32(0..=30),
            rdma_percent: 0,
            rdma_fail_percent: 0,
            settings: Settings {
                chunk: r.u32(16..=2000),
                share: r.u32(1..=400),
                early,
                ahead,
                brief: if r.bool() { r.u32(0..=2000) } else { 0 },
                short: r.u32(0..=1000),
                early_window: early.max(ahead) * r.u32(1..=4),
                most_window: r.u32(0..=8000),
                spare_window: r.u64(0..=20_000),
                most_behind: r.u32(1..=20),
                most_untold: r.u32(1..=3000),
                silence: r.u64(0..=5),
                flowing_silence: r.u64(0..=50),
                restless: r.u64(0..=1000),
                least_flow: r.u32(1000..=100_000),
                strangers: r.usize(1..=8),
                ..calm.settings
            },
        }
    }
}
