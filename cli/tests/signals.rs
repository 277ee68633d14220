//! Signals, and that nothing is left behind whatever happens.

mod common;

use std::os::unix::process::CommandExt;
use std::time::Duration;

use common::*;

#[test]
fn the_user_ends_the_job() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut job = bash(&["-n", "3"], "echo ready; sleep 1000 & sleep 1000");
        let mut child = job.start();
        for _ in 0..3 {
            read_until(&mut child, "ready\n");
        }
        kill(child.id() as i32, signal);
        assert_eq!(wait(child).code, 128 + signal);
        job.check_gone();
    }
}

#[test]
fn stubborn_ranks_are_killed_and_at_once_by_a_second_signal() {
    for twice in [false, true] {
        let script = "trap '' INT TERM; echo ready; while :; do sleep 1; done";
        let mut job = bash(&["-n", "2"], script);
        let mut child = job.start();
        for _ in 0..2 {
            read_until(&mut child, "ready\n");
        }
        let start = std::time::Instant::now();
        kill(child.id() as i32, libc::SIGINT);
        if twice {
            // Two equal signals that are not yet read are one.
            read_error_until(&mut child, "received SIGINT");
            kill(child.id() as i32, libc::SIGINT);
        }
        assert_eq!(wait(child).code, 130);
        let waited = start.elapsed();
        assert!(twice || waited >= Duration::from_secs(2), "{waited:?}");
        job.check_gone();
    }
}

#[test]
fn user_signals_are_passed_on() {
    let script = "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo ready; \
                  while :; do sleep 0.05; done";
    let mut job = bash(&["-n", "2"], script);
    let mut child = job.start();
    for _ in 0..2 {
        read_until(&mut child, "ready\n");
    }
    kill(child.id() as i32, libc::SIGUSR1);
    for _ in 0..2 {
        read_until(&mut child, "one\n");
    }
    kill(child.id() as i32, libc::SIGUSR2);
    let ended = wait(child);
    assert_eq!((ended.code, ended.out.as_str()), (0, "two\ntwo\n"));
    job.check_gone();
}

/// The state letter of a process.
fn state(pid: i32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next()).unwrap_or('?')
}

#[test]
fn the_job_stops_and_goes_on() {
    let gate = Gate::new();
    let mut job = bash(&["-n", "2"], &format!("echo $$; {}", gate.wait()));
    let mut child = job.start();
    let pids: Vec<i32> =
        (0..2).map(|_| read_until(&mut child, "\n").trim().parse().unwrap()).collect();
    let launcher = child.id() as i32;
    kill(launcher, libc::SIGTSTP);
    assert!(until(|| state(launcher) == 'T' && pids.iter().all(|pid| state(*pid) == 'T')));
    kill(launcher, libc::SIGCONT);
    assert!(until(|| pids.iter().all(|pid| state(*pid) != 'T')));
    gate.open();
    assert_eq!(wait(child).code, 0);
    job.check_gone();
}

#[test]
fn a_killed_launcher_leaves_nothing() {
    let script =
        "sleep 1000 & (setsid sleep 1000 &) ; (env -i sleep 1000 &) ; echo ready; sleep 1000";
    let mut job = bash(&["-n", "3"], script);
    let mut child = job.start();
    for _ in 0..3 {
        read_until(&mut child, "ready\n");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    job.check_gone();
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    let gate = Gate::new();
    let mut job = bash(&["-n", "2"], &format!("echo ready; {}; echo end", gate.wait()));
    // As a shell starts what it runs in its background.
    // SAFETY: between fork and exec, one call that is async-signal-safe.
    unsafe {
        job.command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut child = job.start();
    for _ in 0..2 {
        read_until(&mut child, "ready\n");
    }
    kill(child.id() as i32, libc::SIGINT);
    gate.open();
    let ended = wait(child);
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (0, "end\nend\n", ""));
    job.check_gone();
}

#[test]
fn a_launcher_killed_while_starting_leaves_nothing() {
    // Without end of random moments: from before the guardian to after the last rank.
    for step in 0..40 {
        let mut job = mpirun(&["-n", "16", "bash", "-c", "sleep 1000 & sleep 1000"]);
        let mut child = job.start();
        std::thread::sleep(Duration::from_micros(step * step * 40));
        child.kill().unwrap();
        child.wait().unwrap();
        job.check_gone();
    }
}

#[test]
fn a_killed_guardian_does_no_harm() {
    let gate = Gate::new();
    let mut job = bash(&["-n", "2"], &format!("echo ready; {}; echo end", gate.wait()));
    let mut child = job.start();
    for _ in 0..2 {
        read_until(&mut child, "ready\n");
    }
    // It gives itself its name when it first runs.
    let guardian = || {
        marked(&job.mark).into_iter().map(|(pid, _)| pid).find(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.trim() == "hpvm-guardian"
        })
    };
    assert!(until(|| guardian().is_some()), "no guardian");
    kill(guardian().expect("a guardian"), libc::SIGKILL);
    gate.open();
    let ended = wait(child);
    assert_eq!((ended.code, ended.out.as_str()), (0, "end\nend\n"));
    job.check_gone();
}

#[test]
fn daemons_of_ranks_do_not_outlive_the_job() {
    let ended = bash(&["-n", "2"], "setsid sleep 1000 </dev/null >/dev/null 2>&1 & exit 0").run();
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}

/// The kernel cuts names to 15 bytes, which may be in the middle of a character.
#[test]
fn a_daemon_whose_name_is_no_text_does_not_outlive_the_job() {
    let gate = Gate::new();
    let daemon = format!(
        "printf '\\303' >/proc/$$/comm; : > {}; while :; do sleep 1000 & wait; done",
        gate.file().display()
    );
    let script = format!(
        "setsid bash -c \"{}\" </dev/null >/dev/null 2>&1 & {}; exit 0",
        daemon.replace('$', "\\$"),
        gate.wait()
    );
    let mut job = bash(&["-n", "1"], &script);
    let child = job.start();
    assert_eq!(wait(child).code, 0);
    job.check_gone();
}

#[test]
fn children_from_before_are_spared() {
    let program = env!("CARGO_BIN_EXE_hpvm");
    // The shell becomes the launcher, which so gets the shell's child.
    let script = format!("sleep 1000 & echo $!; exec {program} run -n 2 true");
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut output = output;
    let pid: i32 = read_until(&mut output, "\n").trim().parse().unwrap();
    assert!(output.wait().unwrap().success());
    let alive = state(pid);
    kill(pid, libc::SIGKILL);
    assert!(!matches!(alive, 'Z' | 'X' | '?'), "{alive}");
}

#[test]
fn a_job_inside_a_job_ends_with_it() {
    let inner = env!("CARGO_BIN_EXE_hpvm");
    let script = format!("{inner} run -n 2 bash -c 'sleep 1000 & echo ready; sleep 1000'");
    let mut job = bash(&["-n", "2"], &script);
    let mut child = job.start();
    for _ in 0..4 {
        read_until(&mut child, "ready\n");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    job.check_gone();
}
