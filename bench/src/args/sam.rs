//! The arguments of `hpvm bench sam`.

use super::{common_args, own_target, prefix};
use crate::error::BenchError;
use crate::sam::{NAMES, Plan};
use clap::{Arg, ArgMatches, Command, value_parser};
use std::path::PathBuf;

const LONG: &str = "Run the four applications on shared objects (SAM) of the paper on PVM clusters, with its inputs, \
    on 1, 2 and 4 ranks, in turn and several times, and print medians, spreads and speed-ups. One rank sends nothing: \
    its time is the sequential one. Beside sam_barnes stands treecode, which solves the same problem by messages of MPI. \
    Every run checks its own answer, and must give the same one as on other numbers of ranks; \
    the exit code is 1 if one does not. Build the applications first: make apps.";

pub fn command() -> Command {
    let own = ["program"];
    let number = |name| Arg::new(name).value_parser(value_parser!(u32).range(1..=4096));
    Command::new("sam")
        .about(super::ABOUT_SAM)
        .long_about(LONG)
        .arg(
            Arg::new("what")
                .num_args(0..)
                .value_name("CASE")
                .value_parser(NAMES)
                .help("These alone [default: all]"),
        )
        .arg(
            number("ranks")
                .short('n')
                .value_name("RANKS")
                .value_delimiter(',')
                .default_value("1,2,4")
                .help("Numbers of ranks; speed-ups are relative to the first"),
        )
        .arg(
            number("repeat")
                .long("repeat")
                .value_name("N")
                .help("Times that everything is run [default: 5, with --quick 2]"),
        )
        .arg(
            Arg::new("apps")
                .long("apps")
                .value_name("FOLDER")
                .value_parser(value_parser!(PathBuf))
                .help("Where the applications are [default: PREFIX/libexec/hpvm/apps]"),
        )
        .args(common_args().into_iter().filter(|arg| !own.contains(&arg.get_id().as_str())))
}

/// What `hpvm bench sam` shall do.
pub fn plan(matches: &ArgMatches) -> Result<Plan, BenchError> {
    let quick = matches.get_flag("quick");
    let named: Vec<String> = matches.get_many("what").into_iter().flatten().cloned().collect();
    let all = NAMES.map(str::to_owned).to_vec();
    let apps = match matches.get_one::<PathBuf>("apps") {
        Some(named) => named.clone(),
        None => prefix()?.join("libexec/hpvm/apps"),
    };
    Ok(Plan {
        target: own_target(matches)?,
        apps,
        cases: if named.is_empty() { all } else { named },
        ranks: matches.get_many::<u32>("ranks").into_iter().flatten().copied().collect(),
        repeat: matches.get_one::<u32>("repeat").copied().unwrap_or(if quick { 2 } else { 5 }),
        quick,
        json: matches.get_flag("json"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(words: &str) -> Plan {
        plan(&command().get_matches_from(words.split(' '))).expect("a plan")
    }

    #[test]
    fn cases_and_ranks_are_lists() {
        let few = planned("sam barnes water -n 2,8 --quick");
        assert_eq!(
            (few.cases, few.ranks, few.repeat),
            (vec!["barnes".to_owned(), "water".into()], vec![2, 8], 2)
        );
        let all = planned("sam --repeat 7 --apps x");
        assert_eq!((all.cases.len(), all.ranks, all.repeat), (NAMES.len(), vec![1, 2, 4], 7));
        assert_eq!(all.apps, PathBuf::from("x"));
        assert!(command().try_get_matches_from(["sam", "pond"]).is_err());
        assert!(command().try_get_matches_from(["sam", "-n", "0"]).is_err());
    }
}
