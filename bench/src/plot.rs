//! `hpvm bench --plot`: latency and bandwidth of a comparison as an SVG picture.
//!
//! The picture is written by hand: it is two panels of lines, and its colours come from a style
//! sheet that follows the reader's light or dark scheme.

use crate::error::BenchError;
use crate::table;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What `hpvm bench --plot` was asked to do.
#[derive(Debug)]
pub struct Plan {
    /// Where the picture goes.
    pub output: PathBuf,
    /// What `hpvm bench peers --json` wrote; `None` reads standard input.
    pub input: Option<PathBuf>,
}

/// Of a comparison, what is drawn.
#[derive(Debug, Deserialize)]
struct Comparison {
    #[serde(default)]
    machine: serde_json::Value,
    rounds: u32,
    candidates: Vec<Candidate>,
    points: Vec<Point>,
}

#[derive(Debug, Deserialize)]
struct Candidate {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Point {
    part: String,
    ranks: u32,
    size: u64,
    medians: BTreeMap<String, Median>,
}

#[derive(Debug, Deserialize)]
struct Median {
    median: f64,
}

/// A line of one panel: (bytes, value), by bytes.
type Line = Vec<(u64, f64)>;

/// Reads a comparison and writes its picture.
///
/// # Errors
/// Files that cannot be read or written, and input that is no comparison or has nothing to draw.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    let text = read(plan.input.as_deref())?;
    let shown = plan.input.as_ref().map_or("standard input".into(), |p| p.display().to_string());
    let comparison: Comparison = serde_json::from_str(&text).map_err(|e| BenchError::Argument {
        token: shown.clone(),
        reason: format!("not what 'hpvm bench peers --json' writes: {e}"),
    })?;
    let picture = draw(&comparison).ok_or_else(|| BenchError::Argument {
        token: shown,
        reason: "no latency and no bandwidth of two ranks in it".into(),
    })?;
    std::fs::write(&plan.output, picture)
        .map_err(|e| BenchError::io(format!("cannot write {}", plan.output.display()), e))
}

fn read(input: Option<&Path>) -> Result<String, BenchError> {
    if let Some(path) = input {
        return std::fs::read_to_string(path)
            .map_err(|e| BenchError::io(format!("cannot read {}", path.display()), e));
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|e| BenchError::io("cannot read standard input", e))?;
    Ok(text)
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 72.0;
const BOTTOM: f64 = 58.0;

const STYLE: &str = "\
    svg { font-family: system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; font-size: 13px }\n\
    .page { fill: #ffffff } text { fill: #24292f } .soft { fill: #57606a; font-size: 12px }\n\
    .title { font-size: 15px; font-weight: 600 } .frame { stroke: #8c959f; fill: none }\n\
    .grid { stroke: #d8dee4 } .fine { stroke: #eef1f4 }\n\
    .line { fill: none; stroke-width: 1.8; stroke-linejoin: round } .c0 { stroke-width: 3.2 }\n\
    .c0, .m0 { stroke: #0969da } .c1, .m1 { stroke: #bc4c00 } .c2, .m2 { stroke: #1a7f37 }\n\
    .c3, .m3 { stroke: #8250df }\n\
    .m0 { fill: #0969da } .m1 { fill: #bc4c00 } .m2 { fill: #1a7f37 } .m3 { fill: #8250df }\n\
    @media (prefers-color-scheme: dark) {\n\
    .page { fill: #0d1117 } text { fill: #e6edf3 } .soft { fill: #9198a1 }\n\
    .frame { stroke: #656c76 } .grid { stroke: #2f353d } .fine { stroke: #1c2128 }\n\
    .c0, .m0 { stroke: #58a6ff } .c1, .m1 { stroke: #f0883e } .c2, .m2 { stroke: #56d364 }\n\
    .c3, .m3 { stroke: #d2a8ff }\n\
    .m0 { fill: #58a6ff } .m1 { fill: #f0883e } .m2 { fill: #56d364 } .m3 { fill: #d2a8ff }\n\
    }\n";

/// As many candidates have a colour and a mark.
const COLOURS: usize = 4;

fn draw(comparison: &Comparison) -> Option<String> {
    let panels: Vec<(Panel, Vec<Line>)> =
        [("latency", "One-way time of a message, µs"), ("bandwidth", "Bandwidth, MB/s")]
            .into_iter()
            .filter_map(|(part, title)| {
                let lines = lines(comparison, part);
                Some((Panel::new(title, &lines)?, lines))
            })
            .collect();
    if panels.is_empty() {
        return None;
    }
    let width = WIDTH * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\">\n\
         <title>Latency and bandwidth between two ranks</title>\n\
         <style>\n{STYLE}</style>\n\
         <rect class=\"page\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"6\"/>\n"
    );
    legend(&mut svg, comparison);
    for (i, (panel, lines)) in panels.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate({} 0)\">", WIDTH * i as f64);
        panel.draw(&mut svg, lines);
        svg += "</g>\n";
    }
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{LEFT}\" y=\"{}\">{}</text>\n</svg>",
        HEIGHT - 10.0,
        escaped(&footing(comparison))
    );
    Some(svg)
}

/// One line per candidate, in the candidates' order; of those that fit.
fn lines(comparison: &Comparison, part: &str) -> Vec<Line> {
    let points = || comparison.points.iter().filter(|p| p.part == part && p.ranks == 2);
    let line = |candidate: &Candidate| {
        let mut line: Line = points()
            .filter_map(|p| Some((p.size, p.medians.get(&candidate.name)?.median)))
            .filter(|(_, value)| value.is_finite() && *value > 0.0)
            .collect();
        line.sort_by_key(|(size, _)| *size);
        line
    };
    comparison.candidates.iter().take(COLOURS).map(line).collect()
}

fn footing(comparison: &Comparison) -> String {
    let of = |key: &str| comparison.machine.get(key);
    let mut words = Vec::new();
    if let Some(cpu) = of("cpu").and_then(|v| v.as_str()) {
        words.push(cpu.to_owned());
    }
    if let Some(cores) = of("cores").and_then(serde_json::Value::as_u64) {
        words.push(format!("{cores} cores"));
    }
    words.push(format!("two ranks, median of {} alternating runs", comparison.rounds));
    words.join(", ")
}

fn legend(svg: &mut String, comparison: &Comparison) {
    let mut x = LEFT;
    for (i, candidate) in comparison.candidates.iter().take(COLOURS).enumerate() {
        let name = known_as(&candidate.name);
        let _ = writeln!(svg, "<path class=\"line c{i}\" d=\"M{x:.1} 22h26\"/>");
        mark(svg, i, x + 13.0, 22.0);
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"26.5\">{}</text>", x + 33.0, escaped(name));
        x += 33.0 + 8.0 * name.chars().count() as f64 + 22.0;
    }
}

/// Names as people write them.
pub(crate) fn known_as(name: &str) -> &str {
    match name {
        "mpich" => "MPICH",
        "openmpi" => "Open MPI",
        "impi" => "Intel MPI",
        other => other,
    }
}

/// Candidates differ in shape as well as in colour.
fn mark(svg: &mut String, candidate: usize, x: f64, y: f64) {
    let path = match candidate {
        0 => {
            let _ = writeln!(svg, "<circle class=\"m0\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.8\"/>");
            return;
        }
        1 => format!("M{:.1} {:.1}h5v5h-5z", x - 2.5, y - 2.5),
        2 => format!("M{x:.1} {:.1}l3.2 5.6h-6.4z", y - 3.4),
        _ => format!("M{x:.1} {:.1}l3.3 3.3l-3.3 3.3l-3.3-3.3z", y - 3.3),
    };
    let _ = writeln!(svg, "<path class=\"m{candidate}\" d=\"{path}\"/>");
}

/// One diagram with logarithmic axes. Messages without data stand left of those of one byte.
struct Panel {
    title: &'static str,
    /// In powers of two; -1 is a message without data.
    columns: (f64, f64),
    /// In powers of ten.
    rows: (f64, f64),
}

fn column(size: u64) -> f64 {
    if size == 0 { -1.0 } else { (size as f64).log2() }
}

impl Panel {
    fn new(title: &'static str, lines: &[Line]) -> Option<Panel> {
        let all = || lines.iter().flatten();
        let least = all().map(|p| p.1).reduce(f64::min)?.log10();
        let most = all().map(|p| p.1).reduce(f64::max)?.log10();
        let first = all().map(|p| column(p.0)).reduce(f64::min)?;
        let last = all().map(|p| column(p.0)).reduce(f64::max)?.max(first + 1.0);
        let margin = 0.04 * (most - least).max(0.1);
        Some(Panel { title, columns: (first, last), rows: (least - margin, most + margin) })
    }

    fn x(&self, column: f64) -> f64 {
        let share = (column - self.columns.0) / (self.columns.1 - self.columns.0);
        LEFT + 8.0 + share * (WIDTH - LEFT - RIGHT - 16.0)
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.log10() - self.rows.0) / (self.rows.1 - self.rows.0);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    fn draw(&self, svg: &mut String, lines: &[Line]) {
        let _ = writeln!(
            svg,
            "<text class=\"title\" x=\"{LEFT}\" y=\"{}\">{}</text>",
            TOP - 14.0,
            escaped(self.title)
        );
        self.columns(svg);
        self.rows(svg);
        let (w, h) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
        let _ = writeln!(
            svg,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{w}\" height=\"{h}\"/>"
        );
        // The first candidate is drawn last, over the others.
        for (i, line) in lines.iter().enumerate().rev() {
            let places: Vec<(f64, f64)> =
                line.iter().map(|(size, value)| (self.x(column(*size)), self.y(*value))).collect();
            let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            if !path.is_empty() {
                let _ = writeln!(svg, "<path class=\"line c{i}\" d=\"M{}\"/>", path.join("L"));
            }
            places.iter().for_each(|(x, y)| mark(svg, i, *x, *y));
        }
    }

    fn columns(&self, svg: &mut String) {
        let bottom = HEIGHT - BOTTOM;
        let mut label = |column: f64, text: &str| {
            let x = self.x(column);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
            let _ = writeln!(
                svg,
                "<text class=\"soft\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>",
                bottom + 18.0
            );
        };
        if self.columns.0 < 0.0 {
            label(-1.0, "0");
        }
        for power in (0..=40).step_by(4).map(f64::from) {
            if (self.columns.0..=self.columns.1).contains(&power)
                && !(power == 0.0 && self.columns.0 < 0.0)
            {
                label(power, &table::bytes(power.exp2() as u64));
            }
        }
    }

    fn rows(&self, svg: &mut String) {
        let right = WIDTH - RIGHT;
        for power in self.rows.0.floor() as i32..=self.rows.1.ceil() as i32 {
            for digit in 1..10 {
                let value = f64::from(digit) * 10f64.powi(power);
                if !(self.rows.0..=self.rows.1).contains(&value.log10()) {
                    continue;
                }
                let (y, class) = (self.y(value), if digit == 1 { "grid" } else { "fine" });
                let _ = writeln!(svg, "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{right}\"/>");
                if digit == 1 {
                    let (x, y) = (LEFT - 7.0, y + 4.0);
                    let text = plain(value);
                    let _ = writeln!(
                        svg,
                        "<text class=\"soft\" text-anchor=\"end\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
                    );
                }
            }
        }
    }
}

/// A power of ten in digits, thousands apart.
pub(crate) fn plain(value: f64) -> String {
    if value < 1.0 {
        return format!("{value}");
    }
    let digits = format!("{value:.0}");
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join("\u{202f}")
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(points: &str) -> Comparison {
        let text = format!(
            "{{\"rounds\":5,\"machine\":{{\"cpu\":\"A<B\",\"cores\":2}},\
             \"candidates\":[{{\"name\":\"hpvm\"}},{{\"name\":\"mpich\"}}],\"points\":[{points}]}}"
        );
        serde_json::from_str(&text).unwrap()
    }

    fn point(part: &str, ranks: u32, size: u64, ours: f64, theirs: f64) -> String {
        format!(
            "{{\"part\":\"{part}\",\"ranks\":{ranks},\"size\":{size},\"unit\":\"us\",\
             \"medians\":{{\"hpvm\":{{\"median\":{ours}}},\"mpich\":{{\"median\":{theirs}}}}}}}"
        )
    }

    #[test]
    fn a_panel_per_part_and_a_line_per_candidate() {
        let points = [
            point("latency", 2, 0, 0.1, 1.0),
            point("latency", 2, 4096, 0.5, 2.0),
            point("bandwidth", 2, 8, 100.0, 20.0),
            point("bandwidth", 2, 64, 800.0, 150.0),
            point("bandwidth", 8, 64, 1.0, 1.0),
        ];
        let picture = draw(&comparison(&points.join(","))).unwrap();
        assert_eq!(picture.matches("class=\"frame\"").count(), 2);
        // The legend's and one in each panel.
        assert_eq!(picture.matches("class=\"line c1\"").count(), 3);
        assert!(picture.contains("MPICH") && picture.contains("A&lt;B, 2 cores"));
        assert!(picture.contains("prefers-color-scheme: dark") && !picture.contains("NaN"));
        assert!(picture.contains(">0<") && picture.contains(">4 KiB<"));
    }

    #[test]
    fn shorter_times_are_lower_and_longer_messages_further_right() {
        let line = vec![(0, 0.1), (1, 0.2), (1 << 20, 100.0)];
        let panel = Panel::new("", &[line]).unwrap();
        assert!(panel.y(0.1) > panel.y(0.2) && panel.y(0.2) > panel.y(100.0));
        assert!(panel.x(column(0)) < panel.x(column(1)));
        assert!(panel.x(column(1 << 20)) <= WIDTH - RIGHT && panel.y(100.0) >= TOP);
    }

    #[test]
    fn without_points_there_is_no_picture() {
        assert!(draw(&comparison("")).is_none());
        assert!(draw(&comparison(&point("barrier", 2, 0, 1.0, 1.0))).is_none());
    }

    #[test]
    fn what_is_no_comparison_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("result.json");
        std::fs::write(&input, "{}").unwrap();
        let plan = Plan { output: dir.path().join("p.svg"), input: Some(input) };
        let error = run(&plan).unwrap_err().to_string();
        assert!(
            error.contains("result.json") && error.contains("hpvm bench peers --json"),
            "{error}"
        );
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        assert_eq!(
            ["0.1", "1", "1\u{202f}000"],
            [plain(0.1), plain(1.0), plain(1000.0)].each_ref().map(String::as_str)
        );
    }
}
