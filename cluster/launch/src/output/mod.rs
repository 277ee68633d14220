//! Brings the ranks' output together: [`routing`] is what the user says, [`mux`] decides what is written
//! when, [`sink`] writes it, [`files`] writes what goes to files.

pub mod files;
pub mod mux;
pub mod pattern;
pub mod routing;
pub mod sink;

use std::time::Duration;

use files::Files;
use mux::{Mux, Prefix};
pub use routing::Routing;
use sink::Sink;

/// The way of everything that ranks write; `side` is 0 for their standard output, 1 for their standard
/// error.
#[derive(Debug)]
pub struct Outputs {
    ranks: u32,
    merge: bool,
    copy: [bool; 2],
    /// How lines are joined, and where they go.
    pub muxes: [Mux; 2],
    pub sinks: [Sink; 2],
    files: Files,
}

impl Outputs {
    /// For so many ranks; `prefixes` are what stands in front of their lines, empty for nothing.
    pub fn new(
        ranks: u32,
        routing: &Routing,
        prefixes: Vec<Vec<u8>>,
        files: Files,
    ) -> std::io::Result<Self> {
        let prefix = Prefix { time: routing.time, texts: prefixes };
        // Of streams that go the same way each keeps its own lines whole.
        let streams = [ranks * if routing.merge { 2 } else { 1 }, ranks];
        let mux =
            |side: usize| Mux::new(streams[side] as usize, prefix.clone(), crate::clock::stamp);
        Ok(Self {
            ranks,
            merge: routing.merge,
            copy: routing.copy,
            muxes: [mux(0), mux(1)],
            sinks: [Sink::new(1)?, Sink::new(2)?],
            files,
        })
    }

    /// The side that a rank's stream comes out at, and its number there.
    fn way(&self, rank: u32, side: usize) -> (usize, u32) {
        if self.merge && side == 1 { (0, rank + self.ranks) } else { (side, rank) }
    }

    /// Whether more of this stream can be taken.
    pub fn wants(&self, rank: u32, side: usize) -> bool {
        let (out, stream) = self.way(rank, side);
        self.muxes[out].wants(stream)
    }

    /// Whether so much waits that a stream should not be read.
    pub fn full(&self, rank: u32, side: usize) -> bool {
        self.sinks[self.way(rank, side).0].full()
    }

    /// Takes bytes that a rank wrote.
    pub fn data(&mut self, rank: u32, side: usize, bytes: &[u8], now: Duration) {
        self.files.write(rank, side, bytes);
        if self.copy[side] {
            let (out, stream) = self.way(rank, side);
            self.muxes[out].data(stream, bytes, now, self.sinks[out].buffer());
        }
    }

    /// A rank's stream has ended.
    pub fn close(&mut self, rank: u32, side: usize) {
        let (out, stream) = self.way(rank, side);
        self.muxes[out].close(stream, self.sinks[out].buffer());
    }

    /// Why a file could not be written, once.
    pub fn file_fault(&mut self) -> Option<String> {
        self.files.take_fault()
    }

    /// Appends a line of the launcher's own to its standard error.
    pub fn message(&mut self, line: &str) {
        self.muxes[1].message(line, self.sinks[1].buffer());
    }

    /// What has become due by the passing of time.
    pub fn tick(&mut self, now: Duration) {
        for (mux, sink) in self.muxes.iter_mut().zip(&mut self.sinks) {
            mux.tick(now, sink.buffer());
        }
    }

    /// Hands everything that is still held to the sinks.
    pub fn flush(&mut self) {
        for (mux, sink) in self.muxes.iter_mut().zip(&mut self.sinks) {
            mux.flush(sink.buffer());
        }
    }

    /// When [`Outputs::tick`] has something to do. Held lines are useless while their sink takes
    /// nothing.
    pub fn next_timeout(&self) -> Option<Duration> {
        let pairs = self.muxes.iter().zip(&self.sinks).filter(|(_, sink)| !sink.full());
        pairs.filter_map(|(mux, _)| mux.next_timeout()).min()
    }
}
