//! Virtual time.

/// Picoseconds: small enough for one byte at a terabyte a second, and 213 days fit.
pub type Time = u64;

pub const NS: Time = 1_000;
pub const US: Time = 1_000_000;
pub const MS: Time = 1_000_000_000;
pub const SECOND: Time = 1_000_000_000_000;

/// For people: `12.5 us`.
pub fn shown(time: Time) -> String {
    let (unit, name) = match time {
        0..US => (NS, "ns"),
        US..MS => (US, "us"),
        MS..SECOND => (MS, "ms"),
        _ => (SECOND, "s"),
    };
    let number = time as f64 / unit as f64;
    let text = format!("{number:.3}");
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// As microseconds.
pub fn micros(time: Time) -> f64 {
    time as f64 / US as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        let texts = [0, 1, 1500, 2 * US, 12_345_678, 3 * SECOND].map(shown);
        assert_eq!(texts, ["0 ns", "0.001 ns", "1.5 ns", "2 us", "12.346 us", "3 s"]);
    }
}
