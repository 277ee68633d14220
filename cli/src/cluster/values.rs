//! Values as Slurm's commands take them.

use hpvm_queue::job::{DependKind, Dependency};
use hpvm_queue::name::Name;

/// A time limit in seconds: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`.
pub fn time(text: &str) -> Result<u64, String> {
    let bad = || {
        format!("'{text}' is no time; expected minutes, or like 30:00, 1:30:00, 2-12, 2-12:30:00")
    };
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(number(days).ok_or_else(bad)?), rest),
        None => (None, text),
    };
    let parts: Option<Vec<u64>> = rest.split(':').map(number).collect();
    let seconds = match (days, parts.ok_or_else(bad)?.as_slice()) {
        (None, [m]) => m * 60,
        (None, [m, s]) => m * 60 + s,
        (None, [h, m, s]) => (h * 60 + m) * 60 + s,
        (Some(d), [h]) => (d * 24 + h) * 3600,
        (Some(d), [h, m]) => ((d * 24 + h) * 60 + m) * 60,
        (Some(d), [h, m, s]) => ((d * 24 + h) * 60 + m) * 60 + s,
        _ => return Err(bad()),
    };
    if seconds == 0 { Err(bad()) } else { Ok(seconds) }
}

/// A number of at most nine digits, so that sums of a few of them fit.
fn number(text: &str) -> Option<u64> {
    let good = !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
    good.then(|| text.parse().ok()).flatten()
}

/// An amount of memory in bytes: a number with K, M, G or T; without, M.
pub fn memory(text: &str) -> Result<u64, String> {
    let bad = || format!("'{text}' is no amount of memory; expected like 500M, 4G");
    let body = text.trim_end_matches(['b', 'B']).trim_end_matches(['i', 'I']);
    let digits = body.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match body[digits.len()..].to_ascii_uppercase().as_str() {
        "K" => 10,
        "" | "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(bad()),
    };
    let count = number(digits).filter(|count| *count > 0).ok_or_else(bad)?;
    count.checked_shl(shift).filter(|bytes| bytes >> shift == count).ok_or_else(bad)
}

/// `afterok:1:2,afterany:3`.
pub fn dependencies(text: &str) -> Result<Vec<Dependency>, String> {
    let bad = |part: &str| {
        format!(
            "'{part}' in '{text}'; expected afterok, afterany or afternotok and numbers of jobs, like afterok:12:13, or tasks of arrays, like afterok:12_3"
        )
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        let mut words = part.split(':');
        let kind = match words.next() {
            Some("afterok") => DependKind::AfterOk,
            Some("afterany") => DependKind::AfterAny,
            Some("afternotok") => DependKind::AfterNotOk,
            _ => return Err(bad(part)),
        };
        let jobs: Option<Vec<Name>> = words.map(|word| word.parse().ok()).collect();
        let jobs = jobs.filter(|jobs| !jobs.is_empty()).ok_or_else(|| bad(part))?;
        let depends = |Name { job, task }| Dependency { kind, job, task };
        all.extend(jobs.into_iter().map(depends));
    }
    Ok(all)
}

/// `n1,n[3-5]`.
pub fn hosts(text: &str) -> Result<Vec<String>, String> {
    let listed = hpvm_launch::hosts::parse_list(text).map_err(|error| error.to_string())?;
    if let Some(host) = listed.iter().find(|host| host.slots.is_some()) {
        return Err(format!("'{text}': expected names only, and {} has a number", host.name));
    }
    Ok(listed.into_iter().map(|host| host.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, seconds) in [
            ("10", 600),
            ("1:30", 90),
            ("1:00:00", 3600),
            ("1-0", 86_400),
            ("2-12:30", 217_800),
            ("1-1:1:1", 90_061),
        ] {
            assert_eq!(time(text), Ok(seconds), "{text}");
        }
        for bad in ["", "x", "-1", "0", "1:2:3:4", "1-", "99999999999999999999"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn amounts() {
        assert_eq!(memory("4G"), Ok(4 << 30));
        assert_eq!(memory("100"), Ok(100 << 20));
        assert_eq!(memory("2GiB"), Ok(2 << 30));
        for bad in ["", "G", "0", "4X", "-1", "999999999T9"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn depends() {
        assert_eq!(dependencies("afterok:1:2,afterany:3").unwrap().len(), 3);
        let kind = DependKind::AfterOk;
        let task = Dependency { kind, job: 12, task: Some(3) };
        assert_eq!(dependencies("afterok:12_3"), Ok(vec![task]));
        for bad in ["", "after:1", "afterok", "afterok:", "afterok:x", "afterok:-1"] {
            assert!(dependencies(bad).is_err(), "{bad}");
        }
    }
}
