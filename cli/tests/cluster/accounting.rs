//! The server before a Slurm that keeps accounting, and whose controller soon forgets: slurmdbd with a
//! database on test hosts. Needs root, Slurm's programs and MariaDB's; without them the test is counted as skipped.

use hpvm_tests::slurm::Cluster;
use serde_json::Value;

use crate::common;
use crate::slurm::Front;

/// Hands in by sbatch alone.
fn batch(front: &Front, more: &[&str], script: &str) -> i64 {
    let args = ["sbatch", "--parsable", "-D", "/", "-o", "/dev/null"];
    let text = front.slurm(&[&args, more, &["--wrap", script]].concat());
    text.trim().parse().unwrap()
}

/// Null while there is no such job: tasks have none of their own before they start.
fn show(front: &Front, name: &str) -> Value {
    let output = front.hpvm(&["show", "--json", name]);
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

#[test]
fn ends_that_the_controller_has_forgotten_come_from_the_accounting() {
    let Some(cluster) = Cluster::with_accounting(2, 4) else { return };
    let mut front = Front::before(cluster);
    let go = front.dir.path().join("go");
    let wait = format!("until [ -e {} ]; do sleep 0.1; done", go.display());
    // Seven that run, somebody else's among them; the last is never let go.
    let failed = batch(&front, &[], &format!("{wait}; exit 3"));
    let killed = batch(&front, &[], &format!("{wait}; kill -9 $$"));
    let theirs = batch(&front, &["--uid=daemon"], &format!("{wait}; exit 5"));
    let task = format!("{wait}; exit $((10 + SLURM_ARRAY_TASK_ID))");
    let array = batch(&front, &["-a", "0-4:2"], &task);
    let runs = batch(&front, &[], "sleep 1000");
    // It begins and ends while nobody keeps books.
    let missed = batch(&front, &["--hold"], "exit 4");
    let names = [failed, killed, theirs].map(|id| id.to_string());
    let tasks = [0, 2, 4].map(|task| format!("{array}_{task}"));
    let ends: Vec<(&String, i64)> =
        names.iter().chain(&tasks).zip([3, 137, 5, 10, 12, 14]).collect();
    for (name, _) in &ends {
        let runs = || show(&front, name)["state"] == "running";
        assert!(common::until(runs), "{name}: {}", show(&front, name));
    }
    front.until(missed, "held");
    // The accounting has them as jobs that run.
    let booked = || {
        let text = front.slurm(&["sacct", "-anXP", "--state=R", "--format=JobIDRaw"]);
        text.lines().count() == 7
    };
    assert!(common::until(booked));

    // All end while neither the server nor slurmdbd runs, and the controller forgets them.
    front.kill();
    front.cluster.accounting(false);
    std::fs::write(&go, "").unwrap();
    front.slurm(&["scontrol", "release", &missed.to_string()]);
    let left = || front.slurm(&["squeue", "-h", "-r", "-t", "all", "-o", "%A %T"]);
    assert!(common::until(|| left().trim() == format!("{runs} RUNNING")), "{}", left());
    front.begin();
    for (name, _) in &ends {
        let asked = || {
            let job = show(&front, name);
            let why = job["reason"].as_str().unwrap_or_default();
            job["state"] == "running"
                && job["exit_code"].is_null()
                && why.contains("does not answer")
        };
        assert!(common::until(asked), "{name}: {}", show(&front, name));
    }
    assert!(front.good(&["queue"]).contains("does not answer"), "{}", front.good(&["queue"]));

    front.cluster.accounting(true);
    for (name, code) in &ends {
        let ended = || show(&front, name)["state"] == "ended";
        assert!(common::until(ended), "{name}: {}", show(&front, name));
        assert_eq!(show(&front, name)["exit_code"], *code, "{name}: {}", show(&front, name));
    }
    assert_eq!(front.until(missed, "ended")["exit_code"], 4);
    assert_eq!(front.hpvm(&["wait", &names[2]]).status.code(), Some(5));
    assert_eq!(show(&front, &names[2])["user"], "daemon");
    assert_eq!(front.show(killed)["outcome"]["signal"], 9, "{}", front.show(killed));
    assert_eq!(front.show(runs)["state"], "running");
    let doctor = front.hpvm(&["doctor"]);
    assert!(!String::from_utf8_lossy(&doctor.stdout).contains("is not known"), "{doctor:?}");
    front.good(&["cancel", &runs.to_string()]);
    assert_eq!(front.until(runs, "ended")["exit_code"], 143);

    let prefix = front.cluster.prefix().to_string();
    drop(front);
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let left = all.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let env = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let text = String::from_utf8_lossy(&[line, env].concat()).replace('\0', " ");
        text.contains(&prefix).then_some(text)
    });
    assert_eq!(left.collect::<Vec<_>>(), [""; 0], "daemons are left");
    assert!(!std::path::Path::new("/run/hpvm-hosts").join(&prefix).exists());
}
