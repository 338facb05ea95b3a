//! The pages, from the population down to one block; each knows where one stands on it.

use report::{HotRange, OutlierReport};

use super::beside::Beside;
use super::call_list::CallsPart;
use super::cursor::Cursor;
use super::explained::Explained;
use super::flow::BlockUse;
use super::flow_list::FlowPart;
use super::intervals::IntervalsPage;
use super::keys::Place;
use super::listing::BlockListing;
use super::made_of::MadeOfPage;
use super::segments::SegmentsPart;
use super::stretch::StretchPage;

/// A page.
#[derive(Clone, Debug)]
pub(crate) enum Page {
    /// All intervals, in figures.
    Population(Cursor),
    /// What the time of all intervals is made of.
    MadeOf(MadeOfPage),
    /// A list of intervals.
    Intervals(IntervalsPage),
    /// One interval, explained.
    Outlier(Box<OutlierPage>),
    /// What another thread did during one of its waits.
    Stretch(StretchPage),
    /// One block of its flow.
    Block(Box<BlockPage>),
}

/// The page of one interval.
#[derive(Clone, Debug)]
pub(crate) struct OutlierPage {
    /// Its index in the source.
    pub(crate) index: usize,
    pub(crate) part: OutlierPart,
    /// The first line in view of the verdict, and of the comparison.
    pub(crate) verdict: Cursor,
    pub(crate) comparison: Cursor,
    pub(crate) segments: SegmentsPart,
    pub(crate) calls: CallsPart,
    pub(crate) flow: FlowPart,
    /// Stands for the flow, where it is there.
    pub(crate) beside: Option<Beside>,
    pub(crate) code: Cursor,
    /// Its hottest code; `None` until it is timed.
    pub(crate) ranges: Option<Vec<HotRange>>,
    /// Which of the baselines stands beside it.
    pub(crate) baseline: usize,
}

/// The parts of an interval's page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutlierPart {
    #[default]
    Verdict,
    Timeline,
    Calls,
    Flow,
    Baseline,
    Code,
}

/// The page of one block.
#[derive(Clone, Debug)]
pub(crate) struct BlockPage {
    /// The interval's index in the source.
    pub(crate) index: usize,
    pub(crate) used: BlockUse,
    /// `None` until it is looked up.
    pub(crate) listing: Option<BlockListing>,
    pub(crate) part: BlockPart,
    /// Where one stands in disassembly, source and packets.
    pub(crate) cursors: [Cursor; 3],
}

/// The parts of a block's page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BlockPart {
    #[default]
    Code,
    Source,
    Packets,
}

impl OutlierPart {
    /// All, in the order of the tabs.
    pub(crate) const ALL: [OutlierPart; 6] = [
        OutlierPart::Verdict,
        OutlierPart::Timeline,
        OutlierPart::Calls,
        OutlierPart::Flow,
        OutlierPart::Baseline,
        OutlierPart::Code,
    ];

    /// Its tab's name.
    pub(crate) fn name(self) -> &'static str {
        ["Verdict", "Timeline", "Calls", "Flow", "Baseline", "Code"][self as usize]
    }
}

impl BlockPart {
    /// All, in the order of the tabs.
    pub(crate) const ALL: [BlockPart; 3] = [BlockPart::Code, BlockPart::Source, BlockPart::Packets];

    /// Its tab's name.
    pub(crate) fn name(self) -> &'static str {
        ["Disassembly", "Source", "Packets"][self as usize]
    }
}

impl OutlierPage {
    /// The page of the interval with this index, its verdict first.
    pub(crate) fn new(index: usize) -> OutlierPage {
        OutlierPage {
            index,
            part: OutlierPart::default(),
            verdict: Cursor::default(),
            comparison: Cursor::default(),
            segments: SegmentsPart::default(),
            calls: CallsPart::default(),
            flow: FlowPart::default(),
            beside: None,
            code: Cursor::default(),
            ranges: None,
            baseline: 0,
        }
    }

    /// Where one stands in the flow, or in the comparison that stands for it.
    pub(crate) fn flow_cursor(&mut self) -> &mut Cursor {
        match &mut self.beside {
            Some(beside) => &mut beside.cursor,
            None => &mut self.flow.cursor,
        }
    }

    /// Puts another typical interval beside this one.
    pub(crate) fn turn_to(&mut self, baseline: usize, explained: &Explained) {
        self.baseline = baseline.min(explained.baselines.len().saturating_sub(1));
        if let (Some(beside), Some(typical)) = (&mut self.beside, explained.baselines.get(self.baseline)) {
            *beside = Beside::new(&explained.outlier.calls, &typical.calls);
        }
    }

    /// Its explanation came: the cursor goes to the segment that took longest.
    pub(crate) fn explained(&mut self, outlier: &OutlierReport) {
        let longest = outlier.segments.iter().enumerate().max_by_key(|(_, segment)| segment.duration_ns);
        self.segments.cursor = Cursor::new(longest.map_or(0, |(index, _)| index));
        self.calls = CallsPart::new(&outlier.calls);
    }
}

impl BlockPage {
    /// The page of a block, not yet looked up.
    pub(crate) fn new(index: usize, used: BlockUse) -> BlockPage {
        BlockPage { index, used, listing: None, part: BlockPart::default(), cursors: Default::default() }
    }

    /// Its listing came: each part opens at the block.
    pub(crate) fn looked_up(&mut self, listing: BlockListing) {
        let first = |place: Option<usize>| Cursor::new(place.unwrap_or(0));
        let source = listing.source.as_deref().unwrap_or_default();
        self.cursors = [
            first(listing.code.iter().position(|line| line.address == self.used.block.ip)),
            first(source.iter().position(|line| line.is_executed)),
            first(listing.packets.iter().position(|line| line.offset >= self.used.aux_before)),
        ];
        self.listing = Some(listing);
    }

    /// Where one stands in the part in view.
    pub(crate) fn cursor(&self) -> Cursor {
        self.cursors[self.part as usize]
    }

    /// Lines of a part.
    pub(crate) fn count(&self, part: BlockPart) -> usize {
        self.listing.as_ref().map_or(0, |listing| match part {
            BlockPart::Code => listing.code.len(),
            BlockPart::Source => listing.source.as_ref().map_or(0, Vec::len),
            BlockPart::Packets => listing.packets.len(),
        })
    }
}

impl Page {
    /// Where one is.
    pub(crate) fn place(&self) -> Place {
        match self {
            Page::Population(_) => Place::Population,
            Page::MadeOf(_) => Place::MadeOf,
            Page::Intervals(_) => Place::Intervals,
            Page::Outlier(page) => match page.part {
                OutlierPart::Verdict => Place::Verdict,
                OutlierPart::Timeline => Place::Timeline,
                OutlierPart::Calls => Place::Calls,
                OutlierPart::Flow => Place::Flow,
                OutlierPart::Baseline => Place::Baseline,
                OutlierPart::Code => Place::Code,
            },
            Page::Stretch(_) => Place::Stretch,
            Page::Block(_) => Place::Block,
        }
    }
}
