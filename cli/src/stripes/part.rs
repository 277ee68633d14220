//! What is done with one stripe on the host where it lies: in this process, or in one that a launch agent has started
//! there, which speaks to `far`.

use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};
use hpvm_io::stripes::{self, Layout, Stripe, UNITS, escaped, unescaped};
use hpvm_io::{Amode, amode};
use hpvm_mpi::Class;

use super::far::{Answer, MARK, Verb};

/// For other hosts only, so no help mentions it.
pub fn definition() -> Command {
    let words = ["VERB", "SET", "NUMBER", "COUNT", "UNIT", "PATH"];
    Command::new("part").hide(true).args(words.map(|word| Arg::new(word).required(true)))
}

/// Opens a stripe, or says that it is not there.
pub fn open(of: (&str, Layout), number: u64, path: &Path) -> Result<Option<Stripe>, String> {
    let reads = Amode::new(amode::RDONLY).map_err(|error| error.to_string())?;
    match Stripe::open(of, number, path, reads) {
        Ok(stripe) => Ok(Some(stripe)),
        Err(error) if error.class == Class::NoSuchFile => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Does what is asked; gives the stripe where its bytes are wanted.
pub fn perform(
    verb: Verb,
    of: (&str, Layout),
    number: u64,
    path: &Path,
) -> Result<(Answer, Option<Stripe>), String> {
    if verb == Verb::Remove {
        stripes::remove(of, number, path).map_err(|error| error.to_string())?;
        return Ok((Answer::Missing, None));
    }
    match open(of, number, path)? {
        None => Ok((Answer::Missing, None)),
        Some(stripe) => {
            let len = stripe.len().map_err(|error| error.to_string())?;
            Ok((Answer::There(len), Some(stripe)))
        }
    }
}

pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let word = |name: &str| matches.get_one::<String>(name).map_or("", String::as_str);
    let number = |name: &str| {
        word(name).parse::<u64>().map_err(|_| format!("stripes part: {name} is not a number"))
    };
    let verb = Verb::of(word("VERB")).ok_or("stripes part: no such verb")?;
    let layout = Layout { unit: number("UNIT")?, count: number("COUNT")? };
    if !UNITS.contains(&layout.unit) || layout.count == 0 {
        return Err("stripes part: no such layout".to_owned());
    }
    let path = unescaped(word("PATH")).ok_or("stripes part: PATH is not escaped")?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    let mut out = std::io::stdout().lock();
    let failed = |cause: std::io::Error| format!("stripes part: {cause}");
    match perform(verb, (word("SET"), layout), number("NUMBER")?, &path) {
        Err(why) => writeln!(out, "{MARK}failed {}", escaped(why.as_bytes())).map_err(failed)?,
        Ok((Answer::Missing, _)) => writeln!(out, "{MARK}missing").map_err(failed)?,
        Ok((Answer::There(len), stripe)) => {
            writeln!(out, "{MARK}there {len}").map_err(failed)?;
            if let Some(stripe) = stripe.filter(|_| verb == Verb::Send) {
                send(&stripe, len, &mut out)?;
            }
        }
    }
    out.flush().map_err(failed)?;
    Ok(0)
}

/// Writes the data of a stripe. One that is shorter than it was ends the stream, which the other side notices.
fn send(stripe: &Stripe, len: u64, out: &mut impl Write) -> Result<(), String> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    while at < len {
        let part = &mut buffer[..(len - at).min(1 << 20) as usize];
        let n = stripe.read_at(at, part).map_err(|error| error.to_string())?;
        if n == 0 {
            return Err("stripes part: the stripe has become shorter".to_owned());
        }
        out.write_all(&part[..n]).map_err(|cause| format!("stripes part: {cause}"))?;
        at += n as u64;
    }
    Ok(())
}
