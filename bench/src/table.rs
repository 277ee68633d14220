//! Tables of text for people.

/// Columns of right-aligned cells (the first one left-aligned) under headings.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    left_last: bool,
}

impl Table {
    pub fn new(headings: &[&str]) -> Self {
        let rows = vec![headings.iter().map(|h| (*h).to_owned()).collect()];
        Self { rows, left_last: false }
    }

    /// For a last column of words.
    pub fn left_last(mut self) -> Self {
        self.left_last = true;
        self
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| {
            self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::from("  ");
            for (c, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[c] - cell.chars().count());
                let left = c == 0 || (self.left_last && c + 1 == columns);
                line += if c == 0 { "" } else { "  " };
                line += &if left { format!("{cell}{pad}") } else { format!("{pad}{cell}") };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Three significant digits, without exponents.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v if v >= 0.00995 => 3,
        v if v < 1e-9 => 0,
        // As many digits as the others have that are not 0.
        v => 2 - v.log10().floor() as i32,
    };
    let digits = usize::try_from(digits).unwrap_or(0);
    format!("{value:.digits$}")
}

/// A number of bytes: exact in units of 1024 where it is a multiple.
pub fn bytes(size: u64) -> String {
    match size {
        s if s >= 1 << 20 && s % (1 << 20) == 0 => format!("{} MiB", s >> 20),
        s if s >= 1 << 10 && s % (1 << 10) == 0 => format!("{} KiB", s >> 10),
        s => format!("{s} B"),
    }
}

/// A pause given in microseconds.
pub fn pause(us: u64) -> String {
    match us {
        us if us >= 1000 && us % 1000 == 0 => format!("{} ms", us / 1000),
        us => format!("{us} µs"),
    }
}

/// The unit as it is shown; the records keep to ASCII.
pub fn unit(unit: &str) -> &str {
    if unit == "us" { "µs" } else { unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let shown: Vec<String> = [0.1234, 1.234, 12.34, 123.4, 12345.6].map(number).into();
        assert_eq!(shown, ["0.123", "1.23", "12.3", "123", "12346"]);
    }

    #[test]
    fn sizes() {
        assert_eq!((bytes(0), bytes(1000), bytes(4096), bytes(4 << 20)).1, "1000 B");
        assert_eq!([bytes(0), bytes(4096), bytes(4 << 20)], ["0 B", "4 KiB", "4 MiB"]);
        assert_eq!([pause(100), pause(50_000)], ["100 µs", "50 ms"]);
    }

    #[test]
    fn columns_line_up() {
        let mut t = Table::new(&["size", "µs"]);
        t.row(vec!["8 B".into(), "0.2".into()]);
        t.row(vec!["1024 B".into(), "10.25".into()]);
        assert_eq!(t.to_string(), "  size       µs\n  8 B       0.2\n  1024 B  10.25\n");
        assert_eq!(t.left_last().to_string(), "  size    µs\n  8 B     0.2\n  1024 B  10.25\n");
    }
}
