//! Shared memory and datagrams together pass the suite of `hpvm-transport`: every process on a host
//! of its own, and two on each.

mod jobs;

use hpvm_net::Joint;
use hpvm_transport::conformance::Fixture;
use hpvm_wire::segment::SLOTS;

/// `per_host` processes on each "host": they share memory, the others are reached by sockets.
struct Hosts {
    per_host: u32,
}

impl Fixture for Hosts {
    type Endpoint = Joint;

    fn open(&mut self, size: u32) -> Vec<Joint> {
        jobs::open(size, self.per_host)
    }

    /// Each pair may hold its guaranteed buffers on either side, and the pools on top.
    fn bound(&self, size: u32) -> usize {
        let config = hpvm_reliable::Config::default();
        // A datagram holds several of the smallest packets.
        let most = config.most_buffers(size as usize) * size as usize;
        most * (config.most_datagram / hpvm_wire::datagram::RECORD) + SLOTS as usize
    }
}

mod one_each {
    use super::*;
    hpvm_transport::conformance_suite!(Hosts { per_host: 1 });
}

mod two_each {
    use super::*;
    hpvm_transport::conformance_suite!(Hosts { per_host: 2 });
}
