//! The timeline part of an outlier's page: its segments as a list one can unfold, and the stretch of time in view.

use report::{OutlierReport, SegmentReport};

use super::cursor::Cursor;

/// A zoom goes by this factor.
const ZOOM: u64 = 4;
/// A move goes by this part of the view.
const MOVE: u64 = 4;
/// Around a segment that fills the screen this part of it stays free on either side.
const MARGIN: u64 = 8;

/// The part.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentsPart {
    pub(crate) cursor: Cursor,
    /// Which waits are unfolded, by the path of indices to them.
    unfolded: Vec<Vec<usize>>,
    /// What is in view, from the interval's start; all of it where `None`.
    view: Option<(u64, u64)>,
}

/// A line of the list.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) segment: &'a SegmentReport,
    /// Its index in the list of its parent, after the indexes of its parents.
    pub(crate) path: Vec<usize>,
    pub(crate) is_unfolded: bool,
}

impl SegmentsPart {
    /// The segments, each unfolded wait's below it.
    pub(crate) fn lines<'a>(&self, outlier: &'a OutlierReport) -> Vec<Line<'a>> {
        let mut lines = Vec::new();
        self.add(&outlier.segments, &[], &mut lines);
        lines
    }

    fn add<'a>(&self, segments: &'a [SegmentReport], above: &[usize], lines: &mut Vec<Line<'a>>) {
        for (index, segment) in segments.iter().enumerate() {
            let path: Vec<usize> = above.iter().copied().chain([index]).collect();
            let is_unfolded = !self.unfolded.is_empty() && self.unfolded.contains(&path);
            lines.push(Line { segment, path: path.clone(), is_unfolded });
            if is_unfolded {
                self.add(&segment.during, &path, lines);
            }
        }
    }

    /// The segment under the cursor.
    pub(crate) fn current<'a>(&self, outlier: &'a OutlierReport) -> Option<Line<'a>> {
        let mut lines = self.lines(outlier);
        let at = self.cursor.at(lines.len());
        (at < lines.len()).then(|| lines.swap_remove(at))
    }

    /// Unfolds or folds the wait under the cursor; says whether there is one.
    pub(crate) fn unfold(&mut self, outlier: &OutlierReport) -> bool {
        let Some(line) = self.current(outlier).filter(|line| !line.segment.during.is_empty()) else {
            return false;
        };
        if line.is_unfolded {
            self.unfolded.retain(|path| !path.starts_with(&line.path));
        } else {
            self.unfolded.push(line.path);
        }
        true
    }

    /// What is in view: a stretch with some time in it, within the interval.
    pub(crate) fn view(&self, outlier: &OutlierReport) -> (u64, u64) {
        let end = outlier.duration_ns.max(1);
        let (from, to) = self.view.unwrap_or((0, end));
        let from = from.min(end - 1);
        (from, to.clamp(from + 1, end))
    }

    /// Zooms in on the segment under the cursor, or out.
    pub(crate) fn zoom(&mut self, outlier: &OutlierReport, is_in: bool) {
        let (from, to) = self.view(outlier);
        let length = to - from;
        let length = if is_in { (length / ZOOM).max(1) } else { length.saturating_mul(ZOOM) };
        let focus = self.current(outlier).map_or(from, |line| middle(line.segment));
        let focus = if is_in { focus } else { from + (to - from) / 2 };
        self.look_at(outlier, focus.saturating_sub(length / 2), length);
    }

    /// Zooms so that the segment under the cursor fills the view.
    pub(crate) fn zoom_to_segment(&mut self, outlier: &OutlierReport) {
        if let Some(line) = self.current(outlier) {
            let margin = line.segment.duration_ns / MARGIN + 1;
            let from = line.segment.offset_ns.saturating_sub(margin);
            let end = line.segment.offset_ns.saturating_add(line.segment.duration_ns).saturating_add(margin);
            let end = end.min(outlier.duration_ns).max(from + 1);
            self.look_at(outlier, from, end - from);
        }
    }

    /// All of the interval.
    pub(crate) fn zoom_to_all(&mut self) {
        self.view = None;
    }

    /// Moves the view by a part of itself.
    pub(crate) fn pan(&mut self, outlier: &OutlierReport, is_later: bool) {
        let (from, to) = self.view(outlier);
        let by = ((to - from) / MOVE).max(1);
        let from = if is_later { from.saturating_add(by) } else { from.saturating_sub(by) };
        self.look_at(outlier, from, to - self.view(outlier).0);
    }

    fn look_at(&mut self, outlier: &OutlierReport, from: u64, length: u64) {
        let end = outlier.duration_ns.max(1);
        let length = length.clamp(1, end);
        let from = from.min(end - length);
        self.view = (length < end).then_some((from, from + length));
    }

    /// Brings the segment under the cursor into view.
    pub(crate) fn follow(&mut self, outlier: &OutlierReport) {
        let (from, to) = self.view(outlier);
        if let Some(line) = self.current(outlier) {
            let (start, end) = (line.segment.offset_ns, line.segment.offset_ns + line.segment.duration_ns);
            if end <= from || start >= to {
                self.look_at(outlier, middle(line.segment).saturating_sub((to - from) / 2), to - from);
            }
        }
    }
}

fn middle(segment: &SegmentReport) -> u64 {
    segment.offset_ns.saturating_add(segment.duration_ns / 2)
}

#[cfg(test)]
mod tests;
