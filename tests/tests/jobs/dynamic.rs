//! Jobs that spawn and meet others: who ends with whom, and that nothing is left behind, whoever is killed and when.

use std::time::Duration;

use crate::common::{PATIENCE, clean, number, prefix, program, run_within, tell, workspace};
use crate::kill::job::Job;
use crate::random::{Random, seed};
use hpvm_tests::skip::skipped;

/// How long a job may take to end after a kill. Without load it takes milliseconds.
const SOON: Duration = Duration::from_secs(60);
/// How long a job may take that ends by itself.
const ITSELF: Duration = PATIENCE;

fn start(ranks: u32, arguments: &[&str]) -> Job {
    Job::start(ranks, &program("dynamic"), arguments).expect("starts")
}

/// The end of a job that ends by itself.
fn end(job: Job) -> (i32, String) {
    let (code, _, output) = job.end(ITSELF).expect("ends and leaves nothing");
    (code, output)
}

/// Children of different parents are members of one communicator, made by those.
#[test]
fn jobs_that_do_not_know_each_other_are_introduced() {
    let job = Job::start(2, &program("introduced"), &[]).expect("starts");
    let (code, output) = end(job);
    assert_eq!((code, &*output), (0, "introduced: well\n"));
}

#[test]
fn the_failure_of_spawned_processes_is_that_of_their_parents() {
    for (mode, code, cause) in [
        ("abort", 7, "MPI_Abort with code 7"),
        ("abort-0", 1, "MPI_Abort with code 0"),
        ("busy", 137, "SIGKILL"),
    ] {
        let (found, output) = end(start(2, &[mode]));
        assert_eq!(found, code, "{mode}:\n{output}");
        let lines: Vec<&str> = output.lines().filter(|line| *line != "ready").collect();
        let [line] = lines[..] else { panic!("{mode}: one line expected:\n{output}") };
        assert!(
            line.contains("rank 0 ") && line.contains("spawned") && line.contains(cause),
            "{line}"
        );
    }
}

#[test]
fn after_disconnecting_either_side_ends_without_the_other() {
    let (code, output) = end(start(2, &["apart-fails"]));
    assert_eq!((code, output.matches("a parent is still here").count()), (0, 2), "{output}");
    assert!(output.contains("exited with code 3"), "{output}");
    let (code, output) = end(start(2, &["apart-ends"]));
    assert_eq!((code, output.matches("a child is still here").count()), (0, 2), "{output}");
}

/// Kills one or two processes of a job that has spawned another, of all that there are: ranks, launchers and
/// guardians of both.
fn kills(mode: &str, ready: Option<&str>, times: u32) {
    let seed = seed();
    tell(&format!("dynamic {mode}: HPVM_TEST_SEED={seed}"));
    let mut random = Random::new(seed);
    for turn in 0..times {
        let mut job = start(2, &[mode]);
        let fault = format!("{mode}, turn {turn}, HPVM_TEST_SEED={seed}");
        let met = match ready {
            Some(text) => job.wait_for_output(text),
            None => job.wait_for_ranks(&[0, 1]),
        };
        met.expect(&fault);
        // While the children are started, or are at work.
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        job.look();
        for _ in 0..1 + turn % 2 {
            let alive = job.processes();
            let victim = random.below(alive.len().max(1) as u64) as usize;
            alive.get(victim).into_iter().for_each(|pid| job.kill_process(*pid));
        }
        // Of a guardian alone nobody notices anything.
        job.kill_launcher();
        let (code, _, output) = job.end(SOON).expect(&fault);
        assert_ne!(code, 0, "{fault}:\n{output}");
    }
}

#[test]
fn killed_while_spawning() {
    kills("hang", None, 8);
}

#[test]
fn killed_while_parents_and_children_communicate() {
    kills("storm", Some("ready"), 6);
}

#[test]
fn a_killed_rank_ends_parents_and_children() {
    for turn in 0..6 {
        let mut job = start(2, &["storm"]);
        job.wait_for_output("ready").expect("ready");
        job.wait_for_ranks(&[0, 1]).expect("ranks");
        job.look();
        let victims: Vec<i32> = job.ranks();
        assert_eq!(victims.len(), 4, "parents and children");
        job.kill_process(victims[turn % 4]);
        let (code, _, output) = job.end(SOON).expect("ends and leaves nothing");
        assert_eq!(code, 137, "{output}");
        assert!(output.contains("SIGKILL"), "{output}");
    }
}

#[test]
fn jobs_that_have_met_end_together_until_they_part() {
    let name = format!("jobs {} {}", std::process::id(), number());
    let mut first = start(2, &["meet", &name]);
    first.wait_for_output("published").expect("published");
    let mut second = start(3, &["join", &name]);
    for job in [&mut first, &mut second] {
        job.wait_for_output("ready").expect("ready");
    }
    second.wait_for_ranks(&[1]).expect("a rank");
    second.kill_rank(1);
    let (code, output) = end(second);
    assert_eq!(code, 137, "{output}");
    let (code, output) = end(first);
    assert!(code != 0 && output.contains("connected"), "code {code}:\n{output}");

    let mut first = start(2, &["part", &name]);
    first.wait_for_output("published").expect("the name is free again");
    let second = start(1, &["leave", &name]);
    let (code, output) = end(second);
    assert_eq!(code, 3, "{output}");
    let (code, output) = end(first);
    assert_eq!(code, 0, "{output}");
}

#[test]
fn a_failure_while_three_jobs_part_ends_all_of_them() {
    for _ in 0..3 {
        let job = Job::start(2, &program("linked"), &[]).expect("starts");
        let (code, output) = end(job);
        assert!(code != 0 && output.contains("SIGKILL"), "{code}: {output}");
    }
}

/// Processes that MPICH's launcher has started spawn others by ours, and publish names by its process manager.
#[test]
fn processes_of_another_launcher_spawn_and_publish_names() {
    let peers = std::env::var_os("HPVM_PEERS").map(std::path::PathBuf::from);
    let mpich = peers.unwrap_or_else(|| workspace().join("peers")).join("mpich");
    if !mpich.join("bin/mpiexec").exists() {
        return skipped(&format!("no MPICH in {}", mpich.display()));
    }
    let name = format!("names of {}", std::process::id());
    for (arguments, code, lines) in [
        (&["ring"][..], 0, ["done, 4 on "; 4].as_slice()),
        (&["names", &name], 0, &["names: well"; 2]),
        (&["apart-fails"], 0, &["a parent is still here"; 2]),
        (&["abort"], 7, &["called MPI_Abort with code 7"]),
    ] {
        let mut job = clean(mpich.join("bin/mpiexec"));
        job.args(["-n", "2"]).arg(program("dynamic")).args(arguments);
        job.env("LD_LIBRARY_PATH", prefix().join("lib")).env_remove("HPVM_JOB_ID");
        let outcome = run_within(job, ITSELF);
        assert_eq!(outcome.code, Some(code), "{arguments:?}: {}", outcome.output);
        let found = outcome.output.matches(lines[0]).count();
        assert_eq!(found, lines.len(), "{arguments:?}: {}", outcome.output);
    }
}
