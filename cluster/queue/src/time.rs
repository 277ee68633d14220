//! Moments as the store keeps them and as the API writes them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 in UTC; in text RFC 3339 with milliseconds, `2026-11-22T20:27:23.000Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub i64);

impl Stamp {
    /// The system's clock, which may be set back: no state depends on its order.
    pub fn now() -> Stamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Stamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// So many seconds later.
    pub fn after(self, seconds: u64) -> Stamp {
        let ms = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        Stamp(self.0.saturating_add(ms))
    }

    /// Seconds since `earlier`; 0 when the clock was set back.
    pub fn since(self, earlier: Stamp) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0) / 1000
    }

    /// Reads RFC 3339 in UTC, with or without a fraction of a second.
    pub fn parse(text: &str) -> Option<Stamp> {
        let text = text.strip_suffix(['Z', 'z'])?;
        let (date, time) = text.split_once(['T', 't', ' '])?;
        let mut date = date.splitn(3, '-').map(number);
        let (year, month, day) = (date.next()??, date.next()??, date.next()??);
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let mut time = time.splitn(3, ':').map(number);
        let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
        let sound = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        let digits = format!("{:0<3.3}", fraction);
        let ms = number(&digits)?;
        let days = days_from_civil(year, month, day);
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
        sound.then_some(Stamp(seconds * 1000 + ms))
    }
}

fn number(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days since 1970-01-01 in the Gregorian calendar; years begin in March for the sum.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ms) = (self.0.div_euclid(1000), self.0.rem_euclid(1000));
        let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Stamp::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("'{text}' is no time like 2026-11-22T20:27:23.000Z"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments() {
        assert_eq!(Stamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Stamp(951_782_400_123).to_string(), "2000-02-29T00:00:00.123Z");
        assert_eq!(Stamp::parse("2026-11-22T20:27:23Z"), Some(Stamp(1_795_379_243_000)));
        for bad in ["", "2026-11-22", "2026-13-22T00:00:00Z", "2026-11-22T24:00:00Z", "xZ", "-TZ"] {
            assert_eq!(Stamp::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn text_and_number_agree(ms in 0_i64..253_402_300_799_999) {
            prop_assert_eq!(Stamp::parse(&Stamp(ms).to_string()), Some(Stamp(ms)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,30}") {
            let _ = Stamp::parse(&text);
        }
    }
}
