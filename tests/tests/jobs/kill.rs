//! `kill -9` at random moments: the job ends soon, says why, and leaves nothing.

use std::path::Path;
use std::time::Duration;

use crate::common::{folder, program, tell};
use crate::kill::job::Job;
use crate::random::{Random, seed};
use crate::{sam, shmem};

pub mod folders;
pub mod job;

/// How long the launcher may take to end after a kill. Without load it takes milliseconds.
const SOON: Duration = Duration::from_secs(60);

const RANKS: u32 = 4;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victims {
    Rank,
    TwoRanks,
    Launcher,
    LauncherAndRank,
    LauncherAndGuardian,
}

impl Victims {
    fn of_turn(turn: u32) -> Victims {
        match turn % 8 {
            0 | 4 => Victims::Rank,
            1 | 5 => Victims::Launcher,
            2 | 6 => Victims::TwoRanks,
            3 => Victims::LauncherAndRank,
            _ => Victims::LauncherAndGuardian,
        }
    }

    /// The launcher's code is that of its own death then, and it says nothing more.
    fn have_launcher(self) -> bool {
        !matches!(self, Victims::Rank | Victims::TwoRanks)
    }
}

/// Runs `storm MODE` `times` times with changing victims and moments.
fn kills(mode: &str, times: u32) {
    kills_of(&program("storm"), mode, times);
}

/// The same with another program, which says when it is ready.
fn kills_of(program: &Path, mode: &str, times: u32) {
    let seed = seed();
    tell(&format!("{mode}: HPVM_TEST_SEED={seed}"));
    let mut random = Random::new(seed);
    let mut longest = Duration::ZERO;
    for turn in 0..times {
        let victims = Victims::of_turn(turn);
        match one(program, mode, victims, &mut random) {
            Ok(took) => longest = longest.max(took),
            Err(fault) => {
                panic!("{mode}, {victims:?}, turn {turn}, HPVM_TEST_SEED={seed}: {fault}")
            }
        }
    }
    tell(&format!("{mode}: {times} kills, the slowest job ended after {longest:?}"));
}

/// One job and its end; how long that end took.
fn one(
    program: &Path,
    mode: &str,
    victims: Victims,
    random: &mut Random,
) -> Result<Duration, String> {
    let mut job = Job::start(RANKS, program, &[mode])?;
    let first = random.below(u64::from(RANKS)) as u32;
    let second = (first + 1 + random.below(u64::from(RANKS) - 1) as u32) % RANKS;
    let ranks: &[u32] = match victims {
        Victims::Rank | Victims::LauncherAndRank => &[first],
        Victims::TwoRanks => &[first, second],
        Victims::Launcher | Victims::LauncherAndGuardian => &[],
    };
    if mode != "init" {
        job.wait_for_output("ready")?;
    }
    job.wait_for_ranks(if ranks.is_empty() { &[0] } else { ranks })?;
    if mode == "init" {
        // Some 10 ms after its process has appeared, MPI_Init is over.
        std::thread::sleep(Duration::from_micros(random.below(12_000)));
    } else {
        job.look();
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
    }
    if victims == Victims::LauncherAndGuardian {
        job.kill_guardian()?;
    }
    if victims.have_launcher() {
        job.kill_launcher();
    }
    ranks.iter().for_each(|rank| job.kill_rank(*rank));
    let (code, took, output) = job.end(SOON)?;
    if code != 128 + libc::SIGKILL {
        return Err(format!("exit code {code} instead of 137; output:\n{output}"));
    }
    if !victims.have_launcher() {
        names_the_cause(ranks, &output)?;
    }
    Ok(took)
}

/// The launcher's message names a killed rank and the signal, once.
fn names_the_cause(ranks: &[u32], output: &str) -> Result<(), String> {
    let lines: Vec<_> = output.lines().filter(|line| *line != "ready").collect();
    let named = |line: &str| {
        line.contains("SIGKILL") && ranks.iter().any(|rank| line.contains(&format!("rank {rank} ")))
    };
    match lines[..] {
        [line] if named(line) => Ok(()),
        _ => Err(format!("one line that names rank {ranks:?} and SIGKILL expected:\n{output}")),
    }
}

#[test]
fn killed_in_init() {
    kills("init", 12);
}

#[test]
fn killed_in_openshmem() {
    if let Some(oshcc) = shmem::oshcc() {
        kills_of(&shmem::built(&oshcc, "tests/shmem/storm.c"), "shmem", 8);
    }
}

/// Processes that communicate and wait in `bsp_sync`.
#[test]
fn killed_in_supersteps() {
    kills_of(&program("bsp_storm"), "sync", 8);
}

/// Process 0 between two supersteps, the others in the `bsp_sync` that process 0 does not enter.
#[test]
fn killed_between_supersteps() {
    let storm = program("bsp_storm");
    for turn in 0..4 {
        let mut job = Job::start(RANKS, &storm, &["between"]).expect("starts");
        job.wait_for_output("ready").expect("supersteps");
        job.wait_for_ranks(&[0, 1]).expect("ranks");
        job.look();
        let victim = turn % 2;
        job.kill_rank(victim);
        let (code, _, output) = job.end(SOON).expect("ends and leaves nothing");
        assert_eq!(code, 128 + libc::SIGKILL, "turn {turn}: {output}");
        names_the_cause(&[victim], &output).expect("the cause");
    }
}

#[test]
fn killed_among_shared_objects() {
    if let Some(samcc) = sam::samcc() {
        kills_of(&sam::built(&samcc, "storm"), "sam", 8);
    }
}

#[test]
fn killed_in_a_flood_of_small_messages() {
    kills("flood", 8);
}

#[test]
fn killed_in_large_transfers() {
    kills("big", 8);
}

#[test]
fn killed_while_memory_is_lent() {
    kills("lent", 8);
}

#[test]
fn killed_in_collectives() {
    kills("coll", 8);
}

#[test]
fn a_job_survives_its_guardian() {
    let go_on = folder("guardian").join("go on");
    let path = go_on.to_str().expect("a path of plain characters");
    let mut job = Job::start(2, &program("idle"), &["recv", path]).expect("starts");
    job.wait_for_ranks(&[0, 1]).expect("ranks");
    let guardian = job.kill_guardian().expect("a guardian");
    job.wait_until_gone(guardian).expect("its end");
    std::fs::write(&go_on, "").expect("a file");
    let (code, _, output) = job.end(SOON).expect("ends");
    assert!(code == 0 && output.starts_with("wait "), "code {code}:\n{output}");
}

/// The same checks find nothing after a job that ends in order, and something when there is
/// something to find.
#[test]
fn the_checks_can_fail() {
    let clean = Job::start(2, &program("many"), &["ring"]).expect("starts");
    assert_eq!(clean.end(SOON).map(|(code, ..)| code), Ok(0));
    if !folders::allowed() {
        hpvm_tests::skip::skipped("what a job litters cannot be kept apart here");
        return;
    }
    let shell = std::path::Path::new("/bin/sh");
    let litter = "touch /tmp/hpvm-litter-$PPID /dev/shm/hpvm-litter-$PPID";
    let messy = Job::start(1, shell, &["-c", litter]).expect("starts");
    let fault = messy.end(SOON).expect_err("two files were left");
    assert!(
        fault.contains("/tmp/hpvm-litter") && fault.contains("/dev/shm/hpvm-litter"),
        "{fault}"
    );
}
