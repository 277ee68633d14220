//! The console's commands.

use super::line::{self, Output, Place, Ps, Spawn};
use super::{Console, help, print};
use hpvm_pvm::hostfile::Hostfile;
use hpvm_pvm::protocol::{Answer, Destination, HostLine, Mail, Request, Start, TaskLine};
use hpvm_pvm::wire::Bytes;
use hpvm_pvm::{Code, Tid, error, search, tid};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::ffi::OsStringExt;

/// What is to be done behind a command.
pub enum Next {
    More,
    Quit,
    Halted,
}

/// A mistake of the user: it is printed, and the console goes on.
pub fn wrong(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text.into())
}

fn task(word: &str) -> io::Result<Tid> {
    line::tid(word).map_err(wrong)
}

/// At least one word, or the command's syntax.
fn some<'a>(name: &str, words: &'a [String]) -> io::Result<&'a [String]> {
    if words.is_empty() {
        return Err(wrong(format!("{name}: an argument is missing; `help {name}` says which")));
    }
    Ok(words)
}

impl Console {
    /// Runs one command.
    pub fn command(&mut self, name: &str, words: &[String]) -> io::Result<Next> {
        if !help::takes(name, words.len()) {
            return Err(wrong(format!("{name}: too many arguments; `help {name}` says which")));
        }
        match name {
            "add" => self.hosts(name, some(name, words)?)?,
            "delete" => self.hosts(name, some(name, words)?)?,
            "alias" => self.alias(words),
            "unalias" => words.iter().for_each(|word| drop(self.aliases.remove(word))),
            "conf" => {
                if let Answer::Hosts { hosts } = self.connection.ask(&Request::Config {})? {
                    print::hosts(&hosts);
                }
            }
            "echo" => say!("{}", words.join(" ")),
            "export" => export(words, true),
            "unexport" => export(words, false),
            "getopt" => self.getopt(words.first())?,
            "groups" => self.groups()?,
            "halt" => return self.halt(),
            "help" | "?" => help::print(words.first().map(String::as_str)),
            "id" => say!("t{:x}", self.identity.tid),
            "jobs" => self.list_jobs(words)?,
            "kill" => self.kill(some(name, words)?)?,
            "mstat" => {
                for word in some(name, words)? {
                    let answer =
                        self.connection.ask(&Request::HostStatus { name: word.clone() })?;
                    say!("{word:>24} {}", status(&answer));
                }
            }
            "names" => self.names(words.first())?,
            "ps" => self.ps(words)?,
            "pstat" => {
                for word in some(name, words)? {
                    let answer = self.connection.ask(&Request::TaskStatus { tid: task(word)? })?;
                    say!("{word:>24} {}", status(&answer));
                }
            }
            "put" => self.put(some(name, words)?)?,
            "quit" | "exit" => return Ok(Next::Quit),
            "reset" => self.reset(words)?,
            "setenv" => setenv(words),
            "setopt" => self.setopt(words)?,
            "sig" => {
                let [signal, tids @ ..] = some(name, words)? else { return Ok(Next::More) };
                let signal = signal
                    .parse()
                    .map_err(|_| wrong(format!("{signal}: expected a signal's number")))?;
                for word in some(name, tids)? {
                    self.code(&Request::Signal { tid: task(word)?, signal }, word)?;
                }
            }
            "spawn" => self.spawn(some(name, words)?)?,
            "version" => say!("3.4.6"),
            _ => {
                let why =
                    help::without_meaning(name).unwrap_or("no such command; `help` lists them");
                return Err(wrong(format!("{name}: {why}")));
            }
        }
        Ok(Next::More)
    }

    /// A request whose answer is success, or an error that is printed.
    fn code(&mut self, request: &Request, what: &str) -> io::Result<()> {
        match self.connection.ask(request)? {
            Answer::Code { code } if code < 0 => {
                say!("{what}: {}", error::text(code));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Adds the hosts of a file that are not there.
    pub fn add_hosts_of(&mut self, file: Hostfile) -> io::Result<()> {
        let Answer::Hosts { hosts } = self.connection.ask(&Request::Config {})? else {
            return Ok(());
        };
        let there: Vec<_> = hosts.into_iter().map(|host| host.name).collect();
        let (lines, names) = file.split(&there);
        self.code(&Request::HostOptions { lines }, "hostfile")?;
        if names.is_empty() { Ok(()) } else { self.hosts("add", &names) }
    }

    fn hosts(&mut self, name: &str, words: &[String]) -> io::Result<()> {
        let names = words.to_vec();
        let request = match name {
            "add" => Request::AddHosts { names },
            _ => Request::DeleteHosts { names },
        };
        let Answer::Tids { tids } = self.connection.ask(&request)? else { return Ok(()) };
        say!("{} successful", tids.iter().filter(|tid| **tid >= 0).count());
        say!("{:>24} {:>8}", "HOST", "DTID");
        for (word, code) in words.iter().zip(&tids) {
            match code {
                code if name == "add" && *code > 0 => say!("{word:>24} {code:>8x}"),
                0 => say!("{word:>24}  deleted"),
                code => say!("{word:>24} {}", error::text(*code)),
            }
        }
        if name == "add" && tids.contains(&Code::CantStart.number()) {
            say!("Why is in the log, /tmp/pvml.{}.", hpvm_os::user());
        }
        Ok(())
    }

    fn alias(&mut self, words: &[String]) {
        match words.split_first() {
            None => {
                self.aliases.iter().for_each(|(name, words)| say!("{name}\t{}", words.join(" ")))
            }
            Some((name, [])) => {
                if let Some(words) = self.aliases.get(name) {
                    say!("{name}\t{}", words.join(" "));
                }
            }
            Some((name, rest)) => drop(self.aliases.insert(name.clone(), rest.to_vec())),
        }
    }

    fn groups(&mut self) -> io::Result<()> {
        if let Answer::Groups { names, sizes } = self.connection.ask(&Request::Groups {})? {
            names.iter().zip(sizes).for_each(|(name, size)| say!("{name:>24} {size:>8}"));
        }
        Ok(())
    }

    /// Puts a message without content into the mailbox, as PVM's console does: a name that tasks look for.
    fn put(&mut self, words: &[String]) -> io::Result<()> {
        let flags = match &words[1..] {
            [] => 0,
            [flags] => {
                flags.parse().map_err(|_| wrong(format!("{flags}: expected flags as a number")))?
            }
            _ => return Err(wrong("put: expected a name and flags")),
        };
        let mail = Mail { source: self.identity.tid, ..Mail::default() };
        let name = words[0].clone();
        match self.connection.ask(&Request::Put { name, flags, mail })? {
            Answer::Code { code } if code < 0 => say!("{}: {}", words[0], error::text(code)),
            Answer::Code { code } => say!("{} index={code}", words[0]),
            _ => {}
        }
        Ok(())
    }

    fn names(&mut self, pattern: Option<&String>) -> io::Result<()> {
        let request = Request::Names { pattern: pattern.map_or("*", String::as_str).into() };
        let Answer::Classes { classes } = self.connection.ask(&request)? else { return Ok(()) };
        say!("{:>24} {:>6} {:>8} {:>6}", "NAME", "INDEX", "OWNER", "FLAGS");
        for class in classes {
            for ((index, owner), flags) in class.indices.iter().zip(&class.owners).zip(&class.flags)
            {
                say!("{:>24} {index:>6} {owner:>8x} {flags:>6}", class.name);
            }
        }
        Ok(())
    }

    fn kill(&mut self, words: &[String]) -> io::Result<()> {
        let (children, words) = match words {
            [option, words @ ..] if option == "-c" => (true, some("kill", words)?),
            [option, ..] if option.starts_with('-') => {
                return Err(wrong(format!(
                    "kill: unknown option {option}; `help kill` lists them"
                )));
            }
            words => (false, words),
        };
        for word in words {
            let parent = task(word)?;
            if !children {
                self.code(&Request::Signal { tid: parent, signal: libc::SIGTERM }, word)?;
                continue;
            }
            let (_, tasks) = self.tasks(0)?;
            for task in tasks.iter().filter(|task| task.parent == parent && parent > 0) {
                let request = Request::Signal { tid: task.tid, signal: libc::SIGTERM };
                self.code(&request, &format!("t{:x}", task.tid))?;
            }
        }
        Ok(())
    }

    /// Hosts, and the tasks of `place`: 0 for all, a host or a task.
    fn tasks(&mut self, place: Tid) -> io::Result<(Vec<HostLine>, Vec<TaskLine>)> {
        let Answer::Hosts { hosts } = self.connection.ask(&Request::Config {})? else {
            return Ok((Vec::new(), Vec::new()));
        };
        match self.connection.ask(&Request::Tasks { place })? {
            Answer::Tasks { tasks } => Ok((hosts, tasks)),
            Answer::Code { code } => Err(wrong(format!("ps: t{place:x}: {}", error::text(code)))),
            _ => Ok((hosts, Vec::new())),
        }
    }

    fn ps(&mut self, words: &[String]) -> io::Result<()> {
        let Ps { place, long, consoles } = Ps::parse(words).map_err(wrong)?;
        let place = match place {
            Place::Here => tid::host_of(self.identity.tid),
            Place::Everywhere => 0,
            Place::Host(host) => host,
            Place::Named(name) => {
                let (hosts, _) = self.tasks(0)?;
                let found = hosts.iter().find(|host| host.name == name);
                found.ok_or_else(|| wrong(format!("ps: unknown host {name}")))?.tid
            }
        };
        let (hosts, mut tasks) = self.tasks(place)?;
        tasks.retain(|task| consoles || !print::is_console(task));
        print::task_head(long);
        tasks.iter().for_each(|task| print::task(&hosts, task, long));
        Ok(())
    }

    fn list_jobs(&mut self, words: &[String]) -> io::Result<()> {
        match words {
            [] => self.jobs.list(),
            [option] if option == "-l" => {
                let (hosts, tasks) = self.tasks(0)?;
                self.jobs.list_long(&hosts, &tasks);
            }
            [other, ..] => return Err(wrong(format!("jobs: unknown option {other}; expected -l"))),
        }
        Ok(())
    }

    fn reset(&mut self, words: &[String]) -> io::Result<()> {
        let (name, index) = match words {
            [] => return self.code(&Request::Reset { keep: 0 }, "reset"),
            [what, ..] if what != "info" => {
                return Err(wrong(format!(
                    "\"{what}\" arg to reset not valid; expected info, or nothing"
                )));
            }
            [_] => (String::new(), -1),
            [_, name] => (name.clone(), -1),
            [_, name, index, ..] => {
                let number = index.parse().ok().filter(|index| *index >= 0);
                let expected = || wrong(format!("{index}: expected an index, 0 or more"));
                (name.clone(), number.ok_or_else(expected)?)
            }
        };
        self.code(&Request::DeleteOrphans { name, index }, "reset info")
    }

    fn halt(&mut self) -> io::Result<Next> {
        // It answers by saying that it ends, and then by ending.
        let _ = self.connection.ask(&Request::Halt {});
        while self.connection.read().is_ok() {}
        Ok(Next::Halted)
    }

    fn spawn(&mut self, words: &[String]) -> io::Result<()> {
        let spawn = Spawn::parse(words).map_err(wrong)?;
        let arguments = spawn.arguments.into_iter().map(|word| Bytes(word.into_bytes())).collect();
        let Spawn { program, flags, place, count, .. } = spawn;
        let mut start = Start { program, arguments, flags, place, count, ..Start::default() };
        start.environment = environment();
        let working =
            std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into_owned());
        start.folders = search::folders(|name| std::env::var(name).ok(), None, working.as_deref());
        start.output = self.options.output.clone();
        let mut job = None;
        if let Some(output) = spawn.output {
            let tag = self.jobs.add(open(output)?);
            start.output = Destination { tid: self.identity.tid, context: 0, tag };
            job = Some(tag);
            say!("[{tag}]");
        }
        let Answer::Tids { tids } = self.connection.ask(&Request::Spawn { start })? else {
            return Err(wrong("spawn: the number of tasks or the program makes no sense"));
        };
        say!("{} successful", tids.iter().filter(|tid| **tid > 0).count());
        if let Some(job) = job {
            self.jobs.started(job, tids.iter().filter(|tid| **tid > 0));
        }
        for tid in tids {
            match tid {
                tid if tid > 0 => say!("t{tid:x}"),
                code => say!("{}", error::text(code)),
            }
        }
        Ok(())
    }
}

/// The file that output goes to; `None`: it comes to the terminal.
fn open(output: Output) -> io::Result<Option<std::fs::File>> {
    let Output::File { name, append } = output else { return Ok(None) };
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(append).truncate(!append);
    options.open(&name).map(Some).map_err(|cause| wrong(format!("{name}: {cause}")))
}

fn environment() -> Vec<Bytes> {
    let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Bytes([name.into_vec(), b"=".to_vec(), value.into_vec()].concat())
    };
    std::env::vars_os().map(entry).collect()
}

fn status(answer: &Answer) -> String {
    match answer {
        Answer::Code { code: 0 } => "ok".to_owned(),
        Answer::Code { code } => error::text(*code),
        _ => String::new(),
    }
}

fn set(name: &str, value: &str) {
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var(name, value) };
}

fn setenv(words: &[String]) {
    match words {
        [] => std::env::vars().for_each(|(name, value)| say!("{name}={value}")),
        [name] => say!("{name}={}", std::env::var(name).unwrap_or_default()),
        // A name that cannot be one would be a panic.
        [name, ..] if name.is_empty() || name.contains(['=', '\0']) => {
            say!("{name}: not a name")
        }
        [name, value @ ..] => set(name, &value.join(" ")),
    }
}

fn export(words: &[String], add: bool) {
    let before = std::env::var("PVM_EXPORT").unwrap_or_default();
    let mut names: Vec<_> =
        before.split(':').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if words.is_empty() {
        say!("{}", names.join(" "));
    }
    names.retain(|name| !words.contains(name));
    if add {
        names.extend_from_slice(words);
    }
    set("PVM_EXPORT", &names.join(":"));
}
