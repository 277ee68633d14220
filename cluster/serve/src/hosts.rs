//! The hosts as everybody sees them, and the events that tell of them: rendered once for all
//! streams, since a thousand hosts are a megabyte each second.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use axum::body::Bytes;

use crate::api::types::Host;
use crate::sse;

/// A list of hosts that knows its events.
#[derive(Debug, Default)]
pub struct Shown {
    hosts: Vec<Host>,
    events: OnceLock<Bytes>,
}

impl Shown {
    /// The event `host` of each of them.
    pub fn events(&self) -> Bytes {
        let render = || {
            let mut text = String::new();
            self.hosts
                .iter()
                .for_each(|host| sse::write(&mut text, "host", None, &sse::json(host)));
            text.into()
        };
        self.events.get_or_init(render).clone()
    }
}

impl From<Vec<Host>> for Shown {
    fn from(hosts: Vec<Host>) -> Shown {
        Shown { hosts, events: OnceLock::new() }
    }
}

impl Deref for Shown {
    type Target = Vec<Host>;
    fn deref(&self) -> &Vec<Host> {
        &self.hosts
    }
}

impl DerefMut for Shown {
    /// Who changes the hosts makes the events those of another list.
    fn deref_mut(&mut self) -> &mut Vec<Host> {
        self.events = OnceLock::new();
        &mut self.hosts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_queue::policy::Resources;

    #[test]
    fn events_are_those_of_the_list() {
        let host = |name| Host::up(name, Resources { cpus: 1, memory: 1, gpus: 0 });
        let names = |shown: &Shown| {
            let text = String::from_utf8(shown.events().to_vec()).unwrap();
            let of = |event: &str| {
                let data = event.strip_prefix("event: host\ndata: ").expect("an event");
                let value: serde_json::Value = serde_json::from_str(data).unwrap();
                value["name"].as_str().unwrap().to_string()
            };
            text.split_terminator("\n\n").map(of).collect::<Vec<_>>()
        };
        let mut shown = Shown::from(vec![host("n1"), host("n2")]);
        assert_eq!(names(&shown), ["n1", "n2"]);
        assert_eq!(shown.events().as_ptr(), shown.events().as_ptr(), "rendered once");
        shown.remove(0);
        assert_eq!(names(&shown), ["n2"]);
    }
}
