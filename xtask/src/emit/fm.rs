//! The page of Fast Messages' calls on the documentation site, made from the comments of `include/fm.h`.

/// The page. Every declaration of the header with a comment before it is a section of it.
pub fn page(header: &str) -> Result<String, String> {
    let mut blocks = header.split("\n\n").map(str::trim);
    let first = blocks.next().and_then(comment_of);
    let Some((about, _)) = first else {
        return Err("include/fm.h does not begin with a comment".to_owned());
    };
    let mut text = String::from("# Calls of Fast Messages\n\n");
    text.push_str("From `include/fm.h`; the guide is [Fast Messages](../docs/fm.md).\n\n");
    text.push_str(&format!("```text\n{about}\n```\n"));
    let mut found = 0;
    // A comment, also one with empty lines in it, and what follows up to the next comment at the margin.
    let rest = header.split("\n/* ").skip(1);
    for block in rest {
        let Some((comment, code)) = comment_of(&format!("/* {block}")) else { continue };
        let code = declaration(&code);
        let Some(name) = name_of(&code).filter(|_| !comment.ends_with("not for programs.")) else {
            continue;
        };
        found += 1;
        text.push_str(&format!("\n## {name}\n\n```c\n{code}\n```\n\n{comment}\n"));
    }
    match found {
        0 => Err("include/fm.h has no declaration with a comment".to_owned()),
        _ => Ok(text),
    }
}

/// The text of a comment, and the code behind it.
fn comment_of(block: &str) -> Option<(String, String)> {
    let (comment, code) = block.strip_prefix("/*")?.split_once("*/")?;
    let lines = comment.lines().map(|line| {
        let line = line.trim_start().strip_prefix('*').unwrap_or(line);
        line.strip_prefix(' ').unwrap_or(line).trim_end()
    });
    Some((lines.collect::<Vec<_>>().join("\n").trim().to_owned(), code.trim().to_owned()))
}

/// Code up to the first empty line, without the body of a function.
fn declaration(code: &str) -> String {
    let code = code.split("\n\n").next().unwrap_or_default();
    match code.split_once("\n{") {
        Some((head, _)) => format!("{};", head.replace("static inline ", "")),
        None => code.to_owned(),
    }
}

/// The first name of Fast Messages that a declaration declares: not a type that it uses.
fn name_of(code: &str) -> Option<&str> {
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let names: Vec<&str> = words.filter(|word| word.starts_with("FM_")).collect();
    let own = names.iter().find(|name| **name != "FM_stream").or(names.first());
    own.copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_a_section() {
        let header = include_str!("../../../include/fm.h");
        let page = page(header).unwrap();
        for call in [
            "set_parameter",
            "initialize",
            "finalize",
            "register_handler",
            "reallocate_credit",
            "begin_message",
            "send_piece",
            "end_message",
            "receive",
            "extract",
            "nodeid",
            "stream",
        ] {
            assert!(page.contains(&format!("\n## FM_{call}\n")), "{call}:\n{page}");
        }
        assert!(!page.contains("va_start") && !page.contains("FM_set_parameter_value("), "{page}");
        let section = page.split("\n## FM_extract\n").nth(1).unwrap();
        assert!(section.contains("int FM_extract(unsigned int maxbytes);"), "{section}");
        assert!(section.contains("Runs the handlers of what has come"), "{section}");
    }
}
