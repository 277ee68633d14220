//! What `hpvm doctor` says of control groups: whether the kernel keeps the limits of jobs.

use std::os::unix::net::UnixStream;
use std::path::Path;

use super::doctor::{Finding, Level, good, ill};
use hpvm_queue::stepd::cgroup;

const ABOUT: &str = "control groups";
const REMEDY: &str = "start hpvm serve or hpvm node by its systemd unit; for limits, with DelegateSubgroup=main in it \
                      (systemd 254) and cgroup v2 alone (systemd.unified_cgroup_hierarchy=1). Without them jobs run as \
                      well, and their supervisors look at memory";

/// Of the server on this data folder, or as one started from here would find it.
pub fn finding(data: &Path) -> Finding {
    let pid = server(data).unwrap_or(std::process::id() as i32);
    match cgroup::home(pid).map(|home| home.lacks()) {
        Ok(None) => {
            good(ABOUT, "the kernel keeps the limits of jobs and ends all of their processes")
        }
        Ok(Some(why)) => {
            let text = "jobs have groups of their own, without limits";
            ill(ABOUT, Level::Poor, format!("{text}: {why}"), REMEDY)
        }
        Err(why) => ill(ABOUT, Level::Poor, format!("jobs have none: {why}"), REMEDY),
    }
}

/// The process that listens at its socket.
fn server(data: &Path) -> Option<i32> {
    let stream = UnixStream::connect(hpvm_serve::run::socket(data)).ok()?;
    let (pid, _) = hpvm_os::peer(&stream).ok()?;
    (pid > 0).then_some(pid)
}
