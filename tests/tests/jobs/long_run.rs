//! Runs that are disturbed and started again by `mpirun --max-restarts` end with the bits of runs that were not. The short
//! ones belong to all tests; `make long-run` runs the long one.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use hpvm_tests::hosts::Hosts;
use hpvm_tests::process;

use crate::apps::{
    self, LONG, app, app_with, built, replaced, text, uninterrupted, wait_for_replacements,
};
use crate::apps_aspcg;
use crate::common::{folder, marker, prefix, run_within, succeed_within, tell};
use crate::random::{Random, seed};

/// The processes of a marked job that run a program of this name.
fn ranks(marker: &str, name: &str) -> Vec<i32> {
    let runs_it = |pid: &i32| {
        std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with(name))
    };
    process::marked(marker).into_iter().filter(runs_it).collect()
}

fn kill(pid: i32) {
    // SAFETY: a signal to a process of a job that this test has started and not yet awaited.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Runs an application of two ranks, one of which is killed in the middle. Its output.
fn killed_once(what: (&str, &[&str]), every: &str, steps: &str, state: &Path) -> Option<String> {
    let marker = marker();
    let flags = ["--steps", steps, "--every", every, "--checkpoint", text(state)];
    let restart = ["--max-restarts", "1", "--restart-delay", "0.01"];
    let command = app_with(&restart, 2, what.0, &[what.1, &flags].concat())?;
    std::thread::scope(|scope| {
        let job = scope.spawn(|| process::run(command, &marker, LONG));
        wait_for_replacements(state, 1);
        ranks(&marker, what.0).first().copied().into_iter().for_each(kill);
        let outcome = job.join().expect("no panic").expect("it could be started");
        assert_eq!(outcome.code, Some(0), "{}", outcome.output);
        assert_eq!(outcome.leftovers, 0, "{}", outcome.output);
        Some(outcome.output)
    })
}

fn goes_on_by_itself(what: (&str, &[&str]), every: &str) {
    // A run that had ended before it could be killed says nothing: then a longer one.
    for steps in [200, 1000, 5000, 25_000].map(|steps| steps.to_string()) {
        let home = folder("long-run");
        let state = home.join("state");
        let Some(output) = killed_once(what, every, &steps, &state) else { return };
        if !output.contains("(restart 1 of 1)") {
            continue;
        }
        assert!(output.contains("restart 1 of the job, from checkpoint"), "{output}");
        let expected = uninterrupted(2, what, &steps, &home).expect("built");
        let got = std::fs::read(&state).expect("a checkpoint");
        assert!(got == expected, "{}: other bits after a kill\n{output}", what.0);
        return;
    }
    panic!("{}: could not be killed in time", what.0);
}

#[test]
fn every_application_goes_on_from_its_checkpoint_when_a_rank_is_killed() {
    goes_on_by_itself(apps::MD, "20");
    // Short steps: its rings break up after some time.
    let vortex = ("vortex", &[apps::VORTEX.1, &["--dt", "0.0001"]].concat()[..]);
    let others =
        [apps::TREECODE, apps::FDTD, apps::HYDRO, apps::MHD, apps::QMC, vortex, apps_aspcg::CAVITY];
    for what in others {
        goes_on_by_itself(what, "10");
    }
}

#[test]
fn a_checkpoint_of_another_run_is_set_aside() {
    let home = folder("stale");
    let state = home.join("state");
    let flags = ["--cells", "8", "--steps", "20", "--quiet", "--checkpoint", text(&state)];
    let restart = ["--max-restarts", "1"];
    let Some(command) = app_with(&restart, 2, "md", &flags) else { return };
    succeed_within(command, LONG);
    let first = std::fs::read(&state).expect("a checkpoint");
    let again =
        |flags: &[&str]| succeed_within(app_with(&restart, 2, "md", flags).expect("built"), LONG);
    let output = again(&[&flags[..], &["--restart", text(&state)]].concat());
    assert!(!output.contains("another run"), "{output}");
    std::fs::write(&state, "not this").expect("a file");
    let output = again(&flags);
    assert!(output.contains("of another run, is now"), "{output}");
    assert_eq!(std::fs::read(home.join("state.old")).expect("the old file"), b"not this");
    assert!(std::fs::read(&state).expect("a checkpoint") == first);
}

/// treecode on test hosts, over ssh, with one rank on each as long as all are there.
fn on_hosts(hosts: &Hosts, flags: &[&str], problem: &[&str]) -> Command {
    let mut command = hosts.command(1, prefix().join("bin/mpirun"));
    command.args(["-H", &hosts.list(), "-n", &hosts.count().to_string(), "--net-timeout", "3"]);
    command.args(flags).arg(built().expect("built").join("treecode")).args(problem);
    command
}

/// Whether a command line is that of a rank. The launcher's and ssh's name the program, too, but later.
fn runs_treecode(line: &str) -> bool {
    line.split(' ').next().is_some_and(|program| program.ends_with("/treecode"))
}

const BODIES: [&str; 5] = ["--bodies", "1500", "--sample", "0", "--quiet"];

#[test]
fn a_rank_killed_and_a_host_cut_off_change_no_bit() {
    // A run that had ended before it could be disturbed says nothing: then a longer one.
    for steps in ["600", "3000", "15000"] {
        let Some(hosts) = Hosts::up(3, &["--ssh"]) else { return };
        if killed_and_cut_off(&hosts, steps) {
            return;
        }
    }
    panic!("it could not be disturbed in time");
}

/// False when it had ended before all was done to it.
fn killed_and_cut_off(hosts: &Hosts, steps: &str) -> bool {
    let (home, marker) = (folder("cut"), marker());
    let (state, whole) = (home.join("state"), home.join("whole"));
    let length = ["--steps", steps, "--every", "10", "--checkpoint"];
    let problem = [&BODIES[..], &length, &[text(&state)]].concat();
    let undisturbed = [&BODIES[..], &length, &[text(&whole)]].concat();
    // Without the applications it is counted as skipped.
    let Some(command) = app(3, "treecode", &undisturbed) else { return true };
    succeed_within(command, LONG);
    let restart = ["--max-restarts", "2", "--restart-delay", "0.01"];
    let command = on_hosts(hosts, &restart, &problem);
    let output = std::thread::scope(|scope| {
        let job = scope.spawn(|| process::run(command, &marker, LONG));
        let over = || job.is_finished();
        if replaced(&state, 2, over) {
            let rank = hosts.processes(3).into_iter().find(|(_, line)| runs_treecode(line));
            rank.into_iter().for_each(|(pid, _)| kill(pid));
        }
        // The first two are of before the kill.
        if replaced(&state, 4, over) {
            hosts.link(2, "net0", false);
        }
        let outcome = job.join().expect("no panic").expect("it could be started");
        assert_eq!(outcome.code, Some(0), "{}", outcome.output);
        outcome.output
    });
    if !output.contains("(restart 2 of 2)") {
        return false;
    }
    assert!(output.contains("was killed by signal 9"), "{output}");
    let without = format!("(restart 2 of 2), without host {}", hosts.name(2));
    assert!(output.contains(&without), "{output}");
    let got = std::fs::read(&state).expect("a checkpoint");
    assert!(got == std::fs::read(&whole).expect("a checkpoint"), "other bits\n{output}");
    true
}

/// Seconds of the long run, from `HPVM_LONG_RUN_SECONDS`: about half of them disturbed, half not.
fn seconds() -> u64 {
    let seconds = std::env::var("HPVM_LONG_RUN_SECONDS").ok().map(|text| text.parse());
    seconds.unwrap_or(Ok(7200)).expect("HPVM_LONG_RUN_SECONDS: a number")
}

/// What was done to a run, and when.
struct Strike {
    at: Duration,
    what: String,
}

/// So often a run is disturbed: each time costs up to a minute's wait before the restart, and it must end at some time.
const MOST_STRIKES: usize = 20;

/// Kills ranks and pulls cables at random moments, until the job has ended or has been disturbed often enough.
fn disturb(hosts: &Hosts, random: &mut Random, ended: impl Fn() -> bool) -> Vec<Strike> {
    let begin = Instant::now();
    let mut strikes = Vec::new();
    let pause = |seconds: u64| {
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end && !ended() {
            std::thread::sleep(Duration::from_millis(100));
        }
        !ended()
    };
    // Some ten times in the disturbed half.
    let between = (seconds() / 20).clamp(4, 180);
    while strikes.len() < MOST_STRIKES && pause(between / 2 + random.below(between)) {
        let host = 1 + random.below(u64::from(hosts.count())) as u32;
        let ranks = hosts.processes(host);
        let rank = ranks.iter().find(|(_, line)| runs_treecode(line));
        let what = match rank {
            // The launcher's own host cannot be lost.
            Some(_) if host > 1 && strikes.len() % 2 == 1 => {
                hosts.link(host, "net0", false);
                let out = 5 + random.below(40);
                pause(out);
                hosts.link(host, "net0", true);
                format!("cable of {} out for {out} s", hosts.name(host))
            }
            Some((pid, _)) => {
                kill(*pid);
                format!("rank on {} killed", hosts.name(host))
            }
            None => continue,
        };
        tell(&format!("{:6.0} s: {what}", begin.elapsed().as_secs_f64()));
        strikes.push(Strike { at: begin.elapsed(), what });
    }
    strikes
}

/// So many steps take about this long.
fn steps_in(duration: Duration, bodies: &[&str]) -> Option<u64> {
    const TRIAL: u32 = 100;
    built()?;
    let start = Instant::now();
    let steps = TRIAL.to_string();
    succeed_within(app(2, "treecode", &[bodies, &["--steps", &steps]].concat())?, LONG);
    Some((duration.as_secs_f64() / start.elapsed().as_secs_f64() * f64::from(TRIAL)) as u64)
}

#[test]
#[ignore = "long: make long-run"]
fn hours_of_treecode_with_kills_and_cuts() {
    let Some(hosts) = Hosts::up(2, &["--ssh"]) else { return };
    let seed = seed();
    tell(&format!("HPVM_TEST_SEED={seed}"));
    let bodies = ["--bodies", "5000", "--sample", "0", "--quiet", "--lines", "0"];
    let Some(steps) = steps_in(Duration::from_secs(seconds() / 2), &bodies) else { return };
    let (home, marker, limit) =
        (folder("hours"), marker(), Duration::from_secs(4 * seconds() + 600));
    let (state, whole) = (home.join("state"), home.join("whole"));
    // Some two seconds: less than between two disturbances.
    let every = (4 * steps / seconds()).max(1).to_string();
    let length = |file| {
        let (steps, file) = (steps.to_string(), text(file).to_string());
        ["--steps", &steps, "--every", &every, "--checkpoint", &file].map(str::to_string)
    };
    let problem = |file| -> Vec<String> {
        bodies.iter().map(|word| word.to_string()).chain(length(file)).collect()
    };
    let words = problem(&state);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let restart = ["--max-restarts", "1000", "--restart-wait", "300"];
    let command = on_hosts(&hosts, &restart, &words);
    tell(&format!("{steps} steps of 5000 bodies on 2 hosts"));
    let begin = Instant::now();
    let (strikes, outcome) = std::thread::scope(|scope| {
        let job = scope.spawn(|| process::run(command, &marker, limit));
        let strikes = disturb(&hosts, &mut Random::new(seed), || job.is_finished());
        (strikes, job.join().expect("no panic").expect("it could be started"))
    });
    let took = begin.elapsed();
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    let begin = Instant::now();
    let words = problem(&whole);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    run_within(app(2, "treecode", &words).expect("built"), limit);
    let undisturbed = begin.elapsed();
    let same = std::fs::read(&state).expect("a checkpoint") == std::fs::read(&whole).expect("one");
    tell(&report(&strikes, &outcome.output, took, undisturbed, same));
    assert!(same, "other bits");
    assert!(!strikes.is_empty(), "it ended before it was disturbed");
}

/// The end of the long run, in lines for people.
fn report(
    strikes: &[Strike],
    output: &str,
    took: Duration,
    undisturbed: Duration,
    same: bool,
) -> String {
    let kills = strikes.iter().filter(|strike| strike.what.contains("killed")).count();
    let restarts = output.matches("starting the job again").count();
    let last = strikes.last().map_or(0.0, |strike| strike.at.as_secs_f64());
    format!(
        "disturbed: {:.0} s, {kills} ranks killed, {} cables pulled (the last after {last:.0} s), {restarts} restarts\n    \
         undisturbed on one host: {:.0} s\n    the last checkpoints are {}",
        took.as_secs_f64(),
        strikes.len() - kills,
        undisturbed.as_secs_f64(),
        if same { "the same to the bit" } else { "DIFFERENT" },
    )
}
