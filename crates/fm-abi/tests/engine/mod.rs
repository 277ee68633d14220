//! The least that a host needs: the engine over shared memory and its streams.

use hpvm_fm::{Broken, Fast, Fm};
use hpvm_shm::{Mapping, Shm};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub struct Engine {
    pub fm: Fm<Shm>,
    pub fast: Fast,
}

impl Engine {
    /// Attaches as `rank` and waits for the others.
    pub fn new(mapping: Arc<Mapping>, rank: u32) -> Result<Engine, String> {
        let mut shm = Shm::attach(mapping.clone(), rank).map_err(|why| why.to_string())?;
        while mapping.attached().load(Ordering::SeqCst) < mapping.ranks() {
            std::thread::yield_now();
        }
        shm.settle();
        let fm = Fm::new(shm);
        let fast = Fast::new(fm.size(), fm.limits().packet);
        Ok(Engine { fm, fast })
    }

    /// Extracts one packet; what is wrong with it, if anything.
    pub fn poll(&mut self) -> Result<(usize, Option<String>), Broken> {
        let fast = &mut self.fast;
        let mut fault = None;
        let packets = self.fm.extract(1, |src, head, payload| {
            if let Err(why) = fast.on_packet(src, head, payload) {
                fault = Some(why.to_string());
            }
        })?;
        Ok((packets, fault))
    }

    pub fn sleep(&mut self) {
        self.fm.sleep(Duration::from_millis(1));
    }
}
