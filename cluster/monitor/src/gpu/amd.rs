//! AMD's driver: files of each card.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sample::Gpu;

/// The folders of the cards that tell how busy they are, in the order of their numbers.
pub fn cards(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("sys/class/drm")).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            // `card0-DP-1` is a plug of a card.
            let number = entry.file_name().to_str()?.strip_prefix("card")?.parse().ok()?;
            let folder = entry.path().join("device");
            folder.join("gpu_busy_percent").exists().then_some((number, folder))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// What a card says now; none when it says nothing of its memory.
pub fn ask(card: &Path) -> Option<Gpu> {
    let read = |file: &str| fs::read_to_string(card.join(file)).ok();
    let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
    let name = read("product_name").map(|text| text.trim().to_owned());
    Some(Gpu {
        name: name.filter(|name| !name.is_empty()).unwrap_or_else(|| "AMD".to_owned()),
        busy: number("gpu_busy_percent").map(|percent| percent.min(100) as f32 / 100.0),
        memory_total: number("mem_info_vram_total")?,
        memory_used: number("mem_info_vram_used")?,
    })
}
