//! The sampler on the host the tests run on.

use std::time::{Duration, Instant, SystemTime};

use hpvm_monitor::{HostSample, Sampler};

#[test]
fn this_host_has_processors_and_memory_and_room() {
    let mut sampler = Sampler::with_folder(std::env::temp_dir());
    let sample = sampler.sample(SystemTime::now()).expect("a sample");
    assert!(sample.memory.total > 0 && sample.memory.available <= sample.memory.total);
    assert!(sample.uptime_seconds > 0.0);
    let room = sample.disk.capacity.expect("the temporary folder lies somewhere");
    assert!(room.total > 0 && room.available <= room.total);
    let text = serde_json::to_string(&sample).expect("JSON");
    assert!(!text.contains("\"cpu\""), "no rate in the first sample: {text}");
    assert_eq!(serde_json::from_str::<HostSample>(&text).expect("it reads back"), sample);
}

#[test]
fn a_busy_processor_shows() {
    let mut sampler = Sampler::new();
    sampler.sample(SystemTime::now()).expect("a first sample");
    let begin = Instant::now();
    // Until it shows: we may be kept from running ourselves.
    let cpu = loop {
        let end = Instant::now() + Duration::from_millis(300);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        let sample = sampler.sample(SystemTime::now()).expect("a sample");
        let cpu = sample.cpu.expect("ticks passed");
        if cpu.total.busy() > 0.0 {
            break cpu;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{cpu:?}");
    };
    let busiest = cpu.cores.iter().map(|core| core.busy()).fold(0.0, f32::max);
    assert!(busiest > 0.0 && busiest <= 1.0 + f32::EPSILON * 4.0, "{cpu:?}");
}

#[test]
fn a_folder_that_is_not_there_has_no_room() {
    let mut sampler = Sampler::with_folder("/no/such/folder");
    assert_eq!(sampler.sample(SystemTime::now()).expect("a sample").disk.capacity, None);
}
