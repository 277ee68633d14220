//! The variables that differ from rank to rank, under the names that programs and scripts read
//! before `MPI_Init`. The table sets them, keeps those of an outer job away, and makes
//! `docs/environment.md`.

use std::ffi::OsStr;

/// Who a rank is, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    pub rank: u32,
    pub size: u32,
    /// Processes that the user expects in all; none: any number.
    pub universe: Option<u32>,
    /// Its number among the ranks of its host, and how many those are.
    pub local: u32,
    pub local_size: u32,
    /// The number of its host among those of the job.
    pub node: u32,
}

/// When a variable is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// Inside of a Slurm allocation, whose batch step has values of its own there.
    InSlurm,
}

/// One variable of every rank.
#[derive(Debug)]
pub struct RankVariable {
    pub name: &'static str,
    /// Whose name it is, and what it holds: a row of the documentation.
    pub whose: &'static str,
    pub meaning: &'static str,
    when: When,
    value: fn(&Numbers) -> u32,
}

const fn always(
    name: &'static str,
    whose: &'static str,
    meaning: &'static str,
    value: fn(&Numbers) -> u32,
) -> RankVariable {
    RankVariable { name, whose, meaning, when: When::Always, value }
}

const fn in_slurm(
    name: &'static str,
    meaning: &'static str,
    value: fn(&Numbers) -> u32,
) -> RankVariable {
    RankVariable { name, whose: "Slurm, in an allocation", meaning, when: When::InSlurm, value }
}

const RANK: &str = "rank in MPI_COMM_WORLD";
const SIZE: &str = "number of ranks";
const UNIVERSE: &str = "MPI_UNIVERSE_SIZE (-usize)";
const LOCAL_RANK: &str = "rank among those of this host";
const LOCAL_SIZE: &str = "number of ranks on this host";

/// All of them.
pub const RANK_VARIABLES: &[RankVariable] = &[
    always("PMI_RANK", "PMI (MPICH, Intel MPI)", RANK, |n| n.rank),
    always("PMI_SIZE", "PMI", SIZE, |n| n.size),
    always("PMI_LOCAL_RANK", "PMI", LOCAL_RANK, |n| n.local),
    always("PMI_LOCAL_SIZE", "PMI", LOCAL_SIZE, |n| n.local_size),
    always("MPI_LOCALRANKID", "MPICH, Intel MPI", LOCAL_RANK, |n| n.local),
    always("MPI_LOCALNRANKS", "MPICH, Intel MPI", LOCAL_SIZE, |n| n.local_size),
    always("OMPI_COMM_WORLD_RANK", "Open MPI", RANK, |n| n.rank),
    always("OMPI_COMM_WORLD_SIZE", "Open MPI", SIZE, |n| n.size),
    always("OMPI_COMM_WORLD_LOCAL_RANK", "Open MPI", LOCAL_RANK, |n| n.local),
    always("OMPI_COMM_WORLD_LOCAL_SIZE", "Open MPI", LOCAL_SIZE, |n| n.local_size),
    always("OMPI_COMM_WORLD_NODE_RANK", "Open MPI", LOCAL_RANK, |n| n.local),
    always("OMPI_UNIVERSE_SIZE", "Open MPI", UNIVERSE, |n| n.universe.unwrap_or(n.size)),
    always("MV2_COMM_WORLD_RANK", "MVAPICH", RANK, |n| n.rank),
    always("MV2_COMM_WORLD_SIZE", "MVAPICH", SIZE, |n| n.size),
    always("MV2_COMM_WORLD_LOCAL_RANK", "MVAPICH", LOCAL_RANK, |n| n.local),
    always("MV2_COMM_WORLD_LOCAL_SIZE", "MVAPICH", LOCAL_SIZE, |n| n.local_size),
    in_slurm("SLURM_PROCID", RANK, |n| n.rank),
    in_slurm("SLURM_LOCALID", LOCAL_RANK, |n| n.local),
    in_slurm("SLURM_NODEID", "number of the host in the job", |n| n.node),
];

/// The variable by which Slurm says that we are in an allocation.
pub const SLURM_JOB: &str = "SLURM_JOB_ID";

/// What a rank's environment gets, as `NAME=VALUE`; `slurm`: whether it is in an allocation.
pub fn of_rank(numbers: &Numbers, slurm: bool) -> impl Iterator<Item = String> {
    RANK_VARIABLES
        .iter()
        .filter(move |variable| variable.when == When::Always || slurm)
        .map(|variable| format!("{}={}", variable.name, (variable.value)(numbers)))
}

/// Whether a name is one of those that are set for each rank anew.
pub fn is_of_rank(name: &OsStr) -> bool {
    RANK_VARIABLES.iter().any(|variable| name == variable.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_once_and_every_number() {
        let mut names: Vec<_> = RANK_VARIABLES.iter().map(|variable| variable.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RANK_VARIABLES.len());
        let numbers =
            Numbers { rank: 5, size: 8, universe: Some(12), local: 1, local_size: 4, node: 1 };
        let set: Vec<String> = of_rank(&numbers, true).collect();
        for line in [
            "PMI_RANK=5",
            "OMPI_COMM_WORLD_RANK=5",
            "OMPI_UNIVERSE_SIZE=12",
            "OMPI_COMM_WORLD_LOCAL_SIZE=4",
            "MV2_COMM_WORLD_SIZE=8",
            "SLURM_LOCALID=1",
            "SLURM_NODEID=1",
        ] {
            assert!(set.iter().any(|variable| variable == line), "{line}");
        }
        assert!(!of_rank(&numbers, false).any(|variable| variable.starts_with("SLURM")));
    }
}
