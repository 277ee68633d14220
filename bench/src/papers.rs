//! Figures of the papers that hpvm descends from: what such a machine did in 1995 to 2000.
//!
//! Facts only, each with its place. One-way latencies: where a paper gives round trips, half of
//! them. The text of the 1.9 paper gives no figure for its VIA (Giganet) transport of its own.

use serde::Serialize;

/// What a figure measures, in our words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// One-way time of the shortest message, µs.
    Latency,
    /// Peak bandwidth between two processes, 10^6 bytes/s.
    Bandwidth,
    /// Bytes of a message that reaches half the peak bandwidth.
    HalfSize,
    /// Time of a barrier, µs.
    Barrier,
    /// Share of the peak bandwidth that is left when idle processes are added, percent.
    IdleBandwidth,
}

/// One figure and where it stands.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    pub paper: &'static str,
    pub section: &'static str,
    pub year: u16,
    pub system: &'static str,
    pub quantity: Quantity,
    pub value: f64,
    /// A condition under which it holds; may be empty.
    pub note: &'static str,
}

impl Figure {
    /// Whether it was measured inside one machine, not between several.
    pub fn is_within_a_host(&self) -> bool {
        ["shared memory", "within a node"].iter().any(|words| self.system.contains(words))
    }
}

const NT: &str = "NT Supercluster";
const V19: &str = "HPVM 1.9";
const PVM: &str = "PVM on ATM";
const LOKI: &str = "Loki and Hyglac";
const CPLANT: &str = "Cplant";

const fn figure(
    (paper, section, year): (&'static str, &'static str, u16),
    system: &'static str,
    quantity: Quantity,
    value: f64,
    note: &'static str,
) -> Figure {
    Figure { paper, section, year, system, quantity, value, note }
}

use Quantity::{Bandwidth, Barrier, HalfSize, IdleBandwidth, Latency};

const ROUND_TRIP_HALVED: &str = "half the round trip";

/// All figures, ordered by quantity and year.
pub static FIGURES: &[Figure] = &[
    figure((V19, "2", 1995), "FM 1.1, Myrinet, Sparcstation 20", Latency, 14.0, ""),
    figure((PVM, "3.4", 1996), "PVM rebuilt, ATM, DEC 3000/700", Latency, 65.0, ""),
    figure((PVM, "3.4", 1996), "PVM rebuilt, ATM, AlphaStation", Latency, 88.0, ""),
    figure((PVM, "4", 1996), "MPL, IBM SP2", Latency, 45.0, ""),
    figure((LOKI, "Table 3", 1997), "U-Net, Fast Ethernet", Latency, 27.5, ROUND_TRIP_HALVED),
    figure((LOKI, "Table 3", 1997), "TCP, Fast Ethernet", Latency, 79.0, ROUND_TRIP_HALVED),
    figure((LOKI, "Table 3", 1997), "SWAMPI, Fast Ethernet", Latency, 104.0, ROUND_TRIP_HALVED),
    figure(
        (LOKI, "Table 3", 1997),
        "LAM 6.1 -c2c, Fast Ethernet",
        Latency,
        161.0,
        "half the round trip, through a switch",
    ),
    figure(
        (LOKI, "Table 3", 1997),
        "MPICH 1.1.0, Fast Ethernet",
        Latency,
        195.0,
        "half the round trip, through a switch",
    ),
    figure((NT, "3", 1998), "FM 2.1, Myrinet, Pentium II", Latency, 9.0, "upper bound"),
    figure((NT, "3", 1998), "Shmem put on FM, Myrinet", Latency, 14.4, ""),
    figure((NT, "Table 1", 1998), "MPI-FM, Myrinet", Latency, 13.3, ""),
    figure((V19, "7", 2000), "FM 1.9, Myrinet", Latency, 8.8, ""),
    figure((V19, "1", 2000), "FM 1.9, shared memory", Latency, 3.0, ""),
    figure((CPLANT, "4.1", 2000), "MPI on Portals, Myrinet, Linux", Latency, 106.0, ""),
    figure((CPLANT, "4.1", 2000), "MPI on Portals, ASCI Red (Puma)", Latency, 13.0, ""),
    figure((V19, "2", 1995), "FM 1.1, Myrinet, Sparcstation 20", Bandwidth, 17.6, ""),
    figure((PVM, "3.4", 1996), "PVM rebuilt, ATM, DEC 3000/700", Bandwidth, 15.8, ""),
    figure((PVM, "3.4", 1996), "PVM 3 as it was, ATM", Bandwidth, 10.0, "about"),
    figure((PVM, "4", 1996), "MPL, IBM SP2", Bandwidth, 30.0, "about"),
    figure((LOKI, "Table 3", 1997), "SWAMPI, Fast Ethernet", Bandwidth, 11.7, ""),
    figure((LOKI, "Table 3", 1997), "MPICH 1.1.0, Fast Ethernet", Bandwidth, 8.8, ""),
    figure((LOKI, "Table 3", 1997), "LAM 6.1 -c2c, Fast Ethernet", Bandwidth, 11.6, ""),
    figure((LOKI, "Table 3", 1997), "U-Net, Fast Ethernet", Bandwidth, 12.3, ""),
    figure((NT, "3", 1998), "FM 2.1, Myrinet, Pentium II", Bandwidth, 92.0, ""),
    figure((NT, "3", 1998), "Shmem put on FM, Myrinet", Bandwidth, 76.0, ""),
    figure((NT, "Table 1", 1998), "MPI-FM, Myrinet", Bandwidth, 84.2, "at 128 KiB"),
    figure((V19, "5", 1999), "HPVM 1.2 within a node, by Myrinet", Bandwidth, 40.0, "upper bound"),
    figure((V19, "7", 2000), "FM 1.9, Myrinet", Bandwidth, 100.0, "lower bound"),
    figure((V19, "1", 2000), "FM 1.9, shared memory", Bandwidth, 200.0, "lower bound"),
    figure((CPLANT, "4.1", 2000), "MPI on Portals, Myrinet, Linux", Bandwidth, 54.0, ""),
    figure((CPLANT, "4.1", 2000), "MPI on Portals, ASCI Red (Puma)", Bandwidth, 311.0, ""),
    figure((V19, "2", 1995), "FM 1.1, Myrinet, Sparcstation 20", HalfSize, 54.0, ""),
    figure((NT, "3", 1998), "FM 2.1, Myrinet, Pentium II", HalfSize, 250.0, ""),
    figure((V19, "2", 1998), "FM 2.1, Myrinet, Pentium II", HalfSize, 256.0, "about"),
    figure((NT, "4.1", 1998), "MPI-FM, Myrinet", HalfSize, 970.0, ""),
    figure((NT, "Table 1", 1998), "MPI-FM, Myrinet", Barrier, 290.0, "192 processes"),
    figure(
        (NT, "4.1, Fig. 4b", 1998),
        "MPI-FM, Myrinet, static credits",
        IdleBandwidth,
        50.0,
        "at worst, as processes are added",
    ),
];

/// The figures of one quantity.
pub fn figures(quantity: Quantity) -> impl Iterator<Item = &'static Figure> {
    FIGURES.iter().filter(move |f| f.quantity == quantity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_has_a_source_and_a_positive_figure() {
        for q in [Latency, Bandwidth, HalfSize, Barrier, IdleBandwidth] {
            assert!(figures(q).count() > 0, "{q:?}");
        }
        for f in FIGURES {
            assert!(
                f.value > 0.0 && !f.section.is_empty() && (1995..=2000).contains(&f.year),
                "{f:?}"
            );
        }
    }
}
