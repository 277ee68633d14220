//! Times against ranks, with logarithmic axes of ranks, as an SVG picture.

use crate::fit::Fit;
use std::fmt::Write;

/// A line of points (ranks, microseconds).
pub struct Series {
    pub name: String,
    pub points: Vec<(u32, f64)>,
    /// Drawn dashed where it is more than points.
    pub fit: Option<Fit>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 52.0;
const COLOURS: [&str; 6] = ["#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a"];
/// Lines across, about.
const STEPS: f64 = 6.0;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The picture. Nothing is drawn of a series without points.
pub fn svg(title: &str, series: &[Series]) -> String {
    let points = || series.iter().flat_map(|s| s.points.iter());
    let most = points().map(|p| p.0).max().unwrap_or(2).max(2);
    let least = points().map(|p| p.0).min().unwrap_or(1).max(1);
    let high = points().map(|p| p.1).fold(1e-3, f64::max) * 1.05;
    let (from, to) = (f64::from(least).log2(), f64::from(most).log2().max(1.0));
    let span = (to - from).max(1.0);
    let x = |n: u32| LEFT + (f64::from(n).log2() - from) / span * (WIDTH - LEFT - RIGHT);
    let y = |v: f64| HEIGHT - BOTTOM - (v / high).min(1.0) * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n<text x=\"{LEFT}\" y=\"20\" \
         font-size=\"14\">{}</text>\n",
        escaped(title)
    );
    // Writing to a string can not fail.
    let (right, foot) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let step = nice(high / STEPS);
    for number in (0..).map(|i| f64::from(i) * step).take_while(|v| *v <= high) {
        let at = y(number);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#d0d7de\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{number}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    let every = (span / 10.0).ceil().max(1.0) as u32;
    for power in (from.ceil() as u32..=to.floor() as u32).step_by(every as usize) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x(1 << power),
            foot + 18.0,
            1u64 << power
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">ranks</text>\
         <text x=\"12\" y=\"{:.1}\">us</text>",
        (LEFT + right) / 2.0,
        foot + 38.0,
        TOP
    );
    for (i, s) in series.iter().enumerate().filter(|(_, s)| !s.points.is_empty()) {
        line(&mut out, s, COLOURS[i % COLOURS.len()], i, (&x, &y));
    }
    out += "</svg>\n";
    out
}

/// A line, its points, its fit, and its name at the right.
fn line(
    out: &mut String,
    series: &Series,
    colour: &str,
    number: usize,
    (x, y): (&dyn Fn(u32) -> f64, &dyn Fn(f64) -> f64),
) {
    let place = |p: &(u32, f64)| format!("{:.1},{:.1}", x(p.0), y(p.1));
    match series.fit {
        Some(fit) => {
            let ends: Vec<String> =
                series.points.iter().map(|p| place(&(p.0, fit.at(p.0)))).collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-dasharray=\"5 4\"/>",
                ends.join(" ")
            );
        }
        None => {
            let points: Vec<String> = series.points.iter().map(place).collect();
            let points = points.join(" ");
            let _ =
                writeln!(out, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\"/>");
        }
    }
    for p in &series.points {
        let (x, y) = (x(p.0), y(p.1));
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
    let at = TOP + 16.0 * (2 * number) as f64 + 8.0;
    let left = WIDTH - RIGHT + 16.0;
    let name = escaped(&series.name);
    let _ = writeln!(out, "<text x=\"{left}\" y=\"{at}\" fill=\"{colour}\">{name}</text>");
    if let Some(fit) = series.fit {
        let _ = writeln!(
            out,
            "<text x=\"{left}\" y=\"{:.1}\" fill=\"{colour}\">{:.2} + {:.2} log2 N</text>",
            at + 15.0,
            fit.a,
            fit.b
        );
    }
}

/// A round number near `step`: 1, 2 or 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= step).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::fit;

    #[test]
    fn a_picture_has_all_points_and_the_line() {
        let points: Vec<(u32, f64)> = (1..=10).map(|d| (1 << d, 5.0 * f64::from(d))).collect();
        let series = [Series { name: "a & b".into(), fit: fit(&points), points }];
        let picture = svg("Barrier < 1", &series);
        assert_eq!(picture.matches("<circle").count(), 10);
        assert!(picture.contains("5.00 log2 N") && picture.contains("a &amp; b"), "{picture}");
        assert!(picture.contains("Barrier &lt; 1") && !picture.contains("NaN"), "{picture}");
    }

    #[test]
    fn one_point_or_none_can_be_drawn() {
        for points in [vec![], vec![(1, 0.0)], vec![(7, 3.0)]] {
            let picture = svg("t", &[Series { name: "n".into(), points, fit: None }]);
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        }
    }
}
