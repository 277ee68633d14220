//! Four jobs linked in a row, which part in every order; when one of them is killed those end that are still linked with it, and
//! no others.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use hpvm_tests::hosts::Hosts;

use crate::common::{PATIENCE, number, prefix, program, scratch, succeed};
use crate::dynamic_hosts::Running;
use crate::kill::job::Job;

const JOBS: usize = 4;
const RANKS: u32 = 2;
/// How long jobs may take to end by themselves.
const ITSELF: Duration = PATIENCE;

/// What the jobs do: which links part, in which order, and who is killed then.
struct Story {
    how: &'static str,
    order: &'static str,
    victim: Option<usize>,
}

impl Story {
    fn name(&self) -> String {
        let Story { how, order, victim } = self;
        format!("{how}, links {order:?} parted, {victim:?} killed")
    }

    /// The jobs that are linked with the victim when it is killed.
    fn fails(&self) -> Option<RangeInclusive<usize>> {
        let victim = self.victim?;
        let parted = |link: usize| self.order.contains(&link.to_string());
        let first = (0..victim).rev().find(|link| parted(*link)).map_or(0, |link| link + 1);
        let last = (victim..JOBS - 1).find(|link| parted(*link)).unwrap_or(JOBS - 1);
        Some(first..=last)
    }

    fn has_failed(&self, job: usize) -> bool {
        self.fails().is_some_and(|fails| fails.contains(&job))
    }
}

/// All stories: every order of some or all links, and nobody or anybody killed then.
fn stories(how: &'static str) -> impl Iterator<Item = Story> {
    const ORDERS: [&str; 16] = [
        "", "0", "1", "2", "01", "10", "02", "20", "12", "21", "012", "021", "102", "120", "201",
        "210",
    ];
    // Who is killed when everything has parted matters to nobody else, so once is enough.
    let killed = |order: &str| order.len() < 3 || order == "120";
    ORDERS.into_iter().flat_map(move |order| {
        let all = (0..JOBS).filter(move |_| killed(order)).map(Some);
        std::iter::once(None).chain(all).map(move |victim| Story { how, order, victim })
    })
}

/// The folder in which the jobs and this test tell each other how far they are.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let folder = scratch().join(format!("chain {}", number()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    fn tell(&self, what: &str) {
        std::fs::write(self.0.join(what), "").expect("a file");
    }

    fn has(&self, what: &str) -> bool {
        self.0.join(what).exists()
    }

    #[track_caller]
    fn wait_for(&self, what: &str, story: &Story) {
        let end = Instant::now() + PATIENCE;
        while !self.has(what) {
            assert!(Instant::now() < end, "{}: no {what}", story.name());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until all links of the story have parted.
    fn wait_until_parted(&self, story: &Story) {
        (0..JOBS).for_each(|job| self.wait_for(&format!("ready-{job}"), story));
        for link in story.order.chars() {
            let first = link.to_digit(10).expect("a digit");
            self.wait_for(&format!("parted-{link}-{first}"), story);
            self.wait_for(&format!("parted-{link}-{}", first + 1), story);
        }
    }

    fn check(&self, story: &Story, said: &str) {
        for job in 0..JOBS {
            let well = self.has(&format!("well-{job}"));
            assert_eq!(well, !story.has_failed(job), "{}: job {job}: {said}", story.name());
        }
    }
}

fn arguments<'a>(story: &'a Story, folder: &'a Path, job: &'a str) -> [&'a str; 5] {
    [story.how, folder.to_str().expect("a path of text"), job, "4", story.order]
}

/// The jobs of one host, each started on its own: who ends how is seen by its exit code.
fn each_on_its_own(story: &Story) {
    let name = story.name();
    let folder = Folder::new();
    let start = |job: usize| {
        let arguments = arguments(story, &folder.0, ["0", "1", "2", "3"][job]).map(str::to_owned);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Some(Job::start(RANKS, &program("chain"), &words).expect("starts"))
    };
    let mut jobs: Vec<Option<Job>> = (0..JOBS).map(start).collect();
    folder.wait_until_parted(story);
    let mut said = String::new();
    if let Some(victim) = story.victim {
        folder.tell(&format!("kill-{victim}"));
        for job in story.fails().into_iter().flatten() {
            let ended = jobs[job].take().map(|job| job.end(ITSELF));
            let (code, _, output) = ended.expect("not ended yet").expect(&name);
            assert_ne!(code, 0, "{}: job {job}: {output}", story.name());
            said.push_str(&output);
        }
        assert!(said.contains("SIGKILL"), "{}: {said}", story.name());
    }
    folder.tell("end-0");
    for (job, running) in jobs.into_iter().enumerate() {
        let Some(running) = running else { continue };
        let (code, _, output) = running.end(ITSELF).expect(&name);
        assert_eq!(code, 0, "{}: job {job}: {output}", story.name());
    }
    folder.check(story, &said);
}

/// Jobs that have spawned each other: the first one's launcher ends when all have ended, with the code of its own ranks.
fn one_by_the_other(story: &Story) {
    let name = story.name();
    let folder = Folder::new();
    let words = arguments(story, &folder.0, "0");
    let job = Job::start(RANKS, &program("chain"), &words).expect("starts");
    folder.wait_until_parted(story);
    if let Some(fails) = story.fails() {
        folder.tell(&format!("kill-{}", story.victim.unwrap_or(0)));
        let left = RANKS as usize * (JOBS - fails.count());
        let end = Instant::now() + PATIENCE;
        while job.ranks().len() > left {
            assert!(Instant::now() < end, "{}: {} ranks left", story.name(), job.ranks().len());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    folder.tell("end-0");
    let (code, _, output) = job.end(ITSELF).expect(&name);
    assert_eq!(code != 0, story.has_failed(0), "{}: {output}", story.name());
    folder.check(story, &output);
}

#[test]
fn four_jobs_that_have_met_part_in_every_order() {
    stories("ports").for_each(|story| each_on_its_own(&story));
}

#[test]
fn four_jobs_that_have_spawned_each_other_part_in_every_order() {
    stories("spawn").for_each(|story| one_by_the_other(&story));
}

/// Which hosts job `job` has a rank on: two, of which the next job shares one.
fn hosts_of(hosts: &Hosts, job: usize) -> String {
    let name = |number: usize| hosts.name((number % JOBS) as u32 + 1);
    format!("{}:1,{}:1", name(job), name(job + 1))
}

/// Ranks of all jobs, wherever they run.
fn ranks_on(hosts: &Hosts) -> usize {
    let is_rank = |line: &str| line.split(' ').next().is_some_and(|word| word.ends_with("/chain"));
    let on = |host| hosts.processes(host).iter().filter(|(_, line)| is_rank(line)).count();
    (1..=hosts.count()).map(on).sum()
}

#[track_caller]
fn wait_for_ranks(hosts: &Hosts, left: usize, name: &str) {
    let end = Instant::now() + PATIENCE;
    while ranks_on(hosts) > left {
        assert!(Instant::now() < end, "{name}: {} ranks left of {left}", ranks_on(hosts));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Nothing is left on any host.
#[track_caller]
fn nothing_is_left(hosts: &Hosts, name: &str) {
    let end = Instant::now() + PATIENCE;
    loop {
        let left: Vec<_> = (1..=hosts.count()).flat_map(|host| hosts.processes(host)).collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "{name}: left: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start_on(hosts: &Hosts, job: usize, words: &[&str]) -> Running {
    let from = (job % JOBS) as u32 + 1;
    let mut command = hosts.command(from, prefix().join("bin/mpirun"));
    command.args(["-l", "--net-timeout", "20", "-H", &hosts_of(hosts, job), "--launch-agent"]);
    command.arg(Hosts::agent()).arg(program("chain")).args(words).stdin(Stdio::null());
    Running::start(command)
}

/// What happens on hosts of their own: fewer orders, as each start takes longer.
fn stories_on_hosts(how: &'static str) -> impl Iterator<Item = Story> {
    const TOLD: [(&str, Option<usize>); 9] = [
        ("", None),
        ("", Some(0)),
        ("", Some(1)),
        ("", Some(3)),
        ("1", Some(1)),
        ("1", Some(2)),
        ("02", Some(2)),
        ("120", None),
        ("201", Some(1)),
    ];
    TOLD.into_iter().map(move |(order, victim)| Story { how, order, victim })
}

#[test]
fn jobs_on_several_hosts_that_have_spawned_each_other_part_and_die() {
    let Some(hosts) = Hosts::up(JOBS as u32, &[]) else { return };
    let places: Vec<String> = (0..JOBS).map(|job| hosts_of(&hosts, job)).collect();
    for story in stories_on_hosts("spawn") {
        let name = story.name();
        let folder = Folder::new();
        let mut words = arguments(&story, &folder.0, "0").to_vec();
        let places = places.join(";");
        words.push(&places);
        let job = start_on(&hosts, 0, &words);
        folder.wait_until_parted(&story);
        if story.victim.is_none() {
            // Test hosts see each other's processes, so all jobs are seen on each.
            let mut command = hosts.command(1, prefix().join("bin/hpvm"));
            command.args(["jobs", "--json"]);
            let seen = succeed(command);
            let own = seen.split("{\"job\":").filter(|job| job.contains(hosts.prefix()));
            let whole = own.filter(|job| job.contains("\"ranks\":2"));
            assert_eq!(whole.count(), JOBS, "{name}: {seen}");
        }
        if let Some(fails) = story.fails() {
            folder.tell(&format!("kill-{}", story.victim.unwrap_or(0)));
            wait_for_ranks(&hosts, RANKS as usize * (JOBS - fails.count()), &name);
        }
        folder.tell("end-0");
        let (code, output) = job.end();
        assert_eq!(code != Some(0), story.has_failed(0), "{name}: {code:?} {output}");
        for job in 0..JOBS {
            assert!(output.contains(&format!("job {job} is ready")), "{name}: {output}");
        }
        folder.check(&story, &output);
        nothing_is_left(&hosts, &name);
    }
}

#[test]
fn jobs_on_several_hosts_that_have_met_part_and_die() {
    let Some(hosts) = Hosts::up(JOBS as u32, &[]) else { return };
    for story in stories_on_hosts("ports") {
        let name = story.name();
        let folder = Folder::new();
        let start = |job: usize| {
            Some(start_on(&hosts, job, &arguments(&story, &folder.0, ["0", "1", "2", "3"][job])))
        };
        let mut jobs: Vec<Option<Running>> = (0..JOBS).map(start).collect();
        folder.wait_until_parted(&story);
        let mut said = String::new();
        if let Some(victim) = story.victim {
            folder.tell(&format!("kill-{victim}"));
            for job in story.fails().into_iter().flatten() {
                let (code, output) = jobs[job].take().expect("not ended yet").end();
                assert_ne!(code, Some(0), "{name}: job {job}: {output}");
                said.push_str(&output);
            }
            assert!(said.contains("SIGKILL"), "{name}: {said}");
        }
        folder.tell("end-0");
        for (job, running) in jobs.into_iter().enumerate() {
            let Some(running) = running else { continue };
            let (code, output) = running.end();
            assert_eq!(code, Some(0), "{name}: job {job}: {output}");
        }
        folder.check(&story, &said);
        nothing_is_left(&hosts, &name);
    }
}
