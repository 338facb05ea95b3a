//! What frames the page: where one is, the verdict, the status line, and what is shown while there is no page yet.

use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use report::cells::{width, wrap};
use report::{headline, length};

use super::pieces::{bold, cell, dim, fitting, tabs};
use crate::tui::keys::BINDINGS;
use crate::tui::page::{BlockPage, BlockPart, OutlierPage, OutlierPart, Page};
use crate::tui::state::{Overlay, Prompt, State};

const SPINNER: [&str; 4] = ["-", "\\", "|", "/"];
const PROGRESS_COLUMNS: usize = 30;

/// `tailtrace › perf.data › preempt 23`.
pub(super) fn title(state: &State, columns: u16) -> Line<'static> {
    let mut way = vec!["tailtrace".to_owned(), state.args.input.input.to_string_lossy().into_owned()];
    way.extend(state.pages.iter().skip(1).filter_map(|page| match page {
        Page::Population(_) => None,
        Page::Intervals(_) => Some("intervals".to_owned()),
        Page::Outlier(page) => Some(name(state, page.index)),
        Page::Block(page) => Some(format!("block {:#x}", page.used.block.ip)),
    }));
    let keys = "? keys  q quit ";
    let room = usize::from(columns).saturating_sub(keys.len() + 2);
    let text = format!(" {}", cell(&way.join(" › "), room));
    Line::from(vec![Span::styled(text, bold()), Span::styled(format!(" {keys}"), dim())])
}

fn name(state: &State, index: usize) -> String {
    state.row(index).map_or_else(String::new, |row| format!("{} {}", row.label, row.id).trim().to_owned())
}

/// The verdict, and what heads the list below it.
pub(super) fn header(state: &State, area: Rect) -> Vec<Line<'static>> {
    let columns = area.width;
    match state.page() {
        Page::Population(_) => vec![population(state, columns), Line::default()],
        Page::Intervals(page) => {
            let mut lines = vec![population(state, columns)];
            lines.extend(super::intervals::header(state, page, columns));
            lines
        }
        Page::Outlier(page) => outlier(state, page, area),
        Page::Block(page) => block(state, page, columns),
    }
}

/// The population in one line.
fn population(state: &State, columns: u16) -> Line<'static> {
    let Some(overview) = &state.overview else { return Line::default() };
    let text = report::population(&overview.report).unwrap_or_else(|| "no interval".to_owned());
    Line::styled(fitting(&format!(" {text}"), usize::from(columns)), bold())
}

fn outlier(state: &State, page: &OutlierPage, area: Rect) -> Vec<Line<'static>> {
    let most = if area.height < 30 { 2 } else { 4 };
    let room = usize::from(area.width).saturating_sub(2);
    let sentence = match state.explained(page.index) {
        Some(explained) => headline(&explained.outlier),
        None => state.row(page.index).map_or_else(String::new, |row| {
            let unit = state.unit();
            format!("{}: not explained yet", length(row.duration, unit))
        }),
    };
    let mut wrapped = wrap(&sentence, room);
    if wrapped.len() > most {
        wrapped.truncate(most);
        if let Some(last) = wrapped.last_mut() {
            *last = fitting(&format!("{last} …"), room);
        }
    }
    let mut lines: Vec<Line<'static>> =
        wrapped.into_iter().map(|text| Line::styled(format!(" {text}"), bold())).collect();
    lines.push(tabs(OutlierPart::ALL.iter().map(|part| part.name()), page.part as usize, area.width));
    lines
}

fn block(state: &State, page: &BlockPage, columns: u16) -> Vec<Line<'static>> {
    let room = usize::from(columns).saturating_sub(2);
    let unit = state.unit();
    let used = &page.used;
    let function = page.listing.as_ref().map_or("", |listing| listing.function.as_str());
    let frames = page.listing.as_ref().map_or_else(String::new, |listing| listing.frames.join(" < "));
    let each = length(used.duration / used.executions.max(1), unit);
    let cost = format!(
        "{}, {} instruction{}; {}",
        length(used.duration, unit),
        used.block.instructions,
        if used.block.instructions == 1 { "" } else { "s" },
        if used.executions == 1 {
            "once".to_owned()
        } else {
            format!("{} times, {each} each", used.executions)
        },
    );
    let line = |text: &str, style| Line::styled(format!(" {}", fitting(text, room)), style);
    let place = if frames.contains('(') { format!("{cost}; {frames}") } else { cost };
    vec![
        line(function, bold()),
        line(&place, Style::new()),
        tabs(BlockPart::ALL.iter().map(|part| part.name()), page.part as usize, columns),
    ]
}

/// What the last key came to, what is being done, what is being typed, or which keys there are.
pub(super) fn status(state: &State, columns: u16) -> Line<'static> {
    let room = usize::from(columns).saturating_sub(1);
    if let Some(Overlay::Prompt(prompt, line)) = &state.overlay {
        let name = match prompt {
            Prompt::Search => "search: ",
            Prompt::Filter => "filter: ",
        };
        return Line::from(vec![
            Span::styled(name, bold()),
            Span::raw(cell(&format!("{line}_"), room - name.len())),
        ]);
    }
    if let Some(notice) = &state.notice {
        let style = Style::new().fg(Color::Yellow);
        return Line::styled(format!(" {}", fitting(notice, room)), style);
    }
    if state.task.is_some() {
        return Line::styled(format!(" {}", fitting(&progress(state), room)), bold());
    }
    Line::styled(format!(" {}", hints(state, room)), dim())
}

/// Keys of this place, as many as fit; the table tells.
fn hints(state: &State, room: usize) -> String {
    let place = state.place();
    let own = BINDINGS.iter().filter(|binding| binding.applies(place) && !binding.is_everywhere());
    let mut shown: Vec<String> = Vec::new();
    let mut used = 0;
    for binding in own {
        let text = format!("{} {}", binding.names().split(',').next().unwrap_or(""), binding.help);
        used += width(&text) + 3;
        if used > room {
            break;
        }
        shown.push(text);
    }
    shown.join(" · ")
}

/// `/ decoding interval 23: 3 of 17 windows, 1.20 MB, 1.2 M blocks; Esc cancels`.
fn progress(state: &State) -> String {
    let Some(task) = &state.task else { return String::new() };
    let spinner = SPINNER[state.ticks % SPINNER.len()];
    let words = task.progress.words();
    let colon = if words.is_empty() { "" } else { ": " };
    let way_out = if state.overview.is_some() { "Esc cancels" } else { "Esc gives up" };
    format!("{spinner} {}{colon}{words}; {way_out}", task.what)
}

/// In the middle of an empty body: what is awaited, and how far it is.
pub(super) fn waiting(state: &State, area: Rect) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default(); usize::from(area.height / 3)];
    let text = match &state.task {
        Some(_) => progress(state),
        None => state.notice.clone().unwrap_or_else(|| "nothing is decoded here: Esc goes back".to_owned()),
    };
    lines.push(Line::raw(fitting(&format!("  {text}"), usize::from(area.width))));
    let progress = state.task.as_ref().map(|task| task.progress).unwrap_or_default();
    if let (Some(bar), Some(percent)) = (progress.bar(PROGRESS_COLUMNS), progress.percent()) {
        lines.push(Line::raw(format!("  {bar} {percent:>3} %")));
    }
    lines
}
