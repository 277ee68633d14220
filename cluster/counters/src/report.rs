//! What was counted, for people and for programs.

use crate::derived::{Derived, Unit, derived};
use crate::estimate::Estimate;
use crate::events::Event;
use serde_json::{Value, json};
use std::fmt::Write;

/// A rank, or the command as a whole where there are no ranks.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub rank: Option<u32>,
    pub host: String,
    /// The launcher's name of the job.
    pub job: String,
    pub pid: i32,
    /// In the order of the report's events.
    pub estimates: Vec<Estimate>,
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub command: String,
    /// Seconds of the clock on the wall.
    pub elapsed: f64,
    pub events: Vec<Event>,
    pub parts: Vec<Part>,
    /// What is not counted, and why.
    pub notes: Vec<String>,
}

/// Ranks beside each other in a table.
const COLUMNS: usize = 8;

impl Report {
    /// Each event over all parts.
    pub fn whole(&self) -> Vec<Estimate> {
        sum(&self.parts.iter().collect::<Vec<_>>(), self.events.len())
    }

    /// The ranks of each host, in the order of their names.
    fn hosts(&self) -> Vec<(&str, Vec<&Part>)> {
        let mut hosts: Vec<(&str, Vec<&Part>)> = Vec::new();
        for part in self.parts.iter().filter(|part| part.rank.is_some()) {
            match hosts.iter_mut().find(|(name, _)| *name == part.host) {
                Some((_, parts)) => parts.push(part),
                None => hosts.push((&part.host, vec![part])),
            }
        }
        hosts.sort_by_key(|(name, _)| *name);
        hosts
    }

    fn derived(&self, estimates: &[Estimate]) -> Vec<Derived> {
        let names = self.events.iter().map(|event| &*event.name);
        derived(names.zip(estimates), self.elapsed)
    }

    /// A table; `per_rank`: with a column for each rank, however many there are.
    pub fn text(&self, per_rank: bool) -> String {
        let ranks = self.parts.iter().filter(|part| part.rank.is_some()).count();
        let hosts = self.hosts();
        let mut out = format!("\n {}: {:.3} s", self.command, self.elapsed);
        if ranks > 0 {
            let plural =
                |n, word: &str| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") };
            let _ = write!(out, ", {} on {}", plural(ranks, "rank"), plural(hosts.len(), "host"));
        }
        out.push_str("\n\n");
        let whole = self.whole();
        table(&mut out, &self.whole_table(&whole));
        if hosts.len() > 1 {
            out.push('\n');
            let columns =
                hosts.iter().map(|(name, parts)| (name.to_string(), sum(parts, self.events.len())));
            table(&mut out, &self.columns(&columns.collect::<Vec<_>>()));
        }
        if ranks > 1 && (per_rank || ranks <= COLUMNS) {
            let parts: Vec<&Part> = self.parts.iter().filter(|part| part.rank.is_some()).collect();
            for parts in parts.chunks(COLUMNS) {
                out.push('\n');
                let name =
                    |part: &Part| part.rank.map_or("-".into(), |rank| format!("rank {rank}"));
                let columns = parts.iter().map(|part| (name(part), part.estimates.clone()));
                table(&mut out, &self.columns(&columns.collect::<Vec<_>>()));
            }
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(out, " note: {note}");
        }
        out
    }

    /// The rows of everything together.
    fn whole_table(&self, whole: &[Estimate]) -> Vec<Vec<String>> {
        let turns = whole.iter().any(|found| found.coverage < 1.0 && found.enabled > 0);
        let mut rows = vec![vec!["EVENT".to_string(), "VALUE".into()]];
        if turns {
            rows[0].extend(["COVERAGE".into(), "ERROR".into()]);
        }
        for (event, found) in self.events.iter().zip(whole) {
            let mut row = vec![event.name.clone(), shown(event, found)];
            if turns {
                row.push(format!("{:.0} %", found.coverage * 100.0));
                row.push(error_text(found));
            }
            rows.push(row);
        }
        for figure in self.derived(whole) {
            rows.push(vec![figure.name.into(), figure.text()]);
        }
        rows
    }

    /// The rows with one column for each of several things.
    fn columns(&self, columns: &[(String, Vec<Estimate>)]) -> Vec<Vec<String>> {
        let head = std::iter::once("EVENT".to_string())
            .chain(columns.iter().map(|(name, _)| name.to_uppercase()));
        let mut rows = vec![head.collect()];
        for (i, event) in self.events.iter().enumerate() {
            let cells = columns.iter().map(|(_, estimates)| {
                estimates.get(i).map_or_else(String::new, |found| shown(event, found))
            });
            rows.push(std::iter::once(event.name.clone()).chain(cells).collect());
        }
        let figures: Vec<_> = columns.iter().map(|(_, e)| self.derived(e)).collect();
        let mut names: Vec<&str> = Vec::new();
        for figure in figures.iter().flatten() {
            if !names.contains(&figure.name) {
                names.push(figure.name);
            }
        }
        for name in names {
            let cell = |figures: &Vec<Derived>| {
                figures.iter().find(|f| f.name == name).map_or("-".into(), Derived::text)
            };
            rows.push(std::iter::once(name.into()).chain(figures.iter().map(cell)).collect());
        }
        rows
    }

    /// One line per event and part: for spreadsheets.
    pub fn csv(&self) -> String {
        let mut out = String::from(
            "scope,rank,host,pid,event,value,raw,coverage,error,enabled_ns,running_ns\n",
        );
        let mut rows = |scope: &str, rank: &str, host: &str, pid: &str, all: &[Estimate]| {
            for (event, e) in self.events.iter().zip(all) {
                let number = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.1}"));
                let _ = writeln!(
                    out,
                    "{scope},{rank},{},{pid},{},{},{},{:.6},{},{},{}",
                    quoted(host),
                    quoted(&event.name),
                    number(e.scaled),
                    e.raw,
                    e.coverage,
                    number(e.error),
                    e.enabled,
                    e.running
                );
            }
        };
        rows("job", "", "", "", &self.whole());
        for (host, parts) in self.hosts() {
            rows("host", "", host, "", &sum(&parts, self.events.len()));
        }
        for part in &self.parts {
            let Some(rank) = part.rank else { continue };
            rows("rank", &rank.to_string(), &part.host, &part.pid.to_string(), &part.estimates);
        }
        out
    }

    pub fn json(&self) -> Value {
        let counted = |estimates: &[Estimate]| {
            let events: serde_json::Map<String, Value> = self
                .events
                .iter()
                .zip(estimates)
                .map(|(event, e)| (event.name.clone(), json_of(event, e)))
                .collect();
            let figures: serde_json::Map<String, Value> = self
                .derived(estimates)
                .iter()
                .map(|f| (f.name.to_string(), json!(f.value)))
                .collect();
            (Value::Object(events), Value::Object(figures))
        };
        let with = |mut value: Value, estimates: &[Estimate]| {
            let (events, figures) = counted(estimates);
            value["events"] = events;
            value["derived"] = figures;
            value
        };
        let hosts: Vec<_> = self
            .hosts()
            .iter()
            .map(|(host, parts)| with(json!({ "host": host }), &sum(parts, self.events.len())))
            .collect();
        let ranks = self.parts.iter().filter(|part| part.rank.is_some());
        let ranks: Vec<_> = ranks
            .map(|p| {
                with(
                    json!({ "rank": p.rank, "host": p.host, "job": p.job, "pid": p.pid }),
                    &p.estimates,
                )
            })
            .collect();
        let job = json!({ "command": self.command, "elapsed_seconds": self.elapsed, "notes": self.notes,
            "hosts": hosts, "ranks": ranks });
        with(job, &self.whole())
    }
}

fn sum(parts: &[&Part], events: usize) -> Vec<Estimate> {
    let of = |i: usize| parts.iter().filter_map(move |part| part.estimates.get(i).copied());
    (0..events).map(|i| Estimate::sum(of(i))).collect()
}

fn json_of(event: &Event, e: &Estimate) -> Value {
    json!({
        "value": e.scaled, "unit": if event.time { "ns" } else { "count" }, "raw": e.raw, "coverage": e.coverage,
        "error": e.error, "enabled_ns": e.enabled, "running_ns": e.running,
    })
}

/// A cell of CSV (RFC 4180).
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

/// A value with its unit, or that there is none.
fn shown(event: &Event, found: &Estimate) -> String {
    match found.scaled {
        None => "not counted".into(),
        Some(value) if event.time => format!("{:.3} s", value * 1e-9),
        Some(value) => grouped(value),
    }
}

/// A whole number with spaces between thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

fn error_text(found: &Estimate) -> String {
    match (found.scaled, found.error) {
        (None, _) => "-".into(),
        (_, None) => "unknown".into(),
        (Some(value), Some(error)) if value > 0.0 => format!("±{:.1} %", error / value * 100.0),
        (_, Some(error)) => format!("±{error:.0}"),
    }
}

impl Derived {
    /// For people.
    pub fn text(&self) -> String {
        match self.unit {
            Unit::Ratio => format!("{:.2}", self.value),
            Unit::Share => format!("{:.2} %", self.value * 100.0),
            Unit::Hertz => format!("{:.2} GHz", self.value * 1e-9),
            Unit::Bytes => format!("{:.1} MiB/s", self.value / f64::from(1 << 20)),
        }
    }
}

/// Columns of equal width; the first to the left, the others to the right.
fn table(out: &mut String, rows: &[Vec<String>]) {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let mut line = String::new();
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match i {
                0 => write!(line, " {cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::software;

    fn report() -> Report {
        let exact = |raw| Estimate {
            raw,
            scaled: Some(raw as f64),
            coverage: 1.0,
            error: Some(0.0),
            enabled: 9,
            running: 9,
        };
        let part = |rank: u32, host: &str| Part {
            rank: Some(rank),
            host: host.into(),
            job: "j".into(),
            pid: 100 + rank as i32,
            estimates: vec![exact(1_500_000_000), exact(1234567), exact(0), exact(3), exact(0)],
        };
        let parts = vec![part(0, "n1"), part(1, "n,2")];
        Report {
            command: "./a.out".into(),
            elapsed: 2.0,
            events: software(),
            parts,
            notes: vec!["why".into()],
        }
    }

    #[test]
    fn a_table_for_people() {
        let text = report().text(false);
        for part in
            ["2 ranks on 2 hosts", "2 469 134", "3.000 s", "RANK 1", "N,2", "1.50", "note: why"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("COVERAGE"), "{text}");
    }

    #[test]
    fn what_was_counted_in_turns_says_so() {
        let mut report = report();
        report.parts.truncate(1);
        report.parts[0].estimates[1] = Estimate {
            raw: 5,
            scaled: Some(10.0),
            coverage: 0.5,
            error: Some(1.0),
            enabled: 2,
            running: 1,
        };
        report.parts[0].estimates[2] = Estimate { enabled: 2, ..Estimate::default() };
        let text = report.text(false);
        assert!(
            text.contains("50 %") && text.contains("±10.0 %") && text.contains("not counted"),
            "{text}"
        );
    }

    #[test]
    fn lines_for_spreadsheets() {
        let csv = report().csv();
        assert_eq!(csv.lines().count(), 1 + 5 * (1 + 2 + 2));
        assert!(
            csv.contains("rank,1,\"n,2\",101,minor-faults,1234567.0,1234567,1.000000,0.0,9,9"),
            "{csv}"
        );
        assert!(
            csv.lines().all(|line| line.replace("\"n,2\"", "n2").split(',').count() == 11),
            "{csv}"
        );
    }

    #[test]
    fn json_has_ranks_and_hosts() {
        let json = report().json();
        assert_eq!(json["events"]["minor-faults"]["value"], 2469134.0);
        assert_eq!(json["ranks"][1]["rank"], 1);
        assert_eq!(json["hosts"][0]["host"], "n,2");
        assert_eq!(json["derived"]["processors-used"], 1.5);
        assert_eq!(json["events"]["task-clock"]["unit"], "ns");
    }
}
