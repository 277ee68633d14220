//! Days of virtual time in which processes compute for hours, roads are cut for less than the
//! limit, and hosts and processes die: the living are never given up, the dead always are.

use hpvm_reliable::liveness::{Cause, Loss};
use hpvm_simulate::failures::world::{SECOND, SILENCE_LIMIT, SLACK, World};
use hpvm_simulate::failures::{Plan, run};

const HOUR: u64 = 3600 * SECOND;
/// Processes, two to a host.
const SIZE: u32 = 8;
/// Steps of the clock: as long as a rank sleeps between two looks.
const STEP: u64 = SECOND / 4;

fn world(seed: u64) -> World {
    World::new(seed, (SIZE / 2, 2), (1000 * SECOND, STEP)).expect("sound settings")
}

/// For so long processes send now and then, compute for up to two hours, and roads are cut for
/// less than the limit.
fn live(world: &mut World, time: u64) {
    let end = world.now + time;
    while world.now < end && world.losses.is_empty() {
        world.step();
        if world.dice.u16(0..200) == 0 {
            let (src, dst) = (world.dice.u32(0..SIZE), world.dice.u32(0..SIZE));
            if world.host(src) != world.host(dst) {
                world.send(src, dst);
            }
        }
        if world.dice.u16(0..1000) == 0 {
            let rank = world.dice.u32(0..SIZE);
            let until = world.now + world.dice.u64(0..2 * HOUR);
            world.compute(rank, until);
        }
        if world.dice.u16(0..1000) == 0 && !world.is_cut() {
            let (a, b) = (world.dice.u32(0..SIZE / 2), world.dice.u32(0..SIZE / 2));
            // From the last sign of life before it to the first after it passes more.
            let until = world.now + world.dice.u64(0..SILENCE_LIMIT / 2);
            world.cut(a, b, until);
        }
    }
}

#[test]
fn days_of_computing_and_short_cuts_end_nothing() {
    for seed in 0..3 {
        let mut world = world(seed);
        live(&mut world, 48 * HOUR);
        assert_eq!(world.losses, [], "seed {seed}");
        let came = world.came();
        assert!(came > 500, "seed {seed}: {came} packets came");
    }
}

/// A world in which rank 0 waits for rank 7, which computes.
fn waiting(seed: u64) -> World {
    let mut world = world(seed);
    world.compute(7, u64::MAX);
    world.send(0, 7);
    for _ in 0..10 * SILENCE_LIMIT / STEP {
        world.step();
    }
    assert_eq!(world.losses, []);
    world
}

/// When somebody is given up, and what was seen, if that happens within the limit and a little.
fn first_loss(world: &mut World) -> Option<(u64, Loss)> {
    let start = world.now;
    while world.losses.is_empty() && world.now < start + SILENCE_LIMIT + SLACK {
        world.step();
    }
    world.losses.first().map(|(at, _, loss)| (at - start, *loss))
}

#[test]
fn a_host_that_loses_power_while_it_computes_is_given_up_after_the_limit() {
    for seed in 0..20 {
        let mut world = waiting(seed);
        let host = world.host(7);
        world.darken(host);
        let (after, loss) = first_loss(&mut world).expect("a loss");
        assert!(matches!(loss.cause, Cause::HostSilent { .. }) && loss.peer == 7, "{loss:?}");
        assert!(after >= SILENCE_LIMIT - SLACK, "seed {seed}: after {after} ns");
    }
}

#[test]
fn a_process_that_dies_on_a_host_that_lives_is_given_up_after_the_limit() {
    for seed in 0..20 {
        let mut world = waiting(seed);
        world.kill(7);
        let (after, loss) = first_loss(&mut world).expect("a loss");
        assert!(matches!(loss.cause, Cause::ProcessGone { .. }) && loss.peer == 7, "{loss:?}");
        assert!(after >= SILENCE_LIMIT, "seed {seed}: after {after} ns");
    }
}

#[test]
fn months_of_failures_are_noticed_and_nobody_healthy_is_given_up() {
    let plan = Plan { days: 120, hosts: 4, per_host: 2, seed: 5 };
    let lives = run(plan).expect("months");
    let failures = lives.hosts_lost + lives.processes_lost;
    assert!(failures > 5 && lives.hosts_lost > 0 && lives.processes_lost > 0, "{lives:?}");
    assert_eq!(lives.jobs, failures + 1);
    assert!(lives.came * 10 > lives.messages * 8, "{lives:?}");
    assert!(
        lives.soonest >= SILENCE_LIMIT - SLACK && lives.latest <= SILENCE_LIMIT + SLACK,
        "{lives:?}"
    );
    let month = Plan { days: 30, ..plan };
    assert_eq!(run(month), run(month));
    for wrong in [Plan { days: 0, ..plan }, Plan { hosts: 1, ..plan }, Plan { per_host: 0, ..plan }]
    {
        assert!(run(wrong).is_err(), "{wrong:?}");
    }
}
