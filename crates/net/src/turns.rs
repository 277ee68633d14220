//! Which of the ways for datagrams is polled next. A way past the UDP socket (XDP, libfabric) is polled every time. The
//! socket, which costs more and then carries less, is polled now and then.

/// Looks past the socket for each look into it: after something came by the socket, and at most, after looks in vain.
const SOCKET_INTERVAL_MIN: u32 = 2;
const SOCKET_INTERVAL_MAX: u32 = 64;
/// Looks in vain into the socket until there are fewer.
const VAIN_LOOKS_MAX: u32 = 16;

pub struct Turns {
    looks: u32,
    every: u32,
    vain: u32,
}

impl Turns {
    pub fn new() -> Turns {
        Turns { looks: 0, every: SOCKET_INTERVAL_MIN, vain: 0 }
    }

    /// Nothing has come past the socket: whether it is the socket's turn.
    #[inline]
    pub fn is_socket(&mut self) -> bool {
        self.looks += 1;
        let socket = self.looks >= self.every;
        if socket {
            self.looks = 0;
        }
        socket
    }

    /// What a look into the socket has brought.
    #[inline]
    pub fn looked(&mut self, came: bool) {
        if came {
            (self.every, self.vain) = (SOCKET_INTERVAL_MIN, 0);
            return;
        }
        self.vain += 1;
        if self.vain >= VAIN_LOOKS_MAX {
            (self.every, self.vain) = ((2 * self.every).min(SOCKET_INTERVAL_MAX), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks until it is the socket's turn.
    fn until(turns: &mut Turns) -> u32 {
        (1..).find(|_| turns.is_socket()).unwrap_or(0)
    }

    #[test]
    fn a_socket_that_brings_nothing_is_looked_at_less_and_less() {
        let mut turns = Turns::new();
        assert_eq!(until(&mut turns), SOCKET_INTERVAL_MIN);
        for _ in 0..VAIN_LOOKS_MAX * 20 {
            turns.looked(false);
        }
        assert_eq!(until(&mut turns), SOCKET_INTERVAL_MAX);
        turns.looked(true);
        assert_eq!(until(&mut turns), SOCKET_INTERVAL_MIN);
    }
}
