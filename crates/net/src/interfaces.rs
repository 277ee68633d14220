//! The network interfaces of this host, and which of their addresses are told to others.

use crate::card::{AddressAndPrefix, is_link_local};
use crate::socket::Socket;
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One address of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    /// The number that link-local addresses need.
    pub index: u32,
    pub up: bool,
    pub loopback: bool,
    /// Its address, with its network.
    pub subnet: AddressAndPrefix,
}

/// Which interfaces the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All that may reach somebody.
    All,
    Name(String),
    Network(AddressAndPrefix),
}

impl Choice {
    /// Reads `NAME` or `ADDRESS/PREFIX`; an address alone means the interface that has it.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn parse(text: &str) -> Result<Choice, String> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let Ok(address) = address.parse::<IpAddr>() else {
            return match prefix {
                Some(_) => Err(format!("{text:?} is no network; expected ADDRESS/BITS or a name")),
                None if text.is_empty() => Ok(Choice::All),
                None => Ok(Choice::Name(text.to_owned())),
            };
        };
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => most,
            Some(bits) => bits.parse().ok().filter(|b| *b <= most).ok_or_else(|| {
                format!("{text:?}: expected a prefix of 0 to {most} bits after the slash")
            })?,
        };
        Ok(Choice::Network(AddressAndPrefix { ip: address, prefix }))
    }

    fn takes(&self, interface: &Interface) -> bool {
        match self {
            Choice::All => true,
            Choice::Name(name) => *name == interface.name,
            Choice::Network(network) => network.shares_network(interface.subnet.ip),
        }
    }
}

/// The addresses that are worth telling: of interfaces that are up; of loopback interfaces or
/// link-local only when there is nothing better, or when the user chose just those.
///
/// # Errors
/// What the user chose does not exist: says what does.
pub fn choose(all: &[Interface], choice: &Choice) -> Result<Vec<Interface>, String> {
    let up: Vec<&Interface> = all.iter().filter(|i| i.up && choice.takes(i)).collect();
    let kinds: [fn(&Interface) -> bool; 3] = [
        |i| !i.loopback && !is_link_local(i.subnet.ip),
        |i| !i.loopback && is_link_local(i.subnet.ip),
        |i| i.loopback,
    ];
    for kind in kinds {
        let found: Vec<Interface> = up.iter().filter(|i| kind(i)).map(|i| (*i).clone()).collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let mut there: Vec<String> = Vec::new();
    for i in all {
        let down = if i.up { "" } else { " (down)" };
        there.push(format!("{} {}/{}{down}", i.name, i.subnet.ip, i.subnet.prefix));
    }
    let wanted = match choice {
        Choice::All => "no network interface is up".to_owned(),
        Choice::Name(name) => format!("no interface called {name} is up and has an address"),
        Choice::Network(n) => format!("no interface in {}/{} is up", n.ip, n.prefix),
    };
    Err(format!("{wanted}; there are: {}", there.join(", ")))
}

/// Every address of this host.
///
/// # Errors
/// The system does not tell.
pub fn all() -> io::Result<Vec<Interface>> {
    let mut first = core::ptr::null_mut();
    // SAFETY: valid memory for the head of the list.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: the list's entries stay valid until `freeifaddrs`; null ends it.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: an entry of the list.
        found.extend(unsafe { read(entry) });
        next = entry.ifa_next;
    }
    // SAFETY: the list that `getifaddrs` made, once.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// The MTU of an interface, if there is one of this name.
pub fn mtu(name: &str) -> Option<usize> {
    // SAFETY: zeros are a value of the structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays 0.
    let room = request.ifr_name.len() - 1;
    if name.len() > room {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let socket = Socket::open(false, None).ok()?;
    // SAFETY: a request with a name that ends, which the kernel answers in `ifru_mtu`.
    let mtu = unsafe {
        let result = libc::ioctl(socket.fd(), libc::SIOCGIFMTU, &raw mut request);
        if result != 0 {
            return None;
        }
        request.ifr_ifru.ifru_mtu
    };
    usize::try_from(mtu).ok()
}

/// # Safety
/// `entry` comes from `getifaddrs` and has not been freed.
unsafe fn read(entry: &libc::ifaddrs) -> Option<Interface> {
    // SAFETY: address and mask are null or valid, and the name is a C string.
    let (address, mask, name) =
        unsafe { (ip(entry.ifa_addr)?, ip(entry.ifa_netmask), CStr::from_ptr(entry.ifa_name)) };
    let prefix = match mask {
        Some(IpAddr::V4(mask)) => mask.to_bits().leading_ones() as u8,
        Some(IpAddr::V6(mask)) => mask.to_bits().leading_ones() as u8,
        None if address.is_ipv4() => 32,
        None => 128,
    };
    // Running says that the cable is in; loopback interfaces do not care.
    let flags = entry.ifa_flags;
    let has = |flag: libc::c_int| flags & flag as libc::c_uint != 0;
    // SAFETY: a C string.
    let index = unsafe { libc::if_nametoindex(entry.ifa_name) };
    Some(Interface {
        name: name.to_string_lossy().into_owned(),
        index,
        up: has(libc::IFF_UP),
        loopback: has(libc::IFF_LOOPBACK),
        subnet: AddressAndPrefix { ip: address, prefix },
    })
}

/// # Safety
/// `address` is null or valid for its family.
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the family says which structure it is. Read unaligned because
    // the list packs them.
    unsafe {
        match libc::c_int::from((*address).sa_family) {
            libc::AF_INET => {
                let a = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(a.sin_addr.s_addr))))
            }
            libc::AF_INET6 => {
                let a = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(IpAddr::V6(Ipv6Addr::from(a.sin6_addr.s6_addr)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_have_an_mtu() {
        let system = |name: &str| std::fs::read_to_string(format!("/sys/class/net/{name}/mtu"));
        let lo = system("lo").expect("Linux has it").trim().parse().ok();
        assert_eq!(mtu("lo"), lo);
        for name in ["", "no such", &"x".repeat(100)] {
            assert_eq!(mtu(name), None);
        }
    }

    fn interface(name: &str, text: &str, up: bool) -> Interface {
        let (address, prefix) = text.split_once('/').unwrap();
        let subnet =
            AddressAndPrefix { ip: address.parse().unwrap(), prefix: prefix.parse().unwrap() };
        Interface { name: name.into(), index: 1, up, loopback: name == "lo", subnet }
    }

    fn host() -> Vec<Interface> {
        vec![
            interface("lo", "127.0.0.1/8", true),
            interface("lo", "::1/128", true),
            interface("eth0", "10.0.0.5/24", true),
            interface("eth0", "fd00::5/64", true),
            interface("eth0", "fe80::5/64", true),
            interface("eth1", "192.168.1.5/24", false),
            interface("docker0", "172.17.0.1/16", true),
        ]
    }

    fn chosen(all: &[Interface], choice: &str) -> Result<Vec<String>, String> {
        let found = choose(all, &Choice::parse(choice)?)?;
        Ok(found.iter().map(|i| i.subnet.ip.to_string()).collect())
    }

    #[test]
    fn all_means_what_may_reach_somebody() {
        assert_eq!(chosen(&host(), "").unwrap(), ["10.0.0.5", "fd00::5", "172.17.0.1"]);
        assert_eq!(chosen(&host()[..2], "").unwrap(), ["127.0.0.1", "::1"]);
        assert_eq!(chosen(&host()[4..5], "").unwrap(), ["fe80::5"]);
    }

    #[test]
    fn by_name_and_by_network() {
        assert_eq!(chosen(&host(), "eth0").unwrap(), ["10.0.0.5", "fd00::5"]);
        assert_eq!(chosen(&host(), "lo").unwrap(), ["127.0.0.1", "::1"]);
        assert_eq!(chosen(&host(), "10.0.0.0/8").unwrap(), ["10.0.0.5"]);
        assert_eq!(chosen(&host(), "fd00::/16").unwrap(), ["fd00::5"]);
        assert_eq!(chosen(&host(), "10.0.0.5").unwrap(), ["10.0.0.5"]);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let error = chosen(&host(), "eth1").unwrap_err();
        assert!(error.contains("eth1 192.168.1.5/24 (down)"), "{error}");
        let error = chosen(&host(), "10.9.0.0/16").unwrap_err();
        assert!(error.contains("10.9.0.0/16") && error.contains("eth0 10.0.0.5/24"), "{error}");
        for bad in ["10.0.0.0/33", "10.0.0.0/x", "eth0/24"] {
            assert!(chosen(&host(), bad).unwrap_err().contains(bad));
        }
    }

    #[test]
    fn this_host_has_a_loopback() {
        let found = all().unwrap();
        assert!(found.iter().any(|i| i.loopback && i.index > 0), "{found:?}");
    }
}
