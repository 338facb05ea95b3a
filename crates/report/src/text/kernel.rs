//! The kernel's functions below the causes that took longest: where system calls, page faults and interrupts spent their time.
//!
//! Input: an outlier's call tree. Output: for each such cause a row, and below it the functions with a tenth of its time or more, each
//! below its caller, the longest first. A chain of calls with nearly the same time is one row.

use std::collections::BTreeMap;

use model::CallLayer;

use super::cells::{left, right, width, wrap_hanging};
use super::style::{Ink, Style};
use crate::calls::CallTree;
use crate::escape::for_terminal;
use crate::outlier::OutlierReport;
use crate::units;

/// Causes that are shown, those with at least one part in so many of the interval (2 %).
const MOST_CAUSES: usize = 4;
const SMALLEST_CAUSE: u64 = 50;
/// Rows of a cause, each with at least one part in so many of it.
const MOST_ROWS: usize = 8;
const SMALLEST_ROW: u64 = 10;
/// A call with so much of its caller's time (95 %) stands in its row.
const CHAINED: (u64, u64) = (19, 20);
/// Columns that each level stands to the right.
const STEP: usize = 2;

/// A function, merged of all nodes with the same callers below the cause.
struct Row {
    depth: usize,
    name: String,
    total: u64,
    typical: u64,
    calls: u64,
}

/// Header and rows, without indent; nothing where no kernel function is known.
pub(super) fn lines(outlier: &OutlierReport, columns: usize, style: Style) -> Vec<String> {
    let tree = &outlier.calls;
    let merged = Merged::new(tree);
    let mut causes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, work) in tree.works().into_iter().enumerate() {
        // Where records alone show the work, it has no functions.
        if work == Some(index) && !merged.below[index].is_empty() {
            causes.entry(&tree.nodes[index].name).or_default().push(index);
        }
    }
    let mut causes: Vec<Vec<usize>> = causes.into_values().collect();
    causes.retain(|nodes| merged.total(nodes).0 > outlier.duration_ns / SMALLEST_CAUSE);
    causes.sort_by_key(|nodes| std::cmp::Reverse(merged.total(nodes).0));
    causes.truncate(MOST_CAUSES);
    if causes.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Row> = causes.iter().flat_map(|nodes| merged.rows(nodes)).collect();
    let table = Table::fitting(&rows, outlier);
    let mut lines = vec![style.paint(Ink::Dim, &table.line("for", "typical", "calls", "kernel functions"))];
    lines.extend(rows.iter().flat_map(|row| table.lines(row, outlier, columns, style)));
    lines
}

/// The call tree by callers.
struct Merged<'a> {
    tree: &'a CallTree,
    totals: Vec<(u64, u64)>,
    below: Vec<Vec<usize>>,
}

impl<'a> Merged<'a> {
    fn new(tree: &'a CallTree) -> Merged<'a> {
        let mut below = vec![Vec::new(); tree.nodes.len()];
        for (index, node) in tree.nodes.iter().enumerate().filter(|(_, node)| node.layer == CallLayer::Kernel)
        {
            if let Some(parent) = node.parent.filter(|&parent| parent < index) {
                below[parent].push(index);
            }
        }
        Merged { tree, totals: tree.totals(), below }
    }

    fn total(&self, nodes: &[usize]) -> (u64, u64) {
        let sum = |(own, typical): (u64, u64), &node: &usize| {
            let (more, usual) = self.totals[node];
            (own.saturating_add(more), typical.saturating_add(usual))
        };
        nodes.iter().fold((0, 0), sum)
    }

    /// What `nodes` called, nodes of one function together, the longest first.
    fn called(&self, nodes: &[usize]) -> Vec<Vec<usize>> {
        let mut functions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &node in nodes.iter().flat_map(|&node| &self.below[node]) {
            functions.entry(&self.tree.nodes[node].name).or_default().push(node);
        }
        let mut functions: Vec<Vec<usize>> = functions.into_values().collect();
        functions.sort_by_key(|nodes| std::cmp::Reverse(self.total(nodes).0));
        functions
    }

    /// The rows of the cause that `nodes` are of.
    fn rows(&self, nodes: &[usize]) -> Vec<Row> {
        let whole = self.total(nodes).0;
        let mut rows = Vec::new();
        let mut next = vec![(nodes.to_vec(), 0)];
        while let Some((nodes, depth)) = next.pop() {
            if rows.len() == MOST_ROWS {
                break;
            }
            let (row, last) = self.row(nodes, depth);
            rows.push(row);
            let below = self.called(&last).into_iter();
            let telling = below.filter(|nodes| self.total(nodes).0 >= (whole / SMALLEST_ROW).max(1));
            let telling: Vec<_> = telling.map(|nodes| (nodes, depth + 1)).collect();
            next.extend(telling.into_iter().rev());
        }
        rows
    }

    /// The row of `nodes`, and the nodes of its last function.
    fn row(&self, mut nodes: Vec<usize>, depth: usize) -> (Row, Vec<usize>) {
        let (total, typical) = self.total(&nodes);
        let mut name = self.named(&nodes);
        let chained =
            |called: &Vec<usize>| total > 0 && self.total(called).0 * CHAINED.1 >= total * CHAINED.0;
        // A cause has a row of its own.
        let next =
            |nodes: &[usize]| self.called(nodes).into_iter().next().filter(|_| depth > 0).filter(chained);
        while let Some(longest) = next(&nodes) {
            name = format!("{name} > {}", self.named(&longest));
            nodes = longest;
        }
        let calls = nodes.iter().fold(0, |sum: u64, &node| sum.saturating_add(self.tree.nodes[node].calls));
        (Row { depth, name, total, typical, calls }, nodes)
    }

    /// The function of `nodes`; of the recording's functions the outermost say so.
    fn named(&self, nodes: &[usize]) -> String {
        let Some(node) = nodes.first().map(|&node| &self.tree.nodes[node]) else { return String::new() };
        let above = node.parent.and_then(|parent| self.tree.nodes.get(parent));
        let begins = !node.recording.is_empty() && above.is_none_or(|above| above.recording.is_empty());
        let name = for_terminal(&node.name);
        if begins { format!("{name} (tracing)") } else { name }
    }
}

/// How wide the figures are.
struct Table {
    total: usize,
    typical: usize,
    calls: usize,
}

impl Table {
    fn fitting(rows: &[Row], outlier: &OutlierReport) -> Table {
        let widest = |least: usize, of: &dyn Fn(&Row) -> String| {
            rows.iter().map(|row| width(&of(row))).max().unwrap_or(0).max(least)
        };
        Table {
            total: widest(8, &|row| units::length(row.total, outlier.time_unit)),
            typical: widest(8, &|row| outlier.typical(row.typical)),
            calls: widest(5, &|row| row.calls.to_string()),
        }
    }

    fn line(&self, total: &str, typical: &str, calls: &str, name: &str) -> String {
        let figures = [right(total, self.total), right(typical, self.typical), right(calls, self.calls)];
        format!("{}  {name}", figures.join("  "))
    }

    fn lines(&self, row: &Row, outlier: &OutlierReport, columns: usize, style: Style) -> Vec<String> {
        let margin = " ".repeat(row.depth * STEP);
        let beside = self.total + self.typical + self.calls + 6;
        let room = columns.saturating_sub(beside + margin.len()).max(20);
        let calls = if row.depth == 0 { String::new() } else { row.calls.to_string() };
        let total = units::length(row.total, outlier.time_unit);
        let mut names = wrap_hanging(&row.name, room, STEP).into_iter().map(|name| format!("{margin}{name}"));
        let first = names.next().unwrap_or_default();
        let name = if row.depth == 0 { style.paint(Ink::Bold, &first) } else { first };
        let mut lines = vec![self.line(&total, &outlier.typical(row.typical), &calls, &name)];
        lines.extend(names.map(|name| format!("{}{name}", left("", beside))));
        lines
    }
}

#[cfg(test)]
mod tests;
