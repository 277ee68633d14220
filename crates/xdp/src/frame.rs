//! Frames of Ethernet that hold one UDP datagram over IPv4 or IPv6: written from a template, and read with
//! everything checked that the kernel would have checked.

use std::net::{IpAddr, SocketAddr};

pub const ETHERNET: usize = 14;
pub const IPV4: usize = 20;
pub const IPV6: usize = 40;
pub const UDP: usize = 8;
/// Longest frame that goes this way: ordinary Ethernet.
pub const LARGEST_FRAME: usize = ETHERNET + 1500;

const TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const TYPE_IPV6: [u8; 2] = [0x86, 0xdd];
const PROTOCOL: u8 = libc::IPPROTO_UDP as u8;
/// As the kernel's own datagrams have it.
const HOPS: u8 = 64;
const DONT_FRAGMENT: u8 = 0x40;

pub type Mac = [u8; 6];

/// The ones' complement sum of bytes, not yet folded; of an odd number the last one is padded with zero. It is
/// the same in either byte order, so it is made in the machine's.
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let word =
        |bytes: &[u8]| u64::from(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    words.map(word).sum::<u64>() + word(&last)
}

/// The sum in two bytes.
#[inline]
fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// A number as `sum` would add it if it lay there in network order.
#[inline]
fn word(value: u16) -> u64 {
    u64::from(value.to_be())
}

/// What all datagrams from one port to another have in common.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    bytes: [u8; ETHERNET + IPV6 + UDP],
    len: u8,
    /// Of the IPv4 header without its length and its checksum.
    ip_sum: u64,
    /// Of the pseudo-header and the ports, without lengths.
    udp_sum: u64,
}

impl Header {
    /// `None`: the addresses are of different families.
    pub fn new(source: Mac, next: Mac, from: SocketAddr, to: SocketAddr) -> Option<Header> {
        let mut bytes = [0; ETHERNET + IPV6 + UDP];
        bytes[..6].copy_from_slice(&next);
        bytes[6..12].copy_from_slice(&source);
        let ip = match (from.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                bytes[12..14].copy_from_slice(&TYPE_IPV4);
                let ip = &mut bytes[ETHERNET..ETHERNET + IPV4];
                (ip[0], ip[6], ip[8], ip[9]) = (0x45, DONT_FRAGMENT, HOPS, PROTOCOL);
                ip[12..16].copy_from_slice(&from.octets());
                ip[16..20].copy_from_slice(&to.octets());
                IPV4
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                bytes[12..14].copy_from_slice(&TYPE_IPV6);
                let ip = &mut bytes[ETHERNET..ETHERNET + IPV6];
                (ip[0], ip[6], ip[7]) = (0x60, PROTOCOL, HOPS);
                ip[8..24].copy_from_slice(&from.octets());
                ip[24..40].copy_from_slice(&to.octets());
                IPV6
            }
            _ => return None,
        };
        let udp = ETHERNET + ip;
        bytes[udp..udp + 2].copy_from_slice(&from.port().to_be_bytes());
        bytes[udp + 2..udp + 4].copy_from_slice(&to.port().to_be_bytes());
        let addresses = if ip == IPV4 { ETHERNET + 12 } else { ETHERNET + 8 };
        Some(Header {
            bytes,
            len: (udp + UDP) as u8,
            ip_sum: sum(&bytes[ETHERNET..udp]),
            udp_sum: sum(&bytes[addresses..udp + 4]) + word(u16::from(PROTOCOL)),
        })
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }
}

/// Writes the headers before the body of `frame`, which begins at `header.len()` and has at most 65,000 bytes.
#[inline]
pub fn finish(frame: &mut [u8], header: &Header) {
    let (head, body) = frame.split_at_mut(header.len());
    head.copy_from_slice(&header.bytes[..header.len()]);
    let datagram = (UDP + body.len()) as u16;
    let udp = header.len() - UDP;
    if udp == ETHERNET + IPV4 {
        let total = datagram + IPV4 as u16;
        head[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&total.to_be_bytes());
        let check = !fold(header.ip_sum + word(total));
        head[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&check.to_ne_bytes());
    } else {
        head[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&datagram.to_be_bytes());
    }
    head[udp + 4..udp + 6].copy_from_slice(&datagram.to_be_bytes());
    // The length is in the pseudo-header and in the header.
    let check = match !fold(header.udp_sum + 2 * word(datagram) + sum(body)) {
        // Zero would say that there is none.
        0 => 0xffff,
        check => check,
    };
    head[udp + 6..udp + 8].copy_from_slice(&check.to_ne_bytes());
}

/// A datagram in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub body: &'a [u8],
}

fn port(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]])
}

/// Reads a frame. `None`: it is not one whole UDP datagram with the right lengths and checksums.
#[inline]
pub fn read(frame: &[u8]) -> Option<Datagram<'_>> {
    let (ethernet, packet) = frame.split_at_checked(ETHERNET)?;
    let (from, to, datagram): (IpAddr, IpAddr, _) = match [ethernet[12], ethernet[13]] {
        TYPE_IPV4 => {
            let (ip, _) = packet.split_at_checked(IPV4)?;
            let total = usize::from(port(&ip[2..]));
            let fragment = port(&ip[6..]) & 0x3fff;
            if ip[0] != 0x45 || ip[9] != PROTOCOL || fragment != 0 || fold(sum(ip)) != 0xffff {
                return None;
            }
            let octets = |at: usize| [ip[at], ip[at + 1], ip[at + 2], ip[at + 3]];
            (octets(12).into(), octets(16).into(), packet.get(IPV4..total)?)
        }
        TYPE_IPV6 => {
            let (ip, _) = packet.split_at_checked(IPV6)?;
            if ip[0] >> 4 != 6 || ip[6] != PROTOCOL {
                return None;
            }
            let octets = |at: usize| <[u8; 16]>::try_from(&ip[at..at + 16]).ok();
            let end = IPV6 + usize::from(port(&ip[4..]));
            (octets(8)?.into(), octets(24)?.into(), packet.get(IPV6..end)?)
        }
        _ => return None,
    };
    let (udp, body) = datagram.split_at_checked(UDP)?;
    if usize::from(port(&udp[4..])) != datagram.len() || !checked(packet, datagram) {
        return None;
    }
    let (from, to) = (SocketAddr::new(from, port(udp)), SocketAddr::new(to, port(&udp[2..])));
    Some(Datagram { from, to, body })
}

/// Whether the checksum of a datagram is right, or left to hardware that the frame has never seen, as between
/// virtual interfaces: then it covers the pseudo-header alone. Without one there is nothing to check, which IPv4
/// allows.
#[inline]
fn checked(packet: &[u8], datagram: &[u8]) -> bool {
    let four = packet[0] >> 4 == 4;
    let addresses = if four { &packet[12..20] } else { &packet[8..40] };
    let pseudo = sum(addresses) + word(u16::from(PROTOCOL)) + word(datagram.len() as u16);
    let check = u16::from_ne_bytes([datagram[6], datagram[7]]);
    match check {
        0 => four,
        _ => fold(pseudo + sum(datagram)) == 0xffff || check == fold(pseudo),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn addresses(six: bool) -> (SocketAddr, SocketAddr) {
        let (a, b) = if six {
            ("[fd00::1]:40001", "[fd00::2]:40002")
        } else {
            ("10.77.0.1:40001", "10.77.0.2:40002")
        };
        (a.parse().unwrap(), b.parse().unwrap())
    }

    fn frame(six: bool, body: &[u8]) -> Vec<u8> {
        let (from, to) = addresses(six);
        let header = Header::new([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], from, to).unwrap();
        let mut frame = vec![0; header.len() + body.len()];
        frame[header.len()..].copy_from_slice(body);
        finish(&mut frame, &header);
        frame
    }

    /// The checksum as RFC 1071 describes it.
    fn slow(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn a_known_frame() {
        let bytes = frame(false, b"hi\n");
        assert_eq!(bytes.len(), 45);
        assert_eq!(bytes[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        assert_eq!(bytes[14..24], [0x45, 0, 0, 31, 0, 0, 0x40, 0, 64, 17]);
        assert_eq!(slow(&bytes[14..34]), 0xffff);
        assert_eq!(bytes[38..40], [0, 11]);
    }

    #[test]
    fn checksums_left_to_hardware_and_missing_ones() {
        for six in [false, true] {
            let whole = frame(six, b"hello");
            let (udp, pseudo) = if six { (54, &whole[22..54]) } else { (34, &whole[26..34]) };
            let tail = [0, 17, 0, 13];
            let partial = slow(&[pseudo, &tail].concat());
            let mut left = whole.clone();
            left[udp + 6..udp + 8].copy_from_slice(&partial.to_be_bytes());
            assert_eq!(read(&left).unwrap().body, b"hello");
            left[udp + 6..udp + 8].fill(0);
            assert_eq!(read(&left).is_some(), !six, "IPv6 wants one");
        }
    }

    #[test]
    fn padding_of_short_frames_is_no_body() {
        let mut bytes = frame(false, b"x");
        bytes.resize(60, 0xaa);
        assert_eq!(read(&bytes).unwrap().body, b"x");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(six: bool, body in proptest::collection::vec(0u8.., 0..1472)) {
            let bytes = frame(six, &body);
            let (from, to) = addresses(six);
            prop_assert_eq!(read(&bytes), Some(Datagram { from, to, body: &body }));
            if !six {
                prop_assert_eq!(slow(&bytes[14..34]), 0xffff);
            }
            let (udp, addresses) = if six { (54, 22..54) } else { (34, 26..34) };
            let len = (bytes.len() - udp) as u16;
            let pseudo = [&bytes[addresses], &[0, 17], &len.to_be_bytes()].concat();
            prop_assert_eq!(slow(&[&pseudo, &bytes[udp..]].concat()), 0xffff);
        }

        #[test]
        fn one_wrong_bit_is_seen(six: bool, at in 14usize..200, bit in 0..8) {
            let mut bytes = frame(six, &[0x5a; 146]);
            let at = at.min(bytes.len() - 1);
            bytes[at] ^= 1u8 << bit;
            // These the kernel ignores as well: class, flow label, hop limit.
            let ignored = six && (matches!(at, 15..=17 | 21) || at == 14 && bit < 4);
            prop_assert_eq!(read(&bytes).is_some(), ignored);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(0u8.., 0..120)) {
            let _ = read(&bytes);
        }

        #[test]
        fn cut_frames_are_refused(six: bool, len in 0usize..100) {
            let bytes = frame(six, &[1; 100]);
            prop_assert!(read(&bytes[..len]).is_none());
        }
    }
}
