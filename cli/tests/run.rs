//! Jobs of plain programs: arguments, environment, folders, exit codes, messages.

mod common;

use common::*;

#[test]
fn ranks_know_who_they_are() {
    let script =
        r#"echo "$PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS ${HPVM_JOB_ID:+id}""#;
    let ended = bash(&["-n", "3"], script).run();
    assert_eq!(sorted(&ended.out), ["0 3 0 3 id", "1 3 1 3 id", "2 3 2 3 id"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}

#[test]
fn the_command_has_three_names() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["mpirun", "mpiexec"] {
        let link = dir.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hpvm"), &link).unwrap();
        let output =
            std::process::Command::new(&link).args(["-n", "2", "nosuch"]).output().unwrap();
        assert_eq!(output.status.code(), Some(127));
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text, format!("{name}: program 'nosuch' not found in PATH\n"));
    }
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_hpvm"))
        .args(["run", "-n", "2", "echo", "x"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"x\nx\n");
}

#[test]
fn several_programs_are_one_job() {
    let program = ["sh", "-c", "echo $PMI_RANK of $PMI_SIZE $A"];
    let first = ["-n", "1", "-env", "A", "a"];
    let second = [":", "-n", "2", "-env", "A", "b"];
    let args = [&first[..], &program, &second, &program].concat();
    let ended = mpirun(&args).run();
    assert_eq!(sorted(&ended.out), ["0 of 3 a", "1 of 3 b", "2 of 3 b"]);
}

#[test]
fn environment() {
    let mut job = mpirun(&[
        "-genv",
        "A",
        "1",
        "-x",
        "B",
        "-x",
        "C=3",
        "-x",
        "NOT_SET_AT_ALL",
        "-env",
        "A",
        "2",
        "sh",
        "-c",
        "echo $A $B $C $D",
    ]);
    job.command.env("B", "b").env("D", "d");
    let ended = job.run();
    assert_eq!(ended.out, "2 b 3 d\n");
    assert!(ended.err.contains("-x NOT_SET_AT_ALL: the variable is not set"), "{}", ended.err);

    let mut job = mpirun(&["-genvlist", "B", "/bin/sh", "-c", "echo ${A-unset} $B ${HOME-unset}"]);
    job.command.env("A", "a").env("B", "b").env("HOME", "/");
    assert_eq!(job.run().out, "unset b unset\n");

    // What another process manager has said is not for our ranks.
    let mut job = mpirun(&["sh", "-c", "echo $PMI_RANK $PMI_SIZE ${PMI_PORT-unset}"]);
    job.command.env("PMI_RANK", "7").env("PMI_SIZE", "9").env("PMI_PORT", "h:1");
    assert_eq!(job.run().out, "0 1 unset\n");
}

#[test]
fn library_path() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["bin", "lib"] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
    }
    let program = dir.path().join("bin/mpirun");
    copy_program(env!("CARGO_BIN_EXE_hpvm"), &program);
    let show = |flags: &[&str]| {
        let output = std::process::Command::new(&program)
            .args([flags, &["sh", "-c", "echo $LD_LIBRARY_PATH"]].concat())
            .env("LD_LIBRARY_PATH", "/x")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(show(&[]), "/x\n");
    std::fs::write(dir.path().join("lib/libmpi_abi.so.1"), "").unwrap();
    let lib = dir.path().canonicalize().unwrap().join("lib");
    assert_eq!(show(&[]), format!("{}:/x\n", lib.display()));
    assert_eq!(show(&["--no-library-path"]), "/x\n");
}

#[test]
fn working_folder() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().canonicalize().unwrap();
    script(&place, "tool", "#!/bin/sh\npwd -P\n");
    let folder = place.to_str().unwrap();
    for program in ["./tool", "tool"] {
        let ended = mpirun(&["--wdir", folder, program]).run();
        assert_eq!(ended.out, format!("{folder}\n"), "{}", ended.err);
    }
    let ended = mpirun(&["-wdir", "/no/such", "true"]).run();
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("--wdir '/no/such': No such file"), "{}", ended.err);
}

#[test]
fn programs_that_cannot_run() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let plain = script(dir, "plain", "no interpreter line\n");
    let lost = script(dir, "lost", "#!/no/such/interpreter\n");
    let data = dir.join("data");
    std::fs::write(&data, "x").unwrap();
    for (program, code, part) in [
        ("nosuch", 127, "program 'nosuch' not found in PATH"),
        ("./no/such", 127, "program './no/such' does not exist"),
        ("/tmp", 126, "'/tmp' is a folder, not a program"),
        (data.to_str().unwrap(), 126, "is not executable (permission denied)"),
        (plain.as_str(), 126, "neither a binary for this machine nor a script"),
        (lost.as_str(), 126, "interpreter '/no/such/interpreter' does not exist"),
    ] {
        let ended = mpirun(&["-n", "3", program]).run();
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(ended.err.contains(part), "{ended:?}");
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
        assert!(ended.err.starts_with("mpirun: "), "{ended:?}");
    }
}

#[test]
fn wrong_usage() {
    for (args, part) in [
        (&["--hotsfile", "x", "true"][..], "unknown flag '--hotsfile'; did you mean '--hostfile'?"),
        (&["-n", "0", "true"], "at least one rank"),
        (&["-n", "two", "true"], "'two' is not a number of ranks"),
        (&[], "no program given"),
        (&["-host", "node7:0", "true"], "'0' is not a number of slots"),
        (&["-host", "n[1-", "true"], "'n[1-': '[' without ']'"),
        (&["-N", "2", "-n", "3", "true"], "more ranks than 2 on each host allow on one host"),
        (&["--hostfile", "/no/such", "true"], "hostfile '/no/such': No such file"),
    ] {
        let ended = mpirun(args).run();
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.err.contains(part), "{ended:?}");
    }
}

#[test]
fn exit_codes() {
    for (script, code, part) in [
        ("exit 0", 0, ""),
        ("exit 7", 7, "exited with code 7; ending the job"),
        ("kill -SEGV $$; sleep 1000", 139, "killed by signal 11 (SIGSEGV"),
        ("kill -KILL $$; sleep 1000", 137, "killed by signal 9 (SIGKILL"),
    ] {
        let script = format!("if [ $PMI_RANK = 1 ]; then {script}; else true; fi");
        let ended = bash(&["-n", "3"], &script).run();
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(ended.err.contains(part), "{ended:?}");
        if code != 0 {
            assert!(ended.err.contains("rank 1 (pid "), "{ended:?}");
            assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
        }
    }
}

#[test]
fn a_failing_rank_ends_the_others_and_their_children() {
    let script = "if [ $PMI_RANK = 2 ]; then exit 5; fi; trap '' TERM; sleep 1000 & sleep 1000";
    let ended = bash(&["-n", "4"], script).run();
    assert_eq!(ended.code, 5);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
}

#[test]
fn time_limit() {
    let ended = mpirun(&["-n", "2", "--timeout", "0.3", "sleep", "1000"]).run();
    assert_eq!(ended.code, 124);
    assert!(ended.err.contains("longer than the 0.3 s of --timeout"), "{}", ended.err);
    let mut job = mpirun(&["sleep", "1000"]);
    job.command.env("MPIEXEC_TIMEOUT", "0.3");
    assert_eq!(job.run().code, 124);
}

#[test]
fn many_ranks() {
    let ended = mpirun(&["-n", "256", "true"]).run();
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}

#[test]
fn binding() {
    let ended = mpirun(&[
        "-n",
        "3",
        "--bind-to",
        "hwthread",
        "--report-bindings",
        "sh",
        "-c",
        "grep Cpus_allowed_list /proc/self/status",
    ])
    .run();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.out.lines().count(), 3);
    for line in ended.out.lines() {
        let cpu = line.split_whitespace().nth(1).unwrap();
        assert!(cpu.parse::<usize>().is_ok(), "{line}");
    }
    assert!(ended.err.contains("rank 2 is bound to cpu "), "{}", ended.err);
}

#[test]
fn json_report() {
    let ended = bash(&["-n", "2", "--json", "-q"], "exit $PMI_RANK").run();
    let line = ended.err.lines().last().unwrap();
    let report: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(report["exit_code"], 1);
    assert_eq!(report["ranks"][1]["exit_code"], 1);
    assert!(report["reason"].as_str().unwrap().contains("rank 1"));
}

#[test]
fn too_many_ranks_for_the_limit_of_open_files() {
    let script = format!("ulimit -n 64; exec {} run -n 64 true", env!("CARGO_BIN_EXE_hpvm"));
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("64 ranks need 288 open files, but the hard limit is 64"), "{text}");
}

#[test]
fn the_limit_of_open_files_is_the_users() {
    let mut job = mpirun(&["-n", "2", "sh", "-c", "ulimit -Sn"]);
    use std::os::unix::process::CommandExt;
    // SAFETY: setrlimit and getrlimit are async-signal-safe and use the closure's own memory.
    unsafe {
        job.command.pre_exec(|| {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
            limit.rlim_cur = 77;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
            Ok(())
        });
    }
    assert_eq!(job.run().out, "77\n77\n");
}

#[test]
fn hosts_come_from_standard_input() {
    let mut job = mpirun(&["-f", "-", "sh", "-c", "echo $PMI_SIZE; cat"]);
    job.command.stdin(std::process::Stdio::piped());
    let mut child = job.start();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"# two\nlocalhost:2\n").unwrap();
    drop(stdin);
    let ended = wait(child);
    assert_eq!((ended.code, ended.out.as_str()), (0, "2\n2\n"), "{ended:?}");
    job.check_gone();
}
