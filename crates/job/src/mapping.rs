//! `PMI_process_mapping`: which rank runs on which node.
//!
//! `(vector,(first,nodes,per_node),...)`: each block gives `per_node` consecutive ranks to each of
//! `nodes` nodes from `first` on; a bare number is a node with one rank. When the ranks outnumber
//! the blocks, the blocks repeat.

/// The node number of each of `size` ranks.
pub fn parse(text: &str, size: u32) -> Result<Vec<u32>, String> {
    let bad = || format!("process mapping {text:?}; expected (vector,(first,nodes,per_node),...)");
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let inner =
        compact.strip_prefix("(vector,").and_then(|t| t.strip_suffix(')')).ok_or_else(bad)?;
    let mut blocks = Vec::new();
    let mut rest = inner;
    while !rest.is_empty() {
        let (block, later) = match rest.strip_prefix('(') {
            Some(open) => open.split_once(')').ok_or_else(bad)?,
            // One rank on one node, as newer managers write it.
            None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
        };
        let fields: Result<Vec<u32>, _> = block.split(',').map(str::parse).collect();
        match fields.as_deref() {
            Ok(&[first, nodes, per]) if nodes > 0 && per > 0 => blocks.push((first, nodes, per)),
            Ok(&[node]) if !rest.starts_with('(') => blocks.push((node, 1, 1)),
            _ => return Err(bad()),
        }
        rest = match later.strip_prefix(',') {
            Some(next) if !next.is_empty() => next,
            None if later.is_empty() => later,
            _ => return Err(bad()),
        };
    }
    if blocks.is_empty() {
        return Err(bad());
    }
    let mut result = Vec::with_capacity(size as usize);
    'all: loop {
        for &(first, nodes, per) in &blocks {
            for node in 0..nodes {
                for _ in 0..per {
                    if result.len() == size as usize {
                        break 'all;
                    }
                    result.push(first.saturating_add(node));
                }
            }
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn blocks() {
        assert_eq!(parse("(vector,(0,1,4))", 4).unwrap(), [0, 0, 0, 0]);
        assert_eq!(parse("(vector,(0,2,2))", 4).unwrap(), [0, 0, 1, 1]);
        assert_eq!(parse("(vector,(0,2,1),(5,1,1))", 5).unwrap(), [0, 1, 5, 0, 1]);
        assert_eq!(parse("(vector,(0,1,2),1)", 3).unwrap(), [0, 0, 1]);
        assert_eq!(parse("(vector,3,(0,1,2),7)", 4).unwrap(), [3, 0, 0, 7]);
    }

    #[test]
    fn garbage_is_refused() {
        for text in [
            "",
            "(vector)",
            "(vector,(0,0,1))",
            "(vector,(0,1))",
            "(vector,(a,1,1))",
            "4",
            "(vector,(0,1,1)",
            "(vector,(0,1,1),)",
        ] {
            assert!(parse(text, 3).unwrap_err().contains("expected"), "{text}");
        }
    }
}
