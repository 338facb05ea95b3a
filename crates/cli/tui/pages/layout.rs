//! Which part of a screen has how many lines.

use ratatui::layout::Rect;
use report::SegmentReport;

use super::extent::extent;
use super::header::header;
use super::page::{OutlierPart, Page};
use super::stretch;
use super::view::View;

/// Lines above the rows of a flow beside a typical one.
pub(crate) const ABOVE_BESIDE: u16 = 2;
/// Lines above the list beside the lanes: axis, mark, legend, names of the columns.
const ABOVE_SEGMENTS: u16 = 4;
/// From so many columns on, the evidence stands beside the list.
const WIDE: u16 = 150;
/// A lane takes one of so many lines of the page: the list of segments is what one works with.
const LINES_PER_LANE: u16 = 6;

/// Title, header, body and status of a screen.
pub(crate) fn rows(view: &View, area: Rect) -> [Rect; 4] {
    let top = u16::try_from(header(view, area).len()).unwrap_or(u16::MAX).min(area.height / 2);
    let body = area.height.saturating_sub(top + 2);
    let row = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
    [row(0, 1), row(1, top), row(1 + top, body), row(1 + top + body, 1)]
}

/// Lines of the body in view.
pub(crate) fn body_height(view: &View) -> usize {
    let (width, height) = view.size;
    let body = rows(view, Rect { x: 0, y: 0, width, height })[2];
    let own = match view.page() {
        Page::Outlier(page) if page.part == OutlierPart::Timeline => {
            let lanes = view.explained(page.index).map_or(0, |explained| explained.lanes.len());
            list_height(lanes, body)
        }
        Page::Stretch(page) => {
            let outlier = view.explained(page.index).map(|explained| &explained.outlier);
            let wait = outlier.and_then(|outlier| page.wait(outlier));
            let above = wait.map_or(0, |wait| above_pieces(wait, body));
            body.height.saturating_sub(above + 1 + evidence_height(body)).max(1)
        }
        Page::Outlier(page) if page.part == OutlierPart::Flow && page.beside.is_some() => {
            body.height.saturating_sub(ABOVE_BESIDE)
        }
        Page::Outlier(page) if matches!(page.part, OutlierPart::Calls | OutlierPart::Flow) => {
            body.height.saturating_sub(1)
        }
        _ => body.height,
    };
    usize::from(own)
}

/// Lines of the list in a body like this, where there are so many lanes.
pub(crate) fn list_height(lanes: usize, body: Rect) -> u16 {
    body.height.saturating_sub(ABOVE_SEGMENTS + lanes_shown(lanes, body) + evidence_height(body)).max(1)
}

/// Lines above the list of what took place during `wait`: the parts with the names of their columns, and the strip.
pub(crate) fn above_pieces(wait: &SegmentReport, body: Rect) -> u16 {
    match u16::try_from(stretch::sums(wait, parts_shown(body)).len()).unwrap_or(u16::MAX) {
        0 => 1,
        parts => parts + 2,
    }
}

/// How many parts of a wait a page like this shows.
pub(crate) fn parts_shown(body: Rect) -> usize {
    usize::from(body.height / 4).max(1)
}

/// Lines of the evidence, where it stands below the list.
pub(crate) fn evidence_height(body: Rect) -> u16 {
    if body.width >= WIDE { 0 } else { (body.height / 3).saturating_sub(1).clamp(2, 12) }
}

/// How many of `lanes` a page like this shows.
pub(crate) fn lanes_shown(lanes: usize, body: Rect) -> u16 {
    u16::try_from(lanes).unwrap_or(u16::MAX).min((body.height / LINES_PER_LANE).max(1))
}

/// The lines of the list that one works with in a body like this; `None` where the page in view has no such list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// The row of the screen on which the first shown line stands.
    pub(crate) y: u16,
    /// Which line that is.
    pub(crate) top: usize,
    /// The line under the cursor.
    pub(crate) at: usize,
    /// How many lines there are.
    pub(crate) count: usize,
}

/// See [`List`]: intervals, call tree and flow are lists over the whole body; the others share it with something else.
pub(crate) fn list(view: &View, body: Rect) -> Option<List> {
    let (cursor, above) = match view.page() {
        Page::Intervals(page) => (page.cursor, 0),
        Page::Outlier(page) if page.part == OutlierPart::Calls => (page.calls.cursor, 1),
        Page::Outlier(page) if page.part == OutlierPart::Flow && page.beside.is_none() => {
            (page.flow.cursor, 1)
        }
        _ => return None,
    };
    let count = extent(view);
    let height = usize::from(body.height.saturating_sub(above));
    Some(List { y: body.y + above, top: cursor.top(count, height), at: cursor.at(count), count })
}
