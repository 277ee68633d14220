//! Links of the documents: each leads to a file of the tree, and to a heading that is there; every page of docs/ is
//! in the README.md of its folder, or of the next one above that has one. The documentation site is made of these files, so what holds here holds there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::Breach;

/// The folder whose pages are listed, and the name of the page that lists those of a folder.
const PAGES: &str = "docs";
const INDEX: &str = "README.md";

/// The documents that were looked at.
#[derive(Default)]
pub struct Links {
    /// For each document the anchors of its headings.
    anchors: BTreeMap<PathBuf, BTreeSet<String>>,
    /// Document, line, target.
    links: Vec<(PathBuf, usize, String)>,
}

impl Links {
    /// Takes in a document.
    pub fn look(&mut self, path: &Path, text: &str) {
        if path.extension().is_none_or(|extension| extension != "md") {
            return;
        }
        let mut anchors = BTreeSet::new();
        for (line, row) in prose(text) {
            if let Some(heading) = row.strip_prefix('#') {
                let slug = slug(heading.trim_start_matches('#').trim());
                // A second heading of the same words has a number behind it.
                let same = (1..).map(|count| format!("{slug}-{count}"));
                let free = std::iter::once(slug.clone()).chain(same).find(|s| !anchors.contains(s));
                anchors.extend(free);
            }
            let found = targets(&row).into_iter();
            self.links.extend(found.map(|target| (path.to_path_buf(), line, target)));
        }
        self.anchors.insert(path.to_path_buf(), anchors);
    }

    /// Links that lead nowhere, and pages that nothing leads to.
    pub fn check(&self, root: &Path, breaches: &mut Vec<Breach>) {
        // The index, and a page that it lists.
        let mut listed = BTreeSet::new();
        for (path, line, target) in &self.links {
            let mut add = |text: String| {
                breaches.push(Breach { path: path.clone(), line: *line, text });
            };
            if ["http:", "https:", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = path.parent().unwrap_or(Path::new(""));
            let file = if file.is_empty() { path.clone() } else { plain(&folder.join(file)) };
            if path.ends_with(INDEX) {
                listed.insert((path.clone(), file.clone()));
            }
            if !root.join(&file).exists() {
                add(format!("{target}: there is no {}", file.display()));
            } else if !anchor.is_empty()
                && self.anchors.get(&file).is_some_and(|anchors| !anchors.contains(anchor))
            {
                add(format!("{target}: {} has no heading #{anchor}", file.display()));
            }
        }
        for page in self.anchors.keys().filter(|page| page.starts_with(PAGES)) {
            if let Some(index) = self.index_of(page)
                && !listed.contains(&(index.clone(), page.clone()))
            {
                let text = format!("the page is not in {}; add a line there", index.display());
                breaches.push(Breach { path: page.clone(), line: 1, text });
            }
        }
    }

    /// The page that has to list another one; none for the uppermost.
    fn index_of(&self, page: &Path) -> Option<PathBuf> {
        let folders = page.ancestors().skip(1).take_while(|folder| folder.starts_with(PAGES));
        let mut indices = folders.map(|folder| folder.join(INDEX));
        indices.find(|index| index != page && self.anchors.contains_key(index))
    }
}

/// The lines that are not code, without spans of code except in headings, whose words these belong to.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut found = Vec::new();
    let mut blank = true;
    let mut indented = false;
    for (at, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        // Four spaces after an empty line begin a block of code.
        indented = line.starts_with("    ") && (blank || indented);
        blank = line.trim().is_empty();
        if fenced || indented {
            continue;
        }
        let heading = line.starts_with('#');
        let text = if heading { line.to_owned() } else { without_code(line) };
        found.push((at, text));
    }
    found
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// What is in the parentheses of `[words](target)`.
fn targets(line: &str) -> Vec<String> {
    let rest = line.split("](").skip(1);
    let targets = rest.filter_map(|rest| Some(rest.split_once(')')?.0));
    // A title may follow.
    targets.filter_map(|target| target.split_whitespace().next()).map(str::to_owned).collect()
}

/// A heading's anchor, as GitHub and mdBook make them.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A path without `..` and `.`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_and_lost_pages_are_breaches() {
        let root = crate::root();
        let mut links = Links::default();
        let index = "# Documentation\n[a](a.md) [m](../README.md#install) `[x](code.md)`\n\n    [x](code.md)\n\
                     ```\n[x](code.md)\n```\n[s](#documentation) [w](https://example.org/x) [g](gone.md)\n";
        links.look(Path::new("docs/README.md"), index);
        links.look(Path::new("README.md"), "# hpvm\n## Install\n## `Install` it!\n");
        links.look(
            Path::new("docs/status.md"),
            "[i](../README.md#install-it)\n[n](../README.md#nowhere)\n![p](images/none.png)\n",
        );
        links.look(Path::new("docs/apps/README.md"), "# Applications\n[md](md.md)\n");
        links.look(Path::new("docs/apps/md.md"), "");
        links.look(Path::new("docs/apps/treecode.md"), "");
        let mut breaches = Vec::new();
        links.check(&root, &mut breaches);
        let texts: Vec<String> = breaches.iter().map(Breach::to_string).collect();
        assert_eq!(
            texts,
            [
                "docs/README.md:2: a.md: there is no docs/a.md",
                "docs/README.md:8: gone.md: there is no docs/gone.md",
                "docs/status.md:2: ../README.md#nowhere: README.md has no heading #nowhere",
                "docs/status.md:3: images/none.png: there is no docs/images/none.png",
                "docs/apps/README.md:1: the page is not in docs/README.md; add a line there",
                "docs/apps/treecode.md:1: the page is not in docs/apps/README.md; add a line there",
                "docs/status.md:1: the page is not in docs/README.md; add a line there",
            ]
        );
    }
}
