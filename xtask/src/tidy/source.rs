//! A Rust source file, line by line, with comments and strings told apart from code.

/// One line.
#[derive(Default, Debug)]
pub struct Line {
    /// The code, with the insides of strings and comments blanked out.
    pub code: String,
    /// Whether a comment with words stands on the line.
    pub comment: bool,
    /// Whether the line belongs to an item under `#[cfg(test)]` or `#[test]`.
    pub test: bool,
}

/// Where the reader stands between two characters.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    /// Depth of nesting.
    BlockComment(usize),
    Text,
    /// Number of `#` that close it.
    RawText(usize),
}

/// Splits a file.
pub fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut state = State::Code;
    for line in text.lines() {
        if state == State::LineComment {
            state = State::Code;
        }
        let (split, next) = read_line(line, state);
        lines.push(split);
        state = next;
    }
    mark_tests(&mut lines);
    lines
}

fn read_line(text: &str, mut state: State) -> (Line, State) {
    let chars: Vec<char> = text.chars().collect();
    let mut line = Line::default();
    let mut i = 0;
    while i < chars.len() {
        let rest = &chars[i..];
        let (step, next) = match state {
            State::Code => code_step(rest, &mut line),
            State::LineComment => {
                line.comment |= rest[0].is_alphanumeric();
                (1, state)
            }
            State::BlockComment(depth) => {
                line.comment |= rest[0].is_alphanumeric();
                match (starts(rest, "*/"), starts(rest, "/*")) {
                    (true, _) if depth == 1 => (2, State::Code),
                    (true, _) => (2, State::BlockComment(depth - 1)),
                    (_, true) => (2, State::BlockComment(depth + 1)),
                    _ => (1, state),
                }
            }
            State::Text => match rest[0] {
                '\\' => (2, state),
                '"' => (1, State::Code),
                _ => (1, state),
            },
            State::RawText(hashes) => {
                let closed =
                    rest[0] == '"' && rest[1..].iter().take_while(|&&c| c == '#').count() >= hashes;
                if closed { (1 + hashes, State::Code) } else { (1, state) }
            }
        };
        i += step;
        state = next;
    }
    (line, state)
}

/// One step through code: how many characters, and the state after them.
fn code_step(rest: &[char], line: &mut Line) -> (usize, State) {
    if starts(rest, "//") {
        return (2, State::LineComment);
    }
    if starts(rest, "/*") {
        return (2, State::BlockComment(1));
    }
    let follows_word = line.code.chars().last().is_some_and(|c| c.is_alphanumeric() || c == '_');
    let raw = if follows_word { None } else { raw_start(rest) };
    if let Some((length, hashes)) = raw {
        line.code.push('"');
        return (length, State::RawText(hashes));
    }
    match rest[0] {
        '"' => {
            line.code.push('"');
            (1, State::Text)
        }
        '\'' => (char_literal(rest), State::Code),
        c => {
            line.code.push(c);
            (1, State::Code)
        }
    }
}

/// `r"`, `br#"` and the like: the length of the opening and its number of `#`.
fn raw_start(rest: &[char]) -> Option<(usize, usize)> {
    let prefix = if starts(rest, "br") {
        2
    } else if starts(rest, "r") {
        1
    } else {
        return None;
    };
    let hashes = rest[prefix..].iter().take_while(|&&c| c == '#').count();
    (rest.get(prefix + hashes) == Some(&'"')).then_some((prefix + hashes + 1, hashes))
}

/// The length of a character literal, or 1 for the quote of a lifetime.
fn char_literal(rest: &[char]) -> usize {
    if rest.get(1) == Some(&'\\') {
        let close = rest.iter().skip(3).position(|&c| c == '\'');
        return close.map_or(1, |at| at + 4);
    }
    if rest.get(2) == Some(&'\'') { 3 } else { 1 }
}

fn starts(rest: &[char], word: &str) -> bool {
    word.chars().enumerate().all(|(i, c)| rest.get(i) == Some(&c))
}

/// Marks the item after each test attribute: up to its closing brace, or its semicolon.
fn mark_tests(lines: &mut [Line]) {
    let mut start = 0;
    while start < lines.len() {
        let code = lines[start].code.trim();
        let is_test = code.contains("#[cfg(test)]")
            || code.contains("#[cfg(all(test")
            || code.contains("#[test]");
        let end = if is_test { item_end(lines, start) } else { start };
        if is_test {
            lines[start..=end].iter_mut().for_each(|line| line.test = true);
        }
        start = end + 1;
    }
}

/// The last line of the item that begins at `start`.
fn item_end(lines: &[Line], start: usize) -> usize {
    let mut depth = 0usize;
    for (i, line) in lines.iter().enumerate().skip(start) {
        for c in line.code.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 1 => return i,
                '}' => depth = depth.saturating_sub(1),
                ';' if depth == 0 && !line.code.trim_start().starts_with("#[") => return i,
                _ => {}
            }
        }
    }
    lines.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn strings_and_comments_are_no_code() {
        assert_eq!(code("a(\"dbg!\\\"x\"); // dbg!")[0], "a(\"); ");
        assert_eq!(code("let s = r#\"todo!() \" \"#; b"), ["let s = \"; b"]);
        assert_eq!(code("x /* one /* two */ dbg! */ y"), ["x  y"]);
        assert_eq!(code("a = \"one\ntwo dbg!\"; b"), ["a = \"", "; b"]);
        assert_eq!(code("f('\"', '\\'', '\\n', 'a'); g::<'a>(\"\")")[0], "f(, , , ); g::<a>(\")");
    }

    #[test]
    fn comments_need_words() {
        let found: Vec<bool> =
            lines("x // why\n// ----\n/* a\nb */ c\n\"// no\"").iter().map(|l| l.comment).collect();
        assert_eq!(found, [true, false, true, true, false]);
    }

    #[test]
    fn test_items_are_marked_to_their_end() {
        let text = "a();\n#[cfg(test)]\nmod tests {\n  fn f() { b(\"}\") }\n}\nc();\n#[cfg(test)]\nuse x;\nd();";
        let found: Vec<bool> = lines(text).iter().map(|line| line.test).collect();
        assert_eq!(found, [false, true, true, true, true, false, true, true, false]);
    }
}
