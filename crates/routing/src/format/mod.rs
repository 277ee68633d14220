//! Forms in which a fabric is written down.

mod dot;
pub mod ibnetdiscover;
mod slurm;
mod text;

use crate::error::{Error, quoted};
use crate::fabric::Fabric;

/// The forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines `switch`, `host`, `link`.
    Text,
    /// What `ibnetdiscover` prints and `ibsim` reads.
    Ibnetdiscover,
    /// Graphviz.
    Dot,
    /// Slurm's `topology.conf`: trees, which are only read.
    Slurm,
}

/// The names of the forms that are read.
pub const FORMS: [(&str, Form); 4] = [WRITTEN[0], WRITTEN[1], WRITTEN[2], ("slurm", Form::Slurm)];

/// The names of those that are written, too.
pub const WRITTEN: [(&str, Form); 3] =
    [("text", Form::Text), ("ibnetdiscover", Form::Ibnetdiscover), ("dot", Form::Dot)];

/// The form of a text, by its first word.
pub fn detect(text: &str) -> Form {
    let lines = text.lines().map(str::trim_start);
    let mut lines = lines.filter(|line| {
        !line.is_empty() && !["#", "//", "/*", "*"].iter().any(|start| line.starts_with(start))
    });
    let first = lines.next().unwrap_or_default();
    let end = first.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(first.len());
    match first[..end].to_ascii_lowercase().as_str() {
        "graph" | "digraph" | "strict" => Form::Dot,
        "vendid" | "devid" | "sysimgguid" | "switchguid" | "caguid" | "rtguid" | "ca" | "hca"
        | "rt" => Form::Ibnetdiscover,
        "switchname" | "blockname" => Form::Slurm,
        // Ours has `switch NAME`, the other `Switch 36 "S-..."`.
        "switch" if first.contains('"') => Form::Ibnetdiscover,
        _ => Form::Text,
    }
}

/// Reads a fabric.
pub fn read(text: &str, form: Form) -> Result<Fabric, Error> {
    match form {
        Form::Text => text::read(text),
        Form::Ibnetdiscover => ibnetdiscover::read(text),
        Form::Dot => dot::read(text),
        Form::Slurm => slurm::read(text),
    }
}

/// Writes a fabric; `None`: the form is not [`WRITTEN`].
pub fn write(fabric: &Fabric, form: Form) -> Option<String> {
    match form {
        Form::Text => Some(text::write(fabric)),
        Form::Ibnetdiscover => Some(ibnetdiscover::write(fabric)),
        Form::Dot => Some(dot::write(fabric)),
        Form::Slurm => None,
    }
}

/// A whole number within limits.
fn number(word: &str, what: &str, least: u64, most: u64) -> Result<u64, Error> {
    let value = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if word.bytes().all(|b| b.is_ascii_digit()) => word.parse().ok(),
        None => None,
    };
    value.filter(|value| (least..=most).contains(value)).ok_or_else(|| {
        Error::new(format!("{}: {what} is a number from {least} to {most}", quoted(word)))
    })
}

/// A GUID in hexadecimal digits, which may begin with 0x.
fn guid(word: &str) -> Result<u64, Error> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u64::from_str_radix(digits, 16)
        .map_err(|_| Error::new(format!("{}: a GUID is up to 16 hexadecimal digits", quoted(word))))
}

/// A bandwidth in Gbit/s.
fn bandwidth(word: &str) -> Result<f64, Error> {
    /// A thousand times what links of 2026 carry; more is a mistake.
    const MAX_BANDWIDTH: f64 = 1e6;
    match word.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= MAX_BANDWIDTH => Ok(value),
        _ => Err(Error::new(format!(
            "{}: a bandwidth is a number of Gbit/s above 0 and at most {MAX_BANDWIDTH}",
            quoted(word)
        ))),
    }
}

/// Two coordinates, `X,Y`.
fn position(word: &str) -> Result<(f64, f64), Error> {
    let pair = word.trim_end_matches('!').split_once(',');
    let pair = pair.and_then(|(x, y)| Some((x.parse::<f64>().ok()?, y.parse::<f64>().ok()?)));
    pair.filter(|(x, y)| x.abs() < 1e9 && y.abs() < 1e9)
        .ok_or_else(|| Error::new(format!("{}: expected two numbers X,Y", quoted(word))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_known_by_their_first_word() {
        assert_eq!(detect("# x\nswitch a ports=3\n"), Form::Text);
        assert_eq!(detect("#\n\nvendid=0x2c9\n"), Form::Ibnetdiscover);
        assert_eq!(detect("Switch 8 \"S-1\" # \"s\"\n"), Form::Ibnetdiscover);
        assert_eq!(detect("// x\ngraph{ a -- b }"), Form::Dot);
        assert_eq!(detect("# x\nSwitchName=a Nodes=b"), Form::Slurm);
        assert_eq!(detect(""), Form::Text);
    }
}
