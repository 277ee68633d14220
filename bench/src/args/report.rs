//! The arguments of `hpvm bench report`.

use super::{common_args, own_target, prefix};
use crate::error::BenchError;
use crate::npb::CLASSES;
use crate::report::{Plan, names};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;

const LONG: &str = "Make every measurement of this machine, or of the network between hosts, and write \
    one HTML page with plots, tables and the papers' figures beside today's, and the data as JSON \
    beside it. Needs no network and no scripts to be read. What is finished is kept in FILE.work \
    until the report is whole: after Ctrl-C, or when something failed, the same command goes on \
    where it ended. Keep the machine quiet meanwhile.";

pub fn command() -> Command {
    let path = |name, value, help| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    let flag = |name, help| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let own = ["json"];
    Command::new("report")
        .about(super::ABOUT_REPORT)
        .long_about(LONG)
        .arg(
            path("output", "FILE.html", "The page; its data go beside it, as FILE.json. '-': both as one page, to standard output")
                .short('o')
                .default_value("report.html"),
        )
        .arg(
            Arg::new("hosts")
                .long("hosts")
                .value_name("HOSTS")
                .value_delimiter(',')
                .help("Measure between these hosts (two or more: a,b)"),
        )
        .arg(
            Arg::new("launch-agent")
                .long("launch-agent")
                .value_name("CMD")
                .requires("hosts")
                .help("Reach the hosts by this command instead of ssh"),
        )
        .arg(flag("peers", "Beside the MPIs that are installed (hpvm bench peers --install-only)"))
        .arg(
            path("dir", "FOLDER", "Where the other MPIs are installed")
                .default_value("peers")
                .requires("peers"),
        )
        .arg(path("npb", "DIR", "Also the NAS benchmarks of this copy (see 'hpvm bench npb')"))
        .arg(
            Arg::new("npb-class")
                .long("npb-class")
                .value_name("CLASSES")
                .value_delimiter(',')
                .value_parser(CLASSES)
                .requires("npb")
                .help("Their sizes; from B on each runs once, with all processors [default: A,B, with --quick S,W]"),
        )
        .arg(
            Arg::new("ranks")
                .short('n')
                .value_name("RANKS")
                .value_parser(value_parser!(u32).range(2..=4096))
                .help("The most ranks of barrier, allreduce, rate and bisection [default: by the processors]"),
        )
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("NAMES")
                .value_delimiter(',')
                .value_parser(names())
                .help("Make these measurements alone"),
        )
        .arg(path("against", "OLD", "Say what has changed since this report (its page or its data)"))
        .arg(flag("fresh", "Throw away what an earlier run has left in FILE.work"))
        .args(common_args().into_iter().filter(|arg| !own.contains(&arg.get_id().as_str())))
}

/// What `hpvm bench report` shall do.
pub fn plan(matches: &ArgMatches) -> Result<Plan, BenchError> {
    let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    let words = |name: &str| -> Vec<String> {
        let given = matches.get_many::<String>(name).into_iter().flatten();
        given.filter(|word| !word.is_empty()).cloned().collect()
    };
    let wrong = |token: String, reason: &str| {
        Err(BenchError::Argument { token, reason: reason.to_owned() })
    };
    let output = path("output").unwrap_or_else(|| "report.html".into());
    let output = (output.as_os_str() != "-").then_some(output);
    if let Some(output) = &output
        && output.extension().is_none_or(|extension| extension != "html")
    {
        return wrong(
            output.display().to_string(),
            "the report is a page: a name that ends in .html",
        );
    }
    let hosts = words("hosts");
    if matches.contains_id("hosts") && hosts.len() < 2 {
        return wrong(hosts.concat(), "a network has at least two hosts: --hosts a,b");
    }
    let peers = if matches.get_flag("peers") { path("dir") } else { None };
    if let Some(missing) = peers.as_ref().filter(|dir| !dir.is_dir()) {
        let reason =
            "no folder of other MPIs; 'hpvm bench peers --install-only --dir FOLDER' makes one";
        return wrong(missing.display().to_string(), reason);
    }
    let classes = match (path("npb"), words("npb-class")) {
        (None, _) => Vec::new(),
        (_, chosen) if !chosen.is_empty() => chosen,
        _ => if matches.get_flag("quick") { ["S", "W"] } else { ["A", "B"] }
            .map(str::to_owned)
            .to_vec(),
    };
    let target = own_target(matches)?;
    let prefix = prefix()?;
    Ok(Plan {
        target,
        programs: prefix.join("libexec/hpvm"),
        library: prefix.join("lib/libmpi_abi.so.1"),
        output,
        hosts,
        agent: matches.get_one::<String>("launch-agent").cloned(),
        peers,
        ranks: matches.get_one::<u32>("ranks").copied(),
        npb: path("npb"),
        npb_classes: classes,
        only: words("only"),
        against: path("against"),
        quick: matches.get_flag("quick"),
        fresh: matches.get_flag("fresh"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Plan, BenchError> {
        plan(&command().get_matches_from(words.split(' ')))
    }

    #[test]
    fn a_report_has_a_page() {
        let found = read("report -o r.html --quick --only latency,barrier -n 4").unwrap();
        assert_eq!(
            (found.only, found.ranks, found.quick),
            (vec!["latency".to_owned(), "barrier".into()], Some(4), true)
        );
        assert!(read("report").unwrap().peers.is_none());
        assert_eq!(read("report -o -").unwrap().output, None);
        assert!(read("report -o r.pdf").unwrap_err().to_string().contains(".html"));
        assert!(read("report --hosts a").is_err());
        let classes = |words: &str| read(words).unwrap().npb_classes;
        assert!(classes("report").is_empty());
        assert_eq!(classes("report --npb x"), ["A", "B"]);
        assert_eq!(classes("report --npb x --quick"), ["S", "W"]);
        assert_eq!(classes("report --npb x --npb-class A"), ["A"]);
        assert!(
            read("report --peers --dir /nowhere")
                .unwrap_err()
                .to_string()
                .contains("--install-only")
        );
    }
}
