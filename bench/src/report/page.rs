//! The page: one HTML file without scripts and without anything from a network.

use super::data::{Data, Finished, Outcome, Point};
use super::difference::{Change, Difference};
use super::measurements::{ALL, Measurement};
use super::statistics::summary;
use super::today;
use crate::papers;
use crate::plot::{escaped, known_as};
use crate::table::{bytes, number, unit};
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub fn page(data: &Data, difference: Option<&Difference>) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>hpvm report: {}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escaped(&data.machine.host)
    );
    heading(&mut html, data);
    machine(&mut html, data);
    contents(&mut html, difference.is_some());
    if let Some(difference) = difference {
        changed(&mut html, difference);
    }
    then_and_now(&mut html, data);
    for measurement in ALL {
        if let Some(found) = data.finished.iter().find(|f| f.name == measurement.name()) {
            section(&mut html, data, measurement, found);
        }
    }
    html += "</main>\n</body>\n</html>\n";
    html
}

/// What a page's data stand between when they are inside of it. Nobody runs them.
const DATA: (&str, &str) = ("<script type=\"application/json\" id=\"data\">", "</script>");

/// The page with its data as JSON inside, to be one file.
pub fn with_data(html: String, json: &str) -> String {
    // In a string of JSON "<" may be written so, and nothing in the data ends the element.
    let json = json.replace('<', "\\u003c");
    html.replacen("</body>", &format!("{}{json}{}\n</body>", DATA.0, DATA.1), 1)
}

/// The data inside of a page, if there are some.
pub fn data_in(html: &str) -> Option<Data> {
    let (_, rest) = html.rsplit_once(DATA.0)?;
    serde_json::from_str(rest.split_once(DATA.1)?.0).ok()
}

fn heading(html: &mut String, data: &Data) {
    let quick = if data.settings.quick { ", --quick" } else { "" };
    let _ = writeln!(
        html,
        "<h1>Evaluation of {}</h1>\n<p>hpvm {}{quick}, {} UTC. Values are medians over all batches of all launches; intervals \
         are 95&nbsp;% confidence intervals of the median by bootstrap over launches and the batches in them; bands in the plots \
         are those intervals, hollow circles outliers, dotted lines floors. Nothing is left out of medians.</p>",
        escaped(&data.machine.host),
        escaped(&data.version),
        date(data.time)
    );
    if !data.complete {
        *html += "<p class=\"warn\">Not complete: the run was stopped or some measurements failed. Begun again with the same \
                  arguments it goes on where it ended.</p>\n";
    }
}

/// A day and a minute of the common calendar, by the civil-from-days algorithm.
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86400 + 719_468, seconds % 86400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}", rest / 3600, rest / 60 % 60)
}

fn machine(html: &mut String, data: &Data) {
    *html += "<section id=\"machine\">\n<h2>The machine</h2>\n";
    let loads: Vec<f64> = data.finished.iter().filter_map(|f| f.load).collect();
    let busiest = loads.iter().copied().fold(0.0, f64::max);
    let expected = f64::from(data.settings.ranks.max(data.machine.cores as u32));
    for warning in &data.machine.warnings {
        let _ = writeln!(html, "<p class=\"warn\">{}</p>", escaped(warning));
    }
    if busiest > expected + 1.0 {
        let _ = writeln!(
            html,
            "<p class=\"warn\">the load reached {}: other work ran during the measurements</p>",
            number(busiest)
        );
    }
    if !data.settings.hosts.is_empty() {
        let _ = writeln!(html, "<p>Hosts: {}</p>", escaped(&data.settings.hosts.join(", ")));
    }
    *html += "<table class=\"left\">\n";
    for row in &data.machine.rows {
        let [group, what, value] = [&row.group, &row.what, &row.value].map(|t| escaped(t));
        let _ = writeln!(html, "<tr><td>{group}</td><td>{what}</td><td>{value}</td></tr>");
    }
    *html += "</table>\n</section>\n";
}

fn contents(html: &mut String, changes: bool) {
    *html += "<nav><a href=\"#papers\">Then and now</a>";
    if changes {
        *html += " <a href=\"#changes\">Changes</a>";
    }
    for m in ALL {
        let _ = write!(html, " <a href=\"#{}\">{}</a>", m.name(), escaped(m.title()));
    }
    *html += "</nav>\n";
}

fn section(html: &mut String, data: &Data, measurement: &dyn Measurement, found: &Finished) {
    let (name, title) = (measurement.name(), escaped(measurement.title()));
    let about = escaped(measurement.about());
    let _ =
        writeln!(html, "<section id=\"{name}\">\n<h2>{title}</h2>\n<p class=\"about\">{about}</p>");
    match &found.outcome {
        Outcome::LeftOut(reason) => {
            let _ = writeln!(html, "<p>Left out: {}.</p>", escaped(reason));
        }
        Outcome::Failed(reason) => {
            let _ = writeln!(html, "<p class=\"warn\">Failed: {}</p>", escaped(reason));
        }
        Outcome::Points(points) => {
            for line in measurement.headlines(data) {
                let _ = writeln!(html, "<p>{}</p>", escaped(&line));
            }
            for plot in measurement.plots(data) {
                if let Some(svg) = plot.with_floors(data).svg() {
                    let _ = writeln!(html, "<figure>{svg}</figure>");
                }
            }
            if name == "pairs" {
                map(html, points, "latency");
                map(html, points, "bandwidth");
            } else {
                values(html, points);
            }
        }
    }
    *html += "</section>\n";
}

/// What a point is called in tables.
fn named(p: &Point) -> String {
    let parts = [p.op.as_deref(), p.shape.as_deref()].into_iter().flatten();
    let parts: Vec<&str> = parts.filter(|part| *part != "-").collect();
    let name = if parts.is_empty() { p.mode.clone() } else { parts.join(", ") };
    if p.by == super::data::OWN { name } else { format!("{name} ({})", known_as(&p.by)) }
}

fn values(html: &mut String, points: &[Point]) {
    let _ = writeln!(html, "<details><summary>{} values</summary>\n<table>", points.len());
    *html += "<tr><th>what</th><th>ranks</th><th>size</th><th>median</th><th>95 % interval</th><th>least</th><th>most</th>\
              <th>unit</th><th>samples</th><th>outliers</th></tr>\n";
    for p in points {
        let Some(s) = summary(&p.launches) else { continue };
        let [median, low, high, least, most] =
            [s.median, s.interval.low, s.interval.high, s.least, s.most].map(number);
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{median}</td><td>{low}–{high}</td><td>{least}</td><td>{most}</td>\
             <td>{}</td><td>{}×{}</td><td>{}</td></tr>",
            escaped(&named(p)),
            p.ranks,
            bytes(p.size),
            unit(&p.unit),
            s.launches,
            s.count / s.launches,
            s.outliers.len()
        );
    }
    *html += "</table></details>\n";
}

/// A table of all pairs whose cells are the darker the worse.
fn map(html: &mut String, points: &[Point], what: &str) {
    let cell = |p: &Point| {
        let (low, high) = p.op.as_deref()?.split_once('-')?;
        Some((low.parse::<usize>().ok()?, high.parse::<usize>().ok()?, p.median()))
    };
    let of = points.iter().filter(|p| p.shape.as_deref() == Some(what));
    let cells: Vec<(usize, usize, f64)> = of.filter_map(cell).collect();
    let Some(last) = cells.iter().map(|c| c.1).max() else { return };
    let least = cells.iter().map(|c| c.2).fold(f64::INFINITY, f64::min);
    let most = cells.iter().map(|c| c.2).fold(0.0, f64::max);
    let dark = |value: f64| {
        let share = if most > least { (value / least).ln() / (most / least).ln() } else { 0.0 };
        let worse = if what == "latency" { share } else { 1.0 - share };
        0.6 * if most > 1.1 * least { worse } else { 0.0 }
    };
    let unit = if what == "latency" { "µs" } else { "MB/s" };
    let _ = writeln!(html, "<table class=\"map\"><caption>{what}, {unit}</caption>\n<tr><th></th>");
    (0..=last).for_each(|rank| _ = write!(html, "<th>{rank}</th>"));
    *html += "</tr>\n";
    for row in 0..=last {
        let _ = write!(html, "<tr><th>{row}</th>");
        for column in 0..=last {
            let pair = (row.min(column), row.max(column));
            match cells.iter().find(|c| (c.0, c.1) == pair) {
                Some((_, _, v)) => {
                    let (shade, v) = (dark(*v), number(*v));
                    let _ = write!(
                        html,
                        "<td style=\"background:rgba(9,105,218,{shade:.2})\">{v}</td>"
                    );
                }
                None => *html += "<td></td>",
            }
        }
        *html += "</tr>\n";
    }
    *html += "</table>\n";
}

fn then_and_now(html: &mut String, data: &Data) {
    *html += "<section id=\"papers\">\n<h2>Then and now</h2>\n<p class=\"about\">The tables and figures of the papers beside the same \
              measurement of this report. “Times” says how many times as good it is today: faster, or more.</p>\n";
    for exhibit in papers::exhibits() {
        let [paper, place, title, means] =
            [&exhibit.paper, &exhibit.place, &exhibit.title, &exhibit.means].map(|t| escaped(t));
        let _ = writeln!(html, "<h3>{paper}, {place}: {title}</h3>");
        let mut times = Vec::new();
        if !exhibit.figures.is_empty() {
            *html += "<table>\n<tr><th>system</th><th>year</th><th class=\"left\">what</th><th>then</th><th>today</th><th>times</th>\
                      <th>unit</th><th class=\"left\">conditions</th></tr>\n";
            for entry in &exhibit.figures {
                let found = figure(html, data, entry);
                // N1/2 grows with the bandwidth: a longer one is not worse.
                times.extend(found.filter(|_| entry.quantity != "half_size"));
            }
            *html += "</table>\n";
        }
        let _ = writeln!(html, "<p>{means} {}</p>", ratio_sentence(exhibit.figures.len(), &times));
    }
    *html += "</section>\n";
}

/// One row; returns how many times better it is today, where it was measured.
fn figure(html: &mut String, data: &Data, entry: &papers::Entry) -> Option<f64> {
    let today = today::find(data, &entry.quantity);
    let times = today.as_ref().map(|t| today::times(&entry.unit, entry.value, t.value));
    let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
    let condition = today.as_ref().map_or("not measured", |t| &t.condition);
    let conditions: Vec<String> = [("then", entry.note.as_str()), ("today", condition)]
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(when, text)| format!("{when}: {}", escaped(text)))
        .collect();
    let _ = writeln!(
        html,
        "<tr><td>{}</td><td>{}</td><td class=\"left\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"left\">{}</td></tr>",
        escaped(&entry.system),
        entry.year,
        today::called(&entry.quantity),
        entry.quoted(),
        shown(today.map(|t| t.value)),
        shown(times),
        unit(&entry.unit),
        conditions.join("; ")
    );
    times
}

fn ratio_sentence(rows: usize, times: &[f64]) -> String {
    let least = times.iter().copied().reduce(f64::min);
    let most = times.iter().copied().reduce(f64::max);
    match (rows, least, most) {
        (0, ..) => String::new(),
        (_, Some(least), Some(most)) if times.len() > 1 => {
            format!("Today's figures are {} to {} times as good.", number(least), number(most))
        }
        (_, Some(one), _) => format!("Today's figure is {} times as good.", number(one)),
        _ => "Not measured in this report.".to_owned(),
    }
}

fn changed(html: &mut String, difference: &Difference) {
    *html += "<section id=\"changes\">\n<h2>Changes since the older report</h2>\n";
    for doubt in &difference.doubts {
        let _ = writeln!(html, "<p class=\"warn\">{}</p>", escaped(doubt));
    }
    let (worse, all) =
        (difference.changes.iter().filter(|c| !c.better).count(), difference.changes.len());
    let _ = writeln!(
        html,
        "<p>{} of {} points that both have changed by more than 5 % and beyond chance (the 95 % interval of the ratio leaves \
         out 1): {} are better, {worse} worse. Of so many points one in twenty would cross its interval by chance alone, and \
         what ran on the machine on the other day is not in any interval.</p>",
        all,
        difference.compared,
        all - worse
    );
    if all > 0 {
        *html += "<table>\n<tr><th>what</th><th>ranks</th><th>size</th><th>before</th><th>now</th><th>unit</th><th>ratio</th>\
                  <th>95 % interval</th><th></th></tr>\n";
        difference.changes.iter().for_each(|change| change_row(html, change));
        *html += "</table>\n";
    }
    *html += "</section>\n";
}

fn change_row(html: &mut String, change: &Change) {
    let p = &change.point;
    let [before, now] = [change.before, p.median()].map(number);
    let verdict = if change.better { "better" } else { "worse" };
    let _ = writeln!(
        html,
        "<tr class=\"{verdict}\"><td>{}: {}</td><td>{}</td><td>{}</td><td>{before}</td><td>{now}</td><td>{}</td><td>{:.2}</td>\
         <td>{:.2}–{:.2}</td><td>{verdict}</td></tr>",
        escaped(&change.measurement),
        escaped(&named(p)),
        p.ranks,
        bytes(p.size),
        unit(&p.unit),
        change.ratio,
        change.interval.low,
        change.interval.high
    );
}

#[cfg(test)]
mod tests {
    use super::super::difference::compare;
    use super::super::fixed;
    use super::*;

    /// The page of fixed data, to the letter. `HPVM_UPDATE=1` writes it anew.
    #[test]
    fn the_page_of_fixed_data_is_the_golden_one() {
        let data = fixed::data();
        let html = page(&data, Some(&compare(&fixed::older(), &data)));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report.html");
        if std::env::var_os("HPVM_UPDATE").is_some() {
            std::fs::write(path, &html).unwrap();
        }
        let golden = std::fs::read_to_string(path).unwrap();
        let differ = html.lines().zip(golden.lines()).find(|(now, then)| now != then);
        assert!(
            differ.is_none(),
            "HPVM_UPDATE=1 writes {path} anew; the first difference: {differ:?}"
        );
        assert_eq!(html.len(), golden.len());
    }

    #[test]
    fn nothing_comes_from_elsewhere_and_nothing_runs() {
        let html = page(&fixed::data(), None);
        for forbidden in ["<script", "http:", "https:", "src=", "@import", "NaN"] {
            assert!(!html.contains(forbidden), "{forbidden}");
        }
        for wanted in
            ["prefers-color-scheme: dark", "@media print", "<svg", "A&lt;B", "not measured"]
        {
            assert!(html.contains(wanted), "{wanted}");
        }
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_782_399), "2000-02-28 23:59");
        assert_eq!(date(1_795_392_000), "2026-11-23 00:00");
    }
}
