//! How much memory messages may take that nobody receives.

use std::ffi::OsString;

/// Bytes that may wait in a task's queue, and as many again that each task that sends may have on the way to each receiver.
pub const VARIABLE: &str = "HPVM_PVM_QUEUE";

/// Without the variable: more than programs leave lying, and less than machines have.
pub const DEFAULT: u64 = 1 << 30;

/// The smallest: what a link for large messages has at once.
const SMALLEST: u64 = 1 << 20;

/// What a user has said: a number of bytes, perhaps with `k`, `m` or `g` behind.
///
/// # Errors
/// A text for people.
pub fn parse(text: Option<OsString>) -> Result<u64, String> {
    let Some(text) = text else { return Ok(DEFAULT) };
    let text = text.to_string_lossy().to_ascii_lowercase();
    let digits = text.trim_end_matches(['k', 'm', 'g']);
    let shift = match &text[digits.len()..] {
        "" => Some(0),
        "k" => Some(10),
        "m" => Some(20),
        "g" => Some(30),
        _ => None,
    };
    let bytes = shift.and_then(|shift| digits.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes.filter(|bytes| *bytes >= SMALLEST).ok_or_else(|| {
        format!("{VARIABLE} is '{text}'; expected bytes, such as 256m or 2g, and at least 1m")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nonsense_is_told() {
        let read = |text: &str| parse(Some(text.into()));
        assert_eq!(parse(None), Ok(DEFAULT));
        assert_eq!(read("256m"), Ok(256 << 20));
        assert_eq!(read("3G"), Ok(3 << 30));
        assert_eq!(read("2000000"), Ok(2_000_000));
        for wrong in ["", "much", "1k", "-3m", "3mm", "99999999999999g"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
