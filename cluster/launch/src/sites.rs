//! Sites: groups of hosts that cannot reach each other. What the user says of them, and which ranks are at which.

use hpvm_sites::{Sites, is_name};

use crate::error::LaunchError;
use crate::hosts::{self, Host};
use crate::spread::Spread;

/// What flags say about sites.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteOptions {
    sites: Vec<Site>,
    gateways: Vec<Chosen>,
    /// Gateways are not to compress.
    plain: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Site {
    name: String,
    hosts: Vec<String>,
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
    /// One for each site, in their order.
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
    /// Reads `NAME=HOST[:SLOTS],...`; gives the hosts.
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
        let hosts = hosts::parse_list(list)?;
        for host in &hosts {
            let other = self
                .sites
                .iter()
                .find(|site| site.hosts.iter().any(|other| same(other, &host.name)));
            if let Some(other) = other {
                return Err(LaunchError::usage(format!(
                    "{shown} {text}: host '{}' is at site '{}', too",
                    host.name, other.name
                )));
            }
        }
        let names = hosts.iter().map(|host| host.name.clone()).collect();
        self.sites.push(Site { name: name.to_string(), hosts: names });
        Ok(hosts)
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
        for chosen in &self.gateways {
            if !self.sites.iter().any(|site| site.name == chosen.site) {
                let (name, host) = (&chosen.site, &chosen.host);
                return Err(LaunchError::usage(format!(
                    "--gateway {name}={host}: there is no site '{name}'"
                )));
            }
        }
        if self.sites.len() == 1 {
            return Err(LaunchError::usage(format!(
                "--site {}: there is one site only; name the others, or use --host",
                self.sites[0].name
            )));
        }
        let is = |node: &crate::spread::Host, name: &str| {
            if node.local { is_local(name) } else { same(&node.host, name) }
        };
        let mut of_node: Vec<u16> = Vec::new();
        for node in &spread.nodes {
            let mut found = (0..)
                .zip(&self.sites)
                .filter(|(_, site)| site.hosts.iter().any(|name| is(node, name)));
            let host = &node.host;
            match (found.next(), found.next()) {
                (Some((number, _)), None) => of_node.push(number),
                (Some((_, one)), Some((_, other))) => {
                    return Err(LaunchError::usage(format!(
                        "--site: host '{host}' is at the sites '{}' and '{}'",
                        one.name, other.name
                    )));
                }
                (None, _) => {
                    return Err(LaunchError::usage(format!(
                        "host '{host}' is at no site: name it with --site, not with --host"
                    )));
                }
            }
        }
        let mut gateways = Vec::new();
        for (number, site) in (0_u16..).zip(&self.sites) {
            let chosen = self.gateways.iter().find(|chosen| chosen.site == site.name);
            let mut own =
                (0_u32..).zip(&spread.nodes).filter(|(node, _)| of_node[*node as usize] == number);
            let Some((node, host)) =
                own.find(|(_, node)| chosen.is_none_or(|chosen| is(node, &chosen.host)))
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
                None => site.hosts.iter().find(|name| is(host, name)).unwrap_or(&host.host).clone(),
            };
            gateways.push(Gateway {
                site: number,
                node,
                host,
                port: chosen.map_or(0, |chosen| chosen.port),
            });
        }
        let names = self.sites.iter().map(|site| site.name.clone()).collect();
        let ranks = spread.ranks.iter().map(|rank| of_node[rank.node as usize]).collect();
        Ok(Some(Plan { text: Sites { names, ranks }.text(), gateways, compress: !self.plain }))
    }
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
    fn mistakes_are_named() {
        for (line, part) in [
            ("--site A=a --site A=b p", "site 'A' is named twice"),
            ("--site A=a,b --site B=B p", "host 'B' is at site 'A', too"),
            ("--site A=a --site B=b --compress zip p", "--compress zip: expected auto or never"),
            ("--site A=here --site B=10.0.0.1 p", "is at the sites 'A' and 'B'"),
            ("--site A= p", "site 'A' has no host"),
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
