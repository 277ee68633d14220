//! Ranks on the further hosts of a job: bound to the job's processors there, and held to its limits. On test hosts.

use std::collections::BTreeSet;
use std::io::Read;

use hpvm_launch::place::affinity;
use serde_json::Value;

use crate::common;
use crate::nodes::Spread;

/// Waits for the end of a job and gives what is known of it.
pub fn ended(spread: &Spread, id: &str) -> Value {
    let over = || spread.show(id)["state"] == "ended";
    assert!(common::until(over), "{}", spread.show(id));
    spread.show(id)
}

pub fn submit(spread: &Spread, words: &[&str]) -> String {
    spread.good(&[&["submit", "--parsable"], words].concat()).trim().to_string()
}

/// Nothing with this word on its command line is left on any host.
#[track_caller]
pub fn is_gone(spread: &Spread, word: &str) {
    for host in 1..=3 {
        let left = || spread.hosts.processes(host).iter().any(|(_, line)| line.contains(word));
        assert!(common::until(|| !left()), "on host {host}");
    }
}

/// Only the last rank does it.
pub fn last_does(what: &str) -> String {
    format!("if [ $PMI_RANK = 1 ]; then {what}; fi; sleep 1003")
}

#[test]
fn limits_hold_on_every_host_and_say_which() {
    let Some(spread) = Spread::start() else { return };
    limits_hold(&spread);
}

/// Jobs end for the limits that their ranks on further hosts go beyond, whoever keeps these limits.
pub fn limits_hold(spread: &Spread) {
    let name = |host: u32| spread.hosts.name(host);
    let eats = "python3 -c 'x = []\nwhile True: x.append(bytearray(b\"x\") * (1 << 20))'";
    let many = "for i in $(seq 300); do sleep 1003 & done; wait";
    let pairs = [format!("{},{}", name(2), name(3)), format!("{},{}", name(1), name(2))];
    for hosts in &pairs {
        for (flags, what, kind, said) in [
            (["--mem", "150M"], eats, "memory_limit", "157286400"),
            (["--max-processes", "60"], many, "process_limit", "60 "),
        ] {
            let words = [&["-N", "2", "-w", hosts, "-t", "5"][..], &flags, &["sh", "-c"]].concat();
            let id = submit(spread, &[&words[..], &[&last_does(what)]].concat());
            let shown = ended(spread, &id);
            let outcome = &shown["outcome"];
            assert_eq!(
                (&outcome["kind"], &shown["exit_code"]),
                (&kind.into(), &137.into()),
                "{shown}"
            );
            let further = shown["hosts"][1].as_str().unwrap();
            let detail = outcome["detail"].as_str().unwrap();
            assert!(
                detail.contains(&format!("on host {further}")) && detail.contains(said),
                "{detail}"
            );
            is_gone(spread, "sleep 1003");
        }
    }
    // Less than that is well, on all hosts.
    let id = submit(spread, &["-N", "3", "--mem", "150M", "--max-processes", "60", "sleep", "0.5"]);
    assert_eq!(ended(spread, &id)["exit_code"], 0);
}

#[test]
fn ranks_are_bound_on_every_host() {
    let Some(spread) = Spread::start() else { return };
    if affinity::allowed().unwrap().len() < 2 {
        return hpvm_tests::skip::skipped("one processor");
    }
    let tell = "echo $PMI_RANK $(grep Cpus_allowed_list /proc/self/status)";
    let bound = |id: &str, rank: usize| {
        let text = spread.good(&["logs", id]);
        let line = text.lines().find(|line| line.starts_with(&format!("{rank} ")));
        let line = line.unwrap_or_else(|| panic!("rank {rank} in {text}"));
        affinity::parse_list(line.rsplit(' ').next().unwrap())
    };
    let id = submit(&spread, &["-N", "3", "sh", "-c", tell]);
    let shown = ended(&spread, &id);
    for rank in 0..3 {
        let held = shown["allocation"][rank]["processors"].as_array().unwrap();
        let held: BTreeSet<usize> = held.iter().map(|n| n.as_u64().unwrap() as usize).collect();
        assert_eq!((held.len(), bound(&id, rank)), (1, held), "rank {rank}: {shown}");
    }
    let id = submit(&spread, &["-N", "3", "--cpu-bind=none", "sh", "-c", tell]);
    assert_eq!(ended(&spread, &id)["exit_code"], 0);
    (0..3).for_each(|rank| assert_eq!(bound(&id, rank), affinity::allowed().unwrap()));
}

/// A user of the host who takes names of sockets at which a job is confined before the job is there, as many as could
/// be thought of: some answer, others take no connection. They also have memory that goes by the job's mark.
const SQUATTER: &str = r#"
import socket, sys
mark, host = sys.argv[1:]
kept, ballast = [], b"x" * (200 << 20)
names = ["hpvm-confine-" + mark]
names += [f"hpvm-confine-{mark}/{h}/{n:016x}" for h in (host, "", "x") for n in range(20)]
for number, name in enumerate(names):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0" + name)
    listener.listen(0)
    kept.append(listener)
    for _ in range(number % 2 * 5):
        waits = socket.socket(socket.AF_UNIX)
        waits.setblocking(False)
        try: waits.connect("\0" + name)
        except BlockingIOError: pass
        kept.append(waits)
print("ready", flush=True)
while True:
    stream, _ = kept[0].accept()
    stream.send(b"1")
    kept.append(stream)
"#;

/// The squatter at work on a host; killed when this is dropped.
struct Squatter(std::process::Child);

impl Squatter {
    fn start(spread: &Spread, host: u32, mark: &str) -> Squatter {
        let name = spread.hosts.name(host);
        let mut command = spread.hosts.command(host, "setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        // Others may have theirs where only their own user comes.
        command.args(["/usr/bin/python3", "-c"]);
        command.args([SQUATTER, mark, &name]).env("HPVM_JOB_ID", mark);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        Squatter(child)
    }
}

impl Drop for Squatter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_user_of_a_host_cannot_keep_a_job_from_its_limits() {
    let Some(spread) = Spread::start() else { return };
    let hosts = format!("{},{}", spread.hosts.name(2), spread.hosts.name(3));
    let words = ["-N", "2", "-w", &hosts, "--mem", "150M", "sh", "-c"];
    let job = |what: &str| submit(&spread, &[&words[..], &[what]].concat());
    let id = job("echo $HPVM_JOB_ID");
    ended(&spread, &id);
    let text = spread.good(&["logs", &id]);
    let marks = text.lines().next().unwrap().split('/').next().unwrap().to_string();
    let marks = marks.strip_suffix(&id).unwrap_or_else(|| panic!("job {id} in {text}"));
    let next = |id: &str| format!("{marks}{}", id.parse::<i64>().unwrap() + 1);
    // The stranger's memory is not the job's.
    let squatter = Squatter::start(&spread, 3, &next(&id));
    let id = job("echo $PMI_RANK $(grep Cpus_allowed_list /proc/self/status); sleep 1");
    let shown = ended(&spread, &id);
    assert_eq!(shown["exit_code"], 0, "{shown}");
    // It was confined before its first instruction.
    let text = spread.good(&["logs", &id]);
    for (rank, share) in shown["allocation"].as_array().unwrap().iter().enumerate() {
        let line = format!("{rank} Cpus_allowed_list: {}", share["processors"][0]);
        assert!(text.lines().any(|said| said == line), "no '{line}' in {text}: {shown}");
    }
    drop(squatter);
    let _squatter = Squatter::start(&spread, 3, &next(&id));
    let eats = "python3 -c 'import time\nx = b\"x\" * (300 << 20)\ntime.sleep(3)'";
    let id = job(&format!("if [ $PMI_RANK = 1 ]; then {eats}; fi"));
    let shown = ended(&spread, &id);
    assert_eq!(shown["outcome"]["kind"], "memory_limit", "{shown}");
}
