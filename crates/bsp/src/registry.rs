//! Registrations: which blocks of the processes belong together.
//!
//! `bsp_push_reg` and `bsp_pop_reg` are remembered until the end of the superstep; then the processes exchange their
//! sequences ([`Registry::own_words`]) and each draws the same conclusions from all of them
//! ([`Registry::agree`]): the n-th push of every process makes one registration, with one *slot*, a small number
//! that is the same everywhere and used again when the registration is gone.

use crate::fault::Fault;
use std::collections::HashMap;

/// The size that says that a process has registered NULL.
pub const NULL_BLOCK: i64 = -1;

/// A pop of NULL, which names no registration by itself.
const NULL_POP: i64 = -1;

/// Addresses that the last accesses used; a power of two.
const CACHE: usize = 16;

#[derive(Clone, Copy)]
struct Slot {
    /// Our block.
    base: *mut u8,
    /// Number of the registration, counted from the begin of the program; `None`: the slot is free.
    serial: Option<i64>,
    /// We have popped it in this superstep.
    leaving: bool,
}

#[derive(Clone, Copy)]
struct Push {
    base: *mut u8,
    size: i64,
    leaving: bool,
}

#[derive(Clone, Copy)]
struct Cached {
    address: *const u8,
    slot: u32,
    /// Where the slot's row of `sizes` begins, which stays until the registrations change.
    row: usize,
}

/// What an access reaches of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub slot: u32,
    /// Bytes that the other process has registered.
    pub size: u32,
    /// Our own address of it.
    pub base: *const u8,
}

pub struct Registry {
    processes: usize,
    pid: usize,
    slots: Vec<Slot>,
    /// Sizes of the blocks of all processes, `slot * processes + process`.
    sizes: Vec<i64>,
    free: Vec<u32>,
    /// Slots by the address of our block, the most recent last.
    by_address: HashMap<usize, Vec<u32>>,
    /// Slots by serial: a program may register each row of a matrix, and pop all rows at once.
    by_serial: HashMap<i64, u32>,
    pushes: Vec<Push>,
    /// Serials, or `NULL_POP`.
    pops: Vec<i64>,
    serial: i64,
    cache: [Cached; CACHE],
}

/// Where a block is in the cache.
#[inline(always)]
fn place(base: *const u8) -> usize {
    (base.addr() >> 4) & (CACHE - 1)
}

/// The address of no block.
const NO_ENTRY: Cached =
    Cached { address: std::ptr::without_provenance(usize::MAX), slot: 0, row: 0 };

impl Registry {
    pub fn new(pid: usize, processes: usize) -> Registry {
        Registry {
            processes,
            pid,
            slots: Vec::new(),
            sizes: Vec::new(),
            free: Vec::new(),
            by_address: HashMap::new(),
            by_serial: HashMap::new(),
            pushes: Vec::new(),
            pops: Vec::new(),
            serial: 0,
            cache: [NO_ENTRY; CACHE],
        }
    }

    pub fn push(&mut self, base: *mut u8, size: i32) -> Result<(), Fault> {
        if size < 0 {
            return Err(Fault::new(format!("the size is {size}; expected 0 or more bytes")));
        }
        if base.is_null() && size > 0 {
            let text = format!(
                "NULL with a size of {size} bytes; expected NULL with 0, or the address of a block"
            );
            return Err(Fault::new(text));
        }
        let size = if base.is_null() { NULL_BLOCK } else { i64::from(size) };
        self.pushes.push(Push { base, size, leaving: false });
        Ok(())
    }

    pub fn pop(&mut self, base: *mut u8) -> Result<(), Fault> {
        if base.is_null() {
            self.pops.push(NULL_POP);
            return Ok(());
        }
        let pushed = self.pushes.iter_mut().enumerate();
        if let Some((i, push)) = pushed.rev().find(|(_, push)| push.base == base && !push.leaving) {
            push.leaving = true;
            self.pops.push(self.serial + i as i64);
            return Ok(());
        }
        let stack = self.by_address.get(&base.addr()).map_or(&[][..], Vec::as_slice);
        let Some(slot) = stack.iter().rev().find(|slot| !self.slots[**slot as usize].leaving)
        else {
            let text = format!(
                "the block at {base:p} is not registered, or popped already; expected the address of a \
                                registration that is not popped"
            );
            return Err(Fault::new(text));
        };
        let slot = &mut self.slots[*slot as usize];
        slot.leaving = true;
        self.pops.extend(slot.serial);
        Ok(())
    }

    pub fn pushes(&self) -> u64 {
        self.pushes.len() as u64
    }

    pub fn pops(&self) -> u64 {
        self.pops.len() as u64
    }

    /// What the others must know of the pushes and pops of this superstep.
    pub fn own_words(&self) -> Vec<i64> {
        self.pushes.iter().map(|push| push.size).chain(self.pops.iter().copied()).collect()
    }

    /// Makes the pushes and pops of this superstep valid; `all` has the words of every process, equally many.
    pub fn agree(&mut self, all: &[i64]) -> Result<(), Fault> {
        let (pushes, pops) = (std::mem::take(&mut self.pushes), std::mem::take(&mut self.pops));
        let words = pushes.len() + pops.len();
        let of = |process: usize, word: usize| all[process * words + word];
        for (i, push) in pushes.iter().enumerate() {
            let slot = self.new_slot(push);
            for process in 0..self.processes {
                self.sizes[slot as usize * self.processes + process] = of(process, i);
            }
        }
        for i in 0..pops.len() {
            let named: Vec<i64> = (0..self.processes).map(|p| of(p, pushes.len() + i)).collect();
            let slot = self.popped(&named)?;
            self.remove(slot);
        }
        self.cache = [NO_ENTRY; CACHE];
        Ok(())
    }

    fn new_slot(&mut self, push: &Push) -> u32 {
        let serial = self.serial;
        let new = Slot { base: push.base, serial: Some(serial), leaving: push.leaving };
        self.serial += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(new);
            self.sizes.resize(self.slots.len() * self.processes, 0);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = new;
        self.by_serial.insert(serial, slot);
        if !push.base.is_null() {
            self.by_address.entry(push.base.addr()).or_default().push(slot);
        }
        slot
    }

    fn size(&self, slot: u32, process: usize) -> i64 {
        self.sizes[slot as usize * self.processes + process]
    }

    /// The slot that the processes have popped together; `named` says what each has called it.
    fn popped(&self, named: &[i64]) -> Result<u32, Fault> {
        let Some(first) = named.iter().position(|serial| *serial != NULL_POP) else {
            let everywhere =
                |slot: u32| (0..self.processes).all(|p| self.size(slot, p) == NULL_BLOCK);
            let found = self.by_serial.iter().filter(|(_, slot)| everywhere(**slot)).max();
            return found.map(|(_, slot)| *slot).ok_or_else(|| {
                let text = "all processes have popped NULL, but there is no registration of NULL on all processes";
                Fault::by_all("bsp_pop_reg", text)
            });
        };
        let serial = named[first];
        let differ = |p: usize| {
            let text = format!(
                "process {first} and process {p} have not popped the same registration; all processes must pop the \
                 same in the same order"
            );
            Err(Fault::by_all("bsp_pop_reg", text))
        };
        if let Some(p) = named.iter().position(|other| *other != NULL_POP && *other != serial) {
            return differ(p);
        }
        let Some(&slot) = self.by_serial.get(&serial) else {
            return Err(Fault::by_all(
                "bsp_pop_reg",
                format!("process {first} has popped a registration twice"),
            ));
        };
        let null = |p: &usize| named[*p] == NULL_POP && self.size(slot, *p) != NULL_BLOCK;
        match (0..self.processes).find(null) {
            Some(p) => differ(p),
            None => Ok(slot),
        }
    }

    fn remove(&mut self, slot: u32) {
        let Slot { base, serial, .. } = self.slots[slot as usize];
        if let Some(serial) = serial {
            self.by_serial.remove(&serial);
        }
        if let Some(stack) = self.by_address.get_mut(&base.addr()) {
            stack.retain(|other| *other != slot);
            if stack.is_empty() {
                self.by_address.remove(&base.addr());
            }
        }
        self.slots[slot as usize] =
            Slot { base: std::ptr::null_mut(), serial: None, leaving: false };
        self.free.push(slot);
    }

    /// What `len` bytes at `offset` in the block of `process` are reached by that belongs to our `base`. `None`:
    /// `refusal` says why.
    pub fn reach(&mut self, base: *const u8, process: i32, offset: i32, len: i32) -> Option<Block> {
        if self.cache[place(base)].address != base {
            self.look_up(base)?;
        }
        let Cached { slot, row, .. } = self.cache[place(base)];
        if process as u32 as usize >= self.processes || (offset | len) < 0 {
            return None;
        }
        let size = u32::try_from(*self.sizes.get(row + process as usize)?).ok()?;
        (offset as u32 + len as u32 <= size).then_some(Block { slot, size, base })
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, base: *const u8) -> Option<()> {
        let slot = *self.by_address.get(&base.addr())?.last()?;
        let row = slot as usize * self.processes;
        self.cache[place(base)] = Cached { address: base, slot, row };
        Some(())
    }

    /// Why `reach` has found nothing.
    #[cold]
    pub fn refusal(&self, base: *const u8, process: i32, offset: i32, len: i32) -> Fault {
        let last = self.processes - 1;
        if process < 0 || process as usize >= self.processes {
            return Fault::new(format!("there is no process {process}; expected 0 to {last}"));
        }
        if offset < 0 {
            return Fault::new(format!("the offset is {offset}; expected 0 or more bytes"));
        }
        if len < 0 {
            return Fault::new(format!("the size is {len}; expected 0 or more bytes"));
        }
        if base.is_null() {
            return Fault::new(
                "NULL names no registration; expected the address of a block that this process has registered",
            );
        }
        let Some(slot) = self.by_address.get(&base.addr()).and_then(|stack| stack.last()) else {
            let pushed = self.pushes.iter().any(|push| std::ptr::eq(push.base, base));
            return Fault::new(if pushed {
                format!(
                    "the block at {base:p} was registered in this superstep; it can be used from the next one on"
                )
            } else {
                format!(
                    "the block at {base:p} is not registered; bsp_push_reg it in an earlier superstep, with this address"
                )
            });
        };
        let size = self.size(*slot, process as usize);
        if size == NULL_BLOCK {
            return Fault::new(format!(
                "process {process} has registered NULL for the block at {base:p}, so it has no memory there"
            ));
        }
        let end = i64::from(offset) + i64::from(len);
        Fault::new(format!(
            "{len} bytes at offset {offset} end {} bytes behind the block of {size} bytes that process {process} has \
             registered for the one at {base:p}",
            end - size
        ))
    }

    /// Our block of a slot, for an access of another process to `len` bytes at `offset`. `None`: there is no such memory.
    #[inline(always)]
    pub fn block(&self, slot: u32, offset: usize, len: usize) -> Option<*mut u8> {
        let (base, size) = self.whole(slot)?;
        // SAFETY: the program has registered `size` bytes at `base`.
        (offset + len <= size).then(|| unsafe { base.add(offset) })
    }

    /// Our block of a slot: address and size.
    pub fn whole(&self, slot: u32) -> Option<(*mut u8, usize)> {
        let entry = self.slots.get(slot as usize)?;
        entry.serial?;
        let size = usize::try_from(self.size(slot, self.pid)).ok()?;
        Some((entry.base, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: usize) -> *mut u8 {
        std::ptr::without_provenance_mut(address)
    }

    /// Two processes that agree on what they have pushed and popped.
    fn agree(a: &mut Registry, b: &mut Registry) -> Result<(), Fault> {
        let all = [a.own_words(), b.own_words()].concat();
        let (first, second) = (a.agree(&all), b.agree(&all));
        assert_eq!(first, second);
        first
    }

    fn two() -> (Registry, Registry) {
        (Registry::new(0, 2), Registry::new(1, 2))
    }

    /// By which 8 bytes of process 1 are reached.
    fn slot(registry: &mut Registry, offset: i32) -> Option<u32> {
        registry.reach(at(64), 1, offset, 8).map(|block| block.slot)
    }

    #[test]
    fn the_last_registration_of_an_address_is_meant_until_it_is_popped() {
        let (mut a, mut b) = two();
        for (first, second) in [(100, 80), (10, 8)] {
            a.push(at(64), first).expect("push");
            b.push(at(128), second).expect("push");
        }
        assert_eq!(a.reach(at(64), 1, 0, 1), None, "not before the next superstep");
        assert!(a.refusal(at(64), 1, 0, 1).text.contains("in this superstep"));
        agree(&mut a, &mut b).expect("agreement");
        assert_eq!(slot(&mut a, 0), Some(1));
        assert_eq!(a.reach(at(64), 1, 1, 8), None);
        assert!(
            a.refusal(at(64), 1, 1, 8)
                .text
                .contains("end 1 bytes behind the block of 8 bytes that process 1")
        );
        a.pop(at(64)).expect("pop");
        b.pop(at(128)).expect("pop");
        assert_eq!(slot(&mut a, 0), Some(1), "valid to the end of the superstep");
        agree(&mut a, &mut b).expect("agreement");
        assert_eq!(slot(&mut a, 72), Some(0));
    }

    #[test]
    fn null_is_no_block_and_is_popped_with_what_the_others_pop() {
        let (mut a, mut b) = two();
        a.push(at(64), 8).expect("push");
        a.push(std::ptr::null_mut(), 0).expect("push");
        b.push(std::ptr::null_mut(), 0).expect("push");
        b.push(std::ptr::null_mut(), 0).expect("push");
        agree(&mut a, &mut b).expect("agreement");
        assert!(a.refusal(at(64), 1, 0, 1).text.contains("process 1 has registered NULL"));
        a.pop(at(64)).expect("pop");
        b.pop(std::ptr::null_mut()).expect("pop");
        agree(&mut a, &mut b).expect("agreement");
        a.pop(std::ptr::null_mut()).expect("pop");
        b.pop(std::ptr::null_mut()).expect("pop");
        agree(&mut a, &mut b).expect("the other one, which is NULL on both");
        a.pop(std::ptr::null_mut()).expect("pop");
        b.pop(std::ptr::null_mut()).expect("pop");
        let fault = agree(&mut a, &mut b).expect_err("nothing is left");
        assert!(fault.by_all && fault.text.contains("no registration of NULL"), "{fault}");
    }

    /// A search through all registrations for each pop would take minutes.
    #[test]
    fn all_rows_of_a_large_matrix_are_popped_at_once() {
        const ROWS: usize = 200_000;
        let mut a = Registry::new(0, 1);
        for row in 1..=ROWS {
            a.push(at(64 * row), 8).expect("push");
        }
        let words = a.own_words();
        a.agree(&words).expect("agreement");
        for row in 1..=ROWS {
            a.pop(at(64 * row)).expect("pop");
        }
        let words = a.own_words();
        a.agree(&words).expect("agreement");
        assert!(a.by_serial.is_empty() && a.by_address.is_empty());
        assert_eq!(a.free.len(), ROWS);
    }

    #[test]
    fn pops_that_do_not_match_are_found() {
        let (mut a, mut b) = two();
        for registry in [&mut a, &mut b] {
            registry.push(at(64), 8).expect("push");
            registry.push(at(128), 8).expect("push");
        }
        a.pop(at(64)).expect("pop");
        b.pop(at(128)).expect("pop");
        let fault = agree(&mut a, &mut b).expect_err("they differ");
        assert!(
            fault.text.starts_with("process 0 and process 1 have not popped the same"),
            "{fault}"
        );
        assert!(a.pop(at(4096)).is_err());
    }

    #[test]
    fn slots_are_used_again_in_the_same_order_everywhere() {
        let (mut a, mut b) = two();
        for round in 0..100 {
            for registry in [&mut a, &mut b] {
                registry.push(at(64), round).expect("push");
                registry.push(at(128), round).expect("push");
                registry.pop(at(64)).expect("pop");
            }
            agree(&mut a, &mut b).expect("agreement");
            assert_eq!(a.reach(at(128), 1, 0, round), b.reach(at(128), 0, 0, round));
            for registry in [&mut a, &mut b] {
                registry.pop(at(128)).expect("pop");
            }
            agree(&mut a, &mut b).expect("agreement");
        }
        assert!(a.slots.len() <= 2, "{}", a.slots.len());
        assert!(a.push(at(64), -1).is_err() && a.push(std::ptr::null_mut(), 4).is_err());
    }
}
