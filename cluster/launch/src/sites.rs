//! Sites: groups of hosts that cannot reach each other. What the user says of them, and which ranks are at which.

use hpvm_sites::{Sites, is_name};

use crate::error::LaunchError;
use crate::hosts::{self, Host};
use crate::slurm::Allocation;
use crate::spread::{self, Spread};

/// What flags say about sites.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteOptions {
    sites: Vec<Site>,
    gateways: Vec<Chosen>,
    /// Gateways are not to compress.
    plain: bool,
    /// They are those of the job that has spawned this one, whose gateways it uses: it need not have ranks at each.
    family: bool,
    /// Each site as the user has named it.
    given: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Site {
    name: String,
    /// As the hosts of the job are called. Of an allocation they are not known before somebody has asked for them.
    hosts: Vec<String>,
    allocation: Option<Allocation>,
}

/// The user's choice of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chosen {
    site: String,
    host: String,
    port: u16,
}

/// Where the gateway of a site runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Number of the site.
    pub site: u16,
    /// Number of its host.
    pub node: u32,
    /// How the user calls the host: others may find it by that name.
    pub host: String,
    /// 0: any.
    pub port: u16,
}

/// The sites of a job, as everybody who starts ranks knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// See [`Sites::text`].
    pub text: String,
    /// One for each site, in their order; none in a job that ranks of another one have spawned, whose gateways it uses.
    pub gateways: Vec<Gateway>,
    /// They compress what is worth it.
    pub compress: bool,
}

impl Plan {
    /// The gateway on a host, if one is there.
    pub fn gateway_on(&self, node: u32) -> Option<&Gateway> {
        self.gateways.iter().find(|gateway| gateway.node == node)
    }
}

impl SiteOptions {
    /// For the sites of a job that has spawned this one.
    pub fn of_family() -> SiteOptions {
        SiteOptions { family: true, ..SiteOptions::default() }
    }

    /// Each site as the user has named it.
    pub fn given(&self) -> &[String] {
        &self.given
    }

    /// Reads `NAME=HOST[:SLOTS],...`, or an allocation of Slurm; gives the hosts. Those of an allocation are one of
    /// its name, in whose place [`SiteOptions::fill`] puts them.
    pub fn site(&mut self, shown: &str, text: &str) -> Result<Vec<Host>, LaunchError> {
        let (name, list) = named(shown, text, "HOST[:SLOTS],...")?;
        if self.sites.iter().any(|site| site.name == name) {
            return Err(LaunchError::usage(format!(
                "{shown} {text}: site '{name}' is named twice"
            )));
        }
        if list.is_empty() {
            return Err(LaunchError::usage(format!("{shown} {text}: site '{name}' has no host")));
        }
        self.given.push(text.to_owned());
        let told = |error: LaunchError| LaunchError {
            message: format!("{shown} {name}={}", error.message),
            ..error
        };
        if let Some(allocation) = Allocation::parse(list).map_err(told)? {
            let site =
                Site { name: name.to_string(), hosts: Vec::new(), allocation: Some(allocation) };
            let host = Host { name: site.stand_in(), slots: None };
            self.sites.push(site);
            return Ok(vec![host]);
        }
        let hosts = hosts::parse_list(list)?;
        let site = Site { name: name.to_string(), hosts: names(&hosts), allocation: None };
        self.check(&format!("{shown} {text}"), &site)?;
        self.sites.push(site);
        Ok(hosts)
    }

    /// A host is at one site only.
    fn check(&self, shown: &str, new: &Site) -> Result<(), LaunchError> {
        for other in self.sites.iter().filter(|other| other.name != new.name) {
            let is_there = |host: &&String| other.hosts.iter().any(|other| same(other, host));
            if let Some(host) = new.hosts.iter().find(is_there) {
                return Err(LaunchError::usage(format!(
                    "{shown}: host '{host}' is at site '{}', too",
                    other.name
                )));
            }
        }
        Ok(())
    }

    /// Puts the hosts of allocations into a list that stands for them. `ask` gives an allocation's hosts, and is asked once for each.
    ///
    /// # Errors
    /// As `ask`'s, and a host that is at two sites.
    pub fn fill(
        &mut self,
        list: &mut Vec<Host>,
        ask: impl Fn(&Allocation) -> Result<Vec<Host>, LaunchError>,
    ) -> Result<(), LaunchError> {
        let mut filled = Vec::new();
        for host in list.drain(..) {
            let is = |site: &&Site| site.allocation.is_some() && site.stand_in() == host.name;
            let Some(mut site) = self.sites.iter().find(is).cloned() else {
                filled.push(host);
                continue;
            };
            let Some(allocation) = &site.allocation else { continue };
            let shown = format!("--site {}", site.name);
            let hosts = ask(allocation).map_err(|error| LaunchError {
                message: format!("{shown}={}", error.message),
                ..error
            })?;
            site.hosts = names(&hosts);
            self.check(&shown, &site)?;
            self.sites
                .iter_mut()
                .filter(|other| other.name == site.name)
                .for_each(|other| *other = site.clone());
            filled.extend(hosts);
        }
        *list = filled;
        Ok(())
    }

    /// The allocation that a host of the job belongs to.
    pub fn allocation_of(&self, host: &str) -> Option<&Allocation> {
        let site = self.sites.iter().find(|site| site.hosts.iter().any(|other| same(other, host)));
        site?.allocation.as_ref()
    }

    /// Whether a site is an allocation.
    pub fn has_allocations(&self) -> bool {
        self.sites.iter().any(|site| site.allocation.is_some())
    }

    /// Reads `NAME=HOST[:PORT]`.
    pub fn gateway(&mut self, shown: &str, text: &str) -> Result<(), LaunchError> {
        let (site, place) = named(shown, text, "HOST[:PORT]")?;
        let bad = || {
            LaunchError::usage(format!(
                "{shown} {text}: expected NAME=HOST or NAME=HOST:PORT, a port from 1 to 65535"
            ))
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => {
                let digits = port.bytes().all(|byte| byte.is_ascii_digit());
                (host, port.parse().ok().filter(|port| *port != 0 && digits).ok_or_else(bad)?)
            }
            None => (place, 0),
        };
        if host.is_empty() || host.contains(':') {
            return Err(bad());
        }
        if self.gateways.iter().any(|gateway| gateway.site == site) {
            return Err(LaunchError::usage(format!(
                "{shown} {text}: site '{site}' has another gateway already"
            )));
        }
        self.gateways.push(Chosen { site: site.to_string(), host: host.to_string(), port });
        Ok(())
    }

    /// Reads `auto` or `never`.
    pub fn compress(&mut self, shown: &str, text: &str) -> Result<(), LaunchError> {
        self.plain = match text {
            "auto" => false,
            "never" => true,
            _ => {
                return Err(LaunchError::usage(format!("{shown} {text}: expected auto or never")));
            }
        };
        Ok(())
    }

    /// Whether the user has named sites or gateways.
    fn is_empty(&self) -> bool {
        self.sites.is_empty() && self.gateways.is_empty()
    }

    /// Which ranks are at which site. None without sites. `is_local`: whether a name is this machine's.
    pub fn plan(
        &self,
        spread: &Spread,
        is_local: impl Fn(&str) -> bool,
    ) -> Result<Option<Plan>, LaunchError> {
        if self.is_empty() {
            return Ok(None);
        }
        self.check_names()?;
        let of_node = self.sites_of_nodes(spread, &is_local)?;
        let mut gateways = Vec::new();
        if !self.family {
            for (number, site) in (0_u16..).zip(&self.sites) {
                let own = (0_u32..).zip(&spread.nodes);
                let own = own.filter(|(node, _)| of_node[*node as usize] == number).collect();
                gateways.push(self.gateway_of((number, site), own, &is_local)?);
            }
        }
        let names = self.sites.iter().map(|site| site.name.clone()).collect();
        let ranks = spread.ranks.iter().map(|rank| of_node[rank.node as usize]).collect();
        Ok(Some(Plan { text: Sites { names, ranks }.text(), gateways, compress: !self.plain }))
    }

    /// Whether what the user has named makes sense by itself.
    fn check_names(&self) -> Result<(), LaunchError> {
        for chosen in &self.gateways {
            if !self.sites.iter().any(|site| site.name == chosen.site) {
                let (name, host) = (&chosen.site, &chosen.host);
                return Err(LaunchError::usage(format!(
                    "--gateway {name}={host}: there is no site '{name}'"
                )));
            }
        }
        match &self.sites[..] {
            [only] if !self.family => Err(LaunchError::usage(format!(
                "--site {}: there is one site only; name the others, or use --host",
                only.name
            ))),
            _ => Ok(()),
        }
    }

    /// The number of the site of each host.
    fn sites_of_nodes(
        &self,
        spread: &Spread,
        is_local: &impl Fn(&str) -> bool,
    ) -> Result<Vec<u16>, LaunchError> {
        let site_of = |node: &spread::Host| {
            let mut found = (0..)
                .zip(&self.sites)
                .filter(|(_, site)| site.hosts.iter().any(|name| is(node, name, is_local)));
            let host = &node.host;
            match (found.next(), found.next()) {
                (Some((number, _)), None) => Ok(number),
                (Some((_, one)), Some((_, other))) => Err(LaunchError::usage(format!(
                    "--site: host '{host}' is at the sites '{}' and '{}'",
                    one.name, other.name
                ))),
                (None, _) if self.family => Err(LaunchError::usage(format!(
                    "host '{host}' is at none of the sites of the job that spawns processes there: {}",
                    self.given.join(" ")
                ))),
                (None, _) => Err(LaunchError::usage(format!(
                    "host '{host}' is at no site: name it with --site, not with --host"
                ))),
            }
        };
        spread.nodes.iter().map(site_of).collect()
    }

    /// The gateway of a site whose hosts with ranks are `own`: where the user has said, or on the first of them.
    fn gateway_of(
        &self,
        (number, site): (u16, &Site),
        own: Vec<(u32, &spread::Host)>,
        is_local: &impl Fn(&str) -> bool,
    ) -> Result<Gateway, LaunchError> {
        let chosen = self.gateways.iter().find(|chosen| chosen.site == site.name);
        let is_called = |node: &spread::Host, name: &str| {
            is(node, name, is_local) || !node.local && same(&self.own_name(&node.host), name)
        };
        let mut own = own.into_iter();
        let Some((node, host)) =
            own.find(|(_, node)| chosen.is_none_or(|chosen| is_called(node, &chosen.host)))
        else {
            return Err(LaunchError::usage(match chosen {
                Some(chosen) => format!(
                    "--gateway {}={}: a gateway runs on one of the hosts of its site that have ranks",
                    site.name, chosen.host
                ),
                None => format!(
                    "--site: site '{}' has no rank; start more with -n, or leave it out",
                    site.name
                ),
            }));
        };
        let host = match chosen {
            Some(chosen) => chosen.host.clone(),
            // As the user calls it: this machine's own name may mean nothing elsewhere.
            None => {
                let called = site.hosts.iter().find(|name| is(host, name, is_local));
                self.own_name(called.unwrap_or(&host.host))
            }
        };
        Ok(Gateway { site: number, node, host, port: chosen.map_or(0, |chosen| chosen.port) })
    }

    /// The name of a host at its site: without what stands for its allocation.
    fn own_name(&self, host: &str) -> String {
        let allocation = self.allocation_of(host);
        allocation.map_or(host, |allocation| allocation.own_name(host)).to_string()
    }
}

/// Whether a host has this name.
fn is(node: &spread::Host, name: &str, is_local: &impl Fn(&str) -> bool) -> bool {
    if node.local { is_local(name) } else { same(&node.host, name) }
}

impl Site {
    /// What stands for the hosts of its allocation: no name of a host.
    fn stand_in(&self) -> String {
        format!("{}=", self.name)
    }
}

fn names(hosts: &[Host]) -> Vec<String> {
    hosts.iter().map(|host| host.name.clone()).collect()
}

fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Divides `NAME=REST`.
fn named<'a>(shown: &str, text: &'a str, rest: &str) -> Result<(&'a str, &'a str), LaunchError> {
    let pair = text.split_once('=').filter(|(name, _)| is_name(name));
    pair.ok_or_else(|| {
        LaunchError::usage(format!(
            "{shown} {text}: expected NAME={rest}, a name of up to 32 letters, digits, '-', '_' and '.'"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Parsed, parse};
    use std::ffi::OsString;

    fn plan(line: &str) -> Result<Option<Plan>, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let request = match parse("mpirun", &words) {
            Ok(Parsed::Run(request)) => request,
            Ok(_) => panic!("{line}"),
            Err(error) => return Err(error.message),
        };
        let is_local = |name: &str| ["localhost", "here", "10.0.0.1"].contains(&name);
        let spread = Spread::with(&request, is_local).map_err(|error| error.message)?;
        request.options.sites.plan(&spread, is_local).map_err(|error| error.message)
    }

    #[test]
    fn ranks_are_at_sites() {
        assert_eq!(plan("-H a,b p"), Ok(None));
        let found = plan("--site A=a:2,b --site B=here:2,c -n 6 p").unwrap().unwrap();
        assert_eq!(found.text, "A,B;0x3,1x3");
        let gateway =
            |site, node, host: &str, port| Gateway { site, node, host: host.to_string(), port };
        assert_eq!(found.gateways, [gateway(0, 0, "a", 0), gateway(1, 2, "here", 0)]);
        assert_eq!(found.gateway_on(2).map(|gateway| gateway.site), Some(1));
        let found = plan("--site A=a,b --site B=c,d --gateway B=d:7000 --map-by node -n 6 p")
            .unwrap()
            .unwrap();
        assert_eq!(found.text, "A,B;0x2,1x2,0x2");
        assert_eq!(found.gateways[1], gateway(1, 3, "d", 7000));
        for (flag, compress) in [("", true), ("--compress auto", true), ("--compress never", false)]
        {
            let found = plan(&format!("--site A=a --site B=b {flag} p")).unwrap().unwrap();
            assert_eq!(found.compress, compress, "{flag}");
        }
    }

    #[test]
    fn allocations_are_filled_in() {
        let host = |name: &str| Host { name: name.to_string(), slots: Some(2) };
        let mut sites = SiteOptions::default();
        let mut list = sites.site("--site", "A=a1").unwrap();
        list.extend(sites.site("--site", "B=slurm:7@gate").unwrap());
        assert!(sites.has_allocations());
        let ask = |allocation: &Allocation| {
            assert_eq!(Some(allocation.clone()), Allocation::parse("slurm:7@gate").unwrap());
            Ok(["a1", "n2"].map(|name| host(&allocation.full_name(name))).to_vec())
        };
        sites.fill(&mut list, ask).unwrap();
        let names: Vec<&str> = list.iter().map(|host| &*host.name).collect();
        assert_eq!(names, ["a1", "a1@gate", "n2@gate"]);
        assert_eq!(sites.allocation_of("a1"), None);
        assert!(sites.allocation_of("n2@gate").is_some_and(Allocation::is_elsewhere));
        // A host of two sites, and nobody who answers.
        let mut list = sites.site("--site", "C=slurm:8").unwrap();
        let error = sites.fill(&mut list.clone(), |_| Ok(vec![host("A1")])).unwrap_err();
        assert_eq!(error.message, "--site C: host 'A1' is at site 'A', too");
        let silent = |_: &Allocation| Err(LaunchError::new(1, "slurm:8: no answer"));
        let error = sites.fill(&mut list, silent).unwrap_err();
        assert_eq!((&*error.message, error.code), ("--site C=slurm:8: no answer", 1));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("--site A=a --site A=b p", "site 'A' is named twice"),
            ("--site A=a,b --site B=B p", "host 'B' is at site 'A', too"),
            ("--site A=a --site B=b --compress zip p", "--compress zip: expected auto or never"),
            ("--site A=here --site B=10.0.0.1 p", "is at the sites 'A' and 'B'"),
            ("--site A= p", "site 'A' has no host"),
            ("--site A=slurm:x p", "--site A='slurm:x': expected slurm, slurm:JOB or"),
            ("--site =a p", "expected NAME=HOST"),
            ("--site a,b p", "expected NAME=HOST"),
            ("--site A=a p", "there is one site only"),
            ("--site A=a --site B=b -n 1 p", "site 'B' has no rank"),
            ("--site A=a --site B=b -H c -n 3 p", "host 'c' is at no site"),
            ("--site A=a --site B=b --gateway C=c p", "there is no site 'C'"),
            ("--gateway C=c p", "there is no site 'C'"),
            ("--site A=a --site B=b --gateway A=b p", "one of the hosts of its site"),
            ("--site A=a --site B=b --gateway A=a:0 p", "a port from 1 to 65535"),
            ("--site A=a --site B=b --gateway A=a:x p", "a port from 1 to 65535"),
            ("--site A=a --site B=b --gateway A=a --gateway A=a p", "has another gateway already"),
        ] {
            let error = plan(line).expect_err(line);
            assert!(error.contains(part) && !error.contains('\n'), "{line}: {error}");
        }
    }
}
