//! Open MPI's parameters (`--mca KEY VALUE`) that steer what a flag of ours steers.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::values::{export, parse_count, split_words};
use super::{Launcher, Options};
use crate::error::LaunchError;

/// Each key with the flag that it stands for: a row of the documentation.
pub const KEYS: &[(&str, &str)] = &[
    ("btl_tcp_if_include", "--net"),
    ("oob_tcp_if_include", "--net"),
    ("plm_rsh_agent", "--launch-agent"),
    ("plm_ssh_agent", "--launch-agent"),
    ("orte_rsh_agent", "--launch-agent"),
    ("rmaps_base_mapping_policy", "--map-by"),
    ("rmaps_default_mapping_policy", "--map-by"),
    ("rmaps_base_ranking_policy", "--rank-by"),
    ("rmaps_default_ranking_policy", "--rank-by"),
    ("hwloc_base_binding_policy", "--bind-to"),
    ("hwloc_default_binding_policy", "--bind-to"),
    ("rmaps_base_cpus_per_rank", "--cpus-per-rank"),
    ("rmaps_base_no_oversubscribe", "--nooversubscribe"),
    ("hwloc_base_report_bindings", "--report-bindings"),
    ("orte_tag_output", "--tag-output"),
    ("orte_timestamp_output", "--timestamp-output"),
    ("rmaps_base_display_map", "--display map"),
    ("rmaps_base_oversubscribe", "--oversubscribe"),
    ("orte_abort_on_non_zero_status", "--enable-recovery"),
    ("mca_base_env_list", "-x"),
];

/// Obeys a parameter, whose name and flag, or whose variable `shown` is; false if it means nothing here.
pub fn obey(
    options: &mut Options,
    shown: &str,
    key: &str,
    value: &OsStr,
) -> Result<bool, LaunchError> {
    let Some((_, flag)) = KEYS.iter().find(|(known, _)| *known == key) else { return Ok(false) };
    let text = value.to_string_lossy();
    let on = !matches!(text.as_ref(), "0" | "false" | "no" | "");
    match *flag {
        // One interface or network can be named.
        "--net" if text.contains(',') => return Ok(false),
        "--net" => options.genv.push(("HPVM_NET".into(), value.to_os_string())),
        "--launch-agent" => match text.as_ref() {
            // Open MPI's own default: the first that there is.
            "ssh" | "ssh : rsh" | "ssh:rsh" => options.launcher = Some(Launcher::Ssh),
            "rsh" => options.launcher = Some(Launcher::Rsh),
            _ => options.launch_agent = Some(split_words(shown, value)?),
        },
        "--map-by" => drop(options.policy.map_by(shown, &text)?),
        "--rank-by" => options.policy.rank_by(shown, &text)?,
        "--bind-to" => options.policy.bind_to(shown, &text)?,
        "--cpus-per-rank" => options.policy.width = parse_count(shown, value)?,
        "--nooversubscribe" => options.policy.strict = on,
        "--report-bindings" => options.report_bindings = on,
        "--oversubscribe" => options.policy.strict = !on && options.policy.strict,
        "--display map" => options.display.map = on,
        // It says the contrary.
        "--enable-recovery" => options.recovery = !on,
        // Several variables, each as -x takes it.
        "-x" => {
            for word in value.as_bytes().split(|byte| *byte == b';').filter(|word| !word.is_empty())
            {
                export(options, OsString::from_vec(word.to_vec()))?;
            }
        }
        "--tag-output" => options.output.tag = on,
        "--timestamp-output" => options.output.time = on,
        _ => return Ok(false),
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::policy::{Bind, MapBy};
    use crate::place::topology::Level;

    #[test]
    fn every_key_is_obeyed() {
        for (key, flag) in KEYS {
            let mut options = Options::new("mpirun");
            let value = if flag.ends_with("-by") || *flag == "--bind-to" { "core" } else { "1" };
            assert!(obey(&mut options, "--mca", key, OsStr::new(value)).unwrap(), "{key}");
        }
        let mut options = Options::new("mpirun");
        for (key, value) in
            [("rmaps_base_mapping_policy", "socket"), ("hwloc_base_binding_policy", "none")]
        {
            obey(&mut options, "--mca", key, OsStr::new(value)).unwrap();
        }
        assert_eq!(options.policy.map, MapBy::Part(Level::Socket));
        assert_eq!(options.policy.bind, Bind::None);
        obey(&mut options, "--mca", "mca_base_env_list", OsStr::new("A=1;B=x=2;")).unwrap();
        assert_eq!(options.genv, [("A".into(), "1".into()), ("B".into(), "x=2".into())]);
        obey(&mut options, "--mca", "orte_abort_on_non_zero_status", OsStr::new("0")).unwrap();
        assert!(options.recovery);
        assert!(!obey(&mut options, "--mca", "btl", OsStr::new("self,vader")).unwrap());
        let error =
            obey(&mut options, "--mca hwloc", "hwloc_base_binding_policy", OsStr::new("wheel"));
        assert!(error.unwrap_err().message.contains("'--mca hwloc wheel'"));
    }
}
