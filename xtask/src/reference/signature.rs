//! C prototypes as headers have them.

/// A function of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    /// As C writes it up to the parenthesis.
    pub head: String,
    /// As C writes them; of `(void)` none.
    pub parameters: Vec<String>,
}

impl Signature {
    pub fn gives(&self) -> bool {
        self.head.strip_suffix(self.name.as_str()).is_none_or(|ty| ty.trim_end() != "void")
    }

    /// The names of the parameters; `...` has none.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter(|parameter| *parameter != "...").map(|p| parameter_name(p))
    }
}

/// `b` of `char *b[]`, `f` of `void (*f)(void)`.
fn parameter_name(parameter: &str) -> &str {
    let inner = match parameter.split_once("(*") {
        Some((_, rest)) => rest.split(')').next().unwrap_or(rest),
        None => parameter.split('[').next().unwrap_or(parameter),
    };
    let inner = inner.trim_end();
    let begin = inner.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
    &inner[begin..]
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// All functions that a header declares, in its order.
pub fn functions(header: &str) -> Result<Vec<Signature>, String> {
    let code = without_comments(header);
    let lines: Vec<&str> = without_directives(&code);
    let code = lines.join(" ").replace("extern \"C\" {", " ");
    statements(&code).into_iter().filter_map(signature).collect()
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let mut code = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        code.push(' ');
        code.push_str(part.split_once("*/").map_or("", |(_, behind)| behind));
    }
    code
}

/// Lines that are not of the preprocessor, of which one may continue in the next.
fn without_directives(code: &str) -> Vec<&str> {
    let (mut lines, mut continued) = (Vec::new(), false);
    for line in code.lines() {
        let directive = continued || line.trim_start().starts_with('#');
        continued = directive && line.ends_with('\\');
        if !directive {
            lines.push(line.trim());
        }
    }
    lines
}

/// What ends with a semicolon outside of braces.
fn statements(code: &str) -> Vec<&str> {
    let (mut all, mut depth, mut begin) = (Vec::new(), 0_u32, 0);
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => {
                all.push(code[begin..at].trim_start_matches(['}', ' ']).trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    all
}

/// `None` for what declares no function.
fn signature(statement: &str) -> Option<Result<Signature, String>> {
    let first = statement.split(|c: char| !is_word(c)).next().unwrap_or_default();
    if matches!(first, "typedef" | "enum" | "struct") {
        return None;
    }
    let open = statement.find('(')?;
    Some(read(statement, open).ok_or_else(|| format!("`{statement}` is no prototype")))
}

fn read(statement: &str, open: usize) -> Option<Signature> {
    let head = statement[..open].trim_end();
    let name = head.rsplit(|c: char| !is_word(c)).next().filter(|name| !name.is_empty())?;
    let (mut depth, mut begin, mut parameters) = (0_u32, open + 1, Vec::new());
    for (at, c) in statement.char_indices().skip(open) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 || depth == 1 && c == ',' {
            let words: Vec<&str> = statement[begin..at].split_whitespace().collect();
            parameters.push(words.join(" "));
            begin = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    let name = name.to_owned();
    parameters.retain(|parameter| parameter != "void");
    (depth == 0).then(|| Signature { name, head: head.to_owned(), parameters })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read() {
        let text = "/* f(int); */\n#ifdef X\n#define Y(a) \\\n  f(a);\n#endif\nextern \"C\" {\n\
            typedef struct { int a; } t;\nenum e { A, B };\nvoid f(void);\n\
            void *g(void (*run)(void), const char *text[],\n    int n, ...) PRINTF(1, 2);\n}\n";
        let all = functions(text).expect("prototypes");
        let names: Vec<&str> = all.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["f", "g"]);
        assert!(all[0].parameters.is_empty() && !all[0].gives());
        assert_eq!(all[1].head, "void *g");
        assert_eq!(all[1].names().collect::<Vec<_>>(), ["run", "text", "n"]);
        assert_eq!(all[1].parameters.len(), 4);
        assert!(all[1].gives());
        assert!(functions("int f(int a;").is_err());
    }
}
