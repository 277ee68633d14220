//! Published names (MPI 5.0, section 11.9.4): for all jobs of one user on this host ([`hpvm_job::names`]), and by the
//! process manager for the other hosts of the job and for those that share one with it. For jobs that share none
//! there may be a name server ([`super::name_server`]).

use crate::runtime::Entered;
use hpvm_job::PmiError;
use hpvm_job::names::{NameError, decode, encode, key, lookup};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use hpvm_names::{Answer, Request};

fn taken(service: &str, by: &str) -> Error {
    Error::new(Class::Service, format!("the name {service:?} is published already {by}"))
}

pub fn manager(cause: PmiError) -> Error {
    Error::new(Class::Other, format!("published names: {cause}"))
}

fn unexpected(answer: Answer) -> Error {
    let why =
        if let Answer::Refused(why) = answer { why } else { format!("it answers {answer:?}") };
    Error::new(Class::Other, format!("the name server refuses: {why}"))
}

impl Entered {
    /// Publishes `service`, which stands for `port` until this process takes it back or ends.
    ///
    /// # Errors
    /// `MPI_ERR_SERVICE`: it is published already.
    pub fn publish_name(&mut self, service: &str, port: &str) -> Result<()> {
        const ELSEWHERE: &str = "in this job, or by another one on one of its hosts";
        let (key, port) = (key(service), encode(port));
        // Before it is found because it is ours. Our manager looks on all hosts of the job; Slurm lets the last one have a name.
        if self.ask_manager(&key)?.is_some() {
            return Err(taken(service, ELSEWHERE));
        }
        let published = self.dynamic.names.publish(&key, &port);
        published.map_err(|cause| match cause {
            NameError::Taken => taken(service, "on this host"),
            cause => Error::new(Class::Other, format!("publishing a name: {cause}")),
        })?;
        let told = self.tell_manager(&key, &port);
        if !matches!(told, Ok(true)) {
            self.dynamic.names.release(&key);
        }
        if !told? {
            return Err(taken(service, ELSEWHERE));
        }
        let served = self.tell_name_server(service, &key, &port);
        if served.is_err() {
            self.dynamic.names.release(&key);
            if let Some(m) = &mut self.job.manager {
                m.unpublish_name(&key).map_err(manager)?;
            }
        }
        served
    }

    /// Tells the name server, where one is named.
    fn tell_name_server(&mut self, service: &str, key: &str, port: &str) -> Result<()> {
        if !self.has_name_server()? {
            return Ok(());
        }
        let request = Request::Publish { name: key.to_owned(), port: port.to_owned() };
        match self.ask_name_server(&request)? {
            Answer::Done => Ok(()),
            Answer::Taken => Err(taken(service, "with the name server, by another process")),
            answer => Err(unexpected(answer)),
        }
    }

    /// The port of a name that the process manager knows.
    fn ask_manager(&mut self, key: &str) -> Result<Option<String>> {
        let Some(m) = &mut self.job.manager else { return Ok(None) };
        m.lookup_name(key).map_err(manager)
    }

    /// False: the manager knows another port of this name.
    fn tell_manager(&mut self, key: &str, port: &str) -> Result<bool> {
        let Some(m) = &mut self.job.manager else { return Ok(true) };
        // A manager without names is no reason not to publish it on this host.
        Ok(m.publish_name(key, port).map_err(manager)?
            || m.lookup_name(key).map_err(manager)?.is_none_or(|known| known == port))
    }

    /// Takes it back.
    ///
    /// # Errors
    /// `MPI_ERR_SERVICE`: this process has not published it, or with another port.
    pub fn unpublish_name(&mut self, service: &str, port: &str) -> Result<()> {
        let key = key(service);
        let why = match self.dynamic.names.port(&key) {
            Some(published) if published == encode(port) => {
                self.dynamic.names.release(&key);
                if let Some(m) = &mut self.job.manager {
                    m.unpublish_name(&key).map_err(manager)?;
                }
                if self.has_name_server()? {
                    self.ask_name_server(&Request::Unpublish { name: key })?;
                }
                return Ok(());
            }
            Some(_) => "with another port",
            None => "or has taken it back",
        };
        let text = format!("this process has not published the name {service:?}, {why}");
        Err(Error::new(Class::Service, text))
    }

    /// The port that `service` stands for.
    ///
    /// # Errors
    /// `MPI_ERR_NAME`: nobody has published it.
    pub fn lookup_name(&mut self, service: &str) -> Result<String> {
        let key = key(service);
        let mut port = match lookup(&key) {
            Some(port) => Some(port),
            None => self.ask_manager(&key)?,
        };
        let serves = port.is_none() && self.has_name_server()?;
        if serves {
            port = match self.ask_name_server(&Request::Lookup { name: key })? {
                Answer::Port(port) => Some(port),
                Answer::Unknown => None,
                answer => return Err(unexpected(answer)),
            };
        }
        port.and_then(|port| decode(&port)).ok_or_else(|| {
            let beyond = match serves {
                true => "nor with the name server",
                false => "jobs that share no host need a name server: mpirun --nameserver HOST, hpvm nameserver",
            };
            let text = format!(
                "nobody has published the name {service:?} on a host of this job, or on that of its launcher; {beyond}"
            );
            Error::new(Class::Name, text)
        })
    }

    /// Takes back all names that this process has published.
    pub fn unpublish_all(&mut self) {
        let names = std::mem::take(&mut self.dynamic.names);
        self.leave_name_server(&names.keys().map(str::to_owned).collect::<Vec<_>>());
        if let Some(m) = &mut self.job.manager {
            // A manager that is gone knows no names.
            names.keys().for_each(|key| drop(m.unpublish_name(key)));
        }
    }
}
