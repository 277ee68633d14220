//! docs/shmem-reference.md.

use super::Reference;
use super::page::Page;
use crate::emit::NOTICE;

const HEAD: &str = "# Reference of OpenSHMEM

Every routine of OpenSHMEM 1.6, by section of the standard; the guide is [shmem.md](shmem.md). The same as man pages: `man shmem_put`,
and under the name of each form, `man shmem_ctx_int_put`.

TYPENAME stands for a type in names, TYPE for the type itself: `shmem_int_put` has `int *dest`. C11 and C++ know a name without both,
and choose by the arguments. A function whose name begins with `shmem_ctx_` is the same on a context other than `SHMEM_CTX_DEFAULT`.
Every function is also there with `p` before its name, for profiling libraries (`pshmem.h`).

A mistake ends the job with one line that names the function, what was found and what was expected. A call before `shmem_init` is
one; only questions about the library and what does nothing may come earlier. \"Symmetric\" is memory of the symmetric heap, and
static data of the program.
";

pub fn document(reference: &Reference, pages: &[Page<'_>]) -> Result<String, String> {
    let mut text = format!("<!-- {NOTICE} -->\n{HEAD}");
    let mut section = "";
    for page in pages {
        if page.section != section {
            section = page.section;
            let title = reference.sections.get(section);
            let title = title.ok_or_else(|| {
                format!("spec/shmem/reference.toml: section {section} has no title")
            })?;
            let same = pages.iter().filter(|page| page.section == section);
            let links: Vec<String> = same.map(|page| format!("[{0}](#{0})", page.name)).collect();
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
    row("standard", &format!("OpenSHMEM 1.6, section {}", page.section));
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
