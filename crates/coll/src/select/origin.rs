//! Where a text of tables was measured: what is best on one machine may be bad on another.
//!
//! The text says it in three lines, `cpu`, `processors` and `kernel`, each with the rest of its line.

use super::Tables;
use super::text::ParseError;
use std::fmt;

/// How the lines begin.
pub const WORDS: [&str; 3] = ["cpu", "processors", "kernel"];

/// A kind of machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub cpu: String,
    pub processors: usize,
    pub kernel: String,
}

/// Why a text is not used on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    Broken(ParseError),
    /// It was measured elsewhere; where is unknown if it does not say so.
    Foreign(Option<Origin>),
}

impl Origin {
    /// Names are kept as they come back from a text: words with one space between.
    pub fn new(cpu: &str, processors: usize, kernel: &str) -> Origin {
        Origin { cpu: plain(cpu), processors, kernel: plain(kernel) }
    }

    /// The origin that a text states, if it states all of it.
    pub fn of(text: &str) -> Option<Origin> {
        let field = |word: &str| {
            text.lines().find_map(|line| {
                let line = line.split('#').next()?.trim();
                let (first, rest) = line.split_once(char::is_whitespace)?;
                (first == word).then(|| plain(rest))
            })
        };
        let [cpu, processors, kernel] = WORDS.map(field);
        Some(Origin { cpu: cpu?, processors: processors?.parse().ok()?, kernel: kernel? })
    }
}

/// As it stands in a text, with line ends.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { cpu, processors, kernel } = self;
        writeln!(f, "cpu {cpu}\nprocessors {processors}\nkernel {kernel}")
    }
}

fn plain(text: &str) -> String {
    let clean = text.replace(|c: char| c == '#' || c.is_control(), " ");
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The tables of a text that was measured `here`.
pub fn fit(text: &str, here: &Origin) -> Result<Tables, Unfit> {
    let tables = text.parse().map_err(Unfit::Broken)?;
    match Origin::of(text) {
        Some(there) if there == *here => Ok(tables),
        there => Err(Unfit::Foreign(there)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::text::HEAD;

    #[test]
    fn an_origin_comes_back() {
        let origin = Origin::new(" Some(R)  CPU #3\n@ 3 GHz", 4, "6.1.0-x");
        assert_eq!(origin.cpu, "Some(R) CPU 3 @ 3 GHz");
        let text = format!("# x\n{HEAD}\n{origin}bcast any any binomial\n");
        assert_eq!(Origin::of(&text), Some(origin.clone()));
        assert!(fit(&text, &origin).is_ok());
    }

    #[test]
    fn what_was_measured_elsewhere_is_not_used() {
        let here = Origin::new("a b", 2, "6.1");
        let of = |cpu, processors, kernel| {
            let there = Origin::new(cpu, processors, kernel);
            (fit(&format!("{HEAD}\n{there}"), &here), there)
        };
        for (found, there) in [of("a c", 2, "6.1"), of("a b", 4, "6.1"), of("a b", 2, "6.2")] {
            assert_eq!(found, Err(Unfit::Foreign(Some(there))));
        }
        assert!(of("a b", 2, "6.1").0.is_ok());
        assert_eq!(fit(HEAD, &here), Err(Unfit::Foreign(None)));
        let two = format!("{HEAD}\ncpu a b\nprocessors two\nkernel 6.1\n");
        assert_eq!(fit(&two, &here), Err(Unfit::Foreign(None)));
        assert!(matches!(fit("rubbish", &here), Err(Unfit::Broken(_))));
    }
}
