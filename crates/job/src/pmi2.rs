//! The client side of the PMI-2 wire protocol, as Slurm's `srun --mpi=pmi2` speaks it: after a line
//! of PMI-1's kind, each message is six digits of length and `key=value;` pairs.

use std::io::{Read, Write};
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::conversation::{Conversation, Framing};
use crate::pmi1::PmiError;

/// The answers to questions that may be waited for later.
const VALUE: &str = "kvs-get-response";
const BARRIER: &str = "kvs-fence-response";

/// Stands for a semicolon, which ends a value, in what we publish.
const SEMICOLON: &str = "|";

/// A connection to the process manager. Calls block for its answer, unless they say otherwise.
/// Clones share the connection.
#[derive(Clone, Debug)]
pub struct Client {
    conversation: Arc<Mutex<Conversation>>,
    job: String,
    appnum: u32,
}

impl Client {
    /// Greets the manager. `Err` with the stream if it does not speak PMI-2 and expects a greeting
    /// of PMI-1.
    pub fn greet(
        mut stream: UnixStream,
        job: &str,
        rank: u32,
    ) -> Result<Result<Client, UnixStream>, PmiError> {
        stream.write_all(b"cmd=init pmi_version=2 pmi_subversion=0\n")?;
        let line = read_line(&mut stream)?;
        let has = |pair: &str| line.split(' ').any(|word| word == pair);
        if !has("cmd=response_to_init") {
            return Err(unexpected("cmd=response_to_init", &line));
        }
        if !has("rc=0") || !has("pmi_version=2") {
            return Ok(Err(stream));
        }
        let conversation = Conversation::new(stream, Framing::Digits);
        let conversation = Arc::new(Mutex::new(conversation));
        let mut client = Client { conversation, job: job.to_owned(), appnum: 0 };
        let text = format!("cmd=fullinit;pmijobid={job};pmirank={rank};threaded=FALSE;");
        let answer = client.ask(&text, "fullinit-response")?;
        // Managers say -1 when they don't know.
        client.appnum = answer.get("appnum").and_then(|n| n.parse().ok()).unwrap_or(0);
        Ok(Ok(client))
    }

    /// The descriptor, to watch for the manager's end.
    pub fn fd(&self) -> RawFd {
        self.conversation().fd()
    }

    /// Number of our program.
    pub fn appnum(&self) -> u32 {
        self.appnum
    }

    /// An attribute of the job, if the manager knows it.
    pub fn attribute(&mut self, key: &str) -> Result<Option<String>, PmiError> {
        let text = format!("cmd=info-getjobattr;key={key};");
        Ok(self.ask(&text, "info-getjobattr-response")?.found())
    }

    /// Publishes a value under `key`; others see it after a [`Client::barrier`].
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        // The protocol doubles semicolons, but Slurm does not undo that.
        if value.contains(SEMICOLON) {
            return Err(PmiError::Protocol(format!("the value of {key} holds '{SEMICOLON}'")));
        }
        let value = value.replace(';', SEMICOLON);
        self.ask(&format!("cmd=kvs-put;key={key};value={value};"), "kvs-put-response").map(drop)
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
        let text = format!("cmd=kvs-get;jobid={};srcid=-1;key={key};", self.job);
        self.conversation().ask_value(key, &text, VALUE)
    }

    /// The value that was asked for, once it has come. Does not block.
    pub fn poll_get(&mut self, key: &str) -> Result<Option<Option<String>>, PmiError> {
        self.conversation().value(key, VALUE, |text| {
            let value = Answer::check(text.to_owned())?.found();
            Ok(value.map(|value| value.replace(SEMICOLON, ";")))
        })
    }

    /// Publishes a name for all ranks of the step. False: the manager refuses; Slurm lets the last one have a name.
    pub fn publish_name(&mut self, name: &str, port: &str) -> Result<bool, PmiError> {
        let text = format!("cmd=name-publish;name={name};port={port};");
        Ok(self.ask_name(&text, "name-publish-response")?.is_good())
    }

    /// Takes a name back. What is not published needs no taking back.
    pub fn unpublish_name(&mut self, name: &str) -> Result<(), PmiError> {
        self.ask_name(&format!("cmd=name-unpublish;name={name};"), "name-unpublish-response")
            .map(drop)
    }

    /// The port of a published name, if the manager knows it.
    pub fn lookup_name(&mut self, name: &str) -> Result<Option<String>, PmiError> {
        let text = format!("cmd=name-lookup;name={name};");
        let answer = self.ask_name(&text, "name-lookup-response")?;
        let port = answer.get("value").or(answer.get("port"));
        Ok(port.filter(|_| answer.is_good()).map(str::to_owned))
    }

    /// A question to which no is an answer.
    fn ask_name(&mut self, text: &str, answer: &'static str) -> Result<Answer, PmiError> {
        let mut conversation = self.conversation();
        conversation.ask(text, answer)?;
        Ok(Answer { text: conversation.wait(answer)? })
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
        self.conversation().ask("cmd=kvs-fence;", BARRIER)
    }

    /// Whether `end_barrier` returns without waiting: the barrier is over, or the manager is gone.
    pub fn barrier_is_over(&self) -> bool {
        self.conversation().has_come(BARRIER).unwrap_or(true)
    }

    /// Leaves the barrier that was entered; waits for the others.
    pub fn end_barrier(&mut self) -> Result<(), PmiError> {
        let text = self.conversation().wait(BARRIER)?;
        Answer::check(text).map(drop)
    }

    /// Tells the manager that this rank ends in order.
    pub fn finalize(&mut self) -> Result<(), PmiError> {
        self.ask("cmd=finalize;", "finalize-response").map(drop)
    }

    fn ask(&mut self, text: &str, answer: &'static str) -> Result<Answer, PmiError> {
        let mut conversation = self.conversation();
        conversation.ask(text, answer)?;
        Answer::check(conversation.wait(answer)?)
    }
}

fn unexpected(expected: &str, found: &str) -> PmiError {
    PmiError::Protocol(format!("expected {expected}, found {found:?}"))
}

/// Reads byte by byte, because what follows the line belongs to others.
fn read_line(stream: &mut UnixStream) -> Result<String, PmiError> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < 1024 {
        stream.read_exact(&mut byte)?;
        if byte[0] == b'\n' {
            break;
        }
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

struct Answer {
    text: String,
}

impl Answer {
    /// An answer that does not refuse.
    fn check(text: String) -> Result<Answer, PmiError> {
        let reply = Answer { text };
        match reply.get("rc") {
            None | Some("0") => Ok(reply),
            Some(_) if reply.get("found") == Some("FALSE") => Ok(reply),
            Some(rc) => Err(PmiError::Protocol(format!("refused, rc={rc}: {}", reply.text))),
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        let mut pairs = self.text.split(';').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(name, value)| (name == key).then_some(value))
    }

    fn is_good(&self) -> bool {
        matches!(self.get("rc"), None | Some("0"))
    }

    fn found(&self) -> Option<String> {
        if self.get("found") == Some("FALSE") {
            return None;
        }
        self.get("value").map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A manager that expects and answers messages; the greeting comes first.
    fn scripted(script: &'static [(&'static str, &'static str)]) -> UnixStream {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            assert_eq!(read_line(&mut theirs).unwrap(), "cmd=init pmi_version=2 pmi_subversion=0");
            theirs.write_all(script[0].1.as_bytes()).unwrap();
            for (expected, answer) in &script[1..] {
                let mut digits = [0; 6];
                theirs.read_exact(&mut digits).unwrap();
                let length = std::str::from_utf8(&digits).unwrap().trim().parse().unwrap();
                let mut bytes = vec![0; length];
                theirs.read_exact(&mut bytes).unwrap();
                assert_eq!(std::str::from_utf8(&bytes).unwrap(), *expected);
                theirs.write_all(format!("{:6}{answer}", answer.len()).as_bytes()).unwrap();
            }
        });
        ours
    }

    const GREETING: (&str, &str) =
        ("", "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n");
    const INIT: (&str, &str) = (
        "cmd=fullinit;pmijobid=7.0;pmirank=1;threaded=FALSE;",
        "cmd=fullinit-response;rc=0;rank=1;size=2;appnum=-1;",
    );

    #[test]
    fn a_whole_conversation() {
        let stream = scripted(&[
            GREETING,
            INIT,
            (
                "cmd=info-getjobattr;key=PMI_process_mapping;",
                "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,1));",
            ),
            ("cmd=kvs-put;key=a;value=b|c;", "cmd=kvs-put-response;rc=0;"),
            ("cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;"),
            (
                "cmd=kvs-get;jobid=7.0;srcid=-1;key=a;",
                "cmd=kvs-get-response;rc=0;found=TRUE;value=b|c;",
            ),
            ("cmd=kvs-get;jobid=7.0;srcid=-1;key=z;", "cmd=kvs-get-response;rc=0;found=FALSE;"),
            ("cmd=finalize;", "cmd=finalize-response;rc=0;"),
        ]);
        let mut c = Client::greet(stream, "7.0", 1).unwrap().unwrap();
        let mapping = c.attribute("PMI_process_mapping").unwrap();
        assert_eq!(mapping.as_deref(), Some("(vector,(0,2,1))"));
        c.put("a", "b;c").unwrap();
        assert!(c.put("a", "b|c").is_err());
        c.barrier().unwrap();
        assert_eq!(c.get("a").unwrap().as_deref(), Some("b;c"));
        assert_eq!(c.get("z").unwrap(), None);
        c.finalize().unwrap();
    }

    #[test]
    fn a_manager_of_the_old_kind() {
        let stream =
            scripted(&[("", "cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=1\n")]);
        assert!(Client::greet(stream, "7.0", 1).unwrap().is_err());
    }

    #[test]
    fn refusals_and_garbage() {
        let stream = scripted(&[
            GREETING,
            INIT,
            ("cmd=kvs-fence;", "cmd=kvs-fence-response;rc=3;"),
            ("cmd=kvs-fence;", "cmd=kvs-put-response;rc=0;"),
        ]);
        let mut c = Client::greet(stream, "7.0", 1).unwrap().unwrap();
        assert!(c.barrier().unwrap_err().to_string().contains("rc=3"));
        assert!(c.barrier().unwrap_err().to_string().contains("expected cmd=kvs-fence-response"));
    }
}
