//! The plain page: no script, no build. It lists jobs, submits, shows output, cancels. Browsers say
//! of each form where it comes from, and the session's cookie is not sent from elsewhere, so a form
//! on another site does nothing here.

use std::fmt::Write;

use axum::Form;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::html::Text;
use crate::api::act::{Act, to_job};
use crate::api::jobs::{self as jobs, find};
use crate::api::session;
use crate::app::App;
use crate::auth::{Peer, Reader, Who};
use crate::problem::Problem;
use hpvm_queue::apply::{self, Action};
use hpvm_queue::describe;
use hpvm_queue::job::{JobSpec, JobSummary};
use hpvm_queue::name::shown;
use hpvm_queue::store::list::Filter;

/// Jobs on the page.
const JOBS: u32 = 100;
/// Bytes of output that are shown, from its end.
const SHOWN_OUTPUT_BYTES: u64 = 32 << 10;

const STYLE: &str = "body{font:15px system-ui,sans-serif;max-width:64rem;margin:1rem auto;padding:0 1rem}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .5rem;\
border-bottom:1px solid #8884}pre{overflow:auto;border:1px solid #8884;padding:.5rem}\
form{display:inline}fieldset{margin:1rem 0;border:1px solid #8884}\
label{display:inline-block;margin:.25rem .75rem .25rem 0}:root{color-scheme:light dark}";

/// A page around this content.
fn page(title: &str, body: &str) -> Html<String> {
    Html(format!(
        "<!doctype html>\n<html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width\"><title>{} - hpvm</title>\
         <link rel=stylesheet href=/plain/style.css>\n<h1>{}</h1>\n{body}\n</html>\n",
        Text(title),
        Text(title)
    ))
}

pub async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}

/// A problem as a page.
fn failed(problem: Problem) -> Response {
    let status = problem.status;
    let mut body = format!("<p>{}</p>", Text(&problem.detail));
    for error in &problem.errors {
        // Writing to a String cannot fail.
        let _ = write!(body, "<p><b>{}</b>: {}</p>", Text(&error.field), Text(&error.detail));
    }
    body.push_str("<p><a href=/plain>Back to the jobs</a></p>");
    (status, page("That did not work", &body)).into_response()
}

/// `/` without a built page.
pub async fn start(app: State<App>, headers: HeaderMap) -> Response {
    let _ = (app, headers);
    Redirect::to("/plain").into_response()
}

fn sign_in_form() -> Html<String> {
    page(
        "Sign in",
        "<p>Paste the link that <code>hpvm serve</code> has printed, or the part behind \
         <code>#link=</code>.</p>\
         <form method=post action=/plain/session><label>Link <input name=link size=70 required \
         autocomplete=off></label> <button>Sign in</button></form>\
         <p>Or, if a password was set:</p>\
         <form method=post action=/plain/session><label>User <input name=user \
         autocomplete=username></label> <label>Password <input name=password type=password \
         autocomplete=current-password></label> <button>Sign in</button></form>",
    )
}

/// The form of signing in.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct SignInForm {
    link: Option<String>,
    user: Option<String>,
    password: Option<String>,
}

pub async fn sign_in(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Form(form): Form<SignInForm>,
) -> Response {
    let address = peer.origin();
    let user = match form {
        SignInForm { link: Some(link), .. } => {
            let token = link.trim().rsplit_once("#link=").map_or(link.trim(), |(_, token)| token);
            session::by_link(&app, &address, token).await
        }
        SignInForm { user: Some(user), password: Some(password), .. } => {
            session::by_password(&app, &address, user, password).await
        }
        _ => Err(Problem::bad("give a link, or user and password")),
    };
    let opened = match user {
        Ok(user) => session::open(&app, user, &headers, &peer).await,
        Err(problem) => Err(problem),
    };
    match opened {
        Ok(mut answer) => {
            let cookie = answer.headers_mut().remove(header::SET_COOKIE);
            let mut answer = Redirect::to("/plain").into_response();
            answer.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
            answer
        }
        Err(problem) => failed(problem),
    }
}

pub async fn sign_out(
    app: State<App>,
    peer: ConnectInfo<Peer>,
    who: Result<Reader, Problem>,
) -> Response {
    match session::sign_out(app, peer, who).await {
        Ok(answer) => (answer.headers().clone(), Redirect::to("/plain")).into_response(),
        Err(problem) => failed(problem),
    }
}

pub async fn jobs(State(app): State<App>, who: Result<Who, Problem>) -> Response {
    let Ok(who) = who else { return sign_in_form().into_response() };
    let user = (!who.is_admin()).then(|| who.name.clone());
    let filter = Filter { user, limit: JOBS, ..Filter::default() };
    let list = match app.read(move |store| store.list(&filter)).await {
        Ok((jobs, _)) => jobs,
        Err(problem) => return failed(problem),
    };
    let mut body = format!(
        "<p>Signed in as {} on {}. <form method=post action=/plain/sign-out><button>Sign \
         out</button></form></p>\n{SUBMIT}<table><tr><th>Job<th>Name<th>State<th>Ranks<th>Since\
         <th>What<th>\n",
        Text(&who.name),
        Text(&app.place.host)
    );
    list.iter().for_each(|job| row(&mut body, job));
    body.push_str("</table>");
    if list.is_empty() {
        body.push_str(
            "<p>No jobs yet. On the command line: <code>hpvm submit -n 4 ./program</code></p>",
        );
    }
    page("Jobs", &body).into_response()
}

const SUBMIT: &str = "<form method=post action=/plain/jobs><fieldset><legend>Submit</legend>\
<label>Command <input name=command size=40 required placeholder=\"./program arguments\"></label>\
<label>Ranks <input name=ranks type=number min=1 value=1></label>\
<label>Folder <input name=workdir size=30 placeholder=\"home folder\"></label>\
<label>Seconds at most <input name=limit type=number min=1></label> <button>Submit</button>\
</fieldset></form>\n";

fn row(body: &mut String, job: &JobSummary) {
    let since = job.ended.or(job.started).unwrap_or(job.submitted);
    let outcome = job.outcome.as_ref().map(|outcome| {
        let detail = outcome.detail.clone().unwrap_or_default();
        format!("code {} {detail}", outcome.exit_code())
    });
    let what = outcome.or_else(|| job.reason.clone()).unwrap_or_default();
    let (id, state) = (job.id, job.state.name());
    let cancel = match state {
        "ended" => String::new(),
        _ => format!(
            "<form method=post action=/plain/jobs/{id}/cancel><button>Cancel</button></form>"
        ),
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        body,
        "<tr><td><a href=/plain/jobs/{id}>{}</a><td>{}<td>{state}<td>{}<td>{since}<td>{}<td>{cancel}",
        shown(job),
        Text(&job.name),
        job.ranks,
        Text(what)
    );
}

/// The form of submitting.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct SubmitForm {
    command: String,
    ranks: String,
    workdir: String,
    limit: String,
}

pub async fn submit(State(app): State<App>, who: Who, Form(form): Form<SubmitForm>) -> Response {
    match submitted(&app, &who, form).await {
        Ok(id) => Redirect::to(&format!("/plain/jobs/{id}")).into_response(),
        Err(problem) => failed(problem),
    }
}

async fn submitted(app: &App, who: &Who, form: SubmitForm) -> Result<i64, Problem> {
    let number = |field, text: &str| {
        let text = text.trim();
        let wrong = || Problem::fields(vec![(field, format!("'{text}' is no whole number"))]);
        text.parse::<u64>().map_err(|_| wrong())
    };
    let given = |text: &str| Some(text.trim().to_string()).filter(|text| !text.is_empty());
    let spec = JobSpec {
        command: form.command.split_whitespace().map(str::to_owned).collect(),
        ranks: u32::try_from(number("ranks", &form.ranks)?).unwrap_or(u32::MAX),
        workdir: given(&form.workdir),
        time_limit_seconds: given(&form.limit).map(|text| number("limit", &text)).transpose()?,
        ..JobSpec::default()
    };
    Ok(jobs::record(app, who, spec, None).await?.id())
}

pub async fn job(State(app): State<App>, who: Who, Path(id): Path<i64>) -> Response {
    let job = match find(&app, &who, id).await {
        Ok(job) => job,
        Err(problem) => return failed(problem),
    };
    let mut body =
        "<p><a href=/plain>Jobs</a></p><table><tr><th>Job<th>Name<th>State<th>Ranks<th>Since\
                    <th>What<th>\n"
            .to_string();
    row(&mut body, &job.summary);
    // Writing to a String cannot fail.
    let _ = writeln!(body, "</table>\n<pre>{}</pre>", Text(describe::command_line(&job.spec)));
    for (action, name, label) in [
        (Action::Hold, "hold", "Hold"),
        (Action::Release, "release", "Release"),
        (Action::Delete, "delete", "Remove record"),
    ] {
        if apply::why_not(&job, action).is_none() {
            let form = format!(
                "<form method=post action=/plain/jobs/{id}/{name}><button>{label}</button></form> "
            );
            body.push_str(&form);
        }
    }
    for stream in ["stdout", "stderr"] {
        let text =
            crate::api::output::tail(&app, &job, stream == "stderr", SHOWN_OUTPUT_BYTES).await;
        let link = format!("/api/v1/jobs/{id}/output?stream={stream}&amp;download=1");
        let _ = writeln!(
            body,
            "<h2>{stream}</h2><p><a href=\"{link}\">Download</a></p><pre>{}</pre>",
            Text(text.unwrap_or_else(|problem| problem.detail))
        );
    }
    page(&format!("Job {}", shown(&job.summary)), &body).into_response()
}

pub async fn act(
    State(app): State<App>,
    who: Who,
    Path((id, action)): Path<(i64, String)>,
) -> Response {
    let done = async {
        let job = find(&app, &who, id).await?;
        match action.as_str() {
            "cancel" => to_job(&app, &who, &job, Act::Cancel).await,
            "hold" => to_job(&app, &who, &job, Act::Hold).await,
            "release" => to_job(&app, &who, &job, Act::Release).await,
            "delete" => jobs::do_delete(&app, &who, &job).await,
            _ => Err(Problem::missing("there is no such action")),
        }
    };
    match done.await {
        Ok(()) => (StatusCode::SEE_OTHER, [(header::LOCATION, "/plain")]).into_response(),
        Err(problem) => failed(problem),
    }
}
