//! NVIDIA's driver, through the management library (NVML) that comes with it.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::NonNull;

use crate::sample::Gpu;

/// `NVML_SUCCESS`.
const DONE: c_int = 0;
/// Bytes of a name with its end (`NVML_DEVICE_NAME_V2_BUFFER_SIZE`).
const NAME: usize = 96;
/// More in one host than anybody builds: the count comes from outside.
const MAX_DEVICES: c_uint = 256;

type Device = *mut c_void;

/// `nvmlUtilization_t`: percent of the last sample period.
#[repr(C)]
#[derive(Default)]
struct Utilization {
    gpu: c_uint,
    _memory: c_uint,
}

/// `nvmlMemory_t`: bytes.
#[repr(C)]
#[derive(Default)]
struct Memory {
    total: u64,
    _free: u64,
    used: u64,
}

/// `nvmlMemory_v2_t`: bytes. Unlike `nvmlMemory_t`, `used` is without what the driver keeps for itself: 615 MiB of an
/// idle H200, which nvidia-smi does not show as used either.
#[repr(C)]
#[derive(Default)]
struct MemoryV2 {
    version: c_uint,
    total: u64,
    _reserved: u64,
    _free: u64,
    used: u64,
}

/// `nvmlMemory_v2`: what `version` has to be.
const MEMORY_V2: c_uint = size_of::<MemoryV2>() as c_uint | 2 << 24;

/// The functions of the library. It stays loaded until the process ends: its driver may have threads.
pub struct Library {
    count: unsafe extern "C" fn(*mut c_uint) -> c_int,
    by_index: unsafe extern "C" fn(c_uint, *mut Device) -> c_int,
    name: unsafe extern "C" fn(Device, *mut c_char, c_uint) -> c_int,
    rates: unsafe extern "C" fn(Device, *mut Utilization) -> c_int,
    memory: unsafe extern "C" fn(Device, *mut Memory) -> c_int,
    /// Of drivers from 510 on.
    memory_v2: Option<unsafe extern "C" fn(Device, *mut MemoryV2) -> c_int>,
}

/// Whether the driver has a graphics processor.
pub fn is_there(root: &Path) -> bool {
    let entries = std::fs::read_dir(root.join("proc/driver/nvidia/gpus"));
    entries.is_ok_and(|mut entries| entries.next().is_some())
}

impl Library {
    /// Loads the library and prepares it; none where it is missing, too old, or refuses. May take seconds.
    pub fn load(library: &CStr) -> Option<Library> {
        // SAFETY: a terminated string. The library's initialisers run, as in any program that is linked with it.
        let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NonNull::new(handle)?;
        let find = |name: &CStr| {
            // SAFETY: a handle of `dlopen` that is never closed, and a terminated string.
            NonNull::new(unsafe { libc::dlsym(handle.as_ptr(), name.as_ptr()) })
        };
        // SAFETY: functions of these names have had these signatures since they are there; a version that changes one
        // gets another name.
        let (init, found) = unsafe {
            use core::mem::transmute;
            type Found = NonNull<c_void>;
            (
                transmute::<Found, unsafe extern "C" fn() -> c_int>(find(c"nvmlInit_v2")?),
                Library {
                    count: transmute::<Found, unsafe extern "C" fn(*mut c_uint) -> c_int>(find(
                        c"nvmlDeviceGetCount_v2",
                    )?),
                    by_index: transmute::<Found, unsafe extern "C" fn(c_uint, *mut Device) -> c_int>(
                        find(c"nvmlDeviceGetHandleByIndex_v2")?,
                    ),
                    name: transmute::<
                        Found,
                        unsafe extern "C" fn(Device, *mut c_char, c_uint) -> c_int,
                    >(find(c"nvmlDeviceGetName")?),
                    rates: transmute::<
                        Found,
                        unsafe extern "C" fn(Device, *mut Utilization) -> c_int,
                    >(find(c"nvmlDeviceGetUtilizationRates")?),
                    memory: transmute::<Found, unsafe extern "C" fn(Device, *mut Memory) -> c_int>(
                        find(c"nvmlDeviceGetMemoryInfo")?,
                    ),
                    memory_v2: find(c"nvmlDeviceGetMemoryInfo_v2").map(|found| {
                        transmute::<Found, unsafe extern "C" fn(Device, *mut MemoryV2) -> c_int>(
                            found,
                        )
                    }),
                },
            )
        };
        // SAFETY: without arguments; may be called any number of times.
        (unsafe { init() } == DONE).then_some(found)
    }

    /// What each says now; one that says nothing of its memory is left out.
    pub fn ask(&self) -> Vec<Gpu> {
        let mut count = 0;
        // SAFETY: room for a number.
        if unsafe { (self.count)(&mut count) } != DONE {
            return Vec::new();
        }
        (0..count.min(MAX_DEVICES)).filter_map(|index| self.one(index)).collect()
    }

    fn one(&self, index: c_uint) -> Option<Gpu> {
        let mut device: Device = std::ptr::null_mut();
        // SAFETY: room for a handle.
        if unsafe { (self.by_index)(index, &mut device) } != DONE {
            return None;
        }
        let (memory_total, memory_used) = self.memory_of(device)?;
        let mut rates = Utilization::default();
        // SAFETY: as above. One that is shared out in parts (MIG) does not say it as a whole.
        let knows = unsafe { (self.rates)(device, &mut rates) } == DONE;
        Some(Gpu {
            name: self.name_of(device).unwrap_or_else(|| "NVIDIA".to_owned()),
            busy: knows.then(|| rates.gpu.min(100) as f32 / 100.0),
            memory_total,
            memory_used,
        })
    }

    /// Bytes in all, and those in use; none where the device says nothing of them.
    fn memory_of(&self, device: Device) -> Option<(u64, u64)> {
        if let Some(ask) = self.memory_v2 {
            let mut memory = MemoryV2 { version: MEMORY_V2, ..MemoryV2::default() };
            // SAFETY: a handle that the library has just given, and room for what it writes, of the version that it says.
            if unsafe { ask(device, &mut memory) } == DONE {
                return Some((memory.total, memory.used));
            }
        }
        let mut memory = Memory::default();
        // SAFETY: as above.
        let done = unsafe { (self.memory)(device, &mut memory) } == DONE;
        done.then_some((memory.total, memory.used))
    }

    fn name_of(&self, device: Device) -> Option<String> {
        let mut text = [0_u8; NAME];
        // SAFETY: a handle of the library, and room for as many bytes as are said.
        let done = unsafe { (self.name)(device, text.as_mut_ptr().cast(), NAME as c_uint) };
        let text = CStr::from_bytes_until_nul(&text).ok().filter(|_| done == DONE)?;
        Some(text.to_string_lossy().into_owned())
    }
}
