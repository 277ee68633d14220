//! Whether the program that a job starts is where it should be: a slip that would only be seen when the job starts.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::job::JobSpec;

/// The folder that a job begins in: `home` where it names none.
pub fn folder<'a>(spec: &'a JobSpec, home: &'a Path) -> &'a Path {
    spec.workdir.as_deref().map_or(home, Path::new)
}

/// What is wrong with a program by a path from the job's [`folder`]. Absolute paths may be meant for other hosts, and a
/// job that this one depends on may make the program.
pub fn fault(spec: &JobSpec, home: &Path) -> Option<String> {
    let program = spec.command.first()?;
    let is_from_folder = program.contains('/') && !program.starts_with('/');
    if !is_from_folder || !spec.depends_on.is_empty() {
        return None;
    }
    let folder = folder(spec, home);
    let why = match std::fs::metadata(folder.join(program)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            "there is no such file; expected a program or a script"
        }
        // Not to be seen by this process; whether by the job's will show.
        Err(_) => return None,
        Ok(file) if !file.is_file() => "is no file; expected a program or a script",
        Ok(file) if file.permissions().mode() & 0o111 == 0 => {
            "may not be executed; chmod +x makes it a program, a first line such as #!/bin/sh a script"
        }
        Ok(_) => return None,
    };
    Some(format!("{program}: {why} (the job's folder: {})", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{DependKind, Dependency};

    fn job(program: &str, folder: Option<&Path>) -> JobSpec {
        JobSpec {
            command: vec![program.into()],
            workdir: folder.map(|folder| folder.display().to_string()),
            ..JobSpec::default()
        }
    }

    #[test]
    fn only_a_path_from_the_folder_is_looked_for() {
        let here = tempfile::tempdir().unwrap();
        std::fs::write(here.path().join("data"), "").unwrap();
        std::fs::create_dir(here.path().join("folder")).unwrap();
        let nowhere = Path::new("/nowhere");
        let wrong = |program, words: &str| {
            for found in [
                fault(&job(program, Some(here.path())), nowhere),
                fault(&job(program, None), here.path()),
            ] {
                let found = found.expect("a fault");
                assert!(found.starts_with(&format!("{program}: {words}")), "{found}");
            }
        };
        wrong("./missing", "there is no such file");
        wrong("folder/missing", "there is no such file");
        wrong("./data", "may not be executed");
        wrong("./folder", "is no file");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(here.path().join("data"), executable).unwrap();
        for right in ["missing", "/missing", "./data"] {
            assert_eq!(fault(&job(right, Some(here.path())), nowhere), None);
        }
        assert_eq!(fault(&JobSpec::default(), here.path()), None);
    }

    #[test]
    fn a_job_before_may_make_the_program() {
        let after = Dependency { kind: DependKind::AfterOk, job: 1, task: None };
        let spec = JobSpec { depends_on: vec![after], ..job("./missing", None) };
        assert_eq!(fault(&spec, Path::new("/")), None);
    }
}
