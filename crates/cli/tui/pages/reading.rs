//! What is read in front of a page: its keys, or all that is known of a segment.

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use report::cells::wrap;
use report::{OutlierReport, SegmentReport, for_terminal, length, part_words};

use super::keys::{BINDINGS, Binding};
use super::overlay::Overlay;
use super::page::Page;
use super::pieces::{bold, cell, dim, fitting};
use super::stretch::subject;
use super::view::View;

/// Columns of the keys' names.
const KEYS: usize = 18;
/// Places of the cursor of what is read in front of the page.
pub(crate) fn extent(view: &View, reading: &Overlay) -> usize {
    let height = usize::from(view.size.1).saturating_sub(4).max(1);
    (text(view, reading).1.len() + 1).saturating_sub(height).max(1)
}

/// The title and the lines of what is read in front of the page.
pub(crate) fn text(view: &View, reading: &Overlay) -> (String, Vec<Line<'static>>) {
    let columns = usize::from(view.size.0).saturating_sub(6);
    let evidence = match (reading, view.page()) {
        (Overlay::Evidence(_), Page::Outlier(page)) => view.explained(page.index).and_then(|explained| {
            let line = page.segments.current(&explained.outlier)?;
            Some(proof(line.segment, &explained.outlier, columns))
        }),
        (Overlay::Evidence(_), Page::Stretch(page)) => view.explained(page.index).and_then(|explained| {
            Some(proof(page.current(&explained.outlier)?, &explained.outlier, columns))
        }),
        _ => None,
    };
    match evidence {
        Some(lines) => ("all evidence".to_owned(), lines),
        None => (format!("keys of the {}", view.place().name()), help(view)),
    }
}

/// The table's lines that hold here, those of this place first.
fn help(view: &View) -> Vec<Line<'static>> {
    let place = view.place();
    let mut bindings: Vec<_> = BINDINGS.iter().filter(|binding| binding.applies(place)).collect();
    bindings.sort_by_key(|binding| binding.places.len());
    let line = |binding: &&Binding| {
        Line::from(vec![Span::styled(cell(&binding.names(), KEYS), bold()), Span::raw(binding.help)])
    };
    bindings.iter().map(line).collect()
}

/// What is known of a segment, and from where: in `columns`.
pub(crate) fn proof(segment: &SegmentReport, outlier: &OutlierReport, columns: usize) -> Vec<Line<'static>> {
    let tid = segment.tid.map_or_else(String::new, |tid| format!(", tid {tid}"));
    let edges = match segment.edge_uncertainty_ns {
        0 => String::new(),
        edge => format!(", edges ±{}", length(edge, outlier.time_unit)),
    };
    let title = format!("{}, {}{tid}{edges}", segment.cause, segment.certainty);
    let wrapped = |text: &str| wrap(&for_terminal(text), columns).into_iter().filter(|line| !line.is_empty());
    let mut lines = vec![Line::styled(cell(&title, columns), Style::new().fg(Color::Cyan))];
    if let Some(part) = segment.story.part {
        let subject = subject(segment);
        let subject = subject.strip_prefix("for ").unwrap_or(&subject);
        let colon = if subject.is_empty() { "" } else { ": " };
        lines.extend(wrapped(&format!("{}{colon}{subject}", part_words(Some(part)))).map(Line::raw));
    }
    lines.extend(wrapped(&segment.detail).map(Line::raw));
    if !segment.during.is_empty() {
        lines.extend(wrapped("Enter shows what took place during the wait").map(Line::raw));
    }
    let evidence = segment.evidence.iter().map(|evidence| fitting(&evidence.words(), columns));
    lines.extend(evidence.map(|words| Line::styled(words, dim())));
    lines
}
