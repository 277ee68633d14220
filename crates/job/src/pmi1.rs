//! The client side of the PMI-1 wire protocol: one text line `cmd=... key=value ...` each way.

use std::fmt;
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::conversation::{Conversation, Framing};

/// The answers to questions that may be waited for later.
const VALUE: &str = "get_result";
const BARRIER: &str = "barrier_out";
/// The longest line about a name that is sent, as MPICH's managers take no longer ones. What does not fit is not told.
const NAME_LINE_MAX: usize = 1000;
/// Managers may take no longer lines than some kilobytes.
const REASON_MAX: usize = 2000;

/// Why the process manager could not be talked to.
#[derive(Debug)]
pub enum PmiError {
    /// The environment it set makes no sense.
    Settings(String),
    /// The connection failed: the manager is gone, as a rule.
    Io(std::io::Error),
    /// It said something unexpected.
    Protocol(String),
}

impl fmt::Display for PmiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PmiError::Settings(text) => write!(f, "the launcher's environment: {text}"),
            PmiError::Io(cause) => write!(f, "the connection to the launcher: {cause}"),
            PmiError::Protocol(text) => write!(f, "the launcher's answer: {text}"),
        }
    }
}

impl std::error::Error for PmiError {}

impl From<std::io::Error> for PmiError {
    fn from(cause: std::io::Error) -> Self {
        PmiError::Io(cause)
    }
}

/// A connection to the process manager. Calls block for its answer, unless they say otherwise.
/// Clones share the connection.
#[derive(Clone, Debug)]
pub struct Client {
    conversation: Arc<Mutex<Conversation>>,
    kvs: String,
}

impl Client {
    /// A connection that has not been greeted yet.
    pub(crate) fn new(stream: UnixStream) -> Client {
        let conversation = Conversation::new(stream, Framing::Lines);
        Client { conversation: Arc::new(Mutex::new(conversation)), kvs: String::new() }
    }

    /// The descriptor, to watch for the manager's end.
    pub fn fd(&self) -> RawFd {
        self.conversation().fd()
    }

    pub(crate) fn init(&mut self) -> Result<(), PmiError> {
        let r = self.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        match r.get("rc") {
            None | Some("0") => {}
            Some(rc) => {
                return Err(PmiError::Protocol(format!("init refused, rc={rc}: {}", r.line)));
            }
        }
        self.ask("cmd=get_maxes", "maxes")?;
        let r = self.ask("cmd=get_my_kvsname", "my_kvsname")?;
        self.kvs = r.need("kvsname")?.to_owned();
        Ok(())
    }

    pub(crate) fn appnum(&mut self) -> Result<u32, PmiError> {
        let r = self.ask("cmd=get_appnum", "appnum")?;
        // Managers say -1 when they don't know.
        Ok(r.need("appnum")?.parse().unwrap_or(0))
    }

    pub(crate) fn universe_size(&mut self) -> Result<Option<u32>, PmiError> {
        let r = self.ask("cmd=get_universe_size", "universe_size")?;
        Ok(r.need("size")?.parse().ok())
    }

    /// Publishes a value under `key`; others see it after a [`Client::barrier`]. Neither may hold
    /// a space or a line end.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        let line = format!("cmd=put kvsname={} key={key} value={value}", self.kvs);
        let r = self.ask(&line, "put_result")?;
        match r.get("rc") {
            None | Some("0") => Ok(()),
            Some(rc) => {
                Err(PmiError::Protocol(format!("put of {key} failed, rc={rc}: {}", r.line)))
            }
        }
    }

    /// The value published under `key`, if any.
    pub fn get(&mut self, key: &str) -> Result<Option<String>, PmiError> {
        self.begin_get(key)?;
        loop {
            if let Some(value) = self.poll_get(key)? {
                return Ok(value);
            }
            self.conversation().sleep(None)?;
        }
    }

    /// Asks for the value published under `key`, without waiting.
    pub fn begin_get(&mut self, key: &str) -> Result<(), PmiError> {
        let line = format!("cmd=get kvsname={} key={key}", self.kvs);
        self.conversation().ask_value(key, &line, VALUE)
    }

    /// The value that was asked for, once it has come. Does not block.
    pub fn poll_get(&mut self, key: &str) -> Result<Option<Option<String>>, PmiError> {
        self.conversation().value(key, VALUE, |line| {
            let answer = Answer { line: line.to_owned() };
            match answer.get("rc") {
                None | Some("0") => Ok(Some(answer.need("value")?.to_owned())),
                Some(_) => Ok(None),
            }
        })
    }

    /// Publishes a name for all ranks of the job. False: it was published already, or the manager publishes none.
    pub fn publish_name(&mut self, name: &str, port: &str) -> Result<bool, PmiError> {
        let line = format!("cmd=publish_name service={name} port={port}");
        if line.len() > NAME_LINE_MAX {
            return Ok(false);
        }
        Ok(self.ask(&line, "publish_result")?.is_good())
    }

    /// Takes a name back. What is not published needs no taking back.
    pub fn unpublish_name(&mut self, name: &str) -> Result<(), PmiError> {
        self.ask(&format!("cmd=unpublish_name service={name}"), "unpublish_result").map(drop)
    }

    /// The port of a published name, if the manager knows it.
    pub fn lookup_name(&mut self, name: &str) -> Result<Option<String>, PmiError> {
        let r = self.ask(&format!("cmd=lookup_name service={name}"), "lookup_result")?;
        Ok(r.get("port").filter(|_| r.is_good()).map(str::to_owned))
    }

    /// Waits for a while until the manager says something.
    pub(crate) fn sleep(&self, time: Duration) -> Result<(), PmiError> {
        self.conversation().sleep(Some(time))
    }

    fn conversation(&self) -> MutexGuard<'_, Conversation> {
        // Nothing panics while it is held.
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all ranks of the job.
    pub fn barrier(&mut self) -> Result<(), PmiError> {
        self.begin_barrier()?;
        self.end_barrier()
    }

    /// Enters a barrier without waiting. Anything else may be asked meanwhile.
    pub fn begin_barrier(&mut self) -> Result<(), PmiError> {
        self.conversation().ask("cmd=barrier_in", BARRIER)
    }

    /// Whether `end_barrier` returns without waiting: the barrier is over, or the manager is gone.
    pub fn barrier_is_over(&self) -> bool {
        self.conversation().has_come(BARRIER).unwrap_or(true)
    }

    /// Leaves the barrier that was entered; waits for the others.
    pub fn end_barrier(&mut self) -> Result<(), PmiError> {
        self.conversation().wait(BARRIER).map(drop)
    }

    /// Tells the manager that this rank ends in order.
    pub fn finalize(&mut self) -> Result<(), PmiError> {
        self.ask("cmd=finalize", "finalize_ack").map(drop)
    }

    /// Asks the manager to end the job with `code`, with the reason for people, of which one line of
    /// 2000 bytes is sent.
    pub fn abort_because(&mut self, code: i32, why: &str) -> Result<(), PmiError> {
        let line = abort_line(code, why);
        self.conversation().tell(&line)
    }

    fn ask(&mut self, line: &str, answer: &'static str) -> Result<Answer, PmiError> {
        let mut conversation = self.conversation();
        conversation.ask(line, answer)?;
        let line = conversation.wait(answer)?.trim_end().to_owned();
        Ok(Answer { line })
    }
}

/// The request to end the job, in one line.
pub(crate) fn abort_line(code: i32, why: &str) -> String {
    let mut why: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    while why.len() > REASON_MAX {
        why.pop();
    }
    format!("cmd=abort exitcode={code} message={why}")
}

struct Answer {
    line: String,
}

impl Answer {
    fn get(&self, key: &str) -> Option<&str> {
        // `value=` may hold spaces and is last.
        if key == "value" {
            return self.line.split_once(" value=").map(|(_, v)| v);
        }
        self.line
            .split(' ')
            .filter_map(|w| w.split_once('='))
            .find_map(|(k, v)| (k == key).then_some(v))
    }

    fn is_good(&self) -> bool {
        matches!(self.get("rc"), None | Some("0"))
    }

    fn need(&self, key: &str) -> Result<&str, PmiError> {
        self.get(key).ok_or_else(|| PmiError::Protocol(format!("no {key}= in {:?}", self.line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};

    /// A manager that answers `script` line by line.
    fn scripted(script: &'static [(&'static str, &'static str)]) -> Client {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            let mut theirs = BufReader::new(theirs);
            for (expected, answer) in script {
                let mut line = String::new();
                theirs.read_line(&mut line).unwrap();
                assert_eq!(line.trim_end(), *expected);
                theirs.get_mut().write_all(format!("{answer}\n").as_bytes()).unwrap();
            }
        });
        Client::new(ours)
    }

    #[test]
    fn a_reason_is_one_line_of_text() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut client = Client::new(ours);
        client.abort_because(16, "a\nb\u{7}").unwrap();
        client.abort_because(16, &"\u{20ac}".repeat(5000)).unwrap();
        let mut lines = BufReader::new(theirs).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "cmd=abort exitcode=16 message=a b ");
        assert!(lines.next().unwrap().unwrap().len() < REASON_MAX + 50);
    }

    #[test]
    fn a_whole_conversation() {
        let mut c = scripted(&[
            (
                "cmd=init pmi_version=1 pmi_subversion=1",
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            ),
            ("cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"),
            ("cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs_1"),
            ("cmd=put kvsname=kvs_1 key=a value=b", "cmd=put_result rc=0 msg=success"),
            ("cmd=barrier_in", "cmd=barrier_out"),
            ("cmd=get kvsname=kvs_1 key=a", "cmd=get_result rc=0 msg=success value=b c"),
            (
                "cmd=get kvsname=kvs_1 key=x",
                "cmd=get_result rc=-1 msg=key_x_not_found value=unknown",
            ),
        ]);
        c.init().unwrap();
        c.put("a", "b").unwrap();
        c.barrier().unwrap();
        assert_eq!(c.get("a").unwrap().as_deref(), Some("b c"));
        assert_eq!(c.get("x").unwrap(), None);
        assert!(matches!(c.barrier(), Err(PmiError::Io(_))), "the manager is gone");
    }

    #[test]
    fn names() {
        let mut c = scripted(&[
            ("cmd=publish_name service=s port=p:1", "cmd=publish_result info=ok rc=0 msg=success"),
            (
                "cmd=publish_name service=s port=p:2",
                "cmd=publish_result rc=-1 msg=duplicate_service",
            ),
            ("cmd=lookup_name service=s", "cmd=lookup_result info=ok rc=0 port=p:1"),
            ("cmd=unpublish_name service=s", "cmd=unpublish_result info=ok rc=0 msg=success"),
            ("cmd=lookup_name service=s", "cmd=lookup_result rc=-1 msg=service_not_found"),
        ]);
        assert!(c.publish_name("s", "p:1").unwrap() && !c.publish_name("s", "p:2").unwrap());
        assert!(!c.publish_name("s", &"p".repeat(NAME_LINE_MAX)).unwrap(), "is not sent");
        assert_eq!(c.lookup_name("s").unwrap().as_deref(), Some("p:1"));
        c.unpublish_name("s").unwrap();
        assert_eq!(c.lookup_name("s").unwrap(), None);
    }

    #[test]
    fn a_wrong_answer_is_shown() {
        let mut c = scripted(&[("cmd=barrier_in", "cmd=no idea")]);
        let text = c.barrier().unwrap_err().to_string();
        assert!(text.contains("barrier_out") && text.contains("no idea"), "{text}");
    }
}
