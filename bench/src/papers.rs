//! Figures of the papers that hpvm descends from: what such machines did in 1995 to 2000.
//!
//! They are data: `papers.toml`, by table and figure of the papers. What they are compared with today is named there.

use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// What `hpvm bench` itself compares; a report compares more ([`crate::report::papers`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Quantity {
    /// As `papers.toml` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::HalfSize => "half_size",
            Self::Barrier => "barrier",
            Self::IdleBandwidth => "idle_bandwidth",
        }
    }
}

/// A table or figure of a paper, or a section with figures.
#[derive(Clone, Debug, Deserialize)]
pub struct Exhibit {
    pub paper: String,
    pub place: String,
    pub title: String,
    /// A sentence on what the comparison means.
    pub means: String,
    pub figures: Vec<Entry>,
}

/// One figure of an exhibit.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Entry {
    pub year: u16,
    pub system: String,
    pub quantity: String,
    pub value: f64,
    pub unit: String,
    /// A condition under which it holds; may be empty.
    #[serde(default)]
    pub note: String,
}

impl Entry {
    /// The value with all the digits that the paper gives.
    pub fn quoted(&self) -> String {
        self.value.to_string()
    }
}

/// One figure and where it stands.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub paper: &'static str,
    pub section: &'static str,
    #[serde(flatten)]
    pub entry: &'static Entry,
}

impl Figure {
    /// Whether it was measured inside one machine, not between several.
    pub fn is_within_a_host(&self) -> bool {
        ["shared memory", "within a node"].iter().any(|words| self.entry.system.contains(words))
    }
}

#[derive(Deserialize)]
struct File {
    exhibit: Vec<Exhibit>,
}

/// All exhibits, paper by paper.
pub fn exhibits() -> &'static [Exhibit] {
    static EXHIBITS: LazyLock<Vec<Exhibit>> = LazyLock::new(|| {
        let file: Result<File, _> = toml::from_str(include_str!("papers.toml"));
        file.expect("papers.toml is part of the program").exhibit
    });
    &EXHIBITS
}

/// All figures of all exhibits.
pub fn all() -> impl Iterator<Item = Figure> {
    exhibits().iter().flat_map(|exhibit| {
        exhibit.figures.iter().map(|entry| Figure {
            paper: &exhibit.paper,
            section: &exhibit.place,
            entry,
        })
    })
}

/// The figures of one quantity, by year.
pub fn figures(quantity: Quantity) -> impl Iterator<Item = Figure> {
    let mut found: Vec<Figure> = all().filter(|f| f.entry.quantity == quantity.name()).collect();
    found.sort_by_key(|f| f.entry.year);
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Quantity::{Bandwidth, Barrier, HalfSize, IdleBandwidth, Latency};

    #[test]
    fn every_quantity_has_a_source_and_a_positive_figure() {
        for q in [Latency, Bandwidth, HalfSize, Barrier, IdleBandwidth] {
            assert!(figures(q).count() > 0, "{q:?}");
        }
        for f in all() {
            let e = f.entry;
            assert!(e.value > 0.0 && !e.unit.is_empty(), "{f:?}");
            assert!(!f.section.is_empty() && (1995..=2000).contains(&e.year), "{f:?}");
        }
    }

    #[test]
    fn every_paper_has_exhibits_and_every_exhibit_a_sentence() {
        for paper in ["NT Supercluster", "HPVM 1.9", "PVM on ATM", "Loki and Hyglac", "Cplant"] {
            assert!(exhibits().iter().any(|e| e.paper == paper), "{paper}");
        }
        assert!(exhibits().iter().all(|e| e.means.ends_with('.')));
    }

    #[test]
    fn values_are_quoted_with_the_digits_of_the_papers() {
        let of = |system: &str| all().find(|f| f.entry.system == system).expect("it is there");
        assert_eq!(of("Cplant, 64 processors").entry.quoted(), "0.0132");
        assert_eq!(of("LU, SGI Origin 2000").entry.quoted(), "1317.4");
        assert_eq!(of("ASCI Red, 6800 processors").entry.quoted(), "12180");
    }

    #[test]
    fn figures_of_a_quantity_share_their_unit() {
        for f in all() {
            let others = all().filter(|g| g.entry.quantity == f.entry.quantity);
            others.for_each(|g| assert_eq!(f.entry.unit, g.entry.unit, "{}", f.entry.quantity));
        }
    }
}
