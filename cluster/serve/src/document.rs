//! The OpenAPI document. Its schemas are the types that the handlers use; its paths are the
//! declarations below, which a test compares with the routes.

use utoipa::OpenApi;

use crate::api::types::*;
use crate::look::JobLook;
use hpvm_monitor::Series;
use hpvm_queue::job::JobSpec;
use hpvm_queue::store::rules::QueueLimits;

/// The document as JSON, as it is committed in `openapi.json`.
pub fn json() -> Result<String, String> {
    let mut text = Document::openapi().to_pretty_json().map_err(|e| format!("openapi: {e}"))?;
    text.push('\n');
    Ok(text)
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "hpvm",
        description = "Jobs, hosts and events of an hpvm server. Times are RFC 3339 in UTC; errors \
                       are RFC 9457 problems. Requests that change something from a page of another \
                       origin are refused.",
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT")
    ),
    paths(
        sign_in,
        session,
        sign_out,
        password,
        link,
        login,
        users,
        add_user,
        remove_user,
        role,
        user_password,
        user_link,
        tokens,
        make_token,
        revoke_token,
        audit,
        drain,
        resume,
        limits,
        list_jobs,
        submit,
        job,
        delete_job,
        cancel,
        hold,
        release,
        output,
        follow,
        script,
        job_report,
        ranks,
        matrix,
        counters,
        hosts,
        history,
        report,
        orders,
        receive,
        tell,
        remove_node,
        queues,
        info,
        events
    ),
    components(schemas(Problem, FieldError, Snapshot, JobRemoved, Problems, CaughtUp))
)]
struct Document;

macro_rules! operation {
    ($(#[$doc:meta])* $name:ident, $($path:tt)*) => {
        $(#[$doc])*
        #[utoipa::path($($path)*)]
        #[allow(dead_code, reason = "carries the declaration only")]
        fn $name() {}
    };
}

operation!(
    /// Sign in.
    sign_in, post, path = "/api/v1/session", request_body = SignIn,
    responses(
        (status = 200, body = Session, description = "Signed in; the cookie hpvm_session is set"),
        (status = 401, body = Problem, content_type = "application/problem+json",
            description = "Unknown user or wrong password, which look the same, or a used link"),
        (status = 429, body = Problem, content_type = "application/problem+json",
            description = "Too many attempts; Retry-After says when to try again")));
operation!(
    /// Who is signed in.
    session, get, path = "/api/v1/session",
    responses((status = 200, body = Session), (status = 401, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Sign out.
    sign_out, delete, path = "/api/v1/session", responses((status = 204, description = "Signed out")));
operation!(
    /// Set the password of the user who is signed in.
    password, put, path = "/api/v1/session/password", request_body = NewPassword,
    responses(
        (status = 204, description = "Set; all other sessions of the user have ended"),
        (status = 422, body = Problem, content_type = "application/problem+json")));
operation!(
    /// A new one-time link; over the server's socket only.
    link, post, path = "/api/v1/session/link",
    responses((status = 200, body = Link),
        (status = 403, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Sign a program in: a token with the rights of the user, for three months.
    login, post, path = "/api/v1/session/token", request_body = Login,
    responses((status = 200, body = MadeToken),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 429, body = Problem, content_type = "application/problem+json")));
operation!(
    /// The users; for administrators.
    users, get, path = "/api/v1/users",
    responses((status = 200, body = Users), (status = 403, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Make a user; for administrators.
    add_user, post, path = "/api/v1/users", request_body = NewUser,
    responses((status = 201, body = User),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Remove a user with sessions and tokens; the jobs stay. For administrators.
    remove_user, delete, path = "/api/v1/users/{name}", params(("name" = String, Path)),
    responses((status = 204, description = "Removed"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "The last administrator, or who has started the server")));
operation!(
    /// Give a user another role; for administrators.
    role, put, path = "/api/v1/users/{name}/role", params(("name" = String, Path)), request_body = RoleChange,
    responses((status = 200, body = User),
        (status = 409, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Set a user's password, which ends their sessions; for administrators.
    user_password, put, path = "/api/v1/users/{name}/password", params(("name" = String, Path)), request_body = SetPassword,
    responses((status = 204, description = "Set"),
        (status = 422, body = Problem, content_type = "application/problem+json")));
operation!(
    /// A link by which a user signs in once; for administrators.
    user_link, post, path = "/api/v1/users/{name}/link", params(("name" = String, Path)),
    responses((status = 200, body = Link),
        (status = 404, body = Problem, content_type = "application/problem+json")));
operation!(
    /// One's own tokens; with `all` everybody's, for administrators.
    tokens, get, path = "/api/v1/tokens", params(("all" = Option<bool>, Query)),
    responses((status = 200, body = Tokens)));
operation!(
    /// Make a token; not with a token.
    make_token, post, path = "/api/v1/tokens", request_body = NewToken,
    responses((status = 201, body = MadeToken),
        (status = 422, body = Problem, content_type = "application/problem+json")));
operation!(
    /// End a token.
    revoke_token, delete, path = "/api/v1/tokens/{id}", params(("id" = i64, Path)),
    responses((status = 204, description = "Revoked"),
        (status = 404, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Who changed what; for administrators.
    audit, get, path = "/api/v1/audit",
    params(("before" = Option<i64>, Query, description = "`next_before` of the page before"), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = AuditLog)));
operation!(
    /// Give a host no new jobs; for administrators.
    drain, post, path = "/api/v1/hosts/{name}/drain", params(("name" = String, Path)), request_body = DrainReason,
    responses((status = 200, body = Host),
        (status = 422, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Give a host jobs again; for administrators.
    resume, post, path = "/api/v1/hosts/{name}/resume", params(("name" = String, Path)),
    responses((status = 200, body = Host)));
operation!(
    /// Set a queue's limits; what is missing is not limited. For administrators.
    limits, put, path = "/api/v1/queues/{name}/limits", params(("name" = String, Path)), request_body = QueueLimits,
    responses((status = 200, body = Queues),
        (status = 422, body = Problem, content_type = "application/problem+json")));
operation!(
    /// List jobs.
    list_jobs, get, path = "/api/v1/jobs",
    params(
        ("state" = Option<String>, Query, description = "One state or several, separated by commas; `active` means all but `ended`"),
        ("user" = Option<String>, Query, description = "Jobs of this user"),
        ("name" = Option<String>, Query, description = "Jobs whose name contains this"),
        ("host" = Option<String>, Query, description = "Jobs that run or ran on this host"),
        ("array" = Option<i64>, Query, description = "Jobs of this array"),
        ("limit" = Option<u32>, Query, description = "At most so many, up to 1000; 100 without it"),
        ("sort" = Option<String>, Query, description = "`-id` (newest first, the default) or `id`"),
        ("page_token" = Option<String>, Query, description = "`next_page_token` of the page before")),
    responses((status = 200, body = JobList),
        (status = 400, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Submit a job.
    submit, post, path = "/api/v1/jobs", request_body = JobSpec,
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and job again give the job that the first request made"),
        ("validate" = Option<u8>, Query, description = "1: check only; answers 200 with Validated")),
    responses(
        (status = 201, body = Job, description = "Submitted; of an array, its first job, whose number is the array's"),
        (status = 200, body = Validated, description = "With `validate=1`"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "The key was used for another job"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
        (status = 507, body = Problem, content_type = "application/problem+json", description = "The store's disk is full")));
operation!(
    /// A job.
    job, get, path = "/api/v1/jobs/{id}", params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`")),
    responses((status = 200, body = Job), (status = 404, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Remove the record and the kept output of a job that has ended.
    delete_job, delete, path = "/api/v1/jobs/{id}", params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`")),
    responses((status = 204, description = "Removed"),
        (status = 409, body = Problem, content_type = "application/problem+json")));
operation!(
    /// End a job. Its record and output stay.
    cancel, post, path = "/api/v1/jobs/{id}/cancel",
    params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`"), ("array" = Option<bool>, Query, description = "With the number of an array: all its tasks"),
        ("tasks" = Option<String>, Query, description = "With the number of an array: these tasks, as `1-3,7`")),
    responses((status = 200, body = Job), (status = 409, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Keep a job from starting.
    hold, post, path = "/api/v1/jobs/{id}/hold",
    params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`"),
        ("array" = Option<bool>, Query, description = "With the number of an array: all its tasks"),
        ("tasks" = Option<String>, Query, description = "With the number of an array: these tasks, as `1-3,7`")),
    responses((status = 200, body = Job), (status = 409, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Let a job start that was held.
    release, post, path = "/api/v1/jobs/{id}/release",
    params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`"),
        ("array" = Option<bool>, Query, description = "With the number of an array: all its tasks"),
        ("tasks" = Option<String>, Query, description = "With the number of an array: these tasks, as `1-3,7`")),
    responses((status = 200, body = Job), (status = 409, body = Problem, content_type = "application/problem+json")));
operation!(
    /// A part of a job's output, at most 1 MiB.
    output, get, path = "/api/v1/jobs/{id}/output",
    params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`"),
        ("stream" = Option<String>, Query, description = "`stdout` or `stderr`"),
        ("offset" = Option<i64>, Query, description = "First byte; from the end if negative"),
        ("limit" = Option<u64>, Query, description = "At most so many bytes"),
        ("download" = Option<u8>, Query, description = "1: all of it, as a file")),
    responses((status = 200, content_type = "text/plain", body = String,
        headers(("X-Offset" = u64, description = "Of the first byte"),
                ("X-Offset-Next" = u64, description = "Where to go on"),
                ("X-Size" = u64, description = "Bytes there are now"))),
        (status = 404, body = Problem, content_type = "application/problem+json")));
operation!(
    /// A job's output as events `output` (data: JSON text; id: offset behind it), until `end`.
    follow, get, path = "/api/v1/jobs/{id}/output/follow",
    params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`"), ("stream" = Option<String>, Query), ("offset" = Option<i64>, Query),
        ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, content_type = "text/event-stream", body = String)));
operation!(
    /// The script of a job that has one.
    script, get, path = "/api/v1/jobs/{id}/script", params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`")),
    responses((status = 200, content_type = "text/plain", body = String),
        (status = 404, body = Problem, content_type = "application/problem+json")));
operation!(
    /// The page that a job has written, as `hpvm bench report -o -` does: an evaluation. `download`: as a file.
    job_report, get, path = "/api/v1/jobs/{id}/report",
    params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`"), ("download" = Option<u8>, Query)),
    responses((status = 200, content_type = "text/html", body = String),
        (status = 404, body = Problem, content_type = "application/problem+json", description = "There is no such job, or its output is no page")));
operation!(
    /// What the ranks of a running job do.
    ranks, get, path = "/api/v1/jobs/{id}/ranks", params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`")),
    responses((status = 200, body = Ranks),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "It does not run"),
        (status = 501, body = Problem, content_type = "application/problem+json", description = "Its Slurm does not let the server look"),
        (status = 503, body = Problem, content_type = "application/problem+json", description = "Too many jobs are looked at")));
operation!(
    /// Who sent how much to whom.
    matrix, get, path = "/api/v1/jobs/{id}/matrix",
    params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`"), ("unit" = Option<String>, Query, description = "`bytes` or `messages`")),
    responses((status = 200, body = Matrix),
        (status = 501, body = Problem, content_type = "application/problem+json", description = "Its ranks do not count it (`HPVM_MONITOR=0`)")));
operation!(
    /// What the kernel and the processor count for each rank of a running job. The first request begins to count; it ends when
    /// nobody has asked for a while.
    counters, get, path = "/api/v1/jobs/{id}/counters", params(("id" = String, Path, description = "Number of a job, or a task of an array: `12_3`")),
    responses((status = 200, body = Counters)));
operation!(
    /// For `hpvm node`, with a token of the scope `node`: what a host has, in exchange for its orders.
    report, post, path = "/api/v1/nodes/{name}/report", params(("name" = String, Path)), request_body = NodeReport,
    responses((status = 200, description = "The orders of the host", body = Object),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "Another host of this name reports"),
        (status = 422, body = Problem, content_type = "application/problem+json")));
operation!(
    /// For `hpvm node`: waits up to 15 s for orders newer than these.
    orders, get, path = "/api/v1/nodes/{name}/orders",
    params(("name" = String, Path), ("epoch" = Option<u64>, Query), ("number" = Option<u64>, Query),
        ("looks" = Option<u64>, Query, description = "Number of the looks that the host knows; others are an answer, too")),
    responses((status = 200, description = "The orders of the host", body = Object)));
operation!(
    /// For `hpvm node`: a part of the output of a job there, which is taken if it is the next one.
    receive, put, path = "/api/v1/nodes/{name}/jobs/{id}/output",
    params(("name" = String, Path), ("id" = i64, Path), ("stream" = String, Query, description = "`stdout` or `stderr`"),
        ("offset" = u64, Query, description = "Place of the first byte")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Received),
        (status = 507, body = Problem, content_type = "application/problem+json", description = "The server's disk is full")));
operation!(
    /// For `hpvm node`: what the ranks of a job there do, while the host's orders say that somebody looks.
    tell, post, path = "/api/v1/nodes/{name}/jobs/{id}/ranks",
    params(("name" = String, Path), ("id" = i64, Path)), request_body = JobLook,
    responses((status = 204, description = "Taken"),
        (status = 404, body = Problem, content_type = "application/problem+json", description = "The job has no ranks there"),
        (status = 422, body = Problem, content_type = "application/problem+json")));
operation!(
    /// Forget a host that reports no more; for administrators.
    remove_node, delete, path = "/api/v1/nodes/{name}", params(("name" = String, Path)),
    responses((status = 204, description = "Forgotten"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "It reports, or jobs run there")));
operation!(
    /// The hosts.
    hosts, get, path = "/api/v1/hosts", responses((status = 200, body = Hosts)));
operation!(
    /// Samples of a host.
    history, get, path = "/api/v1/hosts/{name}/history",
    params(("name" = String, Path), ("range" = Option<String>, Query, description = "`hour` or `day`")),
    responses((status = 200, body = Series)));
operation!(
    /// The queues.
    queues, get, path = "/api/v1/queues", responses((status = 200, body = Queues)));
operation!(
    /// About the server.
    info, get, path = "/api/v1/info", responses((status = 200, body = Info)));
operation!(
    /// Events: `snapshot` (Snapshot), `job` (JobSummary), `job-removed` (JobRemoved), `host` (Host),
    /// `problems` (Problems), `caught-up` (CaughtUp). Only `job` and `job-removed` carry an id; with it (header or `after`)
    /// a stream goes on without a snapshot. Comments are signs of life.
    events, get, path = "/api/v1/events",
    params(("after" = Option<i64>, Query), ("Last-Event-ID" = Option<String>, Header)),
    responses((status = 200, content_type = "text/event-stream", body = String)));

#[cfg(test)]
mod tests {
    /// `HPVM_UPDATE=1 cargo test -p hpvm-serve document` writes the file.
    #[test]
    fn the_committed_document_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
        let made = super::json().unwrap();
        if std::env::var_os("HPVM_UPDATE").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            made == committed,
            "openapi.json is stale: HPVM_UPDATE=1 cargo test -p hpvm-serve document"
        );
    }
}
