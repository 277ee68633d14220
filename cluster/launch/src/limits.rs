//! Limits of a process, as a submitter's shell has them and as a job gets them, on its first host and on further ones.

use std::collections::BTreeMap;

/// Their names in prlimit(1).
const NAMES: [(&str, u32); 10] = [
    ("as", libc::RLIMIT_AS),
    ("core", libc::RLIMIT_CORE),
    ("cpu", libc::RLIMIT_CPU),
    ("data", libc::RLIMIT_DATA),
    ("fsize", libc::RLIMIT_FSIZE),
    ("memlock", libc::RLIMIT_MEMLOCK),
    ("nofile", libc::RLIMIT_NOFILE),
    ("nproc", libc::RLIMIT_NPROC),
    ("rss", libc::RLIMIT_RSS),
    ("stack", libc::RLIMIT_STACK),
];

/// The first name that is none.
pub fn unknown(limits: &BTreeMap<String, u64>) -> Option<&str> {
    let known = |name: &str| NAMES.iter().any(|(other, _)| *other == name);
    limits.keys().map(String::as_str).find(|name| !known(name))
}

fn get(resource: u32) -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is writable.
    (unsafe { libc::getrlimit(resource, &mut limit) } == 0).then_some(limit)
}

/// The soft limits of this process.
pub fn own() -> BTreeMap<String, u64> {
    let of = |(name, resource): &(&str, u32)| Some((name.to_string(), get(*resource)?.rlim_cur));
    NAMES.iter().filter_map(of).collect()
}

/// What is to be set before the job begins: each soft limit, not above the hard one of this process.
pub fn prepared(limits: &BTreeMap<String, u64>) -> Vec<(u32, libc::rlimit)> {
    let of = |(name, resource): &(&str, u32)| {
        let (wanted, now) = (*limits.get(*name)?, get(*resource)?);
        Some((*resource, libc::rlimit { rlim_cur: wanted.min(now.rlim_max), ..now }))
    };
    NAMES.iter().filter_map(of).collect()
}

/// Limits as a text, for other hosts of the job: `core=0,nofile=1024,stack=unlimited`.
pub fn encode(limits: &BTreeMap<String, u64>) -> String {
    let one = |(name, value): (&String, &u64)| match *value {
        libc::RLIM_INFINITY => format!("{name}=unlimited"),
        value => format!("{name}={value}"),
    };
    limits.iter().map(one).collect::<Vec<_>>().join(",")
}

/// What such a text says. What this host does not know, and what is none, is left out.
pub fn decode(text: &str) -> BTreeMap<String, u64> {
    let one = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let known = NAMES.iter().any(|(other, _)| *other == name);
        let value = if value == "unlimited" { libc::RLIM_INFINITY } else { value.parse().ok()? };
        known.then(|| (name.to_string(), value))
    };
    text.split(',').filter_map(one).collect()
}

/// Sets them. Makes system calls only.
pub fn set(limits: &[(u32, libc::rlimit)]) {
    for (resource, limit) in limits {
        // SAFETY: the structure lives through the call. What a kernel refuses stays as it was.
        unsafe { libc::setrlimit(*resource, limit) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_limits_stay_below_the_hard_ones() {
        let own = own();
        assert_eq!((own.len(), unknown(&own)), (NAMES.len(), None));
        let asked = [("nofile".to_string(), u64::MAX), ("core".to_string(), 0)].into();
        for (resource, limit) in prepared(&asked) {
            let expected = if resource == libc::RLIMIT_CORE { 0 } else { limit.rlim_max };
            assert_eq!(limit.rlim_cur, expected);
        }
        assert_eq!(unknown(&[("x".to_string(), 1)].into()), Some("x"));
    }

    #[test]
    fn limits_come_back_from_their_text() {
        let own = own();
        assert_eq!(decode(&encode(&own)), own);
        let all = [("core".to_string(), 0), ("stack".to_string(), u64::MAX)].into();
        assert_eq!(encode(&all), "core=0,stack=unlimited");
        assert_eq!(decode("core=0,colour=3,nofile,nproc=x,,stack=unlimited"), all);
    }
}
