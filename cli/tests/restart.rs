//! Jobs that are started again when a rank is killed or a host is lost.

mod common;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use common::{Ended, bash, nothing_left, on_hosts, sorted, wait};
use hpvm_tests::hosts::Hosts;

/// What every test of restarts says beside the number of them.
const QUICK: [&str; 2] = ["--restart-delay", "0.01"];

/// Runs a job of two ranks.
fn two(flags: &[&str], script: &str) -> Ended {
    bash(&[&["-n", "2"], &QUICK[..], flags].concat(), script).run()
}

/// A folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hpvm-restart-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_killed_rank_starts_the_job_again_and_nothing_of_the_first_is_left() {
    let folder = folder("killed");
    let pid = folder.join("pid");
    let script = format!(
        "pid={}
        if [ $HPVM_RESTART_COUNT = 0 ]; then
            if [ $PMI_RANK = 0 ]; then setsid sleep 999 & echo $! >$pid.new; mv $pid.new $pid; sleep 999
            else until [ -e $pid ]; do sleep 0.01; done; kill -9 $$; fi
        fi
        kill -0 $(cat $pid) 2>/dev/null && echo left
        echo rank $PMI_RANK run $HPVM_RESTART_COUNT",
        pid.display()
    );
    let ended = two(&["--max-restarts", "2", "--json"], &script);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(sorted(&ended.out), ["rank 0 run 1", "rank 1 run 1"], "{ended:?}");
    let lines: Vec<&str> = ended.err.lines().collect();
    assert!(lines[0].contains("rank 1") && lines[0].contains("killed by signal 9"), "{ended:?}");
    assert_eq!(lines[1], "mpirun: starting the job again in 0.01 s (restart 1 of 2)");
    assert!(lines[2].contains("\"restarts\":1") && lines.len() == 3, "{ended:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_last_attempt_gives_the_exit_code() {
    let ended =
        two(&["--max-restarts", "2"], "[ $PMI_RANK = 1 ] && { echo up; kill -9 $$; }; sleep 999");
    assert_eq!(ended.code, 137, "{ended:?}");
    assert_eq!(ended.out.lines().filter(|line| *line == "up").count(), 3, "{ended:?}");
    assert!(ended.err.contains("(restart 2 of 2)"), "{ended:?}");
    assert!(ended.err.contains("started again 2 times, as --max-restarts allows"), "{ended:?}");
    let ended = two(&[], "kill -9 $$");
    assert_eq!((ended.code, ended.err.contains("again")), (137, false), "{ended:?}");
}

#[test]
fn what_the_program_does_itself_is_repeated_only_if_wanted() {
    let fails = "init; [ $HPVM_RESTART_COUNT = 1 ] && { finalize; exit 0; }; ";
    for (end, code) in [("exit 3", 3), ("say cmd=abort exitcode=5; sleep 999", 5)] {
        let script = format!("{fails}{end}");
        let ended = two(&["--max-restarts", "1"], &script);
        assert_eq!((ended.code, ended.err.contains("again")), (code, false), "{ended:?}");
        let ended = two(&["--max-restarts", "1", "--restart-on", "failure"], &script);
        assert_eq!((ended.code, ended.err.contains("again")), (0, true), "{ended:?}");
    }
    // A program that cannot be executed, or a job that took too long, would be no better.
    let flags = [&["--max-restarts", "3", "--restart-on", "failure"], &QUICK[..]].concat();
    let ended = common::mpirun(&[&flags[..], &["/nowhere/at-all"]].concat()).run();
    assert_eq!((ended.code, ended.err.contains("again")), (127, false), "{ended:?}");
    let ended = bash(&[&flags[..], &["--timeout", "0.2"]].concat(), "sleep 999").run();
    assert_eq!((ended.code, ended.err.contains("again")), (124, false), "{ended:?}");
}

#[test]
fn the_pause_can_be_ended() {
    let mut job = bash(&["--max-restarts", "1", "--restart-delay", "999"], "kill -9 $$");
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let mut child = job.start();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("starting the job again in 999 s") {
            line.clear();
            assert!(err.read_line(&mut line).unwrap() > 0, "no pause");
        }
        common::kill(child.id() as i32, signal);
        let ended = child.wait().unwrap();
        // The signal may come before it is asked for: then it ends the launcher as it would end any program.
        use std::os::unix::process::ExitStatusExt;
        assert!(ended.code() == Some(code) || ended.signal() == Some(signal), "{ended:?}");
        job.check_gone();
    }
    // The time is to be over in the pause, not before.
    let limited = |limit: &&str| {
        let flags = ["--max-restarts", "1", "--restart-delay", "999", "--timeout", limit];
        let ended = bash(&flags, "kill -9 $$").run();
        assert_eq!(ended.code, 124, "{ended:?}");
        ended.err.contains(&format!("the {limit} s of --timeout are over"))
    };
    assert!(["0.5", "5", "50"].iter().any(limited), "nothing is said of the pause");
}

#[test]
fn files_hold_the_output_of_all_attempts() {
    let folder = folder("files");
    let name = folder.join("out");
    let flags = ["--max-restarts", "1", "--output-filename", name.to_str().unwrap()];
    let ended =
        two(&flags, "echo run $HPVM_RESTART_COUNT; [ $HPVM_RESTART_COUNT = 1 ] || kill -9 $$");
    assert_eq!(ended.code, 0, "{ended:?}");
    let texts: Vec<String> = (0..2)
        .map(|rank| std::fs::read_to_string(folder.join(format!("out.{rank}"))).unwrap())
        .collect();
    assert!(texts.iter().all(|text| text.ends_with("run 1\n")), "{texts:?}");
    assert!(texts.contains(&"run 0\nrun 1\n".to_string()), "{texts:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn wrong_values_are_refused() {
    for (flags, part) in [
        (&["--max-restarts", "-1"][..], "whole number from 0"),
        (&["--max-restarts", "many"], "whole number from 0"),
        (&["--restart-on", "always"], "abnormal"),
        (&["--restart-delay", "soon"], "seconds"),
        (&["--max-restarts", "1", "--enable-recovery"], "exclude each other"),
    ] {
        let ended = bash(flags, "true").run();
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.err.contains(part), "{ended:?}");
    }
}

#[test]
fn a_host_whose_agent_dies_is_tried_again_and_left_out_when_it_cannot_be_reached() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let folder = folder("agents");
    let down = folder.join("down");
    let text = format!(
        "#!/bin/sh\n[ -e {} ] && [ \"$1\" = {} ] && {{ echo no route to it >&2; exit 255; }}\nexec {} \"$@\"\n",
        down.display(),
        hosts.name(2),
        Hosts::agent().display()
    );
    let agent = common::script(&folder, "agent", &text);
    // Rank 1 kills its agent: once with the host reachable, once not.
    let script = format!(
        "init; ask cmd=barrier_in
        if [ $HPVM_RESTART_COUNT -lt 2 ]; then
            [ $PMI_RANK = 1 ] && {{ [ $HPVM_RESTART_COUNT = 0 ] || touch {}; kill -9 $PPID; }}
            sleep 999
        fi
        finalize; echo rank $PMI_RANK on $(hostname)",
        down.display()
    );
    let script = format!("{}{script}", common::PMI);
    let list = hosts.list();
    let args = [
        &["--launch-agent", &agent, "-H", &list, "-n", "2"],
        &QUICK[..],
        &["--max-restarts", "2", "bash", "-c", &script],
    ]
    .concat();
    let ended = wait(on_hosts(&hosts, &args).start());
    nothing_left(&hosts);
    assert_eq!(ended.code, 0, "{ended:?}");
    let expected = [0, 1].map(|rank| format!("rank {rank} on {}", hosts.name(1)));
    assert_eq!(sorted(&ended.out), expected, "{ended:?}");
    assert!(ended.err.contains("no route to it"), "{ended:?}");
    assert!(ended.err.contains(&format!("without host {}", hosts.name(2))), "{ended:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_silent_host_is_left_out() {
    let Some(hosts) = Hosts::up(3, &["--ssh"]) else { return };
    let script = "if [ $HPVM_RESTART_COUNT = 0 ]; then echo up; sleep 999; fi; echo rank $PMI_RANK on $(hostname)";
    let list = hosts.list();
    let args = [
        &["-H", &list, "-n", "3", "--net-timeout", "5"],
        &QUICK[..],
        &["--max-restarts", "1", "bash", "-c", script],
    ]
    .concat();
    let mut child = on_hosts(&hosts, &args).start();
    common::read_until(&mut child, "up\nup\nup\n");
    hosts.link(2, "net0", false);
    let ended = wait(child);
    assert_eq!(ended.code, 0, "{ended:?}");
    let ranks = sorted(&ended.out);
    let on = |host| ranks.iter().filter(|line| line.ends_with(&hosts.name(host))).count();
    assert_eq!((on(1) + on(3), on(2)), (3, 0), "{ended:?}");
    let text = format!("(restart 1 of 1), without host {}", hosts.name(2));
    assert!(ended.err.contains(&text), "{ended:?}");
    let gone = || !hosts.processes(2).iter().any(|(_, line)| line.starts_with("sleep"));
    assert!(common::until(gone), "{:?}", hosts.processes(2));
}
