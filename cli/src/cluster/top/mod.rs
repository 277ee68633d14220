//! `hpvm top`: hosts, jobs and ranks on a terminal.

mod draw;
mod filter;
mod model;
mod screen;
mod watch;

use std::io::IsTerminal;

use clap::{Arg, ArgAction, ArgMatches, Command};
use hpvm_queue::job::State;
use hpvm_queue::name::Name;
use hpvm_queue::time::Stamp;
use hpvm_serve::api::types::{Job, Session};
use hpvm_serve::client::{Client, Failure};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use serde_json::json;

use super::{json_flag, list, server};
use filter::Filter;
use model::{Model, News, SORTS};

/// Columns of a frame that goes into a file, unless `COLUMNS` says otherwise.
const FRAME_COLUMNS: u16 = 120;
/// Widest frame; `COLUMNS` is anything that somebody has set.
const WIDTH_MAX: u16 = 1000;
/// Lines of such a frame. More jobs are what `--json` and `hpvm queue` are for.
const HEIGHT_MAX: u16 = 5000;

/// The subcommand.
pub fn definition() -> Command {
    Command::new("top")
        .about("Watch hosts, jobs and ranks")
        .long_about(
            "Watch hosts, jobs and ranks, as they change. Keys: arrows choose a job, whose ranks are \
             shown while it runs; / filters, s sorts, r reverses, a shows those that have ended, too, \
             c cancels the chosen job after a question, ? explains, q quits.",
        )
        .arg(
            Arg::new("sort")
                .long("sort")
                .value_name("KEY")
                .value_parser(SORTS)
                .default_value("id")
                .help("Order of the jobs; state: what runs first; time, ranks: the most first"),
        )
        .arg(
            Arg::new("reverse")
                .short('r')
                .long("reverse")
                .action(ArgAction::SetTrue)
                .help("The other way round"),
        )
        .arg(Arg::new("filter").short('f').long("filter").value_name("TEXT").help(
            "Jobs like 'state:running user:me name:x host:n1 queue:q id:7'; a word alone is part of \
             a name, or a number",
        ))
        .arg(
            Arg::new("all")
                .short('a')
                .long("all")
                .action(ArgAction::SetTrue)
                .help("Also jobs that have ended lately"),
        )
        .arg(
            Arg::new("job")
                .short('j')
                .long("job")
                .value_name("JOB")
                .help("Show the ranks of this job [default: the first that runs]"),
        )
        .arg(
            Arg::new("once")
                .long("once")
                .action(ArgAction::SetTrue)
                .help("Print one frame as text, and end; COLUMNS is its width"),
        )
        .arg(json_flag().help("Write what one frame shows as JSON, and end"))
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let (json, once) = (matches.get_flag("json"), matches.get_flag("once"));
    if !json && !once && !std::io::stdout().is_terminal() {
        return Err(
            "top: standard output is no terminal; --once prints one frame as text, --json \
                    is for programs"
                .into(),
        );
    }
    let model = server::with(async |client: Client| load(&client, matches).await)?;
    let now = Stamp::now();
    if let Some(job) = matches.get_one::<String>("job")
        && model.selected(now).is_none_or(|selected| Some(selected.id) != model.chosen)
    {
        return Err(format!("top: job {job} is not among those shown; hpvm show {job}"));
    }
    if json {
        crate::info::print((values(&model, now).to_string() + "\n").as_bytes())?;
    } else if once {
        crate::info::print(frame(&model, now)?.as_bytes())?;
    } else {
        screen::run(server::client()?, model)?;
    }
    Ok(0)
}

/// The first picture: what the stream of events begins with, and the ranks of the selected job.
async fn load(client: &Client, matches: &ArgMatches) -> Result<Model, Failure> {
    let text = matches.get_one::<String>("filter").map_or("", String::as_str);
    let filter = Filter::parse(text).map_err(|why| Failure::Broken(format!("top: {why}")))?;
    let sort = matches.get_one::<String>("sort");
    let chosen = match matches.get_one::<String>("job") {
        Some(word) => {
            let name: Name = word.parse().map_err(|why| Failure::Broken(format!("top: {why}")))?;
            Some(client.get::<Job>(&format!("/api/v1/jobs/{name}")).await?.summary.id)
        }
        None => None,
    };
    let mut model = Model {
        filter,
        sort: SORTS.iter().position(|known| Some(*known) == sort.map(String::as_str)).unwrap_or(0),
        reverse: matches.get_flag("reverse"),
        all: matches.get_flag("all"),
        chosen,
        me: client.get::<Session>("/api/v1/session").await?.user,
        ..Model::default()
    };
    let mut events = watch::open(client).await?;
    loop {
        let Some(event) = events.next().await else {
            return Err(Failure::Broken("top: the server ended the stream of events".into()));
        };
        if let Some(snapshot @ News::Snapshot(_)) = watch::news(&event)? {
            model.hear(snapshot);
            break;
        }
    }
    let selected = model.selected(Stamp::now()).filter(|job| job.state == State::Running);
    if let Some(job) = selected.map(|job| job.id) {
        model.hear(News::Ranks(job, watch::ranks(client, job).await));
    }
    Ok(model)
}

/// What is shown, for programs.
fn values(model: &Model, now: Stamp) -> serde_json::Value {
    let ranks = model.ranks.as_ref().map(|(job, ranks)| match ranks {
        Ok(ranks) => json!({ "job": job, "ranks": ranks.ranks, "findings": ranks.findings }),
        Err(why) => json!({ "job": job, "problem": why }),
    });
    let (hosts, truncated) = (&model.hosts, model.truncated);
    json!({ "hosts": hosts, "jobs": model.shown(now), "ranks": ranks, "truncated": truncated })
}

/// One frame as text, with as many lines as it needs.
fn frame(model: &Model, now: Stamp) -> Result<String, String> {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<u16>().ok());
    let width = columns.filter(|width| *width > 0).unwrap_or(FRAME_COLUMNS).min(WIDTH_MAX);
    // The last line is for keys, which one frame has no use for.
    let height = draw::height(model, now).min(HEIGHT_MAX);
    let failed = |error| format!("top: {error}");
    let mut terminal = Terminal::new(TestBackend::new(width, height)).map_err(failed)?;
    terminal.draw(|frame| draw::draw(frame, model, now)).map_err(failed)?;
    let text = text(terminal.backend().buffer());
    Ok(text.trim_end().rsplit_once('\n').map_or("", |(rest, _)| rest.trim_end()).to_owned() + "\n")
}

fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for line in buffer.content().chunks(usize::from(buffer.area().width)) {
        let (mut letters, mut column) = (String::new(), 0);
        // A letter that takes two cells stands in the first of them.
        while let Some(cell) = line.get(column) {
            letters += cell.symbol();
            column += list::cells(cell.symbol()).max(1);
        }
        out += letters.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_stand_together() {
        let line = "名前 🚀 x";
        assert_eq!(text(&Buffer::with_lines([line, "plain"])), format!("{line}\nplain\n"));
    }
}
