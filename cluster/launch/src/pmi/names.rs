//! The name service of a job: who has published what. The topmost server answers for all hosts. Names also are held on
//! the job's hosts for other jobs of the user ([`hpvm_job::names`]), which is for those who know the world: a publication
//! is answered when the name is held on all hosts, its end when it is held on none, and a name that no rank has published is
//! looked for there.

use std::collections::HashMap;

use super::line::Command;
use super::server::{ClientEvent, Outcome, STORE_MAX, Server, answer, event};

/// A published name.
#[derive(Debug)]
struct Published {
    rank: u32,
    port: String,
}

/// All names that ranks of the job have published.
#[derive(Debug, Default)]
pub struct Services(HashMap<String, Published>);

impl Server {
    /// Handles a rank's command about names, in the topmost server.
    pub(super) fn name_command(&mut self, rank: u32, command: &Command) -> Result<Outcome, String> {
        let service = command.need("service")?;
        match command.name {
            "publish_name" => {
                let port = command.need("port")?;
                Ok(match self.fault(service, port) {
                    Some(fault) => answer(rank, refused(fault)),
                    None => event(ClientEvent::Hold { service: service.into(), port: port.into() }),
                })
            }
            "lookup_name" => Ok(match self.services.0.get(service) {
                Some(published) => answer(rank, found(Some(&published.port))),
                None => event(ClientEvent::Find { service: service.into() }),
            }),
            _ => Ok(self.unpublish(rank, service)),
        }
    }

    /// Why a name cannot be published.
    fn fault(&self, service: &str, port: &str) -> Option<&'static str> {
        if self.services.0.contains_key(service) {
            return Some("duplicate_service");
        }
        (self.stored + service.len() + port.len() > STORE_MAX).then_some("name_space_is_full")
    }

    /// A rank's name is held on this host, or (`held` is false) stands for something else here. Gives the answer, and whether
    /// the name is published.
    pub fn published(
        &mut self,
        rank: u32,
        service: &str,
        port: &str,
        held: bool,
    ) -> (String, bool) {
        // Another rank may have published it meanwhile.
        let fault = self.fault(service, port).or((!held).then_some("duplicate_service"));
        if let Some(fault) = fault {
            return (refused(fault) + "\n", false);
        }
        self.stored += service.len() + port.len();
        self.services.0.insert(service.to_string(), Published { rank, port: port.to_string() });
        ("cmd=publish_result info=ok rc=0 msg=success\n".to_string(), true)
    }

    /// A name that was published stands for something else on another host; what its rank is answered.
    pub fn take_back(&mut self, service: &str) -> String {
        if let Some(published) = self.services.0.remove(service) {
            self.stored -= service.len() + published.port.len();
        }
        refused("duplicate_service") + "\n"
    }

    /// The answer to who looks for a name that no rank has published, but maybe another job.
    pub fn found(port: Option<&str>) -> String {
        found(port) + "\n"
    }

    fn unpublish(&mut self, rank: u32, service: &str) -> Outcome {
        let Some(published) = self.services.0.remove(service) else {
            return answer(rank, "cmd=unpublish_result rc=-1 msg=service_not_found".to_string());
        };
        self.stored -= service.len() + published.port.len();
        event(ClientEvent::Unpublish { service: service.to_string() })
    }

    /// The answer to who has taken a name back.
    pub fn unpublished() -> String {
        "cmd=unpublish_result info=ok rc=0 msg=success\n".to_string()
    }

    /// Forgets the names of a rank that has ended; gives them.
    pub fn forget_names(&mut self, rank: u32) -> Vec<String> {
        let gone: Vec<_> = self.services.0.extract_if(|_, name| name.rank == rank).collect();
        self.stored -= gone.iter().map(|(name, by)| name.len() + by.port.len()).sum::<usize>();
        gone.into_iter().map(|(name, _)| name).collect()
    }

    /// Handles a command about names of a rank on another host; none: it is no such command.
    pub fn handle_from_below(&mut self, rank: u32, line: &[u8]) -> Option<Outcome> {
        let command = Command::parse(line).ok()?;
        match command.name {
            "publish_name" | "lookup_name" | "unpublish_name" => {
                self.name_command(rank, &command).ok()
            }
            _ => None,
        }
    }
}

fn refused(fault: &str) -> String {
    format!("cmd=publish_result rc=-1 msg={fault}")
}

fn found(port: Option<&str>) -> String {
    match port {
        Some(port) => format!("cmd=lookup_result info=ok rc=0 port={port}"),
        None => "cmd=lookup_result rc=-1 msg=service_not_found".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a rank on another host, and what is answered; the host has no names but those in `held`.
    fn say(server: &mut Server, rank: u32, line: &str, held: &[(&str, &str)]) -> String {
        let outcome = server.handle_from_below(rank, line.as_bytes()).expect("a command");
        let here = |name: &str| held.iter().find(|(held, _)| *held == name).map(|(_, port)| *port);
        match outcome.event {
            Some(ClientEvent::Hold { service, port }) => {
                let free = here(&service).is_none_or(|held| held == port);
                server.published(rank, &service, &port, free).0
            }
            Some(ClientEvent::Find { service }) => Server::found(here(&service)),
            Some(ClientEvent::Unpublish { .. }) => Server::unpublished(),
            _ => outcome.replies[0].1.clone(),
        }
    }

    #[test]
    fn names_are_the_jobs_and_those_of_the_host() {
        let server = &mut Server::new("job", &[0, 0]);
        let publish = "cmd=publish_name service=s port=p";
        assert!(say(server, 1, publish, &[("s", "q")]).contains("rc=-1"), "another job's");
        assert!(say(server, 1, publish, &[("s", "p")]).contains("rc=0"), "its own");
        assert!(say(server, 0, publish, &[]).contains("rc=-1 msg=duplicate_service"));
        assert!(say(server, 0, "cmd=lookup_name service=s", &[]).contains("rc=0 port=p"));
        assert!(say(server, 0, "cmd=lookup_name service=t", &[]).contains("rc=-1"));
        assert!(say(server, 0, "cmd=lookup_name service=t", &[("t", "u")]).contains("port=u"));
        assert_eq!(server.forget_names(0), [""; 0]);
        assert_eq!(server.forget_names(1), ["s"]);
        assert!(say(server, 0, publish, &[]).contains("rc=0"));
        assert!(say(server, 0, "cmd=unpublish_name service=s", &[]).contains("rc=0"));
        assert!(say(server, 0, "cmd=unpublish_name service=s", &[]).contains("rc=-1"));
        // Both wait for the answer of the host, and one comes first.
        for rank in 0..2 {
            let outcome = server.handle_from_below(rank, publish.as_bytes()).expect("a command");
            assert!(matches!(outcome.event, Some(ClientEvent::Hold { .. })));
        }
        assert!(server.published(1, "s", "p", true).1 && !server.published(0, "s", "p", true).1);
        assert_eq!(server.handle_from_below(0, b"cmd=put key=a value=b"), None);
    }
}
