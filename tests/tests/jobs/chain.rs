//! Four jobs linked in a row, which part in every order; when one of them is killed those end that are still linked with it, and
//! no others.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, number, program, scratch};
use crate::kill::job::Job;

const JOBS: usize = 4;
const RANKS: u32 = 2;
/// How long jobs may take to end by themselves.
const ITSELF: Duration = Duration::from_secs(60);

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
