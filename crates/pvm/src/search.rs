//! Where programs of `pvm_spawn` are looked for.

/// Folders in their order: those of `PVM_PATH`, PVM's own in the home folder and in `PVM_ROOT`, that of the program which
/// spawns, the folder it works in, and `PATH`. A name with a slash in front is not searched at all.
pub fn folders(
    variable: impl Fn(&str) -> Option<String>,
    program: Option<&str>,
    working: Option<&str>,
) -> Vec<String> {
    let listed = |name: &str| {
        let value = variable(name).unwrap_or_default();
        value
            .split(':')
            .filter(|folder| folder.starts_with('/'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let arch = variable("PVM_ARCH").unwrap_or_else(|| ARCH.to_owned());
    let mut all = listed("PVM_PATH");
    all.extend(variable("HOME").map(|home| format!("{home}/pvm3/bin/{arch}")));
    all.extend(variable("PVM_ROOT").map(|root| format!("{root}/bin/{arch}")));
    all.extend(program.and_then(|file| Some(file.rsplit_once('/')?.0.to_owned())));
    all.extend(working.map(str::to_owned));
    all.extend(listed("PATH"));
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|folder| seen.insert(folder.clone()));
    all
}

/// What PVM calls this kind of machine.
pub const ARCH: &str = if cfg!(target_arch = "aarch64") { "LINUXAARCH64" } else { "LINUX64" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_as_documented() {
        let variable = |name: &str| match name {
            "PVM_PATH" => Some("/a:relative:/b".to_owned()),
            "HOME" => Some("/home/u".to_owned()),
            "PVM_ARCH" => Some("X".to_owned()),
            "PATH" => Some("/b:/bin".to_owned()),
            _ => None,
        };
        let found = folders(variable, Some("/opt/p/master"), Some("/work"));
        assert_eq!(found, ["/a", "/b", "/home/u/pvm3/bin/X", "/opt/p", "/work", "/bin"]);
    }
}
