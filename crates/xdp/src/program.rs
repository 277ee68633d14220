//! The program on the interface: which frames go to a process past the kernel.
//!
//! Those that hold a whole UDP datagram over IPv4 without options or over IPv6 without extension headers, not a
//! fragment, whose destination address, port and queue are in the table of endpoints. Everything else goes on to
//! the kernel, and so does what is longer than a frame of our memory (datagrams that a driver has joined).

use crate::frame::{ETHERNET, IPV4, IPV6, LARGEST_FRAME, UDP};
use crate::insn::{Assembler, B, H, Insn, Label, W};
use std::net::IpAddr;

/// `bpf_map_lookup_elem`, `bpf_redirect_map` and `bpf_xdp_get_buff_len`.
pub(crate) const LOOKUP: i32 = 1;
pub(crate) const REDIRECT: i32 = 51;
pub(crate) const LENGTH: i32 = 188;
/// The program's result for what the kernel shall handle.
pub(crate) const PASS: i32 = 2;
/// Offsets in the program's argument (`struct xdp_md`).
pub(crate) const DATA: i16 = 0;
pub(crate) const DATA_END: i16 = 4;
pub(crate) const QUEUE: i16 = 16;

/// Bytes of a key in the table of endpoints: address, port, queue.
pub const KEY: usize = 24;

/// Who receives: the key of the table whose values are indices of sockets. IPv4 addresses are mapped to IPv6.
pub fn key(address: IpAddr, port: u16, queue: u32) -> [u8; KEY] {
    let six = match address {
        IpAddr::V4(four) => four.to_ipv6_mapped(),
        IpAddr::V6(six) => six,
    };
    let mut key = [0; KEY];
    key[..16].copy_from_slice(&six.octets());
    // As the program stores it: a word, whose lower half is the port in network order.
    key[16..20].copy_from_slice(&u32::from(port.to_be()).to_ne_bytes());
    key[20..].copy_from_slice(&queue.to_ne_bytes());
    key
}

const CONTEXT: u8 = 6;
const FRAME: u8 = 7;
const END: u8 = 8;
const STACK: u8 = 10;

const OUT: Label = Label(0);
const SIX: Label = Label(1);
const FIND: Label = Label(2);

/// The key's offset on the stack.
const AT: i16 = -(KEY as i16);

/// A number of two bytes as a load of two bytes gives it.
fn network(value: u16) -> i32 {
    i32::from(value.to_be())
}

/// The program, for maps with these descriptors. `in_pieces`: it is given frames that lie in several pieces (Linux 5.18), which
/// it leaves to the kernel; without that the kernel joins the pieces of all frames first, or the driver takes no long ones.
pub fn program(endpoints: i32, sockets: i32, in_pieces: bool) -> Vec<Insn> {
    let mut a = Assembler::default();
    a.set(CONTEXT, 1);
    if in_pieces {
        a.call(LENGTH);
        a.jump_greater_value(0, LARGEST_FRAME as i32, OUT);
    }
    a.load(W, FRAME, CONTEXT, DATA);
    a.load(W, END, CONTEXT, DATA_END);
    if in_pieces {
        // What lies in the first piece is less than all.
        a.set(1, FRAME);
        a.add(1, 0);
        a.jump_greater(1, END, OUT);
    }
    a.set(1, FRAME);
    a.add_value(1, (ETHERNET + IPV4 + UDP) as i32);
    a.jump_greater(1, END, OUT);
    a.set(1, FRAME);
    a.add_value(1, LARGEST_FRAME as i32);
    a.jump_greater(END, 1, OUT);
    a.load(H, 1, FRAME, 12);
    a.jump_equal(1, network(0x86dd), SIX);
    a.jump_unequal(1, network(0x0800), OUT);
    ipv4(&mut a);
    a.label(SIX);
    ipv6(&mut a);
    a.label(FIND);
    find(&mut a, endpoints, sockets);
    a.label(OUT);
    a.set_value(0, PASS);
    a.exit();
    a.finish().unwrap_or_default()
}

fn ipv4(a: &mut Assembler) {
    const IP: i16 = ETHERNET as i16;
    a.load(B, 1, FRAME, IP);
    a.jump_unequal(1, 0x45, OUT);
    // Neither more fragments nor an offset.
    a.load(H, 1, FRAME, IP + 6);
    a.and_value(1, network(0x3fff));
    a.jump_unequal(1, 0, OUT);
    a.load(B, 1, FRAME, IP + 9);
    a.jump_unequal(1, libc::IPPROTO_UDP, OUT);
    a.store_value(W, STACK, AT, 0);
    a.store_value(W, STACK, AT + 4, 0);
    a.store_value(W, STACK, AT + 8, 0xffff_u32.to_be() as i32);
    a.load(W, 1, FRAME, IP + 16);
    a.store(W, STACK, AT + 12, 1);
    a.load(H, 1, FRAME, IP + IPV4 as i16 + 2);
    a.jump(FIND);
}

fn ipv6(a: &mut Assembler) {
    const IP: i16 = ETHERNET as i16;
    a.set(1, FRAME);
    a.add_value(1, (ETHERNET + IPV6 + UDP) as i32);
    a.jump_greater(1, END, OUT);
    a.load(B, 1, FRAME, IP);
    a.and_value(1, 0xf0);
    a.jump_unequal(1, 0x60, OUT);
    a.load(B, 1, FRAME, IP + 6);
    a.jump_unequal(1, libc::IPPROTO_UDP, OUT);
    for word in 0..4 {
        a.load(W, 1, FRAME, IP + 24 + 4 * word);
        a.store(W, STACK, AT + 4 * word, 1);
    }
    a.load(H, 1, FRAME, IP + IPV6 as i16 + 2);
}

/// Register 1 holds the destination port.
fn find(a: &mut Assembler, endpoints: i32, sockets: i32) {
    a.store(W, STACK, AT + 16, 1);
    a.load(W, 1, CONTEXT, QUEUE);
    a.store(W, STACK, AT + 20, 1);
    a.set(2, STACK);
    a.add_value(2, i32::from(AT));
    a.map(1, endpoints);
    a.call(LOOKUP);
    a.jump_equal(0, 0, OUT);
    a.load(W, 2, 0, 0);
    a.map(1, sockets);
    a.set_value(3, PASS);
    a.call(REDIRECT);
    a.exit();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Header, finish};
    use crate::interpreter::{Machine, Verdict};

    fn frame(from: &str, to: &str, body: &[u8]) -> Vec<u8> {
        let header = Header::new([1; 6], [2; 6], from.parse().unwrap(), to.parse().unwrap());
        let header = header.unwrap();
        let mut frame = vec![0; header.len() + body.len()];
        frame[header.len()..].copy_from_slice(body);
        finish(&mut frame, &header);
        frame
    }

    fn run_in_pieces(frame: &[u8], behind: usize, queue: u32, in_pieces: bool) -> Verdict {
        let of = |ip: &str| key(ip.parse().unwrap(), 7000, 3);
        let endpoints = [(of("10.0.0.2"), 5), (of("fd00::2"), 6)];
        let machine = Machine::new(&endpoints, frame, behind, queue);
        machine.run(&program(11, 12, in_pieces), 11, 12)
    }

    /// Both forms of the program, which agree about frames of one piece.
    fn run(frame: &[u8], queue: u32) -> Verdict {
        let [whole, in_pieces] = [false, true].map(|form| run_in_pieces(frame, 0, queue, form));
        assert_eq!(whole, in_pieces);
        whole
    }

    #[test]
    fn frames_in_several_pieces_are_the_kernels() {
        let four = frame("10.0.0.1:9", "10.0.0.2:7000", &[7; 1000]);
        assert_eq!(run_in_pieces(&four, 0, 3, true), Verdict::Redirect(5));
        for behind in [1, 400, 9000] {
            assert_eq!(run_in_pieces(&four, behind, 3, true), Verdict::Pass, "{behind}");
        }
    }

    #[test]
    fn our_datagrams_go_to_our_socket() {
        for body in [&b""[..], &[7; 1], &[7; 1400]] {
            let four = frame("10.0.0.1:9", "10.0.0.2:7000", body);
            assert_eq!(run(&four, 3), Verdict::Redirect(5));
            assert_eq!(run(&four, 2), Verdict::Pass);
            let six = frame("[fd00::1]:9", "[fd00::2]:7000", body);
            assert_eq!(run(&six, 3), Verdict::Redirect(6));
        }
    }

    #[test]
    fn everything_else_is_the_kernels() {
        for (from, to) in [
            ("10.0.0.1:9", "10.0.0.2:7001"),
            ("10.0.0.1:7000", "10.0.0.3:7000"),
            ("[fd00::1]:9", "[fd00::2]:7001"),
            ("[fd00::1]:9", "[fd00::3]:7000"),
            ("[fd00::1]:9", "[::ffff:10.0.0.3]:7000"),
        ] {
            assert_eq!(run(&frame(from, to, b"x"), 3), Verdict::Pass, "{to}");
        }
        let four = frame("10.0.0.1:9", "10.0.0.2:7000", b"x");
        let six = frame("[fd00::1]:9", "[fd00::2]:7000", b"x");
        // (frame, byte, value): another protocol, options, fragments, a VLAN, an extension header.
        for (frame, at, value) in [
            (&four, 12, 0x81),
            (&four, 13, 0x06),
            (&four, 14, 0x46),
            (&four, 14, 0x65),
            (&four, 20, 0x20),
            (&four, 20, 0x01),
            (&four, 21, 0x01),
            (&four, 23, 6),
            (&six, 14, 0x45),
            (&six, 20, 0),
            (&six, 20, 44),
        ] {
            let mut frame = frame.clone();
            frame[at] = value;
            assert_eq!(run(&frame, 3), Verdict::Pass, "byte {at}");
        }
        let mut reserved = four.clone();
        reserved[20] = 0x40;
        assert_eq!(run(&reserved, 3), Verdict::Redirect(5), "don't fragment is no fragment");
    }

    #[test]
    fn short_and_long_frames_are_the_kernels() {
        for (whole, queue) in [
            (frame("10.0.0.1:9", "10.0.0.2:7000", b""), 3),
            (frame("[fd00::1]:9", "[fd00::2]:7000", b""), 3),
        ] {
            for len in 0..whole.len() {
                assert_eq!(run(&whole[..len], queue), Verdict::Pass, "{len}");
            }
        }
        let headers = ETHERNET + IPV4 + UDP;
        let most = frame("10.0.0.1:9", "10.0.0.2:7000", &vec![0; LARGEST_FRAME - headers]);
        assert_eq!(run(&most, 3), Verdict::Redirect(5));
        let joined = frame("10.0.0.1:9", "10.0.0.2:7000", &vec![0; LARGEST_FRAME - headers + 1]);
        assert_eq!(run(&joined, 3), Verdict::Pass);
    }

    proptest::proptest! {
        /// The interpreter fails on any access outside of the frame, the stack and the argument.
        #[test]
        fn no_frame_leads_it_astray(
            mut bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
            kind in 0..3,
        ) {
            if bytes.len() > 24 && kind > 0 {
                let (a, b, c) = if kind == 1 { (8, 0, 0x45) } else { (0x86, 0xdd, 0x60) };
                (bytes[12], bytes[13], bytes[14]) = (a, b, c);
                bytes[if kind == 1 { 23 } else { 20 }] = 17;
            }
            run(&bytes, 3);
        }
    }
}
