//! The gateway of a site, where it runs on this host: a process of ours that is told where ranks and other gateways are, and
//! started again when it dies.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use hpvm_sites::{CARD_KEY, GATEWAY_KEY, Sites};

use super::Source;
use crate::environment::{JOB_ID, NODE};
use crate::pmi::server::Server;
use crate::sites::Plan;
use crate::sys::{self, Epoll};

/// How long it may take to open its port.
const BEGINNING: Duration = Duration::from_secs(20);
/// How long it may take to end when it is told to.
const ENDING: Duration = Duration::from_millis(300);
/// So often it is started again.
const RESTARTS: u32 = 10;

/// What a gateway has to know when it starts.
pub struct Orders {
    pub plan: Plan,
    pub sites: Sites,
    /// The number of its site, and of its host.
    pub site: u16,
    pub node: u32,
    pub job: String,
    pub key: String,
    /// Another site that was not reached for so long is lost.
    pub limit: Duration,
}

/// The process and our ends of its standard streams.
struct Running {
    child: Child,
    to: Option<ChildStdin>,
    from: ChildStdout,
    /// What it has said and is no line yet, and what it has not been told yet.
    said: Vec<u8>,
    unsent: Vec<u8>,
}

/// Why it does not start.
enum Failure {
    /// It has ended without a word: killed, say.
    Died,
    /// For people.
    Told(String),
}

/// A gateway that we keep alive.
pub struct GatewayIo {
    orders: Orders,
    running: Option<Running>,
    /// The port that others have been told.
    port: u16,
    restarts: u32,
    /// What it has been told: values by key, and the number of the space of values when that was complete.
    told: BTreeMap<String, String>,
    seen: u64,
    /// What it has been told of ranks of other jobs, by the number of these.
    spaces: BTreeMap<u32, Vec<String>>,
}

impl Orders {
    /// For the host of this number, if a gateway runs there.
    ///
    /// # Errors
    /// The list of sites is not what it should be.
    pub fn of(
        plan: Option<&Plan>,
        node: u32,
        (job, key, size): (&str, &str, u32),
        limit: Duration,
    ) -> Result<Option<Orders>, String> {
        let Some((plan, own)) = plan.and_then(|plan| Some((plan, plan.gateway_on(node)?))) else {
            return Ok(None);
        };
        let sites = Sites::parse(&plan.text, size as usize)?;
        let site = own.site;
        let (plan, job, key) = (plan.clone(), job.to_string(), key.to_string());
        Ok(Some(Orders { plan, sites, site, node, job, key, limit }))
    }

    fn name(&self) -> &str {
        self.sites.names.get(usize::from(self.site)).map_or("", String::as_str)
    }

    fn host(&self) -> &str {
        self.plan.gateway_on(self.node).map_or("", |gateway| &gateway.host)
    }

    /// The port that the user wants; 0: any.
    fn port(&self) -> u16 {
        self.plan.gateway_on(self.node).map_or(0, |gateway| gateway.port)
    }
}

impl GatewayIo {
    /// Starts it. Gives it with its card, to be published under a key. Waits until its port is open.
    ///
    /// # Errors
    /// Why it cannot be, for people.
    pub fn start(orders: Orders, epoll: &Epoll) -> Result<(Self, String, String), String> {
        let port = orders.port();
        let key = format!("{GATEWAY_KEY}{}", orders.site);
        let (running, card) = begin(&orders, port).map_err(|failure| match failure {
            Failure::Died => {
                failed(&orders, &"it ended at once; is this hpvm built with the feature 'cluster'?")
            }
            Failure::Told(text) => text,
        })?;
        let port = card.split(',').next().and_then(|port| port.parse().ok()).unwrap_or(port);
        let told = BTreeMap::new();
        let spaces = BTreeMap::new();
        let mut gateway =
            Self { orders, running: Some(running), port, restarts: 0, told, seen: 0, spaces };
        gateway.watch(epoll)?;
        Ok((gateway, key, card))
    }

    fn watch(&mut self, epoll: &Epoll) -> Result<(), String> {
        let Some(running) = &self.running else { return Ok(()) };
        let fd = running.from.as_raw_fd();
        let watched = epoll.add(fd, libc::EPOLLIN, Source::Gateway.token(0));
        watched.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> String {
        failed(&self.orders, error)
    }

    /// Its process number, if it runs.
    pub fn pid(&self) -> Option<i32> {
        self.running.as_ref().map(|running| running.child.id() as i32)
    }

    /// Tells it what is new of where ranks and other gateways are.
    pub fn tend(&mut self, values: &Server) {
        if self.running.is_none() {
            return;
        }
        if values.kept() != self.seen {
            self.seen = values.kept();
            self.tell(values);
        }
        if let Some(running) = &mut self.running {
            running.flush();
        }
    }

    /// Tells it a line about ranks that it knows by this number; the line `forget` is the last one.
    pub fn serve(&mut self, number: u32, line: &str) {
        if line.starts_with("forget ") {
            self.spaces.remove(&number);
        } else {
            self.spaces.entry(number).or_default().push(line.to_owned());
        }
        if let Some(running) = &mut self.running {
            running.say(line);
            running.flush();
        }
    }

    /// Whether other jobs than its own need it.
    pub fn serves(&self) -> bool {
        !self.spaces.is_empty()
    }

    fn tell(&mut self, values: &Server) {
        let mut lines = Vec::new();
        for other in self.orders.plan.gateways.iter().filter(|other| other.site != self.orders.site)
        {
            lines.push((
                format!("{GATEWAY_KEY}{}", other.site),
                format!("peer {} {}", other.site, other.host),
            ));
        }
        for (rank, site) in (0_u32..).zip(&self.orders.sites.ranks) {
            if *site == self.orders.site {
                lines.push((format!("{CARD_KEY}{rank}"), format!("rank {rank}")));
            }
        }
        for (key, front) in lines {
            let Some(value) = values.value(&key) else { continue };
            if self.told.get(&key).is_some_and(|told| told == value) || value.contains(['\n', ' '])
            {
                continue;
            }
            if let Some(running) = &mut self.running {
                running.say(&format!("{front} {value}"));
            }
            self.told.insert(key, value.to_string());
        }
    }

    /// It has said something, or has ended: then it is started again. The error ends the job.
    pub fn read(&mut self, epoll: &Epoll) -> Result<(), String> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let mut buffer = [0; 4096];
        match running.from.read(&mut buffer) {
            Ok(0) => {}
            Ok(count) => {
                running.said.extend_from_slice(&buffer[..count]);
                return match running.line() {
                    Some(line) => self.heard(&line),
                    None => Ok(()),
                };
            }
            Err(error) if is_passing(&error) => {
                return Ok(());
            }
            Err(_) => {}
        }
        epoll.remove(running.from.as_raw_fd());
        self.end();
        while self.restarts < RESTARTS {
            self.restarts += 1;
            let running = match begin(&self.orders, self.port) {
                Ok((running, _)) => running,
                Err(Failure::Died) => continue,
                Err(Failure::Told(text)) => return Err(text),
            };
            self.running = Some(running);
            // The new one knows nothing.
            self.told.clear();
            self.seen = 0;
            if let Some(running) = &mut self.running {
                self.spaces.values().flatten().for_each(|line| running.say(line));
            }
            return self.watch(epoll);
        }
        let host = self.orders.host();
        Err(format!(
            "the gateway of site '{}' on host '{host}' ends again and again",
            self.orders.name()
        ))
    }

    fn heard(&self, line: &str) -> Result<(), String> {
        match line.strip_prefix("failed ") {
            Some(text) => Err(crate::text::message(text)),
            None => Ok(()),
        }
    }

    /// Ends it, and waits until it has.
    pub fn end(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        drop(running.to.take());
        let end = Instant::now() + ENDING;
        while Instant::now() < end {
            if running.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // One that was stopped, say.
        let _ = running.child.kill();
        let _ = running.child.wait();
    }
}

impl Drop for GatewayIo {
    fn drop(&mut self) {
        self.end();
    }
}

impl Running {
    /// A line that it is to be told; [`Running::flush`] writes it.
    fn say(&mut self, line: &str) {
        self.unsent.extend_from_slice(line.as_bytes());
        self.unsent.push(b'\n');
    }

    /// The first whole line that has not been taken.
    fn line(&mut self) -> Option<String> {
        let end = self.said.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8_lossy(&self.said[..end]).into_owned();
        self.said.drain(..=end);
        Some(line)
    }

    /// Writes what there is room for. That nobody reads, reading tells.
    fn flush(&mut self) {
        let Some(to) = &mut self.to else { return };
        while !self.unsent.is_empty() {
            match to.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

fn failed(orders: &Orders, error: &dyn std::fmt::Display) -> String {
    let (name, host) = (orders.name(), orders.host());
    format!("the gateway of site '{name}' cannot be started on host '{host}': {error}")
}

/// Starts the process and waits for its card.
fn begin(orders: &Orders, port: u16) -> Result<(Running, String), Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::Told(failed(orders, error));
    let own: OsString = std::env::current_exe().map_err(|error| bad(&error))?.into();
    let mut command = Command::new(own);
    command.arg("gateway").stdin(Stdio::piped()).stdout(Stdio::piped());
    // The marks by which what is left of a job is found.
    command.env(JOB_ID, &orders.job).env(NODE, orders.node.to_string());
    // A group of its own: Ctrl-C is for the launcher. It dies with us, and has our signals unblocked.
    command.process_group(0);
    // SAFETY: between fork and exec async-signal-safe calls are made, on memory of the child's own.
    unsafe {
        command.pre_exec(|| {
            sys::unblock_signals();
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = command.spawn().map_err(|error| bad(&error))?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(bad(&"it has no standard streams"));
    };
    let mut running = Running { child, to: Some(to), from, said: Vec::new(), unsent: Vec::new() };
    let Orders { site, key, sites, limit, .. } = orders;
    let (size, text) = (sites.ranks.len(), sites.text());
    let compress = if orders.plan.compress { "auto" } else { "never" };
    let line =
        format!("start {site} {port} {} {key} {compress} {size} {text}\n", limit.as_millis());
    // A pipe's room may be less than the line of a large job: the process reads meanwhile.
    let written = running.to.iter_mut().try_for_each(|to| to.write_all(line.as_bytes()));
    let written = written.and_then(|()| sys::set_nonblocking(running.from.as_raw_fd()));
    let answer = match written {
        Ok(()) => running.first_line().map_err(|failure| match failure {
            Failure::Told(text) => bad(&text),
            Failure::Died => Failure::Died,
        }),
        // Nobody reads it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::Died),
        Err(error) => Err(bad(&error)),
    };
    let card =
        answer.and_then(|line| match (line.strip_prefix("ready "), line.strip_prefix("failed ")) {
            (Some(card), _) => Ok(card.to_string()),
            (None, Some(text)) => Err(bad(&crate::text::message(text))),
            (None, None) => Err(bad(&"it does not speak as a gateway does")),
        });
    let to = running.to.as_ref().map(AsRawFd::as_raw_fd);
    let silent = to.map_or(Ok(()), sys::set_nonblocking).map_err(|error| bad(&error));
    match card.and_then(|card| silent.map(|()| card)) {
        Ok(card) => Ok((running, card)),
        Err(failure) => {
            running.dispose();
            Err(failure)
        }
    }
}

impl Running {
    /// Ends it at once.
    fn dispose(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its first line.
    fn first_line(&mut self) -> Result<String, Failure> {
        let end = Instant::now() + BEGINNING;
        loop {
            if let Some(line) = self.line() {
                return Ok(line);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = format!("it did not open its port in {} s", BEGINNING.as_secs());
                return Err(Failure::Told(text));
            }
            // Whatever ends it, the loop looks.
            let _ = hpvm_os::wait(&self.from, libc::POLLIN, Some(left));
            let mut buffer = [0; 4096];
            match self.from.read(&mut buffer) {
                Ok(0) => return Err(Failure::Died),
                Ok(count) => self.said.extend_from_slice(&buffer[..count]),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(Failure::Told(error.to_string())),
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
