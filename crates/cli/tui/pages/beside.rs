//! The flow of an interval next to a typical one's, aligned by the call tree.
//!
//! Input: the calls of both, in order of time. Output: rows in that order; a row holds a step of both where the same
//! function was called through the same callers, else a step of one of them. All steps of both are there, each once.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use model::CallLayer;
use report::{CallTree, length, signed_length};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::cursor::Cursor;

/// After this time an alignment is as good as it is: two long flows that share little would take minutes.
const PATIENCE: Duration = Duration::from_millis(300);
/// Steps of one side; who wants more opens the flow of a segment.
const MOST_STEPS: usize = 50_000;

/// Time in one function itself, or one stretch that is no function's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// From its interval's start, in the report's unit.
    pub(crate) offset: u64,
    pub(crate) duration: u64,
    /// How many callers stand above it.
    pub(crate) depth: usize,
    /// Not escaped.
    pub(crate) name: String,
    pub(crate) layer: CallLayer,
}

/// A line of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) own: Option<Step>,
    pub(crate) typical: Option<Step>,
}

/// The comparison in view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside {
    pub(crate) cursor: Cursor,
    pub(crate) rows: Vec<Row>,
    /// Whether one of the flows has more steps than are shown.
    pub(crate) is_cut: bool,
}

impl Beside {
    /// `own` next to `typical`; the first difference that matters is under the cursor.
    pub(crate) fn new(own: &CallTree, typical: &CallTree) -> Beside {
        let mut chains = Chains::default();
        let (own, typical) = (chains.steps(own), chains.steps(typical));
        let (a, b) = (ids(&own), ids(&typical));
        let deadline = Instant::now().checked_add(PATIENCE);
        let mut rows = Vec::new();
        let one_sided = |rows: &mut Vec<Row>, a: Range<usize>, b: Range<usize>| {
            rows.extend(own[a].iter().map(|(_, step)| Row { own: Some(step.clone()), typical: None }));
            rows.extend(typical[b].iter().map(|(_, step)| Row { own: None, typical: Some(step.clone()) }));
        };
        for op in capture_diff_slices_deadline(Algorithm::Myers, &a, &b, deadline) {
            let (_, a, b) = op.as_tag_tuple();
            if matches!(op, DiffOp::Equal { .. }) {
                let pairs = own[a].iter().zip(&typical[b]);
                rows.extend(pairs.map(|((_, own), (_, typical))| Row {
                    own: Some(own.clone()),
                    typical: Some(typical.clone()),
                }));
            } else {
                one_sided(&mut rows, a, b);
            }
        }
        let largest = rows.iter().enumerate().max_by_key(|(index, row)| (row.excess(), usize::MAX - index));
        let cursor = Cursor::new(largest.map_or(0, |(index, _)| index));
        let is_cut = own.len() == MOST_STEPS || typical.len() == MOST_STEPS;
        Beside { cursor, rows, is_cut }
    }

    /// The row under the cursor.
    pub(crate) fn current(&self) -> Option<&Row> {
        self.rows.get(self.cursor.at(self.rows.len()))
    }
}

impl Row {
    /// The step that names the row.
    pub(crate) fn step(&self) -> Option<&Step> {
        self.own.as_ref().or(self.typical.as_ref())
    }

    /// How much longer this interval took here.
    pub(crate) fn excess(&self) -> i64 {
        let time = |step: &Option<Step>| {
            i64::try_from(step.as_ref().map_or(0, |step| step.duration)).unwrap_or(i64::MAX)
        };
        time(&self.own) - time(&self.typical)
    }

    /// At, for, typical's for, difference: empty where a side has no such step.
    pub(crate) fn figures(&self, unit: report::TimeUnit) -> [String; 4] {
        let time = |time: Option<u64>| time.map_or_else(String::new, |time| length(time, unit));
        let (own, typical) = (self.own.as_ref(), self.typical.as_ref());
        [
            time(own.map(|step| step.offset)),
            time(own.map(|step| step.duration)),
            time(typical.map(|step| step.duration)),
            signed_length(self.excess(), unit),
        ]
    }
}

/// Numbers for chains of callers: the same names above one another are the same number, whoever's tree they stand in.
#[derive(Default)]
struct Chains<'t> {
    known: HashMap<(Option<usize>, CallLayer, &'t str), usize>,
}

impl<'t> Chains<'t> {
    /// The stretches of `tree` in order of time, each with the number of its chain.
    fn steps(&mut self, tree: &'t CallTree) -> Vec<(usize, Step)> {
        let mut places: Vec<(usize, usize)> = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let caller = node.parent.and_then(|parent| places.get(parent)).copied();
            let next = self.known.len();
            let key = (caller.map(|(chain, _)| chain), node.layer, node.name.as_str());
            let chain = *self.known.entry(key).or_insert(next);
            places.push((chain, caller.map_or(0, |(_, depth)| depth + 1)));
        }
        let step = |stretch: &report::StretchReport| {
            let (&(chain, depth), node) = (places.get(stretch.node)?, tree.nodes.get(stretch.node)?);
            let (name, layer) = (node.name.clone(), node.layer);
            let (offset, duration) = (stretch.offset_ns, stretch.duration_ns);
            Some((chain, Step { offset, duration, depth, name, layer }))
        };
        tree.stretches.iter().filter_map(step).take(MOST_STEPS).collect()
    }
}

fn ids(steps: &[(usize, Step)]) -> Vec<usize> {
    steps.iter().map(|(chain, _)| *chain).collect()
}

#[cfg(test)]
mod tests;
