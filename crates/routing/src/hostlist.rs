//! Lists of hosts in short form, as Slurm and others write them: `n[01-03,7],login` is
//! `n01,n02,n03,n7,login`.

use crate::error::Error;

/// More names in one list are taken for a typing error.
const NAMES_MAX: usize = 1 << 20;

/// A number in a name has at most so many digits, zeroes in front included.
const DIGITS_MAX: usize = 18;

/// Cuts a list at its commas, but not inside of brackets.
pub fn items(text: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    items.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// The names that one item stands for.
pub fn expand(item: &str) -> Result<Vec<String>, Error> {
    let mut names = vec![String::new()];
    let mut rest = item;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((inside, after)) = after.split_once(']') else {
            return Err(Error::new(format!("'{item}': '[' without ']'")));
        };
        let parts = numbers(item, inside)?;
        if names.len().saturating_mul(parts.len()) > NAMES_MAX {
            return Err(Error::new(format!("'{item}' stands for too many hosts")));
        }
        names = names
            .iter()
            .flat_map(|name| parts.iter().map(move |part| format!("{name}{before}{part}")))
            .collect();
        rest = after;
    }
    if rest.contains(']') {
        return Err(Error::new(format!("'{item}': ']' without '['")));
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// Reads `01-03,7`. Numbers keep their zeroes in front.
fn numbers(item: &str, text: &str) -> Result<Vec<String>, Error> {
    let mut numbers = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let bad = || {
            Error::new(format!(
                "'{item}': '{part}' is not a number or a range of numbers like 01-16"
            ))
        };
        let digits = |text: &str| {
            (1..=DIGITS_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
        };
        if !digits(first) || !digits(last) {
            return Err(bad());
        }
        let (low, high): (u64, u64) =
            (first.parse().map_err(|_| bad())?, last.parse().map_err(|_| bad())?);
        if high < low || high - low >= NAMES_MAX as u64 || numbers.len() > NAMES_MAX {
            return Err(bad());
        }
        let width = first.len();
        numbers.extend((low..=high).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        items(text).into_iter().flat_map(|item| expand(item).unwrap()).collect()
    }

    #[test]
    fn lists() {
        assert_eq!(all("a,b"), ["a", "b"]);
        assert_eq!(all("n[08-10,3],login"), ["n08", "n09", "n10", "n3", "login"]);
        assert_eq!(all("r[1-2]n[1-2]x"), ["r1n1x", "r1n2x", "r2n1x", "r2n2x"]);
        assert_eq!(all(" a , ,b,"), ["a", "b"]);
        assert_eq!(all(""), Vec::<String>::new());
    }

    #[test]
    fn faults_name_the_token() {
        for (item, part) in [
            ("n[1-", "'[' without ']'"),
            ("n1]", "']' without '['"),
            ("n[a-b]", "'a-b' is not"),
            ("n[]", "'' is not"),
            ("n[3-1]", "'3-1' is not"),
            ("n[1-99999999999]", "is not"),
            ("n[1-1000][1-1000][1-1000]", "too many hosts"),
            (&format!("n[{}1-3]", "0".repeat(70_000)), "is not a number"),
        ] {
            let error = expand(item).unwrap_err();
            assert!(error.text.contains(part), "{item}: {error}");
        }
    }
}
