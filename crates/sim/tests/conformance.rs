//! The virtual network is a transport like any other: the suite, on six of its characters.

use hpvm_sim::{Config, Network, Reads, SimTransport};
use hpvm_transport::conformance::Fixture;

/// Makes networks of one character.
struct Virtual {
    config: fn(u32) -> Config,
    network: Option<Network>,
}

impl Virtual {
    fn new(config: fn(u32) -> Config) -> Virtual {
        Virtual { config, network: None }
    }
}

impl Fixture for Virtual {
    type Endpoint = SimTransport;

    fn open(&mut self, size: u32) -> Vec<SimTransport> {
        let network = Network::new((self.config)(size));
        let ends = network.endpoints();
        self.network = Some(network);
        ends
    }

    fn turn(&mut self) {
        if let Some(network) = &self.network {
            network.step();
            network.attend();
        }
    }

    fn bound(&self, size: u32) -> usize {
        Network::bound(&(self.config)(size))
    }

    fn seed(&self) -> u64 {
        seed()
    }
}

/// HPVM_SEED replays a failure.
fn seed() -> u64 {
    std::env::var("HPVM_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

fn rough(size: u32) -> Config {
    Config { seed: seed(), ..Config::new(size) }
}

/// As few credits and buffers as a network can have.
fn starved(size: u32) -> Config {
    Config {
        credits: size as usize,
        buffers: 1,
        refused_percent: 50,
        reads: Reads::Never,
        ..rough(size)
    }
}

mod calm {
    use super::*;
    hpvm_transport::conformance_suite!(Virtual::new(Config::calm));
}

mod rough_one {
    use super::*;
    hpvm_transport::conformance_suite!(Virtual::new(rough));
}

mod starved_one {
    use super::*;
    hpvm_transport::conformance_suite!(Virtual::new(starved));
}

mod random {
    use super::*;
    hpvm_transport::conformance_suite!(Virtual::new(|size| Config::random(size, seed())));
}

mod fair_weather {
    use super::*;
    hpvm_transport::conformance_suite!(Virtual::new(|size| Config {
        seed: seed(),
        ..Config::in_weather(size, hpvm_sim::Weather::fair())
    }));
}

mod random_weather {
    use super::*;
    hpvm_transport::conformance_suite!(Virtual::new(|size| Config::lossy(size, seed())));
}
