//! Shared memory passes the suite of `hpvm-transport`, with and without membarrier.

use hpvm_shm::{Mapping, Shm};
use hpvm_transport::conformance::Fixture;
use hpvm_wire::segment::SLOTS;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// All ranks of a job in this process.
fn job(size: u32, fences: bool) -> Vec<Shm> {
    let mapping = Mapping::create(size, [1, 2]).expect("a segment in memory");
    if fences {
        // What a rank does that may not use membarrier.
        mapping.header().fences.store(1, Ordering::Relaxed); // relaxed: one thread
    }
    let mapping = Arc::new(mapping);
    let attach = |rank| Shm::attach(mapping.clone(), rank).expect("a free rank");
    let mut ends: Vec<Shm> = (0..size).map(attach).collect();
    ends.iter_mut().for_each(Shm::settle);
    ends
}

struct Plain;

impl Fixture for Plain {
    type Endpoint = Shm;
    fn open(&mut self, size: u32) -> Vec<Shm> {
        job(size, false)
    }
    fn bound(&self, _size: u32) -> usize {
        SLOTS as usize
    }
}

struct Fenced;

impl Fixture for Fenced {
    type Endpoint = Shm;
    fn open(&mut self, size: u32) -> Vec<Shm> {
        job(size, true)
    }
    fn bound(&self, _size: u32) -> usize {
        SLOTS as usize
    }
}

mod plain {
    use super::*;
    hpvm_transport::conformance_suite!(Plain);
}

mod fenced {
    use super::*;
    hpvm_transport::conformance_suite!(Fenced);
}
