//! Forwarding tables: for every switch and destination the port on which a packet leaves.

use crate::error::Error;
use crate::fabric::Fabric;

/// Entries of all tables together: 4 GiB of them. The largest fabrics of OpenSM's form have fewer.
const MAX_ENTRIES: usize = 1 << 31;

/// There is no entry.
pub const NONE: u16 = u16::MAX;

/// One entry for each pair of destination and switch. Destinations are the fabric's end ports, then its switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    switches: usize,
    /// By destination, then by switch.
    ports: Vec<u16>,
    /// Switches that the tables were made with as roots, where that is known.
    pub roots: Vec<u32>,
}

impl Tables {
    /// Tables without entries.
    pub fn empty(fabric: &Fabric) -> Result<Tables, Error> {
        let switches = fabric.switches.len();
        let destinations = fabric.end_ports.len() + switches;
        let entries = destinations.saturating_mul(switches);
        if entries > MAX_ENTRIES {
            return Err(Error::new(format!(
                "tables of {switches} switches for {destinations} destinations have {entries} entries; \
                 the limit is {MAX_ENTRIES}"
            )));
        }
        Ok(Tables { switches, ports: vec![NONE; entries], roots: Vec::new() })
    }

    /// End ports and switches.
    pub fn destinations(&self) -> usize {
        self.ports.len().checked_div(self.switches).unwrap_or(0)
    }

    /// The ports of all switches for one destination.
    pub fn row(&self, destination: usize) -> &[u16] {
        &self.ports[destination * self.switches..][..self.switches]
    }

    pub fn row_mut(&mut self, destination: usize) -> &mut [u16] {
        &mut self.ports[destination * self.switches..][..self.switches]
    }

    /// Entries in which two tables of one fabric differ.
    pub fn differences(&self, other: &Tables) -> usize {
        self.ports.iter().zip(&other.ports).filter(|(a, b)| a != b).count()
    }
}
