//! Jobs of another queue, as the store remembers them.

use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::jobs::{COLUMNS, summary};
use super::{Store, StoreError, outbox, search};
use crate::job::{Job, JobId, JobSpec, JobSummary, State};

impl Store {
    /// Brings jobs to where the other queue says they are. What has not changed writes nothing.
    pub fn mirror(&mut self, jobs: &[Job]) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        for job in jobs {
            let before = find(&transaction, job.id())?;
            let another = before.as_ref().is_some_and(|before| is_another(before, &job.summary));
            match before {
                Some(before) if !another => update(&transaction, &before, job)?,
                _ => replace(&transaction, job)?,
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// The jobs that have not ended, as far as we know.
    pub fn mirrored(&self) -> Result<Vec<JobSummary>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM jobs WHERE state <> 'ended' ORDER BY id");
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([], summary)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Those of these that are not known to have ended yet.
    pub fn not_ended(&self, ids: &[JobId]) -> Result<Vec<JobId>, StoreError> {
        let mut open = Vec::new();
        for id in ids {
            if !matches!(self.ended(*id)?, Some((State::Ended, _))) {
                open.push(*id);
            }
        }
        Ok(open)
    }

    /// What has been learned of a job beside its state.
    pub fn set_spec(&mut self, id: JobId, spec: &JobSpec) -> Result<(), StoreError> {
        let sql = "UPDATE specs SET spec = ?2 WHERE id = (SELECT spec FROM jobs WHERE id = ?1)";
        self.db.execute(sql, params![id, json(spec)?])?;
        let sql = "UPDATE jobs SET ranks = ?2, priority = ?3 WHERE id = ?1";
        self.db.execute(sql, params![id, spec.ranks, spec.priority])?;
        Ok(())
    }
}

/// A controller that lost its state counts from 1 again.
fn is_another(before: &JobSummary, now: &JobSummary) -> bool {
    before.ended.is_some_and(|ended| now.submitted > ended) || before.user != now.user
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(format!("job: {error}")))
}

fn find(db: &Connection, id: JobId) -> Result<Option<JobSummary>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM jobs WHERE id = ?1");
    Ok(db.prepare_cached(&sql)?.query_row([id], summary).optional()?)
}

fn update(db: &Connection, before: &JobSummary, job: &Job) -> Result<(), StoreError> {
    let mut now = job.summary.clone();
    // What we were told at submission is more than squeue says.
    now.ranks = before.ranks;
    now.priority = before.priority;
    if before.state == State::Ended && now.state == State::Ended {
        return Ok(());
    }
    if *before == now {
        return Ok(());
    }
    let sql = "UPDATE jobs SET state = :state, name = :name, queue = :queue, time_limit = :limit, \
               array_id = :array, array_task = :task, started = :started, ended = :ended, \
               hosts = :hosts, reason = :reason, estimated_start = :estimate, \
               cancelling = :cancelling, outcome = :outcome, waiting = :waiting WHERE id = :id";
    db.prepare_cached(sql)?.execute(named_params! {
        ":state": now.state.name(),
        ":name": now.name,
        ":queue": now.queue,
        ":limit": now.time_limit_seconds.map(|s| i64::try_from(s).unwrap_or(i64::MAX)),
        ":array": now.array.as_ref().map(|array| array.id),
        ":task": now.array.as_ref().map(|array| array.task),
        ":started": now.started.map(|at| at.0),
        ":ended": now.ended.map(|at| at.0),
        ":hosts": json(&now.hosts)?,
        ":reason": now.reason,
        ":estimate": now.estimated_start.map(|at| at.0),
        ":cancelling": now.cancelling && now.state == State::Running,
        ":outcome": now.outcome.as_ref().map(json).transpose()?,
        ":waiting": now.waiting,
        ":id": now.id,
    })?;
    outbox::put_job(db, &now)
}

fn replace(db: &Connection, job: &Job) -> Result<(), StoreError> {
    let s = &job.summary;
    db.execute("DELETE FROM jobs WHERE id = ?1", [s.id])?;
    db.execute("INSERT INTO specs (spec) VALUES (?1)", [json(&job.spec)?])?;
    let spec = db.last_insert_rowid();
    let sql = "INSERT INTO jobs (id, state, user, name, queue, priority, ranks, time_limit, \
               array_id, array_task, submitted, started, ended, hosts, reason, estimated_start, \
               cancelling, outcome, waiting, spec) VALUES (:id, :state, :user, :name, :queue, :priority, \
               :ranks, :limit, :array, :task, :submitted, :started, :ended, :hosts, :reason, \
               :estimate, :cancelling, :outcome, :waiting, :spec)";
    db.prepare_cached(sql)?.execute(named_params! {
        ":id": s.id,
        ":state": s.state.name(),
        ":user": s.user,
        ":name": s.name,
        ":queue": s.queue,
        ":priority": s.priority,
        ":ranks": s.ranks,
        ":limit": s.time_limit_seconds.map(|s| i64::try_from(s).unwrap_or(i64::MAX)),
        ":array": s.array.as_ref().map(|array| array.id),
        ":task": s.array.as_ref().map(|array| array.task),
        ":submitted": s.submitted.0,
        ":started": s.started.map(|at| at.0),
        ":ended": s.ended.map(|at| at.0),
        ":hosts": json(&s.hosts)?,
        ":reason": s.reason,
        ":estimate": s.estimated_start.map(|at| at.0),
        ":cancelling": s.cancelling && s.state == State::Running,
        ":outcome": s.outcome.as_ref().map(json).transpose()?,
        ":waiting": s.waiting,
        ":spec": spec,
    })?;
    search::add_names(db, s.id, s.id)?;
    outbox::put_job(db, s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Outcome;
    use crate::slurm::rows;
    use crate::time::Stamp;

    fn job(state: &str, submitted: &str) -> Job {
        let words = [
            "m",
            "7",
            "7",
            "N/A",
            "ann",
            state,
            "None",
            "150",
            "200",
            submitted,
            "10:00",
            "4",
            "all",
            "1",
            "n1",
            "/home/ann",
            "a",
        ];
        rows::parse(&words.join("\u{1f}"), "m", Stamp(0)).remove(0)
    }

    #[test]
    fn only_changes_are_events_and_numbers_may_come_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        for _ in 0..3 {
            store.mirror(&[job("RUNNING", "100")]).unwrap();
        }
        assert_eq!(store.cursor().unwrap(), 1);
        assert_eq!(store.not_ended(&[7]).unwrap(), [7]);
        let mut ended = job("FAILED", "100");
        ended.summary.outcome = Some(Outcome::exit(3));
        store.mirror(&[ended]).unwrap();
        store.mirror(&[job("FAILED", "100")]).unwrap();
        assert_eq!(store.job(7).unwrap().summary.outcome.unwrap().code, Some(3), "it stays");
        assert_eq!(store.cursor().unwrap(), 2);
        let spec = JobSpec { stdout: Some("/out".into()), ..JobSpec::default() };
        store.set_spec(7, &spec).unwrap();
        assert_eq!(store.job(7).unwrap().spec.stdout.as_deref(), Some("/out"));
        // The controller has lost its state.
        store.mirror(&[job("PENDING", "300")]).unwrap();
        let again = store.job(7).unwrap();
        assert_eq!((again.state(), again.spec.stdout), (State::Pending, None));
    }
}
