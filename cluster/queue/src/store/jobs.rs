//! Jobs in the store: new ones, their transitions, their removal.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::{Store, StoreError, outbox, search};
use crate::apply::{self, Action, Event};
use crate::check;
use crate::job::{ArrayTask, Dependency, Job, JobId, JobSpec, JobSummary, Outcome, State};
use crate::name::Name;
use crate::time::Stamp;

/// The largest number that is believed to be one of a job: the page's numbers are exact up to 2^53.
const NUMBER_MAX: JobId = 1 << 52;
/// How long the answer to a request with a key can be asked for again: a day.
const KEY_SECONDS: u64 = 86_400;

/// A job as it is handed in: checked, with its names settled.
#[derive(Clone, Debug)]
pub struct New {
    pub user: String,
    pub name: String,
    pub queue: String,
    pub spec: JobSpec,
    /// The numbers of an array and how many run at once; nothing for a single job.
    pub tasks: Vec<u32>,
    pub at_once: Option<u32>,
    pub key: Option<String>,
}

pub(super) const COLUMNS: &str = "id, state, user, name, queue, priority, ranks, time_limit, \
    array_id, array_task, array_at_once, submitted, started, ended, hosts, reason, \
    estimated_start, cancelling, outcome, restarts, last_failure, eligible, waiting";

impl Store {
    /// Records a job, or all jobs of an array; `false` when its key has done so before.
    pub fn submit(&mut self, new: &New, at: Stamp) -> Result<(Vec<Job>, bool), StoreError> {
        let spec = serde_json::to_string(&new.spec)
            .map_err(|error| StoreError::Failed(format!("job: {error}")))?;
        let transaction = self.begin()?;
        if let Some(key) = &new.key
            && let Some(id) = keyed(&transaction, &new.user, key, &spec, at)?
        {
            return Ok((vec![one(&transaction, id)?], false));
        }
        transaction.execute("INSERT INTO specs (spec) VALUES (?1)", [&spec])?;
        let spec_id = transaction.last_insert_rowid();
        let mut jobs: Vec<Job> = Vec::new();
        let tasks: Vec<Option<u32>> = match new.tasks.is_empty() {
            true => vec![None],
            false => new.tasks.iter().copied().map(Some).collect(),
        };
        for task in tasks {
            let first = jobs.first().map(Job::id);
            let job = insert(&transaction, new, spec_id, task.map(|task| (first, task)), at)?;
            outbox::put_job(&transaction, &job.summary)?;
            jobs.push(job);
        }
        if let (Some(first), Some(last)) = (jobs.first(), jobs.last()) {
            search::add_names(&transaction, first.id(), last.id())?;
        }
        if let (Some(key), Some(job)) = (&new.key, jobs.first()) {
            let sql =
                "INSERT INTO idempotency (user, key, spec, job, at) VALUES (?1, ?2, ?3, ?4, ?5)";
            transaction.execute(sql, params![new.user, key, spec, job.id(), at.0])?;
        }
        transaction.commit()?;
        Ok((jobs, true))
    }

    /// Lets events happen to jobs, all or none. Gives the jobs afterwards. An event that a job
    /// refuses, or a job that is no longer as it was handed in, is an error.
    pub fn transition(&mut self, events: &[(&Job, Event)]) -> Result<Vec<Job>, StoreError> {
        let transaction = self.begin()?;
        let mut after = Vec::new();
        for (job, event) in events {
            let next =
                apply::apply(job, event).map_err(|refusal| StoreError::Refused(refusal.0))?;
            update(&transaction, job.state(), &next)?;
            outbox::put_job(&transaction, &next.summary)?;
            after.push(next);
        }
        transaction.commit()?;
        Ok(after)
    }

    /// Removes the record of a job that has ended.
    pub fn remove(&mut self, id: JobId) -> Result<Job, StoreError> {
        let transaction = self.begin()?;
        let job = one(&transaction, id)?;
        if let Some(why) = apply::why_not(&job, Action::Delete) {
            return Err(StoreError::Refused(why));
        }
        let spec: i64 =
            transaction.query_row("SELECT spec FROM jobs WHERE id = ?1", [id], |row| row.get(0))?;
        transaction.execute("DELETE FROM jobs WHERE id = ?1 AND state = 'ended'", [id])?;
        let unused =
            "DELETE FROM specs WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM jobs WHERE spec = ?1)";
        transaction.execute(unused, [spec])?;
        outbox::put_removed(&transaction, &job.summary)?;
        transaction.commit()?;
        Ok(job)
    }

    /// A job.
    pub fn job(&self, id: JobId) -> Result<Job, StoreError> {
        one(&self.db, id)
    }

    /// How a job ended, if it did; `None` when there is no such job.
    pub fn ended(&self, id: JobId) -> Result<Option<(State, Option<Outcome>)>, StoreError> {
        let mut statement =
            self.db.prepare_cached("SELECT state, outcome FROM jobs WHERE id = ?1")?;
        let found = statement.query_row([id], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
        });
        Ok(found.optional()?.map(|(state, outcome)| {
            let outcome = outcome.and_then(|text| serde_json::from_str(&text).ok());
            (State::parse(&state).unwrap_or(State::Ended), outcome)
        }))
    }

    /// The number of the job that a name means. A task of another queue's array that has no record
    /// of its own yet is part of the array's.
    pub fn named(&self, name: Name) -> Result<Option<JobId>, StoreError> {
        let Some(task) = name.task else { return Ok(Some(name.job)) };
        let sql = "SELECT max(id) FROM jobs WHERE array_id = ?1 AND array_task = ?2";
        let found: Option<JobId> = self
            .db
            .prepare_cached(sql)?
            .query_row([name.job, i64::from(task)], |row| row.get(0))?;
        if found.is_some() {
            return Ok(found);
        }
        let waits = |job: &Job| {
            let tasks = job.spec.array.as_deref().and_then(|list| check::array(list).ok());
            job.summary.array.is_none() && tasks.is_some_and(|(tasks, _)| tasks.contains(&task))
        };
        match one(&self.db, name.job) {
            Ok(job) => Ok(Some(job.id()).filter(|_| waits(&job))),
            Err(StoreError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How what one depends on ended, if it did; of an array the first end that was not good, when
    /// all its tasks have ended. `None` when there is no such job.
    pub fn depended(&self, on: &Dependency) -> Result<Option<Option<Outcome>>, StoreError> {
        let sql = "SELECT state, outcome FROM jobs WHERE array_id = ?1 \
                   AND (?2 IS NULL OR array_task = ?2) ORDER BY id";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query(params![on.job, on.task])?;
        let mut all: Option<Outcome> = None;
        while let Some(row) = rows.next()? {
            let (state, outcome): (String, Option<String>) = (row.get(0)?, row.get(1)?);
            let outcome = outcome.and_then(|text| serde_json::from_str::<Outcome>(&text).ok());
            let Some(outcome) = outcome.filter(|_| state == State::Ended.name()) else {
                return Ok(Some(None));
            };
            all = all.filter(|before| !before.is_success()).or(Some(outcome));
        }
        if all.is_some() || on.task.is_some() {
            return Ok(all.map(Some));
        }
        let ended =
            |(state, outcome): (State, Option<Outcome>)| outcome.filter(|_| state == State::Ended);
        Ok(self.ended(on.job)?.map(ended))
    }

    /// All jobs that have not ended, and a sentence for each that cannot be read: it is set aside
    /// and keeps nobody else from starting.
    pub fn active(&self) -> Result<(Vec<Job>, BTreeMap<JobId, String>), StoreError> {
        let sql = "SELECT id FROM jobs WHERE state IN ('submitted', 'held', 'pending', 'running') \
                   ORDER BY id";
        let mut statement = self.db.prepare(sql)?;
        let ids = statement.query_map([], |row| row.get::<_, JobId>(0))?;
        let (mut jobs, mut damaged) = (Vec::new(), BTreeMap::new());
        for id in ids {
            let id = id?;
            match one(&self.db, id) {
                Ok(job) => jobs.push(job),
                Err(error) => drop(damaged.insert(id, format!("job {id} is set aside: {error}"))),
            }
        }
        Ok((jobs, damaged))
    }

    /// The largest number that a job was given; 0 when none was.
    pub fn newest(&self) -> Result<JobId, StoreError> {
        let sql = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'jobs'), 0)";
        Ok(self.db.query_row(sql, [], |row| row.get(0))?)
    }

    /// Gives new jobs numbers above this one, which was given before: this store is a copy that was
    /// taken earlier.
    pub fn number_above(&mut self, newest: JobId) -> Result<(), StoreError> {
        let newest = newest.min(NUMBER_MAX);
        let transaction = self.begin()?;
        let put = "INSERT INTO sqlite_sequence (name, seq) SELECT 'jobs', 0 \
                   WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'jobs')";
        transaction.execute(put, [])?;
        let raise = "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'jobs' AND seq < ?1";
        transaction.execute(raise, [newest])?;
        transaction.commit()?;
        Ok(())
    }

    /// How many jobs are in which state.
    pub fn counts(&self) -> Result<[(State, u64); 4], StoreError> {
        let mut statement = self.db.prepare_cached("SELECT count(*) FROM jobs WHERE state = ?1")?;
        let mut counts =
            [State::Submitted, State::Held, State::Pending, State::Running].map(|s| (s, 0));
        for (state, count) in &mut counts {
            let found: i64 = statement.query_row([state.name()], |row| row.get(0))?;
            *count = u64::try_from(found).unwrap_or(0);
        }
        Ok(counts)
    }
}

/// The job that a key made before, if its request was the same.
fn keyed(
    db: &Connection,
    user: &str,
    key: &str,
    spec: &str,
    now: Stamp,
) -> Result<Option<JobId>, StoreError> {
    let oldest = now.0 - i64::try_from(KEY_SECONDS * 1000).unwrap_or(0);
    db.execute("DELETE FROM idempotency WHERE at < ?1", [oldest])?;
    let mut statement =
        db.prepare_cached("SELECT spec, job FROM idempotency WHERE user = ?1 AND key = ?2")?;
    let found = statement
        .query_row([user, key], |row| Ok((row.get::<_, String>(0)?, row.get::<_, JobId>(1)?)))
        .optional()?;
    match found {
        Some((before, job)) if before == spec => Ok(Some(job)),
        Some((_, job)) => Err(StoreError::Refused(format!(
            "the Idempotency-Key '{key}' was used for another request, which made job {job}: use a \
             new key for a new job"
        ))),
        None => Ok(None),
    }
}

fn insert(
    db: &Connection,
    new: &New,
    spec_id: i64,
    task: Option<(Option<JobId>, u32)>,
    at: Stamp,
) -> Result<Job, StoreError> {
    let state = if new.spec.hold { State::Held } else { State::Submitted };
    let reason = new.spec.hold.then(|| format!("held by {} until it is released", new.user));
    let sql = "INSERT INTO jobs (state, user, name, queue, priority, ranks, time_limit, array_id, \
               array_task, array_at_once, submitted, reason, spec) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    db.prepare_cached(sql)?.execute(params![
        state.name(),
        new.user,
        new.name,
        new.queue,
        new.spec.priority,
        new.spec.ranks,
        new.spec.time_limit_seconds.map(|s| i64::try_from(s).unwrap_or(i64::MAX)),
        // Settled below for the first one, whose number is not known yet.
        task.map(|(first, _)| first.unwrap_or(0)),
        task.map(|(_, task)| task),
        task.and(new.at_once),
        at.0,
        reason,
        spec_id,
    ])?;
    let id = db.last_insert_rowid();
    if let Some((None, _)) = task {
        db.execute("UPDATE jobs SET array_id = id WHERE id = ?1", [id])?;
    }
    let array =
        task.map(|(first, task)| ArrayTask { id: first.unwrap_or(id), task, at_once: new.at_once });
    let summary = JobSummary {
        id,
        name: new.name.clone(),
        user: new.user.clone(),
        state,
        outcome: None,
        reason,
        estimated_start: None,
        ranks: new.spec.ranks,
        hosts: Vec::new(),
        submitted: at,
        started: None,
        ended: None,
        time_limit_seconds: new.spec.time_limit_seconds,
        queue: new.queue.clone(),
        priority: new.spec.priority,
        array,
        cancelling: false,
        restarts: 0,
        last_failure: None,
        eligible: None,
        waiting: None,
    };
    Ok(Job { summary, spec: new.spec.clone(), allocation: Vec::new(), uid: None })
}

/// Writes what events can change, if the job is still in the state it leaves.
fn update(db: &Connection, from: State, job: &Job) -> Result<(), StoreError> {
    let s = &job.summary;
    let json = |text: Result<String, serde_json::Error>| {
        text.map_err(|error| StoreError::Failed(format!("job {}: {error}", s.id)))
    };
    let outcome = s.outcome.as_ref().map(|o| json(serde_json::to_string(o))).transpose()?;
    let failure = s.last_failure.as_ref().map(|o| json(serde_json::to_string(o))).transpose()?;
    let sql = "UPDATE jobs SET state = :state, started = :started, ended = :ended, hosts = :hosts, \
               reason = :reason, estimated_start = :estimate, cancelling = :cancelling, \
               outcome = :outcome, allocation = :allocation, restarts = :restarts, \
               last_failure = :failure, eligible = :eligible WHERE id = :id AND state = :from";
    let changed = db.prepare_cached(sql)?.execute(named_params! {
        ":state": s.state.name(),
        ":started": s.started.map(|at| at.0),
        ":ended": s.ended.map(|at| at.0),
        ":hosts": json(serde_json::to_string(&s.hosts))?,
        ":reason": s.reason,
        ":estimate": s.estimated_start.map(|at| at.0),
        ":cancelling": s.cancelling,
        ":outcome": outcome,
        ":allocation": json(serde_json::to_string(&job.allocation))?,
        ":restarts": s.restarts,
        ":failure": failure,
        ":eligible": s.eligible.map(|at| at.0),
        ":id": s.id,
        ":from": from.name(),
    })?;
    match changed {
        1 => Ok(()),
        _ => Err(StoreError::Refused(format!("job {} is no longer {}", s.id, from.name()))),
    }
}

fn one(db: &Connection, id: JobId) -> Result<Job, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, (SELECT spec FROM specs WHERE specs.id = jobs.spec), allocation FROM jobs \
         WHERE id = ?1"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let found = statement.query_row([id], |row| {
        Ok((summary(row)?, row.get::<_, String>(23)?, row.get::<_, String>(24)?))
    });
    let Some((summary, spec, allocation)) = found.optional()? else {
        return Err(StoreError::Missing(format!("there is no job {id}")));
    };
    let spec = serde_json::from_str(&spec)
        .map_err(|error| StoreError::Failed(format!("its description cannot be read: {error}")))?;
    let allocation = serde_json::from_str(&allocation)
        .map_err(|error| StoreError::Failed(format!("its allocation cannot be read: {error}")))?;
    Ok(Job { summary, spec, allocation, uid: None })
}

/// A row of [`COLUMNS`].
pub(super) fn summary(row: &Row<'_>) -> rusqlite::Result<JobSummary> {
    let array = match (row.get::<_, Option<JobId>>(8)?, row.get::<_, Option<u32>>(9)?) {
        (Some(id), Some(task)) => Some(ArrayTask { id, task, at_once: row.get(10)? }),
        _ => None,
    };
    let stamp = |at: Option<i64>| at.map(Stamp);
    let json = |column: usize, error: serde_json::Error| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(error))
    };
    let state: String = row.get(1)?;
    let outcome = |column| -> rusqlite::Result<Option<Outcome>> {
        let text: Option<String> = row.get(column)?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|e| json(column, e))
    };
    let hosts: String = row.get(14)?;
    Ok(JobSummary {
        id: row.get(0)?,
        state: State::parse(&state).ok_or_else(|| rusqlite::Error::InvalidQuery)?,
        user: row.get(2)?,
        name: row.get(3)?,
        queue: row.get(4)?,
        priority: row.get(5)?,
        ranks: row.get(6)?,
        time_limit_seconds: row.get::<_, Option<i64>>(7)?.and_then(|s| u64::try_from(s).ok()),
        array,
        submitted: Stamp(row.get(11)?),
        started: stamp(row.get(12)?),
        ended: stamp(row.get(13)?),
        hosts: serde_json::from_str(&hosts).map_err(|error| json(14, error))?,
        reason: row.get(15)?,
        estimated_start: stamp(row.get(16)?),
        cancelling: row.get(17)?,
        outcome: outcome(18)?,
        restarts: row.get(19)?,
        last_failure: outcome(20)?,
        eligible: stamp(row.get(21)?),
        waiting: row.get(22)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::DependKind;

    fn array(store: &mut Store, tasks: Vec<u32>) -> Vec<Job> {
        let new = New {
            user: "me".into(),
            name: "x".into(),
            queue: "main".into(),
            spec: JobSpec::default(),
            tasks,
            at_once: None,
            key: None,
        };
        store.submit(&new, Stamp(1)).unwrap().0
    }

    #[test]
    fn tasks_are_found_by_name_and_arrays_end_with_their_last() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        let single = array(&mut store, Vec::new())[0].id();
        let jobs = array(&mut store, vec![3, 5]);
        let number = jobs[0].id();
        let named = |store: &Store, text: &str| store.named(text.parse().unwrap()).unwrap();
        assert_eq!(named(&store, &format!("{number}_5")), Some(jobs[1].id()));
        assert_eq!(named(&store, &format!("{number}_4")), None);
        assert_eq!(named(&store, &format!("{single}_0")), None);
        assert_eq!(named(&store, "99_1"), None);
        let on = |job, task| Dependency { kind: DependKind::AfterAny, job, task };
        let ended = |store: &Store, on: &Dependency| store.depended(on).unwrap();
        let cancel = |store: &mut Store, job: &Job| {
            let event = Event::CancelAsked { by: "me".into(), at: Stamp(2) };
            store.transition(&[(job, event)]).unwrap();
        };
        assert_eq!(ended(&store, &on(number, None)), Some(None));
        cancel(&mut store, &jobs[0]);
        assert_eq!(ended(&store, &on(number, None)), Some(None), "the other one has not");
        assert!(matches!(ended(&store, &on(number, Some(3))), Some(Some(_))));
        assert_eq!(ended(&store, &on(number, Some(5))), Some(None));
        assert_eq!(ended(&store, &on(jobs[1].id(), None)), Some(None), "by its own number");
        cancel(&mut store, &jobs[1]);
        assert!(matches!(ended(&store, &on(number, None)), Some(Some(_))));
        assert_eq!(ended(&store, &on(single, None)), Some(None));
        assert_eq!(ended(&store, &on(single, Some(0))), None);
        assert_eq!(ended(&store, &on(99, None)), None);
    }
}
