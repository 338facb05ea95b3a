//! What holds one mark, in any form of our own file.

use model::{Counter, PhaseKind, ThreadId, Tsc};

use super::draft::Draft;
use crate::findings::Origin;
use crate::pairing::{Mark, MarkKind};

/// The most marks that are kept of one file.
pub(super) const MOST_MARKS: usize = 100_000_000;

/// The kind of what is left out, and why.
type Refusal = (&'static str, String);

/// A mark as a line or a record says it.
pub(super) struct MarkLine<'a> {
    pub(super) kind: MarkKind,
    pub(super) label: &'a str,
    pub(super) key: &'a str,
    pub(super) at: Option<Tsc>,
    pub(super) thread: Option<ThreadId>,
    pub(super) id: Option<u64>,
    pub(super) counters: Vec<Counter>,
}

/// Keeps a mark in `draft`, or says why not.
pub(super) fn keep_mark(line: MarkLine<'_>, draft: &mut Draft, origin: Origin) -> Result<(), Refusal> {
    let last = draft.context.last_mark(line.thread).filter(|_| line.kind == MarkKind::Counter);
    let Some(at) = line.at.or(last) else {
        return Err(("wrong times", "the marker has no time: the line is left out".to_owned()));
    };
    if line.key.is_empty() && line.thread.is_none() {
        return Err((
            "markers without key and thread",
            "neither a key nor pid and tid say what the marker belongs to: the line is left out".to_owned(),
        ));
    }
    if let (MarkKind::Phase(_), true) = (&line.kind, line.key.is_empty()) {
        return Err((
            "phases without key",
            "a task runs on any thread, so only a key says whose run, ready or await this is: the line is left out"
                .to_owned(),
        ));
    }
    if draft.marks.len() >= MOST_MARKS {
        return Err((
            "markers beyond the limit",
            "100 million markers are kept: the rest is left out".to_owned(),
        ));
    }
    let label = draft.context.enter(line.label, line.thread, at);
    draft.marks.push(Mark {
        kind: line.kind,
        label,
        key: Some(line.key).filter(|key| !key.is_empty()).map(Box::from),
        at,
        thread: line.thread,
        cpu: None,
        id: line.id,
        counters: line.counters,
        origin,
    });
    Ok(())
}

/// The kind by its name; the first letter of it is enough for those of version 0.1.0.
pub(super) fn kind(word: &str, name: &str) -> Result<MarkKind, Refusal> {
    match word {
        "begin" | "b" => Ok(MarkKind::Begin),
        "end" | "e" => Ok(MarkKind::End),
        "stage" | "s" => Ok(MarkKind::Stage(name.into())),
        "counter" | "c" => Ok(MarkKind::Counter),
        "publish" | "p" => Ok(MarkKind::Publish),
        "run" => Ok(MarkKind::Phase(PhaseKind::Run)),
        "ready" => Ok(MarkKind::Phase(PhaseKind::Ready)),
        "await" => Ok(MarkKind::Phase(PhaseKind::Await)),
        _ => {
            let shown: String = word.chars().take(40).collect();
            let what = format!(
                "mark {shown:?} is none of begin, end, stage, counter, publish, run, ready, await: the line is left out"
            );
            Err(("unknown marks", what))
        }
    }
}
