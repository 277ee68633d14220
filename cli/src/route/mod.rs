//! `hpvm route`: static routes for a fabric of switches, and what can be said about any.

mod report;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_routing::bisection::bisection;
use hpvm_routing::check::check;
use hpvm_routing::format::{self, FORMS, Form, WRITTEN};
use hpvm_routing::generate::{self, KINDS};
use hpvm_routing::reroute::{Rerouted, reroute};
use hpvm_routing::updown::{self, Orientation, Roots};
use hpvm_routing::{Fabric, Network, Tables, lft, linux, order, plot};

use report::Report;

/// The subcommand.
pub fn definition() -> Command {
    let forms = FORMS.map(|(name, _)| name);
    Command::new("route")
        .about("Make deadlock-free static routes for a fabric of switches, or check any")
        .long_about(
            "Make deadlock-free static routes for a fabric of switches, or check any.\n\n\
             Routes are up*/down* with several roots, as short as the tables allow and balanced over links. \
             Of any tables, also of OpenSM's, the report says who is reached over how many links, what each link \
             carries, whether packets can lock up (a cycle in the channel dependency graph), and the bisection \
             bandwidth of fabric and routes. The exit code is 1 when hosts that a way joins have no route or packets can \
             lock up.",
        )
        .after_help(generators())
        .arg(
            Arg::new("fabric")
                .value_name("FABRIC")
                .value_parser(value_parser!(PathBuf))
                .required_unless_present("generate")
                .conflicts_with("generate")
                .help("A file with the fabric, or - for standard input"),
        )
        .arg(Arg::new("generate").long("generate").value_name("SHAPE").help("Make up a fabric"))
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("FORM")
                .value_parser(forms)
                .help("The file's form; default: what it looks like"),
        )
        .arg(Arg::new("roots").long("roots").value_name("N|NAMES").help(
            "How many roots, or the names of switches, with commas; default: the tops of a tree, or \
             one in the middle",
        ))
        .arg(file("output", "TABLES", "Write the tables in OpenSM's form").short('o'))
        .arg(
            file("check", "TABLES", "Make none, check these (OpenSM's form)")
                .conflicts_with_all(["previous", "output", "roots", "ecmp"]),
        )
        .arg(
            Arg::new("failed")
                .long("failed")
                .value_name("LINK|SWITCH")
                .action(ArgAction::Append)
                .help("Do without NAME, the link at NAME:PORT, or the links NAME--NAME; may be repeated"),
        )
        .arg(
            file("previous", "TABLES", "Change as little as possible of these tables")
                .requires("failed"),
        )
        .args(output_arguments())
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write JSON"))
}

fn file(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
}

/// What is written into files.
fn output_arguments() -> [Arg; 6] {
    let forms = WRITTEN.map(|(name, _)| name);
    [
        file("plot", "FILE.svg", "Draw the fabric and the load of its links"),
        file("hostfile", "FILE", "Write hosts in an order in which neighbours are near"),
        file("linux", "FOLDER", "Write a script of ip route lines for each switch"),
        Arg::new("ecmp")
            .long("ecmp")
            .action(ArgAction::SetTrue)
            .requires("linux")
            .conflicts_with("previous")
            .help("In these scripts, share traffic among all shortest legal ways"),
        file("save", "FILE", "Write the fabric"),
        Arg::new("save-as")
            .long("save-as")
            .value_name("FORM")
            .value_parser(forms)
            .requires("save")
            .help("The form of that file; default: text"),
    ]
}

fn generators() -> String {
    let width = KINDS.iter().map(|(example, _)| example.len()).max().unwrap_or(0);
    let rows = KINDS.iter().map(|(example, what)| format!("  {example:width$}  {what}"));
    format!("Shapes for --generate:\n{}", rows.collect::<Vec<_>>().join("\n"))
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let fabric = fabric(matches)?;
    let failed = failed(matches, &fabric)?;
    let left = fabric.without(&failed);
    if let Some(file) = matches.get_one::<PathBuf>("save") {
        let text = format::write(&left, form(matches, "save-as").unwrap_or(Form::Text));
        write(file, &text.ok_or("this form is only read")?)?;
    }
    let network = Network::new(&left);
    let made = made(matches, &fabric, &network)?;
    let found = check(&network, &made.tables);
    outputs(matches, &network, &made, &found.load)?;
    let bisection = bisection(&network, &made.tables, &found);
    let report = Report {
        network: &network,
        failed: &failed,
        roots: &made.tables.roots,
        rerouted: made.rerouted.as_ref(),
        check: &found,
        bisection: &bisection,
    };
    let text = match matches.get_flag("json") {
        true => report.json().to_string() + "\n",
        false => report.text(),
    };
    crate::info::print(text.as_bytes())?;
    Ok(i32::from(!found.sound()))
}

/// Tables, and where they come from.
struct Made {
    tables: Tables,
    orientation: Option<Orientation>,
    rerouted: Option<Rerouted>,
}

fn made(matches: &ArgMatches, fabric: &Fabric, network: &Network) -> Result<Made, String> {
    let tables = |file: &PathBuf| {
        let text = read(file)?;
        lft::read(fabric, &text).map_err(|error| format!("route: '{}': {error}", file.display()))
    };
    if let Some(file) = matches.get_one::<PathBuf>("check") {
        return Ok(Made { tables: tables(file)?, orientation: None, rerouted: None });
    }
    let roots = roots(matches, network)?;
    if let Some(file) = matches.get_one::<PathBuf>("previous") {
        let before = Network::new(fabric);
        let (tables, rerouted) = reroute(&before, network, &tables(file)?, &roots).map_err(said)?;
        return Ok(Made { tables, orientation: None, rerouted: Some(rerouted) });
    }
    let partial = matches.contains_id("failed");
    let routing = updown::route(network, &roots, partial).map_err(said)?;
    Ok(Made { tables: routing.tables, orientation: Some(routing.orientation), rerouted: None })
}

fn said(error: hpvm_routing::Error) -> String {
    format!("route: {error}")
}

/// The fabric, read or generated.
fn fabric(matches: &ArgMatches) -> Result<Fabric, String> {
    if let Some(shape) = matches.get_one::<String>("generate") {
        return generate::generate(shape).map_err(said);
    }
    let Some(file) = matches.get_one::<PathBuf>("fabric") else {
        return Err("route: neither FABRIC nor --generate is given".to_string());
    };
    let text = read(file)?;
    let form = form(matches, "from").unwrap_or_else(|| format::detect(&text));
    format::read(&text, form).map_err(|error| format!("route: '{}': {error}", file.display()))
}

fn form(matches: &ArgMatches, flag: &str) -> Option<Form> {
    let word = matches.get_one::<String>(flag)?;
    FORMS.iter().find(|(name, _)| name == word).map(|(_, form)| *form)
}

fn read(file: &Path) -> Result<String, String> {
    crate::file::read("route", file)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    crate::file::write("route", file, text)
}

fn failed(matches: &ArgMatches, fabric: &Fabric) -> Result<Vec<u32>, String> {
    let mut links = Vec::new();
    for word in matches.get_many::<String>("failed").into_iter().flatten() {
        let found = fabric.failed(word);
        links.extend(found.map_err(|error| format!("route: --failed {error}"))?);
    }
    links.sort_unstable();
    links.dedup();
    Ok(links)
}

/// `--roots`: a number, unless a switch has that name.
fn roots(matches: &ArgMatches, network: &Network) -> Result<Roots, String> {
    let Some(word) = matches.get_one::<String>("roots") else { return Ok(Roots::Auto) };
    let is_switch = network.fabric.switches.iter().any(|switch| switch.name == *word);
    if !is_switch && word.bytes().all(|b| b.is_ascii_digit()) {
        let count = word.parse().ok().filter(|count| *count > 0);
        return count.map(Roots::Count).ok_or_else(|| {
            format!("route: --roots '{word}': expected a number from 1 on, or names of switches")
        });
    }
    Ok(Roots::Named(word.split(',').map(str::to_owned).collect()))
}

/// Writes the files that were asked for.
fn outputs(
    matches: &ArgMatches,
    network: &Network,
    made: &Made,
    load: &[u64],
) -> Result<(), String> {
    let file = |name: &str| matches.get_one::<PathBuf>(name);
    if let Some(file) = file("output") {
        write(file, &lft::write(network.fabric, &made.tables).map_err(said)?)?;
    }
    if let Some(file) = file("hostfile") {
        write(file, &order::hostfile(network))?;
    }
    if let Some(file) = file("plot") {
        let drawn = match &made.orientation {
            Some(orientation) => orientation.clone(),
            None if made.tables.roots.is_empty() => {
                updown::orient(network, &Roots::Auto).map_err(said)?
            }
            None => Orientation::new(network, &made.tables.roots),
        };
        write(file, &plot::svg(network, &drawn, Some(load)))?;
    }
    if let Some(folder) = file("linux") {
        let ecmp = made.orientation.as_ref().filter(|_| matches.get_flag("ecmp"));
        let scripts = linux::scripts(network, &made.tables, ecmp).map_err(said)?;
        let failed = |error| format!("route: '{}': {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(failed)?;
        for (name, script) in scripts {
            if name.contains('/') || name.starts_with('.') {
                return Err(format!("route: --linux: the name '{name}' cannot be a file's"));
            }
            write(&folder.join(format!("{name}.sh")), &script)?;
        }
    }
    Ok(())
}
