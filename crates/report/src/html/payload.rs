//! What the page's script draws, as JSON: the segments and call trees of all outliers.
//!
//! Strings stand once, in `texts`, escaped for a screen; everything refers to them by index. Bounded in bars,
//! functions and bytes of text, so that twenty outliers stay well below 2 MB; what has no room is left out visibly.

mod code;
mod curve;
mod machine;
mod texts;

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{Certainty, Part};
use serde::Serialize;

use super::condense::{Bar, bars, shown_calls};
use super::family::{family, shade};
use super::verdict::MOST_OUTLIERS;
use crate::calls::CallTree;
use crate::escape::for_script_block;
use crate::outlier::{OutlierReport, SegmentReport};
use crate::report::Report;
use crate::serving::{client, part_name, part_words};
use crate::timebase::TimeUnit;
use texts::Texts;

/// Bars of the whole page, and of one outlier at most.
const MOST_BARS: usize = 12_000;
const MOST_BARS_OF_ONE: usize = 3000;
/// Functions of the whole page, and of one outlier at most.
const MOST_CALLS: usize = 9_000;
const MOST_CALLS_OF_ONE: usize = 1500;
/// Stretches of the whole page that the time line of functions draws.
const MOST_STRETCHES: usize = 24_000;
/// Pieces of evidence of one segment.
const MOST_EVIDENCE: usize = 4;
/// Levels of `during`.
const DEEPEST: usize = 8;

/// In the order in which the page knows them.
const PARTS: [Part; 5] = [Part::NotRun, Part::OthersFirst, Part::Waits, Part::OwnWork, Part::Between];

/// What the two are called that flame graphs and call tables compare.
#[derive(Serialize)]
pub(crate) struct Sides {
    /// The report's own times.
    pub(crate) own: &'static str,
    /// Those they are compared with.
    pub(crate) other: &'static str,
    /// The difference.
    pub(crate) excess: &'static str,
}

impl Sides {
    /// An outlier against its baselines.
    pub(super) const OUTLIER: Sides = Sides { own: "this one", other: "typical", excess: "excess" };
}

/// The document, ready to stand in a `<script>` block.
pub(crate) fn of(report: &Report, sides: &Sides) -> String {
    let mut texts = Texts::default();
    let count = report.outliers.len().clamp(1, MOST_OUTLIERS);
    let shown = report.outliers.iter().take(MOST_OUTLIERS);
    let outliers = shown.map(|outlier| OutlierTwin::new(outlier, count, &mut texts)).collect();
    let parts = PARTS.map(|part| (part_name(part), part_words(Some(part)))).to_vec();
    let curve = curve::points(report, &mut texts);
    let payload = Payload { sides, parts, outliers, curve, texts: texts.all };
    for_script_block(&serde_json::to_string(&payload).unwrap_or_default())
}

#[derive(Serialize)]
struct Payload<'a> {
    sides: &'a Sides,
    /// Name and words of each part of a wait.
    parts: Vec<(String, &'static str)>,
    outliers: Vec<OutlierTwin>,
    curve: Vec<curve::PointTwin>,
    texts: Vec<String>,
}

#[derive(Serialize)]
struct OutlierTwin {
    duration: u64,
    ticks: bool,
    /// Name, colour class and shade of each cause.
    causes: Vec<(usize, &'static str, u8)>,
    threads: BTreeMap<i32, usize>,
    stages: Vec<(u64, u64, usize)>,
    bars: Vec<BarTwin>,
    calls: CallsTwin,
    code: Vec<code::RangeTwin>,
    machine: machine::MachineTwin,
}

/// Offset, duration, cause, certainty, detail, CPU, tid, edge uncertainty, how many segments, evidence, and what it is below a wait.
#[derive(Serialize)]
struct BarTwin(
    u64,
    u64,
    usize,
    u8,
    usize,
    Option<u32>,
    Option<i32>,
    u64,
    usize,
    Vec<usize>,
    Option<BelowTwin>,
);

/// The bar of the wait, the part by its place in [`PARTS`], whether the request was read in it, for whom it was: `rival, fd 9: 30 bytes in`.
#[derive(Serialize)]
struct BelowTwin(usize, Option<usize>, u8, usize);

/// One list per column; `stretches` are triples of offset, duration, node.
#[derive(Default, Serialize)]
struct CallsTwin {
    parent: Vec<Option<usize>>,
    name: Vec<usize>,
    layer: Vec<u8>,
    #[serde(rename = "self")]
    own: Vec<u64>,
    typical: Vec<u64>,
    calls: Vec<u64>,
    stretches: Vec<(u64, u64, usize)>,
}

impl OutlierTwin {
    fn new(outlier: &OutlierReport, outliers: usize, texts: &mut Texts) -> OutlierTwin {
        let mut bars = Bars { room: (MOST_BARS / outliers).min(MOST_BARS_OF_ONE), ..Bars::default() };
        bars.add(&outlier.segments, &[], texts);
        let drawn: HashSet<i32> = bars.done.iter().filter_map(|bar| bar.6).collect();
        let others = outlier.threads.iter().filter(|(tid, _)| drawn.contains(tid));
        let own = [&outlier.start_thread, &outlier.stop_thread].into_iter().flatten();
        let threads =
            others.map(|(&tid, comm)| (tid, comm)).chain(own.map(|thread| (thread.tid, &thread.comm)));
        let name = |name: &str, texts: &mut Texts| texts.index(if name.is_empty() { "?" } else { name });
        OutlierTwin {
            duration: outlier.duration_ns,
            ticks: outlier.time_unit == TimeUnit::Ticks,
            threads: threads.map(|(tid, comm)| (tid, name(comm, texts))).collect(),
            stages: outlier
                .stages
                .iter()
                .take(MOST_BARS / 10 / outliers)
                .map(|stage| (stage.offset_ns, stage.duration_ns, texts.index(&stage.name)))
                .collect(),
            calls: CallsTwin::new(&outlier.calls, outliers, texts),
            code: code::ranges(&outlier.code, outliers, texts),
            machine: machine::MachineTwin::new(&outlier.machine, outliers, texts),
            bars: bars.done,
            causes: bars.causes,
        }
    }
}

impl BelowTwin {
    fn new(wait: usize, bar: &Bar<'_>, texts: &mut Texts) -> BelowTwin {
        let story = &bar.segment.story;
        let part = story.part.and_then(|part| PARTS.iter().position(|&known| known == part));
        let whom = match story.part {
            Some(Part::OthersFirst) => client(story),
            _ => String::new(),
        };
        BelowTwin(wait, part, u8::from(bar.takes), texts.index(&whom))
    }
}

/// The bars of one outlier in the making.
#[derive(Default)]
struct Bars {
    room: usize,
    done: Vec<BarTwin>,
    causes: Vec<(usize, &'static str, u8)>,
    known: HashMap<String, usize>,
}

impl Bars {
    /// Adds `segments`, which lie below the waits with the bars `above`, the innermost last.
    fn add(&mut self, segments: &[SegmentReport], above: &[usize], texts: &mut Texts) {
        let condensed = bars(segments, if above.is_empty() { self.room / 2 } else { self.room / 4 });
        self.room = self.room.saturating_sub(condensed.len());
        for bar in &condensed {
            let evidence = bar.segment.evidence.iter().take(MOST_EVIDENCE);
            let evidence = evidence.map(|evidence| texts.index(&evidence.words())).collect();
            let cause = self.cause(&bar.segment.cause, texts);
            let segment = bar.segment;
            let place = self.done.len();
            self.done.push(BarTwin(
                bar.offset_ns,
                bar.duration_ns,
                cause,
                certainty(segment.certainty),
                texts.index(&segment.detail),
                segment.cpu,
                segment.tid,
                segment.edge_uncertainty_ns,
                bar.segments,
                evidence,
                above.last().map(|&wait| BelowTwin::new(wait, bar, texts)),
            ));
            if above.len() < DEEPEST && self.room > 0 && !segment.during.is_empty() {
                self.add(&segment.during, &[above, &[place]].concat(), texts);
            }
        }
    }

    fn cause(&mut self, name: &str, texts: &mut Texts) -> usize {
        if let Some(&index) = self.known.get(name) {
            return index;
        }
        let index = self.causes.len();
        self.causes.push((texts.index(name), family(name), shade(name)));
        self.known.insert(name.to_owned(), index);
        index
    }
}

impl CallsTwin {
    fn new(tree: &CallTree, outliers: usize, texts: &mut Texts) -> CallsTwin {
        let (stands, shown) = shown_calls(tree, (MOST_CALLS / outliers).min(MOST_CALLS_OF_ONE));
        let mut twin = CallsTwin::default();
        for &at in &shown {
            let node = &tree.nodes[at];
            twin.parent.push(node.parent.and_then(|parent| stands.get(parent).copied().flatten()));
            twin.name.push(texts.index(&node.name));
            twin.layer.push(node.layer as u8);
            twin.calls.push(node.calls);
        }
        (twin.own, twin.typical) = (vec![0; shown.len()], vec![0; shown.len()]);
        for (node, stands) in tree.nodes.iter().zip(&stands) {
            let Some(stands) = *stands else { continue };
            twin.own[stands] = twin.own[stands].saturating_add(node.self_ns);
            twin.typical[stands] = twin.typical[stands].saturating_add(node.typical_self_ns);
        }
        let most = MOST_STRETCHES / outliers;
        twin.stretches = stretches(tree, |node| stands.get(node).copied().flatten(), most)
            .or_else(|| {
                // Kernel work as a whole, by its cause, where its functions are too many.
                let works = tree.works();
                let whole = |node: usize| works.get(node).copied().flatten().unwrap_or(node);
                stretches(tree, |node| stands.get(whole(node)).copied().flatten(), most)
            })
            .unwrap_or_default();
        twin
    }
}

/// Adjacent ones in the same shown function are one; `None` where they are still too many to draw.
fn stretches(
    tree: &CallTree,
    shown: impl Fn(usize) -> Option<usize>,
    most: usize,
) -> Option<Vec<(u64, u64, usize)>> {
    let mut merged: Vec<(u64, u64, usize)> = Vec::new();
    for stretch in &tree.stretches {
        let Some(node) = shown(stretch.node) else { continue };
        let goes_on = |last: &&mut (u64, u64, usize)| {
            last.2 == node && last.0.saturating_add(last.1) == stretch.offset_ns
        };
        if let Some(last) = merged.last_mut().filter(goes_on) {
            last.1 = last.1.saturating_add(stretch.duration_ns);
        } else if merged.len() < most {
            merged.push((stretch.offset_ns, stretch.duration_ns, node));
        } else {
            return None;
        }
    }
    Some(merged)
}

fn certainty(certainty: Certainty) -> u8 {
    match certainty {
        Certainty::Unknown => 0,
        Certainty::Inferred => 1,
        Certainty::Decoded => 2,
        Certainty::Measured => 3,
    }
}
