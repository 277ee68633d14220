//! Lines of a script that give flags: `#HPVM -n 4`, `#SBATCH --time=10:00`.

/// A line: whether it is one of ours, its number, its words.
#[derive(Debug, PartialEq, Eq)]
pub struct Directive {
    pub ours: bool,
    pub line: usize,
    pub words: Vec<String>,
}

/// The lines before the first command.
pub fn find(script: &str) -> Result<Vec<Directive>, String> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(script.lines()) {
        let text = text.trim();
        if !text.is_empty() && !text.starts_with('#') {
            break;
        }
        for (prefix, ours) in [("#HPVM", true), ("#SBATCH", false)] {
            if let Some(rest) = text.strip_prefix(prefix)
                && (rest.is_empty() || rest.starts_with(char::is_whitespace))
            {
                let words = split(rest).map_err(|what| format!("line {line}: {what}"))?;
                found.push(Directive { ours, line, words });
            }
        }
    }
    Ok(found)
}

/// Words as a shell splits them: quotes, backslashes, and a comment at the end.
fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None | Some('"'), '\\') => {
                let next = letters.next().ok_or("ends with a backslash")?;
                word.get_or_insert_default().push(next);
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_before_the_first_command() {
        let script = "#!/bin/sh\n#SBATCH -n 4 # four\n# text\n#HPVM --job-name='a b'\n\n#SBATCHx\n\
                      echo\n#SBATCH -n 5\n";
        let found = find(script).unwrap();
        let words: Vec<_> = found.iter().map(|d| (d.ours, d.line, d.words.join("|"))).collect();
        assert_eq!(words, [(false, 2, "-n|4".into()), (true, 4, "--job-name=a b".into())]);
        assert!(find("#HPVM 'x").unwrap_err().contains("line 1"));
    }
}
