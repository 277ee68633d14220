//! Flags of other MPIs do what they say: output to files, input for several ranks, placement, ends.

mod common;

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use common::*;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("folder");
    let path = dir.path().canonicalize().expect("path");
    (dir, path)
}

const BOTH: &str = "echo out $PMI_RANK; echo err $PMI_RANK >&2";

#[test]
fn output_to_files_and_to_the_terminal() {
    let (_dir, place) = folder();
    let name = place.join("deep/x").to_str().unwrap().to_string();
    let read = |file: &str| std::fs::read_to_string(place.join("deep").join(file)).expect(file);
    let ended = bash(&["-n", "11", "--output-filename", &name], BOTH).run();
    assert_eq!((ended.code, ended.out.lines().count(), ended.err.lines().count()), (0, 11, 11));
    assert_eq!((read("x.07"), read("x.10.err")), ("out 7\n".to_string(), "err 10\n".to_string()));
    let ended = bash(&["-n", "2", "--output", &format!("dir={name}:nocopy")], BOTH).run();
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", ""));
    assert_eq!(read("x/1/rank.1/stderr"), "err 1\n");
}

#[test]
fn patterns_name_files_and_stand_in_front_of_lines() {
    let (_dir, place) = folder();
    let name = format!("{}/o.%r", place.display());
    let ended =
        bash(&["-n", "2", "-outfile-pattern", &name, "-prepend-pattern", "<%r>"], BOTH).run();
    assert_eq!((ended.out.as_str(), sorted(&ended.err)), ("", vec!["<0>err 0", "<1>err 1"]));
    assert_eq!(std::fs::read_to_string(place.join("o.1")).unwrap(), "out 1\n");
    let one = format!("{}/all", place.display());
    bash(&["-n", "3", "-outfile-pattern", &one], BOTH).run();
    assert_eq!(std::fs::read_to_string(one).unwrap().lines().count(), 3);
    let ended = bash(&["-outfile-pattern", "/dev/full"], BOTH).run();
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("cannot write to '/dev/full': No space left"), "{ended:?}");
    let ended = bash(&["-outfile-pattern", "/proc/no/such"], BOTH).run();
    assert!(ended.err.contains("cannot write to '/proc/no/such'"), "{ended:?}");
}

#[test]
fn errors_go_where_output_goes() {
    let ended = bash(&["-n", "2", "--merge-stderr-to-stdout", "-l"], BOTH).run();
    let lines = ["[0] err 0", "[0] out 0", "[1] err 1", "[1] out 1"];
    assert_eq!((sorted(&ended.out), ended.err.as_str()), (lines.to_vec(), ""));
}

#[test]
fn input_for_whom_it_is() {
    let input = "x".repeat(300_000);
    for (flags, counts) in [
        (&["-s", "all"][..], [300_000; 3]),
        (&["--stdin", "2"], [0, 0, 300_000]),
        (&["-s", "0,2"], [300_000, 0, 300_000]),
        (&["--stdin", "none"], [0; 3]),
    ] {
        // The second one that reads does so only after a while.
        let script = "[ $PMI_RANK = 0 ] || sleep 0.2; n=$(wc -c); echo $PMI_RANK $((n))";
        let mut job = bash(&[&["-n", "3"], flags].concat(), script);
        job.command.stdin(Stdio::piped());
        let mut child = job.start();
        // Whom nobody reads cannot be written.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let ended = wait(child);
        let expected: Vec<String> =
            counts.iter().enumerate().map(|(rank, count)| format!("{rank} {count}")).collect();
        assert_eq!(sorted(&ended.out), expected, "{flags:?} {ended:?}");
        job.check_gone();
    }
    // A rank that does not read holds nobody up.
    let mut job = bash(&["-n", "2", "--stdin", "all"], "[ $PMI_RANK = 1 ] && exit; wc -c");
    job.command.stdin(Stdio::piped());
    let mut child = job.start();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert_eq!(wait(child).out, "300000\n");
}

#[test]
fn variables_under_the_names_of_others() {
    let script = "echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK \
                  $MV2_COMM_WORLD_LOCAL_SIZE $OMPI_UNIVERSE_SIZE $PMI_LOCAL_RANK ${SLURM_PROCID-none}";
    let mut job = bash(&["-n", "2", "-H", "localhost:2"], script);
    job.command.env("OMPI_COMM_WORLD_RANK", "9").env("MV2_COMM_WORLD_LOCAL_SIZE", "9");
    assert_eq!(sorted(&job.run().out), ["0/2 0 2 2 0 none", "1/2 1 2 2 1 none"]);
    for (flags, universe) in [
        (&["-n", "1", "-H", "localhost:7"][..], "7"),
        (&["-n", "1", "-H", "localhost:7", "-usize", "SYSTEM"], "7"),
        (&["-n", "2", "-H", "localhost:1"], "2"),
        (&["-n", "1", "-usize", "40"], "40"),
        (&["-n", "1", "-usize", "INFINITE"], "1"),
    ] {
        let ended = bash(flags, "echo $OMPI_UNIVERSE_SIZE").run();
        assert_eq!(ended.out.lines().next(), Some(universe), "{flags:?} {ended:?}");
    }
    let wrong = bash(&["-n", "1", "-usize", "many"], "true").run();
    assert!(wrong.code == 2 && wrong.err.contains("SYSTEM or INFINITE"), "{wrong:?}");
    let mut job =
        bash(&["-n", "2", "--unset-env", "GONE"], "echo $SLURM_PROCID $SLURM_LOCALID $GONE");
    job.command.env("SLURM_JOB_ID", "1").env("SLURM_PROCID", "0").env("GONE", "x");
    assert_eq!(sorted(&job.run().out), ["0 0", "1 1"]);
}

/// Scripts of other MPIs steer their launchers by variables, too.
#[test]
fn variables_of_other_launchers() {
    let (_dir, place) = folder();
    let hosts = place.join("hosts");
    std::fs::write(&hosts, "localhost\nlocalhost\nlocalhost\n").unwrap();
    let mut job = bash(&[], "echo $PMI_SIZE");
    job.command.env("HYDRA_HOST_FILE", &hosts);
    assert_eq!(job.run().out, "3\n3\n3\n");
    let mut job = bash(&[], "echo $PMI_SIZE");
    job.command.env("I_MPI_PERHOST", "2");
    assert_eq!(job.run().out, "2\n2\n");
    let mut job = bash(&["-n", "2"], "echo $A");
    job.command.env("OMPI_MCA_orte_tag_output", "1").env("OMPI_MCA_mca_base_env_list", "A=x;B=y");
    job.command.env("OMPI_MCA_btl", "self,tcp");
    let ended = job.run();
    assert_eq!((sorted(&ended.out), ended.err.as_str()), (vec!["[0] x", "[1] x"], ""));
    // What is meant for another MPI keeps no job from running.
    let mut job = bash(&["-n", "2"], "echo $PMI_RANK");
    job.command.env("OMPI_MCA_rmaps_base_mapping_policy", "dist:auto");
    let ended = job.run();
    assert_eq!((ended.code, ended.out.lines().count()), (0, 2), "{ended:?}");
    let remark = "'OMPI_MCA_rmaps_base_mapping_policy dist:auto'";
    assert!(ended.err.contains(remark) && ended.err.contains("ignored"), "{ended:?}");
    let mut job = bash(&["-n", "2"], "true");
    job.command.env("I_MPI_HYDRA_HOST_FILE", "/no/such");
    let ended = job.run();
    assert!(ended.code == 2 && ended.err.contains("I_MPI_HYDRA_HOST_FILE: hostfile"), "{ended:?}");
}

/// What MPICH and Intel MPI take: a variable in one word, more ranks than -ppn has room for.
#[test]
fn habits_of_hydra() {
    let flags = ["-genv", "A=1=2", "-genv", "B", "3", "-n", "1", "-env", "C=4"];
    assert_eq!(bash(&flags, "echo $A $B $C").run().out, "1=2 3 4\n");
    let ended = bash(&["-hosts", "localhost", "-ppn", "2", "-n", "5"], "echo rank").run();
    assert_eq!((ended.code, ended.out.lines().count()), (0, 5), "{ended:?}");
    let mut job = bash(&["-genvexcl", "GONE,TOO"], "echo ${GONE-none} ${TOO-none} $KEPT");
    job.command.env("GONE", "1").env("TOO", "2").env("KEPT", "3");
    assert_eq!(job.run().out, "none none 3\n");
    let flags = ["-initial-errhandler", "mpi_errors_return"];
    assert_eq!(bash(&flags, "echo $HPVM_INITIAL_ERRHANDLER").run().out, "mpi_errors_return\n");
}

#[test]
fn programs_from_a_file_and_from_a_folder() {
    let (_dir, place) = folder();
    script(&place, "mine", "#!/bin/sh\necho mine $1 of $PMI_SIZE\n");
    let path = place.to_str().unwrap();
    let file = place.join("app");
    std::fs::write(
        &file,
        format!("-n 1 -path {path} mine 'a b'\n# x\n-n 2 --path={path} mine c\n"),
    )
    .unwrap();
    let ended = mpirun(&["-configfile", file.to_str().unwrap()]).run();
    assert_eq!(sorted(&ended.out), ["mine a b of 3", "mine c of 3", "mine c of 3"], "{ended:?}");
}

#[test]
fn what_is_shown_before_and_after() {
    let args = ["--display", "map,allocation,topo", "--do-not-launch", "-n", "2", "nosuch"];
    let ended = mpirun(&args).run();
    assert_eq!(ended.code, 0, "{ended:?}");
    for part in ["hosts:", "this machine: ", "map:", "        rank 1: nosuch"] {
        assert!(ended.out.contains(part), "{part}: {ended:?}");
    }
    let ended = bash(&["-n", "2", "-print-all-exitcodes"], "exit 0").run();
    assert_eq!(ended.err.matches(": exit code 0").count(), 2, "{ended:?}");
    let ended = mpirun(&["--report-pid", "-", "echo", "x"]).run();
    let lines: Vec<_> = ended.out.lines().collect();
    assert!(lines.len() == 2 && lines[0].parse::<u32>().is_ok() && lines[1] == "x", "{ended:?}");
}

#[test]
fn placement_is_real() {
    let show = "grep Cpus_allowed_list /proc/self/status | cut -f 2";
    let run = |flags: &[&str]| bash(flags, show).run();
    let one = run(&["-n", "1", "--cpu-set", "0"]);
    let bound = run(&["-n", "1", "--bind-to", "core"]);
    assert_eq!(one.out, bound.out, "{one:?}");
    let ended = run(&["-n", "1", "--cpu-set", "4096"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("no core 4096"), "{ended:?}");
    let (_dir, place) = folder();
    let file = place.join("ranks");
    std::fs::write(&file, "rank 1=localhost slot=0:0\nrank 0=localhost slot=*\n").unwrap();
    let ended = run(&["--rankfile", file.to_str().unwrap(), "--report-bindings"]);
    assert_eq!(ended.out.lines().count(), 2, "{ended:?}");
    assert!(ended.err.contains("rank 0 is not bound"), "{ended:?}");
    assert!(ended.err.contains("rank 1 is bound to cpu "), "{ended:?}");
    let ended = mpirun(&["-n", "5000", "--nooversubscribe", "true"]).run();
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("5000 ranks on '"), "{ended:?}");
}

#[test]
fn a_failing_rank_may_leave_the_others_alone() {
    // The other one goes on when the launcher has spoken of the end of the first.
    let gate = Gate::new();
    let script = format!("[ $PMI_RANK = 0 ] && exit 3; {}; echo still here", gate.wait());
    let mut job = bash(&["-n", "2", "--enable-recovery"], &script);
    let mut child = job.start();
    read_error_until(&mut child, "exited with code 3");
    gate.open();
    let ended = wait(child);
    assert_eq!((ended.code, ended.out.as_str()), (3, "still here\n"), "{ended:?}");
    job.check_gone();
    let gate = Gate::new();
    let script = format!("[ $PMI_RANK = 0 ] && exit 3; {}; echo still here", gate.wait());
    let ended = bash(&["-n", "2"], &script).run();
    assert_eq!((ended.code, ended.out.as_str()), (3, ""), "{ended:?}");
}

#[test]
fn remarks_can_be_silenced_and_refusals_say_what_to_do() {
    let ended = mpirun(&["--mca", "btl", "self", "-rmk", "user", "true"]).run();
    assert_eq!((ended.code, ended.err.lines().count()), (0, 2), "{ended:?}");
    assert_eq!(mpirun(&["-q", "--mca", "btl", "self", "true"]).run().err, "");
    let ended = mpirun(&["-gtool", "valgrind:0", "true"]).run();
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("'-gtool' is not there: name the tool"), "{ended:?}");
}

#[test]
fn stacks_are_shown_at_the_time_limit_if_a_tool_is_there() {
    let (_dir, place) = folder();
    script(&place, "eu-stack", "#!/bin/sh\necho stack of \"$@\"\n");
    // The ranks are to be there when the time is over.
    let at_limit = |limit: &str, path: &std::path::Path| {
        let args = ["-n", "2", "--timeout", limit, "--get-stack-traces", "/bin/sleep", "1000"];
        let mut job = mpirun(&args);
        job.command.env("PATH", path);
        job.run()
    };
    let shown = |limit: &&str| {
        let ended = at_limit(limit, &place);
        assert_eq!(ended.code, 124, "{ended:?}");
        ended.err.matches("stack of -p ").count() == 2
    };
    assert!(["0.3", "3", "30"].iter().any(shown), "no stacks of two ranks");
    let ended = at_limit("0.3", std::path::Path::new("/nowhere"));
    assert!(ended.err.contains("needs gdb, eu-stack or gstack"), "{ended:?}");
}
