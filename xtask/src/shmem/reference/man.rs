//! docs/man3: pages of section 3 of the manual, and the list of the names under which they are found, too.

use std::collections::BTreeMap;

use super::page::Page;
use crate::emit::NOTICE;

/// For each page a line with its name and the other names.
pub fn aliases(pages: &[Page<'_>]) -> Result<String, String> {
    let mut home: BTreeMap<&str, &str> = pages.iter().map(|page| (page.name, page.name)).collect();
    let mut text = String::new();
    for page in pages {
        let mut line = page.name.to_owned();
        for name in page.names.iter().filter(|name| *name != page.name) {
            if let Some(other) = home.insert(name, page.name) {
                return Err(format!(
                    "spec/shmem/reference.toml: {name} is on the pages {other} and {}",
                    page.name
                ));
            }
            line.push_str(&format!(" {name}"));
        }
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

pub fn page(page: &Page<'_>) -> String {
    let mut text = format!(
        ".\\\" {NOTICE}\n.TH {} 3 \"\" \"hpvm\" \"OpenSHMEM 1.6\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.nf\n\
         #include <shmem.h>\n",
        page.name.to_uppercase(),
        page.name,
        escaped(page.title)
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
    let common = "A mistake ends the job with one line that names the function, what was found and what was expected.";
    part("ERRORS", format!("{common} {}", page.errors).trim_end());
    part("STANDARDS", &format!("OpenSHMEM 1.6, section {}.", page.section));
    for (name, version) in &page.deprecated {
        text.push_str(&format!(
            ".PP\n{}",
            paragraph(&format!("`{name}` is deprecated since {version}."))
        ));
    }
    text.push_str(".SH SEE ALSO\n.BR oshcc (1),\n.BR oshrun (1);\ndocs/shmem.md\n");
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
    use super::super::super::Spec;
    use super::super::page::all;

    #[test]
    fn every_form_is_found_and_shown() {
        let spec = Spec::load(&crate::root().join("spec/shmem")).expect("spec/shmem");
        let pages = all(&spec).expect("pages");
        let names = super::aliases(&pages).expect("names");
        for instance in spec.instances().expect("functions") {
            let name = instance.prototype.name;
            let found = names.split_whitespace().filter(|known| *known == name).count();
            assert_eq!(found, 1, "{name}");
        }
        let put = pages.iter().find(|page| page.name == "shmem_put").expect("a page");
        let text = super::page(put);
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
        assert!(all(&spec).is_err_and(|why| why.contains("no page is of `shmem_NAME_put`")));
        let mut spec = Spec::load(&crate::root().join("spec/shmem")).expect("spec/shmem");
        spec.reference.arguments.remove("nblocks");
        assert!(
            all(&spec).is_err_and(|why| why.contains("shmem_iput has no meaning for `nblocks`"))
        );
    }
}
