//! `PMI_process_mapping`: which rank runs on which node.
//!
//! `(vector,(first,nodes,per_node),...)`: each block gives `per_node` consecutive ranks to each of
//! `nodes` nodes from `first` on; when the ranks outnumber the blocks, the blocks repeat.

/// The node number of each of `size` ranks.
pub fn parse(text: &str, size: u32) -> Result<Vec<u32>, String> {
    let bad = || format!("process mapping {text:?}; expected (vector,(first,nodes,per_node),...)");
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let inner =
        compact.strip_prefix("(vector,").and_then(|t| t.strip_suffix(')')).ok_or_else(bad)?;
    let mut blocks = Vec::new();
    for block in inner.split("),") {
        let block = block.trim_start_matches('(').trim_end_matches(')');
        let mut fields = block.split(',').map(|f| f.parse::<u32>());
        match (fields.next(), fields.next(), fields.next(), fields.next()) {
            (Some(Ok(first)), Some(Ok(nodes)), Some(Ok(per)), None) if nodes > 0 && per > 0 => {
                blocks.push((first, nodes, per));
            }
            _ => return Err(bad()),
        }
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
    }

    #[test]
    fn garbage_is_refused() {
        for text in ["", "(vector)", "(vector,(0,0,1))", "(vector,(0,1))", "(vector,(a,1,1))", "4"]
        {
            assert!(parse(text, 3).unwrap_err().contains("expected"), "{text}");
        }
    }
}
