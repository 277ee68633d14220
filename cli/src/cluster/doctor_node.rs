//! What `hpvm doctor` says of `hpvm node`, where it is set up on this machine.

use std::path::{Path, PathBuf};

use super::doctor::{Finding, Level, good, ill, ours_to_write};
use super::node::{SERVICE, TOKEN_FILE, data_of, server_of, token_in};
use crate::cluster::config::Configured;

const ABOUT: &str = "node";

/// Nothing where no file and no variable is about it.
pub fn findings() -> Vec<Finding> {
    let configured = match SERVICE.without_flags() {
        Ok(configured) => configured,
        Err(text) => {
            let text = text.replace('\n', "; ");
            return vec![ill(ABOUT, Level::Bad, text, "mend it, then: hpvm node --check-config")];
        }
    };
    let Some(file) = &configured.file else {
        return Vec::new();
    };
    let mut all = vec![ours_to_write(ABOUT, file)];
    let named = configured.matches.get_one::<PathBuf>("token-file").cloned();
    match named.or_else(|| SERVICE.beside(TOKEN_FILE)) {
        None => all.push(ill(
            ABOUT,
            Level::Bad,
            "there is no token",
            "on the server's machine: hpvm token create NAME --scope node; here: token-file, or node.token beside node.conf",
        )),
        Some(path) => match token_in(&path) {
            Ok(_) => all.push(good(ABOUT, format!("token in {}", path.display()))),
            Err(text) => {
                let text = text.trim_start_matches("node: ").to_string();
                all.push(ill(ABOUT, Level::Bad, text, format!("a file of mode 600 with a token: {}", path.display())));
                return all;
            }
        },
    }
    all.extend(daemon(&configured));
    all
}

/// Whether it runs.
fn daemon(configured: &Configured) -> Vec<Finding> {
    let server = match server_of(&configured.matches) {
        Ok(server) => server,
        Err(text) => {
            let text = text.trim_start_matches("node: ").to_string();
            return vec![ill(ABOUT, Level::Bad, text, "set server in node.conf")];
        }
    };
    let data = match data_of(&configured.matches, &server) {
        Ok(data) => data,
        Err(text) => return vec![ill(ABOUT, Level::Bad, text, "set data in node.conf")],
    };
    vec![match runs(&data) {
        true => good(ABOUT, format!("hpvm node runs, data in {}", data.display())),
        false => ill(
            ABOUT,
            Level::Poor,
            format!("hpvm node does not run on {}", data.display()),
            "hpvm node, or systemctl --user start hpvm-node",
        ),
    }]
}

/// Whether somebody holds the lock of the data folder.
fn runs(data: &Path) -> bool {
    use std::os::fd::AsRawFd;
    let Ok(lock) = std::fs::File::open(data.join("lock")) else { return false };
    // SAFETY: takes a descriptor, which is open, and a number; what it takes goes with the descriptor.
    unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) != 0 }
}
