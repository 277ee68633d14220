//! `hpvm stripes`: files that a job has striped over its hosts, seen from outside of it.

mod far;
mod part;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_io::error::shown;
use hpvm_io::stripes::Manifest;

use far::{Answer, Asked, Verb, Way};

/// Hosts that are asked at the same time where each only says a word.
const AT_ONCE: usize = 64;

/// The subcommand.
pub fn definition() -> Command {
    let file = || {
        let help = "The name that the job has given the file";
        Arg::new("FILE").required(true).value_parser(value_parser!(PathBuf)).help(help)
    };
    let agent = || {
        Arg::new("launch-agent").long("launch-agent").value_name("CMD").help(
            "How hosts are reached, as in mpirun: CMD HOST COMMAND... Default: HPVM_LAUNCH_AGENT, else ssh",
        )
    };
    Command::new("stripes")
        .about("Look at, read back or delete a file that MPI has striped over the disks of hosts")
        .long_about(
            "Look at, read back or delete a file that MPI has striped over the disks of hosts (info key hpvm_stripes of \
             MPI_File_open). Hosts are reached as by mpirun, and have hpvm at the same place as this one.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("info")
                .about("Show the stripes of a file, and whether they are there")
                .arg(agent())
                .arg(file()),
        )
        .subcommand(
            Command::new("cat")
                .about("Read a file back as one")
                .arg(agent())
                .arg(
                    Arg::new("output")
                        .short('o')
                        .long("output")
                        .value_name("OUT")
                        .value_parser(value_parser!(PathBuf))
                        .help("Write it there instead of to standard output"),
                )
                .arg(
                    Arg::new("incomplete")
                        .long("incomplete")
                        .action(ArgAction::SetTrue)
                        .help("Also a file that was not closed: what is missing in its stripes is zeros"),
                )
                .arg(file()),
        )
        .subcommand(
            Command::new("rm")
                .about("Delete all stripes of a file, then the file")
                .arg(agent())
                .arg(file()),
        )
        .subcommand(part::definition())
}

pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let Some((verb, matches)) = matches.subcommand() else {
        return Err("stripes: no subcommand given; see hpvm stripes --help".to_owned());
    };
    if verb == "part" {
        return part::run(matches);
    }
    let path = matches.get_one::<PathBuf>("FILE").ok_or("stripes: FILE is missing")?;
    let told = |why: String| format!("stripes {verb}: '{}': {why}", shown(path));
    let manifest = manifest(path).map_err(told)?;
    let agent = matches.get_one::<String>("launch-agent").map(String::as_str);
    let way = Way::new(agent).map_err(told)?;
    match verb {
        "info" => info(&manifest, &way),
        "rm" => remove(path, &manifest, &way).map_err(told),
        _ => {
            let output = matches.get_one::<PathBuf>("output").map(PathBuf::as_path);
            let incomplete = matches.get_flag("incomplete");
            cat(path, &manifest, &way, output, incomplete).map(|()| 0).map_err(told)
        }
    }
}

fn manifest(path: &Path) -> Result<Manifest, String> {
    // Opening says more than not to find a manifest.
    File::open(path).map_err(|cause| cause.to_string())?;
    Manifest::look(path)?.ok_or_else(|| "this is no striped file".to_owned())
}

/// Asks the hosts of all stripes the same.
fn ask_all(manifest: &Manifest, way: &Way, verb: Verb) -> Vec<Result<Answer, String>> {
    let numbers: Vec<usize> = (0..manifest.stripes.len()).collect();
    let ask = |some: &[usize]| {
        // All are asked before the first is waited for.
        let asked: Vec<_> = some.iter().map(|n| (*n, way.ask(manifest, *n, verb))).collect();
        let answer = |(n, asked): (usize, Result<Asked, String>)| {
            asked?.wait(&manifest.stripes[n].host).map(|(answer, _)| answer)
        };
        asked.into_iter().map(answer).collect::<Vec<_>>()
    };
    numbers.chunks(AT_ONCE).flat_map(ask).collect()
}

fn info(manifest: &Manifest, way: &Way) -> Result<i32, String> {
    let size = match manifest.size {
        Some(size) => format!("{size} bytes"),
        None => "unknown size (it is open for writing, or was not closed)".to_owned(),
    };
    let (count, unit) = (manifest.stripes.len(), manifest.unit);
    let mut text = format!("{size} in {count} stripes, by units of {unit} bytes\n");
    text += &format!("set {}\n", manifest.set);
    let mut well = manifest.size.is_some();
    let answers = ask_all(manifest, way, Verb::Look);
    for ((number, place), answer) in manifest.stripes.iter().enumerate().zip(answers) {
        let share = manifest.size.map(|size| manifest.layout().share(number as u64, size));
        let state = match answer {
            Ok(Answer::There(len)) if share.is_none_or(|share| share == len) => {
                format!("{len} bytes")
            }
            Ok(Answer::There(len)) => {
                well = false;
                format!("{len} bytes; expected {}", share.unwrap_or(0))
            }
            Ok(Answer::Missing) => {
                well = false;
                "missing".to_owned()
            }
            Err(why) => {
                well = false;
                why
            }
        };
        text += &format!("{number} {} {}: {state}\n", place.host, shown(&place.path));
    }
    crate::info::print(hpvm_launch::text::message(&text).as_bytes())?;
    Ok(i32::from(!well))
}

fn cat(
    path: &Path,
    manifest: &Manifest,
    way: &Way,
    output: Option<&Path>,
    incomplete: bool,
) -> Result<(), String> {
    if manifest.size.is_none() && !incomplete {
        return Err("it is open for writing, or was not closed; --incomplete reads what is there"
            .to_owned());
    }
    let layout = manifest.layout();
    let asked: Vec<_> =
        (0..manifest.stripes.len()).map(|n| way.ask(manifest, n, Verb::Send)).collect();
    let mut sources = Vec::new();
    for ((number, place), asked) in manifest.stripes.iter().enumerate().zip(asked) {
        let host = &place.host;
        let (answer, source) = asked?.wait(host)?;
        let Answer::There(len) = answer else {
            return Err(format!("stripe {number} is missing: '{}' on {host}", shown(&place.path)));
        };
        if let Some(share) = manifest.size.map(|size| layout.share(number as u64, size))
            && share != len
        {
            return Err(format!("stripe {number} on {host} has {len} bytes; expected {share}"));
        }
        sources.push((source, len));
    }
    let there = sources.iter().enumerate().map(|(n, (_, len))| layout.size_of(n as u64, *len));
    let size = manifest.size.or(there.max()).unwrap_or(0);
    let (mut out, name) = open(path, output)?;
    let failed = |cause: std::io::Error| format!("{name}: {cause}; what is there is not all");
    let mut unit = vec![0; manifest.unit as usize];
    let mut at = 0;
    while at < size {
        let part = &mut unit[..manifest.unit.min(size - at) as usize];
        let number = layout.place(at).0 as usize;
        let (source, left) = &mut sources[number];
        let come = (part.len() as u64).min(*left);
        source.read(&mut part[..come as usize]).map_err(|cause| {
            format!("stripe {number} on {}: {cause}", manifest.stripes[number].host)
        })?;
        part[come as usize..].fill(0);
        *left -= come;
        out.write_all(part).map_err(failed)?;
        at += part.len() as u64;
    }
    out.flush().map_err(failed)
}

/// What the file is written to, and its name for people.
fn open(path: &Path, output: Option<&Path>) -> Result<(Box<dyn Write>, String), String> {
    let Some(output) = output else {
        return Ok((Box::new(std::io::stdout().lock()), "standard output".to_owned()));
    };
    let name = format!("'{}'", shown(output));
    let number = |path: &Path| path.metadata().ok().map(|data| (data.dev(), data.ino()));
    if number(output).is_some() && number(output) == number(path) {
        return Err(format!("{name} is the striped file itself"));
    }
    let file = File::create(output).map_err(|cause| format!("{name}: {cause}"))?;
    Ok((Box::new(BufWriter::new(file)), name))
}

fn remove(path: &Path, manifest: &Manifest, way: &Way) -> Result<i32, String> {
    let answers = ask_all(manifest, way, Verb::Remove);
    let mut left = Vec::new();
    for ((number, place), answer) in manifest.stripes.iter().enumerate().zip(answers) {
        // One that is not there is what was wanted.
        if let Err(why) = answer {
            left.push(format!("stripe {number} on {}: {why}", place.host));
        }
    }
    if !left.is_empty() {
        return Err(format!("these are left, and so is the file: {}", left.join("; ")));
    }
    std::fs::remove_file(path).map_err(|cause| cause.to_string())?;
    Ok(0)
}
