//! Control groups of jobs. Where this machine lets us make some, all of a job is in one and ends with it;
//! where it does not, the same jobs end in the same ways, and the doctor says why.

use std::path::{Path, PathBuf};

use hpvm_queue::stepd::cgroup;
use hpvm_queue::stepd::record::{self, Folder};

use crate::common;
use crate::further;
use crate::nodes::{Cluster, Spread};
use crate::server::Server;

/// Takes memory until it is ended.
const EATS: &str = "x = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))";
/// More memory than 150 MiB between two looks of the supervisor.
const BURST: &str = "x = bytearray(b'x') * (300 << 20)";
/// As much that no process has mapped.
const FILES: &str = "f = open(f'/dev/shm/hpvm-test-{__import__(\"os\").getpid()}', 'w+b')\n\
                     __import__('os').unlink(f.name)\nfor _ in range(300): f.write(bytes(1 << 20))";
/// Two that never wait.
const SPINS: &str = "(while :; do :; done) & while :; do :; done";

/// The group of a job's first attempt, by its record in the data folder of whoever supervises it.
fn group(data: &Path, id: i64) -> Option<PathBuf> {
    let folder = Folder(data.join("jobs").join(id.to_string()));
    let launch = || record::read(&folder).unwrap().and_then(|seen| seen.launch);
    assert!(common::until(|| launch().is_some()), "job {id} is not launched");
    launch().and_then(|launch| launch.cgroup)
}

/// Where this test may make groups, as the server that it starts.
fn home() -> Result<cgroup::Home, String> {
    cgroup::home(std::process::id() as i32)
}

#[test]
fn all_of_a_job_is_in_its_group_and_ends_with_it() {
    let server = Server::start();
    // Two processes that have left the job's session and its parents.
    let script = "setsid sleep 1000 & setsid setsid sleep 1001 & echo here; sleep 1002";
    let run = || {
        let id = server.submit(&["bash", "-c", script]);
        let written = || server.good(&["logs", &id.to_string()]) == "here\n";
        assert!(common::until(written));
        (id, group(&server.data(), id))
    };
    let is_whole = |folder: &Option<PathBuf>| {
        assert_eq!(folder.is_some(), home().is_ok());
        let Some(folder) = folder else { return };
        let inside = || std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        // The launcher, its rank and the three that sleep; a guardian, too.
        assert!(common::until(|| inside().lines().count() >= 5), "{}", inside());
    };
    let is_gone = |folder: &Option<PathBuf>| {
        common::until(|| folder.as_ref().is_none_or(|folder| !folder.exists()))
    };
    // One job after the other: there may be one processor only.
    let (cancelled, first) = run();
    is_whole(&first);
    server.good(&["cancel", &cancelled.to_string()]);
    assert_eq!(server.until(cancelled, "ended")["outcome"]["kind"], "cancelled");
    assert!(is_gone(&first), "{first:?}");
    let (lost, second) = run();
    is_whole(&second);
    assert!(first.is_none() || first != second);
    let supervisor = record::holder(&Folder(server.data().join(format!("jobs/{lost}"))));
    common::kill(supervisor.unwrap().expect("a supervisor"), libc::SIGKILL);
    assert_eq!(server.until(lost, "ended")["outcome"]["kind"], "node_lost");
    assert!(is_gone(&second), "{second:?}");
    server.nothing_left();
}

#[test]
fn too_much_memory_is_said_in_a_sentence() {
    let server = Server::start();
    let id = server.submit(&["--mem", "100M", "-t", "2", "python3", "-c", EATS]);
    ends_over_its_memory(&server, id);
    server.nothing_left();
}

/// Waits for the end of a job that has asked for 100 MiB and wanted more.
#[track_caller]
fn ends_over_its_memory(server: &Server, id: i64) {
    let ended = server.until(id, "ended");
    assert_eq!(
        (&ended["outcome"]["kind"], &ended["exit_code"]),
        (&"memory_limit".into(), &137.into())
    );
    let why = ended["outcome"]["detail"].to_string();
    let expected = if by_kernel() {
        "it needed more memory than"
    } else {
        "bytes of memory; it had asked for"
    };
    assert!(why.contains(expected) && why.contains("104857600"), "{why}");
}

#[test]
fn too_many_processes_are_said_in_a_sentence() {
    let server = Server::start();
    let script = "for i in $(seq 300); do sleep 1001 & done; wait";
    let id = server.submit(&["--max-processes", "60", "-t", "2", "bash", "-c", script]);
    let ended = server.until(id, "ended");
    assert_eq!(
        (&ended["outcome"]["kind"], &ended["exit_code"]),
        (&"process_limit".into(), &137.into()),
        "{ended}"
    );
    let why = ended["outcome"]["detail"].to_string();
    assert!(why.contains("processes and threads") && why.contains("60"), "{why}");
    server.nothing_left();
    // Fewer than the limit are well, and too small a limit is refused before.
    let few = "for i in $(seq 20); do sleep 0.5 & done; wait";
    let id = server.submit(&["--max-processes", "60", "-t", "2", "bash", "-c", few]);
    assert_eq!(server.until(id, "ended")["exit_code"], 0);
    let refused = server.hpvm(&["submit", "--max-processes", "3", "true"]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("max_processes") && text.contains('3'), "{text}");
}

/// Whether the kernel keeps limits of groups here, as the server that this test starts finds.
fn by_kernel() -> bool {
    home().is_ok_and(|home| home.lacks().is_none())
}

#[test]
fn a_job_over_its_memory_ends_alone_also_without_its_server() {
    let mut server = Server::start();
    let other = server.submit(&["--mem", "100M", "bash", "-c", "echo here; sleep 1000"]);
    let eats = format!("import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)\n{EATS}");
    let id = server.submit(&["--mem", "100M", "python3", "-c", &eats]);
    let (mine, its) = (group(&server.data(), id), group(&server.data(), other));
    assert!(common::until(|| server.good(&["logs", &other.to_string()]) == "here\n"));
    server.end(libc::SIGKILL);
    std::fs::write(server.dir.path().join("go"), "").unwrap();
    let eaters =
        || server.job_processes().into_iter().filter(|(_, line)| line.contains("bytearray"));
    assert!(common::until(|| eaters().next().is_none()), "{:?}", server.job_processes());
    server.begin();
    let ended = server.until(id, "ended");
    let outcome = (&ended["outcome"]["kind"], &ended["exit_code"]);
    assert_eq!(outcome, (&"memory_limit".into(), &137.into()), "{ended}");
    assert!(ended["outcome"]["detail"].to_string().contains("104857600"), "{ended}");
    assert!(common::until(|| mine.as_ref().is_none_or(|folder| !folder.exists())), "{mine:?}");
    // The other one does not notice, and has its limit still.
    assert_eq!(server.show(other)["state"], "running");
    if by_kernel() {
        let limit = std::fs::read_to_string(its.as_ref().unwrap().join("memory.max")).unwrap();
        assert_eq!(limit.trim(), "104857600");
    }
    server.good(&["cancel", &other.to_string()]);
    assert_eq!(server.until(other, "ended")["outcome"]["kind"], "cancelled");
    server.nothing_left();
}

/// What only the kernel sees: a burst between two looks of the supervisor, and memory that no process has mapped.
#[test]
fn the_kernel_keeps_memory_of_any_kind_and_at_once() {
    if !by_kernel() {
        return;
    }
    let server = Server::start();
    for script in [BURST, FILES] {
        let id = server.submit(&["--mem", "150M", "-t", "5", "python3", "-c", script]);
        let ended = server.until(id, "ended");
        assert_eq!(ended["outcome"]["kind"], "memory_limit", "{script}: {ended}");
        assert!(ended["outcome"]["detail"].to_string().contains("157286400"), "{ended}");
    }
    // Less than the limit is well.
    let id = server.submit(&["--mem", "400M", "-t", "5", "python3", "-c", BURST]);
    let ended = server.until(id, "ended");
    assert_eq!((&ended["outcome"]["kind"], &ended["exit_code"]), (&"exit".into(), &0.into()));
    server.nothing_left();
}

#[test]
fn the_kernel_keeps_processors() {
    if !by_kernel() {
        return;
    }
    let server = Server::start();
    let id = server.submit(&["-n", "1", "-c", "1", "bash", "-c", SPINS]);
    is_slowed_down(&group(&server.data(), id).expect("a group"));
    server.good(&["cancel", &id.to_string()]);
    assert_eq!(server.until(id, "ended")["outcome"]["kind"], "cancelled");
    server.nothing_left();
}

/// Waits until the kernel has held up what wants two processors in a group of one.
#[track_caller]
fn is_slowed_down(folder: &Path) {
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    assert_eq!(read("cpu.max").trim(), "100000 100000");
    let number = |name: &str| -> u64 {
        let text = read("cpu.stat");
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or(" 0");
        line.trim().parse().unwrap()
    };
    assert!(common::until(|| number("nr_throttled ") > 5), "{}", read("cpu.stat"));
}

/// The supervisors of `hpvm node` make groups on its host, and what they tell reaches the server.
#[test]
fn hpvm_node_keeps_the_limits_of_its_host() {
    let cluster = Cluster::start(&["n1"]);
    let server = &cluster.server;
    let words = ["-w", "n1", "--mem", "100M", "-t", "2", "python3", "-c", EATS];
    let id = server.submit(&words);
    ends_over_its_memory(server, id);
    assert_eq!(server.show(id)["hosts"][0], "n1");
    let id = server.submit(&["-w", "n1", "-n", "1", "-c", "1", "bash", "-c", SPINS]);
    let folder = group(&cluster.data(0), id);
    assert_eq!(folder.is_some(), home().is_ok());
    if let Some(folder) = folder.as_ref().filter(|_| by_kernel()) {
        is_slowed_down(folder);
    }
    server.good(&["cancel", &id.to_string()]);
    assert_eq!(server.until(id, "ended")["outcome"]["kind"], "cancelled");
    let gone = || folder.as_ref().is_none_or(|folder| !folder.exists());
    assert!(common::until(gone), "{folder:?}");
    cluster.nothing_left();
}

/// On the further hosts of a job, too: `hpvm node` there puts its ranks into a group of the job's.
#[test]
fn the_kernel_keeps_limits_on_the_second_host_of_a_job() {
    if !by_kernel() {
        return;
    }
    let Some(spread) = Spread::start() else { return };
    let hosts = format!("{},{}", spread.hosts.name(2), spread.hosts.name(3));
    let words = ["-N", "2", "-w", &hosts, "-t", "5"];
    let job = |more: &[&str]| further::submit(&spread, &[&words[..], more].concat());
    // Two that want two processors, where one is reserved.
    let spins = further::last_does(SPINS);
    let id = job(&["--mem", "150M", "--max-processes", "60", "sh", "-c", &spins]);
    let (first, second) = (group_on(&spread, 2), group_on(&spread, 3));
    assert_ne!(first, second);
    for folder in [&first, &second] {
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
        let limits = ["memory.max", "memory.swap.max", "pids.max", "cpu.max"];
        let limits = limits.map(|file| read(file).trim().to_string());
        assert_eq!(limits, ["157286400", "0", "60", "100000 100000"], "{}", folder.display());
    }
    is_slowed_down(&second);
    spread.good(&["cancel", &id]);
    assert_eq!(further::ended(&spread, &id)["outcome"]["kind"], "cancelled");
    assert!(common::until(|| !first.exists() && !second.exists()), "{first:?} {second:?}");
    // Memory that nobody has time to look at, and memory that no process has.
    for script in [BURST, FILES] {
        let python = further::last_does(&format!("exec python3 -c '{}'", quoted(script)));
        let id = job(&["--mem", "150M", "sh", "-c", &python]);
        let outcome = further::ended(&spread, &id)["outcome"].clone();
        let detail = outcome["detail"].to_string();
        let said = format!("on host {} it needed more memory than", spread.hosts.name(3));
        assert_eq!(outcome["kind"], "memory_limit", "{script}: {outcome}");
        assert!(detail.contains(&said) && detail.contains("157286400"), "{detail}");
    }
    // What looks alone would keep as well.
    further::limits_hold(&spread);
    // A rank that is refused processes and gets over it ends as it likes.
    let many =
        "(for i in $(seq 80); do sleep 1003 & done) 2>/dev/null; pkill -g 0 -x sleep; exit 0";
    let id = job(&[
        "--max-processes",
        "60",
        "sh",
        "-c",
        &format!("if [ $PMI_RANK = 1 ]; then {many}; fi"),
    ]);
    let shown = further::ended(&spread, &id);
    assert_eq!(shown["exit_code"], 0, "{shown}");
    further::is_gone(&spread, "sleep 100");
}

/// A text within single quotes of a shell.
fn quoted(text: &str) -> String {
    text.replace('\'', "'\\''")
}

/// The group of what a job has on a test host.
fn group_on(spread: &Spread, host: u32) -> PathBuf {
    let folder = || {
        let processes = spread.hosts.processes(host);
        let is_rank = |line: &str| line.starts_with("sh -c if [ $PMI_RANK") || line == "sleep 1003";
        let rank = processes.iter().find(|(_, line)| is_rank(line))?;
        let text = std::fs::read_to_string(format!("/proc/{}/cgroup", rank.0)).ok()?;
        let own = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
        Some(std::path::Path::new("/sys/fs/cgroup").join(own))
    };
    assert!(common::until(|| folder().is_some()), "no rank on host {host}");
    folder().expect("a rank")
}

#[test]
fn the_doctor_says_who_keeps_the_limits() {
    let server = Server::start();
    let said = server.hpvm(&["doctor", "--data", server.data().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let line = said.lines().find(|line| line.contains("control groups")).unwrap_or(&said);
    let expected = match home().map(|home| home.lacks()) {
        Ok(None) => "the kernel keeps the limits".to_string(),
        Ok(Some(why)) => format!("without limits: {why}"),
        Err(why) => format!("jobs have none: {why}"),
    };
    assert!(line.contains(&expected), "{line}");
}
