//! What another thread did during a wait: a server for a request, the holder of a lock. One page per wait, deeper with every wait
//! within it.

use report::{OutlierReport, PartSum, SegmentReport, TimeUnit, length, part_sums, part_words, signed_length};

use super::cursor::Cursor;
use super::pieces::figure;

/// The page of a wait.
#[derive(Clone, Debug)]
pub(crate) struct StretchPage {
    /// The interval's index in the source.
    pub(crate) index: usize,
    /// The index of the wait in the list of its parent, after the indexes of its parents.
    pub(crate) path: Vec<usize>,
    pub(crate) cursor: Cursor,
}

impl StretchPage {
    /// The page of the wait at `path`, the cursor at what took longest of it; `None` where nothing is known of it.
    pub(crate) fn new(index: usize, path: Vec<usize>, outlier: &OutlierReport) -> Option<StretchPage> {
        let mut page = StretchPage { index, path, cursor: Cursor::default() };
        let pieces = page.pieces(outlier).iter().enumerate();
        let (longest, _) = pieces.max_by_key(|(_, piece)| piece.duration_ns)?;
        page.cursor = Cursor::new(longest);
        Some(page)
    }

    /// The wait.
    pub(crate) fn wait<'a>(&self, outlier: &'a OutlierReport) -> Option<&'a SegmentReport> {
        let (last, above) = self.path.split_last()?;
        let level = above.iter().try_fold(&outlier.segments, |level, &at| Some(&level.get(at)?.during));
        level?.get(*last)
    }

    /// What the other thread did, in order of time.
    pub(crate) fn pieces<'a>(&self, outlier: &'a OutlierReport) -> &'a [SegmentReport] {
        self.wait(outlier).map_or(&[], |wait| &wait.during)
    }

    /// The piece under the cursor.
    pub(crate) fn current<'a>(&self, outlier: &'a OutlierReport) -> Option<&'a SegmentReport> {
        let pieces = self.pieces(outlier);
        pieces.get(self.cursor.at(pieces.len()))
    }

    /// The page of the wait under the cursor; `None` where it is none.
    pub(crate) fn deeper(&self, outlier: &OutlierReport) -> Option<StretchPage> {
        let at = self.cursor.at(self.pieces(outlier).len());
        StretchPage::new(self.index, self.path.iter().copied().chain([at]).collect(), outlier)
    }

    /// What one may look for in each line.
    pub(crate) fn texts(&self, outlier: &OutlierReport) -> Vec<String> {
        let text = |piece: &SegmentReport| format!("{} {}", piece.cause, subject(piece));
        self.pieces(outlier).iter().map(text).collect()
    }

    /// The thread that ended the wait, as `store 310`; not escaped.
    pub(crate) fn who(&self, outlier: &OutlierReport) -> String {
        match self.pieces(outlier).iter().rev().find_map(|piece| piece.tid) {
            // Time below a wait that is no thread's is that of the interrupt that ended it.
            None => "interrupt".to_owned(),
            tid => outlier.thread_words(tid),
        }
    }
}

/// The sums of the parts of `wait`, largest excess first; at most `most`.
pub(crate) fn sums(wait: &SegmentReport, most: usize) -> Vec<PartSum> {
    let mut sums = part_sums(wait);
    let excess = |sum: &PartSum| i128::from(sum.duration_ns) - i128::from(sum.typical_ns.unwrap_or(0));
    sums.sort_by_key(|sum| std::cmp::Reverse(excess(sum)));
    sums.truncate(most);
    sums
}

/// The names of the columns of [`sum_line`].
pub(crate) fn sum_heads() -> String {
    format!(" {} {} {}  part", figure("excess", 10), figure("took", 9), figure("typical", 9))
}

/// `  +241.2 us  241.2 us         -  waiting itself`
pub(crate) fn sum_line(sum: &PartSum, unit: TimeUnit) -> String {
    let difference = |typical: u64| {
        let exact = i128::from(sum.duration_ns) - i128::from(typical);
        signed_length(i64::try_from(exact).unwrap_or(if exact < 0 { i64::MIN } else { i64::MAX }), unit)
    };
    let excess = sum.typical_ns.map_or_else(|| "-".to_owned(), difference);
    let typical = sum.typical_ns.filter(|&typical| typical > 0);
    let typical = typical.map_or_else(|| "-".to_owned(), |typical| length(typical, unit));
    let took = length(sum.duration_ns, unit);
    let figures = [figure(&excess, 10), figure(&took, 9), figure(&typical, 9)].join(" ");
    format!(" {figures}  {}", part_words(sum.part))
}

/// The function or the object of a piece, and for whom it was; not escaped.
pub(crate) fn subject(piece: &SegmentReport) -> String {
    let story = &piece.story;
    let is_wait = !piece.during.is_empty();
    let mut words = match (&*story.place, &*story.object) {
        ("", object) if is_wait && !object.is_empty() => object.to_owned(),
        (place, object) if is_wait && !object.is_empty() => format!("{object} in {place}"),
        // The innermost of `get < call < main`.
        ("", _) => piece.detail.split(" < ").next().unwrap_or_default().to_owned(),
        (place, _) => place.to_owned(),
    };
    if is_wait && !story.by.is_empty() {
        words = format!("{words}, ended by {}", story.by);
    }
    if story.part == Some(model::Part::OthersFirst) {
        let space = if words.is_empty() { "" } else { " " };
        words = format!("{words}{space}for {}", report::client(story));
    }
    words
}

#[cfg(test)]
mod tests;
