//! placeholder
use std::path::Path;
pub fn run(_root: &Path) -> Result<String, String> {
    Ok(String::new())
}
