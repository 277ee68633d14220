//! What users write into environment variables.

/// A number of bytes as OpenSHMEM 1.6 writes it (chapter 8): a number, perhaps with a fraction, and perhaps one of
/// `k`, `m`, `g`, `t`; what comes after that is ignored.
///
/// # Errors
/// Says what was expected.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || {
        format!(
            "'{text}' is no size; expected a number of bytes, perhaps with k, m, g or t after it"
        )
    };
    let text_of_number = text.trim();
    let digits = text_of_number
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text_of_number.len());
    let (number, rest) = text_of_number.split_at(digits);
    let shift = match rest.chars().next().map(|c| c.to_ascii_lowercase()) {
        None => 0,
        Some('k') => 10,
        Some('m') => 20,
        Some('g') => 30,
        Some('t') => 40,
        Some(_) => return Err(wrong()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift).ok_or_else(wrong);
    }
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = (number * f64::from(1_u32 << (shift / 2)) * f64::from(1_u32 << (shift / 2))).ceil();
    // 2^63 bytes are more than any machine has, and below it the conversion is exact enough.
    if bytes < 9.2e18 { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_of_the_standard() {
        for (text, bytes) in [
            ("20m", 20_971_520),
            ("3.1M", 3_250_586),
            (".5m", 524_288),
            ("20kk", 20_480),
            ("0", 0),
            ("1t", 1 << 40),
            (" 64K ", 65_536),
            ("1.5", 2),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "m", "-1", "1x", "1.2.3m", "99999999999t", "1e3"] {
            let error = parse_size(text).expect_err(text);
            assert!(error.contains("expected a number of bytes"), "{error}");
        }
    }
}
