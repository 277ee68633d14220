//! The connection to the process manager, whichever version of PMI it speaks.

use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::abort::{AbortRequest, Version};
use crate::pmi1::PmiError;
use crate::{pmi1, pmi2};

/// A connection to the process manager. Calls block for its answer, unless they say otherwise.
/// Clones share the connection.
#[derive(Clone, Debug)]
pub enum Client {
    One(pmi1::Client),
    Two(pmi2::Client),
}

impl Client {
    /// Takes over the descriptor that the manager left us, and greets it. `job` is the manager's
    /// name of the job, if it speaks PMI-2.
    pub(crate) fn connect(fd: RawFd, rank: u32, job: Option<&str>) -> Result<Client, PmiError> {
        // SAFETY: fcntl on an integer; a wrong number gives an error, checked here.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(PmiError::Settings(format!(
                "PMI_FD={fd}: {}; expected an open socket (has the program between the launcher and this one \
                 closed it, as Python's subprocess does without close_fds=False?)",
                std::io::Error::last_os_error()
            )));
        }
        // SAFETY: the manager opened this descriptor for us alone, and nobody else in this process
        // uses the number (checked open just above).
        let mut stream = unsafe { UnixStream::from_raw_fd(fd) };
        if let Some(job) = job {
            match pmi2::Client::greet(stream, job, rank)? {
                Ok(client) => return Ok(Client::Two(client)),
                Err(other) => stream = other,
            }
        }
        let mut client = pmi1::Client::new(stream);
        client.init()?;
        Ok(Client::One(client))
    }

    /// The descriptor, to watch for the manager's end.
    pub fn fd(&self) -> RawFd {
        match self {
            Client::One(client) => client.fd(),
            Client::Two(client) => client.fd(),
        }
    }

    pub(crate) fn appnum(&mut self) -> Result<u32, PmiError> {
        match self {
            Client::One(client) => client.appnum(),
            Client::Two(client) => Ok(client.appnum()),
        }
    }

    pub(crate) fn universe_size(&mut self) -> Result<Option<u32>, PmiError> {
        match self {
            Client::One(client) => client.universe_size(),
            Client::Two(client) => {
                Ok(client.attribute("universeSize")?.and_then(|size| size.parse().ok()))
            }
        }
    }

    /// Which ranks share a host, in PMI's notation, if the manager tells.
    pub(crate) fn mapping(&mut self) -> Result<Option<String>, PmiError> {
        const KEY: &str = "PMI_process_mapping";
        match self {
            Client::One(client) => client.get(KEY),
            Client::Two(client) => client.attribute(KEY),
        }
    }

    /// Publishes a value under `key`; others see it after a [`Client::barrier`]. Neither may hold
    /// a space, a semicolon or a line end.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        match self {
            Client::One(client) => client.put(key, value),
            Client::Two(client) => client.put(key, value),
        }
    }

    /// The value published under `key`, if any.
    pub fn get(&mut self, key: &str) -> Result<Option<String>, PmiError> {
        match self {
            Client::One(client) => client.get(key),
            Client::Two(client) => client.get(key),
        }
    }

    /// Asks for the value published under `key`, without waiting.
    pub fn begin_get(&mut self, key: &str) -> Result<(), PmiError> {
        match self {
            Client::One(client) => client.begin_get(key),
            Client::Two(client) => client.begin_get(key),
        }
    }

    /// The value that was asked for, once it has come; `Some(None)`: none was published. Does not
    /// block.
    pub fn poll_get(&mut self, key: &str) -> Result<Option<Option<String>>, PmiError> {
        match self {
            Client::One(client) => client.poll_get(key),
            Client::Two(client) => client.poll_get(key),
        }
    }

    /// The same, but waits for it for so long at most.
    pub fn wait_get(
        &mut self,
        key: &str,
        wait: Duration,
    ) -> Result<Option<Option<String>>, PmiError> {
        let end = Instant::now() + wait;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.poll_get(key)? {
                None if !left.is_zero() => match self {
                    Client::One(client) => client.sleep(left)?,
                    Client::Two(client) => client.sleep(left)?,
                },
                outcome => return Ok(outcome),
            }
        }
    }

    /// Publishes a name for all ranks of the job. False: it was published already, or the manager publishes none. Neither the
    /// name nor the port may hold what [`names::encode`](crate::names::encode) encodes.
    pub fn publish_name(&mut self, name: &str, port: &str) -> Result<bool, PmiError> {
        match self {
            Client::One(client) => client.publish_name(name, port),
            Client::Two(client) => client.publish_name(name, port),
        }
    }

    /// Takes a name back. What is not published needs no taking back.
    pub fn unpublish_name(&mut self, name: &str) -> Result<(), PmiError> {
        match self {
            Client::One(client) => client.unpublish_name(name),
            Client::Two(client) => client.unpublish_name(name),
        }
    }

    /// The port of a published name, if the manager knows it.
    pub fn lookup_name(&mut self, name: &str) -> Result<Option<String>, PmiError> {
        match self {
            Client::One(client) => client.lookup_name(name),
            Client::Two(client) => client.lookup_name(name),
        }
    }

    /// Waits for all ranks of the job.
    pub fn barrier(&mut self) -> Result<(), PmiError> {
        match self {
            Client::One(client) => client.barrier(),
            Client::Two(client) => client.barrier(),
        }
    }

    /// Enters a barrier without waiting. Anything else may be asked meanwhile.
    pub fn begin_barrier(&mut self) -> Result<(), PmiError> {
        match self {
            Client::One(client) => client.begin_barrier(),
            Client::Two(client) => client.begin_barrier(),
        }
    }

    /// Whether `end_barrier` returns without waiting: the barrier is over, or the manager is gone.
    pub fn barrier_is_over(&self) -> bool {
        match self {
            Client::One(client) => client.barrier_is_over(),
            Client::Two(client) => client.barrier_is_over(),
        }
    }

    /// Leaves the barrier that was entered; waits for the others.
    pub fn end_barrier(&mut self) -> Result<(), PmiError> {
        match self {
            Client::One(client) => client.end_barrier(),
            Client::Two(client) => client.end_barrier(),
        }
    }

    /// Tells the manager that this rank ends in order.
    pub fn finalize(&mut self) -> Result<(), PmiError> {
        match self {
            Client::One(client) => client.finalize(),
            Client::Two(client) => client.finalize(),
        }
    }

    /// How to ask the manager to end the job later on, when this connection may be in use.
    pub fn abort_request(&self) -> AbortRequest {
        match self {
            Client::One(client) => AbortRequest::new(client.fd(), Version::One),
            Client::Two(client) => AbortRequest::new(client.fd(), Version::Two),
        }
    }

    /// Asks the manager to end the job with `code`, with the reason for people. False: the protocol has no place for it, and
    /// nothing was sent.
    pub fn abort_because(&mut self, code: i32, why: &str) -> Result<bool, PmiError> {
        match self {
            Client::One(client) => client.abort_because(code, why).map(|()| true),
            Client::Two(_) => Ok(false),
        }
    }
}
