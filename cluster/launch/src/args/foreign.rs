//! Variables of Open MPI, MPICH and Intel MPI that steer what a flag of ours steers. A flag counts more than
//! any of them, and so does a variable of ours.

use std::ffi::OsString;
use std::path::Path;

use super::values::{parse_launcher, split_words};
use super::{Options, mca};
use crate::error::LaunchError;
use crate::hosts::{self, Host};

/// In front of the name of one of Open MPI's parameters: its own and those of its launcher.
const PREFIXES: [&str; 2] = ["OMPI_MCA_", "PRTE_MCA_"];

const HOST_FILES: [&str; 4] = [
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
];
const LAUNCHERS: [&str; 2] = ["HYDRA_LAUNCHER", "I_MPI_HYDRA_BOOTSTRAP"];
const AGENTS: [&str; 2] = ["HYDRA_LAUNCHER_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC"];
const INTERFACES: [&str; 2] = ["HYDRA_IFACE", "I_MPI_HYDRA_IFACE"];
const SSH_ARGS: &str = "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS";
const PER_HOST: &str = "I_MPI_PERHOST";

type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn first<'a>(names: &[&'a str], variable: Lookup) -> Option<(&'a str, OsString)> {
    let set = |name: &&'a str| {
        variable(name).filter(|value| !value.is_empty()).map(|value| (*name, value))
    };
    names.iter().find_map(set)
}

/// What is not wanted here may be meant for another MPI: a remark, not an error.
fn or_remark(options: &mut Options, done: Result<(), LaunchError>) {
    if let Err(error) = done {
        options.warnings.push(format!("{} (this variable is ignored)", error.message));
    }
}

/// What is obeyed before the command line is read, so that flags may say otherwise.
pub fn parameters(options: &mut Options, variable: Lookup) {
    let net = variable("HPVM_NET").is_some();
    for prefix in PREFIXES {
        for (key, flag) in mca::KEYS {
            let name = format!("{prefix}{key}");
            let Some(value) = variable(&name) else { continue };
            // How hosts are reached is read behind the flags: one of these replaces another.
            if *flag == "--launch-agent" || *flag == "--net" && net {
                continue;
            }
            let done = mca::obey(options, &name, key, &value).map(drop);
            or_remark(options, done);
        }
    }
    if let Some((_, value)) = first(&INTERFACES, variable).filter(|_| !net) {
        options.genv.push(("HPVM_NET".into(), value));
    }
}

/// How hosts are reached, where neither flags nor variables of ours say it.
pub fn reach(options: &mut Options, variable: Lookup) {
    if options.launch_agent.is_none() && options.launcher.is_none() {
        let agents = mca::KEYS.iter().filter(|(_, flag)| *flag == "--launch-agent");
        for (prefix, (key, _)) in
            PREFIXES.iter().flat_map(|prefix| agents.clone().map(move |key| (prefix, key)))
        {
            let name = format!("{prefix}{key}");
            if let Some(value) = variable(&name).filter(|value| !value.is_empty()) {
                let done = mca::obey(options, &name, key, &value).map(drop);
                or_remark(options, done);
            }
        }
        if let Some((name, value)) = first(&AGENTS, variable) {
            let done = split_words(name, &value).map(|words| options.launch_agent = Some(words));
            or_remark(options, done);
        }
        if let Some((name, value)) = first(&LAUNCHERS, variable) {
            let done = parse_launcher(name, &value).map(|way| options.launcher = Some(way));
            or_remark(options, done);
        }
    }
    if let Some((name, value)) =
        first(&[SSH_ARGS], variable).filter(|_| options.ssh_args.is_empty())
    {
        let done = split_words(name, &value).map(|words| options.ssh_args = words);
        or_remark(options, done);
    }
}

/// The hosts of a file that a variable names.
pub fn hosts(variable: Lookup) -> Result<Vec<Host>, LaunchError> {
    let Some((name, file)) = first(&HOST_FILES, variable) else { return Ok(Vec::new()) };
    hosts::read_file(Path::new(&file))
        .map_err(|error| LaunchError::usage(format!("{name}: {}", error.message)))
}

/// The number of ranks for each host. Intel's words (`all`, `allcores`) are what a host has anyway.
pub fn per_host(variable: Lookup) -> Option<u32> {
    let text = variable(PER_HOST)?;
    text.to_str()?.parse().ok().filter(|count| (1..=super::MAX_RANKS).contains(count))
}

#[cfg(test)]
mod tests {
    use super::super::Launcher;
    use super::*;
    use crate::place::policy::Bind;
    use crate::place::topology::Level;

    fn with(set: &[(&str, &str)], mut options: Options) -> Options {
        let look =
            |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        parameters(&mut options, &look);
        reach(&mut options, &look);
        options
    }

    #[test]
    fn parameters_of_open_mpi() {
        let set = [
            ("OMPI_MCA_hwloc_base_binding_policy", "core"),
            ("PRTE_MCA_rmaps_default_mapping_policy", "dist:auto"),
            ("OMPI_MCA_btl", "self,tcp"),
            ("OMPI_MCA_btl_tcp_if_include", "eth7"),
            ("OMPI_MCA_plm_rsh_agent", "oarsh -q"),
        ];
        let options = with(&set, Options::new("mpirun"));
        assert_eq!(options.policy.bind, Bind::Parts { level: Level::Core, count: 1 });
        assert_eq!(options.genv, [("HPVM_NET".into(), "eth7".into())]);
        assert_eq!(options.launch_agent, Some(vec!["oarsh".into(), "-q".into()]));
        let [remark] = &options.warnings[..] else { panic!("{:?}", options.warnings) };
        assert!(
            remark.contains("PRTE_MCA_rmaps_default_mapping_policy")
                && remark.contains("dist:auto")
        );
    }

    #[test]
    fn our_own_word_counts_more() {
        let set = [
            ("HPVM_NET", "eth1"),
            ("HYDRA_IFACE", "eth2"),
            ("OMPI_MCA_btl_tcp_if_include", "eth3"),
            ("HYDRA_LAUNCHER", "rsh"),
        ];
        let mut options = Options::new("mpirun");
        options.launcher = Some(Launcher::Fork);
        let options = with(&set, options);
        assert!(options.genv.is_empty() && options.launcher == Some(Launcher::Fork));
    }

    #[test]
    fn variables_of_mpich_and_intel_mpi() {
        let set = [
            ("I_MPI_HYDRA_BOOTSTRAP", "rsh"),
            ("I_MPI_HYDRA_IFACE", "ib0"),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-p 22"),
            ("I_MPI_PERHOST", "3"),
            ("HYDRA_HOST_FILE", "/no/such"),
        ];
        let options = with(&set, Options::new("mpirun"));
        assert_eq!(options.launcher, Some(Launcher::Rsh));
        assert_eq!(options.genv, [("HPVM_NET".into(), "ib0".into())]);
        assert_eq!(options.ssh_args.len(), 2);
        let look =
            |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        assert_eq!(per_host(&look), Some(3));
        assert_eq!(per_host(&|_| Some("allcores".into())), None);
        assert!(hosts(&look).unwrap_err().message.contains("HYDRA_HOST_FILE: hostfile '/no/such'"));
        let odd = with(&[("HYDRA_LAUNCHER", "lsf")], Options::new("mpirun"));
        assert!(odd.launcher.is_none() && odd.warnings[0].contains("'HYDRA_LAUNCHER lsf'"));
    }
}
