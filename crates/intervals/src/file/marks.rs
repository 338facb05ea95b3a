//! Lines that hold one mark each, of either form of our own file.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Counter, ThreadId, Tsc};

use super::draft::Draft;
use crate::findings::Origin;
use crate::pairing::{Mark, MarkKind};

/// The most marks that are kept of one file.
const MOST_MARKS: usize = 100_000_000;

/// A mark as a line says it.
pub(super) struct MarkLine<'a> {
    pub(super) kind: &'a str,
    pub(super) label: &'a str,
    pub(super) key: &'a str,
    pub(super) at: Option<Tsc>,
    pub(super) thread: Option<ThreadId>,
    pub(super) name: &'a str,
    pub(super) id: Option<u64>,
    pub(super) counters: Vec<Counter>,
}

/// What is remembered from line to line.
#[derive(Default)]
pub(super) struct MarkContext {
    labels: HashMap<Box<str>, Arc<str>>,
    /// The time of each thread's last mark: that of its counters which state none.
    last: HashMap<Option<ThreadId>, Tsc>,
}

impl MarkContext {
    fn label(&mut self, label: &str) -> Arc<str> {
        let label = if label.is_empty() { "interval" } else { label };
        if let Some(known) = self.labels.get(label) {
            return Arc::clone(known);
        }
        let new: Arc<str> = label.into();
        // Labels are few; a file that has a new one in each line shares nothing and costs no more than that.
        if self.labels.len() < 4096 {
            self.labels.insert(label.into(), Arc::clone(&new));
        }
        new
    }
}

/// Keeps a mark in `draft`, or says why not.
pub(super) fn keep_mark(
    line: MarkLine<'_>,
    draft: &mut Draft,
    number: u64,
) -> Result<(), (&'static str, String)> {
    let Some(kind) = kind(line.kind, line.name) else {
        let shown: String = line.kind.chars().take(40).collect();
        return Err((
            "unknown marks",
            format!("mark {shown:?} is none of begin, end, stage, counter, publish: the line is left out"),
        ));
    };
    let last = draft.context.last.get(&line.thread).copied().filter(|_| kind == MarkKind::Counter);
    let Some(at) = line.at.or(last) else {
        return Err(("wrong times", "the mark has no time: the line is left out".to_owned()));
    };
    if line.key.is_empty() && line.thread.is_none() {
        return Err((
            "marks without key and thread",
            "neither a key nor pid and tid say what the mark belongs to: the line is left out".to_owned(),
        ));
    }
    if draft.marks.len() >= MOST_MARKS {
        return Err((
            "marks beyond the limit",
            "100 million marks are kept: the rest is left out".to_owned(),
        ));
    }
    draft.context.last.insert(line.thread, at);
    let label = draft.context.label(line.label);
    draft.marks.push(Mark {
        kind,
        label,
        key: Some(line.key).filter(|key| !key.is_empty()).map(Box::from),
        at,
        thread: line.thread,
        cpu: None,
        id: line.id,
        counters: line.counters,
        origin: Origin::Line(number),
    });
    Ok(())
}

/// The kind by its name or the first letter of it.
fn kind(word: &str, name: &str) -> Option<MarkKind> {
    match word {
        "begin" | "b" => Some(MarkKind::Begin),
        "end" | "e" => Some(MarkKind::End),
        "stage" | "s" => Some(MarkKind::Stage(name.into())),
        "counter" | "c" => Some(MarkKind::Counter),
        "publish" | "p" => Some(MarkKind::Publish),
        _ => None,
    }
}
