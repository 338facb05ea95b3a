//! What heads a page: the verdict, and the names of its parts or columns.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use report::cells::wrap;
use report::{headline, length};

use super::interval_table;
use super::page::{BlockPage, BlockPart, OutlierPage, OutlierPart, Page};
use super::pieces::{bold, fitting, tabs};
use super::stretch::StretchPage;
use super::view::View;

/// The verdict, and what heads the list below it.
pub(crate) fn header(view: &View, area: Rect) -> Vec<Line<'static>> {
    let columns = area.width;
    match view.page() {
        Page::Population(_) | Page::MadeOf(_) => vec![population(view, columns), Line::default()],
        Page::Intervals(page) => {
            let mut lines = vec![population(view, columns)];
            lines.extend(interval_table::header(view, page, columns));
            lines
        }
        Page::Outlier(page) => outlier(view, page, area),
        Page::Stretch(page) => stretch(view, page, columns),
        Page::Block(page) => block(view, page, columns),
    }
}

/// The population in one line.
fn population(view: &View, columns: u16) -> Line<'static> {
    let Some(overview) = &view.overview else { return Line::default() };
    let text = report::population(&overview.report).unwrap_or_else(|| "no interval".to_owned());
    Line::styled(fitting(&format!(" {text}"), usize::from(columns)), bold())
}

fn outlier(view: &View, page: &OutlierPage, area: Rect) -> Vec<Line<'static>> {
    // The verdict has it in full, the other parts say which interval one is in.
    let most = match page.part {
        OutlierPart::Verdict if area.height < 30 => 2,
        OutlierPart::Verdict => 4,
        _ => 1,
    };
    let room = usize::from(area.width).saturating_sub(2);
    let sentence = match view.explained(page.index) {
        Some(explained) => headline(&explained.outlier),
        None => view.row(page.index).map_or_else(String::new, |row| {
            let unit = view.unit();
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

/// The two threads, and what the wait was for.
fn stretch(view: &View, page: &StretchPage, columns: u16) -> Vec<Line<'static>> {
    let room = usize::from(columns).saturating_sub(2);
    let Some(outlier) = view.explained(page.index).map(|explained| &explained.outlier) else {
        return Vec::new();
    };
    let Some(wait) = page.wait(outlier) else { return Vec::new() };
    let (at, time) = (length(wait.offset_ns, view.unit()), length(wait.duration_ns, view.unit()));
    let (who, client) = (page.who(outlier), outlier.thread_words(wait.tid));
    let sentence = format!("{who} in the {time} from {at} on, while {client} waited");
    let reason = format!("{}  {}", wait.cause, wait.detail);
    vec![
        Line::styled(format!(" {}", fitting(&sentence, room)), bold()),
        Line::raw(format!(" {}", fitting(&reason, room))),
    ]
}

fn block(view: &View, page: &BlockPage, columns: u16) -> Vec<Line<'static>> {
    let room = usize::from(columns).saturating_sub(2);
    let unit = view.unit();
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
