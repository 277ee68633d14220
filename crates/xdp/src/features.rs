//! What is to be expected of an interface, told without touching it.

use crate::device::{Interface, Mode};
use crate::netlink::{Attributes, Netlink, add};
use crate::open::{Refusal, Why, copies, explain};
use std::io;

/// Numbers of generic netlink: the family that knows the others, its question and the attributes of that and of its answer.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// The family `netdev` (Linux 6.3): its question about an interface, and attributes.
const GET_DEVICE: u8 = 1;
const DEVICE_INDEX: u16 = 1;
const DEVICE_FEATURES: u16 = 3;
/// Features of a driver: it runs programs and obeys their redirections; it needs no copies.
const NATIVE: u64 = 1 | 2;
const ZERO_COPY: u64 = 8;

/// Why native mode is not for virtual interfaces.
pub const SLOW_VETH: &str = "native mode is slower between virtual interfaces (veth)";

fn question(command: u8, kind: u16, value: &[u8]) -> Vec<u8> {
    let mut body = vec![command, 1, 0, 0];
    add(&mut body, kind, value);
    body
}

/// An attribute of an answer, which begins with a header of four bytes.
fn attribute(answer: &[u8], kind: u16) -> Option<&[u8]> {
    Attributes(answer.get(4..)?).find(|(k, _)| *k == kind).map(|(_, value)| value)
}

/// What the driver of an interface says that it can.
///
/// # Errors
/// The kernel is older than 6.3, or there is no such interface.
fn features(interface: u32) -> io::Result<u64> {
    let mut netlink = Netlink::generic()?;
    let ask = question(GET_FAMILY, FAMILY_NAME, b"netdev\0");
    let family = netlink.ask((CONTROLLER, CONTROLLER), &ask, |answer| {
        Some(u16::from_ne_bytes(*attribute(answer, FAMILY_ID)?.first_chunk()?))
    })?;
    let ask = question(GET_DEVICE, DEVICE_INDEX, &interface.to_ne_bytes());
    netlink.ask((family, family), &ask, |answer| {
        Some(u64::from_ne_bytes(*attribute(answer, DEVICE_FEATURES)?.first_chunk()?))
    })
}

/// The mode in which an interface will probably be used, and why in none that is better.
///
/// # Errors
/// It can't be used.
pub fn expected(name: &str, index: u32) -> Result<(Mode, String), Refusal> {
    let failed = |error: io::Error| explain(name, &error);
    let link = Netlink::new().and_then(|mut netlink| netlink.link(index)).map_err(failed)?;
    if !link.ethernet {
        let text = format!("interface {name} is none of Ethernet");
        return Err(Refusal { why: Why::Impossible, text });
    }
    if link.veth {
        return Ok((Mode::Generic, SLOW_VETH.to_owned()));
    }
    Ok(match features(index) {
        Ok(known) if known & NATIVE != NATIVE => {
            (Mode::Generic, "its driver has no native mode".to_owned())
        }
        Ok(known) if known & ZERO_COPY == 0 => {
            (Mode::Native, "its driver has no zero-copy".to_owned())
        }
        Ok(_) => (Mode::ZeroCopy, String::new()),
        Err(_) => (Mode::ZeroCopy, "or what its driver has: this kernel does not tell".to_owned()),
    })
}

/// Whether one of these interfaces has a mode that is good for everybody who uses it.
///
/// # Errors
/// Why none has.
pub fn worth(interfaces: &[Interface]) -> Result<(), Refusal> {
    let none = "there is no interface of Ethernet".to_owned();
    let mut refusal = Refusal { why: Why::Impossible, text: none };
    for Interface { name, index, .. } in interfaces {
        match expected(name, *index) {
            Ok((Mode::Generic, why)) => refusal = copies(name, &why),
            Ok(_) => return Ok(()),
            Err(other) if refusal.why == Why::Impossible => refusal = other,
            Err(_) => {}
        }
    }
    Err(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_not_worth_it() {
        let lo = Interface { name: "lo".to_owned(), index: 1, addresses: vec![] };
        let refusal = worth(&[lo]).unwrap_err();
        assert!(refusal.text.contains("none of Ethernet"), "{refusal:?}");
        assert!(worth(&[]).is_err());
        // Linux 6.3 and later tell; the loopback does nothing of this in its driver.
        assert_eq!(features(1).unwrap_or(0) & NATIVE, 0);
        assert!(features(0x7fff_ffff).is_err());
    }
}
