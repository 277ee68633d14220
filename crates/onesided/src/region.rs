//! The regions that this rank exposes, and those of other ranks that it has attached.

use crate::Rank;
use crate::atomicity::{self, Atomicity, OwnWord};
use crate::control::Words;
use crate::delegation::OwnerSlot;
use crate::key::RegionKey;
use crate::messages::packets::{Fault, RegionName};
use std::collections::BTreeMap;

/// A region of this rank.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub key: RegionKey,
    /// Where it begins.
    pub base: *mut u8,
    pub control: Words,
}

// SAFETY: the memory may be accessed by any thread of this process, by the rules of the model.
unsafe impl Send for Region {}
// SAFETY: as above; a region changes through `&mut` only.
unsafe impl Sync for Region {}

/// Regions by id. What a peer says of one is compared with this table.
#[derive(Default)]
pub(crate) struct Regions {
    slots: Vec<Slot>,
    exposed: usize,
}

#[derive(Default)]
struct Slot {
    /// Of the region that is here, or of the next.
    generation: u32,
    region: Option<Region>,
    /// Of a region that is any memory: the parts that may be accessed, by where they begin, with their bytes.
    parts: BTreeMap<u64, u64>,
}

impl Regions {
    /// Puts a region into the table, and its id and generation into the key.
    pub fn insert(&mut self, mut region: Region) -> RegionKey {
        let free = self.slots.iter().position(|slot| slot.region.is_none());
        let id = free.unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let slot = &mut self.slots[id];
        (region.key.id, region.key.generation) = (id as u32, slot.generation);
        slot.region = Some(region);
        self.exposed += 1;
        region.key
    }

    /// Takes a region out. `None`: it is not exposed.
    pub fn remove(&mut self, id: u32, generation: u32) -> Option<Region> {
        self.get(id, generation)?;
        let slot = &mut self.slots[id as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.parts.clear();
        self.exposed -= 1;
        slot.region.take()
    }

    pub fn get(&self, id: u32, generation: u32) -> Option<&Region> {
        let slot = self.slots.get(id as usize)?;
        slot.region.as_ref().filter(|_| slot.generation == generation)
    }

    pub fn get_mut(&mut self, id: u32, generation: u32) -> Option<&mut Region> {
        let slot = self.slots.get_mut(id as usize)?;
        slot.region.as_mut().filter(|_| slot.generation == generation)
    }

    /// The parts of a region that is any memory.
    pub fn parts(&mut self, id: u32, generation: u32) -> Option<&mut BTreeMap<u64, u64>> {
        let region = self.get(id, generation)?;
        let dynamic = region.key.is_dynamic();
        dynamic.then(|| &mut self.slots[id as usize].parts)
    }

    /// Where `len` bytes at `offset` of a region lie, as a peer names them.
    pub fn find(&self, name: RegionName, offset: u64, len: u64) -> Result<*mut u8, Fault> {
        let region = self.get(name.id, name.generation);
        let region = region.ok_or(Fault::NotExposed { region: name.id })?;
        let parts = &self.slots[name.id as usize].parts;
        let (first, size) = match region.key.is_dynamic() {
            false => (0, region.key.len),
            true => parts.range(..=offset).next_back().map_or((0, 0), |(at, size)| (*at, *size)),
        };
        let within = offset - first;
        match len <= size && within <= size - len {
            true => Ok(region.base.wrapping_add(offset as usize)),
            false => Err(Fault::Range { region: name.id, offset, len, size: region.key.len }),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.exposed == 0
    }
}

/// How a rank reaches the memory of a region: see [`crate::select`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// By loads and stores: where the region begins in our address space.
    Mapped(*mut u8),
    /// Through the kernel.
    CrossMemory,
    /// In packets, which the owner's progress applies.
    Messages,
}

/// A region that this rank can reach, and how. Made by [`crate::OneSided::attach`]; valid with the engine that
/// made it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub(crate) key: RegionKey,
    pub(crate) path: Path,
    pub(crate) control: Option<Words>,
    /// Where operations are left for the owner, if the memory is reached through the kernel.
    pub(crate) slot: Option<OwnerSlot>,
}

// SAFETY: the pointer is to memory that any thread of this process may access, by the rules of the model.
unsafe impl Send for Target {}
// SAFETY: as above; a target never changes.
unsafe impl Sync for Target {}

impl Target {
    /// The rank whose memory it is.
    pub fn rank(&self) -> Rank {
        self.key.rank
    }

    pub fn key(&self) -> &RegionKey {
        &self.key
    }

    pub fn path(&self) -> Path {
        self.path
    }

    /// How elements of the region are updated where it is mapped; `own` is the word of this rank.
    #[inline(always)]
    pub(crate) fn atomicity<'a>(&self, own: Option<OwnWord>) -> Atomicity<'a> {
        atomicity::select(self.key.is_locked(), self.key.is_direct(), own)
    }

    /// Where the memory lies in our address space, if it does.
    #[inline(always)]
    pub fn base(&self) -> Option<*mut u8> {
        match self.path {
            Path::Mapped(base) => Some(base),
            _ => None,
        }
    }

    /// The control words: of our own regions, and of those of other ranks of our host where memory can be lent.
    #[inline(always)]
    pub fn control(&self) -> Option<&Words> {
        self.control.as_ref()
    }
}
