//! Ports that processes of a family open (`MPI_Open_port`): their launcher joins who calls with who has opened one, because neither
//! may reach the other.

use std::collections::BTreeMap;

use super::{End, Errands, Use};

/// A port that can be reached.
#[derive(Debug)]
pub struct Offered {
    /// Where callers are told.
    by: End,
    /// Those that have not been taken yet, by number.
    callers: BTreeMap<u32, End>,
    next: u32,
}

impl Errands {
    /// A process has opened a port; its callers are told by this stream.
    pub(super) fn offer(&mut self, from: End, port: &str) {
        if self.ports.contains_key(port) {
            return self.refuse(from);
        }
        self.ports.insert(port.to_owned(), Offered { by: from, callers: BTreeMap::new(), next: 0 });
        self.uses.insert(from, Use::Offer(port.to_owned()));
        self.say(from, b"\n".to_vec());
    }

    /// A process wants to speak with who has opened a port. `rest`: what it has said already.
    pub(super) fn reach(&mut self, from: End, port: &str, rest: Vec<u8>) {
        let Some(offered) = self.ports.get_mut(port) else { return self.refuse(from) };
        let (by, number) = (offered.by, offered.next);
        offered.next = offered.next.wrapping_add(1);
        offered.callers.insert(number, from);
        self.uses.insert(from, Use::Waits(rest));
        self.say(from, b"\n".to_vec());
        self.say(by, format!("{number}\n").into_bytes());
    }

    /// Who has opened a port takes the caller of this number.
    pub(super) fn take(&mut self, from: End, port: &str, number: &str, rest: Vec<u8>) {
        let offered = self.ports.get_mut(port);
        let number = number.parse().ok();
        match offered.zip(number).and_then(|(offered, number)| offered.callers.remove(&number)) {
            Some(caller) => {
                self.uses.insert(from, Use::Waits(rest));
                self.join(from, caller);
            }
            None => self.refuse(from),
        }
    }

    /// A port is closed: who has not been taken hears of it.
    pub(super) fn withdraw(&mut self, port: &str) {
        let offered = self.ports.remove(port);
        let callers = offered.map(|offered| offered.callers).unwrap_or_default();
        callers.into_values().for_each(|caller| self.refuse(caller));
    }
}
