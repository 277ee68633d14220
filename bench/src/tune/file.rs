//! The file that a tuning run leaves, and what it tells people.

use super::Plan;
use crate::machine::Machine;
use crate::out::outln;
use hpvm_coll::select::Tables;
use hpvm_coll::select::origin::Origin;
use hpvm_coll::select::text::HEAD;
use std::time::{SystemTime, UNIX_EPOCH};

/// The tables with a heading that says where and when they were measured. Jobs look only at `origin`.
pub fn text(tables: &Tables, plan: &Plan, machine: &Machine, origin: &Origin) -> String {
    let rules = tables.to_string();
    let rules = rules.split_once('\n').map_or("", |(_, rules)| rules);
    let ranks: Vec<String> = plan.ranks.iter().map(u32::to_string).collect();
    let load = machine.load.map_or("unknown".into(), |load| format!("{load:.2}"));
    format!(
        "# What jobs do on such machines: COLLECTIVE RANKS BYTES ALGORITHM, first fit from the top.\n\
         # Written by hpvm tune, version {}, on {}; measured on {} ranks{}.\n\
         # usable processors: {}, load at the start: {load}\n{HEAD}\n{origin}{rules}",
        env!("CARGO_PKG_VERSION"),
        today(),
        ranks.join(", "),
        if plan.thorough { ", thoroughly" } else { "" },
        machine.cores,
    )
}

/// The day in UTC, as 2026-11-20.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |past| past.as_secs());
    let (year, month, day) = date((seconds / 86_400) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of a day counted from 1970-01-01. Years begin in March here, so that the
/// day that only some have comes last.
fn date(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (day - day / 1460 + day / 36_524 - day / (ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + 400 * era + i64::from(month <= 2), month, day)
}

/// Prints what is different from the built-in tables, and where it was written.
pub fn tell(changes: &[String], plan: &Plan) {
    if changes.is_empty() {
        outln!("The built-in tables hold: nothing was faster in every round.");
    } else {
        outln!(
            "{:<14} {:>4} {:>9}  {:<26} {:>9}  {:<26} {:>9}",
            "collective",
            "n",
            "bytes",
            "built-in",
            "us",
            "now",
            "us"
        );
        changes.iter().for_each(|line| outln!("{line}"));
    }
    outln!("written: {}", plan.output.display());
    if let Some(name) = &plan.overridden {
        outln!("note: HPVM_TABLES is set ('{name}'), so jobs do not use this file");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;
    use hpvm_coll::select::{DEFAULT, origin};

    #[test]
    fn dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(11_017), (2000, 3, 1));
        assert_eq!(date(20_777), (2026, 11, 20));
        assert_eq!(date(47_540), (2100, 2, 28));
        assert_eq!(date(47_541), (2100, 3, 1));
    }

    #[test]
    fn the_text_is_fit_for_the_machine_that_it_names() {
        let target = Target::new("x", "m".into(), "p".into(), None);
        let ranks = vec![2, 4];
        let plan = Plan { target, ranks, thorough: true, output: "o".into(), overridden: None };
        let cpu = "odd\n# CPU\rname";
        let machine = Machine { cpu: cpu.into(), cores: 2, kernel: "6\n1".into(), load: None };
        let here = Origin::new(cpu, 4, "6\n1");
        let text = text(&DEFAULT, &plan, &machine, &here);
        assert_eq!(origin::fit(&text, &here), Ok(DEFAULT.clone()), "{text}");
        assert!(text.contains("measured on 2, 4 ranks, thoroughly."), "{text}");
    }
}
