//! docs/man3: pages of section 3 of the manual, and the list of the names under which they are found, too.

use std::collections::BTreeMap;

use super::{Model, Page, Reference};
use crate::emit::NOTICE;

/// For each page a line with its name and the other names.
pub fn aliases(all: &[Reference<'_>]) -> Result<String, String> {
    let pages = || all.iter().flat_map(|reference| &reference.pages);
    let mut home: BTreeMap<&str, &str> = pages().map(|page| (page.name, page.name)).collect();
    let mut text = String::new();
    for page in pages() {
        let mut line = page.name.to_owned();
        for name in page.names.iter().filter(|name| *name != page.name) {
            if let Some(other) = home.insert(name, page.name) {
                return Err(format!("{name} is on the pages {other} and {}", page.name));
            }
            line.push_str(&format!(" {name}"));
        }
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

/// A man page.
pub fn page(model: &Model, page: &Page<'_>) -> String {
    let mut text = format!(
        ".\\\" {NOTICE}\n.TH {} 3 \"\" \"hpvm\" \"{}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.nf\n\
         #include <{}>\n",
        page.name.to_uppercase(),
        model.name,
        page.name,
        escaped(page.title),
        model.header
    );
    for (language, lines) in &page.signatures {
        text.push_str(&format!(".PP\n/* {language} */\n"));
        text.extend(lines.iter().map(|line| format!("{}\n", escaped(line))));
    }
    text.push_str(".fi\n.SH DESCRIPTION\n");
    text.push_str(&paragraph(page.does));
    for placeholder in &page.placeholders {
        text.push_str(&format!(".PP\n{}", paragraph(placeholder)));
    }
    if !page.arguments.is_empty() {
        text.push_str(".SH ARGUMENTS\n");
        for (name, meaning) in &page.arguments {
            text.push_str(&format!(".TP\n.I {name}\n{}", paragraph(meaning)));
        }
    }
    let mut part = |title: &str, words: &str| {
        text.push_str(&format!(".SH {title}\n{}", paragraph(words)));
    };
    part("BLOCKING", page.blocks);
    part("BUFFERS", page.reuse);
    if let Some(returns) = page.returns {
        part("RETURN VALUE", returns);
    }
    part("ERRORS", format!("{} {}", model.mistakes, page.errors).trim_end());
    part("STANDARDS", &format!("{}.", page.standard));
    for (name, version) in &page.deprecated {
        text.push_str(&format!(
            ".PP\n{}",
            paragraph(&format!("`{name}` is deprecated since {version}."))
        ));
    }
    let see: Vec<String> = model.see.iter().map(|name| format!(".BR {name} (1)")).collect();
    text.push_str(&format!(".SH SEE ALSO\n{};\n{}\n", see.join(",\n"), model.guide));
    text
}

/// A sentence to a line; code in bold.
fn paragraph(words: &str) -> String {
    let mut text = String::new();
    for (at, part) in words.split('`').enumerate() {
        match at % 2 {
            0 => text.push_str(&escaped(part).replace(". ", ".\n")),
            _ => text.push_str(&format!("\\fB{}\\fR", escaped(part))),
        }
    }
    text + "\n"
}

/// What roff takes as it is. A line of ours never begins with a dot or an apostrophe.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace("\n.", "\n\\&.")
}

#[cfg(test)]
mod tests {
    use crate::shmem::{Spec, reference};

    #[test]
    fn every_form_is_found_and_shown() {
        let spec = Spec::load(&crate::root().join("spec/shmem")).expect("spec/shmem");
        let all = [reference(&spec).expect("pages")];
        let names = super::aliases(&all).expect("names");
        for instance in spec.instances().expect("functions") {
            let name = instance.prototype.name;
            let found = names.split_whitespace().filter(|known| *known == name).count();
            assert_eq!(found, 1, "{name}");
        }
        let put = all[0].pages.iter().find(|page| page.name == "shmem_put").expect("a page");
        let text = super::page(all[0].model, put);
        for line in [
            "void shmem_ctx_TYPENAME_put(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe);",
            "void shmem_putSIZE(void *dest, const void *source, size_t nelems, int pe);",
        ] {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words(&text).contains(line), "{line}:\n{text}");
        }
        assert!(text.contains("\\fBlonglong\\fR (\\fBlong long\\fR)"), "{text}");
    }

    #[test]
    fn a_function_without_a_page_is_named() {
        let mut spec = Spec::load(&crate::root().join("spec/shmem")).expect("spec/shmem");
        spec.reference.page.retain(|page| page.name != "shmem_put");
        assert!(reference(&spec).is_err_and(|why| why.contains("no page is of `shmem_NAME_put`")));
        let mut spec = Spec::load(&crate::root().join("spec/shmem")).expect("spec/shmem");
        spec.reference.arguments.remove("nblocks");
        assert!(
            reference(&spec)
                .is_err_and(|why| why.contains("shmem_iput has no meaning for `nblocks`"))
        );
    }
}
