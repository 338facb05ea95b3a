//! What frames the page: where one is, the status line, and what is shown while there is no page yet.

use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use report::cells::width;

use crate::progress;
use crate::tui::pages::keys::BINDINGS;
use crate::tui::pages::overlay::{Overlay, Prompt};
use crate::tui::pages::page::Page;
use crate::tui::pages::pieces::{bold, cell, dim, fitting};
use crate::tui::pages::view::View;

const SPINNER: [&str; 4] = ["-", "\\", "|", "/"];
const PROGRESS_COLUMNS: usize = 30;

/// `tailtrace › perf.data › preempt 23`.
pub(super) fn title(view: &View, columns: u16) -> Line<'static> {
    let mut way = vec!["tailtrace".to_owned(), view.args.input.path().to_string_lossy().into_owned()];
    way.extend(view.pages.iter().skip(1).filter_map(|page| match page {
        Page::Population(_) => None,
        Page::MadeOf(_) => Some("all intervals by cause".to_owned()),
        Page::Intervals(_) => Some("intervals".to_owned()),
        Page::Outlier(page) => Some(name(view, page.index)),
        Page::Stretch(page) => view.explained(page.index).map(|explained| page.who(&explained.outlier)),
        Page::Block(page) => Some(format!("block {:#x}", page.used.block.ip)),
    }));
    let keys = "? keys  q quit ";
    let room = usize::from(columns).saturating_sub(keys.len() + 2);
    let text = format!(" {}", cell(&way.join(" › "), room));
    Line::from(vec![Span::styled(text, bold()), Span::styled(format!(" {keys}"), dim())])
}

fn name(view: &View, index: usize) -> String {
    view.row(index).map_or_else(String::new, |row| format!("{} {}", row.label, row.id).trim().to_owned())
}

/// What the last key came to, what is being done, what is being typed, or which keys there are.
pub(super) fn status(view: &View, columns: u16) -> Line<'static> {
    let room = usize::from(columns).saturating_sub(1);
    if let Some(Overlay::Prompt(prompt, line)) = &view.overlay {
        let name = match prompt {
            Prompt::Search => "search: ",
            Prompt::Filter => "filter: ",
        };
        return Line::from(vec![
            Span::styled(name, bold()),
            Span::raw(cell(&format!("{line}_"), room - name.len())),
        ]);
    }
    if let Some(notice) = &view.notice {
        let style = Style::new().fg(Color::Yellow);
        return Line::styled(format!(" {}", fitting(notice, room)), style);
    }
    if view.task.is_some() {
        return Line::styled(format!(" {}", fitting(&task(view), room)), bold());
    }
    Line::styled(format!(" {}", hints(view, room)), dim())
}

/// Keys of this place, as many as fit, from the table.
fn hints(view: &View, room: usize) -> String {
    let place = view.place();
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
fn task(view: &View) -> String {
    let Some(task) = &view.task else { return String::new() };
    let spinner = SPINNER[view.ticks % SPINNER.len()];
    let words = progress::words(&task.progress);
    let colon = if words.is_empty() { "" } else { ": " };
    let way_out = if view.overview.is_some() { "Esc cancels" } else { "Esc gives up" };
    format!("{spinner} {}{colon}{words}; {way_out}", task.what)
}

/// In the middle of an empty body: what is awaited, and how far it is.
pub(super) fn waiting(view: &View, area: Rect) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default(); usize::from(area.height / 3)];
    let text = match &view.task {
        Some(_) => task(view),
        None => view.notice.clone().unwrap_or_else(|| "nothing is decoded here: Esc goes back".to_owned()),
    };
    lines.push(Line::raw(fitting(&format!("  {text}"), usize::from(area.width))));
    let far = view.task.as_ref().map(|task| task.progress).unwrap_or_default();
    if let (Some(bar), Some(percent)) = (progress::bar(&far, PROGRESS_COLUMNS), far.percent()) {
        lines.push(Line::raw(format!("  {bar} {percent:>3} %")));
    }
    lines
}
