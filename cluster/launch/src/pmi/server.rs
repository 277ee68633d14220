//! Answers the commands of the ranks: who they are, the key-value space, the barrier.
//!
//! A pure state machine: [`Server::handle`] takes one line of one rank and says what to send. In a
//! job of several hosts each host has a server for its own ranks; [`tree`](super::tree) joins them.

use std::collections::HashMap;

use super::line::{Command, clip};
use super::names::Services;
use super::tree::TreePosition;
use super::{KEY_MAX, NAME_MAX, VALUE_MAX};

/// The key under which ranks find who shares a host.
pub const MAPPING_KEY: &str = "PMI_process_mapping";
/// The key under which ranks find the job's random key, in hexadecimal.
pub const JOB_KEY: &str = "hpvm-job-key";

/// The key under which ranks find who has died, where the others go on: numbers with commas between them, or
/// [`NOBODY_LOST`]. Without recovery the key does not exist.
pub const LOST_KEY: &str = "hpvm-lost-ranks";
pub const NOBODY_LOST: &str = "none";

/// Bytes of keys and values that one job may store. A full 1024-byte value for each of a hundred
/// thousand ranks fits.
pub const STORE_MAX: usize = 256 << 20;

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientState {
    /// It has not said anything yet; a plain program never does.
    Silent,
    Initialised,
    Finalised,
}

/// What follows from a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whole lines to send.
    pub replies: Vec<(u32, String)>,
    pub event: Option<ClientEvent>,
}

/// Something the job must react to.
#[derive(Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The rank asked for the job's end with this code.
    Abort { code: i32, message: Option<String> },
    /// The rank broke the protocol; the text says how.
    Malformed(String),
    /// Told by a server below others only: how far the rank has come.
    State(ClientState),
    /// Told in a tree of servers only: the rank is the first here to wait in the barrier.
    Waits,
    /// Told by a server below others only: everybody here and below waits in the barrier.
    Arrived,
    /// Told by the topmost server of a tree: the barrier is open here, and has to be opened below.
    Opened,
    /// A command that only the topmost server can answer.
    Ask,
    /// The rank publishes a name. [`Server::published`] answers when it is held on the launcher's host.
    Hold { service: String, port: String },
    /// The rank looks for a name that no rank has published. [`Server::found`] answers.
    Find { service: String },
    /// Names are published no longer.
    Release { services: Vec<String> },
    /// The rank takes a name back. [`Server::unpublished`] answers when no host holds it any more.
    Unpublish { service: String },
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) state: ClientState,
    appnum: u32,
    pub(super) in_barrier: bool,
    /// Whether it runs on this host, so that its commands come to this server.
    pub(super) local: bool,
    /// It has died, and the others go on.
    pub(super) lost: bool,
    /// The pairs of an unfinished `mcmd`: only what the answer depends on.
    multi: Option<Multi>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Multi {
    total: i64,
    so_far: i64,
}

/// The key-value space, the barrier and the name service of one job.
#[derive(Debug)]
pub struct Server {
    name: String,
    pub(super) clients: Vec<Client>,
    pub(super) values: HashMap<String, String>,
    /// Keys in the order of their first put, for `getbyidx`.
    keys: Vec<String>,
    pub(super) stored: usize,
    pub(super) services: Services,
    /// Processes that the user expects in all; none: any number.
    universe: Option<u32>,
    /// Ranks of this host that wait in the barrier.
    pub(super) waiting: u32,
    pub(super) place: TreePosition,
    /// Values kept so far, old ones of the same keys included.
    kept: u64,
}

impl Server {
    /// A server for ranks whose application numbers are given; `job` names the key-value space.
    pub fn new(job: &str, appnums: &[u32]) -> Self {
        let client = |appnum: &u32| Client {
            state: ClientState::Silent,
            appnum: *appnum,
            in_barrier: false,
            local: true,
            lost: false,
            multi: None,
        };
        let mut name = format!("kvs_{job}");
        name.truncate(NAME_MAX - 1);
        let mut server = Self {
            name,
            clients: appnums.iter().map(client).collect(),
            values: HashMap::new(),
            keys: Vec::new(),
            stored: 0,
            services: Services::default(),
            universe: Some(appnums.len() as u32),
            waiting: 0,
            place: TreePosition::alone(appnums.len() as u32),
            kept: 0,
        };
        let mapping = format!("(vector,(0,1,{}))", appnums.len());
        server.store(MAPPING_KEY, &mapping);
        server
    }

    /// What `get_universe_size` is answered; the number of ranks if nothing is said here.
    pub fn set_universe(&mut self, size: Option<u32>) {
        self.universe = size;
    }

    /// How far a rank has come.
    pub fn state(&self, rank: u32) -> ClientState {
        self.clients[rank as usize].state
    }

    /// A rank that waits in the barrier, if any does.
    pub fn barrier_waiter(&self) -> Option<u32> {
        if self.waiting == 0 {
            return self.place.waiter;
        }
        self.clients.iter().position(|client| client.in_barrier).map(|rank| rank as u32)
    }

    /// Handles one line of a rank of this host.
    pub fn handle(&mut self, rank: u32, line: &[u8]) -> Outcome {
        let result = match self.clients[rank as usize].multi {
            Some(multi) => self.multi_line(rank, multi, line),
            None => Command::parse(line).and_then(|command| self.command(rank, &command)),
        };
        result.unwrap_or_else(|fault| Outcome {
            replies: Vec::new(),
            event: Some(ClientEvent::Malformed(fault)),
        })
    }

    fn command(&mut self, rank: u32, command: &Command) -> Result<Outcome, String> {
        if command.multi {
            if command.name != "spawn" {
                return Err(format!("'mcmd={}' is not known", clip(command.name)));
            }
            self.clients[rank as usize].multi = Some(Multi::default());
            return Ok(Outcome::default());
        }
        let state = self.state(rank);
        if state != ClientState::Initialised && !matches!(command.name, "init" | "abort") {
            let when = if state == ClientState::Silent { "before" } else { "after" };
            let which = if state == ClientState::Silent { "init" } else { "finalize" };
            return Err(format!("'cmd={}' came {when} 'cmd={which}'", clip(command.name)));
        }
        let reply = match command.name {
            "init" => return self.init(rank, command),
            "get_maxes" => self.maxes(),
            "get_appnum" => {
                format!("cmd=appnum appnum={} rc=0", self.clients[rank as usize].appnum)
            }
            "get_my_kvsname" => format!("cmd=my_kvsname kvsname={} rc=0", self.name),
            "get_universe_size" => {
                // -1: not known, as other managers say it.
                let size = self.universe.map_or(-1, i64::from);
                format!("cmd=universe_size size={size} rc=0")
            }
            "put" => self.put(command)?,
            "get" => self.get(command)?,
            "getbyidx" => self.get_by_index(command)?,
            "barrier_in" => return self.barrier_in(rank),
            "publish_name" | "lookup_name" | "unpublish_name" if self.place.below => {
                return Ok(event(ClientEvent::Ask));
            }
            "publish_name" | "lookup_name" | "unpublish_name" => {
                return self.name_command(rank, command);
            }
            "finalize" => {
                return Ok(self.enter(rank, ClientState::Finalised, "cmd=finalize_ack rc=0"));
            }
            "abort" => return abort(command),
            "spawn" => refuse_spawn(),
            other => return Err(format!("'cmd={}' is not known", clip(other))),
        };
        Ok(answer(rank, reply))
    }

    fn maxes(&self) -> String {
        // A process mapping of many hosts may be longer than what a rank may put.
        let value = self.values.get(MAPPING_KEY).map_or(0, String::len).max(VALUE_MAX);
        format!("cmd=maxes kvsname_max={NAME_MAX} keylen_max={KEY_MAX} vallen_max={value} rc=0")
    }

    /// Answers a command that changes how far the rank has come.
    fn enter(&mut self, rank: u32, state: ClientState, reply: &str) -> Outcome {
        self.clients[rank as usize].state = state;
        let mut outcome = answer(rank, reply.to_string());
        outcome.event = self.place.below.then_some(ClientEvent::State(state));
        outcome
    }

    fn init(&mut self, rank: u32, command: &Command) -> Result<Outcome, String> {
        // A shell script may run one MPI program after another, so a finalised rank may come back.
        if self.state(rank) == ClientState::Initialised {
            return Err("'cmd=init' came twice".to_string());
        }
        let version = command.number("pmi_version")?;
        let subversion = command.number("pmi_subversion")?;
        let reply = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=";
        Ok(match (version, subversion) {
            (1, 0 | 1) => self.enter(rank, ClientState::Initialised, &format!("{reply}0")),
            _ => answer(rank, format!("{reply}-1")),
        })
    }

    fn check_name(&self, command: &Command) -> Result<(), String> {
        match command.get("kvsname") {
            Some(name) if name != self.name => {
                Err(format!("'kvsname={}' is not this job's ({})", clip(name), self.name))
            }
            _ => Ok(()),
        }
    }

    fn put(&mut self, command: &Command) -> Result<String, String> {
        self.check_name(command)?;
        let (key, value) = (command.need("key")?, command.need("value")?);
        let fault = if key.is_empty() || key.len() > KEY_MAX {
            "invalid_key_length"
        } else if value.len() > VALUE_MAX {
            "invalid_value_length"
        } else if !self.store(key, value) {
            "key_value_space_is_full"
        } else {
            self.place.note(key);
            return Ok("cmd=put_result rc=0 msg=success".to_string());
        };
        Ok(format!("cmd=put_result rc=-1 msg={fault}"))
    }

    /// Keeps a value; false when there is no room.
    pub fn store(&mut self, key: &str, value: &str) -> bool {
        let old = self.values.get(key).map_or(0, |old| key.len() + old.len());
        let stored = self.stored - old + key.len() + value.len();
        if stored > STORE_MAX {
            return false;
        }
        self.stored = stored;
        self.kept += 1;
        if self.values.insert(key.to_string(), value.to_string()).is_none() {
            self.keys.push(key.to_string());
        }
        true
    }

    /// Keeps a value as if a rank had put it: servers below hear of it when the next barrier opens.
    pub fn publish_value(&mut self, key: &str, value: &str) {
        if self.store(key, value) {
            self.place.note(key);
        }
    }

    /// A number that changes with every value that is kept.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    fn get(&self, command: &Command) -> Result<String, String> {
        self.check_name(command)?;
        let key = command.need("key")?;
        Ok(match self.values.get(key) {
            Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
            None => {
                let key: String = key.chars().take(KEY_MAX).collect();
                format!("cmd=get_result rc=-1 msg=key_{key}_not_found value=unknown")
            }
        })
    }

    fn get_by_index(&self, command: &Command) -> Result<String, String> {
        self.check_name(command)?;
        let index = command.number("idx")?;
        let key = usize::try_from(index).ok().and_then(|index| self.keys.get(index));
        Ok(match key {
            Some(key) => format!(
                "cmd=getbyidx_results rc=0 nextidx={} key={key} val={}",
                index + 1,
                self.values[key]
            ),
            None => "cmd=getbyidx_results rc=-2 reason=no_more_keyvals".to_string(),
        })
    }

    fn barrier_in(&mut self, rank: u32) -> Result<Outcome, String> {
        let client = &mut self.clients[rank as usize];
        if client.in_barrier {
            return Err("'cmd=barrier_in' came twice".to_string());
        }
        client.in_barrier = true;
        self.waiting += 1;
        Ok(self.arrival(Some(rank)))
    }

    /// One line of a spawn: `key=value` until `endcmd`. A request may come in several parts.
    fn multi_line(&mut self, rank: u32, multi: Multi, line: &[u8]) -> Result<Outcome, String> {
        let text = std::str::from_utf8(line).map_err(|_| "it is not text".to_string())?.trim();
        let state = &mut self.clients[rank as usize].multi;
        if text == "endcmd" {
            *state = None;
            let last = multi.so_far >= multi.total;
            return Ok(if last { answer(rank, refuse_spawn()) } else { Outcome::default() });
        }
        let Some((key, value)) = text.split_once('=') else {
            return Err(format!("'{}' is not of the form key=value", clip(text)));
        };
        let number = || value.parse().map_err(|_| format!("'{}' is not a number", clip(text)));
        let mut multi = multi;
        match key {
            "totspawns" => multi.total = number()?,
            "spawnssofar" => multi.so_far = number()?,
            _ => {}
        }
        *state = Some(multi);
        Ok(Outcome::default())
    }
}

pub(super) fn event(event: ClientEvent) -> Outcome {
    Outcome { replies: Vec::new(), event: Some(event) }
}

pub(super) fn answer(rank: u32, mut reply: String) -> Outcome {
    reply.push('\n');
    Outcome { replies: vec![(rank, reply)], event: None }
}

fn refuse_spawn() -> String {
    "cmd=spawn_result rc=-1 errmsg=this_process_manager_cannot_spawn".to_string()
}

fn abort(command: &Command) -> Result<Outcome, String> {
    let code = command.number("exitcode")?;
    let message = command.get("message").map(str::to_string);
    let event = ClientEvent::Abort { code: code as i32, message };
    Ok(Outcome { replies: Vec::new(), event: Some(event) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(ranks: usize) -> Server {
        let mut server = Server::new("job", &vec![0; ranks]);
        for rank in 0..ranks {
            let reply = say(&mut server, rank as u32, "cmd=init pmi_version=1 pmi_subversion=1");
            assert_eq!(reply, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
        }
        server
    }

    fn say(server: &mut Server, rank: u32, line: &str) -> String {
        let outcome = server.handle(rank, line.as_bytes());
        assert_eq!(outcome.event, None, "{line}");
        assert_eq!(outcome.replies.len(), 1, "{line}");
        assert_eq!(outcome.replies[0].0, rank);
        outcome.replies[0].1.trim_end().to_string()
    }

    fn fault(server: &mut Server, rank: u32, line: &str) -> String {
        match server.handle(rank, line.as_bytes()).event {
            Some(ClientEvent::Malformed(text)) => text,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn key_value_space() {
        let mut server = server(2);
        assert_eq!(
            say(&mut server, 0, "cmd=get_my_kvsname"),
            "cmd=my_kvsname kvsname=kvs_job rc=0"
        );
        let put = "cmd=put kvsname=kvs_job key=a value=1 2";
        assert_eq!(say(&mut server, 0, put), "cmd=put_result rc=0 msg=success");
        let get = "cmd=get kvsname=kvs_job key=a";
        assert_eq!(say(&mut server, 1, get), "cmd=get_result rc=0 msg=success value=1 2");
        let mapping = say(&mut server, 1, "cmd=get kvsname=kvs_job key=PMI_process_mapping");
        assert!(mapping.ends_with("value=(vector,(0,1,2))"), "{mapping}");
        let missing = say(&mut server, 1, "cmd=get kvsname=kvs_job key=b");
        assert!(missing.contains("rc=-1 msg=key_b_not_found"), "{missing}");
        let second = say(&mut server, 1, "cmd=getbyidx kvsname=kvs_job idx=1");
        assert_eq!(second, "cmd=getbyidx_results rc=0 nextidx=2 key=a val=1 2");
        assert!(say(&mut server, 1, "cmd=getbyidx kvsname=kvs_job idx=2").contains("rc=-2"));
        assert!(fault(&mut server, 0, "cmd=get kvsname=other key=a").contains("kvsname=other"));
    }

    #[test]
    fn lengths_are_bounded() {
        let mut server = server(1);
        let long = "k".repeat(KEY_MAX + 1);
        let reply = say(&mut server, 0, &format!("cmd=put key={long} value=1"));
        assert!(reply.contains("rc=-1 msg=invalid_key_length"), "{reply}");
        let long = "v".repeat(VALUE_MAX + 1);
        let reply = say(&mut server, 0, &format!("cmd=put key=k value={long}"));
        assert!(reply.contains("rc=-1 msg=invalid_value_length"), "{reply}");
    }

    #[test]
    fn the_barrier_opens_with_the_last_rank() {
        let mut server = server(3);
        for _ in 0..2 {
            assert_eq!(server.handle(2, b"cmd=barrier_in"), Outcome::default());
            assert_eq!(server.barrier_waiter(), Some(2));
            assert_eq!(server.handle(0, b"cmd=barrier_in"), Outcome::default());
            let out = server.handle(1, b"cmd=barrier_in").replies;
            assert_eq!(out.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [0, 1, 2]);
            assert_eq!(server.barrier_waiter(), None);
        }
    }

    #[test]
    fn order_of_commands() {
        let mut server = Server::new("job", &[0, 3]);
        assert!(fault(&mut server, 1, "cmd=barrier_in").contains("before 'cmd=init'"));
        say(&mut server, 1, "cmd=init pmi_version=1 pmi_subversion=1");
        assert!(say(&mut server, 1, "cmd=get_appnum").contains("appnum=3"));
        assert!(fault(&mut server, 1, "cmd=init pmi_version=1 pmi_subversion=1").contains("twice"));
        server.handle(1, b"cmd=barrier_in");
        assert!(fault(&mut server, 1, "cmd=barrier_in").contains("twice"));
        assert_eq!(say(&mut server, 1, "cmd=finalize"), "cmd=finalize_ack rc=0");
        assert!(fault(&mut server, 1, "cmd=barrier_in").contains("after 'cmd=finalize'"));
        say(&mut server, 1, "cmd=init pmi_version=1 pmi_subversion=1");
        assert!(fault(&mut server, 1, "cmd=dance").contains("'cmd=dance' is not known"));
        let refused = say(&mut server, 0, "cmd=init pmi_version=2 pmi_subversion=0");
        assert!(refused.ends_with("rc=-1"));
        assert_eq!(server.state(0), ClientState::Silent);
    }

    #[test]
    fn abort() {
        let mut server = server(1);
        let event = server.handle(0, b"cmd=abort exitcode=7 message=no more").event;
        let message = Some("no more".to_string());
        assert_eq!(event, Some(ClientEvent::Abort { code: 7, message }));
    }

    #[test]
    fn spawn_is_refused_after_its_last_part() {
        let mut server = server(1);
        for (part, answers) in [(1, 0), (2, 1)] {
            for line in ["mcmd=spawn", "nprocs=1", "execname=x", "totspawns=2"] {
                assert_eq!(server.handle(0, line.as_bytes()), Outcome::default());
            }
            server.handle(0, format!("spawnssofar={part}").as_bytes());
            let outcome = server.handle(0, b"endcmd");
            assert_eq!(outcome.replies.len(), answers);
        }
        for (universe, told) in [(None, "size=-1 "), (Some(7), "size=7 ")] {
            assert!(say(&mut server, 0, "cmd=get_universe_size").contains("size=1 "));
            server.set_universe(universe);
            assert!(say(&mut server, 0, "cmd=get_universe_size").contains(told));
            server.set_universe(Some(1));
        }
    }
}
