//! The one-sided models and shared objects under what happens to jobs: on two and four hosts, more processes than
//! processors, a target that computes, a process that is killed, a cable that is out for some time or for ever, Slurm.
//! PVM, whose tasks outlive each other, has its own in pvm_hosts.rs.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use hpvm_tests::hosts::Hosts;
use hpvm_tests::process::end_with_this_thread;
use hpvm_tests::slurm::Cluster;

use crate::common::{PATIENCE, clean, folder, prefix, run_within, sources, succeed};
use crate::kill::folders::Folders;

/// A model: how rounds.c is compiled for it, and what it has.
struct Model {
    /// The name that rounds.c knows.
    name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
    /// What others may wait for when a process is killed.
    waits: &'static [&'static str],
    /// Settings under which its operations go other ways than by loads and stores.
    ways: &'static [&'static str],
    /// Whether operations end before their target's next call.
    one_sided: bool,
}

const ONE_SIDED: &[&str] = &["HPVM_ONESIDED=kernel", "HPVM_ONESIDED=messages"];

const MODELS: [Model; 5] = [
    Model {
        name: "SHMEM",
        compiler: "oshcc",
        flags: &[],
        waits: &["barrier", "lock", "transfer"],
        ways: ONE_SIDED,
        one_sided: true,
    },
    Model {
        name: "ARMCI",
        compiler: "mpicc",
        flags: &["-larmci"],
        waits: &["barrier", "lock", "transfer"],
        ways: ONE_SIDED,
        one_sided: true,
    },
    Model {
        name: "BSP",
        compiler: "bspcc",
        flags: &[],
        waits: &["barrier"],
        ways: &["HPVM_SINGLE_COPY=no"],
        one_sided: false,
    },
    Model {
        name: "PORTALS",
        compiler: "mpicc",
        flags: &["-pthread", "-lportals"],
        waits: &["barrier", "transfer"],
        ways: &["HPVM_SINGLE_COPY=no"],
        one_sided: true,
    },
    // A rank that computes asks for progress now and then.
    Model {
        name: "SAM",
        compiler: "samcc",
        flags: &[],
        waits: &["barrier", "lock", "transfer"],
        ways: &["HPVM_SINGLE_COPY=no"],
        one_sided: true,
    },
];

/// rounds.c of each model.
fn programs() -> &'static [(&'static Model, PathBuf)] {
    static PROGRAMS: OnceLock<Vec<(&Model, PathBuf)>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = folder("rounds");
        let build = |model: &'static Model| {
            let program = folder.join(model.name);
            let mut command = Command::new(prefix().join("bin").join(model.compiler));
            command.args(["-O1", "-std=gnu11", &format!("-D{}", model.name), "-o"]).arg(&program);
            command.arg(sources().join("models/rounds.c")).args(model.flags);
            succeed(command);
            (model, program)
        };
        MODELS.iter().map(build).collect()
    })
}

/// mpirun of so many processes on this host, or, by turns of two, on all of some test hosts.
fn mpirun(hosts: Option<&Hosts>, processes: u32, setting: Option<&str>) -> Command {
    let launcher = prefix().join("bin/mpirun");
    let mut command = match hosts {
        None => clean(launcher),
        Some(hosts) => {
            let mut command = hosts.command(1, launcher);
            let slots = processes.div_ceil(hosts.count());
            let names = (1..=hosts.count()).map(|host| format!("{}:{slots}", hosts.name(host)));
            command.args(["-H", &names.collect::<Vec<_>>().join(",")]);
            command.arg("--launch-agent").arg(Hosts::agent());
            command
        }
    };
    command.args(["-n", &processes.to_string()]);
    command.args(setting.iter().flat_map(|setting| ["-x", setting]));
    command
}

fn right(processes: u32) -> String {
    format!("process 0 of {processes}: 0 errors\n")
}

#[test]
fn sixty_four_processes_on_few_processors() {
    for (model, program) in programs() {
        for setting in [None].into_iter().chain(model.ways.iter().map(|way| Some(*way))) {
            let mut job = mpirun(None, 64, setting);
            job.arg(program).arg("straight");
            assert_eq!(succeed(job), right(64), "{}, {setting:?}", model.name);
        }
    }
}

#[test]
fn four_hosts() {
    let Some(hosts) = Hosts::up(4, &[]) else { return };
    for (model, program) in programs() {
        let mut job = mpirun(Some(&hosts), 8, None);
        job.arg(program).arg("straight");
        assert_eq!(succeed(job), right(8), "{}", model.name);
    }
}

/// Process 0 does not end to compute before all others have done what they do to its memory.
fn a_target_that_computes_delays_nobody(hosts: Option<&Hosts>) {
    for (model, program) in programs().iter().filter(|(model, _)| model.one_sided) {
        let ways = if hosts.is_some() { &[] } else { model.ways };
        for setting in [None].into_iter().chain(ways.iter().map(|way| Some(*way))) {
            let mut job = mpirun(hosts, 4, setting);
            job.arg(program).arg("compute").arg(folder("compute"));
            assert_eq!(succeed(job), right(4), "{}, {setting:?}", model.name);
        }
    }
}

#[test]
fn a_target_that_computes_delays_nobody_on_its_host() {
    a_target_that_computes_delays_nobody(None);
}

#[test]
fn a_target_that_computes_delays_nobody_on_other_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    a_target_that_computes_delays_nobody(Some(&hosts));
}

/// The last process dies; the others wait for it. One line says who it was, and nothing is left anywhere.
fn a_killed_process_ends_the_job(hosts: Option<&Hosts>) {
    for (model, program) in programs() {
        for how in model.waits {
            let ways = if hosts.is_some() { &[] } else { model.ways };
            for setting in [None].into_iter().chain(ways.iter().map(|way| Some(*way))) {
                let case = format!("{}, {how}, {setting:?}", model.name);
                let mut job = mpirun(hosts, 4, setting);
                job.arg(program).arg(how);
                let place = Folders::new(&mut job);
                let outcome = run_within(job, PATIENCE);
                let text = &outcome.output;
                assert_eq!(outcome.code, Some(128 + libc::SIGKILL), "{case}: {text}");
                let host = hosts.map_or(String::new(), |hosts| hosts.name(hosts.count()));
                let named = text.contains("rank 3 (pid ") && text.contains(&format!("on {host}"));
                assert!(named && text.contains("SIGKILL"), "{case}: {text}");
                assert_eq!(text.lines().count(), 1, "{case}: {text}");
                assert_eq!(place.left(), Vec::<String>::new(), "{case}: left behind");
                if let Some(hosts) = hosts {
                    nothing_runs(hosts, &case);
                }
            }
        }
    }
}

/// Waits until no host has a process.
fn nothing_runs(hosts: &Hosts, case: &str) {
    let since = Instant::now();
    for host in 1..=hosts.count() {
        loop {
            let left = hosts.processes(host);
            if left.is_empty() {
                break;
            }
            assert!(since.elapsed() < PATIENCE, "{case}: left on host {host}: {left:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_killed_process_ends_the_job_on_one_host() {
    a_killed_process_ends_the_job(None);
}

#[test]
fn a_killed_process_ends_the_job_on_all_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    a_killed_process_ends_the_job(Some(&hosts));
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
        let start = |(model, program): &(&'static Model, PathBuf)| {
            (model.name, start(&hosts, program, options))
        };
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

#[test]
fn steps_of_slurm() {
    let Some(cluster) = Cluster::up(2, 4) else { return };
    for (model, program) in programs() {
        let program = program.to_string_lossy();
        // One word of input is all that the program wants.
        let job = format!("echo | srun -Q --mpi=pmi2 -N2 -n4 {program}");
        let text = succeed(cluster.command(&["sh", "-c", &job]));
        assert_eq!(text, "half\nprocess 0 of 4: 0 errors\n", "{}", model.name);
    }
    killed_in_slurm(&cluster);
    crate::pvm_hosts::in_slurm(&cluster);
}

/// The last process dies, and the others wait for it: in a step, which Slurm ends where it is told to (`-K`), and under our
/// launcher in an allocation. Nothing is left on any host.
fn killed_in_slurm(cluster: &Cluster) {
    let mpirun = prefix().join("bin/mpirun").to_string_lossy().into_owned();
    let step = &["srun", "--mpi=pmi2", "-K", "-N2", "-n4"][..];
    let job = &["salloc", "-Q", "-N2", "-n4", &mpirun][..];
    for (model, program) in programs() {
        for (how, launcher) in model.waits.iter().flat_map(|how| [(how, step), (how, job)]) {
            let case = format!("{} by {}, {how}", model.name, launcher[0]);
            let before = shared_memory(cluster);
            let program = program.to_string_lossy();
            let words = [launcher, &[&*program, how]].concat();
            let outcome = run_within(cluster.command(&words), PATIENCE);
            let text = &outcome.output;
            // Of a step: that of the task that died, or of one that Slurm has ended.
            let killed = [libc::SIGKILL, libc::SIGTERM].map(|signal| Some(128 + signal));
            assert!(killed.contains(&outcome.code), "{case}: {:?}: {text}", outcome.code);
            let told = if launcher == step { "task 3: Killed" } else { "rank 3 (pid " };
            assert!(text.contains(told), "{case}: {text}");
            assert!(!text.contains("did not wait"), "{case}: {text}");
            nothing_of_the_step_runs(cluster, &program, &case);
            assert_eq!(shared_memory(cluster), before, "{case}: left behind");
        }
    }
}

/// What the folder for files in memory, which each host has for itself, holds on all hosts.
fn shared_memory(cluster: &Cluster) -> Vec<String> {
    // Quiet: it may have to wait for what the step before held.
    let list = cluster.command(&["srun", "-Q", "--mpi=none", "-N2", "-n2", "ls", "-A", "/dev/shm"]);
    let mut files: Vec<_> = succeed(list).lines().map(str::to_owned).collect();
    files.sort_unstable();
    files
}

/// Waits until no process of the program, and nothing that Slurm keeps for a step, is left on any host.
fn nothing_of_the_step_runs(cluster: &Cluster, program: &str, case: &str) {
    let since = Instant::now();
    loop {
        let mut left = cluster.processes();
        left.retain(|line| line.contains(program) || line.contains("slurmstepd"));
        if left.is_empty() {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{case}: left: {left:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
