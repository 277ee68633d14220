//! Hosts whose cables are pulled and whose processes are killed at random moments. What a failing
//! network only delays must come out right; what is killed ends everything everywhere, with one
//! message. The short ones belong to all tests; `make flap` runs the long ones.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hpvm_tests::hosts::Hosts;

use crate::common::{prefix, program, run_within, tell};
use crate::mpi4py_hosts::tests_by;
use crate::random::{Random, seed};

mod strike;

/// No pause between two moments at which somebody looks.
const LOOK: Duration = Duration::from_millis(5);

/// How a network fails, in milliseconds.
struct Weather {
    /// A cable is out for so long at most,
    out: u64,
    /// and all are in for so long at most.
    fair: u64,
}

/// Takes cables of these hosts out and in until it is told to stop; gives how often.
fn flap(hosts: &Hosts, weather: &Weather, random: &mut Random, stop: &AtomicBool) -> u32 {
    // Relaxed: whoever sets it waits for this thread.
    let stopped = || stop.load(Ordering::Relaxed);
    let sleep = |milliseconds: u64| {
        let end = Instant::now() + Duration::from_millis(milliseconds);
        while Instant::now() < end && !stopped() {
            std::thread::sleep(LOOK);
        }
    };
    let mut times = 0;
    while !stopped() {
        sleep(100 + random.below(weather.fair));
        let host = 1 + random.below(u64::from(hosts.count())) as u32;
        hosts.link(host, "net0", false);
        sleep(20 + random.below(weather.out));
        hosts.link(host, "net0", true);
        times += 1;
    }
    times
}

/// Runs a command to its end while the network flaps. Gives its output.
fn under(hosts: &Hosts, weather: &Weather, command: Command, limit: Duration) -> String {
    let seed = seed();
    tell(&format!("HPVM_TEST_SEED={seed}"));
    let stop = AtomicBool::new(false);
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            // Relaxed: the thread is waited for.
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let flapper = scope.spawn(|| flap(hosts, weather, &mut Random::new(seed), &stop));
        let outcome = {
            // Also when the job fails, or the thread would go on for ever.
            let _stop = Stop(&stop);
            let start = Instant::now();
            let outcome = run_within(command, limit);
            tell(&format!("took {:.1} s", start.elapsed().as_secs_f64()));
            outcome
        };
        let times = flapper.join().expect("the flapping thread");
        tell(&format!("a cable was out {times} times"));
        assert_eq!(outcome.code, Some(0), "HPVM_TEST_SEED={seed}:\n{}", outcome.output);
        outcome.output
    })
}

/// `mpirun` on the first of the hosts, with two ranks on each.
fn mpirun(hosts: &Hosts) -> Command {
    let mut command = hosts.command(1, prefix().join("bin/mpirun"));
    command.args(["-H", &hosts.list(), "-ppn", "2", "--launch-agent"]).arg(Hosts::agent());
    command
}

fn job(hosts: &Hosts, name: &str, seconds: u32) -> Command {
    let mut command = mpirun(hosts);
    command.arg(program(name)).arg(seconds.to_string());
    command
}

/// So long that a job under the weather of `make flap` ends in any case.
fn limit(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(4 * seconds + 120))
}

#[test]
fn traffic_and_a_solver_while_cables_go_out_and_in() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let weather = Weather { out: 1200, fair: 1500 };
    for name in ["hosts", "solve"] {
        let output = under(&hosts, &weather, job(&hosts, name, 9), limit(9));
        assert!(output.starts_with("right "), "{output}");
    }
}

#[test]
fn kills_on_two_hosts() {
    strike::kills(10, 2);
}

/// How long each of the long ones works, from `HPVM_FLAP_SECONDS`.
fn long() -> u32 {
    let seconds = std::env::var("HPVM_FLAP_SECONDS").ok().map(|text| text.parse());
    seconds.unwrap_or(Ok(120)).expect("HPVM_FLAP_SECONDS: a number")
}

const ROUGH: Weather = Weather { out: 5000, fair: 8000 };

#[test]
#[ignore = "long: make flap"]
fn long_traffic() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    let output = under(&hosts, &ROUGH, job(&hosts, "hosts", long()), limit(long()));
    assert!(output.starts_with("right "), "{output}");
}

#[test]
#[ignore = "long: make flap"]
fn long_solve() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let output = under(&hosts, &ROUGH, job(&hosts, "solve", long()), limit(long()));
    assert!(output.starts_with("right "), "{output}");
    tell(output.trim());
}

#[test]
#[ignore = "long: make flap"]
fn long_kills() {
    strike::kills(long() / 2, 2);
    strike::kills(long() / 2, 4);
}

/// mpi4py's own tests on 2 hosts with 2 ranks each.
#[test]
#[ignore = "long: make flap"]
fn long_mpi4py() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let mut command = tests_by(&mpirun(&hosts));
    // A flapping network makes the suite several times longer.
    command.env("RANKS", "4").env("LIMIT", "1500");
    let output = under(&hosts, &ROUGH, command, Duration::from_secs(1600));
    tell(output.trim());
}
