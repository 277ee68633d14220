//! What applications do when there is no place for their files.

use crate::apps::{MD, app, built, has_passed, refused, run, text};
use crate::common::{PATIENCE, folder, prefix, run_within};
use hpvm_tests::process::clean;
use hpvm_tests::skip::skipped;

/// A run of hours finds it out at its begin.
#[test]
fn files_without_a_place_are_refused_before_the_first_step() {
    let home = folder("places");
    let (there, nowhere) = (text(&home).to_owned(), text(&home.join("none/file")).to_owned());
    for (flag, sentence) in
        [("--checkpoint", "cannot be opened"), ("--image", "could not be written")]
    {
        for (path, why) in [(&there, "Is a directory"), (&nowhere, "No such file or directory")] {
            for name in ["md", "sam_water"] {
                let flags = ["--steps", "1000000000", flag, path];
                if !refused(name, &flags, 3, &format!("{sentence}: {why}")) {
                    return;
                }
            }
        }
    }
}

/// A folder is no other run's checkpoint.
#[test]
fn a_folder_keeps_its_name_when_jobs_are_started_again() {
    let home = folder("renamed").join("state");
    std::fs::create_dir(&home).expect("a folder");
    let flags = ["--cells", "6", "--steps", "2", "--checkpoint", text(&home)];
    let Some(mut command) = app(2, "md", &flags) else { return };
    command.env("HPVM_RESTART_COUNT", "0");
    let outcome = run_within(command, PATIENCE);
    assert_eq!(outcome.code, Some(3), "{}", outcome.output);
    assert!(home.is_dir(), "{}", outcome.output);
}

/// The device has room for one checkpoint: the next one fails, the old one stays as it was, and the part of the new one goes.
#[test]
fn a_full_disk_leaves_the_last_whole_checkpoint() {
    let example = folder("example").join("state");
    if run(2, MD, &["--steps", "2", "--checkpoint", text(&example)]).is_none() {
        return;
    }
    let bytes = std::fs::metadata(&example).expect("a checkpoint").len();
    let size = format!("size={}", bytes + bytes / 2);
    let script = r#"dir=$(mktemp -d) && mount -t tmpfs -o "$1" tmpfs "$dir" || exit 77
        shift
        "$@" --checkpoint "$dir/state" --steps 2 || exit 78
        sum=$(cksum < "$dir/state")
        "$@" --restart "$dir/state" --checkpoint "$dir/state" --steps 40 --every 2; code=$?
        [ "$(ls "$dir")" = state ] && [ "$(cksum < "$dir/state")" = "$sum" ] || ls -l "$dir"
        "$@" --restart "$dir/state" --steps 4 && echo PASSED
        umount -l "$dir"; rmdir "$dir"; exit $code"#;
    let mut command = clean("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh", &size]);
    command.arg(prefix().join("bin/mpirun")).args(["-n", "2"]);
    command.arg(built().expect("it is built").join(MD.0)).args(MD.1);
    let outcome = run_within(command, PATIENCE);
    if outcome.code == Some(77) || outcome.output.contains("unshare failed") {
        return skipped(&format!("needs mount namespaces: {}", outcome.output.trim()));
    }
    assert_eq!(outcome.code, Some(3), "{}", outcome.output);
    assert!(outcome.output.contains("cannot be written: "), "{}", outcome.output);
    assert!(!outcome.output.contains("state.new\n"), "something is left:\n{}", outcome.output);
    assert!(has_passed(&outcome.output), "{}", outcome.output);
}
