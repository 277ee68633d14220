//! `hpvm serve --system`: jobs run as their submitters, and nobody sees another's. Needs root.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common;
use crate::server::Server;

/// Two users that every Debian has, and one who gets no account.
const ANN: (&str, u32) = ("nobody", 65534);
const BOB: (&str, u32) = ("daemon", 1);
const EVE: (&str, u32) = ("bin", 2);

struct System {
    server: Server,
    home: PathBuf,
}

impl System {
    fn start() -> Option<System> {
        // SAFETY: the call has no arguments and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            hpvm_tests::skip::skipped("system mode needs root");
            return None;
        }
        let mut server = Server::new();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(server.dir.path(), 0o711);
        let home = server.dir.path().join("home");
        std::fs::create_dir(&home).unwrap();
        std::os::unix::fs::chown(&home, Some(ANN.1), Some(ANN.1)).unwrap();
        // The folder of the build may be closed to others.
        let program = server.dir.path().join("hpvm");
        if std::fs::hard_link(&server.program, &program).is_err() {
            common::copy_program(&server.program, &program);
        }
        server.program = program;
        server.begin_with(&["--listen", "0", "--system", "--queue", "embedded"]);
        for (name, _) in [ANN, BOB] {
            server.good(&["user", "add", name, "--link"]);
        }
        Some(System { server, home })
    }

    /// `hpvm` of a user, with their mask and limits.
    fn run(&self, (_, uid): (&str, u32), args: &[&str]) -> Output {
        let mut command = self.server.command();
        command.args(args).uid(uid).gid(uid).current_dir(&self.home);
        // SAFETY: two system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::umask(0o027);
                let limit = libc::rlimit { rlim_cur: 77, rlim_max: 100 };
                libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
                Ok(())
            });
        }
        command.output().unwrap()
    }

    fn good(&self, user: (&str, u32), args: &[&str]) -> String {
        let output = self.run(user, args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn refused(&self, user: (&str, u32), args: &[&str]) -> String {
        let output = self.run(user, args);
        assert!(!output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Submits as a user and waits for the end.
    fn ended(&self, user: (&str, u32), args: &[&str]) -> serde_json::Value {
        let text = self.good(user, &[&["submit", "--parsable"], args].concat());
        self.server.until(text.trim().parse().unwrap(), "ended")
    }
}

#[test]
fn jobs_run_as_their_submitters() {
    let Some(system) = System::start() else { return };
    let told = "id -u; id -g; id -G; umask; ulimit -Sn; echo $USER $HOME; pwd";
    let ended = system.ended(ANN, &["-o", "out", "sh", "-c", told]);
    assert_eq!(ended["exit_code"], 0, "{ended}");
    let out = system.home.join("out");
    let text = std::fs::read_to_string(&out).unwrap();
    let home = system.home.display();
    let expected = format!("65534\n65534\n65534\n0027\n77\nnobody /nonexistent\n{home}\n");
    assert_eq!(text, expected);
    let meta = std::fs::metadata(&out).unwrap();
    assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o777), (ANN.1, ANN.1, 0o640));
    assert_eq!(system.good(ANN, &["logs", "1"]), text);
    // A script lies where its owner alone reads it.
    let script = system.home.join("script");
    std::fs::write(&script, "#!/bin/sh\nid -un; cat /proc/self/environ | tr '\\0' '\\n'\n")
        .unwrap();
    let ended = system.ended(ANN, &["--export", "NONE", script.to_str().unwrap()]);
    let text = system.good(ANN, &["logs", &ended["id"].to_string()]);
    assert!(text.starts_with("nobody\n"), "{text}");
    assert!(!text.contains("HPVM_TEST_MARK"), "a variable of root's: {text}");
    // What a user may not write, no job of theirs may.
    let secret = system.server.dir.path().join("secret");
    std::fs::write(&secret, "keep").unwrap();
    std::os::unix::fs::symlink(&secret, system.home.join("link")).unwrap();
    for file in [secret.to_str().unwrap(), "link", "/etc/hpvm-test"] {
        let ended = system.ended(ANN, &["-o", file, "echo", "overwritten"]);
        assert_eq!(ended["outcome"]["kind"], "failed_to_start", "{ended}");
        assert!(ended["outcome"]["detail"].to_string().contains("ermission denied"), "{ended}");
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "keep");
    let closed = ["-D", "/root", "true"];
    let ended = system.ended(ANN, &closed);
    assert_eq!(ended["outcome"]["kind"], "failed_to_start", "{ended}");
    // Nothing of a job stays, whoever it belongs to.
    // Other runs of this test have a user of the same name.
    let long = format!("{}", 1_000_000 + std::process::id());
    let script =
        format!("trap '' TERM; echo here; setsid sleep {long} & while :; do sleep 1; done");
    let id = system.good(ANN, &["submit", "--parsable", "bash", "-c", &script]);
    let id = id.trim();
    assert!(common::until(|| system.good(ANN, &["logs", id]) == "here\n"));
    system.good(ANN, &["cancel", id]);
    system.server.until(id.parse().unwrap(), "ended");
    let sleeps = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let of = |entry: &std::fs::DirEntry| entry.metadata().is_ok_and(|m| m.uid() == ANN.1);
        let line = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).ok();
        let mut lines = all.filter(of).filter_map(line);
        lines.any(|line| line.starts_with(format!("sleep\0{long}").as_bytes()))
    };
    assert!(common::until(|| !sleeps()));
}

#[test]
fn nobody_sees_the_jobs_of_another() {
    let Some(system) = System::start() else { return };
    let id = system.ended(ANN, &["sh", "-c", "echo secret"])["id"].to_string();
    for args in [&["show", &id][..], &["logs", &id], &["cancel", &id], &["hold", &id]] {
        let text = system.refused(BOB, args);
        assert!(text.contains(&format!("there is no job {id}")), "{args:?}: {text}");
    }
    assert!(!system.good(BOB, &["queue", "-a"]).contains("nobody"));
    let folder = system.server.data().join("jobs").join(&id);
    for path in [&folder.join("stdout"), &folder.join("order.json"), &folder, &system.server.data()]
    {
        // Of a folder the list, of a file the text.
        let tool = if path.is_dir() { "ls" } else { "cat" };
        let mut command = std::process::Command::new(tool);
        let read = command.uid(BOB.1).gid(BOB.1).arg(path).output().unwrap();
        assert!(!read.status.success() && read.stdout.is_empty(), "{}", path.display());
    }
    let text = system.refused(EVE, &["queue"]);
    assert!(text.contains("'bin' has no account"), "{text}");
    assert!(system.refused(BOB, &["user", "list"]).contains("only administrators"));
    // Root looks at everything and runs nothing.
    assert_eq!(system.server.good(&["logs", &id]), "secret\n");
    let text =
        String::from_utf8_lossy(&system.server.hpvm(&["submit", "true"]).stderr).into_owned();
    assert!(text.contains("which is root"), "{text}");
    // An account that is gone is gone over the socket, too.
    system.server.good(&["user", "remove", ANN.0]);
    assert!(system.refused(ANN, &["queue"]).contains("no account"));
}
