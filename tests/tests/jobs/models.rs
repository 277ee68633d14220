//! OpenSHMEM, ARMCI and BSPlib on several hosts: when a cable is out for some time, when it stays out, and in Slurm.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Barrier, OnceLock};
use std::time::Duration;

use hpvm_tests::hosts::Hosts;
use hpvm_tests::process::end_with_this_thread;
use hpvm_tests::slurm::Cluster;

use crate::common::{folder, prefix, sources, succeed};

/// The name that rounds.c knows, the compiler, and what it needs.
const MODELS: [(&str, &str, &[&str]); 3] =
    [("SHMEM", "oshcc", &[]), ("ARMCI", "mpicc", &["-larmci"]), ("BSP", "bspcc", &[])];

/// rounds.c of each model.
fn programs() -> &'static [(&'static str, PathBuf)] {
    static PROGRAMS: OnceLock<Vec<(&str, PathBuf)>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = folder("rounds");
        let build = |(name, compiler, libraries): (&'static str, &str, &[&str])| {
            let program = folder.join(name);
            let mut command = Command::new(prefix().join("bin").join(compiler));
            command.args(["-O1", "-std=gnu11", &format!("-D{name}"), "-o"]).arg(&program);
            command.arg(sources().join("models/rounds.c")).args(libraries);
            succeed(command);
            (name, program)
        };
        MODELS.map(build).into()
    })
}

/// Starts the job of one program on two hosts.
fn start(hosts: &Hosts, program: &PathBuf, options: &[&str]) -> Child {
    let list = [1, 2].map(|host| format!("{}:2", hosts.name(host))).join(",");
    let mut command = hosts.command(1, "timeout");
    // Seconds that only a hang takes.
    command.arg("240").arg(prefix().join("bin/mpirun"));
    command.args(["-H", &list, "-n", "4"]).args(options).arg("--launch-agent").arg(Hosts::agent());
    command.arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    end_with_this_thread(&mut command);
    command.spawn().expect("mpirun")
}

/// At half of its rounds it meets `cable` twice, then lets the program go on. Its success, and what it has written.
/// Nothing fails before it has met `cable`, for which others wait.
fn follow(mut job: Child, cable: &Barrier) -> (bool, String) {
    let mut output = BufReader::new(job.stdout.take().expect("its output"));
    let mut said = String::new();
    let read = output.read_line(&mut said);
    cable.wait();
    cable.wait();
    read.expect("a line");
    assert_eq!(said, "half\n");
    let mut input = job.stdin.take().expect("its input");
    input.write_all(b"go on\n").expect("a word to the program");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("its output");
    job.stderr.take().expect("its errors").read_to_string(&mut rest).expect("its errors");
    (job.wait().expect("its end").success(), rest)
}

/// The jobs of all models at once; the cable of the second host is out from half of their rounds on, for `time` or longer.
fn with_a_cable_out(options: &[&str], time: Option<Duration>, check: fn(&Hosts, bool, &str)) {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let cable = Barrier::new(MODELS.len() + 1);
    std::thread::scope(|scope| {
        let start =
            |(name, program): &(&'static str, PathBuf)| (*name, start(&hosts, program, options));
        let jobs: Vec<(&str, Child)> = programs().iter().map(start).collect();
        for (name, job) in jobs {
            let (hosts, cable) = (&hosts, &cable);
            scope.spawn(move || {
                let (success, text) = follow(job, cable);
                check(hosts, success, &format!("{name}: {text}"));
            });
        }
        cable.wait();
        hosts.link(2, "net0", false);
        cable.wait();
        if let Some(time) = time {
            std::thread::sleep(time);
            hosts.link(2, "net0", true);
        }
    });
}

#[test]
fn a_cable_that_is_out_for_some_time_only_delays() {
    with_a_cable_out(&[], Some(Duration::from_secs(2)), |_, success, text| {
        assert!(success && text.ends_with(": process 0 of 4: 0 errors\n"), "{text}");
    });
}

#[test]
fn a_cable_that_stays_out_ends_the_job_with_the_names_of_both_hosts() {
    with_a_cable_out(&["--net-timeout", "8"], None, |hosts, success, text| {
        let named = text.contains(&hosts.name(1)) && text.contains(&hosts.name(2));
        assert!(!success && named && text.contains("does not answer host"), "{text}");
    });
}

/// Each program as a step of Slurm.
pub fn in_slurm(cluster: &Cluster) {
    for (name, program) in programs() {
        let program = program.to_string_lossy();
        // One word of input is all that the program wants.
        let job = format!("echo | srun --mpi=pmi2 -N2 -n4 {program}");
        let text = succeed(cluster.command(&["sh", "-c", &job]));
        assert_eq!(text, "half\nprocess 0 of 4: 0 errors\n", "{name}");
    }
}
