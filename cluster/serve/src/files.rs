//! The output of a job as one text: what each attempt has written, in order. An attempt has a file of
//! its own where the server keeps the output; one that the user has named is continued by the next.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::app::App;
use crate::problem::Problem;
use hpvm_queue::attempt::Attempt;
use hpvm_queue::driver::Settings;
use hpvm_queue::job::Job;
use hpvm_queue::stepd::record::{self, FileId};

/// The open files, in order. What is written to the last of them is seen.
#[derive(Debug)]
pub struct Output {
    files: Vec<File>,
    /// Of the last of them.
    attempt: Attempt,
}

/// A part of it.
#[derive(Debug)]
pub struct Part {
    /// Place of the first byte.
    pub start: u64,
    pub bytes: Vec<u8>,
    /// How many there are in all.
    pub size: u64,
}

impl Output {
    /// Opens what there is; nothing when nothing has been written yet. Blocks.
    pub fn open(app: &App, job: &Job, stderr: bool) -> Result<Option<Output>, Problem> {
        if let Some(slurm) = &app.slurm {
            let file = crate::slurm::output(app, slurm, job, stderr)?;
            return Ok(file.map(|file| Output { files: vec![file], attempt: job.attempt() }));
        }
        let mut newest = None;
        let mut files: Vec<(FileId, File)> = Vec::new();
        for attempt in Attempt::all(job) {
            let opened = of_attempt(&app.place, job, attempt, stderr);
            let file = match opened {
                // What is gone of an attempt that is over is missed by nobody who wants this one.
                Err(_) if attempt != job.attempt() => continue,
                opened => opened.map_err(|error| {
                    Problem::missing(format!("output of job {}: {error}", job.id()))
                })?,
            };
            if let Some((identity, file)) = file {
                files.retain(|(before, _)| *before != identity);
                files.push((identity, file));
                newest = Some(attempt);
            }
        }
        let files = files.into_iter().map(|(_, file)| file).collect();
        Ok(newest.map(|attempt| Output { files, attempt }))
    }

    /// Whether what this attempt writes is seen.
    pub fn holds(&self, attempt: Attempt) -> bool {
        self.attempt == attempt
    }

    /// Reads a part of it: from this place, or so many bytes before the end.
    pub fn part(&self, offset: i64, limit: u64) -> io::Result<Part> {
        let sizes = self.sizes()?;
        let size: u64 = sizes.iter().sum();
        let start = match u64::try_from(offset) {
            Ok(offset) => offset.min(size),
            Err(_) => size.saturating_sub(offset.unsigned_abs()),
        };
        let end = start + limit.min(size - start);
        let mut bytes = Vec::new();
        let mut begin = 0;
        for (file, size) in self.files.iter().zip(sizes) {
            let (from, to) = (start.max(begin), end.min(begin + size));
            if from < to && !read(file, from - begin, to - from, &mut bytes)? {
                break;
            }
            begin += size;
        }
        Ok(Part { start, bytes, size })
    }

    /// How many bytes there are.
    pub fn size(&self) -> u64 {
        self.sizes().map_or(0, |sizes| sizes.iter().sum())
    }

    fn sizes(&self) -> io::Result<Vec<u64>> {
        self.files.iter().map(|file| Ok(file.metadata()?.len())).collect()
    }
}

/// Appends so many bytes; false when the file has become shorter meanwhile.
fn read(file: &File, from: u64, count: u64, into: &mut Vec<u8>) -> io::Result<bool> {
    let begin = into.len();
    let mut filled = begin;
    into.resize(begin + usize::try_from(count).unwrap_or(0), 0);
    while filled < into.len() {
        match file.read_at(&mut into[filled..], from + (filled - begin) as u64)? {
            0 => break,
            more => filled += more,
        }
    }
    let whole = filled == into.len();
    into.truncate(filled);
    Ok(whole)
}

/// What an attempt has written, if it still is in the file that it wrote.
fn of_attempt(
    place: &Settings,
    job: &Job,
    attempt: Attempt,
    stderr: bool,
) -> io::Result<Option<(FileId, File)>> {
    let mut job = job.clone();
    job.summary.restarts = attempt.restarts;
    let choose = |(out, err)| if stderr { err } else { out };
    let Some(seen) = record::read(&place.folder(attempt))? else {
        // It ran elsewhere, if it ran.
        return match open(&choose(place.received(&job))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        };
    };
    let Some(launch) = seen.launch else { return Ok(None) };
    let path = choose(place.outputs(&job));
    let (identity, file) = open(&path)?;
    // In the attempt's own folder nobody else puts files, and in a copy of it they are others. A path that leads out of it
    // again has another parent.
    let is_kept = path.parent() == Some(&*place.folder(attempt).0);
    if !is_kept && identity != if stderr { launch.stderr } else { launch.stdout } {
        let text = format!("{} is not the file that the job wrote", path.display());
        return Err(io::Error::other(text));
    }
    Ok(Some((identity, file)))
}

/// Neither a link to elsewhere nor a pipe that would hold us up.
fn open(path: &Path) -> io::Result<(FileId, File)> {
    let mut options = File::options();
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = options.read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    match meta.is_file() {
        true => Ok((FileId::of(&meta), file)),
        false => Err(io::Error::other(format!("{} is no file", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = |(name, text): (&str, &str)| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            File::open(path).unwrap()
        };
        let files = [("a", "one"), ("b", ""), ("c", "two")].map(file).into();
        let output = Output { files, attempt: Attempt::first(1) };
        assert_eq!(output.size(), 6);
        for (offset, limit, start, text) in [
            (0, 99, 0, "onetwo"),
            (1, 3, 1, "net"),
            (3, 2, 3, "tw"),
            (2, 1, 2, "e"),
            (-4, 9, 2, "etwo"),
            (-99, 1, 0, "o"),
            (99, 9, 6, ""),
        ] {
            let part = output.part(offset, limit).unwrap();
            assert_eq!((part.start, &part.bytes[..], part.size), (start, text.as_bytes(), 6));
        }
        std::fs::write(dir.path().join("c"), "two and more").unwrap();
        assert_eq!(output.part(6, 99).unwrap().bytes, b" and more");
    }
}
