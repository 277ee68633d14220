//! What ranks of a job over several sites have their launcher do, by [streams](crate::executor::streams) from whatever host: start the
//! launcher of a job that they spawn, reach the port of those who have spawned them or one that a process of the family has opened
//! ([`ports`]), tell gateways of ranks that these do not know. Decided without doing anything: what streams say goes in, what is to be
//! done comes out.
//!
//! A stream begins with a line:
//!
//! | line | what follows |
//! |---|---|
//! | `launch TOKEN RANK LENGTH` | so many bytes, a [`Request`]; then the lifeline of the new launcher |
//! | `port TOKEN` | what the port of who spawns and the new job's first process say to each other |
//! | `life TOKEN` | nothing; it ends with the new launcher |
//! | `parent` | the other end of `port`, in the new job |
//! | `space` | a line `KEY SIZE SITES`, then lines `RANK CARD`; gateways know of them until it ends |
//! | `offer PORT` | nothing; the port can be reached until it ends. It is told an empty line, then a line with a number for each caller |
//! | `reach PORT` | it is told an empty line, or its end: nobody offers the port. Then what the caller and the port say to each other |
//! | `take PORT NUMBER` | the other end of that |

mod ports;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::remote::codec::{Fault, Reader, Writer};
use crate::remote::frame::FRAME_MAX;

/// Longest first line of a stream, and longest line about a space but for the first, bytes.
const LINE_MAX: usize = 4096;

/// One end of a stream: on the host of that number, or here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub node: Option<u32>,
    pub number: u32,
}

/// What a stream is for.
#[derive(Debug)]
enum Use {
    /// Its first line has not come as a whole, or what belongs to it.
    New(Vec<u8>),
    /// Waits until what it is to be joined with is there; what has come meanwhile.
    Waits(Vec<u8>),
    /// What comes goes to that one.
    Joined(End),
    /// Of ranks that gateways call by this number; what has come of a line, and whether the first one has.
    Space { number: u32, line: Vec<u8>, begun: bool },
    /// Tells who opened this port of its callers. What comes does not matter.
    Offer(String),
    /// Nothing that comes matters.
    Deaf,
}

/// The launcher that a rank wants, and the streams to it.
#[derive(Debug, Default)]
struct Wanted {
    launch: Option<(End, Request, u32)>,
    port: Option<End>,
    life: Option<End>,
}

/// How a launcher is to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub arguments: Vec<OsString>,
    /// Variables of the rank's.
    pub variables: Vec<(OsString, OsString)>,
}

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.list(&self.arguments, |w, word| {
            w.bytes(word.as_bytes());
        });
        w.list(&self.variables, |w, (name, value)| {
            w.bytes(name.as_bytes()).bytes(value.as_bytes());
        });
        w.0
    }

    /// # Errors
    /// What is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Request, Fault> {
        let mut r = Reader::new(bytes);
        let word = |r: &mut Reader| Ok::<_, Fault>(OsString::from_vec(r.bytes()?.to_vec()));
        let arguments = r.list(word)?;
        let variables = r.list(|r| Ok((word(r)?, word(r)?)))?;
        r.end()?;
        let is_bad = |word: &OsString| word.as_bytes().contains(&0);
        let name_is_bad = |name: &OsString| name.is_empty() || name.as_bytes().contains(&b'=');
        let words = || arguments.iter().chain(variables.iter().flat_map(|(a, b)| [a, b]));
        if words().any(is_bad) || variables.iter().any(|(name, _)| name_is_bad(name)) {
            return Err("a word that no process can be started with".to_owned());
        }
        Ok(Request { arguments, variables })
    }
}

/// The streams that lead to a launcher which is to be started: its lifeline, to the port of who spawns, one that ends with it.
pub type Ends = [End; 3];

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Say something at the other end of a stream; nothing is the end.
    Say { to: End, bytes: Vec<u8> },
    /// Start a launcher for a rank; [`Errands::launched`] tells what came of it.
    Launch { ends: Ends, request: Request, rank: u32 },
    /// Make a stream to the first launcher of the family for what that one alone does; [`Errands::reached`] tells what came of it.
    Reach { from: End },
    /// Tell all gateways a line about ranks that they know by this number.
    Tell { number: u32, line: String },
}

/// What ranks have wanted so far.
#[derive(Debug, Default)]
pub struct Errands {
    /// Ours is a job that another one has spawned: gateways are not told by us.
    spawned: bool,
    uses: BTreeMap<End, Use>,
    /// Nothing more comes from these.
    ended: BTreeSet<End>,
    wanted: BTreeMap<String, Wanted>,
    spaces: u32,
    /// What processes of the family offer, by the ports' names.
    ports: BTreeMap<String, ports::Offered>,
    /// To those who have spawned this job, until a rank has asked for it.
    parents: Option<End>,
    acts: VecDeque<Act>,
}

impl Errands {
    /// For a job that another one has spawned, with a stream to the port of that: `parents`.
    pub fn of_spawned(parents: Option<End>) -> Errands {
        let mut errands = Errands { spawned: true, parents, ..Errands::default() };
        errands.uses.extend(parents.map(|end| (end, Use::Waits(Vec::new()))));
        errands
    }

    /// The next thing to do, in order.
    pub fn poll_act(&mut self) -> Option<Act> {
        self.acts.pop_front()
    }

    /// What comes from this stream of ours does not matter.
    pub fn ignore(&mut self, end: End) {
        self.uses.insert(end, Use::Deaf);
    }

    /// Bytes have come from a stream; nothing is its end. `runs_at`: whether a rank runs on the host of an end.
    pub fn said(&mut self, from: End, bytes: &[u8], runs_at: impl Fn(u32, End) -> bool) {
        if bytes.is_empty() {
            return self.over(from);
        }
        let place = self.uses.entry(from).or_insert_with(|| Use::New(Vec::new()));
        match place {
            Use::New(begun) => {
                begun.extend_from_slice(bytes);
                self.take_line(from, runs_at);
            }
            Use::Waits(kept) => kept.extend_from_slice(bytes),
            Use::Joined(to) => {
                let to = *to;
                self.say(to, bytes.to_vec());
            }
            Use::Space { .. } => self.take_space(from, bytes),
            Use::Offer(_) | Use::Deaf => {}
        }
    }

    /// Nothing more comes from a stream.
    fn over(&mut self, from: End) {
        if !self.ended.insert(from) {
            return;
        }
        match self.uses.get(&from) {
            // Once it is joined the other one is told.
            Some(Use::Waits(_)) => {}
            Some(Use::Joined(to)) => {
                let to = *to;
                self.say(to, Vec::new());
                if self.ended.contains(&to) {
                    self.forget(from);
                    self.forget(to);
                }
            }
            Some(Use::Space { number, .. }) => {
                let number = *number;
                self.acts.push_back(Act::Tell { number, line: format!("forget {number}") });
                self.close(from);
            }
            Some(Use::Offer(port)) => {
                let port = port.clone();
                self.close(from);
                self.withdraw(&port);
            }
            // It has been told.
            Some(Use::Deaf) => self.forget(from),
            Some(Use::New(_)) | None => self.close(from),
        }
    }

    fn forget(&mut self, end: End) {
        self.uses.remove(&end);
        self.ended.remove(&end);
    }

    /// Its other direction ends, too.
    fn close(&mut self, end: End) {
        self.say(end, Vec::new());
        self.forget(end);
    }

    fn say(&mut self, to: End, bytes: Vec<u8>) {
        self.acts.push_back(Act::Say { to, bytes });
    }

    /// It asks for what makes no sense, or for what cannot be done.
    fn refuse(&mut self, from: End) {
        if self.ended.contains(&from) {
            return self.close(from);
        }
        self.uses.insert(from, Use::Deaf);
        self.say(from, Vec::new());
    }

    /// Reads the first line of a stream, if it has come, and what belongs to it.
    fn take_line(&mut self, from: End, runs_at: impl Fn(u32, End) -> bool) {
        let Some(Use::New(begun)) = self.uses.get(&from) else { return };
        let Some(at) = begun.iter().position(|byte| *byte == b'\n') else {
            if begun.len() > LINE_MAX {
                self.refuse(from);
            }
            return;
        };
        let line = String::from_utf8_lossy(&begun[..at]).into_owned();
        let rest = begun[at + 1..].to_vec();
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["launch", token, rank, length] => {
                let numbers = rank.parse().ok().zip(length.parse::<usize>().ok());
                let Some((rank, length)) = numbers.filter(|(_, length)| *length <= FRAME_MAX)
                else {
                    return self.refuse(from);
                };
                let Some((body, late)) = rest.split_at_checked(length) else { return };
                match Request::decode(body).ok().filter(|_| runs_at(rank, from)) {
                    Some(request) => {
                        self.want(from, token, late, |w| w.launch = Some((from, request, rank)));
                    }
                    None => self.refuse(from),
                }
            }
            ["port", token] => self.want(from, token, &rest, |w| w.port = Some(from)),
            ["life", token] => self.want(from, token, &rest, |w| w.life = Some(from)),
            ["parent"] => match self.parents.take() {
                Some(parents) => {
                    self.uses.insert(from, Use::Waits(rest));
                    self.join(from, parents);
                }
                None => self.refuse(from),
            },
            ["space"] | ["offer" | "reach", _] | ["take", _, _] if self.spawned => {
                let begun = begun.clone();
                self.uses.insert(from, Use::Waits(begun));
                self.acts.push_back(Act::Reach { from });
            }
            ["space"] => {
                let number = self.spaces;
                self.spaces += 1;
                self.uses.insert(from, Use::Space { number, line: Vec::new(), begun: false });
                self.take_space(from, &rest);
            }
            ["offer", port] => self.offer(from, port),
            ["reach", port] => self.reach(from, port, rest),
            ["take", port, number] => self.take(from, port, number, rest),
            _ => self.refuse(from),
        }
    }

    /// One of the streams to a launcher that is started when all are there.
    fn want(&mut self, from: End, token: &str, rest: &[u8], put: impl FnOnce(&mut Wanted)) {
        self.uses.insert(from, Use::Waits(rest.to_vec()));
        let wanted = self.wanted.entry(token.to_owned()).or_default();
        put(wanted);
        if let Wanted { launch: Some((from, request, rank)), port: Some(port), life: Some(life) } =
            wanted
        {
            let ends = [*from, *port, *life];
            self.acts.push_back(Act::Launch { ends, request: request.clone(), rank: *rank });
            self.wanted.remove(token);
        }
    }

    /// The launcher of these streams was started, and those lead to it; or why it cannot be.
    pub fn launched(&mut self, ends: Ends, started: Result<Ends, String>) {
        match started {
            Ok(ours) => ends.into_iter().zip(ours).for_each(|(one, other)| self.join(one, other)),
            Err(text) => {
                let text = format!("error its launcher cannot be started: {text}\nended 1\n");
                self.say(ends[0], text.into_bytes());
                ends.into_iter().for_each(|end| self.refuse(end));
            }
        }
    }

    /// There is a stream to the first launcher, or none can be made.
    pub fn reached(&mut self, from: End, to: Option<End>) {
        match to {
            Some(to) => self.join(from, to),
            None => self.refuse(from),
        }
    }

    /// What comes from either goes to the other from now on.
    fn join(&mut self, one: End, other: End) {
        for (from, to) in [(one, other), (other, one)] {
            if let Some(Use::Waits(kept)) = self.uses.insert(from, Use::Joined(to))
                && !kept.is_empty()
            {
                self.say(to, kept);
            }
        }
        for (from, to) in [(one, other), (other, one)] {
            if self.ended.contains(&from) {
                self.say(to, Vec::new());
            }
        }
        if self.ended.contains(&one) && self.ended.contains(&other) {
            self.forget(one);
            self.forget(other);
        }
    }

    /// Lines about ranks that gateways do not know.
    fn take_space(&mut self, from: End, bytes: &[u8]) {
        let Some(Use::Space { number, line, begun }) = self.uses.get_mut(&from) else { return };
        line.extend_from_slice(bytes);
        while let Some(at) = line.iter().position(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(&line[..at]).into_owned();
            line.drain(..=at);
            let verb = if std::mem::replace(begun, true) { "place" } else { "space" };
            let (number, line) = (*number, format!("{verb} {number} {text}"));
            self.acts.push_back(Act::Tell { number, line });
        }
        let (number, most) = (*number, if *begun { LINE_MAX } else { FRAME_MAX });
        if line.len() > most {
            self.acts.push_back(Act::Tell { number, line: format!("forget {number}") });
            self.refuse(from);
        }
    }
}

#[cfg(test)]
#[path = "errands_tests.rs"]
mod tests;
