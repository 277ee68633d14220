//! `hpvm serve --system` with further hosts: jobs run as their submitters on all of them. On test hosts with an sshd and
//! users of their own, whose numbers and home folders differ.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::common;
use crate::kills;
use crate::nodes::Spread;

/// Users that no system has, and their numbers on the hosts 1 to 3; 0: no such user there.
struct User {
    name: &'static str,
    uids: [u32; 3],
}

const ANN: User = User { name: "hpvm-ann", uids: [64101, 64101, 64101] };
const BOB: User = User { name: "hpvm-bob", uids: [64102, 64102, 64102] };
/// Host 3 does not know eve, and has given zoe's number to somebody else.
const EVE: User = User { name: "hpvm-eve", uids: [64103, 64103, 0] };
const ZOE: User = User { name: "hpvm-zoe", uids: [64104, 64104, 64105] };
const MAX: User = User { name: "hpvm-max", uids: [0, 0, 64104] };
const USERS: [&User; 5] = [&ANN, &BOB, &EVE, &ZOE, &MAX];
/// A group that ann is in.
const GROUP: u32 = 64190;

struct Realm {
    spread: Spread,
}

impl Realm {
    /// Hosts with users; nothing runs yet.
    fn new() -> Option<Realm> {
        let mut spread = Spread::new(&["--ssh"])?;
        spread.flags = ["--system", "--queue", "embedded"].map(String::from).into();
        mode(spread.dir.path(), 0o711);
        // The folder of the build may be closed to others.
        let program = spread.dir.path().join("hpvm");
        if std::fs::hard_link(&spread.program, &program).is_err() {
            common::copy_program(&spread.program, &program);
        }
        spread.program = program;
        let realm = Realm { spread };
        (1..=3).for_each(|host| realm.settle(host));
        Some(realm)
    }

    fn start() -> Option<Realm> {
        let mut realm = Realm::new()?;
        realm.begin();
        realm.spread.begin_nodes();
        Some(realm)
    }

    /// Starts the server, with accounts for all that its host knows.
    fn begin(&mut self) {
        self.spread.begin();
        for user in USERS.iter().filter(|user| user.uids[0] != 0) {
            self.spread.good(&["user", "add", user.name, "--link"]);
        }
    }

    /// Gives a host its users, with home folders and keys.
    fn settle(&self, host: u32) {
        let dir = self.spread.dir.path();
        let etc = Path::new("/etc/netns").join(self.spread.hosts.name(host));
        let home = |name: &str| dir.join(format!("home{host}")).join(name);
        // Root's home is the test's as well.
        let others = std::fs::read_to_string("/etc/passwd").unwrap();
        let others = others.lines().filter(|line| !line.starts_with("root:"));
        let mut passwd: String = others.map(|line| format!("{line}\n")).collect();
        passwd += &format!("root:*:0:0:root:{}:/bin/sh\n", home("root").display());
        let mut group = std::fs::read_to_string("/etc/group").unwrap();
        group += &format!("hpvm-group:x:{GROUP}:{}\n", ANN.name);
        std::fs::create_dir_all(home("root")).unwrap();
        let config = etc.join("ssh/ssh_config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("{text}IdentityFile /etc/ssh/key_%u\n")).unwrap();
        for user in USERS {
            let (name, uid) = (user.name, user.uids[host as usize - 1]);
            if uid == 0 {
                continue;
            }
            passwd += &format!("{name}:*:{uid}:{uid}::{}:/bin/sh\n", home(name).display());
            group += &format!("{name}:x:{uid}:\n");
            std::fs::create_dir_all(home(name)).unwrap();
            std::os::unix::fs::chown(home(name), Some(uid), Some(uid)).unwrap();
            let key = etc.join(format!("ssh/key_{name}"));
            std::fs::copy(etc.join("ssh/user_key"), &key).unwrap();
            mode(&key, 0o600);
            std::os::unix::fs::chown(&key, Some(uid), Some(uid)).unwrap();
        }
        for (file, text) in [("passwd", passwd), ("group", group)] {
            std::fs::write(etc.join(file), text).unwrap();
            let mut mount = self.spread.hosts.command(host, "mount");
            mount.arg("--bind").arg(etc.join(file)).arg(Path::new("/etc").join(file));
            let done = mount.output().unwrap();
            assert!(done.status.success(), "{done:?}");
        }
    }

    /// A folder that all users may write to, the same on all hosts.
    fn common(&self) -> PathBuf {
        let folder = self.spread.dir.path().join("common");
        if !folder.exists() {
            std::fs::create_dir(&folder).unwrap();
            mode(&folder, 0o1777);
        }
        folder
    }

    /// `hpvm` of a user on the server's host, with a mask of theirs.
    fn run(&self, user: &User, args: &[&str]) -> Output {
        let mut command = self.spread.hosts.command(1, "setpriv");
        let uid = user.uids[0].to_string();
        command.args(["--reuid", &uid, "--regid", &uid, "--clear-groups", "sh", "-c"]);
        command
            .args(["umask 0027; ulimit -Sn 777; ulimit -Sc 0; exec \"$@\"", "sh"])
            .arg(&self.spread.program)
            .args(args);
        // A login's; what runs the tests has other variables.
        let home = self.spread.dir.path().join("home1").join(user.name);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        command.env("HPVM_SERVER", self.spread.data()).env("HOME", home);
        command.stdin(std::process::Stdio::null()).current_dir(self.common()).output().unwrap()
    }

    #[track_caller]
    fn good(&self, user: &User, args: &[&str]) -> String {
        let output = self.run(user, args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[track_caller]
    fn submit(&self, user: &User, hosts: &[u32], words: &[&str]) -> String {
        let names: Vec<String> = hosts.iter().map(|host| self.spread.hosts.name(*host)).collect();
        let (count, names) = (hosts.len().to_string(), names.join(","));
        let flags = ["submit", "--parsable", "-N", &count, "-w", &names];
        self.good(user, &[&flags[..], words].concat()).trim().to_string()
    }

    #[track_caller]
    fn ended(&self, id: &str) -> Value {
        let over = || self.spread.show(id)["state"] == "ended";
        assert!(common::until(over), "{}", self.spread.show(id));
        self.spread.show(id)
    }

    /// Nothing with this word on its command line is left on any host.
    #[track_caller]
    fn is_gone(&self, word: &str) {
        for host in 1..=3 {
            let left = || self.spread.hosts.processes(host).into_iter();
            let gone = || !left().any(|(_, line)| line.contains(word));
            assert!(common::until(gone), "host {host}: {:?}", left().collect::<Vec<_>>());
        }
    }

    /// The processes on a host with these words on their command lines, without the guardians that launchers and
    /// agents fork.
    fn with(&self, host: u32, words: &str) -> Vec<i32> {
        let guards = |pid: &i32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
            name.is_ok_and(|name| name.trim_end() == "hpvm-guardian")
        };
        let all = self.spread.hosts.processes(host).into_iter();
        let named = all.filter(|(_, line)| line.contains(words)).map(|(pid, _)| pid);
        named.filter(|pid| !guards(pid)).collect()
    }
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Whether somebody with this number can read a file or list a folder.
fn reads(uid: u32, path: &Path) -> bool {
    let tool = if path.is_dir() { "ls" } else { "cat" };
    let mut command = Command::new("setpriv");
    let uid = uid.to_string();
    command.args(["--reuid", &uid, "--regid", &uid, "--clear-groups", tool]).arg(path);
    command.output().unwrap().status.success()
}

#[test]
fn jobs_run_as_their_submitters_on_every_host() {
    let Some(realm) = Realm::start() else { return };
    let tell = "echo $PMI_RANK $(id -u) $(id -g) $(id -G) $USER $HOME $(umask) $(ulimit -Sn); touch $0-$PMI_RANK";
    for user in [&ANN, &BOB] {
        let file = realm.common().join(user.name).display().to_string();
        let id = realm.submit(user, &[1, 2, 3], &["sh", "-c", tell, &file]);
        let shown = realm.ended(&id);
        assert_eq!(shown["exit_code"], 0, "{}", realm.spread.good(&["logs", "-e", &id]));
        let told = realm.good(user, &["logs", &id]);
        let uid = user.uids[0];
        let groups = if user.name == ANN.name { format!("{uid} {GROUP}") } else { uid.to_string() };
        for rank in 0..3 {
            let name = shown["hosts"][rank].as_str().unwrap();
            let host = (1..=3).find(|host| realm.spread.hosts.name(*host) == name).unwrap();
            let home = realm.spread.dir.path().join(format!("home{host}")).join(user.name);
            let line =
                format!("{rank} {uid} {uid} {groups} {} {} 0027 777", user.name, home.display());
            assert!(told.lines().any(|said| said == line), "no '{line}' in\n{told}");
            let made = std::fs::metadata(format!("{file}-{rank}")).unwrap();
            assert_eq!((made.uid(), made.gid(), made.mode() & 0o777), (uid, uid, 0o640));
        }
    }
    // A script, whose mpirun finds the hosts; the first of them is not the server's.
    let program = realm.spread.program.display();
    let script = format!("{program} run sh -c 'id -u; id -un' && id -u");
    let id = realm.submit(&ANN, &[2, 3], &["-n", "2", "-o", "ann-out", "--wrap", &script]);
    let shown = realm.ended(&id);
    assert_eq!(shown["exit_code"], 0, "{shown}");
    let out = realm.common().join("ann-out");
    let lines = std::fs::read_to_string(&out).unwrap();
    let (uid, name) = (ANN.uids[0].to_string(), ANN.name.to_string());
    assert_eq!(common::sorted(&lines), [&uid, &uid, &uid, &name, &name]);
    assert_eq!(std::fs::metadata(&out).unwrap().uid(), ANN.uids[0]);
    // Root on the further host holds ranks of the user to the job's limits.
    let eats = "/usr/bin/python3 -c 'import time\nx = b\"x\" * (300 << 20)\ntime.sleep(5)'";
    let script = format!("if [ $PMI_RANK = 1 ]; then {eats}; fi");
    let id = realm.submit(&ANN, &[2, 3], &["--mem", "150M", "sh", "-c", &script]);
    let outcome = realm.ended(&id)["outcome"].clone();
    let detail = outcome["detail"].as_str().unwrap_or_default();
    let there = format!("on host {}", realm.spread.hosts.name(3));
    assert!(outcome["kind"] == "memory_limit" && detail.contains(&there), "{outcome}");
    // Nobody else sees anything of it, whichever host has it.
    let id = realm.submit(&ANN, &[2, 3], &["sh", "-c", "echo secret"]);
    realm.ended(&id);
    assert_eq!(realm.good(&ANN, &["logs", &id]), "secret\nsecret\n");
    let text = String::from_utf8_lossy(&realm.run(&BOB, &["logs", &id]).stderr).into_owned();
    assert!(text.contains(&format!("there is no job {id}")), "{text}");
    let id = realm.submit(&ANN, &[2, 3], &["--wrap", "echo here; exec sleep 1009"]);
    assert!(common::until(|| realm.good(&ANN, &["logs", &id]) == "here\n"));
    let folders = [2, 3].map(|host| realm.spread.node_data(host).join("jobs").join(&id));
    for folder in folders.iter().chain([&realm.spread.data().join("jobs").join(&id)]) {
        assert!(!reads(BOB.uids[0], folder), "{}", folder.display());
        for file in ["stdout", "stderr", "order.json", "script", "work.json", "record"] {
            assert!(!reads(BOB.uids[0], &folder.join(file)), "{}", folder.display());
        }
    }
    realm.good(&ANN, &["cancel", &id]);
    realm.ended(&id);
    realm.is_gone("sleep 1009");
}

#[test]
fn a_user_who_is_another_or_nobody_on_a_host_is_told() {
    let Some(realm) = Realm::start() else { return };
    let three = realm.spread.hosts.name(3);
    let refused = |user: &User, hosts: &[u32], words: &[&str]| {
        let ran = realm.common().join(format!("{}-ran", user.name));
        let script = format!("id -u >> {}; sleep 1", ran.display());
        let id = realm.submit(user, hosts, &[words, &["sh", "-c", &script]].concat());
        let shown = realm.ended(&id);
        assert_eq!(shown["outcome"]["kind"], "failed_to_start", "{shown}");
        let numbers = std::fs::read_to_string(&ran).unwrap_or_default();
        let own = user.uids[0].to_string();
        assert!(numbers.lines().all(|uid| uid == own), "it ran as {numbers}");
        shown["outcome"]["detail"].as_str().unwrap().to_string()
    };
    // Alone on the host, as its first host, as a further host of a host of nodes and of the server.
    for hosts in [&[3][..], &[2, 3], &[1, 3]] {
        let said = refused(&EVE, hosts, &[]);
        let expected = format!("'{}' is no user of host {three}", EVE.name);
        assert!(said.contains(&expected), "{said}");
        let said = refused(&ZOE, hosts, &[]);
        let expected = format!("'{}' has the uid 64105 on host {three}, and 64104 on", ZOE.name);
        assert!(said.contains(&expected), "{said}");
    }
    // Where they are who they are, their jobs run.
    for user in [&EVE, &ZOE] {
        let id = realm.submit(user, &[1, 2], &["sh", "-c", "id -u"]);
        let shown = realm.ended(&id);
        assert_eq!(shown["exit_code"], 0, "{shown}");
        let uid = user.uids[0];
        assert_eq!(realm.good(user, &["logs", &id]), format!("{uid}\n{uid}\n"));
    }
}

#[test]
fn whatever_is_killed_nothing_of_any_user_is_left() {
    let Some(mut realm) = Realm::start() else { return };
    let script = "trap '' TERM; setsid sleep 1013 & echo here; while :; do sleep 1; done";
    // What has got rid of the job's group and variables, and of its session.
    let hidden = format!("setsid env -i sleep 1013 & {script}");
    let begin = |realm: &Realm, script: &str| {
        let of = |user: &User, hosts: &[u32]| {
            let id = realm.submit(user, hosts, &["-c", "1", "bash", "-c", script]);
            let here = || realm.good(user, &["logs", &id]) == "here\nhere\n";
            assert!(common::until(here), "{}", realm.spread.show(&id));
            id
        };
        (of(&ANN, &[2, 3]), of(&BOB, &[2, 3]))
    };
    // A cancel of one is no matter of the other.
    let (ann, bob) = begin(&realm, &hidden);
    realm.good(&ANN, &["cancel", &ann]);
    assert_eq!(realm.ended(&ann)["outcome"]["kind"], "cancelled");
    let left = |uid: u32| {
        let all = |host: u32| realm.spread.hosts.processes(host).into_iter();
        let of = |host| all(host).filter(|(_, line)| line == "sleep 1013").map(|(pid, _)| pid);
        let own = |pid: &i32| {
            std::fs::metadata(format!("/proc/{pid}")).is_ok_and(|entry| entry.uid() == uid)
        };
        (1..=3).flat_map(of).filter(own).count()
    };
    assert!(common::until(|| left(ANN.uids[0]) == 0));
    assert_eq!(left(BOB.uids[0]), 4);
    // The launcher of it is killed.
    let launchers = kills::of_jobs(&realm.spread.folders(), false);
    assert_eq!(launchers.len(), 1);
    launchers.into_iter().for_each(|pid| common::kill(pid, libc::SIGKILL));
    let shown = realm.ended(&bob);
    assert_eq!(shown["outcome"]["signal"], 9, "{shown}");
    realm.is_gone("sleep 1013");
    // The host's daemon of the ranks is killed, then the agents there, whose launchers notice.
    let (ann, bob) = begin(&realm, script);
    realm.spread.kill(3);
    realm.with(3, "hpvm agent").into_iter().for_each(|pid| common::kill(pid, libc::SIGKILL));
    for id in [&ann, &bob] {
        assert_ne!(realm.ended(id)["exit_code"], 0);
    }
    realm.is_gone("sleep 1013");
    realm.spread.again(3);
    realm.spread.all_up();
    // The daemon of the first host and the supervisors are killed.
    let (ann, bob) = begin(&realm, script);
    realm.spread.kill(2);
    let supervisors = kills::of_jobs(&realm.spread.folders(), true);
    assert_eq!(supervisors.len(), 2);
    supervisors.into_iter().for_each(|pid| common::kill(pid, libc::SIGKILL));
    realm.spread.again(2);
    for id in [&ann, &bob] {
        assert_eq!(realm.ended(id)["outcome"]["kind"], "node_lost");
    }
    realm.is_gone("sleep 1013");
}

#[test]
fn a_host_that_root_does_not_run_is_refused() {
    let Some(mut realm) = Realm::new() else { return };
    realm.begin();
    let data = realm.common().join("node");
    let mut command = realm.spread.node_command(2);
    command.arg("--data").arg(&data);
    // The same words, after another user was taken.
    let words: Vec<_> = command.get_args().map(|word| word.to_os_string()).collect();
    let mut other = realm.spread.hosts.command(2, "setpriv");
    let uid = ANN.uids[1].to_string();
    other.args(["--reuid", &uid, "--regid", &uid, "--clear-groups"]).args(&words[2..]);
    other.env("HPVM_TOKEN", &realm.spread.token).env("HPVM_NODE_CONFIG", "/dev/null");
    other.env("HOME", realm.common());
    let output = other.current_dir(realm.common()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("start hpvm node as root"), "{text}");
    assert_eq!(std::fs::read_dir(data.join("jobs")).unwrap().count(), 0);
}

#[test]
fn hosts_that_the_server_starts_run_jobs_of_their_submitters() {
    let Some(mut realm) = Realm::new() else { return };
    let names = [1, 2, 3].map(|host| realm.spread.hosts.name(host)).join(",");
    realm.spread.flags.extend(["--hosts".into(), names]);
    realm.begin();
    realm.spread.all_up();
    for user in [&ANN, &BOB] {
        let id = realm.submit(user, &[2, 3], &["sh", "-c", "id -u; echo $HOME"]);
        let shown = realm.ended(&id);
        assert_eq!(shown["exit_code"], 0, "{}", realm.spread.good(&["logs", "-e", &id]));
        let uid = user.uids[0].to_string();
        let homes = [2, 3].map(|host| {
            realm
                .spread
                .dir
                .path()
                .join(format!("home{host}"))
                .join(user.name)
                .display()
                .to_string()
        });
        let told = realm.good(user, &["logs", &id]);
        assert_eq!(common::sorted(&told), [&homes[0], &homes[1], &uid, &uid]);
    }
    // Their data is in root's home, and closed to others.
    for host in [2, 3] {
        let home = realm.spread.dir.path().join(format!("home{host}")).join("root");
        let state = walk(&home).into_iter().find(|path| path.ends_with("identity.json"));
        let state = state.unwrap_or_else(|| panic!("nothing in {}", home.display()));
        assert!(!reads(ANN.uids[0], &state), "{}", state.display());
    }
}

/// All files below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| {
            let path = entry.path();
            if path.is_dir() { walk(&path) } else { vec![path] }
        })
        .collect()
}
