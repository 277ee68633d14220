//! Texts and file names that differ from rank to rank, as MPICH writes them: `%r` is the rank, `%h`
//! its host, `%p` the number of the host, `%g` the number of the job among those started together
//! (always 0), `%t` the time in seconds.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::error::LaunchError;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Rank,
    /// With zeroes in front, so that names sort.
    PaddedRank,
    Host,
    Node,
    Group,
    Time,
}

/// A text with places to fill in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern(Vec<Piece>);

/// What is filled in.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub rank: u32,
    pub ranks: u32,
    pub host: &'a str,
    pub node: u32,
    /// Seconds since 1970.
    pub time: u64,
}

impl Pattern {
    /// Reads what the user wrote behind the flag `shown`.
    pub fn parse(shown: &str, text: &OsStr) -> Result<Self, LaunchError> {
        let mut pattern = Self::default();
        let mut bytes = text.as_bytes().iter();
        while let Some(byte) = bytes.next() {
            if *byte != b'%' {
                pattern.byte(*byte);
                continue;
            }
            let piece = match bytes.next() {
                Some(b'r') => Piece::Rank,
                Some(b'h') => Piece::Host,
                Some(b'p') => Piece::Node,
                Some(b'g') => Piece::Group,
                Some(b't') => Piece::Time,
                Some(b'%') => {
                    pattern.byte(b'%');
                    continue;
                }
                _ => {
                    return Err(LaunchError::usage(format!(
                        "'{shown} {}': behind % may stand r (rank), h (host), p (number of the host), \
                         g, t (seconds) or %",
                        text.to_string_lossy()
                    )));
                }
            };
            pattern.0.push(piece);
        }
        Ok(pattern)
    }

    fn byte(&mut self, byte: u8) {
        match self.0.last_mut() {
            Some(Piece::Text(text)) => text.push(byte),
            _ => self.0.push(Piece::Text(vec![byte])),
        }
    }

    /// A text as it is.
    pub fn literal(text: &[u8]) -> Self {
        Self(vec![Piece::Text(text.to_vec())])
    }

    /// The same with a text behind it.
    pub fn then(mut self, text: &str) -> Self {
        self.0.push(Piece::Text(text.as_bytes().to_vec()));
        self
    }

    /// The same with the rank behind it.
    pub fn then_rank(mut self, padded: bool) -> Self {
        self.0.push(if padded { Piece::PaddedRank } else { Piece::Rank });
        self
    }

    /// The same with the host behind it.
    pub fn then_host(mut self) -> Self {
        self.0.push(Piece::Host);
        self
    }

    /// The text for one rank.
    pub fn fill(&self, context: &Context) -> Vec<u8> {
        let width = context.ranks.saturating_sub(1).to_string().len();
        let fill = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Rank => context.rank.to_string().into_bytes(),
            Piece::PaddedRank => format!("{:0width$}", context.rank).into_bytes(),
            Piece::Host => context.host.as_bytes().to_vec(),
            Piece::Node => context.node.to_string().into_bytes(),
            Piece::Group => b"0".to_vec(),
            Piece::Time => context.time.to_string().into_bytes(),
        };
        self.0.iter().flat_map(fill).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filled_in() {
        let context = Context { rank: 7, ranks: 11, host: "a", node: 3, time: 99 };
        let filled = |text: &str| {
            let pattern = Pattern::parse("flag", OsStr::new(text)).unwrap();
            String::from_utf8(pattern.fill(&context)).unwrap()
        };
        assert_eq!(filled("o.%r.%h.%p.%g.%t%%"), "o.7.a.3.0.99%");
        assert_eq!(Pattern::literal(b"x%r").then_rank(true).fill(&context), b"x%r07");
        for bad in ["%", "%x"] {
            let error = Pattern::parse("-outfile-pattern", OsStr::new(bad)).unwrap_err();
            assert!(error.message.contains(&format!("'-outfile-pattern {bad}'")), "{error}");
        }
    }
}
