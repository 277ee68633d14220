//! How a rank's datagrams travel to other hosts (its lane), in one word that tools read
//! ([`crate::counters::Counters::lane`]).

/// What carries a rank's datagrams. Where it is not UDP, UDP serves the peers that it does not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneInUse {
    Udp,
    /// UDP although something better was thought of.
    UdpFor(WhyUdp),
    /// AF_XDP, copied by the kernel's generic code.
    XdpGeneric,
    /// AF_XDP in the driver, copied.
    XdpNative,
    /// AF_XDP in the driver, the card reads and writes our memory.
    XdpZeroCopy,
    /// libfabric, by the provider of this number.
    Ofi(u64),
}

/// Why datagrams do not pass the kernel (AF_XDP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyUdp {
    /// Privileges are missing.
    Forbidden,
    /// Another job or program has the interfaces.
    Taken,
    /// Only in a mode that copies what others receive.
    Copies,
    /// No interface can.
    Impossible,
    /// The interfaces have gone away.
    Gone,
}

/// In the order of their words, which begin at `FIRST_WHY`.
const REASONS: [WhyUdp; 5] =
    [WhyUdp::Forbidden, WhyUdp::Taken, WhyUdp::Copies, WhyUdp::Impossible, WhyUdp::Gone];
const FIRST_WHY: u64 = 4;

/// Word of the first provider of libfabric.
const FIRST_OFI: u64 = 16;

impl LaneInUse {
    pub fn to_word(self) -> u64 {
        match self {
            LaneInUse::Udp => 0,
            LaneInUse::UdpFor(why) => {
                let number = REASONS.iter().position(|reason| *reason == why);
                number.map_or(0, |number| number as u64 + FIRST_WHY)
            }
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
            FIRST_WHY..FIRST_OFI => {
                let why = REASONS.get((word - FIRST_WHY) as usize)?;
                Some(LaneInUse::UdpFor(*why))
            }
            FIRST_OFI.. => Some(LaneInUse::Ofi(word - FIRST_OFI)),
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
        let reasons = REASONS.into_iter().map(LaneInUse::UdpFor);
        for lane in lanes.into_iter().chain(reasons).chain((0..100).map(LaneInUse::Ofi)) {
            assert_eq!(LaneInUse::from_word(lane.to_word()), Some(lane));
        }
        assert_eq!(LaneInUse::from_word(FIRST_WHY + REASONS.len() as u64), None);
        assert_eq!(LaneInUse::from_word(FIRST_OFI - 1), None);
    }
}
