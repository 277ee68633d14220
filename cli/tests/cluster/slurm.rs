//! The server before a real Slurm on test hosts: the same words, Slurm's jobs. Needs root and Slurm's
//! programs; without them the tests are counted as skipped.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use hpvm_tests::slurm::Cluster;
use serde_json::Value;

use crate::common;

const HPVM: &str = env!("CARGO_BIN_EXE_hpvm");

/// A server on the first host of a cluster.
pub struct Front {
    pub cluster: Cluster,
    pub dir: tempfile::TempDir,
    address: String,
    process: Option<Child>,
}

impl Front {
    pub fn start() -> Option<Front> {
        Cluster::up(2, 4).map(Front::before)
    }

    pub fn before(cluster: Cluster) -> Front {
        // Other users' jobs read and write in it.
        let dir = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), open).unwrap();
        let mut front = Front { cluster, dir, address: String::new(), process: None };
        front.begin();
        front
    }

    pub fn begin(&mut self) {
        let data = self.dir.path().join("data");
        let data = data.to_str().unwrap();
        let flags = ["serve", "-q", "--listen", "127.0.0.1:0", "--data", data];
        let mut command = self.command(&flags);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.dir.path().join("bin").display()));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("#link="), "the server says {line:?}");
        self.address = line.split("/#").next().unwrap().to_string();
        self.process = Some(child);
    }

    /// `hpvm` on the first host.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.cluster.command(&[&[HPVM], args].concat());
        command.env("HPVM_SERVER", self.dir.path().join("data"));
        command.env_remove("HPVM_JOB_ID").current_dir(self.dir.path());
        command
    }

    pub fn hpvm(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub fn good(&self, args: &[&str]) -> String {
        good(self.hpvm(args), args)
    }

    /// One of Slurm's own commands.
    pub fn slurm(&self, args: &[&str]) -> String {
        good(self.cluster.command(args).current_dir(self.dir.path()).output().unwrap(), args)
    }

    pub fn submit(&self, args: &[&str]) -> i64 {
        self.good(&[&["submit", "--parsable"], args].concat()).trim().parse().unwrap()
    }

    pub fn show(&self, id: i64) -> Value {
        serde_json::from_str(&self.good(&["show", "--json", &id.to_string()])).unwrap()
    }

    pub fn until(&self, id: i64, state: &str) -> Value {
        let reached = common::until(|| self.show(id)["state"] == state);
        assert!(reached, "job {id} does not become {state}: {}", self.show(id));
        self.show(id)
    }

    /// In the place of one of Slurm's commands the server finds a script, where `$0.real` is the real one.
    fn replace(&self, program: &str, script: &str) {
        let folder = self.dir.path().join("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let real = self.cluster.command(&["which", program]).output().unwrap();
        let real = String::from_utf8_lossy(&real.stdout).trim().to_string();
        let path = folder.join(program);
        // There already when it is replaced once more.
        let _ = std::os::unix::fs::symlink(real, folder.join(format!("{program}.real")));
        let new = common::script(&folder, "new", &format!("#!/bin/sh\n{script}\n"));
        std::fs::rename(new, path).unwrap();
    }

    pub fn kill(&mut self) {
        // `exec` runs it as its own child: the pid is of the tool, the server is its group's.
        let mut child = self.process.take().unwrap();
        let data = self.dir.path().join("data");
        let data = data.to_str().unwrap();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let pid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
            if let Some(pid) = pid.filter(|_| line.contains(HPVM) && line.contains(data)) {
                common::kill(pid, libc::SIGKILL);
            }
        }
        let _ = child.wait();
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.kill();
        }
    }
}

fn good(output: Output, args: &[&str]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn slurm_has_the_jobs_and_the_words_are_ours() {
    let Some(mut front) = Front::start() else { return };
    // An end with its code, and the output.
    let two = front.submit(&["-n", "2", "-o", "out", "echo", "written"]);
    assert_eq!(front.until(two, "ended")["exit_code"], 0);
    let text = front.good(&["logs", &two.to_string()]);
    assert_eq!(text.lines().filter(|line| *line == "written").count(), 2, "{text}");
    let id = front.submit(&["-o", "out", "sh", "-c", "exit 3"]);
    let output = front.hpvm(&["wait", &id.to_string()]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let (job, two) = (front.show(id), front.show(two));
    assert_eq!((&job["exit_code"], &two["ranks"]), (&3.into(), &2.into()), "{job}");
    let slurm = front.slurm(&["scontrol", "-o", "show", "job", &id.to_string()]);
    assert!(slurm.contains("JobState=FAILED"), "{slurm}");
    // What Slurm refuses, in its words.
    let refused = front.hpvm(&["submit", "-p", "nonsense", "true"]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("invalid partition"), "{text}");

    // All processors are taken; who comes later waits, with a reason and an estimate.
    let first = front.submit(&["-n", "8", "-t", "10", "sleep", "1000"]);
    let job = front.until(first, "running");
    assert_eq!(job["hosts"].as_array().unwrap().len(), 2, "{job}");
    let held = front.submit(&["--hold", "true"]);
    assert!(front.until(held, "held")["reason"].as_str().unwrap().contains("JobHeldUser"));
    let array = front.submit(&["-a", "0-3%2", "-t", "1", "true"]);
    let depends = front.submit(&["-d", &format!("afterany:{array},afterok:{array}_0"), "true"]);
    let waits = |id: i64, word: &str| {
        let job = front.until(id, "pending");
        job["reason"].as_str().unwrap().contains(word)
    };
    assert!(common::until(|| waits(array, "Resources")), "{}", front.show(array));
    let line = format!("{array}_[0-3%2]");
    assert!(front.good(&["queue"]).contains(&line), "{}", front.good(&["queue"]));
    // Slurm says `slurm-N_4294967294.out` of it, which will be no task's.
    front.good(&["logs", &array.to_string()]);
    assert!(!front.good(&["show", &array.to_string()]).contains("4294967294"));
    assert!(common::until(|| waits(depends, "Dependency")), "{}", front.show(depends));
    assert!(front.good(&["nodes", "--json"]).contains("\"cpus_reserved\":4"));
    assert!(front.good(&["queues"]).contains("all"));
    let top = front.good(&["top", "--once", "--sort", "state"]);
    assert!(top.contains(&format!("Ranks of job {first} sleep")), "{top}");
    assert!(top.contains("8 of 8 processors reserved   running 1"), "{top}");

    // Tasks by their names, those that wait without a record of their own, too.
    front.good(&["hold", &format!("{array}_1")]);
    front.good(&["cancel", &format!("{array}_[2-3]")]);
    let refused = front.hpvm(&["cancel", &format!("{array}_9")]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains(&format!("there is no job {array}_9")), "{text}");
    let listed = front.slurm(&["squeue", "-h", "-r", "-j", &array.to_string(), "-o", "%i %r"]);
    assert!(listed.contains(&format!("{array}_1 JobHeld")), "{listed}");
    assert!(!listed.contains(&format!("{array}_2")), "cancelled: {listed}");
    assert!(!listed.contains(&format!("{array}_3")), "cancelled: {listed}");
    front.good(&["release", &format!("{array}_1")]);

    // Somebody else's, that did not come through us; and the server is killed meanwhile.
    let foreign = front.slurm(&["sbatch", "--parsable", "-H", "-J", "foreign", "--wrap", "true"]);
    let foreign: i64 = foreign.trim().parse().unwrap();
    assert!(common::until(|| front.good(&["queue"]).contains("foreign")));
    front.kill();
    front.begin();
    assert!(common::until(|| front.show(first)["state"] == "running"));
    front.good(&["cancel", &foreign.to_string()]);
    assert_eq!(front.until(foreign, "ended")["exit_code"], 143);

    front.good(&["release", &held.to_string()]);
    front.good(&["cancel", &first.to_string()]);
    front.until(first, "ended");
    front.until(held, "ended");
    assert_eq!(front.until(depends, "ended")["exit_code"], 0);
    let script = "#!/bin/bash\n#SBATCH -a 1,4-8:4\n#SBATCH -o step-%a\necho $HPVM_ARRAY_TASK_ID of $HPVM_ARRAY_JOB_ID \
                  step $HPVM_ARRAY_TASK_STEP $SLURM_ARRAY_TASK_STEP line $LINENO\n";
    std::fs::write(front.dir.path().join("array.sh"), script).unwrap();
    let steps = front.submit(&["array.sh"]);
    front.good(&["wait", &steps.to_string()]);
    let said = std::fs::read_to_string(front.dir.path().join("step-4")).unwrap();
    assert_eq!(said, format!("4 of {steps} step 4 4 line 4\n"));
    // In another language: names, arguments, the script's own name, and lines as they are in the file.
    let script = "#!/usr/bin/env python3\n#SBATCH -a 3-7:4\n#SBATCH -o python-%a\nimport os, sys, traceback\n\
                  print(*(os.environ['HPVM_ARRAY_' + name] for name in ('JOB_ID', 'TASK_ID', 'TASK_STEP', 'TASK_MAX')))\n\
                  print(os.path.basename(sys.argv[0]), sys.argv[1:])\n\
                  try:\n    unknown\nexcept NameError:\n    print(traceback.format_exc())\n";
    std::fs::write(front.dir.path().join("array.py"), script).unwrap();
    let python = front.submit(&["array.py", "a b", "$x"]);
    assert_eq!(front.hpvm(&["wait", &python.to_string()]).status.code(), Some(0));
    let said = std::fs::read_to_string(front.dir.path().join("python-7")).unwrap();
    let expected = format!("{python} 7 4 7\nslurm_script ['a b', '$x']\n");
    assert!(said.starts_with(&expected) && said.contains("line 8, in <module>"), "{said}");
    let tasks = front.good(&["queue", "-a", "--json"]);
    let tasks: Value = serde_json::from_str(&tasks).unwrap();
    let of_array = |job: &&Value| job["array"]["id"] == array;
    let done = tasks["jobs"].as_array().unwrap().iter().filter(of_array).count();
    assert_eq!(done, 2, "of those that waited and were cancelled Slurm makes no records: {tasks}");
    assert!(front.slurm(&["squeue", "-h"]).trim().is_empty(), "nothing of ours beside it");
}

#[test]
fn hosts_are_drained_and_users_have_their_uids() {
    let Some(front) = Front::start() else { return };
    let host = front.cluster.host(2);
    front.good(&["drain", &host, "a", "fan"]);
    let shown = front.good(&["nodes"]);
    assert!(shown.contains("drained"), "{shown}");
    assert!(front.slurm(&["sinfo", "-h", "-R", "-o", "%E"]).contains("a fan"));
    front.good(&["resume", &host]);
    assert!(common::until(|| !front.good(&["nodes"]).contains("drained")));

    // A user of the system, who signs in with an account of the same name.
    let link = front.good(&["user", "add", "daemon", "--link"]);
    let home = front.dir.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let theirs = |args: &[&str], input: &str| {
        use std::io::Write;
        let mut command = front.command(args);
        command.env("HPVM_SERVER", &front.address).env("HOME", &home);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    good(theirs(&["login", "--link"], &link), &["login"]);
    let submit = ["submit", "--parsable", "-D", "/tmp", "-o", "/dev/null", "sleep", "1000"];
    let id = good(theirs(&submit, ""), &submit);
    let id: i64 = id.trim().parse().unwrap();
    front.until(id, "running");
    assert_eq!(front.slurm(&["squeue", "-h", "-j", &id.to_string(), "-o", "%u"]).trim(), "daemon");
    // Of the others' jobs they see nothing, and the output of theirs is a file of theirs or none.
    let own = front.submit(&["--hold", "true"]);
    let refused = theirs(&["show", &own.to_string()], "");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no job"), "{refused:?}");
    let thief = ["submit", "--parsable", "-H", "-D", "/tmp", "-o", "/etc/passwd", "true"];
    let thief = good(theirs(&thief, ""), &thief);
    let output = theirs(&["logs", thief.trim()], "");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("root:"), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no file of daemon"), "{output:?}");
    for id in [id, own, thief.trim().parse().unwrap()] {
        front.good(&["cancel", &id.to_string()]);
        front.until(id, "ended");
    }
}

#[test]
fn an_end_is_asked_for_until_slurm_says_it() {
    let Some(front) = Front::start() else { return };
    let file = |name: &str| front.dir.path().join(name);
    let (silent, data) = (file("silent"), file("data"));
    // The words of Slurm's own commands when the controller does not answer.
    let failing = |program: &str, said: &str| {
        let text = format!("[ -e {} ] && {{ echo '{said}' >&2; exit 1; }}", silent.display());
        front.replace(program, &format!("{text}\nexec \"$0.real\" \"$@\""));
    };
    let script = format!("until [ -e {} ]; do sleep 0.05; done; exit 3", file("go").display());
    let id = front.submit(&["-o", "/dev/null", "sh", "-c", &script]);
    front.until(id, "running");
    failing(
        "scontrol",
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
    );
    std::fs::write(&silent, "").unwrap();
    std::fs::write(file("go"), "").unwrap();
    let ended = || front.slurm(&["squeue", "-h", "-t", "all", "-o", "%T", "-j", &id.to_string()]);
    assert!(common::until(|| ended().trim() == "FAILED"), "{}", ended());
    let asked = |words: &str| {
        let job = front.show(id);
        job["state"] == "running" && job["reason"].as_str().is_some_and(|why| why.contains(words))
    };
    assert!(common::until(|| asked("does not answer")), "{}", front.show(id));
    assert!(front.good(&["queue"]).contains("does not answer"), "{}", front.good(&["queue"]));
    let doctor = front.hpvm(&["doctor", "--data", data.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(text.contains(&format!("the end of job {id} is not known")), "{text}");

    // Squeue and the controller have forgotten it meanwhile, and the accounting does not answer either.
    failing("sacct", "sacct: error: Problem talking to the database: Connection refused");
    front.replace("squeue", "true");
    front.replace("scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    assert!(common::until(|| asked("Connection refused")), "{}", front.show(id));
    let row = format!("{id}|FAILED|3:0|1795485340|1795485342");
    front.replace("sacct", &format!("echo '0{row}'; echo '{row}'"));
    let job = front.until(id, "ended");
    assert_eq!(
        (&job["exit_code"], &job["end"]),
        (&3.into(), &"2026-11-24T01:55:42.000Z".into()),
        "{job}"
    );
    let doctor = front.hpvm(&["doctor", "--data", data.to_str().unwrap()]);
    assert!(!String::from_utf8_lossy(&doctor.stdout).contains("is not known"), "{doctor:?}");
}
