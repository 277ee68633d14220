//! `hpvm doctor`: what is wrong with an installation, and how to mend it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use hpvm_queue::manager::store_path;
use hpvm_queue::slurm::Slurm;
use hpvm_queue::store::Store;
use serde_json::json;

use super::config::Configured;
use super::list::printable;
use super::{
    credentials, doctor_groups, doctor_node, doctor_server, json_flag, manner, serve, server,
};

/// Free space below which records and outputs soon find none.
const SPACE_MIN: u64 = 256 << 20;
/// The same of /dev/shm, where ranks have their segments.
const SHM_MIN: u64 = 64 << 20;

/// How something is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Good,
    /// It works, though not as well as it could.
    Poor,
    Bad,
}

/// What was looked at, and what to do.
pub(super) struct Finding {
    about: &'static str,
    level: Level,
    text: String,
    remedy: Option<String>,
}

impl Finding {
    pub(super) fn is_good(&self) -> bool {
        self.level == Level::Good
    }

    pub(super) fn is_bad(&self) -> bool {
        self.level == Level::Bad
    }
}

pub(super) fn good(about: &'static str, text: impl Into<String>) -> Finding {
    Finding { about, level: Level::Good, text: text.into(), remedy: None }
}

pub(super) fn ill(
    about: &'static str,
    level: Level,
    text: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding { about, level, text: text.into(), remedy: Some(remedy.into()) }
}

/// The subcommand.
pub fn definition() -> Command {
    Command::new("doctor")
        .about("Say what is wrong with this installation and how to mend it")
        .long_about(
            "Say what is wrong with this installation and how to mend it.\n\n\
             The server is the one that the other commands speak to, as HPVM_SERVER says: whether it \
             answers, its certificate is the one that was pinned, its version is this one, and the \
             login is good. Exit code 1 when something is broken.",
        )
        .arg(
            Arg::new("data")
                .long("data")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Data folder of the server [default: as of hpvm serve]"),
        )
        .arg(json_flag())
}

/// Performs it: exit code 1 when something is broken.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let configured = serve::SERVICE.without_flags();
    let set = configured.as_ref().ok().and_then(|all| all.matches.get_one::<PathBuf>("data"));
    let set = matches.get_one::<PathBuf>("data").or(set);
    let data = match set {
        Some(data) => data.clone(),
        None => server::usual_data()?,
    };
    let mut all = installation();
    all.extend(configuration(&configured));
    all.push(shared_memory());
    all.push(single_copy());
    all.push(past_kernel());
    all.push(fabric());
    all.extend(data_folder(&data));
    all.extend(doctor_server::findings(&data, set.is_some()));
    all.push(doctor_groups::finding(&data));
    all.extend(doctor_node::findings());
    all.extend(slurm());
    all.extend(tokens());
    let bad = all.iter().any(|finding| finding.level == Level::Bad);
    let json = matches.get_flag("json");
    if manner::is_quiet() && !json {
        all.retain(|finding| !finding.is_good());
    }
    let text = if json { as_json(&all) } else { as_text(&all) };
    crate::info::print(text.as_bytes())?;
    Ok(i32::from(bad))
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Good => "ok",
        Level::Poor => "warn",
        Level::Bad => "bad",
    }
}

fn as_text(all: &[Finding]) -> String {
    let mut out = String::new();
    for finding in all {
        let text = printable(&finding.text, 400);
        out += &format!("{:<5} {:<14} {text}\n", word(finding.level), finding.about);
        if let Some(remedy) = &finding.remedy {
            out += &format!("{:20} -> {}\n", "", printable(remedy, 400));
        }
    }
    out
}

fn as_json(all: &[Finding]) -> String {
    let one = |f: &Finding| json!({ "about": f.about, "state": word(f.level), "text": f.text, "remedy": f.remedy });
    let bad = all.iter().any(|finding| finding.level == Level::Bad);
    json!({ "good": !bad, "findings": all.iter().map(one).collect::<Vec<_>>() }).to_string() + "\n"
}

/// The program and what lies beside it.
fn installation() -> Vec<Finding> {
    let own = match std::env::current_exe().and_then(|path| path.canonicalize()) {
        Ok(own) => own,
        Err(error) => {
            return vec![ill("program", Level::Bad, error.to_string(), "install hpvm again")];
        }
    };
    let version = env!("CARGO_PKG_VERSION");
    let mut all = vec![good("program", format!("hpvm {version}, {}", own.display()))];
    let folder = own.parent().unwrap_or(Path::new("/"));
    let library = folder.join("../lib/libmpi_abi.so.1");
    all.push(match library.exists() {
        true => good("library", library.display().to_string()),
        false => ill(
            "library",
            Level::Bad,
            format!("{} is not there", library.display()),
            "programs do not start: make install, or run the hpvm of an installation",
        ),
    });
    all.push(launcher(folder));
    all
}

/// The configuration of `hpvm serve`, and the files that it names.
fn configuration(configured: &Result<Configured, String>) -> Vec<Finding> {
    let about = "configuration";
    let configured = match configured {
        Ok(configured) => configured,
        Err(text) => {
            let remedy = "mend it, then: hpvm serve --check-config";
            return vec![ill(about, Level::Bad, text.replace('\n', "; "), remedy)];
        }
    };
    let mut all = match &configured.file {
        None => vec![good(about, "there is no file; hpvm serve takes its defaults")],
        Some(file) => vec![ours_to_write(about, file)],
    };
    for key in ["tls-cert", "tls-key"] {
        let file = configured.matches.get_one::<PathBuf>(key);
        let opened = file.map(|file| std::fs::File::open(file).map_err(|error| (file, error)));
        if let Some(Err((file, error))) = opened {
            let text = format!("{key} {}: {error}", file.display());
            all.push(ill(about, Level::Bad, text, format!("make it readable, or set {key} anew")));
        }
    }
    all
}

/// Whether a file can be changed by its owner alone, who is us or root: what it says is done with our rights.
pub(super) fn ours_to_write(about: &'static str, file: &Path) -> Finding {
    let shown = file.display();
    let meta = match file.metadata() {
        Ok(meta) => meta,
        Err(error) => return ill(about, Level::Bad, format!("{shown}: {error}"), "mend it"),
    };
    let own = hpvm_os::user();
    if meta.is_file() && ![0, own].contains(&meta.uid()) {
        let text = format!("{shown} belongs to user {}, who can change it", meta.uid());
        return ill(about, Level::Bad, text, format!("chown {own} {shown}"));
    }
    if meta.is_file() && meta.mode() & 0o022 != 0 {
        let text = format!("others may write {shown} (mode {:o})", meta.mode() & 0o777);
        return ill(about, Level::Bad, text, format!("chmod go-w {shown}"));
    }
    good(about, shown.to_string())
}

/// Another MPI's mpirun in front of ours starts each rank as a job of its own.
fn launcher(folder: &Path) -> Finding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).map(|dir| dir.join("mpirun")).find(|p| p.exists());
    let own = folder.join("mpirun");
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    match first {
        Some(found) if same(&found, &own) => good("mpirun", found.display().to_string()),
        Some(found) => ill(
            "mpirun",
            Level::Poor,
            format!("mpirun in PATH is {}, another one's", found.display()),
            format!("PATH={}:$PATH", folder.display()),
        ),
        None => ill(
            "mpirun",
            Level::Poor,
            "there is no mpirun in PATH",
            format!("PATH={}:$PATH", folder.display()),
        ),
    }
}

/// Bytes that are free to us where this path is.
fn free(path: &Path) -> Option<u64> {
    let text = std::ffi::CString::new(path.to_str()?).ok()?;
    let mut about = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a zero, and the other pointer is to memory for the answer.
    if unsafe { libc::statvfs(text.as_ptr(), about.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call has succeeded and so has filled it.
    let about = unsafe { about.assume_init() };
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

fn space(about: &'static str, path: &Path, least: u64, remedy: &str) -> Finding {
    match free(path) {
        Some(bytes) if bytes >= least => {
            good(about, format!("{}: {} MiB free", path.display(), bytes >> 20))
        }
        Some(bytes) => {
            let text = format!("{}: only {} MiB free", path.display(), bytes >> 20);
            ill(about, Level::Bad, text, remedy)
        }
        None => ill(about, Level::Bad, format!("{} is not there", path.display()), remedy),
    }
}

fn shared_memory() -> Finding {
    space("shared memory", Path::new("/dev/shm"), SHM_MIN, "mount -o remount,size=50% /dev/shm")
}

/// Whether ranks may read each other's memory.
fn single_copy() -> Finding {
    let file = "/proc/sys/kernel/yama/ptrace_scope";
    let scope = std::fs::read_to_string(file).unwrap_or_default();
    match scope.trim() {
        "2" | "3" => ill(
            "single copy",
            Level::Poor,
            format!("{file} is {}: large messages between ranks are copied twice", scope.trim()),
            "sysctl kernel.yama.ptrace_scope=1",
        ),
        _ => good("single copy", "ranks may copy from each other's memory"),
    }
}

/// Nothing is wrong without it, so it is never ill.
fn past_kernel() -> Finding {
    match crate::past_kernel::look() {
        Ok(how) => good("network", format!("datagrams can pass the kernel (AF_XDP): {how}")),
        Err(why) => good(
            "network",
            format!("datagrams go through the kernel, and can't pass it (AF_XDP): {why}"),
        ),
    }
}

/// Nothing is wrong without libfabric either, but a card that it can't use is a loss.
fn fabric() -> Finding {
    let long_messages = match crate::past_kernel::card() {
        Ok(None) => "",
        Ok(Some(true)) => " and reads long messages out of their senders' memory (RDMA)",
        Ok(Some(false)) => "; it has no RDMA, so long messages go over TCP",
        Err(why) => {
            let text = format!("a card of this host can't be used, so datagrams go by UDP: {why}");
            return ill("network", Level::Poor, text, "ulimit -l unlimited; see docs/network.md");
        }
    };
    match hpvm_ofi::probe() {
        Ok(found) => {
            let (text, automatic) = (found.text(), found.automatic_text());
            good(
                "network",
                format!("mpirun --lane ofi can be had: {text}; {automatic}{long_messages}"),
            )
        }
        Err(why) => good("network", format!("mpirun --lane ofi can't be had: {why}")),
    }
}

fn data_folder(data: &Path) -> Vec<Finding> {
    let meta = match std::fs::metadata(data) {
        Ok(meta) => meta,
        Err(_) => {
            let text = format!("{} is not there yet; hpvm serve makes it", data.display());
            return vec![good("data", text)];
        }
    };
    let mut all = Vec::new();
    let mode = meta.mode() & 0o777;
    all.push(match mode & 0o077 {
        0 => good("data", data.display().to_string()),
        _ => ill(
            "data",
            Level::Bad,
            format!("others may enter {} (mode {mode:o})", data.display()),
            format!("chmod 700 {}", data.display()),
        ),
    });
    all.push(space("disk", data, SPACE_MIN, "remove records and outputs of jobs, or use --data"));
    for mirror in [false, true] {
        let path = store_path(data, mirror);
        if path.metadata().is_ok_and(|meta| meta.len() > 0) {
            all.push(store(&path));
        }
    }
    let key = data.join("tls/authority.key");
    if let Ok(meta) = key.metadata() {
        all.push(match meta.mode() & 0o077 {
            0 => good("certificate", format!("{} is ours alone", key.display())),
            _ => ill(
                "certificate",
                Level::Bad,
                format!("others can read {}", key.display()),
                format!("rm -r {}; then hpvm login anew", data.join("tls").display()),
            ),
        });
    }
    all
}

fn store(path: &Path) -> Finding {
    let opened = Store::reader(path).and_then(|store| store.check());
    match opened {
        Ok(()) => good("store", path.display().to_string()),
        Err(error) => ill(
            "store",
            Level::Bad,
            error.to_string(),
            "end the server, copy the data folder, and give hpvm serve another one (--data)",
        ),
    }
}

/// Where Slurm is configured, whether it answers.
fn slurm() -> Option<Finding> {
    let there = hpvm_serve::run::slurm_is_configured();
    there.then(|| match Slurm::find() {
        Ok(_) => good("Slurm", "its controller answers"),
        Err(text) => ill("Slurm", Level::Bad, text, "scontrol ping; hpvm serve --queue embedded"),
    })
}

/// Tokens of servers elsewhere.
fn tokens() -> Option<Finding> {
    credentials::check().err().map(|text| ill("tokens", Level::Bad, text, "as it says"))
}
