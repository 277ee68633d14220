//! The hosts of a job, numbered by their first processes: the domains of `armci_domain_*`.

/// Which processes are of which host.
#[derive(Debug)]
pub struct Hosts {
    /// Host by process.
    host: Box<[usize]>,
    /// Processes by host.
    processes: Vec<Vec<usize>>,
}

impl Hosts {
    /// `first[i]` is the first process of the host of process `i`.
    pub fn new(first: &[u32]) -> Hosts {
        let (mut processes, mut firsts) = (Vec::<Vec<usize>>::new(), Vec::new());
        let host = first.iter().enumerate().map(|(process, first)| {
            let host = firsts.iter().position(|known| known == first).unwrap_or_else(|| {
                firsts.push(*first);
                processes.push(Vec::new());
                firsts.len() - 1
            });
            processes[host].push(process);
            host
        });
        Hosts { host: host.collect(), processes }
    }

    pub fn count(&self) -> usize {
        self.processes.len()
    }

    /// The host of a process.
    pub fn of(&self, process: usize) -> Option<usize> {
        self.host.get(process).copied()
    }

    /// The processes of a host.
    pub fn processes(&self, host: usize) -> &[usize] {
        self.processes.get(host).map_or(&[], |all| all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_in_order_of_their_first_processes() {
        let hosts = Hosts::new(&[0, 1, 0, 3, 1, 0]);
        assert_eq!(hosts.count(), 3);
        assert_eq!(
            [0, 1, 2].map(|host| hosts.processes(host).to_vec()),
            [vec![0, 2, 5], vec![1, 4], vec![3]]
        );
        assert_eq!((hosts.of(4), hosts.of(3), hosts.of(6)), (Some(1), Some(2), None));
        assert!(hosts.processes(3).is_empty());
    }
}
