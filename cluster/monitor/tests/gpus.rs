//! Graphics processors, on drivers that a test makes up: NVIDIA's library is a small one of C, AMD's
//! files lie in a folder.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use hpvm_monitor::{Drivers, Gpu, Sampler};

/// Two devices, of which the second does not say how busy it is, nor what the driver keeps of its memory, and a third
/// that is lost.
const NVML: &str = r#"
#include <string.h>
typedef struct { unsigned gpu, memory; } rates;
typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
static long ready;
int nvmlInit_v2(void) { ready = 1; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 3; return ready ? 0 : 1; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(i + 1L); return i < 2 ? 0 : 15; }
int nvmlDeviceGetName(void *d, char *s, unsigned n) { strncpy(s, (long)d == 1 ? "NVIDIA H100" : "NVIDIA A100 MIG", n); return 0; }
int nvmlDeviceGetUtilizationRates(void *d, rates *r) { if ((long)d == 2) return 3; r->gpu = 37; r->memory = 5; return 0; }
int nvmlDeviceGetMemoryInfo(void *d, memory *m) { m->total = 80ULL << 30; m->used = 13ULL << 30; m->free = m->total - m->used; return 0; }
int nvmlDeviceGetMemoryInfo_v2(void *d, memory_v2 *m) {
    if (m->version != (sizeof *m | 2 << 24)) return 25;
    if ((long)d == 2) return 3;
    m->total = 80ULL << 30; m->reserved = 1ULL << 30; m->used = 12ULL << 30; m->free = m->total - m->used - m->reserved;
    return 0;
}
"#;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
    fs::write(path, text).expect("a file");
}

fn sampled(drivers: Drivers) -> Vec<Gpu> {
    let mut sampler = Sampler::with_drivers(drivers);
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let gpus = sampler.sample(SystemTime::now()).expect("a sample").gpus;
        if !gpus.is_empty() {
            return gpus;
        }
        assert!(Instant::now() < end, "nothing was told");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn gpu(name: &str, busy: Option<f32>, used: u64, total: u64) -> Gpu {
    Gpu { name: name.into(), busy, memory_total: total << 30, memory_used: used << 30 }
}

#[test]
fn cards_of_both_makers_are_sampled() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path();
    let (source, library) = (root.join("nvml.c"), root.join("libnvidia-ml.so.1"));
    write(&source, NVML);
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    assert!(compiler.status().expect("cc").success());
    fs::create_dir_all(root.join("proc/driver/nvidia/gpus/0000:01:00.0")).expect("a folder");
    let card = root.join("sys/class/drm/card1/device");
    write(&card.join("gpu_busy_percent"), "82\n");
    write(&card.join("mem_info_vram_total"), &format!("{}\n", 64_u64 << 30));
    write(&card.join("mem_info_vram_used"), &format!("{}\n", 8_u64 << 30));
    write(&root.join("sys/class/drm/card1-DP-1/device/gpu_busy_percent"), "1\n");
    write(&root.join("sys/class/drm/card0/device/vendor"), "0x8086\n");
    let found = sampled(Drivers::at(root, &library));
    assert_eq!(
        found,
        [
            gpu("NVIDIA H100", Some(0.37), 12, 80),
            gpu("NVIDIA A100 MIG", None, 13, 80),
            gpu("AMD", Some(0.82), 8, 64),
        ]
    );
}

#[test]
fn without_a_driver_there_are_none_and_a_library_that_is_none_does_no_harm() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path();
    let mut none = Sampler::with_drivers(Drivers::at(root, &root.join("missing.so")));
    assert!(none.sample(SystemTime::now()).expect("a sample").gpus.is_empty());
    // A driver whose library is broken, beside a card that answers.
    fs::create_dir_all(root.join("proc/driver/nvidia/gpus/0000:01:00.0")).expect("a folder");
    write(&root.join("broken.so"), "no library");
    let card = root.join("sys/class/drm/card0/device");
    write(&card.join("gpu_busy_percent"), "200\n");
    write(&card.join("mem_info_vram_total"), "1073741824\n");
    write(&card.join("mem_info_vram_used"), "0\n");
    write(&card.join("product_name"), "Instinct MI300X\n");
    let found = sampled(Drivers::at(root, &root.join("broken.so")));
    assert_eq!(found, [gpu("Instinct MI300X", Some(1.0), 0, 1)]);
}
