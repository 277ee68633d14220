//! Cards: where a process can be reached, as text in the process manager's key space.
//!
//! `PORT,LIVENESS PORT,HOST,ADDRESS/PREFIX,ADDRESS/PREFIX,...`, one word without spaces; with libfabric also
//! `ofi:PROVIDER:ADDRESS` behind the host, in which `+` stands for `;` and the address is in hexadecimal. Which of the addresses
//! really reaches the process is found out by trying.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of one process that are told. More make probing slow, and values have a limit.
pub const MAX_ADDRESSES: usize = 12;
/// Letters of a host's name that are told.
const HOST: usize = 64;
/// Longest card, bytes: what the process managers that we know take as one value.
pub const CARD_BYTES_MAX: usize = 900;

/// An address and the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressAndPrefix {
    pub ip: IpAddr,
    pub prefix: u8,
}

impl AddressAndPrefix {
    /// Whether both are in one network as far as this one's prefix says.
    pub fn shares_network(&self, other: IpAddr) -> bool {
        match (self.ip, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let shift = 32 - u32::from(self.prefix.min(32));
                let differ = a.to_bits() ^ b.to_bits();
                differ.checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let shift = 128 - u32::from(self.prefix.min(128));
                let differ = a.to_bits() ^ b.to_bits();
                differ.checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// Where a process is reached by libfabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricCard {
    pub provider: String,
    /// In the provider's form, at most [`hpvm_ofi::LONGEST_ADDRESS`] bytes.
    pub address: Vec<u8>,
}

/// Letters of a provider's name that are told.
const PROVIDER: usize = 40;

impl FabricCard {
    fn text(&self) -> String {
        let hex: String = self.address.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{FABRIC}{}:{hex}", self.provider.replace(';', "+"))
    }

    fn parse(text: &str) -> Option<FabricCard> {
        let (provider, hex) = text.split_once(':')?;
        let fits = (1..=PROVIDER).contains(&provider.len())
            && (1..=hpvm_ofi::LONGEST_ADDRESS).contains(&(hex.len() / 2))
            && hex.len().is_multiple_of(2)
            && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digits = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let address: Option<Vec<u8>> =
            fits.then(|| (0..hex.len()).step_by(2).map(digits).collect()).flatten();
        Some(FabricCard { provider: provider.replace('+', ";"), address: address? })
    }
}

/// What a card's part for libfabric begins with: no address does.
const FABRIC: &str = "ofi:";

/// Where one process listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Port of its datagrams and of its streams.
    pub port: u16,
    /// Port at which its kernel refuses connections as long as it lives.
    pub liveness_port: u16,
    /// Name of the host, for messages.
    pub host: String,
    pub fabric: Option<FabricCard>,
    /// Its addresses, at most [`MAX_ADDRESSES`].
    pub addresses: Vec<AddressAndPrefix>,
}

impl Card {
    pub fn text(&self) -> String {
        let fits = |c: &char| c.is_ascii_graphic() && !matches!(c, ',' | ';' | '=');
        let host: String = self.host.chars().filter(fits).take(HOST).collect();
        let mut text = format!("{},{},{host}", self.port, self.liveness_port);
        if let Some(fabric) = self.fabric.as_ref().filter(|f| f.provider.len() <= PROVIDER) {
            text = format!("{text},{}", fabric.text());
        }
        for subnet in self.addresses.iter().take(MAX_ADDRESSES) {
            let next = format!(",{}/{}", subnet.ip, subnet.prefix);
            if text.len() + next.len() > CARD_BYTES_MAX {
                break;
            }
            text.push_str(&next);
        }
        text
    }

    /// Reads what another process published.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn parse(text: &str) -> Result<Card, String> {
        let bad = |what: &str| format!("{what} in the address card {text:?}");
        let mut parts = text.split(',');
        let mut port = || {
            let port = parts.next().and_then(|p| p.parse().ok()).filter(|p| *p != 0);
            port.ok_or_else(|| bad("no two ports from 1 to 65535"))
        };
        let (port, liveness_port) = (port()?, port()?);
        let host = parts.next().unwrap_or("").to_owned();
        let mut addresses = Vec::new();
        let mut fabric = None;
        for part in parts {
            if let Some(text) = part.strip_prefix(FABRIC) {
                let read = FabricCard::parse(text).filter(|_| fabric.is_none());
                fabric =
                    Some(read.ok_or_else(|| bad("something else than one ofi:PROVIDER:ADDRESS"))?);
                continue;
            }
            if addresses.len() == MAX_ADDRESSES {
                return Err(bad("too many addresses"));
            }
            let address = part.split_once('/').and_then(|(address, prefix)| {
                let address: IpAddr = address.parse().ok()?;
                let most = if address.is_ipv4() { 32 } else { 128 };
                let prefix = prefix.parse().ok().filter(|p| *p <= most)?;
                Some(AddressAndPrefix { ip: address, prefix })
            });
            addresses.push(address.ok_or_else(|| bad("something else than ADDRESS/PREFIX"))?);
        }
        if addresses.is_empty() {
            return Err(bad("no address"));
        }
        Ok(Card { port, liveness_port, host, fabric, addresses })
    }

    /// The addresses in the order in which they are worth trying from a host that has `own`:
    /// those in a network of ours come first.
    pub fn ordered(&self, own: &[AddressAndPrefix]) -> Vec<IpAddr> {
        let near = |p: &AddressAndPrefix| own.iter().any(|o| o.shares_network(p.ip));
        let mut addresses: Vec<&AddressAndPrefix> = self.addresses.iter().collect();
        addresses.sort_by_key(|p| !near(p));
        addresses.into_iter().map(|p| p.ip).collect()
    }
}

/// Whether an address is one that only its own link knows.
pub fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => Ipv4Addr::is_link_local(&a),
        IpAddr::V6(a) => Ipv6Addr::is_unicast_link_local(&a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(text: &str) -> AddressAndPrefix {
        let (address, prefix) = text.split_once('/').unwrap();
        AddressAndPrefix { ip: address.parse().unwrap(), prefix: prefix.parse().unwrap() }
    }

    #[test]
    fn text_round_trip() {
        let addresses = vec![subnet("10.0.0.1/24"), subnet("fd00::1/64")];
        let host = "a.b".into();
        let card = Card { port: 40000, liveness_port: 40001, host, fabric: None, addresses };
        assert_eq!(card.text(), "40000,40001,a.b,10.0.0.1/24,fd00::1/64");
        assert_eq!(Card::parse(&card.text()).as_ref(), Ok(&card));
        let fabric = FabricCard { provider: "tcp;ofi_rxm".into(), address: vec![2, 0, 255] };
        let card = Card { fabric: Some(fabric), ..card };
        let text = "40000,40001,a.b,ofi:tcp+ofi_rxm:0200ff,10.0.0.1/24,fd00::1/64";
        assert_eq!(card.text(), text);
        assert_eq!(Card::parse(text), Ok(card));
    }

    #[test]
    fn a_card_fits_one_value() {
        let long = subnet("2001:db8:1234:5678:9abc:def0:1234:5678/128");
        let address = vec![0xff; hpvm_ofi::LONGEST_ADDRESS];
        let card = Card {
            port: 65535,
            liveness_port: 65535,
            host: "a; b=".repeat(99),
            fabric: Some(FabricCard { provider: "p".repeat(PROVIDER), address }),
            addresses: vec![long; 100],
        };
        assert!(card.text().len() <= CARD_BYTES_MAX);
        assert!(Card::parse(&card.text()).is_ok());
    }

    #[test]
    fn garbage_is_named() {
        for (text, says) in [
            ("", "port"),
            ("0,2,h,10.0.0.1/24", "port"),
            ("70000,2,h,10.0.0.1/24", "port"),
            ("1,0,h,10.0.0.1/24", "port"),
            ("1,h,10.0.0.1/24", "port"),
            ("1", "port"),
            ("1,2", "no address"),
            ("1,2,h,", "ADDRESS/PREFIX"),
            ("1,2,h,10.0.0.1", "ADDRESS/PREFIX"),
            ("1,2,h,10.0.0.1/33", "ADDRESS/PREFIX"),
            ("1,2,h,fd00::1/129", "ADDRESS/PREFIX"),
            ("1,2,h,ofi:tcp,10.0.0.1/24", "ofi:PROVIDER"),
            ("1,2,h,ofi::00,10.0.0.1/24", "ofi:PROVIDER"),
            ("1,2,h,ofi:tcp:0,10.0.0.1/24", "ofi:PROVIDER"),
            ("1,2,h,ofi:tcp:+1,10.0.0.1/24", "ofi:PROVIDER"),
            ("1,2,h,ofi:tcp:,10.0.0.1/24", "ofi:PROVIDER"),
            ("1,2,h,ofi:a:00,ofi:a:00,10.0.0.1/24", "ofi:PROVIDER"),
            (&format!("1,2,h,ofi:a:{}", "0".repeat(258)), "ofi:PROVIDER"),
            (&("1,2,h".to_owned() + &",10.0.0.1/8".repeat(MAX_ADDRESSES + 1)), "too many"),
        ] {
            let error = Card::parse(text).unwrap_err();
            assert!(error.contains(says) && error.contains(text), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_taken_is_a_card(text in "[0-9]{0,6},[0-9]{0,6},[a-z.]{0,4}(,[0-9a-f:./]{0,12}){0,14}") {
            if let Ok(card) = Card::parse(&text) {
                assert!(card.port > 0 && card.liveness_port > 0);
                assert!((1..=MAX_ADDRESSES).contains(&card.addresses.len()));
                assert_eq!(Card::parse(&card.text()), Ok(card));
            }
        }

        #[test]
        fn any_text_is_taken_or_refused(text in ".{0,80}") {
            let _ = Card::parse(&text);
        }
    }

    #[test]
    fn networks_of_ours_first() {
        let text = "1,2,h,172.17.0.1/16,10.1.2.3/24,fd00::9/64,192.168.7.7/24";
        let card = Card::parse(text).unwrap();
        let own = [subnet("192.168.7.1/24"), subnet("fd00::1/64")];
        let order: Vec<String> = card.ordered(&own).iter().map(IpAddr::to_string).collect();
        assert_eq!(order, ["fd00::9", "192.168.7.7", "172.17.0.1", "10.1.2.3"]);
        assert!(subnet("10.0.0.1/0").shares_network("99.0.0.1".parse().unwrap()));
        assert!(!subnet("10.0.0.1/32").shares_network("10.0.0.2".parse().unwrap()));
    }
}
