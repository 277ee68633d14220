//! The table of `hpvm bench datatype`: data with gaps, a row for each type and size.

use crate::out::{out, outln};
use crate::record::Record;
use crate::table::{self, Table};

/// Prints what the mode `datatype` measured; nothing if it did not run.
pub fn print(records: &[Record]) {
    let points: Vec<&Record> = records.iter().filter(|r| r.mode == "datatype").collect();
    if points.is_empty() {
        return;
    }
    outln!("\nData with gaps: MPI_Pack and MPI_Unpack beside memcpy of as many bytes, and one-way");
    outln!("time of a message with gaps at the sender (to contiguous) or at both ends (to typed)");
    out!("{}", table(&points));
}

fn table(points: &[&Record]) -> Table {
    let mut t = Table::new(&[
        "type",
        "bytes",
        "pack GB/s",
        "of memcpy",
        "unpack GB/s",
        "of memcpy",
        "to contiguous µs",
        "to typed µs",
    ]);
    let mut rows: Vec<(&str, u64)> = Vec::new();
    for row in points.iter().map(|r| (shape(r), r.size)) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    for (name, size) in rows {
        let of = |op: &str| {
            let found = |r: &&&Record| shape(r) == name && r.size == size;
            points.iter().filter(found).find(|r| r.op.as_deref() == Some(op)).copied()
        };
        let mut cells = vec![name.to_owned(), table::bytes(size)];
        for op in ["pack", "unpack"] {
            cells.push(cell(of(op), |r| Some(table::number(r.median / 1000.0))));
            cells.push(cell(of(op), |r| Some(format!("{:.0} %", 100.0 * r.memcpy_share?))));
        }
        for op in ["to contiguous", "to typed"] {
            cells.push(cell(of(op), |r| Some(table::number(r.median))));
        }
        t.row(cells);
    }
    t
}

fn shape(record: &Record) -> &str {
    record.shape.as_deref().unwrap_or("-")
}

fn cell(record: Option<&Record>, show: impl Fn(&Record) -> Option<String>) -> String {
    record.and_then(show).unwrap_or_else(|| "-".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{self, Line};

    fn point(op: &str, shape: &str, unit: &str, median: f64, share: &str) -> Record {
        let line = format!(
            r#"{{"mode":"datatype","op":"{op}","type":"{shape}","ranks":2,"size":4096,"unit":"{unit}",
            "median":{median},"min":0,"max":99999,"iters":5,"batches":7{share}}}"#
        );
        match record::parse(&line) {
            Ok(Line::Point(point)) => point,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn operations_of_one_type_share_a_row() {
        let share = r#","memcpy_share":0.254"#;
        let points = [
            point("pack", "stride 2", "MB/s", 12_340.0, share),
            point("to typed", "stride 2", "us", 1.5, ""),
            point("pack", "columns", "MB/s", 500.0, ""),
        ];
        let text = table(&points.iter().collect::<Vec<_>>()).to_string();
        let rows: Vec<Vec<&str>> = text
            .lines()
            .skip(1)
            .map(|l| l.split("  ").filter(|c| !c.is_empty()).collect())
            .collect();
        let trimmed: Vec<Vec<&str>> =
            rows.iter().map(|r| r.iter().map(|c| c.trim()).collect()).collect();
        assert_eq!(trimmed[0], ["stride 2", "4 KiB", "12.3", "25 %", "-", "-", "-", "1.50"]);
        assert_eq!(trimmed[1], ["columns", "4 KiB", "0.500", "-", "-", "-", "-", "-"]);
    }
}
