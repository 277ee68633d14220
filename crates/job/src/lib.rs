//! Who is in the job: ranks, hosts, key exchange (PMI), liveness.
//!
//! A process learns its place from the process manager that started it, over the PMI-1 or PMI-2
//! wire protocol; a process that nobody started is a job of one. What the environment says is read
//! by the caller ([`Settings`]): this crate reads none.

pub mod abort;
pub mod client;
mod conversation;
pub mod machine;
pub mod mapping;
pub mod name_server;
pub mod names;
pub mod pmi1;
pub mod pmi2;
pub mod port;

pub use abort::{AbortRequest, FixedText, GLOBAL_EXIT, PEER_LOST};
pub use client::Client;
pub use pmi1::PmiError;

/// What the process manager put into the environment.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `PMI_FD`
    pub fd: Option<String>,
    /// `PMI_RANK`
    pub rank: Option<String>,
    /// `PMI_SIZE`
    pub size: Option<String>,
    /// `PMI_JOBID`: the job's name for PMI-2.
    pub job: Option<String>,
    /// `SLURM_MPI_TYPE`: what `srun` offers.
    pub offered: Option<String>,
    /// `SLURM_STEP_NUM_TASKS`: how many processes `srun` has started.
    pub tasks: Option<String>,
    /// `PMIX_NAMESPACE`: that a launcher that speaks PMIx, like Open MPI's, is around.
    pub pmix: Option<String>,
    /// `OMPI_COMM_WORLD_SIZE`: how many processes it has started.
    pub others: Option<String>,
}

impl Settings {
    /// Asks `variable` for each of them.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Settings {
        Settings {
            fd: variable("PMI_FD"),
            rank: variable("PMI_RANK"),
            size: variable("PMI_SIZE"),
            job: variable("PMI_JOBID"),
            offered: variable("SLURM_MPI_TYPE"),
            tasks: variable("SLURM_STEP_NUM_TASKS"),
            pmix: variable("PMIX_NAMESPACE"),
            others: variable("OMPI_COMM_WORLD_SIZE"),
        }
    }

    /// Nobody offers to join the processes of one `srun`, or of Open MPI's `mpirun`: each would be alone.
    fn check_alone(&self) -> Result<(), PmiError> {
        let number = |text: &Option<String>| text.as_deref()?.parse::<u32>().ok();
        // hpvm's own launcher sets the second of these, but not the first.
        if let (Some(_), Some(count @ 2..)) = (&self.pmix, number(&self.others)) {
            return Err(PmiError::Settings(format!(
                "another MPI's mpirun (Open MPI's) has started {count} processes, which hpvm cannot join to one \
                 job; use hpvm's mpirun, or unset PMIX_NAMESPACE for a program that is to run alone"
            )));
        }
        let tasks = number(&self.tasks);
        match tasks {
            Some(tasks) if tasks > 1 => {
                let offered = self.offered.as_deref().unwrap_or("none");
                Err(PmiError::Settings(format!(
                    "srun has started {tasks} processes with --mpi={offered}, by which hpvm \
                     cannot join them to one job; use srun --mpi=pmi2, or mpirun"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// A process's place in its job.
#[derive(Debug)]
pub struct Job {
    pub rank: u32,
    pub size: u32,
    /// Number of the program on the command line that started us.
    pub appnum: u32,
    /// Ranks that the process manager thinks there is room for.
    pub universe: Option<u32>,
    /// Node number of each rank.
    pub nodes: Vec<u32>,
    /// The connection to the process manager; none in a job of one.
    pub manager: Option<Client>,
}

impl Job {
    /// A job of one process that needs no launcher.
    pub fn singleton() -> Job {
        Job { rank: 0, size: 1, appnum: 0, universe: Some(1), nodes: vec![0], manager: None }
    }

    /// Joins the job that `settings` describe. Blocks for the manager's answers.
    pub fn join(settings: &Settings) -> Result<Job, PmiError> {
        let Some(fd) = &settings.fd else {
            settings.check_alone()?;
            return Ok(Job::singleton());
        };
        let fd = number("PMI_FD", fd)?;
        let rank = number("PMI_RANK", settings.rank.as_deref().unwrap_or(""))?;
        let size = number("PMI_SIZE", settings.size.as_deref().unwrap_or(""))?;
        if size == 0 || rank >= size {
            return Err(PmiError::Settings(format!(
                "PMI_RANK={rank} and PMI_SIZE={size}; expected a rank from 0 to size - 1"
            )));
        }
        // Another manager inside of srun leaves Slurm's variables, but not the job's name.
        let two = settings.offered.as_deref() == Some("pmi2");
        let mut client = Client::connect(fd as i32, rank, settings.job.as_deref().filter(|_| two))?;
        let appnum = client.appnum()?;
        let universe = client.universe_size()?;
        let nodes = match client.mapping()? {
            Some(text) => mapping::parse(&text, size).map_err(PmiError::Protocol)?,
            None => vec![0; size as usize],
        };
        Ok(Job { rank, size, appnum, universe, nodes, manager: Some(client) })
    }

    /// Ranks on the same node as we are, ascending.
    pub fn neighbours(&self) -> Vec<u32> {
        let mine = self.nodes[self.rank as usize];
        (0..self.size).filter(|r| self.nodes[*r as usize] == mine).collect()
    }
}

fn number(name: &str, text: &str) -> Result<u32, PmiError> {
    text.parse().map_err(|_| {
        PmiError::Settings(format!("{name} is {text:?}; expected a number (set by the launcher)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_manager_is_a_job_of_one() {
        let job = Job::join(&Settings::default()).unwrap();
        assert_eq!((job.rank, job.size), (0, 1));
        assert_eq!(job.neighbours(), [0]);
    }

    #[test]
    fn the_launcher_of_another_mpi_is_told() {
        let open_mpi = |pmix: Option<&str>, size: &str| Settings {
            pmix: pmix.map(str::to_owned),
            others: Some(size.into()),
            ..Settings::default()
        };
        let text = Job::join(&open_mpi(Some("n1"), "4")).unwrap_err().to_string();
        assert!(text.contains("4 processes") && text.contains("use hpvm's mpirun"), "{text}");
        // One process is alone anyway; without PMIx the number is that of a job of ours around it.
        for alone in [open_mpi(Some("n1"), "1"), open_mpi(None, "4")] {
            assert_eq!(Job::join(&alone).unwrap().size, 1);
        }
    }

    #[test]
    fn srun_without_pmi_is_told() {
        let srun = |tasks: &str, offered: Option<&str>| Settings {
            tasks: Some(tasks.into()),
            offered: offered.map(str::to_owned),
            ..Settings::default()
        };
        assert_eq!(Job::join(&srun("1", None)).unwrap().size, 1);
        let text = Job::join(&srun("4", None)).unwrap_err().to_string();
        assert!(text.contains("4 processes with --mpi=none"), "{text}");
        let text = Job::join(&srun("4", Some("pmix"))).unwrap_err().to_string();
        assert!(text.contains("--mpi=pmix") && text.contains("use srun --mpi=pmi2"), "{text}");
    }

    #[test]
    fn bad_settings_are_named() {
        let s = Settings::default();
        let rank = Some("4".to_owned());
        let s = Settings { fd: Some("9".into()), rank: rank.clone(), size: rank, ..s };
        let text = Job::join(&s).unwrap_err().to_string();
        assert!(text.contains("PMI_RANK=4"), "{text}");
        let s = Settings { fd: Some("nine".into()), ..s };
        assert!(Job::join(&s).unwrap_err().to_string().contains("\"nine\""));
    }
}
