//! The buffers of a running collective: the program's and the schedule's temporaries.

use super::plan::Data;
use crate::comm::Channel;
use crate::datatype::Datatype;
use hpvm_coll::{Block, Buffer, TempSpec, Ty};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// The temporaries of one run of a schedule, and the channel its messages use.
#[derive(Debug)]
pub struct Memory {
    pub(crate) channel: Channel,
    /// Written through raw pointers only, by whoever the schedule says.
    storage: Vec<UnsafeCell<MaybeUninit<u128>>>,
    /// Offset of each temporary's buffer address from the start of `storage`; it may lie outside
    /// when the type's data start beyond or before the buffer's address.
    temps: Vec<isize>,
}

/// Where a block lies and what it is made of.
pub(crate) struct BlockMemory<'a> {
    pub address: *mut u8,
    pub ty: &'a Arc<Datatype>,
}

impl Memory {
    pub(crate) fn for_schedule(specs: &[TempSpec], data: &Data, channel: Channel) -> Memory {
        let mut bytes = 0;
        let mut temps = Vec::with_capacity(specs.len());
        for spec in specs {
            match *spec {
                TempSpec::Bytes(n) => {
                    temps.push(bytes as isize);
                    bytes += n.next_multiple_of(16);
                }
                TempSpec::Elements(n) => {
                    let (lowest, span) = extent_of(&data.recv_ty, n);
                    temps.push(bytes as isize - lowest as isize);
                    bytes += (span as usize).next_multiple_of(16);
                }
            }
        }
        let mut storage = Vec::new();
        storage.resize_with(bytes.div_ceil(16), || UnsafeCell::new(MaybeUninit::uninit()));
        Memory { channel, storage, temps }
    }

    /// Finds a block of the schedule.
    pub(crate) fn locate<'a>(&self, data: &'a Data, block: &Block) -> BlockMemory<'a> {
        let base = match block.buffer {
            Buffer::Send => data.send.cast_mut(),
            Buffer::Recv => data.recv,
            Buffer::Temp(i) => {
                let start = UnsafeCell::raw_get(self.storage.as_ptr()).cast::<u8>();
                start.wrapping_offset(self.temps[i as usize])
            }
        };
        let ty = match block.ty {
            Ty::Send => &data.send_ty,
            Ty::Recv => &data.recv_ty,
            Ty::SendOf(i) => &data.send_types[i as usize],
            Ty::RecvOf(i) => &data.recv_types[i as usize],
            Ty::Bytes => Datatype::byte(),
        };
        BlockMemory { address: base.wrapping_offset(block.offset as isize), ty }
    }
}

/// Lowest offset and number of bytes that `count` elements of `ty` touch.
fn extent_of(ty: &Datatype, count: i64) -> (i64, i64) {
    if count <= 0 {
        return (0, 0);
    }
    let reach = (count - 1) * ty.extent();
    let lowest = ty.true_lb() + reach.min(0);
    (lowest, ty.true_extent() + reach.abs())
}
