//! PVM's console: commands from a terminal or a script on standard input.

/// Prints a line.
macro_rules! say {
    ($($words:tt)*) => { $crate::console::line_out(format_args!($($words)*)) };
}

mod command;
mod help;
pub mod line;
mod options;
mod print;

use crate::client;
use command::Next;
use hpvm_pvm::connection::Connection;
use hpvm_pvm::hostfile::Hostfile;
use hpvm_pvm::protocol::Identity;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::Path;

const USAGE: &str = "usage: pvm [-n NAME] [--script FILE] [HOSTFILE]

PVM's console. Commands come from standard input; `help` lists them. The virtual machine is started where there is none,
and ends with its last task and console. Hosts of HOSTFILE that are not in it are added.

  -n NAME       the virtual machine of this name (as PVM_VMID)
  --script FILE read commands from FILE
  -h, --help    this text
  -V, --version the version of PVM that is provided
";

/// A console: its connection, and what its commands have set.
pub struct Console {
    connection: Connection,
    identity: Identity,
    aliases: BTreeMap<String, Vec<String>>,
    options: options::Options,
    /// Where the output of spawned tasks goes that does not come to the terminal, by job.
    jobs: print::Jobs,
}

/// Why commands have ended.
enum End {
    OfInput,
    Quit,
    Halted,
}

/// What the command line says.
#[derive(Default)]
struct Given {
    script: Option<Vec<u8>>,
    hosts: Option<Hostfile>,
}

/// Reads the command line and the files that it names, before anything is started.
///
/// # Errors
/// The exit code, after a text.
fn given(args: &[OsString]) -> Result<Given, i32> {
    let (mut script, mut hosts) = (None, None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.to_string_lossy().as_ref() {
            "-h" | "--help" => {
                print!("{USAGE}");
                return Err(0);
            }
            "-V" | "--version" => {
                say!("3.4.6");
                return Err(0);
            }
            "-n" => match words.next() {
                // SAFETY: this process has one thread.
                Some(name) => unsafe { std::env::set_var("PVM_VMID", name) },
                None => return Err(usage("-n: expected a name behind it")),
            },
            "--script" => match words.next() {
                Some(name) => script = Some(name),
                None => return Err(usage("--script: expected a file behind it")),
            },
            word if word.starts_with('-') => return Err(usage(&format!("unknown option {word}"))),
            word if hosts.is_some() => return Err(usage(&format!("{word}: one hostfile is read"))),
            _ => hosts = Some(word),
        }
    }
    let no_good = |cause: String| {
        eprintln!("pvm: {cause}");
        1
    };
    let commands = |file: &OsString| read(file, "a file of commands");
    Ok(Given {
        script: script.map(commands).transpose().map_err(no_good)?,
        hosts: hosts.map(|file| hostfile(file)).transpose().map_err(no_good)?,
    })
}

/// Runs the console; returns its exit code.
pub fn main(args: &[OsString]) -> i32 {
    let Given { script, hosts } = match given(args) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let (connection, identity) = match client::open() {
        Ok(opened) => opened,
        Err(cause) => {
            eprintln!("pvm: the virtual machine cannot be reached or started: {cause}");
            return 1;
        }
    };
    let mut console = Console {
        connection,
        identity,
        aliases: BTreeMap::new(),
        options: options::Options::default(),
        jobs: print::Jobs::default(),
    };
    let added = hosts.map_or(Ok(()), |hosts| console.add_hosts_of(hosts));
    let ended = added.and_then(|()| match script {
        None => console.interact(),
        Some(script) => console.run(BufReader::new(&script[..]), None, false),
    });
    // What spawned tasks write to us is read to its end.
    let done = ended.and_then(|end| match end {
        End::Halted => Ok(()),
        End::OfInput | End::Quit => {
            console.jobs.finish(&mut console.connection, console.options.show_tids)
        }
    });
    match done {
        Ok(()) => 0,
        Err(cause) => {
            eprintln!("pvm: {cause}");
            1
        }
    }
}

fn read(file: &OsStr, expected: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file)
        .map_err(|cause| format!("{}: {cause}; expected {expected}", file.to_string_lossy()))
}

fn hostfile(file: &OsStr) -> Result<Hostfile, String> {
    let text = read(file, "a hostfile")?;
    Hostfile::parse(&String::from_utf8_lossy(&text)).map_err(|cause| {
        format!("{}: {cause}; commands of a file are read with --script", file.to_string_lossy())
    })
}

/// Where nobody reads any more (`pvm < script | head`) the console ends, without a word.
fn line_out(words: std::fmt::Arguments) {
    if writeln!(io::stdout(), "{words}").is_err() {
        std::process::exit(1);
    }
}

fn usage(cause: &str) -> i32 {
    eprintln!("pvm: {cause}\n{USAGE}");
    2
}

impl Console {
    /// Commands from standard input, after those of the user's `.pvmrc`.
    fn interact(&mut self) -> io::Result<End> {
        // Without a home there is none: a file of this name where the console happens to run is not the user's.
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        if let Some(Ok(commands)) = home.map(|home| std::fs::read(Path::new(&home).join(".pvmrc")))
        {
            match self.run(BufReader::new(&commands[..]), None, false)? {
                End::OfInput => {}
                end => return Ok(end),
            }
        }
        let stdin = io::stdin();
        // A reader of its own, which says whether it has a line already.
        let input = File::from(stdin.as_fd().try_clone_to_owned()?);
        self.run(BufReader::new(input), Some(stdin.as_raw_fd()), stdin.is_terminal())
    }

    /// Commands from `input`. Output of tasks is printed as it comes, also while a command is waited for at `waits`.
    fn run(
        &mut self,
        mut input: BufReader<impl Read>,
        waits: Option<RawFd>,
        prompt: bool,
    ) -> io::Result<End> {
        let mut line = Vec::new();
        loop {
            if prompt {
                print!("pvm> ");
                io::stdout().flush()?;
            }
            if let Some(fd) = waits.filter(|_| input.buffer().is_empty()) {
                self.print_until_input(fd)?;
            }
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(End::OfInput);
            }
            let words = self.words(&String::from_utf8_lossy(&line));
            let Some((name, words)) = words.split_first() else { continue };
            match self.command(name, words) {
                Ok(Next::More) => {}
                Ok(Next::Quit) => return Ok(End::Quit),
                Ok(Next::Halted) => return Ok(End::Halted),
                Err(cause) if cause.kind() == io::ErrorKind::InvalidInput => say!("{cause}"),
                Err(cause) => return Err(cause),
            }
            self.jobs.print(&mut self.connection, self.options.show_tids)?;
        }
    }

    fn print_until_input(&mut self, fd: RawFd) -> io::Result<()> {
        let waiting = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        loop {
            let mut fds = [waiting(fd), waiting(self.connection.stream().as_raw_fd())];
            // Of a call that fails no descriptor is ready.
            let _ = hpvm_os::poll(&mut fds, None);
            if fds[1].revents != 0 {
                self.connection.look()?;
                self.jobs.print(&mut self.connection, self.options.show_tids)?;
            }
            if fds[0].revents != 0 {
                return Ok(());
            }
        }
    }

    /// The words of a line; its first one may be an alias.
    fn words(&self, line: &str) -> Vec<String> {
        let mut words = line::words(line);
        if let Some(alias) = words.first().and_then(|first| self.aliases.get(first)) {
            words.splice(..1, alias.clone());
        }
        words
    }
}
