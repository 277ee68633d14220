//! Man pages: made by clap's definitions, and by the launcher's table for `hpvm run`.

use std::fs;
use std::path::Path;

use clap::Command;

/// Writes all pages into a folder.
pub fn write(dir: &Path, definition: &Command) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|error| format!("man: '{}': {error}", dir.display()))?;
    let mut definition = definition.clone();
    definition.build();
    let mut pages = vec![("hpvm".to_string(), page(&definition)?)];
    for command in definition.get_subcommands() {
        if command.is_hide_set() || matches!(command.get_name(), "help" | "run") {
            continue;
        }
        let name = format!("hpvm-{}", command.get_name());
        // After build() a subcommand knows its full name.
        pages.push((name, page(command)?));
    }
    for label in ["hpvm run", "mpirun", "mpiexec"] {
        let page = hpvm_launch::help::man(label);
        pages.push((label.replace(' ', "-"), page.into_bytes()));
    }
    for (name, text) in pages {
        let file = dir.join(format!("{name}.1"));
        fs::write(&file, text).map_err(|error| format!("man: '{}': {error}", file.display()))?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut text)
        .map_err(|error| format!("man: {}: {error}", command.get_name()))?;
    Ok(text)
}
