//! docs/coverage.md: what is implemented.

use crate::emit::NOTICE;
use crate::spec::{Chapter, Spec};

/// The page.
pub fn coverage(spec: &Spec) -> String {
    let mut counts = spec.chapters.iter().map(|chapter| count(spec, chapter));
    let missing = match counts.all(|(all, done)| all == done) {
        true => "",
        false => " A function that is missing returns `MPI_ERR_UNSUPPORTED_OPERATION`.",
    };
    let mut text = format!(
        "# Coverage of the MPI 5.0 standard ABI\n\n<!-- {NOTICE} -->\n\n\
         All symbols are exported, each as `MPI_X` and `PMPI_X`. A function and its large-count (`_c`)\n\
         form count as two.{missing}\n\n\
         | chapter | functions | done | missing |\n|---|---:|---:|---:|\n"
    );
    let mut sum = (0, 0);
    for chapter in &spec.chapters {
        let (all, done) = count(spec, chapter);
        sum = (sum.0 + all, sum.1 + done);
        let (name, title) = (&chapter.name, &chapter.title);
        text.push_str(&format!("| {title} [`{name}`] | {all} | {done} | {} |\n", all - done));
    }
    let (all, done) = sum;
    text.push_str(&format!("| **all** | **{all}** | **{done}** | **{}** |\n", all - done));
    for chapter in &spec.chapters {
        let title = &chapter.title;
        text.push_str(&format!(
            "\n## {title}\n\n| function | `_c` | section | status |\n|---|---|---|---|\n"
        ));
        for function in &chapter.functions {
            let status = if spec.is_done(function) { "done" } else { "missing" };
            let large = if function.large { "yes" } else { "" };
            let (name, section) = (&function.name, &function.section);
            text.push_str(&format!("| `{name}` | {large} | {section} | {status} |\n"));
        }
    }
    text
}

/// C functions of a chapter and how many of them are done.
fn count(spec: &Spec, chapter: &Chapter) -> (usize, usize) {
    chapter.functions.iter().fold((0, 0), |(all, done), function| {
        let symbols = function.symbols().len();
        (all + symbols, done + if spec.is_done(function) { symbols } else { 0 })
    })
}
