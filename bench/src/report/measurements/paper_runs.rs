//! The applications on the papers' own problems, for the figures that stand beside theirs.

/// One run of an application and what is taken of its output.
pub struct Run {
    /// The program of docs/apps.
    pub program: &'static str,
    /// What `papers.toml` calls it: `app.NAME.WHAT`.
    pub name: &'static str,
    pub what: &'static str,
    pub unit: &'static str,
    pub args: &'static str,
    /// On one rank, or on all processors.
    pub alone: bool,
    read: fn(&str) -> Option<f64>,
    /// Says how it differs from the paper's.
    pub condition: &'static str,
}

impl Run {
    /// How its point is told from those of scaling runs.
    pub fn shape(&self) -> String {
        format!("as in the paper: {} {}", self.name, self.what)
    }

    /// The figure in the program's output.
    pub fn figure(&self, output: &str) -> Option<f64> {
        (self.read)(output).filter(|v| v.is_finite() && *v > 0.0)
    }
}

/// Hexahedra of figures 14 and 15 of the CPlant paper, and of today's run.
const HEXAHEDRA: (f64, f64) = (6360.0, 8000.0);

pub const RUNS: [Run; 11] = [
    Run {
        program: "fdtd",
        name: "fdtd",
        what: "step",
        unit: "s",
        args: "--case cavity --nx 128 --ny 100 --nz 60 --steps 100 --print 0",
        alone: true,
        read: |text| each(text, "steps"),
        condition: "1 rank",
    },
    Run {
        program: "fdtd",
        name: "fdtd",
        what: "step_small",
        unit: "s",
        args: "--case cavity --cells 30 --steps 2000 --print 0",
        alone: true,
        read: |text| each(text, "steps"),
        condition: "1 rank",
    },
    Run {
        program: "sweep",
        name: "sweep",
        what: "seconds",
        unit: "s",
        args: "--bricks 20 --steps 20 --tolerance 1e-30 --print 0",
        alone: true,
        read: |text| each(text, "sweeps").map(|s| s * HEXAHEDRA.0 / HEXAHEDRA.1),
        condition: "1 rank, 8,000 hexahedra, its time by cells",
    },
    Run {
        program: "aspcg",
        name: "aspcg",
        what: "gflops",
        unit: "Gflop/s",
        args: "--cells 256 --steps 10 --print 0",
        alone: false,
        read: |text| before(text, "Gflop/s"),
        condition: "all processors, 256 x 256 cells",
    },
    Run {
        program: "sam_grobner",
        name: "grobner",
        what: "seconds",
        unit: "s",
        args: "",
        alone: true,
        read: |text| after(text, "basis in "),
        condition: "1 rank, modulo a prime",
    },
    Run {
        program: "sam_cholesky",
        name: "cholesky",
        what: "seconds",
        unit: "s",
        args: "--repeat 5",
        alone: true,
        read: |text| after(text, "factorisation in "),
        condition: "1 rank, a beam of as many rows",
    },
    Run {
        program: "sam_cholesky",
        name: "cholesky",
        what: "mflops",
        unit: "Mflop/s",
        args: "--repeat 5",
        alone: false,
        read: |text| before(text, "Gflop/s").map(|g| 1e3 * g),
        condition: "all processors, a beam of as many rows",
    },
    Run {
        program: "sam_cholesky",
        name: "cholesky_dense",
        what: "seconds",
        unit: "s",
        args: "--dense 1000 --repeat 5",
        alone: true,
        read: |text| after(text, "factorisation in "),
        condition: "1 rank",
    },
    Run {
        program: "sam_cholesky",
        name: "cholesky_dense",
        what: "mflops",
        unit: "Mflop/s",
        args: "--dense 1000 --repeat 5",
        alone: false,
        read: |text| before(text, "Gflop/s").map(|g| 1e3 * g),
        condition: "all processors",
    },
    Run {
        program: "sam_barnes",
        name: "barnes",
        what: "force",
        unit: "s",
        args: "--steps 3 --sample 0",
        alone: true,
        read: |text| each(text, "forces"),
        condition: "1 rank",
    },
    Run {
        program: "sam_barnes",
        name: "barnes",
        what: "force_all",
        unit: "s",
        args: "--steps 3 --sample 0",
        alone: false,
        read: |text| each(text, "forces"),
        condition: "all processors",
    },
];

/// The number behind some words.
fn after(text: &str, words: &str) -> Option<f64> {
    text.split(words).nth(1)?.split_whitespace().next()?.parse().ok()
}

/// The number before a unit.
fn before(text: &str, unit: &str) -> Option<f64> {
    let at = text.find(unit)?;
    text[..at].split_whitespace().last()?.parse().ok()
}

/// Seconds of one, of "N things in S s".
fn each(text: &str, things: &str) -> Option<f64> {
    let words = format!(" {things} in ");
    let at = text.find(&words)?;
    let count: f64 = text[..at].split_whitespace().last()?.parse().ok()?;
    Some(after(&text[at..], &words)? / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers;

    #[test]
    fn what_the_applications_print_is_read() {
        let run = |name: &str, what: &str| {
            RUNS.iter().find(|r| r.name == name && r.what == what).expect("it is there")
        };
        let fdtd = "128 x 100 x 60 cells on 1 ranks\n100 steps in 0.250 s: 307.20 million cells/s";
        assert_eq!(run("fdtd", "step").figure(fdtd), Some(0.0025));
        let sweep = "8000 cells\n20 sweeps in 0.200 s: 7.8 ns per cell, angle and group";
        assert_eq!(run("sweep", "seconds").figure(sweep), Some(0.01 * 6360.0 / 8000.0));
        let cholesky = "factorisation in 0.0123 s: 4.50 Gflop/s";
        assert_eq!(run("cholesky", "seconds").figure(cholesky), Some(0.0123));
        assert_eq!(run("cholesky", "mflops").figure(cholesky), Some(4500.0));
        let basis =
            "lazard: basis of 15 polynomials\nbasis in 0.000812 s on 1 ranks; 40 S-polynomials";
        assert_eq!(run("grobner", "seconds").figure(basis), Some(0.000812));
        assert_eq!(run("barnes", "force").figure("3 forces in 0.0 s"), None);
        assert_eq!(run("aspcg", "gflops").figure("10 steps, 5.1 Gflop/s"), Some(5.1));
        assert_eq!(run("aspcg", "gflops").figure("nothing"), None);
    }

    #[test]
    fn every_application_of_the_papers_is_run_or_said_not_to_be() {
        let scaling = ["app.md.step", "app.md.step_all", "app.treecode.mnewtons"];
        let derived = ["app.barnes.speedup"];
        // The paper does not say how many steps these made.
        let unknown = ["app.water.seconds", "app.barnes.seconds"];
        for figure in papers::all().filter(|f| f.entry.quantity.starts_with("app.")) {
            let quantity = &figure.entry.quantity;
            let run = |r: &Run| *quantity == format!("app.{}.{}", r.name, r.what);
            let known = [&scaling[..], &derived, &unknown].concat().contains(&quantity.as_str());
            assert!(known || RUNS.iter().any(run), "{quantity}");
            if let Some(run) = RUNS.iter().find(|r| run(r)) {
                assert_eq!(run.unit, figure.entry.unit, "{quantity}");
            }
        }
    }
}
