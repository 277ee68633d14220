//! Hosts that the server brings in itself: `hpvm node` is started on each by the launcher's way to other hosts (ssh, or
//! another command), started again when it ends, and ended with the server. Its jobs go on in all these cases.
//!
//! Its standard input is the server's end of a pipe: it brings the token, which nobody else sees, and ends with the
//! server, however that ends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hpvm_launch::remote::start::quote;
use hpvm_launch::spread::reach_by;
use hpvm_queue::store::tokens::NewToken;
use hpvm_queue::time::Stamp;

use crate::app::App;
use crate::auth::{NODE, TOKEN_PREFIX};
use crate::secret;

/// What the tokens of such hosts are called.
const TOKEN_NAME: &str = "hosts that hpvm serve starts";
/// Pauses before a host is started again: doubled each time, and from the first once it has run so long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const LASTED: Duration = Duration::from_secs(60);
/// How often it is looked whether it has ended, or the server ends.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long it may take to end with the server.
const ENDS_WITHIN: Duration = Duration::from_secs(3);
/// The longest line of it that is shown.
const LINE_MAX: u64 = 400;

/// Which hosts, and how they are reached.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    pub names: Vec<String>,
    /// In place of ssh, as the launcher's `--launch-agent`.
    pub agent: Option<OsString>,
}

/// How the start of a host goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// It is under way.
    Begun,
    Runs,
    /// What `hpvm node` has said last, or the command that starts it.
    Says(String),
    /// It has ended, and is started again.
    Failed(String),
}

impl Start {
    /// Why the host may not report, as a sentence.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Start::Begun => Some("hpvm node is being started there".into()),
            Start::Runs => None,
            Start::Says(text) | Start::Failed(text) => Some(text.clone()),
        }
    }
}

/// The same of each host that the server starts, and since when it tries.
#[derive(Debug, Default)]
pub struct Starts(Mutex<BTreeMap<String, (Stamp, Start)>>);

impl Starts {
    fn set(&self, host: &str, start: Start) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = all.get(host).map_or_else(Stamp::now, |(since, _)| *since);
        all.insert(host.to_string(), (since, start));
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<String, (Stamp, Start)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sentences about those that could not be started.
    pub fn failed(&self) -> Vec<String> {
        let of = |(host, (_, start))| match start {
            Start::Failed(text) => Some(format!("host {host}: {text}")),
            _ => None,
        };
        self.all().into_iter().filter_map(of).collect()
    }
}

/// Starts the hosts, each in a thread that ends with the server.
///
/// # Errors
/// What is asked for makes no sense, or the store takes no token.
pub fn start(
    app: &App,
    hosts: &Hosts,
    fingerprint: Option<&str>,
) -> Result<Vec<JoinHandle<()>>, String> {
    // The head node may be in everybody's list of hosts.
    let own = &app.place.host;
    let names: Vec<&String> = hosts.names.iter().filter(|name| *name != own).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let fingerprint = fingerprint.ok_or_else(|| {
        let first = names[0];
        format!(
            "hosts: {first} does not reach a server that listens on loopback; --listen 0.0.0.0:8421"
        )
    })?;
    if app.slurm.is_some() {
        return Err(
            "hosts: Slurm has the hosts of this server; hpvm node belongs to the embedded queue"
                .into(),
        );
    }
    let reach = reach_by(hosts.agent.as_deref()).map_err(|error| error.message)?;
    let token = token(app)?;
    let thread = |name: &String| {
        let words = node(app, name, fingerprint);
        let words = if reach.raw { words } else { words.iter().map(|word| quote(word)).collect() };
        let command = [&reach.words[..], &[OsString::from(name)], &words].concat();
        let mut keeper =
            Keeper { app: app.clone(), host: name.clone(), command, token: token.clone() };
        app.starts.set(name, Start::Begun);
        let thread = std::thread::Builder::new().name("host".into());
        thread
            .spawn(move || keeper.run())
            .map_err(|error| format!("cannot start a thread: {error}"))
    };
    names.into_iter().map(thread).collect()
}

/// A token for these hosts, in place of the one of the server before.
fn token(app: &App) -> Result<String, String> {
    let secret = secret::token()?;
    let now = Stamp::now();
    let new = NewToken {
        hash: secret::hash_token(&secret),
        user: app.owner.clone(),
        name: TOKEN_NAME.into(),
        scopes: vec![NODE.into()],
        expires: None,
        login: false,
    };
    let made = app.queue.call(move |manager| {
        let store = manager.store();
        for old in store.tokens(Some(&new.user))?.into_iter().filter(|old| old.name == new.name) {
            store.revoke_token(old.id, None)?;
        }
        store.add_token(&new, now)
    });
    made.and_then(|done| done).map_err(|error| format!("hosts: {error}"))?;
    Ok(format!("{TOKEN_PREFIX}{secret}"))
}

/// The words that start `hpvm node` on a host. Where hpvm is on other hosts, it is where it is here.
fn node(app: &App, name: &str, fingerprint: &str) -> Vec<OsString> {
    let (program, url) = (app.place.program.clone(), app.url.trim_end_matches('/'));
    let flags = ["node", "--server", url, "--fingerprint", fingerprint, "--name", name];
    let words = flags.into_iter().chain(["--token-file", "-"]).map(OsString::from);
    std::iter::once(program.into_os_string()).chain(words).collect()
}

/// Keeps `hpvm node` of a host running.
struct Keeper {
    app: App,
    host: String,
    command: Vec<OsString>,
    token: String,
}

impl Keeper {
    fn run(&mut self) {
        let mut pause = FIRST_PAUSE;
        while !*self.app.ending.borrow() {
            let began = Instant::now();
            let why = self.once();
            if *self.app.ending.borrow() {
                return;
            }
            if began.elapsed() >= LASTED {
                pause = FIRST_PAUSE;
            }
            let seconds = pause.as_secs();
            let text =
                format!("hpvm node could not be kept running there: {why}; again in {seconds} s");
            self.app.starts.set(&self.host, Start::Failed(text));
            let until = Instant::now() + pause;
            while Instant::now() < until && !*self.app.ending.borrow() {
                std::thread::sleep(POLL_INTERVAL);
            }
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// Starts it and waits for its end; gives what there is to say about that.
    fn once(&mut self) -> String {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return format!("{}: {error}", self.command[0].display()),
        };
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // One that has ended says why.
            let _ = stdin.write_all(format!("{}\n", self.token).as_bytes());
        }
        let last = Arc::new(Mutex::new(String::new()));
        let listens = child.stderr.take().map(|from| self.listen(from, Arc::clone(&last)));
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Err(error) => break error.to_string(),
                Ok(None) => {}
            }
            if *self.app.ending.borrow() {
                drop(stdin.take());
                end(&mut child);
                return String::new();
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        // Its last words come before the end of the pipe, unless something else holds that.
        let until = Instant::now() + Duration::from_secs(1);
        while listens.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < until
        {
            std::thread::sleep(POLL_INTERVAL / 10);
        }
        let last = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let name = self.command[0].display();
        if last.is_empty() {
            format!("{name}: {ended}")
        } else {
            format!("{last} ({name}: {ended})")
        }
    }

    /// Hears what it says, line by line.
    fn listen(&self, from: ChildStderr, last: Arc<Mutex<String>>) -> JoinHandle<()> {
        let (app, host) = (self.app.clone(), self.host.clone());
        std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            loop {
                let mut line = Vec::new();
                match (&mut from).take(LINE_MAX).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                let line = String::from_utf8_lossy(&line);
                let text: String = line.trim().chars().filter(|c| !c.is_control()).collect();
                if text.is_empty() {
                    continue;
                }
                let good = text.contains(" reports; data in ") || text.ends_with(" answers again");
                app.starts.set(&host, if good { Start::Runs } else { Start::Says(text.clone()) });
                *last.lock().unwrap_or_else(PoisonError::into_inner) = text;
            }
        })
    }
}

/// Waits for the end of a command whose standard input has ended, and ends what does not end.
fn end(child: &mut Child) {
    let until = Instant::now() + ENDS_WITHIN;
    while Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(POLL_INTERVAL / 10);
    }
    if let Ok(group) = i32::try_from(child.id()) {
        hpvm_launch::sys::kill(-group, libc::SIGKILL);
    }
    // Killed, it ends.
    let _ = child.wait();
}
