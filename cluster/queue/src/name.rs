//! How jobs are named: by a number, and a task of an array as Slurm's users know it, `12_3`.

use std::fmt;
use std::str::FromStr;

use crate::check;
use crate::job::{Dependency, JobId, JobSummary};

/// One job: its number, or the number of an array and the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    pub job: JobId,
    pub task: Option<u32>,
}

impl From<JobId> for Name {
    fn from(job: JobId) -> Name {
        Name { job, task: None }
    }
}

impl From<&JobSummary> for Name {
    fn from(job: &JobSummary) -> Name {
        let task = |array: &crate::job::ArrayTask| Name { job: array.id, task: Some(array.task) };
        job.array.as_ref().map_or(Name::from(job.id), task)
    }
}

impl From<&Dependency> for Name {
    fn from(on: &Dependency) -> Name {
        Name { job: on.job, task: on.task }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task {
            Some(task) => write!(f, "{}_{task}", self.job),
            None => write!(f, "{}", self.job),
        }
    }
}

/// A job in lists and titles: its name, and of an array's tasks that wait in one record those, `5_[1-9%2]`.
pub fn shown(job: &JobSummary) -> String {
    match &job.waiting {
        Some(tasks) => format!("{}_[{tasks}]", job.id),
        None => Name::from(job).to_string(),
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Name, String> {
        match text.parse()? {
            Words { job, tasks: None } => Ok(Name::from(job)),
            Words { job, tasks: Some(tasks) } => match tasks[..] {
                [task] => Ok(Name { job, task: Some(task) }),
                _ => Err(format!("'{text}' is several jobs; expected one, like 12 or 12_3")),
            },
        }
    }
}

/// What may stand on a command line: a job, or tasks of an array, `12_3` or `12_[1-3,7]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    pub job: JobId,
    pub tasks: Option<Vec<u32>>,
}

impl FromStr for Words {
    type Err = String;

    fn from_str(text: &str) -> Result<Words, String> {
        let bad = || {
            format!(
                "'{}' is no name of a job; expected a number like 12, a task of an array like 12_3, \
                 or several like 12_[1-3,7]",
                text.escape_debug()
            )
        };
        let digits = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        let (job, tasks) = match text.split_once('_') {
            None => (text, None),
            Some((job, list)) => {
                let inner = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
                let list = inner.or(Some(list).filter(|word| digits(word))).ok_or_else(bad)?;
                (job, Some(tasks(list).map_err(|why| format!("{}: {why}", bad()))?))
            }
        };
        let job = Some(job).filter(|word| digits(word)).and_then(|word| word.parse().ok());
        Ok(Words { job: job.filter(|job| *job > 0).ok_or_else(bad)?, tasks })
    }
}

/// The numbers of `1-3,7`, without the limit that a new array may have.
pub fn tasks(list: &str) -> Result<Vec<u32>, String> {
    match check::array(list)? {
        (tasks, None) => Ok(tasks),
        (_, Some(_)) => Err(format!("'{list}' has a limit, which only a new array may have")),
    }
}

/// Numbers as a list, `1-3,7`.
pub fn list(tasks: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for task in tasks {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*task) => *last = *task,
            _ => parts.push((*task, *task)),
        }
    }
    let part = |(first, last)| match first == last {
        true => format!("{first}"),
        false => format!("{first}-{last}"),
    };
    parts.into_iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["12", "12_3", "12_0"] {
            assert_eq!(text.parse::<Name>().map(|name| name.to_string()), Ok(text.to_string()));
        }
        assert_eq!("12_[3]".parse(), Ok(Name { job: 12, task: Some(3) }));
        let words = |job, tasks: &[u32]| Ok(Words { job, tasks: Some(tasks.to_vec()) });
        assert_eq!("12_[1-3,7]".parse(), words(12, &[1, 2, 3, 7]));
        assert_eq!("12_[0-8:4]".parse(), words(12, &[0, 4, 8]));
        assert_eq!("7".parse(), Ok(Words { job: 7, tasks: None }));
    }

    #[test]
    fn wrong_names_hear_what_was_expected() {
        for bad in [
            "",
            "x",
            "0",
            "-1",
            "+1",
            "12_",
            "_3",
            "12_x",
            "12_-1",
            "12_1,2",
            "12_[",
            "12_[]",
            "12_[3-1]",
            "12_[1%2]",
            "12_3_4",
            "12_[1]x",
            "12_99999999999",
            "99999999999999999999",
            "12.3",
            "12_[a]",
        ] {
            let said = bad.parse::<Words>().unwrap_err();
            assert!(said.contains("expected a number like 12"), "{bad}: {said}");
        }
        assert!("12_[1-3]".parse::<Name>().unwrap_err().contains("expected one"));
    }

    #[test]
    fn lists() {
        for text in ["1-3,7", "0", "0,2,4-5", "4294967294-4294967295"] {
            assert_eq!(list(&tasks(text).unwrap()), text);
        }
        assert_eq!(list(&[]), "");
    }
}
