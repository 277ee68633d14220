//! Man pages, and the pages of commands for the documentation site: made by clap's definitions, and by the launcher's
//! table for `hpvm run`.

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

/// Writes a Markdown page for every subcommand, and `index.md`, which lists them.
pub fn write_pages(dir: &Path, definition: &Command) -> Result<(), String> {
    let wrong = |what: &Path, error| format!("docs: '{}': {error}", what.display());
    fs::create_dir_all(dir).map_err(|error| wrong(dir, error))?;
    let mut definition = definition.clone();
    definition.build();
    let mut index = "# Commands\n\nWhat `hpvm COMMAND --help` says.\n\n".to_owned();
    for command in definition.get_subcommands_mut() {
        if command.is_hide_set() || command.get_name() == "help" {
            continue;
        }
        let name = command.get_name().to_owned();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        index.push_str(&format!("- [hpvm {name}](hpvm-{name}.md): {about}\n"));
        let mut text = String::new();
        markdown(command, 1, &mut text);
        let file = dir.join(format!("hpvm-{name}.md"));
        fs::write(&file, text).map_err(|error| wrong(&file, error))?;
    }
    let file = dir.join("index.md");
    fs::write(&file, index).map_err(|error| wrong(&file, error))
}

/// The help of a command and of those below it.
fn markdown(command: &mut Command, depth: usize, out: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    out.push_str(&format!("{} {name}\n\n```text\n{}\n```\n\n", "#".repeat(depth), help.join("\n")));
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        if below.get_name() != "help" {
            markdown(below, depth + 1, out);
        }
    }
}

fn page(command: &Command) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut text)
        .map_err(|error| format!("man: {}: {error}", command.get_name()))?;
    Ok(text)
}
