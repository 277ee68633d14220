//! At which jobs somebody looks now, and what their hosts have told. Nobody tells anything of a job that
//! nobody looks at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::JobLook;
use hpvm_queue::job::JobId;
use hpvm_queue::node::{Looks, Parts};

/// A page asks with each sample, once a second. Who has not asked for so long looks no more.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// What is older tells nothing of now.
const FRESH: Duration = Duration::from_secs(4);
/// Jobs that are looked at at one time. What their hosts have told takes some MB at most for each.
pub const MAX_JOBS: usize = 64;

/// See the module.
#[derive(Debug)]
pub struct Wanted {
    jobs: Mutex<BTreeMap<JobId, Job>>,
    /// Of each host.
    pub looks: watch::Sender<BTreeMap<String, Looks>>,
    /// Changes when a host has told something.
    pub heard: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Job {
    hosts: Vec<String>,
    /// When each part was asked for last: ranks, traffic, events.
    asked: [Option<Instant>; 3],
    told: BTreeMap<String, (Instant, Arc<JobLook>)>,
}

impl Job {
    fn parts(&self) -> Parts {
        let [ranks, traffic, events] = self.asked.map(|asked| asked.is_some());
        Parts { ranks, traffic, events }
    }
}

/// What hosts have told of a job, and who has not.
#[derive(Clone, Debug, Default)]
pub struct Told {
    pub looks: Vec<(String, Arc<JobLook>)>,
    pub missing: Vec<String>,
}

impl Default for Wanted {
    fn default() -> Wanted {
        let (looks, heard) = (watch::Sender::new(BTreeMap::new()), watch::Sender::new(0));
        Wanted { jobs: Mutex::default(), looks, heard }
    }
}

impl Wanted {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody looks at this of a job on these hosts. False: too many others are looked at.
    pub fn want(&self, id: JobId, hosts: &[String], parts: Parts, now: Instant) -> bool {
        let mut jobs = self.lock();
        if jobs.len() >= MAX_JOBS && !jobs.contains_key(&id) {
            return false;
        }
        let job = jobs.entry(id).or_default();
        let before = job.parts();
        for (asked, wanted) in job.asked.iter_mut().zip([parts.ranks, parts.traffic, parts.events])
        {
            *asked = if wanted { Some(now) } else { *asked };
        }
        if job.parts() != before || job.hosts != hosts {
            job.hosts = hosts.to_vec();
            self.tell_hosts(&jobs);
        }
        true
    }

    /// What is wanted of a job now.
    pub fn parts(&self, id: JobId) -> Parts {
        self.lock().get(&id).map(Job::parts).unwrap_or_default()
    }

    /// What is wanted of a host now.
    pub fn of_host(&self, host: &str) -> Looks {
        self.looks.borrow().get(host).cloned().unwrap_or_default()
    }

    /// A host tells of a job. What nobody wants is dropped.
    pub fn hear(&self, id: JobId, host: &str, look: JobLook, now: Instant) {
        let mut jobs = self.lock();
        let Some(job) = jobs.get_mut(&id).filter(|job| job.hosts.iter().any(|h| h == host)) else {
            return;
        };
        job.told.insert(host.to_string(), (now, Arc::new(look)));
        drop(jobs);
        self.heard.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// What has been told of a job lately.
    pub fn told(&self, id: JobId, hosts: &[String], parts: Parts, now: Instant) -> Told {
        let jobs = self.lock();
        let mut all = Told::default();
        for host in hosts {
            let found = jobs.get(&id).and_then(|job| job.told.get(host));
            match found {
                Some((at, look)) if now.duration_since(*at) < FRESH && look.parts.hold(parts) => {
                    all.looks.push((host.clone(), look.clone()));
                }
                _ => all.missing.push(host.clone()),
            }
        }
        all
    }

    /// Forgets what nobody looks at any more.
    pub fn tick(&self, now: Instant) {
        let mut jobs = self.lock();
        let mut changed = false;
        for job in jobs.values_mut() {
            for asked in &mut job.asked {
                if asked.is_some_and(|at| now.duration_since(at) >= FORGOTTEN) {
                    (*asked, changed) = (None, true);
                }
            }
        }
        jobs.retain(|_, job| job.parts().any());
        if changed {
            self.tell_hosts(&jobs);
        }
    }

    fn tell_hosts(&self, jobs: &BTreeMap<JobId, Job>) {
        let mut wanted: BTreeMap<&str, BTreeMap<JobId, Parts>> = BTreeMap::new();
        for (id, job) in jobs {
            for host in &job.hosts {
                wanted.entry(host).or_default().insert(*id, job.parts());
            }
        }
        self.looks.send_modify(|looks| {
            let idle = |host: &String| !wanted.contains_key(host.as_str());
            for (_, looks) in looks.iter_mut().filter(|(host, _)| idle(host)) {
                looks.number += u64::from(!looks.jobs.is_empty());
                looks.jobs.clear();
            }
            for (host, jobs) in wanted {
                let looks = looks.entry(host.to_string()).or_default();
                looks.number += u64::from(looks.jobs != jobs);
                looks.jobs = jobs;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKS: Parts = Parts { ranks: true, traffic: false, events: false };
    const BOTH: Parts = Parts { traffic: true, ..RANKS };

    #[test]
    fn hosts_are_told_while_somebody_looks() {
        let (wanted, now) = (Wanted::default(), Instant::now());
        let hosts = ["n1".to_string(), "n2".to_string()];
        assert!(wanted.want(7, &hosts, RANKS, now));
        assert!(wanted.want(7, &hosts, RANKS, now + FORGOTTEN / 2));
        let of = |host| (wanted.of_host(host).number, wanted.of_host(host).jobs.get(&7).copied());
        assert_eq!((of("n1"), of("n2"), of("n3")), ((1, Some(RANKS)), (1, Some(RANKS)), (0, None)));
        wanted.want(7, &hosts, Parts { ranks: false, ..BOTH }, now + FORGOTTEN / 2);
        wanted.tick(now + FORGOTTEN);
        assert_eq!(of("n1"), (2, Some(BOTH)), "asked for again meanwhile");
        wanted.tick(now + FORGOTTEN * 2);
        assert_eq!((of("n1"), wanted.parts(7)), ((3, None), Parts::default()));
        wanted.tick(now + FORGOTTEN * 3);
        assert_eq!(of("n1"), (3, None));
    }

    #[test]
    fn only_what_was_asked_for_lately_counts() {
        let (wanted, now) = (Wanted::default(), Instant::now());
        let hosts = ["n1".to_string(), "n2".to_string()];
        let look = JobLook { parts: RANKS, ..JobLook::default() };
        wanted.hear(7, "n1", look.clone(), now);
        wanted.want(7, &hosts, RANKS, now);
        assert_eq!(wanted.told(7, &hosts, RANKS, now).missing, hosts);
        wanted.hear(7, "n1", look.clone(), now);
        wanted.hear(7, "stranger", look, now);
        let told = wanted.told(7, &hosts, RANKS, now);
        assert_eq!((told.looks.len(), &told.missing[..]), (1, &hosts[1..]));
        assert_eq!(wanted.told(7, &hosts, BOTH, now).looks.len(), 0, "it tells of other things");
        assert_eq!(wanted.told(7, &hosts, RANKS, now + FRESH).looks.len(), 0, "it is old");
        let many = (100..).take(MAX_JOBS).filter(|id| wanted.want(*id, &hosts, RANKS, now)).count();
        assert_eq!(many, MAX_JOBS - 1, "memory is bounded");
    }
}
