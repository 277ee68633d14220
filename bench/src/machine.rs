//! What was measured on: a figure without its machine means nothing.

use hpvm_job::machine;
use serde::Serialize;

/// The machine that this process runs on.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub cpu: String,
    /// Processors that this process may use.
    pub cores: usize,
    pub kernel: String,
    /// One-minute load when the run began: other work disturbs the figures.
    pub load: Option<f64>,
}

impl Machine {
    /// Asks the running system; what it does not tell is "unknown".
    pub fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let machine::Machine { cpu, kernel, .. } = machine::Machine::here();
        Self {
            cpu,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel,
            load: read("/proc/loadavg").split_whitespace().next().and_then(|w| w.parse().ok()),
        }
    }
}

impl Machine {
    /// A sentence when other work was running already, which disturbs whatever is measured.
    pub fn warning(&self) -> Option<String> {
        let load = self.load.filter(|load| *load > 0.25 * self.cores as f64)?;
        let cores = self.cores;
        Some(format!("a load of {load:.2} on {cores} cores: other work disturbs these figures"))
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} cores, Linux {}", self.cpu, self.cores, self.kernel)?;
        self.load.map_or(Ok(()), |load| write!(f, ", load {load:.2} at the start"))?;
        self.warning().map_or(Ok(()), |warning| write!(f, "\nWARNING: {warning}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warns_of_a_busy_machine() {
        let machine = |load| Machine { cpu: "x".into(), cores: 4, kernel: "6".into(), load };
        assert!(machine(Some(0.5)).warning().is_none());
        assert!(machine(None).warning().is_none());
        assert!(machine(Some(2.0)).to_string().contains("WARNING"));
    }
}
