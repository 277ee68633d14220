//! The tables as text: how they are written to a file and read from one.
//!
//! The first line that is not a comment is [`HEAD`]. Each further line is one rule, in the order in
//! which rules are tried: `COLLECTIVE RANKS BYTES ALGORITHM [PARAMETER=N]`, where RANKS and BYTES
//! are the largest that fit, or `any`. A `#` begins a comment. A collective without a line keeps its
//! built-in table. Lines of `allreduce-apart` hold where every rank may be on a host of its own, those of
//! `allreduce-reads` where ranks read long messages out of each other's memory, both before those of `allreduce`.
//! `bcast-by` and its like choose what carries a collective, and `message` how often a large message is copied.
//! `threshold NAME BYTES` sets a length at which the method of messages changes. `cpu`, `processors` and `kernel`
//! say where the tables were measured ([`super::origin`]).

use super::{
    ALL, ANY, Allgather, Allreduce, Alltoall, Bcast, COLL_KINDS, Carrier, Copies, DEFAULT, Gather,
    Reduce, ReduceScatter, Rule, Scatter, Table, Tables, origin,
};
use std::borrow::Cow;
use std::fmt;
use std::str::{FromStr, SplitWhitespace};

/// The first line: what the file is, and the version of its form.
pub const HEAD: &str = "hpvm-tables 2";
/// How the rules of [`Tables::carriers`] begin, in their order.
pub const CARRIED: [&str; COLL_KINDS] = [
    "bcast-by",
    "reduce-by",
    "allreduce-by",
    "allgather-by",
    "alltoall-by",
    "gather-by",
    "scatter-by",
];
/// How the rules of [`Tables::allreduce_apart`] begin.
pub const ALLREDUCE_APART: &str = "allreduce-apart";
/// How those of [`Tables::allreduce_reads`] begin.
pub const ALLREDUCE_READS: &str = "allreduce-reads";
/// How those of [`Tables::copies`] begin.
pub const MESSAGE: &str = "message";
/// How the lines of [`Tables::thresholds`] begin; a name and a number of bytes follow.
pub const THRESHOLD: &str = "threshold";
/// The largest parameter of an algorithm.
const MAX_PARAMETER: u32 = 1 << 30;

/// Why a text is no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// The word that is wrong; empty where one is missing.
    pub token: String,
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if !self.token.is_empty() {
            write!(f, "'{}': ", self.token)?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ParseError {}

/// How one algorithm is written, and made from a parameter. Without one, `make` ignores it.
#[derive(Clone, Copy, Debug)]
pub struct Form<A> {
    pub name: &'static str,
    pub parameter: Option<&'static str>,
    pub make: fn(u32) -> A,
}

/// The algorithms of a collective, as they are named in texts.
pub trait Algorithm: Copy + PartialEq + fmt::Debug + 'static {
    const FORMS: &'static [Form<Self>];

    /// Name, and the parameter's value.
    fn parts(self) -> (&'static str, Option<u32>);

    /// As it stands in a rule: `binomial`, `chain segment=65536`.
    fn shown(self) -> String {
        let (name, value) = self.parts();
        let form = Self::FORMS.iter().find(|form| form.name == name);
        match (form.and_then(|form| form.parameter), value) {
            (Some(parameter), Some(value)) => format!("{name} {parameter}={value}"),
            _ => name.to_owned(),
        }
    }
}

macro_rules! plain {
    ($kind:ident: $($variant:ident = $name:literal),+) => {
        impl Algorithm for $kind {
            const FORMS: &'static [Form<$kind>] =
                &[$(Form { name: $name, parameter: None, make: |_| $kind::$variant }),+];

            fn parts(self) -> (&'static str, Option<u32>) {
                match self { $($kind::$variant => ($name, None)),+ }
            }
        }
    };
}

plain!(Reduce: Binomial = "binomial", Rabenseifner = "rabenseifner");
plain!(Allreduce: Direct = "direct", RecursiveDoubling = "recursive-doubling",
    Rabenseifner = "rabenseifner", Ring = "ring");
plain!(Gather: Binomial = "binomial", Linear = "linear");
plain!(Scatter: Binomial = "binomial", Linear = "linear");
plain!(Allgather: Direct = "direct", Dissemination = "dissemination", Ring = "ring");
plain!(ReduceScatter: Tree = "tree", Halving = "halving", Pairwise = "pairwise");
plain!(Carrier: SharedMemory = "shared-memory", Messages = "messages");
plain!(Copies: One = "one-copy", Two = "two-copies");

impl Algorithm for Bcast {
    const FORMS: &'static [Form<Bcast>] = &[
        Form { name: "binomial", parameter: None, make: |_| Bcast::Binomial },
        Form { name: "scatter-allgather", parameter: None, make: |_| Bcast::ScatterAllgather },
        Form {
            name: "chain",
            parameter: Some("segment"),
            make: |segment| Bcast::Chain { segment },
        },
    ];

    fn parts(self) -> (&'static str, Option<u32>) {
        match self {
            Bcast::Binomial => ("binomial", None),
            Bcast::ScatterAllgather => ("scatter-allgather", None),
            Bcast::Chain { segment } => ("chain", Some(segment)),
        }
    }
}

impl Algorithm for Alltoall {
    const FORMS: &'static [Form<Alltoall>] = &[
        Form { name: "bruck", parameter: None, make: |_| Alltoall::Bruck },
        Form {
            name: "pairwise",
            parameter: Some("window"),
            make: |window| Alltoall::Pairwise { window },
        },
    ];

    fn parts(self) -> (&'static str, Option<u32>) {
        match self {
            Alltoall::Bruck => ("bruck", None),
            Alltoall::Pairwise { window } => ("pairwise", Some(window)),
        }
    }
}

/// A table as rules, without the head. `otherwise` stands for an empty table, which would be read
/// as the built-in one.
fn write_table<A: Algorithm>(
    f: &mut fmt::Formatter<'_>,
    collective: &str,
    table: &[Rule<A>],
    otherwise: A,
) -> fmt::Result {
    let always = [Rule { ranks: ALL, bytes: ANY, algorithm: otherwise }];
    write_rules(f, collective, if table.is_empty() { &always } else { table })
}

fn write_rules<A: Algorithm>(
    f: &mut fmt::Formatter<'_>,
    collective: &str,
    table: &[Rule<A>],
) -> fmt::Result {
    for rule in table {
        let ranks = if rule.ranks == ALL { "any".to_owned() } else { rule.ranks.to_string() };
        let bytes = if rule.bytes == ANY { "any".to_owned() } else { rule.bytes.to_string() };
        writeln!(f, "{collective} {ranks} {bytes} {}", rule.algorithm.shown())?;
    }
    Ok(())
}

/// The text, head and all rules; ends with a line end. Limits below 0 are not readable again.
impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        write_table(f, "bcast", &self.bcast, self.bcast(ALL, ANY))?;
        write_table(f, "reduce", &self.reduce, self.reduce(ALL, ANY))?;
        write_table(f, "allreduce", &self.allreduce, self.allreduce(ALL, ANY))?;
        write_rules(f, ALLREDUCE_APART, &self.allreduce_apart)?;
        write_rules(f, ALLREDUCE_READS, &self.allreduce_reads)?;
        write_table(f, "gather", &self.gather, self.gather(ALL, ANY))?;
        write_table(f, "scatter", &self.scatter, self.scatter(ALL, ANY))?;
        write_table(f, "allgather", &self.allgather, self.allgather(ALL, ANY))?;
        write_table(f, "allgatherv", &self.allgatherv, self.allgatherv(ALL, ANY))?;
        write_table(f, "alltoall", &self.alltoall, self.alltoall(ALL, ANY))?;
        write_table(f, "reduce_scatter", &self.reduce_scatter, self.reduce_scatter(ALL, ANY))?;
        for (name, table) in CARRIED.iter().zip(&self.carriers) {
            write_rules(f, name, table)?;
        }
        write_rules(f, MESSAGE, &self.copies)?;
        self.thresholds.iter().try_for_each(|(name, n)| writeln!(f, "{THRESHOLD} {name} {n}"))
    }
}

/// What is wrong, without its line.
type Wrong = (String, String);

fn wrong<T>(token: &str, reason: impl Into<String>) -> Result<T, Wrong> {
    Err((token.to_owned(), reason.into()))
}

/// Rules of the collectives that a text names.
#[derive(Default)]
struct Found {
    bcast: Vec<Rule<Bcast>>,
    reduce: Vec<Rule<Reduce>>,
    allreduce: Vec<Rule<Allreduce>>,
    allreduce_apart: Vec<Rule<Allreduce>>,
    allreduce_reads: Vec<Rule<Allreduce>>,
    gather: Vec<Rule<Gather>>,
    scatter: Vec<Rule<Scatter>>,
    allgather: Vec<Rule<Allgather>>,
    allgatherv: Vec<Rule<Allgather>>,
    alltoall: Vec<Rule<Alltoall>>,
    reduce_scatter: Vec<Rule<ReduceScatter>>,
    carriers: [Vec<Rule<Carrier>>; COLL_KINDS],
    copies: Vec<Rule<Copies>>,
    thresholds: Vec<(String, u64)>,
}

impl Found {
    fn take(&mut self, collective: &str, words: SplitWhitespace<'_>) -> Result<(), Wrong> {
        match collective {
            "bcast" => self.bcast.push(rule_of(words)?),
            "reduce" => self.reduce.push(rule_of(words)?),
            "allreduce" => self.allreduce.push(rule_of(words)?),
            ALLREDUCE_APART => self.allreduce_apart.push(rule_of(words)?),
            ALLREDUCE_READS => self.allreduce_reads.push(rule_of(words)?),
            "gather" => self.gather.push(rule_of(words)?),
            "scatter" => self.scatter.push(rule_of(words)?),
            "allgather" => self.allgather.push(rule_of(words)?),
            "allgatherv" => self.allgatherv.push(rule_of(words)?),
            "alltoall" => self.alltoall.push(rule_of(words)?),
            "reduce_scatter" => self.reduce_scatter.push(rule_of(words)?),
            MESSAGE => self.copies.push(rule_of(words)?),
            THRESHOLD => self.thresholds.push(threshold_of(words)?),
            word if origin::WORDS.contains(&word) => {}
            _ => match CARRIED.iter().position(|name| *name == collective) {
                Some(small) => self.carriers[small].push(rule_of(words)?),
                None => {
                    let known = "bcast, reduce, allreduce, allreduce-apart, allreduce-reads, \
                                 gather, scatter, allgather, allgatherv, alltoall, \
                                 reduce_scatter, message, threshold, or bcast-by and its like";
                    return wrong(collective, format!("nothing with a table; expected {known}"));
                }
            },
        }
        Ok(())
    }

    fn tables(self) -> Tables {
        fn or<A: Clone>(found: Vec<Rule<A>>, built_in: &Table<A>) -> Table<A>
        where
            [Rule<A>]: ToOwned<Owned = Vec<Rule<A>>>,
        {
            if found.is_empty() { built_in.clone() } else { Cow::Owned(found) }
        }
        // Lines of `allreduce` hold for ranks that read memory, too, unless there are others for those.
        let silent = Cow::Borrowed(&[][..]);
        let reads = if self.allreduce.is_empty() { &DEFAULT.allreduce_reads } else { &silent };
        Tables {
            allreduce_reads: or(self.allreduce_reads, reads),
            bcast: or(self.bcast, &DEFAULT.bcast),
            reduce: or(self.reduce, &DEFAULT.reduce),
            allreduce: or(self.allreduce, &DEFAULT.allreduce),
            allreduce_apart: or(self.allreduce_apart, &DEFAULT.allreduce_apart),
            gather: or(self.gather, &DEFAULT.gather),
            scatter: or(self.scatter, &DEFAULT.scatter),
            allgather: or(self.allgather, &DEFAULT.allgather),
            allgatherv: or(self.allgatherv, &DEFAULT.allgatherv),
            alltoall: or(self.alltoall, &DEFAULT.alltoall),
            reduce_scatter: or(self.reduce_scatter, &DEFAULT.reduce_scatter),
            carriers: self.carriers.map(Cow::Owned),
            copies: Cow::Owned(self.copies),
            thresholds: self.thresholds,
            hosts: DEFAULT.hosts,
            sites: DEFAULT.sites,
            direct: DEFAULT.direct,
        }
    }
}

/// Reads a whole text; one mistake refuses all of it.
impl FromStr for Tables {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Tables, ParseError> {
        let mut found = Found::default();
        let mut headed = false;
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            let taken = if headed { found.take(first, words) } else { head(line.trim()) };
            headed = true;
            taken.map_err(|(token, reason)| ParseError { line: at + 1, token, reason })?;
        }
        if !headed {
            let line = text.lines().count().max(1);
            let reason = format!("nothing but comments; expected '{HEAD}' and rules");
            return Err(ParseError { line, token: String::new(), reason });
        }
        Ok(found.tables())
    }
}

fn head(line: &str) -> Result<(), Wrong> {
    if line.split_whitespace().eq(HEAD.split_whitespace()) {
        return Ok(());
    }
    wrong(line, format!("expected '{HEAD}' before the first rule"))
}

/// The words behind the collective's name.
fn rule_of<A: Algorithm>(mut words: SplitWhitespace<'_>) -> Result<Rule<A>, Wrong> {
    let mut next = |what: &str| match words.next() {
        Some(word) => Ok(word),
        None => wrong("", format!("{what} is missing; expected COLLECTIVE RANKS BYTES ALGORITHM")),
    };
    let ranks = limit(next("RANKS")?, 1, i64::from(ALL))?.map_or(ALL, |n| n as u32);
    let bytes = limit(next("BYTES")?, 0, ANY)?.unwrap_or(ANY);
    let name = next("ALGORITHM")?;
    let Some(form) = A::FORMS.iter().find(|form| form.name == name) else {
        let known: Vec<&str> = A::FORMS.iter().map(|form| form.name).collect();
        return wrong(name, format!("no algorithm of it; expected {}", known.join(", ")));
    };
    let value = match form.parameter {
        Some(parameter) => value_of(parameter, next(parameter)?)?,
        None => 0,
    };
    match words.next() {
        Some(extra) => wrong(extra, "nothing more was expected on this line"),
        None => Ok(Rule { ranks, bytes, algorithm: (form.make)(value) }),
    }
}

/// The words behind `threshold`.
fn threshold_of(mut words: SplitWhitespace<'_>) -> Result<(String, u64), Wrong> {
    let (name, bytes) = (words.next(), words.next());
    let Some((name, bytes)) = name.zip(bytes) else {
        return wrong("", "a word is missing; expected threshold NAME BYTES");
    };
    let Some(bytes) = whole(bytes).and_then(|n| u64::try_from(n).ok()) else {
        return wrong(bytes, "expected a whole number of bytes");
    };
    match words.next() {
        Some(extra) => wrong(extra, "nothing more was expected on this line"),
        None => Ok((name.to_owned(), bytes)),
    }
}

/// A limit, none for `any`.
fn limit(word: &str, least: i64, most: i64) -> Result<Option<i64>, Wrong> {
    if word == "any" {
        return Ok(None);
    }
    match whole(word) {
        Some(n) if (least..=most).contains(&n) => Ok(Some(n)),
        _ => wrong(word, format!("expected a whole number of at least {least}, or any")),
    }
}

fn value_of(parameter: &str, word: &str) -> Result<u32, Wrong> {
    let value = word.split_once('=').filter(|(name, _)| *name == parameter).map(|(_, v)| v);
    let number = value.and_then(whole).and_then(|n| u32::try_from(n).ok());
    match number.filter(|n| (1..=MAX_PARAMETER).contains(n)) {
        Some(n) => Ok(n),
        None => wrong(word, format!("expected {parameter}=N, where N is 1 to {MAX_PARAMETER}")),
    }
}

/// Digits only: no sign.
fn whole(word: &str) -> Option<i64> {
    word.bytes().all(|b| b.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(text: &str, expected: &str) {
        let error = text.parse::<Tables>().expect_err(text).to_string();
        assert!(error.contains(expected), "{text:?} gave {error:?}, expected {expected:?}");
    }

    #[test]
    fn the_built_in_tables_come_back() {
        assert_eq!(DEFAULT.to_string().parse(), Ok(DEFAULT.clone()));
    }

    #[test]
    fn a_collective_without_a_line_keeps_its_table() {
        let text = "# measured\n\nhpvm-tables 2 # v\nbcast 4 100 chain segment=7 # so\n";
        let tables: Tables = text.parse().unwrap();
        assert_eq!(tables.bcast(4, 100), Bcast::Chain { segment: 7 });
        assert_eq!(tables.bcast(4, 101), Bcast::Binomial, "where no line fits");
        assert_eq!(tables.allreduce, DEFAULT.allreduce);
    }

    #[test]
    fn lines_for_ranks_apart_are_read_and_stand_before_the_others() {
        let text = "hpvm-tables 2\nallreduce any any ring\nallreduce-apart 4 100 direct\n";
        let tables: Tables = text.parse().unwrap();
        assert_eq!(tables.allreduce_apart(4, 100), Allreduce::Direct);
        assert_eq!(tables.allreduce_apart(4, 101), Allreduce::Ring);
        assert_eq!(tables.allreduce(4, 100), Allreduce::Ring);
        let inside: Tables = "hpvm-tables 2\nallreduce any any ring\n".parse().unwrap();
        assert_eq!(inside.allreduce_apart, DEFAULT.allreduce_apart);
    }

    #[test]
    fn lines_for_ranks_that_read_memory_stand_before_the_others_and_go_with_the_built_in_ones() {
        let text = "hpvm-tables 2\nallreduce any any ring\nallreduce-reads 2 100 direct\n";
        let tables: Tables = text.parse().unwrap();
        assert_eq!(tables.allreduce_reads(2, 100), Allreduce::Direct);
        assert_eq!(tables.allreduce_reads(2, 101), Allreduce::Ring);
        let forced: Tables = "hpvm-tables 2\nallreduce any any ring\n".parse().unwrap();
        assert_eq!(forced.allreduce_reads(2, 65536), Allreduce::Ring);
        let other: Tables = "hpvm-tables 2\nreduce any any binomial\n".parse().unwrap();
        assert_eq!(other.allreduce_reads, DEFAULT.allreduce_reads);
    }

    #[test]
    fn mistakes_are_named_with_line_and_word() {
        refused("", "line 1: nothing but comments");
        refused(
            "bcast any any binomial",
            "line 1: 'bcast any any binomial': expected 'hpvm-tables",
        );
        refused("hpvm-tables 1\n", "line 1: 'hpvm-tables 1'");
        let bad = |rule: &str, expected: &str| refused(&format!("{HEAD}\n\n{rule}\n"), expected);
        bad("barrier any any tree", "line 3: 'barrier': nothing with a table");
        bad(
            "bcast-by any any pigeons",
            "'pigeons': no algorithm of it; expected shared-memory, messages",
        );
        bad("message 2", "line 3: BYTES is missing");
        bad("bcast 0 any binomial", "line 3: '0': expected a whole number of at least 1");
        bad("bcast 4294967296 any binomial", "'4294967296'");
        bad("bcast +4 any binomial", "'+4'");
        bad("bcast 4 -1 binomial", "'-1'");
        bad("bcast 4 1k binomial", "'1k'");
        bad("bcast 4 9223372036854775808 binomial", "'9223372036854775808'");
        bad("bcast 4", "line 3: BYTES is missing");
        bad("bcast 4 4 ring", "'ring': no algorithm of it; expected binomial, scatter-allgather");
        bad("bcast 4 4 chain", "segment is missing");
        bad("bcast 4 4 chain segment=0", "'segment=0': expected segment=N");
        bad("bcast 4 4 chain window=4", "'window=4'");
        bad("bcast 4 4 binomial segment=4", "'segment=4': nothing more");
    }

    fn rules<A: Algorithm>() -> impl Strategy<Value = Table<A>> {
        let limits = (
            prop_oneof![1..=64u32, Just(ALL)],
            prop_oneof![0..1_000_000i64, Just(ANY), Just(ANY - 1)],
        );
        let one = (limits, 0..A::FORMS.len(), 1..=MAX_PARAMETER).prop_map(
            |((ranks, bytes), at, value)| Rule {
                ranks,
                bytes,
                algorithm: (A::FORMS[at].make)(value),
            },
        );
        prop::collection::vec(one, 1..6).prop_map(Cow::Owned)
    }

    prop_compose! {
        fn tables()(
            a in (rules(), rules(), rules()), b in (rules(), rules(), rules()),
            c in (rules(), rules(), rules()), copies in rules(), allreduce_apart in rules(),
            allreduce_reads in rules(),
            carriers in prop::array::uniform7(rules()),
        ) -> Tables {
            let ((bcast, reduce, allreduce), (gather, scatter, allgather)) = (a, b);
            let (allgatherv, alltoall, reduce_scatter) = c;
            Tables {
                bcast, reduce, allreduce, allreduce_apart, allreduce_reads, gather, scatter, allgather, allgatherv,
                alltoall, reduce_scatter, carriers, copies,
                thresholds: Vec::new(),
            hosts: DEFAULT.hosts,
            sites: DEFAULT.sites,
            direct: DEFAULT.direct,
            }
        }
    }

    proptest! {
        #[test]
        fn any_tables_come_back(tables in tables()) {
            prop_assert_eq!(tables.to_string().parse::<Tables>(), Ok(tables));
        }

        #[test]
        fn an_empty_table_chooses_the_same(ranks in 1..100u32, bytes in 0..10_000_000i64) {
            let mut tables = DEFAULT.clone();
            tables.bcast = Cow::Owned(Vec::new());
            tables.alltoall = Cow::Owned(Vec::new());
            let back: Tables = tables.to_string().parse().unwrap();
            prop_assert_eq!(back.bcast(ranks, bytes), tables.bcast(ranks, bytes));
            prop_assert_eq!(back.alltoall(ranks, bytes), tables.alltoall(ranks, bytes));
        }

        #[test]
        fn no_text_ends_the_process(text in "(hpvm-tables 1\n)?([a-z_0-9=#-]{0,12}[ \n]){0,20}") {
            let _ = text.parse::<Tables>();
        }
    }
}
