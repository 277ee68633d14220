//! The table of runs, beside those of 1997.

use super::{Outcome, Row};
use crate::out::{out, outln};
use crate::papers;
use crate::stats::spread;
use crate::table::{Table, number};

pub fn print(outcome: &Outcome) {
    let mut names: Vec<&str> = Vec::new();
    for row in &outcome.rows {
        if !names.contains(&&*row.by) {
            names.push(&row.by);
        }
    }
    outln!("NAS Parallel Benchmarks, million operations a second of all ranks");
    let headings = ["benchmark", "ranks"].into_iter().chain(names.iter().copied());
    let mut t = Table::new(&headings.collect::<Vec<_>>());
    let key = |row: &Row| (row.benchmark.clone(), row.class.clone(), row.ranks);
    let mut shown = Vec::new();
    for row in &outcome.rows {
        if shown.contains(&key(row)) {
            continue;
        }
        shown.push(key(row));
        let cell = |name: &&str| {
            let same = outcome.rows.iter().filter(|r| r.by == *name && key(r) == key(row));
            figure(&same.collect::<Vec<_>>())
        };
        let mut cells = vec![format!("{}.{}", row.benchmark, row.class), row.ranks.to_string()];
        cells.extend(names.iter().map(cell));
        t.row(cells);
    }
    out!("{t}");
    print_then(&outcome.rows);
    outcome.left_out.iter().for_each(|line| outln!("left out: {line}"));
    outcome.failures.iter().for_each(|line| outln!("failed: {line}"));
}

/// The median of runs, with the least and the largest of several.
fn figure(rows: &[&Row]) -> String {
    let mops: Vec<f64> = rows.iter().map(|row| row.mops).collect();
    let Some(spread) = spread(&mops) else { return "-".to_owned() };
    let of_several = match mops.len() {
        1 => String::new(),
        _ => format!(" ({} to {})", number(spread.min), number(spread.max)),
    };
    let wrong = if rows.iter().all(|row| row.verified) { "" } else { " WRONG" };
    format!("{}{of_several}{wrong}", number(spread.median))
}

/// The papers' figures of the benchmarks that were run, and how many times better the best run of hpvm is.
fn print_then(rows: &[Row]) {
    let mut t = Table::new(&["then", "year", "Mop/s", "today", "times", "paper"]).left_last();
    let mut any = false;
    for f in papers::all() {
        let Some(name) = f.entry.quantity.strip_prefix("npb.") else { continue };
        let own = rows.iter().filter(|r| r.by == "hpvm" && r.verified);
        let own = own.filter(|r| name == format!("{}.{}", r.benchmark, r.class));
        let Some(best) = own.max_by(|a, b| a.mops.total_cmp(&b.mops)) else { continue };
        any = true;
        t.row(vec![
            f.entry.system.clone(),
            f.entry.year.to_string(),
            f.entry.quoted(),
            number(best.mops),
            number(best.mops / f.entry.value),
            format!("{}, {}", f.paper, f.section),
        ]);
    }
    if any {
        outln!("\nThen, and the best of hpvm's runs above:");
        out!("{t}");
    }
}
