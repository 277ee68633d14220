//! Stripes of this host and of others, which are reached by the command that mpirun would take.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use hpvm_io::stripes::{Manifest, Stripe, escaped, unescaped};
use hpvm_launch::hosts::local_name;
use hpvm_launch::remote::start::quote;
use hpvm_launch::spread::{Reach, reach_by};

use super::part;

/// Begins the line by which a host answers. What a shell there writes before it is passed over.
pub const MARK: &str = "hpvm-stripe ";
/// Bytes that are passed over, and that an answer may have.
const BEFORE: u64 = 64 << 10;

/// What is wanted of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Look,
    Send,
    Remove,
}

impl Verb {
    pub fn of(name: &str) -> Option<Verb> {
        [Verb::Look, Verb::Send, Verb::Remove].into_iter().find(|verb| verb.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Verb::Look => "look",
            Verb::Send => "send",
            Verb::Remove => "remove",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// With so many bytes of data.
    There(u64),
    Missing,
}

/// How hosts are reached.
pub struct Way {
    here: String,
    reach: Reach,
    own: OsString,
}

/// Where the data of a stripe come from, in order.
pub enum Source {
    Here(Option<Stripe>, u64),
    Far(BufReader<ChildStdout>, Child),
}

impl Way {
    pub fn new(agent: Option<&str>) -> Result<Way, String> {
        let reach = reach_by(agent.map(OsStr::new)).map_err(|cause| cause.to_string())?;
        let own = std::env::current_exe().map_err(|cause| format!("this program: {cause}"))?;
        Ok(Way { here: local_name(), reach, own: own.into_os_string() })
    }

    /// Asks the host of a stripe, and does not wait for what it says.
    pub fn ask(&self, manifest: &Manifest, number: usize, verb: Verb) -> Result<Asked, String> {
        let place = &manifest.stripes[number];
        if place.host == self.here {
            let of = (manifest.set.as_str(), manifest.layout());
            let (answer, stripe) = part::perform(verb, of, number as u64, &place.path)?;
            return Ok(Asked { known: Some(answer), source: Source::Here(stripe, 0) });
        }
        let failed = |cause: io::Error| format!("host '{}' cannot be reached: {cause}", place.host);
        let (program, first) = self.reach.words.split_first().ok_or("there is no launch agent")?;
        let mut command = Command::new(program);
        command.args(first).arg(&place.host);
        let numbers = [number as u64, manifest.stripes.len() as u64, manifest.unit];
        let numbers = numbers.map(|n| n.to_string());
        let path = escaped(place.path.as_os_str().as_bytes());
        let mut words: Vec<&OsStr> = vec![&self.own];
        words.extend(["stripes", "part", verb.name(), &manifest.set].map(OsStr::new));
        words.extend(numbers.iter().map(OsStr::new));
        words.push(OsStr::new(&path));
        let word = |word: &OsStr| if self.reach.raw { word.to_os_string() } else { quote(word) };
        command.args(words.into_iter().map(word));
        // What the agent says of the host goes to our own standard error.
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let Some(from) = child.stdout.take() else {
            return Err(failed(ErrorKind::BrokenPipe.into()));
        };
        Ok(Asked { known: None, source: Source::Far(BufReader::new(from), child) })
    }
}

/// A host that has been asked.
pub struct Asked {
    known: Option<Answer>,
    source: Source,
}

impl Asked {
    /// What it says.
    pub fn wait(mut self, host: &str) -> Result<(Answer, Source), String> {
        if let Some(answer) = self.known {
            return Ok((answer, self.source));
        }
        let silent = || format!("host '{host}' cannot be reached, or has no hpvm that answers");
        let line = self.source.answer().map_err(|cause| format!("{}: {cause}", silent()))?;
        let answer = parsed(&line).map_err(|why| if why.is_empty() { silent() } else { why })?;
        Ok((answer, self.source))
    }
}

/// Reads an answer, which is an allegation. An empty error: it is none.
fn parsed(line: &str) -> Result<Answer, String> {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("there", len) => len.parse().map(Answer::There).map_err(|_| String::new()),
        ("missing", "") => Ok(Answer::Missing),
        ("failed", why) => {
            let why = unescaped(why).unwrap_or_default();
            Err(String::from_utf8_lossy(&why).into_owned())
        }
        _ => Err(String::new()),
    }
}

impl Source {
    /// The line by which the host answers, behind its mark.
    fn answer(&mut self) -> io::Result<String> {
        let Source::Far(from, _) = self else { return Ok(String::new()) };
        let mut left = BEFORE;
        let mut line = Vec::new();
        while left > 0 {
            line.clear();
            let n = from.take(left).read_until(b'\n', &mut line)? as u64;
            if n == 0 {
                break;
            }
            left -= n;
            if let Some(answer) = line.strip_prefix(MARK.as_bytes()) {
                return Ok(String::from_utf8_lossy(answer).trim_end().to_owned());
            }
        }
        Ok(String::new())
    }

    /// Fills `out` with what comes next.
    pub fn read(&mut self, out: &mut [u8]) -> io::Result<()> {
        match self {
            Source::Far(from, _) => from.read_exact(out),
            Source::Here(stripe, at) => {
                let read = stripe.as_ref().map_or(Ok(0), |stripe| stripe.read_at(*at, out));
                let n = read.map_err(|error| io::Error::other(error.to_string()))?;
                *at += n as u64;
                if n == out.len() { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
            }
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Source::Far(_, child) = self {
            // It ends by itself when it has said all; one that has not is of no use any more.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        assert_eq!(parsed("there 12"), Ok(Answer::There(12)));
        assert_eq!(parsed("missing"), Ok(Answer::Missing));
        assert_eq!(parsed("failed a%20b"), Err("a b".to_owned()));
        for none in ["", "there", "there -1", "missing x", "failed a b", "other"] {
            assert_eq!(parsed(none), Err(String::new()), "{none:?}");
        }
    }
}
