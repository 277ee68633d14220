//! Jobs that hang, and what `hpvm jobs` says about them.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, clean, mpirun, prefix};

/// A job that hangs, which ends with this value.
struct Stuck {
    launcher: Child,
}

impl Stuck {
    fn start(way: &str, ranks: u32) -> Stuck {
        let mut command = mpirun(ranks, "stuck", &[way]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Stuck { launcher: command.spawn().expect("the launcher starts") }
    }

    fn jobs(&self, flags: &[&str]) -> String {
        let pid = self.launcher.id().to_string();
        let (code, out, err) = hpvm(&[&["jobs", &pid], flags].concat());
        if code == Some(0) { out } else { format!("code {code:?}: {err}") }
    }

    /// What the command says once that holds every one of `words`.
    #[track_caller]
    fn until(&self, words: &[&str]) -> String {
        says(words, || self.jobs(&[]))
    }
}

/// What is said once that holds every one of `words`.
#[track_caller]
fn says(words: &[&str], mut ask: impl FnMut() -> String) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let text = ask();
        let missing = words.iter().find(|word| !text.contains(**word));
        let Some(missing) = missing else { return text };
        assert!(Instant::now() < end, "{missing:?} is missing in:\n{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        // The launcher ends its ranks before it ends.
        let pid = self.launcher.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.launcher.wait();
    }
}

/// Exit code, standard output and standard error of `hpvm ARGUMENTS`.
fn hpvm(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = clean(prefix().join("bin/hpvm")).args(arguments).output().expect("hpvm starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const DEADLOCK: &str = "=> no rank can go on: this looks like a deadlock";

#[test]
fn receives_in_a_circle() {
    let job = Stuck::start("recv", 3);
    let mut text = job.until(&[
        DEADLOCK,
        "receive from rank 1, tag 5, up to 4 bytes, on MPI_COMM_WORLD",
        "=> rank 0 waits for a message from rank 1 with tag 5 on MPI_COMM_WORLD",
        "=> rank 2 waits for a message from rank 0 with tag 5 on MPI_COMM_WORLD",
    ]);
    // Whoever waits wakes up now and then.
    let end = Instant::now() + PATIENCE;
    while text.matches("sleeping for").count() != 3 {
        assert!(Instant::now() < end, "{text}");
        text = job.jobs(&[]);
    }
}

#[test]
fn sends_in_a_circle() {
    let job = Stuck::start("ssend", 2);
    job.until(&[
        DEADLOCK,
        "    synchronous send to rank 1, tag 6, 4 bytes, on MPI_COMM_WORLD",
        "    not received yet: message from rank 1, tag 6, 4 bytes, on MPI_COMM_WORLD",
        "=> rank 0 waits until rank 1 receives its message of 4 bytes with tag 6",
    ]);
    let job = Stuck::start("large", 2);
    job.until(&[DEADLOCK, "    send to rank 0, tag 7, 1048576 bytes, on MPI_COMM_WORLD"]);
}

#[test]
fn a_wrong_tag() {
    let job = Stuck::start("tag", 2);
    job.until(&[
        DEADLOCK,
        "=> rank 1 waits for tag 5 from rank 0, and has a message from rank 0 with tag 4 that",
    ]);
}

#[test]
fn collectives_that_do_not_meet() {
    let job = Stuck::start("collectives", 3);
    job.until(&[
        DEADLOCK,
        "    MPI_Gather on MPI_COMM_WORLD",
        "        waits there for rank 2",
        "=> rank 0 is in MPI_Gather, rank 1 in MPI_Bcast, both on MPI_COMM_WORLD",
    ]);
    let job = Stuck::start("barrier", 2);
    job.until(&[
        DEADLOCK,
        "=> rank 0 waits in MPI_Barrier on MPI_COMM_WORLD for rank 1",
        "=> rank 1 waits for a message from rank 0 with tag 9 on MPI_COMM_WORLD",
    ]);
}

#[test]
fn synchronisation_of_windows_that_does_not_meet() {
    let job = Stuck::start("epoch", 3);
    job.until(&[
        DEADLOCK,
        "    MPI_Win_wait on shared counters\n        waits there for rank 2\n",
        "    MPI_Win_lock on shared counters\n",
        "    MPI_Barrier on MPI_COMM_WORLD\n",
    ]);
}

#[test]
fn any_source_on_a_named_communicator() {
    let job = Stuck::start("named", 3);
    job.until(&[
        DEADLOCK,
        "    receive from any rank, any tag, up to 80 bytes, on halo exchange",
        "    receive from rank 2 (rank 0 of the job), tag 3, up to 80 bytes, on halo exchange",
    ]);
}

#[test]
fn probes_and_several_receives() {
    let job = Stuck::start("probe", 2);
    job.until(&[DEADLOCK, "    probe for a message from rank 1, tag 8, on MPI_COMM_WORLD"]);
    let job = Stuck::start("several", 3);
    job.until(&[
        DEADLOCK,
        "    receive from rank 1, tag 1, up to 4 bytes",
        "    receive from rank 2, tag 2, up to 4 bytes",
    ]);
}

#[test]
fn a_peer_that_has_finalized() {
    let job = Stuck::start("ended", 2);
    job.until(&["rank 0, process", "but rank 1 has called MPI_Finalize"]);
}

#[test]
fn a_rank_that_computes_is_no_deadlock() {
    let job = Stuck::start("computes", 3);
    let text = job.until(&["receive from rank 2, tag 5", ": running"]);
    assert!(!text.contains("=>"), "{text}");
}

#[test]
fn other_threads_may_help() {
    let job = Stuck::start("threads", 2);
    let text =
        job.until(&["=> all ranks wait; unless another thread", "receive from rank 0, tag 5"]);
    assert!(!text.contains("deadlock"), "{text}");
}

#[test]
fn for_programs_and_in_the_list() {
    let job = Stuck::start("recv", 2);
    job.until(&[DEADLOCK]);
    // Whoever waits wakes up now and then, so that each is asked for until it is said.
    let words = [
        r#""stuck":true"#,
        r#""kind":"receive""#,
        r#""tag":5"#,
        r#""communicator":"MPI_COMM_WORLD""#,
        r#""state":"sleeping""#,
        r#""sleeps":"#,
    ];
    says(&words, || job.jobs(&["--json"]));
    let pid = job.launcher.id().to_string();
    // Our line of the list: name, process, ranks, state.
    let line = || {
        let (code, list, _) = hpvm(&["jobs"]);
        assert_eq!(code, Some(0), "{list}");
        let line = list.lines().find(|line| line.split_whitespace().nth(1) == Some(&pid));
        line.unwrap_or_else(|| panic!("no line of {pid} in:\n{list}")).to_owned()
    };
    let state = |line: &str| line.split_whitespace().skip(2).take(2).collect::<Vec<_>>().join(" ");
    says(&["2 stuck"], || state(&line()));
    let line = line();
    assert!(line.ends_with("stuck recv"), "{line}");
    let name = line.split_whitespace().next().expect("a name");
    says(&[DEADLOCK], || hpvm(&["jobs", name]).1);
}

#[test]
fn what_is_no_job_is_refused() {
    let own = std::process::id().to_string();
    for (word, cause) in
        [("no-such-job", "'no-such-job'"), ("2000000000", "no process"), (&own, "no job")]
    {
        let (code, out, err) = hpvm(&["jobs", word]);
        assert_eq!((code, &*out), (Some(1), ""), "{word}: {err}");
        assert!(err.starts_with("hpvm: jobs: ") && err.contains(cause), "{word}: {err}");
    }
}
