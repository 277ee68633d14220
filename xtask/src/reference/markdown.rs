//! The document of a model.

use super::{Page, Reference};
use crate::emit::NOTICE;

pub fn document(reference: &Reference<'_>) -> Result<String, String> {
    let Reference { model, sections, pages } = reference;
    let mut text = format!("<!-- {NOTICE} -->\n# Reference of {}\n\n{}", model.name, model.about);
    let mut section = "";
    for page in pages {
        if page.section != section {
            section = page.section;
            let title = sections.get(section);
            let title = title
                .ok_or_else(|| format!("{}: section {section} has no title", model.document))?;
            let same = pages.iter().filter(|page| page.section == section);
            let links: Vec<String> = same
                .map(|page| format!("[{0}](#{1})", page.name, page.name.to_lowercase()))
                .collect();
            text.push_str(&format!("\n## {section} {title}\n\n{}\n", links.join(", ")));
        }
        text.push_str(&one(page));
    }
    Ok(text)
}

fn one(page: &Page<'_>) -> String {
    let mut text = format!("\n### {}\n\n{}\n\n```c\n", page.name, page.does);
    for (language, lines) in &page.signatures {
        if page.signatures.len() > 1 {
            text.push_str(&format!("/* {language} */\n"));
        }
        text.push_str(&lines.join("\n"));
        text.push('\n');
    }
    text.push_str("```\n");
    for placeholder in &page.placeholders {
        text.push_str(&format!("\n{placeholder}\n"));
    }
    text.push_str("\n| | |\n|---|---|\n");
    let mut row = |key: &str, value: &str| text.push_str(&format!("| {key} | {value} |\n"));
    for (name, meaning) in &page.arguments {
        row(&format!("`{name}`"), meaning);
    }
    row("blocking", page.blocks);
    row("buffers", page.reuse);
    if let Some(returns) = page.returns {
        row("returns", returns);
    }
    row("errors", if page.errors.is_empty() { "None of its own." } else { &page.errors });
    row("standard", &page.standard);
    if !page.deprecated.is_empty() {
        let all: Vec<String> = page
            .deprecated
            .iter()
            .map(|(name, version)| format!("`{name}` since {version}"))
            .collect();
        row("deprecated", &all.join(", "));
    }
    text
}
