//! Which name stands for which port, and who has published it.

use crate::message::{Answer, Request};
use std::collections::HashMap;

/// Names that one connection may publish.
pub const OWN_MAX: usize = 1024;
/// Bytes of all names and ports.
pub const BYTES_MAX: usize = 32 << 20;

/// Names, each with the connection that has published it.
#[derive(Debug, Default)]
pub struct Table {
    names: HashMap<String, Entry>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    owner: u64,
    port: String,
}

impl Table {
    /// What is answered to a request of connection `owner`.
    pub fn answer(&mut self, owner: u64, request: Request) -> Answer {
        match request {
            Request::Publish { name, port } => self.publish(owner, name, port),
            Request::Lookup { name } => match self.names.get(&name) {
                Some(entry) => Answer::Port(entry.port.clone()),
                None => Answer::Unknown,
            },
            Request::Unpublish { name } => match self.names.get(&name) {
                Some(entry) if entry.owner == owner => {
                    self.bytes -= name.len() + entry.port.len();
                    self.names.remove(&name);
                    Answer::Done
                }
                _ => Answer::Unknown,
            },
        }
    }

    fn publish(&mut self, owner: u64, name: String, port: String) -> Answer {
        if self.names.contains_key(&name) {
            return Answer::Taken;
        }
        let bytes = self.bytes + name.len() + port.len();
        if bytes > BYTES_MAX {
            return Answer::Refused(format!("its names have {BYTES_MAX} bytes already"));
        }
        if self.names.values().filter(|entry| entry.owner == owner).count() >= OWN_MAX {
            return Answer::Refused(format!("this process has published {OWN_MAX} names already"));
        }
        self.bytes = bytes;
        self.names.insert(name, Entry { owner, port });
        Answer::Done
    }

    /// The connection has ended: what it has published is there no longer.
    pub fn forget(&mut self, owner: u64) {
        let gone = self.names.extract_if(|_, entry| entry.owner == owner);
        self.bytes -= gone.map(|(name, entry)| name.len() + entry.port.len()).sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(name: &str, port: &str) -> Request {
        Request::Publish { name: name.to_owned(), port: port.to_owned() }
    }

    #[test]
    fn names_are_their_connections() {
        let mut table = Table::default();
        let (lookup, back) =
            (|| Request::Lookup { name: "s".into() }, || Request::Unpublish { name: "s".into() });
        assert_eq!(table.answer(1, lookup()), Answer::Unknown);
        assert_eq!(table.answer(1, publish("s", "p")), Answer::Done);
        for owner in [1, 2] {
            assert_eq!(table.answer(owner, publish("s", "q")), Answer::Taken);
            assert_eq!(table.answer(owner, lookup()), Answer::Port("p".into()));
        }
        assert_eq!(table.answer(2, back()), Answer::Unknown);
        table.forget(2);
        assert_eq!(table.answer(2, lookup()), Answer::Port("p".into()));
        assert_eq!(table.answer(1, back()), Answer::Done);
        assert_eq!(table.answer(1, back()), Answer::Unknown);
        assert_eq!(table.answer(2, publish("s", "q")), Answer::Done);
        table.forget(2);
        assert_eq!(table.answer(1, lookup()), Answer::Unknown);
        assert_eq!((table.bytes, table.names.len()), (0, 0));
    }

    #[test]
    fn nobody_fills_it() {
        let mut table = Table::default();
        for number in 0..OWN_MAX {
            assert_eq!(table.answer(1, publish(&number.to_string(), "p")), Answer::Done);
        }
        assert!(matches!(table.answer(1, publish("more", "p")), Answer::Refused(_)));
        assert_eq!(table.answer(2, publish("more", "p")), Answer::Done);
        let port = "p".repeat(BYTES_MAX);
        assert!(matches!(table.answer(3, publish("long", &port)), Answer::Refused(_)));
    }
}
