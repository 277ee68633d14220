//! The measurements of a report, one file each. [`ALL`] is the order in which they are made and shown.

mod allreduce;
pub(super) mod apps;
mod bandwidth;
pub(super) mod barrier;
mod bisection;
mod bsp;
mod files;
mod floor;
pub(super) mod idle;
mod latency;
mod noise;
mod npb;
mod overlap;
mod pairs;
pub(super) mod paper_runs;
mod peers;
mod probe;
pub(super) mod pvm;
mod rate;
mod rma;
mod shmem;
mod startup;

use super::chart::Plot;
use super::context::Context;
use super::data::{Data, Point};
use crate::error::BenchError;

pub(super) use latency::one_way;

/// One part of a report.
pub trait Measurement: Sync {
    /// As `--only` names it.
    fn name(&self) -> &'static str;
    fn title(&self) -> &'static str;
    /// What is measured and how, for the page.
    fn about(&self) -> &'static str;
    /// Whether it can be made here; the error says what is missing.
    fn needs(&self, _context: &Context) -> Result<(), String> {
        Ok(())
    }
    /// How long it will take, s.
    fn estimate(&self, context: &Context) -> f64;
    /// Measures. Blocks; ends early with [`BenchError::Interrupted`] after Ctrl-C.
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError>;
    /// What is drawn of it.
    fn plots(&self, _data: &Data) -> Vec<Plot> {
        Vec::new()
    }
    /// What it comes to, in sentences.
    fn headlines(&self, _data: &Data) -> Vec<String> {
        Vec::new()
    }
}

/// Every measurement.
pub static ALL: [&dyn Measurement; 21] = [
    &noise::Noise,
    &floor::Floor,
    &latency::Latency,
    &bandwidth::Bandwidth,
    &rate::Rate,
    &overlap::Overlap,
    &idle::Idle,
    &barrier::Barrier,
    &allreduce::Allreduce,
    &bisection::Bisection,
    &pairs::Pairs,
    &probe::Probe,
    &rma::Rma,
    &shmem::Shmem,
    &files::Files,
    &bsp::Bsp,
    &pvm::Pvm,
    &startup::Startup,
    &apps::Apps,
    &peers::Peers,
    &npb::Npb,
];

/// The names for `--only`.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|m| m.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_everything_is_explained() {
        let mut names = names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        assert!(ALL.iter().all(|m| m.about().ends_with('.') && !m.title().is_empty()));
    }
}
