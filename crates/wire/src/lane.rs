//! How a rank's datagrams go to other hosts, in one word that others read ([`crate::counters::Counters::lane`]).

/// What carries a rank's datagrams. Where it is not UDP, UDP serves the peers that it does not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneInUse {
    Udp,
    /// AF_XDP, copied by the kernel's generic code.
    XdpGeneric,
    /// AF_XDP in the driver, copied.
    XdpNative,
    /// AF_XDP in the driver, the card reads and writes our memory.
    XdpZeroCopy,
    /// libfabric, by the provider of this number.
    Ofi(u64),
}

/// Word of the first provider of libfabric.
const FIRST_OFI: u64 = 16;

impl LaneInUse {
    pub fn to_word(self) -> u64 {
        match self {
            LaneInUse::Udp => 0,
            LaneInUse::XdpGeneric => 1,
            LaneInUse::XdpNative => 2,
            LaneInUse::XdpZeroCopy => 3,
            LaneInUse::Ofi(provider) => provider.saturating_add(FIRST_OFI),
        }
    }

    /// The lane of a word that another process has written; `None` where no lane has it.
    pub fn from_word(word: u64) -> Option<LaneInUse> {
        match word {
            0 => Some(LaneInUse::Udp),
            1 => Some(LaneInUse::XdpGeneric),
            2 => Some(LaneInUse::XdpNative),
            3 => Some(LaneInUse::XdpZeroCopy),
            FIRST_OFI.. => Some(LaneInUse::Ofi(word - FIRST_OFI)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        let lanes =
            [LaneInUse::Udp, LaneInUse::XdpGeneric, LaneInUse::XdpNative, LaneInUse::XdpZeroCopy];
        for lane in lanes.into_iter().chain((0..100).map(LaneInUse::Ofi)) {
            assert_eq!(LaneInUse::from_word(lane.to_word()), Some(lane));
        }
        assert_eq!(LaneInUse::from_word(4), None);
        assert_eq!(LaneInUse::from_word(FIRST_OFI - 1), None);
    }
}
