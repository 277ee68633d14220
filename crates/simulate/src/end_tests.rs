//! The transport of virtual time is a transport like any other.

use crate::end::End;
use crate::machine::Machine;
use crate::net::Net;
use crate::slots::AllSlots;
use core::cell::RefCell;
use hpvm_transport::conformance::Fixture;
use std::rc::Rc;

struct Timed {
    ranks_per_host: u32,
    net: Option<Rc<RefCell<Net>>>,
}

impl Timed {
    fn new(ranks_per_host: u32) -> Timed {
        Timed { ranks_per_host, net: None }
    }
}

impl Fixture for Timed {
    type Endpoint = End;

    fn open(&mut self, size: u32) -> Vec<End> {
        let host_of: Box<[u32]> = (0..size).map(|rank| rank / self.ranks_per_host).collect();
        let net = Rc::new(RefCell::new(Net::new(Machine::default(), host_of, None, (1, 0))));
        let slots = Rc::new(AllSlots::new(size));
        self.net = Some(net.clone());
        (0..size).map(|rank| End::new(net.clone(), slots.clone(), rank)).collect()
    }

    fn turn(&mut self) {
        if let Some(net) = &self.net {
            net.borrow_mut().step();
        }
    }

    fn bound(&self, size: u32) -> usize {
        crate::net::CREDITS.max(size) as usize
    }
}

mod one_host {
    use super::*;
    hpvm_transport::conformance_suite!(Timed::new(9));
}

mod many_hosts {
    use super::*;
    hpvm_transport::conformance_suite!(Timed::new(2));
}
