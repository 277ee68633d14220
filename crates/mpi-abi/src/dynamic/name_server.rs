//! The user's name server, as far as this process knows it.

use crate::runtime::{Entered, host_name};
use hpvm_job::name_server::{self, Addresses};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use hpvm_names::{Answer, Client, Request};
use hpvm_net::JobKey;
use std::path::PathBuf;

/// Whether there is one, and the connection to it.
#[derive(Debug, Default)]
pub enum NameServer {
    /// Nobody has asked yet.
    #[default]
    Unasked,
    /// None is named.
    Nowhere,
    Somewhere {
        addresses: Addresses,
        key: JobKey,
        connection: Option<Client>,
    },
}

fn refused(text: String) -> Error {
    Error::new(Class::Other, text)
}

impl Entered {
    /// Whether a name server is named.
    pub fn has_name_server(&mut self) -> Result<bool> {
        if matches!(self.dynamic.name_server, NameServer::Unasked) {
            self.dynamic.name_server = match self.named()? {
                Some((addresses, key)) => {
                    NameServer::Somewhere { addresses, key, connection: None }
                }
                None => NameServer::Nowhere,
            };
        }
        Ok(!matches!(self.dynamic.name_server, NameServer::Nowhere))
    }

    fn named(&mut self) -> Result<Option<(Addresses, JobKey)>> {
        if let Some(m) = &mut self.job.manager {
            let told = m.get(name_server::TOLD_KEY).map_err(super::names::manager)?;
            if let Some((key, addresses)) = told.as_deref().and_then(name_server::heard)
                && let Some(key) = JobKey::parse(&key)
            {
                return Ok(Some((addresses, key)));
            }
        }
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let Some(named) = variable(name_server::VARIABLE) else { return Ok(None) };
        let bad = |why: String| refused(format!("{}: {why}", name_server::VARIABLE));
        let addresses = Addresses::parse(&named.to_string_lossy()).map_err(bad)?;
        let [given, config, home] =
            [name_server::KEY_VARIABLE, "XDG_CONFIG_HOME", "HOME"].map(variable);
        let file = name_server::key_file(given, config, home)
            .unwrap_or_else(|| PathBuf::from("names.key"));
        let text = name_server::read_key(&file).map_err(|why| bad(format!("the key: {why}")))?;
        match text.as_deref().and_then(JobKey::parse) {
            Some(key) => Ok(Some((addresses, key))),
            None => Err(bad(format!(
                "on {} there is no key in {}; 'hpvm nameserver' has made it where it runs: copy it, readable for you alone",
                host_name(),
                file.display()
            ))),
        }
    }

    /// What the name server answers. Blocks for some seconds at most. A server that has ended and was started again gets to know
    /// what this process has published.
    pub fn ask_name_server(&mut self, request: &Request) -> Result<Answer> {
        let held = self.dynamic.names.all();
        let NameServer::Somewhere { addresses, key, connection } = &mut self.dynamic.name_server
        else {
            return Err(Class::Intern.into());
        };
        if let Some(client) = connection
            && let Ok(answer) = client.ask(request)
        {
            return Ok(answer);
        }
        *connection = None;
        let told = |why: String| {
            refused(format!(
                "from {} no name server of yours is reached at {}: {why}. Start it there by 'hpvm nameserver', with the same key",
                host_name(),
                addresses.text()
            ))
        };
        let mut client = Client::connect(&addresses.0, key).map_err(told)?;
        let about = match request {
            Request::Publish { name, .. }
            | Request::Lookup { name }
            | Request::Unpublish { name } => name,
        };
        for (name, port) in held.into_iter().filter(|(name, _)| name != about) {
            // Taken or refused: whoever looks for it finds out.
            let _ = client.ask(&Request::Publish { name, port });
        }
        let answer = client.ask(request).map_err(|cause| told(cause.to_string()))?;
        *connection = Some(client);
        Ok(answer)
    }

    /// The connection ends, and with it what was published over it.
    pub fn leave_name_server(&mut self, names: &[String]) {
        if let NameServer::Somewhere { connection, .. } = &mut self.dynamic.name_server
            && let Some(client) = connection
        {
            for name in names {
                // One by one, so that they are gone when this returns. A server that is gone knows no names.
                if client.ask(&Request::Unpublish { name: name.clone() }).is_err() {
                    break;
                }
            }
            *connection = None;
        }
    }
}
