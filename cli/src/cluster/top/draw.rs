//! Draws the model: hosts with bars, jobs, the ranks of one of them.

use hpvm_queue::describe::time;
use hpvm_queue::job::{JobSummary, State};
use hpvm_queue::name::shown;
use hpvm_queue::time::Stamp;
use hpvm_serve::api::types::{Host, HostState, Rank, RankState, Ranks};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use super::model::{Mode, Model, SORTS, used};
use crate::cluster::list::{cells, printable, where_or_why};

/// Letters between the brackets of a bar on a screen that has so many columns at least.
const BARS: [(u16, usize); 3] = [(100, 20), (60, 10), (0, 4)];
/// Columns for the whole first line.
const WIDE: u16 = 80;
/// Longest name of anything in a column; names come from others.
const NAME_MAX: usize = 30;
/// Between two columns.
const SPACING: usize = 2;
/// Longest text in the last column.
const LAST_MAX: usize = 300;

// Both fit into 80 columns.
const KEYS: &str = "q quit  ? help  arrows choose  / filter  s sort  r reverse  a ended  c cancel";
const HELP: [&str; 5] = [
    "Bars: | is programs, # the kernel; of memory, what is in use.",
    "Filter: state:running user:me name:x host:n1 queue:q id:7; a word alone is",
    "part of a name, or a number. a shows jobs that have ended lately, too.",
    "Ranks are those of the chosen job, while it runs. c asks before it cancels.",
    "Any key goes back.",
];

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// Lines that the whole model takes.
pub fn height(model: &Model, now: Stamp) -> u16 {
    let ranks = rank_lines(model, now);
    let lines = 1 + 1 + model.hosts.len() + 1 + 1 + model.shown(now).len() + 1 + ranks + 1;
    u16::try_from(lines).unwrap_or(u16::MAX)
}

/// Lines of the ranks with their head.
fn rank_lines(model: &Model, now: Stamp) -> usize {
    let Some(job) = model.selected(now) else { return 0 };
    match model.ranks_of(job.id) {
        Some(Ok(ranks)) => 2 + ranks.ranks.len() + ranks.findings.len(),
        _ => 1,
    }
}

pub fn draw(frame: &mut Frame, model: &Model, now: Stamp) {
    // Hosts and ranks leave jobs a third of the screen; where all fits, nothing is cut.
    let third = frame.area().height / 3;
    let all = height(model, now) <= frame.area().height;
    let most = |lines: usize| {
        let lines = u16::try_from(lines).unwrap_or(u16::MAX);
        if all { lines } else { lines.min(third) }
    };
    let [top, hosts, _, jobs, _, ranks, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(most(1 + model.hosts.len())),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(most(rank_lines(model, now))),
        Constraint::Length(if model.mode == Mode::Help {
            help_lines(frame.area().width)
        } else {
            1
        }),
    ])
    .areas(frame.area());
    frame.render_widget(head(model, top.width), top);
    draw_hosts(frame, hosts, model);
    draw_jobs(frame, jobs, model, now);
    draw_ranks(frame, ranks, model, now);
    frame.render_widget(foot(model), bottom);
}

/// Lines that the help takes, some of them on several lines of the screen.
fn help_lines(width: u16) -> u16 {
    let lines = HELP.iter().map(|line| line.len().div_ceil(usize::from(width.max(1))) as u16);
    // A line that is broken between words may take one more.
    lines.map(|lines| if lines > 1 { lines + 1 } else { lines }).sum()
}

fn head(model: &Model, width: u16) -> Paragraph<'static> {
    if let Some(why) = &model.lost {
        let text = format!("no connection, trying again; what is shown is old: {why}");
        return Paragraph::new(printable(&text, LAST_MAX))
            .style(Style::new().add_modifier(Modifier::REVERSED));
    }
    let sum = |of: fn(&Host) -> u32| model.hosts.iter().map(of).map(u64::from).sum::<u64>();
    let order = if model.reverse { ", reversed" } else { "" };
    let (reserved, cpus) = (sum(|host| host.cpus_reserved), sum(|host| host.cpus));
    let running = model.count(&[State::Running]);
    let pending = model.count(&[State::Pending, State::Submitted]);
    let (held, by) = (model.count(&[State::Held]), SORTS[model.sort]);
    let mut text = match width < WIDE {
        true => format!(
            "{reserved}/{cpus} used  run {running}  pend {pending}  held {held}  by {by}{order}"
        ),
        false => format!(
            "hpvm top   {reserved} of {cpus} processors reserved   running {running}   pending {pending}   held {held}   \
             by {by}{order}"
        ),
    };
    if !model.filter.text.is_empty() {
        text += &format!("   filter {}", model.filter.text);
    }
    if model.truncated {
        text += "   (the server has more jobs: hpvm queue)";
    }
    Paragraph::new(printable(&text, LAST_MAX)).style(Style::new().add_modifier(Modifier::BOLD))
}

fn foot(model: &Model) -> Paragraph<'static> {
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    match &model.mode {
        Mode::Confirm(id) => {
            let text = format!("Cancel job {id}? y cancels it, any other key does not");
            Paragraph::new(text).style(reversed)
        }
        Mode::Filter(text) if model.message.is_empty() => {
            Paragraph::new(format!("filter: {text}_   (Enter applies it, Esc leaves it)"))
        }
        Mode::Filter(text) => Paragraph::new(format!("filter: {text}_   {}", model.message)),
        Mode::Help => Paragraph::new(HELP.join("\n")).wrap(Wrap { trim: true }),
        Mode::List if model.message.is_empty() => Paragraph::new(KEYS).style(dim()),
        Mode::List => Paragraph::new(printable(&model.message, LAST_MAX)).style(reversed),
    }
}

/// What a table may leave out, and may cut.
struct Room<'a> {
    width: u16,
    /// Heads of the columns that go where not all have room, the first ones first.
    spare: &'a [&'a str],
    /// So much of the last column is of use, though it may hold more.
    last: usize,
}

/// A table with columns as wide as their widest cells; the last one takes the rest. Others are whole or not there: half
/// a number would be read as another one.
fn table<const N: usize>(
    room: &Room<'_>,
    heads: [&str; N],
    rows: Vec<([String; N], Vec<Style>)>,
) -> Table<'static> {
    let widest = |column: usize| {
        let widths = rows.iter().map(|(row, _)| cells(&row[column]));
        let widest = widths.chain([heads[column].len()]).max().unwrap_or(0);
        if column + 1 == N { widest.min(room.last) } else { widest }
    };
    let widths: Vec<usize> = (0..N).map(widest).collect();
    let kept = fitting(&heads, &widths, room);
    let length = |column: &usize| match column + 1 == N {
        true => Constraint::Fill(1),
        false => Constraint::Length(u16::try_from(widths[*column]).unwrap_or(u16::MAX)),
    };
    let styled = |(row, styles): ([String; N], Vec<Style>)| {
        let cell = |column: &usize| {
            Cell::new(row[*column].clone()).style(styles.get(*column).copied().unwrap_or_default())
        };
        Row::new(kept.iter().map(cell).collect::<Vec<_>>())
    };
    Table::new(rows.into_iter().map(styled).collect::<Vec<_>>(), kept.iter().map(length))
        .header(Row::new(kept.iter().map(|column| heads[*column].to_owned())).style(dim()))
        .column_spacing(SPACING as u16)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
}

/// The columns for which there is room.
fn fitting(heads: &[&str], widths: &[usize], room: &Room<'_>) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..heads.len()).collect();
    let takes = |kept: &[usize]| kept.iter().map(|column| widths[*column] + SPACING).sum::<usize>();
    for spare in room.spare {
        if takes(&kept) <= usize::from(room.width) + SPACING {
            break;
        }
        kept.retain(|column| heads[*column] != *spare);
    }
    kept
}

fn draw_hosts(frame: &mut Frame, area: Rect, model: &Model) {
    let length =
        BARS.iter().find(|(width, _)| area.width >= *width).map_or(0, |(_, length)| *length);
    let spare = ["NETWORK", "RESERVED", "LOAD", "GPU", "STATE", "MEMORY"];
    let room = Room { width: area.width, spare: &spare, last: usize::MAX };
    let rows = model.hosts.iter().map(|host| host_row(host, length));
    // Hardly any host has graphics processors: no column then.
    if model.hosts.iter().all(|host| gpus(host).is_none()) {
        let heads = ["HOST", "STATE", "RESERVED", "CPU", "MEMORY", "LOAD", "NETWORK"];
        return frame.render_widget(table(&room, heads, rows.collect()), area);
    }
    let heads = ["HOST", "STATE", "RESERVED", "CPU", "MEMORY", "GPU", "LOAD", "NETWORK"];
    let wider = rows.zip(&model.hosts).map(|((row, mut styles), host)| {
        let [name, state, reserved, cpu, memory, load, network] = row;
        let gpu = gpus(host).unwrap_or_else(|| "-".into());
        styles.push(Style::new().fg(Color::Magenta));
        ([name, state, reserved, cpu, memory, gpu, load, network], styles)
    });
    frame.render_widget(table(&room, heads, wider.collect()), area);
}

/// The graphics processors of a host: how busy in the mean of those that say it, and their memory.
fn gpus(host: &Host) -> Option<String> {
    let all = host.sample.as_ref().map(|sample| &sample.gpus).filter(|gpus| !gpus.is_empty())?;
    let known: Vec<f32> = all.iter().filter_map(|gpu| gpu.busy).collect();
    let busy = match known.len() {
        0 => "  - ".to_owned(),
        count => format!("{:>3.0} %", 100.0 * known.iter().sum::<f32>() / count as f32),
    };
    let used: f64 = all.iter().map(|gpu| gpu.memory_used as f64).sum();
    Some(format!("{busy} {}", bytes(used)))
}

fn host_row(host: &Host, length: usize) -> ([String; 7], Vec<Style>) {
    let (state, colour) = match host.state {
        HostState::Up => ("up", Color::Green),
        HostState::Drained => ("drained", Color::Yellow),
        HostState::Lost => ("lost", Color::Red),
    };
    let sample = host.sample.as_ref();
    let cpu = sample.and_then(|sample| sample.cpu.as_ref()).map(|cpu| cpu.total);
    let memory = sample.map(|sample| sample.memory).filter(|memory| memory.total > 0);
    let used = |used: u64, total: u64| (used as f64 / total as f64) as f32;
    let network = sample.and_then(|sample| sample.network.as_ref());
    let absent = || "-".to_owned();
    let row = [
        printable(&host.name, NAME_MAX),
        state.into(),
        format!("{}/{}", host.cpus_reserved, host.cpus),
        cpu.map_or_else(absent, |cpu| bar(length, cpu.user, cpu.system)),
        memory.map_or_else(absent, |m| {
            bar(length, used(m.total.saturating_sub(m.available), m.total), 0.0)
        }),
        sample.map_or_else(absent, |sample| format!("{:.2}", sample.load[0])),
        network
            .map_or_else(absent, |n| format!("in {}/s out {}/s", bytes(n.received), bytes(n.sent))),
    ];
    let bars = Style::new().fg(Color::Cyan);
    (row, vec![Style::new(), Style::new().fg(colour), Style::new(), bars, bars])
}

/// `[|||||||###          ] 52 %`: two fractions of a whole.
fn bar(length: usize, first: f32, second: f32) -> String {
    let sound = |part: f32| if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
    let (first, both) = (sound(first), sound(first + second));
    let letters = |part: f32| (part * length as f32).round() as usize;
    let (a, b) = (letters(first).min(letters(both)), letters(both));
    let (programs, kernel, free) = ("|".repeat(a), "#".repeat(b - a), " ".repeat(length - b));
    format!("[{programs}{kernel}{free}] {:>3.0} %", both * 100.0)
}

/// With a unit of 1024.
fn bytes(count: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut count, mut unit) = (count.max(0.0), 0);
    while count >= 1024.0 && unit + 1 < units.len() {
        (count, unit) = (count / 1024.0, unit + 1);
    }
    let digits = usize::from(unit > 0 && count < 100.0);
    format!("{count:.digits$} {}", units[unit])
}

fn draw_jobs(frame: &mut Frame, area: Rect, model: &Model, now: Stamp) {
    let heads = ["JOB", "NAME", "USER", "STATE", "TIME", "LIMIT", "RANKS", "HOSTS (REASON)"];
    let shown = model.shown(now);
    let rows = shown.iter().map(|job| job_row(job, now)).collect();
    let selected = model.selected(now).map(|job| job.id);
    let at = shown.iter().position(|job| Some(job.id) == selected);
    let mut state = TableState::new().with_selected(at);
    let spare = ["LIMIT", "USER", "RANKS", "HOSTS (REASON)", "TIME"];
    let room = Room { width: area.width, spare: &spare, last: 10 };
    frame.render_stateful_widget(table(&room, heads, rows), area, &mut state);
}

fn job_row(job: &JobSummary, now: Stamp) -> ([String; 8], Vec<Style>) {
    let (state, style) = match job.state {
        _ if job.cancelling => ("cancelling", Style::new().fg(Color::Red)),
        State::Running => ("running", Style::new().fg(Color::Green)),
        State::Ended => ("ended", dim()),
        other => (other.name(), Style::new().fg(Color::Yellow)),
    };
    let row = [
        shown(job),
        printable(&job.name, NAME_MAX),
        printable(&job.user, NAME_MAX),
        state.into(),
        time(used(job, now)),
        job.time_limit_seconds.map_or_else(|| "-".into(), time),
        job.ranks.to_string(),
        where_or_why(job),
    ];
    (row, vec![Style::new(), Style::new(), Style::new(), style])
}

fn draw_ranks(frame: &mut Frame, area: Rect, model: &Model, now: Stamp) {
    let Some(job) = model.selected(now) else { return };
    let title = format!("Ranks of job {} {}", shown(job), printable(&job.name, NAME_MAX));
    let ranks = match model.ranks_of(job.id) {
        Some(Ok(ranks)) if job.state == State::Running => ranks,
        known => {
            let why = match known {
                _ if job.state != State::Running => format!("it is {}", job.state.name()),
                Some(Err(why)) => why.clone(),
                _ => "not known yet".into(),
            };
            let text = printable(&format!("{title}: {why}"), LAST_MAX);
            return frame.render_widget(Paragraph::new(text).style(dim()), area);
        }
    };
    let found = u16::try_from(ranks.findings.len()).unwrap_or(u16::MAX);
    let parts = [Constraint::Length(1), Constraint::Length(found), Constraint::Fill(1)];
    let [line, findings, rows] = Layout::vertical(parts).areas(area);
    let title = format!("{title}{}", none_in_mpi(ranks));
    frame.render_widget(
        Paragraph::new(title).style(Style::new().add_modifier(Modifier::BOLD)),
        line,
    );
    let lines = ranks.findings.iter().map(|text| {
        let text = printable(text, LAST_MAX);
        Line::from(vec![Span::raw("=> "), Span::raw(text)]).style(Style::new().fg(Color::Red))
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), findings);
    let heads = ["RANK", "HOST", "PROCESS", "STATE", "SENT", "SINCE", "WAITS FOR"];
    let spare = ["PROCESS", "HOST", "SINCE", "SENT"];
    let room = Room { width: rows.width, spare: &spare, last: 10 };
    frame.render_widget(table(&room, heads, ranks.ranks.iter().map(rank_row).collect()), rows);
}

fn none_in_mpi(ranks: &Ranks) -> &'static str {
    if ranks.ranks.is_empty() { ": none of them has begun MPI" } else { "" }
}

fn rank_row(rank: &Rank) -> ([String; 7], Vec<Style>) {
    let state = match rank.state {
        RankState::Computing => "running",
        RankState::Mpi => "in MPI",
        RankState::Sleeping => "sleeping",
        RankState::Starting => "starting",
        RankState::Finished => "finished",
    };
    let row = [
        rank.rank.to_string(),
        printable(&rank.host, NAME_MAX),
        rank.pid.to_string(),
        state.into(),
        rank.counters.get("bytes_sent").map_or_else(String::new, |sent| bytes(*sent as f64)),
        rank.since_seconds.map_or_else(String::new, |seconds| format!("{seconds:.1} s")),
        printable(&rank.operations.join("; "), LAST_MAX),
    ];
    (row, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::{Room, bar, bytes, fitting, gpus};
    use hpvm_monitor::{Gpu, HostSample};
    use hpvm_queue::policy::Resources;
    use hpvm_serve::api::types::Host;

    #[test]
    fn graphics_processors_in_a_few_letters() {
        let host = |busy: &[Option<f32>]| {
            let gpu = |busy: &Option<f32>| Gpu {
                name: "x".into(),
                busy: *busy,
                memory_total: 80 << 30,
                memory_used: 6 << 30,
            };
            let sample =
                HostSample { gpus: busy.iter().map(gpu).collect(), ..HostSample::default() };
            let capacity = Resources { cpus: 1, memory: 1, gpus: 0 };
            Host { sample: Some(sample), ..Host::up("n1", capacity) }
        };
        assert_eq!(gpus(&host(&[])), None);
        assert_eq!(gpus(&host(&[Some(1.0), Some(0.5), None])).unwrap(), " 75 % 18.0 GiB");
        assert_eq!(gpus(&host(&[None])).unwrap(), "  -  6.0 GiB");
    }

    #[test]
    fn columns_are_whole_or_not_there() {
        let heads = ["JOB", "NAME", "TIME", "HOSTS"];
        let kept = |width| {
            let room = Room { width, spare: &["TIME", "HOSTS"], last: 9 };
            fitting(&heads, &[3, 7, 8, 9], &room)
        };
        assert_eq!(kept(33), [0, 1, 2, 3]);
        assert_eq!(kept(32), [0, 1, 3]);
        assert_eq!(kept(23), [0, 1, 3]);
        assert_eq!(kept(22), [0, 1]);
        assert_eq!(kept(0), [0, 1], "what is no spare is cut");
    }

    #[test]
    fn bars_are_always_of_one_length() {
        assert_eq!(bar(10, 0.5, 0.2), "[|||||##   ]  70 %");
        assert_eq!(bar(10, 0.0, 0.0), "[          ]   0 %");
        for (first, second) in [(1.0, 1.0), (-1.0, 0.5), (f32::NAN, 1.0), (0.04, 0.04), (9.0, -9.0)]
        {
            assert_eq!(bar(10, first, second).len(), 18, "{first} {second}");
        }
    }

    #[test]
    fn amounts() {
        for (count, text) in
            [(0.0, "0 B"), (1023.0, "1023 B"), (1536.0, "1.5 KiB"), (3e15, "2728 TiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }
}
