//! Jobs over several sites and the jobs that their ranks spawn: a *family*, which has the gateways of the first one in common. All
//! launchers of a family run on the machine of the first, because only from there all hosts are reached.

use std::ffi::OsStr;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::sites::SiteOptions;

/// The variable in which the launcher of a spawned job finds what the first one knows.
pub const FAMILY: &str = "HPVM_FAMILY";
/// The variable with the descriptors that it inherits: a socket to those who have spawned the job, and one that tells, by its end, that
/// the launcher has ended.
pub const PARENTS: &str = "HPVM_PARENTS";

/// What launchers of spawned jobs have to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// The door of the first launcher, which tells the gateways of new ranks.
    pub door: String,
    /// Each site as the user has named it, `NAME=HOST,...`.
    pub sites: Vec<String>,
    /// Where the gateway of each site is reached.
    pub cards: Vec<String>,
}

impl Family {
    /// `DOOR|SITES|NAME=HOST,...|...|CARD|...`.
    pub fn text(&self) -> String {
        let count = self.sites.len().to_string();
        let head = [self.door.clone(), count];
        head.into_iter()
            .chain(self.sites.clone())
            .chain(self.cards.clone())
            .collect::<Vec<_>>()
            .join("|")
    }

    /// Reads what [`Family::text`] has written.
    pub fn parse(text: &str) -> Option<Family> {
        let mut words = text.split('|').map(str::to_owned);
        let door = words.next().filter(|door| !door.is_empty())?;
        let count: usize = words.next()?.parse().ok()?;
        let rest: Vec<String> = words.collect();
        let (sites, cards) = rest.split_at_checked(count)?;
        let whole = count >= 2 && cards.len() == count;
        whole.then(|| Family { door, sites: sites.to_vec(), cards: cards.to_vec() })
    }

    /// That of the job which has spawned ours, if it has one.
    pub fn of_environment() -> Option<Family> {
        Family::parse(std::env::var_os(FAMILY)?.to_str()?)
    }

    /// What `--site` said to the first launcher.
    ///
    /// # Errors
    /// As of that.
    pub fn options(
        &self,
        ask: impl Fn(
            &crate::slurm::Allocation,
        ) -> Result<Vec<crate::hosts::Host>, crate::error::LaunchError>,
    ) -> Result<SiteOptions, crate::error::LaunchError> {
        let (mut options, mut all) = (SiteOptions::of_family(), Vec::new());
        for site in &self.sites {
            all.extend(options.site("--site", site)?);
        }
        options.fill(&mut all, ask)?;
        Ok(options)
    }
}

/// A launcher's connections to those who have spawned its job.
#[derive(Debug)]
pub struct Parents {
    /// To the port of theirs.
    pub port: UnixStream,
    /// Its end tells that this launcher has ended.
    pub life: OwnedFd,
}

/// Takes over what the variable [`PARENTS`] names, and takes it out of the environment. `spawned`: there is a lifeline; without one what is
/// there is of a job that has nothing to do with ours. The process must have one thread.
pub fn take(spawned: bool) -> Option<Parents> {
    let value = std::env::var_os(PARENTS).filter(|_| spawned);
    let names: &[&str] = if spawned { &[PARENTS] } else { &[PARENTS, FAMILY] };
    for name in names {
        // SAFETY: nobody else reads the environment meanwhile: this process has one thread.
        unsafe { std::env::remove_var(name) };
    }
    let (port, life) = value.as_deref().and_then(OsStr::to_str)?.split_once(',')?;
    let owned = |text: &str| {
        let fd: i32 = text.parse().ok().filter(|fd| *fd > 2)?;
        // SAFETY: sets a flag of a descriptor, or fails.
        let known = unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
        // SAFETY: the descriptor is open, and nobody in this process knows of it but by this variable, which is gone.
        known.then(|| unsafe { OwnedFd::from_raw_fd(fd) })
    };
    Some(Parents { port: owned(port)?.into(), life: owned(life)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trip() {
        let words = |list: [&str; 2]| list.map(str::to_owned).to_vec();
        let family = Family {
            door: "d00".into(),
            sites: words(["A=a1:2,a2", "B=slurm:7@gate"]),
            cards: words(["7,7,a1,10.0.0.1/8", "8,8,b,10.0.0.2/8"]),
        };
        assert_eq!(Family::parse(&family.text()), Some(family.clone()));
        let text = family.text();
        let cut = text.rsplit_once('|').unwrap().0;
        for bad in ["", "d", "d|x", "d|1|A=a|c", "|2|A=a|B=b|c|d", "d|9|A=a", cut] {
            assert_eq!(Family::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn hosts_of_the_family_are_known_by_their_sites() {
        let sites = vec!["A=a1:2,a2".to_owned(), "B=b[1-2]".to_owned()];
        let family = Family { door: "d".into(), sites, cards: vec![] };
        let options = family.options(|_| unreachable!("there is no allocation")).unwrap();
        assert_eq!(options.given(), family.sites);
    }
}
