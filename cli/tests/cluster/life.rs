//! The life of jobs, through the commands.

use crate::common::{self, kill};
use crate::server::Server;
use serde_json::Value;

fn code(output: &std::process::Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn the_end_of_a_job_is_told() {
    let server = Server::start();
    for (words, expected) in [
        (&["true"][..], 0),
        (&["bash", "-c", "exit 3"], 3),
        (&["bash", "-c", "kill -SEGV $$"], 128 + 11),
        (&["/no/such/program"], 127),
    ] {
        let output = server.hpvm(&[&["submit", "--wait"], words].concat());
        assert_eq!(code(&output), expected, "{words:?}: {output:?}");
    }
    let limited = ["submit", "--wait", "-t", "0:01", "sleep", "100"];
    assert_eq!(code(&server.hpvm(&limited)), 124);
    let folder = server.hpvm(&["submit", "--wait", "-D", "/no/such/folder", "true"]);
    assert!(String::from_utf8_lossy(&folder.stderr).contains("/no/such/folder"), "{folder:?}");
    assert_ne!(code(&folder), 0);
}

#[test]
fn a_cancelled_job_leaves_nothing_but_its_record() {
    let server = Server::start();
    // One that does not want to end, and a process that slips away.
    let script = "trap '' TERM; echo here; setsid sleep 1000 & while :; do sleep 1; done";
    let id = server.submit(&["bash", "-c", script]);
    let number = id.to_string();
    assert!(common::until(|| server.good(&["logs", &number]) == "here\n"));
    server.good(&["cancel", &number]);
    let ended = server.until(id, "ended");
    assert_eq!(ended["outcome"]["kind"], "cancelled", "{ended}");
    server.nothing_left();
    assert_eq!(server.good(&["logs", &number]), "here\n");
    let again = server.hpvm(&["cancel", &number]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("has ended already"));
    assert_eq!(code(&again), 1);
}

#[test]
fn held_jobs_wait_and_dependent_ones_follow() {
    let server = Server::start();
    let first = server.submit(&["-H", "true"]);
    let depend = |kind: &str, on: i64| server.submit(&["-d", &format!("{kind}:{on}"), "true"]);
    let (second, never) = (depend("afterok", first), depend("afternotok", first));
    assert_eq!(server.show(first)["state"], "held");
    let reason = server.until(second, "pending")["reason"].to_string();
    assert!(reason.contains(&format!("the end of job {first}")), "{reason}");
    server.good(&["release", &first.to_string()]);
    server.until(second, "ended");
    let waits = || server.show(never)["reason"].to_string().contains("can never start");
    assert!(common::until(waits), "{}", server.show(never));
    server.good(&["cancel", &never.to_string()]);
    assert_eq!(server.show(never)["outcome"]["kind"], "cancelled");
}

#[test]
fn an_array_is_many_jobs() {
    let server = Server::start();
    let script = server.dir.path().join("job.sh");
    let text =
        "#!/bin/sh\n#SBATCH --array=1-3%2\n#HPVM -o out-%a\necho task $HPVM_ARRAY_TASK_ID $1\n";
    std::fs::write(&script, text).unwrap();
    let id = server.submit(&[script.to_str().unwrap(), "x"]);
    assert!(common::until(|| server.jobs().iter().all(|job| job["state"] == "ended")));
    assert_eq!(server.jobs().len(), 3);
    let first: Value =
        serde_json::from_str(&server.good(&["show", "--json", &format!("{id}_1")])).unwrap();
    assert_eq!((&first["array"]["id"], &first["id"]), (&id.into(), &id.into()), "{first}");
    for task in 1..=3 {
        let out = std::fs::read_to_string(server.dir.path().join(format!("out-{task}")));
        assert_eq!(out.unwrap(), format!("task {task} x\n"));
    }
    let id = server.submit(&["-a", "0-9", "sleep", "1000"]);
    server.good(&["cancel", &id.to_string()]);
    assert!(common::until(|| server.jobs().iter().all(|job| job["state"] == "ended")));
}

#[test]
fn tasks_of_an_array_are_named_as_slurms_users_know_them() {
    let server = Server::start();
    let said =
        server.good(&["submit", "-H", "-a", "0-9", "-o", "out-%A_%a", "sh", "-c", VARIABLES]);
    let id: i64 = said.split(':').next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(said, format!("Submitted array {id}: tasks {id}_0 to {id}_9\n"));
    let name = |task: u32| format!("{id}_{task}");
    let show = |task| -> Value {
        serde_json::from_str(&server.good(&["show", "--json", &name(task)])).unwrap()
    };
    let states = |state: &str| -> Vec<u32> {
        (0..10).filter(|task| show(*task)["state"] == state).collect()
    };
    assert!(server.good(&["queue"]).contains(&format!("{id}_3 ")), "{}", server.good(&["queue"]));
    assert!(server.good(&["show", &name(3)]).starts_with(&format!("Job {id}_3 sh\n")));
    assert_eq!(server.good(&["show", "--json", &id.to_string()]).lines().count(), 10, "all of it");
    // Of a list, those tasks; the number of one task means that one, the array's all.
    server.good(&["cancel", &format!("{id}_[1-3,7]")]);
    assert_eq!(states("ended"), [1, 2, 3, 7]);
    let number = show(4)["id"].to_string();
    server.good(&["cancel", &number]);
    assert_eq!(states("ended"), [1, 2, 3, 4, 7]);
    server.good(&["cancel", &name(0)]);
    assert_eq!(states("held"), [5, 6, 8, 9], "not all, although 0 has the array's number");
    let refused = |words: &[&str], expected: &str| {
        let output = server.hpvm(words);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(expected), "{words:?}: {text}");
    };
    refused(
        &["cancel", &format!("{id}_[8-11]")],
        &format!("array {id} has no task 10-11; it has 0-9"),
    );
    refused(&["cancel", &format!("{id}_12")], &format!("there is no job {id}_12"));
    refused(&["cancel", &format!("{id}_x")], "a task of an array like 12_3");
    refused(&["cancel", &format!("{number}_[1-2]")], "is no array");
    refused(&["logs", &id.to_string()], &format!("name one of its tasks, as {id}_0"));
    refused(&["submit", "--watch", "-a", "0-1", "true"], "hpvm logs -f JOB_TASK");
    refused(
        &["submit", "-d", &format!("afterok:{id}_12"), "true"],
        &format!("no job {id}_12 to depend on"),
    );
    assert_eq!(states("held"), [5, 6, 8, 9]);

    // Who depends on the array waits for all of it, who depends on a task for that one.
    let of_task = server.submit(&["-d", &format!("afterok:{id}_5"), "true"]);
    let of_all = server.submit(&["-d", &format!("afterany:{id}"), "true"]);
    let never = server.submit(&["-d", &format!("afterok:{id}"), "true"]);
    server.good(&["release", &name(5)]);
    assert_eq!(server.until(of_task, "ended")["exit_code"], 0);
    let reason = server.show(of_all)["reason"].to_string();
    assert!(reason.contains(&format!("waits for the end of job {id}")), "{reason}");
    let expected = format!("{id} {id} 5 5 10 0 9 1 1\n");
    let out = server.dir.path().join(format!("out-{id}_5"));
    assert_eq!(std::fs::read_to_string(out).unwrap(), expected);
    assert_eq!(server.good(&["logs", &name(5)]), expected);
    server.good(&["release", &id.to_string()]);
    assert_eq!(server.hpvm(&["wait", &id.to_string()]).status.code(), Some(143), "the highest");
    assert_eq!(server.hpvm(&["wait", &format!("{id}_[5-6,8]")]).status.code(), Some(0));
    server.until(of_all, "ended");
    let waits = || server.show(never)["reason"].to_string().contains("can never start");
    assert!(common::until(waits), "{}", server.show(never));
    server.good(&["cancel", &never.to_string()]);
}

const VARIABLES: &str = "echo $HPVM_ARRAY_JOB_ID $SLURM_ARRAY_JOB_ID $HPVM_ARRAY_TASK_ID \
                         $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $HPVM_ARRAY_TASK_MIN \
                         $SLURM_ARRAY_TASK_MAX $HPVM_ARRAY_TASK_STEP $SLURM_ARRAY_TASK_STEP";

#[test]
fn a_launcher_in_a_script_starts_as_many_ranks_as_were_asked_for() {
    let server = Server::start();
    let run = concat!("exec ", env!("CARGO_BIN_EXE_hpvm"), " run");
    let script = format!("#!/bin/sh\n#HPVM -n 3\n{run} sh -c 'echo rank $PMI_RANK of $PMI_SIZE'\n");
    let path = server.dir.path().join("job.sh");
    std::fs::write(&path, script).unwrap();
    let id = server.submit(&[path.to_str().unwrap()]);
    server.until(id, "ended");
    let out = server.good(&["logs", &id.to_string()]);
    assert_eq!(common::sorted(&out), ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"]);
}

#[test]
fn the_server_comes_back_to_its_jobs() {
    let mut server = Server::start();
    let gate = common::Gate::new();
    let script = format!("echo a; {}; echo b; exit 5", gate.wait());
    let runs = server.submit(&["bash", "-c", &script]);
    let ends = server.submit(&["bash", "-c", "exit 6"]);
    server.until(runs, "running");
    server.end(libc::SIGKILL);
    assert!(common::until(|| {
        !server.job_processes().iter().any(|(_, line)| line.contains("exit 6"))
    }));
    server.begin();
    gate.open();
    assert_eq!(server.until(ends, "ended")["exit_code"], 6);
    assert_eq!(server.until(runs, "ended")["exit_code"], 5);
    assert_eq!(server.good(&["logs", &runs.to_string()]), "a\nb\n");
    // An end of its own will is no different, and a second server is refused.
    let second = server.hpvm(&["serve", "--data", server.data().to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&second.stderr).contains("another hpvm serve"));
    let id = server.submit(&["sleep", "1000"]);
    server.until(id, "running");
    server.end(libc::SIGTERM);
    assert!(!server.job_processes().is_empty());
    server.begin();
    server.good(&["cancel", &id.to_string()]);
    assert_eq!(server.until(id, "ended")["outcome"]["kind"], "cancelled");
}

#[test]
fn memory_beyond_what_was_asked_for_ends_a_job() {
    let server = Server::start();
    let script = "import time; x = bytearray(300 << 20); time.sleep(1000)";
    let id = server.submit(&["--mem", "100M", "python3", "-c", script]);
    let ended = server.until(id, "ended");
    assert_eq!(ended["outcome"]["kind"], "memory_limit", "{ended}");
    server.nothing_left();
}

#[test]
fn without_a_server_the_commands_say_what_to_run() {
    let mut server = Server::start();
    server.end(libc::SIGTERM);
    for words in [&["submit", "true"][..], &["queue"], &["cancel", "1"]] {
        let output = server.hpvm(words);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("hpvm serve") && code(&output) == 1, "{text}");
    }
}

#[test]
fn a_launcher_that_is_killed_is_a_job_that_ended() {
    let server = Server::start();
    let id = server.submit(&["-n", "2", "sleep", "1000"]);
    server.until(id, "running");
    let launcher = || {
        let found = server.job_processes().into_iter().find(|(_, l)| l.contains(" run --bind-to "));
        found.map(|(pid, _)| pid)
    };
    assert!(common::until(|| launcher().is_some()));
    kill(launcher().unwrap(), libc::SIGKILL);
    assert_eq!(server.until(id, "ended")["exit_code"], 137);
    server.nothing_left();
}

/// The first task's job has the array's number: the others are left without one when its record is removed.
#[test]
fn an_array_is_cancelled_whole_without_the_record_of_its_first_task() {
    let server = Server::start();
    let id = server.submit(&["-H", "-a", "0-3", "true"]);
    server.good(&["cancel", &format!("{id}_0")]);
    let token = server.good(&["token", "create", "test"]);
    let header = format!("Authorization: Bearer {}", token.trim());
    let ask = |method, path: &str| server.http(method, path, &[&header], "").status;
    let job = format!("/api/v1/jobs/{id}");
    assert_eq!(ask("DELETE", &job), 204);
    assert_eq!(ask("POST", &format!("{job}/cancel")), 404, "the array's number is no job");
    assert_eq!(ask("POST", &format!("{job}/cancel?tasks=7")), 404);
    assert_eq!(ask("POST", &format!("{job}/cancel?tasks=2")), 200);
    let held = || server.jobs().iter().filter(|job| job["state"] == "held").count();
    assert_eq!((server.jobs().len(), held()), (3, 2));
    assert_eq!(ask("POST", &format!("{job}/cancel?array=true")), 200);
    assert_eq!(held(), 0);
    assert_eq!(ask("POST", "/api/v1/jobs/999/cancel?array=true"), 404);
}

#[test]
fn old_records_are_removed_where_that_is_asked_for() {
    let mut server = Server::new();
    server.begin_with(&["--listen", "0", "--keep-jobs", "2"]);
    let ids: Vec<i64> = (0..4).map(|_| server.submit(&["echo", "x"])).collect();
    ids.iter().for_each(|id| drop(server.until(*id, "ended")));
    // Looked at as the server starts, and every ten seconds.
    server.end(libc::SIGTERM);
    server.begin_with(&["--listen", "0", "--keep-jobs", "2"]);
    assert_eq!(server.jobs().len(), 2);
    let folder = |id: &i64| server.data().join("jobs").join(id.to_string()).exists();
    assert_eq!(ids.iter().map(folder).collect::<Vec<_>>(), [false, false, true, true]);
    let refused = server.hpvm(&["serve", "--keep-jobs", "0"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("keep-jobs"), "{refused:?}");
}

#[test]
fn what_is_asked_wrongly_or_never_fits_is_said_in_words() {
    let server = Server::start();
    let said = |args: &[&str]| {
        let output = server.hpvm(args);
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let queue = said(&["submit", "-p", "nowhere", "true"]);
    assert_eq!(queue, "hpvm: queue: there is no queue 'nowhere'; there is main\n");
    let reason = |args: &[&str]| {
        let id = server.submit(args);
        server.until(id, "pending")["reason"].as_str().unwrap().to_string()
    };
    let memory = reason(&["--mem", "1000T", "true"]);
    assert!(memory.contains("it asks for 1024000 GiB of memory; the host has "), "{memory}");
    assert!(memory.ends_with(" GiB") || memory.ends_with(" MiB"), "{memory}");
    // As the help names it.
    let newest = server.submit(&["-H", "true"]);
    let list = server.good(&["queue", "--sort", "-id"]);
    let first = list.lines().nth(1).unwrap_or_default();
    assert!(first.starts_with(&format!("{newest} ")), "{list}");
}
