//! Standard input, output and error of the ranks.

mod common;

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use common::*;

/// A function of Python that writes all of it, however often the process is stopped: Python's own ones lose what a write has
/// left when that was interrupted.
const WRITE: &str = "import os\ndef write(bytes):\n    left = memoryview(bytes)\n    \
                     while left:\n        left = left[os.write(1, left):]\n";

#[test]
fn lines_are_never_mixed() {
    let lines = 2000;
    // Two writes a line, so that only joining can keep it whole.
    let program = format!(
        "import os\nrank = os.environ['PMI_RANK']\nfor i in range({lines}):\n    \
         os.write(1, f'{{rank}} {{i}} '.encode())\n    os.write(1, b'x' * (i % 300) + b'\\n')\n"
    );
    let ended = mpirun(&["-n", "4", "python3", "-c", &program]).run();
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut next = [0; 4];
    for line in ended.out.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let rank: usize = words[0].parse().unwrap();
        assert_eq!(words[1].parse::<usize>().unwrap(), next[rank], "{line}");
        assert_eq!(words[2], "x".repeat(next[rank] % 300), "{line}");
        next[rank] += 1;
    }
    assert_eq!(next, [lines; 4]);
}

#[test]
fn streams_stay_apart_and_tags_are_put_in_front() {
    let ended = bash(&["-n", "2", "--tag-output"], "echo out; echo err >&2; printf end").run();
    assert_eq!(sorted(&ended.out), ["[0] end", "[0] out", "[1] end", "[1] out"]);
    assert_eq!(sorted(&ended.err), ["[0] err", "[1] err"]);
    let ended = bash(&["--timestamp-output", "-l"], "echo out").run();
    let (time, line) = ended.out.split_once(' ').unwrap();
    assert_eq!((time.len(), line), ("2026-11-20T12:10:30.123".len(), "[0] out\n"), "{ended:?}");
}

#[test]
fn prompts_show() {
    let mut job = bash(&[], "printf 'name? '; read name; echo hello $name");
    job.command.stdin(Stdio::piped());
    let mut child = job.start();
    read_until(&mut child, "name? ");
    child.stdin.take().unwrap().write_all(b"you\n").unwrap();
    let ended = wait(child);
    assert_eq!(ended.out, "hello you\n");
    job.check_gone();
}

#[test]
fn any_bytes_of_any_length_pass() {
    let program = format!("{WRITE}write(bytes(range(256)) * 20000)\n");
    let mut job = mpirun(&["python3", "-c", &program]);
    let output = job.command.output().unwrap();
    assert!(output.status.success());
    assert!(output.stdout == (0..=255).collect::<Vec<u8>>().repeat(20000));
    job.check_gone();
}

#[test]
fn standard_input_is_rank_zeros() {
    let mut job = bash(&["-n", "3"], "n=$(wc -c); echo $PMI_RANK $((n))");
    job.command.stdin(Stdio::piped());
    let mut child = job.start();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![b'x'; 300_000]).unwrap();
    drop(stdin);
    let ended = wait(child);
    assert_eq!(sorted(&ended.out), ["0 300000", "1 0", "2 0"]);
}

#[test]
fn the_input_of_a_shell_loop_is_not_eaten() {
    let program = env!("CARGO_BIN_EXE_hpvm");
    let script = format!("printf 'a\\nb\\nc\\n' | while read x; do {program} run echo $x; done");
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "a\nb\nc\n");
}

#[test]
fn a_slow_reader_slows_the_ranks() {
    let mut job = mpirun(&["-n", "2", "yes"]);
    let child = job.start();
    let launcher = child.id();
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{launcher}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap().to_string();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(memory() < 64 << 10, "{} KiB", memory());
    kill(launcher as i32, libc::SIGTERM);
    assert_eq!(wait(child).code, 128 + libc::SIGTERM);
    job.check_gone();
}

#[test]
fn a_slow_reader_gets_everything() {
    let program = format!("{WRITE}for _ in range(100):\n    write(b'x' * 9999 + b'\\n')\n");
    let mut job = mpirun(&["-n", "4", "python3", "-c", &program]);
    let child = job.start();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let ended = wait(child);
    assert_eq!((ended.code, ended.out.len()), (0, 4_000_000), "{}", ended.err);
    job.check_gone();
}

#[test]
fn a_reader_that_goes_away_ends_the_job() {
    let mut job = mpirun(&["-n", "3", "yes"]);
    let mut child = job.start();
    read_until(&mut child, "y\n");
    drop(child.stdout.take());
    let ended = wait(child);
    assert_eq!((ended.code, ended.err.as_str()), (128 + libc::SIGPIPE, ""));
    job.check_gone();
}

#[test]
fn output_of_what_outlives_its_rank_is_not_lost() {
    let gate = Gate::new();
    let file = gate.file();
    let script = format!(
        "if [ $PMI_RANK = 0 ]; then
            (while kill -0 $$ 2>/dev/null && [ $(cut -d ' ' -f 3 /proc/$$/stat) != Z ]; do sleep 0.01; done
            echo late; : > {}) &
        else {}; fi
        echo early",
        file.display(),
        gate.wait()
    );
    let ended = bash(&["-n", "2"], &script).run();
    assert_eq!(sorted(&ended.out), ["early", "early", "late"], "{ended:?}");
}

#[test]
fn a_limit_of_file_size_is_told() {
    let mut job = mpirun(&["-n", "2", "yes"]);
    let file = tempfile::tempfile().unwrap();
    job.command.stdout(file);
    // SAFETY: one async-signal-safe call with a readable limit.
    unsafe {
        job.command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 100_000, rlim_max: 100_000 };
            (libc::setrlimit(libc::RLIMIT_FSIZE, &limit) == 0)
                .then_some(())
                .ok_or_else(std::io::Error::last_os_error)
        });
    }
    let ended = job.run();
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("standard output: File too large"), "{ended:?}");
}

#[test]
fn a_full_disk_is_told() {
    let mut job = mpirun(&["-n", "2", "yes"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    job.command.stdout(full);
    let ended = job.run();
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("standard output: No space left on device"), "{ended:?}");
}
