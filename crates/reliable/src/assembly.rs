//! Packets out of the stream of records.

use crate::hub::Dropped;
use hpvm_wire::Head;
use hpvm_wire::datagram::{RECORD, read_record};

/// The packet whose payload is longer than the datagrams that have come.
pub(crate) struct Assembly {
    head: Head,
    /// Bytes of its payload; 0 when no packet is incomplete.
    total: usize,
    bytes: Vec<u8>,
}

impl Default for Assembly {
    fn default() -> Assembly {
        Assembly {
            head: Head { handler: 0, flags: 0, aux: 0, imm: 0 },
            total: 0,
            bytes: Vec::new(),
        }
    }
}

impl Assembly {
    /// Delivers the packets that are complete with the next datagram's records; how many. Err:
    /// they are no records, and nothing was delivered or remembered.
    #[inline]
    pub fn deliver(
        &mut self,
        records: &[u8],
        most: usize,
        deliver: &mut impl FnMut(Head, &[u8]),
    ) -> Result<usize, Dropped> {
        if self.total == 0
            && let Some((record, payload)) = records.split_first_chunk::<RECORD>()
        {
            // One packet, as nearly always.
            let (head, len) = read_record(record);
            if len == payload.len() && len <= most {
                deliver(head, payload);
                return Ok(1);
            }
        }
        if !self.is_sound(records, most) {
            return Err(Dropped::Garbage);
        }
        Ok(self.deliver_sound(records, most, deliver))
    }

    fn is_sound(&self, records: &[u8], most: usize) -> bool {
        let missing = self.total.saturating_sub(self.bytes.len());
        let mut rest = records.get(missing..).unwrap_or(&[]);
        while !rest.is_empty() {
            let Some((record, payload)) = rest.split_first_chunk::<RECORD>() else { return false };
            let (_, len) = read_record(record);
            if len > most {
                return false;
            }
            rest = payload.get(len..).unwrap_or(&[]);
        }
        true
    }

    fn deliver_sound(
        &mut self,
        records: &[u8],
        most: usize,
        deliver: &mut impl FnMut(Head, &[u8]),
    ) -> usize {
        let mut delivered = 0;
        let mut rest = records;
        if self.total > 0 {
            let missing = self.total - self.bytes.len();
            let (part, later) = rest.split_at(missing.min(rest.len()));
            self.bytes.extend_from_slice(part);
            rest = later;
            if self.bytes.len() == self.total {
                deliver(self.head, &self.bytes);
                delivered += 1;
                self.total = 0;
                self.bytes.clear();
            }
        }
        while let Some((record, payload)) = rest.split_first_chunk::<RECORD>() {
            let (head, len) = read_record(record);
            let Some(whole) = payload.get(..len) else {
                (self.head, self.total) = (head, len);
                self.bytes.reserve_exact(most.saturating_sub(self.bytes.capacity()));
                self.bytes.extend_from_slice(payload);
                break;
            };
            deliver(head, whole);
            delivered += 1;
            rest = &payload[len..];
        }
        delivered
    }

    pub fn shrink(&mut self) {
        if self.total == 0 {
            self.bytes = Vec::new();
        }
    }

    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_wire::datagram::write_record;

    fn record(handler: u8, flags: u8, len: u16) -> [u8; RECORD] {
        let mut to = [0; RECORD];
        write_record(&mut to, Head { handler, flags, aux: 1, imm: 2 }, len);
        to
    }

    #[test]
    fn any_cut_gives_the_same_packets() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..500 {
            let mut stream = Vec::new();
            let mut cuts = vec![0];
            let mut expected = Vec::new();
            for i in 0..20 {
                let len = [0, 1, 30, 900][random.usize(0..4)];
                stream.extend(record(i, 3, len));
                let body = stream.len();
                stream.extend((0..len).map(|b| b as u8 ^ i));
                expected.push((i, len as usize));
                // Anywhere but within a record's own bytes.
                cuts.extend((0..2).map(|_| random.usize(body..=stream.len())));
            }
            cuts.sort_unstable();
            cuts.push(stream.len());
            let mut assembly = Assembly::default();
            let mut seen = Vec::new();
            for pair in cuts.windows(2).filter(|p| p[0] < p[1]) {
                let mut deliver = |head: Head, bytes: &[u8]| {
                    let content = |(i, b): (usize, &u8)| *b == i as u8 ^ head.handler;
                    assert!(bytes.iter().enumerate().all(content));
                    seen.push((head.handler, bytes.len()));
                };
                let part = &stream[pair[0]..pair[1]];
                assembly.deliver(part, 1000, &mut deliver).expect("sound");
            }
            assert_eq!(seen, expected);
            assert_eq!(assembly.total, 0);
            assert!(assembly.memory() <= 1000);
        }
    }

    #[test]
    fn nonsense_leaves_no_trace() {
        let mut assembly = Assembly::default();
        let mut none = |_: Head, _: &[u8]| panic!("delivered");
        let good = record(1, 0, 0);
        for bad in [
            [&good[..], b"x"].concat(),
            record(1, 0, 1001).to_vec(),
            [&good[..], &record(1, 0, 1001)].concat(),
        ] {
            assert_eq!(assembly.deliver(&bad, 1000, &mut none), Err(Dropped::Garbage));
        }
        assert_eq!((assembly.total, assembly.memory()), (0, 0));
    }
}
