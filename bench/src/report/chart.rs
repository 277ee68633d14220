//! Plots: logarithmic axes (but for shares), lines with their bands, outliers, floors. Layout is pure; the picture is SVG whose colours come
//! from the page's style sheet.

use super::data::{Data, FLOOR, Point};
use super::statistics::summary;
use crate::plot::{escaped, plain};
use crate::stats::Line;
use crate::table;
use std::fmt::Write as _;

/// What goes to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Bytes,
    Ranks,
}

/// A diagram that is not drawn yet.
#[derive(Clone, Debug)]
pub struct Plot {
    title: &'static str,
    axis: Axis,
    unit: &'static str,
    lines: Vec<Series>,
    fit: Option<Line>,
}

/// A line with a name.
#[derive(Clone, Debug, PartialEq)]
struct Series {
    name: String,
    floor: bool,
    marks: Vec<Mark>,
}

/// A point of a line: its median, the ends of its interval, its outliers.
#[derive(Clone, Debug, PartialEq)]
struct Mark {
    x: u64,
    y: f64,
    low: f64,
    high: f64,
    outliers: Vec<f64>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;
/// So many colours there are; further lines begin again, dashed.
const COLOURS: usize = 6;
/// Outliers drawn of a point, the farthest; the tables count all.
const OUTLIERS: usize = 4;
/// The unit of shares, which stand on a linear axis.
const SHARE: &str = "%";
/// A medium step between numbers on the axis of values, when there are few powers of ten.
const FEW_POWERS: f64 = 1.6;

impl Plot {
    pub fn new(title: &'static str, axis: Axis, unit: &'static str) -> Self {
        Self { title, axis, unit, lines: Vec::new(), fit: None }
    }

    /// One line of all points.
    pub fn own(self, points: &[Point], name: &str) -> Self {
        self.by(points, |_| Some(name.to_owned()))
    }

    /// A line for each name that `of` gives; points without one are left out.
    pub fn by(mut self, points: &[Point], of: impl Fn(&Point) -> Option<String>) -> Self {
        let unit = self.unit;
        for p in points.iter().filter(|p| p.unit == unit) {
            if let (Some(name), Some(mark)) = (of(p), mark(p, self.axis)) {
                self.put(name, p.by == FLOOR, mark);
            }
        }
        self.lines.iter_mut().for_each(|line| line.marks.sort_by_key(|m| m.x));
        self
    }

    fn put(&mut self, name: String, floor: bool, mark: Mark) {
        match self.lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.marks.push(mark),
            None => self.lines.push(Series { name, floor, marks: vec![mark] }),
        }
    }

    /// The line a + b log2 x beside the points.
    pub fn fit(mut self, line: Option<Line>) -> Self {
        self.fit = line;
        self
    }

    /// Adds what the machine does without message passing, in this plot's unit.
    pub fn with_floors(mut self, data: &Data) -> Self {
        let Some((first, last)) = self.columns() else { return self };
        let floor = data.points("floor");
        let flag = floor.iter().find(|p| p.mode == "flag").and_then(|p| mark(p, self.axis));
        if let Some(flag) = flag.filter(|_| self.unit == "us") {
            let at = |x| Mark { x, ..flag.clone() };
            let marks = vec![at(first), at(last)];
            self.lines.push(Series { name: "cache line".into(), floor: true, marks });
        }
        let stream = if self.unit == "us" { "TCP socket, stream" } else { "TCP socket" };
        for (mode, op, name) in [
            ("memcpy", "", "memcpy"),
            ("tcp", "latency", "TCP socket"),
            ("tcp", "bandwidth", stream),
        ] {
            // What a bandwidth makes of some bytes is no floor where no bytes are counted.
            let fits = |p: &&Point| self.axis == Axis::Bytes || p.unit == self.unit;
            let of = |p: &&Point| p.mode == mode && p.op.as_deref().unwrap_or("") == op && fits(p);
            let mut marks: Vec<Mark> =
                floor.iter().filter(of).filter_map(|p| self.converted(p)).collect();
            if self.axis == Axis::Bytes {
                marks.retain(|m| (first..=last).contains(&m.x));
            } else if let Some(one) = self.level(&marks) {
                marks = [first, last].map(|x| Mark { x, ..one.clone() }).to_vec();
            }
            marks.sort_by_key(|m| m.x);
            if !marks.is_empty() {
                self.lines.push(Series { name: name.into(), floor: true, marks });
            }
        }
        self
    }

    /// Of a floor by size that which is a level where ranks are counted: the shortest time, the largest bandwidth.
    fn level(&self, marks: &[Mark]) -> Option<Mark> {
        let better = |a: &&Mark, b: &&Mark| a.y.total_cmp(&b.y);
        let found = if self.unit == "us" {
            marks.iter().min_by(better)
        } else {
            marks.iter().max_by(better)
        };
        found.cloned()
    }

    /// A point of the floor in this plot's unit: a bandwidth is also a time for so many bytes.
    fn converted(&self, p: &Point) -> Option<Mark> {
        let found = mark(p, Axis::Bytes)?;
        match (p.unit.as_str(), self.unit) {
            (a, b) if a == b => Some(found),
            ("MB/s", "us") => {
                let time = |rate: f64| p.size as f64 / rate;
                let (y, low, high) = (time(found.y), time(found.high), time(found.low));
                Some(Mark { y, low, high, outliers: Vec::new(), ..found })
            }
            _ => None,
        }
    }

    fn columns(&self) -> Option<(u64, u64)> {
        let all = || self.lines.iter().flat_map(|line| line.marks.iter().map(|m| m.x));
        Some((all().min()?, all().max()?))
    }

    /// The picture; `None` without points.
    pub fn svg(&self) -> Option<String> {
        let frame = Frame::around(self)?;
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">\n<title>{0}</title>\n\
             <text class=\"t\" x=\"{LEFT}\" y=\"16\">{0}, {1}</text>\n",
            escaped(self.title),
            table::unit(self.unit)
        );
        frame.grid(&mut svg, self.axis);
        for (i, line) in self.lines.iter().enumerate().rev() {
            frame.line(&mut svg, line, &class(i, line.floor));
        }
        if let Some(fit) = self.fit {
            frame.fit(&mut svg, fit);
        }
        self.legend(&mut svg, &frame);
        svg += "</svg>\n";
        Some(svg)
    }

    /// Names stand at the right, where their lines end, moved apart where they would touch.
    fn legend(&self, svg: &mut String, frame: &Frame) {
        let mut ends: Vec<(f64, usize)> = self
            .lines
            .iter()
            .enumerate()
            .filter_map(|(i, line)| Some((frame.y(line.marks.last()?.y), i)))
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut places: Vec<f64> = ends.iter().map(|(y, _)| *y).collect();
        spread(&mut places, 15.0, (TOP + 5.0, HEIGHT - BOTTOM));
        for ((_, i), y) in ends.iter().zip(places) {
            let line = &self.lines[*i];
            let _ = writeln!(
                svg,
                "<text class=\"n {}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                class(*i, line.floor),
                WIDTH - RIGHT + 8.0,
                y + 4.0,
                escaped(&line.name)
            );
        }
    }
}

/// Moves ascending places apart until `gap` lies between them, inside the ends.
fn spread(places: &mut [f64], gap: f64, (first, last): (f64, f64)) {
    let mut least = first;
    for place in places.iter_mut() {
        *place = place.max(least);
        least = *place + gap;
    }
    let mut most = last;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
}

fn class(line: usize, floor: bool) -> String {
    if floor {
        "f".into()
    } else {
        format!("c{}{}", line % COLOURS, if line >= COLOURS { " d" } else { "" })
    }
}

/// A point that the axis can show: shares may be 0, which has no logarithm.
fn mark(p: &Point, axis: Axis) -> Option<Mark> {
    let s = summary(&p.launches)?;
    let x = if axis == Axis::Bytes { p.size } else { u64::from(p.ranks) };
    let (y, low, high) = (s.median, s.interval.low, s.interval.high);
    let share = p.unit == SHARE;
    let distance = |v: f64| if share { (v - y).abs() } else { (v / y).ln().abs() };
    let mut outliers = s.outliers;
    outliers.sort_by(|a, b| distance(*b).total_cmp(&distance(*a)));
    outliers.truncate(OUTLIERS);
    let shown = |v: f64| v.is_finite() && (share || v > 0.0);
    [y, low, high].into_iter().all(shown).then_some(Mark { x, y, low, high, outliers })
}

/// Where values stand in the picture.
struct Frame {
    /// Logarithms to the base 2; messages without data stand left of those of a byte.
    columns: (f64, f64),
    /// Powers of ten; or percents, which are no powers.
    rows: (f64, f64),
    shares: bool,
}

fn column(x: u64) -> f64 {
    if x == 0 { -1.0 } else { (x as f64).log2() }
}

impl Frame {
    fn around(plot: &Plot) -> Option<Self> {
        let marks = || plot.lines.iter().flat_map(|line| &line.marks);
        let (first, last) = plot.columns()?;
        let columns = (column(first), column(last).max(column(first) + 1.0));
        let least = marks().map(|m| m.low).reduce(f64::min)?;
        let most = marks().map(|m| m.high).reduce(f64::max)?;
        let shares = plot.unit == SHARE;
        if shares {
            return Some(Self { columns, rows: (least.min(0.0), most.max(100.0)), shares });
        }
        let (least, most) = (least.log10(), most.log10());
        let margin = 0.06 * (most - least).max(0.5);
        Some(Self { columns, rows: (least - margin, most + margin), shares })
    }

    fn x(&self, x: u64) -> f64 {
        let share = (column(x) - self.columns.0) / (self.columns.1 - self.columns.0);
        LEFT + 6.0 + share * (WIDTH - LEFT - RIGHT - 12.0)
    }

    /// Values beyond the frame (far outliers) stand on its edge.
    fn y(&self, value: f64) -> f64 {
        let value = if self.shares { value } else { value.log10() };
        let share = (value - self.rows.0) / (self.rows.1 - self.rows.0);
        HEIGHT - BOTTOM - share.clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }

    /// The values that have a line in the grid.
    fn levels(&self) -> Vec<f64> {
        if self.shares {
            let step = if self.rows.1 - self.rows.0 > 200.0 { 100 } else { 20 };
            let first = (self.rows.0 / f64::from(step)).ceil() as i32 * step;
            return (first..=self.rows.1 as i32).step_by(step as usize).map(f64::from).collect();
        }
        let few = self.rows.1 - self.rows.0 < FEW_POWERS;
        let powers = self.rows.0.floor() as i32..=self.rows.1.ceil() as i32;
        let digits: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let all = powers.flat_map(|power| digits.iter().map(move |d| d * 10f64.powi(power)));
        all.filter(|value| (self.rows.0..=self.rows.1).contains(&value.log10())).collect()
    }

    fn grid(&self, svg: &mut String, axis: Axis) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for value in self.levels() {
            let y = self.y(value);
            let _ = writeln!(svg, "<path class=\"g\" d=\"M{LEFT} {y:.1}H{right}\"/>");
            let (x, y, text) = (LEFT - 6.0, y + 4.0, axis_number(value));
            let _ = writeln!(svg, "<text class=\"s e\" x=\"{x}\" y=\"{y:.1}\">{text}</text>");
        }
        let step = if axis == Axis::Bytes && self.columns.1 - self.columns.0 > 9.0 { 4 } else { 1 };
        let powers = (0..=40).step_by(step).map(f64::from);
        let inside = powers.filter(|p| (self.columns.0..=self.columns.1).contains(p));
        // The label of 0 bytes would touch that of 1 byte.
        let zero = (self.columns.0 < 0.0).then_some(0);
        for x in zero
            .into_iter()
            .chain(inside.filter(|p| zero.is_none() || *p > 0.5).map(|p| p.exp2() as u64))
        {
            let at = self.x(x);
            let text = if axis == Axis::Bytes { table::bytes(x) } else { x.to_string() };
            let _ = writeln!(svg, "<path class=\"g\" d=\"M{at:.1} {TOP}V{bottom}\"/>");
            let y = bottom + 16.0;
            let _ = writeln!(svg, "<text class=\"s m\" x=\"{at:.1}\" y=\"{y}\">{text}</text>");
        }
        let (x, y) = (0.5 * (LEFT + right), HEIGHT - 8.0);
        let name = if axis == Axis::Bytes { "size" } else { "ranks" };
        let _ = writeln!(svg, "<text class=\"s m\" x=\"{x}\" y=\"{y}\">{name}</text>");
        let (w, h) = (right - LEFT, bottom - TOP);
        let _ = writeln!(
            svg,
            "<rect class=\"b\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{w}\" height=\"{h}\"/>"
        );
    }

    fn line(&self, svg: &mut String, line: &Series, class: &str) {
        let path = |of: &dyn Fn(&Mark) -> f64, marks: &mut dyn Iterator<Item = &Mark>| {
            let places: Vec<String> =
                marks.map(|m| format!("{:.1} {:.1}", self.x(m.x), self.y(of(m)))).collect();
            places.join("L")
        };
        if line.marks.len() > 1 && !line.floor {
            let over = path(&|m| m.high, &mut line.marks.iter());
            let under = path(&|m| m.low, &mut line.marks.iter().rev());
            let _ = writeln!(svg, "<path class=\"a {class}\" d=\"M{over}L{under}Z\"/>");
        }
        let middle = path(&|m| m.y, &mut line.marks.iter());
        let _ = writeln!(svg, "<path class=\"l {class}\" d=\"M{middle}\"/>");
        if line.floor {
            return;
        }
        for m in &line.marks {
            let (x, y) = (self.x(m.x), self.y(m.y));
            let [value, low, high] = [m.y, m.low, m.high].map(table::number);
            let _ = writeln!(
                svg,
                "<path class=\"w {class}\" d=\"M{x:.1} {:.1}V{:.1}\"/><circle class=\"p {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" \
                 r=\"2.6\"><title>{}: {value} ({low} to {high})</title></circle>",
                self.y(m.low),
                self.y(m.high),
                escaped(&line.name)
            );
            for outlier in m.outliers.iter().filter(|v| self.shares || **v > 0.0) {
                let y = self.y(*outlier);
                let _ = writeln!(
                    svg,
                    "<circle class=\"o {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\"/>"
                );
            }
        }
    }

    fn fit(&self, svg: &mut String, fit: Line) {
        let places: Vec<String> = (0..=20)
            .map(|i| self.columns.0 + (self.columns.1 - self.columns.0) * f64::from(i) / 20.0)
            .map(|column| (column, fit.at_zero + fit.slope * column))
            .filter(|(_, value)| *value > 0.0)
            .map(|(column, value)| {
                let share = (column - self.columns.0) / (self.columns.1 - self.columns.0);
                let x = LEFT + 6.0 + share * (WIDTH - LEFT - RIGHT - 12.0);
                format!("{x:.1} {:.1}", self.y(value))
            })
            .collect();
        if places.len() > 1 {
            let _ = writeln!(
                svg,
                "<path class=\"l d c1\" d=\"M{}\"><title>a + b log2 N</title></path>",
                places.join("L")
            );
        }
    }
}

fn axis_number(value: f64) -> String {
    match value.abs() {
        v if v >= 1.0 || v == 0.0 => plain(value),
        _ => format!("{value:.6}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::{OWN, Outcome};
    use super::*;

    fn point(size: u64, ranks: u32, value: f64) -> Point {
        Point::new("latency", OWN, ranks, size, "us", vec![value, 1.1 * value, 1.2 * value])
    }

    #[test]
    fn larger_values_are_higher_and_larger_sizes_further_right() {
        let points = [point(0, 2, 0.1), point(8, 2, 1.0), point(1 << 20, 2, 100.0)];
        let plot = Plot::new("t", Axis::Bytes, "us").own(&points, "hpvm");
        let frame = Frame::around(&plot).unwrap();
        assert!(frame.x(0) < frame.x(8) && frame.x(8) < frame.x(1 << 20));
        assert!(frame.y(100.0) < frame.y(1.0) && frame.y(1.0) < frame.y(0.1));
        assert!(frame.x(0) >= LEFT && frame.x(1 << 20) <= WIDTH - RIGHT);
        assert!(frame.y(1e9) >= TOP && frame.y(1e-9) <= HEIGHT - BOTTOM);
    }

    #[test]
    fn shares_stand_on_a_linear_axis_from_0_to_100() {
        let share = |size, value| Point::new("x", OWN, 2, size, "%", vec![value; 3]);
        let points = [share(8, 0.0), share(64, 50.0), share(4096, 100.0)];
        let plot = Plot::new("t", Axis::Bytes, "%").own(&points, "hpvm");
        assert_eq!(plot.lines[0].marks.len(), 3);
        let frame = Frame::around(&plot).unwrap();
        assert_eq!(frame.levels(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(frame.y(50.0) * 2.0, frame.y(0.0) + frame.y(100.0));
    }

    #[test]
    fn bands_floors_and_outliers_are_drawn() {
        let mut samples: Vec<f64> = (0..30).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
        samples.push(50.0);
        let points = [
            Point::new("latency", OWN, 2, 8, "us", samples),
            point(64, 2, 3.0),
            point(4096, 2, f64::NAN),
        ];
        let data = super::super::fixed::data();
        let svg = Plot::new("t < u", Axis::Bytes, "us")
            .own(&points, "hpvm")
            .with_floors(&data)
            .svg()
            .unwrap();
        assert!(svg.contains("class=\"a c0\"") && svg.contains("class=\"o c0\""), "{svg}");
        assert!(svg.contains("cache line") && svg.contains("t &lt; u") && !svg.contains("NaN"));
        assert!(Plot::new("t", Axis::Bytes, "us").own(&[], "x").svg().is_none());
    }

    #[test]
    fn a_bandwidth_is_a_floor_of_times() {
        let plot = Plot::new("t", Axis::Bytes, "us");
        let copy = Point::new("memcpy", FLOOR, 1, 1000, "MB/s", vec![500.0; 3]);
        assert_eq!(plot.converted(&copy).unwrap().y, 2.0);
        let share = Point::new("x", FLOOR, 1, 1000, "%", vec![500.0; 3]);
        assert!(plot.converted(&share).is_none());
    }

    #[test]
    fn a_bandwidth_is_no_floor_of_times_where_ranks_are_counted() {
        let mut data = super::super::fixed::data();
        let floor = data.finished.iter_mut().find(|f| f.name == "floor").unwrap();
        let Outcome::Points(points) = &mut floor.outcome else { panic!("it has points") };
        let stream = Point::new("tcp", FLOOR, 1, 4096, "MB/s", vec![500.0; 3]);
        points.push(stream.of("bandwidth", ""));
        let names = |axis, points: &[Point]| {
            let plot = Plot::new("t", axis, "us").own(points, "hpvm").with_floors(&data);
            plot.lines.into_iter().map(|line| line.name).collect::<Vec<_>>()
        };
        let barrier = Point::new("barrier", OWN, 4, 0, "us", vec![1.0; 3]);
        assert_eq!(names(Axis::Ranks, &[barrier]), ["hpvm", "cache line", "TCP socket"]);
        let latency = [point(8, 2, 1.0), point(4096, 2, 3.0)];
        let all = ["hpvm", "cache line", "memcpy", "TCP socket", "TCP socket, stream"];
        assert_eq!(names(Axis::Bytes, &latency), all);
    }

    #[test]
    fn names_do_not_touch() {
        let mut places = [10.0, 11.0, 12.0, 90.0, 91.0];
        spread(&mut places, 15.0, (5.0, 100.0));
        assert!(places.windows(2).all(|p| p[1] - p[0] >= 15.0), "{places:?}");
        assert!(places[0] >= 5.0 && places[4] <= 100.0);
    }
}
