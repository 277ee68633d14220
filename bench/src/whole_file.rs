//! Files of results, which people and later runs read.

use crate::error::BenchError;
use std::io::Write;
use std::path::Path;

/// Writes the file whole, in a folder that is made if it is not there: a reader, or whoever finds the disk full or is killed,
/// sees the old one or the new one.
///
/// # Errors
/// For the user: which file, and the system's cause.
pub fn write(path: &Path, text: &str) -> Result<(), BenchError> {
    let failed = |e| BenchError::io(format!("cannot write {}", path.display()), e);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut builder = tempfile::Builder::new();
    // Results are no secret: a folder may be shared.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    let mut new = builder.prefix(".hpvm-").permissions(mode).tempfile_in(folder).map_err(failed)?;
    new.write_all(text.as_bytes()).map_err(failed)?;
    new.as_file().sync_all().map_err(failed)?;
    new.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_replaced_whole_and_its_folder_made() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/b/tables");
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        let names = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(names, 1, "nothing else is left");
        assert!(write(&path.join("c"), "x").unwrap_err().to_string().contains("tables/c"));
    }
}
