//! What `hpvm simulate` says.

use std::fmt::Write;

use hpvm_simulate::fit::{Fit, fit};
use hpvm_simulate::plot::{Series, svg};
use hpvm_simulate::time::{micros, shown};
use serde_json::{Value, json};

use super::args::Asked;
use super::runs::Row;

pub struct Report<'a> {
    pub asked: &'a Asked,
    pub rows: &'a [Row],
    pub fit: Option<Fit>,
}

/// Points below which a line says nothing.
const LEAST_POINTS: usize = 3;
/// Processes, and what their barrier took, in Table 1 of the paper of the NT Supercluster (1998); two were on each node.
const PAPER: (u32, f64) = (192, 290.0);
/// What a doubling added there, in microseconds, by the text about its Figure 5(a): with one process on a node, and with two.
const PAPER_SLOPES: [(&str, f64); 2] =
    [("1998, one process per node", 22.0), ("1998, two per node", 31.0)];

/// The line through the times of jobs with several ranks; a job of one rank sends nothing.
pub fn fit_of(rows: &[Row]) -> Option<Fit> {
    let several = rows.iter().filter(|row| row.ranks > 1);
    let points: Vec<(u32, f64)> = several.map(|row| (row.ranks, micros(row.time))).collect();
    if points.len() < LEAST_POINTS { None } else { fit(&points) }
}

impl Report<'_> {
    fn title(&self) -> String {
        let asked = self.asked;
        let bytes = match asked.subject.as_str() {
            "barrier" | "trace" | "start" => String::new(),
            _ => format!(", {} bytes", asked.size),
        };
        let alone = if asked.schedules { ", schedules alone" } else { "" };
        let what = match (&asked.file, &asked.pattern) {
            (Some(file), _) => format!(" {}", file.display()),
            (None, Some(pattern)) => format!(" {pattern}"),
            _ => String::new(),
        };
        format!("{}{what}{bytes}{alone}", asked.subject)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("{}, seed {}\n", self.title(), self.asked.seed);
        let _ = writeln!(
            out,
            "{:>8} {:>8} {:>14} {:>14} {:>14} {:>10}",
            "ranks", "hosts", "time", "packets out", "packets inside", "slots"
        );
        for row in self.rows {
            let s = &row.outcome.statistics;
            let _ = writeln!(
                out,
                "{:>8} {:>8} {:>14} {:>14} {:>14} {:>10}",
                row.ranks,
                row.hosts,
                shown(row.time),
                s.between,
                s.inside,
                s.slots
            );
        }
        for (row, measured) in self.measured() {
            let _ = writeln!(
                out,
                "recorded: {} on {} ranks, simulated {} ({:+.1} %)",
                shown(measured),
                row.ranks,
                shown(row.outcome.end),
                100.0 * (row.outcome.end as f64 / measured.max(1) as f64 - 1.0)
            );
        }
        if let Some(fit) = self.fit {
            let _ = writeln!(
                out,
                "fit: {:.3} + {:.3} log2 N us, at most {:.1} % off",
                fit.a,
                fit.b,
                100.0 * fit.off
            );
        }
        if self.asked.memory {
            self.memory(&mut out);
        }
        if let Some(row) = self.rows.last().filter(|row| !row.outcome.links.is_empty()) {
            let _ = writeln!(out, "busiest links of {} ranks:", row.ranks);
            for load in &row.outcome.links {
                let part = 100.0 * load.busy as f64 / row.outcome.end.max(1) as f64;
                let _ = writeln!(
                    out,
                    "  {:30} {:>8} packets, busy {:.1} % of {}",
                    load.channel,
                    load.packets,
                    part,
                    shown(row.outcome.end)
                );
            }
        }
        out
    }

    /// The jobs that were recorded as they are simulated.
    fn measured(&self) -> impl Iterator<Item = (&Row, u64)> {
        self.rows.iter().filter_map(|row| Some((row, row.measured?)))
    }

    /// Bytes of an engine by what they are for, of all jobs beside each other.
    fn memory(&self, out: &mut String) {
        let _ = write!(out, "bytes per rank (mean):");
        self.rows.iter().for_each(|row| _ = write!(out, " {:>9}", row.ranks));
        let kinds = self.rows.last().map_or(&[][..], |row| &row.outcome.memory);
        for (at, kind) in kinds.iter().enumerate() {
            let star = if kind.shared { " *" } else { "" };
            let _ = write!(out, "\n  {:20}", format!("{}{star}", kind.name));
            for row in self.rows {
                let _ = write!(out, " {:>9}", row.outcome.memory[at].mean);
            }
        }
        let _ = write!(out, "\n  {:20}", "sum");
        for row in self.rows {
            let sum: usize = row.outcome.memory.iter().map(|kind| kind.mean).sum();
            let _ = write!(out, " {sum:>9}");
        }
        let _ = writeln!(out, "\n  * of each process in a real job; the simulation has it once");
    }

    /// For spreadsheets.
    pub fn csv(&self) -> String {
        let mut out = String::from(
            "subject,bytes,ranks,hosts,seed,time_us,end_us,packets_out,packets_inside,bytes_out,bytes_inside,slots,turns\n",
        );
        for row in self.rows {
            let s = &row.outcome.statistics;
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{},{}",
                self.asked.subject,
                self.asked.size,
                row.ranks,
                row.hosts,
                self.asked.seed,
                micros(row.time),
                micros(row.outcome.end),
                s.between,
                s.inside,
                s.between_bytes,
                s.inside_bytes,
                s.slots,
                s.turns
            );
        }
        out
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let row = |row: &Row| {
            let s = &row.outcome.statistics;
            let links: Vec<Value> = row.outcome.links.iter().map(|load| {
                json!({"channel": load.channel, "packets": load.packets, "busy_us": micros(load.busy)})
            }).collect();
            let memory: Vec<Value> = row.outcome.memory.iter().map(|kind| {
                json!({"kind": kind.name, "mean": kind.mean, "most": kind.most, "shared": kind.shared})
            }).collect();
            let steps: Vec<f64> = row.outcome.steps().into_iter().map(micros).collect();
            json!({
                "ranks": row.ranks, "hosts": row.hosts, "time_us": micros(row.time),
                "steps_us": steps, "end_us": micros(row.outcome.end),
                "packets_out": s.between, "packets_inside": s.inside,
                "bytes_out": s.between_bytes, "bytes_inside": s.inside_bytes,
                "slots": s.slots, "turns": s.turns, "queued": s.queued,
                "queued_us": micros(s.queued_time), "measured_us": row.measured.map(micros), "links": links, "memory": memory,
            })
        };
        json!({
            "subject": self.asked.subject,
            "bytes": self.asked.size,
            "seed": self.asked.seed,
            "engines": !self.asked.schedules,
            "machine": self.asked.machine.write(),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "fit": self.fit.map(|f| json!({"a_us": f.a, "b_us": f.b, "off": f.off})),
        })
    }

    /// Times against ranks; beside a barrier those of the paper.
    pub fn plot(&self) -> String {
        let points = self.rows.iter().map(|row| (row.ranks, micros(row.time))).collect();
        let mut series = vec![Series { name: self.title(), points, fit: self.fit }];
        if self.asked.subject == "barrier" {
            let most = self.rows.last().map_or(PAPER.0, |row| row.ranks.min(PAPER.0));
            let ranks = |from| (from..8).map(|d| 1u32 << d).filter(move |n| *n <= most);
            for (name, slope) in PAPER_SLOPES {
                let points = ranks(1).map(|n| (n, slope * f64::from(n).log2())).collect();
                series.push(Series { name: format!("{name}: {slope} log2 N"), points, fit: None });
            }
            if most == PAPER.0 {
                let name = "1998, 192 processes: 290 us".to_owned();
                series.push(Series { name, points: vec![PAPER], fit: None });
            }
        }
        svg(&self.title(), &series)
    }
}
