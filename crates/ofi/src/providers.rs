//! Names of providers as numbers, for a counter that other processes read.

/// Its place plus one is a name's number; new ones come last.
const KNOWN: &[&str] = &[
    "tcp;ofi_rxm",
    "tcp",
    "verbs;ofi_rxm",
    "udp;ofi_rxd",
    "efa",
    "psm3",
    "psm2",
    "psm",
    "opx",
    "cxi",
    "ucx",
    "net",
    "net;ofi_rxm",
    "sockets",
    "shm",
    "verbs;ofi_rxd",
    "gni",
];
/// A name that is not among them.
const OTHER: u64 = 255;

/// The number of a provider's name.
pub fn number(name: &str) -> u64 {
    KNOWN.iter().position(|known| *known == name).map_or(OTHER, |at| at as u64 + 1)
}

/// The name of a number; 0 is none.
pub fn word(number: u64) -> Option<&'static str> {
    match number {
        0 => None,
        n => Some(KNOWN.get(n as usize - 1).copied().unwrap_or("another provider")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_names() {
        assert_eq!(word(0), None);
        for name in KNOWN {
            assert_eq!(word(number(name)), Some(*name));
        }
        assert_eq!(word(number("nobody knows")), Some("another provider"));
        assert!(KNOWN.len() < OTHER as usize);
    }
}
