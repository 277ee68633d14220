//! The client side of the PMI-1 wire protocol: one text line `cmd=... key=value ...` each way.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Longest line that a manager may send us.
const LINE_MAX: usize = 64 * 1024;
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

/// A connection to the process manager. Calls block for its answer. Clones share the connection.
#[derive(Clone, Debug)]
pub struct Client {
    stream: Arc<Mutex<BufReader<UnixStream>>>,
    kvs: String,
}

impl Client {
    /// A connection that has not been greeted yet.
    pub(crate) fn new(stream: UnixStream) -> Client {
        Client { stream: Arc::new(Mutex::new(BufReader::new(stream))), kvs: String::new() }
    }

    /// The descriptor, to watch for the manager's end.
    pub fn fd(&self) -> RawFd {
        self.stream().get_ref().as_raw_fd()
    }

    pub(crate) fn init(&mut self) -> Result<(), PmiError> {
        let r = self.ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init")?;
        match r.get("rc") {
            None | Some("0") => {}
            Some(rc) => {
                return Err(PmiError::Protocol(format!("init refused, rc={rc}: {}", r.line)));
            }
        }
        self.ask("cmd=get_maxes\n", "maxes")?;
        let r = self.ask("cmd=get_my_kvsname\n", "my_kvsname")?;
        self.kvs = r.need("kvsname")?.to_owned();
        Ok(())
    }

    pub(crate) fn appnum(&mut self) -> Result<u32, PmiError> {
        let r = self.ask("cmd=get_appnum\n", "appnum")?;
        // Managers say -1 when they don't know.
        Ok(r.need("appnum")?.parse().unwrap_or(0))
    }

    pub(crate) fn universe_size(&mut self) -> Result<Option<u32>, PmiError> {
        let r = self.ask("cmd=get_universe_size\n", "universe_size")?;
        Ok(r.need("size")?.parse().ok())
    }

    /// Publishes a value under `key`; others see it after a [`Client::barrier`]. Neither may hold
    /// a space or a line end.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        let line = format!("cmd=put kvsname={} key={key} value={value}\n", self.kvs);
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
        let line = format!("cmd=get kvsname={} key={key}\n", self.kvs);
        let r = self.ask(&line, "get_result")?;
        match r.get("rc") {
            None | Some("0") => Ok(Some(r.need("value")?.to_owned())),
            Some(_) => Ok(None),
        }
    }

    fn stream(&self) -> MutexGuard<'_, BufReader<UnixStream>> {
        // Nothing panics while it is held.
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all ranks of the job.
    pub fn barrier(&mut self) -> Result<(), PmiError> {
        self.ask("cmd=barrier_in\n", "barrier_out").map(drop)
    }

    /// Enters a barrier without waiting. Nothing else may be asked until `end_barrier` has
    /// returned.
    pub fn begin_barrier(&mut self) -> Result<(), PmiError> {
        Ok(self.stream().get_mut().write_all(b"cmd=barrier_in\n")?)
    }

    /// Whether the barrier that was entered may be left without waiting: its answer is there.
    pub fn barrier_is_over(&self) -> bool {
        let stream = self.stream();
        if !stream.buffer().is_empty() {
            return true;
        }
        let mut poll =
            libc::pollfd { fd: stream.get_ref().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd; returns at once.
        (unsafe { libc::poll(&mut poll, 1, 0) }) > 0
    }

    /// Leaves the barrier that was entered; waits for the others.
    pub fn end_barrier(&mut self) -> Result<(), PmiError> {
        self.answer("barrier_out").map(drop)
    }

    /// Tells the manager that this rank ends in order.
    pub fn finalize(&mut self) -> Result<(), PmiError> {
        self.ask("cmd=finalize\n", "finalize_ack").map(drop)
    }

    /// Asks the manager to end the job with `code`, with the reason for people, of which one line of
    /// 2000 bytes is sent.
    pub fn abort_because(&mut self, code: i32, why: &str) -> Result<(), PmiError> {
        let mut why: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        while why.len() > REASON_MAX {
            why.pop();
        }
        let line = format!("cmd=abort exitcode={code} message={why}\n");
        self.stream().get_mut().write_all(line.as_bytes())?;
        Ok(())
    }

    fn ask(&mut self, line: &str, answer: &str) -> Result<Answer, PmiError> {
        self.stream().get_mut().write_all(line.as_bytes())?;
        self.answer(answer)
    }

    fn answer(&mut self, answer: &str) -> Result<Answer, PmiError> {
        let mut reply = String::new();
        let mut stream = self.stream();
        let n = std::io::Read::take(&mut *stream, LINE_MAX as u64).read_line(&mut reply)?;
        if n == 0 {
            return Err(PmiError::Io(std::io::ErrorKind::UnexpectedEof.into()));
        }
        let reply = Answer { line: reply.trim_end().to_owned() };
        match reply.get("cmd") {
            Some(cmd) if cmd == answer => Ok(reply),
            _ => Err(PmiError::Protocol(format!("expected cmd={answer}, found {:?}", reply.line))),
        }
    }
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

    fn need(&self, key: &str) -> Result<&str, PmiError> {
        self.get(key).ok_or_else(|| PmiError::Protocol(format!("no {key}= in {:?}", self.line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_wrong_answer_is_shown() {
        let mut c = scripted(&[("cmd=barrier_in", "cmd=no idea")]);
        let text = c.barrier().unwrap_err().to_string();
        assert!(text.contains("barrier_out") && text.contains("no idea"), "{text}");
    }
}
