//! Points that stay for long, in as few bits as they need.
//!
//! A chunk holds, for each column, the least value and as many bits as the largest is above it: a
//! value that does not change takes none. Nothing is lost, and noise costs no more than the points did.

use super::packed::{COLUMNS, Packed};

/// Points in a chunk. Fewer would pay more for heads and blocks of the heap, more for points that wait.
pub const POINTS: usize = 120;

/// For each column: 2 bytes of least value, 1 byte of width.
const HEAD: usize = 3 * COLUMNS;

#[derive(Clone, Debug)]
pub struct Chunk(Box<[u8]>);

impl Chunk {
    pub fn new(points: &[Packed; POINTS]) -> Chunk {
        let columns = points.map(Packed::columns);
        let mut bytes = Vec::with_capacity(HEAD + POINTS * size_of::<Packed>());
        let mut frames = [(0, 0); COLUMNS];
        for (i, frame) in frames.iter_mut().enumerate() {
            let (least, largest) = columns
                .iter()
                .fold((u16::MAX, 0), |(low, high), row| (row[i].min(low), row[i].max(high)));
            *frame = (least, u16::BITS - (largest - least).leading_zeros());
            bytes.extend_from_slice(&least.to_le_bytes());
            bytes.push(frame.1 as u8);
        }
        // At most 7 bits wait when the next 12 come.
        let (mut waiting, mut count) = (0u32, 0);
        for row in &columns {
            for (value, (least, width)) in row.iter().zip(frames) {
                waiting |= u32::from(value - least) << count;
                count += width;
                while count >= 8 {
                    bytes.push(waiting as u8);
                    waiting >>= 8;
                    count -= 8;
                }
            }
        }
        if count > 0 {
            bytes.push(waiting as u8);
        }
        Chunk(bytes.into_boxed_slice())
    }

    pub fn points(&self) -> [Packed; POINTS] {
        let (head, body) = self.0.split_at(HEAD);
        let mut body = body.iter();
        let (mut waiting, mut count) = (0u32, 0);
        let mut points = [Packed::GAP; POINTS];
        for point in &mut points {
            let mut row = [0; COLUMNS];
            for (value, frame) in row.iter_mut().zip(head.chunks_exact(3)) {
                let width = u32::from(frame[2]);
                while count < width {
                    waiting |= u32::from(*body.next().unwrap_or(&0)) << count;
                    count += 8;
                }
                let above = waiting & ((1 << width) - 1);
                waiting >>= width;
                count -= width;
                *value = u16::from_le_bytes([frame[0], frame[1]]) + above as u16;
            }
            *point = Packed::from_columns(row);
        }
        points
    }

    /// Bytes on the heap, without the heap's own.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Point;
    use proptest::prelude::*;

    #[test]
    fn what_does_not_change_takes_a_head_only() {
        let idle = Packed::new(&Point { cpu: Some(0.5), ..Point::default() });
        for point in [Packed::GAP, idle] {
            let chunk = Chunk::new(&[point; POINTS]);
            assert_eq!((chunk.bytes(), chunk.points()), (HEAD, [point; POINTS]));
        }
    }

    /// Half to twice its mean, as a busy host's do: processors by a tenth, memory slowly.
    #[test]
    fn busy_hosts_take_two_thirds() {
        let points = std::array::from_fn(|i| {
            let noise = |k: usize| ((i * 7919 + k * 104_729) % 101) as f32 / 100.0;
            let rate = |k| Some(1e6 * 2f32.powf(2.0 * noise(k) - 1.0));
            Packed::new(&Point {
                cpu: Some(0.8 + 0.1 * noise(1)),
                memory: Some(0.5 + i as f32 / 10_000.0),
                received: rate(2),
                sent: rate(3),
                read: rate(4),
                written: rate(5),
            })
        });
        let chunk = Chunk::new(&points);
        assert_eq!(chunk.points(), points);
        assert!(chunk.bytes() <= POINTS * 8 * 2 / 3, "{} bytes", chunk.bytes());
    }

    proptest! {
        #[test]
        fn any_points_come_back(words in prop::collection::vec(any::<[u16; COLUMNS]>(), POINTS)) {
            let points = std::array::from_fn(|i| {
                let [a, b, c, d, e, f] = words[i];
                Packed::from_columns([a & 255, b & 255, c & 4095, d & 4095, e & 4095, f & 4095])
            });
            let chunk = Chunk::new(&points);
            prop_assert_eq!(chunk.points(), points);
            prop_assert!(chunk.bytes() <= HEAD + 8 * POINTS);
        }
    }
}
